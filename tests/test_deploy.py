"""The headers that the container sends: every inline script of a page by its hash, and none that a hash cannot hold."""

from __future__ import annotations

import base64
import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "deploy/headers.py"
PAGE = "<script>{}</script><script src='a.js'></script><script type='application/json'>{{}}</script><p>文</p>"


def run(site: Path) -> tuple[int, str, str]:
    done = subprocess.run([sys.executable, SCRIPT, site], capture_output=True, text=True, encoding="utf-8", check=False)
    return done.returncode, done.stdout, done.stderr


def test_inline_scripts_are_allowed_by_their_hashes(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    for name, code in (("index.html", "a < 1 && b"), ("one.html", "a < 1 && b"), ("below/two.html", 'say("文")')):
        (tmp_path / name).write_text(PAGE.format(code), encoding="utf-8")
    status, out, _ = run(tmp_path)
    line = next(line for line in out.splitlines() if line.startswith("add_header Content-Security-Policy "))
    digests = (hashlib.sha256(code.encode()).digest() for code in ("a < 1 && b", 'say("文")'))
    hashes = sorted(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    assert status == 0 and f"; script-src 'self' {' '.join(hashes)}; " in line
    assert all(line.startswith("add_header ") and line.endswith('" always;') for line in out.splitlines())


@pytest.mark.parametrize("page", ["<p onclick='a()'>", "<a href='javascript:a()'>", None])
def test_what_no_hash_can_allow_is_refused(tmp_path: Path, page: str | None) -> None:
    if page is not None:
        (tmp_path / "index.html").write_text(page, encoding="utf-8")
    status, out, err = run(tmp_path)
    assert (status, out) == (2, "")
    assert "index.html" in err if page else "no page" in err
