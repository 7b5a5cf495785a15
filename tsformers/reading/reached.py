"""What a run reached outside its page, and fingerprints of it: equal fingerprints mean that the run would see the same.

A page's process takes each fingerprint at the moment it reaches the thing, so that a change during the run is a change.
"""

from __future__ import annotations

import hashlib
import os
import site
import stat
import sysconfig
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from importlib.machinery import all_suffixes
from pathlib import Path

ENGINE = str(Path(__file__).resolve().parent)
UNSTABLE = ("/proc", "/sys", "/dev")
OURS = ".cache"  # the folder in which records are kept
look = os.stat  # a page's process puts a function of its own in the place of os.stat


@dataclass
class Reached:
    """Absolute paths with their fingerprints: ``files`` opened, ``probed`` by a stat, folders listed for a module
    (``searched``) or by the page's own code (``listed``)."""

    files: dict[str, str] = field(default_factory=dict)
    probed: dict[str, str] = field(default_factory=dict)
    searched: dict[str, str] = field(default_factory=dict)
    listed: dict[str, str] = field(default_factory=dict)


@cache
def installed() -> tuple[str, ...]:
    """The folders of the standard library and of installed packages, which are known by their versions."""
    paths = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    paths |= {*site.getsitepackages(), site.getusersitepackages(), os.path.dirname(os.__file__)}
    return tuple(sorted({form for path in paths for form in (os.path.abspath(path), os.path.realpath(path))}))


@cache
def _known() -> tuple[str, ...]:
    return tuple(folder.rstrip(os.sep) + os.sep for folder in (*UNSTABLE, *installed(), ENGINE))


def inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def tracked(path: str) -> bool:
    """Whether an absolute path is the project's or the machine's own, hence known by its content alone."""
    return not (path + os.sep).startswith(_known()) and not {"site-packages", "dist-packages", OURS} & set(
        path.split(os.sep)
    )


def local(path: str, roots: Iterable[str]) -> bool:
    """Whether a file belongs to one of the folders ``roots`` and to no installed package."""
    return tracked(path) and any(inside(path, root) for root in roots)


def content(path: str) -> str:
    """Fingerprint of what reading the path gives: the digest of a file's bytes, "" where there is none to read."""
    try:
        if not stat.S_ISREG(look(path).st_mode):
            return standing(path)  # reading a pipe would wait for ever
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def standing(path: str) -> str:
    """Fingerprint of what a stat tells: whether it is there, as what, and of a file its size and time."""
    try:
        found = look(path)
    except (OSError, ValueError):
        return ""
    if stat.S_ISREG(found.st_mode):
        return f"file {found.st_size} {found.st_mtime_ns}"
    return "folder" if stat.S_ISDIR(found.st_mode) else "other"


def modules(folder: str) -> str:
    """Fingerprint of the names in a folder that an import can find: one more may shadow another."""
    suffixes = tuple(all_suffixes())
    return _names(
        name
        for name in _entries(folder)
        if name.endswith(suffixes) or "." not in name or name.endswith((".dist-info", ".egg-info"))
    )


def names(folder: str) -> str:
    """Fingerprint of all names in a folder."""
    return _names(_entries(folder))


def _entries(folder: str) -> list[str]:
    try:
        return sorted(name for name in os.listdir(folder) if name not in (OURS, "__pycache__"))
    except OSError:
        return []


def _names(found: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(found).encode("utf-8", "surrogateescape")).hexdigest()
