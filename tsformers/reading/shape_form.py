"""Claims of a shape: ``EXPR (8, 6, d_model) float64 = (B*C, patch_num, d_model)``."""

from __future__ import annotations

import ast
import re

from tsformers.reading.arithmetic import parse_expression
from tsformers.reading.form import COMPARISONS, Claim, Slot, expression, names_something
from tsformers.reading.layout import HAN, Layout, Operator, layout
from tsformers.reading.literals import DTYPES, ClaimError
from tsformers.reading.value_form import DTYPE_TAIL, bracket_before, dtype_name, has_integer

SLOT = re.compile(r"\s*(?:[^\W\d]\w*|\d+|//|[-+*()]|\s)+\s*")


def shape_claim(lay: Layout) -> Claim | None:
    """The claim of a shape, None where the text has not that form; raises ClaimError where it is malformed."""
    text, end = lay.text, len(lay.text)
    assigns = [op for op in lay.operators if op.symbol == "="]
    end = assigns[0].offset if len(assigns) == 1 else end
    dtypes: list[tuple[str, int]] = []
    tail = DTYPE_TAIL.search(text, 0, end)
    if tail is not None and text[: tail.start()].rstrip().endswith(")"):
        dtypes.append((tail.group(1), tail.start(1)))
        end = tail.start()
    bracket = bracket_before(lay, end)
    if bracket is None or len(assigns) > 1:
        return _trailing(lay) if not assigns else None
    start, stop, tight = bracket
    content = text[start + 1 : stop - 1].strip()
    asks = content in ("?", "？")
    slots: tuple[Slot, ...] = ()
    if not asks:
        try:
            slots = _slots(lay, start, stop)
        except ClaimError:
            # "x (8, 6, -1)" is a wrong shape, "reshape(8, -1)" and "print (x, y.z)" are source text
            if not tight and has_integer(lay, start, stop) and expression(text, 0, start) is not None:
                raise
            return None
    certain = asks or any(slot.is_integer for slot in slots)
    subject = expression(text, 0, start)
    if subject is None or not names_something((subject,)):
        if subject is None and not tight and certain and HAN.search(text[:start]) and not lay.operators:
            raise ClaimError(f"形状前面不是 Python 表达式：{text[:start].strip()}", 0)
        return None
    if isinstance(parse_expression(subject.code), ast.Tuple) and not subject.text.startswith("("):
        return _trailing(lay)
    if tight and not _callable_form(text, start):
        return None
    if any(op.symbol in COMPARISONS and op.offset < start for op in lay.operators):
        if not certain:
            return None
        raise ClaimError("比较与形状要拆成两个断言；比较结果的形状请加括号", start)
    if dtypes and dtypes[0][0].removeprefix("torch.") not in DTYPES and (tight or not certain):
        return None
    axes: tuple[Slot, ...] = ()
    if assigns:
        group = _axes_group(lay, assigns[0], dtypes, certain and not tight)
        if group is None:
            return None
        if tight and not asks and (not slots or all(slot.is_integer for slot in group)):
            return None  # ``x.stride() = (16, 1)``: a call and its value
        axes = group
        if not asks and len(axes) != len(slots):
            raise ClaimError(f"轴数不同：左边 {len(slots)} 个，右边 {len(axes)} 个", assigns[0].offset)
    dtype, dtype_offset = "", 0
    for word, offset in dtypes:
        dtype, dtype_offset = dtype_name(word, offset), offset
    if len(dtypes) > 1:
        raise ClaimError("dtype 写了两次", dtype_offset)
    return Claim(
        "shape", text, (subject,), start, len(text.rstrip()) if dtype else stop,
        slots=slots, axes=axes, dtype=dtype, dtype_offset=dtype_offset, tight=tight, asks=asks,
    )  # fmt: skip


def _callable_form(text: str, start: int) -> bool:
    """Whether text[:start] is a primary, so that a bracket after it would be a call: not ``x + y`` of ``x + y(3)``."""
    whole = parse_expression(layout(text[:start] + "(0)").python)
    alone = parse_expression(layout(text[:start]).python)
    return isinstance(whole, ast.Call) and alone is not None and ast.dump(whole.func) == ast.dump(alone)


def _slots(lay: Layout, start: int, stop: int) -> tuple[Slot, ...]:
    """Slots of the bracket that opens at ``start`` and ends before ``stop``; raises ClaimError on a bad one."""
    text, slots, begin = lay.text, [], start + 1
    commas = [i for i in range(start + 1, stop - 1) if text[i] == "," and lay.depth[i] == lay.depth[start] + 1]
    for comma in [*commas, stop - 1]:
        piece = text[begin:comma]
        offset = begin + len(piece) - len(piece.lstrip())
        if piece.strip():
            slots.append(_slot(piece.strip(), offset))
        elif comma != stop - 1 or not slots and commas:
            raise ClaimError("形状里缺一个轴", comma)
        begin = comma + 1
    return tuple(slots)


def _slot(piece: str, offset: int) -> Slot:
    if piece.isascii() and piece.isdecimal():
        if len(piece) > 12 or (len(piece) > 1 and piece[0] == "0"):
            raise ClaimError(f"{piece[:20]} 不是轴的长度", offset)
        return Slot(piece, offset, int(piece))
    tree = parse_expression(piece) if SLOT.fullmatch(piece) else None
    if tree is None or not _axis_expression(tree) or not any(isinstance(n, ast.Name) for n in ast.walk(tree)):
        suggestion = piece.replace("×", "*").replace("·", "*")
        if suggestion == piece and "//" not in piece:
            suggestion = piece.replace("/", "//")
        hint = "" if suggestion == piece else suggestion
        raise ClaimError(f"{piece} 不是轴：写整数或轴名的 + - * //", offset, hint, len(piece))
    return Slot(piece, offset, re.sub(r"\s+", " ", piece))


def _axis_expression(tree: ast.expr) -> bool:
    match tree:
        case ast.Name():
            return True
        case ast.Constant(value=int() as value):
            return not isinstance(value, bool)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() | ast.FloorDiv(), right=right):
            return _axis_expression(left) and _axis_expression(right)
    return False


def _axes_group(lay: Layout, sign: Operator, dtypes: list[tuple[str, int]], certain: bool) -> tuple[Slot, ...] | None:
    """Slots of the ``= (…)`` after a shape; a dtype after it is added to ``dtypes``. None: not the form of one."""
    text = lay.text
    start = sign.offset + 1
    while start < len(text) and text[start].isspace():
        start += 1
    if start < len(text) and text[start] == "(" and start in lay.partner:
        stop = lay.partner[start] + 1
        tail = DTYPE_TAIL.fullmatch(text, stop)
        if tail is not None:
            dtypes.append((tail.group(1), tail.start(1)))
        elif text[stop:].strip():
            raise ClaimError(f"轴名后面多出了 {text[stop:].strip()}", stop)
        return _slots(lay, start, stop)
    if certain:
        raise ClaimError("形状后的 = 要接轴名，如 = (B, seq_len, d_model)；形状与数值要拆成两个断言", sign.offset)
    return None


def _certain_shape(lay: Layout, start: int, stop: int) -> bool:
    """Whether text[start:stop] is a written shape with an integer after a blank and an expression."""
    if not lay.text[start - 1].isspace() or expression(lay.text, 0, start) is None:
        return False
    try:
        return any(slot.is_integer for slot in _slots(lay, start, stop))
    except ClaimError:
        return False


def _trailing(lay: Layout) -> Claim | None:
    """Text after a shape: an error where the shape itself is beyond doubt."""
    for start, stop in sorted(lay.partner.items()):
        if start > stop or start == 0 or lay.depth[start] or lay.text[start] != "(":
            continue
        rest = lay.text[stop + 1 :].strip()
        if rest and rest[0] not in ".([" and _certain_shape(lay, start, stop + 1):
            offset = lay.text.index(rest, stop + 1)
            if not HAN.search(rest[0]) and rest[0] not in ",→;。":
                return None
            raise ClaimError(f"形状后面多出了 {rest}，一个代码片段只写一个断言", offset)
    return None
