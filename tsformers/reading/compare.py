"""Whether what a claim states is what was recorded.

The order is always: rank, shape, dtype if written, elements. Nothing is broadcast: a scalar is not a list of equal
numbers, and shape ``(1,)`` is not ``()``. Booleans are no integers. NaN equals nothing unless it is written.

A number after ``≈`` is true if ``|actual - written| <= half a unit of the last written digit``, in exact arithmetic,
bounds included. The actual value is taken as its shortest decimal text in its dtype (what ``print`` would show with
all digits), so that 0.335 lies on the bound of 0.33 and of 0.34, whatever its binary expansion. A written ``-0.0``
means the sign as well; a written ``0.0`` in a list after ``≈`` covers both zeros, after ``=`` only the positive one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tsformers.reading.form import Claim
from tsformers.reading.literals import Items, Literal, Scalar, depth
from tsformers.reading.record import OpaqueValue, TensorValue, Value
from tsformers.reading.relations import Broken, relate
from tsformers.reading.values import (
    Array,
    as_array,
    describe,
    finite,
    join,
    kind_of,
    path_text,
    rounded,
    shape_text,
    shortest,
)


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A claim that is not true: ``text[offset:offset + length]`` of its span is wrong; ``message`` is in Chinese."""

    offset: int
    length: int
    expected: str
    actual: str
    message: str


@dataclass(frozen=True, slots=True)
class Wrong:
    """A part of a literal that does not fit. ``element``: one number in the right place, else the structure differs."""

    literal: Literal
    path: tuple[int, ...]
    actual: str
    why: str
    element: bool = False
    value: Value = None
    dtype: str = ""  # of the tensor that the element belongs to


def judge(claim: Claim, values: Sequence[Value], outcomes: Sequence[bool | None] = ()) -> Mismatch | None:
    """None if the claim is true of ``values``, which are parallel to ``claim.expressions``; else what is wrong first.

    ``outcomes`` is parallel to ``claim.operators``: the truth of ``is`` and ``is not``, which values cannot tell, and
    perhaps of ``in`` and ``not in``, for what holds things and is neither tuple, list, string nor tensor.
    Axis names are not looked at (``judge_axes``). Raises ValueError where values or outcomes are missing.
    """
    if len(values) != len(claim.expressions):
        raise ValueError(f"{len(claim.expressions)} expressions, {len(values)} values")
    if claim.form == "compare":
        return _judge_compare(claim, values, outcomes)
    if claim.asks:
        return _answer(claim, values[0])
    return _judge_shape(claim, values[0]) if claim.form == "shape" else _judge_literal(claim, values[0])


def _answer(claim: Claim, value: Value) -> Mismatch:
    name = claim.expressions[0].text
    if claim.form == "shape" and isinstance(value, TensorValue):
        shape = shape_text(value.shape)
        return Mismatch(claim.written, len(claim.bracket), "?", shape, join(name, f"的形状是 {shape}，{value.dtype}"))
    length = len(claim.bracket) if claim.form == "shape" else 1
    return Mismatch(claim.written, length, "?", describe(value), join(name, "是", _what(value)))


def _what(value: Value) -> str:
    """Sort and value of a thing, for a sentence."""
    kind, text = kind_of(value), describe(value)
    return text if kind == text or isinstance(value, OpaqueValue) and value.type in text else join(kind, text)


def _judge_shape(claim: Claim, value: Value) -> Mismatch | None:
    name, written = claim.expressions[0].text, claim.bracket
    if not isinstance(value, TensorValue):
        hint = ""
        if isinstance(value, tuple | list) and any(isinstance(item, TensorValue) for item in value):
            hint = f"，请写明是哪一个，如 {name}[0]"
        message = join(name, "不是张量，没有形状：是", _what(value), hint)
        return Mismatch(claim.written, len(written), written, describe(value), message)
    actual = shape_text(value.shape)
    if len(claim.slots) != len(value.shape):
        message = join(name, f"的秩是 {len(value.shape)}，写的是 {len(claim.slots)}：实际形状 {actual}")
        return Mismatch(claim.written, len(written), written, actual, message)
    for axis, (slot, size) in enumerate(zip(claim.slots, value.shape, strict=True)):
        if slot.is_integer and slot.code != size:
            message = join(name, f"的轴 {axis} 长 {size}，写的是", f"{slot.text}：实际形状 {actual}")
            return Mismatch(slot.offset, len(slot.text), written, actual, message)
    return _judge_dtype(claim, value)


def _judge_dtype(claim: Claim, value: Value) -> Mismatch | None:
    if not claim.dtype:
        return None
    name = claim.expressions[0].text
    length = len(claim.text[claim.dtype_offset :].split()[0])
    if not isinstance(value, TensorValue):
        message = join(name, "不是张量，没有 dtype：是", _what(value))
        return Mismatch(claim.dtype_offset, length, claim.dtype, kind_of(value), message)
    if value.dtype == claim.dtype:
        return None
    message = join(name, f"的 dtype 是 {value.dtype}，写的是 {claim.dtype}")
    return Mismatch(claim.dtype_offset, length, claim.dtype, value.dtype, message)


def _judge_literal(claim: Claim, value: Value) -> Mismatch | None:
    assert claim.literal is not None
    found = wrongs(claim.literal, value, approx=claim.form == "approx")
    first = next(found, None)
    if first is None or first.element:
        dtype = _judge_dtype(claim, value)
        if dtype is not None or first is None:
            return dtype
    name, literal = claim.expressions[0].text, first.literal
    others = sum(wrong.element for wrong in found)
    count = f"（共 {others + 1} 处不符）" if others else ""
    place = f"的元素 {path_text(first.path)}" if first.path else ""
    expected = literal.text if first.element else claim.literal.text
    return Mismatch(literal.offset, len(literal.text), expected, first.actual, join(name, place, first.why, count))


def first_wrong(literal: Literal, value: Value, *, approx: bool) -> Wrong | None:
    """The first part of a literal, in the order written, that does not fit a value; structure before elements."""
    return next(wrongs(literal, value, approx=approx), None)


def wrongs(literal: Literal, value: Value, *, approx: bool) -> Iterator[Wrong]:
    """All parts of a literal that do not fit a value; where the structure differs, that one part alone."""
    if approx:
        array = as_array(value)
        if array is None:
            yield Wrong(literal, (), describe(value), join("不是数或张量：是", _what(value)))
        elif array.boolean:
            yield Wrong(literal, (), describe(value), "是布尔值，不是浮点数：请用 =")
        else:
            yield from _array_wrongs(literal, array, approx=True)
    else:
        yield from _exact_wrongs(literal, value, ())


def _exact_wrongs(literal: Literal, value: Value, path: tuple[int, ...]) -> Iterator[Wrong]:
    if isinstance(value, TensorValue) and _speaks_of_numbers(literal):
        for wrong in _array_wrongs(literal, Array(value.shape, value.dtype, value.data), approx=False):
            yield Wrong(
                wrong.literal, path + wrong.path, wrong.actual, wrong.why, wrong.element, wrong.value, wrong.dtype
            )  # fmt: skip
        return
    if isinstance(literal, Scalar):
        if not _fits(literal, value, "", approx=False):
            actual = repr(value) if isinstance(value, float) else describe(value)
            what = _what(value) if _sort(literal) != _sort_of(value) else actual
            yield Wrong(literal, path, actual, join(f"写的是 {literal.text}，实际是", what), True, value)
        return
    wanted, chinese = (list, "列表") if literal.kind == "list" else (tuple, "元组")
    if not isinstance(value, wanted):
        yield Wrong(literal, path, describe(value), join(f"不是{chinese}：是", _what(value)))
        return
    assert isinstance(value, list | tuple)
    lengths = _length_problem(literal, len(value))
    if lengths:
        yield Wrong(literal, path, describe(value), lengths)
        return
    for index, item in _placed(literal, len(value)):
        yield from _exact_wrongs(item, value[index], (*path, index))


def _speaks_of_numbers(literal: Literal) -> bool:
    """Whether a literal can be what a tensor holds: a number, a boolean, a list."""
    return literal.kind in ("int", "float", "bool", "list")


def _array_wrongs(literal: Literal, array: Array, *, approx: bool) -> Iterator[Wrong]:
    structure = _structure(literal, array, 0)
    if structure is not None:
        yield structure
        return
    if array.data is None:
        why = f"有 {math.prod(array.shape)} 个元素，太大而没有记录：只能断言形状，或先取其中一部分"
        yield Wrong(literal, (), shape_text(array.shape), why)
        return
    yield from _elements(literal, array, 0, 0, (), approx)


def _structure(literal: Literal, array: Array, axis: int) -> Wrong | None:
    """Where the nesting or a length of a literal is not the array's shape; the rank is looked at first."""
    actual = shape_text(array.shape)
    if axis == 0 and depth(literal) != len(array.shape) and not _stops_empty(literal, array.shape):
        written = "一个值" if isinstance(literal, Scalar) else f"{depth(literal)} 层列表"
        return Wrong(literal, (), actual, join(f"的秩是 {len(array.shape)}，写的是", f"{written}：实际形状 {actual}"))
    if isinstance(literal, Scalar):
        return None if axis == len(array.shape) else Wrong(literal, (), actual, f"不是一个值：实际形状 {actual}")
    if literal.kind == "tuple" or axis >= len(array.shape):
        return Wrong(literal, (), actual, f"不是{'元组' if literal.kind == 'tuple' else '列表'}：实际形状 {actual}")
    problem = _length_problem(literal, array.shape[axis], axis)
    if problem:
        return Wrong(literal, (), actual, f"{problem}：实际形状 {actual}")
    found = (_structure(item, array, axis + 1) for _, item in _placed(literal, array.shape[axis]))
    return next((wrong for wrong in found if wrong is not None), None)


def _stops_empty(literal: Literal, shape: tuple[int, ...]) -> bool:
    """Whether the literal is as deep as it can be: below an empty list, or ``[…]``, nothing is left to write."""
    levels = depth(literal)
    node = literal
    while isinstance(node, Items) and node.items:
        node = node.items[0]
    return isinstance(node, Items) and levels <= len(shape)


def _length_problem(items: Items, length: int, axis: int | None = None) -> str:
    where = "的长度是" if axis is None else f"的轴 {axis} 长"
    if items.skip is None:
        return "" if len(items.items) == length else f"{where} {length}，写了 {len(items.items)} 个"
    if len(items.items) < length:
        return ""
    return f"{where} {length}，写了 {len(items.items)} 个，… 没有跳过任何元素"


def _placed(items: Items, length: int) -> Iterator[tuple[int, Literal]]:
    """Each item with the index that it speaks of; those after ``…`` count from the end."""
    for place, item in enumerate(items.items):
        before = items.skip is None or place < items.skip
        yield (place if before else place + length - len(items.items)), item


def _elements(
    literal: Literal, array: Array, axis: int, start: int, path: tuple[int, ...], approx: bool
) -> Iterator[Wrong]:
    if isinstance(literal, Scalar):
        assert array.data is not None
        value = array.data[start]
        if not _fits(literal, value, array.dtype, approx=approx):
            actual = shortest(value, array.dtype)
            if approx and len(actual) > 12 and isinstance(value, float):
                actual = _digits(value, literal)
            what = _what(value) if _sort(literal) != _sort_of(value) else actual
            yield Wrong(literal, path, actual, join(f"写的是 {literal.text}，实际是", what), True, value, array.dtype)
        return
    step = math.prod(array.shape[axis + 1 :])
    for index, item in _placed(literal, array.shape[axis]):
        yield from _elements(item, array, axis + 1, start + index * step, (*path, index), approx)


def _digits(value: float, literal: Scalar) -> str:
    """A long number with three digits more than were written."""
    mantissa, _, exponent = literal.text.lower().partition("e")
    decimals = len(mantissa.partition(".")[2]) + 3
    text = f"{value:.{decimals}e}" if exponent else f"{value:.{decimals}f}"
    return text if len(text) < 24 else f"{value:.6e}"


def _fits(literal: Scalar, value: Value, dtype: str, *, approx: bool) -> bool:
    match literal.kind:
        case "none":
            return value is None
        case "bool":
            return isinstance(value, bool) and value == literal.value
        case "str":
            return isinstance(value, str) and value == literal.value
        case "dtype":
            return isinstance(value, OpaqueValue) and value.text == literal.text
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    minus = math.copysign(1, value) < 0 if isinstance(value, float) else value < 0
    if literal.kind == "int":
        return value == literal.value and (value != 0 or minus == literal.negative)
    written = literal.value
    assert isinstance(written, float)
    if not finite(written) or not finite(value):
        return written != written and value != value or written == value  # NaN is unequal to itself
    if written == 0 and literal.negative and not minus:
        return False
    if approx:
        return abs(Fraction(shortest(value, dtype)) - literal.exact) <= literal.half_unit
    if isinstance(value, int):
        return literal.exact == value
    sign_kept = written != 0 or literal.negative or not minus
    return rounded(written, dtype) == value and sign_kept


def _sort(literal: Scalar) -> str:
    return "number" if literal.kind in ("int", "float") else literal.kind


def _sort_of(value: Value) -> str:
    match value:
        case None:
            return "none"
        case bool():
            return "bool"
        case int() | float():
            return "number"
        case str():
            return "str"
        case OpaqueValue(type="dtype"):
            return "dtype"
    return "other"


def _judge_compare(claim: Claim, values: Sequence[Value], outcomes: Sequence[bool | None]) -> Mismatch | None:
    for index, op in enumerate(claim.operators):
        left, right = claim.expressions[index], claim.expressions[index + 1]
        outcome = outcomes[index] if index < len(outcomes) else None
        broken = relate(op.symbol, values[index], values[index + 1], outcome)
        if broken is not None:
            length = right.offset + len(right.text) - left.offset
            return Mismatch(
                left.offset, length, f"{left.text} {op.text} {right.text}", broken.actual,
                _relation(left.text, op.text, right.text, broken),
            )  # fmt: skip
    return None


def _relation(left: str, op: str, right: str, broken: Broken) -> str:
    if broken.why:
        return join(f"{left} {op} {right}", f"不成立：{broken.why}")
    place = f"在元素 {path_text(broken.path)} 处" if broken.path else ""
    count = f"（共 {broken.count} 处）" if broken.count > 1 else ""
    sides = ("不成立：左边是", broken.left, "，右边是", broken.right, count)
    return join(f"{left} {op} {right}", place, *sides)
