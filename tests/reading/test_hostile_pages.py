"""What an author can write or leave lying about makes a page red at its place; the checker itself never fails on it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.reading.checking import MIXER, block, check, place
from tests.reading.processes import run, said
from tsformers.reading.page import read_page, scan
from tsformers.reading.run import find_pages

LONG = "1" * 5000  # Python reads and writes integers of 4,300 digits at most
CLAIMS = {
    "literal": (f"x.shape[0] = {LONG}", "claim"),
    "slot": (f"x ({LONG}, 3, 4)", "claim"),
    "axis": (f"x ({LONG}*B, 3, 4)", "claim"),
    "expression": (f"x.shape[0] + {LONG} = 3", "name"),
    "exponent": (f"x.shape[0] ≈ 1e{LONG}", "claim"),
    "terms": (f"{'x.shape[0] + ' * 3000}1 = 3", "name"),
    "terms of an axis": (f"x ({'+'.join(['B'] * 3000)}, 3, 4)", "claim"),
    "brackets": (f"{'(' * 3000}B{')' * 3000} = 2", "name"),
    "signs": (f"{'-' * 5000}B = 2", "name"),
    "attributes": (f"x{'.T' * 5000} (2, 3, 4)", "name"),
    "lists": (f"x = {'[' * 3000}{']' * 3000}", "claim"),
}
CODE = {
    "terms": ("a = " + " + ".join(["1"] * 30_000), "exec"),
    "signs": ("a = " + "-" * 50_000 + "1", "exec"),
    "printed": ("print(10**5000)", "exec"),
    "closed": ("import sys\nsys.stdout.close()", "exec"),
    "half a character": ("print('\\ud800')", "exec"),
}


@pytest.mark.parametrize("name", CLAIMS)
def test_a_claim_too_large_to_read_is_red(name: str) -> None:
    text, kind = CLAIMS[name]
    checked = check(f"于是 `{text}`。")
    assert [failure.kind for failure in checked.failures] == [kind] and checked.failures[0].line == 5


@pytest.mark.parametrize("name", CODE)
def test_code_too_large_or_hostile_to_its_output_is_red(name: str) -> None:
    code, kind = CODE[name]
    assert [failure.kind for failure in check(block(code) + block("b = 1") + "`b = 1`\n").failures] == [kind]


def test_an_integer_that_python_does_not_write_out_is_no_failure_of_the_checker() -> None:
    text = block("a = 10**5000") + "`a = 3`，`a ≈ 3.0`，`a = ?`，`a > 3`，`a is not None`\n"
    checked = check(text)
    wrong = ("3`，`a ≈", "3.0", "?", "a > 3")
    assert checked.said == [(*place(text, part), "claim") for part in wrong]


@pytest.mark.parametrize(
    "text",
    [
        MIXER + f'```python pass="{LONG}"\nB, L, D = x.shape\n```\n',
        MIXER + f"```python\ny = {'-' * 5000}x\n```\n",
        MIXER + f"```python\ny = {LONG}\n```\n",
        f"---\ntitle: {'[' * 600}{']' * 600}\n---\n",
        "---\n" + "".join(" " * depth + "a:\n" for depth in range(1200)) + "---\n",
        MIXER.replace("forward]", f"forward #{LONG}]"),
    ],
)
def test_quotes_and_front_matter_too_large_to_read_are_red(text: str) -> None:
    assert check(text, "").failures


@pytest.mark.parametrize("text", [">" * 3000, "[" * 2000, "*" * 9000, "|" * 3000 + "\n" + "|-" * 3000, "<div>" * 3000])
def test_no_text_makes_the_reader_of_pages_fail(text: str) -> None:
    assert scan(text, "page.md").text == text


def test_what_is_no_file_is_a_red_page_or_no_page(tmp_path) -> None:
    (tmp_path / "d.md").mkdir()
    (tmp_path / "d.md" / "in.md").write_text("文", encoding="utf-8")
    (tmp_path / "broken.md").symlink_to(tmp_path / "nothing")
    os.mkfifo(tmp_path / "f.md")
    pages = {name.rpartition("/")[2]: read_page(path, given=name) for path, name in find_pages([tmp_path])}
    assert sorted(pages) == ["broken.md", "f.md", "in.md"] and pages["in.md"].problems == ()
    assert [(p.kind, p.line, p.actual) for p in pages["f.md"].problems] == [("front-matter", 1, "管道或设备")]
    assert [p.actual for p in pages["broken.md"].problems] == ["指向不存在的文件的链接"]
    with pytest.raises(FileNotFoundError):
        find_pages([tmp_path / "nothing.md"])


def test_a_process_that_lost_its_modules_or_streams_is_red_at_the_block(tmp_path) -> None:
    pages = {
        "clear.md": "文。\n\n" + block("import sys\nsys.modules.clear()") + block("import torch\nb = 1") + "`b = 1`\n",
        "gone.md": block(
            "import sys\nfor name in [*sys.modules]:\n    if 'tsformers' in name:\n        del sys.modules[name]"
        ),
        "closed.md": block("import os\nos.closerange(0, 100)") + block("print(1)"),
        "evil.md": block("class A(Exception):\n    def __str__(self):\n        raise SystemExit\n\nraise A"),
        "green.md": block("a = 1") + "`a = 1`\n",
    }
    found = {name: said(result) for name, result in run(tmp_path, pages).items()}
    assert found["clear"] == [(3, 1, "exec")] and found["gone"] == [(1, 1, "exec")]
    assert found["closed"] == [(1, 1, "exit")] and found["evil"] == [(1, 1, "exit")]
    assert found["green"] == []


def test_the_command_writes_every_report_of_half_characters(tmp_path) -> None:
    (tmp_path / "a.md").write_text(block("raise ValueError('\\ud800 \\x00 \\x1b[2J')"), encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "tsformers.reading",
        "check",
        "a.md",
        "--no-reuse",
        "--json",
        "a.json",
        "--junit",
        "a.xml",
    ]
    environment = {**os.environ, "PYTHONPATH": os.getcwd()}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert "ValueError" in (tmp_path / "a.json").read_text(encoding="utf-8")
    assert "ValueError" in (tmp_path / "a.xml").read_text(encoding="utf-8")
    assert "\x1b" not in done.stdout and "\x00" not in done.stdout
