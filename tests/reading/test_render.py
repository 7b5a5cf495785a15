"""A page with every container, through the renderer and a real MkDocs build."""

from __future__ import annotations

import re
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest

from tests.reading.checking import MIXER, check
from tsformers.reading.claims import parse
from tsformers.reading.record import Evidence, OpaqueValue, TensorValue
from tsformers.reading.render import Site, documented, render
from tsformers.reading.show import proof

ROOT = Path(__file__).resolve().parents[2]
X = TensorValue((2, 3), "float64", None)
MODULE = OpaqueValue("Norm", "Norm(\n  (inner): Part()\n)")

PAGE = """# 混合层

## 1 在父层中的位置

## 2 I/O 接口

```python exec="1" source="above" result="text"
from tests.reading.sample_toys import mixer

toy = mixer()
scores_, total_ = toy.call(*toy.args)
print(tuple(scores_.shape))
```

## 3 顺序图

## 4 语义分组图

## 5 逐步

### 5.0 完整源码

### 5.1 归一（`d_model = 4`）

```python
B, L, D = x.shape
y = x = self.norm(x)
```

| 名字 | 形状 |
| --- | --- |
| 归一后 | `x (2, 3, 4) = (B, L, d_model)` |

> 引用里的 `y is x`。

!!! note "提示 `L = 3`"

    缩进里的 `x.shape = (2, 3, 4)`，还有一段：

    ```python
    outs = []
    ```

    `outs = []`

=== "甲"

    标签里的 `self.norm.eps = 1e-05`。

    ```python exec="1"
    print("**粗**")
    ```

=== "乙"

    1. 列表里的 `x.dim() == 3`

       ```python
       scores = y @ x.transpose(1, 2)
       ```

       `y @ x.transpose(1, 2) (2, 3, 3) = (B, L, L)`

```pycon
>>> 1 + 1
2
```

<!--
```python exec="1"
1 / 0
```
-->

````markdown
```python exec="1"
print("示例，不运行")
```
````

```python
return scores, total
```

`return[0] (2, 3, 3)`

## 6 下钻

## 7 结构图
"""


@pytest.fixture(scope="module")
def checked():
    found = check(PAGE)
    assert found.failures == []
    return found


def test_every_claim_gets_a_key_just_after_its_span(checked):
    rendered = render(checked.page, checked.reading, Site(), "s0")
    keys = re.findall(r'`\{ data-tsf="(s0-c\d+)" \}', rendered.markdown)
    assert sorted(keys) == sorted(rendered.proofs)
    assert len(keys) == sum(e.kind == "claim" for e in checked.reading.evidence.values()) == 10


def test_front_matter_is_left_out_and_prose_is_left_alone(checked):
    rendered = render(checked.page, checked.reading, Site(), "s0")
    assert "reads:" not in rendered.markdown
    plain = re.sub(r'\{ data-tsf="[^"]*" \}', "", rendered.markdown)
    for line in PAGE.splitlines():
        if line and not line.lstrip().startswith(("```", "#")):
            assert line in plain


def test_a_slug_leaves_the_claims_of_a_heading_out(checked):
    rendered = render(checked.page, checked.reading, Site(), "s0")
    assert "{ #51-归一 }" in rendered.markdown


def test_a_proof_says_what_was_evaluated_and_where(checked):
    rendered = render(checked.page, checked.reading, Site(), "s0")
    shape = next(p for p in rendered.proofs.values() if "轴名在 3 组配置上成立" in p and p.startswith("x = "))
    assert "(2, 3, 4)" in shape and "Mixer.forward 第" in shape


@pytest.mark.parametrize(
    ("claim", "evidence", "said"),
    [
        ("y is x", Evidence("claim", (("y", X), ("x", X)), (True,)), "同一个对象：是"),
        ("y is not x", Evidence("claim", (("y", X), ("x", X)), (True,)), "同一个对象：不是"),
        ("y is None", Evidence("claim", (("y", None), ("None", None)), (True,)), "y = None"),
        ("y is not None", Evidence("claim", (("y", MODULE), ("None", None)), (True,)), "y = Norm(…)"),
        ("y == x", Evidence("claim", (("y", X), ("x", X)), (None,)), "6 个数全部成立"),
        ("y < 1e-12", Evidence("claim", (("y", 0.5), ("1e-12", 1e-12)), (None,)), "y = 0.5000"),
        (
            "return is x",
            Evidence("claim", (("return", X), ("x", X)), (True,), subject=0),
            "同一个对象：是；M.f 的返回值",
        ),
        ("n = 3", Evidence("claim", (("n", 3),), subject=0), "n = 3；进入 M.f 时"),
        ("n = 3", Evidence("claim", (("n", 3),), subject=0, line=7), "n = 3；M.f 第 7 行之后"),
    ],
)
def test_a_proof_says_what_a_comparison_means(claim, evidence, said):
    assert proof(parse(claim), evidence, "M.f" if evidence.subject == 0 else "") == said


@pytest.mark.parametrize(
    ("name", "linked"),
    [
        ("package.layers.Encoder.forward", "package.layers.Encoder.forward"),
        ("package.layers.Encoder._scores", "package.layers.Encoder"),
        ("package._inner.Encoder.forward", "package"),
    ],
)
def test_a_card_of_a_private_method_links_its_class(name, linked):
    assert documented(name) == linked


@pytest.fixture(scope="module")
def html(tmp_path_factory):
    """The page's HTML, from a strict MkDocs build with the site's own Markdown extensions."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "docs").mkdir()
    (folder / "docs" / "index.md").write_text(MIXER + PAGE, encoding="utf-8")
    (folder / "pyproject.toml").write_text("[tool.tsformers.reading]\n", encoding="utf-8")
    config = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    extensions = re.search(r"^markdown_extensions:\n(?: .*\n)+", config, re.MULTILINE)
    assert extensions is not None
    text = "site_name: t\ntheme: {name: material, font: false}\nplugins: [markdown-exec, tsformers-reading]\n"
    (folder / "mkdocs.yml").write_text(text + extensions.group(), encoding="utf-8")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    run = subprocess.run(command, cwd=folder, env=_environment(), capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    return (folder / "site" / "index.html").read_text(encoding="utf-8")


def _environment():
    import os

    return {**os.environ, "PYTHONPATH": str(ROOT), "NO_MKDOCS_2_WARNING": "1"}


def test_every_verified_claim_reaches_the_reader(html, checked):
    shown = re.findall(
        r'<code class="claim" tabindex="0"[^>]* data-proof="[^"]+" aria-description="[^"]+">([^<]*)</code>', html
    )
    claims = [
        step.text
        for index, step in enumerate(checked.page.steps)
        if index in checked.reading.evidence and checked.reading.evidence[index].kind == "claim"
    ]
    assert sorted(map(unescape, shown)) == sorted(claims)
    assert "data-tsf" not in html


def test_every_quote_is_a_card_with_its_real_line_numbers(html):
    source = (ROOT / "tests/reading/sample_toys.py").read_text(encoding="utf-8").splitlines()
    numbers = [int(n) for n in re.findall(r'class="tsf-line" data-n="(\d+)"', html)]
    assert source.index("        outs = []") + 1 in numbers
    assert html.count('class="tsf-step"') >= 5


def test_blocks_show_their_source_and_the_recorded_output(html):
    assert "scores_" in html and "(2, 3, 3)" in unescape(re.sub(r"<[^>]+>", "", html))
    assert "<strong>粗</strong>" in html


def test_what_is_hidden_or_shown_as_an_example_is_not_run(html):
    text = unescape(re.sub(r"<[^>]+>", "", html))
    assert 'python exec="1"\nprint("示例，不运行")' in text


def test_every_derived_part_stands_under_its_heading(html):
    order = [html.index(f'<h2 id="{slug}') for slug in ("1-", "2-", "3-", "4-", "5-", "6-", "7-")]
    assert order == sorted(order)
    for begin, end in ((2, 3), (3, 4), (6, None)):
        part = html[order[begin] : order[end] if end else None]
        assert "<svg" in part, begin
    assert "aria-current" in html[order[0] : order[1]]
    assert "<table" in html[order[1] : order[2]]
    assert "本页" in html and "重新计算了" in html


def test_nothing_is_fetched_from_another_host(html):
    links = re.findall(r'(?:src|href)="(https?:)?//([^/"]+)', html)
    assert {host for _, host in links} <= {"squidfunk.github.io"}, links  # Material's own credit, a link
