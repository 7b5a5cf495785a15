"""What the container's nginx sends: headers that hold a page to its own scripts, small answers, right life times."""

from __future__ import annotations

import gzip
import urllib.error
import urllib.request
from email.message import Message
from pathlib import Path

import pytest
from playwright.sync_api import Browser


def ask(address: str, method: str = "GET", **headers: str) -> tuple[int, Message, bytes]:
    request = urllib.request.Request(address, method=method, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read()


@pytest.mark.parametrize("file", ["", "index.html", "assets/site.css", "search/search_index.json", "none.html"])
def test_every_answer_has_the_headers(address: str, file: str) -> None:
    status, headers, _ = ask(f"{address}/{file}")
    assert status == (404 if file == "none.html" else 200)
    policy = dict(part.split(" ", 1) for part in headers["Content-Security-Policy"].split("; "))
    assert policy["default-src"] == "'none'" and policy["frame-ancestors"] == "'none'"
    assert "unsafe" not in policy["script-src"] and "http" not in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff" and headers["Referrer-Policy"]
    assert headers["Server"] == "nginx"
    assert "charset=utf-8" in headers["Content-Type"]


def test_what_does_not_exist_is_said_by_the_page_for_it(address: str, site: Path) -> None:
    status, headers, body = ask(f"{address}/none.html")
    assert (status, body) == (404, (site / "404.html").read_bytes())


def test_nothing_is_written(address: str) -> None:
    assert [ask(f"{address}/index.html", method)[0] for method in ("POST", "PUT", "DELETE", "HEAD")] == [403] * 3 + [
        200
    ]


def test_texts_are_compressed(address: str, site: Path) -> None:
    for path in ("index.html", "assets/reading.css", "search/search_index.json"):
        _, headers, body = ask(f"{address}/{path}", **{"Accept-Encoding": "gzip"})
        assert headers["Content-Encoding"] == "gzip" and "Accept-Encoding" in headers["Vary"], path
        assert gzip.decompress(body) == (site / path).read_bytes()
        assert len(body) < (site / path).stat().st_size / 2, path


def test_only_what_is_named_by_its_content_is_kept(address: str, site: Path) -> None:
    (bundle,) = (site / "assets/javascripts").glob("bundle.*.min.js")
    assert "immutable" in ask(f"{address}/assets/javascripts/{bundle.name}")[1]["Cache-Control"]
    for path in ("index.html", "assets/site.css", "search/search_index.json"):
        _, headers, _ = ask(f"{address}/{path}")
        assert headers["Cache-Control"] == "no-cache", path
        assert ask(f"{address}/{path}", **{"If-None-Match": headers["ETag"]})[0] == 304


def test_a_script_that_came_in_from_outside_does_not_run(chromium: Browser, address: str) -> None:
    page = chromium.new_page()
    refused: list[str] = []
    page.on("console", lambda message: refused.append(message.text))
    page.goto(address)
    page.evaluate(
        """() => {
            const script = document.createElement("script");
            script.textContent = "window.stranger = 1";
            document.body.append(script);
            document.body.insertAdjacentHTML("beforeend", "<img src=none onerror='window.stranger = 2'>");
        }"""
    )
    page.wait_for_load_state("networkidle")
    assert page.evaluate("window.stranger") is None
    assert sum("Content Security Policy" in text for text in refused) == 2
    page.close()
