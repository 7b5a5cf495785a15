"""The text of a page and its places: offsets, physical lines, columns."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache

from tsformers.reading.failure import Failure

_LINE_END = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class Line:
    """A physical line: ``text`` without its end, ``start`` its offset in the page, ``number`` from 1."""

    number: int
    start: int
    text: str

    @property
    def end(self) -> int:
        return self.start + len(self.text)


@lru_cache(maxsize=512)  # each part of the engine that looks at a page asks for them
def _lines(text: str) -> tuple[Line, ...]:
    lines: list[Line] = []
    start = 0
    for end in _LINE_END.finditer(text):
        lines.append(Line(len(lines) + 1, start, text[start : end.start()]))
        start = end.end()
    return (*lines, Line(len(lines) + 1, start, text[start:]))


class Source:
    """A page's text cut at its line ends, which are those of editors: LF, CRLF, CR, and no others."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        self.lines = _lines(text)
        self._starts = [line.start for line in self.lines]

    def place(self, offset: int) -> tuple[int, int]:
        """(line, column) of an offset, both from 1, in characters."""
        index = bisect_right(self._starts, offset) - 1
        return index + 1, offset - self._starts[index] + 1

    def failure(
        self, offset: int, kind: str, message: str, *, claim: str = "", expected: str = "", actual: str = ""
    ) -> Failure:
        line, column = self.place(offset)
        return Failure(self.path, line, column, kind, claim, expected, actual, message)
