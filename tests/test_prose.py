"""Blanks, punctuation and terms of the Chinese text, by the rules in ``.autocorrectrc``."""

from __future__ import annotations

import re
from pathlib import Path

import autocorrect_py
import pytest

from tsformers.reading.page import Span, scan

ROOT = Path(__file__).parents[1]
TEXTS = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
FRONT = re.compile(r"\A---\n.*?^---\n", re.MULTILINE | re.DOTALL)
HAN = re.compile(r"[\u4e00-\u9fff]")
autocorrect_py.load_config((ROOT / ".autocorrectrc").read_text(encoding="utf-8"))  # once: loading adds up


def found(text: str) -> list[tuple[int, int, str, str]]:
    """Line, column, what stands there and what should; names in the front matter are not prose."""
    prose = FRONT.sub(lambda match: "\n" * match[0].count("\n"), text)
    lines = [(line.line, line.col, line.old, line.new) for line in autocorrect_py.lint_for(prose, "md").lines]
    return [*lines, *beside_code(text)]


def beside_code(text: str) -> list[tuple[int, int, str, str]]:
    """Han characters that touch inline code, which AutoCorrect leaves alone in Markdown."""
    touching = []
    for span in (step for step in scan(text).steps if isinstance(step, Span)):
        opening, closing = text.rfind("`", 0, span.start), text.find("`", span.end) + 1
        before, code, after = text[opening - 1 : opening], text[opening:closing], text[closing : closing + 1]
        if HAN.match(before) or HAN.match(after):
            right = before + " " * bool(HAN.match(before)) + code + " " * bool(HAN.match(after)) + after
            touching.append((span.line, span.column, before + code + after, right))
    return touching


@pytest.mark.parametrize("file", TEXTS, ids=lambda file: file.relative_to(ROOT).as_posix())
def test_blanks_punctuation_and_terms(file: Path) -> None:
    name = file.relative_to(ROOT).as_posix()
    wrong = [
        f"{name}:{line}:{column}: {old} → {new}" for line, column, old, new in found(file.read_text(encoding="utf-8"))
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("宽度是d_model。", "宽度是 d_model。"),
        ("先相加,再归一化。", "先相加，再归一化。"),
        ("这里用跳跃连接。", "这里用残差。"),
        ("`x`与它相加。", "`x` 与它相加。"),
    ],
)
def test_what_is_wrong_is_found(text: str, right: str) -> None:
    ((line, _, _, new),) = found(f"---\nreads: [与a]\n---\n# 题\n\n{text}\n")
    assert line == 6 and new.strip() in right


def test_code_and_shapes_are_left_alone() -> None:
    assert found('# 题\n\n形状 `x (8, 6, 16)`，公式 $a,b$。\n\n```python\nprint("和:", x)  # 先a后b\n```\n') == []
