"""Print nginx's lines with the security headers for a built site: ``python deploy/headers.py site``.

The inline scripts of the theme are allowed by their hashes, so that no other one runs. They are few and differ only
by how deep a page lies. Inline styles are allowed as they are: the alignment of a table's columns, the shade of a
matrix's cell and the colours of a diagram are style attributes, and no hash covers those.
"""

from __future__ import annotations

import base64
import hashlib
import sys
from html.parser import HTMLParser
from pathlib import Path

DATA = ("application/json", "application/ld+json")  # never run, so no policy touches them


class Inline(HTMLParser):
    """Collects the scripts that stand in a page, and refuses what a hash cannot allow."""

    def __init__(self) -> None:
        super().__init__()
        self.scripts: set[str] = set()
        self.handlers: list[str] = []
        self.script: list[str] | None = None

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        self.handlers += [f"{tag} {name}" for name in given if name.startswith("on")]
        self.handlers += [f"{tag} {name}" for name, value in given.items() if (value or "").startswith("javascript:")]
        if tag == "script" and "src" not in given and given.get("type") not in DATA:
            self.script = []

    def handle_data(self, data: str) -> None:
        if self.script is not None:
            self.script.append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag == "script" and self.script is not None:
            self.scripts.add("".join(self.script))
            self.script = None


def hashes(site: Path) -> list[str]:
    """The hashes of all inline scripts of a site.

    Raises:
        ValueError: there is no page, or one has an event handler in an attribute.
    """
    found: set[str] = set()
    pages = sorted(site.rglob("*.html"))
    if not pages:
        raise ValueError(f"{site}: no page (*.html)")
    for page in pages:
        inline = Inline()
        inline.feed(page.read_text(encoding="utf-8"))
        if inline.handlers:
            raise ValueError(f"{page}: a script in an attribute ({inline.handlers[0]}) cannot be allowed by a hash")
        found |= inline.scripts
    digests = (hashlib.sha256(script.encode()).digest() for script in found)
    return sorted(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)


def headers(site: Path) -> dict[str, str]:
    policy = {
        "default-src": "'none'",
        "script-src": " ".join(["'self'", *hashes(site)]),
        "style-src": "'self' 'unsafe-inline'",
        "img-src": "'self' data:",  # the theme's icons are masks in its style sheet
        "font-src": "'self'",
        "connect-src": "'self'",  # the search's index
        "worker-src": "'self'",  # the search
        "manifest-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }
    return {
        "Content-Security-Policy": "; ".join(f"{name} {value}" for name, value in policy.items()),
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "strict-origin-when-cross-origin",
        "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
    }


def main(arguments: list[str]) -> int:
    try:
        (site,) = arguments
        lines = [f'add_header {name} "{value}" always;' for name, value in headers(Path(site)).items()]
    except ValueError as error:
        print(f"usage: python deploy/headers.py SITE ({error})", file=sys.stderr)
        return 2
    print(*lines, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
