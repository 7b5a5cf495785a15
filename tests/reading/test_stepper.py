"""The stepper and the panel of sizes as HTML: complete without a script, their data in JSON beside it."""

from __future__ import annotations

import json
import re
from xml.etree import ElementTree

import markdown
import pytest

from tests.reading.checking import MIXER, check, front
from tsformers.reading.record import Seen, Step, Subject, TensorValue, ToyRecord
from tsformers.reading.render import Rendered, Site, render
from tsformers.reading.show import size_panel, stepper

Cells = tuple[tuple[float, ...], ...]
OLD: Cells = ((0.5, -1.25),)
NEW: Cells = ((0.5, 2.0),)


def seen(name: str, *shape: int, cells: Cells = (), axes: tuple[str, ...] | None = None) -> Seen:
    return Seen(name, TensorValue(shape, "float64", None), axes, cells)


def subject(*steps: Step) -> Subject:
    return Subject("m.A.forward", "m.A.forward", "", "m.py", 4, "def forward(self, x): ...", None, (), steps=steps)


X, Y = seen("x", 1, 2, cells=OLD, axes=("B*C", "d_model")), seen("x", 1, 2, cells=NEW, axes=("B*C", "d_model"))
STEPS = (
    Step(4, 4, "", writes=((None, X), (None, Seen("mask", None, None)))),
    Step(5, 5, "for k in range(n):", ((1, 2),), True, (Seen("n", 2, None),), (), ((None, Seen("k", 0, None)),)),
    Step(6, 7, "x = f(\n    x < 1 & y)", ((1, 2),), None, (X,), (seen("f(x)", 2, 1, axes=("2", "1")),), ((X, Y),)),
    Step(8, 8, "if mask is not None:", (), False, (Seen("mask", None, None),)),
)
TOY = ToyRecord(
    "t:f",
    {"B": "B", "half": "d_model // 2"},
    ({"B": 2, "d_model": 8, "unused": 3, "stride": 1},),
    ({"B": 2, "half": 4},),
    (("stride >= 1 and B < 9", "stride 至少为 1"),),
)


def parsed(html: str) -> ElementTree.Element:
    return ElementTree.fromstring(html)


def text(element: ElementTree.Element | None) -> str:
    assert element is not None
    return " ".join("".join(element.itertext()).split())


def rows(html: str) -> list[list[str]]:
    return [[text(cell) for cell in row] for row in parsed(html).iterfind(".//tbody/tr")]


def test_the_steps_are_a_table_that_stands_alone() -> None:
    assert rows(stepper(subject(*STEPS))) == [
        ["1", "4", "进入 A.forward", "", "", "x (1, 2) = (B*C, d_model)mask = None"],
        ["2", "5", "for k in range(n):第 1 / 2 轮", "n = 2", "", "k = 0"],
        ["3", "6", "x = f( x < 1 & y)第 1 / 2 轮", "x (1, 2) = (B*C, d_model)", "f(x) (2, 1)", "x (1, 2) = (B*C, d_model)"],
        ["4", "8", "if mask is not None:条件不成立", "mask = None", "", ""],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("number", "names"), [(1, ["s=1", "s=2", "s=3", "s=4"]), (2, ["s=2.1", "s=2.2", "s=2.3", "s=2.4"])]
)
def test_every_step_has_a_link_of_its_own(number: int, names: list[str]) -> None:
    found = parsed(stepper(subject(*STEPS), number))
    assert [row.get("id") for row in found.iterfind(".//tbody/tr")] == names
    assert [link.get("href") for link in found.iterfind(".//tbody//th/a")] == [f"#{name}" for name in names]
    assert [(row.get("data-line"), row.get("data-end")) for row in found.iterfind(".//tbody/tr")][2] == ("6", "7")


def test_each_matrix_stands_once_and_is_pointed_at() -> None:
    found = parsed(stepper(subject(*STEPS)))
    matrices = json.loads(text(found.find("script")))
    assert matrices == [{"shape": [1, 2], "rows": [[0.5, -1.25]]}, {"shape": [1, 2], "rows": [[0.5, 2]]}]
    written = found.findall(".//tbody/tr")[2].findall("td")[-1].find("div")
    assert written is not None
    assert (written.get("data-m"), written.get("data-was"), written.get("data-was-axes")) == ("1", "0", "B*C, d_model")
    assert [shape.get("data-axes") for shape in written.iterfind(".//span[@class='tsf-shape']")] == ["B*C, d_model"]


def test_what_is_no_number_for_json_is_a_text() -> None:
    odd = seen("x", 4, cells=((float("nan"), float("-inf"), True, 1e300),))
    found = parsed(stepper(subject(Step(4, 4, "", writes=((None, odd),)))))
    assert json.loads(text(found.find("script")))[0]["rows"] == [["nan", "-inf", "True", 1e300]]


def test_a_new_shape_stands_after_the_old_one() -> None:
    step = Step(5, 5, "x = f(x)", writes=((X, seen("x", 4)), (Seen("n", 1, None), Seen("n", 2, None))))
    assert rows(stepper(subject(step)))[0][-1] == "x (1, 2) → (4,)n 1 → 2"


def test_a_subject_without_steps_has_no_stepper_and_a_toy_without_sizes_no_panel() -> None:
    assert stepper(subject()) == "" == size_panel(ToyRecord("t:f", {}, ({},), ({},)))


@pytest.mark.parametrize("html", [stepper(subject(*STEPS)), size_panel(TOY)], ids=["stepper", "panel"])
def test_a_part_is_one_block_that_search_and_markdown_leave_alone(html: str) -> None:
    assert "\n\n" not in html
    assert parsed(html).get("data-search-exclude") == ""
    assert markdown.markdown(f"前\n\n{html}\n\n后", extensions=["md_in_html"]) == f"<p>前</p>\n{html}\n\n<p>后</p>"


def test_the_panel_has_a_field_for_each_size_that_a_formula_reads() -> None:
    panel = parsed(size_panel(TOY))
    assert panel.get("hidden") == ""  # until a script makes it work
    fields = {field.get("name"): field.get("value") for field in panel.iter("input")}
    assert fields == {"B": "2", "d_model": "8", "stride": "1"}
    labels = {label.get("for"): text(label) for label in panel.iter("label")}
    assert labels == {"size-B": "B 批大小", "size-d_model": "d_model 模型宽度", "size-stride": "stride"}
    assert [text(item) for item in panel.iter("li")] == ["half = d_model // 2 = 4"]
    assert json.loads(text(panel.find("script"))) == {
        "sizes": {"B": 2, "d_model": 8, "unused": 3, "stride": 1},
        "axes": {"B": "B", "half": "d_model // 2"},
        "conditions": [["stride >= 1 and B < 9", "stride 至少为 1"]],
    }


def rendered(page: str, head: str = MIXER) -> Rendered:
    checked = check(page, head)
    assert checked.failures == []
    return render(checked.page, checked.reading, Site(), "s0")


PAGE = """# 混合层

## 2 I/O 接口

`x (2, 3, 4) = (B, L, d_model)`，`x (2, 3, 4)`，`x (B, L, 4)`。

### 5.0 完整源码

先读一遍。

### 5.1 尺寸

```python
B, L, D = x.shape
```
"""


def test_a_page_has_its_panel_below_the_interface_and_its_steps_at_the_end_of_the_source() -> None:
    page = rendered(PAGE)
    order = re.findall(r'key="s0-([a-z0-9_]+)"|^(#+ .*?) \{|^(先读一遍)', page.markdown, re.MULTILINE)
    told = ["".join(match) for match in order]
    assert told[1:] == [
        "## 2 I/O 接口", "io_table", "sizes", "### 5.0 完整源码", "source", "先读一遍", "steps1", "### 5.1 尺寸", "q3", "foot"
    ]  # fmt: skip
    assert 'id="s=1"' in page.fragments["s0-steps1"]


def test_a_page_without_those_sections_has_the_panel_at_its_end() -> None:
    page = rendered("# 混合层\n\n正文。`x (2, 3, 4)`\n")
    assert page.markdown.index('"s0-sizes"') < page.markdown.index('"s0-foot"')
    assert "s0-steps1" not in page.fragments


def test_a_claim_carries_the_axes_that_it_names() -> None:
    page = rendered(PAGE)
    assert sorted(page.axes.values()) == ["B, L, 4", "B, L, d_model"]


def test_the_second_subject_brings_its_source_along() -> None:
    page = rendered(PAGE, front("mixer", "Mixer.forward", "Mixer.forward"))
    second = page.fragments["s0-steps2"]
    assert 'id="s=2.1"' in second and 'data-prefix="L2-"' in second
    lines = re.findall(r'id="(L2-\d+)"', second)
    assert len(lines) == len(set(lines)) > 10


def test_shapes_of_another_toy_do_not_follow_the_panel() -> None:
    page = 'A\n\n```python toy="one"\nB, L, D = x.shape\n```\n\n`x (2, 3, 4)`\n\n```python\nouts = []\n```\n'
    fragments = rendered(page, front("mixer", "Mixer.forward", one="single")).fragments
    cards = [html for key, html in fragments.items() if key.startswith("s0-q")]
    assert ['data-toy="one"' in html for html in cards] == [True, False]
    page = "## 5 逐段\n\n### 5.1 甲\n\n```python\nB, L, D = x.shape\n```\n\n### 5.2 乙\n\n```python\ny = x * 1\n```\n"
    # No fence names the other toy, but only it calls the second function; the first section's pieces have no shapes.
    head = front("mixer", "Mixer.forward", "Winding.forward", one="winding")
    found = rendered(page, head).fragments
    cards = [html for key, html in found.items() if key.startswith("s0-q")]
    pipelines = [html for key, html in found.items() if key.startswith("s0-p")]
    assert ['data-toy="one"' in html for html in [*cards, *pipelines]] == [False, True, True]


def test_what_is_drawn_of_a_function_that_only_another_toy_calls_does_not_follow_it_either() -> None:
    """Its axes can be such as the panel has never heard of."""
    page = rendered(
        "# 页\n\n## 2 I/O 接口\n\n## 5 逐段\n\n### 5.0 完整源码\n",
        front("mixer", "Mixer.forward", "Winding.forward", one="winding"),
    )
    assert ["data-toy" in page.fragments[f"s0-steps{number}"] for number in (1, 2)] == [False, True]
    second = page.fragments["s0-steps2"]
    assert 0 < second.index('<div data-toy="one">') < second.index("data-axes")
    (table,) = (html for html in page.fragments.values() if "Winding" in html and "Mixer" in html)
    before, after = table.split('<div data-toy="one">')
    assert "data-axes" in before and "data-axes" in after
