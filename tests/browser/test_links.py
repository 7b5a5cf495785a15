"""Every link of the built site leads somewhere: judged on the HTML that a reader gets, whatever wrote it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

RESOURCES = {"link": "href", "script": "src", "img": "src", "iframe": "src", "source": "src", "use": "href"}


@dataclass
class Document(HTMLParser):
    """Anchors, links and loaded resources of one HTML file."""

    anchors: set[str] = field(default_factory=set)
    twice: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    resources: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value for name, value in attrs if value is not None}
        if "id" in values:
            if values["id"] in self.anchors:
                self.twice.append(values["id"])
            self.anchors.add(values["id"])
        if tag == "a" and "name" in values:
            self.anchors.add(values["name"])
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif tag in RESOURCES and RESOURCES[tag] in values:
            self.resources.append(values[RESOURCES[tag]])


@cache
def parsed(file: Path) -> Document:
    document = Document()
    document.feed(file.read_text(encoding="utf-8"))
    document.close()
    return document


def test_every_link_lands(site: Path, path: str) -> None:
    here = site / path
    dead = []
    for link in parsed(here).links:
        parts = urlsplit(link)
        if parts.scheme in {"http", "https", "mailto"}:
            continue
        target = (here.parent / unquote(parts.path)).resolve() if parts.path else here
        target = target / "index.html" if target.is_dir() else target
        anchor = unquote(parts.fragment)
        if not target.is_file() or (anchor and target.suffix == ".html" and anchor not in parsed(target).anchors):
            dead.append(link)
    assert dead == []


def test_every_resource_is_the_sites_own(site: Path, path: str) -> None:
    here = site / path
    wrong = []
    for resource in parsed(here).resources:
        parts = urlsplit(resource)
        if parts.scheme == "data" or (parts.fragment and not parts.path):
            continue
        if parts.scheme or parts.netloc or not (here.parent / unquote(parts.path)).is_file():
            wrong.append(resource)
    assert wrong == []


def test_no_anchor_stands_twice(site: Path, path: str) -> None:
    # Line anchors of the sources on API pages start again with every object; nothing links to those.
    assert parsed(site / path).twice == []
