"""Load a page's toys and record the calls that the page reads, once for every configuration."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from torch import nn

from tsformers.reading.claims import evaluate_axis
from tsformers.reading.statements import Function, SourceError, function_source, plain_function
from tsformers.reading.trace import NotCalled, Recording, Target, record

SPEC = re.compile(r"^(?P<function>[\w.]+)(?:\s*@\s*(?P<path>[\w.]*))?(?:\s*#\s*(?P<call>[1-9]\d*))?$")


class ToyError(ValueError):
    """A toy or a line of ``reads:`` that cannot be used; the message is for the author of the page."""


@dataclass(frozen=True)
class Reads:
    """One line of ``reads:``: which function, on which module of the toy, in which of its calls."""

    spec: str
    function: Callable[..., object]
    path: str | None
    call: int
    source: Function

    @property
    def globals(self) -> Mapping[str, Any]:
        return plain_function(self.function).__globals__


@dataclass
class Case:
    """One configuration of a toy, run and recorded; a call that it does not make is None."""

    index: int
    toy: Any
    recordings: list[Recording | None]
    sizes: dict[str, int]
    axes: dict[str, int]


@dataclass
class ToyRun:
    name: str
    spec: str
    formulas: dict[str, str]
    cases: list[Case] = field(default_factory=list)
    conditions: tuple[tuple[str, str], ...] = ()
    missing: dict[int, str] = field(default_factory=dict)  # lines of ``reads:`` that it does not call, and why
    known: dict[object, Any] = field(default_factory=dict)  # what was found out of it, by what was asked

    def calls(self, number: int) -> bool:
        """Whether the toy itself, its first configuration, makes the call of a line of ``reads:``."""
        return self.cases[0].recordings[number] is not None

    def of(self, numbers: Sequence[int]) -> ToyRun:
        """The same run with these of its recordings alone, numbered anew."""
        cases = [replace(case, recordings=[case.recordings[number] for number in numbers]) for case in self.cases]
        missing = {new: self.missing[old] for new, old in enumerate(numbers) if old in self.missing}
        return replace(self, cases=cases, missing=missing)


def resolve(dotted: str) -> Any:
    """The object behind ``package.module.Class.function``.

    Raises:
        ToyError: there is no such module or attribute.
    """
    parts = dotted.split(".")
    for size in range(len(parts), 0, -1):
        name = ".".join(parts[:size])
        try:
            found: Any = importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name is not None and (name == error.name or name.startswith(error.name + ".")):
                continue
            raise ToyError(f"导入 {name} 失败：{error}") from error
        except Exception as error:  # whatever the author's module does when it is imported
            raise ToyError(f"导入 {name} 失败：{type(error).__name__}: {error}") from error
        for part in parts[size:]:
            if not hasattr(found, part):
                raise ToyError(f"{name} 里没有 {'.'.join(parts[size:])}")
            found = getattr(found, part)
        return found
    raise ToyError(f"没有名为 {parts[0]} 的模块")


def parse_reads(spec: str) -> Reads:
    """Read one line of ``reads:``.

    Raises:
        ToyError: it has not the form, or names no Python function with source.
    """
    match = SPEC.match(spec.strip())
    if match is None:
        raise ToyError(f"reads 的写法是 包.模块.函数 @ 模型里的路径 #第几次，而不是 {spec!r}")
    function = resolve(match["function"])
    if inspect.isclass(function) or not callable(function):
        raise ToyError(f"{match['function']} 不是函数；要读一层的前向，请写 {match['function']}.forward")
    try:
        source = function_source(function)
    except SourceError as error:
        raise ToyError(str(error)) from error
    return Reads(spec, function, match["path"], int(match["call"] or 1), source)


def load_toy(spec: str) -> Callable[..., Any]:
    """The function behind ``package.module:function``.

    Raises:
        ToyError: it has not the form or is not there.
    """
    module, colon, name = spec.partition(":")
    if not colon or not module or not name:
        raise ToyError(f"toy 的写法是 包.模块:函数，而不是 {spec!r}")
    function = resolve(f"{module}.{name}")
    if not callable(function):
        raise ToyError(f"{spec} 不能调用")
    return function


def run_toy(name: str, spec: str, reads: Sequence[Reads]) -> ToyRun:
    """Run every configuration of a toy and record the calls read; what it does not call is in its ``missing``.

    Raises:
        ToyError: the toy cannot be made or run.
    """
    function = load_toy(spec)
    count = int(getattr(function, "cases", 1))
    takes_case = bool(inspect.signature(function).parameters)
    run = ToyRun(name, spec, {})
    for index in range(count):
        toy = function(index) if takes_case else function()
        sizes = {key: value for key, value in dict(toy.sizes).items() if isinstance(value, int)}
        formulas = dict(getattr(toy, "axes", {}))
        run.formulas = run.formulas or formulas
        run.conditions = run.conditions or tuple((str(f), str(said)) for f, said in getattr(toy, "conditions", ()))
        axes = {axis: evaluate_axis(formula, sizes, {}) for axis, formula in formulas.items()}
        recordings, missing = _record(toy, reads)
        run.cases.append(Case(index, toy, recordings, sizes, axes))
        run.missing = run.missing or (missing if index == 0 else {})
    return run


def _record(toy: Any, reads: Sequence[Reads]) -> tuple[list[Recording | None], dict[int, str]]:
    """The recorded call of each line; why there is none, by the line's number."""
    found: list[Recording | None] = [None] * len(reads)
    missing: dict[int, str] = {}
    targets: dict[int, Target] = {}
    for number, line in enumerate(reads):
        try:
            targets[number] = _target(toy, line)
        except ToyError as error:
            missing[number] = str(error)
    if not targets:
        return found, missing
    calls = [0] * len(targets)
    made: Sequence[Recording | None]
    try:
        made, _ = record(lambda: toy.call(*toy.args, **toy.kwargs), list(targets.values()))
    except NotCalled as error:
        made, calls = error.recordings, error.calls
    for number, recording, count in zip(targets, made, calls, strict=True):
        found[number], line = recording, reads[number]
        if recording is None:
            missing[number] = f"玩具运行时没有第 {line.call} 次调用 {line.spec}，只调用了 {count} 次"
    return found, missing


def _target(toy: Any, line: Reads) -> Target:
    if not line.path:
        return Target(line.function, toy.call if line.path == "" else None, line.call)
    if not isinstance(toy.call, nn.Module):
        raise ToyError(f"{line.spec}：玩具的 call 不是 nn.Module，没有路径 {line.path}")
    try:
        return Target(line.function, toy.call.get_submodule(line.path), line.call)
    except AttributeError as error:
        raise ToyError(f"{line.spec}：模型里没有 {line.path}") from error
