"""Axis names on several configurations, and the arithmetic behind them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tsformers.reading.claims import AxisCase, FormulaError, Mismatch, evaluate, evaluate_axis, judge_axes, parse

AXES = {"patch_num": "(seq_len - patch_len) // stride + 2", "d_keys": "d_model // n_heads", "BC": "B*C"}
CASES = (
    {"B": 2, "C": 4, "seq_len": 17, "patch_len": 5, "stride": 3, "d_model": 16, "n_heads": 2, "e_layers": 2},
    {"B": 3, "C": 5, "seq_len": 20, "patch_len": 4, "stride": 2, "d_model": 14, "n_heads": 2, "e_layers": 3},
    {"B": 2, "C": 3, "seq_len": 31, "patch_len": 4, "stride": 3, "d_model": 12, "n_heads": 3, "e_layers": 1},
)
Shape = Callable[[dict[str, int], int], tuple[int, ...] | None]


def cases(shape: Shape, count: int = 3) -> list[AxisCase]:
    return [
        AxisCase(index, sizes, AXES, shape(sizes, evaluate_axis("patch_num", sizes, AXES)))
        for index, sizes in enumerate(CASES[:count])
    ]


def judged(text: str, given: list[AxisCase]) -> list[Mismatch]:
    claim = parse(text)
    assert claim is not None
    found = judge_axes(claim, given)
    for mismatch in found:
        assert 0 < mismatch.offset < mismatch.offset + mismatch.length <= len(text)
    return found


def tokens(sizes: dict[str, int], patches: int) -> tuple[int, ...]:
    return sizes["B"] * sizes["C"], patches, sizes["d_model"]


def heads(sizes: dict[str, int], patches: int) -> tuple[int, ...]:
    return sizes["B"] * sizes["C"], patches, sizes["n_heads"], sizes["d_model"] // sizes["n_heads"]


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("x (8, 6, 16) = (B*C, patch_num, d_model)", tokens),
        ("x (B*C, patch_num, d_model)", tokens),
        ("x (BC, 6, 16)", tokens),
        ("x (8, 6, d_model)", tokens),
        ("x (8, 6, 16)", tokens),
        ("q (B*C, patch_num, n_heads, d_keys)", heads),
        ("q (8, 6, 2, 8) = (B*C, patch_num, n_heads, d_model // n_heads)", heads),
        ("x (2, 1) = (B, 1)", lambda sizes, patches: (sizes["B"], 1)),
    ],
)
def test_true_on_every_configuration(text: str, shape: Shape) -> None:
    assert judged(text, cases(shape)) == []


def test_integers_alone_need_no_configuration() -> None:
    assert judged("x (8, 6, 16)", []) == []


def test_unknown_name_says_which_is_near() -> None:
    text = "x (8, patch_nun + 1, d_model)"
    assert judged(text, cases(tokens)) == [Mismatch(6, 9, "patch_nun", "", "没有轴名 patch_nun，是不是 patch_num？")]


def test_all_unknown_names_are_said_in_both_groups() -> None:
    found = judged("x (8, 6, foo_bar) = (B*C, xyz, d_model)", cases(tokens))
    assert [mismatch.expected for mismatch in found] == ["foo_bar", "xyz"]


def test_wrong_in_the_first_configuration() -> None:
    text = "x (B*C, seq_len, 16)"
    message = "x 的轴 1 不是 seq_len：在本例里 seq_len = 17，这个轴长 6；各配置都成立的轴名：patch_num"
    assert judged(text, cases(tokens)) == [Mismatch(8, 7, "seq_len = 17", "6", message)]


def test_a_wrong_name_of_equal_size_is_told_by_another_configuration() -> None:
    text = "q (8, 6, 2, 8) = (B*C, patch_num, e_layers, d_keys)"
    message = "q 的轴 2 不是 e_layers：在配置 1 里 e_layers = 3，这个轴长 2；各配置都成立的轴名：n_heads"
    assert judged(text, cases(heads)) == [Mismatch(34, 8, "e_layers = 3", "2", message)]
    assert judged(text, cases(heads, 1))[0].message.startswith("轴名 B*C, patch_num, e_layers, d_keys 无法证明")


def test_swapped_axes() -> None:
    text = "x (8, 6, 16) = (B*C, d_model, patch_num)"
    message = "x 的轴 1 与轴 2 写反了（axes swapped: 1↔2）：在本例里 d_model = 16，轴 1 长 6"
    assert judged(text, cases(tokens)) == [Mismatch(21, 18, "d_model, patch_num", "patch_num, d_model", message)]


def test_swapped_axes_of_equal_size_in_the_first_configuration() -> None:
    text = "x (2, 2) = (n_heads, B)"
    message = "x 的轴 0 与轴 1 写反了（axes swapped: 0↔1）：在配置 1 里 n_heads = 2，轴 0 长 3"
    found = judged(text, cases(lambda sizes, patches: (sizes["B"], sizes["n_heads"])))
    assert found == [Mismatch(12, 10, "n_heads, B", "B, n_heads", message)]


def test_two_wrong_names_are_two_mismatches() -> None:
    found = judged("x (B, C, d_model)", cases(tokens))
    assert [(mismatch.offset, mismatch.expected, mismatch.actual) for mismatch in found] == [
        (3, "B = 2", "8"),
        (6, "C = 4", "6"),
    ]


def test_a_number_among_axis_names_is_proven_too() -> None:
    found = judged("x (8, 6, 16) = (8, patch_num, d_model)", cases(tokens))
    assert [(mismatch.offset, mismatch.expected, mismatch.actual) for mismatch in found] == [(16, "8 = 8", "15")]


def test_skipped_configurations() -> None:
    text = "x (B*C, patch_num, d_model)"
    found = cases(tokens)
    one = [found[0], AxisCase(1, CASES[1], AXES, None), found[2]]
    assert judged(text, one) == []
    none = [found[0], *(AxisCase(i, CASES[i], AXES, None) for i in (1, 2))]
    (mismatch,) = judged(text, none)
    assert (mismatch.offset, mismatch.length) == (3, 23)
    assert mismatch.message == "轴名 B*C, patch_num, d_model 无法证明：其他配置都没有执行到这里，请写整数"
    (mismatch,) = judged(text, found[:1])
    assert mismatch.message == "轴名 B*C, patch_num, d_model 无法证明：这个 toy 只有一个配置，请写整数"


def test_another_rank_in_another_configuration() -> None:
    found = cases(tokens)
    ranks = [found[0], AxisCase(1, CASES[1], AXES, (15, 9))]
    (mismatch,) = judged("x (B*C, patch_num, d_model)", ranks)
    assert mismatch.message == "x 在配置 1 里的秩是 2，写的是 3：形状 (15, 9)"


def test_a_wrong_rank_of_the_first_configuration_is_left_to_judge() -> None:
    assert judged("x (B*C, patch_num)", cases(tokens)) == []


# ---- arithmetic ------------------------------------------------------------------------------------------------------

SIZES = CASES[0]


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("(seq_len - patch_len) // stride + 2", 6),
        ("d_model % n_heads == 0", True),
        ("0 < stride <= patch_len < seq_len", True),
        ("stride > patch_len or B < 1", False),
        ("not B == C", True),
        ("min(5 * ceil(log(seq_len)), seq_len)", 15),
        ("d_model / 3", 16 / 3),
        ("-B + +C", 2),
        ("2 ** e_layers", 4),
        ("B if B > C else C", 4),
        ("True", True),
        ("B > 1 and C > 1", True),
        ("B > 1 and C > 4 and undefined", False),
    ],
)
def test_evaluate(formula: str, value: object) -> None:
    result = evaluate(formula, SIZES)
    assert result == value
    assert type(result) is type(value)


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("seq_lem - 1", "没有轴名 seq_lem，是不是 seq_len？"),
        ("B // (C - 4)", "除以了 0"),
        ("B.real", "不是允许的算术"),
        ("__import__('os')", "不是允许的算术"),
        ("open(B)", "不是允许的算术"),
        ("min()", "不是允许的算术"),
        ("max(B, key=C)", "不是允许的算术"),
        ("[B]", "不是允许的算术"),
        ("'a' * B", "不是允许的算术"),
        ("B @ C", "不是允许的算术"),
        ("B in C", "不是允许的算术"),
        ("9 ** 9 ** 9", "乘方太大"),
        ("(0 - 8) ** 0.5", "不是实数"),
        ("sqrt(0 - 1)", "算不出来"),
        ("B C", "不是表达式"),
        ("", "不是表达式"),
        ("1" + " + 1" * 5000, "太长"),
    ],
)
def test_evaluate_refuses(formula: str, message: str) -> None:
    with pytest.raises(FormulaError) as caught:
        evaluate(formula, SIZES)
    assert message in caught.value.message


def test_an_axis_comes_before_a_size_and_may_use_axes() -> None:
    axes = {"L": "patch_num + 1", "patch_num": "seq_len // 2", "B": "B * 10"}
    assert evaluate_axis("L", SIZES, axes) == 9
    assert evaluate_axis("B", SIZES, axes) == 20  # the size behind an axis of its own name
    assert evaluate_axis("C", SIZES, axes) == 4


@pytest.mark.parametrize(
    ("code", "axes", "message"),
    [
        ("L", {"L": "M", "M": "L"}, "绕回了自己"),
        ("L", {"L": "B / 2"}, "不是整数"),
        ("L", {"L": "B < 2"}, "不是整数"),
        ("Bc", {}, "没有轴名 Bc"),
    ],
)
def test_evaluate_axis_refuses(code: str, axes: dict[str, str], message: str) -> None:
    with pytest.raises(FormulaError) as caught:
        evaluate_axis(code, SIZES, axes)
    assert message in caught.value.message


terms = st.recursive(
    st.sampled_from(sorted(SIZES)) | st.integers(0, 20).map(str),
    lambda inner: st.tuples(inner, st.sampled_from(["+", "-", "*", "//", "%", "/"]), inner).map(
        lambda parts: f"({parts[0]} {parts[1]} {parts[2]})"
    ),
    max_leaves=8,
)


@settings(deadline=None)
@given(terms)
def test_arithmetic_is_python_s(formula: str) -> None:
    try:
        wanted = eval(formula, {"__builtins__": {}}, dict(SIZES))
    except ZeroDivisionError:
        with pytest.raises(FormulaError):
            evaluate(formula, SIZES)
    else:
        assert evaluate(formula, SIZES) == wanted
