"""The guard: what the scanner took for code must be what Python-Markdown makes of the page, and the other way round.

The page is converted once with the site's own list of extensions, every code span and every fence leaving a numbered
mark in the HTML. What stands in an HTML comment, or was taken back into an indented code block, leaves none.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from functools import lru_cache
from typing import Any

from markdown import Markdown
from markdown.inlinepatterns import BACKTICK_RE, BacktickInlineProcessor

from tsformers.reading.extensions import MARKDOWN_EXTENSION_CONFIGS, MARKDOWN_EXTENSIONS
from tsformers.reading.failure import Failure
from tsformers.reading.formulas import FormulaError, to_mathml
from tsformers.reading.page import Fence, Page, Span
from tsformers.reading.places import Source
from tsformers.reading.scan import Scan

_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_SPAN_MARK = re.compile(r'<code\b[^>]*?\bdata-span="(\d+)"')
_FENCE_MARK = re.compile(r'<pre data-fence="(\d+)"')
_INDENTED = re.compile(r"<pre><code>(.*?)</code></pre>", re.DOTALL)


def guard(scan: Scan) -> Page:
    """The page with the guard's failures among its problems; unchanged where the scanner already found it unsound."""
    page = scan.page
    if scan.unsound:
        return page
    source = Source(page.path, page.text)
    failures, text = _formulas(page, source)
    try:
        spans, fences, indented = _convert(_prepared(scan, text))
    except FormulaError as error:
        at = max(text.find("$$"), 0)
        failures.append(source.failure(at, "fence", f"公式无法读懂：{error}", claim="$$"))
        return _with(page, failures)
    failures += _compare_spans(scan, source, spans)
    failures += _compare_fences(page, source, fences)
    for code in indented:
        at = _find(source, code.split("\n")[0])
        failures.append(
            source.failure(
                at, "fence", "网站会把这里当作缩进的代码块：请改用围栏，或减少缩进", claim=code.split("\n")[0][:40]
            )
        )
    return _with(page, failures)


def _with(page: Page, failures: list[Failure]) -> Page:
    return replace(page, problems=tuple(sorted([*page.problems, *failures]))) if failures else page


def _formulas(page: Page, source: Source) -> tuple[list[Failure], str]:
    """What is wrong with the formulas, and the text with the wrong ones blanked out."""
    failures: list[Failure] = []
    text = page.text
    for prose in page.prose:
        if prose.kind != "formula":
            continue
        start = prose.offset(0)
        block = page.text[start - 2 : start] == "$$"
        try:
            to_mathml(prose.text, block=block)
        except FormulaError as error:
            failures.append(source.failure(start, "fence", str(error), claim=prose.text))
            width = 2 if block else 1
            end = prose.offset(len(prose.text) - 1) + 1
            blank = re.sub(r"[^\r\n]", "x", text[start - width : end + width])
            text = text[: start - width] + blank + text[end + width :]
    return failures, text


def _prepared(scan: Scan, text: str) -> str:
    """The text as the site's other tools leave it: no front matter, no options on fences, callouts as quotes."""
    edits: list[tuple[int, int, str]] = [(0, scan.page.front.end, "")]
    for step in scan.page.steps:
        if isinstance(step, Fence):
            edits.append((step.info, step.info_end, step.language))
    for prefix, start, title, end in scan.callouts:
        edits.append((start, end, f"{text[title:end]}\n{prefix}"))
    parts, at = [], 0
    for start, end, new in sorted(edits):
        parts += [text[at:start], new]
        at = end
    return "".join([*parts, text[at:]])


class _Marked(BacktickInlineProcessor):
    """Code spans that remember themselves."""

    def __init__(self, pattern: str) -> None:
        super().__init__(pattern)
        self.seen: list[str] = []

    def handleMatch(self, m: re.Match[str], data: str) -> Any:  # type: ignore[override]  # noqa: N802
        result = super().handleMatch(m, data)
        element, begin, end = result
        if element is not None and not isinstance(element, str) and begin is not None and end is not None:
            element.set("data-span", str(len(self.seen)))
            written = data[begin:end]
            run = len(written) - len(written.lstrip("`"))
            self.seen.append(_squeezed(written[run : len(written) - run]))
        return result


class _Fences:
    """The one formatter of all fences."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str]] = []

    def validator(self, language: str, inputs: dict, options: dict, attrs: dict, md: Markdown) -> bool:
        return True

    def format(self, source: str, language: str, class_name: str, options: dict, md: Markdown, **kwargs: Any) -> str:
        self.seen.append((language or "", source))
        return f'<pre data-fence="{len(self.seen) - 1}"></pre>'


@lru_cache(maxsize=1)
def _converter() -> tuple[Markdown, _Marked, _Fences]:
    fences = _Fences()
    custom = {"name": "*", "class": "", "validator": fences.validator, "format": fences.format}
    configs = {**MARKDOWN_EXTENSION_CONFIGS}
    configs["pymdownx.superfences"] = {**configs.get("pymdownx.superfences", {}), "custom_fences": [custom]}
    converter = Markdown(extensions=MARKDOWN_EXTENSIONS, extension_configs=configs)
    marked = _Marked(BACKTICK_RE)
    converter.inlinePatterns.register(marked, "backtick", 190)
    return converter, marked, fences


def _convert(text: str) -> tuple[list[str], list[tuple[str, str]], list[str]]:
    """(code spans, fences, indented code) that a reader of the HTML sees."""
    converter, marked, fences = _converter()
    converter.reset()
    marked.seen.clear()
    fences.seen.clear()
    html = _COMMENT.sub("", converter.convert(text))
    spans = [marked.seen[int(n)] for n in _SPAN_MARK.findall(html)]
    code = [fences.seen[int(n)] for n in _FENCE_MARK.findall(html)]
    return spans, code, _INDENTED.findall(html)


def _squeezed(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def _compare_spans(scan: Scan, source: Source, actual: list[str]) -> list[Failure]:
    left = Counter(actual)
    failures = []
    spans = [step for step in scan.page.steps if isinstance(step, Span)]
    for span in sorted([*spans, *scan.unchecked], key=lambda span: span.start):
        # In a table Python-Markdown leaves the backslash before a pipe in code, so compare what is written.
        key = _squeezed(source.text[span.start : span.end] if span.where == "table" else span.text)
        if left[key]:
            left[key] -= 1
        else:
            failures.append(
                source.failure(
                    span.start, "name", f"网站不会把 `{span.text}` 显示成行内代码", claim=span.text, expected="行内代码"
                )
            )
    for text in left.elements():
        failures.append(
            source.failure(
                _find(source, text), "name", f"网站会把 `{text}` 显示成行内代码，检查器却没有认出它", claim=text
            )
        )
    return failures


def _compare_fences(page: Page, source: Source, actual: list[tuple[str, str]]) -> list[Failure]:
    left = Counter((language, _code(code)) for language, code in actual)
    failures = []
    for step in page.steps:
        if not isinstance(step, Fence):
            continue
        key = (step.language, _code(step.code))
        if left[key]:
            left[key] -= 1
        else:
            failures.append(
                source.failure(
                    step.start, "fence", "网站不会把这个围栏显示成代码块：检查它的缩进、容器和收尾", claim=step.language
                )
            )
    for language, code in left.elements():
        first = code.strip().split("\n")[0]
        failures.append(
            source.failure(
                _find(source, first), "fence", "网站会把这里显示成代码块，检查器却没有认出它", claim=first or language
            )
        )
    return failures


def _code(text: str) -> str:
    """Code without what Python-Markdown does to white space: tabs, and blanks on empty lines."""
    return "\n".join(line.expandtabs(4).rstrip() for line in text.split("\n")).strip("\n")


def _find(source: Source, text: str) -> int:
    """The nearest place of a text that only Python-Markdown knows."""
    words = text.split()
    return max(source.text.find(text), source.text.find(words[0]) if words else 0, 0)
