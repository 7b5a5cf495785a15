"""A function's code rewritten so that every statement and sub-expression reports to a recorder."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import CodeType, FunctionType
from typing import Any, cast

from tsformers.reading.statements import BLOCKS, LOOPS, Function, Node, SourceError, without_docstring

HOOK = "__tsformers_record__"
RECORDED = (
    ast.Call, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Attribute, ast.Subscript, ast.Tuple,
    ast.List, ast.Dict, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.NamedExpr,
)  # fmt: skip
CLOSED = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.JoinedStr)


def rooted_in_name(tree: ast.expr) -> bool:
    """A name, or an attribute or subscript of one: such an expression always means the state."""
    while isinstance(tree, (ast.Attribute, ast.Subscript)):
        tree = tree.value
    return isinstance(tree, ast.Name)


def key(tree: ast.AST) -> str:
    """What makes two expressions equal: their syntax tree, without places and contexts."""
    return ast.dump(tree).replace("ctx=Store()", "ctx=Load()")


@dataclass
class Instrumented:
    """A function's new code, and what its hooks speak of."""

    function: Function
    code: CodeType
    expressions: list[tuple[int, str, str]] = field(
        default_factory=list
    )  # (statement, key of it, key of a call's callee)


class _Expressions(ast.NodeTransformer):
    """Wraps each expression worth recording in ``HOOK.value(number, …)``."""

    def __init__(self, statement: int, table: list[tuple[int, str, str]]) -> None:
        self.statement = statement
        self.table = table

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, CLOSED) and isinstance(node, ast.expr):
            return (
                self._wrap(node, node)
                if isinstance(node, RECORDED) and not isinstance(node, ast.GeneratorExp)
                else node
            )
        original = copy.deepcopy(node)
        if isinstance(node, ast.Call):
            node.func = self._callee(node.func)
            node.args = [self.visit(arg) for arg in node.args]
            node.keywords = [self.visit(keyword) for keyword in node.keywords]
        else:
            super().generic_visit(node)
        if isinstance(node, RECORDED) and isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            return self._wrap(node, cast(ast.expr, original))
        return node

    def _callee(self, func: ast.expr) -> ast.expr:
        if isinstance(func, ast.Attribute):
            func.value = self.visit(func.value)
            return func
        return func if isinstance(func, ast.Name) else self.visit(func)

    def visit_Slice(self, node: ast.Slice) -> ast.AST:  # noqa: N802 (the name that ast asks for)
        return ast.NodeTransformer.generic_visit(self, node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:  # noqa: N802
        original = copy.deepcopy(node)
        node.value = self.visit(node.value)
        if not isinstance(node.slice, ast.Tuple):  # a tuple of an index may hold slices, which are no expressions
            node.slice = self.visit(node.slice)
        return self._wrap(node, original) if isinstance(node.ctx, ast.Load) else node

    def _wrap(self, node: ast.expr, original: ast.expr) -> ast.expr:
        if rooted_in_name(original):
            return node
        callee = key(original.func) if isinstance(original, ast.Call) else ""
        self.table.append((self.statement, key(original), callee))
        return _hook("value", len(self.table) - 1, node)


def _hook(name: str, number: int, *args: ast.expr) -> ast.Call:
    return ast.Call(
        ast.Attribute(ast.Name(HOOK, ast.Load()), name, ast.Load()), [ast.Constant(number), *args], keywords=[]
    )


class _Statements:
    """Rebuilds blocks with a report after each statement and at the start of each branch and pass."""

    def __init__(self, function: Function, table: list[tuple[int, str, str]], first: int) -> None:
        self.by_tree = {id(node.tree): node for node in function.nodes}
        self.table = table
        self.first = first

    def block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        return [new for statement in body for new in self.statement(self.by_tree[id(statement)])]

    def statement(self, node: Node) -> list[ast.stmt]:
        number = self.first + node.number
        tree = copy.copy(node.tree)
        wrap = _Expressions(number, self.table)
        report = self._report("after", number)
        if isinstance(tree, ast.Return):
            value = wrap.visit(copy.deepcopy(tree.value)) if tree.value is not None else ast.Constant(None)
            tree.value = _hook("returned", number, value)
            return [tree]
        if isinstance(tree, (ast.Raise, ast.Break, ast.Continue)):
            return [report, tree]
        if isinstance(
            tree, (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Pass, ast.Global, ast.Nonlocal)
        ):
            return [tree, report]
        if not node.compound:
            return [self._expressions(tree, wrap), report]
        for name in ("iter", "test", "subject"):
            if hasattr(tree, name):
                setattr(tree, name, wrap.visit(copy.deepcopy(getattr(tree, name))))
        if isinstance(tree, ast.With):
            tree.items = [
                ast.withitem(wrap.visit(copy.deepcopy(item.context_expr)), item.optional_vars) for item in tree.items
            ]
        for name in BLOCKS:
            if getattr(tree, name, []):
                enter = "enter_pass" if name == "body" and isinstance(tree, LOOPS) else "enter"
                setattr(tree, name, [self._report(enter, number), *self.block(getattr(tree, name))])
        if isinstance(tree, ast.Try):
            tree.handlers = [ast.ExceptHandler(h.type, h.name, self.block(h.body)) for h in tree.handlers]
        if isinstance(tree, ast.Match):
            tree.cases = [ast.match_case(c.pattern, c.guard, self.block(c.body)) for c in tree.cases]
        before = [self._report("loop", number)] if isinstance(tree, LOOPS) else []
        return [*before, tree, report]

    @staticmethod
    def _expressions(tree: ast.stmt, wrap: _Expressions) -> ast.stmt:
        for name, value in ast.iter_fields(tree):
            if isinstance(value, ast.expr) and name not in ("target", "annotation"):
                setattr(tree, name, wrap.visit(copy.deepcopy(value)))
        return tree

    @staticmethod
    def _report(name: str, number: int) -> ast.stmt:
        return ast.Expr(_hook(name, number))


def instrument(function: Function, plain: FunctionType, first_statement: int, first_expression: int) -> Instrumented:
    """New code for ``plain``, with hooks; the same free variables, file and lines as before.

    ``first_statement`` and ``first_expression`` are added to the numbers, so that one recorder tells functions apart.

    Raises:
        SourceError: the code that Python made of the source is not the function's (the file was edited meanwhile).
    """
    table: list[tuple[int, str, str]] = [(-1, "", "")] * first_expression
    tree = copy.copy(function.tree)
    body = without_docstring(function.tree.body)
    new = _Statements(function, table, first_statement).block(body)
    tree.body = [ast.Expr(_hook("entry", first_statement)), *new, ast.Expr(_hook("ended", first_statement))]
    tree.decorator_list = []
    shell: ast.ClassDef | ast.FunctionDef = ast.ClassDef(
        function.owner or "_", bases=[], keywords=[], body=[tree], decorator_list=[]
    )
    if not function.owner:
        shell = tree
    names = [ast.arg(name) for name in plain.__code__.co_freevars if name != "__class__"]
    outer = ast.FunctionDef(
        "__outer__",
        ast.arguments(posonlyargs=[], args=names, kwonlyargs=[], kw_defaults=[], defaults=[]),
        # A function that names itself, or its class, means the module's; in here it would be a variable of the shell.
        body=[shell] if shell.name in plain.__code__.co_freevars else [ast.Global([shell.name]), shell],
        decorator_list=[],
    )
    for made in (outer, shell):
        if "type_params" in made._fields and not hasattr(made, "type_params"):  # Python 3.12
            vars(made)["type_params"] = []
    module = ast.Module([outer], type_ignores=[])
    _place(module, tree.lineno)
    future = plain.__code__.co_flags & 0x1000000  # from __future__ import annotations
    code = _find(compile(module, str(function.file), "exec", flags=future, dont_inherit=True), tree.name)
    if code is None or code.co_freevars != plain.__code__.co_freevars:
        raise SourceError(f"{function.name} 的源码与已载入的代码不一致")
    return Instrumented(function, code.replace(co_qualname=plain.__code__.co_qualname), table[first_expression:])


def _place(tree: ast.AST, line: int) -> None:
    """Give each made node the place of the original node it stands in, so that tracebacks name true lines."""
    children: Iterator[Any] = ast.iter_child_nodes(tree)
    for child in children:
        if "lineno" in child._attributes and getattr(child, "lineno", None) is None:
            lines = [at for n in ast.walk(child) if (at := getattr(n, "lineno", None)) is not None]
            child.lineno = child.end_lineno = min(lines, default=line)
            child.col_offset = child.end_col_offset = 0
        _place(child, getattr(child, "lineno", line))


def _find(code: CodeType, name: str) -> CodeType | None:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            if constant.co_name == name and constant.co_name != "__outer__":
                return constant
            found = _find(constant, name)
            if found is not None:
                return found
    return None
