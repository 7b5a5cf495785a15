"""Time, memory, output and death: each makes only its own page red, at its line."""

from __future__ import annotations

import os
import sys
import time

import pytest

from tests.reading.checking import block
from tests.reading.processes import run, said, write
from tsformers.reading.limits import Captured, out_of_memory
from tsformers.reading.settings import SettingsError, load_settings

linux = pytest.mark.skipif(sys.platform != "linux", reason="other systems have only the limit of time")
LIMITS = "[tool.tsformers.reading]\nmemory_limit = 300\noutput_limit = 0.001\ntime_limit = 20\n"
GREEN = "文。\n\n" + block("a = 1\nprint(a)") + "`a = 1`\n"
WRONG = block("a = 1") + "`a = 2`\n"
EATS = {
    "bytes": ("a = 1\nb = bytearray(2 * 2**30)", 3, 5),
    "tensor": ("import torch\ntorch.ones(2**28, dtype=torch.float64)", 3, 1),
    "little": ("found = []\nwhile True:\n    found.append(bytearray(2**20))", 4, 18),
    "function": ("def f():\n    return [0] * 2**30\n\nf()", 3, 12),
}
DIES = {
    "segmentation": ("import ctypes\nctypes.string_at(0)", "SIGSEGV"),
    "exit": ("import os\nos._exit(0)", "0"),
    "abort": ("import os\nos.abort()", "SIGABRT"),
    "raised": ("import signal\nsignal.raise_signal(signal.SIGKILL)", "SIGKILL"),
}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("limits")
    pages = {f"{name}.md": "文。\n\n" + block(code) for name, (code, _) in DIES.items()}
    pages |= {f"eats_{name}.md": block(code) + "`missing = 1`\n" + block("1 / 0") for name, (code, *_) in EATS.items()}
    pages |= {"green.md": GREEN, "wrong.md": WRONG, "loop.md": block("a = 1\nwhile True:\n    pass")}
    pages |= {"loop_example.md": "```pycon\n>>> a = 1\n>>> while True:\n...     pass\n```\n"}
    pages |= {
        "loud.md": block("a = 1\nprint('a')\nfor _ in range(10):\n    print('很长' * 500_000)") + block("print(1)")
    }
    pages |= {"louder.md": "```pycon\n>>> a = 1\n>>> a; print('很' * 1000)\n```\n"}
    pages |= {"recursion.md": block("def f():\n    f()\nf()"), "exits.md": block("import sys\nsys.exit(0)")}
    before = os.getcwd()
    os.chdir(folder)
    try:
        run(folder, {"warm.md": block("a = 1")})
        started = time.monotonic()
        write(folder, {"pyproject.toml": LIMITS})
        found = run(folder, pages, jobs=4, time_limit=5)  # to eat memory bit by bit takes a while on a busy machine
    finally:
        os.chdir(before)
    return found, time.monotonic() - started


def test_only_the_page_itself_is_red(results):
    found, _ = results
    assert found["green"].failures == [] and [kind for _, _, kind in said(found["wrong"])] == ["claim"]


@pytest.mark.parametrize("name", DIES)
def test_a_process_that_dies_is_red_at_the_block(results, name):
    (failure,) = results[0][name].failures
    assert (failure.line, failure.kind) == (3, "exit") and DIES[name][1] in failure.message


@linux
@pytest.mark.parametrize("name", EATS)
def test_too_much_memory_is_red_at_its_line_and_the_page_stops(results, name):
    found, (_, line, column) = results[0][f"eats_{name}"], EATS[name]
    assert said(found) == [(line, column, "memory")]
    assert "内存" in found.failures[0].message


def test_a_loop_is_red_within_the_limit_and_two_seconds(results):
    found, seconds = results
    assert [(failure.line, failure.kind) for failure in found["loop"].failures] in ([(3, "timeout")], [(4, "timeout")])
    assert [failure.line in (3, 4) for failure in found["loop_example"].failures] == [True]
    assert seconds < 20


def test_output_beyond_the_limit_is_dropped_and_red_at_the_line_that_printed_it(results):
    found = results[0]["loud"]
    assert said(found) == [(5, 5, "output")] and "MiB" in found.failures[0].message
    first, second = (output.text for output in found.reading.outputs.values())
    assert first.startswith("a\n很长") and len(first.encode()) <= 0.001 * 2**20 and second == "1\n"


def test_output_of_an_example(results):
    kinds = said(results[0]["louder"])
    assert (3, 8, "output") in kinds and {kind for _, _, kind in kinds} == {"output", "example"}


def test_other_ends_of_a_block(results):
    assert [kind for _, _, kind in said(results[0]["recursion"])] == ["exec"]
    assert [kind for _, _, kind in said(results[0]["exits"])] == ["exit"]


@linux
def test_two_gigabytes_are_too_much_where_no_setting_says_otherwise(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert said(run(tmp_path, {"a.md": block("a = 1\nb = bytearray(2_000_000_000)")})["a"]) == [(3, 5, "memory")]


@linux
def test_a_toy_that_eats_memory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    toy = "def f(n=1):\n    return n\n\ndef toy():\n    return bytearray(2**33)\n"
    page = "---\ntoy: eater:toy\nreads: [eater.f]\n---\n文。\n"
    assert said(run(tmp_path, {"eater.py": toy, "a.md": page})["a"]) == [(2, 6, "memory")]


@linux
def test_a_claim_that_eats_memory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (failure,) = run(tmp_path, {"a.md": block("n = 2**33") + "`bytearray(n)[0] = 0`\n"})["a"].failures
    assert (failure.line, failure.column) == (5, 2) and "MemoryError" in failure.message


def test_a_memory_error_that_a_page_expects(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = block("raise MemoryError", 'exec="1" raises="MemoryError"') + block("a = 1")
    assert run(tmp_path, {"a.md": text})["a"].failures == []


@pytest.mark.parametrize(
    "line", ["memory_limit = 0", "output_limit = -1", "memory_limit = 'all'", "environment = [1]", "environment = 'A'"]
)
def test_limits_that_make_no_sense(tmp_path, line):
    write(tmp_path, {"pyproject.toml": f"[tool.tsformers.reading]\n{line}\n"})
    with pytest.raises(SettingsError, match=line.split(" ")[0]):
        load_settings(tmp_path / "a.md")


def test_what_is_out_of_memory():
    error = RuntimeError("[enforce fail at alloc_cpu.cpp:119] DefaultCPUAllocator: can't allocate memory")
    outer = ValueError()
    outer.__cause__ = error
    assert out_of_memory(MemoryError()) and out_of_memory(error) and out_of_memory(outer)
    assert not out_of_memory(RuntimeError("shapes")) and not out_of_memory(None)
    outer.__cause__ = None
    assert not out_of_memory(outer)


@pytest.mark.parametrize(("limit", "kept"), [(0, ""), (2, "ab"), (3, "ab"), (5, "ab汉"), (6, "ab汉c"), (7, "ab汉c")])
def test_what_is_kept_of_an_output(limit, kept):
    stream = Captured("page.md", limit)
    for text in ("ab", "汉", "c"):
        assert stream.write(text) == len(text)
    assert stream.getvalue() == kept and (stream.over is None) == (kept == "ab汉c")
    with pytest.raises(TypeError):
        stream.write(b"bytes")  # type: ignore[arg-type]
