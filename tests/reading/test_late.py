"""Fragments come in after the search: it finds their text, and the page loses none of them."""

from __future__ import annotations

import pytest

from tsformers.reading.late import Lost, place, put_in, searched

STEP = (
    '<div class="tsf-step"><b>x</b> <i>(2, 3)</i><pre><code><span>a</span> <span>&lt;</span> b\n  c</code></pre></div>'
)


@pytest.mark.parametrize(
    ("html", "text"),
    [
        (STEP, "<p>x (2, 3)</p><pre><code>a &lt; b\n  c</code></pre>"),
        ('<figure data-search-exclude=""><svg><text>1</text></svg></figure>', ""),
        ('<p>前 <span data-search-exclude="">不要</span>后</p>', "<p>前 后</p>"),
        ("", ""),
    ],
)
def test_the_search_gets_the_text(html: str, text: str) -> None:
    assert searched(html) == text


def test_the_page_gets_the_html() -> None:
    fragments = {"s1-q1": STEP, "s1-q2": '<table data-search-exclude=""></table>'}
    page = "<h2>一</h2>\n" + place("s1-q1", STEP) + "<p>文</p>" + place("s1-q2", fragments["s1-q2"])
    assert "tsf-step" not in page
    assert put_in(page, fragments) == f"<h2>一</h2>\n{STEP}<p>文</p><table></table>"


@pytest.mark.parametrize(
    "html",
    [
        """<pre><code>page = ' data-search-exclude=""'</code></pre>""",
        '<p>&lt;/div&gt; and &lt;div data-late="s1-q2"&gt;, \\1, \\g&lt;0&gt;</p>',
        "<div><div></div></div>",
    ],
)
def test_a_text_that_looks_like_a_mark_stays(html: str) -> None:
    assert put_in(f"<p>{place('s1-q1', html)}</p>", {"s1-q1": html}) == f"<p>{html}</p>"


def test_a_place_without_a_fragment_is_an_error() -> None:
    with pytest.raises(Lost, match="s1-q1"):
        put_in(place("s1-q1", STEP), {})
