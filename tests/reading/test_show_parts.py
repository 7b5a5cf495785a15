"""Cards, tables and the call tree say what the records hold, and stay one block of HTML."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape
from xml.etree import ElementTree

import markdown
import pytest

from tests.reading import show_records as records
from tsformers.reading.page import FrontMatter, Page, Span
from tsformers.reading.record import Evidence, Output, Reading, Subject, ToyRecord, Variable
from tsformers.reading.show import call_tree, children, footer, io_table, piece, pipeline, source

SUBJECT = records.subject()
HERE = [(records.LAYER, "encoder.attn_layers.0")]
LINKS = {"tsformers.layers.encoder.Encoder.forward": "../encoder/", records.LAYER: "./"}
CALL = records.layer()


def text(html: str) -> str:
    return " ".join(re.sub("<[^>]*>", " ", html).replace("&gt;", ">").split())


def whole_source() -> str:
    pieces = [(records.RESIDUAL, "5.1", "#5-1"), (records.NORM, "5.1", "#5-1"), (records.RETURN, "5.3", "#5-3")]
    return source(SUBJECT, pieces, original=("layers/encoder.py", "https://example.org"), differences="<p>无。</p>")


PARTS: dict[str, Callable[[], str]] = {
    "call_tree": lambda: call_tree(records.tree(), HERE, LINKS, {records.LAYER: 3}),
    "io_table": lambda: io_table(SUBJECT),
    "children": lambda: children(CALL, LINKS),
    "source": whole_source,
    "piece": lambda: piece(records.RESIDUAL, records.code(43, 44), SUBJECT, api_url="../api/", anchor="p43"),
    "return": lambda: piece(records.RETURN, records.code(50), SUBJECT),
    "pipeline": lambda: pipeline([(records.WIDEN, records.code(46)), (records.NARROW, records.code(47))]),
}


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS.keys())
def test_a_part_is_one_block_that_markdown_leaves_alone(part: Callable[[], str]) -> None:
    html = part()
    assert html == part()
    assert "\n\n" not in html
    ElementTree.fromstring(f"<body>{html.replace('<br>', '<br/>')}</body>")
    rendered = markdown.markdown(f"前\n\n{html}\n\n后 *x*", extensions=["tables", "md_in_html"])
    assert rendered == f"<p>前</p>\n{html}\n\n<p>后 <em>x</em></p>"


def test_the_call_tree_opens_the_way_to_this_layer_and_folds_the_rest() -> None:
    tree = ElementTree.fromstring(PARTS["call_tree"]())
    current = tree.findall(".//li[@aria-current='page']")
    assert [item.findtext(".//strong") for item in current] == ["EncoderLayer.forward"]
    folded = [item for item in tree.iter("li") if item.find("details") is not None]
    assert all(item.find("details/summary").get("aria-label").endswith("里的调用") for item in folded)
    assert all(list(summary) == [] for summary in tree.iter("summary"))  # a button, which holds no link
    assert [item.findtext("code") for item in folded] == [
        "patch_embedding",
        "encoder.attn_layers.0.attention",
        "encoder.attn_layers.1",
        "encoder.attn_layers.1.attention",
    ]
    assert {link.get("href"): link.text for link in tree.iter("a")} == {
        "../encoder/": "Encoder.forward",
        "./": "EncoderLayer.forward",  # the second layer, which is another call
    }
    told = text(PARTS["call_tree"]()).replace(" ,", ",")
    assert "L3 EncoderLayer.forward encoder.attn_layers.0 → (8, 6, 16), None" in told
    assert "Dropout dropout → (8, 6, 16) ×2" in text(PARTS["call_tree"]())
    assert "尚无此页" not in PARTS["call_tree"]()


def test_a_call_tree_without_a_page_in_it_folds_only_what_is_all_of_torch() -> None:
    tree = ElementTree.fromstring(call_tree(records.tree(), []))
    assert tree.findall(".//strong") == []
    assert [li.findtext("code") for li in tree.iter("li") if li.find("details") is not None] == ["patch_embedding"]
    assert "encoder.attn_layers.1.attention" in text(PARTS["call_tree"]())


def test_the_input_output_table_holds_shapes_names_and_none() -> None:
    rows = [text(row) for row in re.findall("<tr>.*?</tr>", io_table(SUBJECT))]
    assert rows[1] == "输入 x (8, 6, 16) = ( B * C , patch_num , d_model ) 批大小·通道数 × patch 数 × 模型宽度"
    assert rows[2:5] == ["输入 attn_mask None", "输入 tau None", "输入 delta None"]
    assert rows[5].startswith("输出 return[0] (8, 6, 16)")
    assert rows[6] == "输出 return[1] None"


def test_a_subject_that_was_never_called_has_no_inputs() -> None:
    idle = Subject("f", "m.f", "", "m.py", 1, "def f(): ...", None, ())
    with pytest.raises(ValueError, match=r"m\.f 在本例中没有被调用"):
        io_table(idle)


def test_children_are_linked_or_said_to_have_no_page() -> None:
    rows = [text(row) for row in re.findall("<tr>.*?</tr>", children(CALL, {}))]
    assert rows[1].startswith("AttentionLayer.forward attention queries, keys, values (8, 6, 16)")
    assert rows[1].endswith("尚无此页")
    assert [row.endswith("PyTorch") for row in rows[2:]] == [True] * 6
    assert "Conv1d conv1 (8, 16, 6)" in rows[4] and "(8, 64, 6)" in rows[4]
    linked = children(CALL, {records.ATTENTION: "../attention/"})
    assert '<a href="../attention/">AttentionLayer.forward</a>' in linked
    assert "尚无此页" not in linked


def test_the_source_has_the_numbers_of_the_file_and_leads_to_the_sections() -> None:
    html = whole_source()
    numbers = [int(number) for number in re.findall(r'id="L(\d+)"', html)]
    assert numbers == list(range(records.FIRST_LINE, records.FIRST_LINE + 11))
    plain = re.sub("<[^>]*>", "", html.split("<code>")[2].split("</code>")[0]).replace("§5.1", "").replace("§5.3", "")
    assert unescape(plain) == records.SOURCE.rstrip("\n")
    assert re.findall(r'href="(#[^"]*)"', html) == ["#5-1", "#5-3"]
    assert re.findall(r'tsf-idle" title="在本例中未执行" id="L(\d+)"', html) == ["49"]
    assert '<a href="https://example.org">layers/encoder.py</a>' in html


def test_a_decorated_function_keeps_its_line_numbers() -> None:
    decorated = Subject("f", "m.f", "", "m.py", 8, "@once\ndef f():\n    return 1\n", None, ())
    assert re.findall(r'id="L(\d+)"', source(decorated)) == ["7", "8", "9"]


def test_a_card_shows_lines_place_and_what_was_written() -> None:
    html = PARTS["piece"]()
    assert re.findall(r'data-n="(\d+)"', html) == ["43", "44"]
    assert "encoder.py 第 43–44 行" in html
    assert '<a href="../api/"><code>EncoderLayer.forward</code></a>' in html
    chips = text(html.split("tsf-chips")[1])
    assert "new_x (8, 6, 16) = ( B * C , patch_num , d_model )" in chips
    assert "attn = None" in chips
    assert "x (8, 6, 16) = ( B * C , patch_num , d_model ) 形状不变" in chips
    assert "0.8415" in chips  # sin 1, the first element of what new_x holds


def test_a_changed_shape_shows_both_and_both_values() -> None:
    html = piece(records.WIDEN, records.code(46), SUBJECT)
    assert "y (8, 6, 16) → (8, 64, 6) = ( B * C , d_ff , patch_num )" in text(html)
    assert html.count('<table class="tsf-matrix">') == 2


def test_a_rebound_plain_value_shows_both() -> None:
    quote = records.quote(46, wrote=(Variable("k", 3, True, 4, None), Variable("t", 4, True, 4, None)))
    assert text(piece(quote, records.code(46), SUBJECT)).endswith("k 3 → 4 t = 4")


@pytest.mark.parametrize(
    ("changes", "note"),
    [
        ({"executed": False}, "在本例中未执行"),
        ({"construction": True, "executed": False}, "构造时"),
        ({"passes": 2, "chosen_pass": 2}, "第 2 / 2 轮"),
    ],
)
def test_the_note_of_a_card(changes: dict[str, object], note: str) -> None:
    html = piece(records.quote(46, **changes), records.code(46), SUBJECT)
    assert re.findall(r'tsf-note">([^<]*)', html) == [note]


@pytest.mark.parametrize("name", ["EncoderLayer.forward", "iTransformer.__init__"])
def test_a_card_names_the_class_of_its_function(name: str) -> None:
    html = piece(records.quote(46, constructor=f"package.module.{name}"), records.code(46), SUBJECT)
    assert f"<code>{name}</code>" in html


def test_a_line_without_a_number_is_shown_without_one() -> None:
    html = piece(records.quote(45, 0, 47), "y = x = self.norm1(x)\n...\ny = self.conv2(y)", SUBJECT)
    assert re.findall(r'data-n="(\d*)"', html) == ["45", "", "47"]
    with pytest.raises(ValueError, match="引文有 1 行，行号却有 2 个"):
        piece(records.quote(45, 46), "y = x", SUBJECT)


def test_the_pipeline_of_a_section() -> None:
    assert text(PARTS["pipeline"]()) == "y (8, 6, 16) y (8, 64, 6) y (8, 6, 16)"
    pieces = [(records.NORM, records.code(45)), (records.SKIPPED, records.code(49)), (records.RETURN, records.code(50))]
    assert text(pipeline(pieces)) == "x (8, 6, 16) y (8, 6, 16) return[0] (8, 6, 16)"
    assert pipeline(pieces[1:2]) == ""


def test_a_pipeline_joins_what_one_piece_wrote_and_begins_with_the_frames_own_names() -> None:
    heads = records.tensor(8, 6, 2, 8)
    split = records.quote(43, wrote=tuple(Variable(name, records.X0, True, heads, None) for name in ("q", "k")))
    merge = records.quote(44, wrote=(Variable("out", None, False, records.X0, None),))
    shown = pipeline([(split, "q = self.f(q)\nk = self.g(k)")])
    assert text(shown) == "q (8, 6, 16) 、 k (8, 6, 16) q (8, 6, 2, 8) 、 k (8, 6, 2, 8)"
    assert shown.count("<li>") == 2
    later = pipeline([(merge, "out = self.h(k, q)")], None, [split])
    assert text(later) == "k (8, 6, 2, 8) 、 q (8, 6, 2, 8) out (8, 6, 16)"
    assert text(pipeline([(records.RESIDUAL, records.code(43, 44))], CALL)).startswith("x (8, 6, 16) new_x")


def test_what_a_body_left_out_wrote_is_no_step_of_the_pipeline() -> None:
    loop = records.quote(46, 0, wrote=(Variable("y", records.X2, True, records.HIDDEN, None),))
    assert pipeline([(loop, "for part in self.parts:\n    ...")], CALL) == ""


def test_the_footer_counts_what_was_proven() -> None:
    claims = ["x (8, 6, 16)", "x (8, 6, 16) = (B*C, patch_num, d_model)", "self.f(x) (8, 64, 6) float64", "k = (1,)",
              "y is x", "a[0, 0] ≈ 0.04", "(a - b).abs().max() < 1e-12", "d_model"]  # fmt: skip
    steps = tuple(Span(claim, 0, 0, 1, 1, "prose") for claim in claims)
    page = Page("p.md", "", FrontMatter(), steps, (), ())
    kinds = ["claim"] * 7 + ["name"]
    reading = Reading(
        outputs={20: Output("1")},
        quotes={21: records.WIDEN},
        evidence={index: Evidence(kind) for index, kind in enumerate(kinds)},
        subjects=[SUBJECT],
        toys={"": ToyRecord("t:f", {}, ({}, {}, {}), ({}, {}, {}))},
        versions={"torch": "2.13.0"},
    )
    assert text(footer(reading, page)) == (
        "本页用 torch 2.13.0 重新计算了 3 个形状、4 个数值与关系、1 处源码引用、1 个代码块。"
        "轴名在 3 组配置上成立。本页所读函数执行到的 7 条语句，讲解了 5 条。"
    )
