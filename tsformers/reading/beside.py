"""What stands just beside a claim and changes what it says: a sign before it, a unit or a power after it.

The claim ``d_ff = 64`` is proven; ``-`` before its backtick, or ``%`` after it, makes a reader read another number.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from tsformers.reading.claims import ClaimError, parse
from tsformers.reading.failure import Failure
from tsformers.reading.page import Page, Prose
from tsformers.reading.places import Source

_WINDOW = 80  # characters looked at on each side
_DRESS = re.compile(r"<[^<>]*>|[*_~$]|==")  # tags, emphasis, and the ends of a formula
_COMMANDS = {r"\pm": "±", r"\mp": "∓", r"\neg": "¬", r"\%": "%", r"\circ": "°", r"\cdot": "·"}
_BEFORE = re.compile(r"(?:[-−－–‐‑±∓¬√]|负\s?|[A-Za-z0-9])$")
_AFTER = re.compile(r"\s?[%％‰°℃]|[A-Za-z0-9⁰¹²³⁴-⁹⁻⁺ᵀ^]|\s?(?:万(?!一)|亿|兆|千(?!万别)|百(?!分比)|十(?!分))")


def beside_claims(page: Page) -> list[Failure]:
    """The claims of a page whose numbers are changed by what stands beside them."""
    source = Source(page.path, page.text)
    return sorted(failure for prose in page.prose for failure in _of(prose, page.text, source))


def _of(prose: Prose, text: str, source: Source) -> Iterator[Failure]:
    for start, end in prose.spans:
        first, last = prose.offset(start), prose.offset(end - 1)
        written = text[first + 1 : last]
        if not any(char.isdecimal() for char in written) or not _is_claim(written):
            continue
        line, _ = source.place(first)
        row = source.lines[line - 1]
        before = _plain(text[max(row.start, first - _WINDOW) : first])
        line, _ = source.place(last)
        after = _plain(text[last + 1 : min(source.lines[line - 1].end, last + 1 + _WINDOW)])
        if found := _BEFORE.search(before):
            message = (
                f"声明前紧挨着 {found[0].strip()}，读起来成了另一个数，而它没有人核对：写进声明里，或用空格、文字隔开"
            )
            yield source.failure(first, "naked", message, claim=f"{found[0]}`{written}`", actual=found[0].strip())
        if found := _AFTER.match(after):
            message = f"声明后紧跟着 {found[0].strip()}，读起来成了另一个数，而它没有人核对：写进声明里，或用文字另说"
            yield source.failure(last, "naked", message, claim=f"`{written}`{found[0]}", actual=found[0].strip())


def _is_claim(text: str) -> bool:
    try:
        return parse(text.replace("\n", " ")) is not None
    except ClaimError:
        return False  # which is said of the span itself


def _plain(text: str) -> str:
    text = html.unescape(_DRESS.sub("", text))
    for command, char in _COMMANDS.items():
        text = text.replace(command, char)
    return text
