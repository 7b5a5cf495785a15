"""The adapter to MkDocs: checks the pages before the build, renders them from their records, fails the build on red."""

from __future__ import annotations

import hashlib
import os
import posixpath
import re
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from jinja2 import Environment
from markdown_exec import base_format, formatters
from mkdocs.config.base import Config
from mkdocs.config.config_options import Type
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.livereload import LiveReloadServer
from mkdocs.plugins import BasePlugin, event_priority, get_plugin_logger
from mkdocs.structure.files import File, Files
from mkdocs.structure.nav import Navigation
from mkdocs.structure.pages import Page as SitePage
from mkdocs.utils import get_relative_url
from pymdownx.superfences import SuperFencesException

from tsformers.reading import late
from tsformers.reading.built import Dead, dead_links
from tsformers.reading.coverage import summary_lines
from tsformers.reading.failure import Failure
from tsformers.reading.fences import STAND_IN, stand_in
from tsformers.reading.links import DeadLink, Library
from tsformers.reading.notebook import cells, notebook, script
from tsformers.reading.offline import write_zip
from tsformers.reading.page import Link, read_page
from tsformers.reading.preview import Preview
from tsformers.reading.render import ATTRIBUTE, Rendered, Site, render
from tsformers.reading.report import as_json, summary
from tsformers.reading.revision import Revision, report_address, revision
from tsformers.reading.run import Result, check_pages, warm_up
from tsformers.reading.settings import load_settings, term_meanings
from tsformers.reading.show import axes_table, glossary, terms_table, toys_of, used_by, word_attributes, words_of
from tsformers.reading.status import STATUS, status_html
from tsformers.reading.todo import todos
from tsformers.reading.uses import Use, page_title, uses

log = get_plugin_logger("tsformers.reading")
DIRECTIVE = re.compile(r"^::: ([\w.]+)", re.MULTILINE)
AXES, TERMS, OFFLINE = (f"<!-- reading: {part} -->" for part in ("axes", "terms", "offline"))
KEYED = re.compile(rf'<code([^>]*?) {ATTRIBUTE}="([^"]+)"([^>]*)>')


class ReadingConfig(Config):
    """Settings stand in pyproject.toml, for the command and the site alike; what concerns the build alone is here.

    ``reuse``: use records of earlier runs, and keep new ones, as the command does. A site that is published is built
    without.
    """

    reuse = Type((bool, int), default=False)  # READING_REUSE=1 is a number


class ReadingPlugin(BasePlugin[ReadingConfig]):
    """Pages that do not check out stop ``mkdocs build``; ``mkdocs serve`` reports them and goes on."""

    def __init__(self) -> None:
        self.serving = False
        self.preview = Preview()
        self.results: dict[str, Result] = {}
        self.files: dict[str, File] = {}
        self.library = Library(Path(), whole=True)
        self.api: dict[str, File] = {}
        self.reads: dict[str, list[tuple[int, File]]] = {}  # the pages that read a function, as which of theirs
        self.rendered: dict[str, Rendered] = {}
        self.uses: dict[str, tuple[Use, ...]] = {}
        self.terms: dict[str, str] = {}
        self.revision = Revision()
        self.zip = ""

    def on_startup(self, *, command: Literal["build", "gh-deploy", "serve"], dirty: bool) -> None:
        self.serving = command == "serve"

    def on_config(self, config: MkDocsConfig) -> MkDocsConfig:
        fences = config.mdx_configs.setdefault("pymdownx.superfences", {}).setdefault("custom_fences", [])
        fences.append({"name": STAND_IN, "class": STAND_IN, "validator": _keyed, "format": self._fragment})
        formatters["python"] = self._recorded
        folder = Path(config.config_file_path).parent if config.config_file_path else Path.cwd()
        self.terms = term_meanings(load_settings(Path(config.docs_dir)))
        self.revision = revision(folder)
        self.zip = "" if self.serving else str(config.extra.get("offline_copy", ""))
        known = f'<span class="tsf-revision" title="{self.revision.commit}">{self.revision}</span>'
        config.copyright = " · ".join(part for part in (config.copyright, known) if part)
        return config

    @event_priority(100)
    def on_files(self, files: Files, *, config: MkDocsConfig) -> Files:
        """Check every page, and stop the build if one is red."""
        sources = [file for file in files.documentation_pages() if file.abs_src_path]
        paths = [Path(str(file.abs_src_path)) for file in sources]
        names = [Path(os.path.relpath(path)).as_posix() for path in paths]
        results = self._preview(sources, paths, names, config) if self.serving else self._check(paths, names)
        self.results = {file.src_uri: result for file, result in zip(sources, results, strict=True)}
        self.files = {file.src_uri: file for file in sources}
        self.rendered = {}
        self.library = Library(Path(config.docs_dir), whole=True)
        for file, result in zip(sources, results, strict=True):
            self.library.know(file.src_uri, result.page)
        self._index(sources, results)
        failures = [failure for result in results for failure in result.failures]
        for failure in failures:
            log.error("%s", failure)
        report = as_json(results)
        for line in [*summary_lines(report["totals"]["models"]), summary(report)]:
            log.info("%s", line)
        if failures and not self.serving:
            raise PluginError(f"{len(failures)} failures on the pages; nothing was built")
        return files

    def _check(self, paths: list[Path], names: list[str]) -> list[Result]:
        if not self.config.reuse:
            warm_up()
        pages = [read_page(path, given=name) for path, name in zip(paths, names, strict=True)]
        return check_pages(pages, paths, reuse=bool(self.config.reuse))

    def _preview(self, sources: list[File], paths: list[Path], names: list[str], config: MkDocsConfig) -> list[Result]:
        """As ``_check``, of what a save touched; a page whose result is new is built again even if its file is not."""
        watched = [Path(folder) for folder in (config.docs_dir, *config.watch)]
        results, changed = self.preview.check(list(zip(paths, names, strict=True)), watched)
        for file, name in zip(sources, names, strict=True):
            if name in changed and os.path.isfile(file.abs_dest_path):
                os.utime(file.abs_dest_path, (0, 0))
        return results

    def _index(self, sources: list[File], results: list[Result]) -> None:
        self.api, self.reads = {}, {}
        for file, result in zip(sources, results, strict=True):
            for name in DIRECTIVE.findall(result.page.text):
                self.api[name] = file
            for number, subject in enumerate(result.reading.subjects):
                self.reads.setdefault(subject.function, []).append((number, file))
        self.uses = uses(zip([file.src_uri for file in sources], results, strict=True))

    def on_nav(self, nav: Navigation, *, config: MkDocsConfig, files: Files) -> Navigation:
        """A page that readers are led to is finished: no TODO in it."""
        places = []
        for page in nav.pages:
            result = self.results.get(page.file.src_uri)
            places += [f"{result.page.path}:{line}" for line in todos(result.page)] if result is not None else []
        for place in places:
            log.error("%s: TODO，列进导航的页要写完", place)
        if places and not self.serving:
            raise PluginError(f"{len(places)} TODO on pages of the navigation; nothing was built")
        return nav

    @event_priority(100)  # before any plugin changes the text, whose places are those of the file
    def on_page_markdown(self, markdown: str, *, page: SitePage, config: MkDocsConfig, files: Files) -> str:
        result = self.results.get(page.file.src_uri)
        if result is None:
            return markdown
        # Of the page's own path, so that a link to a step stays right when other pages come and go.
        prefix = f"s{hashlib.sha256(page.file.src_uri.encode()).hexdigest()[:8]}"
        site = self._site(page, prefix, config)
        rendered = render(result.page, result.reading, site, prefix, result.failures)
        self.rendered[page.file.src_uri] = rendered
        for mark, html in self._marks(page).items():
            if mark in rendered.markdown:
                fence = self._fence(rendered, f"{prefix}-{len(rendered.fragments)}", html())
                rendered.markdown = rendered.markdown.replace(mark, fence)
        return rendered.markdown

    @staticmethod
    def _fence(rendered: Rendered, key: str, html: str) -> str:
        """A fence that stands for a block of HTML of the page."""
        rendered.fragments[key] = html
        return stand_in(key)

    def _marks(self, page: SitePage) -> dict[str, Callable[[], str]]:
        """What stands for a mark that a page of the site holds."""

        def status() -> str:
            return status_html([(self._towards(name, page), result) for name, result in self.results.items()])

        def axes() -> str:
            return axes_table(toys_of(result.reading for result in self.results.values()))

        return {
            STATUS: status,
            AXES: axes,
            TERMS: lambda: terms_table(self.terms),
            OFFLINE: lambda: self._offline(page),
        }

    def _offline(self, page: SitePage) -> str:
        """The link to the copy of the whole site; it is not in the copy."""
        if not self.zip:
            return ""
        address = escape(get_relative_url(self.zip, page.url))
        return f'<p class="tsf-along">带走整个网站：<a href="{address}" download>{escape(self.zip)}</a>，解开后从磁盘打开，搜索也能用。</p>'

    def _towards(self, name: str, page: SitePage) -> str:
        return get_relative_url(self.files[name].url, page.url)

    def _site(self, page: SitePage, prefix: str, config: MkDocsConfig) -> Site:
        def api(name: str) -> str:
            parts = name.split(".")
            for size in range(len(parts), 0, -1):
                file = self.api.get(".".join(parts[:size]))
                if file is not None:
                    return f"{get_relative_url(file.url, page.url)}#{name}"
            return ""

        reads = {name: self._nearest(found, page.file) for name, found in self.reads.items()}
        pages = {name: get_relative_url(file.url, page.url) for name, file in reads.items()}
        layers = {}
        for name, file in reads.items():
            layer = re.search(r"Layer(\d)", file.name)
            if layer is not None:
                layers[name] = int(layer[1])
        here = page.file.src_uri
        result = self.results[here]

        def report(anchor: str, step: str) -> str:
            where = f"{page.canonical_url or page.url}#{anchor}"
            return report_address(
                config.repo_url or "", f"{page_title(result.page)}：{step}", f"{where}\n{self.revision}\n"
            )

        return Site(
            api=api,
            wiki=lambda target: self.library.written(target, here),
            pages=pages,
            layers=layers,
            terms=self.terms,
            uses=lambda function: used_by(self.uses.get(function, ()), lambda name: self._towards(name, page), here),
            along=[(name, name) for name in _carried(page.file)] if self._carries(here) else (),
            report=report,
        )

    @staticmethod
    def _nearest(found: list[tuple[int, File]], here: File) -> File:
        """Of the pages that read a function one of the same model, beside the page here; one that reads it first."""
        folder = posixpath.dirname(here.src_uri)
        return min(found, key=lambda one: (posixpath.dirname(one[1].src_uri) != folder, one[0]))[1]

    def _carries(self, name: str) -> bool:
        """Whether a page is written as notebook and script too: it reads functions, and all of it ran."""
        return bool(self.results[name].reading.subjects) and not self.results[name].failures

    def on_page_content(self, html: str, *, page: SitePage, config: MkDocsConfig, files: Files) -> str:
        """Put what was evaluated on each verified claim; every key must have come through the Markdown."""
        rendered = self.rendered.get(page.file.src_uri)
        if rendered is None:
            return html
        missing = {*rendered.proofs, *rendered.words}

        def proven(match: re.Match[str]) -> str:
            key = match[2]
            missing.discard(key)
            if key in rendered.wrong:
                said = escape(rendered.wrong[key])
                return (
                    f'<code{match[1]}{match[3]} id="{key}" class="claim tsf-red" tabindex="0" data-proof="{said}" '
                    f'aria-description="{said}">'
                )
            if key in rendered.words:
                return f"<code{match[1]}{match[3]} {word_attributes(rendered.words[key])}>"
            proof = escape(rendered.proofs[key])
            axes = f' data-axes="{escape(rendered.axes[key])}"' if key in rendered.axes else ""
            return (
                f'<code{match[1]}{match[3]} class="claim" tabindex="0"{axes} data-proof="{proof}" '
                f'aria-description="{proof}">'
            )

        html = KEYED.sub(proven, html)
        if missing and not self.results[page.file.src_uri].failures:
            raise PluginError(
                f"{page.file.src_uri}: {len(missing)} verified claims are lost in rendering: {sorted(missing)}"
            )
        words = {**self.terms, **words_of(self.results[page.file.src_uri].reading)}
        return html + glossary(html + "".join(rendered.fragments.values()), words)

    @event_priority(-100)  # after the search
    def on_page_context(self, context: Any, *, page: SitePage, config: MkDocsConfig, nav: Navigation) -> None:
        rendered = self.rendered.get(page.file.src_uri)
        if rendered is not None and page.content is not None:
            page.content = late.put_in(page.content, rendered.fragments)

    def on_env(self, env: Environment, *, config: MkDocsConfig, files: Files) -> Environment:
        env.trim_blocks = env.lstrip_blocks = True  # the theme's own lines leave 10 kB of blanks in every page
        if self.serving:
            env.bytecode_cache = self.preview.templates
        return env

    def on_serve(
        self, server: LiveReloadServer, *, config: MkDocsConfig, builder: Callable[..., Any]
    ) -> LiveReloadServer:
        self.preview.watch(server, config)
        return server

    @event_priority(-100)  # after every plugin that writes files
    def on_post_build(self, *, config: MkDocsConfig) -> None:
        """Write what a reader takes along; then follow every address of the built pages that stays on the site."""
        site = Path(config.site_dir)
        self._carry(site, config)
        built = {self.files[name].dest_uri: name for name in self.rendered}
        dead = dead_links(site, sorted(built), urlsplit(config.site_url or "").path or "/")
        failures = sorted(self._placed(built[link.page], link) for link in dead)
        for failure in failures:
            log.error("%s", failure)
        if failures and not self.serving:
            raise PluginError(f"{len(failures)} dead links in the built site")

    def _carry(self, site: Path, config: MkDocsConfig) -> None:
        """Each reading page as notebook and script beside it, the whole site as a zip in it."""
        for name, file in self.files.items():
            if name not in self.rendered or not self._carries(name):
                continue
            result = self.results[name]
            address = (
                f"[{file.url}]({posixpath.join(config.site_url, file.url)})" if config.site_url else f"`{file.url}`"
            )
            about = [f"写自 {config.site_name} 的 {address}，{self.revision}。"]
            written = cells(result.page, result.reading, self._carried_link(name, config), about)
            folder = (site / file.dest_uri).parent
            for target, text in zip(_carried(file), (notebook(written), script(written)), strict=True):
                (folder / target).write_text(text, encoding="utf-8", newline="\n")
        if self.zip:
            home = next((r.fragments for n, r in self.rendered.items() if n == "index.md"), {})
            link = next((html for html in home.values() if f'href="{self.zip}"' in html), "")
            write_zip(site, self.zip, without=link)

    def _carried_link(self, here: str, config: MkDocsConfig) -> Callable[[Link], str]:
        """Where a link leads from the notebook of a page: to the other notebook, else to the site."""

        def address(link: Link) -> str:
            try:
                file, anchor = (self.library.wiki if link.kind == "wiki" else self.library.address)(link.target, here)
            except DeadLink:
                return ""
            if not file:
                return link.target
            if file == here or file not in self.files:
                return ""
            lead = self.files[file]
            folder = posixpath.dirname(self.files[here].dest_uri) or "."
            if self._carries(file):
                beside = posixpath.join(posixpath.dirname(lead.dest_uri), _carried(lead)[0])
                return posixpath.relpath(beside, folder)
            url = (
                posixpath.join(config.site_url, lead.url)
                if config.site_url
                else posixpath.relpath(lead.dest_uri, folder)
            )
            return url + (f"#{anchor}" if anchor else "")

        return address

    def _placed(self, name: str, dead: Dead) -> Failure:
        """A dead link at its place on the page; at the top where the page's text holds no such link."""
        page = self.results[name].page
        line, column = 1, 1
        for link in page.links:
            try:
                lead = self.library.wiki if link.kind == "wiki" else self.library.address
                file, anchor = lead(link.target, name)
            except DeadLink:
                continue
            if file in self.files and (self.files[file].dest_uri, anchor) == (dead.target, dead.anchor):
                line, column = link.line, link.column
                break
        what = f"里没有锚点 #{dead.anchor}" if dead.anchor else "不存在"
        message = f"构建出的网站里，{dead.address} 是死链接：{dead.target} {what}"
        return Failure(page.path, line, column, "link", dead.address, message=message)

    def _look_up(self, key: str, which: str) -> str:
        for rendered in self.rendered.values():
            found = getattr(rendered, which)
            if key in found:
                return str(found[key])
        raise SuperFencesException(f"no recorded {which} for the key {key!r}")

    def _fragment(
        self, source: str, language: str, css_class: str, options: dict[str, Any], md: Any, **kwargs: Any
    ) -> str:
        return late.place(options["key"], self._look_up(options["key"], "fragments"))

    def _recorded(self, **options: Any) -> str:
        """markdown-exec's formatter for python: hand it the recorded output instead of running anything."""
        key = options.get("extra", {}).pop(STAND_IN, "")
        output = self._look_up(key, "outputs")
        return base_format(language="python", run=lambda code, **extra: output, **options)


def _carried(file: File) -> tuple[str, str]:
    """The names of the notebook and the script of a page."""
    stem = Path(file.src_uri).stem
    return f"{stem}.ipynb", f"{stem}.py"


def _keyed(language: str, inputs: dict[str, str], options: dict[str, Any], attrs: dict[str, Any], md: Any) -> bool:
    options["key"] = inputs.pop("key", "")
    return True
