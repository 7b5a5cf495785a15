"""Notebooks and scripts: valid, complete, and what they print in a plain Python is what the page's run recorded."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest

from tests.reading.checking import check
from tsformers.reading.notebook import Cell, cells, notebook, script
from tsformers.reading.offline import files_of, write_zip
from tsformers.reading.page import Link
from tsformers.reading.revision import report_address, revision
from tsformers.reading.run import Result, check_files

ROOT = Path(__file__).parents[2]
PAGES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").glob("*/0*.md"))

# Runs the cells of each notebook as a reader does, one after the other in one namespace; knows nothing of the engine.
RUN_CELLS = """
import ast, contextlib, io, json, sys

def run(path):
    names, printed = {"__name__": "__main__"}, []
    for cell in json.load(open(path, encoding="utf-8"))["cells"]:
        if cell["cell_type"] != "code":
            continue
        tree, out = ast.parse("".join(cell["source"])), io.StringIO()
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        with contextlib.redirect_stdout(out):
            exec(compile(tree, "cell", "exec"), names)
            if last is not None:
                value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
                if value is not None:
                    print(repr(value))
        printed.append(out.getvalue())
    return printed

printed = [run(path) for path in sys.argv[1:]]
assert not [name for name in sys.modules if name.startswith(("tsformers.reading.run", "tsformers.reading.walk"))]
json.dump(printed, sys.stdout)
"""
RUN_SCRIPTS = """
import contextlib, io, json, runpy, sys
printed = []
for path in sys.argv[1:]:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        runpy.run_path(path, run_name="__main__")
    printed.append(out.getvalue())
json.dump(printed, sys.stdout)
"""


def nowhere(link: Link) -> str:
    return ""


def python(code: str, *arguments: str | Path) -> list[Any]:
    command = [sys.executable, "-W", "error", "-c", code, *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    printed: list[Any] = json.loads(done.stdout)
    return printed


def recorded(entry: dict) -> str:
    """What a code cell of a notebook says that it printed."""
    text = ""
    for output in entry["outputs"]:
        text += output["text"] if output["output_type"] == "stream" else output["data"]["text/plain"] + "\n"
    return text


@pytest.fixture(scope="module")
def results() -> dict[str, Result]:
    found = check_files([ROOT / page for page in PAGES])
    assert [failure for result in found for failure in result.failures] == []
    return dict(zip(PAGES, found, strict=True))


@pytest.fixture(scope="module")
def carried(results: dict[str, Result], tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Path]:
    folder = tmp_path_factory.mktemp("carried")
    for page, result in results.items():
        written = cells(result.page, result.reading, nowhere)
        (folder / page).parent.mkdir(parents=True, exist_ok=True)  # pages of two models may have one name
        (folder / page).with_suffix(".ipynb").write_text(notebook(written), encoding="utf-8")
        (folder / page).with_suffix(".py").write_text(script(written), encoding="utf-8")
    return lambda page, ending: (folder / page).with_suffix(ending)


@pytest.fixture(scope="module")
def printed(carried: Callable[[str, str], Path]) -> dict[str, list[str]]:
    """What the cells of each notebook print; one Python for all, since most of the time is the import of torch."""
    return dict(zip(PAGES, python(RUN_CELLS, *(carried(page, ".ipynb") for page in PAGES)), strict=True))


@pytest.mark.parametrize("page", PAGES)
def test_a_notebook_runs_in_a_plain_python_and_prints_what_was_recorded(
    carried: Callable[[str, str], Path], printed: dict[str, list[str]], page: str
) -> None:
    read = nbformat.read(carried(page, ".ipynb"), as_version=4)
    nbformat.validate(read)
    wanted = [recorded(cell) for cell in read.cells if cell.cell_type == "code"]
    assert any(wanted)
    assert printed[page] == wanted


def test_the_scripts_print_what_was_recorded(carried: Callable[[str, str], Path], results: dict[str, Result]) -> None:
    wanted = ["".join(cell.output for cell in cells(r.page, r.reading, nowhere)) for r in results.values()]
    assert python(RUN_SCRIPTS, *(carried(page, ".py") for page in PAGES)) == wanted


@pytest.mark.parametrize("page", PAGES)
def test_nothing_of_a_page_is_lost(results: dict[str, Result], page: str) -> None:
    result = results[page]
    written = cells(result.page, result.reading, nowhere)
    prose = "\n".join(cell.text for cell in written if not cell.code)
    assert all(heading.title.split("`")[0] in prose for heading in result.page.headings)
    for fence in (step for step in result.page.steps if hasattr(step, "code") and step.kind == "quote"):
        assert fence.code in prose
    executed = [cell for cell in written if cell.code]
    assert sum(bool(cell.output) for cell in executed) >= len([o for o in result.reading.outputs.values() if o.text])


PAGE = """# 层

开头，[一页](other.md#there)，[[别页|别名]]，==标出==，`a == b == c`。

## 1 在父层中的位置

## 5.0 完整源码

??? note "答案"

    里面的话。

    ```python exec="1" source="above"
    text = \"\"\"两
    行\"\"\"
    print(text)
    ```

    后面的话。

- 一项

  ```python exec="1" raises="ValueError"
  long = \"\"\"甲
  乙\"\"\"
  raise ValueError(long)
  ```

  还是这一项。

```python exec="1" raises="SyntaxError"
1 +
```

```pycon
>>> number = 1 + 1
>>> number
2
>>> int("x")
Traceback (most recent call last):
ValueError: invalid literal for int() with base 10: 'x'
```

```python
y = x = self.norm(x)
```

```python exec="1"
io_table()
```
"""


@pytest.fixture(scope="module")
def small() -> list[Cell]:
    checked = check(PAGE)
    assert [failure for failure in checked.failures if failure.kind not in ("link", "coverage", "name")] == []

    def link(link: Link) -> str:
        return "elsewhere.html" if link.kind == "wiki" else ""

    return cells(checked.page, checked.reading, link, ["写自某处。"])


def test_a_block_keeps_its_output_whatever_it_stands_in(small: list[Cell]) -> None:
    code = [cell for cell in small if cell.code][1:]
    assert code[0] == Cell(True, 'text = """两\n行"""\nprint(text)', "两\n行\n")
    assert code[1].text == (
        'try:\n    long = """甲\n乙"""\n    raise ValueError(long)\nexcept ValueError as error:\n'
        '    print(f"{type(error).__name__}: {error}")'
    )
    assert code[1].output == "ValueError: 甲\n乙\n"
    assert code[2] == Cell(True, "number = 1 + 1\nnumber", "2\n", shows=True)
    assert code[3].output == "ValueError: invalid literal for int() with base 10: 'x'\n"
    assert len(code) == 4  # what does not parse cannot stand in a script, and what only the site draws stays there


def test_prose_loses_only_what_the_site_alone_reads(small: list[Cell]) -> None:
    prose = [cell.text for cell in small if not cell.code]
    assert prose[0] == "# 层\n\n开头，一页，[别名](elsewhere.html)，<mark>标出</mark>，`a == b == c`。"
    assert prose[1].startswith("> 写自某处。\n>\n> 各单元按顺序运行")
    assert "*（调用树由网站" in prose[2] and "```python\ndef forward(" in prose[2]
    assert prose[2].endswith("**答案**\n\n里面的话。")
    assert prose[3].startswith("后面的话。\n\n- 一项")
    assert prose[4].startswith("还是这一项。") and "```python\n1 +\n```" in prose[4]
    assert "写出 `y (2, 3, 4) = (B, L, d_model)`，`x (2, 3, 4) = (B, L, d_model)`" in prose[5]


def test_a_script_prints_what_a_notebook_shows(small: list[Cell], tmp_path: Path) -> None:
    path = tmp_path / "page.py"
    path.write_text(script(small), encoding="utf-8")
    assert "number = 1 + 1\nprint(repr(number))\n# 输出：\n# 2\n" in path.read_text(encoding="utf-8")
    assert python(RUN_SCRIPTS, path) == ["".join(cell.output for cell in small)]
    nbformat.validate(nbformat.reads(notebook(small), as_version=4))


def test_the_copy_of_the_site_depends_on_nothing_but_its_files(tmp_path: Path) -> None:
    made = []
    for name, order in (("one", ("b.html", "a/c.js")), ("two", ("a/c.js", "b.html"))):
        site = tmp_path / name
        (site / "a").mkdir(parents=True)
        for file in (*order, "404.html", "sitemap.xml.gz", "old.zip"):
            (site / file).write_text(f"<p>link</p>{file}", encoding="utf-8")
        assert list(files_of(site)) == ["a/c.js", "b.html"]
        made.append(write_zip(site, "copy.zip", without="<p>link</p>").read_bytes())
    assert made[0] == made[1]
    with zipfile.ZipFile(tmp_path / "one/copy.zip") as archive:
        assert archive.namelist() == ["copy/a/c.js", "copy/b.html"]
        assert archive.read("copy/b.html") == b"b.html"
        assert archive.read("copy/a/c.js") == b"<p>link</p>a/c.js"


def test_the_commit_is_known_where_git_is_there_and_unknown_elsewhere(tmp_path: Path) -> None:
    assert str(revision(tmp_path)) == "提交未知"
    identity = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
    for arguments in (["init", "-q"], [*identity, "commit", "-q", "--allow-empty", "-m", "m"]):
        subprocess.run(["git", *arguments], cwd=tmp_path, check=True)
    found = revision(tmp_path)
    assert len(found.commit) == 40 and str(found) == f"提交 {found.commit[:12]}"
    (tmp_path / "new").touch()
    assert str(revision(tmp_path)).endswith("，另有未提交的改动")


@pytest.mark.parametrize(
    ("repository", "address"),
    [
        ("", ""),
        ("https://code.example/a/b/", "https://code.example/a/b/issues/new?title=t&body=c%0A"),
        (
            "https://gitlab.example/a/b",
            "https://gitlab.example/a/b/-/issues/new?issue%5Btitle%5D=t&issue%5Bdescription%5D=c%0A",
        ),
    ],
)
def test_where_a_step_is_reported(repository: str, address: str) -> None:
    assert report_address(repository, "t", "c\n") == address
