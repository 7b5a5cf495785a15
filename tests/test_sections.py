"""Sections that a page names by number are there, on the page itself or where the link beside the number leads."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

import pytest

from tsformers.reading.page import scan

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
FENCE = re.compile(r"^( *)(`{3,}|~{3,}).*?^\1\2", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[([^\]\[]*节[^\]\[]*)\]\(([^)]+)\)")
NAMED = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?(?:(?:、| ?[与和到] ?)\d+(?:\.\d+)?)*) 节")


def numbers(text: str) -> set[str]:
    """The numbers of a page's headings."""
    return {heading.number for heading in scan(text).headings if heading.number}


def missing(text: str, elsewhere: dict[str, set[str]]) -> list[str]:
    """What names a section that is not there; ``elsewhere``: the sections of other pages, by the path in a link."""
    here, found = numbers(text), []
    prose = FENCE.sub("", text)
    for match in LINK.finditer(prose):
        path, _, anchor = unquote(match[2]).partition("#")
        there = elsewhere.get(path) if path else here
        named = [number for group in NAMED.findall(match[1]) for number in re.findall(r"\d+(?:\.\d+)?", group)]
        wrong = there is not None and not set(named) <= there
        if wrong or (len(named) == 1 and anchor and anchor.partition("-")[0] != named[0].replace(".", "")):
            found.append(match[0])
    for group in NAMED.findall(LINK.sub("", prose)):
        found += [f"{number} 节" for number in re.findall(r"\d+(?:\.\d+)?", group) if number not in here]
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_every_section_that_is_named_is_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    paths = {unquote(url).partition("#")[0] for _, url in LINK.findall(text)}
    files = {path: page.parent / path for path in paths if path and (page.parent / path).is_file()}
    elsewhere = {path: numbers(file.read_text(encoding="utf-8")) for path, file in files.items()}
    assert missing(text, elsewhere) == []


@pytest.mark.parametrize(
    ("prose", "wrong"),
    [
        ("见 8.1 节，或第 2 节。", []),
        ("见 8.7 节。", ["8.7 节"]),
        ("见 8.1、8.3 节和第 4 节。", ["8.3 节", "4 节"]),
        ("见[那页 · 5.2 节](other.md#52-归一)与[第 2 节](#2-接口)。", []),
        ("见[那页 · 5.3 节](other.md)。", ["[那页 · 5.3 节](other.md)"]),
        ("见[那页 · 5.2 节](other.md#51-前)。", ["[那页 · 5.2 节](other.md#51-前)"]),
        ("```text\n9.9 节\n```\n", []),
    ],
)
def test_a_section_that_is_not_there_is_found(prose: str, wrong: list[str]) -> None:
    assert missing(f"# 页\n\n## 2 接口\n\n## 8 对照\n\n### 8.1 一\n\n{prose}\n", {"other.md": {"5.1", "5.2"}}) == wrong
