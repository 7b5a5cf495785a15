"""Mutants of a page: every claim, example and quote, each with one thing in it made wrong."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from tsformers.reading.claims import AxisCase, Claim, ClaimError, FormulaError, Slot, evaluate_axis, parse
from tsformers.reading.literals import Items, Literal, Scalar
from tsformers.reading.page import Fence, Page, Span
from tsformers.reading.record import Evidence, Reading, TensorValue, Value
from tsformers.reading.verdict import axis_cases

FLIPPED = {
    "<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "==",
    "is": "is not", "is not": "is", "in": "not in", "not in": "in",
}  # fmt: skip
NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w.])")


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of a page: ``Page.text[start:end]`` becomes ``new``; ``step`` is the step that it spoils.

    ``sort``: "claim" "example" "quote"; ``how`` says in a few words what was done; ``runs``: the recorded page cannot
    judge it, since an expression or a relation is another one. ``line`` and ``column`` are those of the change.
    """

    step: int
    sort: str
    how: str
    start: int
    end: int
    new: str
    runs: bool
    line: int
    column: int

    def text(self, page: Page) -> str:
        """The step's own text, changed."""
        step = page.steps[self.step]
        return page.text[step.start : self.start] + self.new + page.text[self.end : step.end]


@dataclass
class Names:
    """What an author could have meant by another name: names of the frame and of the page's blocks, as they come."""

    frame: dict[str, Value] = field(default_factory=dict)
    own: list[str] = field(default_factory=list)

    def other(self, name: str) -> str | None:
        """The next name after this one that stands for the same sort of thing."""
        if name in self.frame:
            sort = _sort(self.frame[name])
            alike = [other for other, value in self.frame.items() if other == name or _sort(value) == sort]
        elif name in self.own:
            alike = self.own
        else:
            return None
        at = alike.index(name)
        return next((other for other in [*alike[at + 1 :], *alike[:at]] if other != name), None)


def _sort(value: Value) -> str:
    return "tensor" if isinstance(value, TensorValue) else type(value).__name__


def page_mutants(page: Page, reading: Reading) -> list[Mutant]:
    """Every mutant of a page that was found right, in document order."""
    found: list[Mutant] = []
    names = Names()
    if reading.subjects:
        names.frame = _parameters(reading, 0)
    for index, step in enumerate(page.steps):
        if isinstance(step, Span):
            evidence = reading.evidence.get(index)
            claim = _claim(step, page) if evidence is not None and evidence.kind == "claim" else None
            if claim is not None and evidence is not None:
                found += [_placed(page, index, step, change) for change in _unique(claim, evidence, reading, names)]
            continue
        if step.kind == "example":
            found += _example(page, index, step)
        elif step.kind == "quote" and index in reading.quotes:
            quote = reading.quotes[index]
            found += _quote(page, index, step)
            if quote.executed and not quote.construction:
                names.frame = names.frame or _parameters(reading, quote.subject)
                names.frame.update({variable.name: variable.after for variable in quote.wrote})
        if step.runs:
            names.own += [name for name in _bound(step.code) if name not in names.own]
    return found


def _parameters(reading: Reading, subject: int) -> dict[str, Value]:
    call = reading.subjects[subject].call
    return {name: value for name, value, _ in call.inputs} if call is not None else {}


def _bound(code: str) -> list[str]:
    try:
        tree = ast.parse(code)
    except SyntaxError:  # an example, or a block that must fail so
        return []
    return [node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]


def _claim(span: Span, page: Page) -> Claim | None:
    if page.text[span.start : span.end] != span.text:
        return None  # a span over two lines, or with an escaped bar: its places in the page are not those in its text
    try:
        return parse(span.text)
    except ClaimError:
        return None


Change = tuple[int, int, str, str, bool]  # of the span's text: start, end, new, how, whether it must be run


def _placed(page: Page, index: int, span: Span, change: Change) -> Mutant:
    start, end, new, how, runs = change
    return Mutant(index, "claim", how, span.start + start, span.start + end, new, runs, span.line, span.column + start)


def _unique(claim: Claim, evidence: Evidence, reading: Reading, names: Names) -> Iterator[Change]:
    seen = {claim.text}
    for start, end, new, how, runs in _changes(claim, evidence, reading, names):
        text = claim.text[:start] + new + claim.text[end:]
        if text in seen:
            continue
        seen.add(text)
        yield start, end, new, how, runs or not _same_expressions(claim, text)


def _same_expressions(claim: Claim, text: str) -> bool:
    """Whether the recorded values are those of the changed text too."""
    try:
        other = parse(text)
    except ClaimError:
        return True  # red by its form
    return (
        other is not None
        and (other.form, other.tight) == (claim.form, claim.tight)
        and [e.code for e in other.expressions] == [e.code for e in claim.expressions]
        and [op.symbol for op in other.operators] == [op.symbol for op in claim.operators]
    )


def _changes(claim: Claim, evidence: Evidence, reading: Reading, names: Names) -> Iterator[Change]:
    if claim.form == "shape":
        yield from _shape(claim, axis_cases(reading.toys.get(evidence.toy), evidence))
    elif claim.literal is not None:
        yield from _literal(claim.literal)
    if claim.dtype:
        other = "float32" if claim.dtype == "float64" else "float64"
        at = claim.text.index(claim.dtype, claim.dtype_offset)
        yield at, at + len(claim.dtype), other, "dtype", False
    for operator in claim.operators:
        flipped = FLIPPED[operator.symbol]
        end = operator.offset + len(operator.text)
        yield operator.offset, end, flipped, "flipped relation", True
    exact = all(op.symbol in ("==", "!=") for op in claim.operators)
    for expression in claim.expressions:
        tree = _tree(expression.text)
        renamed = [node for node in ast.walk(tree) if isinstance(node, ast.Name)] if tree is not None else []
        for node in renamed:
            other_name = names.other(node.id)
            if other_name is not None:
                at = expression.offset + len(expression.text.encode()[: node.col_offset].decode())
                yield at, at + len(node.id), other_name, f"renamed {node.id}", True
        if claim.operators and exact:  # what a bound is compared with may be larger: there the relation is flipped
            for number in NUMBER.finditer(expression.text):
                at = expression.offset + number.start()
                yield at, at + len(number[0]), _next_digit(number[0]), "last digit", True


def _tree(text: str) -> ast.expr | None:
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError:  # with … or return, which are not Python: its names are left alone
        return None


def _shape(claim: Claim, cases: Sequence[AxisCase]) -> Iterator[Change]:
    for group in (claim.slots, claim.axes):
        for slot in group:
            end = slot.offset + len(slot.text)
            if isinstance(slot.code, int):
                yield slot.offset, end, str(slot.code + 1), "off by one", False
                if slot.code:
                    yield slot.offset, end, str(slot.code - 1), "off by one", False
                yield slot.offset, end, _next_digit(slot.text), "last digit", False
            elif cases:
                for name in _equally_long(slot, cases[0]):
                    yield slot.offset, end, name, "axis of equal size", False
        for one, other in combinations(group, 2):
            if one.text != other.text:
                between = claim.text[one.offset + len(one.text) : other.offset]
                swapped = other.text + between + one.text
                yield one.offset, other.offset + len(other.text), swapped, "swapped axes", False
    if claim.slots and not claim.axes:
        first, last = claim.slots[0], claim.slots[-1]
        yield first.offset, first.offset, "1, ", "an axis more", False
        if len(claim.slots) > 1:
            yield (
                claim.slots[-2].offset + len(claim.slots[-2].text),
                last.offset + len(last.text),
                "",
                "an axis less",
                False,
            )


def _equally_long(slot: Slot, case: AxisCase) -> list[str]:
    """Other names that are as long in the first configuration."""
    try:
        size = evaluate_axis(str(slot.code), case.sizes, case.axes)
        names = dict.fromkeys([*case.axes, *case.sizes])
        return [n for n in names if n != slot.text and evaluate_axis(n, case.sizes, case.axes) == size]
    except FormulaError:
        return []


def _literal(literal: Literal) -> Iterator[Change]:
    start, end = literal.offset, literal.offset + len(literal.text)
    if isinstance(literal, Items):
        for item in literal.items:
            yield from _literal(item)
        for one, other in zip(literal.items, literal.items[1:], strict=False):
            between = literal.text[one.offset + len(one.text) - start : other.offset - start]
            if one.text != other.text and "…" not in between and "..." not in between:
                swapped = other.text + between + one.text
                yield one.offset, other.offset + len(other.text), swapped, "swapped elements", False
        if len(literal.items) > 1 and literal.skip is None:
            first, second = literal.items[:2]
            yield first.offset, second.offset, "", "an element less", False
        return
    yield from ((start, end, new, how, False) for new, how in _scalar(literal))


def _scalar(literal: Scalar) -> Iterator[tuple[str, str]]:
    match literal.kind:
        case "int" | "float" if literal.text.lstrip("-") not in ("nan", "inf"):
            yield _next_digit(literal.text), "last digit"
            yield _previous_digit(literal.text), "last digit"
            if literal.kind == "int":
                assert isinstance(literal.value, int)
                yield str(literal.value + 1), "off by one"
                yield str(literal.value - 1), "off by one"
            if literal.value:
                yield literal.text[1:] if literal.text.startswith("-") else f"-{literal.text}", "sign"
        case "int" | "float":
            yield "0.0", "not finite"
        case "bool":
            yield str(not literal.value), "the other truth"
        case "none":
            yield "False", "not None"
        case "str":
            yield literal.text[:-1] + "x" + literal.text[-1], "a letter more"
        case "dtype":
            yield "torch.float16" if literal.text != "torch.float16" else "torch.int8", "dtype"


def _last_digit(text: str) -> int:
    mantissa = re.split("[eE]", text)[0]
    return max(i for i, char in enumerate(mantissa) if char.isdecimal())


def _next_digit(text: str) -> str:
    at = _last_digit(text)
    return text[:at] + str((int(text[at]) + 1) % 10) + text[at + 1 :]


def _previous_digit(text: str) -> str:
    at = _last_digit(text)
    return text[:at] + str((int(text[at]) - 1) % 10) + text[at + 1 :]


def _rows(page: Page, fence: Fence) -> Iterator[tuple[int, int, str]]:
    """(physical line, offset in the page of its code, code) of each row of a fence."""
    offset = page.text.index("\n", fence.info_end) + 1
    for row, code in enumerate(fence.code.split("\n")):
        margin = fence.margins[row] if row < len(fence.margins) else 0
        yield fence.code_line + row, offset + margin, code
        offset = page.text.find("\n", offset) + 1


def _example(page: Page, index: int, fence: Fence) -> Iterator[Mutant]:
    expected = False
    for line, offset, code in _rows(page, fence):
        if code.startswith((">>>", "...")):
            expected = code.startswith(">>>") or expected
            continue
        if not expected or not code.strip() or code.strip() == "...":
            continue
        numbers = [match for match in NUMBER.finditer(code)] or None
        if numbers is None:
            at = len(code.rstrip())
            yield Mutant(index, "example", "a letter more", offset + at, offset + at, "x", True, line, at + 1)
            continue
        for number in numbers:
            start = offset + number.start()
            place = line, start - page.text.rfind("\n", 0, start)
            yield Mutant(
                index, "example", "last digit", start, start + len(number[0]), _next_digit(number[0]), True, *place
            )


SPOILED = (
    (re.compile(r"(?<=\w)\.(?=[A-Za-z_])"), ".other_", "renamed attribute"),
    (re.compile(r"(?<![\w.])\d+(?![\w.])"), None, "last digit"),
    (re.compile(r" \+ "), " - ", "another operator"),
    (re.compile(r" is not None"), " is None", "flipped relation"),
    (re.compile(r"\b(?!in\b|is\b|if\b|for\b|else\b|return\b|not\b|None\b|and\b|or\b)[a-z_]\w*(?=\))"), "other", "renamed variable"),
)  # fmt: skip


def _quote(page: Page, index: int, fence: Fence) -> Iterator[Mutant]:
    rows = list(_rows(page, fence))
    for line, offset, code in rows:
        body, hash_, comment = code.partition("#")
        for pattern, replacement, how in SPOILED:
            match = pattern.search(body)
            if match is not None:
                new = replacement if replacement is not None else _next_digit(match[0])
                start = offset + match.start()
                column = start - page.text.rfind("\n", 0, start)
                yield Mutant(index, "quote", how, start, start + len(match[0]), new, True, line, column)
        shape = re.search(r"\[([^,\]]+)(, *)([^,\]]+)", comment) if hash_ else None
        if shape is not None and shape[1] != shape[3]:
            start = offset + len(body) + 1 + shape.start(1)
            new = shape[3] + shape[2] + shape[1]
            column = start - page.text.rfind("\n", 0, start)
            yield Mutant(index, "quote", "swapped axes", start, start + len(new), new, True, line, column)
    for line, offset, code in rows[1:-1]:
        plain = code.strip() and not code.strip().startswith("#") and not code.rstrip().endswith((":", "(", "[", ","))
        inside = len(code) - len(code.lstrip()) == len(rows[0][2]) - len(rows[0][2].lstrip())
        if plain and inside and not code.strip().startswith((")", "]")):
            column = offset - page.text.rfind("\n", 0, offset)
            yield Mutant(index, "quote", "a statement left out", offset, offset + len(code), "", True, line, column)


def grouped(mutants: Sequence[Mutant]) -> list[list[Mutant]]:
    """Rounds of mutants, at most one of each step in a round, so that a page can hold a whole round."""
    rounds: list[list[Mutant]] = []
    taken: Mapping[int, int] = {}
    count: dict[int, int] = dict(taken)
    for mutant in mutants:
        at = count.get(mutant.step, 0)
        count[mutant.step] = at + 1
        if at == len(rounds):
            rounds.append([])
        rounds[at].append(mutant)
    return rounds


def changed_text(page: Page, mutants: Sequence[Mutant]) -> str:
    """The page's text with the changes of a round."""
    text, at = [], 0
    for mutant in sorted(mutants, key=lambda mutant: mutant.start):
        text += [page.text[at : mutant.start], mutant.new]
        at = mutant.end
    return "".join([*text, page.text[at:]])
