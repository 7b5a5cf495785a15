"""Claims against recorded values: what is red, where, and in which words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal

import numpy
import pytest
import torch
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from tsformers.reading.claims import Claim, Mismatch, as_written, describe, first_wrong, judge, parse
from tsformers.reading.record import OpaqueValue, TensorValue, Value
from tsformers.reading.values import as_array, rounded, shortest

NAN, INF = math.nan, math.inf


def tensor(values: object, dtype: torch.dtype = torch.float64) -> TensorValue:
    """A tensor recorded the way a run records it."""
    made = torch.tensor(values, dtype=dtype)
    return TensorValue(tuple(made.shape), str(dtype).removeprefix("torch."), tuple(made.flatten().tolist()))


def shaped(*shape: int, dtype: str = "float64") -> TensorValue:
    return TensorValue(shape, dtype, None)


def claim(text: str) -> Claim:
    found = parse(text)
    assert found is not None, text
    return found


def verdict(text: str, *values: Value, outcomes: Sequence[bool | None] = ()) -> Mismatch | None:
    return judge(claim(text), values, outcomes)


PAIR = tensor([[0.1, 0.2], [0.3, 0.45]])
GREEN: list[tuple[str, Value]] = [
    ("x (8, 6, 16)", shaped(8, 6, 16)),
    ("x (8, 6, d_model)", shaped(8, 6, 99)),  # names are judge_axes' business
    ("x (8, 6) float64", shaped(8, 6)),
    ("x ()", tensor(1.0)),
    ("x (1,)", tensor([1.0])),
    ("x = 64", 64),
    ("x = 4", 4.0),
    ("x = 4.0", 4),
    ("x = 3", tensor(3, torch.int64)),
    ("x = 3", tensor(3.0)),
    ("x = 1e-05", 1e-05),
    ("x = 0.1", tensor(0.1, torch.float32)),
    ("x = 0.1", tensor(0.1, torch.bfloat16)),
    ("x = 0", 0.0),
    ("x = -0", -0.0),
    ("x = -0.0", -0.0),
    ("x = nan", NAN),
    ("x = inf", tensor(INF)),
    ("x = True", True),
    ("x = False", tensor(False, torch.bool)),
    ("x = None", None),
    ("x = 'zeros'", "zeros"),
    ("x = (1,)", (1,)),
    ("x = (8, 6, 16)", (8, 6, 16)),
    ("x = (1, (2, 'a'), None)", (1, (2, "a"), None)),
    ("x = [None, None]", [None, None]),
    ("x = [1, [2, 3]]", [1, [2, 3]]),
    ("x = []", []),
    ("x = [[0, 1], [2, 3]]", tensor([[0, 1], [2, 3]], torch.int64)),
    ("x = [[0, …], …, [4, 5]]", tensor([[0, 1], [2, 3], [4, 5]], torch.int64)),
    ("x = [True, False] bool", tensor([True, False], torch.bool)),
    ("x = [1, 0]", tensor([1.0, 0.0])),
    ("x = torch.float64", OpaqueValue("dtype", "torch.float64")),
    ("x ≈ 0.04", 0.04),
    ("x ≈ 0.50", 0.5000001),
    ("x ≈ 0.33", 0.335),
    ("x ≈ 0.34", 0.335),
    ("x ≈ -0.33", -0.335),
    ("x ≈ 0.33", tensor(0.335, torch.float32)),
    ("x ≈ 1.0e-09", 1.04e-09),
    ("x ≈ 4.0", 4),
    ("x ≈ nan", NAN),
    ("x ≈ -inf", -INF),
    ("x ≈ 0.5 float64", tensor(0.5)),
    ("x ≈ [[0.1, 0.2], [0.3, 0.45]]", PAIR),
    ("x ≈ [[0.1, …], [0.3, …]]", PAIR),
    ("x ≈ [[…, 0.2], …]", PAIR),
    ("x ≈ [0.1, …, 0.8, 0.9]", tensor([0.1, 0.2, 0.3, 0.8, 0.9])),
    ("x ≈ [0.0, -0.0]", tensor([-1e-9, -1e-9])),
    ("x ≈ [0.0, 0.0]", tensor([-0.0, 0.049])),
    ("x ≈ [nan, inf, 0.5]", tensor([NAN, INF, 0.5])),
    ("x ≈ [0.69, 0.35]", [0.6931, 0.3466]),
    ("x ≈ [0.69, 0.35]", (0.6931, tensor(0.3466))),
]


@pytest.mark.parametrize(("text", "value"), GREEN)
def test_true(text: str, value: Value) -> None:
    assert verdict(text, value) is None


RED: list[tuple[str, Value, str, int, str, str, str]] = [
    # text, value, wrong part, its offset, expected, actual, message
    (
        "x (8, 6, 16)", shaped(8, 7, 16), "6", 6, "(8, 6, 16)", "(8, 7, 16)",
        "x 的轴 1 长 7，写的是 6：实际形状 (8, 7, 16)",
    ),
    ("x (8, 6)", shaped(8, 6, 16), "(8, 6)", 2, "(8, 6)", "(8, 6, 16)", "x 的秩是 3，写的是 2：实际形状 (8, 6, 16)"),
    ("x (8, d, 6)", shaped(8, 6, 7), "6", 9, "(8, d, 6)", "(8, 6, 7)", "x 的轴 2 长 7，写的是 6：实际形状 (8, 6, 7)"),
    ("x ()", tensor([0.1]), "()", 2, "()", "(1,)", "x 的秩是 1，写的是 0：实际形状 (1,)"),
    ("x (1,)", tensor(0.1), "(1,)", 2, "(1,)", "()", "x 的秩是 0，写的是 1：实际形状 ()"),
    ("x (3,) int64", shaped(3, dtype="int32"), "int64", 7, "int64", "int32", "x 的 dtype 是 int32，写的是 int64"),
    ("x (3,)", 0.04, "(3,)", 2, "(3,)", "0.0400", "x 不是张量，没有形状：是浮点数 0.0400"),
    ("x (3,)", None, "(3,)", 2, "(3,)", "None", "x 不是张量，没有形状：是 None"),
    (
        "return (8, 6)", (shaped(8, 6), None), "(8, 6)", 7, "(8, 6)", "(float64 (8, 6), None)",
        "return 不是张量，没有形状：是 2 个元素的元组 (float64 (8, 6), None)，请写明是哪一个，如 return[0]",
    ),
    ("x = 0", -0.0, "0", 4, "0", "-0.0", "x 写的是 0，实际是 -0.0"),
    ("x = -0", 0.0, "-0", 4, "-0", "0.0", "x 写的是 -0，实际是 0.0"),
    ("x (?)", shaped(8, 6), "(?)", 2, "?", "(8, 6)", "x 的形状是 (8, 6)，float64"),
    ("x (?)", 3, "(?)", 2, "?", "3", "x 是整数 3"),
    ("x ≈ ?", 0.04, "?", 4, "?", "0.0400", "x 是浮点数 0.0400"),
    ("x ≈ ?", tensor([0.1, 0.25]), "?", 4, "?", "[0.1, 0.25]", "x 是张量 [0.1, 0.25]"),
    ("x = ?", (1,), "?", 4, "?", "(1,)", "x 是 1 个元素的元组 (1,)"),
    # exact
    ("x = 64", 65, "64", 4, "64", "65", "x 写的是 64，实际是 65"),
    ("均值 = 64", 65, "64", 5, "64", "65", "均值写的是 64，实际是 65"),
    ("x = 1", True, "1", 4, "1", "True", "x 写的是 1，实际是布尔值 True"),
    ("x = True", 1, "True", 4, "True", "1", "x 写的是 True，实际是整数 1"),
    ("x = 1", tensor(True, torch.bool), "1", 4, "1", "True", "x 写的是 1，实际是布尔值 True"),
    ("x = 1", tensor([1]), "1", 4, "1", "(1,)", "x 的秩是 1，写的是一个值：实际形状 (1,)"),
    ("x = 1e-06", 1e-05, "1e-06", 4, "1e-06", "1e-05", "x 写的是 1e-06，实际是 1e-05"),
    ("x = 0.1", 0.1 + 1e-16, "0.1", 4, "0.1", repr(0.1 + 1e-16), "x 写的是 0.1，实际是 0.1000000000000001"),
    ("x = 0.0", -0.0, "0.0", 4, "0.0", "-0.0", "x 写的是 0.0，实际是 -0.0"),
    ("x = -0.0", 0.0, "-0.0", 4, "-0.0", "0.0", "x 写的是 -0.0，实际是 0.0"),
    ("x = 1.0", NAN, "1.0", 4, "1.0", "nan", "x 写的是 1.0，实际是 nan"),
    ("x = inf", -INF, "inf", 4, "inf", "-inf", "x 写的是 inf，实际是 -inf"),
    ("x = None", 3, "None", 4, "None", "3", "x 写的是 None，实际是整数 3"),
    ("x = None", shaped(8, 6), "None", 4, "None", "float64 (8, 6)", "x 写的是 None，实际是张量 float64 (8, 6)"),
    ("x = 3", None, "3", 4, "3", "None", "x 写的是 3，实际是 None"),
    ("x = 'a'", "b", "'a'", 4, "'a'", "'b'", "x 写的是 'a'，实际是 'b'"),
    (
        "x = torch.float64", OpaqueValue("dtype", "torch.float32"), "torch.float64", 4,
        "torch.float64", "torch.float32", "x 写的是 torch.float64，实际是 torch.float32",
    ),
    (
        "x = 3", OpaqueValue("Linear", "Linear(in_features=8)"), "3", 4, "3", "Linear(in_features=8)",
        "x 写的是 3，实际是 Linear(in_features=8)",
    ),
    ("k = (1, 2)", (1, 3), "2", 8, "2", "3", "k 的元素 [1] 写的是 2，实际是 3"),
    ("k = (1, 2)", (1,), "(1, 2)", 4, "(1, 2)", "(1,)", "k 的长度是 1，写了 2 个"),
    ("k = (1, 2)", [1, 2], "(1, 2)", 4, "(1, 2)", "[1, 2]", "k 不是元组：是 2 个元素的列表 [1, 2]"),
    ("k = [1, 2]", (1, 2), "[1, 2]", 4, "[1, 2]", "(1, 2)", "k 不是列表：是 2 个元素的元组 (1, 2)"),
    ("k = (1, 2)", tensor([1, 2]), "(1, 2)", 4, "(1, 2)", "[1.0, 2.0]", "k 不是元组：是张量 [1.0, 2.0]"),
    ("k = (1, [2, 3])", (1, [2, 4]), "3", 12, "3", "4", "k 的元素 [1][1] 写的是 3，实际是 4"),
    (
        "k = [1, 2, 3]", tensor([1, 3, 2], torch.int64), "2", 8, "2", "3",
        "k 的元素 [1] 写的是 2，实际是 3（共 2 处不符）",
    ),
    ("k = [1, …, 9]", tensor([1, 2, 8], torch.int64), "9", 11, "9", "8", "k 的元素 [2] 写的是 9，实际是 8"),
    (
        "k = [1, …, 2]", tensor([1, 2], torch.int64), "[1, …, 2]", 4, "[1, …, 2]", "(2,)",
        "k 的轴 0 长 2，写了 2 个，… 没有跳过任何元素：实际形状 (2,)",
    ),
    # ≈
    ("x ≈ 0.05", 0.04, "0.05", 4, "0.05", "0.04", "x 写的是 0.05，实际是 0.04"),
    ("x ≈ 0.51", 0.5000001, "0.51", 4, "0.51", "0.5000001", "x 写的是 0.51，实际是 0.5000001"),
    ("x ≈ 1.0e-09", 5.0e-09, "1.0e-09", 4, "1.0e-09", "5e-09", "x 写的是 1.0e-09，实际是 5e-09"),
    ("x ≈ 0.33", 0.33500000001, "0.33", 4, "0.33", "0.33500", "x 写的是 0.33，实际是 0.33500"),
    ("x ≈ 0.33", 1 / 3 + 0.1, "0.33", 4, "0.33", "0.43333", "x 写的是 0.33，实际是 0.43333"),
    ("x ≈ 0.5", NAN, "0.5", 4, "0.5", "nan", "x 写的是 0.5，实际是 nan"),
    ("x ≈ nan", 0.5, "nan", 4, "nan", "0.5", "x 写的是 nan，实际是 0.5"),
    ("x ≈ inf", -INF, "inf", 4, "inf", "-inf", "x 写的是 inf，实际是 -inf"),
    ("x ≈ 0.5", True, "0.5", 4, "0.5", "True", "x 是布尔值，不是浮点数：请用 ="),
    ("x ≈ 0.5", None, "0.5", 4, "0.5", "None", "x 不是数或张量：是 None"),
    ("x ≈ 0.5", "0.5", "0.5", 4, "0.5", "'0.5'", "x 不是数或张量：是字符串 '0.5'"),
    ("x ≈ 0.5 float32", tensor(0.5), "float32", 8, "float32", "float64", "x 的 dtype 是 float64，写的是 float32"),
    ("x ≈ 0.5 float32", tensor(0.6), "float32", 8, "float32", "float64", "x 的 dtype 是 float64，写的是 float32"),
    ("x ≈ 0.5 float32", 0.5, "float32", 8, "float32", "浮点数", "x 不是张量，没有 dtype：是浮点数 0.5000"),
    ("x ≈ 0.1", tensor([0.1] * 3), "0.1", 4, "0.1", "(3,)", "x 的秩是 1，写的是一个值：实际形状 (3,)"),
    ("x ≈ 0.1", tensor([0.1]), "0.1", 4, "0.1", "(1,)", "x 的秩是 1，写的是一个值：实际形状 (1,)"),
    ("x ≈ [0.1]", tensor(0.1), "[0.1]", 4, "[0.1]", "()", "x 的秩是 0，写的是 1 层列表：实际形状 ()"),
    (
        "x ≈ [[0.1, 0.2], [0.3, 0.45]]", tensor([[0.1, 0.2, 0.3]] * 2), "[0.1, 0.2]", 5, "[[0.1, 0.2], [0.3, 0.45]]",
        "(2, 3)", "x 的轴 1 长 3，写了 2 个：实际形状 (2, 3)",
    ),
    ("x ≈ [0.0, -0.0]", tensor([0.0, 1e-9]), "-0.0", 10, "-0.0", "1e-09", "x 的元素 [1] 写的是 -0.0，实际是 1e-09"),
    (
        "x ≈ [0.1, …]", shaped(30_000), "[0.1, …]", 4, "[0.1, …]", "(30000,)",
        "x 有 30000 个元素，太大而没有记录：只能断言形状，或先取其中一部分",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("text", "value", "part", "offset", "expected", "actual", "message"), RED)
def test_false(text: str, value: Value, part: str, offset: int, expected: str, actual: str, message: str) -> None:
    found = verdict(text, value)
    assert found == Mismatch(offset, len(part), expected, actual, message)
    assert text[offset : offset + len(part)] == part


def test_shape_before_dtype_before_elements() -> None:
    rows = "x = [[1, 2], [1, 2]] int64"
    shape = verdict(rows, tensor([1, 2], torch.int32))
    assert shape is not None and shape.actual == "(2,)"
    dtype = verdict(rows, tensor([[1, 2], [1, 3]], torch.int32))
    assert dtype is not None and (dtype.expected, dtype.actual) == ("int64", "int32")
    element = verdict(rows, tensor([[1, 2], [1, 3]], torch.int64))
    assert element is not None and "[1][1]" in element.message


def test_one_wrong_element_of_four_is_named() -> None:
    text = "out ≈ [[0.10, 0.20], [0.30, 0.40]]"
    found = verdict(text, PAIR)
    assert found is not None
    assert text[found.offset : found.offset + found.length] == "0.40"
    assert found.message == "out 的元素 [1][1] 写的是 0.40，实际是 0.45"


def test_first_wrong() -> None:
    literal = claim("x ≈ [[0.10, …], [0.30, 0.40]]").literal
    assert literal is not None
    wrong = first_wrong(literal, PAIR, approx=True)
    assert wrong is not None
    assert (wrong.path, wrong.actual, wrong.element, wrong.value) == ((1, 1), "0.45", True, 0.45)
    assert first_wrong(literal, tensor([[0.1, 0.0], [0.3, 0.4]]), approx=True) is None


@pytest.mark.parametrize(
    ("text", "values", "outcomes"),
    [
        ("a == b", (PAIR, PAIR), ()),
        ("a ≠ b", (tensor([1.0, 2.0]), tensor([2.0, 1.0])), ()),
        ("a < b", (tensor([1.0, 2.0]), tensor([2.0, 3.0])), ()),
        ("a < 1e-12", (tensor(1e-13), 1e-12), ()),
        ("0 < a ≤ 1", (0, tensor(0.5), 1), ()),
        ("a == b", (tensor([1.0]), tensor([1], torch.int64)), ()),
        ("a == [1, 2]", (tensor([1.0, 2.0]), [1, 2]), ()),
        ("s == (8, 6)", ((8, 6), (8, 6)), ()),
        ("s == t", ("a", "a"), ()),
        ("s < t", ("a", "b"), ()),
        ("a != 1", (True, 1), ()),
        ("a != b", (None, 3), ()),
        ("y is x", (PAIR, PAIR), (True,)),
        ("y is not x", (PAIR, PAIR), (True,)),
        ("y is None", (None, None), ()),
        ("y is not None", (3, None), ()),
        ("a in b", ("x", ("x", "y")), ()),
        ("a in b", (2, tensor([1, 2], torch.int64)), ()),
        ("a not in b", (True, (1, 2)), ()),
        ("a in b", ("el", "hello"), ()),
        ("a in b", ("k", OpaqueValue("dict", "{'k': 1}")), (True,)),
        ("a not in b", ("z", OpaqueValue("dict", "{'k': 1}")), (True,)),
        ("a in b", (PAIR, (None, PAIR)), ()),
    ],
)
def test_comparison_holds(text: str, values: tuple[Value, ...], outcomes: tuple[bool, ...]) -> None:
    assert verdict(text, *values, outcomes=outcomes) is None


@pytest.mark.parametrize(
    ("text", "values", "outcomes", "place", "actual", "message"),
    [
        ("a == b", (1, 2), (), (0, 6), "1 与 2", "a == b 不成立：左边是 1，右边是 2"),
        ("a < b ≤ 3", (1, 4, 3), (), (4, 5), "4 与 3", "b ≤ 3 不成立：左边是 4，右边是 3"),
        (
            "a == b", (PAIR, tensor([[0.1, 0.2], [0.3, 0.5]])), (), (0, 6), "0.45 与 0.5",
            "a == b 在元素 [1][1] 处不成立：左边是 0.45，右边是 0.5",
        ),
        (
            "a < b", (tensor([1.0, 2.0, 3.0]), tensor([2.0, 2.0, 2.0])), (), (0, 5), "2.0 与 2.0",
            "a < b 在元素 [1] 处不成立：左边是 2.0，右边是 2.0（共 2 处）",
        ),
        (
            "a < b", (PAIR, tensor([1.0, 1.0])), (), (0, 5), "(2, 2) 与 (2,)",
            "a < b 不成立：两边形状不同，(2, 2) 与 (2,)",
        ),
        ("a < 1", (tensor([0.5]), 1), (), (0, 5), "(1,) 与 ()", "a < 1 不成立：两边形状不同，(1,) 与 ()"),
        ("a == b", (tensor(NAN), tensor(NAN)), (), (0, 6), "nan 与 nan", "a == b 不成立：左边是 nan，右边是 nan"),
        ("a == b", (NAN, NAN), (), (0, 6), "nan 与 nan", "a == b 不成立：左边是 nan，右边是 nan"),
        ("a == 1", (True, 1), (), (0, 6), "True 与 1", "a == 1 不成立：左边是 True，右边是 1"),
        ("a == b", (tensor([True], torch.bool), tensor([1])), (), (0, 6), "True 与 1.0", None),
        (
            "a == b", ((1, [2, 3]), (1, [2, 4])), (), (0, 6), "3 与 4",
            "a == b 在元素 [1][1] 处不成立：左边是 3，右边是 4",
        ),
        ("a == b", ((1,), (1, 2)), (), (0, 6), "1 与 2", "a == b 不成立：两边长度不同，1 与 2"),
        ("a < 2", (True, 2), (), (0, 5), "布尔值与整数", "a < 2 不成立：布尔值不能比大小"),
        ("a < b", (tensor([True], torch.bool),) * 2, (), (0, 5), "bool", "a < b 不成立：布尔值不能比大小"),
        ("a < b", ("x", 2), (), (0, 5), "字符串与整数", "a < b 不成立：字符串与整数不能比大小"),
        ("a == b", (shaped(3), shaped(3)), (), (0, 6), "(3,)", None),
        (
            "a == b", (PAIR, (1, 2)), (), (0, 6), "2 个元素的元组",
            "a == b 不成立：右边是 2 个元素的元组，不能与张量比较",
        ),
        ("a == None", (PAIR, None), (), (0, 9), "None", "a == None 不成立：右边是 None，不能与张量比较"),
        ("y is x", (1, 1), (False,), (0, 6), "不是同一个对象", "y is x 不成立：两边不是同一个对象"),
        ("y is not x", (1, 1), (False,), (0, 10), "是同一个对象", "y is not x 不成立：两边是同一个对象"),
        ("y is None", (3, None), (), (0, 9), "3", "y is None 不成立：实际是整数 3"),
        ("y is not None", (None, None), (), (0, 13), "是同一个对象", "y is not None 不成立：两边是同一个对象"),
        ("a in b", ("z", ("x", "y")), (), (0, 6), "('x', 'y')", "a in b 不成立：左边是 'z'，不在 ('x', 'y') 里"),
        ("a not in b", (1, [1, 2]), (), (0, 10), "[1, 2]", "a not in b 不成立：左边是 1，在 [1, 2] 里"),
        ("a in b", (1, 2), (), (0, 6), "整数", "a in b 不成立：右边是整数，不知道它含有什么"),
        ("a in b", (1, OpaqueValue("dict", "{}")), (False,), (0, 6), "{}", "a in b 不成立：左边是 1，不在 {} 里"),
        ("a in b", (1, "x"), (), (0, 6), "整数", "a in b 不成立：左边是整数，右边是字符串"),
        ("a in b", (1, shaped(3)), (), (0, 6), "float64 (3,)", None),
        ("a in b", ("x", PAIR), (), (0, 6), "'x'", None),
    ],
)  # fmt: skip
def test_comparison_broken(
    text: str,
    values: tuple[Value, ...],
    outcomes: tuple[bool, ...],
    place: tuple[int, int],
    actual: str,
    message: str | None,
) -> None:
    found = verdict(text, *values, outcomes=outcomes)
    assert found is not None
    assert ((found.offset, found.length), found.actual) == (place, actual)
    assert found.expected == text[place[0] : place[0] + place[1]]
    assert message is None or found.message == message


def test_identity_of_two_objects_needs_an_outcome() -> None:
    with pytest.raises(ValueError, match="outcome"):
        verdict("y is x", PAIR, PAIR)


def test_values_must_be_parallel() -> None:
    with pytest.raises(ValueError, match="2 expressions, 1 values"):
        verdict("y == x", PAIR)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (shaped(8, 6, 16), "float64 (8, 6, 16)"),
        (PAIR, "float64 (2, 2)"),
        (tensor(0.04), "0.0400"),
        (0.04, "0.0400"),
        (1e-9, "1.0000e-09"),
        (0.0, "0.0000"),
        (NAN, "nan"),
        (tensor([0.1, 0.2]), "[0.1, 0.2]"),
        (tensor([0.1, 1 / 3], torch.float32), "[0.1, 0.3333]"),
        (tensor([0.5] * 9), "[" + "0.5, " * 8 + "…]"),
        ([1] * 9, "[1, 1, 1, 1, 1, 1, 1, 1, …]"),
        ((PAIR, None), "(float64 (2, 2), None)"),
        ((0.25,), "(0.25,)"),
        (True, "True"),
        (None, "None"),
        ("a", "'a'"),
        (OpaqueValue("Linear", "x" * 80), "x" * 59 + "…"),
    ],
)
def test_describe(value: Value, text: str) -> None:
    assert describe(value) == text


@pytest.mark.parametrize(
    ("text", "value", "corrected"),
    [
        ("x (8, 6, d_model)", shaped(8, 7, 16), "(8, 7, d_model)"),
        ("x (8,  6 ,)", shaped(8, 7), "(8,  7 ,)"),
        ("x (8, 6)", shaped(3), "(3,)"),
        ("x (?)", shaped(), "()"),
        ("x (8, 6) float32", shaped(8, 7), "(8, 7) float64"),
        ("x (8, 6) = (B, C) float32", shaped(9, 6), "(9, 6) = (B, C) float64"),
        ("x (8, 6)", 3, None),
        ("x = 64", 65, "65"),
        ("x = 1e-06", 1e-05, "1e-05"),
        ("x = 3", True, "True"),
        ("x = None", "a'b", '"a\'b"'),
        ("x = 1", tensor(0.1, torch.float32), "0.1"),
        ("x = [1, …, 3]", tensor([1, 2, 9], torch.int64), "[1, …, 9]"),
        ("x = [1]", tensor([[1, 2], [3, 4]], torch.int64), "[[1, 2], [3, 4]]"),
        ("x = ?", list(range(3)), "[0, 1, 2]"),
        ("x = ?", tensor(list(range(10)), torch.int64), "[0, 1, 2, …, 9]"),
        ("x = ?", tensor([0.5]), None),
        ("x = ?", OpaqueValue("Linear", "Linear()"), None),
        ("x = ?", OpaqueValue("dtype", "torch.int8"), "torch.int8"),
        ("x ≈ 0.05", 0.04, "0.04"),
        ("x ≈ 0.050", 0.0404, "0.040"),
        ("x ≈ -0.05", 0.04, "0.04"),
        ("x ≈ 5.", 7.2, "7."),
        ("x ≈ 1.0e-09", 5e-9, "5.0e-09"),
        ("x ≈ 1e-9", 5.2e-12, "5e-12"),
        ("x ≈ 1e5", 2.1e6, "2e6"),
        ("x ≈ 1e+05", 2.1e6, "2e+06"),
        ("x ≈ 0.50", 0.001, "1.0e-03"),
        ("x ≈ 0.50", 0.0, None),
        ("x ≈ 0.50", INF, "inf"),
        ("x ≈ nan", 0.5, "0.5000"),
        ("x ≈ [[0.1,  0.2],\n [0.30, 0.40]]", PAIR, "[[0.1,  0.2],\n [0.30, 0.45]]"),
        ("x ≈ [0.10, …, 0.9]", tensor([0.2, 0.5, 0.04]), "[0.20, …, 0.0]"),
        ("x ≈ [0.10]", PAIR, "[[0.10, 0.20], [0.30, 0.45]]"),
        ("x ≈ ?", PAIR, "[[0.1000, 0.2000], [0.3000, 0.4500]]"),
        ("x ≈ ?", tensor([1e-9, 2e-9]), "[1.000e-09, 2.000e-09]"),
        ("x ≈ ?", tensor([0.5] * 10), "[0.5000, 0.5000, 0.5000, …, 0.5000]"),
        ("x ≈ 0.5 float32", tensor(0.25), "0.2 float64"),
        ("x ≈ 0.5", None, None),
        ("x ≈ ?", True, None),
        ("x ≈ [0.1]", shaped(30_000), None),
    ],
)
def test_as_written(text: str, value: Value, corrected: str | None) -> None:
    found = claim(text)
    new = as_written(found, [value])
    assert new == corrected
    if new is not None:
        fixed = text[: found.written] + new + text[found.end :]
        assert verdict(fixed, value) is None


def test_a_comparison_is_not_rewritten() -> None:
    assert as_written(claim("a == b"), [1, 2]) is None


# ---- properties ------------------------------------------------------------------------------------------------------

relaxed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
EXACT = Context(prec=800, rounding=ROUND_HALF_EVEN)
floats = st.floats(-1e6, 1e6, allow_nan=False)


def to_decimals(value: float, decimals: int) -> Decimal:
    return Decimal(repr(value)).quantize(Decimal(1).scaleb(-decimals), context=EXACT)


@relaxed
@given(floats, st.integers(1, 9))
@example(0.335, 2)
@example(2.675, 2)
@example(1e-7, 3)
def test_a_value_s_own_digits_are_true_and_the_next_ones_false(value: float, decimals: int) -> None:
    own, unit = to_decimals(value, decimals), Decimal(1).scaleb(-decimals)
    assume(own != 0)
    assert verdict(f"x ≈ {own:f}", value) is None
    tie = abs(Decimal(repr(value)) - own) == unit / 2
    for neighbour in (own + unit, own - unit):
        if neighbour != 0 and not tie:
            assert verdict(f"x ≈ {neighbour:f}", value) is not None


@relaxed
@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(0, 15))
def test_the_same_in_scientific_notation(value: float, digits: int) -> None:
    assume(value != 0 and 1e-300 < abs(value) < 1e300)
    own = f"{Decimal(repr(value)):.{digits}e}"
    assert verdict(f"x ≈ {own}", value) is None
    mantissa, _, exponent = own.partition("e")
    tie = abs(Decimal(repr(value)) - Decimal(own)) * 2 == Decimal(1).scaleb(int(exponent) - digits)
    shifted = Decimal(mantissa) + Decimal(1).scaleb(-digits)
    if not tie and shifted != 0:
        assert verdict(f"x ≈ {shifted:f}e{exponent}", value) is not None


@relaxed
@given(floats)
def test_exact_equality_is_python_s(value: float) -> None:
    assert verdict(f"x = {value!r}", value) is None
    assert verdict(f"x = {math.nextafter(value, INF)!r}", value) is not None


tensors = st.lists(st.lists(st.floats(-1e4, 1e4, width=32), min_size=2, max_size=3), min_size=1, max_size=3).filter(
    lambda rows: len({len(row) for row in rows}) == 1
)


@relaxed
@given(tensors, st.sampled_from([torch.float64, torch.float32]), st.integers(0, 8), st.data())
def test_one_wrong_element_is_found_where_it_is(
    rows: list[list[float]], dtype: torch.dtype, place: int, data: st.DataObject
) -> None:
    value = tensor(rows, dtype)
    text = "x ≈ [" + ", ".join("[" + ", ".join(f"{item:.3f}" for item in row) + "]" for row in rows) + "]"
    written = text.replace("-0.000", "0.000")
    assert verdict(written, value) is None
    row, column = divmod(place % (len(rows) * len(rows[0])), len(rows[0]))
    broken = [list(r) for r in rows]
    broken[row][column] += 1.0
    found = verdict(written, tensor(broken, dtype))
    assert found is not None
    assert f"的元素 [{row}][{column}] " in found.message
    corrected = as_written(claim(written), [tensor(broken, dtype)])
    assert corrected is not None
    assert verdict(f"x ≈ {corrected}", tensor(broken, dtype)) is None


@relaxed
@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_shortest_text_of_float32_is_numpy_s(value: float) -> None:
    assert float(shortest(value, "float32")) == float(str(numpy.float32(value)))


@relaxed
@given(st.floats(), st.sampled_from([torch.float32, torch.float16, torch.bfloat16]))
def test_rounding_to_a_dtype_is_torch_s(value: float, dtype: torch.dtype) -> None:
    name = str(dtype).removeprefix("torch.")
    # through float32 where torch itself goes through it
    source = rounded(value, "float32") if name == "bfloat16" else value
    wanted = torch.tensor(source, dtype=torch.float64).to(dtype).item()
    assert rounded(source, name) == wanted or math.isnan(wanted) and math.isnan(source)


scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.just(10**400)
    | st.floats()
    | st.sampled_from(["a", "≈"])
    | st.sampled_from([OpaqueValue("dtype", "torch.int8"), OpaqueValue("Linear", "Linear()")])
    | st.sampled_from([tensor(0.5), tensor([1, 2], torch.int64), tensor([[True]], torch.bool), shaped(2), shaped(0, 2)])
)
anything = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.lists(inner, max_size=3).map(tuple))
TEXTS = [
    "x (2,)", "x ()", "x (?)", "x (2, d)", "x (2,) int64", "x = 1", "x = 0.0", "x = None", "x = True", "x = 'a'",
    "x = torch.int8", "x = (1, 'a')", "x = [1, …]", "x = [[True]]", "x = []", "x = ([1], None)", "x = ?", "x ≈ 0.5",
    "x ≈ -1e-9", "x ≈ nan", "x ≈ [0.5, …]", "x ≈ [[0.5]]", "x ≈ []", "x ≈ [[], []]", "x ≈ ?",
    "x ≈ 0.5 int64",
]  # fmt: skip


@relaxed
@given(anything)
def test_any_value_gets_a_verdict_and_every_correction_is_true(value: Value) -> None:
    for text in TEXTS:
        found = claim(text)
        mismatch = judge(found, [value])
        if mismatch is not None:
            assert 0 < mismatch.offset < mismatch.offset + mismatch.length <= len(text)
            assert mismatch.message and mismatch.actual
        new = as_written(found, [value])
        if new is not None:
            assert verdict(text[: found.written] + new + text[found.end :], value) is None


@relaxed
@given(anything, anything)
def test_any_two_values_compare(left: Value, right: Value) -> None:
    for text in ("a == b", "a != b", "a < b", "a in b"):
        found = verdict(text, left, right)
        assert found is None or found.message.startswith(text)
    equal, unequal = verdict("a == b", left, right), verdict("a != b", left, right)
    assert equal is not None or unequal is not None


def test_nested_lists_with_unequal_rows_are_no_array() -> None:
    assert as_array([[1, 2], [3]]) is None
    assert as_array([1, "a"]) is None
    assert as_array([shaped(2), shaped(2)]) is None
    assert as_array(OpaqueValue("x", "y")) is None
