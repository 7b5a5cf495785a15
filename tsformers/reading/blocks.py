"""Run a page's executed blocks and its doctest examples in the page's own process."""

from __future__ import annotations

import ast
import doctest
import re
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import torch

from tsformers.reading.alike import alike
from tsformers.reading.evaluate import copied, told
from tsformers.reading.failure import Failure
from tsformers.reading.hermetic import refused
from tsformers.reading.limits import Captured, Stopped, TimeUp, out_of_memory
from tsformers.reading.literals import Scalar
from tsformers.reading.page import PROMPT, Fence, Page
from tsformers.reading.record import Printed
from tsformers.reading.standard import printers
from tsformers.reading.watch import look

MEMORY = "内存超过上限；这一页在这里停下"
NUMBER = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?")


@dataclass
class Block:
    """A block's place on the page, and the file name under which its code is compiled."""

    fence: Fence
    path: str
    broken: frozenset[str] = frozenset()  # names that an earlier block failed to bind: their absence is said once
    printed: list[Printed] = field(default_factory=list)  # by the examples that ran
    output_limit: int = 2**20  # bytes
    loud: list[Failure] = field(default_factory=list)  # that it printed more
    silent: bool = False  # it failed for a reason that is said elsewhere

    def failure(self, kind: str, row: int, column: int, **said: str) -> Failure:
        """A failure at a row (from 0) and column (from 0) of the block's code."""
        margins = self.fence.margins
        margin = margins[row] if 0 <= row < len(margins) else 0
        return Failure(self.path, self.fence.code_line + row, margin + column + 1, kind, **said)

    def at_line(self, kind: str, line: int, column: int, **said: str) -> Failure:
        return self.failure(kind, line - self.fence.code_line, column, **said)

    def listen(self, stream: Captured) -> None:
        """Note that a block printed more than it may, at the line that did."""
        if stream.over is None or self.loud:
            return
        line, column = stream.over
        row, rows = line - self.fence.code_line, self.fence.code.split("\n")
        limit = f"{self.output_limit / 2**20:.3g} MiB"
        said = {"expected": f"≤ {limit}", "message": f"这一围栏的输出超过上限 {limit}；多出的部分没有保留"}
        if not 0 <= row < len(rows):
            self.loud.append(Failure(self.path, self.fence.line, self.fence.column, "output", **said))
            return
        skipped = prompt(self.fence, rows[row])
        column = skipped + characters(rows[row][skipped:], column)
        self.loud.append(self.failure("output", row, column, claim=rows[row].strip(), **said))


class Namespace(dict[str, Any]):
    """A page's names. While a block runs the state's names stand before them; a block may not bind them anew."""

    def __init__(self) -> None:
        self.copies: dict[int, Any] = {}  # id of a thing of the state -> what blocks see of it, the same in all of them
        self.given: dict[str, Any] = {"__name__": "__page__", "__builtins__": __builtins__, **printers()}
        super().__init__(self.given)

    @property
    def own(self) -> dict[str, Any]:
        """The names that the page's blocks bound."""
        return {name: value for name, value in self.items() if self.given.get(name, self) is not value}

    @contextmanager
    def showing(self, frame: Mapping[str, Any], changed: list[str]) -> Iterator[None]:
        """With the names of ``frame``; at the end those whose content was changed in place are put into ``changed``.

        Blocks see copies: what one of them keeps, and a thread or a later block changes, is not the state itself.
        """
        hidden = {name: self[name] for name in frame if name in self}
        shown = {name: copied(value, self.copies) for name, value in frame.items()}
        self.update(shown)
        try:
            yield
        finally:
            for name in frame:
                self.pop(name, None)
            self.update(hidden)
            if not alike([*frame.values()], [*shown.values()]):  # what several names share is looked at once
                changed += [name for name, value in frame.items() if not alike(value, shown[name])]
            if changed:
                self.copies.clear()


def parsed(code: str, path: str = "<page>") -> ast.Module:
    """The tree of a block's code.

    Raises:
        SyntaxError: it is not Python, or nested too deep for Python to read.
    """
    try:
        return ast.parse(code, path)
    except (RecursionError, MemoryError, ValueError) as error:
        raise SyntaxError(f"Python 读不了这段代码（{told(error)}）") from None


def run_exec(block: Block, names: Namespace, frame: Mapping[str, Any]) -> tuple[str, Failure | None]:
    """What a block prints, and what went wrong: an exception, an exit, a name of the frame bound anew."""
    fence = block.fence
    expected = fence.options.get("raises", "")
    try:
        tree = parsed(fence.code, block.path)
    except SyntaxError as error:
        row, column = (error.lineno or 1) - 1, max(0, (error.offset or 1) - 1)
        if _expected(expected, error):
            return f"{type(error).__name__}: {error.msg}\n", None
        message = f"代码块有语法错误：{error.msg}"
        said = {"claim": fence.row(row).strip(), "expected": expected, "actual": f"SyntaxError: {error.msg}"}
        return "", block.failure("exec", row, column, **said, message=message)
    taken = _rebound(tree, frame, fence.code)
    if taken is not None:
        name, row, column = taken
        return "", block.failure("exec", row, column, claim=name, message=f"代码块{_taken(name)}")
    ast.increment_lineno(tree, fence.code_line - 1)
    stream = Captured(block.path, block.output_limit)
    changed: list[str] = []
    try:
        with redirect_stdout(stream), redirect_stderr(stream), names.showing(frame, changed):
            code = compile(tree, block.path, "exec", dont_inherit=True)
            try:
                exec(code, names)
            finally:
                look()
    except BaseException as error:
        return _raised(block, error, expected, stream.getvalue())
    finally:
        block.listen(stream)
    if changed:
        said = {"claim": fence.code.split("\n")[0], "message": f"代码块{_changed(changed)}"}
        return stream.getvalue(), Failure(block.path, fence.line, fence.column, "exec", **said)
    if expected:
        message = f"代码块应当抛出 {expected}，却正常结束"
        said = {"claim": fence.row(0).strip(), "expected": expected, "actual": "没有异常", "message": message}
        return stream.getvalue(), Failure(block.path, fence.line, fence.column, "exec", **said)
    return stream.getvalue(), None


def _raised(block: Block, error: BaseException, expected: str, printed: str) -> tuple[str, Failure | None]:
    name = type(error).__name__
    if isinstance(error, (TimeUp, Stopped)):
        raise error
    if _expected(expected, error):
        return f"{printed}{name}: {error}\n", None
    if refused(error) or (isinstance(error, NameError) and error.name in block.broken):
        block.silent = True
        return printed, None
    line, column = where(error, block.path, block.fence.code_line)
    kind = "exit" if isinstance(error, SystemExit) else "exec"
    if isinstance(error, SystemExit):
        message = f"代码块调用了退出（SystemExit: {error.code}）；页面里的代码不能结束进程"
    elif expected:
        message = f"代码块应当抛出 {expected}，却抛出 {told(error)}"
    else:
        message = f"代码块抛出 {told(error)}"
    row = line - block.fence.code_line
    rows = block.fence.code.split("\n")
    column = characters(rows[row], column) if 0 <= row < len(rows) else 0
    said = {"claim": block.fence.row(row).strip(), "expected": expected, "actual": told(error), "message": message}
    if out_of_memory(error):
        said |= {"message": f"{MEMORY}：{told(error)}"}
        raise Stopped(block.failure("memory", row, column, **said)) from None
    return printed, block.failure(kind, row, column, **said)


def _expected(name: str, error: BaseException) -> bool:
    return isinstance(error, Exception) and name in [base.__name__ for base in type(error).__mro__]


def _taken(name: str) -> str:
    return f"绑定了 {name}，而它是当前状态里的变量；换一个名字，否则之后的声明说不清指哪个"


def _changed(names: list[str]) -> str:
    return f"就地改变了当前状态里的 {'、'.join(names)}；之后的声明说的是源码算出的值，请先复制（clone）"


def where(error: BaseException, path: str, default: int) -> tuple[int, int]:
    """Physical line, and byte from 0 in its code, of the innermost frame of ``error`` that stands on the page."""
    if isinstance(error, SyntaxError) and error.filename == path and error.lineno is not None:
        return error.lineno, max(0, (error.offset or 1) - 1)
    found = (default, 0)
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename == path and frame.lineno is not None:
            found = (frame.lineno, getattr(frame, "colno", 0) or 0)
    return found


def characters(line: str, count: int) -> int:
    """How many characters the first ``count`` bytes of a line are: Python's own columns count bytes."""
    return len(line.encode()[:count].decode(errors="ignore"))


def prompt(fence: Fence, row: str) -> int:
    """How many characters stand before the code in a row of a fence: the prompt of a pycon one."""
    found = PROMPT.match(row) if fence.kind == "example" else None
    return found.end() if found is not None else 0


def executed_rows(page: Page) -> list[str]:
    """The rows of the file that a page's code is compiled from: those of its executed fences at their lines, else blank."""
    fences = [step for step in page.steps if isinstance(step, Fence) and step.runs]
    rows = ["\n"] * max((fence.code_line + fence.code.count("\n") for fence in fences), default=0)
    for fence in fences:
        for line, row in enumerate(fence.code.split("\n"), fence.code_line):
            rows[line - 1] = row[prompt(fence, row) :] + "\n"
    return rows


def _rebound(tree: ast.Module, frame: Mapping[str, Any], code: str) -> tuple[str, int, int] | None:
    """The first name of the frame that the block's top level binds, with row and column from 0."""
    for node in (node for statement in tree.body for node in _top_level(statement)):
        for name in _bound(node):
            if name in frame:
                return name, node.lineno - 1, characters(code.split("\n")[node.lineno - 1], node.col_offset)
    return None


def bound_names(code: str) -> set[str]:
    """Names that a block's top level would bind; none if it does not parse."""
    try:
        tree = parsed(code)
    except SyntaxError:
        return set()
    return {name for statement in tree.body for node in _top_level(statement) for name in _bound(node)}


def _top_level(tree: ast.AST) -> list[Any]:
    """The nodes that bind in the page's own namespace."""
    found: list[Any] = [tree]
    if isinstance(tree, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
        return found
    if isinstance(tree, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        return [node.target for node in ast.walk(tree) if isinstance(node, ast.NamedExpr)]
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
    if isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)):
        return [node.name] if node.name else []
    if isinstance(node, ast.MatchMapping):
        return [node.rest] if node.rest else []
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
    failures: list[Failure] = []
    changed: list[str] = []
    with names.showing(frame, changed):
        for example in examples:
            failure = _judge_example(example, block, names, frame)
            if failure is not None:
                failures.append(failure)
    failures += block.loud
    if changed:
        said = {"claim": fence.code.split("\n")[0], "message": f"示例{_changed(changed)}"}
        failures.append(Failure(block.path, fence.line, fence.column, "example", **said))
    return len(examples), failures


def _judge_example(
    example: doctest.Example, block: Block, names: Namespace, frame: Mapping[str, Any]
) -> Failure | None:
    claim = example.source.strip()
    taken = _rebound_by(example, frame)
    if taken is not None:
        return block.failure("example", example.lineno, 0, claim=claim, message=f"示例{_taken(taken)}")
    got, error = _run_example(example, block, names)
    block.printed.append(Printed(example.lineno, got, error is not None))
    if refused(error):
        return None
    if out_of_memory(error):
        said = {"claim": claim, "actual": got.strip(), "message": f"{MEMORY}：{got.strip()}"}
        raise Stopped(block.failure("memory", example.lineno, example.indent, **said)) from None
    if isinstance(error, SystemExit):
        message = "示例调用了退出；页面里的代码不能结束进程"
        return block.failure("exit", example.lineno, 0, claim=claim, actual=got.strip(), message=message)
    written = example.want if example.exc_msg is None else example.exc_msg
    first = claim.splitlines()[0]
    said = {"claim": claim, "expected": written.strip(), "actual": got.strip()}
    if example.exc_msg is not None and error is None:
        message = f"示例 {first} 应当抛出 {written.strip()}，却没有异常"
        return block.failure("example", example.lineno, 0, **said, message=message)
    wrong = compare_output(written, got)
    if wrong is None and error is not None and example.exc_msg is None:
        message = f"示例 {first} 抛出 {got.strip()}；预期的异常要写出 Traceback 一行"
        return block.failure("example", example.lineno, 0, **said, message=message)
    if wrong is None:
        return None
    line, column, want_part, got_part = wrong
    message = f"示例 {first} 的输出不是 {want_part}，而是 {got_part}"
    if not written.strip():
        return block.failure("example", example.lineno, 0, **said, message=message)
    above = example.source.count("\n") + example.want.count("\n") - written.count("\n")
    return block.failure("example", example.lineno + above + line, example.indent + column, **said, message=message)


def _rebound_by(example: doctest.Example, frame: Mapping[str, Any]) -> str | None:
    try:
        tree = parsed(example.source)
    except SyntaxError:
        return None  # running it says so
    taken = _rebound(tree, frame, example.source)
    return taken[0] if taken is not None else None


def _run_example(example: doctest.Example, block: Block, names: Namespace) -> tuple[str, BaseException | None]:
    stream = Captured(block.path, block.output_limit)
    torch.set_printoptions(profile="default")
    try:
        tree = ast.parse(example.source, block.path, "single")
        ast.increment_lineno(tree, block.fence.code_line - 1 + example.lineno)
        with redirect_stdout(stream), redirect_stderr(stream):
            code = compile(tree, block.path, "single", dont_inherit=True)
            try:
                exec(code, names)
            finally:
                look()
    except (TimeUp, Stopped):
        raise
    except BaseException as error:
        return traceback.format_exception_only(error)[-1], error
    finally:
        block.listen(stream)
    return stream.getvalue(), None


def compare_output(written: str, actual: str) -> tuple[int, int, str, str] | None:
    """The first difference: (line from 0, column from 0, what is written, what came); None if there is none.

    Text is compared as text but for white space at line ends and before numbers; a number with a point by the digits
    written.
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
    if _wording(written) != _wording(actual) or len(ours) != len(theirs):
        shared = zip(written, actual, strict=False)
        return next((index for index, (a, b) in enumerate(shared) if a != b), min(len(written), len(actual)))
    for mine, other in zip(ours, theirs, strict=True):
        if not _same_number(mine.group(), other.group()):
            return mine.start()
    return None


def _wording(line: str) -> str:
    """A line without its numbers, nor how many blanks align them: that depends on how many digits are written."""
    return re.sub(r"[ \t]+(?=#)", " ", NUMBER.sub("#", line))


def _same_number(written: str, actual: str) -> bool:
    """Digits after the point say how exact a number is meant; one without any, as torch prints ``1.``, is exact."""
    if "e" not in written.lower() and not written.partition(".")[2]:
        return written == actual
    if "." not in actual and "e" not in actual.lower():
        return False  # an integer printed where a float was written
    number = Scalar("float", written, 0, float(written))
    return abs(number.exact - Fraction(actual)) <= number.half_unit
