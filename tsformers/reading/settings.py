"""Settings of the checker: ``[tool.tsformers.reading]`` in the nearest pyproject.toml above a page, else defaults."""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import yaml

# The environment of every page, whoever starts the checker: one thread, no graphics card, one time zone.
PINNED = {
    "PYTHONHASHSEED": "0",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "CUDA_VISIBLE_DEVICES": "",
    "TZ": "UTC",
    "LC_ALL": "C.UTF-8",
}

# Set by torch itself as it is imported, at whatever moment that is, and in each page's process to the page's own folder.
SET_BY_TORCH = frozenset({"TORCHINDUCTOR_CACHE_DIR"})
NAMED = ((str, "a string"), (list, "a list of strings"), (dict, "a table"))


class SettingsError(ValueError):
    """A pyproject.toml or list of terms that cannot be used; the message names the file."""


@dataclass(frozen=True)
class Settings:
    """``coverage``: the share of executed statements, in percent, that a reading page must explain (0: only reported).

    ``terms``: a YAML file, a mapping of term to meaning, relative to the project. ``docs``: the folder of the site's
    pages. ``time_limit`` in seconds, of a page's toys and again of its steps, ``memory_limit`` in MiB a page beyond what
    the empty process uses, ``output_limit`` in MiB a block. ``environment``: names of variables that pages see, beside the ones that are the
    same everywhere; all others are taken away from them. ``units``: words after which a number in prose is no size.
    ``sources``: name of a code base -> address of its files, for docstrings that say "Source: ``symbol`` in NAME's ``file``".
    """

    root: Path
    coverage: float = 0
    docs: str = "docs"
    terms: str = ""
    time_limit: float = 60
    memory_limit: float = 1536
    output_limit: float = 1
    environment: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    known_terms: frozenset[str] = field(default=frozenset())
    pages: frozenset[str] = field(default=frozenset())
    sources: dict[str, str] = field(default_factory=dict)


def page_environment(settings: Settings) -> dict[str, str]:
    """The environment variables that a page sees: the ones declared, then the ones that are the same everywhere."""
    declared = {name: os.environ[name] for name in settings.environment if name in os.environ}
    return {**declared, **PINNED}


def load_settings(page: Path) -> Settings:
    """The settings for a page or folder.

    Raises:
        SettingsError: the file is not TOML, a setting is unknown or of the wrong type, the terms cannot be read.
    """
    start = page.resolve()
    for folder in [start, *start.parents]:
        file = folder / "pyproject.toml"
        if file.is_file():
            return _read(file)
    return Settings(start if start.is_dir() else start.parent)


def _read(file: Path) -> Settings:
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8")).get("tool", {}).get("tsformers", {}).get("reading", {})
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file}: {error}") from error
    if not isinstance(table, dict):
        raise SettingsError(f"{file}: [tool.tsformers.reading] is not a table")
    types: dict[str, type | tuple[type, ...]] = {
        "coverage": (int, float),
        "docs": str,
        "terms": str,
        "time_limit": (int, float),
        "memory_limit": (int, float),
        "output_limit": (int, float),
        "environment": list,
        "units": list,
        "sources": dict,
    }
    given: dict[str, Any] = {}
    for name, value in table.items():
        key = name.replace("-", "_")
        if key not in types:
            near = get_close_matches(key, types, 1)
            known = f"did you mean {near[0]}?" if near else f"known: {', '.join(types)}"
            raise SettingsError(f"{file}: [tool.tsformers.reading] has no setting {name}; {known}")
        if not isinstance(value, types[key]) or isinstance(value, bool):
            what = next((said for kind, said in NAMED if types[key] is kind), "a number")
            raise SettingsError(f"{file}: [tool.tsformers.reading] {name} is not {what}: {value!r}")
        if isinstance(value, list) and not all(isinstance(item, str) for item in value):
            raise SettingsError(f"{file}: [tool.tsformers.reading] {name} is not a list of strings: {value!r}")
        if key.endswith("_limit") and not (isinstance(value, (int, float)) and 0 < value < float("inf")):
            raise SettingsError(f"{file}: [tool.tsformers.reading] {name} is not a positive number: {value!r}")
        given[key] = tuple(value) if isinstance(value, list) else value
    root = file.parent
    docs = root / given.get("docs", "docs")
    pages = frozenset(path.stem for path in docs.rglob("*.md")) if docs.is_dir() else frozenset()
    return Settings(root, **given, known_terms=_terms(root, given.get("terms", "")), pages=pages)


def _terms(root: Path, name: str) -> frozenset[str]:
    if not name:
        return frozenset()
    try:
        terms = yaml.safe_load((root / name).read_text(encoding="utf-8")) or {}
    except (OSError, yaml.YAMLError, UnicodeDecodeError) as error:
        raise SettingsError(f"{root / name}: {error}") from error
    if not isinstance(terms, (dict, list)):
        raise SettingsError(f"{root / name}: terms are a mapping of term to meaning")
    return frozenset(str(term) for term in terms)


def term_meanings(settings: Settings) -> dict[str, str]:
    """The project's terms, each with its meaning; none where they are a bare list."""
    if not settings.terms:
        return {}
    terms = yaml.safe_load((settings.root / settings.terms).read_text(encoding="utf-8"))
    return {str(term): str(said) for term, said in terms.items()} if isinstance(terms, dict) else {}
