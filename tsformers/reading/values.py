"""Recorded values seen as arrays of numbers, and how they are shown to an author."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from tsformers.reading.layout import HAN
from tsformers.reading.record import OpaqueValue, TensorValue, Value

SHOWN = 8  # elements of a list that a message shows

_PUNCTUATION = frozenset(" ，。；：、（）？…")
_STRUCT = {"float32": "f", "float16": "e"}
_DIGITS = {"float32": 9, "float16": 5, "bfloat16": 4}  # enough to tell any two values apart


@dataclass(frozen=True, slots=True)
class Array:
    """Numbers in row-major order; ``dtype`` is "" for plain Python numbers, ``data`` None where too large to record."""

    shape: tuple[int, ...]
    dtype: str
    data: tuple[float | int | bool, ...] | None

    @property
    def boolean(self) -> bool:
        """Whether any element is a boolean, which is no number."""
        return self.dtype == "bool" or any(isinstance(item, bool) for item in self.data or ())


def as_array(value: Value) -> Array | None:
    """A tensor, a number, or nested lists or tuples of these with equal lengths; None for anything else."""
    match value:
        case TensorValue():
            return Array(value.shape, value.dtype, value.data)
        case bool() | int() | float():
            return Array((), "", (value,))
        case list() | tuple():
            parts = [as_array(item) for item in value]
            if not parts:
                return Array((0,), "", ())
            first = parts[0]
            if first is None or any(part is None or part.shape != first.shape for part in parts):
                return None
            data: list[float | int | bool] = []
            for part in parts:
                if part is None or part.data is None:
                    return None
                data += part.data
            return Array((len(parts), *first.shape), first.dtype, tuple(data))
    return None


def finite(value: float | int) -> bool:
    """Whether a number is neither NaN nor infinite, however large an integer."""
    return isinstance(value, int) or math.isfinite(value)


def rounded(value: float, dtype: str) -> float:
    """The value of ``dtype`` nearest to a float64; "" is Python's own float."""
    if not math.isfinite(value):
        return value
    if dtype in _STRUCT:
        try:
            return struct.unpack(_STRUCT[dtype], struct.pack(_STRUCT[dtype], value))[0]
        except OverflowError:
            return math.copysign(math.inf, value)
    if dtype == "bfloat16":
        single = rounded(value, "float32")
        if not math.isfinite(single):
            return single
        bits = struct.unpack("I", struct.pack("f", single))[0]
        bits += 0x7FFF + ((bits >> 16) & 1)
        return struct.unpack("f", struct.pack("I", bits & 0xFFFF0000))[0]
    return value


def shortest(value: float | int, dtype: str = "") -> str:
    """The shortest decimal text that names this value in its dtype: 0.1 for the float32 0.10000000149."""
    if isinstance(value, int) or not finite(value) or dtype not in _DIGITS:
        return repr(value)
    for digits in range(1, _DIGITS[dtype]):
        text = f"{value:.{digits}g}"
        if rounded(float(text), dtype) == value:
            return repr(float(text))
    return repr(float(f"{value:.{_DIGITS[dtype]}g}"))


def number(value: float | int | bool) -> str:
    """A number by itself: four decimals, or an exponent where they would say nothing."""
    if isinstance(value, int) or not finite(value):
        return str(value)
    return f"{value:.4f}" if value == 0 or 1e-3 <= abs(value) < 1e5 else f"{value:.4e}"


def brief(value: float | int | bool, dtype: str = "") -> str:
    """A number among others: as it is where that is short."""
    text = shortest(value, dtype)
    return text if len(text) <= 7 else number(value)


def join(*parts: str) -> str:
    """One text of several, with a blank wherever Han characters would touch Latin letters, digits or brackets."""
    text = ""
    for part in parts:
        seam = text[-1:] + part[:1]
        apart = len(seam) == 2 and (HAN.match(seam[0]) is None) != (HAN.match(seam[1]) is None)
        text += (" " if apart and not _PUNCTUATION & set(seam) else "") + part
    return text


def shape_text(shape: Sequence[int]) -> str:
    """``(8, 6, 16)``, ``(3,)``, ``()``."""
    return "(" + ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "") + ")"


def path_text(path: Sequence[int]) -> str:
    """``[1][1]``."""
    return "".join(f"[{index}]" for index in path)


def unravel(position: int, shape: Sequence[int]) -> tuple[int, ...]:
    """The index of an element from its place in row-major order."""
    index: list[int] = []
    for size in reversed(shape):
        index.append(position % size)
        position //= size
    return tuple(reversed(index))


def kind_of(value: Value) -> str:
    """What sort of thing it is, in Chinese."""
    match value:
        case TensorValue():
            return "张量"
        case None:
            return "None"
        case bool():
            return "布尔值"
        case int():
            return "整数"
        case float():
            return "浮点数"
        case str():
            return "字符串"
        case tuple():
            return f"{len(value)} 个元素的元组"
        case list():
            return f"{len(value)} 个元素的列表"
        case OpaqueValue():
            return join(value.type, "对象")
    raise TypeError(f"no recorded value: {type(value).__name__}")


def describe(value: Value) -> str:
    """One line for a message: ``float64 (8, 6, 16)``, ``0.0400``, ``[0.1, 0.2]`` with at most eight elements a list."""
    match value:
        case TensorValue(shape=()) if value.data is not None:
            return number(value.data[0])
        case TensorValue(shape=(length,)) if value.data is not None:
            shown = [brief(item, value.dtype) for item in value.data[:SHOWN]]
            return "[" + ", ".join(shown + ["…"] * (length > SHOWN)) + "]"
        case TensorValue():
            return f"{value.dtype} {shape_text(value.shape)}"
        case float():
            return number(value)
        case OpaqueValue():
            return value.text if len(value.text) <= 60 else f"{value.text[:59]}…"
        case str():
            return repr(value) if len(value) <= 60 else repr(value[:59]) + "…"
        case list() | tuple():
            shown = [brief(item) if isinstance(item, float) else describe(item) for item in value[:SHOWN]]
            inside = ", ".join(shown + ["…"] * (len(value) > SHOWN))
            if isinstance(value, list):
                return f"[{inside}]"
            return f"({inside},)" if len(value) == 1 else f"({inside})"
    return str(value)
