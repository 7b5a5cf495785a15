"""What a preview remembers between two builds, so that a save checks no more than what it touched."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2.bccache import Bucket, BytecodeCache
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.livereload import LiveReloadServer
from watchdog.observers.polling import PollingObserver

from tsformers.reading.page import Page, read_page
from tsformers.reading.run import Result, check_pages

LOOK = 0.1  # seconds between two looks at the files
CALM = 0.03  # seconds without another change after which a build begins: one look finds all that was saved at once


@dataclass(frozen=True)
class _Known:
    digest: bytes
    page: Page
    result: Result


class Templates(BytecodeCache):
    """The compiled templates of the theme, which MkDocs loads anew for every build."""

    def __init__(self) -> None:
        self._known: dict[str, bytes] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        if bucket.key in self._known:
            bucket.bytecode_from_string(self._known[bucket.key])

    def dump_bytecode(self, bucket: Bucket) -> None:
        self._known[bucket.key] = bucket.bytecode_to_string()


class Preview:
    """The results of the last build, page by page.

    While nothing but pages changes, only those whose bytes changed are read and checked. After any other change under
    the watched folders, of a module say, all are judged again, and the records decide which of them run.
    """

    def __init__(self) -> None:
        self._world: dict[str, tuple[int, int]] = {}
        self._known: dict[str, _Known] = {}
        self.templates = Templates()

    def watch(self, server: LiveReloadServer, config: MkDocsConfig) -> None:
        """Let the server look for saves more often than its half second, and not wait long for further ones."""
        server.build_delay = CALM
        paths = [path for path in (config.docs_dir, config.config_file_path) if path]
        for path in paths:
            server.unwatch(path)
        server.observer = PollingObserver(timeout=LOOK)
        for path in paths:
            server.watch(path)

    def check(self, files: Sequence[tuple[Path, str]], watched: Iterable[Path]) -> tuple[list[Result], set[str]]:
        """The results of ``files`` (where a page lies, its name as given), and the names of those that are new.

        Raises:
            OSError: a page cannot be read.
        """
        pages = {path.resolve() for path, _ in files}
        world = {name: stamp for name, stamp in standing(watched).items() if Path(name) not in pages}
        same = world == self._world
        digests = {name: hashlib.sha256(path.read_bytes()).digest() for path, name in files}
        known = {name: self._known[name] for _, name in files if name in self._known}
        read = {
            name: known[name].page
            if name in known and known[name].digest == digests[name]
            else read_page(path, given=name)
            for path, name in files
        }
        todo = [
            (path, name)
            for path, name in files
            if not same or name not in known or known[name].digest != digests[name] or _restless(known[name].result)
        ]
        found = check_pages([read[name] for _, name in todo], [path for path, _ in todo], reuse=True) if todo else []
        fresh = {name: result for (_, name), result in zip(todo, found, strict=True)}
        changed = {
            name
            for name, result in fresh.items()
            if result.ran or name not in known or result.failures != known[name].result.failures
            or known[name].digest != digests[name]
        }  # fmt: skip
        results = {name: fresh.get(name) or known[name].result for _, name in files}
        self._known = {name: _Known(digests[name], read[name], results[name]) for _, name in files}
        self._world = world
        return [results[name] for _, name in files], changed


def _restless(result: Result) -> bool:
    """Whether a page may turn green, or fail in another way, by a change of other pages: it has a dead link."""
    return any(failure.kind == "link" for failure in result.failures)


def standing(folders: Iterable[Path]) -> dict[str, tuple[int, int]]:
    """Every file at or below ``folders`` with its time of change and its size; what begins with a dot is left out."""
    found = {}
    pending = [folder.resolve() for folder in folders]
    while pending:
        path = pending.pop()
        try:
            stat = path.stat()
            if path.is_dir():
                pending += [inner for inner in path.iterdir() if not inner.name.startswith((".", "__pycache__"))]
            else:
                found[os.fspath(path)] = (stat.st_mtime_ns, stat.st_size)
        except FileNotFoundError:
            continue  # an editor's temporary file that is gone again
    return found
