"""Formulas: ``$…$`` within a line and ``$$…$$`` as a block of its own become MathML when the page is built.

The browser draws MathML itself, so a page needs no script and no font from elsewhere. A formula that cannot be
converted stops the build: it is never shown half right.
"""

from __future__ import annotations

import re
from functools import lru_cache
from xml.etree.ElementTree import Element, SubElement

from markdown import Markdown
from markdown.blockprocessors import BlockProcessor
from markdown.extensions import Extension
from markdown.inlinepatterns import InlineProcessor
from math_core import LatexError, LatexToMathML

# No blank just inside the dollars, no digit just after them: "$5 与 $6" stays text, 矩阵$X$是 is a formula.
INLINE = r"(?<![\\$])\$(?![\s$])((?:\\.|[^\\$\n])+?)(?<!\s)\$(?![\d$])"
BLOCK_OPENING = re.compile(r"^ {0,3}\$\$", re.MULTILINE)
BLOCK = re.compile(r"^ {0,3}\$\$((?:\\.|[^\\$])+)\$\$[ \t]*(?:\n|$)", re.MULTILINE)

# Markdown's own processors around ours: code spans (190) come first, so a dollar in code is code; backslash escapes
# (180) come later, so a backslash in a formula is LaTeX. Blocks: before the paragraph (10) and the lists, after the
# fences, which SuperFences takes out of the text before any block is looked at.
INLINE_PRIORITY = 185
BLOCK_PRIORITY = 79

LARGEST = 1000  # braces and commands: the converter calls itself for each, and its stack ends at some 4,000


class FormulaError(ValueError):
    """A formula that LaTeX would not accept; the message holds the formula and, where known, the column in it."""


@lru_cache(maxsize=4096)
def to_mathml(latex: str, *, block: bool) -> str:
    """MathML of one formula, without the dollars.

    Raises:
        FormulaError: the formula is empty, has a command that is not known, or does not parse.
    """
    try:
        if not latex.strip():
            raise FormulaError("公式是空的")
        if latex.count("{") + latex.count("\\") > LARGEST:
            raise FormulaError(f"公式 {latex.strip()[:40]!r}… 太大：括号和命令合计不能超过 {LARGEST} 个")
        return LatexToMathML(fancy_error=False).convert_with_local_state(latex.strip(), displaystyle=block)
    except LatexError as error:
        raise FormulaError(f"公式 {latex.strip()!r} 无法转换：{error}") from error


class InlineFormula(InlineProcessor):
    def handleMatch(self, m: re.Match[str], data: str) -> tuple[Element, int, int]:  # type: ignore[override]  # noqa: N802
        element = Element("span", {"class": "formula"})
        element.text = self.md.htmlStash.store(to_mathml(m.group(1), block=False))
        return element, m.start(0), m.end(0)


class BlockFormula(BlockProcessor):
    def test(self, parent: Element, block: str) -> bool:
        return bool(BLOCK_OPENING.search(block))

    def run(self, parent: Element, blocks: list[str]) -> None:
        block = blocks.pop(0)
        formula = BLOCK.search(block)
        opening = BLOCK_OPENING.search(block)
        if formula is None or opening is None or opening.start() < formula.start():
            raise FormulaError(f"$$ 没有成对，或公式里有空行：{block.strip()!r}")
        if before := block[: formula.start()].rstrip("\n"):
            self.parser.parseBlocks(parent, [before])
        element = SubElement(parent, "div", {"class": "formula"})
        element.text = self.parser.md.htmlStash.store(to_mathml(formula.group(1), block=True))
        if after := block[formula.end() :].lstrip("\n"):
            blocks.insert(0, after)


class FormulaExtension(Extension):
    """Python-Markdown extension ``tsformers.reading.formulas``; it has no options."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802
        md.registerExtension(self)
        if "$" not in md.ESCAPED_CHARS:
            md.ESCAPED_CHARS.append("$")
        md.inlinePatterns.register(InlineFormula(INLINE, md), "formula", INLINE_PRIORITY)
        md.parser.blockprocessors.register(BlockFormula(md.parser), "formula", BLOCK_PRIORITY)


def makeExtension(**options: object) -> FormulaExtension:  # noqa: N802
    return FormulaExtension(**options)
