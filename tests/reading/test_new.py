"""The first draft of a page: it passes the check as it is, whatever function it reads."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.reading.test_adapter import project, run
from tsformers.reading.draft import DraftError, draft, named, returned
from tsformers.reading.page import read_page, scan
from tsformers.reading.run import check_files
from tsformers.reading.todo import todos

ROOT = Path(__file__).parents[2]
DRAFTS = {
    "patchtst/04A-Layer3-EncoderLayer": "tsformers.toy:patchtst",
    "patchtst/02-Layer1-forecast": "tsformers.toy:patchtst",
    "itransformer/03A-Layer2A-DataEmbedding_inverted": "tsformers.toy:itransformer",
    "informer/03C1-Layer3-DecoderLayer": "tsformers.toy:informer",
    "informer/03B-Layer2B-Encoder": "tsformers.toy:informer",
    "informer/03B4-Layer5-ProbAttention": "tsformers.toy:informer",
    "informer/03B5-Layer5-_update_context": "tsformers.toy:informer",
    "sample/01-Layer1-Mixer": "tests.reading.sample_toys:mixer",
    "sample/02-Layer1-control": "tests.reading.sample_toys:controlled",
}


def test_every_draft_passes_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.tsformers.reading]\ncoverage = 100\n", encoding="utf-8")
    files = []
    for name, toy in DRAFTS.items():
        file = tmp_path / "docs" / f"{name}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(draft(file.stem, toy), encoding="utf-8")
        files.append(file)
    for result in check_files(files):
        assert result.failures == []
        evidence = [e.kind for e in result.reading.evidence.values()]
        assert evidence == ([] if "control" in result.page.path else ["claim"])  # which returns no tensor
        assert len(result.reading.quotes) >= 1 and len(todos(result.page)) >= 10


def command(folder: Path, *arguments: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "tsformers.reading", "new", *arguments], cwd=folder, capture_output=True, text=True,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text("[tool.tsformers.reading]\n", encoding="utf-8")
    first = tmp_path / "docs/model/01-Layer1-Mixer.md"
    first.parent.mkdir(parents=True)
    first.write_text(draft("01-Layer1-Mixer", "tests.reading.sample_toys:mixer"), encoding="utf-8")
    return tmp_path


def test_the_command_takes_the_toy_of_the_folder_and_overwrites_nothing(pages: Path) -> None:
    status, said, _ = command(pages, "model/02-Layer1-Mixer")
    written = pages / "docs/model/02-Layer1-Mixer.md"
    assert status == 0 and "docs/model/02-Layer1-Mixer.md" in said and "nav" in said
    assert read_page(written).front.toy == "tests.reading.sample_toys:mixer"
    before = written.read_bytes()
    status, _, wrong = command(pages, "model/02-Layer1-Mixer.md")
    assert status == 2 and "exists already" in wrong and written.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["model/03-Layer1-Mixed"], "did you mean Mixer?"),
        (["model/Mixer"], "number-LayerN-Name"),
        (["other/03-Layer1-Mixer"], "--toy"),
        (["../03-Layer1-Mixer"], "outside of docs/"),
        (["model/03-Layer1-X", "--reads", "tests.reading.sample_toys.Twice.forward"], "只调用了 0 次"),
        (["model/03-Layer1-X", "--toy", "nowhere:toy"], "--toy nowhere:toy, --reads (of PAGE): 没有模块 nowhere"),
        ([], "PAGE is missing"),
    ],
)
def test_what_cannot_be_drafted_is_said_and_nothing_is_written(pages: Path, arguments: list[str], said: str) -> None:
    before = sorted(pages.rglob("*.md"))
    status, _, wrong = command(pages, *arguments)
    assert status == 2 and said in wrong and "Traceback" not in wrong
    assert sorted(pages.rglob("*.md")) == before


def test_the_list_names_what_has_no_page(pages: Path) -> None:
    (pages / "docs/model/01-Layer1-Mixer.md").write_text(
        draft("01-Layer1-Twice", "tests.reading.sample_toys:twice"), encoding="utf-8"
    )
    status, said, _ = command(pages, "--list")
    assert status == 0 and re.findall(r"^  (\S+)", said, re.MULTILINE) == ["tests.reading.sample_toys.Mixer.forward"]


def test_todo_in_code_is_none() -> None:
    assert todos(scan('# TODO 题\n\n`TODO`，TODOS\n\n```python why="说明"\nTODO = 1\n```\n\n- TODO\n')) == [1, 9]


def test_a_page_with_todo_is_listed_by_the_check_and_refused_in_the_navigation(tmp_path: Path) -> None:
    folder = project(tmp_path, index="# 首页\n\nTODO\n")
    status, said = run(folder, "-m", "tsformers.reading", "check", "docs")
    assert status == 0 and "docs/index.md:3: TODO" in said
    status, said = run(folder, "-m", "mkdocs", "build")
    assert status != 0 and "docs/index.md:3: TODO" in said and not (folder / "site").exists()


def test_nothing_is_claimed_of_what_is_no_tensor() -> None:
    tree = __import__("tsformers.reading.record", fromlist=["Call"]).Call
    assert returned(tree("f", "C", "", 0, (), (1, None), (), ())) == ""
    with pytest.raises(DraftError, match="--reads"):
        named(tree("a.f", "C", "", 0, (), None, (), ()), "zzz")
