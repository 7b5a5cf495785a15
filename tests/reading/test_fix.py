"""``fix``: only the places that are wrong, only what may be changed, and nothing else of the file."""

from __future__ import annotations

import os
import sys

import pytest

from tests.reading.checking import MIXER, block, check
from tests.reading.test_walk import FORMS
from tsformers.reading.__main__ import main
from tsformers.reading.claims import ClaimError, parse
from tsformers.reading.commands import GREEN, RED, USAGE
from tsformers.reading.fix import Edit, apply, excerpts, piece_at, propose, unstable
from tsformers.reading.page import scan

ALL = {"shapes": True, "values": True}
REFUSED = "不改"


def pycon(code, fence="```"):
    return f"{fence}pycon\n{code}\n{fence}\n\n"


def fixed(text, front=MIXER, **options):
    """The text after ``fix``, without the front matter, and the reasons for what it left."""
    checked = check(text, front)
    proposal = propose(checked.page, checked.reading, **options)
    after = apply(checked.page.text, proposal.edits)
    again = check(after[len(front) :], front)
    twice = propose(again.page, again.reading, **options)
    assert twice.edits == [] and list(twice.refused) == list(proposal.refused)  # twice is once
    assert after.startswith(front)
    return after[len(front) :], list(proposal.refused.values())


# Claims


@pytest.mark.parametrize(
    ("claim", "options", "after"),
    [
        ("x[0, 0, 1] ≈ 0.11", {}, "x[0, 0, 1] ≈ 0.10"),  # 10 % of the old one, and the digits are kept
        ("x[0, 0, 1] ≈ 0.12", {}, REFUSED),
        ("x[0, 0, 1] ≈ 0.12", {"values": True}, "x[0, 0, 1] ≈ 0.10"),
        ("x[0, 0, 1] ≈ -0.1", {}, REFUSED),
        ("x[0, 0] ≈ [0.0, 0.1,  0.21, 0.3]", {}, "x[0, 0] ≈ [0.0, 0.1,  0.20, 0.3]"),
        ("x[0, 0] ≈ [0.0, …, 0.31]", {}, "x[0, 0] ≈ [0.0, …, 0.30]"),
        ("x[0, 0] ≈ [0.0, 0.1, 0.3, 0.3]", {}, REFUSED),
        ("x[0, 0] ≈ [0.0, 0.1, 0.2]", {"shapes": True}, REFUSED),
        ("x[0, 0] ≈ [0.0, 0.1, 0.2]", {"values": True}, "x[0, 0] ≈ [0.0, 0.1, 0.2, 0.3]"),
        ("x[0, 0, 1] ≈ 0.1 float32", {"values": True}, REFUSED),
        ("x[0, 0, 1] ≈ 0.1 float32", {"shapes": True}, "x[0, 0, 1] ≈ 0.1 float64"),
        ("x (2, 3, 5)", {}, REFUSED),
        ("x (2, 3, 5)", {"values": True}, REFUSED),
        ("x (2, 3, 5)", {"shapes": True}, "x (2, 3, 4)"),
        ("x (2, L, 5) = (B, L, d_model)", {"shapes": True}, "x (2, L, 4) = (B, L, d_model)"),
        ("x (2, 3) float32", {"shapes": True}, "x (2, 3, 4) float64"),
        ("x.shape[1] = 4", {"values": True}, REFUSED),
        ("x.shape[1] = 4", {"shapes": True}, "x.shape[1] = 3"),
        ("x.size() = (2, 3)", {"shapes": True}, "x.size() = (2, 3, 4)"),
        ("self.rounds = 3", {}, REFUSED),
        ("self.rounds = 3", {"values": True}, "self.rounds = 2"),
        ("self.norm.eps = 1.05e-05", {}, "self.norm.eps = 1e-05"),
        ("x.numel() / 8 = 4", {"values": True}, "x.numel() / 8 = 3"),
        ("x.numel() / 8 = 4.0", {"values": True}, "x.numel() / 8 = 3.0"),
        ("x.numel() / 16 = 4", {"values": True}, "x.numel() / 16 = 1.5"),
        ("x[0, 0, 1] * 10 = 0.5", {"values": True}, "x[0, 0, 1] * 10 = 1.0"),
        ("mask = 3", {"values": True}, "mask = None"),
        ("x.max() < 0.5", ALL, REFUSED),
        ("x (B, d_model, L)", ALL, None),  # axis names are never changed
        ("nothing (2, 3)", ALL, None),
    ],
)  # fmt: skip
def test_a_wrong_claim(claim, options, after):
    text, refused = fixed(f"前 `{claim}` 后。\n", **options)
    assert text == f"前 `{claim if after in (REFUSED, None) else after}` 后。\n"
    assert len(refused) == (after == REFUSED)


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("x (?)", "x (2, 3, 4)"),
        ("x (?) = (B, L, d_model)", "x (2, 3, 4) = (B, L, d_model)"),
        ("x.max() ≈ ?", "x.max() ≈ 1.0000"),
        ("x[0, 0, :2] ≈ ?", "x[0, 0, :2] ≈ [0.0000, 0.1000]"),
        ("x.numel() / 8 ≈ ?", "x.numel() / 8 = 3"),
        ("x.numel() / 16 ≈ ?", "x.numel() / 16 ≈ 1.5000"),
        ("self.rounds ≈ ?", "self.rounds = 2"),
        ("self.rounds ≈  ?", "self.rounds = 2"),
        ("x.argmax() * 0 ≈ ?", "x.argmax() * 0 = 0"),
        ("self.rounds = ?", "self.rounds = 2"),
        ("mask = ?", "mask = None"),
    ],
)
def test_a_question_is_always_answered(asked, answer):
    assert fixed(f"`{asked}`\n") == (f"`{answer}`\n", [])


def test_a_zero_is_no_answer():
    text, refused = fixed("`(x - x).sum() ≈ ?`\n", **ALL)
    assert text == "`(x - x).sum() ≈ ?`\n" and "字面量" in refused[0]


@pytest.mark.parametrize("form", FORMS)
def test_every_container(form):
    wrong, right = FORMS[form].format("`x (2, 3, 5)`"), FORMS[form].format("`x (2, 3, 4)`")
    assert fixed(wrong, shapes=True) == (right, [])
    assert fixed(wrong.replace("\n", "\r\n"), shapes=True) == (right.replace("\n", "\r\n"), [])


def test_only_the_wrong_one_of_many_alike():
    right, wrong = "`x[0, 0] ≈ [0.0, 0.1, 0.2, 0.3]`", "`x[0, 0] ≈ [0.0, 0.1, 0.19, 0.3]`"
    text = f"0.19 不是它：{right}，{wrong}，{right}；``{wrong}`` 也不是。\n"
    assert fixed(text)[0] == f"0.19 不是它：{right}，{wrong.replace('0.19', '0.20')}，{right}；``{wrong}`` 也不是。\n"


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("`x (2,\n3, 5)`\n", "跨行"),
        ("> `x (2,\n> 3, 5)`\n", "跨行"),
        ("| a | b |\n|---|---|\n| c | `(x.int() \\| 1)[0, 0, 0] = 2` |\n", "\\|"),
    ],
)
def test_a_place_that_cannot_be_edited_is_said(text, word):
    after, (reason,) = fixed(text, **ALL)
    assert after == text and word in reason


def test_several_in_one_row():
    text = "| `x (2, 3, 5)` | `x (1, 3, 4)` |\n|---|---|\n| `self.rounds = ?` | `x (2, 3, 4)` |\n"
    after, refused = fixed(text, shapes=True)
    assert after == "| `x (2, 3, 4)` | `x (2, 3, 4)` |\n|---|---|\n| `self.rounds = 2` | `x (2, 3, 4)` |\n"
    assert refused == []


def test_every_changed_digit_is_put_back():
    """Each digit of each literal in turn is any other one: what comes out is the page as it was, to the byte."""
    text = (
        "## 头 `x (2, 3, 4)`\r\n\r\n> * 甲 `x[0, 0] ≈ [0.00, 0.1, 0.200, …]`，`self.rounds = 2`\r\n\r\n"
        "| `x[1, 2, 3] ≈ 0.10` | `self.norm.eps ≈ 1.0e-05` |\r\n|---|---|\r\n| `x.shape = (2, 3, 4)` | ``x (2, 3, 5)`` |\r\n"
    )
    right = check(text)
    assert right.failures == []
    whole, changes = right.page.text, 0
    for step in right.page.steps:
        claim = parse(step.text)
        for at in range(claim.written, claim.end):
            for digit in "0123456789" if step.text[at].isdigit() else "":
                offset = step.start + at
                try:
                    parse(step.text[:at] + digit + step.text[at + 1 :])
                except ClaimError:
                    continue  # ``≈ 0.0e-05`` states nothing, and so is nothing to correct
                wrong = scan(whole[:offset] + digit + whole[offset + 1 :], "page.md")
                assert apply(wrong.text, propose(wrong, right.reading, **ALL).edits) == whole
                changes += digit != step.text[at]
    assert changes > 200


# Examples


@pytest.mark.parametrize(
    ("before", "options", "after"),
    [
        (">>> 1 + 1\n3", {}, REFUSED),
        (">>> 1 + 1\n3", {"values": True}, ">>> 1 + 1\n2"),
        (">>> 100 + 1\n100", {}, ">>> 100 + 1\n101"),
        (">>> 1 / 3\n0.32", {}, ">>> 1 / 3\n0.33"),  # with the author's digits
        (">>> 2.0\n2.1", {}, ">>> 2.0\n2.0"),
        (">>> print(0.5, 'a', 7)\n0.51 a 7", {}, ">>> print(0.5, 'a', 7)\n0.5 a 7"),
        (">>> 'a'\n'b'", {}, REFUSED),
        (">>> 'a'\n'b'", {"values": True}, ">>> 'a'\n'a'"),
        (">>> 1 + 1", {}, ">>> 1 + 1\n2"),
        (">>> 1 + 1\n?", {}, ">>> 1 + 1\n2"),
        (">>> 1 + 1\n>>> 2 + 2\n4", {}, ">>> 1 + 1\n2\n>>> 2 + 2\n4"),
        (">>> a = 1\n1\n>>> a\n1", {"values": True}, ">>> a = 1\n>>> a\n1"),
        (">>> print('a\\n\\nb')\na", {"values": True}, ">>> print('a\\n\\nb')\na\n<BLANKLINE>\nb"),
        (">>> print('a\\n\\nb')\na\nc\nb", {"values": True}, ">>> print('a\\n\\nb')\na\n<BLANKLINE>\nb"),
        (">>> for k in range(2):\n...     print(k)\n0\n2", {"values": True},
         ">>> for k in range(2):\n...     print(k)\n0\n1"),
        ("  >>> 100 + 1\n  100", {}, "  >>> 100 + 1\n  101"),
        ("  >>> 100 + 1", {}, "  >>> 100 + 1\n  101"),
        (">>> x.shape\ntorch.Size([2, 3, 5])", {"values": True}, REFUSED),
        (">>> x.shape\ntorch.Size([2, 3, 5])", {"shapes": True}, ">>> x.shape\ntorch.Size([2, 3, 4])"),
        (">>> x[0, 0]\ntensor([0.0000, 0.1000, 0.2100, 0.3000], dtype=torch.float64)", {},
         ">>> x[0, 0]\ntensor([0.0000, 0.1000, 0.2000, 0.3000], dtype=torch.float64)"),
        (">>> 1 / 0\nTraceback (most recent call last):\n  ...\nZeroDivisionError: by zero", {"values": True},
         ">>> 1 / 0\nTraceback (most recent call last):\n  ...\nZeroDivisionError: division by zero"),
        (">>> 1 / 0", ALL, REFUSED),
        (">>> 1 / 0\n0", ALL, REFUSED),
        (">>> 1\nTraceback (most recent call last):\n  ...\nValueError: a", ALL, REFUSED),
        (">>> print('...')", ALL, REFUSED),  # would be read as a line of the source
        (">>> print('>>> 1')", ALL, REFUSED),
        (">>> print('```')", ALL, REFUSED),  # would close the fence
        (">>> print('a\\n```\\n\\n`x (2, 3, 5)`')", ALL, REFUSED),
    ],
)  # fmt: skip
def test_a_wrong_example(before, options, after):
    text, refused = fixed(f"前\n\n{pycon(before)}后\n", **options)
    assert text == f"前\n\n{pycon(before if after == REFUSED else after)}后\n"
    assert len(refused) == (after == REFUSED)


@pytest.mark.parametrize("prefix", ["> ", "> > ", "    "])
def test_output_that_is_added_stands_in_its_container(prefix):
    title = '!!! note "甲"\n\n' if prefix == "    " else ""
    before, after = pycon(">>> print('a\\nb')").rstrip("\n"), pycon(">>> print('a\\nb')\na\nb").rstrip("\n")
    text, right = (title + "".join(f"{prefix}{row}\n" for row in code.split("\n")) for code in (before, after))
    assert fixed(text) == (right, [])
    assert fixed(text.replace("\n", "\r\n"))[0] == right.replace("\n", "\r\n")


def test_the_second_of_two_equal_examples():
    """A wrong output that stands in the prose before, too, and above it the same example with the right one."""
    right, wrong = pycon(">>> 100 + 1\n101"), pycon(">>> 100 + 1\n103")
    text = f"不是 103，也不是 ``103``：\n\n{right}{wrong}{right}103\n"
    assert fixed(text) == (text.replace(wrong, right), [])


def test_one_refused_edit_leaves_the_others():
    text = pycon(">>> print('...')") + "`x (?)`\n"
    after, refused = fixed(text)
    assert after == text.replace("(?)", "(2, 3, 4)") and len(refused) == 1


# Edits


def test_edits_are_made_from_right_to_left():
    assert apply("abcdef", [Edit(0, 1, "AA", (0, 0)), Edit(3, 4, "", (1, 0)), Edit(6, 6, "!", (2, 0))]) == "AAbcef!"
    with pytest.raises(ValueError, match="overlap"):
        apply("abcdef", [Edit(0, 3, "", (0, 0)), Edit(2, 4, "", (1, 0))])


def test_what_is_shown_of_an_edit():
    text = pycon(">>> 1 + 1") + "甲 `x (?)` 乙\n"
    checked = check(text)
    edits = propose(checked.page, checked.reading).edits
    first, second = excerpts(checked.page.text, edits)
    assert first == (((0, 0),), 7, 1, [], ["2"])
    assert second == (((1, 0),), 9, 6, ["甲 `x (?)` 乙"], ["甲 `x (2, 3, 4)` 乙"])


def test_two_edits_of_one_row_are_shown_as_one():
    checked = check("`x (?)`，`self.rounds ≈ ?`\n\n`x (?)`\n")
    edits = propose(checked.page, checked.reading).edits
    first, second = excerpts(checked.page.text, edits)
    assert first == (((0, 0), (1, 0)), 5, 4, ["`x (?)`，`self.rounds ≈ ?`"], ["`x (2, 3, 4)`，`self.rounds = 2`"])
    assert second == (((2, 0),), 7, 4, ["`x (?)`"], ["`x (2, 3, 4)`"])


def test_the_piece_at_a_place():
    page = check("甲 `x (?)` 乙\n\n" + pycon(">>> 1\n1\n>>> 2\n2")).page
    assert [piece_at(page, 5, column) for column in (1, 4, 8, 12)] == [None, (0, 0), (0, 0), None]
    assert [piece_at(page, line, 1) for line in range(8, 13)] == [(1, 0), (1, 0), (1, 1), (1, 1), (1, 1)]
    assert piece_at(page, 99, 1) is None


def test_a_value_of_another_run_is_unstable():
    one, other = check("`x (?)`，`x.max() ≈ ?`\n"), check("`x (?)`，`x.min() ≈ ?`\n")
    edits = propose(one.page, one.reading).edits
    assert unstable(one.reading, one.reading, edits) == set()
    assert unstable(one.reading, other.reading, edits) == {(1, 0)}


# The command

PAGE = MIXER + "甲 `x (?)`，`x[0, 0, 1] ≈ 0.11`\n\n" + pycon(">>> 1 + 1") + "末 `self.rounds = 2`"
RIGHT = (
    PAGE.replace("(?)", "(2, 3, 4)").replace("≈ 0.11", "≈ 0.10").replace(">>> 1 + 1\n", ">>> 1 + 1\n2\n")
)  # no final newline


@pytest.fixture(autouse=True)
def workstation(monkeypatch, tmp_path):
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr(sys, "path", [os.getcwd(), *sys.path])
    monkeypatch.chdir(tmp_path)


def test_the_file_keeps_its_mark_its_line_ends_and_its_end(tmp_path, capsys):
    page = tmp_path / "页.md"
    page.write_bytes(b"\xef\xbb\xbf" + PAGE.replace("\n", "\r\n").encode())
    page.chmod(0o640)
    assert main(["fix", "页.md"]) == GREEN
    assert page.read_bytes() == b"\xef\xbb\xbf" + RIGHT.replace("\n", "\r\n").encode()
    assert page.stat().st_mode & 0o777 == 0o640 and [file.name for file in tmp_path.iterdir()] == ["页.md"]
    out = capsys.readouterr().out
    assert "页.md:5:6: `x (?)`，在 tests.reading.sample_toys.Mixer.forward 入口" in out
    assert "    - 甲 `x (?)`，" in out and "    + 甲 `x (2, 3, 4)`，" in out
    assert "页.md:9:1: 示例 >>> 1 + 1\n    + 2\n" in out
    assert out.endswith("3 fixed, 0 refused, 0 failures left\n")
    before = page.stat()
    assert main(["fix", "页.md"]) == GREEN
    after = page.stat()
    assert (after.st_mtime_ns, after.st_ino) == (before.st_mtime_ns, before.st_ino)
    assert capsys.readouterr().out == "0 fixed, 0 refused, 0 failures left\n"


def test_a_dry_run_writes_nothing(tmp_path, capsys):
    (tmp_path / "a.md").write_text(PAGE, encoding="utf-8")
    assert main(["fix", "a.md", "--dry-run"]) == RED
    assert (tmp_path / "a.md").read_text(encoding="utf-8") == PAGE
    assert capsys.readouterr().out.endswith("3 would be fixed, 0 refused, 0 failures left\n")


def test_what_is_refused_and_what_is_left_is_said(tmp_path, capsys):
    text = (
        MIXER + "`x (2, 3, 5)`，`x (?)`，`nothing`\n\n```python\nscores = y @ x.transpose(1, 2)\n```\n\n`scores (?)`\n"
    )
    (tmp_path / "a.md").write_text(text, encoding="utf-8")
    (tmp_path / "b.md").write_text("文\n", encoding="utf-8")
    assert main(["fix", "a.md", "b.md"]) == RED
    out = capsys.readouterr().out
    assert "`scores (?)`，在 sample_toys.py:" in out.replace("tests/reading/", "")
    assert "之后：scores = y @ x.transpose(1, 2)" in out
    assert "a.md:5:11: claim: " in out and "fix: 形状只在给出 --shapes 时改写；会写成：(2, 3, 4)" in out
    assert out.endswith("2 fixed, 1 refused, 2 failures left\n") and "a.md:5:" in out
    assert (tmp_path / "a.md").read_text(encoding="utf-8") == text.replace("x (?)", "x (2, 3, 4)").replace(
        "scores (?)", "scores (2, 3, 3)"
    )


def test_a_value_that_differs_between_two_runs_is_not_written(tmp_path, capsys):
    text = block("import time\nn = time.time_ns()") + "`n = ?`，`1 + n - n = ?`\n\n" + pycon(">>> time.time_ns()")
    (tmp_path / "a.md").write_text(MIXER + text, encoding="utf-8")
    assert main(["fix", "a.md", "--values"]) == RED
    out = capsys.readouterr().out
    assert (tmp_path / "a.md").read_text(encoding="utf-8") == MIXER + text.replace("1 + n - n = ?", "1 + n - n = 1")
    assert out.count("fix: 两次运行得到的值不同") == 2 and out.endswith("1 fixed, 2 refused, 2 failures left\n")


@pytest.mark.parametrize("value", ["true", "1"])
def test_never_in_ci(tmp_path, monkeypatch, capsys, value):
    monkeypatch.setenv("CI", value)
    (tmp_path / "a.md").write_text(PAGE, encoding="utf-8")
    assert main(["fix", "a.md"]) == USAGE
    assert "CI" in capsys.readouterr().err and (tmp_path / "a.md").read_text(encoding="utf-8") == PAGE


def test_a_page_that_was_changed_meanwhile_is_left_alone(tmp_path, monkeypatch, capsys):
    from tsformers.reading import fix

    page = tmp_path / "a.md"
    page.write_text(PAGE, encoding="utf-8")
    known = fix.unstable

    def meanwhile(*arguments):
        page.write_text("别的\n", encoding="utf-8")
        return known(*arguments)

    monkeypatch.setattr(fix, "unstable", meanwhile)
    assert main(["fix", "a.md"]) == RED
    assert page.read_text(encoding="utf-8") == "别的\n" and "left alone" in capsys.readouterr().err


def test_no_page_there_is_usage(capsys):
    assert main(["fix", "none.md"]) == USAGE
    assert "none.md" in capsys.readouterr().err
