"""Mutants of source: statements of functions with one thing in them made wrong, as edits of the text of a file."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

MOVES = frozenset({"transpose", "permute", "swapaxes", "movedim", "flip", "t"})
COMPARED = {ast.Lt: ">=", ast.LtE: ">", ast.Gt: "<=", ast.GtE: "<", ast.Eq: "!=", ast.NotEq: "=="}
COMPARED |= {ast.Is: "is not", ast.IsNot: "is"}
OPERATORS = {ast.Add: "-", ast.Sub: "+", ast.Mult: "+", ast.Div: "*", ast.FloorDiv: "*", ast.MatMult: None}


@dataclass(frozen=True, slots=True)
class SourceMutant:
    """``text[start:end]`` of a file becomes ``new``; ``statement`` is the text of the statement, (first, last) its lines."""

    function: str
    how: str
    start: int
    end: int
    new: str
    line: int
    column: int
    statement: str
    lines: tuple[int, int]

    def applied(self, text: str) -> str:
        return text[: self.start] + self.new + text[self.end :]

    def probe(self, text: str) -> str:
        """The file with its statement raising: nothing notices where the statement is never executed."""
        rows = text.splitlines(keepends=True)
        first, last = self.lines
        indent = rows[first - 1][: len(rows[first - 1]) - len(rows[first - 1].lstrip())]
        return "".join([*rows[: first - 1], f"{indent}raise RuntimeError('probe')\n", *rows[last:]])


def source_mutants(text: str, functions: frozenset[str]) -> list[SourceMutant]:
    """Mutants of the functions with these qualified names (``Class.method``), in the order of the text."""
    offsets = _offsets(text)
    found: dict[tuple[int, int, str], SourceMutant] = {}
    for name, function in _functions(ast.parse(text)):
        if name not in functions:
            continue
        for statement in function.body:
            for simple in _simple(statement):
                head = _head(simple)
                for part in head:
                    for start, end, new, how in _changes(part, text, offsets):
                        line = text.count("\n", 0, start) + 1
                        column = start - text.rfind("\n", 0, start)
                        last = max(node.end_lineno or node.lineno for node in head)
                        said = " ".join((ast.get_source_segment(text, simple) or "").split("\n")[0].split())
                        mutant = SourceMutant(
                            name, how, start, end, new, line, column, said, (simple.lineno, _last(simple, last))
                        )
                        found.setdefault((start, end, new), mutant)
    return sorted(found.values(), key=lambda mutant: (mutant.start, mutant.end))


def _last(statement: ast.stmt, head: int) -> int:
    """Last line that a probe takes away: of a compound statement everything."""
    return statement.end_lineno or head


def _functions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, ast.FunctionDef]]:
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, (ast.FunctionDef, ast.ClassDef)):
            if isinstance(child, ast.FunctionDef):
                yield prefix + child.name, child
            yield from _functions(child, f"{prefix}{child.name}.")


def _simple(statement: ast.stmt) -> Iterator[ast.stmt]:
    """A statement and those inside it."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        return
    yield statement
    for name in ("body", "orelse", "finalbody"):
        for inner in getattr(statement, name, []):
            if isinstance(inner, ast.stmt):
                yield from _simple(inner)


def _head(statement: ast.stmt) -> list[ast.expr]:
    """The expressions of a statement that are not in statements inside it, nor names that it binds."""
    skipped = {"body", "orelse", "finalbody", "handlers", "target", "targets", "annotation", "decorator_list", "args"}
    if isinstance(statement, ast.Raise):
        skipped.add("exc")  # the words of an error
    found: list[ast.expr] = []
    for name, value in ast.iter_fields(statement):
        if name not in skipped:
            found += [item for item in (value if isinstance(value, list) else [value]) if isinstance(item, ast.expr)]
    return found


Change = tuple[int, int, str, str]


def _offsets(text: str) -> list[int]:
    found = [0]
    for row in text.splitlines(keepends=True):
        found.append(found[-1] + len(row))
    return found


def _changes(tree: ast.expr, text: str, offsets: list[int]) -> Iterator[Change]:
    rows = text.splitlines()

    def at(line: int, column: int) -> int:
        return offsets[line - 1] + len(rows[line - 1].encode()[:column].decode())

    def place(node: ast.expr) -> tuple[int, int]:
        return (
            at(node.lineno, node.col_offset),
            at(node.end_lineno or node.lineno, node.end_col_offset or node.col_offset),
        )

    def source(node: ast.expr) -> str:
        start, end = place(node)
        return text[start:end]

    for node in ast.walk(tree):
        if not isinstance(node, ast.expr):
            continue
        start, end = place(node)
        match node:
            case ast.Call(func=ast.Attribute(value=owner, attr=name), args=args):
                if name in MOVES:
                    yield start, end, source(owner), f"{name} dropped"
                if len(args) == 1 and not node.keywords and name != "super":
                    said = f"{source(node.func)} dropped"
                    yield start, end, f"({source(args[0])})", said
                yield from _swapped(name, args, place, text)
            case ast.Call(func=ast.Name(id=name), args=args):
                if len(args) == 1 and not node.keywords and name not in ("len", "range", "list", "tuple", "super"):
                    yield start, end, f"({source(args[0])})", f"{name} dropped"
                yield from _swapped(name, args, place, text)
            case ast.BinOp(left=left, op=op, right=right):
                (_, first), (second, _) = place(left), place(right)
                other = OPERATORS.get(type(op))
                if other is not None:
                    between = text[first:second]
                    symbol = next((s for s in ("//", "+", "-", "*", "/") if s in between), "")
                    at_symbol = first + between.index(symbol)
                    yield at_symbol, at_symbol + len(symbol), other, "another operator"
                if isinstance(op, (ast.Add, ast.Mult)):
                    for kept, word in ((left, "right"), (right, "left")):
                        yield start, end, source(kept), f"{word} operand dropped"
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in COMPARED:
                (_, first), (second, _) = place(left), place(right)
                yield first, second, f" {COMPARED[type(op)]} ", "flipped relation"
            case ast.BoolOp(op=op):
                (_, first), (second, _) = place(node.values[0]), place(node.values[1])
                yield first, second, " and " if isinstance(op, ast.Or) else " or ", "and for or"
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                yield start, end, source(operand), "not dropped"
            case ast.Constant(value=bool() as value):
                yield start, end, str(not value), "the other truth"
            case ast.Constant(value=int() as value):
                yield start, end, str(value + 1), "number plus one"
            case ast.Constant(value=float() as value):
                yield start, end, repr(value * 100), "number times 100"
            case ast.Constant(value=str() as value) if "->" in value:
                before, _, after = value.partition("->")
                yield start, end, repr(f"{before}->{after[1:2]}{after[:1]}{after[2:]}"), "swapped letters"
            case ast.IfExp(body=body, orelse=orelse):
                yield start, end, f"({source(orelse)})", "always the else"
                yield start, end, f"({source(body)})", "never the else"


def _swapped(name: str, args: list[ast.expr], place, text: str) -> Iterator[Change]:  # type: ignore[no-untyped-def]
    for one, other in zip(args, args[1:], strict=False):
        (start, middle), (second, end) = place(one), place(other)
        if text[start:middle] != text[second:end]:
            yield (
                start,
                end,
                text[second:end] + text[middle:second] + text[start:middle],
                f"swapped arguments of {name}",
            )
