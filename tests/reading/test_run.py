"""Pages in real processes: limits, deaths, isolation, the same report in any order."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.reading.checking import MIXER, block, quoted
from tsformers.reading.page import read_page
from tsformers.reading.report import as_json
from tsformers.reading.run import check_files, check_pages, find_pages

ROOT = Path(__file__).resolve().parents[2]
GREEN = MIXER + quoted("y = x = self.norm(x)", "`y is x`，`x (B, L, d_model)`")
DEATHS = {
    "exit": "import os\nos._exit(0)",
    "abort": "import os\nos.abort()",
    "sys_exit": "import sys\nsys.exit(0)",
    "killed": "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
    "raises": "a = 1\n1 / 0",
}


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch):
    monkeypatch.chdir(ROOT)


def pages(folder, texts):
    folder.mkdir(exist_ok=True)
    paths = []
    for name, text in texts.items():
        path = folder / f"{name}.md"
        path.write_text(text, encoding="utf-8")
        paths.append(path)
    return paths


def report(results):
    """The report without what may differ between two runs of the same thing."""
    found = as_json(results)
    for page in found["pages"]:
        del page["seconds"]
    return found


@pytest.fixture(scope="module")
def warm(tmp_path_factory):
    """The server process, started."""
    before = os.getcwd()
    os.chdir(ROOT)
    try:
        check_files(pages(tmp_path_factory.mktemp("warm"), {"warm": block("a = 1")}))
    finally:
        os.chdir(before)


LIMIT = 4  # seconds; a page that is right takes far less, also beside two loops on a busy machine


@pytest.fixture(scope="module")
def endless(warm, tmp_path_factory):
    """Endless loops, one of which swallows everything, beside a page that is right; the seconds that it took."""
    texts = {
        "green": GREEN,
        "loop": GREEN + block("a = 1\nif a:\n    while True:\n        pass") + "`x (9, 9, 9)`\n",
        "stubborn": block(
            "while True:\n    try:\n        while True:\n            pass\n    except BaseException:\n        pass"
        ),
        "wrong": MIXER + "`x (2, 3, 5)`\n",
    }
    files = pages(tmp_path_factory.mktemp("endless"), texts)
    before = os.getcwd()
    os.chdir(ROOT)
    try:
        started = time.monotonic()
        results = check_files(files, jobs=4, time_limit=LIMIT)
        return {result.page.path.rsplit("/", 1)[1]: result for result in results}, time.monotonic() - started
    finally:
        os.chdir(before)


def test_an_endless_loop_is_red_at_its_line_within_the_limit_and_two_seconds(endless):
    results, seconds = endless
    assert seconds < LIMIT + 2
    (failure,) = results["loop.md"].failures
    assert failure.kind == "timeout" and f"{LIMIT} 秒" in failure.message
    lines = results["loop.md"].page.text.split("\n")
    assert lines[failure.line - 1].strip() in ("while True:", "pass")


def test_a_loop_that_swallows_every_exception_is_ended_from_outside(endless):
    (failure,) = endless[0]["stubborn.md"].failures
    assert (failure.line, failure.kind) == (1, "timeout")


def test_the_other_pages_are_checked(endless):
    results, _ = endless
    assert results["green.md"].failures == []
    assert [failure.kind for failure in results["wrong.md"].failures] == ["claim"]


@pytest.fixture(scope="module")
def deaths(warm, tmp_path_factory):
    texts = {name: "文。\n\n" + block("a = 1") + block(code) for name, code in DEATHS.items()}
    texts["loud"] = block("for _ in range(10):\n    print('很长' * 500_000)") + block("print(1)")
    texts["toy"] = "---\ntoy: tests.reading.sample_toys:dying\n---\n文。\n"
    before = os.getcwd()
    os.chdir(ROOT)
    try:
        results = check_files(pages(tmp_path_factory.mktemp("deaths"), texts))
    finally:
        os.chdir(before)
    return {Path(result.page.path).stem: result for result in results}


@pytest.mark.parametrize("name", DEATHS)
def test_a_page_that_ends_its_process_is_red(deaths, name):
    (failure,) = deaths[name].failures
    assert failure.kind in ("exec" if name == "raises" else "exit", "hermetic")
    assert failure.line in (7, 8, 9)  # the block's fence, or the line in it
    assert failure.message


def test_a_toy_that_ends_its_process_is_red_at_the_front_matter(deaths):
    (failure,) = deaths["toy"].failures
    assert (failure.line, failure.kind) == (2, "exit")


def test_ten_megabytes_of_output_are_no_crash(deaths):
    assert {failure.kind for failure in deaths["loud"].failures} <= {"output"}


@pytest.mark.parametrize("order", [("a", "z"), ("z", "a"), ("z",)])
def test_names_do_not_leak_between_pages(warm, tmp_path, order):
    texts = {"a": block("defined = 1"), "z": block("print(defined)")}
    files = pages(tmp_path, {name: texts[name] for name in order})
    results = {Path(result.page.path).stem: result for result in check_files(files, jobs=1)}
    assert [failure.kind for failure in results["z"].failures] == ["exec"]
    assert "a" not in results or results["a"].failures == []


LEAVES = """import os, random, sys, torch
torch.set_printoptions(precision=1, sci_mode=True)
torch.set_default_dtype(torch.float64)
torch.manual_seed(7)
random.seed(7)
os.environ["LEFT_BEHIND"] = "yes"
os.environ["TZ"] = "Asia/Shanghai"
sys.path.insert(0, "/left/behind")
sys.modules["json"] = None
torch.nn.Linear.forward = None
"""
SEES = """import json, os, random, sys, torch
print(torch.tensor([1 / 3]), torch.get_default_dtype(), torch.rand(2), random.random(), hash("a"))
print(os.environ.get("LEFT_BEHIND"), os.environ["TZ"], "/left/behind" in sys.path, len(os.listdir()))
print(torch.get_num_threads(), torch.nn.Linear(2, 2).eval()(torch.ones(1, 2)))
"""


def test_what_a_page_leaves_behind_is_not_seen_by_the_next(warm, tmp_path):
    first, second = pages(tmp_path, {"a": block(LEAVES), "b": GREEN + block(SEES)})
    alone = check_files([second])
    after = check_files([first, second], jobs=1)
    together = check_files([second, first], jobs=2)
    assert alone[0].failures == [] == after[1].failures
    (failure,) = after[0].failures  # to exchange a method of torch is refused, on its own page; so is the environment
    assert failure.kind == "exec" and "os.environ['LEFT_BEHIND']" in failure.message and "等 4 处" in failure.message
    text = [[output.text for output in result.reading.outputs.values()] for result in (alone[0], after[1], together[0])]
    assert text[0] == text[1] == text[2] and "None UTC False 0" in text[0][0]
    assert report(alone)["pages"][0] == report(after)["pages"][1] == report(together)["pages"][0]


def test_one_and_two_workers_give_the_same_report(warm, tmp_path):
    wrong = MIXER + "`x (2, 3, 5)`，`x.max() ≈ 0.7`，`torch.rand(2).shape[0] = 2`\n"
    files = pages(tmp_path, {"c": wrong, "a": GREEN, "b": block("1 / 0")})
    one, two = report(check_files(files, jobs=1)), report(check_files(files, jobs=2))
    assert one == two
    assert [page["path"] for page in one["pages"]] == [str(path) for path in files]
    assert one["totals"]["failures"] == 3 and one["totals"]["pages"] == 3


def test_the_pages_of_a_folder_are_sorted_and_named_as_given(tmp_path, monkeypatch):
    pages(tmp_path / "b", {"乙": "", "a": ""})
    pages(tmp_path / "b" / "c", {"d": ""}) if (tmp_path / "b" / "c").mkdir() is None else None
    (tmp_path / "b" / "no.txt").write_text("", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert [name for _, name in find_pages(["b"])] == ["b/a.md", "b/c/d.md", "b/乙.md"]
    assert [name for _, name in find_pages(["./b/", "b/a.md"])] == ["./b/a.md", "./b/c/d.md", "./b/乙.md"]
    assert [name for _, name in find_pages([tmp_path / "b" / "a.md"])] == [(tmp_path / "b" / "a.md").as_posix()]
    for missing in ("none", "none.md"):
        with pytest.raises(FileNotFoundError, match="none"):
            find_pages([missing])
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="empty"):
        find_pages(["b", "empty"])


def test_a_page_that_is_left_out_is_not_run(tmp_path):
    (file,) = pages(tmp_path, {"a": "---\nchecked: false\nwhy: 草稿\n---\n" + block("1 / 0")})
    (result,) = check_pages([read_page(file)], [file])
    assert result.failures == [] and report([result])["totals"]["unchecked"] == 1
