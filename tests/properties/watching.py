"""Every shape that the package's source states, next to the shape that a run had there.

Two kinds of statements: shape comments (``# [B, L, d_model]``) beside what is bound or returned, and the jaxtyping
annotations of parameters.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from torch import Tensor

import tsformers

READ = tuple(str(Path(tsformers.__file__).parent / room) for room in ("layers", "models"))
COMMENT = re.compile(r"#\s*\[([^\]]*)\]\s*$")
SIMPLE = (ast.Assign, ast.AnnAssign, ast.Return)


@dataclass(frozen=True)
class Stated:
    """What the source says: the statement on lines ``first`` to ``last`` makes a tensor with these axes."""

    first: int
    last: int
    bound: str | None  # None: returned
    axes: tuple[str, ...]


@dataclass(frozen=True)
class Seen:
    """What the source says of a tensor and what a run gave; ``known`` are the sizes that the function's names stand for.

    A ``comment`` says all axes of a tensor, a parameter's annotation is seen one axis at a time. ``first_used`` are the
    sizes of axes that stand in the annotation of the result alone, as they were when a comment named them first.
    """

    where: str
    comment: bool
    axes: tuple[str, ...]
    shape: tuple[int, ...]
    known: dict[str, int]
    first_used: dict[str, int]

    def holds(self, toy_axes: dict[str, int]) -> bool:
        """Whether the shape is as stated; a name that nobody knows holds never."""
        names = {**self.first_used, **toy_axes, **self.known}
        try:
            return self.shape == tuple(size_of(axis, names) for axis in self.axes)
        except NameError:
            return False


def size_of(axis: str, names: dict[str, int]) -> int:
    return names[axis] if axis in names else eval(compiled(axis), {"__builtins__": {}}, names)


@cache
def compiled(axis: str) -> CodeType:
    return compile(axis, axis, "eval")


@cache
def source(path: str) -> tuple[list[str], ast.Module]:
    text = Path(path).read_text(encoding="utf-8")
    return text.splitlines(), ast.parse(text)


def definition(code: CodeType) -> ast.FunctionDef | None:
    """The function whose body ``code`` is; None for a lambda, a comprehension or a class body."""
    _, tree = source(code.co_filename)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            if first == code.co_firstlineno:
                return node
    return None


def comments(code: CodeType) -> tuple[Stated, ...]:
    """The shape comments in the function: beside a statement, or on the line before it."""
    function = definition(code)
    if function is None:
        return ()
    lines, _ = source(code.co_filename)
    found = []
    for node in ast.walk(function):
        if not isinstance(node, SIMPLE):
            continue
        last = node.end_lineno or node.lineno
        above = lines[node.lineno - 2]
        candidates = [*lines[node.lineno - 1 : last], *([above] if above.lstrip().startswith("#") else [])]
        for match in filter(None, map(COMMENT.search, candidates)):
            found.append(Stated(node.lineno, last, _bound(node), tuple(axis.strip() for axis in match[1].split(","))))
    return tuple(found)


def _bound(node: ast.stmt) -> str | None:
    if isinstance(node, ast.Return):
        return None
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]  # type: ignore[attr-defined]
    return next(n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name))


def annotations(code: CodeType) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Parameters of the function with the axes that their annotations name, each alternative for itself."""
    function = definition(code)
    if function is None:
        return ()
    arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    return tuple((argument.arg, axes) for argument in arguments for axes in _annotated(argument.annotation))


def _annotated(annotation: ast.expr | None) -> list[tuple[str, ...]]:
    return [
        tuple(node.slice.elts[1].value.split())
        for node in ast.walk(annotation or ast.Constant(None))
        if isinstance(node, ast.Subscript)
        and isinstance(node.slice, ast.Tuple)
        and isinstance(node.slice.elts[1], ast.Constant)
    ]


def result_axes(code: CodeType) -> frozenset[str]:
    """The names of axes in the annotation of what the function returns."""
    function = definition(code)
    axes = _annotated(function.returns) if function is not None else []
    return frozenset(name for one in axes for name in one if name.isidentifier())


def letters(
    parameters: tuple[tuple[str, tuple[str, ...]], ...], arguments: dict[str, Any]
) -> tuple[dict[str, int], list[tuple[str, str, int]]]:
    """What the names of the annotations stand for in this call, and each (parameter, name, size) one by one."""
    bound: dict[str, int] = {}
    said = []
    for parameter, axes in parameters:
        tensor = arguments.get(parameter)
        if isinstance(tensor, Tensor) and len(axes) == tensor.dim():
            for axis, size in zip(axes, tensor.shape, strict=True):
                if axis.isidentifier() and not axis.startswith("_"):
                    bound.setdefault(axis, size)
                    said.append((parameter, axis, size))
    return bound, said


def first_tensor(value: Any) -> Tensor | None:
    parts = value if isinstance(value, tuple) else (value,)
    return next((part for part in parts if isinstance(part, Tensor)), None)


@dataclass(frozen=True)
class Watched:
    """What is known of a function before it runs; ``at`` maps a line to the statements with a comment that hold it."""

    place: str
    parameters: tuple[tuple[str, tuple[str, ...]], ...]
    result: frozenset[str]
    at: dict[int, tuple[Stated, ...]]


def watched(code: CodeType) -> Watched | None:
    if not code.co_filename.startswith(READ) or definition(code) is None:
        return None
    stated = comments(code)
    lines = {line for one in stated for line in range(one.first, one.last + 1)}
    at = {line: tuple(one for one in stated if one.first <= line <= one.last) for line in lines}
    return Watched(f"{Path(code.co_filename).name}:{code.co_qualname}", annotations(code), result_axes(code), at)


# By identity: to hash a code object is to hash all that it holds, and this is asked on every call that Python makes.
_WATCHED: dict[int, tuple[CodeType, Watched | None]] = {}


def watch(run: Callable[[], object]) -> list[Seen]:
    """What the source states on the way of ``run``, statement by statement and parameter by parameter."""
    seen: list[Seen] = []

    def on_call(frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        if id(code) not in _WATCHED:
            _WATCHED[id(code)] = (code, watched(code))
        function = _WATCHED[id(code)][1]
        if function is None:
            return None
        bound, said = letters(function.parameters, frame.f_locals)
        seen.extend(Seen(f"{function.place}({name})", False, (axis,), (size,), {}, {}) for name, axis, size in said)
        first_used: dict[str, int] = {}
        running: tuple[Stated, ...] = ()  # the statements with a comment that the last line belongs to

        def on_line(frame: FrameType, event: str, argument: Any) -> Any:
            nonlocal running
            if event not in ("line", "return"):
                return on_line
            now = function.at.get(frame.f_lineno, ()) if event == "line" else ()
            for stated in running:
                if stated in now or (stated.bound is None and event != "return"):
                    continue
                tensor = first_tensor(argument if stated.bound is None else frame.f_locals.get(stated.bound))
                known = {name: value for name, value in frame.f_locals.items() if type(value) is int}
                shape = () if tensor is None else tuple(tensor.shape)
                for axis, size in zip(stated.axes, shape, strict=False):
                    if axis in function.result:
                        first_used.setdefault(axis, size)
                where = f"{function.place}:{stated.first}"
                seen.append(Seen(where, True, stated.axes, shape, {**bound, **known}, dict(first_used)))
            running = now
            return on_line

        return on_line

    before = sys.gettrace()
    sys.settrace(on_call)
    try:
        run()
    finally:
        sys.settrace(before)
    return seen
