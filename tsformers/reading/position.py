"""Where a page stands after a quote: a moment of a recorded call, and what the piece wrote and computed."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from tsformers.reading.alike import alike
from tsformers.reading.quotes import Match, is_loop
from tsformers.reading.snapshot import Snapshot
from tsformers.reading.statements import Node
from tsformers.reading.trace import Event, Recording, Subexpression


@dataclass(frozen=True)
class Position:
    """A moment of a recording: the index of an event, and the recorded values that the last piece may claim."""

    recording: Recording
    event: int
    recorded: tuple[Subexpression, ...] = ()

    @property
    def state(self) -> Snapshot:
        return self.recording.events[self.event].state

    @property
    def line(self) -> int:
        """The source line after which it is; 0 at the entry."""
        statement = self.recording.events[self.event].statement
        return self.recording.function.nodes[statement].tree.lineno if statement >= 0 else 0


def entry(recording: Recording) -> Position:
    return Position(recording, 0)


def executions(match: Match, recording: Recording) -> list[int]:
    """The events, one a time that the piece ran, at which a page that quotes it stands."""
    stop = match.stop
    if stop is None:
        return [0]
    events = recording.events
    ends = {stop.number, *(node.number for node in match.function.below(stop) if _leaves(node, stop))}
    after = [i for i, event in enumerate(events) if event.kind == "after" and event.statement in ends]
    if not match.header:
        return after
    enter = [i for i, event in enumerate(events) if event.kind == "enter" and event.statement == stop.number]
    if is_loop(stop):
        enter = [i for i in enter if len(events[i].passes) > len(stop.loops)]  # not the loop's else
    return enter or after


def _leaves(node: Node, around: Node) -> bool:
    """Whether a statement inside another one ends that too: the end of ``around`` itself is then never reached."""
    if isinstance(node.tree, (ast.Break, ast.Continue)):
        return node.loops == around.loops
    return isinstance(node.tree, ast.Return)


def position(match: Match, recording: Recording, event: int) -> Position:
    """Stand at an execution of a piece, with what it computed."""
    passes = recording.events[event].passes
    depth = len(match.stop.loops) if match.stop is not None else 0
    shown = {node.number for node in match.nodes}
    recorded = tuple(
        value for value in recording.values if value.statement in shown and value.passes[:depth] == passes[:depth]
    )
    return Position(recording, event, recorded)


def before(match: Match, at: Position) -> Snapshot:
    """The state just before the piece began, in the execution that ``at`` stands at the end of."""
    events = at.recording.events
    if match.stop is None:
        return events[0].state
    depth = len(match.stop.loops)
    prefix = events[at.event].passes[:depth]
    inside = {match.stop.number} if match.header else set()
    for node in match.nodes:
        inside.update(inner.number for inner in (match.function.below(node) if not match.header else [node]))
    first = at.event
    while first > 0 and _belongs(events[first - 1], inside, prefix, depth) and not match.header:
        first -= 1
    return events[max(0, first - 1)].state


def _belongs(event: Event, inside: set[int], prefix: tuple[int, ...], depth: int) -> bool:
    return event.statement in inside and event.passes[:depth] == prefix


def written(match: Match, old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Names that the piece bound or changed, in the order of the text."""
    names = [name for node in match.nodes for name in _stored(node, match)]
    changed = changed_names(old, new)
    return [name for name in dict.fromkeys([*names, *changed]) if name in new and name != "_"]


def changed_names(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Names that are bound to another value; of a module, whose state is its own affair, to one of another sort."""
    return [name for name, value in new.items() if name not in old or not _same(old[name], value)]


def _same(old: Any, new: Any) -> bool:
    return type(old) is type(new) if isinstance(new, torch.nn.Module) else alike(old, new)


def _stored(node: Node, match: Match) -> Iterator[str]:
    parts: Sequence[ast.AST] = [node.tree]
    if node.compound:
        parts = [
            value
            for name, value in ast.iter_fields(node.tree)
            if name in ("target", "test") and isinstance(value, ast.AST)
        ]
    for part in parts:
        for inner in ast.walk(part):
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                yield inner.id
