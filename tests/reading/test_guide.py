"""The writing guide says what is so: its right examples pass, its wrong ones fail with the very messages written there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tsformers.reading.run import check_files

GUIDE = (Path(__file__).parents[2] / "docs/writing.md").read_text(encoding="utf-8")
EXAMPLE = re.compile(r'^````markdown title="(?P<title>[^"]+)"\n(?P<text>.*?)^````$', re.MULTILINE | re.DOTALL)
WRONG = re.compile(
    r'^### (?P<name>.+)\n\n.+\n\n````markdown title="写错的例子"\n(?P<text>(?:.*\n)*?)````\n\n'
    r'```text title="报告"\n(?P<said>(?:.*\n)+?)```$',
    re.MULTILINE,
)
CASES = {match["name"]: (match["text"], match["said"].splitlines()) for match in WRONG.finditer(GUIDE)}
(HEAD,) = (match["text"] for match in EXAMPLE.finditer(GUIDE) if match["title"] == "开头")
RIGHT = [match["text"] for match in EXAMPLE.finditer(GUIDE) if match["title"] == "写对的例子"]


def page(example: str) -> str:
    """The whole page of an example: a quote takes the place of the one that the beginning ends with."""
    if example.startswith("---"):
        return example
    beginning = HEAD[: HEAD.index("```python")] if example.startswith("```python\n") else HEAD + "\n"
    return beginning + example


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    folder = tmp_path_factory.mktemp("guide")
    (folder / "pyproject.toml").write_text("[tool.tsformers.reading]\n", encoding="utf-8")
    (folder / "docs").mkdir()
    texts = {name: text for name, (text, _) in CASES.items()} | {f"right{n}": text for n, text in enumerate(RIGHT)}
    files = {name: folder / "docs" / f"{number:02d}.md" for number, name in enumerate(texts)}
    for name, file in files.items():
        file.write_text(page(texts[name]), encoding="utf-8")
    results = check_files([*files.values()])
    return {
        name: [f"{failure.kind}: {failure.message}" for failure in result.failures]
        for name, result in zip(files, results, strict=True)
    }


def test_the_guide_has_examples() -> None:
    assert (
        len(CASES) == GUIDE.count('title="写错的例子"') >= 20 and len(RIGHT) == GUIDE.count('title="写对的例子"') >= 1
    )


@pytest.mark.parametrize("name", CASES)
def test_a_wrong_example_fails_as_the_guide_says(said: dict[str, list[str]], name: str) -> None:
    assert said[name] == CASES[name][1]


@pytest.mark.parametrize("number", range(len(RIGHT)))
def test_a_right_example_passes(said: dict[str, list[str]], number: int) -> None:
    assert said[f"right{number}"] == []
