"""Links between pages: judged on the files by the command, and on the built HTML by the site."""

from __future__ import annotations

import re

import pytest
from markdown import Markdown

from tsformers.reading.built import Dead, dead_links
from tsformers.reading.extensions import MARKDOWN_EXTENSION_CONFIGS, MARKDOWN_EXTENSIONS
from tsformers.reading.links import with_links
from tsformers.reading.page import read_page, scan
from tsformers.reading.slugs import outline, slug

OTHER = """# 04B · 多头

## 1 自注意力

## 2 缩放（`scale = 0.35`）

## 3 交叉注意力

## 3 交叉注意力

<span id="手写"></span>
"""


@pytest.fixture
def docs(tmp_path):
    """A project with a page to link to, two of one name, an image; and where the page under test will lie."""
    (tmp_path / "pyproject.toml").write_text("[tool.tsformers.reading]\n", encoding="utf-8")
    for name, text in {
        "部分/04B-多头.md": OTHER,
        "甲/01-入口.md": "# 入口\n",
        "乙/01-入口.md": "# 入口\n",
        "图/注意力.svg": "<svg/>",
        "api/encoder.md": "# API\n\n::: package.encoder\n",
    }.items():
        file = tmp_path / "docs" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return tmp_path / "docs"


def dead(docs, text, name="部分/page.md"):
    """(line, column, message, suggestion) of each dead link of a page."""
    file = docs / name
    file.write_text(text, encoding="utf-8")
    (page,) = with_links([read_page(file, given=name)], [file])
    assert all(failure.kind == "link" and failure.path == name for failure in page.problems), page.problems
    return [(f.line, f.column, f.message, f.expected) for f in page.problems]


@pytest.mark.parametrize(
    "link",
    [
        "[页](04B-多头.md)",
        "[页](./04B-多头.md#1-自注意力)",
        "[页](../甲/01-入口.md)",
        "[页](04B-%E5%A4%9A%E5%A4%B4.md#1-%E8%87%AA%E6%B3%A8%E6%84%8F%E5%8A%9B)",
        "[页](<04B-多头.md#2-缩放>)",
        "[页](04B-多头.md#3-交叉注意力_1)",
        "[页](04B-多头.md#手写)",
        "[本页](#标题)",
        "![图](../图/注意力.svg)",
        "[类](../api/encoder.md#package.encoder.Encoder)",
        "[外面](https://example.org/none#no)，<https://example.org>，[信](mailto:a@example.org)",
        "[引用][r]\n\n[r]: 04B-多头.md",
        "[[04B-多头]]，[[04B-多头.md|多头]]，[[部分/04B-多头]]，[[甲/01-入口]]",
        "[[04B-多头#自注意力]]，[[04B-多头#1 自注意力|这里]]，[[04B-多头#缩放]]，[[#标题]]",
        "| 表 |\n|---|\n| [[04B-多头\\|多头]] |",
        "![[注意力.svg]]",
        "`[[没有]]`，`[x](none.md)`\n\n```text\n[x](none.md)\n[r]: none.md\n```\n\n<!-- [x](none.md) -->",
    ],
)
def test_what_is_there_can_be_linked(docs, link):
    assert dead(docs, f"## 标题\n\n{link}\n") == []


@pytest.mark.parametrize(
    ("link", "column", "said", "suggestion"),
    [
        ("见 [页](04B-多投.md)", 7, "没有文件 04B-多投.md；是不是 04B-多头.md", "04B-多头.md"),
        ("见 [页](01-入口.md)", 7, "没有文件 01-入口.md；是不是 ../乙/01-入口.md", "../乙/01-入口.md"),
        ("见 [页](04B-多头)", 7, "没有文件 04B-多头；", "04B-多头.md"),
        ("见 [页](04B-多头.html)", 7, "没有文件", "04B-多头.md"),
        ("见 [页](09-以后写.md)", 7, "尚无此页", ""),
        ("见 [页](04B-多头.md#自注意力)", 16, "04B-多头.md 里没有锚点 #自注意力；", "#1-自注意力"),
        ("见 [页](<04B-多头.md#无>)", 17, "没有锚点 #无", ""),
        ("见 [页](#标提)", 7, "本页没有锚点 #标提；是不是 #标题", "#标题"),
        ("见 [页](04B-多头.md#2-缩放scale-035)", 16, "没有锚点", "#2-缩放"),
        ("见 [页](/甲/01-入口.md)", 7, "不以 / 开头", "../甲/01-入口.md"),
        ("见 [页](../../pyproject.toml)", 7, "在网站的文件夹之外", ""),
        ("见 [页](../甲/)", 7, "没有文件 ../甲/", ""),
        ("见 [页]()", 7, "没有写地址", ""),
        ("![图](../图/注意.svg)", 6, "没有文件", "../图/注意力.svg"),
        ("[引][r]\n\n[r]: none.md", 6, "没有文件 none.md", ""),
        ("见 [[04B-多投]]", 5, "没有叫 04B-多投 的页；是不是 04B-多头", "04B-多头"),
        ("见 [[09-以后写]]", 5, "尚无此页", ""),
        ("见 [[01-入口]]", 5, "叫 01-入口 的有 2 个：乙/01-入口、甲/01-入口", "乙/01-入口"),
        ("见 [[04B-多头#自注意|那里]]", 11, "04B-多头 里没有标题 自注意；", "#自注意力"),
        ("见 [[04B-多头#交叉注意力]]", 11, "有 2 个标题叫 交叉注意力", "#3-交叉注意力"),
        ("见 [[#没有的]]", 5, "本页没有标题 没有的", ""),
        ("![[04B-多头]]", 4, "只能嵌入图片", "[[04B-多头]]"),
    ],
)  # fmt: skip
def test_what_is_not_there_is_red_at_its_place(docs, link, column, said, suggestion):
    ((line, at, message, expected),) = dead(docs, f"## 标题\n\n{link}\n")
    assert (line, at, expected) == (5 if "[r]:" in link else 3, column, suggestion)
    assert said in message


def test_every_link_of_a_page_is_judged_whatever_it_stands_in(docs):
    text = '# [一](1.md)\n\n> [二](2.md)\n\n- [三](3.md)\n\n    !!! note "[四](4.md)"\n\n        [五](5.md)\n'
    assert [(line, column) for line, column, *_ in dead(docs, text)] == [(1, 7), (3, 7), (5, 7), (7, 19), (9, 13)]


def test_another_chinese_heading_above_leaves_a_link_alone(docs):
    link = "[自](04B-多头.md#自注意力) [[04B-多头#自注意力]]\n"
    target = docs / "部分" / "04B-多头.md"
    for above in ("", "## 嵌入\n\n", "## 嵌入\n\n## 位置编码（`d = 4`）\n\n## 又一个 自注意力\n\n"):
        target.write_text(f"# 页\n\n{above}## 自注意力\n", encoding="utf-8")
        assert dead(docs, link) == []
    target.write_text("# 页\n\n## 嵌入\n", encoding="utf-8")
    assert [column for _, column, *_ in dead(docs, link)] == [14, 29]


def test_a_page_that_lies_outside_any_site_is_judged_by_the_files_around_it(tmp_path):
    (tmp_path / "beside").mkdir()
    (tmp_path / "beside" / "a.md").write_text("# 甲\n", encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text("", encoding="utf-8")
    file = tmp_path / "page.md"
    file.write_text("[a](beside/a.md#甲) [b](beside/a.md#乙) [c](beside/c.md) [[page]]\n", encoding="utf-8")
    (page,) = with_links([read_page(file, given="page.md")], [file])
    assert [(f.column, f.actual) for f in page.problems] == [(35, "没有这个锚点"), (43, "没有这个文件")]


HEADINGS = """# 04B · `AttentionLayer`

## 5.2 FFN 残差块

## §6 下钻 ##

### **粗** 与 *斜* 和 _下划线_

### `__init__` 与 d_model

## A & B：甲/乙

## 重复

## 重复

### 给定 { #own }

### 只有类 { .quiet }

## [链接](#own) 与 ![图](x.png)

> ## 引用里的标题

## own

## ！
"""


def site_ids(text):
    """Identifiers of the headings as the site's own Markdown makes them."""
    md = Markdown(extensions=MARKDOWN_EXTENSIONS, extension_configs=MARKDOWN_EXTENSION_CONFIGS)
    return re.findall(r"<h\d[^>]*? id=\"([^\"]*)\"", md.convert(text))


def test_identifiers_are_those_that_the_site_gives():
    assert list(outline(scan(HEADINGS, "page.md")).ids) == site_ids(HEADINGS)


@pytest.mark.parametrize(
    ("title", "identifier"),
    [
        ("5.1 归一（`d_model = 4`）", "51-归一"),
        ("5.2 FFN（`d_model = 16` 先变宽到 `d_ff = 64`）", "52-ffn-先变宽到"),
        ("`view` 与 `x (8, 6)` 的轴", "view-与-的轴"),
        ("公式 $a_b$ 与 [[页#标题|别名]]", "公式--与-别名"),
        ("`y is x`", ""),
    ],
)
def test_a_claim_is_left_out_of_an_identifier_since_its_value_may_change(title, identifier):
    assert slug(title) == identifier


def test_the_built_site_is_followed(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "x y.css").write_text("")
    page = """<link href="../x%20y.css"><a href="#甲">1</a><h2 id="甲">x</h2><a name="old"></a><a href="#old">2</a>
    <a href="../b.html#%E4%B9%99">3</a> <a href="/base/b.html">4</a> <a href="https://example.org/none">5</a>
    <a href="..">6</a><a href="none.html">7</a><img src="none.png"><a href="../b.html#无">8</a><a href="#丙">9</a>
    <svg><use xlink:href="#none"/></svg><a href="">10</a>"""
    (tmp_path / "a" / "p.html").write_text(page, encoding="utf-8")
    (tmp_path / "b.html").write_text('<p id="乙">', encoding="utf-8")
    (tmp_path / "index.html").write_text("", encoding="utf-8")
    assert dead_links(tmp_path, ["a/p.html", "b.html", "index.html"], "/base/") == [
        Dead("a/p.html", "none.html", "a/none.html", ""),
        Dead("a/p.html", "none.png", "a/none.png", ""),
        Dead("a/p.html", "../b.html#无", "b.html", "无"),
        Dead("a/p.html", "#丙", "a/p.html", "丙"),
        Dead("a/p.html", "#none", "a/p.html", "none"),
    ]
