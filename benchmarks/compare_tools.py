"""Plant errors into a small page, and count which of them each tool that runs documentation finds.

``nox -s compare`` installs the tools and runs this. Each gets the page in its own idiom: the same sentences, table and
code, with the inputs defined in the way that it asks for. The page as it is must pass with every tool, and an assertion
that fails, in a block of code, must not: so a tool that finds nothing else did run the page.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

PROSE = """
权重是 `weights (2, 3, 3)`，每个 query 占一行。

| 量 | 值 |
|---|---|
| 一行的和 | `weights[0, 0].sum() ≈ 1.0` |
"""
CODE = """scores = q @ k.transpose(-2, -1)  # [B, L, L]
weights = scores.softmax(dim=-1)
"""
ASSERTED = "assert q.shape == (2, 3, 4)\n"
# The text that is right, the text that is wrong; what is planted stands in HEADS, a language each.
CONTROL = (ASSERTED, "assert q.shape == (2, 3, 5)\n")
PLANTED = (
    ("`weights (2, 3, 3)`", "`weights (2, 3, 4)`"),
    ("≈ 1.0`", "≈ 2.0`"),
    ("# [B, L, L]", "# [B, L, D]"),
)
HEADS = (
    ("工具", "代码块里失败的断言", "正文里的形状", "表格里的和", "形状注释"),
    ("tool", "failing assertion in a block", "shape in a sentence", "sum in a table", "shape comment"),
)
OURS = ("本仓库的 `check`", "`check` of this repository")
INPUTS = "import torch\n\nq = torch.arange(24.0).reshape(2, 3, 4) / 10\nk = q + 1\n"
MODULE = """from types import SimpleNamespace

import torch


def attend(q, k):
    {code}
    return weights


def toy(case=0):
    B, L, D = ((2, 3, 4), (3, 5, 7))[case]
    q = torch.arange(float(B * L * D)).reshape(B, L, D) / 10
    sizes = dict(B=B, L=L, D=D)
    return SimpleNamespace(call=attend, args=(q, q + 1), kwargs={{}}, sizes=sizes, axes=dict(B="B", L="L", D="D"))


toy.cases = 2
"""


@dataclass(frozen=True)
class Tool:
    """``files`` of a page by name, from the right page with an error planted; ``command`` after ``python -m``."""

    name: str
    files: Callable[[Callable[[str], str]], dict[str, str]]
    command: tuple[str, ...]
    before: tuple[str, ...] = ()


def fence(code: str, options: str = "") -> str:
    return f"```python{options}\n{code}```\n"


def plain(plant: Callable[[str], str], options: str = "") -> str:
    """The page for tools that run blocks one after the other."""
    return plant(f"# 打分\n\n{fence(INPUTS + ASSERTED, options)}\n{fence(CODE, options)}{PROSE}")


def ours(plant: Callable[[str], str]) -> dict[str, str]:
    front = "---\ntoy: scoring:toy\nreads: [scoring.attend]\n---\n"
    asserted = fence(ASSERTED, ' exec="1"')
    page = f"{front}# 打分\n\n{asserted}\n{fence(CODE)}{PROSE}"
    return {"page.md": plant(page), "scoring.py": MODULE.format(code=plant(CODE).rstrip().replace("\n", "\n    "))}


def markdown_exec(plant: Callable[[str], str]) -> dict[str, str]:
    site = "site_name: t\nplugins: [markdown-exec]\nmarkdown_extensions: [pymdownx.superfences, tables]\n"
    return {"docs/index.md": plain(plant, ' exec="1" session="s"'), "mkdocs.yml": site}


def mktestdocs(plant: Callable[[str], str]) -> dict[str, str]:
    test = 'from mktestdocs import check_md_file\n\n\ndef test():\n    check_md_file("page.md", memory=True)\n'
    return {"page.md": plain(plant), "test_page.py": test}


def sybil(plant: Callable[[str], str]) -> dict[str, str]:
    conftest = (
        "from sybil import Sybil\nfrom sybil.parsers.markdown import PythonCodeBlockParser\n\n"
        'pytest_collect_file = Sybil(parsers=[PythonCodeBlockParser()], patterns=["*.md"]).pytest()\n'
    )
    return {"page.md": plain(plant), "conftest.py": conftest}


def pytest_examples(plant: Callable[[str], str]) -> dict[str, str]:
    test = (
        "import pytest_examples\n\n\ndef test(eval_example: pytest_examples.EvalExample):\n    names = {}\n"
        '    for example in pytest_examples.find_examples("page.md"):\n'
        "        names.update(eval_example.run(example, module_globals=names))\n"
    )
    return {"page.md": plain(plant), "test_page.py": test}


def phmdoctest(plant: Callable[[str], str]) -> dict[str, str]:
    return {"page.md": plain(plant)}


PYTEST = ("pytest", "-q", "-p", "no:cacheprovider")
TOOLS = (
    Tool("markdown-exec", markdown_exec, ("mkdocs", "build", "--strict")),
    Tool("mktestdocs", mktestdocs, (*PYTEST, "test_page.py")),
    Tool(
        "phmdoctest",
        phmdoctest,
        (*PYTEST, "test_page.py"),
        ("phmdoctest", "page.md", "--setup", "import torch", "--outfile", "test_page.py"),
    ),
    Tool("pytest-examples", pytest_examples, (*PYTEST, "test_page.py")),
    Tool("Sybil", sybil, (*PYTEST, "page.md")),
    Tool("tsformers", ours, ("tsformers.reading", "check", "page.md", "--no-reuse")),
)


def passes(tool: Tool, right: str, wrong: str) -> tuple[bool, str]:
    """Whether a tool is content with the page in which ``right`` became ``wrong``, and what it said."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in tool.files(lambda text: text.replace(right, wrong)).items():
            file = Path(folder, name)
            file.parent.mkdir(exist_ok=True)
            file.write_text(text, encoding="utf-8")
        said = ""
        for command in filter(None, (tool.before, tool.command)):
            done = subprocess.run(
                [sys.executable, "-m", *command], cwd=folder, capture_output=True, text=True, check=False
            )
            said += done.stdout + done.stderr
            if done.returncode:
                return False, said
        return True, said


def found(tool: Tool) -> list[bool]:
    """Which of the planted errors a tool finds.

    Raises:
        RuntimeError: it does not pass the page as it is, or passes one whose code fails.
    """
    for name, right, wrong, expected in (("the page as it is", "", "", True), ("the control", *CONTROL, False)):
        content, said = passes(tool, right, wrong)
        if content is not expected:
            raise RuntimeError(f"{tool.name}, {name}: {'passed' if content else 'failed'}\n{said}")
    return [not passes(tool, right, wrong)[0] for right, wrong in PLANTED]


def tables() -> list[str]:
    """The same table in each language."""
    rows = [HEADS, (["---"] * len(HEADS[0]),) * 2]
    for tool in TOOLS:
        marks = ["✓" if hit else "—" for hit in (True, *found(tool))]
        names = OURS if tool.name == "tsformers" else [f"{tool.name} {version(tool.name)}"] * 2
        rows.append(tuple([name, *marks] for name in names))
    return ["".join(f"| {' | '.join(row)} |\n" for row in language) for language in zip(*rows, strict=True)]


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare tools that run documentation.")
    parser.add_argument("--compare", metavar="FILE", type=Path, nargs="*", default=[], help="files that hold a table")
    options = parser.parse_args()
    made = tables()
    print(*made, sep="\n", end="")
    wrong = [file for file in options.compare if not any(table in file.read_text(encoding="utf-8") for table in made)]
    for file in wrong:
        print(f"{file} says otherwise", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
