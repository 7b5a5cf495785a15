"""Diagrams are XML, carry their text and a description in words, and follow the source's data flow."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.reading import show_records as records
from tsformers.reading.record import Call, Subject, Variable
from tsformers.reading.show import Section, groups, sequence, structure, svg
from tsformers.reading.show.flow import flow, reads

ROOT = Path(__file__).parents[2]
SUBJECT = records.subject()
CALL = records.layer()
SECTIONS = [
    Section("5.1", "注意力残差块", (records.RESIDUAL, records.NORM), (records.code(43, 44), records.code(45))),
    Section("5.2", "FFN 残差块（`d_model = 16` 先变宽）", (records.WIDEN, records.NARROW),
            (records.code(46), records.code(47))),
    Section("5.3", "合并与返回", (records.SKIPPED, records.RETURN), (records.code(49), records.code(50))),
]  # fmt: skip
QUOTES = (records.RESIDUAL, records.NORM, records.WIDEN, records.NARROW, records.RETURN)
DIAGRAMS: dict[str, Callable[[], str]] = {
    "sequence": lambda: sequence(CALL),
    "groups": lambda: groups(SECTIONS, CALL),
    "structure": lambda: structure(CALL, SUBJECT, QUOTES),
}


def parts(html: str) -> tuple[ElementTree.Element, list[str]]:
    figure = ElementTree.fromstring(html)
    return figure, ["".join(label.itertext()) for label in figure.iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.parametrize("draw", DIAGRAMS.values(), ids=DIAGRAMS.keys())
def test_a_diagram_is_xml_in_one_block_and_always_the_same(draw: Callable[[], str]) -> None:
    html = draw()
    figure, labels = parts(html)
    assert html == draw()
    assert "\n" not in html
    assert figure.tag == "figure" and figure.get("role") == "img"
    assert labels
    assert "http" not in html.replace("http://www.w3.org/2000/svg", "")


@pytest.mark.parametrize("draw", DIAGRAMS.values(), ids=DIAGRAMS.keys())
def test_every_colour_is_one_that_the_style_sheet_maps(draw: Callable[[], str]) -> None:
    colours = set(re.findall(r"#[0-9A-Fa-f]{6}\b", draw()))
    style = (ROOT / "docs/assets/reading.css").read_text(encoding="utf-8")
    assert {colour for colour in colours if f'[fill="{colour}"]' not in style} == set()


def test_ids_of_two_diagrams_do_not_meet() -> None:
    texts = [draw() for draw in DIAGRAMS.values()]
    ids = [name for text in texts for name in re.findall(r'\bid="([^"]*)"', text)]
    assert len(ids) == len(set(ids))


def test_the_sequence_tells_who_was_called_with_what() -> None:
    figure, labels = parts(sequence(CALL))
    for label in ("EncoderLayer", "attentionAttentionLayer", "conv1Conv1d", "queries, keys, values (8, 6, 16)"):
        assert label in labels
    label = figure.get("aria-label", "")
    assert "1. 把 queries, keys, values (8, 6, 16) 交给 attention（AttentionLayer），得到 (8, 6, 16), None" in label
    assert "4. 把 (8, 16, 6) 交给 conv1（Conv1d），得到 (8, 64, 6)" in label
    assert label.endswith("最后返回 (8, 6, 16), None。")


def test_a_call_that_calls_nothing_has_no_sequence() -> None:
    assert "没有顺序图" in sequence(CALL.children[1])


def test_groups_are_the_sections_and_edges_the_variables() -> None:
    figure, labels = parts(groups(SECTIONS, CALL))
    assert {"5.1 注意力残差块", "5.2 FFN 残差块", "5.3 合并与返回"} <= set(labels)
    label = figure.get("aria-label", "")
    assert "x (8, 6, 16) 从 输入 到 new_x, attn, x：attention → dropout" in label
    assert "y (8, 64, 6) 从 y：conv1 → dropout 到 y：conv2 → dropout" in label
    assert "x (8, 6, 16) 从 y, x：norm1 到 返回：norm2" in label
    assert "tau" not in label.split("数据流")[1]


def test_a_quoted_loop_shows_its_parts_once_and_the_input_flows_into_it() -> None:
    x = records.tensor(8, 6, 16)
    call = Call("m.E.forward", "E", "e", 0, (("x", x, None),), x, (None,), ())
    calls = (part("e.layers.0", 3, x), part("e.layers.1", 3, x))
    wrote = (Variable("x", x, True, x, None),)
    branch = records.quote(1, 0, wrote=wrote)
    whole = records.quote(2, 3, wrote=wrote, calls=calls)
    passes = [records.quote(3, wrote=wrote, calls=calls, passes=2, chosen_pass=number) for number in (1, 2)]
    body = "x = layer(x)"
    texts = ("if self.more is None:\n    ...", "for layer in self.layers:\n    x = layer(x)")
    label = parts(groups([Section("1", "循环", (branch, whole), texts)], call))[0].get("aria-label", "")
    assert "x (8, 6, 16) 从 输入 到 x：layers.0–1" in label
    label = parts(groups([Section("1", "循环", tuple(passes), (body, body))], call))[0].get("aria-label", "")
    assert "从 输入 到 x：layers.0 ；x (8, 6, 16) 从 x：layers.0 到 x：layers.1 " in label


def test_parallel_calls_are_joined_and_a_piece_without_modules_says_what_it_does() -> None:
    x = records.tensor(8, 6, 16)
    wrote = (Variable("q", None, False, x, None), Variable("k", None, False, x, None))
    split = records.quote(1, 2, wrote=wrote, calls=(part("e.f", 1, x), part("e.g", 2, x)))
    view = records.quote(3, wrote=(Variable("q", x, True, x, None),))
    end = records.quote(4, returned=Variable("return", None, False, x, None))
    texts = ("q = self.f(q)\nk = self.g(k)", "q = q.view(2, -1)", "return q + k")
    label = parts(groups([Section("1", "拆", (split, view, end), texts)]))[0].get("aria-label", "")
    assert "从 q, k：f、g 到 q：q.view " in label
    assert "从 q：q.view 到 返回：q + k " in label


def test_a_variable_flows_only_within_its_function() -> None:
    x = records.tensor(8, 6, 16)
    calls = [Call(f"m.M.{name}", "M", "", 0, (("x", x, None),), x, (None,), ()) for name in ("outer", "inner")]
    outer = records.quote(1, wrote=(Variable("y", None, False, x, None),))
    inner = records.quote(9, subject=1, returned=Variable("return", None, False, x, None))
    sections = [Section("1", "外", (outer,), ("y = self.inner(x)",)), Section("2", "里", (inner,), ("return x + y",))]
    label = parts(groups(sections, *calls))[0].get("aria-label", "")
    assert "x (8, 6, 16) 从 M.outer 输入 到 y：inner ；" in label
    assert "x (8, 6, 16) 从 M.inner 输入 到 返回：x + y ；(8, 6, 16) 从 返回：x + y 到 M.inner 返回 。" in label
    assert "y (8, 6, 16) 从" not in label


def test_a_piece_that_did_not_run_says_so_and_is_cut_at_a_word() -> None:
    text = "for attn_layer, conv_layer in zip(self.attn_layers, self.conv_layers):\n    ..."
    _, labels = parts(groups([Section("1", "分支", (records.quote(1, 0, executed=False),), (text,))]))
    assert "未执行for attn_layer, conv_layerin …" in labels


def test_a_title_has_no_halo_in_a_colour_of_its_own_and_search_leaves_the_drawing_out() -> None:
    figure, labels = parts(groups(SECTIONS, CALL))
    assert labels.count("5.1 注意力残差块") == 1
    assert "color-mix" not in groups(SECTIONS, CALL)
    assert figure.get("data-search-exclude") == ""
    assert not list(figure.iter("figure"))[1:]  # search would take its end for that of the outer one


def test_a_page_without_quotes_has_no_groups() -> None:
    assert "没有语义分组图" in groups([Section("5.1", "空", (), ())])


def edges(call: Call, subject: Subject) -> list[str]:
    graph = flow(call, subject)
    labels = {node.key: node.label for node in graph.nodes}
    return [f"{labels[start]} -> {labels[end]} {shape}".strip() for start, end, shape in graph.edges]


def test_residual_edges_come_from_the_source() -> None:
    assert edges(CALL, SUBJECT) == [
        "x -> attention (8, 6, 16)",
        "attention -> dropout (8, 6, 16)",
        "x -> + (8, 6, 16)",
        "dropout -> + (8, 6, 16)",
        "+ -> norm1",
        "norm1 -> transpose(-1, 1) (8, 6, 16)",
        "transpose(-1, 1) -> conv1",
        "conv1 -> activation (8, 64, 6)",
        "activation -> dropout",
        "dropout -> conv2 (8, 64, 6)",
        "conv2 -> transpose(-1, 1) (8, 16, 6)",
        "transpose(-1, 1) -> dropout",
        "norm1 -> + (8, 6, 16)",
        "dropout -> + (8, 6, 16)",
        "+ -> norm2",
        "norm2 -> 返回 (8, 6, 16)",
    ]


def test_quotes_give_shapes_to_operations() -> None:
    figure, _ = parts(structure(CALL, SUBJECT, QUOTES))
    assert "+ (8, 6, 16) 进入 norm1" in figure.get("aria-label", "")


def small(source: str, *children: Call, inputs: tuple[str, ...] = ("x",)) -> list[str]:
    x = records.tensor(2, 3, filled=False)
    call = Call("m.A.forward", "A", "a", 0, tuple((name, x, None) for name in inputs), x, (None,), children)
    return edges(call, Subject("", "m.A.forward", "a", "m.py", 1, source, call, ()))


def part(path: str, line: int, output: object = None, function: str = "m.P.forward") -> Call:
    value = records.tensor(2, 3, filled=False) if output is None else output
    return Call(function, "P", path, line, (), value, (None,), ())  # type: ignore[arg-type]


def test_the_parts_of_a_loop_are_one_box() -> None:
    source = "def forward(self, x):\n    for i, part in enumerate(self.parts):\n        x = part(x)\n    return x\n"
    assert small(source, part("a.parts.0", 3), part("a.parts.1", 3)) == [
        "x -> parts.0 … parts.1 (2, 3)",
        "parts.0 … parts.1 -> 返回 (2, 3)",
    ]


def test_members_of_a_returned_tuple_are_followed_apart() -> None:
    pair = (records.tensor(2, 3, filled=False), records.tensor(5, filled=False))
    source = "def forward(self, x):\n    a, b = self.split(x)\n    return self.one(a), self.two(b)\n"
    assert small(source, part("a.split", 2, pair), part("a.one", 3), part("a.two", 3))[1:3] == [
        "split -> one (2, 3)",
        "split -> two (5,)",
    ]


def test_a_method_of_the_layer_is_a_part() -> None:
    source = "def forward(self, x):\n    n = x.shape[0]\n    return self.inner(x, n) * self.scale\n"
    assert small(source, part("a", 3, function="m.A.inner")) == [
        "x -> inner (2, 3)",
        "inner -> × scale (2, 3)",
        "× scale -> 返回",
    ]


def test_an_operation_says_its_settings_and_what_leads_nowhere_is_left_out() -> None:
    source = 'def forward(self, x, y):\n    print(y)\n    return einsum("ab,ab->a", x, x).mean(0, keepdim=self.keep)\n'
    assert small(source, inputs=("x", "y")) == [
        "x -> einsum(ab,ab->a) (2, 3)",
        "einsum(ab,ab->a) -> mean(0, keepdim=keep)",
        "mean(0, keepdim=keep) -> 返回",
    ]


def test_names_that_a_piece_reads() -> None:
    assert reads("y = x + self.f(z)") == {"x", "self", "z"}
    assert reads("x += y") == {"x", "y"}
    assert reads("for a in b:\n    ...") == {"b"}
    assert reads("def f(x):") == set()


def test_what_is_no_diagram_is_an_error() -> None:
    with pytest.raises(ValueError):
        svg("nothing that mermaid knows", "无")


def test_special_characters_survive_in_labels() -> None:
    odd = Call("m.A.forward", 'A<"b">', "a", 0, (), None, (None,), (part("a.x;y#z", 1),))
    _, labels = parts(sequence(odd))
    assert {'A<"b">', "x;y#zP"} <= set(labels)
