"""The form of claims: what is one, what is not, and what is malformed, by text alone."""

from __future__ import annotations

import ast
import warnings

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tsformers.reading.claims import Claim, ClaimError, parse


def claim(text: str) -> Claim:
    found = parse(text)
    assert found is not None, text
    return found


def codes(text: str) -> list[str]:
    return [expression.code for expression in claim(text).expressions]


@pytest.mark.parametrize(
    ("text", "code", "slots", "axes", "dtype", "tight"),
    [
        ("x (8, 6, 16)", "x", [8, 6, 16], [], "", False),
        ("x (8,6,16)", "x", [8, 6, 16], [], "", False),
        ("x(8, 6, 16)", "x", [8, 6, 16], [], "", True),
        ("x (8, 6, d_model)", "x", [8, 6, "d_model"], [], "", False),
        ("q (B*C, patch_num, n_heads, d_keys)", "q", ["B*C", "patch_num", "n_heads", "d_keys"], [], "", False),
        ("x ((B + 1) * C, d_model // 2)", "x", ["(B + 1) * C", "d_model // 2"], [], "", False),
        ("x (8, 6, 16) = (B*C, patch_num, d_model)", "x", [8, 6, 16], ["B*C", "patch_num", "d_model"], "", False),
        ("x (8, 6)=(B*C, 6)", "x", [8, 6], ["B*C", 6], "", False),
        ("x (8, 6, 16) float64", "x", [8, 6, 16], [], "float64", False),
        ("x (8, 6) torch.int64", "x", [8, 6], [], "int64", False),
        ("x (8, 6) float64 = (B*C, P)", "x", [8, 6], ["B*C", "P"], "float64", False),
        ("x (8, 6) = (B*C, P) float64", "x", [8, 6], ["B*C", "P"], "float64", False),
        ("x ()", "x", [], [], "", False),
        ("x.sum() ()", "x.sum()", [], [], "", False),
        ("x (1,)", "x", [1], [], "", False),
        ("x (1)", "x", [1], [], "", False),
        ("y.transpose(-1, 1) (8, 16, 6)", "y.transpose(-1, 1)", [8, 16, 6], [], "", False),
        ("self.conv1(…) (8, 64, 6)", "self.conv1(...)", [8, 64, 6], [], "", False),
        ("return[0] (8, 6, 16)", "__return__[0]", [8, 6, 16], [], "", False),
        ("x + y (8, 6)", "x + y", [8, 6], [], "", False),
        ("x[..., :3] (8, 3)", "x[..., :3]", [8, 3], [], "", False),
        ("x['a)'] (3,)", "x['a)']", [3], [], "", False),
        ("均值 (8, 6)", "均值", [8, 6], [], "", False),
        ("x\xa0(8,\u30006)", "x", [8, 6], [], "", False),
        ("  x (8, 6)  ", "x", [8, 6], [], "", False),
        # forms whose names will tell: not claims unless the expression is a tensor
        ("Linear(16, 16)", "Linear", [16, 16], [], "", True),
        ("range(3)", "range", [3], [], "", True),
        ("self.norm(x)", "self.norm", ["x"], [], "", True),
        ("x.sum()", "x.sum", [], [], "", True),
    ],
)
def test_shape(text: str, code: str, slots: list[object], axes: list[object], dtype: str, tight: bool) -> None:
    found = claim(text)
    assert found.form == "shape"
    assert [expression.code for expression in found.expressions] == [code]
    assert [slot.code for slot in found.slots] == slots
    assert [slot.code for slot in found.axes] == axes
    assert (found.dtype, found.tight, found.asks) == (dtype, tight, False)


@pytest.mark.parametrize(
    ("text", "bracket", "checked"),
    [
        ("x (8, 6)", "(8, 6)", "(8, 6)"),
        ("x (8, 6,) ", "(8, 6,)", "(8, 6,)"),
        ("x ()", "()", "()"),
        ("x (8, (B + 1) * C) float64 ", "(8, (B + 1) * C)", "(8, (B + 1) * C) float64"),
        ("x (8, 6) = (B, C)", "(8, 6)", "(8, 6)"),
        ("x (8, 6) = (B, C) float64", "(8, 6)", "(8, 6) = (B, C) float64"),
        ("x ( ? )", "( ? )", "( ? )"),
    ],
)
def test_checked_part_of_a_shape(text: str, bracket: str, checked: str) -> None:
    found = claim(text)
    assert found.bracket == bracket
    assert text[found.written : found.end] == checked


@pytest.mark.parametrize(
    ("text", "code", "literal", "dtype"),
    [
        ("d_ff = 64", "d_ff", "64", ""),
        ("d_ff=64", "d_ff", "64", ""),
        ("d_ff\u3000=\xa064", "d_ff", "64", ""),
        ("d_ff / d_model = 4", "d_ff / d_model", "4", ""),
        ("self.norm1.eps = 1e-05", "self.norm1.eps", "1e-05", ""),
        ("self.conv1.kernel_size = (1,)", "self.conv1.kernel_size", "(1,)", ""),
        ("x.shape = (8, 6, 16)", "x.shape", "(8, 6, 16)", ""),
        ("x.dtype = torch.float64", "x.dtype", "torch.float64", ""),
        ("self.padding_mode = 'a = b ≈ c'", "self.padding_mode", "'a = b ≈ c'", ""),
        ("f(x, k=1) = 3", "f(x, k=1)", "3", ""),
        ("(x == y).all() = True", "(x == y).all()", "True", ""),
        ("(a ≠ b).any() = False", "(a != b).any()", "False", ""),
        ("return = None", "__return__", "None", ""),
        ("attns = [None, None]", "attns", "[None, None]", ""),
        ("idx = [[0, 1], …, [4, 5]] int64", "idx", "[[0, 1], …, [4, 5]]", "int64"),
        ("x.max() = -inf", "x.max()", "-inf", ""),
        ("betas = (0.9, 0.999)", "betas", "(0.9, 0.999)", ""),
        ("k=1", "k", "1", ""),
        ("attn_mask=None", "attn_mask", "None", ""),
    ],
)
def test_equal(text: str, code: str, literal: str, dtype: str) -> None:
    found = claim(text)
    assert found.form == "equal"
    assert codes(text) == [code]
    assert found.literal is not None and found.literal.text == literal
    assert found.dtype == dtype
    assert text[found.written : found.end] == literal + (f" {dtype}" if dtype else "")


@pytest.mark.parametrize(
    ("text", "code", "literal", "dtype"),
    [
        ("out[0, 0] ≈ 0.04", "out[0, 0]", "0.04", ""),
        ("x≈0.5", "x", "0.5", ""),
        ("x ≈ -1.0e-09 float32", "x", "-1.0e-09", "float32"),
        ("x ≈ [0.1, …, 0.3]", "x", "[0.1, …, 0.3]", ""),
        ("x ≈ [[0.1, …], …, [0.3, 0.2]]", "x", "[[0.1, …], …, [0.3, 0.2]]", ""),
        ("x ≈ [nan, inf, -inf, -0.0]", "x", "[nan, inf, -inf, -0.0]", ""),
        ("均值 ≈ 0.50", "均值", "0.50", ""),
        ("d['≈'] ≈ 0.5", "d['≈']", "0.5", ""),
    ],
)
def test_approx(text: str, code: str, literal: str, dtype: str) -> None:
    found = claim(text)
    assert found.form == "approx"
    assert codes(text) == [code]
    assert found.literal is not None and found.literal.text == literal
    assert found.dtype == dtype


@pytest.mark.parametrize(
    ("text", "operands", "symbols"),
    [
        ("y is x", ["y", "x"], ["is"]),
        ("x is not y", ["x", "y"], ["is not"]),
        ("x is  not y", ["x", "y"], ["is not"]),
        ("return[1] is None", ["__return__[1]", "None"], ["is"]),
        ("(a - b).abs().max() < 1e-12", ["(a - b).abs().max()", "1e-12"], ["<"]),
        ("0 < x ≤ 1", ["0", "x", "1"], ["<", "<="]),
        ("a≠b", ["a", "b"], ["!="]),
        ("a ≥ b > c", ["a", "b", "c"], [">=", ">"]),
        ("'is in' in d", ["'is in'", "d"], ["in"]),
        ("None not in (x, y)", ["None", "(x, y)"], ["not in"]),
        ("f(a, k=1) == g(b)", ["f(a, k=1)", "g(b)"], ["=="]),
        ("x.shape == (8, 6, 16)", ["x.shape", "(8, 6, 16)"], ["=="]),
        ("[i for i in x] != y", ["[i for i in x]", "y"], ["!="]),
        ("y\u3000is\xa0x", ["y", "x"], ["is"]),
        ("a < b (d)", ["a", "b (d)"], ["<"]),
        ("a < f(3)", ["a", "f(3)"], ["<"]),
        ("(x < y) (8,) == z", ["(x < y) (8,)", "z"], ["=="]),
    ],
)
def test_compare(text: str, operands: list[str], symbols: list[str]) -> None:
    found = claim(text)
    assert found.form == "compare"
    assert codes(text) == operands
    assert [operator.symbol for operator in found.operators] == symbols
    for operator in found.operators:
        assert text[operator.offset : operator.offset + len(operator.text)] == operator.text


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("x (?)", "shape"),
        ("x (？)", "shape"),
        ("x(?)", "shape"),
        ("x ≈ ?", "approx"),
        ("x ≈ ？", "approx"),
        ("x = ?", "equal"),
    ],
)
def test_questions(text: str, form: str) -> None:
    found = claim(text)
    assert (found.form, found.asks) == (form, True)
    assert text[found.written : found.end].strip("()") in ("?", "？")


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "x", "8", "0.5", "(8, 6, 16)", "≈", "=", "?", "…", "x = …", "x = ...",
        "x = self.norm(x)", "H = self.n_heads", "x = 3 + 4", "x = -y", "x = [a, b]", "x = y = 3", "x, y = 1, 2",
        "y.transpose(-1, 1)", "queries, keys, values", "forward(x, attn_mask=None)", "kernel_size=1, bias=False",
        "stride=1, padding", "self.conv1(…)", "reshape(B, L, H, -1)", "print(x, sep='')", "print (x, sep='')",
        "x + f(3)", "x += 1", "x @= y", "x: int = 3", "(y := 3)", "a -> b", "a => b", "a << 2", "List<int>",
        "if attn_mask is None:", "for i in range(3)", "not x == y", "a and b == c", "a == b and c == d",
        "assert x == y",
        "return x == y", "lambda x: x == 1", "x == 1 if y else z", "x ==", "== x", "x is", "1 < 2", "1 = 1",
        "'a' = 'b'",
        "foo (bar, baz.q)", "x (a b)", "自注意力（self-attention）", "第一层", "x = 'abc", "it's x = 3", "x # = 3",
        "x[0", "f(x, k=1", "x (y", "x = f(1", "x = 3 foo", "x(8, 6) foo",
        "x (8.5), y", "x (8, 6) + y", "x is (y", "{'a': 1}",
        "docs/page.md", "v2.13.0", "PatchTST", "x = y ? 1 : 2", "\x00", "x\\", "#",
    ],
)  # fmt: skip
def test_not_a_claim(text: str) -> None:
    assert parse(text) is None


@pytest.mark.parametrize(
    ("text", "offset", "message", "suggestion"),
    [
        # full-width punctuation
        ("x（8，6，16）", 1, "半角标点：（ 写成 (", "x(8, 6, 16)"),
        ("x （8，6，16）", 2, "半角标点：（ 写成 (", "x (8, 6, 16)"),
        ("x (8， 6)", 4, "半角标点：， 写成 ,", "x (8, 6)"),
        ("x (8、6)", 4, "半角标点：、 写成 ,", "x (8, 6)"),
        ("x ≈ [0.1，0.2]", 8, "半角标点", "x ≈ [0.1, 0.2]"),
        ("x＝３", 1, "半角标点：＝ 写成 =", "x=3"),
        ("x = −1", 4, "半角标点：− 写成 -", "x = -1"),
        ("x ≈ 0.50，0.25", 8, "半角标点", "x ≈ 0.50, 0.25"),
        # ≈
        ("≈ 0.5", 0, "左边缺表达式", ""),
        ("x ≈", 2, "右边缺一个数", ""),
        ("d_ff =", 5, "= 右边缺一个值", ""),
        ("x is x", 2, "什么也没有说", ""),
        ("x.shape == x.shape", 8, "什么也没有说", ""),
        ("a < x <= x", 6, "什么也没有说", ""),
        ("x = x", 2, "什么也没有说", ""),
        ("x.a = x.a", 4, "什么也没有说", ""),
        ("x.shape = ", 8, "= 右边缺一个值", ""),
        ("0.5 ≈ 0.5", 0, "左边没有变量", ""),
        ("0.3 ≈ x", 0, "左边没有变量", ""),
        ("x ≈ 1", 4, "小数点或指数", "x ≈ 1.0"),
        ("x ≈ [0.5, 1]", 10, "小数点或指数", "x ≈ [0.5, 1.0]"),
        ("x ≈ None", 4, "只能写浮点数", ""),
        ("x ≈ ['a']", 5, "只能写浮点数", ""),
        ("x ≈ 0.0", 4, "舍入误差", ""),
        ("x ≈ -0.00", 4, "舍入误差", ""),
        ("x ≈ 0e-9", 4, "舍入误差", ""),
        ("x ≈ (0.1, 0.2)", 4, "不写元组", ""),
        ("x ≈ [0.1, [0.2]]", 10, "嵌套层数不一致", ""),
        ("x ≈ [[0.1, 0.2], [0.3]]", 17, "各行长度不一致：2 与 1", ""),
        ("x ≈ [0.1, …, …]", 13, "只能有一个 …", ""),
        ("x ≈ y + 1", 4, "不能写表达式", ""),
        ("x ≈ 0.5 0.6", 8, "多出了 0.6", ""),
        ("x ≈ 0.5 float46", 8, "不是 dtype，是不是 float64", "x ≈ 0.5 float64"),
        ("x ≈ 0.5]", 7, "] 不配对", ""),
        ("x ≈ [0.1, [0.2]", 4, "[ 不配对", ""),
        ("x[0 ≈ 0.5", 1, "[ 不配对", ""),
        ("max(x ≈ 0.5)", 6, "≈ 不能写在括号里", ""),
        ("x ≈ y ≈ 0.5", 6, "只写一个 ≈", ""),
        ("a < b ≈ 0.3", 2, "≈ 不能与 < 写在一起", ""),
        ("a ≈ 0.3 < b", 8, "≈ 不能与 < 写在一起", ""),
        ("a = b ≈ 0.3", 2, "≈ 不能与 = 写在一起", ""),
        ("x 的均值 ≈ 0.5", 0, "不是 Python 表达式：x 的均值", ""),
        ("x (8, 6) ≈ 0.5", 2, "形状与数值要拆成两个断言", ""),
        ("x ≈ 'abc", 4, "字符串没有闭合", ""),
        ("x ≈ 1e400", 4, "超出 float64", ""),
        # =
        ("x = [0.1, 0.2]", 2, "浮点数的列表要用 ≈", "x ≈ [0.1, 0.2]"),
        ("x = [[1, 0.5]]", 2, "浮点数的列表要用 ≈", "x ≈ [[1, 0.5]]"),
        ("x = ([0.5],)", 2, "浮点数的列表要用 ≈", "x ≈ ([0.5],)"),
        ("x = [1, 2", 4, "[ 不配对", ""),
        ("x = [1, 2]]", 10, "多了一个 ]", "x = [1, 2]"),
        ("x = 1.2.3", 4, "1.2.3 不是字面量", ""),
        ("x = +3", 4, "不写加号", "x = 3"),
        ("k = (3)", 4, "带逗号", "k = (3,)"),
        ("x = 3 个", 6, "多出了 个", ""),
        ("x = [1 2]", 7, "缺一个逗号", ""),
        ("x == y = True", 2, "= 不能与 == 写在一起", ""),
        ("x 的步长 = 3", 0, "不是 Python 表达式：x 的步长", ""),
        # shapes
        ("x (8, 6, -1)", 9, "-1 不是轴", ""),
        ("x (8, 2.5)", 6, "2.5 不是轴", ""),
        ("x (8, , 6)", 6, "缺一个轴", ""),
        ("x (8, 06)", 6, "06 不是轴的长度", ""),
        ("x (B×C, 6)", 3, "B×C 不是轴", "x (B*C, 6)"),
        ("x (8, seq_len/2)", 6, "seq_len/2 不是轴", "x (8, seq_len//2)"),
        ("x (8, …)", 6, "… 不是轴", ""),
        ("x (8, a.b)", 6, "a.b 不是轴", ""),
        ("x (8, None)", 6, "None 不是轴", ""),
        ("x (8, 6", 2, "没有闭合", "x (8, 6)"),
        ("x (8, 6))", 8, "多了一个 )", "x (8, 6)"),
        ("x (8, 6) float46", 9, "不是 dtype", "x (8, 6) float64"),
        ("x (8, 6) float32 = (B, C) float64", 26, "dtype 写了两次", ""),
        ("x (8, 6) = 0.5", 9, "要接轴名", ""),
        ("x (8, 6) = (B, C, D)", 9, "左边 2 个，右边 3 个", ""),
        ("x (8, 6) = (B, C) 和", 17, "多出了 和", ""),
        ("x (8, 6), y (8, 64)", 8, "只写一个断言", ""),
        ("x (8, 6) → y", 9, "只写一个断言", ""),
        ("x (8, 6)。", 8, "只写一个断言", ""),
        ("x (8, 6) 的转置", 9, "只写一个断言", ""),
        ("a < b (8, 6)", 6, "拆成两个断言", ""),
        ("x 的形状 (8, 6)", 0, "不是 Python 表达式：x 的形状", ""),
    ],
)
def test_malformed(text: str, offset: int, message: str, suggestion: str) -> None:
    with pytest.raises(ClaimError) as caught:
        parse(text)
    assert message in caught.value.message
    assert caught.value.offset == offset
    assert caught.value.suggestion == suggestion


def test_code_of_an_expression_keeps_strings() -> None:
    assert codes("d['… return ≠'] is x") == ["d['… return ≠']", "x"]
    assert codes("self.return_value is returned") == ["self.return_value", "returned"]


def test_no_warning_escapes() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert claim("x is 1").form == "compare"


relaxed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
PIECES = [
    "x", "y[0]", "self.norm", "return", "均值", " ", "\xa0", "\u3000", "(", ")", "[", "]", "{", "}", "8", "0.5", "1e-5",
    "1e999", "007", "nan", "-inf", ",", "，", "（", "）", "…", "...", "≈", "=", "==", "!=", "≠", "<", "≤", "is",
    "is not",
    "in", "not", "if", "else", "lambda", "float64", "torch.int8", "None", "True", "'", '"', "\\", "#", "*", "//", "/",
    "+", "-", "−", "?", "？", ".", ":", "\n", "\0", "²", "٣", "ﬁ", "B*C",
]  # fmt: skip


def holds_together(text: str) -> None:
    try:
        found = parse(text)
    except ClaimError as error:
        assert 0 <= error.offset <= len(text)
        assert error.message
        return
    if found is None:
        return
    assert found.text == text
    for part in [*found.expressions, *found.slots, *found.axes, *found.operators]:
        assert text[part.offset : part.offset + len(part.text)] == part.text
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for expression in found.expressions:
            ast.parse(expression.code, mode="eval")
    if found.literal is not None:
        assert text[found.literal.offset :].startswith(found.literal.text)
    if found.form == "compare":
        assert len(found.operators) == len(found.expressions) - 1 > 0
    else:
        assert len(found.expressions) == 1
        assert 0 < found.written < found.end <= len(text)


@relaxed
@given(st.text(max_size=30))
@example("x ≈")
@example("(" * 300)
@example("x = " + "[" * 300)
@example("x ≈ " + "-" * 5000 + "1")
@example("x" + "+x" * 3000 + " = 1")
def test_any_text(text: str) -> None:
    holds_together(text)


@relaxed
@given(st.lists(st.sampled_from(PIECES), max_size=10).map("".join))
def test_any_text_of_pieces(text: str) -> None:
    holds_together(text)


@relaxed
@given(
    st.sampled_from(["x", "x.sum(-1)", "self.conv1(…)", "return[0]"]),
    st.lists(st.integers(0, 99) | st.sampled_from(["B", "B*C", "seq_len // 2"]), max_size=5),
    st.sampled_from(["", " float64", " = axes"]),
)
def test_any_shape(subject: str, slots: list[object], tail: str) -> None:
    axes = " = (" + "".join(f"{slot}, " for slot in slots) + ")"
    text = f"{subject} ({', '.join(map(str, slots))}){axes if tail == ' = axes' else tail}"
    found = claim(text)
    assert [slot.code for slot in found.slots] == slots
    holds_together(text)


@pytest.mark.parametrize("text", ["x.stride() = (12, 4, 1)", "f(3) = (2, 3)"])
def test_a_call_without_a_blank_and_a_tuple_is_a_claim_of_a_value(text):
    claim = parse(text)
    assert claim is not None and claim.form == "equal" and claim.expressions[0].text == text.partition(" = ")[0]


def test_a_shape_without_a_blank_may_name_its_axes():
    claim = parse("x(8, 6, 16) = (B*C, patch_num, d_model)")
    assert claim is not None and claim.form == "shape" and claim.tight
