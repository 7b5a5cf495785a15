"""Made pages: the engine's verdicts against a slow, obvious reference, the interpreter's own trace and plain Python.

A function is drawn, with loops, branches, aliases and changes in place; a page quotes it statement by statement and
says things of every state, some of them spoiled. What is true is computed here without the engine: the states come
from ``sys.settrace``, the comparisons are written out.
"""

from __future__ import annotations

import ast
import functools
import itertools
import linecache
import math
import sys
from dataclasses import dataclass

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.reading.checking import check
from tests.reading.test_trace import compare_with_settrace, lines_by_settrace

HEAD = """
import torch
from tests.reading.sample_toys import Toy

SIZES = ((3, 3), (3, 5), (5, 2))


def toy(case=0):
    n, m = SIZES[case]
    x = (torch.arange(float(n * m), dtype=torch.float64) * 7 % 11 / 10).reshape(n, m)
    return Toy(work, (x, case != 1), {}, {"n": n, "m": m}, {"N": "n", "M": "m", "NM": "n * m", "same": "n + 0"})


toy.cases = 3


def work(x, flag):
"""
SPARE = itertools.count()


@dataclass
class Drawn:
    """A function's statements, each with its indentation and what it binds."""

    rows: list[str]

    @property
    def source(self) -> str:
        return HEAD + "".join(f"    {row}\n" for row in self.rows)


@st.composite
def functions(draw) -> Drawn:
    """Statements over tensors of shape (n, m), (m, n), (n,), numbers, an alias, a list; loops and branches."""
    rows: list[str] = []
    kinds = {"x": "nm", "flag": "bool"}

    def pick(*wanted):
        found = sorted(name for name, kind in kinds.items() if kind in wanted)
        return draw(st.sampled_from(found)) if found else None

    def statement(indent: str, fresh: bool) -> None:
        choice = draw(st.sampled_from(["scale", "turn", "alias", "sum", "inplace", "count", "list", "add", "item"]))
        names = [name for name in "abcdef" if fresh or name in kinds]
        if not names:
            return
        target = draw(st.sampled_from(names))
        source = pick("nm", "mn")
        kind, text = kinds[source], ""
        if choice == "scale":
            text = f"{source} * {draw(st.sampled_from(['0.5', '2', '-1.5']))}"
        elif choice == "turn":
            kind, text = kind[::-1], f"{source}.transpose(0, 1)"
        elif choice == "alias":
            text = source
        elif choice == "sum":
            kind, text = kind[0], f"{source}.sum(1)"
        elif choice == "count":
            kind, text = "int", f"{source}.shape[{draw(st.integers(0, 1))}] + {draw(st.integers(0, 9))}"
        elif choice == "list":
            kind, text = "list", f"[{draw(st.integers(-9, 9))}, {source}.shape[0], 2.5]"
        elif choice == "add":
            text = f"{source} + {source}.mean()"
        elif choice == "item":
            kind, text = "float", f"float({source}[0, 0]) / 3"
        elif choice == "inplace":
            if source != "x":
                rows.append(f"{indent}{source}.add_({draw(st.integers(1, 3))})")
            return
        if not fresh and kinds[target] != kind:
            return
        rows.append(f"{indent}{target} = {text}")
        kinds[target] = kind

    for _ in range(draw(st.integers(2, 5))):
        form = draw(st.sampled_from(["plain", "plain", "plain", "loop", "branch"]))
        at = len(rows)
        if form == "plain":
            statement("", True)
            continue
        rows.append("for i in range(2):" if form == "loop" else "if flag:")
        for _ in range(draw(st.integers(1, 2))):
            statement("    ", False)
        if len(rows) == at + 1:
            rows.pop()
        elif form == "branch" and draw(st.booleans()):
            rows.append("else:")
            before = len(rows)
            statement("    ", False)
            if len(rows) == before:
                rows.pop()
    rows.append(f"return {pick('nm', 'mn')}, {pick('nm', 'mn')}")
    return Drawn(rows)


def load(source: str):
    """The module with this source, which the engine can import and read."""
    name = f"fuzzed_{next(SPARE)}"
    FOLDER[0].joinpath(f"{name}.py").write_text(source, encoding="utf-8")
    linecache.clearcache()
    return name, __import__(name)


FOLDER: list = []


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory):
    FOLDER[:] = [
        tmp_path_factory.mktemp("fuzzed") / "site-packages"
    ]  # nothing is asked of an installed package's source
    FOLDER[0].mkdir()
    sys.path.insert(0, str(FOLDER[0]))
    yield
    sys.path.remove(str(FOLDER[0]))
    for name in [name for name in sys.modules if name.startswith("fuzzed_")]:
        del sys.modules[name]


# What is true, written out


def near(text: str, value: float) -> bool:
    digits = len(text.partition(".")[2])
    return abs(float(text) - value) <= 0.5 * 10**-digits * (1 + 1e-9)


@functools.cache
def states(module, case: int):
    toy = module.toy(case)
    return lines_by_settrace(lambda: toy.call(*toy.args), module.work.__code__)


def states_after(module, line: int, case: int):
    """Locals after each run of the statement on a line, in a configuration."""
    return [state for at, state in states(module, case) if at == line]


def shapes_hold(module, line: int, name: str, slots) -> bool:
    """Whether a shape with axis names holds wherever the statement runs, and further than the first configuration."""
    seen = 0
    for case in range(3):
        n, m = module.SIZES[case]
        known = {"N": n, "M": m, "NM": n * m, "same": n, "n": n, "m": m}
        here = states_after(module, line, case)
        if not here:
            continue
        seen += case > 0
        shape = tuple(here[0][name].shape)
        if len(shape) != len(slots):
            return False
        for slot, size in zip(slots, shape, strict=True):
            if isinstance(slot, int) and case:
                continue  # a written size speaks of the first configuration
            if (slot if isinstance(slot, int) else known[slot]) != size:
                return False
    return seen > 0 or all(isinstance(slot, int) for slot in slots)


@st.composite
def claims(draw, module, line: int, state) -> tuple[str, bool]:
    """A claim of a name of the state and whether it is true; spoiled as often as not."""
    name = draw(st.sampled_from(sorted(state)))
    value = state[name]
    if isinstance(value, torch.Tensor):
        form = draw(st.sampled_from(["shape", "axes", "axes", "element", "is", "bound", "row", "equal"]))
        shape = list(value.shape)
        if form == "shape":
            slots = [size + draw(st.sampled_from([0, 0, 0, 1])) for size in shape]
            slots = slots[::-1] if draw(st.booleans()) else slots
            return f"{name} ({', '.join(map(str, slots))}{',' * (len(slots) == 1)})", slots == shape
        if form == "axes":
            slots = [draw(st.sampled_from(["N", "M", "NM", "same", *shape])) for _ in shape]
            text = f"{name} ({', '.join(map(str, slots))}{',' * (len(slots) == 1)})"
            return text, shapes_hold(module, line, name, slots)
        if form == "is":
            other = draw(st.sampled_from(sorted(k for k, v in state.items() if isinstance(v, torch.Tensor))))
            word = draw(st.sampled_from(["is", "is not"]))
            true = (value is state[other]) == (word == "is")
            return f"{name} {word} {other}", true and name != other  # of one name twice, nothing is said
        if form == "equal":
            tensors = sorted(k for k, v in state.items() if isinstance(v, torch.Tensor))
            other = draw(st.sampled_from([name, name, *tensors]))
            sign = draw(st.sampled_from(["==", "!=", "<", "<=", ">", ">="]))
            pairs = list(zip(value.flatten().tolist(), state[other].flatten().tolist(), strict=False))
            same_shape = value.shape == state[other].shape
            second = f"+{other}" if other == name else other
            return f"{name} {sign} {second}", same_shape and all(
                eval(f"a {sign} b", {"a": a, "b": b}) for a, b in pairs
            )
        if form == "bound":
            bound = draw(st.sampled_from(["0.05", "1.0", "3.0"]))
            sign = draw(st.sampled_from(["<", ">="]))
            return f"{name}.abs().max() {sign} {bound}", eval(f"{value.abs().max().item()!r} {sign} {bound}")
        index = "[0, 0]" if value.dim() == 2 else "[0]"
        if form == "element":
            actual = value[(0,) * value.dim()].item()
            text = f"{actual + draw(st.sampled_from([0, 0, 0.004, -0.02])):.3f}"
            # a rounded zero, and a minus before one, are refused or speak of the sign: not of interest here
            return (f"{name}{index} ≈ {text}", near(text, actual)) if float(text) else (f"{name} is not None", True)
        row = value[0].tolist() if value.dim() == 2 else value.tolist()
        texts = [f"{number:.2f}" for number in row]
        if draw(st.booleans()):
            at = draw(st.integers(0, len(row) - 1))
            texts[at] = f"{row[at] + draw(st.sampled_from([0.01, -0.01, 0.006])):.2f}"
        texts = [text.replace("-0.00", "0.00") for text in texts]
        true = all(near(text, number) for text, number in zip(texts, row, strict=True))
        return f"{name}{'[0]' if value.dim() == 2 else ''} ≈ [{', '.join(texts)}]", true
    if isinstance(value, bool):
        written = draw(st.booleans())
        return f"{name} = {written}", written is value
    if isinstance(value, int):
        written = value + draw(st.sampled_from([0, 0, 1, -1]))
        sign = draw(st.sampled_from(["=", "==", "<", "!="]))
        return f"{name} {sign} {written}", eval(f"{value} {'==' if sign == '=' else sign} {written}")
    if isinstance(value, float):
        text = f"{value + draw(st.sampled_from([0, 0.02])):.2f}"
        if float(text) == 0 or math.isclose(value, 0):
            return f"{name} == +{name}", True
        return f"{name} ≈ {text}", near(text, value)
    written = [*value[:-1], value[-1] + draw(st.sampled_from([0, 1.0]))]
    return f"{name} == {written}", written == value


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_verdicts_equal_those_of_a_slow_and_obvious_reference(data):
    drawn = data.draw(functions())
    name, module = load(drawn.source)
    first = drawn.source[: drawn.source.index("def work")].count("\n") + 2
    parts, expected = [], []
    for number, row in enumerate(drawn.rows):
        if (
            row.endswith(":")
            or [other.strip() for other in drawn.rows].count(row.strip()) > 1
            or row.startswith("return")
        ):
            continue  # a row that stands twice may be read at either place
        here = states_after(module, first + number, 0)
        if not here:
            continue
        wanted = data.draw(st.integers(1, len(here)))
        option = f' pass="{wanted}"' if len(here) > 1 else ""
        parts.append(f"```python{option}\n{row.strip()}\n```\n")
        for _ in range(data.draw(st.integers(1, 3))):
            state = here[wanted - 1]
            others = [states_after(module, first + number, case) for case in (1, 2)]
            if any(0 < len(other) < wanted for other in others):
                continue
            text, true = data.draw(claims(module, first + number, state))
            parts.append(f"即 `{text}`。\n")
            expected.append((sum(part.count("\n") + 1 for part in parts) - 1, text, true))
    front = f"---\ntoy: {name}:toy\nreads: [{name}.work]\n---\n"
    page = "\n".join(parts)
    checked = check(page, front)
    offset = front.count("\n")
    red = {failure.line - offset for failure in checked.failures}
    for line, text, true in expected:
        assert page.splitlines()[line - 1] == f"即 `{text}`。"
        assert (line not in red) is true, (text, checked.failures, drawn.source)
    assert red <= {line for line, _, true in expected if not true}, checked.failures


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(functions(), st.integers(0, 2))
def test_states_of_made_functions_equal_those_of_settrace(drawn, case):
    _, module = load(drawn.source)
    compare_with_settrace(module.work, lambda: module.work(*module.toy(case).args))  # which may change its arguments


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(functions(), st.data())
def test_shape_comments_equal_a_plain_comparison(drawn, data):
    rows, expected = [], {}
    for number, row in enumerate(drawn.rows):
        target = row.strip().partition(" = ")[0]
        if target.isidentifier() and len(target) == 1 and data.draw(st.booleans()):
            slots = data.draw(st.lists(st.sampled_from(["N", "M", "NM"]), min_size=1, max_size=2))
            expected[number] = target, slots
            row += f"  # [{', '.join(slots)}]"
        rows.append(row)
    name, module = load(Drawn(rows).source)
    first = HEAD.count("\n") + 1
    wrong = set()
    for number, (target, slots) in expected.items():
        for case in range(3):
            n, m = module.SIZES[case]
            lengths = tuple({"N": n, "M": m, "NM": n * m}[slot] for slot in slots)
            for state in states_after(module, first + number, case):
                value = state[target]
                if not isinstance(value, torch.Tensor) or tuple(value.shape) != lengths:
                    wrong.add(first + number)
    checked = check("", f"---\ntoy: {name}:toy\nreads: [{name}.work]\n---\n")
    found = {int(failure.message.partition("源码第 ")[2].partition(" ")[0]) for failure in checked.failures}
    assert found == wrong, (checked.failures, Drawn(rows).source)


def test_the_reference_knows_numbers_and_the_functions_are_python():
    assert near("0.33", 0.334) and near("0.33", 0.335) and not near("0.33", 0.3351)
    ast.parse(Drawn(["y = x", "return y, x"]).source)
