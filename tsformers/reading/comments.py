"""Shape comments are claims: ``# [B, L, H, E]`` in the source that a page reads is compared with the recorded tensor.

All comments of a function read are compared, quoted or not, on every configuration of every toy of the page. A
trailing comment speaks of the first tensor that its statement binds or returns, in a signature of the first tensor
among the parameters of its row; one on a line of its own speaks of the next statement.

A letter is an integer local of that name, else an axis of the function's own jaxtyping annotations (bound by the
arguments, else by what is returned, and the same through the call), else an axis of the toy.

A statement without a comment must keep shapes: what it binds anew (or changes in place) is as long as it was under
that name before; and where the first tensor that it binds had no tensor under that name before, it is as long as the
statement's first operand. Two things are no operands: a tensor that is only asked (``x.shape``, ``x.device``), and the
arguments of a module, or of a module's method, whose call is the whole value: ``out = self.inner(x)`` gives what that
one's own signature says, which may differ from one inner module to the next. Installed packages are read, not written, so nothing is asked
of statements there.
"""

from __future__ import annotations

import ast
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from tsformers.reading.blocks import Block
from tsformers.reading.claims import FormulaError, evaluate_axis
from tsformers.reading.comment_text import ShapeComment, bound, first_operand, letters_of, shape_comments
from tsformers.reading.failure import Failure
from tsformers.reading.page import Fence, Page
from tsformers.reading.record import Quote
from tsformers.reading.snapshot import Snapshot
from tsformers.reading.statements import Function, Node
from tsformers.reading.trace import Recording


@dataclass(frozen=True)
class Run:
    """A function read, in one configuration of one toy: its recorded call and the toy's axes."""

    toy: str
    case: int
    recording: Recording
    axes: Mapping[str, int]

    @property
    def where(self) -> str:
        parts = [f"玩具 {self.toy}"] if self.toy else []
        return f"（{'，'.join([*parts, *([f'配置 {self.case}'] if self.case else [])])}）" if parts or self.case else ""

    @cached_property
    def letters(self) -> dict[str, int]:
        events = self.recording.events
        return letters_of(self.recording.function, events[0].state, self.recording.returned)

    def known(self, state: Mapping[str, Any]) -> dict[str, int]:
        """What each letter means at a moment."""
        frame = {key: value for key, value in state.items() if type(value) is int}
        return {**self.axes, **self.letters, **frame}

    def moments(self, node: Node) -> Iterator[tuple[Snapshot, Snapshot]]:
        """The states before and after each execution of a statement, of a compound one's header."""
        events = self.recording.events
        for index, event in enumerate(events):
            if event.statement == node.number and event.kind == ("enter" if node.compound else "after"):
                yield events[index - 1].state, event.state


@dataclass(frozen=True)
class Wrong:
    """A comment that does not hold, or is missing: what it says, what is, a sentence."""

    expected: str
    actual: str
    message: str


def check_comments(
    page: Page, quotes: Mapping[int, Quote], functions: Sequence[Function], runs: Sequence[Sequence[Run]]
) -> tuple[int, list[Failure]]:
    """Compare the shape comments of all functions read; how many there are, and what does not hold.

    ``runs`` is parallel to ``functions``. A function read twice is compared in both calls, its comments count once.
    """
    together: dict[tuple[Path, int], list[int]] = {}
    for number, function in enumerate(functions):
        together.setdefault((function.file, function.tree.lineno), []).append(number)
    count, failures = 0, []
    for numbers in together.values():
        function = functions[numbers[0]]
        found = [run for number in numbers for run in runs[number]]
        comments = shape_comments(function)
        count += len(comments)
        for comment in comments:
            wrong = next((said for run in found if (said := _wrong(comment, run)) is not None), None)
            if wrong is not None:
                failures.append(_failure(page, quotes, numbers, wrong, comment.text, comment.line, comment.first))
        if installed(function.file):
            continue
        commented = {comment.node.number for comment in comments if comment.node is not None}
        for node in function.nodes:
            missing = None if node.number in commented else _missing(node, found)
            if missing is not None:
                text = function.excerpt(node).split("\n")[0]
                failures.append(_failure(page, quotes, numbers, missing, text, node.tree.lineno, node.tree.lineno))
    return count, failures


def installed(file: Path) -> bool:
    """Whether a file belongs to an installed package or to Python itself."""
    folders = [Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib")]
    return bool({"site-packages", "dist-packages"} & set(file.parts)) or any(
        file.is_relative_to(folder) for folder in folders
    )


def _failure(
    page: Page, quotes: Mapping[int, Quote], numbers: Sequence[int], wrong: Wrong, text: str, line: int, first: int
) -> Failure:
    """At the comment in the first quote that shows it, else at its statement there, else at the line of ``reads:``."""
    said = {"claim": text, "expected": wrong.expected, "actual": wrong.actual, "message": wrong.message}
    near: tuple[Block, int, int] | None = None
    for index, quote in quotes.items():
        fence = page.steps[index]
        if not isinstance(fence, Fence) or quote.construction or quote.subject not in numbers:
            continue
        rows = fence.code.split("\n")
        shown = [row for row, physical in enumerate(quote.lines) if physical == line and text in rows[row]]
        if not shown:
            begun = [row for row, physical in enumerate(quote.lines) if physical == first]
            shown = [row for row in range(begun[0] if begun else 0) if rows[row].strip() == text][-1:]
            if begun and near is None:
                near = (Block(fence, page.path), begun[0], len(rows[begun[0]]) - len(rows[begun[0]].lstrip()))
        if shown:
            return Block(fence, page.path).failure("comment", shown[0], rows[shown[0]].index(text), **said)
    if near is not None:
        return near[0].failure("comment", near[1], near[2], **said)
    row, column = page.front.places.get(f"reads.{numbers[0]}", (1, 1))
    said["message"] += f"（源码第 {line} 行，本页没有引用）"
    return Failure(page.path, row, column, "comment", **said)


def _wrong(comment: ShapeComment, run: Run) -> Wrong | None:
    """What is wrong with a comment in a run; None if it holds each time that its statement ran."""
    written = ", ".join(comment.slots)
    if comment.node is None and not comment.parameters:
        return Wrong(written, "没有语句", f"形状注释 {comment.text} 的这一行没有语句或参数")
    for name, tensor, state in _tensors(comment, run):
        if tensor is None:
            return Wrong(written, "没有张量", f"形状注释 {comment.text} 所在的语句没有绑定或返回张量")
        actual = tuple(tensor.shape)
        try:
            known = run.known(state)
            expected = tuple(
                int(slot) if slot.isdecimal() else evaluate_axis(slot, known, {}) for slot in comment.slots
            )
        except FormulaError as error:
            return Wrong(written, str(actual), f"形状注释 {comment.text}：{error.message}{run.where}")
        if expected != actual:
            return Wrong(str(expected), str(actual), _sentence(comment, name, expected, actual) + run.where)
    return None


def _tensors(comment: ShapeComment, run: Run) -> Iterator[tuple[str, torch.Tensor | None, Snapshot]]:
    """The tensor that a comment speaks of, each time; None where there is none."""
    if comment.node is None:
        state = run.recording.events[0].state
        yield *_first([(name, state.get(name)) for name in comment.parameters]), state
        return
    for _, state in run.moments(comment.node):
        if isinstance(comment.node.tree, ast.Return):
            returned = run.recording.returned
            value = returned["return"] if returned is not None else None
            parts = value if isinstance(value, (tuple, list)) else (value,)
            yield *_first([("return", part) for part in parts]), state
        else:
            yield *_first(bound(comment.node, state)), state


def _first(named: Sequence[tuple[str, Any]]) -> tuple[str, torch.Tensor | None]:
    return next(((name, value) for name, value in named if isinstance(value, torch.Tensor)), ("", None))


def _sentence(comment: ShapeComment, name: str, expected: tuple[int, ...], actual: tuple[int, ...]) -> str:
    text = f"形状注释 {comment.text} 说 {name} 是 {expected}，实际是 {actual}"
    if len(expected) != len(actual):
        return f"{text}：秩不同，{len(expected)} 与 {len(actual)}"
    differ = [i for i, (a, b) in enumerate(zip(expected, actual, strict=True)) if a != b]
    if len(differ) == 2 and expected[differ[0]] == actual[differ[1]] and expected[differ[1]] == actual[differ[0]]:
        return f"{text}：轴 {differ[0]} 与轴 {differ[1]} 写反了（axes swapped: {differ[0]}↔{differ[1]}）"
    return text


def _missing(node: Node, runs: Sequence[Run]) -> Wrong | None:
    """A change of shape that no comment says."""
    for run in runs:
        for before, after in run.moments(node):
            changed = _change(node, before, after)
            if changed is None:
                continue
            name, what, old, new = changed
            hint = f"# [{', '.join(_letters(node, name, len(new), runs))}]"
            return Wrong(
                hint, str(new),
                f"{name} 的形状是 {new}，{what} 是 {old}：形状变了的语句要有形状注释，如 {hint}{run.where}",
            )  # fmt: skip
    return None


Change = tuple[str, str, tuple[int, ...], tuple[int, ...]]  # name, what it was compared with, both shapes


def _change(node: Node, before: Snapshot, after: Snapshot) -> Change | None:
    tensors = [(name, value) for name, value in bound(node, after) if isinstance(value, torch.Tensor)]
    in_place = [] if node.compound else [(n, v) for n, v in after.items() if isinstance(v, torch.Tensor)]
    for name, tensor in dict([*tensors, *in_place]).items():
        old = before.get(name)
        if isinstance(old, torch.Tensor) and old.shape != tensor.shape:
            return name, "此前", tuple(old.shape), tuple(tensor.shape)
    if tensors and not isinstance(before.get(tensors[0][0]), torch.Tensor):
        name, tensor = tensors[0]
        text, operand = first_operand(node, before)
        if operand is not None and operand.shape != tensor.shape:
            return name, f"首个运算对象 {text}", tuple(operand.shape), tuple(tensor.shape)
    return None


def _letters(node: Node, name: str, rank: int, runs: Sequence[Run]) -> list[str]:
    """For each axis a letter that is as long wherever the statement ran, else its length in the first run."""
    moments = [
        (tensor.shape, run.known(after))
        for run in runs
        for _, after in run.moments(node)
        if isinstance(tensor := after.get(name), torch.Tensor) and tensor.dim() == rank
    ]
    shape, known = moments[0]
    found = []
    for axis in range(rank):
        fits = [
            letter
            for letter in reversed(known)
            if all(letter in names and names[letter] == size[axis] for size, names in moments)
        ]
        found.append(fits[0] if fits else str(shape[axis]))
    return found
