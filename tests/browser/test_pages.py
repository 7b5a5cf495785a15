"""The built site in a real browser: nothing breaks, nothing comes from elsewhere, a reader finds what is there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

PHONE = {"width": 360, "height": 740}
DESKTOP = {"width": 1280, "height": 900}
WORDS = ("残差", "注意力", "编码器")


@dataclass
class Visit:
    """One tab, and what went wrong or out of it."""

    page: Page
    requests: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def open(self, address: str) -> None:
        self.page.goto(address, wait_until="load")

    def outside(self, *inside: str) -> list[str]:
        return [url for url in self.requests if not url.startswith((*inside, "data:", "blob:", "about:"))]


@pytest.fixture
def visit(chromium: Browser) -> Iterator[Visit]:
    context = chromium.new_context(viewport=DESKTOP, color_scheme="light", locale="zh-CN")
    seen = Visit(context.new_page())
    context.on("request", lambda request: seen.requests.append(request.url))
    context.on("requestfailed", lambda request: seen.errors.append(f"{request.url}: {request.failure}"))
    context.on("console", lambda message: message.type == "error" and seen.errors.append(message.text))
    context.on("weberror", lambda error: seen.errors.append(str(error.error)))
    yield seen
    context.close()


def test_a_page_opens_clean(visit: Visit, address: str, path: str) -> None:
    visit.open(f"{address}/{path}")
    visit.page.wait_for_load_state("networkidle")
    assert visit.errors == []
    assert visit.outside(f"{address}/") == []
    assert visit.page.get_attribute("html", "lang") == "zh"
    assert visit.page.locator("article h1").count() == 1


def test_a_page_fits_a_phone(visit: Visit, address: str, path: str) -> None:
    visit.page.set_viewport_size(PHONE)
    visit.open(f"{address}/{path}")
    too_wide = visit.page.evaluate(
        """width => [...document.querySelectorAll("article *")].filter(element => {
            if (element.getBoundingClientRect().right <= width + 1) return false;
            for (let e = element; e && e.tagName !== "ARTICLE"; e = e.parentElement)
                if (["auto", "scroll", "hidden", "clip"].includes(getComputedStyle(e).overflowX)) return false;
            return true;
        }).map(element => element.outerHTML.slice(0, 160))""",
        PHONE["width"],
    )
    assert too_wide == []
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def holding(site: Path, word: str) -> set[str]:
    """Pages whose text has ``word``, from the index that the search itself uses."""
    index = json.loads((site / "search/search_index.json").read_text(encoding="utf-8"))
    found = (doc["location"] for doc in index["docs"] if word in (doc["title"] + doc["text"]).replace("\u200b", ""))
    return {location.partition("#")[0] or "index.html" for location in found}


def search(visit: Visit, word: str) -> list[str]:
    """Addresses of the pages that the search box offers for ``word``, the best first."""
    box = visit.page.locator("input[name=query]")
    box.click()
    box.fill(word)
    box.press("Shift")  # the search listens to keys, which an input method sends and `fill` does not
    results = visit.page.locator(".md-search-result__item > a.md-search-result__link")
    results.first.wait_for(timeout=10_000)
    links: list[str] = results.evaluate_all("links => links.map(link => link.href)")
    return [link.partition("?")[0].partition("#")[0] for link in links]


@pytest.mark.parametrize("word", WORDS)
def test_a_word_in_the_middle_of_a_text_is_found(visit: Visit, site: Path, address: str, word: str) -> None:
    visit.open(f"{address}/index.html")
    offered = [url.removeprefix(f"{address}/") or "index.html" for url in search(visit, word)]
    assert offered[0] in holding(site, word)
    assert visit.errors == []


def test_a_copy_on_disk_opens_and_searches(visit: Visit, site: Path) -> None:
    visit.open((site / "index.html").as_uri())
    assert search(visit, WORDS[0])
    assert visit.errors == []
    assert visit.outside(site.as_uri()) == []


def test_both_colour_schemes(visit: Visit, address: str) -> None:
    visit.open(f"{address}/index.html")
    schemes = set()
    for _ in range(3):
        schemes.add(visit.page.get_attribute("body", "data-md-color-scheme"))
        visit.page.locator("form[data-md-component=palette] label:visible").click()
    assert schemes == {"default", "slate"}
