"""What an expression means at a place of a page: names, recorded values, ``return``, copies, the order of scopes."""

from __future__ import annotations

import random

import pytest
import torch

from tests.reading.checking import MIXER, WINDING, block, check, front, place, quoted
from tsformers.reading.evaluate import EvaluationError, Scope, Unresolved, evaluate

LINE = "y = self.back(torch.relu(self.linear(y)))"
ONE = front("twice", "Mixer.forward @ first", "Twice.forward")


def green(text, header=MIXER):
    assert check(text, header).failures == []


def one_claim(text, header=MIXER):
    """The only failure, which stands at the page's last span."""
    (failure,) = check(text, header).failures
    start = text.rindex("`", 0, text.rindex("`"))
    assert (failure.line, failure.column) == place(text, text[start:], header, within=1)
    return failure


# Recorded sub-expressions


def test_a_recorded_sub_expression_keeps_the_value_that_it_had():
    text = quoted("z = self.gate(y) + self.gate(x)  # [B, L, D]") + quoted(
        "turned = y.transpose(1, 2)", "`y.transpose(1, 2) (2, 3, 3)`"
    )
    green(text, WINDING)
    bound_anew = quoted(LINE, "`self.linear(y) (2, 3, 8)`，`torch.relu(self.linear(y)) (2, 3, 8)`", 'pass="1"')
    green(bound_anew)  # y has now the width 4 again, and linear(y) of it would be another tensor


def test_the_recorded_value_is_not_the_one_of_the_new_names():
    text = quoted("y = y + 1  # once", "`y[0, 0, 0] = 1.0`，`(y + 1)[0, 0, 0] = 1.0`，`(y + 2)[0, 0, 0] = 3.0`")
    green(text, WINDING)


def test_recorded_inside_a_larger_expression():
    green(quoted("y = y + 1  # once", "`(y + 1).sum() == y.sum()`，`(y + 1)[0, 0, 0] - y[0, 0, 0] = 0.0`"), WINDING)
    green(quoted(LINE, "`torch.relu(self.linear(y)).min() = 0.0`", 'pass="1"'))


def test_only_the_piece_quoted_last_counts():
    text = quoted("y = y + 1  # once") + quoted("z = self.gate(y) + self.gate(x)", "`(y + 1)[0, 0, 0] = 2.0`")
    green(text, WINDING)


def test_a_call_without_its_arguments_is_the_recorded_call():
    green(
        quoted(
            LINE, "`self.linear(…) (2, 3, 8)`，`torch.relu(…).min() = 0.0`，`self.linear(…).shape[-1] = 8`", 'pass="2"'
        )
    )


def test_a_call_that_the_piece_does_not_make():
    failure = one_claim(quoted(LINE, "`self.norm(…) (2, 3, 4)`", 'pass="1"'))
    assert failure.kind == "claim" and "self.norm(…)" in failure.message


def test_calls_with_different_results_are_red():
    failure = one_claim(quoted("z = self.gate(y) + self.gate(x)", "`self.gate(…) (2, 3, 3)`"), WINDING)
    assert failure.kind == "claim" and "哪一次" in failure.message
    green(quoted("z = self.gate(y) + self.gate(x)", "`self.gate(y) (2, 3, 3)`，`self.gate(x) (2, 3, 3)`"), WINDING)


def test_a_name_bound_by_the_expression_itself_is_not_the_recorded_one():
    green(quoted("y = y + i", "`[i + 1 for i in range(B)] = [1, 2]`", 'pass="1"'))
    green(quoted("y = y + i", "`len([y + i for i in [5, 6]]) = 2`", 'pass="1"'))


def test_names_mean_the_state_even_where_the_piece_holds_them():
    green(quoted("y = y + 1  # once", "`y[0, 0, 0] = 1.0`，`x[0, 0, 0] = 0.0`"), WINDING)


# return


def test_return_is_what_the_subject_returned_anywhere():
    green(
        "`return[0] (2, 3, 3)`，`return[1] (2, 3)`，`len(return) = 2`，"
        "`return[1] - return[0].sum(-1) (2, 3)`，`return`，`return[0]`\n"
    )
    green(quoted("return scores, total", "`return[0] is scores`，`return[1] is total`，`return[0] is not total`"))


def test_return_that_is_wrong_is_red():
    text = "见 `return[1] (2, 4)`\n"
    assert check(text).said == [(*place(text, "4)"), "claim")]


# Names


def test_the_frame_comes_before_the_page_the_module_and_the_configuration():
    text = (
        block("width = 3\nNew = 1")
        + "`width = 3`，`New = 1`，`sizes.width = 3`，`d_model = 3`，`sizes.d_model = 3`，`B = 2`\n\n"
    )
    green(text + quoted("y = x * 1", "`width = 3`，`Float`，`nn`"), WINDING)
    # in the mixer B is a local too: the frame's
    green(quoted("B, L, D = x.shape", "`B = 2`，`sizes.B = 2`，`sizes.rounds = 2`，`D == d_model`"))


def test_a_page_name_gives_way_to_a_later_frame():
    text = block("y = 7") + "`y = 7`\n\n" + quoted("y = x * 1", "`y (2, 3, 3)`") + block("print(y.shape)")
    checked = check(text, WINDING)
    assert checked.failures == []
    assert [output.text for output in checked.reading.outputs.values()] == ["", "torch.Size([2, 3, 3])\n"]


@pytest.mark.parametrize(
    ("code", "row", "column"),
    [
        ("x = 3", 0, 1),
        ("a = 1\nfor x in []:\n    pass", 1, 5),
        ("import math as x", 0, 1),
        ("def x():\n    pass", 0, 1),
        ("a = '中文'; x = 1", 0, 11),
        ("if True:\n    x += 1", 1, 5),
        ("del x", 0, 5),
        ("[(x := k) for k in range(2)]", 0, 3),
        ("try:\n    pass\nexcept ValueError as x:\n    pass", 2, 1),
        ("(a, [x, b]) = 1, (2, 3)", 0, 6),
    ],
)
def test_a_block_may_not_bind_a_name_of_the_frame(code, row, column):
    checked = check(block(code))
    assert checked.said == [(6 + row, column, "exec")]
    assert checked.failures[0].claim == "x"


@pytest.mark.parametrize(
    "code",
    [
        "def f(x):\n    y = x\n    return y",
        "[x for x in range(2)]",
        "g = lambda x: x",
        "class K:\n    x = 1",
        "z = x + 1",
    ],
)
def test_a_block_may_use_a_name_of_the_frame_inside(code):
    green(block(code))


def test_an_example_may_not_bind_a_name_of_the_frame():
    assert check(block(">>> a = 1\n>>> x = 1", "").replace("python", "pycon")).said == [(7, 1, "example")]


@pytest.mark.parametrize(
    ("name", "near"), [("outz", "outs"), ("totals", "total"), ("self.linaer", "self.linear"), ("x.shpae", "x.shape")]
)
def test_did_you_mean(name, near):
    checked = check(quoted("total.add_(scores.sum(-1))", f"见 `{name}`"))
    (failure,) = checked.failures
    assert (failure.line, failure.column, failure.kind) == (9, 4, "name")
    assert failure.expected == near and near in failure.message


def test_a_claim_about_a_name_that_is_not_there():
    text = "见 `outz (2, 3)`，`scores (2, 3, 3)`\n"
    assert check(text).said == [(*place(text, "outz"), "name"), (*place(text, "scores"), "name")]


# States are read, not written


@pytest.mark.parametrize(
    ("expression", "changed"),
    [
        ("x.add_(1) (2, 3, 3)", "x"),
        ("x.zero_().sum() = 0.0", "x"),
        ("self.calls.append(1) is None", "self"),
        ("self.norm.train().training = True", "self"),
        ("self.gate.weight.zero_() (3, 3)", "self"),
        ("self.norm.running_mean.add_(1) (3,)", "self"),
    ],
)
def test_an_expression_that_changes_the_state_is_an_error(expression, changed):
    text = f"`{expression}`，其后 `x[0, 0, 1] ≈ 0.1`，`len(self.calls) = 1`，`self.norm.training = False`\n"
    checked = check(text, WINDING)
    assert checked.said == [(*place(text, expression, WINDING), "claim")]
    assert f"：{changed}；" in checked.failures[0].message


@pytest.mark.parametrize("expression", ["loss.add_(1) = 5.0", "next(generator) = 0", "names.append(1) is None"])
def test_what_a_block_bound_is_not_changed_either(expression):
    code = "import torch\nloss = (torch.ones(2, requires_grad=True) * 2).sum()\ngenerator = (k for k in range(3))\nnames = []"
    text = block(code) + f"`{expression}`，`loss = 4.0`，`loss.requires_grad = True`，`names = []`\n"
    checked = check(text)
    assert checked.said == [(*place(text, expression), "claim")]


def test_a_block_that_changes_the_state_in_place_is_an_error():
    for code, name in (("x.add_(1)", "x"), ("outs.append(1)", "outs")):
        checked = check(quoted("outs = []") + block(code))
        (failure,) = checked.failures
        assert (failure.line, failure.kind) == (10, "exec") and name in failure.message
    green(quoted("outs = []") + block("mine = x.clone().add_(1)\nother = outs + [1]"))


def test_the_random_state_is_put_back():
    torch.manual_seed(3)
    random.seed(3)
    before = torch.get_rng_state(), random.getstate()
    scope = Scope(module={"random": random})
    evaluate("torch.rand(2).sum() + random.random()", scope)
    assert torch.equal(before[0], torch.get_rng_state()) and before[1] == random.getstate()
    text = block(
        "torch.manual_seed(0)\nfirst = torch.rand(2)\ntorch.manual_seed(0)".replace(
            "torch.manual", "import torch\ntorch.manual", 1
        )
    )
    green(text + "`torch.rand(3) (3,)`\n\n" + block("second = torch.rand(2)") + "`first == second`\n")


def test_no_gradients_are_recorded():
    assert not evaluate("(p * 2)", Scope(frame={"p": torch.nn.Parameter(torch.ones(2))})).requires_grad


def test_the_sides_of_a_comparison_see_the_same_copies():
    shared = quoted(
        "turned = y.transpose(1, 2)", "`turned.data_ptr() == y.data_ptr()`，`y.clone().data_ptr() != y.data_ptr()`"
    )
    green(quoted("y = y + 1  # once") + quoted("z = self.gate(y) + self.gate(x)") + shared, WINDING)
    assert one_claim(quoted("y = y + 1  # once", "`y.data_ptr() != y.data_ptr()`"), WINDING).kind == "claim"


def test_identity_through_a_method_that_returns_its_owner():
    green(quoted("y = x = self.norm(x)", "`y.contiguous() is x`，`y.clone() is not x`"))


# evaluate itself


@pytest.mark.parametrize(
    ("code", "error", "part"),
    [
        ("a +", EvaluationError, "表达式"),
        ("missing", Unresolved, "missing"),
        ("lenght", Unresolved, "length"),
        ("1 / 0", EvaluationError, "ZeroDivisionError"),
        ("length.foo", EvaluationError, "AttributeError"),
        ("f(…)".replace("…", "..."), EvaluationError, "没有调用 f(…)"),
    ],
)
def test_errors_name_what_is_wrong(code, error, part):
    with pytest.raises(error) as caught:
        evaluate(code, Scope(frame={"length": 3}))
    assert part in str(caught.value)


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("[k * a for k in range(3)]", [0, 2, 4]),
        ("{k: a for k in 'b'}", {"b": 2}),
        ("(lambda b, *c, d=1: a + b + d)(3)", 6),
        ("sum(k for k in (a, a))", 4),
        ("sizes.n + n", 8),
        ("sizes.half", 2),
        ("max(a, 1)", 2),
    ],
)
def test_expressions(code, value):
    assert evaluate(code, Scope(frame={"a": 2}, sizes={"n": 4}, axes={"half": 2})) == value
