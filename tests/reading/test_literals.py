"""The grammar of literals, against Python's own reading of the same text."""

from __future__ import annotations

import ast
import math
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tsformers.reading.literals import ClaimError, Items, Literal, Scalar, depth, looks_literal, read, scalars


def plain(literal: Literal) -> object:
    """The Python value of a literal without skips."""
    if isinstance(literal, Scalar):
        return literal.value
    items = [plain(item) for item in literal.items]
    return items if literal.kind == "list" else tuple(items)


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("1", "int", 1),
        ("-12", "int", -12),
        ("0.33", "float", 0.33),
        (".5", "float", 0.5),
        ("5.", "float", 5.0),
        ("1e-05", "float", 1e-05),
        ("1E5", "float", 1e5),
        ("inf", "float", math.inf),
        ("-inf", "float", -math.inf),
        ("True", "bool", True),
        ("None", "none", None),
        ("'zeros'", "str", "zeros"),
        ('"a\\n\\\\"', "str", "a\n\\"),
        ("torch.float64", "dtype", "torch.float64"),
    ],
)
def test_scalar(text: str, kind: str, value: object) -> None:
    literal, end = read(f"  {text} rest", 0)
    assert literal == Scalar(kind, text, 2, value)
    assert end == 2 + len(text)


def test_nan() -> None:
    literal, _ = read("nan", 0)
    assert isinstance(literal, Scalar) and isinstance(literal.value, float) and math.isnan(literal.value)


@pytest.mark.parametrize(
    ("text", "half"),
    [
        ("0.33", "0.005"),
        ("0.5", "0.05"),
        ("5.", "0.5"),
        ("1.0e-09", "5e-11"),
        ("1e-12", "5e-13"),
        ("1e3", "500"),
        ("-12.500", "0.0005"),
    ],
)
def test_half_a_unit_of_the_last_digit(text: str, half: str) -> None:
    literal, _ = read(text, 0)
    assert isinstance(literal, Scalar)
    assert literal.half_unit == Fraction(half)
    assert literal.exact == Fraction(text)


def test_skip_places() -> None:
    for text, skip, count in [("[0.1, …, 0.3]", 1, 2), ("[…]", 0, 0), ("[..., 2]", 0, 1), ("[1, 2, …]", 2, 2)]:
        literal, end = read(text, 0)
        assert isinstance(literal, Items)
        assert (literal.skip, len(literal.items), end) == (skip, count, len(text))


def test_offsets_and_depth_of_nested_lists() -> None:
    text = "x ≈ [[0.1, -2.5],\n     [1e-3, nan]] float64"
    literal, end = read(text, 3)
    assert depth(literal) == 2
    assert text[end:] == " float64"
    assert [text[s.offset : s.offset + len(s.text)] for s in scalars(literal)] == ["0.1", "-2.5", "1e-3", "nan"]


@pytest.mark.parametrize(
    ("text", "offset", "message"),
    [
        ("", 0, "缺一个值"),
        ("[1, 2", 0, "没有闭合"),
        ("[[1, 2]", 0, "没有闭合"),
        ("[1, 2)", 5, "不配对"),
        ("[1 2]", 3, "缺一个逗号"),
        ("[1,, 2]", 3, "缺一个值"),
        ("[, 1]", 1, "缺一个值"),
        ("[1, …, 2, …]", 10, "只能有一个 …"),
        ("(1, …)", 0, "元组要写全"),
        ("(1)", 0, "带逗号"),
        ("+1", 0, "不写加号"),
        ("007", 0, "不能以 0 开头"),
        ("1.2.3", 0, "1.2.3 不是字面量"),
        ("[1, x]", 4, "x 不是字面量"),
        ("[1, torch.relu]", 4, "torch.relu 不是字面量"),
        ("1e999", 0, "超出 float64"),
        ("1e99999999999999999999", 0, "超出 float64"),
        ("9" * 5000, 0, "超出 float64"),
        ("'abc", 0, "没有闭合"),
        (r"'a\q'", 2, "不认识"),
        ("[" * 50 + "]" * 50, 12, "嵌套"),
        ("￥5", 0, "不是字面量"),
    ],
)
def test_errors_point_at_the_place(text: str, offset: int, message: str) -> None:
    with pytest.raises(ClaimError) as caught:
        read(text, 0)
    assert message in caught.value.message
    assert caught.value.offset == offset


def test_suggestion_is_put_into_the_whole_text() -> None:
    text = "k = (3) "
    with pytest.raises(ClaimError) as caught:
        read(text, 3)
    assert caught.value.within(text).suggestion == "k = (3,) "


@pytest.mark.parametrize(
    "text", ["[1, 2.0.1]", "[0.1 0.2", "1, 2", "3 个", "[True, None, 'a'", "(0.5，0.6)", "-1", "…"]
)
def test_looks_literal(text: str) -> None:
    assert looks_literal(text)


@pytest.mark.parametrize("text", ["self.norm(x)", "3 + 4", "x", "[a, b]", "", " ", "1 if x else 2", "-x"])
def test_does_not_look_literal(text: str) -> None:
    assert not looks_literal(text)


relaxed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**12), 10**12)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(alphabet="abc 中文.[](),=≈'"),
    lambda inner: st.lists(inner, max_size=4) | st.lists(inner, max_size=4).map(tuple),
    max_leaves=12,
)


@relaxed
@given(values)
def test_reads_what_python_reads(value: object) -> None:
    text = repr(value)
    if "\\x" in text or "\\u" in text:
        return
    literal, end = read(text, 0)
    assert end == len(text)
    assert plain(literal) == ast.literal_eval(text)


@relaxed
@given(st.text(alphabet="0123456789.eE+-[](),… 'nanifTrue中，", max_size=20))
def test_never_fails_otherwise(text: str) -> None:
    try:
        literal, end = read(text, 0)
    except ClaimError as error:
        assert 0 <= error.offset <= len(text)
    else:
        assert text[literal.offset : end] == literal.text
