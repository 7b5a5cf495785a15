"""The formulas of the panel of sizes, in JavaScript, give what Python gives: for every toy, and for formulas at random."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import pytest
import quickjs

from tsformers import toy as toys
from tsformers.reading.arithmetic import FUNCTIONS, FormulaError, evaluate, evaluate_axis

ASSETS = Path(__file__).parents[2] / "docs" / "assets"
HARNESS = """
function exact(sizes) {
  return Object.fromEntries(Object.entries(JSON.parse(sizes)).map(([name, size]) => [name, BigInt(size)]));
}
function told(value) {
  if (typeof value === "bigint") return {kind: "int", text: String(value)};
  if (typeof value === "boolean") return {kind: "bool", text: String(value)};
  return {kind: "float", text: String(value)};
}
function attempt(compute) {
  try {
    return JSON.stringify(compute());
  } catch (error) {
    if (!(error instanceof Formula.FormulaError)) throw error;
    return JSON.stringify({kind: "error", text: error.message});
  }
}
function one(formula, sizes) {
  return attempt(() => told(Formula.evaluate(formula, exact(sizes))));
}
function shape(slots, sizes, axes) {
  const known = Formula.withAxes(exact(sizes), JSON.parse(axes));
  return JSON.stringify(JSON.parse(slots).map((slot) => String(Formula.evaluate(slot, known))));
}
"""
TOYS = {
    name: made for name in dir(toys) if callable(made := getattr(toys, name)) and isinstance(getattr(made, "cases", 0), int)
    and getattr(made, "cases", 0)
}  # fmt: skip


@pytest.fixture(scope="module")
def browser() -> quickjs.Context:
    context = quickjs.Context()
    context.eval((ASSETS / "formula.js").read_text(encoding="utf-8"))
    context.eval(HARNESS)
    return context


def in_javascript(browser: quickjs.Context, formula: str, sizes: dict[str, int]) -> Any:
    told = json.loads(browser.get("one")(formula, json.dumps(sizes)))
    kinds = {"int": int, "float": float, "bool": lambda text: text == "true", "error": FormulaError}
    return kinds[told["kind"]](told["text"])


def agree(browser: quickjs.Context, formula: str, sizes: dict[str, int]) -> bool:
    """Compare both; whether the formula has a value at all."""
    theirs = in_javascript(browser, formula, sizes)
    try:
        ours = evaluate(formula, sizes)
    except FormulaError as error:
        assert isinstance(theirs, FormulaError), (formula, sizes, str(error), theirs)
        return False
    assert type(theirs) is type(ours), (formula, sizes, ours, theirs)
    if isinstance(ours, float):
        same = math.isclose(theirs, ours, rel_tol=1e-12) or (ours != ours and theirs != theirs)
    else:
        same = theirs == ours
    assert same, (formula, sizes, ours, theirs)
    return True


@pytest.mark.parametrize("name", TOYS)
def test_every_toys_formulas_and_conditions(browser: quickjs.Context, name: str) -> None:
    made = TOYS[name]()
    draw = random.Random(name)
    formulas = [*made.axes.values(), *(formula for formula, _ in made.conditions)]
    for _ in range(200):
        sizes = {size: draw.randint(1, 40) for size in made.sizes}
        for formula in formulas:
            agree(browser, formula, sizes)
    for case in range(TOYS[name].cases):
        assert all(agree(browser, formula, TOYS[name](case).sizes) for formula in formulas)


@pytest.mark.parametrize("name", TOYS)
def test_a_shape_of_named_axes(browser: quickjs.Context, name: str) -> None:
    made = TOYS[name]()
    draw = random.Random(name)
    axes = list(made.axes)
    for _ in range(50):
        sizes = {size: draw.randint(8, 40) for size in made.sizes}
        slots = [f"{draw.choice(axes)}*{draw.choice(axes)}", draw.choice(axes), f"{draw.choice(axes)} + 1", "7"]
        theirs = json.loads(browser.get("shape")(json.dumps(slots), json.dumps(sizes), json.dumps(made.axes)))
        assert theirs == [str(evaluate_axis(slot, sizes, made.axes)) for slot in slots]


def test_an_axis_may_shadow_a_size_and_read_another_axis(browser: quickjs.Context) -> None:
    sizes, axes = {"L": 7, "k": 3}, {"L": "L + 1", "M": "L * k"}
    theirs = json.loads(browser.get("shape")('["L", "M", "k"]', json.dumps(sizes), json.dumps(axes)))
    assert theirs == [str(evaluate_axis(slot, sizes, axes)) for slot in ("L", "M", "k")] == ["8", "24", "3"]


def expression(draw: random.Random, depth: int) -> str:
    if depth == 0:
        return draw.choice(["a", "b", "c", "0", "1", "2", "7", "0.5", "2.0", "1e2", "True", "False"])
    inner = [expression(draw, draw.randrange(depth)) for _ in range(3)]
    form = draw.choice(
        [
            "{0} {op} {1}", "({0}) {op} ({1})", "({0} {op} {1})", "-{0}", "+{0}", "not {0}", "({0}) ** 2", "{0} ** -1",
            "({0} {compare} {1})", "({0} {compare} {1} {compare} {2})", "({0} and {1} or {2})", "({0} if {1} else {2})",
            "{function}({0})", "min({0}, {1}, {2})", "max({0}, {1})",
        ]
    )  # fmt: skip
    return form.format(
        *inner,
        op=draw.choice(["+", "-", "*", "/", "//", "%"]),
        compare=draw.choice(["==", "!=", "<", "<=", ">", ">="]),
        function=draw.choice([name for name in FUNCTIONS if name not in ("min", "max")]),
    )


def test_formulas_at_random(browser: quickjs.Context) -> None:
    draw = random.Random(5)
    valued = 0
    for _ in range(4000):
        sizes = {name: draw.randint(-3, 12) for name in "abc"}
        valued += agree(browser, expression(draw, 3), sizes)
    assert valued > 2000


@pytest.mark.parametrize(
    "formula",
    [
        "-2 ** 2", "2 ** 3 ** 2", "-7 // 2", "-7 % 3", "7 % -3", "-7.5 // 2", "7.5 % -2", "1 < 2 < 3", "1 < 3 < 2",
        "not 1 == 2", "1 if 0 else 2 if 1 else 3", "round(2.5)", "round(3.5)", "round(-0.5)", "int(-2.7)", "6 / 3",
        "a // 0", "a % 0", "1 / 0", "0 ** -1", "2 ** 65", "sqrt(-1)", "log(0)", "ceil(log(7))", "0.1 + 0.2", "7 // 0.1",
        "2.0 * 3", "True + True", "min(1, 1.0)", "max(1.0, 1)", "", "1 +", "a b", "unknown", "a.b", "f(1)", "min()", "(1",
        "abs(-3)", "a = 1", "a[0]", "'a'", "1e400 * 0", "ceil(1e400)", "max(2,)", "(a)", " a ",
    ],
)  # fmt: skip
def test_the_corners_of_the_language(browser: quickjs.Context, formula: str) -> None:
    agree(browser, formula, {"a": 3})
