"""Naked numbers: digits on a reading page that nobody recomputes.

The exceptions are numbers that name something (a section, a layer, a version, a year, a paper, an identifier), the
indices, exponents and one-digit constants of formulas, and what the page's front matter lists with a reason.
"""

from __future__ import annotations

import io
import re
import tokenize
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from tsformers.reading.excuses import excused
from tsformers.reading.failure import Failure
from tsformers.reading.page import MASK, PROMPT, Fence, Page, Prose
from tsformers.reading.places import Source

_LATIN = "A-Za-z0-9_"
TITLES = ("title", "tabs", "why")  # options of a fence that its reader sees
_TITLE = re.compile(r"^(?:title|subtitle|description):(.*(?:\r?\n[ \t]+.*)*)", re.MULTILINE)  # in the front matter
_NUMBER = r"[-+−－]?\d+(?:,\d{3})*(?:[.．]\d+)*(?:[eE][-+−]?\d+)?[%％]?"
_SEQUENCE = re.compile(rf"{_NUMBER}(?:\s?[×xX*/:：~～]\s?{_NUMBER})*")
# A size in words, "十六维", and digits that are no exponent of anything, "⁶⁴ 个": numbers that look like none.
_DISGUISED = re.compile(
    r"[零〇一二两三四五六七八九十百千万]*[十百千万][零〇一二两三四五六七八九十百千万]*(?=\s?维)"
    r"|(?<![^\s，。、；：（])[⁰¹²³⁴-⁹₀-₉]+"
)
_TUPLE = re.compile(rf"[(（\[［](?=[^()（）\[\]］]*\d)[\s{_LATIN}\d.．,，、;；×*+/=:：−－-]+[)）\]］]")

_HALF = {
    ord("，"): ", ",
    ord("、"): ", ",
    ord("；"): "; ",
    ord("（"): "(",
    ord("）"): ")",
    ord("［"): "[",
    ord("］"): "]",
}
_HALF |= {ord("。"): ".", ord("．"): ".", ord("："): ":", ord("＝"): "=", ord("－"): "-", ord("−"): "-", ord("＋"): "+"}
_HALF |= {ord("＊"): "*", ord("／"): "/", ord("＿"): "_", ord("＜"): "<", ord("＞"): ">", ord("\u3000"): " "}
_HALF |= {0xFF10 + digit: str(digit) for digit in range(10)}


def bare(text: str) -> bool:
    """Whether inline code holds numbers and nothing that they could be of: ``16``, ``(8, 6, 16)``, ``≈ 0.5``."""
    numbers = re.sub(r"\d+(?:\.\d*)?(?:[eE][-+]?\d+)?", "0", text.translate(_HALF))
    return "0" in numbers and re.fullmatch(r"[0\s()\[\]{},.;+\-*/×%％…:=≈<>≤≥≠~]+", numbers) is not None


def full_width(text: str) -> str | None:
    """Inline code with its full-width punctuation and digits made half-width; None where there is none."""
    half = text.translate(_HALF)
    if half == text:
        return None
    half = re.sub(r"([,;]) +", r"\1 ", half)
    half = re.sub(r"(?<=[A-Za-z0-9_\])])\((?=\s*\d)", " (", half) if "（" in text else half
    return re.sub(r" {2,}", " ", half).strip()


def naked_numbers(page: Page) -> list[Failure]:
    """The naked numbers of a reading page, and the exceptions in its front matter that nothing needs; [] elsewhere."""
    if not page.front.reading:
        return []
    source = Source(page.path, page.text)
    used: Counter[str] = Counter()
    failures = [failure for prose in shown(page, source) for failure in _of_prose(prose, page, source, used)]
    for number in page.front.numbers:
        if not used[number]:
            line, column = page.front.places.get(f"numbers.{number}", (1, 1))
            message = f"numbers 里的例外 {number} 在页面上没有用到，请删去"
            failures.append(Failure(page.path, line, column, "front-matter", number, message=message))
    return sorted(failures)


def used_exceptions(page: Page) -> Counter[str]:
    """How often each exception of the front matter excuses a number, for the report."""
    used: Counter[str] = Counter()
    source = Source(page.path, page.text)
    for prose in shown(page, source):
        _of_prose(prose, page, source, used)
    return used


def shown(page: Page, source: Source) -> Iterator[Prose]:
    """What a reader sees as text: prose, the titles and reasons of fences, the text of those that nobody runs."""
    yield from page.prose
    for match in _TITLE.finditer(page.text, 0, page.front.end):
        yield Prose("title", match[1], ((0, match.start(1)),))
    for step in page.steps:
        if not isinstance(step, Fence):
            continue
        for name in TITLES:
            value = step.options.get(name, "")
            at = page.text.find(value, step.info, step.info_end)
            if value and at >= 0:
                yield Prose("title", value, ((0, at),))
        if step.kind == "other" and "why" not in step.options and step.language != "markdown":
            yield _text_of(step, source)
        elif step.kind == "example" or (step.kind == "exec" and "source" in step.options):
            code = _text_of(step, source)
            yield replace(code, text=_comments(step), kind="comment")


def _comments(fence: Fence) -> str:
    """The code of a fence that is run, with everything masked but the comments."""
    rows = fence.code.split("\n")
    if fence.kind == "example":  # what comes out is compared anyway
        rows = [" " * len(found[0]) + row[found.end() :] if (found := PROMPT.match(row)) else "" for row in rows]
    masked = [MASK * len(row) for row in fence.code.split("\n")]
    try:
        for token in tokenize.generate_tokens(io.StringIO("\n".join(rows)).readline):
            if token.type == tokenize.COMMENT:
                row, column = token.start
                masked[row - 1] = masked[row - 1][:column] + token.string + masked[row - 1][token.end[1] :]
    except (tokenize.TokenError, SyntaxError):
        pass  # running it says so
    return "\n".join(masked)


def _text_of(fence: Fence, source: Source) -> Prose:
    breaks: list[tuple[int, int]] = []
    at = 0
    for row, text in enumerate(fence.code.split("\n")):
        margin = fence.margins[row] if row < len(fence.margins) else 0
        breaks.append((at, source.lines[min(fence.code_line - 1 + row, len(source.lines) - 1)].start + margin))
        at += len(text) + 1
    return Prose("code", fence.code, tuple(breaks))


def _exceptions(text: str, page: Page) -> Iterator[tuple[str, tuple[int, int]]]:
    for number in page.front.numbers:
        before = r"(?<![\d.])" if number[:1].isdecimal() else ""
        after = r"(?![\d])(?!\.\d)" if number[-1:].isdecimal() else ""
        yield from ((number, m.span()) for m in re.finditer(before + re.escape(number) + after, text))


def _of_prose(prose: Prose, page: Page, source: Source, used: Counter[str]) -> list[Failure]:
    """The naked numbers of a piece of text; the exceptions that it needs are counted in ``used``."""
    words = [match.span() for match in _DISGUISED.finditer(prose.text)]
    if not words and not any(char.isdecimal() for char in prose.text):
        return []
    names = excused(prose.text, prose.kind)
    free = bytearray(names)
    for number, (start, end) in _exceptions(prose.text, page):
        digits = (prose.text[at].isdecimal() or any(a <= at < b for a, b in words) for at in range(start, end))
        used[number] += any(digit and not name for digit, name in zip(digits, names[start:end], strict=True))
        free[start:end] = b"\1" * (end - start)
    wholes = [_tuples(prose.text), [match.span() for match in _SEQUENCE.finditer(prose.text)]]
    failures = [
        source.failure(
            prose.offset(start), "naked", f"大小 {claim} 写成了字，没有人核对：写成声明，如 `d_model = 16`", claim=claim
        )
        for start, end in words
        if not all(free[start:end]) and (claim := prose.text[start:end])
    ]
    done = 0
    for at, char in enumerate(prose.text):
        if at < done or free[at] or not char.isdecimal():
            continue
        start, done = _whole(at, wholes, free)
        claim = prose.text[start:done]
        failures.append(source.failure(prose.offset(start), "naked", _advice(claim, prose.kind), claim=claim))
    return failures


def _tuples(text: str) -> list[tuple[int, int]]:
    """Brackets that hold numbers; one alone in brackets is a number, not a shape."""
    single = re.compile(rf".\s*{_NUMBER}\s*.")
    found = (match for match in _TUPLE.finditer(text) if "," in match[0] or not single.fullmatch(match[0]))
    return [match.span() for match in found]


def _whole(at: int, wholes: list[list[tuple[int, int]]], free: bytearray) -> tuple[int, int]:
    """The tuple or number that a digit belongs to."""
    for spans in wholes:
        index = bisect_right(spans, at, key=lambda span: span[0]) - 1
        if index >= 0 and at < spans[index][1]:
            start, end = spans[index]
            while start < at and free[start]:
                start += 1
            return start, end
    return at, at + 1


def _advice(claim: str, kind: str) -> str:
    half = full_width(claim) or claim
    if kind == "formula":
        return f"公式里的数 {claim} 没有人核对：用符号代替，或在正文里写成声明，如 `名字 = {half}`"
    if half[:1] in "([":
        return f"裸露的形状 {claim} 没有人核对：写成声明，如 `名字 {half}`"
    return f"裸露的数 {claim} 没有人核对：写成声明，如 `名字 = {half}`；小的数可用汉字（两个头）"
