"""Matrices, worked sums, chips and tables hold the numbers of the records."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

from tests.reading import show_records as records
from tsformers.axes import AXES
from tsformers.reading.record import TensorValue
from tsformers.reading.show import matrix, worked
from tsformers.reading.show.values import FAMILY, axes_html, fewest_digits, figures, meaning, members, slice_html, table


def cells(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.split("\n") if line]


class Lent:
    """What a tensor offers, without torch."""

    def __init__(self, values: list) -> None:
        self.values = values

    def tolist(self) -> list:
        return self.values


WEIGHTS = [[0.6410, 0.3590], [0.4472, -10.5528]]


@pytest.mark.parametrize("value", [WEIGHTS, Lent(WEIGHTS), TensorValue((2, 2), "float64", tuple(sum(WEIGHTS, [])))])
def test_a_matrix_names_its_axes_and_shows_its_numbers(value: object) -> None:
    assert cells(matrix(value, rows="query", columns="key", digits=2)) == [
        ["query ↓ key →", "0", "1"],
        [":------------", "---:", "-----:"],
        ["0", "0.64", "0.36"],
        ["1", "0.45", "-10.55"],
    ]


def test_the_decimal_points_of_a_column_stand_under_each_other() -> None:
    lines = [line for line in matrix([[1.5, 22.25], [-100.0, 3.0]], digits=2).split("\n") if line][2:]
    points = {tuple(match.start() for match in re.finditer(r"\.", line)) for line in lines}
    assert len(points) == 1


def test_rows_and_columns_can_be_named_one_by_one() -> None:
    table = cells(matrix([[1, 2]], rows=["平均"], columns=["甲", "乙"]))
    assert table[0] == ["", "甲", "乙"]
    assert table[2] == ["平均", "1", "2"]
    with pytest.raises(ValueError, match="columns 给了 1 个名字，矩阵有 2 个"):
        matrix([[1, 2]], columns=["甲"])


def test_a_matrix_shows_eight_columns_and_sixteen_rows() -> None:
    table = cells(matrix([[row * 9 + column for column in range(9)] for row in range(17)]))
    assert table[0] == ["", *map(str, range(8)), "…"]
    assert len(table) == 2 + 16 + 1
    assert set(table[-1]) == {"…"}


def test_a_vector_is_one_row() -> None:
    assert cells(matrix([0.25, 0.5], columns="key", digits=2))[2] == ["", "0.25", "0.50"]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (records.tensor(2, 3, 4), r"3 维 \(2, 3, 4\)"),
        (1.5, "0 维"),
        ([[1, 2], [3]], "各行长度不一"),
        ([], "没有元素"),
        (records.tensor(2, 2, filled=False), "没有记录数值"),
    ],
)
def test_what_is_no_matrix_is_refused(value: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        matrix(value)


@pytest.mark.parametrize(
    ("values", "digits", "text"),
    [
        ([0.1, -2.0], 2, ["0.10", "-2.00"]),
        ([1e-9, 0.0], 2, ["1.00e-09", "0.00e+00"]),
        ([1e7], 1, ["1.0e+07"]),
        ([math.nan, -math.inf, 1.0], 1, ["nan", "-inf", "1.0"]),
        ([3, 4], 2, ["3", "4"]),
        ([True, False], 2, ["True", "False"]),
    ],
)
def test_figures(values: list, digits: int, text: list[str]) -> None:
    assert figures(values, digits) == text


def test_no_more_decimals_than_the_values_have() -> None:
    assert [fewest_digits(values) for values in ([0.5, -2.0], [0.25], [1 / 3], [1])] == [1, 2, 4, 1]


W, X = [0.3, -0.2, 0.5, 0.6, -0.4, 0.1, 0.2, 0.3], [0.1, 0.1, -0.1, -0.1, 0.2, -0.3, 0.4, 0.4]


def test_a_worked_sum_shows_each_term_and_the_sum(capsys: pytest.CaptureFixture[str]) -> None:
    worked(W, X, 0.05, value=0.04, digits=2)
    table = cells(capsys.readouterr().out)
    assert table[0] == ["", "w", "x", "w × x"]
    assert [float(row[3]) for row in table[2:10]] == [0.03, -0.02, -0.05, -0.06, -0.08, -0.03, 0.08, 0.12]
    assert [row[0] + row[3] for row in table[10:]] == ["和-0.01", "偏置0.05", "结果0.04"]


def test_a_worked_sum_proves_the_value() -> None:
    with pytest.raises(ValueError, match=r"各项相加得 0\.04，模型算出的是 0\.05"):
        worked(W, X, 0.05, value=0.05)
    with pytest.raises(ValueError, match=r"\(8,\) 与 \(1,\)"):
        worked(W, [1.0])
    with pytest.raises(ValueError, match="各项相加"):
        worked(W, X, value=math.nan)


def test_rounded_factors_are_said_to_be_approximate(capsys: pytest.CaptureFixture[str]) -> None:
    worked([1 / 3], [1 / 3], digits=2)
    assert cells(capsys.readouterr().out)[2] == ["0", "0.33", "0.33", "≈ 0.11"]


def test_every_axis_has_a_colour_and_no_colour_is_of_no_axis() -> None:
    assert set(FAMILY) == {axis.name for axis in AXES}


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize(("scheme", "background"), [(0, "#ffffff"), (0, "#f5f5f5"), (1, "#1e2129"), (1, "#272a35")])
def test_every_axis_colour_stands_out_three_to_one(scheme: int, background: str) -> None:
    style = (Path(__file__).parents[2] / "docs/assets/reading.css").read_text(encoding="utf-8")
    block = re.findall(r"\.md-typeset \{(.*?)\}", style, re.S)[scheme]
    colours = dict(re.findall(r"--tsf-(\w+): (#\w{6});", block))
    assert set(FAMILY.values()) <= set(colours)
    low = {}
    for family in set(FAMILY.values()):
        dark, light = sorted((luminance(colours[family]), luminance(background)))
        if (light + 0.05) / (dark + 0.05) < 3:
            low[family] = colours[family]
    assert low == {}


def test_axis_names_carry_their_meaning() -> None:
    html = axes_html(("B*C", "6", "d_model"))
    assert re.sub("<[^>]*>", "", html) == "(B*C, 6, d_model)"
    assert html.count("<span") == 3
    assert 'data-axis="model" data-symbol="d_model"' in html
    assert meaning(("B*C", "6", "sizes.d_model")) == "批大小·通道数 × 6 × 模型宽度"


@pytest.mark.parametrize("axes", [(("B",), None, ("C",)), (("B",), ("C",))])
def test_the_members_of_a_returned_tuple_keep_their_axes(axes: tuple) -> None:
    one = records.tensor(2)
    assert members("return", (one, None, one), axes) == [
        ("return[0]", one, ("B",)),
        ("return[1]", None, None),
        ("return[2]", one, ("C",)),
    ]


def test_the_first_slice_of_a_tensor() -> None:
    html = slice_html("y", TensorValue((2, 2, 3), "float64", tuple(k / 4 for k in range(12))), ("B", "L", "d_ff"))
    assert re.findall(r"<td style[^>]*>([^<]*)", html) == ["0.00", "0.25", "0.50", "0.75", "1.00", "1.25"]
    assert "<code>y[0]</code> 行 L，列 d_ff" in html
    assert slice_html("y", records.tensor(9, 9)).count("<tr>") == 1 + 8 + 1
    assert "没有记录数值" in slice_html("y", records.tensor(2, 3, filled=False))
    assert "y = 0.250000" in slice_html("y", TensorValue((), "float64", (0.25,)))


def test_a_table_that_search_leaves_out_says_so_on_the_table_itself() -> None:
    assert '<table class="tsf-table" data-search-exclude="">' in table(("a",), [], search=False)
    assert "data-search-exclude" not in table(("a",), [])
