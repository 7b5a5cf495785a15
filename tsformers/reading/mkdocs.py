"""The adapter to MkDocs: checks the pages before the build, renders them from their records, fails the build on red."""

from __future__ import annotations

import os
import re
from html import escape
from pathlib import Path
from typing import Any, Literal

from markdown_exec import base_format, formatters
from mkdocs.config.base import Config
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.plugins import BasePlugin, event_priority, get_plugin_logger
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page as SitePage
from mkdocs.utils import get_relative_url
from pymdownx.superfences import SuperFencesException

from tsformers.reading.page import read_page
from tsformers.reading.render import ATTRIBUTE, FENCE, Rendered, Site, render
from tsformers.reading.report import summary
from tsformers.reading.run import Result, check_pages

log = get_plugin_logger("tsformers.reading")
DIRECTIVE = re.compile(r"^::: ([\w.]+)", re.MULTILINE)
KEYED = re.compile(rf'<code([^>]*?) {ATTRIBUTE}="([^"]+)"([^>]*)>')


class ReadingConfig(Config):
    """The plugin has no options: settings stand in pyproject.toml, for the command and the site alike."""


class ReadingPlugin(BasePlugin[ReadingConfig]):
    """Pages that do not check out stop ``mkdocs build``; ``mkdocs serve`` reports them and goes on."""

    def __init__(self) -> None:
        self.serving = False
        self.results: dict[str, Result] = {}
        self.api: dict[str, File] = {}
        self.reads: dict[str, File] = {}
        self.rendered: dict[str, Rendered] = {}

    def on_startup(self, *, command: Literal["build", "gh-deploy", "serve"], dirty: bool) -> None:
        self.serving = command == "serve"

    def on_config(self, config: MkDocsConfig) -> MkDocsConfig:
        fences = config.mdx_configs.setdefault("pymdownx.superfences", {}).setdefault("custom_fences", [])
        fences.append({"name": FENCE, "class": FENCE, "validator": _keyed, "format": self._fragment})
        formatters["python"] = self._recorded
        return config

    @event_priority(100)
    def on_files(self, files: Files, *, config: MkDocsConfig) -> Files:
        """Check every page, and stop the build if one is red."""
        sources = [file for file in files.documentation_pages() if file.abs_src_path]
        paths = [Path(str(file.abs_src_path)) for file in sources]
        pages = [read_page(path, given=Path(os.path.relpath(path)).as_posix()) for path in paths]
        results = check_pages(pages, paths)
        self.results = {file.src_uri: result for file, result in zip(sources, results, strict=True)}
        self._index(sources, results)
        failures = [failure for result in results for failure in result.failures]
        for failure in failures:
            log.error("%s", failure)
        log.info("%s", summary(results))
        if failures and not self.serving:
            raise PluginError(f"{len(failures)} failures on the pages; nothing was built")
        return files

    def _index(self, sources: list[File], results: list[Result]) -> None:
        self.api, self.reads = {}, {}
        for file, result in zip(sources, results, strict=True):
            for name in DIRECTIVE.findall(result.page.text):
                self.api[name] = file
            for subject in result.reading.subjects:
                self.reads.setdefault(subject.function, file)

    @event_priority(100)  # before any plugin changes the text, whose places are those of the file
    def on_page_markdown(self, markdown: str, *, page: SitePage, config: MkDocsConfig, files: Files) -> str:
        result = self.results.get(page.file.src_uri)
        if result is None:
            return markdown
        number = sorted(self.results).index(page.file.src_uri)
        rendered = render(result.page, result.reading, self._site(page), f"s{number}")
        self.rendered[page.file.src_uri] = rendered
        return rendered.markdown

    def _site(self, page: SitePage) -> Site:
        def api(name: str) -> str:
            parts = name.split(".")
            for size in range(len(parts), 0, -1):
                file = self.api.get(".".join(parts[:size]))
                if file is not None:
                    return f"{get_relative_url(file.url, page.url)}#{name}"
            return ""

        pages = {name: get_relative_url(file.url, page.url) for name, file in self.reads.items()}
        layers = {}
        for name, file in self.reads.items():
            layer = re.search(r"Layer(\d)", file.name)
            if layer is not None:
                layers[name] = int(layer[1])
        return Site(api, pages, layers)

    def on_page_content(self, html: str, *, page: SitePage, config: MkDocsConfig, files: Files) -> str:
        """Put what was evaluated on each verified claim; every key must have come through the Markdown."""
        rendered = self.rendered.get(page.file.src_uri)
        if rendered is None:
            return html
        missing = set(rendered.proofs)

        def proven(match: re.Match[str]) -> str:
            key = match[2]
            missing.discard(key)
            proof = escape(rendered.proofs[key])
            return (
                f'<code{match[1]}{match[3]} class="claim" tabindex="0" data-proof="{proof}" aria-description="{proof}">'
            )

        html = KEYED.sub(proven, html)
        if missing:
            raise PluginError(
                f"{page.file.src_uri}: {len(missing)} verified claims are lost in rendering: {sorted(missing)}"
            )
        return html

    def _look_up(self, key: str, which: str) -> str:
        for rendered in self.rendered.values():
            found = getattr(rendered, which)
            if key in found:
                return str(found[key])
        raise SuperFencesException(f"no recorded {which} for the key {key!r}")

    def _fragment(
        self, source: str, language: str, css_class: str, options: dict[str, Any], md: Any, **kwargs: Any
    ) -> str:
        return self._look_up(options["key"], "fragments")

    def _recorded(self, **options: Any) -> str:
        """markdown-exec's formatter for python: hand it the recorded output instead of running anything."""
        key = options.get("extra", {}).pop(FENCE, "")
        output = self._look_up(key, "outputs")
        return base_format(language="python", run=lambda code, **extra: output, **options)


def _keyed(language: str, inputs: dict[str, str], options: dict[str, Any], attrs: dict[str, Any], md: Any) -> bool:
    options["key"] = inputs.pop("key", "")
    return True
