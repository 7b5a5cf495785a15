"""The built site, a server for it, and a browser: each is required, none is fetched."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

SITE = Path(__file__).parents[2] / "site"
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
# No phoning home: a request to another host must come from a page, so that a test can blame the page for it.
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--no-pings"]


def pages() -> list[str]:
    """Every page of the site, relative to it; the index alone where nothing is built, so that its tests fail."""
    found = [path.relative_to(SITE).as_posix() for path in SITE.rglob("*.html") if path.name != "404.html"]
    return sorted(found) or ["index.html"]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that takes ``path`` runs once a page."""
    if "path" in metafunc.fixturenames:
        metafunc.parametrize("path", pages())


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """The requests are of no interest: what goes wrong is seen by the page."""


@pytest.fixture(scope="session")
def site() -> Path:
    if not (SITE / "index.html").is_file():
        pytest.fail("there is no built site: run `nox -s docs` first", pytrace=False)
    return SITE


@pytest.fixture(scope="session")
def address(site: Path) -> Iterator[str]:
    """Where the site is served on this machine, without a final slash."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    path = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if path is None:
        pytest.fail("no Chromium on the PATH: apt-get install chromium fonts-noto-cjk", pytrace=False)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=QUIET)
        yield browser
        browser.close()
