"""Records of pages, kept between runs and used again when nothing that could change them has changed.

A record says what a page's program computed. Whether the page's claims agree with it is judged anew each time, unless
the text is, to the letter, the one that was found right with this record.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import pickle
import platform
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from tsformers.reading import reached as reaching
from tsformers.reading import record
from tsformers.reading.claims import ClaimError, parse
from tsformers.reading.page import Page, Span
from tsformers.reading.reached import OURS, Reached, installed
from tsformers.reading.record import Reading
from tsformers.reading.settings import PINNED, SET_BY_TORCH, Settings

FOLDER = Path(OURS) / "reading"
# Variables that the interpreter, the loader and torch read as they start, before a page's environment is set.
EARLY = ("PYTHON", "LD_", "DYLD_", "MALLOC_", "GLIBC_", "OMP_", "KMP_", "MKL_", "OPENBLAS", "NPY_", "TORCH", "PYTORCH",
         "ATEN_", "DNNL_", "ONEDNN_")  # fmt: skip
DISTRIBUTION = re.compile(r"(?P<name>.+?)(?:-[^-]*)?\.(?:dist-info|egg-info|egg-link|pth)")


@dataclass(frozen=True)
class Stored:
    """A record, the program that it is of, and what that reached; ``spans``: the text of each by its step; ``right``:
    fingerprint of the text that was found right, "" if it was not."""

    program: str
    spans: dict[int, str]
    world: dict[str, str]
    reached: Reached
    reading: Reading
    right: str


def program(page: Page, settings: Settings) -> str:
    """Fingerprint of what decides the outcome of running a page: front matter, blocks, expressions, other spans.

    Prose and the literals of claims are not in it. The lines of blocks are, since a block can print its own.
    """
    limits = [settings.time_limit, settings.memory_limit, settings.output_limit]
    parts: list[object] = [page.path, str(settings.root), page.text[: page.front.end], limits]
    parts.append(sorted(settings.sources.items()))
    for step in page.steps:
        if isinstance(step, Span):
            parts.append(_span(step.text, settings))
        else:
            options = sorted(step.options.items())
            parts.append([step.kind, step.language, options, step.code, step.code_line if step.runs else 0])
    return _digest(json.dumps(parts, ensure_ascii=False))


def judged(page: Page, settings: Settings) -> str:
    """Fingerprint of what, with the record, decides whether a page is right: its text, links apart, and the settings."""
    told = {name: sorted(value) if isinstance(value, frozenset) else value for name, value in vars(settings).items()}
    return _digest(json.dumps([page.text, told], ensure_ascii=False, default=str, sort_keys=True))


def _span(text: str, settings: Settings) -> object:
    known = [text in settings.pages, text in settings.known_terms]
    try:
        claim = parse(text)
    except ClaimError:
        claim = None
    if claim is None:
        return [text, *known]
    names = [slot.text for group in claim.axis_groups for slot in group]
    sized = any(slot.is_integer for slot in claim.slots)
    expressions = [expression.text for expression in claim.expressions]
    return [claim.form, claim.tight, sized, expressions, [op.symbol for op in claim.operators], names, *known]


def at_start() -> None:
    """Note the interpreter, the engine and what is installed, before a process is started that holds them."""
    _first()


@cache
def _first() -> dict[str, str]:
    return fixed()


def fixed() -> dict[str, str]:
    """What is the same for all pages, as it lies on disk now: name -> fingerprint."""
    engine = Path(reaching.ENGINE)
    files = sorted([*engine.rglob("*.py"), engine.parent / "axes.py"])  # the one module outside that the engine imports
    digests = [[file.name, reaching.content(str(file))] for file in files]
    told = {name: value for name, value in os.environ.items() if name not in PINNED and name not in SET_BY_TORCH}
    early = {name: value for name, value in told.items() if name.startswith(EARLY)}
    return {
        "Python": json.dumps([sys.version, sys.executable, sys.flags, sys.platform, platform.machine()]),
        "the checker": _digest(json.dumps(digests)),
        **{f"the environment variable {name}": value for name, value in early.items()},
        **distributions(installed()),
    }


def distributions(folders: Iterable[str]) -> dict[str, str]:
    """The distributions in ``folders``: "the package NAME" -> version and time of its installation."""
    found: dict[str, str] = {}
    for folder in folders:
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError:
            continue  # a folder of the path that is not there, or an archive
        for entry in entries:
            match = DISTRIBUTION.fullmatch(entry.name)
            if match is not None:
                key = f"the package {match['name']}"
                found[key] = f"{found.get(key, '')}{entry.path} {entry.stat().st_mtime_ns}\n"
    return found


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class _Unpickler(pickle.Unpickler):
    """Reads our own records and nothing that could run."""

    def find_class(self, module: str, name: str) -> Any:
        if module in (record.__name__, reaching.__name__, __name__):
            found = getattr(sys.modules[module], name)
            if isinstance(found, type) and found.__module__ == module:
                return found
        raise pickle.UnpicklingError(f"{module}.{name} is no part of a record")


def write(stored: Stored) -> bytes:
    """A record as bytes, their digest first."""
    data = pickle.dumps(stored)
    return hashlib.sha256(data).digest() + data


def read(data: bytes) -> Stored | None:
    """The record in ``data``; None if it is torn, of another version of the checker, or nothing of ours."""
    digest, data = data[:32], data[32:]
    if hashlib.sha256(data).digest() != digest:
        return None
    try:
        stored = _Unpickler(io.BytesIO(data)).load()
    except (pickle.UnpicklingError, AttributeError, TypeError, ValueError, EOFError, IndexError, KeyError):
        return None
    return stored if isinstance(stored, Stored) else None


@dataclass
class Shelf:
    """The stored records, for one run of the checker over some pages: what is on disk is looked at once.

    ``path`` is the path of modules of the pages' processes.
    """

    path: Sequence[str]
    known: dict[tuple[str, str], str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.fixed = fixed()
        self.stale = [name for name in {*self.fixed, *_first()} if self.fixed.get(name) != _first().get(name)]
        local = [folder for folder in self.path if reaching.tracked(os.path.abspath(folder))]
        self.world = {**self.fixed, **distributions(local), "the path of modules": json.dumps([*self.path])}

    def take(self, page: Page, settings: Settings, environment: Mapping[str, str]) -> tuple[Stored | None, str]:
        """What is stored, if its record is to be used again, or None; and the reason, in a few words."""
        if not in_project(settings):
            return None, "no pyproject.toml above the page, so no place for records"
        if page.look:
            return None, "asked to look at a place"
        if self.stale:
            return None, f"{self.stale[0]} changed while the checker runs"
        try:
            data = file_of(page, settings).read_bytes()
        except FileNotFoundError:
            return None, "no record of a run without failures"
        except OSError as error:
            return None, f"the record cannot be read: {error.strerror}"
        stored = read(data)
        if stored is None:
            return None, "the record cannot be used"
        reason = self._changed(stored, page, settings, environment)
        return (None, reason) if reason else (stored, "nothing that it depends on changed")

    def _changed(self, stored: Stored, page: Page, settings: Settings, environment: Mapping[str, str]) -> str:
        world = self._world(environment)
        for name in sorted({*world, *stored.world}):
            if world.get(name) != stored.world.get(name):
                return f"{name} changed"
        if stored.program != program(page, settings):
            return "the page's own code, an expression or its front matter changed"
        for index, text in stored.spans.items():
            step = page.steps[index]
            if isinstance(step, Span) and step.text != text and stored.reading.evidence[index].kind != "claim":
                return f"`{step.text}` changed"  # source text by its looks, say, of which the literal is a part
        found = stored.reached
        checks: list[tuple[dict[str, str], Callable[[str], str], str]] = [
            (found.files, reaching.content, "{} changed"),
            (found.probed, reaching.standing, "{} changed"),
            (found.searched, reaching.modules, "modules came or went in {}"),
            (found.listed, reaching.names, "files came or went in {}"),
        ]
        for paths, fingerprint, reason in checks:
            for path, before in paths.items():
                if self._now(path, fingerprint) != before:
                    return reason.format(os.path.relpath(path, settings.root))
        return ""

    def _now(self, path: str, fingerprint: Callable[[str], str]) -> str:
        key = (fingerprint.__name__, path)
        if key not in self.known:
            self.known[key] = fingerprint(path)
        return self.known[key]

    def _world(self, environment: Mapping[str, str]) -> dict[str, str]:
        return {**self.world, **{f"the environment variable {name}": value for name, value in environment.items()}}

    def put(
        self,
        page: Page,
        settings: Settings,
        environment: Mapping[str, str],
        reading: Reading,
        reached: Reached,
        *,
        right: bool,
    ) -> None:
        """Keep the record of a page that ran without failure; written whole or not at all.

        ``right``: nothing at all is wrong with the page.

        Raises:
            OSError: the folder of records cannot be written.
        """
        if not in_project(settings) or page.look or self.stale or not keepable(page, reading):
            return
        spans = {index: step.text for index, step in enumerate(page.steps) if isinstance(step, Span)}
        verdict = judged(page, settings) if right else ""
        stored = Stored(program(page, settings), spans, self._world(environment), reached, reading, verdict)
        file = file_of(page, settings)
        file.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=file.parent)
        try:
            with os.fdopen(handle, "wb") as out:
                out.write(write(stored))
            os.replace(name, file)
        except BaseException:
            os.unlink(name)
            raise


def in_project(settings: Settings) -> bool:
    return (settings.root / "pyproject.toml").is_file()


def file_of(page: Page, settings: Settings) -> Path:
    return settings.root / FOLDER / f"{_digest(page.path)[:32]}.record"


def keepable(page: Page, reading: Reading) -> bool:
    """Whether a record holds no failure: an expression without a value is one, which the next run tries again."""
    return not any(
        evidence.problem or evidence.kind == "unknown" or (evidence.kind == "none" and page.front.reading)
        for evidence in reading.evidence.values()
    )
