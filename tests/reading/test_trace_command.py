"""``trace PAGE:LINE``: what a page may speak of at a line."""

from __future__ import annotations

import os
import sys

import pytest

from tests.reading.checking import MIXER, block, front, quoted
from tests.reading.sample_toys import mixer
from tsformers.reading.__main__ import main
from tsformers.reading.commands import GREEN, RED, USAGE

PAGE = (
    MIXER.replace("reads", "toys: {other: 'tests.reading.sample_toys:single'}\nreads")
    + "入口。\n\n"  # 6
    + block("import torch\nhalf = x / 2")  # 8 to 11
    + quoted("y = self.back(torch.relu(self.linear(y)))  # [B, L, D]", "之后。")  # 13
    + quoted("scores = y @ x.transpose(1, 2)", "末。")
)


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "path", [os.getcwd(), *sys.path])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.md").write_text(PAGE, encoding="utf-8")
    return tmp_path


def line_of(text):
    return PAGE[: PAGE.index(text)].count("\n") + 1


@pytest.fixture
def traced(capsys):
    """Run the command; its groups as {title: {name: row}}, its head, its status."""

    def run(place, *options):
        status = main(["trace", place, *options])
        captured = capsys.readouterr()
        head, *groups = captured.out.rstrip("\n").split("\n\n")
        found = {}
        for group in groups:
            title, *rows = group.split("\n")
            found[title] = {row.split("  ")[1].strip(): " ".join(row.split()) for row in rows}
        return status, head, found, captured.err

    return run


def test_the_entry(traced):
    status, head, found, _ = traced("a.md:6")
    assert status == GREEN
    assert (
        head == "a.md:6: at the entry of tests.reading.sample_toys.Mixer.forward\ntoy: tests.reading.sample_toys:mixer"
    )
    assert list(found) == ["names", "returned"] and list(found["names"]) == ["self", "x", "mask"]
    assert found["names"]["x"] == "x (2, 3, 4) = (B, L, d_model) float64 [[[0.0, 0.1, 0.2, 0.3], …], …]"
    assert found["names"]["mask"] == "mask NoneType None"
    scores, total = mixer().call(*mixer().args)
    assert found["returned"]["return[0]"].startswith("return[0] (2, 3, 3) = (B, L, L) float64 [[[")
    assert f"{scores.flatten()[0].item():.4f}" in found["returned"]["return[0]"] and total.dtype.is_floating_point
    assert found["returned"]["return[1]"].startswith("return[1] (2, 3) = (B, L) float32 [[")


def test_a_block_above_has_run(traced):
    assert "names of the page's blocks" not in traced("a.md:7")[2]
    found = traced("a.md:9")[2]
    assert list(found["names of the page's blocks"]) == ["half"]
    assert found["names of the page's blocks"]["half"] == "half (2, 3, 4) float64 [[[0.0, 0.05, 0.1, 0.15], …], …]"


def test_a_pass_of_a_loop(traced):
    line = line_of("之后。")
    first, second = traced(f"a.md:{line}"), traced(f"a.md:{line}", "--pass", "2")
    for (status, head, found, _), number in ((first, 1), (second, 2)):
        assert status == GREEN and f", pass {number} of 2: y = self.back(" in head
        assert list(found["computed by the piece"])[-1].startswith("self.back(")
        assert found["names"]["i"] == f"i int {number - 1}"
    assert first[2]["names"]["y"] != second[2]["names"]["y"]


def test_after_the_last_quote(traced):
    status, head, found, _ = traced(f"a.md:{line_of('末。')}")
    assert status == GREEN and "scores = y @ x.transpose(1, 2)" in head
    assert list(found["computed by the piece"]) == ["x.transpose(1, 2)", "y @ x.transpose(1, 2)"]
    assert found["computed by the piece"]["x.transpose(1, 2)"].startswith(
        "x.transpose(1, 2) (2, 4, 3) = (B, d_model, L) float64"
    )
    # the line of the fence itself stands after it, as the page's prose does
    assert traced(f"a.md:{line_of('scores = ') - 1}")[2]["names"] == found["names"]


def test_another_toy(traced):
    for place in ("a.md:7", f"a.md:{line_of('末。')}"):
        status, head, found, _ = traced(place, "--toy", "other")
        assert status == GREEN and head.endswith("toy: tests.reading.sample_toys:single")
        assert found["names"]["x"].startswith("x (2, 3, 4) float64")  # of one configuration no axis can be proven


def test_a_page_that_reads_nothing(traced, folder):
    (folder / "b.md").write_text(block("a = 3\nb = 'x'"), encoding="utf-8")
    status, head, found, _ = traced("b.md:2")
    assert (status, head) == (GREEN, "b.md:2: the page reads no function")
    assert found == {"names of the page's blocks": {"a": "a int 3", "b": "b str 'x'"}}


def test_a_page_that_does_not_get_there(traced, folder):
    (folder / "b.md").write_text(MIXER + quoted("y = 3"), encoding="utf-8")
    (folder / "c.md").write_text(front("no_such_toy", "Mixer.forward") + "文\n", encoding="utf-8")
    for place, said in (("b.md:5", "b.md:6:1: quote: "), ("c.md:5", "c.md:2:32: front-matter: ")):
        status, _, found, err = traced(place)
        assert (status, found) == (RED, {}) and said in err and "does not get there" in err


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["a.md"], "PAGE:LINE"),
        (["a.md:x"], "PAGE:LINE"),
        (["a.md:0"], "PAGE:LINE"),
        (["a.md:999"], "has no line 999, the last is "),
        (["."], "PAGE:LINE"),
        ([".:1"], "not a page, but a folder"),
        (["b.mdd:1"], "did you mean"),
        (["none.md:1"], "none.md"),
        (["a.md:7", "--toy", "nothing"], "other"),
        (["a.md:7", "--pass", "2"], "pass 2"),
    ],
)
def test_usage(arguments, word, capsys):
    assert main(["trace", *arguments]) == USAGE
    assert word in capsys.readouterr().err


def test_a_pass_that_there_is_not(traced):
    status, _, _, err = traced(f"a.md:{line_of('之后。')}", "--pass", "3")
    assert status == RED and 'pass="3"' in err
