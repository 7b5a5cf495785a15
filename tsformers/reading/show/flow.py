"""The data flow of a function, read from its source and matched to the calls of its run."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tsformers.reading.record import Call, Quote, Subject, Value, Variable
from tsformers.reading.show.tree import is_torch, local_path, output_text
from tsformers.reading.show.values import brief, tensors

_ABOUT = {"shape", "size", "dim", "device", "dtype", "ndim", "numel", "stride", "item", "training"}  # no data flows
_SIGNS = {ast.Add: "+", ast.Sub: "−", ast.Mult: "×", ast.Div: "÷", ast.MatMult: "@", ast.Pow: "幂"}


class Source(NamedTuple):
    """What an expression holds: the output of a node, or one member of it where a tuple was returned."""

    node: str
    member: int | None = None


Sources = tuple[Source, ...]


@dataclass(frozen=True, slots=True)
class Node:
    """``kind``: "input", "part" (of the package), "torch" (one of its modules), "operation", "output"."""

    key: str
    kind: str
    label: str
    shape: str


@dataclass(frozen=True, slots=True)
class Flow:
    """``edges`` are (start, end, shape of what flows, "" where it is not known)."""

    nodes: tuple[Node, ...]
    edges: tuple[tuple[str, str, str], ...]


def parse(code: str) -> list[ast.stmt]:
    """The statements of a piece; a signature standing alone gets a body."""
    try:
        return ast.parse(code).body
    except SyntaxError:
        return ast.parse(code + " ...").body


def reads(code: str) -> set[str]:
    """The names that a piece reads."""
    names = {node.id for statement in parse(code) for node in ast.walk(statement)
             if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}  # fmt: skip
    return names | {node.target.id for statement in parse(code) for node in ast.walk(statement)
                    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name)}  # fmt: skip


def written(quote: Quote, code: str) -> list[Variable]:
    """What the lines of a piece wrote that it shows: a body left out (``...``) belongs to the pieces that quote it."""
    if all(quote.lines):
        return list(quote.wrote)
    stored = set()
    for node in (node for statement in parse(code) for node in ast.walk(statement)):
        if isinstance(getattr(node, "ctx", None), ast.Store):
            while isinstance(node, ast.Subscript | ast.Attribute | ast.Starred):
                node = node.value
            stored.add(getattr(node, "id", ""))
    return [variable for variable in quote.wrote if variable.name in stored]


def _plain(node: ast.expr) -> str:
    """An expression as a label: without ``self.``, and a text without its quotes."""
    return (
        node.value
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        else (re.sub(r"\bself\.", "", ast.unparse(node)))
    )


def _short(text: str, most: int = 40) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


class _Walk:
    """One walk over the executed statements; a loop's body is walked once, its calls counted."""

    def __init__(self, call: Call, subject: Subject, shapes: Mapping[tuple[int, str], str]) -> None:
        self.call, self.shapes = call, shapes
        self.nodes: dict[str, Node] = {}
        self.edges: dict[tuple[Source, str], None] = {}
        self.outputs: dict[str, Value] = {}
        self.names: dict[str, Sources] = {}
        self.waiting = list(call.children)
        self.idle = {statement.line for statement in subject.statements if not statement.executed}
        self.line = 0  # physical line of the statement at hand

    def node(self, kind: str, label: str, shape: str, sources: Sources) -> Sources:
        key = f"n{len(self.nodes)}"
        self.nodes[key] = Node(key, kind, label, shape)
        self.edges.update(dict.fromkeys((source, key) for source in sources))
        return (Source(key),)

    def member(self, sources: Sources, index: int) -> Sources:
        """One member of what is held; nothing where it holds no tensor, all where no tuple is known."""
        held = self.outputs.get(sources[0].node) if len(sources) == 1 else None
        if not isinstance(held, tuple) or not -len(held) <= index < len(held) or sources[0].member is not None:
            return sources
        return (Source(sources[0].node, index),) if any(tensors(held[index])) else ()

    def taken(self, func: ast.expr) -> list[Call]:
        """The recorded calls that this call expression made; several in a loop."""
        here = [child for child in self.waiting if child.line == self.line]
        name = ast.unparse(func)
        if name.startswith("self."):
            wanted = re.sub(r"\[(\w+)\]", r".\1", name[5:])
            found = [child for child in here if local_path(child, self.call) == wanted]
            if not found and "[" in name:  # an index that only the run knows
                wanted = re.sub(r"\[.*?\]", ".#", name[5:])
                found = [child for child in here if _numberless(local_path(child, self.call)) == wanted]
        elif isinstance(func, ast.Name) and not hasattr(builtins, name):
            found = [child for child in here if child.function.split(".")[-1] == name]
            found = found or [child for child in here if "." in local_path(child, self.call)]  # the loop's own name
        else:
            found = []
        if not found:
            return []
        pattern = _numberless(found[0].path)
        same = [child for child in found if _numberless(child.path) == pattern]
        taken = same if len({child.path for child in same}) > 1 else same[:1]
        self.waiting = [child for child in self.waiting if not any(child is one for one in taken)]
        return taken

    def value(self, node: ast.expr | None) -> Sources:
        match node:
            case ast.Name(id=name):
                return self.names.get(name, ())
            case ast.Attribute(value=value, attr=attribute):
                return () if attribute in _ABOUT else self.value(value)
            case ast.Subscript(value=value, slice=ast.Constant(value=int(index))):
                return self.member(self.value(value), index)
            case ast.Subscript(value=value):
                return self.value(value)
            case ast.Call():
                return self.called(node)
            case ast.BinOp(left=left, op=op, right=right):
                return self.combined(left, op, right)
            case ast.UnaryOp(operand=operand) | ast.Starred(value=operand) | ast.NamedExpr(value=operand):
                return self.value(operand)
            case ast.IfExp(body=body, orelse=orelse):
                return _union(self.value(body), self.value(orelse))
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                return _union(*(self.value(part) for part in parts))
        return ()

    def combined(self, left: ast.expr, op: ast.operator, right: ast.expr) -> Sources:
        sign = _SIGNS.get(type(op), type(op).__name__)
        a, b = self.value(left), self.value(right)
        if a and b:
            return self.node("operation", sign, "", _union(a, b))
        if a or b:
            other = _short(_plain(right if a else left), 16)
            return self.node("operation", f"{sign} {other}" if a else f"{other} {sign}", "", a or b)
        return ()

    def called(self, node: ast.Call) -> Sources:
        arguments = [("", argument) for argument in node.args]
        arguments += [(f"{keyword.arg}=" if keyword.arg else "**", keyword.value) for keyword in node.keywords]
        if isinstance(node.func, ast.Attribute) and node.func.attr in _ABOUT:
            return ()
        owner = self.value(node.func.value) if isinstance(node.func, ast.Attribute) else ()
        given = [(word + _plain(argument), self.value(argument)) for word, argument in arguments]
        sources = _union(owner, *(held for _, held in given))
        calls = self.taken(node.func)
        if calls:
            child = calls[0]
            path = local_path(child, self.call)
            label = path if len(calls) == 1 else f"{path} … {local_path(calls[-1], self.call)}"
            shape = output_text(next(tensors(child.output), child.output))
            result = self.node("torch" if is_torch(child) else "part", label, shape, sources)
            self.outputs[result[0].node] = child.output
            return result
        if not sources:
            return ()
        name = node.func.attr if isinstance(node.func, ast.Attribute) else _plain(node.func)
        settings = ", ".join(text for text, held in given if not held)
        return self.node("operation", _short(f"{name}({settings})" if settings else name), "", sources)

    def bind(self, target: ast.expr, sources: Sources) -> None:
        if isinstance(target, ast.Name):
            self.names[target.id] = sources
            shape = self.shapes.get((self.line, target.id))
            if shape and len(sources) == 1 and not self.nodes[sources[0].node].shape:
                old = self.nodes[sources[0].node]
                self.nodes[old.key] = Node(old.key, old.kind, old.label, shape)
        elif isinstance(target, ast.Tuple | ast.List):
            for index, part in enumerate(target.elts):
                self.bind(part, self.member(sources, index))

    def assign(self, targets: Sequence[ast.expr], value: ast.expr) -> None:
        for target in targets:
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
                for part, sources in zip(target.elts, [self.value(item) for item in value.elts], strict=True):
                    self.bind(part, sources)
                return
        sources = self.value(value)
        for target in targets:
            self.bind(target, sources)

    def statements(self, body: Sequence[ast.stmt], shift: int) -> None:
        for statement in body:
            self.line = statement.lineno + shift
            if self.line in self.idle:
                continue
            match statement:
                case ast.Assign(targets=targets, value=value):
                    self.assign(targets, value)
                case ast.AnnAssign(target=target, value=ast.expr() as value):
                    self.assign([target], value)
                case ast.AugAssign(target=target, op=op, value=value):
                    self.bind(target, self.combined(_load(target), op, value))
                case ast.Return(value=ast.expr() as value):
                    self.output(value)
                case ast.Expr(value=value):
                    self.value(value)
                case ast.For(target=target, iter=iterated, body=inner):
                    self.bind(target, self.value(iterated))
                    self.statements(inner, shift)
                case ast.If(body=inner, orelse=other):
                    self.statements(inner, shift)
                    self.statements(other, shift)
                case ast.With(body=inner) | ast.While(body=inner):
                    self.statements(inner, shift)

    def output(self, value: ast.expr) -> None:
        sources = self.value(value)
        self.node("output", "返回", output_text(self.call.output), sources)


def _numberless(path: str) -> str:
    return re.sub(r"\b\d+\b", "#", path)


def _load(target: ast.expr) -> ast.expr:
    return ast.parse(ast.unparse(target), mode="eval").body


def _union(*parts: Sources) -> Sources:
    return tuple(dict.fromkeys(source for part in parts for source in part))


def flow(call: Call, subject: Subject, quotes: Sequence[Quote] = ()) -> Flow:
    """What flows where in a call: inputs, its parts and the operations between them, the output.

    Sums of two paths, so residual edges too, come from the source. ``quotes`` give the shapes of what statements bind.
    """
    tree = ast.parse(subject.source)
    function = next(node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    shapes = {(quote.last_line, variable.name): brief(variable.after)
              for quote in quotes for variable in quote.wrote if any(tensors(variable.after))}  # fmt: skip
    walk = _Walk(call, subject, shapes)
    for name, value, _ in call.inputs:
        if any(tensors(value)):
            walk.names[name] = walk.node("input", name, brief(value), ())
    walk.statements(function.body, subject.line - function.lineno)
    edges: dict[tuple[str, str, str], None] = {}
    for source, end in walk.edges:
        shape = walk.nodes[source.node].shape
        if source.member is not None:
            held = walk.outputs[source.node]
            shape = brief(held[source.member]) if isinstance(held, tuple) else shape
        edges[source.node, end, shape] = None
    used = _leading_out(walk.nodes.values(), edges)
    return Flow(
        tuple(node for node in walk.nodes.values() if node.key in used),
        tuple(edge for edge in edges if edge[0] in used and edge[1] in used),
    )


def _leading_out(nodes: Iterable[Node], edges: Iterable[tuple[str, str, str]]) -> set[str]:
    """The nodes from which something flows to the output; those with any edge where nothing is returned."""
    used = {node.key for node in nodes if node.kind == "output"}
    if not used:
        return {key for start, end, _ in edges for key in (start, end)}
    for start, end, _ in reversed(list(edges)):  # an edge always leads to a node made after its start
        if end in used:
            used.add(start)
    return used
