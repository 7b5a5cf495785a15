"""One record, several reports: what a person reads on a terminal, GitHub's annotations, JUnit's XML."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.reading.checking import MIXER, block
from tsformers.reading.__main__ import main
from tsformers.reading.commands import BROKEN, GREEN, RED, USAGE
from tsformers.reading.failure import Failure
from tsformers.reading.formats import LISTED, github, junit, markdown
from tsformers.reading.page import scan
from tsformers.reading.record import Reading, Statement, Subject
from tsformers.reading.report import as_json, excerpt, failure_text, failures_text, shortened, table, width
from tsformers.reading.run import Result


def result(path, text="", *failures, seconds=1.0, statements=()):
    """A page with failures given as (line, column, kind, claim, expected, actual, message)."""
    reading = Reading(seconds=seconds)
    if statements:
        reading.subjects.append(Subject("s", "m.f", "", "m.py", 1, "", None, tuple(statements)))
    return Result(scan(text, path), reading, [Failure(path, *failure) for failure in failures])


def statement(line, explained):
    return Statement(line, line, "a = 1", True, explained)


# The terminal


@pytest.mark.parametrize(
    ("row", "needle", "said", "under"),
    [
        ("| 输入 | `x (2, 3, 5)` |", "5", {"claim": "x (2, 3, 5)", "expected": "(2, 3, 5)"}, "5"),
        ("| 输入 | `x ≈ [0.1, 0.25]` |", "0.25", {"claim": "x ≈ [0.1, 0.25]", "expected": "0.25"}, "0.25"),
        ("注意力 `xx (2, 3)` 的", "xx", {"kind": "name", "claim": "xx (2, 3)", "expected": "x"}, "xx (2, 3)"),
        ("权重是 十六 个", "十六", {"claim": "十六"}, "十六"),
        ("a\u0301\u0301 \u200b=1", "1", {}, "1"),
        ("\t\tc", "c", {}, "c"),
    ],
)
def test_the_carets_stand_under_the_place(row, needle, said, under):
    failure = Failure("a.md", 1, row.index(needle) + 1, **{"kind": "claim", **said})
    text = failure_text(failure, row)
    shown, carets = text.split("\n")[1:3]
    assert shown == "    " + row.replace("\t", " ")
    assert carets == " " * (4 + width(row.replace("\t", " ")[: row.index(needle)])) + "^" * width(under)


@pytest.mark.parametrize("columns", [20, 40, 81])
@pytest.mark.parametrize("row", ["甲" * 200 + "`x (2)`" + "乙" * 200, "a" * 200 + "`x (2)`", "`x (2)`" + "长" * 200])
def test_a_long_row_is_cut_around_the_place(columns, row):
    start = row.index("x (2)")
    shown, column = excerpt(row, start, start + 5, columns)
    assert width(shown) <= columns and "x (2)" in shown
    assert width(shown[: shown.index("x (2)")]) == column
    assert shown.startswith("…") == (not row.startswith(shown[:1])) and shown.endswith("…") == row.endswith(
        ("乙", "长")
    )


def test_a_place_wider_than_the_terminal():
    row = "`" + "x" * 300 + "`"
    shown, column = excerpt(row, 1, 301, 30)
    assert (width(shown), column, shown[-1]) == (30, 1, "…") or (shown[0], column) == ("…", 1)
    text = failure_text(Failure("a.md", 1, 2, "claim", claim="x" * 300), row, columns=34)
    assert all(width(line) <= 34 for line in text.split("\n")[1:])


def test_a_row_that_fits_is_whole():
    assert excerpt("甲乙丙", 1, 2, 6) == ("甲乙丙", 2)
    assert [shortened("甲乙丙丁", columns) for columns in (8, 7)] == ["甲乙丙丁", "甲乙…"]


def test_control_characters_do_not_reach_the_terminal():
    text = failure_text(Failure("a.md", 1, 3, "claim"), "a\x1b[2Jb")
    assert "\x1b" not in text and "a [2Jb" in text


def test_colour_changes_nothing_else():
    failure = Failure("a.md", 1, 4, "claim", "x (2)", "2", "3", "不符")
    plain, painted = (failure_text(failure, "甲 `x (2)`", colour=colour, hint=True) for colour in (False, True))
    assert "\x1b[" in painted and "\x1b[" not in plain
    assert re.sub(r"\x1b\[[\d;]*m", "", painted) == plain


def test_a_hint_is_said_once_a_kind():
    rows = "`x (2)`\n`x (3)`\n`xx`\n"
    failures = [(line, 2, kind, "x", "", "", "不符") for line, kind in ((1, "claim"), (2, "claim"), (3, "name"))]
    text = "\n".join(failures_text([result("a.md", rows, *failures), result("b.md", rows, *failures)]))
    assert text.count("hint:") == 2 and "trace a.md:1" in text and "fix a.md" in text


def test_rows_are_those_of_editors():
    """A line separator inside a row is none of an editor's."""
    text = "甲\u2028乙\x0b\n\n`x (2)`\n"
    shown = next(iter(failures_text([result("a.md", text, (3, 2, "claim", "x (2)", "", "", "不符"))])))
    assert "    `x (2)`\n     ^^^^^" in shown


def test_the_table():
    reading = [statement(1, True), statement(2, False), statement(3, True)]
    rows = [
        result("docs/注意力.md", "", (1, 1, "claim", "", "", "", ""), seconds=2.34, statements=reading),
        result("docs/b.md", "文\n"),
        result("c.md", "---\nchecked: false\nwhy: 草稿\n---\n"),
    ]
    assert list(table(as_json(rows))) == [
        "page            claims  own reads explained  failures  seconds",
        "docs/注意力.md       0                 66 %         1      2.3",
        "docs/b.md            0                    -         0      1.0",
        "c.md                 0            unchecked         0      1.0",
    ]


def test_of_many_pages_the_table_shows_those_that_want_work():
    rows = [result(f"{number}.md") for number in range(60)]
    rows[7] = result("7.md", "", (1, 1, "claim", "", "", "", ""))
    rows[9] = result("9.md", statements=[statement(1, False)])
    lines = list(table(as_json(rows)))
    assert [line.split()[0] for line in lines[1:-1]] == ["7.md", "9.md"] and lines[-1].startswith("and 58 more")


# GitHub


def test_an_annotation_reads_back():
    message = "值是 50 %，不是 3\n第二行：a::b,c\r"
    failure = (3, 7, "claim", "x = 3", "3", "50", message)
    (line,) = github(as_json([result("docs/a,b:c%.md", "", failure)]))
    assert "\n" not in line and "\r" not in line
    head, _, data = line.removeprefix("::error ").partition("::")
    found = dict(part.split("=", 1) for part in head.split(","))
    assert {name: unquote(value) for name, value in found.items()} == {
        "file": "docs/a,b:c%.md", "line": "3", "col": "7", "title": "claim",
    }  # fmt: skip
    assert unquote(data) == f"{message}\nclaim: x = 3\nexpected: 3\nactual: 50"


def test_an_annotation_as_github_documents_it():
    (line,) = github(as_json([result("a.md", "", (1, 2, "claim", "", "", "", "100 %: a,b"))]))
    assert line == "::error file=a.md,line=1,col=2,title=claim::100 %25: a,b"


# JUnit: the elements, their order and attributes as in the schemas of Ant and of Jenkins

NUMBER, DECIMAL = r"\d+", r"\d+\.\d{3}"
ATTRIBUTES = {  # name -> pattern; all are required
    "testsuites": {"name": ".+", "tests": NUMBER, "failures": NUMBER, "errors": NUMBER, "time": DECIMAL},
    "testsuite": {
        "name": ".+", "tests": NUMBER, "failures": NUMBER, "errors": NUMBER, "skipped": NUMBER, "time": DECIMAL,
        "timestamp": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", "hostname": ".+",
    },
    "testcase": {"name": ".+", "classname": ".+", "time": DECIMAL},
    "failure": {"message": "(?s).+", "type": ".+"},
    "skipped": {"message": ".*"},
    "properties": {}, "system-out": {}, "system-err": {},
}  # fmt: skip
CHILDREN = {
    "testsuites": "(testsuite )*",
    "testsuite": "properties (testcase )*system-out system-err ",
    "testcase": "(skipped |failure )?",
}


def valid(element):
    assert element.attrib.keys() == ATTRIBUTES[element.tag].keys()
    for name, pattern in ATTRIBUTES[element.tag].items():
        assert re.fullmatch(pattern, element.attrib[name]), (element.tag, name, element.attrib[name])
    assert re.fullmatch(CHILDREN.get(element.tag, ""), "".join(f"{child.tag} " for child in element))
    for child in element:
        valid(child)


def test_junit():
    failures = [(3, 7, "claim", "x < 3", "3", "5", "值是 5"), (9, 1, "exec", "", "", "\x1b[1m\x00", "抛出 & 错误")]
    results = [
        result("docs/a.md", "", *failures, seconds=1.25),
        result("b.md", seconds=0.5),
        result("c.md", "---\nchecked: false\nwhy: 草稿\n---\n", seconds=0.0),
    ]
    when = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    root = ET.fromstring(junit(as_json(results), when).encode())
    valid(root)
    (suite,) = root
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("3", "1", "1")
    assert (suite.get("time"), suite.get("timestamp")) == ("1.750", "2026-01-02T03:04:05")
    a, b, c = suite.findall("testcase")
    assert (a.get("classname"), a.get("name"), b.get("classname")) == ("docs", "a.md", "pages")
    assert a[0].get("type") == "claim" and a[0].get("message") == "docs/a.md:3:7: claim: 值是 5（另有 1 处）"
    assert a[0].text.split("\n") == [
        "docs/a.md:3:7: claim: 值是 5", "    claim: x < 3", "    expected: 3", "    actual: 5",
        "docs/a.md:9:1: exec: 抛出 & 错误", "    actual: \ufffd[1m\ufffd",
    ]  # fmt: skip
    assert len(b) == 0 and c[0].get("message") == "草稿"


# The summary in Markdown


def cells(row):
    """The cells of a row of a table, as GitHub cuts it: at bars that no backslash stands before."""
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]]


def test_the_summary_holds_pages_claims_coverage_and_seconds():
    reading = [statement(1, True), statement(2, False), statement(3, True)]
    red = result(
        "docs/a|b_c.md", "", (3, 7, "claim", "", "", "", "值是 <b>`1`|\n2</b>"), statements=reading, seconds=2.34
    )
    left_out = result("c.md", "---\nchecked: false\nwhy: 草稿\n---\n")
    lines = markdown(as_json([red, left_out])).split("\n")
    rows = [cells(line) for line in lines if line.startswith("|")]
    assert rows[:3] == [["页", "声明", "形状注释", "错误", "秒"], ["---", *["---:"] * 4], ["2", "0", "0", "1", "3.3"]]
    assert rows[-2:] == [["docs/a\\|b\\_c.md", "0", "66 %", "1", "2.3"], ["c.md", "0", "unchecked", "0", "1.0"]]
    assert "有错" in lines[0] and lines[-2] == (r"- docs/a\|b\_c.md:3:7: claim: 值是 \<b\>\`1\`\| 2\</b\>")
    assert "全部相符" in markdown(as_json([left_out]))


def test_a_long_summary_is_cut_and_says_so():
    failures = [(line, 1, "claim", "", "", "", "不符") for line in range(1, LISTED + 4)]
    rows = [result(f"{number}.md", "", *(failures if number == 7 else ())) for number in range(60)]
    text = markdown(as_json(rows))
    assert text.count("\n- ") == LISTED and "另有 3 处" in text
    assert [row for row in text.split("\n") if ".md |" in row] == [f"| 7.md | 0 | - | {LISTED + 3} | 1.0 |"]
    assert "另有 59 页没有错" in text


# The command


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """Three pages: the first raises, the others hold wrong claims; a fourth is green."""
    monkeypatch.setattr(sys, "path", [os.getcwd(), *sys.path])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "1.md").write_text(MIXER + "文\n\n" + block("a = 1\n1 / 0"), encoding="utf-8")
    (tmp_path / "2.md").write_text(MIXER + "`x (2, 3, 4)`，`x (2, 3, 5)`\n\n`x.max() < 0.5`\n", encoding="utf-8")
    (tmp_path / "3.md").write_text(MIXER + "| 量 |\n|---|\n| `self.rounds = 3` |\n", encoding="utf-8")
    (tmp_path / "4.md").write_text(MIXER + "`x (2, 3, 4)`\n", encoding="utf-8")
    return tmp_path


PLACES = ["1.md:9:1: exec: ", "2.md:5:25: claim: ", "2.md:7:2: claim: ", "3.md:7:18: claim: "]


def places(text):
    return re.findall(r"^\S+\.md:\d+:\d+: [\w-]+: ", text, re.MULTILINE)


def test_one_run_reports_everything(folder, capsys):
    """The first page raises, the second and the third state something wrong: all three are said, with totals."""
    assert main(["check", ".", "--jobs", "2", "--junit", "junit.xml", "--github", "--summary", "said.md"]) == RED
    out = capsys.readouterr().out
    assert [place.removeprefix("./") for place in places(out)] == PLACES
    assert out.count("::error file=./") == 4 and "::error file=./2.md,line=5,col=25,title=claim::" in out
    table_row = next(line for line in out.split("\n") if line.startswith("./2.md "))
    assert table_row.split()[:5] == ["./2.md", "3", "0", "%", "2"]
    assert re.search(r"\n4 pages, 5 claims, 0 quotes, 1 exec, 0 examples, .*: 4 failures\n$", out)
    root = ET.fromstring((folder / "junit.xml").read_bytes())
    valid(root)
    assert [len(case) for case in root.iter("testcase")] == [1, 1, 1, 0]
    once = (folder / "said.md").read_text("utf-8")
    assert "\n| 4 | 5 | 8 | 4 | " in once
    main(["check", "4.md", "--summary", "said.md"])
    assert (folder / "said.md").read_text("utf-8").startswith(once + "### ✅")


def test_only(folder, capsys):
    assert main(["check", ".", "--only", "4.md"]) == GREEN
    assert re.search(r"\n1 page, 1 claim, .*: 0 failures\n$", capsys.readouterr().out)
    assert main(["check", ".", "--only", "/4", "--only", "3.m"]) == RED
    assert [place.removeprefix("./") for place in places(capsys.readouterr().out)] == PLACES[-1:]
    assert main(["check", ".", "--only", "nothing"]) == USAGE
    assert "nothing" in capsys.readouterr().err


def test_exit_at_the_first_red_page(folder, capsys):
    assert main(["check", "4.md", "1.md", "2.md", "3.md", "-x", "--jobs", "1", "--junit", "-"]) == RED
    out, err = capsys.readouterr()
    assert places(err)[:1] == PLACES[:1] and "3.md:7" not in err
    assert re.search(r"stopped at the first red page; [12] not run", err)  # the next one may have begun
    valid(ET.fromstring(out.encode()))


def test_a_report_that_cannot_be_written_is_usage(folder, capsys):
    assert main(["check", "4.md", "--junit", "none/junit.xml"]) == USAGE
    assert "none/junit.xml" in capsys.readouterr().err


def test_a_reader_who_leaves_is_no_failure_of_the_checker(folder):
    (folder / "5.md").write_text("文\n", encoding="utf-8")
    command = [sys.executable, "-m", "tsformers.reading", "check", "5.md"]
    paths = {"PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **paths}
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        said = process.stderr.read().decode()
    assert process.returncode == BROKEN and "Traceback" not in said and "BrokenPipe" not in said


def test_the_version(capsys):
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert not end.value.code
    assert re.fullmatch(r"tsformers \d+\.\S+, torch \d+\.\S+, Python 3\.\d+\.\d+\n", capsys.readouterr().out)


def test_no_colour_where_nobody_looks(folder, capsys):
    main(["check", "3.md"])
    captured = capsys.readouterr()
    assert "\x1b" not in captured.out + captured.err
    assert Path("3.md").exists()
