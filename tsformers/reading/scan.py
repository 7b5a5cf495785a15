"""The line scanner: the blocks of a page at any depth of containers, each with its physical place.

CommonMark parsers take the four-space content of admonitions and content tabs for code, so the scanner is our own. It
knows the containers that Python-Markdown and its extensions know (block quotes, callouts, admonitions, details, tabs,
list items, footnotes, definitions), fences, comments, raw HTML, headings, tables and formulas; the guard compares what
it found with what Python-Markdown makes of the same page.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tsformers.reading import fences
from tsformers.reading.containers import Containers, Cut, after_indent, after_quote
from tsformers.reading.failure import Failure
from tsformers.reading.frontmatter import read_front_matter
from tsformers.reading.inline import Inline, Region, split_cells
from tsformers.reading.page import Fence, FrontMatter, Heading, Page, Span
from tsformers.reading.places import Source
from tsformers.reading.rawhtml import BLOCK_TAG, closing_tag, holds_markdown, seen_attributes, visible_text

_FENCE = re.compile(r"(`{3,}|~{3,})([^\n]*)")
_HEADING = re.compile(r"(#{1,6})(?!#)[ \t]*(.*?)[ \t]*#*[ \t]*$")
_NUMBER = re.compile(r"§?\s*((?:\d+|[A-Z](?=\.\d))(?:\.\d+)*)(?:\.?[ \t\u3000]+|[.、．](?=\S))(?=\S)")
_ATTRIBUTES = re.compile(r"[ \t]*\{:?[ \t]*[.#\w][^{}]*\}$")
_ADMONITION = re.compile(r"(?:!!!|\?\?\?\+?) ?[\w-]+(?: +[\w-]+)*(?: +\"(.*?)\")? *$|\?\?\?\+? ?\"(.*?)\" *$")
_TAB = re.compile(r"={3}(?:\+|\+!|!\+|!)? +\"(.*?)\" *$")
_ITEM = re.compile(r"(?:[*+-]|\d+\.)[ \t]+(?=\S)")
_EMPTY_ITEM = re.compile(r"(?:[*+-]|\d+\.)[ \t]*$")
_FOOTNOTE = re.compile(r"\[\^[^\]]+\]:[ \t]*")
_DEFINITION = re.compile(r":[ \t]{1,3}(?=\S)")
_REFERENCE = re.compile(r"\[[^\]^][^\]]*\]:[ \t]*\S+|\*\[[^\]]+\]:")
_CALLOUT = re.compile(r"\[![^\]]*\][+-]?[ \t]*")
_RULE = re.compile(r"(?:(?:-[ ]{0,2}){3,}|(?:_[ ]{0,2}){3,}|(?:\*[ ]{0,2}){3,})$")
_UNDERLINE = re.compile(r"(?:=+|--+) *$")
_DELIMITER = re.compile(r"[|:\- \t]*-[|:\- \t]*$")
_OPENINGS = (_FENCE, _ADMONITION, _TAB, _ITEM, _FOOTNOTE, BLOCK_TAG, _RULE, re.compile(r">|<!--|\$\$|#"))
_DEEPEST = 20  # containers in one another


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
    steps: list[Span | Fence] = [*inline.spans, *scanner.fences]
    page = Page(
        path=path,
        text=text,
        front=front,
        steps=tuple(sorted(steps, key=lambda step: step.start)),
        headings=tuple(scanner.headings),
        problems=tuple(sorted([*problems, *scanner.options, *scanner.failures, *inline.failures])),
        prose=tuple(sorted(inline.prose, key=lambda prose: prose.breaks[0][1])),
        links=tuple(sorted(inline.links, key=lambda link: link.start)),
    )
    unsound = bool(scanner.failures or inline.failures)
    return Scan(page, tuple(inline.unchecked), tuple(scanner.callouts), unsound)


class _Scanner:
    """Goes through the lines once; ``index`` is the line that comes next."""

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
        self.containers = Containers()
        self.paragraph: list[tuple[int, str]] = []  # pieces of the open paragraph
        self.paragraph_kind = "paragraph"
        self.in_code = False  # inside an indented code block, which was already reported

    def fail(self, offset: int, message: str, claim: str) -> None:
        self.failures.append(self.source.failure(offset, "fence", message, claim=claim))

    def run(self) -> None:
        while self.index < len(self.source.lines):
            self.step()
        self.flush()

    def step(self) -> None:
        cut, matched = self.containers.enter(self.source.lines[self.index])
        if cut.blank:
            self.flush()
            self.containers.leave_quotes(matched)
            self.index += 1
            return
        if matched < len(self.containers):
            if self.paragraph and self.lazy(cut):
                self.text(cut)
                return
            self.flush()
            self.containers.keep(matched)
        self.block(cut)

    def lazy(self, cut: Cut) -> bool:
        """Whether a line that lacks the prefix of its containers still continues the paragraph in them."""
        rest = cut.rest.lstrip(" \t")
        return self.containers.kinds[-1] != "indent" and not any(pattern.match(rest) for pattern in _OPENINGS)

    def block(self, cut: Cut) -> None:
        """One line at the depth of its containers."""
        bare = cut.rest.lstrip(" \t")
        inner = cut.forward(len(cut.rest) - len(bare))
        indented = inner.column - cut.column >= 4
        if indented and not self.paragraph:
            if not self.in_code:
                self.fail(inner.offset, "缩进的代码块不会被检查，请改用 ```python 围栏（或减少缩进）", bare[:40])
            self.in_code = True
            self.index += 1
            return
        self.in_code = False
        match = _FENCE.match(bare)
        if match and not (match[1][0] == "`" and "`" in match[2]):
            self.flush()
            self.fence(inner, match[1], match[2])
        elif indented or not (self.container(cut, inner) or self.leaf(cut, inner)):
            self.text(inner)

    def container(self, cut: Cut, inner: Cut) -> bool:
        """Whether the line opens a container."""
        bare = inner.rest
        if bare.startswith(">"):
            self.open("quote", inner.forward(after_quote(bare, 0) or 1))
        elif match := _ADMONITION.match(cut.rest) or _TAB.match(cut.rest):
            self.flush()
            for group in range(1, match.re.groups + 1):
                if match[group]:
                    self.inline.read(Region([(cut.offset + match.start(group), match[group])]), "title")
            self.containers.open("indent")
            self.index += 1
        elif match := _FOOTNOTE.match(bare) or (_DEFINITION.match(bare) if len(self.paragraph) == 1 else None):
            self.open("indent", inner.forward(match.end()))
        elif _RULE.match(bare):
            return False
        elif match := _ITEM.match(bare) or (_EMPTY_ITEM.match(bare) if not self.paragraph else None):
            self.open("item", inner.forward(match.end()))
        else:
            return False
        return True

    def leaf(self, cut: Cut, inner: Cut) -> bool:
        """Whether the line is, or begins, a block other than a paragraph."""
        bare = inner.rest
        at_margin = not len(self.containers) and inner.at <= 3
        if cut.rest.startswith("#") and (match := _HEADING.match(cut.rest)):
            self.heading(cut, match)
        elif bare.startswith("$$"):
            self.formula(inner)
        elif bare.startswith("<!--") and not self.paragraph:
            self.comment(inner)
        elif self.paragraph and _UNDERLINE.match(cut.rest):
            self.fail(inner.offset, "这一行会把上面的文字变成标题：标题请用 #，分隔线前须空一行", bare)
            self.flush()
            self.index += 1
        elif _RULE.match(bare):
            self.flush()
            self.index += 1
        elif not self.paragraph and (match := _REFERENCE.match(bare)):
            self.inline.read(Region([(inner.offset + match.end(), bare[match.end() :])]), "alt")
            self.index += 1
        elif at_margin and (match := BLOCK_TAG.match(bare)):
            self.html(inner, match)
        else:
            return False
        return True

    def open(self, kind: str, cut: Cut) -> None:
        """A container whose content begins on this very line."""
        self.flush()
        if len(self.containers) >= _DEEPEST:
            self.fail(cut.offset, f"嵌套太深：容器最多 {_DEEPEST} 层", cut.rest[:40])
            self.index += 1
            return
        self.containers.open(kind)
        if kind == "quote" and (match := _CALLOUT.match(cut.rest)):
            title = cut.forward(match.end())
            self.callouts.append((cut.line.text[: cut.at], cut.offset, title.offset, cut.line.end))
            self.inline.read(Region([(title.offset, title.rest)]), "title")
            self.index += 1
        elif cut.blank:
            self.index += 1
        elif kind == "item" and _FENCE.match(cut.rest):
            self.fail(cut.offset, "围栏不能和列表符号写在同一行：请另起一行，缩进四格", cut.rest[:40])
            self.index += 1
        else:
            self.paragraph_kind = "item" if kind == "item" else "paragraph"
            self.block(cut)

    def text(self, cut: Cut) -> None:
        self.paragraph.append((cut.offset, cut.rest.rstrip()))
        self.index += 1

    def flush(self) -> None:
        """Close the open paragraph and read what stands in it."""
        pieces, kind = self.paragraph, self.paragraph_kind
        self.paragraph, self.paragraph_kind = [], "paragraph"
        if len(pieces) > 1 and "|" in pieces[0][1] and "|" in pieces[1][1] and _DELIMITER.match(pieces[1][1]):
            for offset, text in [pieces[0], *pieces[2:]]:
                for start, end in split_cells(text):
                    self.inline.read(Region([(offset + start, text[start:end])]), "table", "table")
        elif pieces:
            self.inline.read(Region(pieces), kind)

    def heading(self, cut: Cut, match: re.Match[str]) -> None:
        self.flush()
        title = _ATTRIBUTES.sub("", match[2])
        found = _NUMBER.match(title)
        number, shown = (found[1], title[found.end() :]) if found else ("", title)
        self.headings.append(Heading(len(match[1]), number, shown, cut.offset, cut.line.end, cut.line.number))
        self.inline.read(Region([(cut.offset + match.start(2), title)]), "heading", "heading")
        self.attributes(cut.offset + match.start(2) + len(title), match[2][len(title) :])
        self.index += 1

    def attributes(self, offset: int, text: str) -> None:
        """A tag or a list of attributes that is no text itself."""
        for at, value in seen_attributes(text):
            self.inline.read(Region([(offset + at, value)]), "alt")

    def formula(self, cut: Cut) -> None:
        """A formula as a block of its own: its lines are LaTeX, though they may begin like a list or a quote."""
        self.flush()
        pieces = [(cut.offset, cut.rest.rstrip())]
        closed = "$$" in cut.rest[2:]
        self.index += 1
        while not closed and self.index < len(self.source.lines):
            line, matched = self.containers.enter(self.source.lines[self.index])
            if matched < len(self.containers) or line.blank:
                break
            pieces.append((line.offset, line.rest.rstrip()))
            closed = "$$" in line.rest
            self.index += 1
        if not closed:
            self.fail(cut.offset, "公式 $$ 没有收尾：$$ 须成对，中间不能有空行", cut.rest[:40])
        self.inline.read(Region(pieces), "paragraph")

    def comment(self, cut: Cut) -> None:
        end = self.source.text.find("-->", cut.offset)
        if end >= 0:
            self.continue_at(end + 3)
            return
        self.fail(cut.offset, "注释 <!-- 没有收尾的 -->，后面的内容都不会显示", "<!--")
        self.index = len(self.source.lines)

    def continue_at(self, offset: int) -> None:
        """Go on after something that may end in the middle of a line."""
        number, column = self.source.place(offset)
        rest = Cut(self.source.lines[number - 1], column - 1)
        self.index = number - 1
        if rest.blank:
            self.index += 1
        else:
            self.text(rest)

    def html(self, cut: Cut, match: re.Match[str]) -> None:
        """A block of raw HTML, up to its closing tag; what it holds is Markdown only with a ``markdown`` attribute."""
        self.flush()
        tag = match[1].lower()
        inside = cut.forward(match.end())
        while holds_markdown(match[2]):
            self.attributes(inside.offset - len(match[0]), match[0])
            nested = BLOCK_TAG.match(inside.rest)
            if nested is None:
                self.continue_at(inside.offset)
                return
            tag, match, inside = nested[1].lower(), nested, inside.forward(nested.end())
        stop = closing_tag(tag, self.source.text, inside.offset)
        if stop is None:
            self.fail(cut.offset, f"HTML 标签 <{tag}> 没有收尾的 </{tag}>", match[0][:40])
            stop = len(self.source.text)
        self.inline.read(Region(visible_text(tag, self.source.text, cut.offset, stop)), "html")
        self.continue_at(stop)

    def fence(self, cut: Cut, run: str, info_text: str) -> None:
        """A fence: up to its closing run, or to the end of its containers."""
        info = cut.offset + len(run)
        parsed = fences.parse_info(info_text, info)
        kind = fences.kind_of(parsed)
        self.options += fences.check(parsed, kind, self.source, self.front.toys)
        opening, _ = self.containers.enter(cut.line)
        code, margins, end = self.fenced(cut, run, max(cut.column - opening.column, 0))
        self.fences.append(
            Fence(
                kind=kind,
                language=parsed.language,
                options={option.key: option.value or "" for option in parsed.options},
                code="\n".join(code),
                start=cut.offset,
                info=info,
                info_end=cut.line.end,
                end=end,
                line=cut.line.number,
                column=cut.at + 1,
                margins=tuple(margins),
            )
        )

    def fenced(self, opening: Cut, run: str, indent: int) -> tuple[list[str], list[int], int]:
        """(lines of code, their margins, offset of the end) of the fence that ``opening`` opens."""
        code: list[str] = []
        margins: list[int] = []
        self.index += 1
        while self.index < len(self.source.lines):
            line = self.source.lines[self.index]
            inner, matched = self.containers.enter(line)
            after = after_indent(line.text, inner.at, indent)
            if matched < len(self.containers) or (after is None and not inner.blank):
                break
            bare = inner.rest.strip()
            if bare and set(bare) == {run[0]} and len(bare) >= len(run):
                at = inner.at + inner.rest.index(bare)
                if len(bare) != len(run):
                    self.fail(line.start + at, f"收尾的围栏须和开头一样长：{run}", bare)
                elif at != after:
                    self.fail(line.start + at, "收尾的围栏须和开头缩进相同", bare)
                self.index += 1
                return code, margins, line.start + at + len(bare)
            margin = len(line.text) if after is None else after
            code.append(line.text[margin:])
            margins.append(margin)
            self.index += 1
        stopped = self.index < len(self.source.lines)
        where = f"第 {self.index + 1} 行已不在它的缩进或容器之内" if stopped else "一直到文件末尾"
        self.fail(opening.offset, f"围栏 {run} 没有收尾：{where}", opening.rest[:60])
        return code, margins, self.source.lines[self.index - 1].end
