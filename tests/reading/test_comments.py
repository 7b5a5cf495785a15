"""Shape comments in quoted source are claims."""

from __future__ import annotations

import textwrap

import pytest

from tests.reading.checking import MIXER, WINDING, check, front, quoted

LINE = "y = self.back(torch.relu(self.linear(y)))  # [B, L, D]"
SHAPES = ((2, 3, 4), (3, 5, 7))
AXES = "{'N': 'n', 'M': 'm'}"


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Check a page that quotes one line of a module written for the purpose."""
    monkeypatch.syspath_prepend(tmp_path)
    count = 0

    def run(body, code, *, shapes=SHAPES, annotation="", axes=AXES, signature="", returns="", after=""):
        nonlocal count
        newline = "\n"
        name = f"commented_{tmp_path.name.replace('-', '_')}_{count}"
        count += 1
        source = f"""
            import torch
            from jaxtyping import Float
            from tests.reading.sample_toys import Toy

            SHAPES = {shapes!r}

            def work({signature.replace(newline, newline + " " * 12) or "x" + annotation}){returns}:
                {textwrap.indent(textwrap.dedent(body), " " * 16).strip()}

            def toy(case=0):
                x = torch.arange(float(torch.tensor(SHAPES[case]).prod())).reshape(SHAPES[case])
                return Toy(work, (x,), {{}}, {{'n': SHAPES[case][0], 'm': SHAPES[case][1]}}, {axes})

            toy.cases = {len(shapes)}
        """
        (tmp_path / f"{name}.py").write_text(textwrap.dedent(source), encoding="utf-8")
        return check(quoted(code) + after, f"---\ntoy: {name}:toy\nreads: [{name}.work]\n---\n")

    return run


def test_a_right_comment_is_counted_and_green():
    checked = check(quoted(LINE, options='pass="1"'))
    assert checked.failures == [] and checked.reading.comments == 2  # the other one is not quoted


def test_every_comment_of_a_function_read_is_compared_once_however_often_it_is_quoted():
    line = "z = self.gate(y) + self.gate(x)"
    checked = check(quoted(line) + quoted(f"{line}  # [B, L, D]"), WINDING)
    assert checked.failures == [] and checked.reading.comments == 5
    assert check("", WINDING).reading.comments == 5


@pytest.mark.parametrize("shapes", [((2, 3, 4), (3, 5, 7)), ((3, 3, 4), (3, 5, 7))])
def test_swapped_letters_are_red_even_where_they_are_equally_long(written, shapes):
    line = "y = x * 2  # [M, N, 4]" if shapes[0][0] != 3 else "y = x * 2  # [M, N, K]"
    body = f"N, M, K = x.shape\n{line}\nreturn y"
    checked = written(body, line, shapes=shapes)
    (failure,) = checked.failures
    assert failure.kind == "comment" and failure.claim == line[line.index("#") :]
    assert (failure.line, failure.column) == (6, line.index("#") + 1)
    assert ("写反" in failure.message and "0↔1" in failure.message) or shapes[0][0] == 3
    assert ("配置 1" in failure.message) == (shapes[0][0] == 3)


def test_a_wrong_letter_names_both_shapes(written):
    body = "N, M, K = x.shape\ny = x.sum(-1)  # [N, K]\nreturn y"
    (failure,) = written(body, "y = x.sum(-1)  # [N, K]").failures
    assert failure.expected == "(2, 4)" and failure.actual == "(2, 3)"


def test_a_wrong_rank(written):
    body = "N, M, K = x.shape\ny = x.sum(-1)  # [N, M, K]\nreturn y"
    (failure,) = written(body, "y = x.sum(-1)  # [N, M, K]").failures
    assert failure.kind == "comment" and "(2, 3)" in failure.message


def test_a_letter_that_stands_for_nothing(written):
    (failure,) = written("y = x * 2  # [N, M, Q]\nreturn y", "y = x * 2  # [N, M, Q]").failures
    assert failure.kind == "comment" and "Q" in failure.message


def test_letters_are_locals_then_annotated_axes_then_the_toys_axes(written):
    local = "N = 3\ny = x.transpose(0, 1)  # [N, 2, 4]\nreturn y"
    assert written(local, "y = x.transpose(0, 1)  # [N, 2, 4]", shapes=((2, 3, 4),)).failures == []
    line = "y = x.transpose(0, 1)  # [B, A, C]"
    assert written(f"{line}\nreturn y", line, annotation=": Float[torch.Tensor, 'A B C']").failures == []
    assert written(f"{line}\nreturn y", line, annotation=": 'Float[torch.Tensor, \"A B C\"]'").failures == []
    line = "y = x.transpose(0, 1)  # [M, N, C]"
    annotated = written(f"{line}\nreturn y", line, annotation=": Float[torch.Tensor, 'N M C']")
    assert annotated.failures == []
    shadowing = written(f"{line}\nreturn y", line, annotation=": Float[torch.Tensor, 'M N C']")
    assert [failure.kind for failure in shadowing.failures] == ["comment"]  # the annotation's letters, not the toy's


def test_products_of_letters(written):
    line = "y = x.reshape(-1, K)  # [N*M, K]"
    assert written(f"N, M, K = x.shape\n{line}\nreturn y", line).failures == []
    line = "y = x.reshape(-1, K)  # [N * K, M]"
    assert len(written(f"N, M, K = x.shape\n{line}\nreturn y", line).failures) == 1


def test_a_comment_alone_speaks_of_the_next_statement():
    text = quoted("# [B, D, L]\nturned = y.transpose(1, 2)")
    assert check(text, WINDING).failures == []


def test_a_wrong_comment_alone_is_red_at_itself(written):
    code = "# [M, N, 4]\ny = x * 2"
    (failure,) = written(f"{code}\nreturn y", code).failures
    assert (failure.line, failure.column, failure.claim) == (6, 1, "# [M, N, 4]")


def test_the_first_tensor_bound_or_returned_is_meant(written):
    line = "a, b = x.sum(-1), x  # [N, M]"
    assert written(f"{line}\nreturn a", line).failures == []
    line = "return x.shape[0], x.sum(-1), x  # [N, M]"
    assert written(line, line).failures == []
    line = "n = x.shape[0]  # [N, M]"
    (failure,) = written(f"{line}\nreturn x", line).failures
    assert "没有" in failure.message and "张量" in failure.message


def test_a_comment_of_a_quote_without_it_is_red_at_the_line(written):
    body = "y = x * 2  # [M, N, 4]\nreturn y"
    checked = written(body, "y = x * 2")
    assert [(failure.line, failure.column, failure.kind) for failure in checked.failures] == [(6, 1, "comment")]


def test_a_comment_is_compared_each_time_that_the_statement_runs(written):
    body = "for k in range(2):\n    x = x.transpose(0, 1)  # [M, N, 4]\nreturn x"
    (failure,) = written(body, "x = x.transpose(0, 1)  # [M, N, 4]").failures
    assert failure.kind == "comment"


def test_the_column_stands_in_the_page_inside_containers():
    code = quoted(LINE.replace("D]", "D]"), options='pass="1"').strip().replace("\n", "\n    ")
    text = f'!!! note "甲"\n\n    {code}\n'
    assert check(text, MIXER).failures == []


def test_several_comments_of_one_quote(written):
    code = "y = x * 2  # [M, N, 4]\nz = y + 1  # [N, M, 4]\nw = z + 1  # [N, M, N]"
    failures = written(f"{code}\nreturn w", code, shapes=((2, 3, 4), (3, 5, 4))).failures
    assert [failure.line for failure in failures] == [6, 8]


def test_comments_that_are_no_shapes_are_not_compared(written):
    code = "y = x * 2  # see [1, 2] there\nz = y + 1  # a list [N]s"
    checked = written(f"{code}\nreturn z", code)
    assert checked.failures == [] and checked.reading.comments == 0


@pytest.mark.parametrize("quote", ["y = x * 2", ""])
def test_a_wrong_comment_that_no_quote_shows_is_red_where_the_function_is_named(written, quote):
    body = "y = x * 2\nz = y + 1  # [M, N, 4]\nreturn z"
    (failure,) = written(body, quote or "return z").failures
    assert (failure.line, failure.column, failure.claim) == (3, 9, "# [M, N, 4]")
    assert "源码第 10 行" in failure.message


def test_one_wrong_comment_quoted_twice_is_said_once(written):
    line = "y = x * 2  # [M, N, 4]"
    (failure,) = written(f"{line}\nreturn y", line, after=quoted(line)).failures
    assert failure.line == 6


def test_a_comment_beside_neither_a_statement_nor_a_parameter_speaks_of_nothing(written):
    (failure,) = written(
        "return x", "return x", signature="\n    x,\n", returns=" -> (  # [N, M]\n            None)"
    ).failures
    assert "没有语句" in failure.message


def test_a_comment_inside_a_statement_speaks_of_it(written):
    body = "y = torch.cat([\n    # [M, N, 4]\n    x,\n])\nreturn y"
    (failure,) = written(body, "return y").failures
    assert "写反" in failure.message


def test_comments_in_strings_and_in_functions_inside_are_none(written):
    body = 'text = """\n    # [M, N]\n    """\n\ndef inner(a):\n    return a  # [Q]\n\nreturn inner(x), text'
    checked = written(body, "return inner(x), text")
    assert checked.failures == [] and checked.reading.comments == 0


def test_full_width_commas_are_read(written):
    line = "y = x * 2  # [M，N，4]"
    (failure,) = written(f"{line}\nreturn y", line).failures
    assert failure.expected == "(3, 2, 4)"


def test_a_comment_in_the_signature_speaks_of_its_parameter(written):
    signature = "\n    x,  # [{}]\n    n=2,\n"
    quote = "def work(\n    x,  # [{}]\n    n=2,\n): ..."
    right = "N, M, 4"
    checked = written("return x", quote.format(right), signature=signature.format(right), shapes=((2, 3, 4), (3, 5, 4)))
    assert checked.failures == [] and checked.reading.comments == 1
    wrong = "M, N, 4"
    (failure,) = written("return x", quote.format(wrong), signature=signature.format(wrong)).failures
    assert (failure.line, failure.column) == (7, 9), failure
    assert "写反" in failure.message


def test_letters_of_the_returned_annotation_are_the_same_through_the_call(written):
    line = "y = x.sum(1)  # [{}]"
    for letters, red in (("A, K", False), ("K, A", True)):
        quote = line.format(letters)
        checked = written(f"{quote}\nreturn y.T.T", quote, returns=' -> Float[torch.Tensor, "A K"]')
        assert bool(checked.failures) is red, letters


def test_attributes_that_are_bound_are_meant(written):
    line = "box.y = x.sum(1)  # [N, 4]"
    assert written(f"box = type('Box', (), {{}})()\n{line}\nreturn box", line, shapes=((2, 3, 4),)).failures == []


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("x = x.transpose(0, 1)", "此前"),
        ("x.unsqueeze_(0)", "此前"),
        ("y = x.transpose(0, 1)", "首个运算对象 x"),
        ("y = torch.cat([x, x], 1)", "首个运算对象 x"),
        ("y = torch.tanh(x)[0]", "首个运算对象 x"),
        ("y, n = x.sum(0), 1", "首个运算对象 x"),
        ("y: torch.Tensor = x.mean(-1)", "首个运算对象 x"),
        ("if (y := x.sum(0)).sum() > 0:\n    n = 1", "首个运算对象 x"),
        ("for y in x:\n    n = 1", "首个运算对象 x"),
    ],
)
def test_a_change_of_shape_without_a_comment_is_red(written, statement, said):
    (failure,) = written(f"{statement}\nreturn x", statement).failures
    assert (failure.line, failure.column, failure.kind) == (6, 1, "comment") and said in failure.message
    (failure,) = written(f"{statement}\nreturn x", "return x").failures
    assert (failure.line, failure.column) == (3, 9)


def test_a_change_that_only_another_configuration_shows_is_red(written):
    (failure,) = written("y = x.transpose(0, 1)\nreturn y", "return y", shapes=((3, 3, 4), (3, 5, 7))).failures
    assert "配置 1" in failure.message and failure.expected == "# [M, N, 4]"


@pytest.mark.parametrize(
    "statement",
    [
        "y = x * 2",
        "n = x.shape[0]",
        "y = torch.zeros(x.shape[0], device=x.device)",
        "y = [part[0] for part in x]",
        "linear = torch.nn.Linear(4, 2)\ny = linear(x)",
        "x += 1",
        "x[0] = 1",
        "y = x.max()  # []",
    ],
)
def test_what_keeps_its_shape_needs_no_comment(written, statement):
    assert written(f"{statement}\nreturn x", statement, shapes=((2, 3, 4), (3, 5, 4))).failures == []


def test_what_a_module_of_the_subject_gives_under_a_new_name_is_its_own_affair():
    assert check("", front("held", "Held.forward")).failures == []
    (failure,) = check("", front("held", "Held.rebound")).failures
    assert failure.claim == "x = self.narrow(x)"


def test_the_hint_names_letters_that_hold_everywhere(written):
    (failure,) = written("N, M, K = x.shape\ny = x.sum(1)\nreturn y", "return y").failures
    assert failure.expected == "# [N, K]"


def test_installed_packages_are_not_asked_for_comments():
    spec = "torch.nn.TransformerEncoderLayer.forward"
    text = "---\ntoy: tests.reading.sample_toys:library\nreads: [" + spec + "]\n---\n"
    assert check("", text).failures == []
