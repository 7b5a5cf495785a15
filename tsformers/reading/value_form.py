"""Claims of a value: ``EXPR = LITERAL`` and ``EXPR ≈ LITERAL``."""

from __future__ import annotations

import ast
import re
from difflib import get_close_matches

from tsformers.reading.arithmetic import parse_expression
from tsformers.reading.form import Claim, Expression, expression, names_something
from tsformers.reading.layout import HAN, Layout, Operator, layout
from tsformers.reading.literals import (
    DTYPES,
    ClaimError,
    Items,
    Literal,
    Scalar,
    Vacuous,
    depth,
    looks_literal,
    read,
    scalars,
)

DTYPE_TAIL = re.compile(r"\s+((?:torch\.)?[A-Za-z_]\w*)\s*$", re.ASCII)


def approx_claim(lay: Layout) -> Claim:
    """The claim of a text that holds ``≈``; raises ClaimError where it is malformed."""
    text = lay.text
    signs = [op for op in lay.operators if op.symbol == "≈"]
    if lay.unbalanced is not None:
        raise ClaimError(f"括号 {text[lay.unbalanced]} 不配对", lay.unbalanced)
    if not signs:
        raise ClaimError("≈ 不能写在括号里", lay.code.index("≈"))
    if len(signs) > 1:
        raise ClaimError("一个代码片段只写一个 ≈", signs[1].offset)
    others = [op for op in lay.operators if op.symbol != "≈"]
    if others:
        raise ClaimError(f"≈ 不能与 {others[0].symbol} 写在一起，请拆成两个断言", others[0].offset)
    sign = signs[0]
    subject = _subject(lay, sign, "≈")
    start, end = sign.offset + 1, len(text)
    rest = text[start:].strip()
    written = start + len(text[start:]) - len(text[start:].lstrip())
    if rest in ("?", "？"):
        return Claim("approx", text, (subject,), written, written + 1, asks=True)
    if not rest:
        raise Vacuous("≈ 右边缺一个数，写 ≈ ? 可以问出它的值", sign.offset)
    if not looks_literal(rest) and parse_expression(layout(rest).python) is not None and _has_name(rest):
        message = "≈ 右边要写数，不能写表达式；两个量相近请写界，如 (a - b).abs().max() < 1e-12"
        raise ClaimError(message, written)
    literal, dtype, dtype_offset = _literal(lay, start, end)
    _check_floats(literal)
    return Claim(
        "approx", text, (subject,), literal.offset, len(text.rstrip()),
        literal=literal, dtype=dtype, dtype_offset=dtype_offset,
    )  # fmt: skip


def _has_name(text: str) -> bool:
    tree = parse_expression(layout(text).python)
    words = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} if tree is not None else set()
    return bool(words - {"nan", "inf", "torch"})


def _subject(lay: Layout, sign: Operator, symbol: str) -> Expression:
    """What stands left of an operator that makes the text a claim beyond doubt."""
    left = lay.text[: sign.offset]
    if not left.strip():
        raise ClaimError(f"{symbol} 左边缺表达式：这是什么的值？", sign.offset)
    subject = expression(lay.text, 0, sign.offset)
    begin = len(left) - len(left.lstrip())
    shaped = bracket_before(lay, sign.offset)
    if shaped is not None and not shaped[2] and any(piece.strip().isdigit() for piece in _pieces(lay, *shaped[:2])):
        raise ClaimError("形状与数值要拆成两个断言", shaped[0])
    if subject is None:
        raise ClaimError(f"{symbol} 左边不是 Python 表达式：{left.strip()}", begin)
    if not names_something((subject,)):
        raise ClaimError(f"{symbol} 左边没有变量：这是什么的值？", begin)
    return subject


def _literal(lay: Layout, start: int, end: int) -> tuple[Literal, str, int]:
    """Literal in text[start:end], then a dtype or nothing; raises ClaimError."""
    literal, after = read(lay.text, start)
    if _skips(literal) and not any(scalars(literal)):
        raise ClaimError("… 跳过了所有的元素，一个数也没有写", literal.offset)
    dtype, dtype_offset = "", 0
    tail = DTYPE_TAIL.fullmatch(lay.text, after, end)
    if tail is not None:
        dtype, dtype_offset = dtype_name(tail.group(1), tail.start(1)), tail.start(1)
    elif lay.text[after:end].strip():
        rest = lay.text[after:end]
        offset = after + len(rest) - len(rest.lstrip())
        raise ClaimError(f"值后面多出了 {rest.strip()}，一个代码片段只写一个断言", offset)
    return literal, dtype, dtype_offset


def _skips(literal: Literal) -> bool:
    return isinstance(literal, Items) and (literal.skip is not None or any(_skips(item) for item in literal.items))


def dtype_name(word: str, offset: int) -> str:
    """A written dtype without ``torch.``; raises ClaimError where it is none."""
    name = word.removeprefix("torch.")
    if name not in DTYPES:
        near = "".join(get_close_matches(name, sorted(DTYPES), n=1))
        raise ClaimError(f"{word} 不是 dtype" + (f"，是不是 {near}？" if near else ""), offset, near, len(word))
    return name


def _check_floats(literal: Literal) -> None:
    for scalar in scalars(literal):
        if scalar.kind == "int":
            message = f"≈ 后的数要有小数点或指数，{scalar.text} 没有；精确的整数用 ="
            raise ClaimError(message, scalar.offset, scalar.text + ".0", len(scalar.text))
        if scalar.kind != "float":
            raise ClaimError(f"≈ 后只能写浮点数，{scalar.text} 请用 =", scalar.offset)
    if isinstance(literal, Scalar):
        if literal.value == 0:
            message = "零附近的数是舍入误差，只能断言它的界，如 abs(…) < 1e-12；恰好为零请用 ="
            raise ClaimError(message, literal.offset)
        return
    _check_nesting(literal, depth(literal))


def _check_nesting(items: Items, levels: int) -> None:
    if items.kind == "tuple":
        raise ClaimError("≈ 后写数或方括号列表，不写元组", items.offset)
    full = [item for item in items.items if isinstance(item, Items) and item.skip is None]
    for item in items.items:
        if depth(item) != levels - 1:
            raise ClaimError("列表的嵌套层数不一致", item.offset)
        if isinstance(item, Items):
            _check_nesting(item, levels - 1)
            if item.skip is None and len(item.items) != len(full[0].items):
                raise ClaimError(f"各行长度不一致：{len(full[0].items)} 与 {len(item.items)}", item.offset)


def equal_claim(lay: Layout, sign: Operator) -> Claim | None:
    """The claim of a text with one ``=``, None where it is source text; raises ClaimError where it is malformed."""
    text, end = lay.text, len(lay.text)
    rest = text[sign.offset + 1 :].strip()
    subject = expression(text, 0, sign.offset)
    if subject is None or not names_something((subject,)):
        if subject is None and HAN.search(text[: sign.offset]) and looks_literal(rest) and rest[0].isdigit():
            raise ClaimError(f"= 左边不是 Python 表达式：{text[: sign.offset].strip()}", 0)
        return None
    start = sign.offset + 1
    written = start + len(text[start:]) - len(text[start:].lstrip())
    if rest in ("?", "？"):
        return Claim("equal", text, (subject,), written, written + 1, asks=True)
    if not rest:
        raise Vacuous("= 右边缺一个值，写 = ? 可以问出它的值", sign.offset)
    if rest in ("…", "..."):
        return None
    right = expression(text, start, end)
    if right is not None and subject.code == right.code:
        raise Vacuous(f"{text.strip()} 两边是同一个式子，什么也没有说", sign.offset)
    try:
        literal, dtype, dtype_offset = _literal(lay, start, end)
    except ClaimError as error:
        # "stride=1, padding" is a piece of a call, "x = [1, 2.0.1]" a bad literal
        if looks_literal(rest) and not text.startswith(",", error.offset):
            raise
        return None
    if any(op.symbol != "=" for op in lay.operators):
        other = next(op for op in lay.operators if op.symbol != "=")
        raise ClaimError(f"= 不能与 {other.symbol} 写在一起，请拆成两个断言", other.offset)
    _check_exact(literal, text, sign)
    return Claim(
        "equal", text, (subject,), literal.offset, len(text.rstrip()),
        literal=literal, dtype=dtype, dtype_offset=dtype_offset,
    )  # fmt: skip


def _check_exact(literal: Literal, text: str, sign: Operator) -> None:
    if isinstance(literal, Scalar):
        return
    if literal.kind == "list":
        for scalar in scalars(literal):
            if scalar.kind == "float":
                suggestion = f"{text[: sign.offset]}≈{text[sign.offset + 1 :]}"
                raise ClaimError("浮点数的列表要用 ≈，不用 =", sign.offset, suggestion)
    for item in literal.items:
        _check_exact(item, text, sign)


def bracket_before(lay: Layout, end: int) -> tuple[int, int, bool] | None:
    """Offsets of the round bracket that ends text[:end], and whether it is written without a blank before it."""
    stop = len(lay.text[:end].rstrip())
    if stop == 0 or lay.text[stop - 1] != ")" or lay.partner.get(stop - 1) is None:
        return None
    start = lay.partner[stop - 1]
    if lay.depth[start] != 0 or not lay.text[:start].strip():
        return None
    return start, stop, not lay.text[start - 1].isspace()


def _pieces(lay: Layout, start: int, stop: int) -> list[str]:
    return lay.text[start + 1 : stop - 1].split(",")


def has_integer(lay: Layout, start: int, stop: int) -> bool:
    """Whether a bracket holds an integer of its own between commas."""
    return any(piece.strip().isdecimal() for piece in _pieces(lay, start, stop))
