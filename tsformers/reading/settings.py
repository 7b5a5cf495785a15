"""Settings of the checker: ``[tool.tsformers.reading]`` in the nearest pyproject.toml above a page, else defaults."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field, fields
from pathlib import Path

import yaml


class SettingsError(ValueError):
    """A pyproject.toml or list of terms that cannot be used; the message names the file."""


@dataclass(frozen=True)
class Settings:
    """``coverage``: the share of executed statements, in percent, that a reading page must explain (0: only reported).

    ``terms``: a YAML file, a mapping of term to meaning, relative to the project. ``docs``: the folder of the site's
    pages. ``time_limit`` in seconds a page; ``units``: words after which a number in prose is no size or value.
    ``sources``: name of a code base -> address of its files, for docstrings that say ``Source: NAME, file, symbol``.
    """

    root: Path
    coverage: float = 0
    docs: str = "docs"
    terms: str = ""
    time_limit: float = 60
    units: tuple[str, ...] = ()
    known_terms: frozenset[str] = field(default=frozenset())
    pages: frozenset[str] = field(default=frozenset())
    sources: dict[str, str] = field(default_factory=dict)


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
    types = {
        "coverage": (int, float),
        "docs": str,
        "terms": str,
        "time_limit": (int, float),
        "units": list,
        "sources": dict,
    }
    given = {}
    for name, value in table.items():
        key = name.replace("-", "_")
        if key not in types:
            known = ", ".join(f.name for f in fields(Settings) if f.name in types)
            raise SettingsError(f"{file}: [tool.tsformers.reading] has no setting {name}; known: {known}")
        if not isinstance(value, types[key]) or isinstance(value, bool):  # type: ignore[arg-type]
            raise SettingsError(f"{file}: [tool.tsformers.reading] {name} has the wrong type: {value!r}")
        if key == "time_limit" and not value > 0:
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
