"""Quotes: what fits the source and what does not, where a page then stands, and what the state is there."""

from __future__ import annotations

import pytest

from tests.reading.checking import MIXER, WINDING, check, front, lines_of, place, quoted

LOOP = """for i in range(self.rounds):
    y = self.back(torch.relu(self.linear(y)))  # [B, L, D]
    y = y + i
    outs.append(y)"""


def where(checked):
    """First and last source line of each quote."""
    return [(quote.first_line, quote.last_line) for quote in checked.reading.quotes.values()]


@pytest.mark.parametrize(
    "code",
    [
        "y = x = self.norm(x)",
        "y   =  x=self.norm( x )",
        "y = x = self.norm(\n    x,\n)".replace(",", ""),
        "    y = x = self.norm(x)",
        "\n\ny = x = self.norm(x)\n",
    ],
)
def test_white_space_and_line_breaks_do_not_matter(code):
    checked = check(quoted(code, "`y is x`"))
    assert checked.said == []
    assert where(checked) == [(lines_of("y = x = self.norm(x)")[0],) * 2]


def test_comments_of_the_source_may_be_left_out():
    assert check(quoted(LOOP.replace("  # [B, L, D]", ""), "`len(outs) = 2`")).said == []


def test_dots_leave_out_statements_between():
    checked = check(quoted("B, L, D = x.shape\n...\nouts = []", "`outs = []`, `D = 4`"))
    assert checked.said == []
    (quote,) = checked.reading.quotes.values()
    assert quote.lines == (lines_of("B, L, D = x.shape")[0], 0, lines_of("outs = []")[0])


def test_statements_must_stand_next_to_each_other():
    checked = check(quoted("B, L, D = x.shape\nouts = []"))
    assert checked.said == [(6, 1, "quote")]


def test_a_loop_quoted_whole_stands_after_its_last_pass():
    assert check(quoted(LOOP, "`len(outs) = 2`, `i = 1`, `y is outs[1]`, `y is not outs[0]`")).said == []


@pytest.mark.parametrize("code", ["for i in range(self.rounds):\n    ...", "for i in range(self.rounds):",
                                  "for i in range(self.rounds):  # twice"][:2])  # fmt: skip
@pytest.mark.parametrize("number", [1, 2])
def test_a_header_stands_at_the_start_of_a_pass(code, number):
    after = f"`i = {number - 1}`, `len(outs) = {number - 1}`"
    assert check(quoted(code, after, f'pass="{number}"')).said == []


def test_a_statement_of_the_body_stands_after_it_in_its_pass():
    checked = check(quoted("y = y + i", "`i = 1`, `len(outs) = 1`, `y is not outs[0]`", 'pass="2"'))
    assert checked.said == []
    (quote,) = checked.reading.quotes.values()
    assert (quote.passes, quote.chosen_pass) == (2, 2)


@pytest.mark.parametrize("number", ["0", "3", "x"])
def test_a_pass_out_of_range_is_red(number):
    failures = check(quoted("y = y + i", options=f'pass="{number}"')).failures
    assert [(failure.line, failure.kind) for failure in failures if failure.kind in ("quote", "fence")][0][0] == 5 or (
        failures[0].line == 6
    )
    assert failures[0].kind in ("quote", "fence")


def test_a_value_that_differs_between_passes_is_red_without_pass():
    text = quoted("y = y + i", "同一形状 `y (2, 3, 4)`，值不同 `i = 1`")
    checked = check(text)
    assert checked.said == [(*place(text, "`i = 1`", within=1), "claim")]
    assert "pass=" in checked.failures[0].message and "2 遍" in checked.failures[0].message


def test_an_identity_that_differs_between_passes_is_red_without_pass():
    text = quoted("outs.append(y)", "`outs[0] is y`")
    assert check(text).said == [(*place(text, "outs[0] is y"), "claim")]


def test_a_branch_quoted_whole_stands_after_it():
    code = "if deep:\n    extra = y.transpose(1, 2)\n    y = y + extra.sum()\nelse:\n    y = y - 1"
    assert check(quoted(code, "`extra (2, 3, 3)`"), WINDING).said == []


def test_a_branch_with_its_bodies_left_out_stands_after_it():
    assert check(quoted("if deep:\n    ...\nelse:\n    ...", "`extra (2, 3, 3)`"), WINDING).said == []


def test_a_branch_without_its_else_is_the_header_or_nothing():
    assert check(quoted("if deep:\n    ...", "`y[0, 0, 0] = 2.0`"), WINDING).said == []
    assert check(quoted("if deep:\n    extra = y.transpose(1, 2)\n    ..."), WINDING).said == [(6, 1, "quote")]


def test_the_header_of_a_branch_stands_at_the_start_of_its_body():
    text = quoted("if deep:", "`extra`")
    assert check(text, WINDING).said == []  # source text, for it is no name yet
    assert check(quoted("if deep:", "`extra (2, 3, 3)`"), WINDING).said == [(9, 2, "name")]


def test_a_branch_that_is_not_taken():
    code = "if mask is not None:\n    y = y.masked_fill(mask, 0.0)"
    checked = check(quoted(code, "`y (2, 3, 4)`"))
    assert checked.said == []  # the if was executed, its body was not
    inside = check(quoted("outs = []") + quoted("y = y.masked_fill(mask, 0.0)", "`outs = []`"))
    assert inside.said == []  # the state has not moved
    assert [quote.executed for quote in inside.reading.quotes.values()] == [True, False]


SIGNATURE = 'def forward(self, x: Float[torch.Tensor, "B L D"], deep: bool) -> torch.Tensor:'


@pytest.mark.parametrize("body", ["", "\n    ...", "  # no body"[:0]])
def test_a_signature_alone_stands_at_the_entry(body):
    checked = check(quoted("turned = y.transpose(1, 2)") + quoted(SIGNATURE + body, "`deep = True`, `y`"), WINDING)
    assert checked.said == []
    assert list(checked.reading.quotes.values())[1].last_line < lines_of("y = x * 1")[0]


def test_a_signature_must_be_the_one_of_the_source():
    checked = check(quoted("def forward(self, x, deep):"), WINDING)
    assert checked.said == [(6, 1, "quote")]
    assert SIGNATURE in checked.failures[0].message


def test_a_signature_with_statements_stands_after_the_last_of_them():
    code = SIGNATURE + "\n    # the copy keeps x as it came\n    y = x * 1\n    ...\n    y = y + 1  # twice\n    ..."
    assert check(quoted(code, "`y[0, 0, 0] = 2.0`"), WINDING).said == []


@pytest.mark.parametrize(("docstring", "said"), [('"""Mix ``rounds`` times."""', 0), ('"""Mix thrice."""', 1)])
def test_a_quoted_docstring_is_compared(docstring, said):
    checked = check(quoted(f"def forward(self, x, mask=None):\n    {docstring}\n    B, L, D = x.shape\n    ..."))
    assert len(checked.failures) == said


def test_a_decorator_that_is_not_there_is_red():
    assert check(quoted("@torch.no_grad()\ndef forward(self, x, mask=None):\n    ...")).said == [(6, 1, "quote")]


def test_of_several_places_the_first_at_or_after_the_last_quote_is_meant():
    text = quoted("z = self.gate(y) + self.gate(x)") + quoted("y = y + 1", "`y[0, 0, 0] = 2.0`")
    checked = check(text, WINDING)
    assert checked.said == []
    assert where(checked)[1][0] == lines_of("y = y + 1")[1]


def test_going_back_is_allowed_where_nothing_later_fits():
    text = quoted('return z + y, {"left": left}') + quoted("y = y + 1", "`y[0, 0, 0] = 1.0`")
    checked = check(text, WINDING)
    assert checked.said == []
    assert where(checked)[1][0] == lines_of("y = y + 1")[0]


def test_a_comment_tells_places_apart():
    text = quoted("y = y + 1  # twice", "`y[0, 0, 0] = 2.0`") + quoted("y = y + 1  # once", "`y[0, 0, 0] = 1.0`")
    assert check(text, WINDING).said == []


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("y = x * 1  # the copy keeps x as it came", 0),
        ("y = y + 1  # thrice", 0),
        ("# invented\ny = x * 1", 0),
        ("z = self.gate(y) + self.gate(x)  # [B, L]", 0),
        ("y = x * 1\n...\n# only some get here\nturned = y.transpose(1, 2)\n# nothing", 4),
    ],
)
def test_a_comment_that_is_not_in_the_source_there_is_red(code, line):
    checked = check(quoted(code), WINDING)
    assert [(failure.line, failure.kind) for failure in checked.failures] == [(6 + line, "quote")]
    assert "没有注释" in checked.failures[0].message


@pytest.mark.parametrize(
    "code",
    [
        "# the copy keeps x as it came\ny = x * 1",
        "y = y - 1\n",
        "# [B, D, L]\nturned = y.transpose(1, 2)",
        "with torch.no_grad():\n    joined = torch.cat([turned, turned], dim=1)  # [B, 2*D, L]",
        "if deep:\n    # only some get here\n    extra = y.transpose(1, 2)\n    ...\nelse:\n    ...",
    ],
)
def test_comments_of_the_source_may_be_quoted(code):
    assert check(quoted(code), WINDING).said == []


def test_an_edited_quote_is_red_at_its_line_with_the_nearest_source_line():
    text = quoted("B, L, D = x.shape\ny = x = self.norm(y)\nouts = []")
    checked = check(text)
    assert checked.said == [(*place(text, "y = x ="), "quote")]
    failure = checked.failures[0]
    assert failure.claim == "y = x = self.norm(y)" and failure.expected == "y = x = self.norm(x)"
    assert failure.expected in failure.message


def test_lines_inserted_above_the_source_change_nothing(tmp_path, monkeypatch):
    source = "class Toy:\n    args = ()\n    kwargs = {}\n    sizes = {}\n    axes = {}\n\n\n"
    source += "def double(n=2):\n    m = n * 2\n    return m\n\n\ndef toy():\n"
    source += "    toy = Toy()\n    toy.call = double\n    return toy\n"
    header = "---\ntoy: MODULE:toy\nreads: [MODULE.double]\n---\n"
    monkeypatch.syspath_prepend(tmp_path)
    for name, text in (("quoted_before", source), ("quoted_after", "# one\n# two\n# three\n" + source)):
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
        checked = check(quoted("m = n * 2", "`m = 4`"), header.replace("MODULE", name))
        assert checked.said == []
        assert where(checked)[0][0] == text.splitlines().index("    m = n * 2") + 1


@pytest.mark.parametrize(
    "code", ["y = x =", "torch.relu(", "else:", "B, L, D", "y = self.back(torch.relu(self.linear(y))"]
)
def test_half_a_statement_is_no_quote(code):
    assert [failure.kind for failure in check(quoted(code)).failures] == ["quote"]


@pytest.mark.parametrize("code", ["...", "# a comment alone", "...\n..."])
def test_a_quote_of_nothing_is_red(code):
    checked = check(quoted(code))
    assert [failure.kind for failure in checked.failures] == ["quote"]
    assert "空" in checked.failures[0].message


def test_construction_is_matched_and_moves_nothing():
    text = quoted("outs = []") + quoted("self.linear = nn.Linear(d_model, 2 * d_model)", "`outs = []`")
    checked = check(text)
    assert checked.said == []
    assert [quote.construction for quote in checked.reading.quotes.values()] == [False, True]
    assert check(quoted("self.linear = nn.Linear(d_model, 3 * d_model)")).said == [(6, 1, "quote")]


BOTH = front("twice", "Mixer.forward @ first", "Twice.forward")


def test_the_fence_belongs_to_the_function_that_it_fits():
    text = quoted("again, _ = self.first(x + 1)", "`again (2, 3, 3)`, `x + 1 (2, 3, 4)`")
    text += quoted("outs = []", "`outs = []`, `self.rounds = 1`")
    checked = check(text, BOTH)
    assert checked.said == []
    assert [quote.subject for quote in checked.reading.quotes.values()] == [1, 0]


def test_text_of_several_functions_needs_of():
    two = front("paired", "Pair.forward", "Half.forward")
    code = "x = x + 1"
    checked = check(quoted(code), two)
    assert checked.said == [(6, 1, "quote")]
    assert "of=" in checked.failures[0].message
    for subject, spec in enumerate(("Pair.forward", "Half.forward")):
        chosen = check(quoted(code, options=f'of="{spec}"'), two)
        assert chosen.said == []
        assert [quote.subject for quote in chosen.reading.quotes.values()] == [subject]
    wrong = check(quoted(code, options='of="Winding.forward"'), two)
    assert [failure.kind for failure in wrong.failures] in (["quote"], ["fence"])


def test_one_function_read_twice_keeps_to_the_call_where_the_page_stands():
    both = front("twice", "Mixer.forward @ first", "Mixer.forward @ first #2", "Twice.forward")
    first = check(quoted("B, L, D = x.shape", "`x[0, 0, 0] = 0.0`"), both)
    assert first.said == []
    second = check(
        quoted("B, L, D = x.shape", "`x[0, 0, 0] = 1.0`", 'of="tests.reading.sample_toys.Mixer.forward @ first #2"'),
        both,
    )
    assert second.said == []
    assert [quote.subject for quote in second.reading.quotes.values()] == [1]


def test_prose_before_a_quote_speaks_of_the_state_before_it():
    text = "`x[0, 0, 0] = 0.0`，`deep = True`\n\n" + quoted("y = x * 1", "`y[0, 0, 0] = 0.0`")
    text += (
        quoted("y = y + 1  # once", "`y[0, 0, 0] = 1.0`")
        + "`y[0, 0, 0] = 1.0`\n\n"
        + quoted("y = y + 1  # twice", "`y[0, 0, 0] = 2.0`")
    )
    assert check(text, WINDING).said == []


def test_what_a_quote_wrote():
    checked = check(quoted("y = x = self.norm(x)") + quoted("total.add_(scores.sum(-1))"), MIXER)
    first, second = checked.reading.quotes.values()
    assert [(variable.name, variable.bound_before) for variable in first.wrote] == [("y", False), ("x", True)]
    assert first.wrote[0].axes == ("B", "L", "d_model")
    assert [variable.name for variable in second.wrote] == ["total"]  # changed in place
    assert second.wrote[0].before != second.wrote[0].after


def test_more_than_six_statements_explain_none():
    code = "...\ny = x = self.norm(x)\nouts = []\n" + LOOP + "\n..."
    checked = check(quoted(code))
    (subject,) = checked.reading.subjects
    assert sum(statement.explained for statement in subject.statements) == 6
    longer = check(quoted("B, L, D = x.shape\n" + code.removeprefix("...\n")))
    assert not any(statement.explained for statement in longer.reading.subjects[0].statements)


def test_coverage_names_what_no_quote_explains():
    checked = check(quoted(LOOP), coverage=100)
    (failure,) = checked.failures
    assert (failure.line, failure.kind) == (3, "coverage")
    assert f":{lines_of('outs = []')[0]}" in failure.message
    assert f":{lines_of('masked_fill')[0]}" not in failure.message  # not executed


# Control flow

CONTROL = front("controlled", "control")


@pytest.mark.parametrize(
    ("code", "options", "after"),
    [
        ("cell = 10 * i + j", 'pass="3"', "`cell = 10`，`i = 1`，`j = 0`，`len(found) = 2`，`10 * i + j = 10`"),
        (
            "for j in range(2):\n    cell = 10 * i + j\n    found.append(cell)",
            'pass="2"',
            "`cell = 11`，`len(found) = 4`",
        ),
        ("for j in range(2):\n    ...", 'pass="4"', "`len(found) = 3`，`j = 1`"),
        ("for i in range(n):\n    for j in range(2):\n        ...\n    ...", "", "`len(found) = 6`，`edge = 2`"),
        ("for i in range(n):\n    ...\n    if i == 1:\n        ...\n    else:\n        ...", "", "`edge = 2`"),
        ("middle = i", "", "`i = 1`，`len(found) = 4`"),
        ("edge = i", 'pass="2"', "`i = 2`，`edge = 2`"),
        ("for k in range(0):\n    never = k", "", "`len(found) = 6`，`never`"),
        ("for k in range(0):\n    ...", "", "`len(found) = 6`"),
        ("try:\n    ...\nexcept ZeroDivisionError as error:\n    ...\nfinally:\n    ...", "", "`closed = True`"),
        ("ratio = str(error)", "", "`ratio = 'division by zero'`"),
        ('match n:\n    case 3:\n        name = "three"\n    case _:\n        ...', "", "`name = 'three'`"),
        ("def inner(a):\n    b = a + 1\n    return b", "", "`inner(1) = 2`"),
        ("last = inner(n)", "", "`inner(…) = 4`，`inner(5) = 6`，`last = 4`"),
        ("while True:\n    ...", 'pass="2"', "`n = 2`"),
        ("while True:\n    n = n - 1\n    if n < 1:\n        break", "", "`n = 0`"),
        ("if n < 1:\n    break", 'pass="3"', "`n = 0`"),  # the pass that leaves the loop
        ("n = n - 1\nif n < 1:\n    break", 'pass="3"', "`n = 0`"),
        ("break", "", "`n = 0`"),
        ("return found, last, closed, ratio, name", "", "`return[1] = 4`，`found is return[0]`"),
    ],
)
def test_where_a_quote_stands_in_loops_and_branches(code, options, after):
    checked = check(quoted(code, after, options), CONTROL)
    assert checked.failures == []
    assert all(quote.executed for quote in checked.reading.quotes.values())


@pytest.mark.parametrize("code", ["never = k", 'name = "other"'])
def test_what_the_toy_does_not_execute(code):
    checked = check(quoted("last = inner(n)") + quoted(code, "`last = 4`"), CONTROL)
    assert checked.failures == []
    assert [quote.executed for quote in checked.reading.quotes.values()] == [True, False]


@pytest.mark.parametrize(
    "code", ["def inner(a):\n    b = a + 2\n    return b", "def inner(a):\n    ...", "async def inner(a): ..."]
)
def test_a_function_inside_is_quoted_whole_or_not_at_all(code):
    assert [failure.kind for failure in check(quoted(code), CONTROL).failures] == ["quote"]


def test_a_branch_that_returns_is_executed():
    checked = check(quoted("if early:\n    return x", "`return = 3`，`x = 3`"), front("returning", "early_out"))
    assert checked.failures == []
    (quote,) = checked.reading.quotes.values()
    assert quote.executed and quote.returned is not None
