"""The source of a function as the engine sees it: its syntax tree with physical lines, its statements numbered."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import FunctionType

BLOCKS = ("body", "orelse", "finalbody")
LOOPS = (ast.For, ast.While)
COMPOUND = (ast.If, ast.For, ast.While, ast.With, ast.Try, ast.Match)


class SourceError(ValueError):
    """A function that cannot be read: no source, or a kind of function that the recorder refuses."""


@dataclass(frozen=True, eq=False)
class Node:
    """One statement of a function. ``block`` is the list it stands in, ``loops`` the numbers of the loops around it."""

    number: int
    tree: ast.stmt
    block: tuple[int, str]  # (number of the statement that owns the block, or -1; name of the block)
    index: int  # within its block
    loops: tuple[int, ...]

    @property
    def compound(self) -> bool:
        return isinstance(self.tree, COMPOUND)

    @property
    def header_end(self) -> int:
        """Last physical line of a simple statement, or of a compound statement's header."""
        if not self.compound:
            return self.tree.end_lineno or self.tree.lineno
        return max(self.tree.lineno, min(statement.lineno for statement in _inside(self.tree)) - 1)


def _inside(tree: ast.stmt) -> Iterator[ast.stmt]:
    for name in BLOCKS:
        yield from getattr(tree, name, [])
    for branch in [*getattr(tree, "handlers", []), *getattr(tree, "cases", [])]:
        yield from branch.body


@dataclass(frozen=True, eq=False)
class Function:
    """A function's source; ``nodes`` are its statements in the order of the text."""

    name: str  # dotted
    file: Path
    tree: ast.FunctionDef
    owner: str  # name of the class it stands in, "" for a plain function
    text: str  # of the whole file
    nodes: tuple[Node, ...]

    @property
    def lines(self) -> list[str]:
        """The lines of the whole file."""
        return self.text.splitlines()

    @property
    def source(self) -> str:
        """The whole function, dedented."""
        return textwrap.dedent("\n".join(self.lines[self.tree.lineno - 1 : self.tree.end_lineno]))

    def block(self, block: tuple[int, str]) -> list[Node]:
        return [node for node in self.nodes if node.block == block]

    def below(self, node: Node) -> list[Node]:
        """The statement and every statement inside it."""
        inside = {node.number}
        found = [node]
        for other in self.nodes[node.number + 1 :]:
            if other.block[0] in inside:
                inside.add(other.number)
                found.append(other)
        return found

    def excerpt(self, node: Node) -> str:
        """The statement's text, or its header's."""
        return textwrap.dedent("\n".join(self.lines[node.tree.lineno - 1 : node.header_end]))


@cache
def parsed(file: Path) -> tuple[str, ast.Module]:
    """A source file's text and tree."""
    text = file.read_text(encoding="utf-8")
    return text, ast.parse(text)


@cache
def classes_in(file: Path) -> dict[str, ast.ClassDef]:
    """The classes defined in a source file, by name."""
    return {node.name: node for node in ast.walk(parsed(file)[1]) if isinstance(node, ast.ClassDef)}


def without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    first = body[0] if body else None
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        return body[1:]
    return body


def number_statements(tree: ast.FunctionDef) -> tuple[Node, ...]:
    """Every statement but the docstring and what stands inside nested functions and classes, in order of the text."""
    nodes: list[Node] = []

    def walk(body: list[ast.stmt], block: tuple[int, str], loops: tuple[int, ...]) -> None:
        for index, statement in enumerate(body):
            node = Node(len(nodes), statement, block, index, loops)
            nodes.append(node)
            if not isinstance(statement, COMPOUND):
                continue
            repeated = (*loops, node.number) if isinstance(statement, LOOPS) else loops
            walk(getattr(statement, "body", []), (node.number, "body"), repeated)
            for name in ("handlers", "cases"):
                for position, branch in enumerate(getattr(statement, name, [])):
                    walk(branch.body, (node.number, f"{name}.{position}"), loops)
            for name in ("orelse", "finalbody"):
                walk(getattr(statement, name, []), (node.number, name), loops)

    walk(without_docstring(tree.body), (-1, "body"), ())
    return tuple(nodes)


def plain_function(function: Callable[..., object]) -> FunctionType:
    """The Python function under decorators and bound methods.

    Raises:
        SourceError: it is not a Python function.
    """
    plain = inspect.unwrap(function)
    plain = getattr(plain, "__func__", plain)
    if not isinstance(plain, FunctionType):
        raise SourceError(f"{getattr(function, '__qualname__', function)} 不是用 Python 写的函数，没有可读的源码")
    return plain


def function_source(function: Callable[..., object]) -> Function:
    """Read a function's source.

    Raises:
        SourceError: it is not a Python function, its source is not there, or it is a generator or asynchronous.
    """
    plain = plain_function(function)
    name = f"{plain.__module__}.{plain.__qualname__}"
    if inspect.isgeneratorfunction(plain) or inspect.iscoroutinefunction(plain) or inspect.isasyncgenfunction(plain):
        raise SourceError(f"{name} 是生成器或异步函数，精读页不支持")
    file = Path(plain.__code__.co_filename)
    if not file.is_file():
        raise SourceError(f"{name} 的源文件 {file.name} 不存在")
    text, module = parsed(file)
    for tree, owner in functions_in(module):
        first = min([tree.lineno, *(decorator.lineno for decorator in tree.decorator_list)])
        if tree.name == plain.__name__ and plain.__code__.co_firstlineno == first:
            return Function(name, file, tree, owner, text, number_statements(tree))
    raise SourceError(f"在 {file.name} 里找不到 {name} 的定义")


def functions_in(tree: ast.AST, owner: str = "") -> Iterator[tuple[ast.FunctionDef, str]]:
    """Every function defined below ``tree``, with the name of the class it stands in."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.FunctionDef):
            yield child, owner
            yield from functions_in(child)
        elif isinstance(child, ast.ClassDef):
            yield from functions_in(child, child.name)
        else:
            yield from functions_in(child, owner)
