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
LIMIT = 8  # seconds for a page with an endless loop; far above what the pages themselves take


def plant(name: str) -> dict[str, Planted]:
    page = read_page(ROOT / "docs" / name)
    planted = {planter.__name__: planter(page) for planter in PLANTERS}
    planted["axis_of_equal_size"] = axis_of_equal_size(page, PAGES[name])
    return planted


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project's pages, and beside each the copies that are spoiled, one folder a kind."""
    folder = tmp_path_factory.mktemp("planted")
    shutil.copytree(ROOT / "docs", folder / "docs", ignore=shutil.ignore_patterns("api"))
    for name in ("tsformers", "overrides"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    settings = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (folder / "pyproject.toml").write_text(
        re.sub(r"time_limit = \d+", f"time_limit = {LIMIT}", settings), encoding="utf-8"
    )
    for name in PAGES:
        for kind, planted in plant(name).items():
            file = folder / "docs" / kind / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(planted.text, encoding="utf-8")
    return folder


def expected() -> list[tuple[str, str, Planted]]:
    return [(name, kind, planted) for name in PAGES for kind, planted in plant(name).items()]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "NO_MKDOCS_2_WARNING": "1", "OMP_NUM_THREADS": "1"}


@pytest.fixture(scope="module")
def report(project: Path) -> dict[str, list[dict[str, object]]]:
    """Failures by page, from the command."""
    command = [sys.executable, "-m", "tsformers.reading", "check", "docs", "--json", "report.json"]
    run = subprocess.run(command, cwd=project, env=environment(), capture_output=True, text=True, timeout=600)
    assert run.returncode == 1, run.stderr
    data = json.loads((project / "report.json").read_text(encoding="utf-8"))
    return {page["path"]: page["failures"] for page in data["pages"]}


@pytest.fixture(scope="module")
def build(project: Path) -> str:
    """The log of the strict build of the same pages, which must fail and leave no site."""
    config = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    config = re.sub(r"\nnav:\n(?: .*\n)+", "\n", config)  # the copies are in no navigation
    (project / "mkdocs.yml").write_text(config, encoding="utf-8")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    run = subprocess.run(command, cwd=project, env=environment(), capture_output=True, text=True, timeout=600)
    assert run.returncode == 1, run.stderr
    assert not (project / "site" / "index.html").exists()
    return run.stderr


CASES = [pytest.param(name, kind, planted, id=f"{kind}-{Path(name).stem[:3]}") for name, kind, planted in expected()]


@pytest.mark.parametrize(("name", "kind", "planted"), CASES)
def test_an_error_is_found_at_its_place(report, name, kind, planted):
    failures = report[f"docs/{kind}/{name}"]
    said = [(failure["line"], failure["column"], failure["kind"]) for failure in failures]
    assert (planted.line, planted.column, planted.kind) in said, failures
    if planted.text.count(LOOP) == 0:  # what a page never reached is not judged: one failure, one cause
        assert len(said) == 1, failures


@pytest.mark.parametrize(("name", "kind", "planted"), CASES)
def test_an_error_stops_the_strict_build_at_its_place(build, name, kind, planted):
    assert f"docs/{kind}/{name}:{planted.line}:{planted.column}: {planted.kind}:" in build


@pytest.mark.parametrize("name", PAGES)
def test_the_pages_themselves_are_right(report, name):
    assert report[f"docs/{name}"] == []


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
    for folder in ("docs", "tsformers"):
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
