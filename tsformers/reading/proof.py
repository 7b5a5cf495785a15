"""Axis names of a written shape, proven on every configuration of a toy."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from tsformers.reading.arithmetic import FormulaError, evaluate_axis
from tsformers.reading.compare import Mismatch
from tsformers.reading.form import Claim, Slot
from tsformers.reading.values import join, shape_text


@dataclass(frozen=True, slots=True)
class AxisCase:
    """One configuration: its sizes, the formulas of its axes, and the shape found there (None: not executed)."""

    index: int
    sizes: Mapping[str, int]
    axes: Mapping[str, str]
    shape: tuple[int, ...] | None


def judge_axes(claim: Claim, cases: Sequence[AxisCase]) -> list[Mismatch]:
    """What is wrong with the axis names of a claim of the form "shape"; [] also where it has none.

    Each name must be an axis or a size, and hold wherever the place is executed; at least one configuration beside
    the first must execute it. A rank that is already wrong in the first configuration is left to ``judge``.
    """
    groups = claim.axis_groups
    if not groups:
        return []
    unknown = [mismatch for group in groups for mismatch in _unknown(group, cases)]
    if unknown:
        return unknown
    executed = sorted((case for case in cases if case.shape is not None), key=lambda case: case.index)
    if any(case.index == 0 and len(case.shape or ()) != len(groups[0]) for case in executed):
        return []
    found = [mismatch for group in groups for mismatch in _judge_group(claim, group, executed)]
    if not found and not any(case.index for case in executed):
        found = [_unproven(groups[0], len(cases))]
    return found


def _unknown(group: Sequence[Slot], cases: Sequence[AxisCase]) -> Iterator[Mismatch]:
    for slot in group:
        for case in cases:
            try:
                _length(slot, case)
            except FormulaError as error:
                name = error.name or slot.text
                match = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", slot.text)
                offset, length = (match.start(), len(name)) if match else (0, len(slot.text))
                yield Mismatch(slot.offset + offset, length, name, "", error.message)
                break


def _unproven(group: Sequence[Slot], cases: int) -> Mismatch:
    named = [slot for slot in group if not slot.is_integer] or list(group)
    first, last = named[0], named[-1]
    reason = "这个 toy 只有一个配置" if cases <= 1 else "其他配置都没有执行到这里"
    length = last.offset + len(last.text) - first.offset
    text = ", ".join(slot.text for slot in named)
    return Mismatch(first.offset, length, text, "", f"轴名 {text} 无法证明：{reason}，请写整数")


def _length(slot: Slot, case: AxisCase) -> int:
    return slot.code if isinstance(slot.code, int) else evaluate_axis(slot.code, case.sizes, case.axes)


def _judge_group(claim: Claim, group: Sequence[Slot], executed: Sequence[AxisCase]) -> Iterator[Mismatch]:
    name = claim.expressions[0].text
    for case in executed:
        assert case.shape is not None
        if len(case.shape) != len(group):
            shape = shape_text(case.shape)
            first, last = group[0], group[-1]
            message = join(name, f"在{_where(case)}的秩是 {len(case.shape)}，写的是 {len(group)}：形状 {shape}")
            length = last.offset + len(last.text) - first.offset
            yield Mismatch(first.offset, length, str(len(group)), shape, message)
            return
    # an integer beside names speaks of the first configuration, which judge looks at; alone in "= (…)" it is an axis
    spoken = [axis for axis, slot in enumerate(group) if not slot.is_integer or group is claim.axes]
    wrong = [axis for axis in spoken if _first_failure(group[axis], axis, executed) is not None]
    swap = _swap(group, wrong, executed)
    if swap is not None:
        yield _swapped(name, group, swap, executed)
        wrong = [axis for axis in wrong if axis not in swap]
    for axis in wrong:
        slot, failing = group[axis], _first_failure(group[axis], axis, executed)
        assert failing is not None and failing.shape is not None
        expected, actual = _length(slot, failing), failing.shape[axis]
        fitting = _fitting(axis, executed)
        hint = f"；各配置都成立的轴名：{'、'.join(fitting)}" if fitting else ""
        where = f"在{_where(failing)} {slot.text} = {expected}，这个轴长 {actual}"
        message = join(name, f"的轴 {axis} 不是 {slot.text}：{where}{hint}")
        yield Mismatch(slot.offset, len(slot.text), f"{slot.text} = {expected}", str(actual), message)


def _where(case: AxisCase) -> str:
    return f"配置 {case.index} 里" if case.index else "本例里"


def _first_failure(slot: Slot, axis: int, executed: Sequence[AxisCase]) -> AxisCase | None:
    return next((case for case in executed if case.shape and _length(slot, case) != case.shape[axis]), None)


def _swap(group: Sequence[Slot], wrong: Sequence[int], executed: Sequence[AxisCase]) -> tuple[int, int] | None:
    """Two wrong axes whose names, exchanged, hold in every configuration."""
    for one, other in combinations(wrong, 2):
        exchanged = ((group[one], other), (group[other], one))
        if all(_first_failure(slot, axis, executed) is None for slot, axis in exchanged):
            return one, other
    return None


def _swapped(name: str, group: Sequence[Slot], swap: tuple[int, int], executed: Sequence[AxisCase]) -> Mismatch:
    one, other = swap
    first, last = group[one], group[other]
    case = _first_failure(first, one, executed)
    assert case is not None and case.shape is not None
    expected, actual = f"{first.text}, {last.text}", f"{last.text}, {first.text}"
    message = join(
        name,
        f"的轴 {one} 与轴 {other} 写反了（axes swapped: {one}↔{other}）："
        f"在{_where(case)} {first.text} = {_length(first, case)}，轴 {one} 长 {case.shape[one]}",
    )
    return Mismatch(first.offset, last.offset + len(last.text) - first.offset, expected, actual, message)


def _fitting(axis: int, executed: Sequence[AxisCase]) -> list[str]:
    """Up to three names, axes first, that are as long as this axis in every configuration executed."""
    if len(executed) < 2:
        return []
    found: list[str] = []
    for name in dict.fromkeys([*executed[0].axes, *executed[0].sizes]):
        try:
            fits = all(
                case.shape is not None and evaluate_axis(name, case.sizes, case.axes) == case.shape[axis]
                for case in executed
            )
        except FormulaError:
            continue
        if fits:
            found.append(name)
    return found[:3]
