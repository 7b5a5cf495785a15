"""Evaluate an expression in the state of a page: names mean the state, what was recorded is not run again."""

from __future__ import annotations

import ast
import builtins
import copy
import difflib
import importlib
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import torch

from tsformers.reading.alike import alike
from tsformers.reading.form import bound_inside, free_names
from tsformers.reading.instrument import key, rooted_in_name
from tsformers.reading.snapshot import Snapshot
from tsformers.reading.trace import Subexpression
from tsformers.reading.watch import look

RETURN = "__return__"


class EvaluationError(ValueError):
    """An expression that has no value here; the message is for the author of the page."""


class Unresolved(EvaluationError):
    """A name that stands for nothing here."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        self.name = name
        near = difflib.get_close_matches(name, known, n=1)
        self.suggestion = near[0] if near else ""
        hint = f"，是不是 {self.suggestion}" if near else ""
        shown = "return" if name == RETURN else name
        super().__init__(f"名字 {shown} 在这里不存在{hint}")


@dataclass
class Scope:
    """Where expressions look names up: the frame, the page's own names, the subject's module, the configuration."""

    frame: Mapping[str, Any] = field(default_factory=dict)
    page: Mapping[str, Any] = field(default_factory=dict)
    module: Mapping[str, Any] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)
    axes: Mapping[str, int] = field(default_factory=dict)
    returned: Mapping[str, Any] = field(default_factory=dict)  # {"return": …} where the subject returned
    recorded: Sequence[Subexpression] = ()  # of the piece quoted last
    package: str = ""  # top package of the subject, whose public names are known

    def names(self) -> list[str]:
        found = [*self.frame, *self.page, *self.module, *self.sizes, *self.axes]
        return [name for name in found if not name.startswith("__")]

    def look_up(self, name: str) -> Any:
        """What a name means here.

        Raises:
            Unresolved: nothing.
        """
        if name == RETURN:
            if "return" in self.returned:
                return self.returned["return"]
            raise Unresolved(name, ())
        if name == "sizes" and "sizes" not in self.frame:
            return SimpleNamespace(**{**self.axes, **self.sizes})
        for place in (self.frame, self.page, self.module, self.sizes, self.axes):
            if name in place:
                return place[name]
        if hasattr(builtins, name):
            return getattr(builtins, name)
        if name == "torch":
            return torch
        raise Unresolved(name, self.names())

    def knows(self, name: str) -> bool:
        """Whether a name means more here than it does to any Python program."""
        known = (self.frame, self.page, self.module, self.sizes, self.axes)
        return name in (RETURN, "sizes", "torch") or any(name in place for place in known)

    def resolves(self, dotted: str) -> bool:
        """Whether a dotted name, perhaps with subscripts, stands for something: here, in torch, or in the package."""
        tree = _parse(dotted.replace("return", RETURN, 1) if dotted.split("[")[0].split(".")[0] == "return" else dotted)
        if isinstance(tree, ast.Constant):
            return dotted in ("None", "True", "False")
        if tree is None or not rooted_in_name(tree):
            return False
        places: list[Callable[[str], Any]] = [self.look_up, lambda name: getattr(torch, name)]
        places.append(lambda name: getattr(torch.nn, name))
        if self.package:
            package = importlib.import_module(self.package)
            places.append(lambda name: package if name == self.package else getattr(package, name))
        for look_up in places:
            try:
                _run(tree, look_up)
            except (EvaluationError, AttributeError, ImportError):
                continue
            return True
        return False


def evaluate(code: str, scope: Scope, copies: dict[int, Any] | None = None) -> Any:
    """The value of an expression, without gradients and with the random state put back.

    An expression that calls something sees copies. ``copies`` remembers them: the sides of a comparison share it, so
    that what is one thing in the state is one thing in both.

    Raises:
        Unresolved: a name in it means nothing here.
        EvaluationError: it raises, is ambiguous, or changes the state.
    """
    tree = _parse(code)
    if tree is None:
        raise EvaluationError("这不是一个 Python 表达式")
    replaced = _Recorded(scope.recorded, bound_inside(tree))
    seen: Any = replaced.visit(tree)
    values = replaced.values
    if not calls(seen):
        return _run(seen, lambda name: values[name] if name in values else scope.look_up(name))
    memo = {} if copies is None else copies
    return _run_on_copy(seen, lambda name: values[name] if name in values else scope.look_up(name), scope, memo)


def calls(tree: ast.expr) -> bool:
    """Whether an expression calls or binds anything: only then it can change something."""
    return any(isinstance(node, (ast.Call, ast.NamedExpr)) for node in ast.walk(tree))


def _parse(code: str) -> ast.expr | None:
    try:
        return ast.parse(code.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        return None


class _Recorded(ast.NodeTransformer):
    """Puts a recorded value in the place of each sub-expression of the last piece, the outermost first."""

    def __init__(self, recorded: Sequence[Subexpression], bound: frozenset[str]) -> None:
        self.recorded = recorded
        self.bound = bound  # names that are the expression's own: what holds them is not the source's
        self.values: dict[str, Any] = {}

    def visit(self, node: ast.AST) -> ast.AST:
        own = any(isinstance(inner, ast.Name) and inner.id in self.bound for inner in ast.walk(node))
        if isinstance(node, ast.expr) and not rooted_in_name(node) and not own:
            if isinstance(node, ast.Call) and _elliptic(node):
                wanted = key(node.func)
                found = [item for item in self.recorded if item.callee == wanted]
                if not found:
                    raise EvaluationError(f"上一段引文里没有调用 {ast.unparse(node.func)}(…)")
            else:
                found = [item for item in self.recorded if item.key == key(node)]
            if found and not isinstance(node, ast.Constant):
                return self._value(found, ast.unparse(node).replace("...", "…"))
        return super().generic_visit(node)

    def _value(self, found: Sequence[Subexpression], text: str) -> ast.expr:
        first = found[0].value
        if any(not alike(first, other.value) for other in found[1:]):
            raise EvaluationError(
                f"{text} 在上一段引文里算了 {len(found)} 次，结果不同：要说哪一次，请引得更短或写 pass="
            )
        name = f"__recorded_{len(self.values)}__"
        self.values[name] = first
        return ast.Name(name, ast.Load())


def _elliptic(node: ast.Call) -> bool:
    return (
        len(node.args) == 1
        and not node.keywords
        and isinstance(node.args[0], ast.Constant)
        and node.args[0].value is Ellipsis
    )


def _run(tree: ast.expr, look_up: Callable[[str], Any]) -> Any:
    names = {name: look_up(name) for name in sorted(free_names(tree))}
    code = compile(ast.fix_missing_locations(ast.Expression(tree)), "<claim>", "eval")
    kept = random.getstate()
    try:
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            try:
                return eval(code, {"__builtins__": builtins, **names})  # the author's own expression
            finally:
                if calls(tree):
                    look(core=True)
    except EvaluationError:
        raise
    except Exception as error:
        raise EvaluationError(f"求值时出错：{told(error)}") from error
    finally:
        random.setstate(kept)


def told(error: BaseException) -> str:
    """An exception's type and message; its own ``__str__`` may fail."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception as second:
        return f"{type(error).__name__}: (str raised {type(second).__name__})"


def copied(value: Any, memo: dict[int, Any]) -> Any:
    """A deep copy; of a tensor inside a graph one outside it; of what cannot be copied (a lock) the object itself."""
    try:
        return copy.deepcopy(value, memo)
    except Exception:  # a page's own class may raise anything from its __deepcopy__
        if isinstance(value, torch.Tensor):
            return value.detach().clone().requires_grad_(value.requires_grad)
        return value


def _run_on_copy(tree: ast.expr, look_up: Callable[[str], Any], scope: Scope, memo: dict[int, Any]) -> Any:
    originals = {name: look_up(name) for name in sorted(free_names(tree))}
    copies: dict[str, Any] = {}
    for name, value in originals.items():
        copies[name] = copied(value, memo)
        if copies[name] is value and isinstance(value, Iterator):
            raise EvaluationError(f"{name} 是迭代器，不能复制，取值会改变它；声明只能读，不能写")
    result = _run(tree, copies.__getitem__)
    changed = [name for name in originals if not alike(originals[name], copies[name])]
    if changed:
        raise EvaluationError(f"这个表达式改变了状态：{', '.join(changed)}；声明只能读，不能写")
    if isinstance(scope.frame, Snapshot):
        for old, new in _pairs(originals, copies):
            scope.frame.origin.setdefault(id(new), scope.frame.origin.get(id(old), id(old)))
            _KEPT.append(new)
    return result


_KEPT: list[object] = []  # copies whose identity was noted stay alive as long as the process, which reads one page


def _pairs(originals: dict[str, Any], copies: dict[str, Any]) -> list[tuple[object, object]]:
    return [(originals[name], copies[name]) for name in originals if isinstance(originals[name], torch.Tensor)]
