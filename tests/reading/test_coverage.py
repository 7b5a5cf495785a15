"""Explanation coverage over all pages of a model, and the statements that no page reads."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest
import torch

from tests.reading import sample_toys
from tests.reading.checking import check, front, quoted
from tsformers.reading.coverage import per_model, per_page, summary_lines
from tsformers.reading.executed import executed_lines, executed_statements
from tsformers.reading.record import Executed, Reading, Statement, Subject, ToyRecord
from tsformers.reading.status import status_html
from tsformers.reading.trace import Target, record

FILE = "package/layer.py"


def reading(toy, ran, own=()):
    """A record whose toy executes the lines ``ran``; ``own`` are (line, executed, explained) of the page's subject."""
    statements = tuple(Statement(line, line, "", executed, explained) for line, executed, explained in own)
    return Reading(
        subjects=[Subject("s", "f", "", FILE, 1, "", None, statements)],
        toys={"": ToyRecord(toy, {}, ({},), ({},))},
        executed=(Executed("f", FILE, tuple((line, "") for line in ran)), Executed("g", "other.py", ((1, ""),))),
    )


def test_a_layer_that_two_models_share_is_explained_once():
    pages = [
        reading("toy:a", [1, 2, 3], [(1, True, True), (2, True, False), (9, False, True)]),
        reading("toy:b", [2, 3, 4], [(2, True, True)]),
        reading("toy:a", [1, 2, 3]),
        Reading(),
    ]
    models = per_model(pages)
    assert {spec: found.as_json() for spec, found in models.items()} == {
        "toy:a": {"executed": 4, "explained": 2, "gap": ["other.py:1", "package/layer.py:3"]},
        "toy:b": {"executed": 4, "explained": 1, "gap": ["other.py:1", "package/layer.py:3", "package/layer.py:4"]},
    }
    assert per_page(pages[0]).gap == ["package/layer.py:2"]
    assert summary_lines({spec: found.as_json() for spec, found in models.items()})[0] == (
        "toy:a: 2 of 4 statements that this toy executes explained by a page (50 %); not explained: other.py:1, package/layer.py:3"
    )


def test_only_all_is_a_hundred_percent():
    lines = [(line, True, line < 999) for line in range(1000)]
    assert per_page(reading("toy:a", [], lines)).percent == 99
    assert per_page(Reading()).percent == 100


def one_call(x, y):
    total = 0
    for step in range(x):
        if step == y:
            continue
        total += step
    else:
        total += 1
    try:
        total /= y
    except ZeroDivisionError:
        return [inner for inner in range(total)]
    with torch.no_grad():
        pass
    while total > 100:
        total = 0
    return total  # fmt: skip


RAISED = 7  # the number of ``total /= y``: it ran, and the recorder sees only what ended


@pytest.mark.parametrize(("arguments", "raised"), [((3, 1), set()), ((3, 0), {RAISED}), ((0, 2), set())])
def test_lines_tell_the_same_as_the_recorder(arguments, raised):
    before = sys.gettrace()
    lines = executed_lines(lambda: one_call(*arguments), __file__)
    assert sys.gettrace() is before
    ((function, numbers),) = executed_statements(lines)
    (recording,), _ = record(lambda: one_call(*arguments), [Target(one_call)])
    assert function.name == "one_call"
    assert set(numbers) == recording.executed | raised and not recording.executed & raised


def test_a_run_leaves_nothing_behind_when_it_fails():
    before = sys.gettrace()
    with pytest.raises(TypeError):
        executed_lines(lambda: one_call(None, None), __file__)
    assert sys.gettrace() is before


PAGE = quoted("B, L, D = x.shape\ny = x = self.norm(x)\nouts = []") + quoted("for i in range(self.rounds):\n    ...")


def test_statements_of_functions_that_no_page_reads_count_too():
    found = check(quoted("total = a + b"), front("summed", "plain"))
    names = {run.function for run in found.reading.executed}
    assert "plain" in names and found.reading.executed[0].file.endswith("sample_toys.py")
    found = check(PAGE, coverage=0)
    (model,) = per_model([found.reading]).values()
    explained = {line for file, line in model.explained}
    tree = next(
        node for node in ast.walk(ast.parse(Path(sample_toys.__file__).read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name == "forward" and node.args.args[1].arg == "x"
    )  # fmt: skip
    assert explained == {statement.lineno for statement in tree.body[1:5]}
    assert model.gap and all("sample_toys.py:" in place for place in model.gap)


def test_a_page_that_quotes_every_executed_statement_leaves_no_gap():
    text = quoted("total = a + b") + quoted("if total > 3:\n    ...") + quoted("total = total * 10")
    text += quoted("return total")
    found = check(text, front("summed", "plain"), coverage=100)
    assert [f for f in found.failures if f.kind == "coverage"] == []
    assert per_page(found.reading).gap == []
    assert [model.gap for model in per_model([found.reading]).values()] == [[]]


def test_the_status_table_names_every_page_and_gap():
    found = check(PAGE, coverage=0)
    html = status_html([("../a.html", found)])
    assert "tests.reading.sample_toys:mixer" in html and '<a href="../a.html">' in html
    assert f"<code>{per_model([found.reading])['tests.reading.sample_toys:mixer'].gap[0]}</code>" in html
