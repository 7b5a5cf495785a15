"""What an axis or a term means, on hover and on focus; the ways into and out of a page; the page on paper."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page

PAGE = "patchtst/04A-Layer3-EncoderLayer.html"
NOTATION = "notation.html"


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    context = chromium.new_context(viewport={"width": 1280, "height": 900}, locale="zh-CN")
    yield context.new_page()
    context.close()


def panel(element: Locator) -> str:
    """The text of the panel that is open at an element, "" if none is."""
    shown = element.evaluate("e => getComputedStyle(e, '::after').content")
    return "" if shown in ("none", "normal") else "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', shown.partition(" / ")[0]))


def described(element: Locator) -> str:
    """What a screen reader says beside the element itself."""
    return element.evaluate(
        "e => e.getAttribute('aria-describedby').split(' ').map(id => document.getElementById(id).textContent).join('')"
    )


def test_an_axis_in_a_sentence_says_what_it_means(page: Page, address: str) -> None:
    page.goto(f"{address}/{PAGE}")
    word = page.locator("article p > code.tsf-word", has_text=re.compile("^d_model$")).first
    assert panel(word) == ""
    word.hover()
    assert panel(word).startswith("d_model：模型宽度") and "16" in panel(word)
    page.mouse.move(0, 0)
    assert panel(word) == ""
    word.focus()
    assert panel(word) == described(word)


def test_a_term_is_reached_by_the_keyboard(page: Page, address: str) -> None:
    page.goto(f"{address}/{PAGE}")
    term = page.locator("article p > code.tsf-word", has_text=re.compile("^FFN$")).first
    before = term.evaluate_handle(
        "e => { const all = [...document.querySelectorAll('article [tabindex], article a[href], article summary')]"
        ".filter(x => x.offsetParent); return all[all.indexOf(e) - 1]; }"
    ).as_element()
    assert before is not None
    before.focus()
    page.keyboard.press("Tab")
    assert term.evaluate("e => e === document.activeElement")
    assert panel(term).startswith("前馈网络")


def test_the_axes_of_a_tensor_explain_themselves_together(page: Page, address: str) -> None:
    page.goto(f"{address}/{PAGE}")
    group = page.locator("td .tsf-axes[tabindex]").first
    group.focus()
    assert all(name in panel(group) for name in ("B：", "C：", "patch_num：", "d_model："))
    assert described(group).replace("\n", "") == panel(group).replace("\\a ", "").replace("\\n", "")
    summary = page.locator("summary:has(.tsf-axes)").first
    page.keyboard.press("Tab")
    summary.focus()
    assert "d_model：" in panel(summary.locator(".tsf-axes"))
    assert summary.locator("[tabindex]").count() == 0
    symbol = summary.locator(".tsf-ax").last
    symbol.hover()
    assert panel(symbol).startswith("d_model：")
    assert summary.locator(".tsf-axes").evaluate("e => getComputedStyle(e, '::after').display") == "none"


@pytest.mark.parametrize("width", [360, 1280])
def test_no_panel_leaves_the_screen(page: Page, address: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(f"{address}/{PAGE}")
    words = [
        word for word in page.locator("article :is(code.tsf-word, .tsf-axes[tabindex])").all() if word.is_visible()
    ]
    assert len(words) > 20
    for word in words:
        word.focus()
        assert panel(word)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_an_axis_has_one_colour_on_all_pages(page: Page, address: str, site: Path) -> None:
    colours: dict[str, set[str]] = {}
    for path in [NOTATION, *(p.relative_to(site).as_posix() for p in sorted(site.glob("*/0*.html")))]:
        page.goto(f"{address}/{path}")
        for name, colour in page.locator("article .tsf-ax[data-axis]").evaluate_all(
            "all => all.map(e => [e.textContent, getComputedStyle(e).borderBottomColor])"
        ):
            colours.setdefault(name, set()).add(colour)
    assert {"B", "C", "d_model", "patch_num", "seq_len"} <= set(colours)
    assert {name for name, found in colours.items() if len(found) > 1} == set()


def test_the_search_does_not_find_the_panels(site: Path) -> None:
    assert "PatchTST 的论文写作" not in (site / "search/search_index.json").read_text(encoding="utf-8")


def test_a_page_can_be_taken_along(page: Page, address: str) -> None:
    page.goto(f"{address}/{PAGE}")
    links = page.locator(".tsf-along a")
    assert [Path(link).suffix for link in links.evaluate_all("all => all.map(e => e.href)")] == [".ipynb", ".py"]
    with page.expect_download() as download:
        links.first.click()
    assert '"nbformat": 4' in Path(download.value.path()).read_text(encoding="utf-8")


def test_the_offline_copy_opens_from_disk_and_searches(page: Page, site: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(site / "tsformers-site.zip") as archive:
        archive.extractall(tmp_path)
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto((tmp_path / "tsformers-site/index.html").as_uri())
    assert page.locator("a[href$='.zip']").count() == 0
    box = page.locator("input[name=query]")
    box.click()
    box.fill("残差")
    box.press("Shift")
    page.locator(".md-search-result__item").first.wait_for(timeout=10_000)
    assert [url for url in requests if not url.startswith(("file:", "data:", "blob:"))] == []


def test_an_address_that_is_not_there(page: Page, address: str, site: Path) -> None:
    html = (site / "404.html").read_text(encoding="utf-8")
    page.route("**/deep/down/nothing.html", lambda route: route.fulfill(body=html, content_type="text/html"))
    page.goto(f"{address}/deep/down/nothing.html")
    assert page.locator("article h1").text_content() == "没有这一页"
    page.locator("article a", has_text="首页").click()
    page.wait_for_url(f"{address}/index.html")


def test_paper_shows_the_text_alone_with_everything_open(page: Page, address: str) -> None:
    page.goto(f"{address}/{PAGE}")
    page.emulate_media(media="print")
    for gone in (".md-header", ".md-sidebar", ".md-footer__inner", ".tsf-along"):
        assert page.locator(gone).first.is_hidden()
    answer = page.locator("details.note p:not(.admonition-title)").last
    assert answer.evaluate(
        "e => e.checkVisibility({contentVisibilityAuto: true}) && e.getBoundingClientRect().height > 0"
    )
    assert page.locator(".tsf-tree details > ul").first.is_hidden()
    assert page.pdf().startswith(b"%PDF")
