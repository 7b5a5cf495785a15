"""Shape comments are claims: ``# [B, L, H, E]`` in quoted source is compared with the recorded tensor."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from tsformers.reading.blocks import Block
from tsformers.reading.claims import FormulaError, evaluate_axis
from tsformers.reading.failure import Failure
from tsformers.reading.record import Quote
from tsformers.reading.statements import Function, Node
from tsformers.reading.trace import Recording

COMMENT = re.compile(r"#\s*\[([\w*+\-/ ,]*)\]\s*$")
ANNOTATION = re.compile(r"\w+\[\s*(?:\w+\.)?Tensor\s*,\s*[\"']([^\"']*)[\"']\s*\]")


@dataclass(frozen=True)
class ShapeComment:
    line: int  # physical line of the comment in the source
    node: Node
    slots: tuple[str, ...]
    text: str


def shape_comments(function: Function) -> list[ShapeComment]:
    """The shape comments of a function: a trailing one speaks of its statement, one on its own line of the next."""
    found = []
    lines = function.lines
    for number in range(function.tree.lineno, (function.tree.end_lineno or function.tree.lineno) + 1):
        match = COMMENT.search(lines[number - 1])
        if match is None:
            continue
        alone = not lines[number - 1][: match.start()].strip()
        nodes = [
            node
            for node in function.nodes
            if (node.tree.lineno > number if alone else node.tree.lineno <= number <= node.header_end)
        ]
        if nodes:
            node = nodes[0] if alone else nodes[-1]
            slots = tuple(slot.strip() for slot in match[1].split(",") if slot.strip())
            found.append(ShapeComment(number, node, slots, match.group().strip()))
    return found


def check_comments(
    block: Block, quote: Quote, recordings: Sequence[Recording | None], axes: Sequence[Mapping[str, int]]
) -> tuple[int, list[Failure]]:
    """Compare the shape comments of a quoted piece; how many there are, and those that do not hold."""
    first = recordings[0]
    if first is None:
        return 0, []
    count, failures = 0, []
    for comment in shape_comments(first.function):
        code_rows = block.fence.code.split("\n")
        rows = [row for row, line in enumerate(quote.lines) if line == comment.line]
        nearby = [row for row, line in enumerate(quote.lines) if line == comment.node.tree.lineno]
        if not rows and not nearby:
            continue
        count += 1
        above = [row for row in range(nearby[0] if nearby else 0) if code_rows[row].strip() == comment.text]
        row = (rows or above[-1:] or nearby)[0]
        code = code_rows[row]
        column = code.find(comment.text) if comment.text in code else len(code) - len(code.lstrip())
        for case, recording in enumerate(recordings):
            wrong = _wrong(comment, recording, axes[case]) if recording is not None else None
            if wrong is not None:
                expected, actual, message = wrong
                where = "" if case == 0 else f"（配置 {case}）"
                said = {"claim": comment.text, "expected": expected, "actual": actual, "message": message + where}
                failures.append(block.failure("comment", row, column, **said))
                break
    return count, failures


def _wrong(comment: ShapeComment, recording: Recording, axes: Mapping[str, int]) -> tuple[str, str, str] | None:
    """What is written, what is, and a sentence; None if the comment holds each time the statement ran."""
    letters = _annotated(recording)
    for event in recording.events:
        if event.kind != "after" or event.statement != comment.node.number:
            continue
        name, tensor = _tensor(comment.node, event.state, recording)
        if tensor is None:
            return ", ".join(comment.slots), "没有张量", f"形状注释 {comment.text} 所在的语句没有绑定或返回张量"
        frame = {key: value for key, value in event.state.items() if type(value) is int}
        known = {**axes, **letters, **frame}
        try:
            expected = tuple(int(slot) if slot.isdigit() else evaluate_axis(slot, known, {}) for slot in comment.slots)
        except FormulaError as error:
            return ", ".join(comment.slots), str(tuple(tensor.shape)), f"形状注释 {comment.text}：{error.message}"
        actual = tuple(tensor.shape)
        if expected != actual:
            return str(expected), str(actual), _sentence(comment, name, expected, actual)
    return None


def _sentence(comment: ShapeComment, name: str, expected: tuple[int, ...], actual: tuple[int, ...]) -> str:
    text = f"形状注释 {comment.text} 说 {name} 是 {expected}，实际是 {actual}"
    if len(expected) == len(actual):
        differ = [i for i, (a, b) in enumerate(zip(expected, actual, strict=True)) if a != b]
        if len(differ) == 2 and expected[differ[0]] == actual[differ[1]] and expected[differ[1]] == actual[differ[0]]:
            return f"{text}：轴 {differ[0]} 与轴 {differ[1]} 写反了（axes swapped: {differ[0]}↔{differ[1]}）"
    return text


def _tensor(node: Node, state: Mapping[str, Any], recording: Recording) -> tuple[str, torch.Tensor | None]:
    """The first tensor that a statement binds or returns."""
    if isinstance(node.tree, ast.Return):
        value = (recording.returned or {}).get("return")
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, torch.Tensor):
                return "return", part
        return "return", None
    for inner in ast.walk(node.tree):
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
            value = state.get(inner.id)
            if isinstance(value, torch.Tensor):
                return inner.id, value
    return "", None


def _annotated(recording: Recording) -> dict[str, int]:
    """Letters of the function's own jaxtyping annotations, bound by the arguments of the call."""
    letters: dict[str, int] = {}
    arguments = recording.function.tree.args
    state = recording.events[0].state
    for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]:
        annotation = ast.unparse(argument.annotation) if argument.annotation is not None else ""
        match = ANNOTATION.search(inspect.cleandoc(annotation))
        tensor = state.get(argument.arg)
        if match is None or not isinstance(tensor, torch.Tensor):
            continue
        names = match[1].split()
        if len(names) == tensor.dim():
            for name, size in zip(names, tensor.shape, strict=True):
                if re.fullmatch(r"[A-Za-z_]\w*", name) and name != "_":
                    letters.setdefault(name, size)
    return letters
