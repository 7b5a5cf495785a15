"""Links of the built site, judged on its HTML: what stays on the site must exist, with its identifier."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


@dataclass(frozen=True, slots=True)
class Dead:
    """An address on a built page that leads nowhere; ``target`` is the file meant, ``anchor`` is "" where that is
    what is missing."""

    page: str
    address: str
    target: str
    anchor: str


@dataclass
class _Html(HTMLParser):
    """The addresses and identifiers of one page."""

    addresses: list[str] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value is None:
                continue
            if name == "id" or (name == "name" and tag == "a"):
                self.ids.add(value)
            elif name in ("href", "src", "xlink:href") and tag != "base":
                self.addresses.append(value)


def dead_links(site: Path, pages: Sequence[str], base: str = "/") -> list[Dead]:
    """The dead links of ``pages``, HTML files relative to the folder ``site``.

    ``base`` is the path under which the site is served: an address that begins with ``/`` counts from there.
    """
    read: dict[str, _Html] = {}

    def html(name: str) -> _Html:
        if name not in read:
            read[name] = _Html()
            read[name].feed((site / name).read_text(encoding="utf-8"))
        return read[name]

    found = []
    for page in pages:
        for address in dict.fromkeys(html(page).addresses):
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
