"""Objects of a page that fail when looked at, hide what they hold, or change where a copy does not show it."""

from __future__ import annotations

import json

import pytest

from tests.reading.checking import block, check
from tsformers.reading import run as running
from tsformers.reading.__main__ import main
from tsformers.reading.commands import BROKEN


@pytest.mark.parametrize(
    ("claim", "part"),
    [
        ("self.norm == self.linear", "请用 is"),
        ("self.norm != self.linear", "请用 is"),
        ("self.norm in [self.linear]", "请用 is"),
        ("vars(self) == vars(self)", "请用 is"),
    ],
)
def test_objects_whose_content_is_not_recorded_are_not_compared(claim, part):
    (failure,) = check(f"见 `{claim}`。\n").failures
    assert (failure.kind, failure.column) == ("claim", 4) and part in failure.message


def test_a_dtype_is_told_whole_by_its_text():
    assert check("见 `x.dtype == torch.float64`，`x.dtype != torch.float32`。\n").failures == []


@pytest.mark.parametrize(
    "claim",
    [
        "self.norm.register_forward_hook(len) is not None",
        "x.requires_grad_(True) is not None",
        "x.fill_(float('nan')) is not None",
    ],
)
def test_an_expression_that_changes_the_state_is_an_error(claim):
    (failure,) = check(f"见 `{claim}`。\n").failures
    assert "改变了状态" in failure.message


HOSTILE = """class Mute(Exception):
    def __str__(self):
        raise ValueError


class Shy:
    def __repr__(self):
        raise ValueError

    def __deepcopy__(self, memo):
        raise KeyError


shy, knot = Shy(), []
knot.append(knot)
sparse = __import__("torch").eye(2).to_sparse()
"""


def test_objects_that_fail_when_looked_at_are_no_failure_of_the_checker():
    text = block(HOSTILE) + "\n`type(shy) is type(shy)`，`len(knot) = 1`，`sparse (2, 2)`。\n"
    assert check(text).failures == []


def test_an_exception_that_cannot_say_itself_is_reported():
    (failure,) = check(block(HOSTILE + "raise Mute\n")).failures
    assert failure.kind == "exec" and "Mute" in failure.message


def test_no_address_is_in_a_report():
    text = block("class Odd:\n    pass\n\n\nodd = Odd()\n") + "\n`odd = 1`\n"
    (failure,) = check(text).failures
    assert "0x" not in failure.message + failure.actual


def test_a_page_on_which_the_checker_fails_takes_no_verdict_from_the_others(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        (tmp_path / f"{name}.md").write_text("# 页\n", encoding="utf-8")
    judge = running.judge_page

    def fails(page, *rest):
        if page.path == "a.md":
            raise RuntimeError("no verdict")
        return judge(page, *rest)

    monkeypatch.setattr(running, "judge_page", fails)
    assert main(["check", "a.md", "b.md", "--json", "out.json"]) == BROKEN
    report = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert [len(page["failures"]) for page in report["pages"]] == [1, 0]
    assert "no verdict" in capsys.readouterr().err
