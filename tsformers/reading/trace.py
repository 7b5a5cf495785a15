"""Record calls statement by statement: the frame after every statement, the value of every sub-expression."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import FrameType, FunctionType
from typing import Any

import torch

from tsformers.reading.instrument import HOOK, Instrumented, instrument
from tsformers.reading.snapshot import Snapshot, Vault
from tsformers.reading.statements import Function, function_source, plain_function


@dataclass(frozen=True, slots=True)
class Event:
    """A moment of a call. ``kind``: "entry", "after" a statement, "enter" the body of one, "return"."""

    kind: str
    statement: int
    passes: tuple[int, ...]  # which pass of each loop around it, from 1
    state: Snapshot


@dataclass(frozen=True, slots=True)
class Subexpression:
    statement: int
    passes: tuple[int, ...]
    key: str
    callee: str  # key of what was called, "" if it is no call
    value: Any


@dataclass
class Recording:
    """One call of one function, recorded."""

    function: Function
    events: list[Event] = field(default_factory=list)
    values: list[Subexpression] = field(default_factory=list)
    returned: Snapshot | None = None  # {"return": …}; None if the call raised

    @property
    def executed(self) -> set[int]:
        return {event.statement for event in self.events if event.statement >= 0}


@dataclass(frozen=True, eq=False)
class Target:
    """A call to record: of ``function`` on ``owner`` (any object if None), the ``call``-th one, from 1."""

    function: Callable[..., object]
    owner: object | None = None
    call: int = 1


class NotCalled(LookupError):
    """The run did not make all calls that were to be recorded: ``recordings`` holds None for those it did not make.

    ``calls`` tells how many there were of each target's function, on its owner.
    """

    def __init__(self, recordings: list[Recording | None], calls: list[int]) -> None:
        super().__init__(calls)
        self.recordings = recordings
        self.calls = calls


@dataclass
class _Active:
    recording: Recording
    first: int
    passes: list[int] = field(default_factory=list)

    def trimmed(self, statement: int, extra: int = 0) -> tuple[int, ...]:
        """The passes of the loops around a statement; what stands deeper was left."""
        del self.passes[len(self.recording.function.nodes[statement].loops) + extra :]
        return tuple(self.passes)


class _Recorder:
    """What the hooks of the rewritten code call."""

    def __init__(self, targets: Sequence[Target]) -> None:
        self.vault = Vault()
        self.targets = targets
        self.calls = [0] * len(targets)
        self.recordings: list[Recording | None] = [None] * len(targets)
        self.active: dict[FrameType, list[_Active]] = {}
        self.functions: dict[int, tuple[FunctionType, Instrumented]] = {}  # by the number of the first statement
        self.table: list[tuple[int, str, str]] = []

    def add(self, plain: FunctionType, first: int) -> int:
        source = function_source(plain)
        made = instrument(source, plain, first, len(self.table))
        self.table.extend(made.expressions)
        self.functions[first] = (plain, made)
        return first + len(source.nodes) + 1

    def entry(self, first: int) -> None:
        frame = sys._getframe(1)
        plain, made = self.functions[first]
        arguments = frame.f_code.co_varnames[: frame.f_code.co_argcount]
        owner = frame.f_locals.get(arguments[0]) if arguments else None
        for index, target in enumerate(self.targets):
            if plain_function(target.function) is not plain or target.owner not in (None, owner):
                continue
            self.calls[index] += 1
            if self.calls[index] == target.call:
                recording = self.recordings[index] = Recording(made.function)
                self.active.setdefault(frame, []).append(_Active(recording, first))
                recording.events.append(Event("entry", -1, (), self.vault.take(_names(frame))))

    def _event(self, kind: str, number: int, frame: FrameType, extra: int = 0) -> None:
        for active in self.active.get(frame, ()):
            statement = number - active.first
            passes = active.trimmed(statement, extra)
            active.recording.events.append(Event(kind, statement, passes, self.vault.take(_names(frame))))

    def after(self, number: int) -> None:
        self._event("after", number, sys._getframe(1))

    def loop(self, number: int) -> None:
        for active in self.active.get(sys._getframe(1), ()):
            active.trimmed(number - active.first)
            active.passes.append(0)

    def enter(self, number: int) -> None:
        self._event("enter", number, sys._getframe(1))

    def enter_pass(self, number: int) -> None:
        frame = sys._getframe(1)
        for active in self.active.get(frame, ()):
            depth = len(active.recording.function.nodes[number - active.first].loops)
            del active.passes[depth + 1 :]
            active.passes[depth] += 1
        self._event("enter", number, frame, extra=1)

    def value(self, number: int, value: object) -> object:
        actives = self.active.get(sys._getframe(1))
        if actives:
            statement, key, callee = self.table[number]
            copied = self.vault.take({"value": value})["value"]
            for active in actives:
                passes = tuple(active.passes)
                active.recording.values.append(Subexpression(statement - active.first, passes, key, callee, copied))
        return value

    def returned(self, number: int, value: object) -> object:
        frame = sys._getframe(1)
        for active in self.active.get(frame, ()):
            state = self.vault.take({**_names(frame), "return": value})
            active.recording.returned = Snapshot({"return": state.pop("return")}, state.origin)
            statement = number - active.first
            active.recording.events.append(Event("after", statement, active.trimmed(statement), state))
        return value

    def ended(self, first: int) -> None:
        """The end of the function was reached without a ``return``."""
        for active in self.active.get(sys._getframe(1), ()):
            if active.first == first:
                active.recording.returned = Snapshot({"return": None}, self.vault.origin)


def _names(frame: FrameType) -> dict[str, Any]:
    return {name: value for name, value in frame.f_locals.items() if name not in frame.f_code.co_freevars}


def record(run: Callable[[], object], targets: Sequence[Target]) -> tuple[list[Recording], object]:
    """Run ``run`` once, without gradients, and record the calls named by ``targets``; also what ``run`` returned.

    Raises:
        NotCalled: the run did not make all of the calls.
        SourceError: a target has no source that can be read.
    """
    recorder = _Recorder(targets)
    first = 0
    functions: list[FunctionType] = []
    for target in targets:
        plain = plain_function(target.function)
        if plain not in functions:
            functions.append(plain)
            first = recorder.add(plain, first)
    codes = [plain.__code__ for plain in functions]
    try:
        for plain, made in recorder.functions.values():
            plain.__globals__[HOOK] = recorder
            plain.__code__ = made.code
        with torch.no_grad():
            result = run()
    finally:
        for plain, code in zip(functions, codes, strict=True):
            plain.__code__ = code
            plain.__globals__.pop(HOOK, None)
    recordings = [recording for recording in recorder.recordings if recording is not None]
    if len(recordings) < len(targets):
        raise NotCalled(recorder.recordings, recorder.calls)
    return recordings, result
