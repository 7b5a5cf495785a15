"""Match a quoted piece to the source of the functions that a page reads."""

from __future__ import annotations

import ast
import difflib
import io
import re
import textwrap
import tokenize
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from tsformers.reading.statements import COMPOUND, LOOPS, Function, Node, without_docstring

CLAUSE = re.compile(r"(else|try|finally|except|case)\b.*:$")  # a line that belongs to a statement begun above


class QuoteError(ValueError):
    """A fence that is no quote; ``line`` counts its lines from 0, ``nearest`` is the likeliest source line."""

    def __init__(self, message: str, line: int = 0, nearest: str = "") -> None:
        super().__init__(message)
        self.line = line
        self.nearest = nearest


@dataclass(frozen=True, eq=False)
class Match:
    """Where a quote stands: the statements it shows, and the one after which (or in whose body) the page then stands.

    ``nodes`` are those shown, ``header`` says that the last one is shown without its body, ``lines`` maps the fence's
    lines to physical source lines (0 where a line stands for nothing).
    """

    function: Function
    nodes: tuple[Node, ...]
    stop: Node | None  # None for a signature alone
    header: bool
    lines: tuple[int, ...]

    @property
    def first_line(self) -> int:
        return min((node.tree.lineno for node in self.nodes), default=self.function.tree.lineno)

    @property
    def last_line(self) -> int:
        return max((node.header_end for node in self.nodes), default=self.function.tree.body[0].lineno - 1)


@dataclass(frozen=True, eq=False)
class Piece:
    """A fence, parsed once and matched against many functions."""

    tree: list[ast.stmt]
    signature: ast.FunctionDef | None
    code: str


def parse_piece(code: str) -> Piece:
    """Parse a fence's code.

    Raises:
        QuoteError: it is not Python, or is empty.
    """
    text = textwrap.dedent(code)
    stripped = text.rstrip()
    last = next((line for line in reversed(stripped.splitlines()) if line.split("#")[0].strip()), "")
    attempts = [text]
    if last.split("#")[0].rstrip().endswith(":"):
        attempts.append(f"{stripped}\n{' ' * (len(last) - len(last.lstrip()) + 4)}...")
    for attempt in attempts:
        try:
            tree = ast.parse(attempt).body
        except SyntaxError as error:
            problem = error
            continue
        except (RecursionError, MemoryError, ValueError):
            raise QuoteError("这段引文嵌套太深，无法读取") from None
        if all(_gap(statement) for statement in tree):
            raise QuoteError("这段引文是空的")
        if len(tree) == 1 and isinstance(tree[0], ast.FunctionDef):
            return Piece(without_docstring(tree[0].body), tree[0], text)
        return Piece(tree, None, text)
    raise QuoteError(
        f"这段引文不是完整的 Python 语句（{problem.msg}）；半条语句请写成行内代码", (problem.lineno or 1) - 1
    )


def match_piece(piece: Piece, function: Function) -> list[Match]:
    """Every place of ``function`` that the piece fits, in the order of the text.

    Raises:
        QuoteError: it would fit, but for a comment that does not stand in the source there.
    """
    pattern, whole = piece.tree, False
    if piece.signature is not None and not _same_signature(piece.signature, function.tree):
        pattern = [piece.signature]  # of a function defined inside, perhaps
    elif piece.signature is not None:
        whole = True
        if all(_gap(statement) for statement in piece.tree):
            anchors = [(piece.signature.lineno, function.tree.lineno)]
            match = Match(function, (), None, False, _lines(piece.code, anchors))
            _check_comments(piece, match, anchors)
            return [match]
    found: dict[tuple[int, ...], Match] = {}
    problems: list[QuoteError] = []
    blocks = {node.block for node in function.nodes}
    for block in [(-1, "body")] if whole else sorted(blocks):
        nodes = function.block(block)
        for start in range(1 if whole else len(nodes)):
            for pairs in _match(pattern, nodes[start:], function, whole):
                try:
                    match = _found(piece, function, pairs)
                except QuoteError as error:
                    problems.append(error)
                    continue
                found.setdefault(tuple(node.number for node in match.nodes), match)
                break
    if problems and not found:
        raise problems[0]
    return sorted(found.values(), key=lambda match: match.first_line)


Pair = tuple[ast.stmt, Node, bool]  # the fence's statement, the source's, shown as a header alone


def _match(pattern: list[ast.stmt], nodes: list[Node], function: Function, whole: bool) -> Iterator[list[Pair]]:
    """Pairs of the statements that correspond, ``...`` standing for any number of statements, the fewest first.

    ``whole``: nothing of ``nodes`` may be left over at the end.
    """
    if not pattern:
        if not nodes or not whole:
            yield []
    elif _gap(pattern[0]):
        if len(pattern) == 1:
            yield []
        else:
            for skip in range(len(nodes)):
                yield from _match(pattern[1:], nodes[skip:], function, whole)
    elif nodes:
        for here in _match_one(pattern[0], nodes[0], function):
            for after in _match(pattern[1:], nodes[1:], function, whole):
                yield [*here, *after]


def _match_one(pattern: ast.stmt, node: Node, function: Function) -> Iterator[list[Pair]]:
    if type(pattern) is not type(node.tree):
        return
    if not isinstance(pattern, COMPOUND):
        if _same(pattern, node.tree):
            yield [(pattern, node, False)]
        return
    if not _same(_header(pattern), _header(node.tree)):
        return
    body = getattr(pattern, "body", [])
    written = [name for name in ("orelse", "finalbody", "handlers", "cases") if getattr(pattern, name, [])]
    if len(body) == 1 and _gap(body[0]) and not written:
        yield [(pattern, node, True)]
        return
    blocks = [(getattr(pattern, name, []), (node.number, name)) for name in ("body", "orelse", "finalbody")]
    for name in ("handlers", "cases"):
        ours, theirs = getattr(pattern, name, []), getattr(node.tree, name, [])
        if [ast.dump(_header(branch)) for branch in ours] != [ast.dump(_header(branch)) for branch in theirs]:
            return
        blocks += [(branch.body, (node.number, f"{name}.{position}")) for position, branch in enumerate(ours)]
    inside = [_match(statements, function.block(block), function, whole=True) for statements, block in blocks]
    for found in product(*inside):
        yield [(pattern, node, False), *(pair for pairs in found for pair in pairs)]


def _found(piece: Piece, function: Function, pairs: list[Pair]) -> Match:
    anchors = [(pattern.lineno, node.tree.lineno) for pattern, node, _ in pairs]
    if piece.signature is not None:
        anchors.insert(0, (piece.signature.lineno, function.tree.lineno))
    lines = _lines(piece.code, anchors)
    outermost = min(pairs, key=lambda pair: len(_ancestors(pair[1], function)))
    depth = len(_ancestors(outermost[1], function))
    stop, header = [(node, head) for _, node, head in pairs if len(_ancestors(node, function)) == depth][-1]
    match = Match(function, tuple(node for _, node, _ in pairs), stop, header, lines)
    _check_comments(piece, match, anchors)
    return match


def _ancestors(node: Node, function: Function) -> list[Node]:
    found = []
    while node.block[0] >= 0:
        node = function.nodes[node.block[0]]
        found.append(node)
    return found


def _check_comments(piece: Piece, match: Match, anchors: Sequence[tuple[int, int]]) -> None:
    """A trailing comment of the fence must stand at that statement in the source, one alone between the same two."""
    function = match.function
    source = [(row + function.tree.lineno, text) for row, _, text in _comments(function.source)]
    ends = {node.tree.lineno: node.header_end for node in function.nodes}
    for row, column, comment in _comments(piece.code):
        code = piece.code.splitlines()[row][:column].strip()
        above = [physical for line, physical in anchors if line <= row + 1]
        below = [physical for line, physical in anchors if line > row + 1]
        stop = min(below, default=(function.tree.end_lineno or 0) + 1)
        start = max(above or [end + 1 for end in ends.values() if end < stop], default=0)
        if code and not CLAUSE.match(code):
            stop = min(stop, ends.get(start, stop) + 1)
        if not any(text == comment and start <= line < stop for line, text in source):
            near = difflib.get_close_matches(comment, [text for _, text in source], 1, 0)
            raise QuoteError(f"源码在这里没有注释 {comment!r}", row, near[0] if near else "")


def _comments(code: str) -> Iterator[tuple[int, int, str]]:
    try:
        for token in tokenize.generate_tokens(io.StringIO(code).readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0] - 1, token.start[1], token.string
    except (tokenize.TokenError, IndentationError):
        return  # a header without its body ends the tokens early: what came before has been given


def _lines(code: str, anchors: Iterable[tuple[int, int]]) -> tuple[int, ...]:
    """Physical line of each line of the fence: exact at the first line of a statement, counted on from there."""
    starts = dict(anchors)
    count = len(code.splitlines())
    result = [0] * count
    current = 0
    for row in range(count):
        if row + 1 in starts:
            current = starts[row + 1]
        elif current:
            current += 1
        text = code.splitlines()[row].strip()
        if not text or text == "..." or text.startswith("#"):
            if text == "...":
                current = 0
            continue
        result[row] = current
    return tuple(result)


def nearest_line(piece: Piece, functions: Iterable[Function]) -> tuple[int, str]:
    """The fence's first line that stands in none of the functions, and the source line most like it."""
    source = [line.strip() for function in functions for line in function.source.splitlines() if line.strip()]
    known = {"".join(line.split("#")[0].split()) for line in source}
    for row, line in enumerate(piece.code.splitlines()):
        bare = "".join(line.split("#")[0].split())
        if bare and bare != "..." and bare not in known:
            near = difflib.get_close_matches(line.strip(), source, n=1, cutoff=0.3)
            return row, near[0] if near else ""
    return 0, ""


def _gap(tree: ast.stmt) -> bool:
    return isinstance(tree, ast.Expr) and isinstance(tree.value, ast.Constant) and tree.value.value is Ellipsis


def _same(left: ast.AST, right: ast.AST) -> bool:
    return ast.dump(left) == ast.dump(right)


def _header(tree: ast.AST) -> ast.AST:
    """A copy without the blocks."""
    fields = {
        name: value
        for name, value in ast.iter_fields(tree)
        if name not in ("body", "orelse", "finalbody", "handlers", "cases")
    }
    return ast.Tuple(
        [ast.Constant(type(tree).__name__), *[ast.Constant(_text(value)) for value in fields.values()]], ast.Load()
    )


def _text(value: object) -> str:
    if isinstance(value, ast.AST):
        return ast.dump(value)
    if isinstance(value, list):
        return "; ".join(_text(inner) for inner in value)
    return repr(value)


def _same_signature(written: ast.FunctionDef, source: ast.FunctionDef) -> bool:
    """Name, parameters and result; decorators and the docstring too, where the quote shows them."""
    if written.name != source.name or not _same(written.args, source.args):
        return False
    if _text(written.returns) != _text(source.returns):
        return False
    if written.decorator_list and _text(written.decorator_list) != _text(source.decorator_list):
        return False
    docstring = ast.get_docstring(written)
    return docstring is None or docstring == ast.get_docstring(source)


def is_loop(node: Node) -> bool:
    return isinstance(node.tree, LOOPS)
