"""The scanner: every container, with the place of every span and fence in the file as it lies on disk."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tsformers.reading.page import Fence, Page, Span, read_page, scan


def spans(page: Page) -> list[Span]:
    return [step for step in page.steps if isinstance(step, Span)]


def fences(page: Page) -> list[Fence]:
    return [step for step in page.steps if isinstance(step, Fence)]


def check_places(page: Page) -> None:
    """Offsets, lines and columns agree with each other and with the text itself."""
    lines = page.text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for step in page.steps:
        here = lines[step.line - 1][step.column - 1 :]
        if isinstance(step, Span):
            written = page.text[step.start : step.end]
            assert here.startswith(written.splitlines()[0])
            assert step.text.split() == [word for word in written.replace("\\|", "|").split() if word.strip(">")]
            continue
        assert here.startswith(("```", "~~~"))
        assert page.text[step.start] in "`~" and page.text[step.info - 1] == page.text[step.start]
        assert page.text[step.info : step.info_end] == here.lstrip("`~")
        assert page.text[step.start : step.end].endswith(page.text[step.start : step.info])
        assert len(step.margins) == (len(step.code.split("\n")) if step.margins else 0)
        for number, (margin, code) in enumerate(zip(step.margins, step.code.split("\n"), strict=False)):
            assert lines[step.code_line - 1 + number][margin:] == code


CODE = "```python\nx = 1\n\n  y = `2`\n```"


def indented(text: str, prefix: str) -> str:
    return "\n".join(prefix + line if line or prefix.strip() else line for line in text.split("\n"))


CONTAINERS = {
    "plain": f"`a`\n\n{CODE}\n",
    "admonition": f'!!! note "标题 `t`"\n    `a`\n\n{indented(CODE, "    ")}\n',
    "admonition without a blank line": f"!!! note\n{indented(CODE, '    ')}\n\n    `a`\n",
    "details": f"??? tip\n\n    `a`\n\n{indented(CODE, '    ')}\n",
    "open details": f'???+ tip "t"\n    `a`\n\n{indented(CODE, "    ")}\n',
    "tab": f'=== "一"\n\n    `a`\n\n{indented(CODE, "    ")}\n\n=== "二"\n\n    `b`\n',
    "list item": f"- 项 `a`\n\n{indented(CODE, '    ')}\n- 项 `b`\n",
    "ordered item": f"1. 项 `a`\n\n{indented(CODE, '    ')}\n\n2. 项 `b`\n",
    "nested item": f"- 项\n    - 项 `a`\n\n{indented(CODE, '        ')}\n",
    "quote": f"> `a`\n>\n{indented(CODE, '> ')}\n",
    "nested quote": f"> 外\n>\n> > `a`\n> >\n{indented(CODE, '> > ')}\n",
    "callout": f"> [!note] 标题 `t`\n> `a`\n>\n{indented(CODE, '> ')}\n",
    "callout, fence at once": f"> [!tip]- 折叠\n{indented(CODE, '> ')}\n> `a`\n",
    "footnote": f"正文[^n]。\n\n[^n]: 注 `a`\n\n{indented(CODE, '    ')}\n",
    "item in admonition": f"!!! note\n\n    - 项 `a`\n\n{indented(CODE, '        ')}\n",
    "quote in item": f"- 项\n\n    > `a`\n    >\n{indented(CODE, '    > ')}\n",
    "admonition in quote": f"> !!! note\n>     `a`\n>\n{indented(CODE, '>     ')}\n",
    "admonition in tab": f'=== "一"\n\n    !!! note\n\n        `a`\n\n{indented(CODE, "        ")}\n',
    "html with markdown": f"<div markdown>\n\n`a`\n\n{CODE}\n\n</div>\n",
    "after a comment": f"<!-- `no`\n\n```python\nno\n```\n-->\n\n`a`\n\n{CODE}\n",
    "tildes": f"`a`\n\n{CODE.replace('```', '~~~')}\n",
    "five backticks": f"`a`\n\n{CODE.replace('```', '`````')}\n",
    "indented by two": f"`a`\n\n{indented(CODE, '  ')}\n",
}


@pytest.mark.parametrize("name", CONTAINERS)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_every_container(name: str, end: str) -> None:
    page = scan(CONTAINERS[name].replace("\n", end), "page.md")
    assert page.problems == ()
    check_places(page)
    (fence,) = fences(page)
    assert (fence.kind, fence.language, fence.code) == ("quote", "python", "x = 1\n\n  y = `2`")
    assert [span.text for span in spans(page) if span.text not in ("t", "b")] == ["a"]
    assert {span.text for span in spans(page)} == {text for text in "abt" if f"`{text}`" in CONTAINERS[name]}


@pytest.mark.parametrize(
    ("body", "texts"),
    [
        ("`a` 和 `b`，`c`。", ["a", "b", "c"]),
        ("``double ` tick`` 和 `a`", ["a"]),
        (r"转义 \`不是\` 而 `是`", ["是"]),
        (r"反斜杠 `a\` 之后", ["a\\"]),
        ("`y = (\n8, 6)` 之后", ["y = ( 8, 6)"]),
        ("> `y\n> (8, 6)`", ["y (8, 6)"]),
        ("`  blank  `", ["blank"]),
        ("<!-- `no` --> `a`", ["a"]),
        ("行内 <!-- `no` --> `a`", ["a"]),
        ("**`a`** *`b`* [`c`](x.md) ==`d`==", ["a", "b", "c", "d"]),
        ("`$x$` 与 $y$", ["$x$"]),
        ("`<b>` 与 `&amp;` 与 `a && b`", ["<b>", "&amp;", "a && b"]),
        ("| `a` | `b (1, 2)` |\n|---|---|\n| `x \\| y` | `z|w` |", ["a", "b (1, 2)", "x | y", "z|w"]),
        ("# 标题 `a` #\n## `b` {#id}", ["a", "b"]),
        ("````markdown\n```python\nx\n```\n`no`\n````\n`a`", ["a"]),
        ("<div>\n`no`\n</div>\n\n`a`", ["a"]),
        ("<details markdown><summary>`no`</summary>\n\n`a`\n\n</details>", ["a"]),
        ("<figure markdown>\n![](x.png)\n<figcaption markdown>说明 `a`</figcaption>\n</figure>", ["a"]),
    ],
)
def test_spans(body: str, texts: list[str]) -> None:
    page = scan(body, "page.md")
    assert page.problems == ()
    assert [span.text for span in spans(page)] == texts


def test_where_a_span_stands() -> None:
    page = scan("# `h`\n\n`p`\n\n| `t` | b |\n|---|---|\n| a | `u` |\n", "page.md")
    assert [(span.text, span.where) for span in spans(page)] == [
        ("h", "heading"), ("p", "prose"), ("t", "table"), ("u", "table"),
    ]  # fmt: skip


def test_headings() -> None:
    page = scan("# §5.2 FFN `d = 1` {#ffn}\n\n## 1. 在父层中的位置 ##\n### 8 对照\n#### 没有编号\n", "page.md")
    assert [(h.level, h.number, h.title, h.line) for h in page.headings] == [
        (1, "5.2", "FFN `d = 1`", 1),
        (2, "1", "在父层中的位置", 3),
        (3, "8", "对照", 4),
        (4, "", "没有编号", 5),
    ]
    assert all(page.text[h.start : h.end].startswith("#" * h.level + " ") for h in page.headings)


def test_links() -> None:
    body = '[甲](a.md#b "题") ![图](i.png) [[页#标题|别名]] [[页]] `[no](x.md)` ``[[no]]``\n'
    page = scan(body, "page.md")
    assert [(link.kind, link.target, link.text) for link in page.links] == [
        ("link", "a.md#b", "甲"), ("image", "i.png", "图"), ("wiki", "页#标题", "别名"), ("wiki", "页", ""),
    ]  # fmt: skip
    assert all(body[link.column - 1 :].startswith(link.target) for link in page.links)
    assert [body[link.start : link.end] for link in page.links][0] == '[甲](a.md#b "题")'


def test_prose_knows_its_places() -> None:
    page = scan("# 标题 `a`\n\n> 一 $x$ 二\n> 三 [四](五.md)\n", "page.md")
    for prose in page.prose:
        for index, char in enumerate(prose.text):
            assert char in ("\n", "\ufffc") or page.text[prose.offset(index)] == char
    assert [prose.kind for prose in page.prose] == ["heading", "paragraph", "formula"]


def test_the_file_on_disk(tmp_path: Path) -> None:
    """A byte order mark and CRLF change no place; the text keeps its line ends."""
    file = tmp_path / "页.md"
    file.write_bytes(b"\xef\xbb\xbf" + "中 `a`\r\n\r\n```python\r\nx\r\n```\r\n".encode())
    page = read_page(file, given="docs\\页.md")
    assert page.path == "docs/页.md" and page.problems == ()
    assert page.text.startswith("中") and "\r\n" in page.text
    check_places(page)
    assert [(step.line, step.column) for step in page.steps] == [(1, 4), (3, 1)]


@pytest.mark.parametrize(
    ("data", "place", "word"),
    [
        ("行\n均值 `x`".encode("gbk"), (1, 1), "UTF-8"),
        ("行\n".encode() + b"ab\xff", (2, 3), "0xff"),
        (b"ab\n\x00", (2, 1), "NUL"),
    ],
)
def test_files_that_are_no_text(tmp_path: Path, data: bytes, place: tuple[int, int], word: str) -> None:
    file = tmp_path / "page.md"
    file.write_bytes(data)
    (failure,) = read_page(file).problems
    assert (failure.line, failure.column) == place and word in failure.message


def test_the_locale_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_bytes("---\ntitle: 页\n---\n均值 `x ≈ 0.5` 与 `a\n".encode())
    program = "from tsformers.reading.page import read_page; print(ascii(read_page('page.md')))"
    reports = set()
    for locale, mode in [("C", "0"), ("zh_CN.GBK", "0"), ("C.UTF-8", "1")]:
        environment = {**os.environ, "LC_ALL": locale, "PYTHONUTF8": mode, "PYTHONPATH": str(Path.cwd())}
        command = [sys.executable, "-c", program]
        run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=True)
        reports.add(run.stdout)
    assert len(reports) == 1


def test_an_empty_file_is_an_empty_page(tmp_path: Path) -> None:
    file = tmp_path / "page.md"
    file.write_bytes(b"")
    page = read_page(file)
    assert (page.steps, page.problems, page.text) == ((), (), "")


@pytest.mark.parametrize(
    ("body", "place", "word"),
    [
        ("一\n\n```python\nx\n", (3, 1), "没有收尾"),
        ("!!! note\n\n    ```python\n    x\n\n后面 `a`\n", (3, 5), "没有收尾"),
        ("> ```python\n> x\n\n后面\n", (1, 3), "没有收尾"),
        ("- a\n\n    ```python\n  x\n    ```\n", (3, 5), "没有收尾"),
        ("```python\nx\n`````\n", (3, 1), "一样长"),
        ("- ```python\n  x\n  ```\n", (1, 3), "列表符号"),
        ("一\n\n    x = 1\n    y = 2\n", (3, 5), "缩进的代码块"),
        ("- a\n\n            x = 1\n", (3, 13), "缩进的代码块"),
        ("一 <!-- 注\n", (1, 3), "-->"),
        ("一\n\n<!-- 注\n\n`a`\n", (3, 1), "-->"),
        ("一 `a 二\n", (1, 3), "成对"),
        ("标题\n===\n", (2, 1), "标题请用 #"),
        ("文字\n---\n", (2, 1), "标题请用 #"),
        ("<div>\n\n文字\n", (1, 1), "</div>"),
    ],
)
def test_broken_structure(body: str, place: tuple[int, int], word: str) -> None:
    page = scan(body, "page.md")
    first = page.problems[0]
    assert (first.line, first.column) == place and word in first.message and first.kind in ("fence", "name")
    lines = body.split("\n")
    assert first.claim and lines[first.line - 1][first.column - 1 :].startswith(first.claim)
