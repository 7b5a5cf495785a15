"""The form of claims: what an inline code span states, decided by its text alone.

``parse`` returns None for a text that has no claim's form; whether the names of a claim resolve, and whether the
expression before a bracket written without a blank is a tensor, is for the runner to say.
"""

from __future__ import annotations

import ast
from functools import lru_cache

from tsformers.reading.arithmetic import parse_expression
from tsformers.reading.form import COMPARISONS, Claim, expression, names_something
from tsformers.reading.layout import Layout, layout, narrowed
from tsformers.reading.literals import ClaimError, Vacuous, looks_literal
from tsformers.reading.shape_form import SLOT, shape_claim
from tsformers.reading.value_form import approx_claim, equal_claim


@lru_cache(maxsize=65536)  # a claim is parsed for the run, for its verdict and for the key of its record
def parse(text: str) -> Claim | None:
    """The claim that a span makes, None when it has not a claim's form at all.

    Raises ClaimError where it has the form and is malformed in a way that its author must hear of.
    """
    try:
        return _parse(text)
    except ClaimError as error:
        raise error.within(text) from None


def _parse(text: str) -> Claim | None:
    lay = layout(text)
    if lay.open_string is not None or "#" in lay.code:
        if "≈" in lay.code and lay.open_string is not None:
            raise ClaimError("字符串没有闭合", lay.open_string)
        return None
    half = narrowed(lay)
    if half != text and half.strip() != text.strip():
        _full_width(text, half)
        return None
    if "≈" in lay.code:
        return None if not lay.code.strip(" ≈") else approx_claim(lay)
    if lay.unbalanced is not None:
        _unbalanced(lay)
        return None
    shape = shape_claim(lay)
    if shape is not None:
        return shape
    assigns = [op for op in lay.operators if op.symbol == "="]
    if any(op.symbol not in COMPARISONS and op.symbol != "=" for op in lay.operators) or len(assigns) > 1:
        return None
    if assigns:
        return equal_claim(lay, assigns[0])
    return _compare(lay) if lay.operators else None


def _full_width(text: str, half: str) -> None:
    """Full-width punctuation outside strings: an error where the half-width text would be a claim."""
    at = next(i for i, (a, b) in enumerate(zip(text, half, strict=True)) if a != b)
    try:
        claim = parse(half)
    except ClaimError:
        pass
    else:
        if claim is None or (claim.tight and not any(slot.is_integer for slot in claim.slots)):
            return
    after = [*half[1:], " "]
    spaced = (", " if b == "," != a and c != " " else b for a, b, c in zip(text, half, after, strict=True))
    raise ClaimError(f"断言里要用半角标点：{text[at]} 写成 {half[at]}", at, "".join(spaced).strip())


def _unbalanced(lay: Layout) -> None:
    """Raises ClaimError for a shape, or a literal after =, whose brackets do not match."""
    at = lay.unbalanced
    assert at is not None
    before = lay.text[:at]
    rest = lay.text[at:]
    if rest[0] == "(" and before[-1:].isspace() and expression(lay.text, 0, at) is not None:
        pieces = [piece.strip() for piece in rest[1:].split(",")]
        if any(p.isdecimal() for p in pieces) and all(SLOT.fullmatch(p) or not p for p in pieces):
            raise ClaimError("括号 ( 没有闭合", at, lay.text.rstrip() + ")")
    if rest[0] in ")]" and not rest[1:].strip():
        try:
            claim = parse(before)
        except ClaimError:
            return
        if claim is not None and not claim.tight and claim.form != "compare":
            raise ClaimError(f"多了一个 {rest[0]}", at, before)
    assigns = [op for op in lay.operators if op.symbol == "="]
    if len(assigns) == 1 and expression(lay.text, 0, assigns[0].offset) is not None:
        literal = lay.text[assigns[0].offset + 1 :]
        if looks_literal(literal):
            raise ClaimError(f"括号 {rest[0]} 不配对", at)


def _compare(lay: Layout) -> Claim | None:
    tree = parse_expression(lay.python)
    if not isinstance(tree, ast.Compare) or len(tree.ops) != len(lay.operators):
        return None
    starts = [0, *(op.offset + len(op.text) for op in lay.operators)]
    ends = [*(op.offset for op in lay.operators), len(lay.text)]
    operands = tuple(expression(lay.text, start, end) for start, end in zip(starts, ends, strict=True))
    found = tuple(operand for operand in operands if operand is not None)
    if len(found) != len(operands) or not names_something(found):
        return None
    operands_of = [tree.left, *tree.comparators]
    for left, right, sign in zip(operands_of, operands_of[1:], lay.operators, strict=False):
        if ast.dump(left) == ast.dump(right) and not any(isinstance(node, ast.Call) for node in ast.walk(left)):
            raise Vacuous(f"{sign.symbol} 两边是同一个式子，什么也没有说", sign.offset)
    return Claim("compare", lay.text, found, operators=lay.operators)
