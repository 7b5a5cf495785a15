"""What stands inside a block of text: code spans, formulas, comments, tags, links; the rest is prose."""

from __future__ import annotations

import html
import re
from bisect import bisect_right

from tsformers.reading.failure import Failure
from tsformers.reading.page import MASK, Link, Prose, Span
from tsformers.reading.places import Source
from tsformers.reading.rawhtml import seen_attributes

_FORMULA = re.compile(
    r"(?<![\\$])\$\$((?:\\.|[^\\$])+)\$\$|(?<![\\$])\$(?![\s$])((?:\\.|[^\\$\n])+?)(?<!\s)\$(?![\d$])"
)
_WIKI = re.compile(r"(!?)\[\[([^\[\]|\\\n]+?)(?:\\?\|([^\[\]\n]*))?\]\]")  # "\|" in a table
_TARGET = re.compile(r"""\(\s*(<[^<>\n]*>|(?:[^()\s]|\([^()\s]*\))*)(?:\s+(?:"([^"]*)"|'([^']*)'))?\s*\)""")
_REFERENCE = re.compile(r"\s?\[([^\[\]]*)\]")
_DEFINITION = re.compile(r"^[ \t>]*\[([^\]^][^\]]*)\]:[ \t]*\S", re.MULTILINE)
_FOOTNOTE = re.compile(r"\[\^[^\]\s]+\]")
_AUTOLINK = re.compile(r"<(?:[A-Za-z][A-Za-z0-9+.-]*:[^<>\s]*|[^<>\s@]+@[^<>\s]+)>")
_ADDRESS = re.compile(r"https?://[!-;=?-~]+")
_TAG = re.compile(r"""</?[A-Za-z][\w-]*(?:\s+[\w:.@-]+(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'<>=]+))?)*\s*/?>""")
_ENTITY = re.compile(r"&(?:#\d+|#[xX][0-9a-fA-F]+|[A-Za-z]\w*);")
_ATTRIBUTES = re.compile(r"\{:?\s*(?:[.#][\w-]+|[\w-]+=(?:\"[^\"]*\"|'[^']*'|[^\s}]+)|\s+)+\s*\}")


class Region:
    """The text of one block, cut out of its lines; every character knows its offset in the page."""

    def __init__(self, pieces: list[tuple[int, str]]) -> None:
        self.breaks: list[tuple[int, int]] = []
        parts: list[str] = []
        at = 0
        for offset, text in pieces:
            if parts:
                self.breaks.append((at, self.offset_after(at)))
                parts.append("\n")
                at += 1
            self.breaks.append((at, offset))
            parts.append(text)
            at += len(text)
        self.text = "".join(parts)

    def offset_after(self, at: int) -> int:
        index, offset = self.breaks[-1]
        return offset + at - index

    def offset(self, index: int) -> int:
        at, offset = self.breaks[bisect_right(self.breaks, index, key=lambda b: b[0]) - 1]
        return offset + index - at


class Inline:
    """Reads regions one after the other and gathers what it finds."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.references = {label.lower() for label in _DEFINITION.findall(source.text)}
        self.spans: list[Span] = []
        self.unchecked: list[Span] = []
        self.links: list[Link] = []
        self.prose: list[Prose] = []
        self.failures: list[Failure] = []

    def read(self, region: Region, kind: str, where: str = "prose") -> None:
        if not region.text.strip():
            return
        masked = list(region.text)
        spans = self.code(region, masked, where)
        self.formulas(region, masked)
        self.attributes(region, masked, _TAG)
        self.links_of(region, masked)
        for pattern in (_AUTOLINK, _ADDRESS, _FOOTNOTE):
            self.mask(masked, pattern)
        self.attributes(region, masked, _ATTRIBUTES)
        self.entities(region, masked)
        self.prose.append(Prose(kind, "".join(masked), tuple(region.breaks), tuple(spans)))

    def aside(self, region: Region, start: int, text: str) -> None:
        """Text that a reader sees beside the paragraph: a title, what stands for a picture."""
        if text.strip():
            last = start + len(text)
            inside = [(at - start, offset) for at, offset in region.breaks if start < at < last]
            self.prose.append(Prose("alt", text, ((0, region.offset(start)), *inside)))

    def attributes(self, region: Region, masked: list[str], pattern: re.Pattern[str]) -> None:
        """Tags or attribute lists: hidden, but for the attributes that a reader sees."""
        for match in pattern.finditer("".join(masked)):
            for at, value in seen_attributes(match[0]):
                self.aside(region, match.start() + at, value)
            self.hide(masked, match.start(), match.end())

    def entities(self, region: Region, masked: list[str]) -> None:
        for match in _ENTITY.finditer("".join(masked)):
            self.hide(masked, match.start(), match.end())
            shown = html.unescape(match[0])
            if any(char.isdecimal() for char in shown):
                self.aside(region, match.start(), shown)

    def mask(self, masked: list[str], pattern: re.Pattern[str]) -> None:
        for match in pattern.finditer("".join(masked)):
            self.hide(masked, match.start(), match.end())

    @staticmethod
    def hide(masked: list[str], start: int, end: int) -> None:
        masked[start:end] = [c if c == "\n" else MASK for c in masked[start:end]]

    def code(self, region: Region, masked: list[str], where: str) -> list[tuple[int, int]]:
        """Code spans and comments, whichever comes first; a backslash takes a backtick's meaning.

        Where the spans between single backticks stand in the region, backticks included.
        """
        places: list[tuple[int, int]] = []
        text, at = region.text, 0
        while at < len(text):
            if text[at] == "\\":
                at += 2
            elif text.startswith("<!--", at):
                end = text.find("-->", at)
                if end < 0:
                    self.failures.append(
                        self.source.failure(region.offset(at), "fence", "注释 <!-- 没有收尾的 -->", claim="<!--")
                    )
                    end = len(text)
                self.hide(masked, at, min(end + 3, len(text)))
                at = end + 3
            elif text[at] == "`":
                run = _run(text, at)
                end = _closing(text, at + run, run)
                if end < 0:
                    self.failures.append(
                        self.source.failure(
                            region.offset(at),
                            "name",
                            "反引号没有成对：行内代码没有收尾；要显示反引号请写 \\`",
                            claim="`" * run + text[at + run :].split("\n")[0][:40],
                        )
                    )
                    at += run
                    continue
                found = self.spans if run == 1 else self.unchecked
                found += self.span(region, at + run, end, where)
                self.hide(masked, at, end + run)
                if run == 1:
                    places.append((at, end + run))
                at = end + run
            else:
                at += 1
        return places

    def span(self, region: Region, start: int, end: int, where: str) -> list[Span]:
        written = region.text[start:end]
        start += len(written) - len(written.lstrip())
        written = written.strip()
        if not written:
            return []
        text = re.sub(r"[ \t]*\n[ \t]*", " ", written)
        if where == "table":
            text = text.replace("\\|", "|")
        first = region.offset(start)
        last = region.offset(start + len(written) - 1) + 1
        return [Span(text, first, last, *self.source.place(first), where)]

    def formulas(self, region: Region, masked: list[str]) -> None:
        for match in _FORMULA.finditer("".join(masked)):
            group = 1 if match[1] is not None else 2
            start = region.offset(match.start(group))
            first, last = match.span(group)
            breaks = [(0, start), *((at - first, offset) for at, offset in region.breaks if first < at < last)]
            self.prose.append(Prose("formula", match[group], tuple(breaks)))
            self.hide(masked, match.start(), match.end())

    def links_of(self, region: Region, masked: list[str]) -> None:
        for match in _WIKI.finditer("".join(masked)):
            alias = match[3]
            self.link(region, "wiki", match.start(2), match.start(), match.end(), match[2], alias or "")
            self.hide(masked, match.start(), match.end() if alias is None else match.start(3))
            self.hide(masked, match.end() - 2, match.end())
        text = "".join(masked)
        stack: list[int] = []
        at = 0
        while at < len(text):
            char = text[at]
            if char == "\\":
                at += 2
                continue
            if char == "[":
                stack.append(at)
            elif char == "]" and stack:
                opening = stack.pop()
                image = opening > 0 and text[opening - 1] == "!"
                if target := _TARGET.match(text, at + 1):
                    raw = region.text[target.start(1) : target.end(1)]
                    shown = region.text[opening + 1 : at]
                    kind = "image" if image else "link"
                    self.link(region, kind, target.start(1), opening - image, target.end(), raw.strip("<>"), shown)
                    group = 2 if target[2] is not None else 3
                    self.aside(region, target.start(group), target[group] or "")
                    self.hide(masked, at, target.end())
                    at = target.end()
                    continue
                reference = _REFERENCE.match(text, at + 1)
                if reference and reference[1].lower() in self.references:
                    self.hide(masked, at, reference.end())
            at += 1

    def link(self, region: Region, kind: str, target_at: int, start: int, end: int, target: str, text: str) -> None:
        at = region.offset(target_at)
        first, last = region.offset(start), region.offset(end - 1) + 1
        self.links.append(Link(kind, target, text, first, last, *self.source.place(at)))


def _run(text: str, at: int) -> int:
    end = at
    while end < len(text) and text[end] == "`":
        end += 1
    return end - at


def _closing(text: str, at: int, run: int) -> int:
    """Where the closing run of exactly ``run`` backticks begins, or -1."""
    while (at := text.find("`", at)) >= 0:
        length = _run(text, at)
        if length == run:
            return at
        at += length
    return -1


def split_cells(text: str) -> list[tuple[int, int]]:
    """(start, end) of each cell of a table row; a pipe in code or after a backslash divides nothing."""
    cells, start, at = [], 0, 0
    while at < len(text):
        if text[at] == "\\":
            at += 2
            continue
        if text[at] == "`":
            run = _run(text, at)
            end = _closing(text, at + run, run)
            at = end + run if end >= 0 else at + run
            continue
        if text[at] == "|":
            cells.append((start, at))
            start = at + 1
        at += 1
    cells.append((start, len(text)))
    return cells
