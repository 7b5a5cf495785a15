"""The vocabulary on the site: every axis has its row, every symbol finds what it says, and nothing is said twice."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from html import unescape
from pathlib import Path

import pytest

from tests.reading import show_records as records
from tests.reading.checking import check
from tsformers.axes import AXES
from tsformers.reading import show
from tsformers.reading.page import Page, scan
from tsformers.reading.record import Call, Reading, ToyRecord
from tsformers.reading.render import Site, render
from tsformers.reading.settings import Settings, load_settings, term_meanings
from tsformers.reading.uses import Use, uses

ROOT = Path(__file__).parents[2]
TOY = ToyRecord(
    "package.toy:patchtst_small",
    {"B": "B", "d_model": "d_model", "patch_num": "seq_len // stride"},
    ({"B": 2, "d_model": 16, "seq_len": 18, "stride": 3},),
    ({"B": 2, "d_model": 16, "patch_num": 6},),
)
WORDS = show.words_of(Reading(toys={"": TOY}))


def text(html: str) -> str:
    return unescape(re.sub(r"<[^>]+>", "", html))


def rows(html: str) -> dict[str, str]:
    """The first table's rows by the code in their first cell, as text."""
    found = re.findall(r'<tr id="axis-(\w+)">(.*?)</tr>', html)
    return {name: text(row) for name, row in found}


def test_the_table_holds_every_axis_with_what_the_vocabulary_says() -> None:
    shown = rows(show.axes_table([TOY]))
    assert list(shown) == [axis.name for axis in AXES]
    for axis in AXES:
        for part in (axis.letter, axis.chinese, axis.english, axis.meaning, axis.unit, *(m for m, _ in axis.papers)):
            assert part in shown[axis.name]


def test_the_sizes_are_those_of_the_toys_with_the_formula_that_gives_them() -> None:
    html = show.axes_table([TOY])
    assert '<th scope="col"><code>patchtst_small</code></th>' in html
    sizes = {text(row).split(" ")[0] for row in re.findall(r'<tr><th scope="row">.*?</tr>', html.split("<p>")[1])}
    assert sizes == {"B2", "d_model16", "patch_num6"}
    assert '6 <code class="tsf-quiet">seq_len // stride</code>' in html


def test_toys_of_the_same_sizes_share_a_column() -> None:
    other = ToyRecord("package.toy:patchtst_small_trained", TOY.formulas, TOY.sizes, TOY.axes)
    apart = ToyRecord("package.toy:wide", TOY.formulas, ({**TOY.sizes[0], "B": 3},), ({**TOY.axes[0], "B": 3},))
    readings = [Reading(toys={"": other}), Reading(toys={"": TOY, "more": apart})]
    assert show.toys_of(readings) == [TOY, apart]


def test_an_axis_says_its_size_here_and_the_letter_of_this_model_s_paper() -> None:
    assert WORDS["patch_num"].startswith("patch_num：patch 数（number of patches）")
    assert WORDS["patch_num"].endswith("本例的配置里是 6 = seq_len // stride；PatchTST 的论文写作 N")
    assert "论文" not in WORDS["B"] and WORDS["B"].endswith("本例的配置里是 2")
    assert "本例" not in WORDS["dec_len"]  # no axis of this toy
    assert "论文" not in show.words_of(Reading())["patch_num"]


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("d_model", ("d_model",)),
        ("B*C", ("B", "C")),
        ("sizes.B * sizes.C", ("B", "C")),
        ("x", ()),
        ("B*x", ()),
        ("d_model + 1", ()),
        ("LayerNorm", ()),
    ],
)
def test_which_inline_code_is_an_axis(code: str, names: tuple[str, ...]) -> None:
    assert show.axes_in(code, WORDS) == names


def test_a_tensor_is_one_stop_of_the_keyboard_and_none_inside_a_summary() -> None:
    subject = records.subject()
    table = show.explained(show.io_table(subject), WORDS)
    assert 'tabindex="0" aria-describedby="word-B word-C word-patch_num word-d_model">= (' in table
    groups = re.findall(r'<span class="tsf-axes"[^>]*>', table)
    assert groups and all("tabindex" in group for group in groups)
    for quote in (records.RESIDUAL, records.NORM, records.WIDEN, records.RETURN):
        chips = show.explained(show.chips(quote, subject), WORDS)
        for summary in re.findall(r"<summary>.*?</summary>", chips):
            assert "tabindex" not in summary
            assert 'tsf-ax"' not in summary or 'data-words="word-' in summary


def test_what_a_page_says_stands_on_it_once() -> None:
    html = '<code aria-describedby="word-FFN">FFN</code>' * 3 + '<span data-symbol="B">B</span>' * 2
    html += '<span data-words="word-B word-d_model">(B, d_model)</span>'
    said = show.glossary(html, {**WORDS, "FFN": 'a "b" \\ </style>'})
    assert re.findall(r'<span id="([^"]+)">', said) == ["word-B", "word-d_model", "word-FFN"]
    assert said.count(WORDS["d_model"]) == 2  # for the style sheet, and for who reads with their ears
    assert said.count("</style>") == 1 and r"a \22 b\22  \5c  \3c /style>" in said
    assert '[data-symbol="B"]{--word:var(--word-B)}' in said
    assert r'--word:var(--word-B) "\a " var(--word-d_model)' in said
    assert " hidden " in said
    assert show.glossary("<p>nothing</p>", WORDS) == ""


def test_terms_and_axes_in_inline_code_are_marked_but_not_inside_a_link() -> None:
    page = "# 层\n\n`d_model` 与 `FFN`，[`FFN`](https://example.org) 与 `x.shape`。\n"
    checked = check(page, known_terms=frozenset({"FFN"}))
    rendered = render(checked.page, checked.reading, Site(terms={"FFN": "前馈网络"}), "s1")
    assert sorted(rendered.words.values()) == [("FFN",), ("d_model",)]
    assert rendered.markdown.count("data-tsf=") == 2


def test_the_attributes_of_a_word() -> None:
    assert show.word_attributes(["d_model"]) == (
        'class="tsf-word tsf-ax" tabindex="0" aria-describedby="word-d_model" data-axis="model"'
    )
    assert show.word_attributes(["add & norm"]) == 'class="tsf-word" tabindex="0" aria-describedby="word-add---norm"'


def test_every_term_of_the_project_has_a_meaning_and_an_identifier_of_its_own() -> None:
    terms = term_meanings(load_settings(ROOT / "docs"))
    assert set(terms) == load_settings(ROOT / "docs").known_terms
    assert all(said.strip() for said in terms.values())
    names = [*terms, *(axis.name for axis in AXES)]
    assert len({show.notation.word_ids([name]) for name in names}) == len(names)
    assert all(term in text(show.terms_table(terms)) for term in terms)
    assert term_meanings(Settings(ROOT)) == {}


@dataclass
class Checked:
    page: Page
    reading: Reading


def test_who_uses_a_layer_and_which_page_reads_what_is_around_it() -> None:
    subject = records.subject()
    layer = records.layer()

    def model(name: str, *children: Call) -> Call:
        return Call(f"models.{name}.forward", name, "", 0, (), None, (), children)

    inner = Checked(scan("# 4 层\n"), Reading(subjects=[subject], tree=model("One", layer)))
    second = records.layer("encoder.attn_layers.1")
    outer_call = model("Two", layer, second)
    outer_subject = replace(subject, function="models.Two.forward", call=outer_call)
    outer = Checked(scan("# 编码器\n"), Reading(subjects=[outer_subject], tree=outer_call))
    found = uses([("a.md", inner), ("b.md", outer)])
    assert found[records.LAYER] == (
        Use("One", ("encoder.attn_layers.0",), "a.md", "4 层"),
        Use("Two", ("encoder.attn_layers.0", "encoder.attn_layers.1"), "b.md", "编码器"),
    )
    line = show.used_by(found[records.LAYER], lambda name: f"../{name}", "a.md")
    assert text(line) == (
        "用到这一层的模型：One（encoder.attn_layers.0，本页）；"
        "Two（encoder.attn_layers.0、encoder.attn_layers.1，编码器）。"
    )
    assert 'href="../b.md"' in line
    assert show.used_by(found["models.Two.forward"], str, "b.md") == ""
