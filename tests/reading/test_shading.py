"""Tables of numbers with shades, and the view of what changed."""

from __future__ import annotations

import re

import pytest

from tests.reading.checking import block, check
from tsformers.reading.render import Site, render
from tsformers.reading.show import changes, matrix, shaded


def test_a_matrix_is_shaded_by_size_whatever_the_sign_and_keeps_its_numbers() -> None:
    html = shaded("前\n" + matrix([[0.5, -1.0], [0.0, 0.25]], rows="query", columns="key", digits=2) + "后\n")
    assert html.startswith("前\n\n<div") and html.endswith("</div>\n后\n")
    assert re.findall(r'--h:([\d.]+)">([^<]*)<', html) == [
        ("0.50", "0.50"), ("1.00", "-1.00"), ("0.00", "0.00"), ("0.25", "0.25"),
    ]  # fmt: skip
    assert '<th scope="col">query ↓ key →</th><th scope="col">0</th>' in html and '<th scope="row">1</th>' in html


def test_what_is_cut_off_stays_cut_off() -> None:
    html = shaded(matrix([[float(row * 9 + column) for column in range(9)] for row in range(17)]))
    assert html.count("<tr>") == 1 + 16 + 1 and html.count("…") == 1 + 16 + 10


@pytest.mark.parametrize(
    "text",
    [
        "\n| 名 | 值 |\n| :-- | --: |\n| 甲 | 乙 |\n",
        "\n|  | w | x | w × x |\n| :-- | --: | --: | --: |\n| 0 | 1.0 | 2.0 | 2.0 |\n| 和 |  |  | 2.0 |\n",
        "没有表格\n",
        "| 只有一行 |\n",
    ],
)
def test_other_text_is_left_alone(text: str) -> None:
    assert shaded(text) == text


def test_nan_and_inf_have_no_shade() -> None:
    assert re.findall(r"--h:([\d.]+)", shaded(matrix([float("nan"), float("inf"), 2.0]))) == ["0.00", "0.00", "1.00"]


def test_changes_say_what_was_and_what_is() -> None:
    table = changes([[0.25, 0.5]], [[0.25, 1.0]], rows=["一"], columns=["甲", "乙"], digits=2)
    assert "0.25 |" in table and "0.50 → 1.00" in table
    html = shaded(table)
    assert '<td style="--h:0.25">0.25</td>' in html
    assert '<td style="--h:1.00" class="tsf-changed"><s>0.50</s> → <strong>1.00</strong></td>' in html
    with pytest.raises(ValueError, match=r"\(2,\) 与 \(3,\)"):
        changes([1, 2], [1, 2, 3])


def test_a_block_s_table_is_shaded_on_the_site_and_plain_where_it_is_shown_as_text() -> None:
    code = "from tsformers.reading.show import matrix\nprint(matrix([[0.5, 1.0]]))"
    for options, shown in (('exec="1"', True), ('exec="1" result="text"', False)):
        found = check(block(code, options))
        assert found.failures == []
        (text,) = render(found.page, found.reading, Site(), "s0").outputs.values()
        assert ("tsf-matrix" in text) is shown
        assert "| 0.5000 | 1.0000 |" in next(iter(found.reading.outputs.values())).text
