"""What stands behind a claim, in one line: what was evaluated, its value, where."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Sequence

from tsformers.reading.claims import Claim, Expression, describe
from tsformers.reading.record import Evidence, OpaqueValue, TensorValue, Value

RETURNED = re.compile(r"\b__return__\b")
ELEMENTWISE = frozenset({"==", "!=", "<", "<=", ">", ">="})


def proof(claim: Claim, evidence: Evidence, owner: str = "") -> str:
    """The panel of a verified claim. ``owner`` names the function whose frame the claim speaks of, "" if none."""
    said = _compared(claim, evidence) if claim.form == "compare" else _operands(claim.expressions, evidence)
    said += [f"这里 {name} 在当前帧里是 {frame}，配置里是 {size}" for name, size, frame in evidence.shadowed]
    if owner and any(RETURNED.search(expression.code) for expression in claim.expressions):
        said.append(f"{owner} 的返回值")
    elif owner:
        said.append(f"{owner} 第 {evidence.line} 行之后" if evidence.line else f"进入 {owner} 时")
    if len(evidence.shapes) > 1 and re.search(r"[A-Za-z_]", claim.text.rpartition("(")[2]):
        proven = sum(shape is not None for shape in evidence.shapes)
        said.append(f"轴名在 {proven} 组配置上成立")
    return "；".join(said)


def _compared(claim: Claim, evidence: Evidence) -> list[str]:
    """Of ``is`` whether both sides are one object, of tensors how many numbers were compared, else both values."""
    values = [value for _, value in evidence.values]
    wanted = [False] * len(claim.expressions)
    said: list[str] = []
    for at, (operator, outcome) in enumerate(zip(claim.operators, evidence.outcomes, strict=True)):
        count = _count(values[at]) or _count(values[at + 1])
        if operator.symbol in ("is", "is not") and not any(map(_literal, claim.expressions[at : at + 2])):
            same = outcome if operator.symbol == "is" else not outcome
            said.append(f"同一个对象：{'是' if same else '不是'}")
        elif operator.symbol in ELEMENTWISE and count:
            said.append(f"{count} 个数全部成立")
        else:
            wanted[at] = wanted[at + 1] = True
    return [*_operands(claim.expressions, evidence, wanted), *said]


def _operands(expressions: Sequence[Expression], evidence: Evidence, wanted: Sequence[bool] = ()) -> list[str]:
    """``x.mean() = 0.5000`` for every operand wanted, all if not said, that is not its own value already."""
    said = []
    for expression, (text, value), shown in zip(
        expressions, evidence.values, wanted or [True] * len(expressions), strict=True
    ):
        described = one_line(value)
        if shown and not _literal(expression) and text != described:
            said.append(f"{text} = {described}")
    return said


def _literal(expression: Expression) -> bool:
    try:
        ast.literal_eval(expression.code)
    except ValueError:
        return False
    return True


def _count(value: Value) -> int:
    """How many numbers a tensor holds; 0 for one number and for anything else. Nothing broadcasts in a claim."""
    return math.prod(value.shape) if isinstance(value, TensorValue) and value.shape else 0


def one_line(value: Value) -> str:
    """``describe`` without line breaks: of an object whose repr has several lines, its type."""
    if isinstance(value, OpaqueValue) and "\n" in value.text:
        return f"{value.type}(…)"
    return " ".join(describe(value).split())
