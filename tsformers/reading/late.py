"""Fragments of a page that are put in after the search has read it, which gets their text instead of their HTML.

Nine tenths of a page's HTML are derived parts; the search goes through HTML tag by tag.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape

from selectolax.lexbor import LexborHTMLParser

_PLACE = re.compile(r'<div data-late="([^"]+)">.*?</div>', re.DOTALL)
_TAG = re.compile(r"<\w[^<>]*>")
_FOR_SEARCH = re.compile(r'\s?data-search-\w+="[^"]*"')  # as the search takes it out of what it has read


class Lost(LookupError):
    """A fragment has no place on the page, or a place no fragment."""


def place(key: str, html: str) -> str:
    """What stands for a fragment meanwhile."""
    return f'<div data-late="{escape(key)}">{searched(html)}</div>'


def searched(html: str) -> str:
    """What the search is to find of a fragment: its text, the code apart, without what is excluded."""
    tree = LexborHTMLParser(html)
    for excluded in tree.css("[data-search-exclude]"):
        excluded.decompose()
    codes = []
    for code in tree.css("pre"):
        codes.append(f"<pre><code>{escape(code.text(), quote=False)}</code></pre>")
        code.decompose()
    text = " ".join(tree.body.text(separator=" ").split()) if tree.body is not None else ""
    return (f"<p>{escape(text, quote=False)}</p>" if text else "") + "".join(codes)


def put_in(page: str, fragments: Mapping[str, str]) -> str:
    """The page with its fragments.

    Raises:
        Lost: the page has the place of one that is not there.
    """

    def fragment(match: re.Match[str]) -> str:
        if match[1] not in fragments:
            raise Lost(match[1])
        return _TAG.sub(lambda tag: _FOR_SEARCH.sub("", tag[0]), fragments[match[1]])  # in a text it may be a quote

    return _PLACE.sub(fragment, page)
