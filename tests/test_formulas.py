"""``$…$`` and ``$$…$$`` to MathML, beside everything else that Markdown does with dollars and backslashes."""

from __future__ import annotations

import re

import pytest
from markdown import Markdown

from tsformers.reading.formulas import FormulaError, to_mathml

EXTENSIONS = ["tsformers.reading.formulas", "pymdownx.superfences", "tables", "admonition", "toc"]


def html(text: str) -> str:
    return Markdown(extensions=EXTENSIONS).convert(text)


def formulas(text: str) -> int:
    return len(re.findall(r"<math\b", html(text)))


@pytest.mark.parametrize(
    "text",
    [
        "矩阵$X$是输入",
        "（$x_i$）：输入",
        "| 列 |\n|---|\n| $x$ |",
        "# 标题 $x$",
        "- 一项 $a \\\\ b$",
        "> 引文 $x$",
        "!!! note\n    正文 $x$",
        "$$\nx = \\frac{1}{2}\n$$",
        "前文\n$$x$$\n后文",
        "- 一项\n\n    $$\n    x\n    $$",
        "$$\n\\begin{aligned} a &= b \\\\ c &< d \\end{aligned}\n$$",
    ],
)
def test_one_formula(text: str) -> None:
    assert formulas(text) == 1
    assert "$" not in html(text)


@pytest.mark.parametrize("text", ["`$x$`", "```text\n$x$ $$y$$\n```", "价格 $5 与 $6", "\\$x\\$", "一个 $ 号"])
def test_no_formula(text: str) -> None:
    assert formulas(text) == 0
    assert "$" in html(text)


def test_block_stands_between_its_neighbours() -> None:
    out = html("前文\n$$x$$\n后文 $y$")
    assert out.index("前文") < out.index('display="block"') < out.index("后文")
    assert formulas("前文\n$$x$$\n后文 $y$\n\n$$z$$") == 3


def test_emphasis_and_escapes_inside_are_latex() -> None:
    assert "<em>" not in html("$a_1 * b_2 * c$")
    thin_space = "a \\, b"
    assert html(f"${thin_space}$") == f'<p><span class="formula">{to_mathml(thin_space, block=False)}</span></p>'


@pytest.mark.parametrize("latex", ["\\foo", "\\frac{1", "a & b", " "])
def test_a_wrong_formula_is_an_error(latex: str) -> None:
    with pytest.raises(FormulaError, match="公式"):
        to_mathml(latex, block=True)


def test_a_formula_too_deep_for_the_converter_is_an_error_not_a_crash() -> None:
    with pytest.raises(FormulaError, match="太大"):
        to_mathml("a_{" * 9000 + "}" * 9000, block=False)


def test_an_unclosed_block_is_an_error() -> None:
    with pytest.raises(FormulaError, match="没有成对"):
        html("$$\nx = 1\n\n后文")
    with pytest.raises(FormulaError, match="foo"):
        html("正文 $\\foo$")
