"""Everything that is known at a place of a run, as plain data: names, sub-expressions, what was returned."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from tsformers.reading.calls import AxisNamer
from tsformers.reading.instrument import key, rooted_in_name
from tsformers.reading.position import Position
from tsformers.reading.record import Computed, Moment, Value, Variable
from tsformers.reading.snapshot import freeze
from tsformers.reading.statements import Function
from tsformers.reading.trace import Recording, Subexpression


def moment(at: Position, cases: Sequence[Position | None], namer: AxisNamer) -> Moment:
    """The state at ``at``; ``cases`` are the same place in the further configurations, which tell axes apart."""
    function, event = at.recording.function, at.recording.events[at.event]
    names = []
    for name, value in at.state.items():
        if name == "return":
            continue
        others = [freeze(case.state.get(name), data=False) if case is not None else None for case in cases]
        frozen = freeze(value)
        names.append(Variable(name, None, False, frozen, namer.name(frozen, others)))
    return Moment(
        line=at.line,
        source=function.excerpt(function.nodes[event.statement]) if event.statement >= 0 else "",
        names=tuple(names),
        computed=tuple(_computed(at, cases, namer)),
        returned=tuple(_returned(at, cases, namer)),
    )


def own_names(names: Mapping[str, Any]) -> tuple[Variable, ...]:
    """Names that blocks of the page bound; what they imported or defined is no value."""
    return tuple(
        Variable(name, None, False, freeze(value), None)
        for name, value in names.items()
        if not isinstance(value, (ModuleType, FunctionType, BuiltinFunctionType, type))
    )


def _returned(at: Position, cases: Sequence[Position | None], namer: AxisNamer) -> Iterator[Variable]:
    if at.recording.returned is None:
        return
    members = _members(at.recording)
    others = [_members(case.recording) if case is not None else {} for case in cases]
    for name, value in members.items():
        axes = namer.name(value, [found.get(name) for found in others])
        yield Variable(name, None, False, value, axes)


def _members(recording: Recording) -> dict[str, Value]:
    if recording.returned is None:
        return {}
    value = freeze(recording.returned["return"])
    return {f"return[{k}]": item for k, item in enumerate(value)} if isinstance(value, tuple) else {"return": value}


def _computed(at: Position, cases: Sequence[Position | None], namer: AxisNamer) -> Iterator[Computed]:
    others = [{place: item for place, item in _numbered(case.recorded)} if case is not None else {} for case in cases]
    for place, item in _numbered(at.recorded):
        node = _expression(at.recording.function, item)
        if node is None or rooted_in_name(node) or isinstance(node, ast.Constant):
            continue  # a name, or an attribute or subscript of one: it means the state, which is shown
        value = freeze(item.value)
        same = [freeze(found[place].value, data=False) if place in found else None for found in others]
        line = at.recording.function.nodes[item.statement].tree.lineno
        yield Computed(line, ast.unparse(node), value, namer.name(value, same))


def _numbered(items: Sequence[Subexpression]) -> Iterator[tuple[tuple[int, str, int], Subexpression]]:
    """Each with its statement, its key and a count: the same expression may have been computed several times."""
    seen: Counter[tuple[int, str]] = Counter()
    for item in items:
        seen[item.statement, item.key] += 1
        yield (item.statement, item.key, seen[item.statement, item.key]), item


def _expression(function: Function, item: Subexpression) -> ast.expr | None:
    """The expression in the source that a recorded value belongs to."""
    for node in ast.walk(function.nodes[item.statement].tree):
        if isinstance(node, ast.expr) and key(node) == item.key:
            return node
    return None
