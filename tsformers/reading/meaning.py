"""Whether a claim is true, the slow and obvious way: the judge of the judge, which shares no code with it but the form.

A mutant that the checker lets through may be true all the same: an alias, an axis that is as long by definition, a
digit whose half unit holds the value too. Here that is told by meaning.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from tsformers.reading.claims import Claim
from tsformers.reading.record import Evidence, OpaqueValue, Reading, TensorValue, Value

RELATIONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def is_true(claim: Claim, evidence: Evidence, reading: Reading) -> bool | None:
    """Whether a claim holds of what was recorded; None where this cannot tell."""
    if evidence.problem or len(evidence.values) != len(claim.expressions) or claim.asks:
        return None
    values = [value for _, value in evidence.values]
    if claim.form == "compare":
        return _compare(claim, values, evidence.outcomes)
    if claim.dtype and not (isinstance(values[0], TensorValue) and values[0].dtype == claim.dtype):
        return False
    if claim.form == "shape":
        return _shape(claim, values[0], evidence, reading)
    try:
        tree = ast.parse(claim.text[claim.written : claim.end].strip().replace("…", "..."), mode="eval").body
    except SyntaxError:
        return None
    text = claim.text[claim.written : claim.end].strip().replace("…", "...")
    return _literal(tree, text, _nested(values[0]), claim.form == "approx")


def _shape(claim: Claim, value: Value, evidence: Evidence, reading: Reading) -> bool | None:
    if not isinstance(value, TensorValue):
        return False
    toy = reading.toys.get(evidence.toy)
    shapes = [*evidence.shapes] or [value.shape]
    groups = [claim.slots, *([claim.axes] if claim.axes else [])]
    for case, shape in enumerate(shapes):
        if shape is None:
            continue
        known = {**toy.sizes[case], **toy.axes[case]} if toy is not None else {}
        for group in groups:
            if len(group) != len(shape):
                return False
            for slot, size in zip(group, shape, strict=True):
                if isinstance(slot.code, int):
                    if case == 0 and slot.code != size:
                        return False
                    continue
                try:
                    length = eval(slot.code, {"__builtins__": {}}, known)  # arithmetic over sizes, by its grammar
                except NameError:
                    return False
                if length != size:
                    return False
    return True


def _nested(value: Value) -> Any:
    """A tensor as nested lists."""
    if not isinstance(value, TensorValue):
        return value
    if value.data is None:
        return None

    def build(shape: tuple[int, ...], data: Sequence[Any]) -> Any:
        if not shape:
            return data[0]
        step = math.prod(shape[1:])
        return [build(shape[1:], data[i * step : (i + 1) * step]) for i in range(shape[0])]

    return build(value.shape, value.data)


def _literal(tree: ast.expr, text: str, value: Any, approx: bool) -> bool | None:
    if isinstance(tree, (ast.List, ast.Tuple)):
        if not isinstance(value, list if isinstance(tree, ast.List) else tuple):
            return False
        items = list(tree.elts)
        gaps = [i for i, item in enumerate(items) if isinstance(item, ast.Constant) and item.value is ...]
        pairs: list[tuple[ast.expr, Any]]
        if gaps:
            before, after = items[: gaps[0]], items[gaps[0] + 1 :]
            if len(before) + len(after) >= len(value):
                return False
            pairs = [*zip(before, value, strict=False), *zip(after, value[len(value) - len(after) :], strict=True)]
        elif len(items) != len(value):
            return False
        else:
            pairs = list(zip(items, value, strict=True))
        found = [_literal(item, text, part, approx) for item, part in pairs]
        return False if False in found else None if None in found else True
    return _scalar(tree, ast.get_source_segment(text, tree) or "", value, approx)


def _scalar(tree: ast.expr, text: str, value: Any, approx: bool) -> bool | None:
    sign = -1 if isinstance(tree, ast.UnaryOp) else 1
    inner = tree.operand if isinstance(tree, ast.UnaryOp) else tree
    if isinstance(inner, ast.Attribute):
        return isinstance(value, OpaqueValue) and value.text == text
    written = (
        float(inner.id) if isinstance(inner, ast.Name) else inner.value if isinstance(inner, ast.Constant) else ...
    )
    if written is ...:
        return None
    if isinstance(written, (bool, str, type(None))):
        return type(value) is type(written) and value == written
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not isinstance(written, (int, float)):
        return False
    if not (math.isfinite(written) and math.isfinite(value)):
        return (written != written and value != value) or sign * written == value
    if written == 0 and sign < 0 and math.copysign(1, value) > 0:
        return False
    if not approx:
        same_sign = written != 0 or sign < 0 or isinstance(written, int) or math.copysign(1, value) > 0
        return sign * written == value and same_sign
    unit = Decimal(1).scaleb(int(Decimal(text.replace(" ", "")).as_tuple().exponent))
    return abs(Decimal(repr(value)) - Decimal(text.replace(" ", ""))) * 2 <= unit


def _compare(claim: Claim, values: Sequence[Value], outcomes: Sequence[bool | None]) -> bool | None:
    found: list[bool | None] = []
    for index, relation in enumerate(claim.operators):
        outcome = outcomes[index] if index < len(outcomes) else None
        if relation.symbol in RELATIONS:
            found.append(_holds(RELATIONS[relation.symbol], values[index], values[index + 1]))
        else:
            found.append(outcome)
    return False if False in found else None if None in found else True


def _holds(relation: Callable[[Any, Any], bool], left: Value, right: Value) -> bool | None:
    shapes = [value.shape if isinstance(value, TensorValue) else () for value in (left, right)]
    if any(isinstance(value, TensorValue) for value in (left, right)) and shapes[0] != shapes[1]:
        return False
    parts = []
    for value in (left, right):
        data = value.data if isinstance(value, TensorValue) else (value,)
        if data is None:
            return None
        parts.append(data)
    try:
        return all(relation(a, b) for a, b in zip(*parts, strict=True))
    except TypeError:
        return False
