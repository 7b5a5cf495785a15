"""Mutants: which are made, which are killed, what is said of the rest; and mutants of source."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections import Counter
from pathlib import Path

import pytest

from tests.reading.checking import check, quoted
from tsformers.reading.claims import parse
from tsformers.reading.meaning import is_true
from tsformers.reading.mutants import changed_text, grouped, page_mutants
from tsformers.reading.mutate import evenly
from tsformers.reading.page import scan
from tsformers.reading.source_mutants import source_mutants

ROOT = Path(__file__).parents[2]

TOYS = """
from dataclasses import dataclass, field

import torch
from torch import nn


@dataclass
class Toy:
    call: object
    args: tuple
    kwargs: dict = field(default_factory=dict)
    sizes: dict = field(default_factory=dict)
    axes: dict = field(default_factory=dict)
    conditions: tuple = ()


class Net(nn.Module):
    def __init__(self, width, scale=0.5):
        super().__init__()
        self.norm = nn.LayerNorm(width, eps=1e-5)
        self.dropout = nn.Dropout(0.1)
        self.scale = scale

    def forward(self, x, unused):
        y = same = self.norm(x)
        scores = torch.softmax(self.scale * (y @ x.transpose(1, 2)), dim=-1)  # [B, L, L]
        z = self.dropout(scores @ y) + x  # [B, L, D]
        if unused:
            z = z - 1
        return z, same


def toy(case=0):
    batch, length, width = ((2, 3, 4), (3, 5, 7), (5, 2, 3))[case]
    values = torch.arange(batch * length * width, dtype=torch.float64) ** 2 % 11 / 10
    sizes = {"B": batch, "L": length, "D": width, "twin": (2, 3, 5)[case], "half": 2}
    return Toy(Net(width).double().eval(), (values.reshape(batch, length, width), False), {}, sizes,
               {"B": "B", "L": "L", "D": "D", "rows": "B * L", "alias": "L + 0"})


toy.cases = 3
"""

PAGE = """---
toy: toys:toy
reads: [toys.Net.forward]
---
# 层

`x (2, 3, 4) = (B, L, D)`。

```python
y = same = self.norm(x)
scores = torch.softmax(self.scale * (y @ x.transpose(1, 2)), dim=-1)  # [B, L, L]
```

`y (2, 3, 4) float64`，`y is same`，`self.scale = 0.5`，`self.norm.eps < 1e-4`，`scores[0, 0] ≈ [{scores}]`。

```python
z = self.dropout(scores @ y) + x  # [B, L, D]
if unused:
    ...
return z, same
```

`len(return) == 2`，`(z - x).abs().max() > 0`，`z.shape = torch.Size([2, 3, 4])`、`z[0] (3, 4)`。

```pycon
>>> 1 + 1
2
```
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mutated")
    (folder / "toys.py").write_text(TOYS, encoding="utf-8")
    sys.path.insert(0, str(folder))
    try:
        import torch
        import toys

        net = toys.toy()
        x = net.args[0]
        y = net.call.norm(x)
        row = torch.softmax(0.5 * (y @ x.transpose(1, 2)), -1)[0, 0]
    finally:
        sys.path.remove(str(folder))
        sys.modules.pop("toys")
    text = PAGE.replace("{scores}", ", ".join(f"{value:.4f}" for value in row.tolist()))
    (folder / "page.md").write_text(text.replace("`z.shape = torch.Size([2, 3, 4])`、", ""), encoding="utf-8")
    return folder


def command(folder, *arguments):
    call = [sys.executable, "-m", "tsformers.reading", "mutate", *arguments]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    return subprocess.run(call, cwd=folder, env=env, capture_output=True, text=True, encoding="utf-8", timeout=300)


@pytest.fixture(scope="module")
def said(project):
    run = command(project, "page.md", "--source", "--jobs", "2")
    assert run.returncode in (0, 1), run.stderr
    return run


def rows(run, verdict):
    return [line for line in run.stdout.splitlines() if f": {verdict}: " in line and line.startswith("page.md:")]


def test_only_a_name_that_the_toys_cannot_tell_apart_survives(said):
    survivors = rows(said, "survived")
    assert said.returncode == 1 and survivors, said.stdout
    assert all("巧合" in line and "twin" in line for line in survivors), survivors
    assert survivors[0].startswith("page.md:7:17: survived: axis of equal size: ")


def test_what_is_true_all_the_same_is_said_with_the_reason(said):
    equivalent = rows(said, "equivalent")
    assert any("alias 与 L 按定义一样长" in line for line in equivalent)
    assert any("y is same：两个名字是同一个对象" in line for line in equivalent)
    assert all(line.count("：") for line in equivalent)


def test_the_rates(said):
    lines = [line for line in said.stdout.splitlines() if " mutants: " in line]
    assert [line.split()[0] for line in lines] == ["claim", "example", "quote", "source"]
    assert "1 of 1 killed (100.0 %)" in lines[1]
    killed, of = lines[2].split()[2], lines[2].split()[4]
    assert killed == of and int(of) >= 6


def test_source_mutants_are_run_and_survivors_explained(said):
    lines = [line for line in said.stdout.splitlines() if line.startswith("toys.py:")]
    assert any("没有执行到" in line and "z = z - 1" in line for line in lines), lines
    assert any("equivalent" in line and "dropout 是恒等映射" in line for line in lines), lines
    dropped = [line for line in lines if "transpose dropped" in line or "softmax" in line.split("`")[0]]
    assert dropped == []  # killed
    assert any("swapped arguments of transpose" in line and "次序不影响" in line for line in lines), lines
    assert "killed by: " in said.stdout


def test_a_page_without_survivors_exits_green_and_most_bounds_the_mutants(project):
    page = project / "small.md"
    front = "---\ntoy: toys:toy\nreads: [toys.Net.forward]\n---\n"
    page.write_text(front + "`x (2, 3, 4)`。\n\n```python\ny = same = self.norm(x)\n```\n", encoding="utf-8")
    run = command(project, "small.md", "--most", "5")
    assert run.returncode == 0, run.stdout + run.stderr
    counts = [int(line.split()[4]) for line in run.stdout.splitlines() if " mutants: " in line]
    assert 0 < sum(counts) <= 5


def test_a_red_page_is_not_mutated(project):
    (project / "red.md").write_text("---\ntoy: toys:toy\nreads: [toys.Net.forward]\n---\n`x (2, 3, 5)`\n", "utf-8")
    run = command(project, "red.md")
    assert run.returncode == 1 and "red.md:5:11: claim" in run.stdout and "mutants" not in run.stdout
    assert command(project, "none.md").returncode == 2


def test_every_sort_of_change_is_made():
    text = (
        quoted("y = x = self.norm(x)", "`y (2, 3, 4) = (B, L, d_model)`、`y is x`、`self.rounds = 2`、`y[0, 0, 0] < 9`")
        + "`x (2, 3, 4)`、`d_model == 4`、`self.training = False`、`mask is None`、`x.dtype = torch.float64`\n\n"
        + "```pycon\n>>> 'ab'\n'ab'\n```\n"
    )
    checked = check(text)
    assert checked.failures == []
    mutants = page_mutants(checked.page, checked.reading)
    made = Counter((mutant.sort, mutant.how.split()[0]) for mutant in mutants)
    wanted = {"off", "last", "swapped", "an", "flipped", "renamed", "sign", "the", "dtype"}
    assert wanted <= {how for sort, how in made if sort == "claim"}
    assert made["example", "a"] == 1 and made["quote", "renamed"] == 2
    for mutant in mutants:
        page = scan(changed_text(checked.page, [mutant]), "page.md")
        assert page.text != checked.page.text
        assert page.text[: mutant.start] == checked.page.text[: mutant.start]
        assert page.text[mutant.start : mutant.start + len(mutant.new)] == mutant.new
        line = checked.page.text.count("\n", 0, mutant.start) + 1
        column = mutant.start - checked.page.text.rfind("\n", 0, mutant.start)
        assert (mutant.line, mutant.column) == (line, column)
    for group in grouped(mutants):
        assert len({mutant.step for mutant in group}) == len(group)


def test_mutants_are_taken_evenly():
    assert evenly(list(range(10)), None) == list(range(10))
    assert evenly(list(range(10)), 3) == [0, 3, 6]
    assert evenly([1, 2], 5) == [1, 2]


@pytest.mark.parametrize(
    ("claim", "true"),
    [
        ("scores (2, 3, 3) = (B, L, L)", True),
        ("scores (2, 3, 3) = (B, L, B)", False),
        ("scores (2, 3, 3) float32", False),
        ("scores (2, 3)", False),
        ("self.rounds = 2", True),
        ("self.rounds = 3", False),
        ("self.norm.eps = 1e-05", True),
        ("self.norm.eps = 1.1e-05", False),
        ("self.norm.eps ≈ 1e-05", True),
        ("torch.tensor([0.25, 0.75]) ≈ [0.3, 0.8]", True),
        ("torch.tensor([0.25, 0.75]) ≈ [0.3, …]", True),
        ("torch.tensor([0.25, 0.75]) ≈ [0.3, 0.9]", False),
        ("self.training = False", True),
        ("mask is None", True),
        ("mask is not None", False),
        ("1 < self.rounds < 3", True),
        ("self.rounds != 2", False),
    ],
)
def test_the_slow_and_obvious_judge(claim, true):
    line = "scores = y @ x.transpose(1, 2)  # [B, L, L]"
    checked = check(quoted(line, f"`{claim}`"))
    (evidence,) = [found for found in checked.reading.evidence.values()]
    assert is_true(parse(claim), evidence, checked.reading) is true


SOURCE = textwrap.dedent(
    '''
    class A:
        def f(self, x, k=3):
            """Words 1 + 2."""
            名 = x.transpose(1, 2) + self.drop(x)
            if k > 2 and not x:
                y = torch.einsum("bhls,bshd->blhd", x, 名)
            return g(x, 名, dim=-1) if k else None

    def g(a, b, dim):
        return a * 1e-5 / b
    '''
)


def test_source_mutants_are_edits_of_the_functions_named():
    mutants = source_mutants(SOURCE, frozenset({"A.f"}))
    changed = {mutant.applied(SOURCE) for mutant in mutants}
    assert SOURCE.replace("x.transpose(1, 2)", "x") in changed
    assert SOURCE.replace(" + self", " - self") in changed
    assert SOURCE.replace("x.transpose(1, 2) + self.drop(x)", "x.transpose(1, 2)") in changed
    assert SOURCE.replace("self.drop(x)", "(x)") in changed
    assert SOURCE.replace("dim=-1", "dim=-2") in changed
    assert SOURCE.replace("g(x, 名", "g(名, x") in changed
    assert SOURCE.replace("k > 2", "k <= 2") in changed
    assert SOURCE.replace("not x", "x") in changed
    assert SOURCE.replace("->blhd", "->lbhd").replace('"bhls', "'bhls").replace('lbhd"', "lbhd'") in changed
    for mutant in mutants:
        compile(mutant.applied(SOURCE), "mutant", "exec")
        compile(mutant.probe(SOURCE), "probe", "exec")
        assert "1e-5 / b" in mutant.applied(SOURCE) and "Words 1 + 2" in mutant.applied(SOURCE)
        assert mutant.line == SOURCE.count("\n", 0, mutant.start) + 1
    assert any("0.001" in mutant.applied(SOURCE) for mutant in source_mutants(SOURCE, frozenset({"g"})))
