"""The same report for any number of workers and any order of pages, whatever a page or the caller leaves behind."""

from __future__ import annotations

import locale
import os
import random
import sys
import warnings
from pathlib import Path

import pytest

from tests.reading.checking import MIXER, block, quoted
from tests.reading.processes import report, run, write
from tsformers.reading.run import check_files

ROOT = Path(__file__).resolve().parents[2]
LEAVES = """import locale, os, random, sys, tempfile, time, warnings
import numpy, torch
torch.set_printoptions(precision=1, sci_mode=True)
torch.set_default_dtype(torch.float64)
torch.set_grad_enabled(False)
torch.set_num_threads(2)
torch.manual_seed(7)
numpy.random.seed(7)
random.seed(7)
os.environ.update(LEFT_BEHIND="yes", TZ="Asia/Shanghai")
time.tzset()
os.chdir("/")
sys.path.insert(0, "/left/behind")
sys.argv.append("left")
sys.setrecursionlimit(500)
warnings.simplefilter("error")
locale.setlocale(locale.LC_ALL, "C")
tempfile.tempdir = "/left/behind"
sys.modules["json"] = None
torch.nn.Linear.forward = None
"""
SEES = """import datetime, json, locale, os, random, sys, tempfile, time, warnings
import numpy, torch
print(torch.tensor([1 / 3]), torch.get_default_dtype(), torch.is_grad_enabled(), torch.get_num_threads())
print(torch.rand(2), random.random(), numpy.random.rand(), hash("a"), {"b", "a", "c"})
print(sorted(os.environ), os.environ["TZ"], time.tzname, datetime.datetime.fromtimestamp(0))
print(os.listdir(), os.getcwd() == tempfile.gettempdir() == os.path.expanduser("~"), sys.argv, sys.getrecursionlimit())
print(os.getcwd(), "/left/behind" in sys.path, sys.path[0] == PLACE, warnings.filters, locale.setlocale(locale.LC_ALL))
print(torch.nn.Linear(2, 2).eval()(torch.ones(1, 2)), sys.modules["__main__"].__dict__.keys())
"""
TEXTS = {
    "leaves.md": block(LEAVES),
    "right.md": MIXER + quoted("y = x = self.norm(x)", "`y is x`，`x (B, L, d_model)`，`torch.rand(2).shape = (2,)`"),
    "sees.md": block("PLACE = 'FOLDER'\n" + SEES),
    "swapped.md": MIXER + "`x (L, B, d_model)`，`x.max() ≈ 0.7`，数 24\n",
    "random.md": block("import torch\na = float(torch.rand(1))") + "`a ≈ 0.4963`，`a ≈ 0.5`，`a = 1`\n",
    "raises.md": block("1 / 0") + block("import os\nos._exit(0)") + "`a = 1`\n",
    "refused.md": block("open('a', 'w')") + "文。\n",
    "left_out.md": "---\nchecked: false\nwhy: 草稿\n---\n",
}


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    texts = {name: text.replace("FOLDER", str(ROOT)) for name, text in TEXTS.items()}
    return write(tmp_path, texts)


def by_page(results):
    return {page["path"]: page for page in report(results)["pages"]}


def printed(results):
    return {result.page.path: [output.text for output in result.reading.outputs.values()] for result in results}


def test_one_two_and_eight_workers_give_the_same_report(files):
    one, two, eight = (check_files(files, jobs=jobs) for jobs in (1, 2, 8))
    assert report(one) == report(two) == report(eight)
    assert printed(one) == printed(two) == printed(eight)
    assert report(one)["totals"]["failures"] > 5


def test_any_order_and_alone(files):
    known = check_files(files, jobs=2)
    for seed in range(2):
        shuffled = random.Random(seed).sample(files, len(files))
        again = check_files(shuffled, jobs=2)
        assert [result.page.path for result in again] == [str(path) for path in shuffled]
        assert by_page(again) == by_page(known) and printed(again) == printed(known)
    for file in files[:3]:
        alone = check_files([file])
        assert by_page(alone)[str(file)] == by_page(known)[str(file)]
        assert printed(alone)[str(file)] == printed(known)[str(file)]


def test_what_the_caller_has_changed_is_not_seen(files, monkeypatch):
    """The process of the checker itself: its environment, path, arguments, main module, filters, locale."""
    (known,) = check_files([files[2]])
    monkeypatch.setenv("LEFT_BEHIND", "yes")
    monkeypatch.setenv("TZ", "Asia/Shanghai")
    monkeypatch.setattr(sys, "argv", ["other", "--arguments"])
    main = type(sys)("__main__")
    main.__file__ = "/no/such/main.py"
    monkeypatch.setitem(sys.modules, "__main__", main)
    before = locale.setlocale(locale.LC_ALL)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            locale.setlocale(locale.LC_ALL, "C")
            (again,) = check_files([files[2]])
        finally:
            locale.setlocale(locale.LC_ALL, before)
    (text,), (other,) = printed([known]).values(), printed([again]).values()
    assert text == other and "None" not in text[0].split("\n")[1]
    assert sys.modules["__main__"] is main and os.environ["TZ"] == "Asia/Shanghai"
    assert "True ['']" in text[0] and "LEFT_BEHIND" not in text[0] and "UTC" in text[0]


def test_declared_variables_are_seen_and_no_others(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DECLARED", "甲")
    monkeypatch.setenv("UNDECLARED", "乙")
    monkeypatch.setenv("TZ", "Asia/Shanghai")
    settings = '[tool.tsformers.reading]\nenvironment = ["DECLARED", "ABSENT", "TZ"]\n'
    code = "import os\nprint([os.environ.get(name) for name in ('DECLARED', 'UNDECLARED', 'ABSENT', 'TZ')])"
    found = run(tmp_path, {"pyproject.toml": settings, "a.md": block(code)})["a"]
    assert [output.text for output in found.reading.outputs.values()] == ["['甲', None, None, 'UTC']\n"]


def test_a_module_edited_between_two_checks_of_one_process_is_read_anew(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = block("import edited_here\nprint(edited_here.value)")
    for value in (1, 2):
        found = run(tmp_path, {"edited_here.py": f"value = {value}\n", "a.md": text})["a"]
        assert [output.text for output in found.reading.outputs.values()] == [f"{value}\n"]
