"""Blocks of raw HTML in a page: what Markdown leaves alone, unless a ``markdown`` attribute says otherwise."""

from __future__ import annotations

import re

BLOCK_TAG = re.compile(
    r"<(address|article|aside|blockquote|body|canvas|center|dd|details|div|dl|dt|fieldset|figcaption|figure|footer|form|"
    r"h[1-6]|head|header|hgroup|html|iframe|legend|li|main|map|math|menu|nav|noscript|object|ol|p|pre|progress|script|"
    r"section|style|summary|table|tbody|td|textarea|tfoot|th|thead|tr|ul|video)(?=[\s>/])([^>]*)>",
    re.IGNORECASE,
)
_MARKDOWN = re.compile(r"\smarkdown(?:\s*=|\s|$)", re.IGNORECASE)
_NOT_TEXT = ("script", "style")
# Attributes that a reader sees or hears, of a tag or in an attribute list.
_SEEN = re.compile(
    r"""(?<![\w-])(?:title|alt|aria-label|aria-description|placeholder|label|summary|value|start|content|caption)"""
    r"""\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'<>=}]+))""",
    re.IGNORECASE,
)
_HIDDEN = re.compile(r"<!--.*?-->|`", re.DOTALL)


def holds_markdown(attributes: str) -> bool:
    return _MARKDOWN.search(attributes) is not None


def seen_attributes(text: str) -> list[tuple[int, str]]:
    """(offset, value) of the attributes in a tag or an attribute list that reach a reader."""
    found = ((match, next(g for g in (1, 2, 3) if match[g] is not None)) for match in _SEEN.finditer(text))
    return [(match.start(group), match[group]) for match, group in found]


def closing_tag(tag: str, text: str, offset: int) -> int | None:
    """Offset after the tag that closes the ``tag`` opened before ``offset``, or None."""
    depth = 1
    for match in re.compile(rf"<!--.*?-->|<(/?){tag}(?=[\s>/])[^>]*>", re.IGNORECASE | re.DOTALL).finditer(
        text, offset
    ):
        if match[1] is None:
            continue
        depth += -1 if match[1] else 1
        if depth == 0:
            return match.end()
    return None


def visible_text(tag: str, text: str, start: int, stop: int) -> list[tuple[int, str]]:
    """(offset, line) of what a reader may see between ``start`` and ``stop``: tags still in it, but no backticks."""
    if tag in _NOT_TEXT:
        return []
    shown = _HIDDEN.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text[start:stop])
    return [(start + match.start(), match[0]) for match in re.finditer(r"[^\r\n]+", shown)]
