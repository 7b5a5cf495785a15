"""Load a page's toys and record the calls that the page reads, once for every configuration."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any

from torch import nn

from tsformers.reading.claims import evaluate_axis
from tsformers.reading.statements import Function, SourceError, function_source, plain_function
from tsformers.reading.trace import NotCalled, Recording, Target, record

SPEC = re.compile(r"^(?P<function>[\w.]+)(?:\s*@\s*(?P<path>[\w.]*))?(?:\s*#\s*(?P<call>[1-9]\d*))?$")


class ToyError(ValueError):
    """A toy or a line of ``reads:`` that cannot be used; the message is for the author of the page.

    ``part`` is what is wrong in the author's own text, ``near`` what is there instead; "" where that is not known.
    """

    def __init__(self, message: str, part: str = "", near: str = "") -> None:
        super().__init__(message)
        self.part, self.near = part, near


def _absent(where: str, part: str, known: Iterable[str]) -> ToyError:
    """Something that is not there, and what is there under nearly that name."""
    near = next(iter(get_close_matches(part, list(known), n=1)), "")
    return ToyError(f"{where} {part}" + (f"，是不是 {near}？" if near else ""), part, near)


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
    missing: dict[int, ToyError] = field(default_factory=dict)  # lines of ``reads:`` that it does not call, and why
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
        for index, part in enumerate(parts[size:], size):
            if not hasattr(found, part):
                inside = [module.name for module in pkgutil.iter_modules(getattr(found, "__path__", ()))]
                raise _absent(f"{'.'.join(parts[:index])} 里没有", part, [*dir(found), *inside])
            found = getattr(found, part)
        return found
    raise _absent("没有模块", parts[0], {module.name for module in pkgutil.iter_modules()})


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


def _record(toy: Any, reads: Sequence[Reads]) -> tuple[list[Recording | None], dict[int, ToyError]]:
    """The recorded call of each line; why there is none, by the line's number."""
    found: list[Recording | None] = [None] * len(reads)
    missing: dict[int, ToyError] = {}
    targets: dict[int, Target] = {}
    for number, line in enumerate(reads):
        try:
            targets[number] = _target(toy, line)
        except ToyError as error:
            missing[number] = error
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
            missing[number] = ToyError(f"玩具运行时没有第 {line.call} 次调用 {line.spec}，只调用了 {count} 次")
    return found, missing


def _target(toy: Any, line: Reads) -> Target:
    if not line.path:
        return Target(line.function, toy.call if line.path == "" else None, line.call)
    if not isinstance(toy.call, nn.Module):
        raise ToyError(f"{line.spec}：玩具的 call 不是 nn.Module，没有路径 {line.path}", line.path)
    try:
        return Target(line.function, toy.call.get_submodule(line.path), line.call)
    except AttributeError as error:
        known = [name for name, _ in toy.call.named_modules() if name]
        raise _absent(f"{line.spec}：模型里没有", line.path, known) from error
