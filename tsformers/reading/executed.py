"""Which statements of a package a run executes, also those of functions that no page reads."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from tsformers.reading.statements import Function, functions_in, number_statements, parsed


def executed_lines(run: Callable[[], object], folder: str) -> dict[CodeType, set[int]]:
    """The lines that ``run`` executes in each function of the files below ``folder``, by the function's code."""
    seen: dict[CodeType, set[int]] = {}

    def inside(frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            seen[frame.f_code].add(frame.f_lineno)
        return inside

    def calls(frame: FrameType, event: str, _: Any) -> Any:
        code = frame.f_code
        if not code.co_filename.startswith(folder) or code.co_name.startswith(("<", "__")):
            return None
        seen.setdefault(code, set())
        return inside

    before = sys.gettrace()
    sys.settrace(calls)
    try:
        run()
    finally:
        sys.settrace(before)
    return seen


def executed_statements(lines: dict[CodeType, set[int]]) -> list[tuple[Function, list[int]]]:
    """Each function that ran, in the order of files and lines, with the numbers of its statements that did.

    A statement ran if a line of it did, of a compound one the header's or anything inside.
    """
    found = []
    for code, ran in sorted(lines.items(), key=lambda item: (item[0].co_filename, item[0].co_firstlineno)):
        function = _function(code)
        if function is None:
            continue
        numbers = {
            node.number
            for node in function.nodes
            if any(node.tree.lineno <= line <= node.header_end for line in ran)
        }  # fmt: skip
        for node in reversed(function.nodes):
            if node.number in numbers and node.block[0] >= 0:
                numbers.add(node.block[0])
        found.append((function, sorted(numbers)))
    return found


def _function(code: CodeType) -> Function | None:
    file = Path(code.co_filename)
    if not file.is_file():
        return None
    text, module = parsed(file)
    for tree, owner in functions_in(module):
        first = min([tree.lineno, *(decorator.lineno for decorator in tree.decorator_list)])
        if tree.name == code.co_name and first == code.co_firstlineno:
            return Function(
                f"{owner}.{tree.name}" if owner else tree.name, file, tree, owner, text, number_statements(tree)
            )
    return None
