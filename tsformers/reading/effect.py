"""What a quote shows and did: its place in the source, the variables that the piece wrote, the calls that it made."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import replace

from torch import nn

from tsformers.reading.calls import AxisNamer
from tsformers.reading.position import Position, before, written
from tsformers.reading.quotes import Match
from tsformers.reading.record import Call, Quote, Variable
from tsformers.reading.snapshot import freeze
from tsformers.reading.statements import Function, SourceError, function_source
from tsformers.reading.toys import Reads, ToyRun


def quote_record(subject: int, match: Match, *, executed: bool) -> Quote:
    """A quote's place, without what it did."""
    return Quote(
        subject=subject,
        lines=match.lines,
        first_line=match.first_line,
        last_line=match.last_line,
        executed=executed,
        construction=False,
        passes=0,
        chosen_pass=0,
        wrote=(),
        returned=None,
        calls=(),
    )


def effect(
    subject: int,
    match: Match,
    at: Position,
    cases: Sequence[Position | None],
    toy: ToyRun,
    call: Call | None,
    passes: int,
    chosen: int,
) -> Quote:
    """A quote with what the piece did in the pass ``chosen`` of ``passes``; ``call`` is the subject's in the tree."""
    namer = AxisNamer([case.axes for case in toy.cases])
    old = before(match, at)
    wrote = []
    for name in written(match, old, at.state):
        others = [freeze(case.state.get(name), data=False) if case is not None else None for case in cases]
        after = freeze(at.state[name])
        wrote.append(Variable(name, freeze(old.get(name)), name in old, after, namer.name(after, others)))
    returned = None
    ends = any(isinstance(node.tree, ast.Return) and node.number in at.recording.executed for node in match.nodes)
    if ends and at.recording.returned is not None:
        value = freeze(at.recording.returned["return"])
        returned = Variable("return", None, False, value, namer.name(value, []))
    calls = tuple(
        child for child in (call.children if call else ()) if match.first_line <= child.line <= match.last_line
    )
    return replace(
        quote_record(subject, match, executed=True),
        passes=passes,
        chosen_pass=chosen,
        wrote=tuple(wrote),
        returned=returned,
        calls=calls if match.stop is not None else (),
    )


def constructors(reads: Sequence[Reads], toys: Iterable[ToyRun]) -> list[Function]:
    """Every ``__init__`` that a page may quote: of the subjects' classes and of the modules of its toys' models."""
    classes: list[type] = []
    for line in reads:
        owner = line.globals.get(line.source.owner)
        if isinstance(owner, type):
            classes.append(owner)
    for run in toys:
        call = run.cases[0].toy.call
        if isinstance(call, nn.Module):
            classes.extend(type(module) for module in call.modules())
    found = []
    for kind in dict.fromkeys(classes):
        if "__init__" not in vars(kind) or kind.__module__.split(".")[0] == "torch":
            continue
        try:
            found.append(function_source(vars(kind)["__init__"]))
        except SourceError:
            continue  # a constructor that Python made (a dataclass): nothing to quote
    return found
