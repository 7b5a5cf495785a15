"""The built site, a server for it, and a browser: each is required, none is fetched."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).parents[2]
SITE = ROOT / "site"
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


@pytest.fixture(scope="session")
def site() -> Path:
    if not (SITE / "index.html").is_file():
        pytest.fail("there is no built site: run `nox -s docs` first", pytrace=False)
    return SITE


@pytest.fixture(scope="session")
def address(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the site is served on this machine, without a final slash: by nginx, as the container does it."""
    nginx = shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")
    if nginx is None:
        pytest.fail("no nginx on this machine: apt-get install nginx", pytrace=False)
    folder = tmp_path_factory.mktemp("nginx")
    folder.chmod(0o755)
    (folder / "temporary").mkdir()
    (folder / "site").symlink_to(site)
    headers = subprocess.run([sys.executable, ROOT / "deploy/headers.py", site], capture_output=True, check=True).stdout
    (folder / "headers.conf").write_bytes(headers)
    with socket.create_server(("127.0.0.1", 0)) as free:
        here = f"127.0.0.1:{free.getsockname()[1]}"
    configuration = (ROOT / "deploy/nginx.conf").read_text(encoding="utf-8")
    assert configuration.count("listen 8080;") == 1
    (folder / "nginx.conf").write_text(configuration.replace("listen 8080;", f"listen {here};"), encoding="utf-8")
    # As root nginx would give its worker another user, who need not be able to read the site.
    options = [
        "-e",
        "stderr",
        "-p",
        str(folder),
        "-c",
        str(folder / "nginx.conf"),
        "-g",
        "daemon off; master_process off;",
    ]
    with subprocess.Popen([nginx, *options], stderr=subprocess.PIPE, text=True) as server:
        deadline = time.monotonic() + 20
        while not (folder / "temporary/nginx.pid").exists():
            if server.poll() is not None or time.monotonic() > deadline:
                server.kill()
                pytest.fail(f"nginx did not start: {server.communicate()[1]}", pytrace=False)
            time.sleep(0.02)
        yield f"http://{here}"
        server.terminate()


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    path = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if path is None:
        pytest.fail("no Chromium on the PATH: apt-get install chromium fonts-noto-cjk", pytrace=False)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=QUIET)
        yield browser
        browser.close()
