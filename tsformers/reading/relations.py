"""Comparisons of two recorded values, element by element for tensors."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass

from tsformers.reading.record import OpaqueValue, TensorValue, Value
from tsformers.reading.values import Array, as_array, describe, join, kind_of, shape_text, shortest, unravel

_ORDER: dict[str, Callable[..., bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_CONSTANT = (None, True, False)
_BY_TEXT = frozenset({"dtype", "device", "layout", "memory_format"})  # objects that their text tells whole


@dataclass(frozen=True, slots=True)
class Broken:
    """A comparison that does not hold: ``why`` for a reason in words, else both sides at ``path``."""

    actual: str
    left: str = ""
    right: str = ""
    why: str = ""
    path: tuple[int, ...] = ()
    count: int = 1


def relate(symbol: str, left: Value, right: Value, outcome: bool | None = None) -> Broken | None:
    """None if ``left symbol right`` holds. ``outcome`` is the truth of ``is`` and ``is not``, and of ``in`` and
    ``not in`` where the value on the right does not tell what it holds (a dictionary).

    Raises ValueError where the truth of an identity is not given and neither side is None, True or False.
    """
    if symbol in ("is", "is not"):
        return _identity(symbol, left, right, outcome)
    if symbol in ("in", "not in"):
        return _membership(symbol, left, right, outcome)
    if isinstance(left, TensorValue) or isinstance(right, TensorValue):
        return _elementwise(symbol, left, right)
    hidden = _hidden(left) or _hidden(right)
    if hidden is not None:
        return _unknown(hidden)
    if symbol in ("==", "!="):
        return None if same(left, right) == (symbol == "==") else _sides(left, right)
    if isinstance(left, bool) or isinstance(right, bool):
        return Broken(join(kind_of(left), "与", kind_of(right)), why="布尔值不能比大小")
    try:
        holds = _ORDER[symbol](left, right)
    except TypeError:
        both = join(kind_of(left), "与", kind_of(right))
        return Broken(both, why=join(both, "不能比大小"))
    return None if holds else _sides(left, right)


def _hidden(value: Value) -> OpaqueValue | None:
    """The first object in a value of which only a shortened text was recorded, so that it equals nothing surely."""
    if isinstance(value, OpaqueValue):
        return None if value.type in _BY_TEXT else value
    if isinstance(value, tuple | list):
        return next((found for item in value if (found := _hidden(item)) is not None), None)
    return None


def _unknown(value: OpaqueValue) -> Broken:
    return Broken(
        kind_of(value), why=join("有一边是", kind_of(value), "，记录里没有它的内容：请用 is，或比较其中的张量")
    )


def same(left: Value, right: Value) -> bool:
    """Equality of Python values; a boolean equals no number, a tensor only one of its shape, NaN nothing."""
    if isinstance(left, bool) != isinstance(right, bool):
        return False
    if isinstance(left, TensorValue) or isinstance(right, TensorValue):
        return _elementwise("==", left, right) is None
    if isinstance(left, tuple | list) and type(left) is type(right):
        assert isinstance(right, tuple | list)
        return len(left) == len(right) and all(same(a, b) for a, b in zip(left, right, strict=True))
    return left == right


def _sides(left: Value, right: Value, path: tuple[int, ...] = ()) -> Broken:
    """Both sides, or the first pair in them that differs: of two long lists, the lists themselves would say nothing."""
    if isinstance(left, tuple | list) and isinstance(right, tuple | list) and type(left) is type(right):
        if len(left) != len(right):
            return Broken(f"{len(left)} 与 {len(right)}", why=f"两边长度不同，{len(left)} 与 {len(right)}")
        for index, (a, b) in enumerate(zip(left, right, strict=True)):
            if not same(a, b):
                return _sides(a, b, (*path, index))
    first, second = _exact(left), _exact(right)
    return Broken(f"{first} 与 {second}", first, second, path=path)


def _exact(value: Value) -> str:
    return repr(value) if isinstance(value, float) else describe(value)


def _identity(symbol: str, left: Value, right: Value, outcome: bool | None) -> Broken | None:
    if outcome is None:
        if not any(side is constant for side in (left, right) for constant in _CONSTANT):
            raise ValueError("identity cannot be read from values: an outcome is needed")
        outcome = (left is right) == (symbol == "is")
    if outcome:
        return None
    said = "不是同一个对象" if symbol == "is" else "是同一个对象"
    if symbol == "is" and (left is None or right is None):
        other = right if left is None else left
        return Broken(describe(other), why=join("实际是", kind_of(other), describe(other)))
    return Broken(said, why=f"两边{said}")


def _membership(symbol: str, item: Value, holder: Value, outcome: bool | None) -> Broken | None:
    match holder:
        case str():
            if not isinstance(item, str):
                return Broken(kind_of(item), why=join("左边是", kind_of(item), "，右边是字符串"))
            found = item in holder
        case tuple() | list() if (hidden := _hidden(item) or _hidden(holder)) is not None:
            return _unknown(hidden)
        case tuple() | list():
            found = any(same(item, other) for other in holder)
        case TensorValue():
            if holder.data is None:
                return Broken(describe(holder), why="右边的张量太大，元素没有记录")
            array = as_array(item)
            if array is None or array.shape or array.data is None:
                return Broken(describe(item), why="左边不是一个数，不能说它在不在张量里")
            found = any(same(array.data[0], other) for other in holder.data)
        case _ if outcome is not None:
            found = outcome == (symbol == "in")
        case _:
            return Broken(kind_of(holder), why=join("右边是", kind_of(holder), "，不知道它含有什么"))
    if found == (symbol == "in"):
        return None
    said = "不在" if symbol == "in" else "在"
    return Broken(describe(holder), why=f"左边是 {describe(item)}，{said} {describe(holder)} 里")


def _elementwise(symbol: str, left: Value, right: Value) -> Broken | None:
    first, second = as_array(left), as_array(right)
    for side, array, value in (("左", first, left), ("右", second, right)):
        if array is None or isinstance(value, tuple | OpaqueValue):
            return Broken(kind_of(value), why=join(f"{side}边是", kind_of(value), "，不能与张量比较"))
    assert first is not None and second is not None
    if first.shape != second.shape:
        shapes = f"{shape_text(first.shape)} 与 {shape_text(second.shape)}"
        return Broken(shapes, why=f"两边形状不同，{shapes}")
    if first.data is None or second.data is None:
        return Broken(shape_text(first.shape), why="张量太大，元素没有记录：请先归约，如 (a == b).all() = True")
    return _elements(symbol, first, second)


def _elements(symbol: str, left: Array, right: Array) -> Broken | None:
    assert left.data is not None and right.data is not None
    pairs = list(zip(left.data, right.data, strict=True))
    if symbol in _ORDER:
        if any(isinstance(side, bool) for pair in pairs for side in pair):
            return Broken("bool", why="布尔值不能比大小")
        wrong = [i for i, (a, b) in enumerate(pairs) if not _ORDER[symbol](a, b)]
    else:
        wrong = [i for i, (a, b) in enumerate(pairs) if same(a, b) != (symbol == "==")]
    if not wrong:
        return None
    a, b = pairs[wrong[0]]
    first, second = shortest(a, left.dtype), shortest(b, right.dtype)
    path = unravel(wrong[0], left.shape)
    return Broken(f"{first} 与 {second}", first, second, path=path, count=len(wrong))
