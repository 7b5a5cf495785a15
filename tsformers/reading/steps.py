"""A recorded call as the steps of a reader: what each executed statement read, made on the way and wrote."""

from __future__ import annotations

import ast
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import nn

from tsformers.reading.calls import AxisNamer
from tsformers.reading.instrument import key, rooted_in_name
from tsformers.reading.position import changed_names
from tsformers.reading.record import SHOWN, Seen, Step
from tsformers.reading.snapshot import freeze
from tsformers.reading.statements import LOOPS, Function, Node
from tsformers.reading.trace import Event, Recording

FIRST_PASSES = 2  # of a loop that runs longer than four times, these and the last are steps
ALL_PASSES = 4
HEADERS = (ast.If, ast.For, ast.While, ast.With)
NO_STEPS = (ast.FunctionDef, ast.ClassDef, ast.Try, ast.Match)

Place = tuple[str, int, tuple[int, ...]]


def steps(recordings: Sequence[Recording | None], namer: AxisNamer) -> tuple[Step, ...]:
    """The steps of the first recording; the others, further configurations of the toy, tell the axes' names apart."""
    first = recordings[0] if recordings else None
    if first is None:
        return ()
    walk = _Walk(first, [_Places(other) if other is not None else None for other in recordings[1:]], namer)
    return tuple(walk.steps())


class _Places:
    """The events of a recording by what happened, for the same moment in another configuration."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.index: dict[Place, int] = {}
        for index, event in enumerate(recording.events):
            self.index.setdefault((event.kind, event.statement, event.passes), index)

    def at(self, event: Event) -> int | None:
        return self.index.get((event.kind, event.statement, event.passes))


class _Walk:
    def __init__(self, recording: Recording, others: Sequence[_Places | None], namer: AxisNamer) -> None:
        self.recording = recording
        self.function: Function = recording.function
        self.others = others
        self.namer = namer
        self.totals = _totals(recording)

    def steps(self) -> Iterator[Step]:
        events = self.recording.events
        for index, event in enumerate(events):
            if event.kind == "entry":
                line = self.function.tree.lineno
                names = [name for name in event.state if name != _owner(self.function)]
                yield Step(line, line, "", writes=tuple(self._writes(index, names, {})))
                continue
            node = self.function.nodes[event.statement]
            if not self._is_step(index, node) or not self._shown(event, node):
                continue
            entered = event.kind == "enter"
            yield Step(
                node.tree.lineno,
                node.header_end,
                self.function.excerpt(node),
                self._passes(event, node),
                self._outcome(index, node) if isinstance(node.tree, HEADERS[:3]) else None,
                tuple(self._reads(index, node)),
                () if node.compound else tuple(self._computed(event, node)),
                tuple(self._written(index, node)) if not node.compound or entered else (),
            )

    def _is_step(self, index: int, node: Node) -> bool:
        """A simple statement's end; of a compound one the entry of its header, or its end where it was not entered."""
        event = self.recording.events[index]
        if isinstance(node.tree, NO_STEPS):
            return False
        if not node.compound:
            return event.kind == "after"
        if event.kind == "enter":
            return not isinstance(node.tree, LOOPS) or len(event.passes) > len(node.loops)  # not the loop's else
        inside = {inner.number for inner in self.function.below(node)}
        return self.recording.events[index - 1].statement not in inside

    def _outcome(self, index: int, node: Node) -> bool:
        event = self.recording.events[index]
        if event.kind == "after":
            return False
        if not isinstance(node.tree, ast.If):
            return True
        after = self.recording.events[index + 1].statement
        while self.function.nodes[after].block[0] != node.number:
            after = self.function.nodes[after].block[0]
        return self.function.nodes[after].block[1] == "body"

    def _loops(self, event: Event, node: Node) -> tuple[int, ...]:
        """The loops that the passes of an event count."""
        return (*node.loops, node.number)[: len(event.passes)]

    def _passes(self, event: Event, node: Node) -> tuple[tuple[int, int], ...]:
        loops = self._loops(event, node)
        return tuple((event.passes[k], self.totals[loop, event.passes[:k]]) for k, loop in enumerate(loops))

    def _shown(self, event: Event, node: Node) -> bool:
        return all(of <= ALL_PASSES or k <= FIRST_PASSES or k == of for k, of in self._passes(event, node))

    # What a step shows

    def _seen(self, name: str, value: Any, others: Sequence[Any]) -> Seen:
        frozen = freeze(value, data=False)
        same = [freeze(other, data=False) for other in others]
        return Seen(name, frozen, self.namer.name(frozen, same), _cells(value))

    def _elsewhere(self, event: Event, back: int = 0) -> list[Mapping[str, Any]]:
        """The frame at the same moment (or ``back`` events before it) in the further configurations."""
        found: list[Mapping[str, Any]] = []
        for other in self.others:
            at = other.at(event) if other is not None else None
            if other is None or at is None:
                found.append({})
            else:
                found.append(other.recording.events[max(0, at - back)].state)
        return found

    def _reads(self, index: int, node: Node) -> Iterator[Seen]:
        event, state = self.recording.events[index], self._before(index)
        elsewhere = self._elsewhere(event, 1)
        for name in dict.fromkeys(_loaded(node, _owner(self.function))):
            value = _look_up(name, state)
            header = node.compound and (value is None or isinstance(value, nn.Module))  # what a condition is about
            if not header and not _worth(value):
                continue
            yield self._seen(name, value, [_look_up(name, other) for other in elsewhere])

    def _before(self, index: int) -> Mapping[str, Any]:
        return self.recording.events[index - 1].state if index else {}

    def _written(self, index: int, node: Node) -> Iterator[tuple[Seen | None, Seen]]:
        event = self.recording.events[index]
        if isinstance(node.tree, ast.Return):
            yield from self._returned()
            return
        old = self._before(index)
        changed = changed_names(old, event.state)
        names = dict.fromkeys([*_stored(node), *changed])
        yield from self._writes(index, [name for name in names if name in event.state and name != "_"], old)

    def _writes(self, index: int, names: Sequence[str], old: Mapping[str, Any]) -> Iterator[tuple[Seen | None, Seen]]:
        event = self.recording.events[index]
        now, then = self._elsewhere(event), self._elsewhere(event, 1)
        for name in names:
            after = self._seen(name, event.state[name], [other.get(name) for other in now])
            before = self._seen(name, old[name], [other.get(name) for other in then]) if name in old else None
            yield before, after

    def _returned(self) -> Iterator[tuple[Seen | None, Seen]]:
        members = _members(self.recording)
        others = [_members(other.recording) if other is not None else {} for other in self.others]
        for name, value in members.items():
            yield None, self._seen(name, value, [found.get(name) for found in others])

    def _computed(self, event: Event, node: Node) -> Iterator[Seen]:
        """Tensors that a simple statement made on the way: not what is in the frame, nor the value of the whole."""
        texts = {key(part): ast.unparse(part) for part in ast.walk(node.tree) if isinstance(part, ast.expr)}
        whole = getattr(node.tree, "value", None)
        ends = {key(part) for part in [whole, *getattr(whole, "elts", [])] if part is not None}
        elsewhere = [dict(_values(other.recording, event, node)) if other is not None else {} for other in self.others]
        for place, value in _values(self.recording, event, node):
            if isinstance(value, torch.Tensor) and place[0] in texts and place[0] not in ends and place[1] == 1:
                seen = self._seen(texts[place[0]], value, [found.get(place) for found in elsewhere])
                yield Seen(seen.name, seen.value, seen.axes)


def _totals(recording: Recording) -> dict[tuple[int, tuple[int, ...]], int]:
    """How many passes each execution of a loop made, by the loop and the passes of the loops around it."""
    totals: dict[tuple[int, tuple[int, ...]], int] = {}
    for event in recording.events:
        if event.statement < 0:
            continue
        node = recording.function.nodes[event.statement]
        for depth, loop in enumerate((*node.loops, node.number)[: len(event.passes)]):
            place = (loop, event.passes[:depth])
            totals[place] = max(totals.get(place, 0), event.passes[depth])
    return totals


def _values(recording: Recording, event: Event, node: Node) -> Iterator[tuple[tuple[str, int], Any]]:
    """The recorded sub-expressions of one execution of a statement, each with a count of equal ones."""
    depth, seen = len(node.loops), Counter[str]()
    for item in recording.values:
        if item.statement == node.number and item.passes[:depth] == event.passes[:depth]:
            seen[item.key] += 1
            yield (item.key, seen[item.key]), item.value


def _owner(function: Function) -> str:
    """The name of ``self`` in a method, "" in a plain function."""
    arguments = [*function.tree.args.posonlyargs, *function.tree.args.args]
    return arguments[0].arg if function.owner and arguments else ""


def _header(node: Node) -> list[ast.AST]:
    if not node.compound:
        return [node.tree]
    fields = dict(ast.iter_fields(node.tree))
    parts = [fields[name] for name in ("test", "iter", "target") if isinstance(fields.get(name), ast.AST)]
    return [*parts, *fields.get("items", [])]


def _loaded(node: Node, owner: str) -> Iterator[str]:
    """Names that a statement reads, in the order of the text, and attributes of ``self``."""
    reads: list[ast.expr] = []
    for part in _header(node):
        for inner in ast.walk(part):
            if isinstance(inner, (ast.Name, ast.Attribute)) and isinstance(inner.ctx, ast.Load):
                reads.append(inner)
    if isinstance(node.tree, ast.AugAssign):
        reads.append(node.tree.target)
    found = []
    for inner in filter(rooted_in_name, reads):
        name = ast.unparse(inner)
        if (isinstance(inner, ast.Name) and name != owner) or (owner and name.startswith(f"{owner}.")):
            found.append((inner.lineno, inner.col_offset, name))
    yield from (name for _, _, name in sorted(found))


def _stored(node: Node) -> Iterator[str]:
    for part in _header(node):
        for inner in ast.walk(part):
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                yield inner.id


class _Missing:
    """No value: the name is unbound, or not plain data."""


def _look_up(name: str, state: Mapping[str, Any]) -> Any:
    """What a dotted name means in a frame, without running the code of a property."""
    first, *rest = name.split(".")
    value = state.get(first, _Missing)
    for attribute in rest:
        held: dict[str, Any] = dict(getattr(value, "__dict__", {}))
        if isinstance(value, nn.Module):
            held.update({**value._parameters, **value._buffers, **value._modules})
        value = held.get(attribute, _Missing)
    return value


def _worth(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return any(isinstance(item, torch.Tensor) for item in value)
    return isinstance(value, (torch.Tensor, bool, int, float, str))


def _members(recording: Recording) -> dict[str, Any]:
    value = recording.returned["return"] if recording.returned is not None else None
    return {f"return[{k}]": item for k, item in enumerate(value)} if isinstance(value, tuple) else {"return": value}


def _cells(value: Any) -> tuple[tuple[float | int | bool, ...], ...]:
    """The first matrix of a tensor, cut."""
    if not isinstance(value, torch.Tensor) or value.numel() == 0 or value.is_complex() or value.device.type == "meta":
        return ()
    flat = value.detach()
    while flat.dim() > 2:
        flat = flat[0]
    rows = flat.reshape(1, -1) if flat.dim() < 2 else flat
    return tuple(tuple(_rounded(cell) for cell in row) for row in rows[:SHOWN, :SHOWN].tolist())


def _rounded(cell: float | int | bool) -> float | int | bool:
    return float(f"{cell:.4g}") if isinstance(cell, float) and math.isfinite(cell) else cell
