"""Run a page's executed blocks and its doctest examples in the page's own process."""

from __future__ import annotations

import ast
import doctest
import io
import re
import traceback
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import torch

from tsformers.reading.failure import Failure
from tsformers.reading.literals import Scalar
from tsformers.reading.page import Fence

NUMBER = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?")


@dataclass
class Block:
    """A block's place on the page, and the file name under which its code is compiled."""

    fence: Fence
    path: str

    def failure(self, kind: str, row: int, column: int, **said: str) -> Failure:
        """A failure at a row (from 0) and column (from 0) of the block's code."""
        margins = self.fence.margins
        margin = margins[row] if 0 <= row < len(margins) else 0
        return Failure(self.path, self.fence.code_line + row, margin + column + 1, kind, **said)

    def at_line(self, kind: str, line: int, column: int, **said: str) -> Failure:
        return self.failure(kind, line - self.fence.code_line, column, **said)


class Namespace(dict[str, Any]):
    """A page's names. While a block runs the state's names are there too; a block may not bind them anew."""

    def __init__(self) -> None:
        super().__init__(__name__="__page__", __builtins__=__builtins__)

    @property
    def own(self) -> dict[str, Any]:
        return {name: value for name, value in self.items() if name not in ("__name__", "__builtins__")}


def run_exec(block: Block, names: Namespace, frame: Mapping[str, Any]) -> tuple[str, Failure | None]:
    """What a block prints, and what went wrong: an exception, an exit, a name of the frame bound anew."""
    fence = block.fence
    expected = fence.options.get("raises", "")
    try:
        tree = ast.parse(fence.code, block.path)
    except SyntaxError as error:
        row, column = (error.lineno or 1) - 1, (error.offset or 1) - 1
        if expected == "SyntaxError":
            return f"SyntaxError: {error.msg}\n", None
        said = {"claim": _row(fence, row), "actual": f"SyntaxError: {error.msg}", "message": f"代码块有语法错误：{error.msg}"}
        return "", block.failure("exec", row, column, **said)
    taken = _rebound(tree, frame, names)
    if taken is not None:
        name, row, column = taken
        message = f"代码块绑定了 {name}，而它是当前状态里的变量；换一个名字，否则之后的声明说不清指哪个"
        return "", block.failure("exec", row, column, claim=name, message=message)
    ast.increment_lineno(tree, fence.code_line - 1)
    stream = io.StringIO()
    injected = [name for name in frame if name not in names]
    names.update({name: frame[name] for name in injected})
    try:
        with redirect_stdout(stream), redirect_stderr(stream):
            exec(compile(tree, block.path, "exec", dont_inherit=True), names)
    except BaseException as error:
        return _raised(block, error, expected, stream.getvalue())
    finally:
        for name in injected:
            names.pop(name, None)
    if expected:
        message = f"代码块应当抛出 {expected}，却正常结束"
        said = {"expected": expected, "actual": "没有异常", "message": message}
        return stream.getvalue(), Failure(block.path, fence.line, fence.column, "exec", fence.code.split("\n")[0], **said)
    return stream.getvalue(), None


def _raised(block: Block, error: BaseException, expected: str, printed: str) -> tuple[str, Failure | None]:
    name = type(error).__name__
    if isinstance(error, TimeUp):
        raise error
    if expected and isinstance(error, Exception) and expected in [base.__name__ for base in type(error).__mro__]:
        return f"{printed}{name}: {error}\n", None
    line, column = where(error, block.path, block.fence.code_line)
    kind = "exit" if isinstance(error, SystemExit) else "exec"
    if isinstance(error, SystemExit):
        message = f"代码块调用了退出（SystemExit: {error.code}）；页面里的代码不能结束进程"
    elif expected:
        message = f"代码块应当抛出 {expected}，却抛出 {name}: {error}"
    else:
        message = f"代码块抛出 {name}: {error}"
    row = line - block.fence.code_line
    said = {"claim": _row(block.fence, row), "expected": expected, "actual": f"{name}: {error}", "message": message}
    return printed, block.failure(kind, row, column, **said)


class TimeUp(BaseException):
    """The page's time is over. Not an Exception, so that a block's own handlers let it pass."""


def where(error: BaseException, path: str, default: int) -> tuple[int, int]:
    """Physical line, and column from 0, of the innermost frame of ``error`` that stands on the page."""
    found = (default, 0)
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename == path and frame.lineno is not None:
            found = (frame.lineno, getattr(frame, "colno", 0) or 0)
    return found


def _row(fence: Fence, row: int) -> str:
    lines = fence.code.split("\n")
    return lines[row].strip() if 0 <= row < len(lines) else ""


def _rebound(tree: ast.Module, frame: Mapping[str, Any], names: Namespace) -> tuple[str, int, int] | None:
    """The first name of the frame that the block's top level binds and the page has not bound before."""
    inside = [node for statement in tree.body for node in _top_level(statement)]
    for node in inside:
        for name in _bound(node):
            if name in frame and name not in names:
                return name, node.lineno - 1, node.col_offset
    return None


def _top_level(tree: ast.AST) -> list[Any]:
    found: list[Any] = [tree]
    if isinstance(tree, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.ListComp, ast.SetComp)):
        return found
    if isinstance(tree, (ast.DictComp, ast.GeneratorExp)):
        return found
    for child in ast.iter_child_nodes(tree):
        found.extend(_top_level(child))
    return found


def _bound(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
        return [node.id]
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [node.name]
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return [(alias.asname or alias.name).split(".")[0] for alias in node.names]
    return []


def run_examples(block: Block, names: Namespace, frame: Mapping[str, Any]) -> tuple[int, list[Failure]]:
    """Run a pycon fence; how many examples it holds, and those whose output is not the one written."""
    fence = block.fence
    try:
        examples = doctest.DocTestParser().get_examples(fence.code + "\n")
    except ValueError as error:
        return 0, [Failure(block.path, fence.line, fence.column, "example", message=f"示例的写法有误：{error}")]
    if not examples:
        return 0, [Failure(block.path, fence.line, fence.column, "example", message="示例里没有 >>> 开头的行")]
    failures = []
    injected = [name for name in frame if name not in names]
    names.update({name: frame[name] for name in injected})
    try:
        for example in examples:
            got, error = _run_example(example, block, names)
            row = example.lineno + example.source.count("\n")
            written = example.want if example.exc_msg is None else example.exc_msg
            wrong = compare_output(written, got)
            if isinstance(error, SystemExit):
                said = {"claim": example.source.strip(), "actual": got.strip(), "message": "示例调用了退出；页面里的代码不能结束进程"}
                failures.append(block.failure("exit", example.lineno, 0, **said))
            elif wrong is not None:
                line, column, want_part, got_part = wrong
                message = f"示例 {example.source.strip().splitlines()[0]} 的输出不是 {want_part}，而是 {got_part}"
                at = row + line if written.strip() else example.lineno
                said = {"claim": example.source.strip(), "expected": written.strip(), "actual": got.strip()}
                failures.append(block.failure("example", at, column, **said, message=message))
    finally:
        for name in injected:
            names.pop(name, None)
    return len(examples), failures


def _run_example(example: doctest.Example, block: Block, names: Namespace) -> tuple[str, BaseException | None]:
    stream = io.StringIO()
    torch.set_printoptions(profile="default")
    try:
        with redirect_stdout(stream), redirect_stderr(stream):
            exec(compile(example.source, block.path, "single", dont_inherit=True), names)
    except TimeUp:
        raise
    except BaseException as error:
        return "".join(traceback.format_exception_only(error)), error
    return stream.getvalue(), None


def compare_output(written: str, actual: str) -> tuple[int, int, str, str] | None:
    """The first difference: (line from 0, column from 0, what is written, what came); None if there is none.

    Text is compared as text but for white space at line ends; a number with a point by the digits written.
    """
    ours, theirs = _clean(written), _clean(actual)
    for row, line in enumerate(ours):
        other = theirs[row] if row < len(theirs) else ""
        column = _differ(line, other)
        if column is not None:
            return row, column, line.strip() or "空行", other.strip() or "（没有输出）"
    if len(theirs) > len(ours):
        return max(0, len(ours) - 1), 0, "\n".join(ours) or "（没有输出）", "\n".join(theirs)
    return None


def _clean(text: str) -> list[str]:
    lines = [line.rstrip() for line in text.replace("<BLANKLINE>", "").splitlines()]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _differ(written: str, actual: str) -> int | None:
    ours, theirs = list(NUMBER.finditer(written)), list(NUMBER.finditer(actual))
    if NUMBER.sub("#", written).split() != NUMBER.sub("#", actual).split() or len(ours) != len(theirs):
        return next((i for i, (a, b) in enumerate(zip(written, actual, strict=False)) if a != b), 0)
    for mine, other in zip(ours, theirs, strict=True):
        if not _same_number(mine.group(), other.group()):
            return mine.start()
    return None


def _same_number(written: str, actual: str) -> bool:
    if "." not in written and "e" not in written.lower():
        return written == actual
    number = Scalar("float", written, 0, float(written))
    return abs(number.exact - Fraction(actual)) <= number.half_unit
