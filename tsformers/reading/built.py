"""Links of the built site, judged on its HTML: what stays on the site must exist, with its identifier."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

from selectolax.lexbor import LexborHTMLParser


@dataclass(frozen=True, slots=True)
class Dead:
    """An address on a built page that leads nowhere; ``target`` is the file meant, ``anchor`` is "" where that is
    what is missing."""

    page: str
    address: str
    target: str
    anchor: str


@dataclass(frozen=True, slots=True)
class _Html:
    """The addresses and identifiers of one page."""

    addresses: tuple[str, ...]
    ids: frozenset[str]


@lru_cache(maxsize=4096)  # by the time of change: a preview looks at the same pages again and again
def _read(file: Path, changed: int) -> _Html:
    tree = LexborHTMLParser(file.read_text(encoding="utf-8"))
    ids = [node.attributes.get(key) for key, nodes in (("id", "[id]"), ("name", "a[name]")) for node in tree.css(nodes)]
    addresses = [
        address
        for node in tree.css("[href], [src], [xlink\\:href]")
        if node.tag != "base"
        for name in ("href", "src", "xlink:href")
        if (address := node.attributes.get(name)) is not None
    ]
    return _Html(tuple(dict.fromkeys(addresses)), frozenset(filter(None, ids)))


def dead_links(site: Path, pages: Sequence[str], base: str = "/") -> list[Dead]:
    """The dead links of ``pages``, HTML files relative to the folder ``site``.

    ``base`` is the path under which the site is served: an address that begins with ``/`` counts from there.
    """

    def html(name: str) -> _Html:
        return _read(site / name, (site / name).stat().st_mtime_ns)

    found = []
    for page in pages:
        for address in html(page).addresses:
            url = urlsplit(address)
            if url.scheme or url.netloc:
                continue
            path, anchor = unquote(url.path), unquote(url.fragment)
            target = _target(site, page, path, base)
            if not (site / target).is_file():
                found.append(Dead(page, address, target, ""))
            elif anchor and target.endswith(".html") and anchor not in html(target).ids:
                found.append(Dead(page, address, target, anchor))
    return found


def _target(site: Path, page: str, path: str, base: str) -> str:
    """The file of the site that a path on ``page`` means."""
    if not path:
        return page
    if path.startswith("/"):
        inside = posixpath.normpath(path.removeprefix(base.rstrip("/")).lstrip("/") or ".")
    else:
        inside = posixpath.normpath(posixpath.join(posixpath.dirname(page), path))
    return posixpath.join(inside, "index.html") if path.endswith("/") or (site / inside).is_dir() else inside
