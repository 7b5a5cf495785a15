"""What axe-core, which others wrote, finds wrong for readers who do not see, or do not see well: nothing serious."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

# One page of each kind: home, tables of the whole site, reading pages (one that reads several functions, one that
# reads none), reference, and the page that stands for what is not there.
KINDS = (
    "index.html",
    "status.html",
    "notation.html",
    "patchtst/04C-Layer5-FullAttention.html",
    "patchtst/05-五个任务的分支.html",
    "patchtst/06-常见误读与可执行证明.html",
    "api/layers/encoder.html",
    "404.html",
)
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]


@pytest.fixture(scope="session")
def axe() -> str:
    path = Path(os.environ.get("AXE", ""))
    if not path.is_file():
        pytest.fail("AXE names no file: run `nox -s browser`, which gets axe-core from npm", pytrace=False)
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_serious(chromium: Browser, address: str, axe: str, kind: str, scheme: Any) -> None:
    page = chromium.new_page(color_scheme=scheme, locale="zh-CN", viewport={"width": 1280, "height": 900})
    page.goto(f"{address}/{kind}", wait_until="load")
    page.evaluate(axe)
    found = page.evaluate("rules => axe.run(document, {resultTypes: ['violations'], runOnly: rules})", RULES)
    serious = {
        violation["id"]: [node["html"][:160] for node in violation["nodes"][:3]]
        for violation in found["violations"]
        if violation["impact"] in ("serious", "critical")
    }
    page.close()
    assert serious == {}
    assert found["passes"], "axe looked at nothing"
