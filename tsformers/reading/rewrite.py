"""What a claim would have to say: its literal with the digits, the layout and the skips that the author chose."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal

from tsformers.reading.compare import Wrong, judge, wrongs
from tsformers.reading.form import Claim
from tsformers.reading.grammar import parse
from tsformers.reading.literals import ClaimError, Literal, Scalar, scalars
from tsformers.reading.record import OpaqueValue, TensorValue, Value
from tsformers.reading.values import Array, as_array, finite, shape_text, shortest

LONGEST = 8  # items of a list that is written anew; beyond, the middle is skipped
LARGEST = 2.0**53  # beyond, not every integer is a float
_CONTEXT = Context(prec=800, rounding=ROUND_HALF_EVEN)


def as_written(claim: Claim, values: Sequence[Value]) -> str | None:
    """The text that ``claim.text[claim.written:claim.end]`` must be for the claim to be true; None if there is none.

    Numbers keep the digits written, lists their layout where only elements differ. None for comparisons, for values
    that no literal can state, and for a scalar zero after ``≈``, which can only be bounded.
    """
    if claim.form == "compare":
        return None
    edits = _shape_edits(claim, values[0]) if claim.form == "shape" else _literal_edits(claim, values[0])
    if edits is None:
        return None
    if claim.dtype:
        if not isinstance(values[0], TensorValue):
            return None
        length = len(claim.text[claim.dtype_offset :].split()[0])
        edits.append((claim.dtype_offset, length, values[0].dtype))
    text, last = "", claim.written
    for offset, length, new in sorted(edits):
        text += claim.text[last:offset] + new
        last = offset + length
    text += claim.text[last : claim.end]
    return text if _true(claim.text[: claim.written] + text + claim.text[claim.end :], values) else None


def whole(claim: Claim, value: Value) -> str:
    """The integer that ``EXPR ≈ ?`` asks for, to be stated by ``=``; "" where the answer has digits or may be rounded.

    An element of a tensor of floats is the result of rounded sums, which another machine may end one digit lower.
    """
    if claim.form != "approx" or not claim.asks:
        return ""
    match value:
        case bool():
            return ""
        case int():
            return str(value)
        case float() if value and value.is_integer() and abs(value) < LARGEST:
            return str(int(value))
        case TensorValue(shape=(), data=(int() as item,)) if not isinstance(item, bool):
            return str(item)
    return ""


def _true(text: str, values: Sequence[Value]) -> bool:
    """Whether a corrected claim is one, and holds: a list of floats has no literal for ``=``, for instance."""
    try:
        claim = parse(text)
    except ClaimError:
        return False
    return claim is not None and judge(claim, values) is None


Edits = list[tuple[int, int, str]]


def _shape_edits(claim: Claim, value: Value) -> Edits | None:
    if not isinstance(value, TensorValue):
        return None
    if claim.asks or len(claim.slots) != len(value.shape):
        return [(claim.written, len(claim.bracket), shape_text(value.shape))]
    return [
        (slot.offset, len(slot.text), str(size))
        for slot, size in zip(claim.slots, value.shape, strict=True)
        if slot.is_integer
    ]


def _literal_edits(claim: Claim, value: Value) -> Edits | None:
    approx = claim.form == "approx"
    if claim.asks or claim.literal is None:
        new = _written_anew(value, approx, None)
        return None if new is None else [(claim.written, claim.end - claim.written, new)]
    found = list(wrongs(claim.literal, value, approx=approx))
    if all(wrong.element for wrong in found):
        return _element_edits(found, approx, alone=isinstance(claim.literal, Scalar))
    new = _written_anew(value, approx, claim.literal)
    return None if new is None else [(claim.literal.offset, len(claim.literal.text), new)]


def _element_edits(found: Sequence[Wrong], approx: bool, alone: bool) -> Edits | None:
    edits: Edits = []
    for wrong in found:
        assert isinstance(wrong.literal, Scalar)
        if approx:
            assert isinstance(wrong.value, int | float)
            new = _alone(wrong.value, wrong.dtype, wrong.literal.text) if alone else None
            new = new if alone else restyled(wrong.value, wrong.dtype, wrong.literal.text)
        elif wrong.literal.kind == "int" and isinstance(wrong.value, float) and wrong.value.is_integer():
            new = str(int(wrong.value))  # ``d_ff / d_model = 4`` stays without a point
        else:
            new = _exact(wrong.value, wrong.dtype)
        if new is None:
            return None
        edits.append((wrong.literal.offset, len(wrong.literal.text), new))
    return edits


def restyled(value: float | int, dtype: str, style: str) -> str:
    """A number with as many digits as ``style`` has, in its notation."""
    if not finite(value):
        return str(value)
    if style.lstrip("-") in ("nan", "inf"):
        style = "0.0000"
    exact = Decimal(shortest(value, dtype))
    mantissa, _, exponent = style.lower().partition("e")
    decimals = len(mantissa.partition(".")[2])
    if exponent:
        digits, _, power = f"{exact:.{decimals}e}".partition("e")
        sign = "-" if power.startswith("-") else "+" if exponent.startswith("+") else ""
        text = f"{digits}e{sign}{power.lstrip('+-').zfill(len(exponent.lstrip('+-')))}"
    else:
        text = f"{exact.quantize(Decimal(1).scaleb(-decimals), context=_CONTEXT):f}"
        text = text if "." in text else text + "."
    zero = not any(digit in text.partition("e")[0] for digit in "123456789")
    return text.lstrip("-") if zero and not (style.startswith("-") and str(value).startswith("-")) else text


def _alone(value: float | int, dtype: str, style: str) -> str | None:
    """A scalar after ≈, which may not be written as zero."""
    text = restyled(value, dtype, style)
    if any(digit in text.lower().partition("e")[0] for digit in "123456789") or not finite(value):
        return text
    return None if value == 0 else restyled(value, dtype, "0.0e-00")


def _written_anew(value: Value, approx: bool, old: Literal | None) -> str | None:
    if not approx:
        return _exact(value, "")
    array = as_array(value)
    if array is None or array.boolean or not array.data:
        return None
    style = next((scalar.text for scalar in scalars(old)), "") if old is not None else ""
    style = style or _style(array.data)
    if not array.shape:
        return _alone(array.data[0], array.dtype, style)
    return _nested(array, 0, 0, lambda item: restyled(item, array.dtype, style))


def _style(data: Sequence[float | int]) -> str:
    largest = max((abs(item) for item in data if finite(item)), default=0.0)
    return "0.0000" if largest == 0 or 1e-3 <= largest < 1e5 else "0.000e-00"


def _nested(array: Array, axis: int, start: int, write: Callable[[float | int], str]) -> str:
    assert array.data is not None
    if axis == len(array.shape):
        return write(array.data[start])
    length, step = array.shape[axis], math.prod(array.shape[axis + 1 :])
    places: list[int | None] = list(range(length))
    if length > LONGEST:
        places = [0, 1, 2, None, length - 1]
    parts = ["…" if i is None else _nested(array, axis + 1, start + i * step, write) for i in places]
    return "[" + ", ".join(parts) + "]"


def _exact(value: Value, dtype: str) -> str | None:
    """A literal for ``=``."""
    match value:
        case None | bool() | int():
            return str(value)
        case float():
            return shortest(value, dtype)
        case str():
            return _quoted(value)
        case OpaqueValue(type="dtype"):
            return value.text
        case TensorValue(shape=()) if value.data is not None:
            return _exact(value.data[0], value.dtype)
        case TensorValue() if value.data and not any(isinstance(item, float) for item in value.data):
            return _nested(Array(value.shape, value.dtype, value.data), 0, 0, str)
        case tuple():
            parts = [_exact(item, "") for item in value]
            if any(part is None for part in parts):
                return None
            return "(" + ", ".join(str(part) for part in parts) + ("," if len(parts) == 1 else "") + ")"
        case list():
            parts = [_exact(item, "") for item in value]
            if any(part is None for part in parts):
                return None
            return "[" + ", ".join(str(part) for part in parts) + "]"
    return None


def _quoted(value: str) -> str | None:
    text = repr(value)
    return None if "\\x" in text or "\\u" in text or "`" in text else text
