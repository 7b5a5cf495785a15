"""What SECURITY.md says that the guard does not stop: where one of these turns red, that page has to be told."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.reading.checking import block

ROOT = Path(__file__).parents[2]
SEEN = {
    "the environment that the checker was started with": (
        'print(b"OF_NO_CONCERN=secret" in open("/proc/self/environ", "rb").read())',
        "True\n",
    ),
    "a socket opened through C": ("import ctypes\nprint(ctypes.CDLL(None).socket(2, 1, 0) > 0)", "True\n"),
    "an empty file made through C elsewhere": (
        'import ctypes\nprint(ctypes.CDLL(None).creat(b"{elsewhere}/empty", 0o600) > 0)',
        "True\n",
    ),
}
PROGRAM = """
import sys
from tsformers.reading.run import check_files
(result,) = check_files(sys.argv[1:])
assert result.failures == [], result.failures
print(result.reading.outputs[0].text, end="")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="C's names and /proc are those of Linux")
@pytest.mark.parametrize("name", SEEN)
def test_the_guard_is_no_sandbox(tmp_path, name):
    code, printed = SEEN[name]
    (tmp_path / "elsewhere").mkdir()
    page = tmp_path / "page.md"
    page.write_text(block(code.replace("{elsewhere}", str(tmp_path / "elsewhere"))), encoding="utf-8")
    known = {**os.environ, "OF_NO_CONCERN": "secret", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, page], env=known, cwd=tmp_path, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, printed), done.stderr
