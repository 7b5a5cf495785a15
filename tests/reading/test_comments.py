"""Shape comments in quoted source are claims."""

from __future__ import annotations

import textwrap

import pytest

from tests.reading.checking import MIXER, WINDING, check, place, quoted

LINE = "y = self.back(torch.relu(self.linear(y)))  # [B, L, D]"


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Check a page that quotes one line of a module written for the purpose."""
    monkeypatch.syspath_prepend(tmp_path)
    count = 0

    def run(body, code, *, shapes=((2, 3, 4), (3, 5, 7)), annotation="", axes="{'N': 'n', 'M': 'm'}"):
        nonlocal count
        name = f"commented_{tmp_path.name.replace('-', '_')}_{count}"
        count += 1
        source = f"""
            import torch
            from jaxtyping import Float
            from tests.reading.sample_toys import Toy

            SHAPES = {shapes!r}

            def work(x{annotation}):
                {textwrap.indent(textwrap.dedent(body), " " * 16).strip()}

            def toy(case=0):
                x = torch.arange(float(torch.tensor(SHAPES[case]).prod())).reshape(SHAPES[case])
                return Toy(work, (x,), {{}}, {{'n': SHAPES[case][0], 'm': SHAPES[case][1]}}, {axes})

            toy.cases = {len(shapes)}
        """
        (tmp_path / f"{name}.py").write_text(textwrap.dedent(source), encoding="utf-8")
        return check(quoted(code), f"---\ntoy: {name}:toy\nreads: [{name}.work]\n---\n")

    return run


def test_a_right_comment_is_counted_and_green():
    checked = check(quoted(LINE, options='pass="1"'))
    assert checked.failures == [] and checked.reading.comments == 1


def test_a_right_comment_that_is_not_quoted_is_compared_all_the_same():
    checked = check(quoted("z = self.gate(y) + self.gate(x)"), WINDING)
    assert checked.failures == [] and checked.reading.comments == 1


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
    checked = check(text, WINDING)
    assert checked.failures == [] and checked.reading.comments == 1


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
    code = "y = x * 2  # see [1, 2] there\nz = y[0]  # a list [N]s"
    checked = written(f"{code}\nreturn z", code)
    assert checked.failures == [] and checked.reading.comments == 0


def test_the_place_of_a_comment_in_a_page(written):
    assert place(quoted(LINE), "# [B") == (6, LINE.index("#") + 1)
