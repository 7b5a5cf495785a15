"""The containers that a line of a page stands in: quotes, list items, and what is indented by four columns."""

from __future__ import annotations

from dataclasses import dataclass

from tsformers.reading.places import Line


@dataclass(frozen=True, slots=True)
class Cut:
    """A line with the prefix of its containers taken off: the rest starts at ``at``."""

    line: Line
    at: int

    @property
    def rest(self) -> str:
        return self.line.text[self.at :]

    @property
    def offset(self) -> int:
        return self.line.start + self.at

    @property
    def column(self) -> int:
        """Virtual column, from 0: a tab goes on to the next multiple of four."""
        return column(self.line.text, self.at)

    @property
    def blank(self) -> bool:
        return not self.rest.strip(" \t")

    def forward(self, characters: int) -> Cut:
        return Cut(self.line, self.at + characters)


class Containers:
    """The open containers, outermost first: "quote", "item" (of a list), "indent" (admonition, tab, footnote …)."""

    def __init__(self) -> None:
        self.kinds: list[str] = []

    def __len__(self) -> int:
        return len(self.kinds)

    def open(self, kind: str) -> None:
        self.kinds.append(kind)

    def keep(self, number: int) -> None:
        """Close all but the first ``number``."""
        del self.kinds[number:]

    def enter(self, line: Line) -> tuple[Cut, int]:
        """Take off the prefix of each open container; how many of them the line still belongs to."""
        at = 0
        for matched, kind in enumerate(self.kinds):
            after = after_quote(line.text, at) if kind == "quote" else after_indent(line.text, at, 4)
            if after is None and kind != "quote" and not line.text[at:].strip(" \t"):
                after = len(line.text)
            if after is None:
                return Cut(line, at), matched
            at = after
        return Cut(line, at), len(self.kinds)

    def leave_quotes(self, matched: int) -> None:
        """A blank line without its ``>`` ends a quote, and nothing else."""
        if matched < len(self.kinds) and self.kinds[matched] == "quote":
            self.keep(matched)


def column(text: str, at: int) -> int:
    return at if "\t" not in text[:at] else len(text[:at].expandtabs(4))


def after_quote(text: str, at: int) -> int | None:
    """Offset after ``>`` and one blank, or None where the line does not go on with the quote."""
    stop = at
    while stop < len(text) and stop - at < 3 and text[stop] == " ":
        stop += 1
    if stop >= len(text) or text[stop] != ">":
        return None
    return stop + 2 if text[stop + 1 : stop + 2] == " " else stop + 1


def after_indent(text: str, at: int, columns: int) -> int | None:
    """Offset after ``columns`` columns of blanks, or None where there are fewer."""
    target = column(text, at) + columns
    while at < len(text) and text[at] in " \t" and column(text, at) < target:
        at += 1
    return at if column(text, at) >= target else None
