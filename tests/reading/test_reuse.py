"""A record is used again where nothing that it depends on changed; a rebuild then equals a build from nothing."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import tsformers
from tests.reading.processes import report, write
from tsformers.reading import reuse
from tsformers.reading import run as running
from tsformers.reading.page import read_page, scan
from tsformers.reading.reuse import FOLDER, Stored, program, read
from tsformers.reading.run import check_files, check_pages
from tsformers.reading.settings import Settings, load_settings

PACKAGE = Path(tsformers.__file__).resolve().parents[1]
MODULE = """from types import SimpleNamespace

import constant
from package.inner import OFFSET

def double(n=2):
    m = n * 2
    extra = dict(scale=3)
    return m

def toy():
    sizes = {"k": constant.K + OFFSET}
    return SimpleNamespace(call=double, args=(), kwargs={}, sizes=sizes, axes={})
"""
PAGE = """---
toy: subject:toy
reads: [subject.double]
---

入口 `n = 2`，`sizes.k = 5`，源码里有 `scale=3`。

```python
m = n * 2
```

于是 `m = 4`。

```python exec="1"
from pathlib import Path
print(Path(ROOT, "data.txt").read_text().strip(), Path(ROOT, "absent.txt").exists())
print(sorted(path.name for path in Path(ROOT, "listed").iterdir()))
```

`m / n = 2`，见 `listed/one.txt`。

```python
return m
```

`return = 4`
"""
PROJECT = {
    "pyproject.toml": '[tool.tsformers.reading]\nenvironment = ["DECLARED"]\n',
    "subject.py": MODULE,
    "constant.py": "K = 4\n",
    "package/__init__.py": "",
    "package/inner.py": "OFFSET = 1\n",
    "data.txt": "数\n",
    "listed/one.txt": "",
}


def project(folder, **pages):
    """A project with the page ``page.md`` and more."""
    texts = {"page": PAGE, **pages}
    files = {f"{name}.md": text.replace("ROOT", repr(str(folder))) for name, text in texts.items()}
    return write(folder, {**PROJECT, **files})


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    project(tmp_path)
    return tmp_path


def check(root, name="page.md", **options):
    (result,) = check_files([root / name], **{"reuse": True, **options})
    return result


def replaced(path, old, new):
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def test_a_text_found_right_is_judged_again_when_a_letter_of_it_or_a_setting_changes(root, monkeypatch):
    def fails(*arguments):
        raise AssertionError("judged")

    check(root)
    monkeypatch.setattr(running, "judge_page", fails)
    again = check(root)
    assert (again.reused, again.failures, again.error) == (True, [], "")
    replaced(root / "page.md", "于是", "所以")
    assert "judged" in check(root).error
    replaced(root / "page.md", "所以", "于是")
    assert check(root).error == ""
    (root / "pyproject.toml").write_text('[tool.tsformers.reading]\nunits = ["个"]\n', encoding="utf-8")
    assert "judged" in check(root).error


def test_an_unchanged_page_does_not_run_again(root):
    first, second = check(root), check(root)
    assert first.failures == [] and (first.reused, second.reused) == (False, True)
    assert "no record" in first.reason and "nothing" in second.reason
    second.reading.seconds = first.reading.seconds
    assert second.reading == first.reading and report([first]) == report([second])
    assert check(root, reuse=False).reused is False


NOT_RUN = {
    "a typo in prose": (("入口", "人口"), []),
    "a line of prose below": (("见 `listed", "也见 `listed"), []),
    "a literal": (("`m = 4`", "`m = 5`"), ["claim"]),
    "a literal of a division": (("`m / n = 2`", "`m / n = 3`"), ["claim"]),
    "what is returned": (("`return = 4`", "`return ≈ 4.5`"), None),
    "a bare number in prose": (("于是", "于是 12"), ["naked"]),
}
CODE = """前言。

- 在列表里：

    ```python exec="1"
    import inspect, linecache, torch
    def twice(x):
        return x * 2
    torch.manual_seed(3)
    source = inspect.getsource(twice)
    rows = linecache.getlines(twice.__code__.co_filename)
    before = "".join(rows[:3]).strip()
    ```

`source = "def twice(x):\\n    return x * 2\\n"`，`before = ""`

>>> 不是代码

```pycon
>>> inspect.getsource(lambda: 1).strip()
'inspect.getsource(lambda: 1).strip()'
```
"""


def test_code_of_a_page_is_shown_to_itself_without_opening_the_page(root):
    """A stack trace, as torch.manual_seed takes one, reads the lines of the code that runs."""
    write(root, {"code.md": CODE})
    (first,) = check_files(["code.md"], reuse=True)
    assert first.failures == []
    replaced(root / "code.md", "前言", "序言")
    (found,) = check_files(["code.md"], reuse=True)
    assert found.reused and report([found]) == report(check_files(["code.md"]))


RUN = {
    "an expression": ("page.md", ("`m = 4`", "`m + 0 = 4`"), "the page's own code"),
    "a new claim": ("page.md", ("`m = 4`", "`m = 4`，`n < m`"), "the page's own code"),
    "a block": ("page.md", ("print(sorted", "print(list"), "the page's own code"),
    "a quote": ("page.md", ("m = n * 2", "m = n*2"), "the page's own code"),
    "front matter": ("page.md", ("---\n\n", "title: 甲\n---\n\n"), "the page's own code"),
    "a deleted claim": ("page.md", ("`return = 4`", ""), "the page's own code"),
    "a block's line": ("page.md", ("入口", "一行。\n\n入口"), "the page's own code"),
    "a literal that is source text": ("page.md", ("`scale=3`", "`scale=4`"), "`scale=4` changed"),
    "the subject": ("subject.py", ("n * 2", "2 * n"), "subject.py changed"),
    "an imported module": ("constant.py", ("4", "5"), "constant.py changed"),
    "a module of a package": ("package/inner.py", ("1", "2"), "package/inner.py changed"),
    "a data file": ("data.txt", ("数", "字"), "data.txt changed"),
    "a setting": ("pyproject.toml", ("environment", "time_limit = 5\nenvironment"), "the page's own code"),
}


@pytest.mark.parametrize("name", NOT_RUN)
def test_what_is_compared_without_running(root, name):
    check(root)
    (old, new), kinds = NOT_RUN[name]
    replaced(root / "page.md", old, new)
    found = check(root)
    assert found.reused or kinds is None
    cold = check(root, reuse=False)
    assert report([found]) == report([cold])
    assert kinds is None or [failure.kind for failure in found.failures] == kinds


@pytest.mark.parametrize("name", RUN)
def test_what_makes_a_page_run(root, name):
    check(root)
    file, (old, new), reason = RUN[name]
    replaced(root / file, old, new)
    found = check(root)
    assert not found.reused and reason in found.reason
    assert report([found]) == report([check(root, reuse=False)])


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"absent.txt": ""}, "absent.txt changed"),
        ({"listed/two.txt": ""}, "files came or went in listed"),
        ({"constant/__init__.py": "K = 9\n"}, "modules came or went in ."),
        ({"package/inner/__init__.py": "OFFSET = 9\n"}, "modules came or went in package"),
        ({"made_up-1.0.dist-info/METADATA": "Name: made-up\nVersion: 1.0\n"}, "the package made_up changed"),
    ],
)
def test_files_that_come(root, files, reason):
    check(root)
    write(root, files)
    found = check(root)
    assert not found.reused and found.reason == reason
    assert report([found]) == report([check(root, reuse=False)])


@pytest.mark.parametrize("file", ["data.txt", "subject.py", "listed/one.txt", "constant.py", "package/inner.py"])
def test_files_that_go(root, file):
    check(root)
    (root / file).unlink()
    found = check(root)
    assert not found.reused and found.failures
    assert report([found]) == report([check(root, reuse=False)])


def test_files_that_are_only_touched_or_have_nothing_to_do_with_the_page(root):
    check(root)
    os.utime(root / "constant.py")
    write(root, {"other/unused.py": "a = 1\n"})
    check(root)  # a new folder can be a package
    write(root, {"other/unused.py": "a = 2\n", "README.txt": "", "package/notes.txt": ""})
    assert check(root).reused


def test_declared_variables(root, monkeypatch):
    monkeypatch.setenv("DECLARED", "1")
    check(root)
    monkeypatch.setenv("UNDECLARED", "1")
    assert check(root).reused
    monkeypatch.setenv("DECLARED", "2")
    found = check(root)
    assert not found.reused and found.reason == "the environment variable DECLARED changed"
    monkeypatch.delenv("DECLARED")
    assert not check(root).reused


def test_what_torch_sets_when_it_is_imported_is_no_change(root, monkeypatch):
    """Another test, or whoever uses the checker from Python, may import torch between two checks."""
    monkeypatch.delenv("TORCHINDUCTOR_CACHE_DIR", raising=False)
    check(root)
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", "/elsewhere")
    assert check(root).reused
    monkeypatch.setenv("TORCH_LOGS", "-all")
    found = check(root)
    assert not found.reused and "TORCH_LOGS changed" in found.reason


def test_a_version_of_a_package(root):
    write(root, {"made_up-1.0.dist-info/METADATA": "Name: made-up\nVersion: 1.0\n"})
    code = "from importlib.metadata import version\nprint(version('made-up'))"
    write(root, {"versions.md": f'```python exec="1"\n{code}\n```\n'})
    assert check(root, "versions.md").failures == [] and check(root, "versions.md").reused
    (root / "made_up-1.0.dist-info").rename(root / "made_up-2.0.dist-info")
    replaced(root / "made_up-2.0.dist-info" / "METADATA", "1.0", "2.0")
    found = check(root, "versions.md")
    assert not found.reused and found.reason == "the package made_up changed"
    assert [output.text for output in found.reading.outputs.values()] == ["2.0\n"]


def test_an_installed_package_that_changes_while_the_checker_runs_is_neither_used_nor_kept(root, monkeypatch):
    check(root)
    known = reuse.fixed()
    monkeypatch.setattr(reuse, "fixed", lambda: {**known, "the package torch": "another"})
    found = check(root)
    assert not found.reused and found.reason == "the package torch changed while the checker runs"
    monkeypatch.undo()
    monkeypatch.chdir(root)
    assert check(root).reused


def test_a_file_read_through_c(root):
    import torch
    from safetensors.torch import save_file

    code = f"from safetensors.torch import load_file\nprint(load_file({str(root / 'w.safetensors')!r})['a'])"
    write(root, {"weights.md": f'```python exec="1"\n{code}\n```\n'})
    save_file({"a": torch.ones(1)}, root / "w.safetensors")
    check(root, "weights.md")
    assert check(root, "weights.md").reused
    save_file({"a": torch.zeros(1)}, root / "w.safetensors")
    found = check(root, "weights.md")
    assert found.reason == "w.safetensors changed" and "0." in found.reading.outputs[0].text


@pytest.mark.parametrize(
    "text",
    [
        '```python exec="1"\n1 / 0\n```\n',
        "```pycon\n>>> 1\n2\n```\n",
        PAGE.replace("m = n * 2", "m = n * 3"),
        PAGE.replace("`m = 4`", "`missing = 4`"),
        PAGE.replace("`m = 4`", "`m.missing`"),
    ],
)
def test_a_failure_is_never_reused(root, text):
    write(root, {"red.md": text.replace("ROOT", repr(str(root)))})
    first, second = check(root, "red.md"), check(root, "red.md")
    assert first.failures and not second.reused and report([first]) == report([second])


def test_a_wrong_claim_is_compared_again_and_right_once_corrected(root):
    replaced(root / "page.md", "`m = 4`", "`m = 5`")
    first, second = check(root), check(root)
    assert [failure.kind for failure in second.failures] == ["claim"] and report([first]) == report([second])
    replaced(root / "page.md", "`m = 5`", "`m = 4`")
    found = check(root)
    assert found.failures == [] and found.reused


def test_a_copy_of_the_project_uses_its_own_files(root, tmp_path_factory, monkeypatch):
    import shutil

    check(root)
    copy = tmp_path_factory.mktemp("copy") / "project"
    shutil.copytree(root, copy)
    monkeypatch.chdir(copy)
    assert not check(copy).reused


def test_without_a_project_nothing_is_kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, {"a.md": '```python exec="1"\nprint(1)\n```\n'})
    assert not check(tmp_path, "a.md").reused and not check(tmp_path, "a.md").reused
    assert "pyproject.toml" in check(tmp_path, "a.md").reason and [*tmp_path.iterdir()] == [tmp_path / "a.md"]


class Foreign:
    def __reduce__(self):
        return os.mkdir, ("made by a pickle",)


@pytest.mark.parametrize("damage", ["torn", "empty", "foreign", "signed", "folder"])
def test_a_torn_or_foreign_record_is_as_none(root, damage):
    import hashlib

    check(root)
    (file,) = (root / FOLDER).glob("*.record")
    data = file.read_bytes()
    foreign = pickle.dumps(Foreign())
    if damage == "folder":
        file.unlink()
        file.mkdir()
    else:
        file.write_bytes(
            {
                "torn": data[:-100],
                "empty": b"",
                "foreign": foreign,
                "signed": hashlib.sha256(foreign).digest() + foreign,
            }[damage]
        )
    found = check(root)
    assert found.failures == [] and not found.reused and not (root / "made by a pickle").exists()
    assert "record" in found.reason and check(root).reused is (damage != "folder")


def test_a_record_holds_plain_data_and_stands_alone(root):
    check(root)
    (file,) = (root / FOLDER).iterdir()  # no temporary file is left
    stored = read(file.read_bytes())
    assert isinstance(stored, Stored) and stored.reading.evidence
    assert {Path(path).name for path in stored.reached.files} >= {"subject.py", "constant.py", "inner.py", "data.txt"}


def test_a_page_that_is_looked_at_is_no_page_to_keep(root):
    from dataclasses import replace

    page = replace(read_page(root / "page.md"), look=True)
    (first,) = check_pages([page], [root / "page.md"], reuse=True)
    assert not first.reused and not (root / FOLDER).exists()


def test_prose_and_literals_are_not_in_the_program():
    settings = Settings(Path("/"))

    def of(text):
        return program(scan(text, "page.md"), settings)

    same = [("文 `x = 1`", "字 `x = 2`"), ("`a ≈ 0.5`", "`a ≈ 0.50`"), ("`x (2, 3)`", "`x (3, 2) float64`")]
    other = [("`x = 1`", "`y = 1`"), ("`x = 1`", "`x ≈ 1.0`"), ("`x (B, 2)`", "`x (C, 2)`"), ("`a < 1`", "`a < 2`")]
    assert [of(left) == of(right) for left, right in same] == [True] * len(same)
    assert [of(left) == of(right) for left, right in other] == [False] * len(other)


def command(root, code):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code)], cwd=root, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(PACKAGE)}, timeout=100,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr + done.stdout
    return done


def test_when_nothing_must_run_torch_is_not_imported_and_no_process_is_started(root):
    code = """
        import sys
        from multiprocessing import forkserver
        from tsformers.reading.__main__ import main
        arguments = ["check", ".", "--explain", "--json", "report.json", *sys.argv[1:]]
        assert main(arguments) == 0
        started = forkserver._forkserver._forkserver_pid is not None
        print("started" if started else "idle", "torch" in sys.modules)
        """
    first = command(root, code).stdout
    assert "started False" in first and "page.md: ran: no record" in first
    assert json.loads((root / "report.json").read_text())["pages"][0]["reused"] is False
    second = command(root, code)
    assert "idle False" in second.stdout and "page.md: did not run: nothing" in second.stdout
    assert "reused" in second.stderr
    assert json.loads((root / "report.json").read_text())["pages"][0]["reused"] is True
    third = command(root, code.replace('"--explain"', '"--explain", "--no-reuse"')).stdout
    assert "started False" in third and "page.md: ran: records are not used" in third


def test_a_page_with_nothing_to_run(root):
    write(root, {"prose.md": "文。\n", "left_out.md": "---\nchecked: false\nwhy: 草稿\n---\n`a = 1`\n"})
    for name, word in (("prose.md", "nothing on it to run"), ("left_out.md", "left out")):
        found = check(root, name)
        assert not found.ran and not found.reused and word in found.reason
    assert check(root).ran and not check(root).ran


def test_the_settings_of_the_project_are_those_of_the_page(root):
    assert load_settings(root / "page.md").environment == ("DECLARED",)
