"""Naked numbers: what is an error, what is a name, at which place."""

from __future__ import annotations

import pytest

from tsformers.reading.naked import bare, full_width, naked_numbers, used_exceptions
from tsformers.reading.page import scan

HEAD = "---\ntoy: a.b:c\nreads: [a.b.C.forward]\n---\n"


def found(body: str, head: str = HEAD) -> list[str]:
    page = scan(head + body, "page.md")
    assert page.problems == ()
    failures = naked_numbers(page)
    lines = page.text.splitlines()
    for failure in failures:
        assert lines[failure.line - 1][failure.column - 1 :].startswith(failure.claim)
        assert failure.kind == "naked"
    return [failure.claim for failure in failures]


@pytest.mark.parametrize(
    ("body", "claims"),
    [
        ("共有 16 维", ["16"]),
        ("共有16维", ["16"]),
        ("共有１６维", ["１６"]),
        ("均值是 0.50，方差是（0.25）。", ["0.50", "0.25"]),
        ("形状 (8, 6, 16) 不变", ["(8, 6, 16)"]),
        ("形状（8，6，d_model）不变", ["（8，6，d_model）"]),
        ("从 8×6×16 变来", ["8×6×16"]),
        ("误差 1.0e-09 很小", ["1.0e-09"]),
        ("准确率 93.5%", ["93.5%"]),
        ("d_model=16 太大", ["16"]),
        ("Linear(16→64)", ["16", "64"]),
        ("# 5.2 升到 64 维", ["64"]),
        ("- 第一项有 3 个", ["3"]),
        ("| 名字 | 值 |\n|---|---|\n| 头数 | 2 |", ["2"]),
        ("[共 7 步](x.md)", ["7"]),
        ("![有 12 条线的图](x.png)", ["12"]),
        ('!!! note "共 9 个"\n    内容', ["9"]),
        ("<figure>\n<figcaption>共 11 条</figcaption>\n</figure>", ["11"]),
        ("> 引文说有 512 维", ["512"]),
        ("`x` 有 3 个", ["3"]),
        ("$d_{ff}=64$", ["64"]),
        (r"$W \in \mathbb{R}^{6\times 8}$", ["6", "8"]),
        (r"$W\in {\mathbb{R}}^{6\times 8}$", ["6", "8"]),
        (r"$$0.3 \times x_1 + 10$$", ["0.3", "10"]),
        ("Informer.py:102 行", ["102"]),
        ("长度 2048 的序列", ["2048"]),
        ("这代表 8 个通道", ["8"]),
        ("一个 3.11 的值", ["3.11"]),
        ("第 3 层、步骤 4", ["3", "4"]),
        ("[[04A#标题|有 4 步]]", ["4"]),
        ("概率 02 · 05，共 02 个，02 · 1.5 倍", ["02", "05", "02", "02", "1.5"]),
        ("Loss 是 2016 步后的", ["2016"]),
        ("跑 2000 步", ["2000"]),
        ("x (8,6,16) 与 (8,128)", ["(8,6,16)", "(8,128)"]),
        ("共 1,024 个，8, 16", ["1,024", "8", "16"]),
        ("取 [8] [16] 与 x[3][4]", ["8", "16", "3", "4"]),
        ("# Q 与 16", ["16"]),
        ("- 步长 3，窗长 5", ["3", "5"]),
        ("共 16，用 L3 的 8 个", ["16", "8"]),
        ("“16”与《32》、16。", ["16", "32", "16"]),
        ("从 16 到 64", ["16", "64"]),
        ("从16→64", ["16", "64"]),
        ("-0.5 与 −0.5", ["-0.5", "−0.5"]),
        ("Linear(16, 16) 的输出", ["(16, 16)"]),
        ("图 3 个", ["3"]),
        ("误差 123456e7 与 1234567f", ["123456e7", "1234567"]),
        ("x17 倍，x2 倍，B32，批 L96，d_model16，head64", ["17", "2", "32", "96", "16", "64"]),
        ("大小 16D", ["16"]),
        ("宽度 Width 2000 与 Width（2000）", ["2000", "2000"]),
        ("共 (2024) 个", ["2024"]),
        ("窗口 2000-12 与 2000-99-99", ["2000", "-12", "2000", "-99", "-99"]),
        ("Windows 16，Material 8，torch 0.04，版本 512，MSE-0.39", ["16", "8", "0.04", "512", "-0.39"]),
        ("共 #16 个，PEP 8 倍，Table 512 行，Layer 3 倍", ["16", "8", "512", "3"]),
        ("# 64 维的输出", ["64"]),
        ("# 2 个头", ["2"]),
        (r"$W \in R^{6\times 8}$", ["6", "8"]),
        ('<img src="x16.png" alt="共 12 条">', ["12"]),
        ('<span title="共 12 条">文</span>', ["12"]),
        ("<pre>\n宽 64\n</pre>", ["64"]),
        ("<div title='共 7 个' markdown>\n\n文\n\n</div>", ["7"]),
        ("[文](x.md \"共 7 步\") 与 ![图](x.png '共 8 步')", ["7", "8"]),
        ('[文][a]\n\n[a]: x.md "共 7 步"', ["7"]),
        ("文\n\n*[FFN]: 宽 64", ["64"]),
        ('# 标题 { title="共 7 步" }', ["7"]),
        ('![图](x.png){ width=300 title="共 7 步" }', ["7"]),
        ("```text\n宽\n高 16\n```", ["16"]),
        ("```\n8 x 6\n```", ["8 x 6"]),
        ("> ```mermaid\n> graph LR\n> a[宽 64]\n> ```", ["64"]),
        ('```python title="共 7 步"\na = 16\n```', ["7"]),
        ('```python exec="1" source="above"\na = 16  # 宽 16，不是 "#"\nb = "# 8"\n```', ["16"]),
        ("```pycon\n>>> a = 16  # 宽 17\n>>> a\n16\n>>> f(\n...     8)  # 高 9\n# 8\n```", ["17", "9"]),
        ('```text why="共 7 步"\n16\n```', ["7"]),
    ],
)
def test_naked(body: str, claims: list[str]) -> None:
    assert found(body) == claims


@pytest.mark.parametrize(
    "body",
    [
        "两个头，六个 patch",
        "`d_model = 16` 与 ``不查 16``",
        "# 5.2 FFN 残差块",
        "# §5.1 宏观逻辑",
        "## 1. 在父层中的位置",
        "## 8 对照",
        "1. 第一\n2. 第二",
        "见 §5.2 与第 3 节、5.3 节，图 2、表 3-1，见图 4，Figure 2，Layer 3，Layer 2B，L0 到 L5，5.x 各节",
        "公式 (3) 与 Eq. (2)",
        "torch 2.13.0、Python 3.11、PyTorch 2.13、版本 1.12、CC BY 4.0、Apache-2.0",
        "Vaswani 等 2017、(Vaswani et al., 2017)、NeurIPS 2021、2023 年 5 月 1 日、2023-05-01、Zhou 等（2021）",
        "《Attention Is All You Need》（2017）与 sha256、bfloat16、PEMS08",
        "arXiv:2211.14730 与 arXiv 2012.07436v3、Time-Series-Library#550、#100、PR 4、issue 12",
        "# 02 · Layer 1：forecast\n见 [01 · 训练步](x.md)、[02 · 5.5 节](x.md)、02-Layer1-forecast",
        "04A、03B1、04A-Layer3-EncoderLayer、[[04A-Layer4#5.2 标题|上一页]]",
        "Conv1d、BatchNorm1d、norm1、conv2、float64、1D 卷积、GPT-2、UTF-8、ETTh1",
        "[源码](https://example.org/a/b#L102-L103) <https://example.org/2> https://example.org/3",
        "![](x16.png){ width=300 }",
        "脚注[^1]\n\n[^1]: 说明",
        "<!-- 16 -->",
        "```python\nx = 16\n```",
        '```text why="别处的输出"\n16\n```',
        '```python exec="1"\na = 16  # 宽 16\n```',
        "````markdown\n16\n````",
        r"$x_1^2 + \frac{1}{2} \sum_{i=1}^{10} a_{12} e^{-12}$",
        r"$$\log_2 x \hspace{12pt} y$$",
        '<div style="width: 30px" markdown>\n\n文字\n\n</div>',
        "提交 4eddbee1 与 a3f09c2",
        "[说明][a12]\n\n[a12]: https://example.org/16",
        "| 页 |\n|---|\n| [[04A\\|上一页]] |",
        "见Zhou 等 2021、Nie et al., 2023（见 Vaswani et al. 2017）",
        "x², ①、½",
    ],
)
def test_not_naked(body: str) -> None:
    assert found(body) == []


def test_the_titles_of_the_front_matter_are_read() -> None:
    head = "---\ntitle: 共 16 个\ndescription: >-\n  宽\n  64\n" + HEAD.removeprefix("---\n")
    assert found("正文", head) == ["16", "64"]


def test_a_digit_written_as_an_entity_is_a_digit() -> None:
    naked = naked_numbers(scan(HEAD + "共 &#49;&#x36; 个 &amp; &nbsp;", "page.md"))
    assert [(failure.line, failure.column, failure.claim) for failure in naked] == [(5, 3, "1"), (5, 8, "6")]


def test_only_on_reading_pages() -> None:
    assert naked_numbers(scan("共有 16 维", "page.md")) == []


def test_exceptions_excuse_exactly_what_they_say_and_are_counted() -> None:
    head = HEAD.removesuffix("---\n") + "numbers:\n  '96': 论文的设定\n  12 分钟: 阅读时间\n---\n"
    body = "长度 96，又是 96，不是 960，也不是 0.96。要 12 分钟。"
    assert found(body, head) == ["960", "0.96"]
    assert used_exceptions(scan(head + body, "page.md")) == {"96": 2, "12 分钟": 1}


def test_an_exception_that_nothing_needs_is_an_error() -> None:
    head = HEAD.removesuffix("---\n") + "numbers: {'96': 论文的设定}\n---\n"
    (failure,) = naked_numbers(scan(head + "没有数", "page.md"))
    assert (failure.kind, failure.line, failure.claim) == ("front-matter", 4, "96")


def test_the_message_says_what_to_do() -> None:
    (failure,) = naked_numbers(scan(HEAD + "形状（8，6，16）", "page.md"))
    assert "`名字 (8, 6, 16)`" in failure.message


@pytest.mark.parametrize(
    "text", ["16", "(8, 6, 16)", "-0.5", "1e-05", "[0.1, 0.2]", "(16,)", "（8，6，16）", "１６", "≈ 0.5", "64%", "8×6"]
)
def test_bare(text: str) -> None:
    assert bare(text)


@pytest.mark.parametrize(
    "text", ["x (8, 6, 16)", "d_model = 16", "x", "None", "True", "…", "x[0, 0]", "eps", "'16'", "e5", "return[0]"]
)
def test_not_bare(text: str) -> None:
    assert not bare(text)


@pytest.mark.parametrize(
    ("text", "half"),
    [
        ("（8，6，16）", "(8, 6, 16)"),
        ("x（8，6，16）", "x (8, 6, 16)"),
        ("x （８，６）", "x (8, 6)"),
        ("eps＝1e－05", "eps=1e-05"),
        ("x (8, 6)", None),
        ("f(2)", None),
    ],
)
def test_full_width(text: str, half: str | None) -> None:
    assert full_width(text) == half


@pytest.mark.parametrize("text", ["十六维", "一百二十八 维", "有 ⁶⁴ 个"])
def test_a_size_that_looks_like_no_number_is_one(text):
    (failure,) = naked_numbers(scan(HEAD + text, "page.md"))
    assert failure.claim in text and "写成声明" in failure.message
    excepted = HEAD.removesuffix("---\n") + f"numbers: {{'{failure.claim}': 论文的设定}}\n---\n"
    assert naked_numbers(scan(excepted + text, "page.md")) == []


@pytest.mark.parametrize("text", ["二维卷积", "x² 与宽²", "两个头，十六层", "`x`² 与 (a+b)²"])
def test_small_numbers_in_words_and_exponents_are_none(text):
    assert naked_numbers(scan(HEAD + text, "page.md")) == []
