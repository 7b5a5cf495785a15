"""The closed list of fence options: each error at the option's own place."""

from __future__ import annotations

import pytest

from tsformers.reading.page import Fence, scan

HEAD = "---\ntoys: {small: a.b:c}\n---\n"


def one(info: str, code: str = "x") -> tuple[Fence, tuple]:
    page = scan(f"{HEAD}```{info}\n{code}\n```\n", "page.md")
    (fence,) = page.steps
    assert isinstance(fence, Fence)
    return fence, page.problems


@pytest.mark.parametrize(
    ("info", "kind", "options"),
    [
        ("python", "quote", {}),
        (" python", "quote", {}),
        ('python pass="2"', "quote", {"pass": "2"}),
        ("python of='a.b' toy='small'", "quote", {"of": "a.b", "toy": "small"}),
        ('python { pass="2" }', "quote", {"pass": "2"}),
        ("{ .python pass=2 }", "quote", {"pass": "2"}),
        ('python {.annotate title="t" linenums="1"}', "quote", {"title": "t", "linenums": "1"}),
        ('python hl_lines="2 4-6"', "quote", {"hl_lines": "2 4-6"}),
        ('python exec="1"', "exec", {"exec": "1"}),
        (
            'python exec="on" source="tabbed-left" tabs="源码|结果"',
            "exec",
            {"exec": "on", "source": "tabbed-left", "tabs": "源码|结果"},
        ),
        ("python {exec=true html=yes}", "exec", {"exec": "true", "html": "yes"}),
        (
            'python exec="1" raises="ValueError" width="80" result="text" id="a" idprefix="" updatetoc="no"',
            "exec",
            None,
        ),
        ('python why="只为对照"', "other", {"why": "只为对照"}),
        ('py why="别处的写法"', "other", {"why": "别处的写法"}),
        ("pycon", "example", {}),
        ("text", "other", {}),
        ("markdown", "other", {}),
        ("", "other", {}),
    ],
)
def test_good(info: str, kind: str, options: dict[str, str] | None) -> None:
    fence, problems = one(info)
    assert problems == ()
    assert fence.kind == kind
    if options is not None:
        assert fence.options == options


@pytest.mark.parametrize(
    ("info", "claim", "words"),
    [
        ('python exec="1" sorce="above"', "sorce=above", ["source"]),
        ('python exec="1" source="abov"', "source=abov", ["above"]),
        ('python exec="1" source="material-block"', "source=material-block", ["block"]),
        ('python exec="1" session="a"', "session=a", ["命名空间"]),
        ('python exec="1" workdir="/"', "workdir=/", ["目录"]),
        ('python exec="1" returncode="1"', "returncode=1", ["raises"]),
        ("python exec=1", "exec=1", ["引号", 'exec="1"']),
        ("python exec", "exec", ["值"]),
        ('python exec="0"', "exec=0", ["why"]),
        ('python exec="maybe"', "exec=maybe", ["yes"]),
        ('python source="above"', "source=above", ["执行围栏"]),
        ('python pass="0"', "pass=0", ["1"]),
        ('python pass="two"', "pass=two", ["1"]),
        ('python exec="1" pass="2"', "pass=2", ["执行围栏"]),
        ('python raises="ValueError"', "raises=ValueError", ["引用围栏"]),
        ('python exec="1" raises="not a name"', "raises=not a name", ["异常"]),
        ('python toy="smal"', "toy=smal", ["small"]),
        ('python why=""', "why=", ["理由"]),
        ('python pass="1" pass="2"', "pass=2", ["两次"]),
        ('python hl_lines="a"', "hl_lines=a", ["行号"]),
        ('python exec="1" tabs="一个"', "tabs=一个", ["|"]),
        ('python exec="1" html="maybe"', "html=maybe", ["yes"]),
        ('python exec="1" width="wide"', "width=wide", ["整数"]),
        ('python exec="1" why="x"', "why", ["只展示"]),
        ('bash exec="1"', "exec=1", ["python"]),
        ('pycon exec="1"', "exec=1", ["python"]),
        ("py", "py", ["python"]),
        ("python3", "python3", ["python"]),
        ("Python", "Python", ["python"]),
        ("python {.anotate}", ".anotate", ["annotate"]),
        ('python pass="2', 'pass="2', ["引号"]),
        ("python ???", "???", ["读不懂"]),
        ("python {exec=1", "{exec=1", ["读不懂"]),
        ('text pass="2"', "pass=2", ["这种围栏"]),
    ],
)
def test_wrong(info: str, claim: str, words: list[str]) -> None:
    _, problems = one(info)
    failure = problems[0]
    assert (failure.kind, failure.claim, failure.line) == ("fence", claim, 4)
    assert all(word in failure.message for word in words)
    here = f"```{info}"[failure.column - 1 :]
    start = claim.removeprefix(".").split("=")
    assert here.startswith(start[0]) or here.startswith((start[1], f'"{start[1]}"'))


def test_every_fence_of_case_27() -> None:
    """What the reader sees as code to run is run, and nothing else."""
    body = (
        '=== "一"\n\n    ```python exec="1"\n    print(1)\n    ```\n\n'
        "- 项\n\n    ```python exec='1'\n    print(2)\n    ```\n\n"
        '> ```python {exec="1"}\n> print(3)\n> ```\n\n'
        '!!! note\n\n    ~~~python exec="1"\n    print(4)\n    ~~~\n\n'
        '````markdown\n```python exec="1"\nprint(5)\n```\n````\n\n'
        '<!--\n```python exec="1"\nprint(6)\n```\n-->\n'
    )
    page = scan(body, "page.md")
    assert page.problems == ()
    run = [step.code for step in page.steps if isinstance(step, Fence) and step.kind == "exec"]
    assert run == ["print(1)", "print(2)", "print(3)", "print(4)"]
