"""The hook for authors stops a commit whose page states a wrong shape."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
PAGE = "---\ntoy: tsformers.toy:patchtst\n---\n# A page\n\n`d_model = {}`\n"


@pytest.fixture(scope="module")
def hook() -> dict[str, str]:
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    ((found,),) = [repository["hooks"] for repository in config["repos"]]
    return found


def test_the_hook_is_given_pages_and_nothing_else(hook: dict[str, str]) -> None:
    pages = [path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md")]
    assert pages and all(re.search(hook["files"], page) for page in pages)
    assert not any(re.search(hook["files"], path) for path in ("README.md", "docs/terms.yml", "tests/x.md"))


@pytest.mark.parametrize(("size", "status"), [(16, 0), (17, 1)])
def test_the_hook_runs_the_check(hook: dict[str, str], size: int, status: int, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE.format(size), encoding="utf-8")
    python, *arguments = shlex.split(hook["entry"])
    assert python == "python"
    ran = subprocess.run([sys.executable, *arguments, str(page)], cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == status, ran.stdout + ran.stderr
