"""The line scanner: the blocks of a page at any depth of containers, each with its physical place.

CommonMark parsers take the four-space content of admonitions and content tabs for code, so the scanner is our own. It
knows the containers that Python-Markdown and its extensions know (block quotes, callouts, admonitions, details, tabs,
list items, footnotes, definitions), fences, comments, raw HTML, headings, tables and formulas; the guard compares what
it found with what Python-Markdown makes of the same page.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from tsformers.reading import fences
from tsformers.reading.failure import Failure
from tsformers.reading.frontmatter import read_front_matter
from tsformers.reading.inline import Inline, Region, split_cells
from tsformers.reading.page import Fence, FrontMatter, Heading, Page, Span
from tsformers.reading.places import Line, Source

_FENCE = re.compile(r"(`{3,}|~{3,})([^\n]*)")
_HEADING = re.compile(r"(#{1,6})(?!#)[ \t]*(.*?)[ \t]*#*[ \t]*$")
_NUMBER = re.compile(r"§?\s*((?:\d+|[A-Z]\d*)(?:\.\d+)*)(?:\.?[ \t　]+|[.、．](?=\S))(?=\S)")
_ATTRIBUTES = re.compile(r"[ \t]*\{:?[ \t]*[.#\w][^{}]*\}$")
_ADMONITION = re.compile(r"(?:!!!|\?\?\?\+?) ?[\w-]+(?: +[\w-]+)*(?: +\"(.*?)\")? *$|\?\?\?\+? ?\"(.*?)\" *$")
_TAB = re.compile(r"={3}(?:\+|\+!|!\+|!)? +\"(.*?)\" *$")
_ITEM = re.compile(r"(?:[*+-]|\d+\.)[ \t]+(?=\S)")
_EMPTY_ITEM = re.compile(r"(?:[*+-]|\d+\.)[ \t]*$")
_FOOTNOTE = re.compile(r"\[\^[^\]]+\]:[ \t]*")
_DEFINITION = re.compile(r":[ \t]{1,3}(?=\S)")
_REFERENCE = re.compile(r"\[[^\]^][^\]]*\]:[ \t]*\S|\*\[[^\]]+\]:")
_CALLOUT = re.compile(r"\[![^\]]*\][+-]?[ \t]*")
_RULE = re.compile(r"(?:(?:-[ ]{0,2}){3,}|(?:_[ ]{0,2}){3,}|(?:\*[ ]{0,2}){3,})$")
_UNDERLINE = re.compile(r"(?:=+|-+) *$")
_DELIMITER = re.compile(r"[ \t]*[|:\- \t]*-[|:\- \t]*$")
_BLOCK_TAG = re.compile(
    r"<(address|article|aside|blockquote|body|canvas|center|dd|details|div|dl|dt|fieldset|figcaption|figure|footer|form|"
    r"h[1-6]|head|header|hgroup|html|iframe|legend|li|main|map|math|menu|nav|noscript|object|ol|p|pre|progress|script|"
    r"section|style|summary|table|tbody|td|textarea|tfoot|th|thead|tr|ul|video)(?=[\s>/])([^>]*)>",
    re.IGNORECASE,
)
_MARKDOWN_ATTRIBUTE = re.compile(r"\smarkdown(?:\s*=|\s|$)", re.IGNORECASE)


@dataclass(slots=True)
class Container:
    kind: str  # "quote" "item" "indent"


@dataclass(frozen=True, slots=True)
class Cut:
    """A line with the prefix of its containers taken off: the rest starts at ``at``, at virtual column ``column``."""

    line: Line
    at: int
    column: int

    @property
    def rest(self) -> str:
        return self.line.text[self.at :]

    @property
    def offset(self) -> int:
        return self.line.start + self.at


@dataclass(frozen=True, slots=True)
class Scan:
    """A page before the guard, and what only the guard needs to know of it."""

    page: Page
    unchecked: tuple[Span, ...]  # code between two backticks or more
    callouts: tuple[tuple[str, int, int, int], ...]  # (prefix of the line, its ``[!``, its title, its end)
    unsound: bool  # the structure itself is broken, and that is said already


def scan_text(text: str, path: str) -> Scan:
    """The page in ``text``, before the guard."""
    source = Source(path, text)
    front, problems, first = read_front_matter(source)
    scanner = _Scanner(source, front, first)
    scanner.run()
    inline = scanner.inline
    steps = sorted([*inline.spans, *scanner.fences], key=lambda step: step.start)
    problems += scanner.options + scanner.failures + inline.failures
    page = Page(
        path=path,
        text=text,
        front=front,
        steps=tuple(steps),
        headings=tuple(scanner.headings),
        problems=tuple(sorted(problems)),
        prose=tuple(sorted(inline.prose, key=lambda prose: prose.breaks[0][1])),
        links=tuple(sorted(inline.links, key=lambda link: link.start)),
    )
    unsound = bool(scanner.failures or inline.failures)
    return Scan(page, tuple(inline.unchecked), tuple(scanner.callouts), unsound)


class _Scanner:
    def __init__(self, source: Source, front: FrontMatter, first: int) -> None:
        self.source = source
        self.front = front
        self.index = first
        self.inline = Inline(source)
        self.fences: list[Fence] = []
        self.headings: list[Heading] = []
        self.failures: list[Failure] = []  # of structure
        self.options: list[Failure] = []  # of fences' options
        self.callouts: list[tuple[str, int, int, int]] = []
        self.stack: list[Container] = []
        self.paragraph: list[tuple[int, str]] = []  # pieces of the open paragraph
        self.paragraph_kind = "paragraph"
        self.in_code = False  # inside an indented code block, which was already reported

    def fail(self, offset: int, message: str, claim: str = "") -> None:
        self.failures.append(self.source.failure(offset, "fence", message, claim=claim))

    def run(self) -> None:
        while self.index < len(self.source.lines):
            self.step()
        self.flush()

    def step(self) -> None:
        line = self.source.lines[self.index]
        cut, matched = self.enter(line)
        if not cut.rest.strip():
            self.flush()
            self.leave_quotes(matched)
            self.index += 1
            return
        if matched < len(self.stack):
            if self.paragraph and self.lazy(cut):
                self.text(cut)
                self.index += 1
                return
            self.flush()
            del self.stack[matched:]
        self.block(cut)

    def enter(self, line: Line) -> tuple[Cut, int]:
        """Take off the prefix of each open container; how many of them this line still belongs to."""
        at = 0
        for matched, container in enumerate(self.stack):
            after = _quote(line.text, at) if container.kind == "quote" else _indent(line.text, at, 4)
            if after is None and container.kind != "quote" and not line.text[at:].strip():
                after = len(line.text)
            if after is None:
                return Cut(line, at, _column(line.text, at)), matched
            at = after
        return Cut(line, at, _column(line.text, at)), len(self.stack)

    def leave_quotes(self, matched: int) -> None:
        """A blank line without its ``>`` ends a quote."""
        if matched < len(self.stack) and self.stack[matched].kind == "quote":
            del self.stack[matched:]

    def lazy(self, cut: Cut) -> bool:
        """Whether a line that lacks the prefix of its containers still continues the paragraph in them."""
        if self.stack[-1].kind == "indent":
            return False
        rest = cut.rest.lstrip(" \t")
        return not (self.opens(rest) or rest.startswith("#"))

    @staticmethod
    def opens(rest: str) -> bool:
        patterns = (_FENCE, _ADMONITION, _TAB, _ITEM, _FOOTNOTE, _BLOCK_TAG, _RULE)
        return rest.startswith((">", "<!--", "$$")) or any(pattern.match(rest) for pattern in patterns)

    def block(self, cut: Cut) -> None:
        """One line at the depth of its containers."""
        rest = cut.rest
        bare = rest.lstrip(" \t")
        at = cut.at + len(rest) - len(bare)
        width = _column(cut.line.text, at) - cut.column
        inner = Cut(cut.line, at, _column(cut.line.text, at))
        if width >= 4 and not self.paragraph:
            if not self.in_code:
                self.fail(inner.offset, "缩进的代码块不会被检查，请改用 ```python 围栏（或减少缩进）", claim=bare[:40])
            self.in_code = True
            self.index += 1
            return
        self.in_code = False
        if fence := self.opening(inner):
            self.flush()
            self.fence(inner, *fence)
            return
        if self.paragraph and width >= 4:
            self.text(inner)
            self.index += 1
            return
        if rest.startswith("#") and (match := _HEADING.match(rest)):
            self.flush()
            self.heading(cut, match)
        elif bare.startswith(">"):
            self.open(Container("quote"), Cut(cut.line, _quote(cut.line.text, at) or at + 1, 0))
            return
        elif bare.startswith("$$"):
            self.formula(inner)
            return
        elif bare.startswith("<!--") and not self.paragraph:
            self.comment(inner)
            return
        elif match := _ADMONITION.match(rest) or _TAB.match(rest):
            self.flush()
            self.title(cut, match)
            self.stack.append(Container("indent"))
        elif match := _FOOTNOTE.match(bare):
            self.open(Container("indent"), Cut(cut.line, at + match.end(), 0))
            return
        elif self.paragraph and len(self.paragraph) == 1 and (match := _DEFINITION.match(bare)):
            self.open(Container("indent"), Cut(cut.line, at + match.end(), 0))
            return
        elif self.paragraph and _UNDERLINE.match(rest) and not rest.strip() == "-":
            self.fail(inner.offset, "这一行会把上面的文字变成标题：标题请用 #，分隔线前须空一行", claim=bare)
            self.flush()
        elif _RULE.match(bare):
            self.flush()
        elif match := _ITEM.match(bare):
            self.open(Container("item"), Cut(cut.line, at + match.end(), 0))
            return
        elif not self.paragraph and _EMPTY_ITEM.match(bare):
            self.stack.append(Container("item"))
        elif not self.paragraph and _REFERENCE.match(bare):
            pass
        elif cut.line.start + 3 >= inner.offset and not self.stack and (match := _BLOCK_TAG.match(bare)):
            self.html(inner, match)
            return
        else:
            self.text(inner)
        self.index += 1

    def open(self, container: Container, cut: Cut) -> None:
        """A container whose content begins on this very line."""
        self.flush()
        self.stack.append(container)
        cut = replace(cut, column=_column(cut.line.text, cut.at))
        if container.kind == "quote" and (match := _CALLOUT.match(cut.rest)):
            title = cut.offset + match.end()
            self.callouts.append((cut.line.text[: cut.at], cut.offset, title, cut.line.end))
            self.inline.read(Region([(title, cut.rest[match.end() :])]), "title")
            self.index += 1
            return
        if not cut.rest.strip():
            self.index += 1
            return
        if container.kind == "item" and _FENCE.match(cut.rest):
            self.fail(cut.offset, "围栏不能和列表符号写在同一行：请另起一行，缩进四格", claim=cut.rest[:40])
            self.index += 1
            return
        self.paragraph_kind = "item" if container.kind == "item" else "paragraph"
        self.block(cut)

    def text(self, cut: Cut) -> None:
        self.paragraph.append((cut.offset, cut.rest.rstrip()))

    def flush(self) -> None:
        """Close the open paragraph and read what stands in it."""
        pieces, kind = self.paragraph, self.paragraph_kind
        self.paragraph, self.paragraph_kind = [], "paragraph"
        if not pieces:
            return
        if len(pieces) > 1 and "|" in pieces[0][1] and "|" in pieces[1][1] and _DELIMITER.match(pieces[1][1]):
            for number, (offset, text) in enumerate(pieces):
                if number != 1:
                    for start, end in split_cells(text):
                        self.inline.read(Region([(offset + start, text[start:end])]), "table", "table")
            return
        self.inline.read(Region(pieces), kind)

    def formula(self, cut: Cut) -> None:
        """A formula as a block of its own: its lines are LaTeX, though they may begin like a list or a quote."""
        self.flush()
        pieces = [(cut.offset, cut.rest.rstrip())]
        closed = "$$" in cut.rest[2:]
        self.index += 1
        while not closed and self.index < len(self.source.lines):
            line, matched = self.enter(self.source.lines[self.index])
            if matched < len(self.stack) or not line.rest.strip():
                break
            pieces.append((line.offset, line.rest.rstrip()))
            closed = "$$" in line.rest
            self.index += 1
        if not closed:
            self.fail(cut.offset, "公式 $$ 没有收尾：$$ 须成对，中间不能有空行", claim=cut.rest[:40])
        self.inline.read(Region(pieces), "paragraph")

    def heading(self, cut: Cut, match: re.Match[str]) -> None:
        title = _ATTRIBUTES.sub("", match[2])
        start = match.start(2)
        number = ""
        if found := _NUMBER.match(title):
            number = found[1]
        shown = title[found.end() :] if found else title
        offset = cut.offset
        self.headings.append(
            Heading(len(match[1]), number, shown, offset, cut.line.end, cut.line.number)
        )
        self.inline.read(Region([(offset + start, title)]), "heading", "heading")

    def title(self, cut: Cut, match: re.Match[str]) -> None:
        for group in range(1, (match.re.groups or 0) + 1):
            if match[group]:
                self.inline.read(Region([(cut.offset + match.start(group), match[group])]), "title")

    def comment(self, cut: Cut) -> None:
        end = self.source.text.find("-->", cut.offset)
        if end < 0:
            self.fail(cut.offset, "注释 <!-- 没有收尾的 -->，后面的内容都不会显示", claim="<!--")
            self.index = len(self.source.lines)
            return
        self.continue_at(end + 3)

    def continue_at(self, offset: int) -> None:
        """Go on after something that may end in the middle of a line."""
        number, _ = self.source.place(offset)
        line = self.source.lines[number - 1]
        self.index = number
        if self.source.text[offset : line.end].strip():
            self.paragraph.append((offset, line.text[offset - line.start :].rstrip()))

    def html(self, cut: Cut, match: re.Match[str]) -> None:
        """A block of raw HTML, up to its closing tag; what it holds is Markdown only with a ``markdown`` attribute."""
        self.flush()
        tag, attributes = match[1].lower(), match[2]
        if _MARKDOWN_ATTRIBUTE.search(attributes):
            inside = replace(cut, at=cut.at + match.end())
            if nested := _BLOCK_TAG.match(inside.rest):
                self.html(inside, nested)
                return
            if inside.rest.strip():
                self.paragraph.append((inside.offset, inside.rest.rstrip()))
            self.index += 1
            return
        end = self.closing_tag(tag, cut.offset + match.end())
        stop = end if end is not None else len(self.source.text)
        if end is None:
            self.fail(cut.offset, f"HTML 标签 <{tag}> 没有收尾的 </{tag}>", claim=match[0][:40])
        if tag not in ("pre", "script", "style", "textarea"):
            self.raw_text(cut.offset, stop)
        self.continue_at(stop)

    def closing_tag(self, tag: str, offset: int) -> int | None:
        depth = 1
        for match in re.compile(rf"<!--.*?-->|<(/?){tag}(?=[\s>/])[^>]*>", re.IGNORECASE | re.DOTALL).finditer(
            self.source.text, offset
        ):
            if match[1] is None:
                continue
            depth += -1 if match[1] else 1
            if depth == 0:
                return match.end()
        return None

    def raw_text(self, start: int, stop: int) -> None:
        """The text of raw HTML: no code spans there, but a reader sees its numbers."""
        text = re.sub(r"<!--.*?-->|`", lambda m: re.sub(r"[^\n]", " ", m[0]), self.source.text[start:stop], flags=re.DOTALL)
        pieces = [(start + m.start(), m[0]) for m in re.finditer(r"[^\r\n]+", text)]
        self.inline.read(Region(pieces), "html")

    def opening(self, cut: Cut) -> tuple[str, str] | None:
        match = _FENCE.match(cut.rest)
        if match is None or (match[1][0] == "`" and "`" in match[2]):
            return None
        return match[1], match[2]

    def fence(self, cut: Cut, run: str, info_text: str) -> None:
        """A fence: up to its closing run, or to the end of its containers."""
        start = cut.offset
        info = start + len(run)
        parsed = fences.parse_info(info_text, info)
        kind = fences.kind_of(parsed)
        self.options += fences.check(parsed, kind, self.source, self.front.toys)
        opening, opening_indent = self.index, cut.column - self.containers_column(cut.line)
        code: list[str] = []
        margins: list[int] = []
        closing: tuple[int, int] | None = None
        self.index += 1
        while self.index < len(self.source.lines):
            line = self.source.lines[self.index]
            inner, matched = self.enter(line)
            blank = not inner.rest.strip()
            if matched < len(self.stack):
                break
            after = _indent(line.text, inner.at, opening_indent)
            if after is None and not blank:
                break
            bare = inner.rest.strip()
            at = inner.at + len(inner.rest) - len(inner.rest.lstrip(" \t"))
            if bare and set(bare) == {run[0]} and len(bare) >= len(run):
                closing = (line.start + at, len(bare))
                if len(bare) != len(run):
                    self.fail(line.start + at, f"收尾的围栏须和开头一样长：{run}", claim=bare)
                elif at != after:
                    self.fail(line.start + at, "收尾的围栏须和开头缩进相同", claim=bare)
                self.index += 1
                break
            margin = len(line.text) if after is None else after
            code.append(line.text[margin:])
            margins.append(margin)
            self.index += 1
        if closing is None:
            stopped = self.index < len(self.source.lines)
            where = f"第 {self.index + 1} 行已不在它的缩进或容器之内" if stopped else "一直到文件末尾"
            self.fail(start, f"围栏 {run} 没有收尾：{where}", claim=cut.rest[:60])
        end = closing[0] + closing[1] if closing else self.source.lines[self.index - 1].end
        self.fences.append(
            Fence(
                kind=kind,
                language=parsed.language,
                options={option.key: option.value or "" for option in parsed.options},
                code="\n".join(code),
                start=start,
                info=info,
                info_end=self.source.lines[opening].end,
                end=end,
                line=opening + 1,
                column=self.source.place(start)[1],
                margins=tuple(margins),
            )
        )

    def containers_column(self, line: Line) -> int:
        cut, matched = self.enter(line)
        return cut.column if matched == len(self.stack) else 0


def _column(text: str, at: int) -> int:
    """Virtual column of a character: tabs go to the next multiple of four."""
    if "\t" not in text[:at]:
        return at
    return len(text[:at].expandtabs(4))


def _quote(text: str, at: int) -> int | None:
    """Offset after ``>`` and one blank, or None where the line does not go on with the quote."""
    stop = at
    while stop < len(text) and stop - at < 3 and text[stop] == " ":
        stop += 1
    if stop >= len(text) or text[stop] != ">":
        return None
    return stop + 2 if text[stop + 1 : stop + 2] == " " else stop + 1


def _indent(text: str, at: int, columns: int) -> int | None:
    """Offset after ``columns`` columns of blanks, or None where there are fewer."""
    target = _column(text, at) + columns
    while at < len(text) and text[at] in " \t" and _column(text, at) < target:
        at += 1
    return at if _column(text, at) >= target else None


