"""Front matter: what it holds, what is wrong with it, on which physical line."""

from __future__ import annotations

import pytest

from tests.reading.checking import check
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
        places={
            "title": (2, 1), "toy": (3, 6), "toys": (4, 1), "toys.trained": (5, 12), "reads": (6, 1),
            "reads.0": (7, 5), "reads.1": (8, 5), "terms": (9, 1), "terms.0": (9, 9),
            "numbers": (10, 1), "numbers.96": (11, 3), "hide": (12, 1),
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
        (["toy: a.b:c", "reads: [a"], (3, 8), "（第 3 行第 8 列）：方括号或花括号没有闭合"),
        (["toy a.b:c", "reads: [a.b]"], (2, 1), "（第 2 行第 1 列）：这一行没有冒号"),
        (["toy:a.b:c", "reads: [a.b]"], (2, 1), "冒号后面没有空格"),
        (["toy a.b:c"], (2, 1), "键和值（key: value）"),
        (["toy: a.b:c", "reads", "  - a.b"], (3, 1), "这一行没有冒号"),
        (["title: a: b"], (2, 9), "多了一个冒号"),
        (["title: 'a", "toy: a.b:c"], (2, 8), "引号没有闭合"),
        (["reads:", "\t- a.b"], (3, 1), "制表符"),
        (["title: *x"], (2, 8), "加引号"),
        (["title: @x"], (2, 8), "加引号"),
        (["title: a\x07b"], (2, 9), "'\\x07'"),
        (["title: 'x' y"], (2, 12), "一行只写一个值"),
        (["title: |x"], (2, 9), "YAML 读不懂这里（expected chomping"),
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


TOY, READ = "tests.reading.sample_toys:mixer", "tests.reading.sample_toys.Mixer.forward"


@pytest.mark.parametrize(
    ("toy", "read", "wrong", "right"),
    [
        ("tests.reading.sample_toys:mixr", READ, "mixr", "mixer"),
        ("tests.reading.sample_toy:mixer", READ, "sample_toy", "sample_toys"),
        ("test.reading.sample_toys:mixer", READ, "reading", ""),  # "test" is a package of Python itself
        ("testss.reading.sample_toys:mixer", READ, "testss", ""),
        (TOY, "tests.reading.sample_toys.Mixer.foward", "foward", "forward"),
        (TOY, "tests.reading.sample_toys.Mixre.forward", "Mixre", "Mixer"),
        (TOY, "torch.nn.Linear.forward @ liner", "liner", "linear"),
        (TOY, "'torch.nn.Linear.forward @ liner'", "liner", "linear"),
    ],
)
def test_a_misspelt_name_is_shown_where_it_stands_with_what_is_there(
    toy: str, read: str, wrong: str, right: str
) -> None:
    front = f"---\ntoy: {toy}\nreads:\n  - {read}\n---\n"
    (failure,) = check("正文", front).failures
    row = front.splitlines()[failure.line - 1]
    assert failure.kind == "front-matter" and row[failure.column - 1 :].startswith(wrong)
    assert failure.claim == wrong
    assert failure.expected == right if right else failure.expected != wrong
    assert (f"{wrong}，是不是 {failure.expected}？" in failure.message) is bool(failure.expected)


def test_a_misspelt_toy_and_a_misspelt_function_are_said_at_once() -> None:
    front = "---\ntoy: tests.reading.sample_toys:mixr\nreads: [tests.reading.sample_toys.Mixer.foward]\n---\n"
    assert [failure.claim for failure in check("正文", front).failures] == ["mixr", "foward"]


def test_a_toy_that_fails_is_shown_where_it_is_written() -> None:
    front = "---\ntoys:\n  other: tests.reading.sample_toys:nothing_of_the_kind\n---\n"
    (failure,) = check("正文", front).failures
    assert (failure.line, failure.column) == (3, 10 + len("tests.reading.sample_toys:"))
