"""The Markdown extensions of the site: the one list, kept equal in mkdocs.yml by a test and used by the guard."""

from __future__ import annotations

from typing import Any

from pymdownx.slugs import slugify

MARKDOWN_EXTENSIONS: list[str] = [
    "abbr",
    "admonition",
    "attr_list",
    "footnotes",
    "md_in_html",
    "tables",
    "toc",
    "pymdownx.details",
    "pymdownx.highlight",
    "pymdownx.mark",
    "pymdownx.superfences",
    "pymdownx.tabbed",
    "pymdownx.tasklist",
    "tsformers.reading.formulas",
]

MARKDOWN_EXTENSION_CONFIGS: dict[str, dict[str, Any]] = {
    "toc": {"permalink": True, "permalink_title": "本节的链接", "slugify": slugify(case="lower")},
    "pymdownx.tabbed": {"alternate_style": True},
    "pymdownx.tasklist": {"custom_checkbox": True},
}
