"""The guard: the scanner and Python-Markdown must find the same code, and a difference is said at its place."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tsformers.reading.page import Fence, Span, scan


@pytest.mark.parametrize(
    ("body", "place", "kind"),
    [
        # On a code host a list; for Python-Markdown a paragraph, and what follows it indented code.
        ("文字 `a`\n- 项\n\n    再说 `e`\n", (4, 9), "name"),
        ("文字\n- 项\n\n    ```python\n    x\n    ```\n", (4, 5), "fence"),
        # A fence in raw HTML is not seen by the scanner, but SuperFences takes it.
        ("<div>\n```python\nx = 1\n```\n</div>\n", (3, 1), "fence"),
        # Code in an image's text, in a link's target, in a table's superfluous cell is lost.
        ("![`a`](x.png)\n", (1, 4), "name"),
        ("[x](`b`)\n", (1, 6), "name"),
        ("| a | b |\n|---|---|\n| c | d | `z` |\n", (3, 12), "name"),
        # A comment over several paragraphs in an admonition is no comment on the site.
        ("!!! note\n\n    <!-- `a`\n\n    b -->\n", (3, 11), "name"),
        ("文字\n`a\n<!-- b -->`\n", (2, 2), "name"),
        ("公式 $\\nonsense{x}$ 之后\n", (1, 5), "fence"),
    ],
)
def test_a_difference_is_said_at_its_place(body: str, place: tuple[int, int], kind: str) -> None:
    failures = scan(body, "page.md").problems
    assert (failures[0].line, failures[0].column, failures[0].kind) == (*place, kind)


def test_a_wrong_formula_hides_no_other_difference() -> None:
    failures = scan("$\\nonsense$\n\n![`a`](x.png)\n", "page.md").problems
    assert [(failure.line, failure.kind) for failure in failures] == [(1, "fence"), (3, "name")]


def test_broken_structure_is_said_once() -> None:
    """An unclosed fence swallows the rest of the page; the guard adds nothing to that."""
    failures = scan("```python\nx\n\n`a`\n\n![`b`](x.png)\n", "page.md").problems
    assert len(failures) == 1


LEAVES = st.sampled_from(["paragraph", "fence", "tildes", "table", "formula", "comment"])
CONTAINERS = st.sampled_from(["admonition", "details", "tab", "item", "ordered", "quote", "callout"])
TREES = st.recursive(LEAVES, lambda inner: st.tuples(CONTAINERS, st.lists(inner, min_size=1, max_size=3)), max_leaves=8)


class Writer:
    """Writes a tree of containers as Markdown, numbering its code."""

    def __init__(self) -> None:
        self.spans: list[str] = []
        self.fences: list[str] = []

    def span(self) -> str:
        self.spans.append(f"s{len(self.spans)} (2, {len(self.spans)})")
        return f"`{self.spans[-1]}`"

    def write(self, tree: str | tuple) -> list[str]:
        if isinstance(tree, str):
            return self.leaf(tree)
        kind, children = tree
        opening = {
            "admonition": lambda: [f'!!! note "题 {self.span()}"', ""],
            "details": lambda: ["??? tip", ""],
            "tab": lambda: ['=== "一"', ""],
            "item": lambda: [f"- 项 {self.span()}", ""],
            "ordered": lambda: [f"1. 项 {self.span()}", ""],
            "quote": lambda: [],
            "callout": lambda: [f"[!note] 题 {self.span()}"],
        }[kind]()
        inner: list[str] = []
        for child in children:
            inner += [*self.write(child), ""]
        if kind in ("quote", "callout"):
            return [f"> {line}".rstrip() for line in [*opening, *inner[:-1]]]
        return opening + ["    " + line if line else "" for line in inner[:-1]]

    def leaf(self, kind: str) -> list[str]:
        if kind == "paragraph":
            return [f"文字 {self.span()}，**{self.span()}**", f"再一行 {self.span()} ``x`` \\`。"]
        if kind == "table":
            return ["| a | b |", "|---|---|", f"| {self.span()} | {self.span()} |"]
        if kind == "formula":
            return ["$$", "x_1", "+ y", "$$"]
        if kind == "comment":
            return ["<!-- `no` -->"]
        run = "```" if kind == "fence" else "~~~~"
        self.fences.append(f"x = {len(self.fences)}\n\nif x:\n    y = '`no`'")
        return [f"{run}python", *self.fences[-1].split("\n"), run]


@settings(deadline=None, max_examples=300)
@given(st.lists(TREES, min_size=1, max_size=4), st.sampled_from(["\n", "\r\n"]))
def test_any_nesting_of_containers(trees: list, end: str) -> None:
    writer = Writer()
    lines: list[str] = []
    for tree in trees:
        lines += [*writer.write(tree), "", "# 标题", ""]
    page = scan(end.join(lines), "page.md")
    assert page.problems == ()
    spans = [step for step in page.steps if isinstance(step, Span)]
    fences = [step for step in page.steps if isinstance(step, Fence)]
    assert [span.text for span in spans] == writer.spans
    assert [fence.code for fence in fences] == writer.fences
    for span in spans:
        assert lines[span.line - 1][span.column - 1 :].startswith(span.text + "`")
    for fence in fences:
        assert lines[fence.line - 1][fence.column - 1 :] in ("```python", "~~~~python")
        for number, (margin, code) in enumerate(zip(fence.margins, fence.code.split("\n"), strict=True)):
            assert lines[fence.code_line - 1 + number][margin:] == code


@settings(deadline=None, max_examples=300)
@given(st.text(alphabet='ab `~#->|=!?:"[]()<>$\\\n\r\t1.*_{}中（，'))
def test_no_text_makes_it_raise(text: str) -> None:
    page = scan(text, "page.md")
    lines = page.text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for failure in page.problems:
        assert 1 <= failure.line <= len(lines) and 1 <= failure.column <= len(lines[failure.line - 1]) + 1


@pytest.mark.parametrize("text", [">" * 2000 + " a", "- " * 2000 + "a"])
def test_absurd_nesting_is_said(text: str) -> None:
    (failure,) = scan(text, "page.md").problems
    assert "嵌套太深" in failure.message


def test_a_page_of_four_hundred_lines_takes_some_milliseconds() -> None:
    writer = Writer()
    lines: list[str] = []
    while len(lines) < 400:
        for tree in ("paragraph", "fence", "table", ("admonition", ["paragraph", "fence"]), ("quote", ["paragraph"])):
            lines += [*writer.write(tree), ""]
    text = "\n".join(lines)
    scan(text, "page.md")
    times = []
    for _ in range(5):
        start = time.process_time()
        scan(text, "page.md")
        times.append(time.process_time() - start)
    assert min(times) < 0.1, f"{min(times) * 1000:.0f} ms"
