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


def evaluate(code: str, scope: Scope) -> Any:
    """The value of an expression, without gradients and with the random state put back.

    Raises:
        Unresolved: a name in it means nothing here.
        EvaluationError: it raises, is ambiguous, or changes the state.
    """
    tree = _parse(code)
    if tree is None:
        raise EvaluationError("这不是一个 Python 表达式")
    replaced = _Recorded(scope.recorded, _bound_inside(tree))
    seen: Any = replaced.visit(tree)
    values = replaced.values
    if not calls(seen):
        return _run(seen, lambda name: values[name] if name in values else scope.look_up(name))
    return _run_on_copy(seen, lambda name: values[name] if name in values else scope.look_up(name), scope)


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
        if any(not _equal(first, other.value) for other in found[1:]):
            raise EvaluationError(
                f"{text} 在上一段引文里算了 {len(found)} 次，结果不同：要说哪一次，请引得更短或写 pass="
            )
        name = f"__recorded_{len(self.values)}__"
        self.values[name] = first
        return ast.Name(name, ast.Load())


def _bound_inside(tree: ast.expr) -> frozenset[str]:
    """Names that a comprehension or lambda inside the expression binds."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
    return frozenset(found)


def _elliptic(node: ast.Call) -> bool:
    return (
        len(node.args) == 1
        and not node.keywords
        and isinstance(node.args[0], ast.Constant)
        and node.args[0].value is Ellipsis
    )


def _equal(left: Any, right: Any) -> bool:
    if isinstance(left, torch.Tensor) and isinstance(right, torch.Tensor):
        return left.shape == right.shape and left.dtype == right.dtype and torch.equal(left, right)
    if isinstance(left, (tuple, list)) and type(left) is type(right) and len(left) == len(right):
        return all(_equal(a, b) for a, b in zip(left, right, strict=True))
    return type(left) is type(right) and bool(left == right)


def _run(tree: ast.expr, look_up: Callable[[str], Any]) -> Any:
    names = {name: look_up(name) for name in sorted(_free(tree))}
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


def _free(tree: ast.expr) -> set[str]:
    """Names that the expression looks up; one that a comprehension or lambda in it binds is its own everywhere."""
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} - _bound_inside(tree)


def copied(value: Any, memo: dict[int, Any]) -> Any:
    """A deep copy; of a tensor inside a graph one outside it; of what cannot be copied (a lock) the object itself."""
    try:
        return copy.deepcopy(value, memo)
    except Exception:  # a page's own class may raise anything from its __deepcopy__
        if isinstance(value, torch.Tensor):
            return value.detach().clone().requires_grad_(value.requires_grad)
        return value


def _run_on_copy(tree: ast.expr, look_up: Callable[[str], Any], scope: Scope) -> Any:
    originals = {name: look_up(name) for name in sorted(_free(tree))}
    memo: dict[int, Any] = {}
    copies: dict[str, Any] = {}
    for name, value in originals.items():
        copies[name] = copied(value, memo)
        if copies[name] is value and isinstance(value, Iterator):
            raise EvaluationError(f"{name} 是迭代器，不能复制，取值会改变它；声明只能读，不能写")
    result = _run(tree, copies.__getitem__)
    changed = [name for name in originals if not unchanged(originals[name], copies[name])]
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


def _attributes(module: torch.nn.Module) -> dict[str, Any]:
    """What a module holds beside parameters, buffers and modules."""
    return {name: value for name, value in vars(module).items() if not name.startswith("_")}


def unchanged(left: Any, right: Any) -> bool:
    """Whether two copies of a thing hold the same: tensors, modules by their state, containers."""
    try:
        return _unchanged(left, right)
    except RecursionError:
        return True  # a list that holds itself, through which an expression only passed


def _unchanged(left: Any, right: Any) -> bool:
    if left is right:
        return True
    if isinstance(left, torch.Tensor):
        alike = left.shape == right.shape and left.requires_grad == right.requires_grad
        return alike and vars(left).keys() == vars(right).keys() and _same_elements(left.detach(), right.detach())
    if isinstance(left, torch.nn.Module):
        ours, theirs = dict(left.state_dict(keep_vars=True)), dict(right.state_dict(keep_vars=True))
        if ours.keys() != theirs.keys() or not all(_unchanged(ours[name], theirs[name]) for name in ours):
            return False
        if _hooks(left) != _hooks(right):
            return False
        pairs = zip(left.modules(), right.modules(), strict=True)
        return all(_unchanged(_attributes(one), _attributes(other)) for one, other in pairs)
    if isinstance(left, (int, float, str, set)):
        return bool(left == right or left != left)
    if isinstance(left, (tuple, list)):
        return len(left) == len(right) and all(_unchanged(a, b) for a, b in zip(left, right, strict=True))
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(_unchanged(left[name], right[name]) for name in left)
    return True


def _same_elements(left: torch.Tensor, right: torch.Tensor) -> bool:
    if left.layout is not torch.strided or left.is_nested or left.is_quantized:
        return True  # of these no element can be claimed
    return bool(((left == right) | ((left != left) & (right != right))).all())


def _hooks(module: torch.nn.Module) -> list[int]:
    """How many hooks stand on each module, kind by kind."""
    kinds = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
    return [len(getattr(inner, kind)) for inner in module.modules() for kind in kinds]
