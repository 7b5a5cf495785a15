"""Executed blocks and doctest examples: what they print, what goes wrong, and where it is said."""

from __future__ import annotations

import pytest

from tests.reading.checking import MIXER, block, check, place, quoted
from tsformers.reading.blocks import compare_output


def pycon(code):
    return f"```pycon\n{code}\n```\n\n"


def only(text, header=MIXER):
    (failure,) = check(text, header).failures
    return failure


# Executed blocks


@pytest.mark.parametrize("hidden", [0, 5, 50])
@pytest.mark.parametrize("above", ["", "文。\n\n" * 3])
def test_an_exception_is_red_at_its_physical_line_and_column(hidden, above):
    code = "".join(f"a{k} = {k}\n" for k in range(hidden)) + "b = 2\n中文 = '汉字'\nc = b + 1 / 0"
    text = above + block(code)
    failure = only(text)
    assert (failure.line, failure.column, failure.kind) == (*place(text, "1 / 0"), "exec")
    assert failure.claim == "c = b + 1 / 0" and "ZeroDivisionError" in failure.actual


def test_the_third_block_of_a_page():
    text = block("a = 1") + block("b = a") + block("c = b\nd = c\nraise ValueError('三')")
    failure = only(text)
    assert (failure.line, failure.column) == place(text, "raise")
    assert "ValueError: 三" in failure.message


def test_columns_count_characters():
    text = block("甲 = '注释注释'; 1 / 0")
    assert (only(text).line, only(text).column) == place(text, "1 / 0")


@pytest.mark.parametrize("margin", ["    ", "> ", "* 一\n\n    "])
def test_a_block_in_a_container(margin):
    lines = block("a = 1\nb = a + None").rstrip().split("\n")
    first, rest = margin, " " * 4 if margin.startswith("*") else margin
    if margin == "    ":
        lines[0] = '!!! note "甲"\n\n    ' + lines[0]
        first = ""
    text = first + f"\n{rest}".join(lines) + "\n"
    failure = only(text)
    assert (failure.line, failure.column) == place(text, "a + None")


def test_an_exception_inside_a_function_of_another_block():
    text = block("def halve(n):\n    return n / 0\n") + block("a = 1\nhalve(a)")
    assert only(text).line == place(text, "return n")[0]


def test_an_exception_inside_the_library_is_red_at_the_page():
    text = block("import json\n\njson.loads('{')")
    assert (only(text).line, only(text).kind) == (place(text, "json.loads")[0], "exec")


@pytest.mark.parametrize("code", ["def f(:\n    pass", "a = 1\nb = = 2", "  a = 1\n b = 2", "a = 1\nreturn a", "break"])
def test_a_syntax_error(code):
    text = block(code)
    failure = only(text)
    rows = {"b = = 2": 1, "return a": 1}
    row = next((row for part, row in rows.items() if part in code), 0)
    assert (failure.line, failure.kind) == (6 + row, "exec")
    assert "语法" in failure.message or "SyntaxError" in failure.message


@pytest.mark.parametrize(
    "code", ["import sys\nsys.exit(0)", "raise SystemExit", "exit()", "import sys\nsys.exit('坏')"]
)
def test_an_exit_is_red(code):
    text = block(code) + "`x (2, 3, 4)`，`x (2, 3, 5)`\n"
    failures = check(text).failures
    assert [failure.kind for failure in failures] == ["exit", "claim"]  # and the page goes on
    assert failures[0].line == 5 + len(code.split("\n"))


def test_an_exit_that_the_page_swallows_does_no_harm():
    assert check(block("try:\n    raise SystemExit(0)\nexcept SystemExit:\n    pass")).failures == []


@pytest.mark.parametrize(
    ("code", "expected", "green"),
    [
        ("raise ValueError('x')", "ValueError", True),
        ("raise UnicodeError('x')", "ValueError", True),
        ("raise NameError('x')", "ValueError", False),
        ("undefined", "ValueError", False),
        ("a = 1", "ValueError", False),
        ("a = = 1", "SyntaxError", True),
        ("  a = 1\n b = 2", "SyntaxError", True),
        ("return 1", "SyntaxError", True),
        ("a = = 1", "ValueError", False),
        ("raise SystemExit", "SystemExit", False),
    ],
)
def test_a_block_that_must_fail(code, expected, green):
    checked = check(block(code, f'exec="1" raises="{expected}"'))
    assert [failure.kind in ("exec", "exit", "fence") for failure in checked.failures] == ([] if green else [True])
    if green:
        (output,) = checked.reading.outputs.values()
        assert "Error" in output.text  # the reader sees it
    elif checked.failures[0].kind == "exec" and "= =" not in code:
        assert expected in checked.failures[0].expected


def test_what_a_block_prints_is_its_output():
    text = block("print('一')\nimport sys\nprint('二', file=sys.stderr)\nprint(x.shape)")
    (output,) = check(text).reading.outputs.values()
    assert output.text == "一\n二\ntorch.Size([2, 3, 4])\n"


def test_names_stay_for_the_page_and_the_state_is_seen():
    text = block("a = x.sum()") + quoted("y = x = self.norm(x)") + block("b = y is x, a") + "`b[0] = True`\n"
    assert check(text).failures == []


def test_a_block_that_fails_leaves_what_it_bound():
    text = block("a = 1\nb = 1 / 0\nc = 1") + "`a = 1`，`c = 1`\n"
    failures = check(text).failures
    assert failures[0].kind == "exec" and failures[0].line == 7
    assert all(failure.line == 11 for failure in failures[1:])


# Examples


def test_examples_are_counted_and_compared():
    checked = check(
        pycon(
            ">>> 1 + 1\n2\n>>> print('a\\n\\nb')\na\n<BLANKLINE>\nb\n>>> a = 3\n"
            ">>> for k in range(2):\n...     print(k)\n0\n1"
        )
    )
    assert checked.failures == [] and checked.reading.examples == 4


def test_a_wrong_output_is_red_at_its_line():
    text = pycon(">>> a = 1\n>>> a + 1\n2\n>>> for k in range(3):\n...     print(k)\n0\n2\n2")
    failure = only(text)
    assert (failure.line, failure.column, failure.kind) == (12, 1, "example")
    assert failure.message.count("2") >= 1 and failure.actual == "0\n1\n2"


def test_the_column_of_a_wrong_number():
    text = pycon(">>> import torch\n>>> torch.tensor([0.25, 0.5])\ntensor([0.2500, 0.7500])")
    assert (only(text).line, only(text).column) == place(text, "0.7500")


def test_the_second_of_two_equal_examples():
    text = pycon(">>> 1 + 1\n2") + pycon(">>> 1 + 1\n3")
    assert only(text).line == place(text, "3")[0] if text.count("3") == 1 else 10


@pytest.mark.parametrize("code", [">>> a = 1\n1", ">>> 1", ">>> print('a')\na\nb", ">>> print('a\\nb')\na"])
def test_too_much_or_too_little_output_is_red(code):
    assert only(pycon(code)).kind == "example"


@pytest.mark.parametrize(
    ("code", "green"),
    [
        (">>> 1 / 0\nTraceback (most recent call last):\n  ...\nZeroDivisionError: division by zero", True),
        (">>> 1 / 0\nTraceback (most recent call last):\nZeroDivisionError: division by zero", True),
        (">>> 1 / 0\nTraceback (most recent call last):\n  ...\nValueError: division by zero", False),
        (">>> 1 / 0\nTraceback (most recent call last):\n  ...\nZeroDivisionError: by zero", False),
        (">>> 1 / 0", False),
        (">>> 1 / 0\n0", False),
        (">>> 1 / 1\nTraceback (most recent call last):\n  ...\nZeroDivisionError: division by zero", False),
        (">>> print('ValueError: a')\nTraceback (most recent call last):\n  ...\nValueError: a", False),
        (">>> raise ValueError('a')\nValueError: a", False),
        (">>> a = = 1\nTraceback (most recent call last):\n  ...\nSyntaxError: invalid syntax", True),
    ],
)
def test_exceptions_of_examples(code, green):
    assert [failure.kind for failure in check(pycon(code)).failures] == ([] if green else ["example"])


def test_the_line_of_a_wrong_exception():
    text = pycon(">>> 1 / 0\nTraceback (most recent call last):\n  ...\nValueError: division by zero")
    assert only(text).line == place(text, "ValueError")[0]


def test_an_exit_in_an_example():
    text = pycon(">>> raise SystemExit\n>>> 1\n1")
    assert (only(text).line, only(text).kind) == (6, "exit")


def test_an_indented_example_keeps_its_columns():
    text = pycon("  >>> print(0.5)\n  0.7")
    assert (only(text).line, only(text).column) == place(text, "0.7")


def test_examples_see_the_state_and_the_print_options_are_pinned():
    code = ">>> import torch\n>>> torch.set_printoptions(precision=1)\n>>> x[0, 0]\n"
    code += "tensor([0.0000, 0.1000, 0.2000, 0.3000], dtype=torch.float64)"
    assert check(pycon(code)).failures == []


@pytest.mark.parametrize("code", ["1 + 1\n2", ">>>1\n1", ">>> 1\n  ... 2\n"])
def test_a_pycon_fence_that_is_no_example(code):
    assert [failure.kind for failure in check(pycon(code)).failures] == ["example"]


@pytest.mark.parametrize(
    ("written", "actual", "where"),
    [
        ("0.33", "0.3333", None),
        ("0.34", "0.3333", (0, 0)),
        ("[0.33, 0.5]", "[0.3349, 0.5000]", None),
        ("[0.33, 0.5]", "[0.3351, 0.5000]", (0, 1)),
        ("a\n0.5", "a\n0.6", (1, 0)),
        ("3", "3", None),
        ("3", "3.0", (0, 0)),
        ("3.0", "3", (0, 0)),
        ("1.", "1.4", (0, 0)),
        ("tensor([1., 0.])", "tensor([0.6000, 0.4000])", (0, 8)),
        ("tensor([1., 0.])", "tensor([1., 0.])", None),
        ("-0.5", "0.5", (0, 0)),
        ("1e-05", "1.2e-05", None),
        ("1.0e-05", "1.2e-05", (0, 0)),
        ("10", "100", (0, 0)),
        ("tensor(0.5)", "tensor([0.5])", (0, 7)),
        ("(2, 3)", "(2, 3, 4)", (0, 5)),
        ("x  ", "x", None),
        ("", "", None),
        ("nan", "nan", None),
        ("inf", "nan", (0, 0)),
        ("0.5 1", "0.5\n1", (0, 3)),
    ],
)
def test_outputs_are_compared_as_text_and_numbers_by_their_digits(written, actual, where):
    found = compare_output(written, actual)
    assert (None if found is None else found[:2]) == where


def test_blanks_in_what_an_example_prints_are_compared() -> None:
    """But for those that align numbers, which depend on the digits written."""
    right = "```pycon\n>>> print('a b  c')\na b  c\n>>> print('[ 0.5,  -1.25]')\n[0.5, -1.25]\n```\n"
    assert check(right.replace("[0.5", "[ 0.5"), "").failures == []
    assert [
        failure.kind for failure in check(right.replace("a b  c\n>>> print('[", "a  b c\n>>> print('["), "").failures
    ] == [
        "example",
        "example",
    ]


def test_what_a_block_keeps_of_the_state_and_changes_later_is_not_the_state():
    text = block("kept = [x]") + "`kept[0] is x`，`x[0, 0, 0] = 0.0`\n\n" + block("kept[0].fill_(7)\ndel kept")
    checked = check(text + "`x[0, 0, 0] = 0.0`\n")
    assert [failure.kind for failure in checked.failures] == ["exec"] and "就地改变" in checked.failures[0].message


def test_a_thread_that_outlives_its_block_does_not_reach_the_state():
    code = "import threading, time\ndef spoil():\n    time.sleep(0.2)\n    x.fill_(7)\n\n"
    code += "kept = x\nthread = threading.Thread(target=lambda: (time.sleep(0.1), kept.fill_(7)))\nthread.start()"
    text = block(code) + "`x[0, 0, 0] = 0.0`\n\n" + quoted("B, L, D = x.shape") + block("thread.join()", 'exec="1"')
    checked = check(text + "`x[0, 0, 0] = 0.0`\n")
    assert "claim" not in [failure.kind for failure in checked.failures]
