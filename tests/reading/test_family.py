"""Pages with the same toys run from one process where their toys ran once: the same is found as alone, page for page."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.reading.checking import MIXER, block, quoted
from tests.reading.processes import run, said, write
from tsformers.reading import children
from tsformers.reading import run as running
from tsformers.reading.run import Result, check_files

TWICE = MIXER.replace("mixer\n", "twice\n").replace("forward]", "forward @ first]")
BODIES = {
    "right": quoted("y = x = self.norm(x)", "`y.shape == x.shape`\n"),
    "wrong": quoted("y = x = self.norm(x)", "`y.shape[0] = 7`\n"),
    "draws": block("import torch, random\nprint(torch.rand(2), random.random())"),
    "raises": block("1 / 0"),
    "leaves": block("import os\nos._exit(3)"),
    "writes": block("open('a', 'w')"),
    "patches": block("import torch\ntorch.ones = torch.zeros") + block("import torch\nprint(torch.ones(1))"),
    "loops": block("while True:\n    pass"),
    "reads nothing like it": "`scale` 的形状 `x.nothing (2, 3)`\n",
}


def pages(folder: Path, front: str) -> list[Path]:
    return write(folder, {f"{name}.md": front + body for name, body in BODIES.items()})


def without_time(result: Result) -> object:
    result.reading.seconds = 0
    return result.page.path, result.failures, result.reading


@pytest.mark.parametrize("front", [MIXER, TWICE, "---\ntoy: tests.reading.sample_toys:mixer\n---\n", ""])
def test_a_page_is_read_as_if_it_were_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, front: str) -> None:
    files = pages(tmp_path, front)
    monkeypatch.setattr(running, "LARGEST_BATCH", 1)
    alone = [without_time(result) for result in check_files(files, time_limit=3)]
    monkeypatch.setattr(running, "LARGEST_BATCH", len(files))
    monkeypatch.setattr(running, "_batches", lambda pages, settings, jobs: [[*range(len(pages))]])
    together = [without_time(result) for result in check_files(files, time_limit=3)]
    assert together == alone
    assert len(alone) == len(BODIES)


def run_in_one(
    folder: Path, files: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> tuple[dict[str, Result], list[str]]:
    """The results of pages in one batch, and which of them ran alone."""
    ran: list[str] = []
    run_alone = children.run_alone

    def noting(page: object, *rest: object) -> object:
        ran.append(Path(page.path).stem)  # type: ignore[attr-defined]
        return run_alone(page, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(children, "run_alone", noting)
    monkeypatch.setattr(running, "_batches", lambda pages, settings, jobs: [[*range(len(pages))]])
    return run(folder, files, time_limit=3), ran


def test_only_what_cannot_be_told_together_runs_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {f"{name}.md": MIXER + body for name, body in BODIES.items()}
    _, ran = run_in_one(tmp_path, files, monkeypatch)
    assert ran == ["leaves"]


HOSTILE = {
    "removes its folder": block("import ctypes, os\nctypes.CDLL(None).rmdir(os.getcwd().encode())"),
    "joins another group": block(
        "import os, signal\nos.setpgid(0, os.getpgid(os.getppid()))\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])\nwhile True:\n    pass"
    ),
    "writes to every descriptor": block(
        "import os\nfor number in range(3, 99):\n    try:\n        os.write(number, b'x' * 50)\n"
        "    except OSError:\n        pass"
    ),
    "ends its parent": block("import ctypes, os\nctypes.CDLL(None).kill(os.getppid(), 9)\nprint(1)"),
}
KINDS = {
    "removes its folder": ["hermetic"],
    "joins another group": ["timeout"],
    "writes to every descriptor": ["exit"],
    "ends its parent": [],
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_page_harms_no_other_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    last = block("import os, torch\nprint(torch.rand(2), os.listdir(), sorted(os.environ))")
    files = {"a.md": MIXER + last, "b.md": MIXER + HOSTILE[what], "c.md": MIXER + last}
    found, _ = run_in_one(tmp_path, files, monkeypatch)
    assert [kind for _, _, kind in said(found["b"])] == KINDS[what]
    assert said(found["c"]) == []
    assert found["a"].reading.outputs == found["c"].reading.outputs


def test_what_stands_in_place_of_the_folder_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").write_text("", encoding="utf-8")
    swaps = (
        "import ctypes, os\nC, folder = ctypes.CDLL(None), os.getcwd().encode()\n"
        f"C.rmdir(folder)\nC.symlink({bytes(tmp_path / 'precious')!r}, folder)"
    )
    files = {"a.md": MIXER + block(swaps), "b.md": MIXER + block("print(1)")}
    found, _ = run_in_one(tmp_path, files, monkeypatch)
    assert [kind for _, _, kind in said(found["a"])] == ["hermetic"]
    assert said(found["b"]) == []
    assert (tmp_path / "precious" / "file").exists()


TOYS = """
import threading, time
from tests.reading.sample_toys import mixer

def wrong():
    raise ValueError("no toy today")

def leaves():
    raise SystemExit(3)

def writes():
    open("a", "w")

def starts():
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
    return mixer()

def hangs():
    time.sleep(60)
"""


@pytest.mark.parametrize("name", ["wrong", "leaves", "writes", "starts", "hangs"])
def test_a_toy_that_gives_trouble_leaves_each_page_to_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / "pyproject.toml").write_text("", encoding="utf-8")
    (tmp_path / "own_toys.py").write_text(TOYS, encoding="utf-8")
    front = f"---\ntoy: own_toys:{name}\n---\n"
    files = {"a.md": front + "`1 + 1 = 2`\n", "b.md": front + block("print(1)")}
    found, ran = run_in_one(tmp_path, files, monkeypatch)
    assert ran == ["a", "b"]
    red = {"wrong": "front-matter", "leaves": "exit", "writes": "hermetic", "hangs": "timeout"}
    for result in found.values():
        assert [kind for _, _, kind in said(result)] == ([red[name]] if name in red else [])


SEEN_ELSEWHERE = """
import mmap, os
import torch
from types import SimpleNamespace
from layer import double

TEXT = open(os.path.join(os.path.dirname(__file__), "text.txt"))
SHARED = mmap.mmap(-1, 8)

def toy():
    return SimpleNamespace(call=double, args=(torch.ones(2),), kwargs={}, sizes={})
"""
LAYER = """
import torch
calls = []

def double(x):
    calls.append(x)
    return 2 * x
"""
FILES = {
    "pyproject.toml": "",
    "text.txt": "one\ntwo\n",
    "layer.py": LAYER,
    "again.py": "import torch\nfrom layer import double\ntorch.set_default_dtype(torch.float64)\n",
    "shares.py": SEEN_ELSEWHERE,
    "keeps.py": SEEN_ELSEWHERE.replace("TEXT = ", "").replace("SHARED = ", ""),
}
FIRST = "---\ntoy: {}:toy\nreads: [layer.double]\n---\n"
ANEW = FIRST.replace("layer", "again")
READS_NONE = "---\ntoy: {}:toy\n---\n"
SHOWS = {
    "place in a file": ("shares", FIRST, block("import shares\nprint(shares.TEXT.readline())"), FIRST),
    "shared memory": ("shares", FIRST, block("import shares\nprint(shares.SHARED[0])\nshares.SHARED[0] = 7"), FIRST),
    "what another page imports": ("keeps", ANEW, block("import torch\nprint(torch.zeros(1).dtype)"), FIRST),
    "calls of the toy": ("keeps", FIRST, block("import layer\nprint(len(layer.calls))"), READS_NONE),
}


@pytest.mark.parametrize("what", SHOWS)
def test_a_page_sees_nothing_of_another_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    toy, before, shown, after = SHOWS[what]
    text = {"a.md": before.format(toy) + shown, "b.md": after.format(toy) + shown}
    text |= {f"{number}.md": "text\n" for number in range(6)}  # of eight pages two run from one process
    files = write(tmp_path, FILES | text)
    found = check_files(files, jobs=1)
    monkeypatch.setattr(running, "LARGEST_BATCH", 1)
    alone = check_files(files, jobs=1)
    assert [without_time(result) for result in found] == [without_time(result) for result in alone]
    assert [bool(result.reading.outputs) for result in found] == [
        result.page.path[-4:] in ("a.md", "b.md") for result in found
    ]


def test_pages_of_one_toy_do_run_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = FIRST.format("keeps") + block("print(1)")
    _, ran = run_in_one(tmp_path, {**FILES, "a.md": page, "b.md": page + "text\n"}, monkeypatch)
    assert ran == []
