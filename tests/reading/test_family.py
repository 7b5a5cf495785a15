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
