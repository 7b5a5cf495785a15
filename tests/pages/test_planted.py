"""Errors planted into copies of the real pages: each must stop the check and the strict build at its place."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pages.planting import LOOP, PLANTERS, NoPlace, Planted, axis_of_equal_size
from tsformers.reading.page import read_page

ROOT = Path(__file__).resolve().parents[2]
# Axis expressions with another of the same size in the toy that the page reads.
PAGES = {
    "patchtst/04A-Layer3-EncoderLayer.md": {"B*C": "d_keys"},
    "patchtst/04B-Layer4-AttentionLayer.md": {"d_keys": "B*C"},
    "itransformer/03B-Layer2B-Encoder.md": {"token_count": "N + d_keys"},
    "informer/03C-Layer2C-Decoder.md": {"enc_seq": "enc_in", "c_out": "enc_seq"},
}
LIMIT = 20  # seconds for a page with an endless loop; far above what the pages themselves take, also on a busy machine


def plant(name: str) -> dict[str, Planted]:
    page = read_page(ROOT / "docs" / name)
    planted = {planter.__name__: planter(page) for planter in PLANTERS}
    planted["axis_of_equal_size"] = axis_of_equal_size(page, PAGES[name])
    return planted


SPOILED = [(name, kind, planted) for name in PAGES for kind, planted in plant(name).items()]
UNSPOILED = "unspoiled"
# The build reads the same record as the command, so one page a kind shows that it stops: each page in turn.
BUILT = [case for index, case in enumerate(SPOILED) if index % len(PAGES) == list(PAGES).index(case[0])]


def make_project(folder: Path, cases: list[tuple[str, str, str]]) -> None:
    """A project with a folder of pages for each kind of ``cases`` (page, kind, text).

    Each folder has all of the site's pages, so that links lead somewhere; the others hold nothing but their headings.
    """
    for name in ("tsformers", "overrides", "benchmarks"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "docs/assets", folder / "docs/assets")
    shutil.copy(ROOT / "docs/terms.yml", folder / "docs")
    settings = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    settings = re.sub(r"time_limit = \d+", f"time_limit = {LIMIT}", settings)
    (folder / "pyproject.toml").write_text(settings, encoding="utf-8")
    for page in sorted((ROOT / "docs").rglob("*.md")):
        headings = re.findall(r"^#{1,6} .+$", page.read_text(encoding="utf-8"), re.MULTILINE)
        text = "\n\n".join(["---\nchecked: false\nwhy: 只供链接\n---", *headings, ""])
        for kind in {kind for _, kind, _ in cases}:
            write(folder / "docs" / kind / page.relative_to(ROOT / "docs"), text)
    for name, kind, text in cases:
        write(folder / "docs" / kind / name, text)


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "NO_MKDOCS_2_WARNING": "1", "OMP_NUM_THREADS": "1"}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, object]]]:
    """Failures by page, from the command."""
    project = tmp_path_factory.mktemp("checked")
    right = [(name, UNSPOILED, (ROOT / "docs" / name).read_text(encoding="utf-8")) for name in PAGES]
    make_project(project, [*((name, kind, planted.text) for name, kind, planted in SPOILED), *right])
    command = [sys.executable, "-m", "tsformers.reading", "check", "docs", "--json", "report.json"]
    run = subprocess.run(command, cwd=project, env=environment(), capture_output=True, text=True, timeout=600)
    assert run.returncode == 1, run.stderr
    data = json.loads((project / "report.json").read_text(encoding="utf-8"))
    return {page["path"]: page["failures"] for page in data["pages"]}


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The log of the strict build of some of the same pages, which must fail and leave no site."""
    project = tmp_path_factory.mktemp("built")
    make_project(project, [(name, kind, planted.text) for name, kind, planted in BUILT])
    config = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    config = re.sub(r"\nnav:\n(?: .*\n)+", "\n", config)  # the copies are in no navigation
    (project / "mkdocs.yml").write_text(config, encoding="utf-8")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    run = subprocess.run(command, cwd=project, env=environment(), capture_output=True, text=True, timeout=600)
    assert run.returncode == 1, run.stderr
    assert not (project / "site" / "index.html").exists()
    return run.stderr


def named(cases: list[tuple[str, str, Planted]]) -> list[object]:
    return [pytest.param(name, kind, planted, id=f"{kind}-{Path(name).stem[:3]}") for name, kind, planted in cases]


@pytest.mark.parametrize(("name", "kind", "planted"), named(SPOILED))
def test_an_error_is_found_at_its_place(report, name, kind, planted):
    failures = report[f"docs/{kind}/{name}"]
    said = [(failure["line"], failure["column"], failure["kind"]) for failure in failures]
    assert (planted.line, planted.column, planted.kind) in said, failures
    if planted.text.count(LOOP) == 0:  # what a page never reached is not judged: one failure, one cause
        assert len(said) == 1, failures


def test_every_kind_is_built():
    assert {kind for _, kind, _ in BUILT} == {kind for _, kind, _ in SPOILED}


@pytest.mark.parametrize(("name", "kind", "planted"), named(BUILT))
def test_an_error_stops_the_strict_build_at_its_place(build, name, kind, planted):
    assert f"docs/{kind}/{name}:{planted.line}:{planted.column}: {planted.kind}:" in build


@pytest.mark.parametrize("name", PAGES)
def test_the_pages_themselves_are_right(report, name):
    assert report[f"docs/{UNSPOILED}/{name}"] == []


def test_a_page_with_nothing_to_spoil_is_said():
    from tsformers.reading.page import scan

    with pytest.raises(NoPlace):
        PLANTERS[2](scan("# 空\n"))


@pytest.mark.parametrize(
    ("file", "old", "new", "pages"),
    [
        # Values change, shapes do not, and no quoted line.
        ("tsformers/layers/attention.py", "softmax(", "softmax(-1.0 * ", ["04A", "04B", "03B"]),
        # A transpose that the pages quote.
        ("tsformers/layers/encoder.py", "self.conv2(y).transpose(-1, 1)", "self.conv2(y).transpose(1, -1)", ["04A"]),
    ],
)
def test_a_change_of_the_package_turns_the_pages_red(tmp_path, file, old, new, pages):
    for folder in ("docs", "tsformers", "benchmarks"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__", "api"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    source = (tmp_path / file).read_text(encoding="utf-8")
    assert old in source
    (tmp_path / file).write_text(source.replace(old, new), encoding="utf-8")
    command = [sys.executable, "-m", "tsformers.reading", "check", "docs", "--json", "report.json"]
    env = {**environment(), "PYTHONPATH": str(tmp_path)}
    run = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=600)
    assert run.returncode == 1, run.stderr
    data = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    red = {page["path"] for page in data["pages"] if page["failures"]}
    assert set(pages) <= {Path(path).name[:3] for path in red}
