"""mkdocs.yml: what must be equal to something elsewhere, is."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any

import pytest
from mkdocs.utils.yaml import yaml_load

from tsformers.reading.extensions import MARKDOWN_EXTENSION_CONFIGS, MARKDOWN_EXTENSIONS

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def config() -> dict[str, Any]:
    with (ROOT / "mkdocs.yml").open(encoding="utf-8") as file:
        return yaml_load(file)


def named(entries: list[str | dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """``[a, {b: options}]`` as ``{a: {}, b: options}``, in the order written."""
    pairs: dict[str, dict[str, Any]] = {}
    for entry in entries:
        pairs.update({entry: {}} if isinstance(entry, str) else {name: opts or {} for name, opts in entry.items()})
    return pairs


def comparable(value: Any) -> Any:
    """Two partials of one function with the same arguments are the same option, though Python says they differ."""
    if isinstance(value, functools.partial):
        return value.func, value.args, value.keywords
    if isinstance(value, dict):
        return {key: comparable(member) for key, member in value.items()}
    return value


def test_the_site_and_the_checker_read_markdown_alike(config: dict[str, Any]) -> None:
    site = named(config["markdown_extensions"])
    assert sorted(site) == sorted(MARKDOWN_EXTENSIONS)
    assert comparable({name: options for name, options in site.items() if options}) == comparable(
        MARKDOWN_EXTENSION_CONFIGS
    )


def test_search_cuts_at_punctuation_and_never_inside_a_number(config: dict[str, Any]) -> None:
    separator = named(config["plugins"])["search"]["separator"]
    assert re.split(separator, "注意力（残差）、d_model，eps=1e-05。0.33 self.norm1") == [
        "注意力", "残差", "d", "model", "eps", "1e", "05", "0.33", "self", "norm1",
    ]  # fmt: skip


def test_nothing_comes_from_elsewhere(config: dict[str, Any]) -> None:
    assert config["theme"]["font"] is False
    files = [*config.get("extra_css", []), *config.get("extra_javascript", []), *config["extra"]["polyfills"]]
    assert all((DOCS / name).is_file() for name in files)


def modules() -> list[str]:
    """Public modules of what is read, and its toys."""
    package = ROOT / "tsformers"
    rooms = [*package.glob("*.py"), *package.glob("layers/*.py"), *package.glob("models/*.py")]
    return sorted(".".join(p.relative_to(ROOT).with_suffix("").parts) for p in rooms if not p.stem.startswith("_"))


def test_every_public_module_has_an_api_page() -> None:
    missing = []
    for module in modules():
        page = DOCS / "api" / Path(*module.split(".")[1:]).with_suffix(".md")
        if not page.is_file() or f"::: {module}\n" not in page.read_text(encoding="utf-8"):
            missing.append(module)
    assert missing == []


def test_no_api_page_of_a_module_that_is_gone() -> None:
    named_modules = set()
    for page in (DOCS / "api").rglob("*.md"):
        named_modules |= set(re.findall(r"^::: (\S+)$", page.read_text(encoding="utf-8"), re.MULTILINE))
    assert named_modules <= {*modules(), "tsformers"}


def test_a_model_s_pages_follow_its_call_tree(config: dict[str, Any]) -> None:
    """Previous and next lead along the navigation; a page's number says how deep in the call tree it stands."""
    sections = [members for entry in config["nav"] for members in entry.values() if isinstance(members, list)]
    pages = [[Path(path).name for page in members if isinstance(page, dict) for path in page.values() if isinstance(path, str)]
             for members in sections]  # fmt: skip
    reading = [names for names in pages if names and all(re.match(r"\d\d\w*-", name) for name in names)]
    assert len(reading) >= 3
    assert [names for names in reading if names != sorted(names)] == []
