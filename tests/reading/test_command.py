"""The command line: exit statuses, the JSON report, what it works on, whatever the locale."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest

import tsformers
from tests.reading.checking import block
from tsformers.reading import page as pages
from tsformers.reading.__main__ import main
from tsformers.reading.commands import BROKEN, GREEN, RED, USAGE
from tsformers.reading.failure import KINDS, Failure
from tsformers.reading.report import failure_text, width

PACKAGE = Path(tsformers.__file__).resolve().parents[1]
MODULE = """
from types import SimpleNamespace


def double(n=2):
    m = n * 2
    return m


def toy():
    return SimpleNamespace(call=double, args=(), kwargs={}, sizes={"k": 2}, axes={})
"""
READS = """---
toy: beside:toy
reads: [beside.double]
---
"""
RIGHT = READS + "入口 `n = 2`。\n\n```python\nm = n * 2\n```\n\n于是 `m = 4`，`m > n`。\n"
WRONG = READS + "入口 `n = 2`。\n\n> 错在 `n = 3`\n\n```python\nm = n * 2\n```\n\n" + block("1 / 0")


@pytest.fixture(autouse=True)
def path_put_back(monkeypatch):
    """The command puts its folder on the path of its process, here the tests' own."""
    monkeypatch.setattr(sys, "path", [*sys.path])


def run(folder, *arguments, **environment):
    """The command in a process of its own, in ``folder``; bytes of its two streams are UTF-8 whatever the locale."""
    known = {key: value for key, value in os.environ.items() if not key.startswith(("LC_", "LANG", "PYTHON"))}
    known |= {"PYTHONPATH": str(PACKAGE), "OMP_NUM_THREADS": "1", **environment}
    command = [sys.executable, "-W", "error", "-m", "tsformers.reading", *map(str, arguments)]
    done = subprocess.run(command, cwd=folder, env=known, capture_output=True, timeout=100)
    return done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8")


def without_seconds(text):
    found = json.loads(text)
    for page in found["pages"]:
        assert isinstance(page.pop("seconds"), float)
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder that is no project: pages and a module beside them."""
    made = tmp_path_factory.mktemp("elsewhere")
    (made / "beside.py").write_text(MODULE, encoding="utf-8")
    (made / "pages").mkdir()
    (made / "pages" / "对.md").write_text(RIGHT, encoding="utf-8")
    (made / "pages" / "wrong.md").write_text(WRONG, encoding="utf-8")
    (made / "pages" / "windows.md").write_bytes(b"\xef\xbb\xbf" + WRONG.replace("\n", "\r\n").encode())
    (made / "pages" / "empty.md").write_text("", encoding="utf-8")
    (made / "pages" / "left_out.md").write_text("---\nchecked: false\nwhy: 草稿\n---\n`a = = 1`\n", encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def red(folder):
    """All pages at once: status, standard output, standard error, the report."""
    status, out, err = run(folder, "check", "pages", "--json", "report.json", "--jobs", 2)
    return status, out, err, (folder / "report.json").read_text(encoding="utf-8")


def test_red(red):
    status, out, err, text = red
    assert status == RED
    assert "pages/wrong.md:7:11: claim: " in out and "pages/wrong.md:14:1: exec: " in out
    assert "[5/5]" in err and "ok" in err and "2 failed" in err
    assert out.rstrip().split("\n")[-1] == "5 pages, 7 claims, 3 quotes, 2 execs, 0 examples, 0 comments: 4 failures"


def test_the_report_has_the_form_that_is_promised(red):
    report = json.loads(red[3])
    assert list(report) == ["version", "pages", "totals", "versions"]
    assert report["versions"]["torch"] and report["versions"]["tsformers"]
    assert [page["path"] for page in report["pages"]] == [
        "pages/empty.md", "pages/left_out.md", "pages/windows.md", "pages/wrong.md", "pages/对.md",
    ]  # fmt: skip
    for page in report["pages"]:
        assert list(page) == ["path", "seconds", "reused", "counts", "coverage", "failures"]
        assert list(page["counts"]) == ["quotes", "execs", "examples", "claims", "comments"]
        assert list(page["coverage"]) == ["executed", "explained", "gap"]
        assert page["reused"] is False
        for failure in page["failures"]:
            assert list(failure) == ["path", "line", "column", "kind", "claim", "expected", "actual", "message"]
            assert failure["kind"] in KINDS and failure["path"] == page["path"]
    right = report["pages"][-1]
    assert right["failures"] == []
    assert right["counts"] == {"quotes": 1, "execs": 0, "examples": 0, "claims": 3, "comments": 0}
    assert (right["coverage"]["executed"], right["coverage"]["explained"]) == (2, 1)
    assert right["coverage"]["gap"] == [f"beside.py:{MODULE.split(chr(10)).index('    return m') + 1}"]
    assert report["totals"]["failures"] == 4 and report["totals"]["pages"] == 5 and report["totals"]["unchecked"] == 1


def test_line_ends_and_a_byte_order_mark_change_no_position(red):
    found = {page["path"]: page for page in json.loads(red[3])["pages"]}
    plain, windows = found["pages/wrong.md"], found["pages/windows.md"]
    assert [{**failure, "path": ""} for failure in plain["failures"]] == [
        {**failure, "path": ""} for failure in windows["failures"]
    ]
    assert plain["counts"] == windows["counts"]
    assert [(failure["line"], failure["column"]) for failure in plain["failures"]] == [(7, 11), (14, 1)]


def test_the_locale_changes_nothing(folder, red):
    environment = {"LC_ALL": "zh_CN.GBK", "PYTHONUTF8": "0", "PYTHONIOENCODING": "gbk", "PYTHONCOERCECLOCALE": "0"}
    status, out, err = run(folder, "check", "pages", "--json", "-", "--jobs", 1, **environment)
    assert status == RED
    assert without_seconds(out) == without_seconds(red[3])
    assert "pages/wrong.md:7:11: claim: " in err  # where the report has standard output, the rest has the other


def test_green_and_paths_as_given(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    assert main(["check", "pages/../pages/对.md", "./pages/empty.md", "--json", "-"]) == GREEN
    report = json.loads(capsys.readouterr().out)
    assert [page["path"] for page in report["pages"]] == ["pages/../pages/对.md", "./pages/empty.md"]


def test_a_time_limit(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "loop.md").write_text(block("while True:\n    pass"), encoding="utf-8")
    assert main(["check", "loop.md", "--time-limit", "0.3"]) == RED
    assert "loop.md:2:1: timeout" in (out := capsys.readouterr().out) or "loop.md:3:5: timeout" in out


def test_help_does_not_import_torch(tmp_path):
    code = """
        import runpy, sys
        sys.argv = ["reading", "check", "--help"]
        try:
            runpy.run_module("tsformers.reading", run_name="__main__")
        except SystemExit as end:
            assert end.code == 0
        assert not {"torch", "numpy", "mkdocs", "yaml"} & set(sys.modules), set(sys.modules)
    """
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code)], cwd=tmp_path, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(PACKAGE)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for option in ("--json", "--jobs", "--time-limit", "PATH"):
        assert option in done.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["check"],
        ["chekc", "x"],
        ["check", "x.md", "--jobs", "0"],
        ["check", "x.md", "--jobs", "two"],
        ["check", "x.md", "--time-limit", "0"],
        ["check", "x.md", "--time-limit", "nan"],
        ["check", "x.md", "--time-limit", "inf"],
        ["check", "x.md", "--jsno", "-"],
    ],
)
def test_usage(arguments, capsys):
    with pytest.raises(SystemExit) as end:
        main(arguments)
    said = capsys.readouterr().err
    assert end.value.code == USAGE and any(word in said for word in arguments or ["COMMAND"])
    if arguments[2:3] in (["--jobs"], ["--time-limit"]):
        assert f"argument {arguments[2]}: {arguments[3]!r} is not " in said


@pytest.mark.parametrize("command", ["check", "fix", "mutate", "trace"])
def test_a_misspelt_page_is_told_with_the_one_beside_it(command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CI", raising=False)
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "attention.md").write_text("", encoding="utf-8")
    line = ":1" if command == "trace" else ""
    for given in ("pages/atention.md", "pages/attention"):
        assert main([command, given + line]) == USAGE
        assert f"{given}: no such page or folder; did you mean pages/attention.md?" in capsys.readouterr().err
    assert main([command, "none.md" + line]) == USAGE
    assert "none.md: no such page or folder; PATH is a page" in capsys.readouterr().err


def test_what_only_leaves_nothing_is_told_with_a_page_that_is_there(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    assert main(["check", "pages", "--only", "nothing"]) == USAGE
    assert "none of the 5 pages, such as pages/empty.md, contains 'nothing'" in capsys.readouterr().err


def test_no_page_there_is_usage(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    for path in ("none.md", "folder"):
        assert main(["check", path]) == USAGE
        assert path in capsys.readouterr().err


def test_settings_that_cannot_be_used_are_usage(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("[tool.tsformers.reading]\nlimit = 3\n", encoding="utf-8")
    (tmp_path / "a.md").write_text("文\n", encoding="utf-8")
    assert main(["check", "a.md"]) == USAGE
    assert "pyproject.toml" in capsys.readouterr().err


def test_a_report_that_cannot_be_written_is_usage(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.md").write_text("", encoding="utf-8")
    assert main(["check", "a.md", "--json", "none/report.json"]) == USAGE
    assert "none/report.json" in capsys.readouterr().err


def test_a_failure_of_the_checker_itself(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.md").write_text("", encoding="utf-8")

    def fails(*arguments):
        raise RuntimeError("no verdict")

    monkeypatch.setattr("tsformers.reading.run.judge_page", fails)
    assert main(["check", "a.md"]) == BROKEN
    assert "no verdict" in capsys.readouterr().err


def test_a_failure_of_the_checker_in_the_process_of_a_page(tmp_path, monkeypatch, capsys):
    """A page whose steps the child cannot go through: it must not be taken for a page that is merely red."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.md").write_text(block("a = 1"), encoding="utf-8")
    known = pages.read_page
    monkeypatch.setattr(pages, "read_page", lambda *given, **named: replace(known(*given, **named), front=None))
    assert main(["check", "a.md"]) == BROKEN
    assert "NoneType" in capsys.readouterr().err


def test_the_caret_stands_under_wide_characters():
    text = failure_text(Failure("a.md", 1, 4, "claim", "c", "1", "2", "不符"), "甲乙 c")
    lines = text.split("\n")
    assert lines[0] == "a.md:1:4: claim: 不符"
    assert lines[2].index("^") == 4 + width("甲乙 ") == 9
    assert lines[3:] == ["    expected: 1", "      actual: 2"]


def test_tabs_and_empty_rows():
    assert failure_text(Failure("a.md", 1, 3, "claim", message="m"), "\t\tc").split("\n")[2] == "      ^"
    assert failure_text(Failure("a.md", 1, 1, "coverage", message="m"), "") == "a.md:1:1: coverage: m"


def test_a_library_that_is_not_installed_is_named_with_its_extra(tmp_path, monkeypatch, capsys):
    (tmp_path / "a.md").write_text("# a\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    def missing(*_, **__):
        raise ModuleNotFoundError("No module named 'yaml'", name="yaml")

    monkeypatch.setattr(pages, "read_page", missing)
    assert main(["check", "a.md"]) == BROKEN
    said = capsys.readouterr().err
    assert "yaml is not installed" in said and "'reading'" in said and "Traceback" not in said
