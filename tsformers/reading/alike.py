"""Whether two copies of a thing hold the same: the one equality of values that the engine compares itself.

NaN is like NaN and not like zero; zero is not like minus zero. A thing that holds itself is gone through once.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterator
from functools import cache, partial
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import torch

_ITSELF = (type, ModuleType, FunctionType, BuiltinFunctionType)  # copies of these are the things themselves
_INTEGERS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
_PLAIN = (str, bytes, bytearray, range, slice, frozenset, set, torch.dtype, torch.device, torch.layout)
_OF_MODULES = frozenset(vars(torch.nn.Module()))  # what every module holds: parameters, buffers, hooks, training


def alike(left: Any, right: Any) -> bool:
    """Whether two copies hold the same, down to what they hold; of what cannot be looked into, whether it is of one sort."""
    pairs = [(left, right)]
    met: set[tuple[int, int]] = set()
    while pairs:
        one, other = pairs.pop()
        if one is other or (id(one), id(other)) in met:
            continue
        met.add((id(one), id(other)))
        parts = _parts(one, other) if type(one) is type(other) else None
        if parts is None:
            return False
        pairs += parts
    return True


def _parts(left: Any, right: Any) -> list[tuple[Any, Any]] | None:
    """The pairs that two things of one type consist of, yet to be compared; None where they differ themselves."""
    match left:
        case torch.Tensor():
            return _of_tensors(left, right)
        case float():
            alike = left == right and math.copysign(1, left) == math.copysign(1, right)
            return [] if alike or (left != left and right != right) else None
        case complex():
            return [(left.real, right.real), (left.imag, right.imag)]
        case int():
            return [] if left == right else None
        case tuple() | list():
            pairs = list(zip(left, right, strict=False))
            return _and_own(left, right, pairs) if len(left) == len(right) else None
        case dict():
            if len(left) != len(right):
                return None
            if all(key in right for key in left):
                return _and_own(left, right, [(left[key], right[key]) for key in left])
            # Keys known by identity only, as the parameters in an optimizer's state: a copy has copies of them.
            return _and_own(left, right, list(zip(left.items(), right.items(), strict=True)))
        case _ if isinstance(left, _PLAIN):
            return [] if left == right else None
        case MethodType():
            return [(left.__self__, right.__self__)] if left.__func__ is right.__func__ else None
        case partial():
            return [(left.func, right.func), (left.args, right.args), (left.keywords, right.keywords)]
        case _ if isinstance(left, _ITSELF):
            return None  # another one, since identity was looked at
        case _ if hasattr(left, "tobytes") and hasattr(left, "shape"):  # an array of numpy
            return [(left.shape, right.shape), (str(left.dtype), str(right.dtype)), (left.tobytes(), right.tobytes())]
    return _and_own(left, right, [(list(left), list(right))] if type(left).__name__ == "deque" else [])


def _and_own(left: Any, right: Any, pairs: list[tuple[Any, Any]]) -> list[tuple[Any, Any]] | None:
    """``pairs``, and those of the attributes."""
    if type(left) in (dict, list, tuple) or (type(left) is OrderedDict and not vars(left) and not vars(right)):
        return pairs  # the most of all things compared have none
    ours, theirs = dict(_attributes(left)), dict(_attributes(right))
    if ours.keys() != theirs.keys():
        return None
    return [*pairs, *((ours[name], theirs[name]) for name in ours)]


def _attributes(thing: Any) -> Iterator[tuple[str, Any]]:
    for name, value in getattr(thing, "__dict__", {}).items():
        # What a module keeps for itself beside what all modules have is its cache.
        if not isinstance(thing, torch.nn.Module) or not name.startswith("_") or name in _OF_MODULES:
            yield name, value
    kind: type = type(thing)
    for name in _slots(kind):
        if hasattr(thing, name):
            yield name, getattr(thing, name)


@cache
def _slots(kind: type) -> tuple[str, ...]:
    found: list[str] = []
    for base in kind.__mro__:
        slots = vars(base).get("__slots__", ())
        found += [slots] if isinstance(slots, str) else slots
    return tuple(name for name in found if name not in ("__dict__", "__weakref__"))


def _of_tensors(left: torch.Tensor, right: torch.Tensor) -> list[tuple[Any, Any]] | None:
    if left.shape != right.shape or left.dtype != right.dtype or left.layout != right.layout:
        return None
    if left.requires_grad != right.requires_grad or not _same_elements(left.detach(), right.detach()):
        return None
    grads = [(left.grad, right.grad)] if left.is_leaf and right.is_leaf else []
    ours, theirs = vars(left), vars(right)
    return [*grads, *((ours[name], theirs[name]) for name in ours)] if ours.keys() == theirs.keys() else None


def _bits(values: torch.Tensor) -> torch.Tensor:
    return values.view(_INTEGERS[values.element_size()])


def _same_elements(left: torch.Tensor, right: torch.Tensor) -> bool:
    if left.device.type == "meta":
        return True  # which has no elements
    if left.is_nested:
        return all(_same_elements(one, other) for one, other in zip(left.unbind(), right.unbind(), strict=True))
    if left.is_quantized:
        left, right = left.dequantize(), right.dequantize()
    if left.layout is not torch.strided:
        left, right = left.to_dense(), right.to_dense()
    if left.is_floating_point() and torch.equal(_bits(left), _bits(right)):
        return True
    if left.is_complex():
        left, right = torch.view_as_real(left.resolve_conj()), torch.view_as_real(right.resolve_conj())
    same = left == right
    if left.is_floating_point():
        same &= torch.signbit(left) == torch.signbit(right)
        same |= left.isnan() & right.isnan()
    return bool(same.all())
