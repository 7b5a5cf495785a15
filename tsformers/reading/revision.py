"""Which commit a site is built from, and where a reader can report a step of it."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode


@dataclass(frozen=True, slots=True)
class Revision:
    """``commit`` in full, "" where there is no git or no commit; ``changed``: the folder differs from it."""

    commit: str = ""
    changed: bool = False

    def __str__(self) -> str:
        if not self.commit:
            return "提交未知"
        return f"提交 {self.commit[:12]}" + ("，另有未提交的改动" if self.changed else "")


def revision(folder: Path) -> Revision:
    """The commit that ``folder`` has checked out."""
    try:
        commit = _git(folder, "rev-parse", "--verify", "HEAD")
        return Revision(commit, bool(_git(folder, "status", "--porcelain")))
    except (OSError, subprocess.CalledProcessError):
        return Revision()


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def report_address(repository: str, title: str, body: str) -> str:
    """Where an issue can be filed in a repository, its title and text filled in; "" without a repository."""
    if not repository:
        return ""
    base = repository.rstrip("/")
    if "gitlab" in base.partition("://")[2].partition("/")[0]:
        return f"{base}/-/issues/new?{urlencode({'issue[title]': title, 'issue[description]': body})}"
    return f"{base}/issues/new?{urlencode({'title': title, 'body': body})}"
