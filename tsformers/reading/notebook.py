"""Page and record -> a notebook and a script that run without the engine, written from the page's steps.

Prose and quotes become Markdown, executed blocks and examples become code with what they printed. Pictures stay on the
site; only the whole source of each function read is written out.
"""

from __future__ import annotations

import ast
import builtins
import doctest
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from tsformers.reading.fences import OURS
from tsformers.reading.page import Fence, Heading, Link, Page
from tsformers.reading.record import Printed, Quote, Reading, TensorValue, Variable
from tsformers.reading.show.values import brief
from tsformers.reading.slugs import shown_name
from tsformers.reading.standard import derived_part, marked

PICTURES = {
    "call_tree": "调用树",
    "io_table": "输入输出表",
    "sequence": "顺序图",
    "groups": "语义分组图",
    "children": "下钻表",
    "structure": "结构图",
}
# What the process of a page pins before its first block, as far as a block can notice.
SET_UP = """\
import random

import torch

torch.set_num_threads(1)
torch.manual_seed(0)
random.seed(0)"""
_CONTAINER = re.compile(r'(?:\?{3}\+?|!{3}|={3}[!+]?)[ \t]+(?:[\w -]*?[ \t]*)"([^"]*)"[ \t]*$')
_UNTITLED = re.compile(r"(?:\?{3}\+?|!{3})[ \t]+\w+[ \t]*$")
_ATTRIBUTES = re.compile(r"[ \t]*\{:?[ \t]*[#.][^{}`]*\}[ \t]*$")
_MARKED = re.compile(r"==(?=\S)([^=\n]+?)(?<=\S)==")


@dataclass(frozen=True, slots=True)
class Cell:
    """``output`` is what the page's run printed; ``shows``: the last line is an expression whose value it shows."""

    code: bool
    text: str
    output: str = ""
    shows: bool = False


def cells(page: Page, reading: Reading, link: Callable[[Link], str], about: Sequence[str] = ()) -> list[Cell]:
    """The page as cells. ``link`` gives the address that a link becomes, "" to keep its text alone; ``about`` are
    paragraphs on where the page comes from, which stand before the first code."""
    return _Writer(page, reading, link, about).write()


class _Writer:
    def __init__(self, page: Page, reading: Reading, link: Callable[[Link], str], about: Sequence[str]) -> None:
        self.page, self.reading, self.link, self.about = page, reading, link, about
        self.cells: list[Cell] = []
        self.prose: list[str] = []
        self.indents = [0]
        self.ready = False
        self.headings = {heading.start: heading for heading in page.headings}

    def write(self) -> list[Cell]:
        fences = iter(sorted(self._fences(), key=lambda pair: pair[1].start))
        index, fence = next(fences, (-1, None))
        skipped = self.page.front.end
        for start, line in _lines(self.page.text, self.page.front.end):
            if start < skipped:
                continue
            if fence is not None and start <= fence.start < start + len(line):
                self._fence(index, fence)
                skipped = fence.end
                index, fence = next(fences, (-1, None))
            else:
                self._line(start, line.rstrip("\r\n"))
        self._flush()
        return self.cells

    def _fences(self) -> Iterator[tuple[int, Fence]]:
        for index, step in enumerate(self.page.steps):
            if isinstance(step, Fence):
                yield index, step

    # Prose

    def _line(self, start: int, line: str) -> None:
        heading = next((h for at, h in self.headings.items() if start <= at < start + len(line) + 1), None)
        if heading is not None and heading.level > 1:
            self._set_up()
        bare = line.lstrip(" ")
        indent = len(line) - len(bare)
        if bare:
            while indent < self.indents[-1]:
                self.indents.pop()
        text = self._linked(start, line)[min(indent, self.indents[-1]) :]
        opened = _CONTAINER.match(bare) or _UNTITLED.match(bare)
        if opened is not None:
            title = opened[1] if opened.re is _CONTAINER else ""
            self.indents.append(indent + 4)
            self.prose.append(f"**{title}**" if title else "")
            self.prose.append("")
            return
        self.prose.append(_plain(_ATTRIBUTES.sub("", text) if heading is not None else text))
        if heading is not None:
            self._under(heading)

    def _linked(self, start: int, line: str) -> str:
        """The line with its links led elsewhere, or left out where they lead nowhere from here."""
        for link in reversed([x for x in self.page.links if start <= x.start and x.end <= start + len(line)]):
            written = line[link.start - start : link.end - start]
            address = self.link(link)
            if link.kind == "wiki":
                shown = link.text or shown_name(link.target)
                new = f"[{shown}]({address})" if address else shown
            elif written.startswith("[") and written.endswith(")") and link.target in written:
                shown = written[1 : written.rindex("](")] if "](" in written else link.text
                new = f"[{shown}]({address})" if address else shown
            else:
                continue
            line = line[: link.start - start] + new + line[link.end - start :]
        return line

    def _under(self, heading: Heading) -> None:
        name = derived_part(heading) if self.reading.subjects else ""
        if name == "source":
            for subject in self.reading.subjects:
                where = f"`{subject.file}` 第 {subject.line} 行起："
                self.prose += ["", where, "", *_fenced("python", subject.source), ""]
        elif name in PICTURES:
            self.prose += ["", f"*（{PICTURES[name]}由网站从同一次运行画出，这里从略。）*", ""]

    def _flush(self) -> None:
        text = "\n".join(_outdented(self.prose)).strip("\n")
        text = re.sub(r"\n{3,}", "\n\n", text)
        self.prose = []
        if text:
            self.cells.append(Cell(False, text))

    def _set_up(self) -> None:
        """Once, before the first section or code: where this comes from, and what a run of the page pins."""
        if self.ready:
            return
        self.ready = True
        versions = f"，写出时用的是 torch {self.reading.versions['torch']}" if "torch" in self.reading.versions else ""
        how = f'各单元按顺序运行，会印出与这里相同的结果。先在项目的文件夹里安装：`python -m pip install ".[reading]"`{versions}。'
        self._flush()
        self.cells.append(Cell(False, "\n>\n".join(f"> {part}" for part in [*self.about, how])))
        self.cells.append(Cell(True, SET_UP))

    # Fences

    def _fence(self, index: int, fence: Fence) -> None:
        quote = self.reading.quotes.get(index)
        if quote is not None:
            self._quote(quote, fence)
        elif fence.kind == "exec" and index in self.reading.outputs:
            self._exec(fence, self.reading.outputs[index].text)
        elif fence.kind == "example" and index in self.reading.printed:
            self._set_up()
            self._flush()
            self.cells += _examples(fence.code, self.reading.printed[index])
        else:
            if "why" in fence.options:
                self.prose += ["", f"只展示：{fence.options['why']}"]
            language = fence.language if any(name in OURS for name in fence.options) or fence.options else ""
            self.prose += ["", *_fenced(language or fence.language, fence.code), ""]

    def _quote(self, quote: Quote, fence: Fence) -> None:
        file = quote.file or self.reading.subjects[quote.subject].file
        span = f"{quote.first_line}" if quote.first_line == quote.last_line else f"{quote.first_line}–{quote.last_line}"
        note = "，构造时" if quote.construction else "" if quote.executed else "，在本例中未执行"
        self.prose += ["", f"`{file}` 第 {span} 行{note}：", "", *_fenced("python", fence.code), ""]
        wrote = [*quote.wrote, *([quote.returned] if quote.returned is not None else [])]
        said = [_written(variable) for variable in wrote]
        if said:
            self.prose += ["写出 " + "，".join(said), ""]

    def _exec(self, fence: Fence, output: str) -> None:
        if marked(output):  # prints what only the site can draw
            return
        self._set_up()
        error = fence.options.get("raises", "")
        text = _guarded(fence.code, error) if error else fence.code
        if text is None:
            self.prose += ["", *_fenced("python", fence.code), "", *_fenced("text", output.rstrip("\n")), ""]
            return
        self._flush()
        self.cells.append(Cell(True, text, output))


def _lines(text: str, start: int) -> Iterator[tuple[int, str]]:
    for line in text[start:].splitlines(keepends=True):
        yield start, line
        start += len(line)


def _fenced(language: str, code: str) -> list[str]:
    """A block of Markdown code; its fence is longer than any run of backticks inside."""
    run = "`" * max(3, 1 + max((len(found) for found in re.findall(r"`+", code)), default=0))
    return [run + language, *code.rstrip("\n").split("\n"), run]


def _plain(line: str) -> str:
    """Without what only the site's extensions read; code stays as it is."""
    parts = re.split(r"(`+[^`]*`+)", line)
    return "".join(part if part.startswith("`") else _MARKED.sub(r"<mark>\1</mark>", part) for part in parts)


def _outdented(lines: list[str]) -> list[str]:
    """Lines that went on inside a list item after its code: at the start of a cell their indent would make them code."""
    first = next((line for line in lines if line.strip()), "")
    indent = len(first) - len(first.lstrip(" "))
    inside, result = indent > 0, []
    for line in lines:
        inside = inside and (not line.strip() or line.startswith(" " * indent))
        result.append(line[indent:] if inside else line)
    return result


def _written(variable: Variable) -> str:
    axes = f" = ({', '.join(variable.axes)})" if isinstance(variable.after, TensorValue) and variable.axes else ""
    text = brief(variable.after)
    text = text if len(text) <= 60 else text[:59] + "…"
    return f"`{variable.name} {'' if isinstance(variable.after, TensorValue) else '= '}{text}{axes}`"


def _guarded(code: str, error: str) -> str | None:
    """Code that must fail, so that it prints its error and the rest can run; None where it does not even parse."""
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return None
    inside = {
        number
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant | ast.JoinedStr)
        for number in range(node.lineno + 1, (node.end_lineno or node.lineno) + 1)
    }
    lines = [line if number in inside or not line else f"    {line}" for number, line in enumerate(code.split("\n"), 1)]
    name = error if isinstance(getattr(builtins, error, None), type) else "Exception"
    body = "\n".join(lines)
    return f'try:\n{body}\nexcept {name} as error:\n    print(f"{{type(error).__name__}}: {{error}}")'


def _examples(code: str, printed: Sequence[Printed]) -> list[Cell]:
    """Doctest examples as cells: one ends with each example that printed something."""
    by_row = {one.row: one for one in printed}
    found: list[Cell] = []
    waiting: list[str] = []
    for example in doctest.DocTestParser().get_examples(code + "\n"):
        source, one = example.source.rstrip("\n"), by_row.get(example.lineno)
        text = one.text if one is not None else ""
        if one is not None and one.raised:
            text = re.sub(r"^(?:\w+\.)+(?=\w+(?::|$))", "", text)
            source = _guarded(source, text.partition(":")[0].strip()) or ""
        waiting.append(source)
        if text:
            shows = one is not None and not one.raised and _expression(source)
            found.append(Cell(True, "\n".join(waiting), text, shows))
            waiting = []
    return [*found, *([Cell(True, "\n".join(waiting))] if waiting else [])]


def _expression(source: str) -> bool:
    """Whether a shell shows a value after the last statement: an expression that is not a call of print."""
    last = ast.parse(source).body[-1]
    if not isinstance(last, ast.Expr):
        return False
    call = last.value
    return not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "print")


def notebook(page_cells: Sequence[Cell]) -> str:
    """The cells as a notebook, format 4.5."""
    written, count = [], 0
    for number, cell in enumerate(page_cells):
        entry: dict[str, object] = {
            "id": f"cell-{number}",
            "metadata": {},
            "source": cell.text.splitlines(keepends=True),
        }
        if not cell.code:
            written.append({"cell_type": "markdown", **entry})
            continue
        count += 1
        text = cell.output.splitlines(keepends=True)
        outputs: list[dict[str, object]] = []
        if cell.shows:
            data = {"text/plain": cell.output.rstrip("\n").splitlines(keepends=True)}
            outputs = [{"output_type": "execute_result", "execution_count": count, "data": data, "metadata": {}}]
        elif text:
            outputs = [{"output_type": "stream", "name": "stdout", "text": text}]
        written.append({"cell_type": "code", "execution_count": count, "outputs": outputs, **entry})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    whole = {"cells": written, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def script(page_cells: Sequence[Cell]) -> str:
    """The cells as a Python script in the percent format; what a cell printed stands below it as a comment."""
    parts = []
    for cell in page_cells:
        if not cell.code:
            parts.append("# %% [markdown]\n" + _commented(cell.text))
            continue
        text = _printing(cell).text
        output = cell.output.rstrip("\n")
        parts.append("# %%\n" + text + (f"\n# 输出：\n{_commented(output)}" if output else ""))
    return "\n\n".join(parts) + "\n"


def _commented(text: str) -> str:
    return "\n".join(f"# {line}".rstrip() for line in text.split("\n"))


def _printing(cell: Cell) -> Cell:
    """A script shows no value unasked: it prints it as a shell would."""
    if not cell.shows:
        return cell
    last = ast.parse(cell.text).body[-1]
    lines = cell.text.split("\n")
    head, shown = lines[: last.lineno - 1], "\n".join(lines[last.lineno - 1 :])
    if isinstance(last, ast.Expr) and isinstance(last.value, ast.Tuple):
        shown = f"({shown})"  # or its members would be arguments of their own
    return replace(cell, text="\n".join([*head, f"print(repr({shown}))"]))
