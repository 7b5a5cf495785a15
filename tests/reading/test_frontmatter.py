"""Front matter: what it holds, what is wrong with it, on which physical line."""

from __future__ import annotations

import pytest

from tsformers.reading.page import FrontMatter, scan

WHOLE = """---
title: 页
toy: tsformers.toy:patchtst
toys:
  trained: tsformers.toy:patchtst_trained
reads:
  - a.b.C.forward @ encoder.attn_layers.0
  - a.b.C.forward #2
terms: [残差]
numbers:
  96: 论文的设定
hide: [toc]
---
正文
"""


def test_a_whole_front_matter() -> None:
    page = scan(WHOLE, "page.md")
    assert page.problems == ()
    assert page.front == FrontMatter(
        toy="tsformers.toy:patchtst",
        toys={"trained": "tsformers.toy:patchtst_trained"},
        reads=("a.b.C.forward @ encoder.attn_layers.0", "a.b.C.forward #2"),
        terms=("残差",),
        numbers={"96": "论文的设定"},
        lines={
            "title": 2, "toy": 3, "toys": 4, "toys.trained": 5, "reads": 6, "reads.0": 7, "reads.1": 8, "terms": 9,
            "terms.0": 9,
            "numbers": 10, "numbers.96": 11, "hide": 12,
        },
        end=WHOLE.index("---\n正文") + 3,
        title="页",
    )  # fmt: skip
    assert page.front.reading


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("lines", "place", "word"),
    [
        (["read: [a.b]", "toy: a.b:c"], (2, 1), "reads"),
        (["toy: a.b:c", "nonsense: 1"], (3, 1), "nonsense"),
        (["toy: [a.b:c]"], (2, 6), "文本"),
        (["toy: a.b.c"], (2, 6), "package.module:function"),
        (["toy: a.b:c", "reads: a.b.C.forward"], (3, 8), "列表"),
        (["toy: a.b:c", "reads:", "  - a.b.C.forward", "  - 1 2"], (5, 5), "dotted.function"),
        (["reads: [a.b.C.forward]"], (2, 8), "toy"),
        (["checked: false"], (2, 10), "why"),
        (["checked: maybe"], (2, 10), "true 或 false"),
        (["why: 因为"], (2, 6), "checked: false"),
        (["toy: a.b:c", "toy: a.b:d"], (3, 1), "两次"),
        (["numbers: [96]"], (2, 11), "理由"),
        (["numbers:", "  96:"], (3, 6), "理由"),
        (["toys: [a.b:c]"], (2, 7), "toys"),
        (["toys:", "  x: 12"], (3, 6), "package.module:function"),
        (["terms: 残差"], (2, 8), "列表"),
        (["toy: a.b:c", "reads: [a"], (4, 1), "YAML"),
        (["- a"], (2, 1), "键和值"),
    ],
)
def test_wrong_front_matter(lines: list[str], place: tuple[int, int], word: str, end: str) -> None:
    page = scan(end.join(["---", *lines, "---", "正文", ""]), "page.md")
    (failure,) = page.problems
    assert (failure.kind, failure.line, failure.column) == ("front-matter", *place)
    assert word in failure.message


def test_unclosed_front_matter() -> None:
    (failure,) = scan("---\ntoy: a.b:c\n\n正文\n", "page.md").problems
    assert (failure.kind, failure.line, failure.column) == ("front-matter", 1, 1)


def test_no_front_matter() -> None:
    assert scan("正文\n\n---\n\n正文\n", "page.md").front == FrontMatter()


def test_checked_false_with_a_reason() -> None:
    page = scan("---\nchecked: false\nwhy: 还在写\n---\n", "page.md")
    assert page.problems == () and (page.front.checked, page.front.why) == (False, "还在写")
