"""Records of pages, kept between runs and used again when nothing that could change them has changed."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tsformers.reading.claims import ClaimError, parse
from tsformers.reading.page import Fence, Page
from tsformers.reading.record import Reading
from tsformers.reading.settings import Settings

FOLDER = Path(".cache") / "reading"


@dataclass(frozen=True)
class Stored:
    """A record, the program it is of, and what the run reached: files by content, folders by the names in them."""

    program: str
    world: str
    files: dict[str, str]
    folders: dict[str, str]
    reading: Reading


def program(page: Page, settings: Settings) -> str:
    """What of a page decides the outcome of running it: front matter, blocks with their lines, expressions, spans.

    Prose and the literals of claims are not in it. The lines of blocks are, since a block can print its own.
    """
    parts: list[object] = [page.path, page.text[: page.front.end]]
    for step in page.steps:
        if isinstance(step, Fence):
            parts.append([step.kind, step.language, sorted(step.options.items()), step.code, step.code_line])
            continue
        try:
            claim = parse(step.text)
        except ClaimError:
            claim = None
        if claim is None:
            parts.append(step.text)
        else:
            names = [slot.text for group in claim.axis_groups for slot in group]
            parts.append(
                [
                    claim.form,
                    claim.tight,
                    [e.code for e in claim.expressions],
                    [op.symbol for op in claim.operators],
                    names,
                ]
            )
    parts.append([sorted(settings.known_terms), sorted(settings.pages), sorted(settings.sources.items())])
    return _digest(json.dumps(parts, ensure_ascii=False))


@cache
def world() -> str:
    """The interpreter, the engine's own files, the versions of all distributions, the declared environment."""
    parts: list[object] = [sys.version, sys.platform]
    engine = Path(__file__).parent
    parts += [[str(file.relative_to(engine)), content(str(file))] for file in sorted(engine.rglob("*.py"))]
    for folder in sorted(set(filter(os.path.isdir, sys.path))):
        parts.append(sorted(name for name in os.listdir(folder) if name.endswith((".dist-info", ".egg-info", ".pth"))))
    return _digest(json.dumps(parts))


def content(path: str) -> str:
    """Digest of a file's bytes; "" if there is no such file."""
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return ""


def names_in(folder: str) -> str:
    """Digest of the names of modules in a folder: one more can shadow another; "" if there is no such folder."""
    try:
        names = sorted(name for name in os.listdir(folder) if not name.startswith((".", "__pycache__")))
    except OSError:
        return ""
    return _digest("\n".join(names))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def local(path: str, roots: Iterable[str]) -> bool:
    """Whether a file belongs to the project or to the folder of the command, and not to an installed package."""
    return any(path.startswith(root + os.sep) for root in roots) and not any(
        part in ("site-packages", "dist-packages", "__pycache__", ".cache", ".nox", ".venv")
        for part in Path(path).parts
    )


class Shelf:
    """The stored records of a project."""

    def __init__(self, root: Path) -> None:
        self.folder = root / FOLDER

    def _file(self, page: Page) -> Path:
        return self.folder / f"{_digest(page.path)}.pickle"

    def take(self, page: Page, settings: Settings) -> tuple[Reading | None, str]:
        """The record to use again, or None; and the reason, in a few words."""
        try:
            stored = pickle.loads(self._file(page).read_bytes())
        except FileNotFoundError:
            return None, "no record of this page"
        except Exception as error:  # a torn or foreign file: as good as none
            return None, f"the record cannot be read ({type(error).__name__})"
        if not isinstance(stored, Stored) or stored.world != world():
            return None, "the engine, Python or an installed package changed"
        if stored.program != program(page, settings):
            return None, "the page's own code or an expression changed"
        for path, digest in stored.files.items():
            if content(path) != digest:
                return None, f"{os.path.relpath(path, settings.root)} changed"
        for folder, digest in stored.folders.items():
            if names_in(folder) != digest:
                return None, f"files came or went in {os.path.relpath(folder, settings.root)}"
        return stored.reading, "nothing that it depends on changed"

    def put(self, page: Page, settings: Settings, reading: Reading, reached: Iterable[str]) -> None:
        """Keep the record of a page that ran without failure; written whole or not at all."""
        files = {path: content(path) for path in sorted(reached)}
        folders = {folder: names_in(folder) for folder in sorted({os.path.dirname(path) for path in files})}
        stored = Stored(program(page, settings), world(), files, folders, reading)
        self.folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=self.folder)
        try:
            with os.fdopen(handle, "wb") as file:
                pickle.dump(stored, file)
            os.replace(name, self._file(page))
        except BaseException:
            os.unlink(name)
            raise
