"""The stepper and the panel of sizes as a reader uses them: keyboard, touch, links to a step, and without a script."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

PAGE = "patchtst/04A-Layer3-EncoderLayer.html"
LIMIT = 300_000  # bytes of a reading page


@dataclass
class Tab:
    page: Page
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    @property
    def player(self) -> Locator:
        return self.page.locator(".tsf-player").first

    def step(self) -> int:
        return int(self.player.get_by_label("第几步").input_value())

    def steps(self) -> int:
        return int(self.player.get_by_label("第几步").get_attribute("max") or 0)

    def size(self, name: str) -> Locator:
        return self.page.locator(f".tsf-sizes input[name={name}]")


def opened(context: BrowserContext, site: Path, fragment: str = "") -> Tab:
    """The page from the disk, as in the copy that a reader takes along."""
    tab = Tab(context.new_page())
    context.on("request", lambda request: tab.requests.append(request.url))
    context.on("console", lambda message: message.type == "error" and tab.errors.append(message.text))
    context.on("weberror", lambda error: tab.errors.append(str(error.error)))
    tab.page.goto((site / PAGE).as_uri() + fragment, wait_until="load")
    return tab


@pytest.fixture
def context(chromium: Browser) -> Iterator[BrowserContext]:
    made = chromium.new_context(viewport={"width": 1280, "height": 900}, locale="zh-CN", has_touch=True)
    yield made
    made.close()


@pytest.fixture
def tab(context: BrowserContext, site: Path) -> Iterator[Tab]:
    made = opened(context, site)
    yield made
    assert made.errors == []
    assert [url for url in made.requests if not url.startswith((site.as_uri(), "data:", "blob:"))] == []


def test_the_keyboard_steps(tab: Tab) -> None:
    tab.player.get_by_label("下一步").focus()
    for key, step in (("ArrowRight", 2), ("ArrowRight", 3), ("ArrowLeft", 2), ("End", tab.steps()), ("Home", 1)):
        tab.page.keyboard.press(key)
        assert tab.step() == step
    tab.page.keyboard.press("ArrowLeft")
    assert tab.step() == 1
    tab.player.get_by_label("第几步").focus()
    tab.page.keyboard.press("ArrowRight")
    assert tab.step() == 2
    assert tab.page.url.endswith("#s=2")


def test_a_finger_steps(tab: Tab) -> None:
    tab.player.get_by_label("下一步").tap()
    assert tab.step() == 2
    tab.player.get_by_label("上一步").tap()
    assert tab.step() == 1


def test_a_step_lights_its_line_and_shows_what_it_wrote(tab: Tab) -> None:
    for step in range(1, tab.steps() + 1):
        row = tab.page.locator(".tsf-steps tbody tr").nth(step - 1)
        line = row.get_attribute("data-line")
        expect(tab.page.locator(f"#L{line}")).to_have_attribute("aria-current", "step")
        expect(tab.player.locator(".tsf-now").first).to_have_attribute("data-n", line or "")
        written = row.locator("td").last.locator(".tsf-var > code").all_text_contents()
        assert tab.player.locator(".tsf-writes .tsf-var > code").all_text_contents() == written
        tab.player.get_by_label("下一步").press("ArrowRight")
    assert tab.player.locator(".tsf-writes table.tsf-matrix").count() == 1


def test_a_link_leads_to_a_step(context: BrowserContext, site: Path) -> None:
    tab = opened(context, site, "#s=5")
    assert tab.step() == 5
    expect(tab.player.locator(".tsf-bar")).to_be_in_viewport()
    expect(tab.page.locator(".tsf-steps").first).not_to_have_attribute("open", "")
    tab.page.mouse.wheel(0, 3000)  # reading on must not write another address over that of the step
    tab.page.wait_for_timeout(500)
    assert tab.page.url.endswith("#s=5")
    tab.page.evaluate("location.hash = '#s=3'")
    expect(tab.player.get_by_label("第几步")).to_have_value("3")
    tab.page.evaluate("location.hash = '#s=999'")
    assert tab.step() == 3
    assert tab.errors == []


def moved(tab: Tab, axes: str) -> set[str]:
    """What the shapes with these axes have become."""
    return set(tab.page.locator(f'[data-axes="{axes}"] > .tsf-new').all_text_contents())


def test_a_moved_size_moves_every_shape_that_names_it(tab: Tab) -> None:
    tab.page.locator(".tsf-sizes > summary").click()
    assert moved(tab, "B*C, patch_num, d_model") == set()
    tab.size("seq_len").focus()
    for _ in range(3):
        tab.page.keyboard.press("ArrowUp")
    assert moved(tab, "B*C, patch_num, d_model") == {" ⇒ (8, 7, 16)"}
    places = tab.page.locator('[data-axes="B*C, patch_num, d_model"]')
    assert places.count() == tab.page.locator('[data-axes="B*C, patch_num, d_model"] > .tsf-new').count() > 20
    kinds = places.evaluate_all("all => all.map(e => e.closest('table, .tsf-chips, .tsf-pipeline, p')?.className)")
    assert {"tsf-table", "tsf-chips", "tsf-pipeline"} <= set(kinds)
    assert tab.page.locator("code.claim > .tsf-new").count() > 0
    expect(tab.page.locator(".tsf-said")).to_have_text("seq_len 17 ⇒ 20")
    tab.player.get_by_label("下一步").click()  # a step shown later follows too
    assert tab.player.locator(".tsf-new").count() > 0
    tab.page.get_by_role("button", name="恢复本例").click()
    assert tab.page.locator(".tsf-new").count() == 0
    assert tab.size("seq_len").input_value() == "17"


def test_an_impossible_choice_says_the_conditions_own_message(tab: Tab) -> None:
    tab.page.locator(".tsf-sizes > summary").click()
    said = tab.page.locator(".tsf-said")
    tab.size("n_heads").fill("3")
    expect(said).to_have_text("这组尺寸不成立：d_model 必须能被 n_heads 整除")
    assert tab.page.locator(".tsf-new").count() == 0
    tab.size("n_heads").fill("")
    expect(said).to_have_text("这组尺寸不成立：n_heads 要写成正整数")
    tab.size("n_heads").fill("4")
    expect(said).to_have_text("n_heads 2 ⇒ 4")
    tab.page.get_by_label("n_heads 加一").click()
    assert tab.size("n_heads").input_value() == "5"
    assert "不成立" in (said.text_content() or "")


def test_the_state_of_the_panel_is_not_kept(tab: Tab) -> None:
    tab.page.locator(".tsf-sizes > summary").click()
    tab.size("d_model").fill("32")
    assert tab.page.locator(".tsf-new").count() > 0
    tab.page.reload()
    assert tab.page.locator(".tsf-new").count() == 0
    assert tab.size("d_model").input_value() == "16"


def test_without_a_script_the_steps_are_a_table(chromium: Browser, site: Path) -> None:
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((site / PAGE).as_uri())
    expect(page.locator(".tsf-player")).to_have_count(0)
    expect(page.locator(".tsf-sizes")).to_be_hidden()
    table = page.locator(".tsf-steps table").first
    expect(table).to_be_hidden()
    page.locator(".tsf-steps > summary").first.click()
    expect(table).to_be_visible()
    expect(table.locator("tbody tr").first).to_contain_text(re.compile("进入.*forward"))
    context.close()


def test_paper_has_neither(tab: Tab) -> None:
    tab.page.emulate_media(media="print")
    for part in (".tsf-stepper", ".tsf-sizes"):
        expect(tab.page.locator(part).first).to_be_hidden()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_no_step_and_no_panel_is_wider_than_the_screen(chromium: Browser, site: Path, scheme: str, width: int) -> None:
    context = chromium.new_context(viewport={"width": width, "height": 740}, color_scheme=scheme)
    tab = opened(context, site)
    tab.page.locator(".tsf-sizes > summary").click()
    for _ in range(tab.steps()):
        assert tab.page.evaluate("document.documentElement.scrollWidth") <= width
        tab.player.get_by_label("下一步").press("ArrowRight")
    context.close()


def test_search_does_not_find_the_table_of_steps(site: Path) -> None:
    index = (site / "search/search_index.json").read_text(encoding="utf-8")
    assert "列成一张表" not in index and "换一组尺寸" not in index


def test_a_reading_page_is_light(site: Path, path: str) -> None:
    html = (site / path).read_bytes()
    if b'class="tsf-stepper"' in html:
        assert len(html) < LIMIT
