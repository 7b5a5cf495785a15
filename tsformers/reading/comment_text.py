"""Where the shape comments of a function stand, and what its statements bind and use."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from tsformers.reading.statements import COMPOUND, Function, Node

COMMENT = re.compile(r"#\s*\[([\w*+\-/() ,，]*)\]\s*$")
ANNOTATION = re.compile(r"\w+\[\s*(?:\w+\.)?(?:Tensor|Array)\s*,\s*[\"']([^\"']*)[\"']\s*\]")
ASKED = frozenset({"shape", "device", "dtype", "ndim", "size", "dim", "numel", "stride"})  # of a tensor, not the tensor


@dataclass(frozen=True)
class ShapeComment:
    """A comment and what it speaks of: a statement, else the parameters of its row, else nothing."""

    line: int  # physical line of the comment in the source
    node: Node | None
    parameters: tuple[str, ...]
    slots: tuple[str, ...]
    text: str

    @property
    def first(self) -> int:
        """Line on which the statement begins."""
        return self.node.tree.lineno if self.node is not None else self.line


def shape_comments(function: Function) -> list[ShapeComment]:
    """The shape comments of a function, but those inside functions and classes defined in it."""
    tree = function.tree
    inner = [node.tree for node in function.nodes if isinstance(node.tree, (ast.FunctionDef, ast.ClassDef))]
    found = []
    for line, column, text in _comments(function):
        match = COMMENT.match(text)
        if match is None or any(other.lineno <= line <= (other.end_lineno or 0) for other in inner):
            continue
        alone = not function.lines[line - 1].strip()[: -len(text)].strip() if column else True
        slots = tuple(slot.strip() for slot in re.split(r"[,，]", match[1]) if slot.strip())
        node, parameters = None, _parameters(tree, line, alone)
        if not parameters:
            around = [node for node in function.nodes if node.tree.lineno <= line <= node.header_end]
            after = [node for node in function.nodes if node.tree.lineno > line]
            node = next(iter(around[-1:] or (after if alone else [])), None)
        found.append(ShapeComment(line, node, parameters, slots, text.strip()))
    return found


def _comments(function: Function) -> Iterator[tuple[int, int, str]]:
    """Physical line, column in the dedented text, and text of every comment."""
    for token in tokenize.generate_tokens(io.StringIO(function.source + "\n").readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0] + function.tree.lineno - 1, token.start[1], token.string


def _parameters(tree: ast.FunctionDef, line: int, alone: bool) -> tuple[str, ...]:
    """The parameters that a comment in the signature speaks of."""
    if line >= tree.body[0].lineno:
        return ()
    arguments = [*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs]
    rows = [argument.lineno for argument in arguments if argument.lineno > line]
    row = min(rows, default=0) if alone else line
    return tuple(argument.arg for argument in arguments if argument.lineno == row)


def _targets(tree: ast.stmt) -> list[ast.expr]:
    found: list[ast.expr] = []
    match tree:
        case ast.Assign(targets=targets):
            found = [part for target in targets for part in _parts(target)]
        case ast.AnnAssign(target=target) | ast.AugAssign(target=target) | ast.For(target=target):
            found = _parts(target)
        case ast.With(items=items):
            found = [part for item in items if item.optional_vars is not None for part in _parts(item.optional_vars)]
    return found + [named.target for named in _named(tree)]


def _named(tree: ast.stmt) -> list[ast.NamedExpr]:
    """The ``name := value`` of a statement, of a compound one's test."""
    head = tree.test if isinstance(tree, (ast.If, ast.While)) else None if isinstance(tree, COMPOUND) else tree
    return [node for node in ast.walk(head) if isinstance(node, ast.NamedExpr)] if head is not None else []


def _parts(target: ast.expr) -> list[ast.expr]:
    if isinstance(target, (ast.Tuple, ast.List)):
        return [part for inner in target.elts for part in _parts(inner)]
    return _parts(target.value) if isinstance(target, ast.Starred) else [target]


def bound(node: Node, state: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """What a statement binds, in the order of the text, with the values in the state after it."""
    return [(ast.unparse(target), value_in(target, state)) for target in _targets(node.tree)]


def value_in(tree: ast.expr, state: Mapping[str, Any]) -> Any:
    """The value of a name, of an attribute or a subscript of one; None where there is none."""
    match tree:
        case ast.Name(id=name):
            return state.get(name)
        case ast.Attribute(value=owner, attr=attribute):
            return getattr(value_in(owner, state), attribute, None)
        case ast.Subscript():
            code = compile(ast.Expression(ast.parse(ast.unparse(tree), mode="eval").body), "<comment>", "eval")
            try:
                return eval(code, {"__builtins__": {}}, dict(state))
            except Exception:  # whatever the source's own subscript raises in this state
                return None
    return None


def first_operand(node: Node, state: Mapping[str, Any]) -> tuple[str, torch.Tensor | None]:
    """The first tensor, in the order of the text, that a statement's value is made of; and its text."""
    values = [getattr(node.tree, "iter" if isinstance(node.tree, ast.For) else "value", None)]
    value = next(iter([named.value for named in _named(node.tree)] or values))
    if not isinstance(value, ast.expr):
        return "", None
    if isinstance(value, ast.Call):
        called = value_in(value.func, state)
        if isinstance(called, nn.Module) or isinstance(getattr(called, "__self__", None), nn.Module):
            return "", None
    return _operand(value, state)


def _operand(tree: ast.AST, state: Mapping[str, Any]) -> tuple[str, torch.Tensor | None]:
    if isinstance(tree, (ast.Name, ast.Attribute)):
        value = value_in(tree, state)
        if isinstance(value, torch.Tensor) and value.dim():
            return ast.unparse(tree), value
    if isinstance(tree, (ast.Lambda, ast.comprehension)) or isinstance(tree, ast.Attribute) and tree.attr in ASKED:
        return "", None
    for child in ast.iter_child_nodes(tree):
        text, found = _operand(child, state)
        if found is not None:
            return text, found
    return "", None


def letters_of(function: Function, entry: Mapping[str, Any], returned: Mapping[str, Any] | None) -> dict[str, int]:
    """Letters of the function's jaxtyping annotations, bound by the arguments, else by what is returned."""
    letters: dict[str, int] = {}
    arguments = function.tree.args
    for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]:
        _bind(letters, argument.annotation, entry.get(argument.arg))
    result, value = function.tree.returns, (returned or {}).get("return")
    if isinstance(result, ast.Subscript) and isinstance(result.slice, ast.Tuple) and isinstance(value, tuple):
        for annotation, part in zip(result.slice.elts, value, strict=False):
            _bind(letters, annotation, part)
    else:
        _bind(letters, result, value)
    return letters


def _bind(letters: dict[str, int], annotation: ast.expr | None, value: Any) -> None:
    text = ast.unparse(annotation) if annotation is not None else ""
    match = ANNOTATION.search(text)
    if match is None or not isinstance(value, torch.Tensor):
        return
    names = match[1].split()
    if len(names) == value.dim():
        for name, size in zip(names, value.shape, strict=True):
            if name.isidentifier() and name != "_":
                letters.setdefault(name, size)
