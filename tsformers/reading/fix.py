"""Correct what a page states: edits of places, decided from its record. Pure; nothing here searches text or writes.

A literal keeps the digits and the layout that its author chose. A shape is changed only if asked for, as is a value
that changes by more than a tenth; a place that asks (``≈ ?``, ``(?)``, an example without output) is always filled.
"""

from __future__ import annotations

import ast
import doctest
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial

from tsformers.reading.blocks import NUMBER, compare_output
from tsformers.reading.claims import Claim, as_written, judge, parse
from tsformers.reading.literals import Items, Literal, Scalar
from tsformers.reading.naked import full_width
from tsformers.reading.page import Fence, Page, Span, scan
from tsformers.reading.places import Source
from tsformers.reading.record import Printed, Reading, Value
from tsformers.reading.rewrite import restyled, whole

SHAPES, VALUES = "--shapes", "--values"
NEAR = Fraction(1, 10)  # a larger change of a number is one of its meaning, which the author must want
SHAPELY = frozenset({"shape", "size", "ndim", "dim", "numel"})

Piece = tuple[int, int]  # a claim or an example: index of its step, and which example of a fence, from 0


@dataclass(frozen=True, order=True)
class Edit:
    """``page.text[start:end]`` is to be ``new``."""

    start: int
    end: int
    new: str
    piece: Piece


@dataclass
class Proposal:
    """What can be corrected, and why the rest of what is wrong cannot; both by piece."""

    edits: list[Edit] = field(default_factory=list)
    refused: dict[Piece, str] = field(default_factory=dict)

    def refuse(self, pieces: Iterable[Piece], reason: str) -> None:
        """Drop what belongs to these pieces."""
        self.refused |= {piece: reason for piece in pieces}
        self.edits = [edit for edit in self.edits if edit.piece not in self.refused]


class _Refused(Exception):
    """Why a piece stays as it is, for its author."""


def propose(page: Page, reading: Reading, *, shapes: bool = False, values: bool = False) -> Proposal:
    """The edits that make the wrong claims and examples of a page right, and the reasons where there are none."""
    allowed = {"", *([SHAPES] if shapes else []), *([VALUES] if values else [])}
    proposal = Proposal()
    for piece, found in _wrong(page, reading):
        try:
            edits, need = found()
            if need not in allowed:
                what = "形状" if need == SHAPES else "变化超过 10 % 或不是数的值"
                raise _Refused(f"{what}只在给出 {need} 时改写；会写成：{_shown(edits)}")
            proposal.edits += edits
        except _Refused as reason:
            proposal.refused[piece] = str(reason)
    broken = _broken(page, reading, proposal.edits)
    if broken:
        proposal.refuse(broken, "改写以后这里的页面结构会变，请手工改")
    return proposal


def apply(text: str, edits: Iterable[Edit]) -> str:
    """The text with every edit made, from right to left."""
    last = len(text)
    for edit in sorted(edits, reverse=True):
        if edit.end > last:
            raise ValueError(f"edits overlap at {edit.start}")
        text = text[: edit.start] + edit.new + text[edit.end :]
        last = edit.start
    return text


def unstable(first: Reading, second: Reading, edits: Iterable[Edit]) -> set[Piece]:
    """The pieces whose value was another one when the page ran again."""
    return {edit.piece for edit in edits if _recorded(first, edit.piece) != _recorded(second, edit.piece)}


def piece_at(page: Page, line: int, column: int) -> Piece | None:
    """The claim or example that a place of a page belongs to."""
    source = Source(page.path, page.text)
    offset = source.lines[min(line, len(source.lines)) - 1].start + column - 1
    for index, step in enumerate(page.steps):
        if isinstance(step, Span) and step.start <= offset <= step.end:
            return index, 0
        if isinstance(step, Fence) and step.kind == "example" and step.start <= offset < step.end:
            rows = [example.lineno for example in _examples(step.code)]
            return index, max(0, sum(row <= line - step.code_line for row in rows) - 1)
    return None


def _recorded(reading: Reading, piece: Piece) -> str:
    """What was recorded of a piece, as text, so that nan equals nan."""
    step, number = piece
    if step in reading.evidence:
        return repr(reading.evidence[step].values)
    return repr(reading.printed.get(step, ())[number : number + 1])


def _shown(edits: Sequence[Edit]) -> str:
    return "，".join(edit.new.strip() or "（删去）" for edit in edits)


Found = tuple[list[Edit], str]  # edits, and the option that they need


def _wrong(page: Page, reading: Reading) -> Iterator[tuple[Piece, Callable[[], Found]]]:
    """Each wrong piece, with the function that corrects it."""
    for index, step in enumerate(page.steps):
        if isinstance(step, Span):
            evidence = reading.evidence.get(index)
            if evidence is None or evidence.kind != "claim" or evidence.problem or full_width(step.text) is not None:
                continue
            claim = parse(step.text)
            values = [value for _, value in evidence.values]
            if claim is not None and judge(claim, values, evidence.outcomes) is not None:
                yield (index, 0), partial(_claim, page, index, step, claim, values)
        elif isinstance(step, Fence) and step.kind == "example":
            printed = {item.row: item for item in reading.printed.get(index, ())}
            for number, example in enumerate(_examples(step.code)):
                got = printed.get(example.lineno)
                if got is not None and _differs(example, got):
                    yield (index, number), partial(_example, page, (index, number), step, example, got)


# Claims


def _claim(page: Page, index: int, span: Span, claim: Claim, values: Sequence[Value]) -> Found:
    if claim.form == "compare":
        raise _Refused("比较说的是关系，改动它的数会改变原意，只能由作者来改")
    start, new = claim.written, as_written(claim, values)
    if integer := whole(claim, values[0]):  # ``d_ff / d_model = 4``, not ``≈ 4.0000``
        start, new = claim.text.rindex("≈", 0, claim.written), f"= {integer}"
    if new is None:
        raise _Refused("没有一个字面量能写出这个值")
    if page.text[span.start : span.end] != span.text:
        why = "跨行的" if "\n" in page.text[span.start : span.end] else "带 \\| 的"
        raise _Refused(f"{why}代码片段请手工改；应是 {claim.text[:start]}{new}{claim.text[claim.end :]}")
    edit = Edit(span.start + start, span.start + claim.end, new, (index, 0))
    return [edit], _needed(claim, new)


def _needed(claim: Claim, new: str) -> str:
    if claim.asks:
        return ""
    changed = parse(claim.text[: claim.written] + new + claim.text[claim.end :])
    assert changed is not None  # as_written proves that it is a claim
    if claim.form == "shape" or claim.dtype != changed.dtype or _of_shape(claim.expressions[0].code):
        return SHAPES
    assert claim.literal is not None and changed.literal is not None
    return "" if _near(claim.literal, changed.literal) else VALUES


def _of_shape(code: str) -> bool:
    """Whether an expression asks for a shape: ``x.shape``, ``x.size(0)``, ``x.shape[1:]``."""
    try:
        tree: ast.AST = ast.parse(code.strip(), mode="eval").body
    except SyntaxError:
        return False
    while isinstance(tree, ast.Subscript | ast.Call):
        tree = tree.value if isinstance(tree, ast.Subscript) else tree.func
    return isinstance(tree, ast.Attribute) and tree.attr in SHAPELY


def _near(old: Literal, new: Literal) -> bool:
    """Whether two literals have one structure, and no number of the new one differs by more than a tenth."""
    if isinstance(old, Items) and isinstance(new, Items):
        alike = (old.kind, old.skip, len(old.items)) == (new.kind, new.skip, len(new.items))
        return alike and all(_near(a, b) for a, b in zip(old.items, new.items, strict=True))
    if not isinstance(old, Scalar) or not isinstance(new, Scalar) or old.kind != new.kind:
        return False
    return old.text == new.text or (old.kind in ("int", "float") and _near_numbers(old.text, new.text))


def _near_numbers(old: str, new: str) -> bool:
    if not math.isfinite(float(old)) or not math.isfinite(float(new)):
        return False
    return abs(Fraction(new) - Fraction(old)) <= NEAR * abs(Fraction(old))


# Examples


def _examples(code: str) -> list[doctest.Example]:
    try:
        return doctest.DocTestParser().get_examples(code + "\n")
    except ValueError:
        return []  # malformed: running it said so


def _differs(example: doctest.Example, got: Printed) -> bool:
    if got.raised != (example.exc_msg is not None):
        return True
    return compare_output(_written(example), got.text) is not None


def _written(example: doctest.Example) -> str:
    return example.want if example.exc_msg is None else example.exc_msg


def _example(page: Page, piece: Piece, fence: Fence, example: doctest.Example, got: Printed) -> Found:
    if got.raised and example.exc_msg is None:
        raise _Refused(f"示例抛出了 {got.text.strip()}；没有预期的异常不会写成输出")
    if not got.raised and example.exc_msg is not None:
        raise _Refused("示例没有抛出预期的异常")
    written, source = _written(example), Source(page.path, page.text)
    count = written.count("\n")
    first = example.lineno + example.source.count("\n") + example.want.count("\n") - count
    rows = fence.code.split("\n")[first : first + count]
    lines = [line.rstrip() for line in got.text.rstrip().split("\n")] if got.text.strip() else []
    place = _Rows(source, fence, piece, example.indent)
    if written.strip() in ("", "?"):
        return [place.block(first, count, lines)], ""
    far = len(rows) != len(lines)
    edits = []
    if far:
        edits.append(place.block(first, count, lines))
    else:
        for row, (old, new) in enumerate(zip(rows, lines, strict=True), first):
            found, distant = _line(old, new, place, row)
            edits += found
            far = far or distant
    shapely = "torch.Size(" in got.text or _of_shape(example.source)
    return edits, SHAPES if shapely else VALUES if far else ""


def _line(old: str, new: str, place: _Rows, row: int) -> tuple[list[Edit], bool]:
    """The edits of one row of output, and whether it is another row rather than one with numbers a little changed."""
    if compare_output(old.strip(), new.strip()) is None:
        return [], False
    ours, theirs = list(NUMBER.finditer(old)), list(NUMBER.finditer(new))
    if NUMBER.sub("#", old).split() != NUMBER.sub("#", new).split() or len(ours) != len(theirs):
        return [place.block(row, 1, [new])], True
    edits, far = [], False
    for mine, other in zip(ours, theirs, strict=True):
        if compare_output(mine.group(), other.group()) is not None:
            text = _with_digits(mine.group(), other.group())
            edits.append(place.within(row, mine.start(), mine.end(), text))
            far = far or not _near_numbers(mine.group(), text)
    return edits, far


def _with_digits(style: str, number: str) -> str:
    """A printed number with the digits that the author wrote, where it has as many."""
    if "." in style and "." in number and len(number) > len(style):
        text = restyled(float(number), "", style)
        if compare_output(text, number) is None:
            return text
    return number


@dataclass(frozen=True)
class _Rows:
    """Rows of a fence's code as places of the page, behind the prefixes of the containers around it."""

    source: Source
    fence: Fence
    piece: Piece
    indent: int

    def within(self, row: int, start: int, end: int, new: str) -> Edit:
        """Part of a row; ``start`` and ``end`` are columns of the code, from 0."""
        line, margin = self.source.lines[self.fence.code_line + row - 1], self.fence.margins[row]
        if line.text[margin + start : margin + end] != self.fence.code.split("\n")[row][start:end]:
            raise _Refused("这一行有制表符，位置说不准，请手工改")
        return Edit(line.start + margin + start, line.start + margin + end, new, self.piece)

    def block(self, first: int, count: int, lines: Sequence[str]) -> Edit:
        """Whole rows, from the end of the row above; new ones begin as that row does."""
        known, at = self.source.lines, self.fence.code_line + first - 2
        above, last = known[at], known[at + count]
        end = self.source.text[above.end : known[at + 1].start]
        prefix = above.text[: self.fence.margins[first - 1] + self.indent]
        text = "".join(f"{end}{prefix}{line or '<BLANKLINE>'}" for line in lines)
        return Edit(above.end, last.end, text, self.piece)


# Proof


def _broken(page: Page, reading: Reading, edits: Sequence[Edit]) -> set[Piece]:
    """The pieces whose edits make another page of it; empty if all are well together."""
    if not edits or _same_but_for(page, reading, edits):
        return set()
    pieces = {edit.piece for edit in edits}
    alone = {piece for piece in pieces if not _same_but_for(page, reading, [e for e in edits if e.piece == piece])}
    return alone or pieces


def _same_but_for(page: Page, reading: Reading, edits: Sequence[Edit]) -> bool:
    """Whether the edited text has the steps of the page, the edited ones changed as meant."""
    changed = scan(apply(page.text, edits), page.path)
    if len(changed.steps) != len(page.steps) or len(changed.problems) != len(page.problems):
        return False
    by_step: dict[int, list[Edit]] = {}
    for edit in edits:
        by_step.setdefault(edit.piece[0], []).append(edit)
    for index, (old, new) in enumerate(zip(page.steps, changed.steps, strict=True)):
        mine = by_step.get(index, [])
        if isinstance(old, Span) and isinstance(new, Span):
            moved = [Edit(edit.start - old.start, edit.end - old.start, edit.new, edit.piece) for edit in mine]
            if new.text != (apply(old.text, moved) if moved else old.text):
                return False
            continue
        if not isinstance(old, Fence) or not isinstance(new, Fence) or old.kind != new.kind:
            return False
        touched = {edit.piece[1] for edit in mine}
        if not (_right(old, new, touched, reading.printed[index]) if mine else old.code == new.code):
            return False
    return True


def _right(old: Fence, new: Fence, touched: set[int], printed: Sequence[Printed]) -> bool:
    """Whether a fence holds the examples that it held, those touched with what came out, the others as they were."""
    before, after, got = _examples(old.code), _examples(new.code), {item.row: item for item in printed}
    if [item.source for item in before] != [item.source for item in after]:
        return False
    return all(
        not _differs(now, got[was.lineno]) if number in touched else was.want == now.want
        for number, (was, now) in enumerate(zip(before, after, strict=True))
    )


Excerpt = tuple[tuple[Piece, ...], int, int, list[str], list[str]]


def excerpts(text: str, edits: Sequence[Edit]) -> Iterator[Excerpt]:
    """The rows that edits change, old and new, with the line and column of the first edit and the pieces it is of.

    What changes the same rows is shown as one change.
    """
    source = Source("", text)
    groups: list[list[Edit]] = []
    for edit in sorted(edits):
        latest = groups[-1][-1] if groups else None
        if latest and (edit.piece == latest.piece or source.place(edit.start)[0] <= source.place(latest.end)[0]):
            groups[-1].append(edit)
        else:
            groups.append([edit])
    for mine in groups:
        first, last = source.place(mine[0].start)[0] - 1, source.place(mine[-1].end)[0] - 1
        start, end = source.lines[first].start, source.lines[last].end
        moved = [Edit(edit.start - start, edit.end - start, edit.new, edit.piece) for edit in mine]
        old = text[start:end]
        rows, changed = old.splitlines(), apply(old, moved).splitlines()
        line, column = source.place(mine[0].start)
        while rows and changed and rows[0] == changed[0]:  # a block of output begins at the end of the row above
            rows, changed, line, column = rows[1:], changed[1:], line + 1, 1
        yield tuple(dict.fromkeys(edit.piece for edit in mine)), line, column, rows, changed
