"""The tree of calls of a toy's run: the functions of the package that is read, and torch's modules as leaves.

Only an ``nn.Sequential`` is looked into: its members are the package's choice.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch import nn

from tsformers.reading.record import Call, TensorValue, Value
from tsformers.reading.snapshot import freeze

TORCH = str(Path(torch.__file__).parent)


@dataclass
class _Open:
    frame: FrameType
    function: str
    owner: str
    path: str
    line: int
    inputs: list[tuple[str, Value]]
    output: Value = None
    children: list[_Open] = field(default_factory=list)


class _Profiler:
    """A profile function that keeps the stack of calls worth showing."""

    def __init__(self, root: object, folder: str) -> None:
        self.folder = folder
        self.paths = {id(module): name for name, module in root.named_modules()} if isinstance(root, nn.Module) else {}
        self.stack: list[_Open] = []
        self.roots: list[_Open] = []

    def __call__(self, frame: FrameType, event: str, result: Any) -> None:
        if event == "call" and self._worth(frame):
            self._enter(frame)
        elif event == "return" and self.stack and self.stack[-1].frame is frame:
            self.stack.pop().output = freeze(result, data=False)

    def _worth(self, frame: FrameType) -> bool:
        code = frame.f_code
        if code.co_filename.startswith(self.folder):
            return not code.co_name.startswith("<") and not code.co_name.startswith("__")
        if code.co_name != "forward" or not code.co_filename.startswith(TORCH):
            return False
        if not self.stack or id(frame.f_locals.get("self")) not in self.paths:
            return False
        above = self.stack[-1].frame  # what a container of torch holds was put there by the package
        return above.f_code.co_filename.startswith(self.folder) or type(above.f_locals.get("self")) is nn.Sequential

    def _enter(self, frame: FrameType) -> None:
        code = frame.f_code
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        owner = frame.f_locals.get("self") if names[:1] == ("self",) else None
        inputs = [(name, freeze(frame.f_locals[name], data=False)) for name in names if name != "self"]
        module = frame.f_globals.get("__name__", "")
        opened = _Open(
            frame,
            f"{module}.{code.co_qualname}" if hasattr(code, "co_qualname") else f"{module}.{code.co_name}",
            type(owner).__name__ if owner is not None else module.rpartition(".")[2],
            self.paths.get(id(owner), ""),
            self.stack[-1].frame.f_lineno if self.stack else 0,
            inputs,
        )
        (self.stack[-1].children if self.stack else self.roots).append(opened)
        self.stack.append(opened)


def _profile(run: Callable[[], object], root: object, folder: str) -> _Open | None:
    profiler = _Profiler(root, folder)
    before = sys.getprofile()
    with torch.no_grad():
        sys.setprofile(profiler)
        try:
            run()
        finally:
            # A profiler written in C gives itself as an object that cannot be set again from here.
            sys.setprofile(before if callable(before) else None)
    return profiler.roots[0] if profiler.roots else None


def call_tree(runs: Sequence[tuple[Callable[[], object], object]], folder: str, namer: AxisNamer) -> Call | None:
    """The tree of the first run; the others, further configurations of the toy, tell the axes' names apart."""
    trees = [_profile(run, root, folder) for run, root in runs]
    if trees[0] is None:
        return None
    others = [_by_place(tree) if tree is not None else {} for tree in trees[1:]]
    return _closed(trees[0], (), others, namer)


Place = tuple[tuple[str, str, int], ...]


def _by_place(tree: _Open, place: Place = ()) -> dict[Place, _Open]:
    found = {place: tree}
    for inner, child in _placed(tree, place):
        found.update(_by_place(child, inner))
    return found


def _placed(tree: _Open, place: Place) -> list[tuple[Place, _Open]]:
    seen: dict[tuple[str, str], int] = {}
    result = []
    for child in tree.children:
        name = (child.function, child.path)
        seen[name] = seen.get(name, 0) + 1
        result.append(((*place, (*name, seen[name])), child))
    return result


def _closed(tree: _Open, place: Place, others: Sequence[dict[Place, _Open]], namer: AxisNamer) -> Call:
    same = [other.get(place) for other in others]
    inputs = []
    for index, (name, value) in enumerate(tree.inputs):
        values = [other.inputs[index][1] if other is not None else None for other in same]
        inputs.append((name, value, namer.name(value, values)))
    parts = _members(tree.output)
    other_parts = [_members(other.output) if other is not None else () for other in same]
    axes = tuple(
        namer.name(part, [other[index] if index < len(other) else None for other in other_parts])
        for index, part in enumerate(parts)
    )
    children = tuple(_closed(child, inner, others, namer) for inner, child in _placed(tree, place))
    return Call(tree.function, tree.owner, tree.path, tree.line, tuple(inputs), tree.output, axes, children)


def _members(value: Value) -> tuple[Value, ...]:
    return tuple(value) if isinstance(value, tuple) else (value,)


class AxisNamer:
    """Names the axes of a shape by what holds in every configuration, a single axis before a product of two."""

    def __init__(self, axes: Sequence[dict[str, int]]) -> None:
        names = list(axes[0]) if axes else []
        self.vectors: dict[tuple[int, ...], str] = {}
        self.cases = len(axes)
        singles = {name: tuple(case[name] for case in axes) for name in names if all(name in case for case in axes)}
        for name, vector in singles.items():
            self.vectors.setdefault(vector, name)
        products: list[tuple[tuple[int, ...], str]] = []
        for (left, a), (right, b) in combinations(singles.items(), 2):
            products.append((tuple(x * y for x, y in zip(a, b, strict=True)), f"{left}*{right}"))
        for vector, name in products:
            self.vectors.setdefault(vector, name)

    def name(self, value: Value, others: Sequence[Value]) -> tuple[str, ...] | None:
        """The axes of a tensor, given the same tensor in the other configurations; None if it is no tensor."""
        if not isinstance(value, TensorValue):
            return None
        shapes = [value.shape]
        for other in others:
            if not isinstance(other, TensorValue) or len(other.shape) != len(value.shape):
                return tuple(str(size) for size in value.shape)
            shapes.append(other.shape)
        if len(shapes) != self.cases or self.cases < 2:
            return tuple(str(size) for size in value.shape)
        names = []
        for dimension, size in enumerate(value.shape):
            vector = tuple(shape[dimension] for shape in shapes)
            names.append(self.vectors.get(vector, str(size)) if len(set(vector)) > 1 else str(size))
        return tuple(names)
