"""Whatever is edited in whatever order, checking with records gives what checking from nothing gives."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.reading.processes import report, write
from tsformers.reading.run import check_files

# What can be edited, and the states of each; None is a file that is not there.
STATES: dict[str, list[str | None]] = {
    "prose": ["文。", "另一段文字。", "文。\n\n再一段。"],
    "literal": ["`m = 4`", "`m = 5`", "`m = 6`"],
    "expression": ["`m / n = 2`", "`m - n = 2`", "`m - n = 4`", "`missing = 4`"],
    "source": ["`scale=3`", "`scale=4`"],
    "quote": ["m = n * 2", "m = n * 3"],
    "block": ["", "print(constant.K)", "print(m + 1)", "1 / 0", "print('甲')"],
    "subject": ["n * 2", "n * 3"],
    "constant": ["K = 1\n", "K = 2\n", None],
    "shadow": [None, "K = 9\n"],
    "data": ["一", "二", None],
    "version": ["1.0", "2.0", None],
    "unused": [None, "a = 1\n", "a = 2\n"],
}
PAGE = """---
toy: subject:toy
reads: [subject.double]
---
{prose}源码里有 {source}。

```python
{quote}
```

{literal}，{expression}

```python exec="1"
import constant
{block}
```
"""
OTHER = """```python exec="1"
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
data = Path("{root}", "data.txt")
print(data.read_text() if data.exists() else "none")
try:
    found = version("made-up")
except PackageNotFoundError:
    found = "none"
```

`found = "1.0"`
"""
SUBJECT = """from types import SimpleNamespace
import constant

def double(n=2):
    m = {subject}
    extra = dict(scale=3)
    return m

def toy():
    return SimpleNamespace(call=double, args=(), kwargs={{}}, sizes={{"k": constant.K}}, axes={{}})
"""


def lay_out(root: Path, state: dict[str, str | None]) -> None:
    """Write the project in a state; a file that is as it should be is not written again."""
    for old in root.glob("made_up-*.dist-info"):
        if old.name != f"made_up-{state['version']}.dist-info":
            shutil.rmtree(old)
    files = {
        "pyproject.toml": "",
        "page.md": PAGE.format(**state),
        "other.md": OTHER.format(root=root),
        "subject.py": SUBJECT.format(**state),
        "constant.py": state["constant"],
        "constant/__init__.py": state["shadow"],
        "data.txt": state["data"],
        "unused.py": state["unused"],
    }
    if state["version"] is not None:
        files[f"made_up-{state['version']}.dist-info/METADATA"] = f"Name: made-up\nVersion: {state['version']}\n"
    for name, text in files.items():
        path = root / name
        if text is None:
            path.unlink(missing_ok=True)
            if path.parent != root:
                shutil.rmtree(path.parent, ignore_errors=True)
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            write(root, {name: text})


@pytest.fixture(scope="module")
def counted():
    """How often a record was used and how often a page ran, over all sequences: a test of what never happens is none."""
    counts = {True: 0, False: 0}
    yield counts
    assert counts[True] > 10 and counts[False] > 10


EDIT = st.sampled_from([(name, value) for name, values in STATES.items() for value in values])


@settings(max_examples=6, deadline=None, derandomize=True)
@given(edits=st.lists(EDIT, min_size=3, max_size=8))
def test_a_check_with_records_equals_one_from_nothing(counted, edits):
    state = {name: values[0] for name, values in STATES.items()}
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        pages = [root / "page.md", root / "other.md"]
        os.chdir(root)
        try:
            for edit in [None, *edits]:
                state |= dict([edit]) if edit is not None else {}
                lay_out(root, state)
                found = check_files(pages, reuse=True)
                cold = check_files(pages)
                assert report(found) == report(cold), edit
                for one, other in zip(found, cold, strict=True):
                    counted[one.reused] += 1
                    one.reading.seconds = other.reading.seconds
                    assert one.reading == other.reading, edit
        finally:
            os.chdir(before)
