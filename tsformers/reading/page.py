"""Markdown -> Page: the steps of a page in document order, each with its place in the file on disk."""

from __future__ import annotations

import codecs
import re
from bisect import bisect_right
from dataclasses import dataclass, field
from pathlib import Path

from tsformers.reading.failure import Failure


@dataclass(frozen=True, slots=True)
class Span:
    """Inline code between single backticks; ``start`` and ``end`` delimit ``text`` in ``Page.text``.

    Two exceptions: the line ends of a span that runs over several lines (with the prefixes of its containers) stand as
    one blank in ``text``, and ``\\|`` in a table cell stands as ``|``. ``line`` and ``column`` are those of ``start``.
    """

    text: str
    start: int
    end: int
    line: int
    column: int
    where: str  # "prose" "heading" "table"


@dataclass(frozen=True, slots=True)
class Fence:
    """A fenced block. ``kind``: "quote" (plain python), "exec", "example" (pycon), or "other"."""

    kind: str
    language: str
    options: dict[str, str]  # as written, quotes removed; a bare word maps to ""
    code: str  # dedented, without the prefix of its containers, "\n" between lines, no final newline
    start: int  # offset in Page.text of the opening line's first backtick or tilde
    info: int  # offset just after the opening run of backticks or tildes
    info_end: int  # offset of the end of the opening line
    end: int  # offset just after the closing run
    line: int  # of the opening
    column: int
    margins: tuple[int, ...]  # per line of code: how many characters of the physical line stand before it

    @property
    def runs(self) -> bool:
        """Whether its code is run as the page's own."""
        return self.kind in ("exec", "example")

    @property
    def code_line(self) -> int:
        """Physical line of the first line of code."""
        return self.line + 1

    def row(self, index: int) -> str:
        """A row of the code, from 0; "" where there is none."""
        rows = self.code.split("\n")
        return rows[index] if 0 <= index < len(rows) else ""


@dataclass(frozen=True, slots=True)
class Heading:
    level: int
    number: str  # "5.2" of "5.2 FFN 残差块" or of "§5.2 …", "" if none
    title: str  # without the number, code spans as written
    start: int
    end: int
    line: int


@dataclass(frozen=True, slots=True)
class Link:
    """A link, an image or a wikilink; ``line`` and ``column`` are those of the target."""

    kind: str  # "link" "image" "wiki"
    target: str  # as written, without a title; for a wikilink "页#标题"
    text: str  # what the reader sees; the alias of a wikilink, "" if it has none
    start: int  # of the whole construct in Page.text
    end: int
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Prose:
    """The text of one block that a reader sees as text.

    Code, formulas, comments, tags and link targets are masked by ``MASK``, character for character, so that places
    hold. ``breaks`` holds (index in ``text``, offset in ``Page.text``) where a run of consecutive characters begins.
    """

    kind: str  # "paragraph" "item" "heading" "table" "title" "caption" "html" "formula" "alt"
    text: str
    breaks: tuple[tuple[int, int], ...]
    spans: tuple[tuple[int, int], ...] = ()  # (start, end) in ``text`` of inline code, backticks included

    def offset(self, index: int) -> int:
        """Offset in ``Page.text`` of ``text[index]``."""
        at, offset = self.breaks[max(0, bisect_right(self.breaks, index, key=lambda b: b[0]) - 1)]
        return offset + index - at


MASK = "\ufffc"
PROMPT = re.compile(r"\s*(?:>>>|\.\.\.)(?: |$)")  # of a row of code in a pycon fence


@dataclass(frozen=True, slots=True)
class FrontMatter:
    toy: str = ""
    toys: dict[str, str] = field(default_factory=dict)
    reads: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()
    numbers: dict[str, str] = field(default_factory=dict)  # exception -> reason
    checked: bool = True
    why: str = ""
    places: dict[str, tuple[int, int]] = field(default_factory=dict)  # key, or "reads.0", "toys.NAME" -> line, column
    end: int = 0  # offset in Page.text just after the closing ---
    title: str = ""

    @property
    def reading(self) -> bool:
        return bool(self.reads)

    @property
    def claims(self) -> bool:
        """Whether a malformed claim is an error: on a page with a toy, whether or not it reads a function."""
        return bool(self.reads or self.toy or self.toys)

    @property
    def all_toys(self) -> dict[str, str]:
        """The toys by name; the page's own has the empty one."""
        return {"": self.toy, **self.toys} if self.toy else dict(self.toys)


@dataclass(frozen=True)
class Page:
    path: str  # as given, "/" between parts
    text: str  # decoded, BOM removed, line ends as on disk
    front: FrontMatter
    steps: tuple[Span | Fence, ...]  # in document order
    headings: tuple[Heading, ...]
    problems: tuple[Failure, ...]  # what is wrong already: unclosed fences, bad options, bad front matter, guard
    prose: tuple[Prose, ...] = ()
    links: tuple[Link, ...] = ()
    look: bool = False  # record everything that is known after the last step, too


def read_page(path: str | Path, *, given: str | None = None) -> Page:
    """The page in the file ``path``; ``given`` is how the caller named it and how failures will.

    The file is read as UTF-8 whatever the locale, with or without a byte order mark. A file in another encoding or with
    NUL bytes, a link to nothing, a pipe: each is a page without steps and with one problem. Raises FileNotFoundError when
    there is no such file.
    """
    name = (given if given is not None else str(path)).replace("\\", "/")
    file = Path(path)
    if (file.exists() or file.is_symlink()) and not file.is_file():
        what = "目录" if file.is_dir() else "指向不存在的文件的链接" if not file.exists() else "管道或设备"
        return _unreadable(name, "", actual=what, message=f"这不是文件，是{what}")
    try:
        data = file.read_bytes().removeprefix(codecs.BOM_UTF8)
    except PermissionError as error:
        return _unreadable(name, "", actual=str(error.strerror), message=f"文件读不了：{error.strerror}")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8")
        byte = f"0x{data[error.start]:02x}"
        return _unreadable(
            name, before, actual=byte, message=f"文件须是 UTF-8 编码，这里的字节 {byte} 不是；请另存为 UTF-8"
        )
    if "\0" in text:
        before = text[: text.index("\0")]
        return _unreadable(name, before, actual="NUL", message="文件里有 NUL 字节，不是文本；请另存为 UTF-8 文本")
    return scan(text, name)


def _unreadable(path: str, before: str, *, actual: str, message: str) -> Page:
    from tsformers.reading.places import Source

    line, column = Source(path, before).place(len(before))
    problem = Failure(path, line, column, "front-matter", expected="UTF-8", actual=actual, message=message)
    return Page(path, "", FrontMatter(), (), (), (problem,))


def scan(text: str, path: str = "") -> Page:
    """The page in ``text``, without a byte order mark; never raises for anything that an author can write."""
    from tsformers.reading.guard import guard
    from tsformers.reading.scan import scan_text

    return guard(scan_text(text.removeprefix("\ufeff"), path))
