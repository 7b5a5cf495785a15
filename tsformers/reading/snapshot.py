"""Copies of a frame at a moment: identity, aliasing and strides hold, and what did not change is copied once."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import nn

from tsformers.reading.record import LARGEST, OpaqueValue, TensorValue, Value

LARGEST_INTEGER = 13_000  # bits, some 4,000 decimal digits


class Snapshot(dict[str, Any]):
    """Names of a frame and copies of what they were bound to; ``origin`` tells which object a copy stands for."""

    def __init__(self, names: dict[str, Any], origin: dict[int, int]) -> None:
        super().__init__(names)
        self.origin = origin

    def same(self, left: object, right: object) -> bool:
        """Whether two copies, perhaps of different moments, stand for one object."""
        return left is right or self.origin.get(id(left), id(left)) == self.origin.get(id(right), id(right))


class Vault:
    """Takes snapshots. Storages whose bytes are as they were last time share one copy between snapshots."""

    def __init__(self) -> None:
        self._storages: dict[int, tuple[torch.UntypedStorage, torch.UntypedStorage]] = {}
        self._tensors: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        self._modules: dict[int, tuple[nn.Module, tuple[object, ...], nn.Module]] = {}
        self._kept: list[object] = []  # originals stay alive, so that an id is never used twice
        self.origin: dict[int, int] = {}

    def take(self, names: dict[str, Any]) -> Snapshot:
        """Copy what ``names`` are bound to, all with one memory of what was copied already."""
        memo: dict[int, Any] = {}
        for tensor in _tensors(names.values(), set()):
            memo[id(tensor)] = self._tensor(tensor)
        for module in _modules(names.values()):
            self._module(module, memo)
        copies = {}
        for name, value in names.items():
            try:
                copies[name] = copy.deepcopy(value, memo)
            except (TypeError, RuntimeError, NotImplementedError):
                copies[name] = value  # cannot be copied (a generator, a lock): the object itself
            self._remember(value, copies[name])
        return Snapshot(copies, self.origin)

    def _remember(self, value: object, copied: object) -> None:
        if not isinstance(value, (int, float, str, bool, type(None))):
            self._kept.append((value, copied))
            self.origin[id(copied)] = id(value)
            if isinstance(value, (tuple, list)) and isinstance(copied, (tuple, list)):
                for inner, inner_copy in zip(value, copied, strict=True):
                    self._remember(inner, inner_copy)

    def _storage(self, storage: torch.UntypedStorage) -> torch.UntypedStorage:
        known = self._storages.get(storage._cdata)
        if known is not None and _bytes(known[1]).equal(_bytes(storage)):
            return known[1]
        copied = storage.clone()
        self._storages[storage._cdata] = (storage, copied)
        return copied

    def _tensor(self, tensor: torch.Tensor) -> torch.Tensor:
        if tensor.layout is not torch.strided or tensor.device.type != "cpu":
            return tensor.detach().clone()
        storage = self._storage(tensor.untyped_storage())
        known = self._tensors.get(id(tensor))
        if (
            known is not None
            and known[1].untyped_storage()._cdata == storage._cdata
            and _layout(known[1]) == _layout(tensor)
        ):
            return known[1]
        view = torch.empty(0, dtype=tensor.dtype)
        view.set_(storage, tensor.storage_offset(), tensor.size(), tensor.stride())
        copied = nn.Parameter(view, requires_grad=False) if isinstance(tensor, nn.Parameter) else view
        self._tensors[id(tensor)] = (tensor, copied)
        self._kept.append(tensor)
        self.origin[id(copied)] = id(tensor)
        return copied

    def _module(self, module: nn.Module, memo: dict[int, Any]) -> None:
        """Put into ``memo`` the copy of ``module`` made before, if nothing in it was bound anew since."""
        version = _version(module, memo)
        known = self._modules.get(id(module))
        if known is not None and version is not None and known[1] == version:
            for old, new in zip(module.modules(), known[2].modules(), strict=True):
                memo[id(old)] = new
            return
        copied = copy.deepcopy(module, memo)
        if version is not None:
            self._modules[id(module)] = (module, version, copied)
        for old, new in zip(module.modules(), copied.modules(), strict=True):
            self.origin[id(new)] = id(old)
        self._kept.append((module, copied))


def _bytes(storage: torch.UntypedStorage) -> torch.Tensor:
    return torch.empty(0, dtype=torch.uint8).set_(storage)


def _layout(tensor: torch.Tensor) -> tuple[object, ...]:
    return (tensor.dtype, tensor.storage_offset(), tuple(tensor.size()), tensor.stride())


def _version(module: nn.Module, memo: dict[int, Any]) -> tuple[object, ...] | None:
    """What a module holds, by identity; None if it holds containers whose inside may change unseen."""
    parts: list[object] = []
    for inner in module.modules():
        for name, value in vars(inner).items():
            if name in ("_parameters", "_buffers"):
                parts.extend(id(memo.get(id(tensor))) for tensor in value.values())
            elif name == "_modules" or name.startswith("_") and "hooks" in name:
                parts.extend(id(child) for child in value.values())
            elif isinstance(value, (list, dict, set)) and not name.startswith("_"):
                return None
            elif isinstance(value, torch.Tensor):
                parts.append(id(memo.get(id(value))))
            elif not isinstance(value, (list, dict, set)):
                parts.append(value if isinstance(value, (int, float, str)) else id(value))
    return tuple(parts)


def _modules(values: Iterable[object]) -> Iterator[nn.Module]:
    return (value for value in values if isinstance(value, nn.Module))


def _tensors(values: Iterable[object], seen: set[int]) -> Iterator[torch.Tensor]:
    for value in values:
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, nn.Module):
            for inner in value.modules():
                yield from _tensors(inner._parameters.values(), seen)
                yield from _tensors(inner._buffers.values(), seen)
                yield from _tensors((v for v in vars(inner).values() if isinstance(v, torch.Tensor)), seen)
        elif isinstance(value, dict):
            yield from _tensors(value.values(), seen)
        elif isinstance(value, (tuple, list, set)):
            yield from _tensors(value, seen)


def written(value: object) -> str:
    """``repr`` of an object of a page, whose own ``__repr__`` may fail; without the address that differs each run."""
    try:
        return re.sub(r" at 0x[0-9a-f]+", "", repr(value))
    except Exception as error:
        return f"<{type(value).__name__}: repr raised {type(error).__name__}>"


def freeze(value: object, *, data: bool = True) -> Value:
    """Plain data for an object; ``data=False`` keeps of a tensor its shape and dtype alone."""
    try:
        return _freeze(value, data=data)
    except RecursionError:
        return OpaqueValue(type(value).__name__, "…")  # holds itself


def _freeze(value: object, *, data: bool) -> Value:
    if isinstance(value, torch.Tensor):
        kept = None
        plain = value.layout is torch.strided and not (value.is_complex() or value.is_quantized or value.is_nested)
        if data and plain and value.numel() <= LARGEST and value.device.type != "meta":
            kept = tuple(value.detach().reshape(-1).tolist())
        if value.is_nested:
            return OpaqueValue("Tensor", "nested")
        return TensorValue(tuple(value.shape), str(value.dtype).removeprefix("torch."), kept)
    if isinstance(value, int) and value.bit_length() > LARGEST_INTEGER:
        return OpaqueValue("int", f"整数，{value.bit_length()} 位二进制数")  # Python itself writes it out no more
    if value is None or type(value) in (bool, int, float, str):
        return value  # type: ignore[return-value]
    if isinstance(value, tuple):
        return tuple(_freeze(inner, data=data) for inner in value)
    if isinstance(value, list):
        return [_freeze(inner, data=data) for inner in value]
    if isinstance(value, (int, float, str)):  # a subclass: bool and int enums, numpy scalars
        return float(value) if isinstance(value, float) else int(value) if isinstance(value, int) else str(value)
    text = written(value)
    return OpaqueValue(type(value).__name__, text if len(text) <= 200 else text[:199] + "…")
