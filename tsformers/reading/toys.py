"""Load a page's toys and record the calls that the page reads, once for every configuration."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
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
    """Run every configuration of a toy and record the calls read.

    Raises:
        ToyError: the toy cannot be made or run, or its first configuration makes none of the calls of a line.
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
        run.cases.append(Case(index, toy, _record(toy, reads, index), sizes, axes))
    return run


def _record(toy: Any, reads: Sequence[Reads], index: int) -> list[Recording | None]:
    wanted = list(range(len(reads)))
    targets = [_target(toy, line, index) for line in reads]
    found: list[Recording | None] = [None] * len(reads)
    wanted = [number for number in wanted if targets[number] is not None]
    while wanted:
        chosen = [target for number in wanted if (target := targets[number]) is not None]
        try:
            recordings, _ = record(lambda: toy.call(*toy.args, **toy.kwargs), chosen)
        except NotCalled as error:
            missing = chosen.index(error.target)
            if index == 0:
                line = reads[wanted[missing]]
                raise ToyError(f"玩具运行时没有第 {line.call} 次调用 {line.spec}，只调用了 {error.calls} 次") from error
            del wanted[missing]
            continue
        for number, recording in zip(wanted, recordings, strict=True):
            found[number] = recording
        break
    return found


def _target(toy: Any, line: Reads, index: int) -> Target | None:
    if not line.path:
        return Target(line.function, toy.call if line.path == "" else None, line.call)
    if not isinstance(toy.call, nn.Module):
        raise ToyError(f"{line.spec}：玩具的 call 不是 nn.Module，没有路径 {line.path}")
    try:
        return Target(line.function, toy.call.get_submodule(line.path), line.call)
    except AttributeError as error:
        if index == 0:
            raise ToyError(f"{line.spec}：模型里没有 {line.path}") from error
        return None
