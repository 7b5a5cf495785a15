"""Identifiers of headings, as the site gives them, and the other places of a page that a link can land on."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import unescape

from markdown.extensions.toc import unique
from pymdownx.slugs import slugify

from tsformers.reading.claims import ClaimError, parse
from tsformers.reading.page import Fence, Heading, Page

_SLUGIFY = slugify(case="lower")
_ATTRIBUTES = re.compile(r"[ \t]*\{:?[ \t]*([.#\w][^{}]*)\}[ \t]*#*[ \t]*$")
_CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_WIKI = re.compile(r"\[\[([^\[\]|\\\n]+?)(?:\\?\|([^\[\]\n]*))?\]\]")
_IMAGE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
_LINK = re.compile(r"\[([^\[\]]*)\](?:\([^)]*\)|\[[^\]]*\])")
_FORMULA = re.compile(r"(?<![\\$])\$(?![\s$])(?:\\.|[^\\$\n])+?(?<!\s)\$(?![\d$])")
_EMPHASIS = re.compile(r"(?<!\w)(_{1,3})(?=\S)(.+?)(?<=\S)\1(?!\w)")
_IDENTIFIER = re.compile(r"""\{:?[^{}\n]*?#([\w\-:.]+)[^{}\n]*\}|<\w[^<>]*?\b(?:id|name)=["']([^"']+)["']""")
_DOCUMENTED = re.compile(r"^::: ([\w.]+)", re.MULTILINE)
MASK = "\ufffc"


@dataclass(frozen=True)
class Outline:
    """Where a link to a page can land: ``ids`` of its headings, one a heading, ``keys`` by which a wikilink may name
    each, other identifiers, and the dotted names whose reference is printed on the page."""

    headings: tuple[Heading, ...]
    ids: tuple[str, ...]
    keys: tuple[frozenset[str], ...]
    others: frozenset[str]
    documented: tuple[str, ...]

    def holds(self, anchor: str) -> bool:
        """Whether the page has an identifier; of what a reference documents only the site itself knows all."""
        if anchor in self.ids or anchor in self.others or anchor.startswith(("fn:", "fnref:")):
            return True
        return any(anchor == name or anchor.startswith(f"{name}.") for name in self.documented)


def outline(page: Page) -> Outline:
    """The places of a page, the identifiers of its headings numbered where they are the same."""
    text = _without_fences(page)
    others = {found for match in _IDENTIFIER.finditer(text) for found in match.groups() if found}
    given = [given_id(page, heading) for heading in page.headings]
    used = {identifier for identifier in (*given, *others) if identifier}
    ids = [
        known or unique(slug(written_title(page, heading)), used)
        for known, heading in zip(given, page.headings, strict=True)
    ]
    keys = [
        frozenset({slug(written_title(page, heading)), slug(heading.title), identifier})
        for heading, identifier in zip(page.headings, ids, strict=True)
    ]
    return Outline(
        page.headings, tuple(ids), tuple(keys), frozenset(others - set(ids)), tuple(_DOCUMENTED.findall(text))
    )


def _without_fences(page: Page) -> str:
    text, at = [], page.front.end
    for step in page.steps:
        inside = not isinstance(step, Fence)
        text.append(page.text[at : step.start])
        text.append(MASK if inside else "\n")
        at = max(at, step.end)
    return "".join([*text, page.text[at:]])


def written_title(page: Page, heading: Heading) -> str:
    """A heading as written, with its number, without marks and attributes."""
    line = page.text[heading.start : heading.end].strip().lstrip("#")
    return _ATTRIBUTES.sub("", line).rstrip().rstrip("#").strip()


def given_id(page: Page, heading: Heading) -> str:
    """The identifier that the author gave a heading, ``{ #so }``; "" if none."""
    attributes = _ATTRIBUTES.search(page.text[heading.start : heading.end])
    found = re.findall(r"(?:^|\s)#([^\s}]+)", f" {attributes[1]}") if attributes else []
    return found[-1] if found else ""


def attributes_at(page: Page, heading: Heading) -> int | None:
    """Offset of the attributes that a heading has, just after their brace; None if it has none."""
    attributes = _ATTRIBUTES.search(page.text[heading.start : heading.end])
    return heading.start + attributes.start(1) if attributes else None


def slug(title: str) -> str:
    """The identifier of a heading: its visible text without claims, whose values may change; Han characters stay."""
    left_out = False

    def code(match: re.Match[str]) -> str:
        nonlocal left_out
        claim = len(match[1]) == 1 and _is_claim(match[2].strip())
        left_out |= claim
        return "" if claim else match[2].replace("_", MASK)

    text = _CODE.sub(code, title)
    for pattern, shown in ((_IMAGE, ""), (_FORMULA, ""), (re.compile(r"\[\^[^\]]+\]"), "")):
        text = pattern.sub(shown, text)
    text = _WIKI.sub(lambda match: match[2] or shown_name(match[1]), text)
    text = _EMPHASIS.sub(r"\2", _LINK.sub(r"\1", text))
    made = _SLUGIFY(unescape(text.replace(MASK, "_")), "-")
    return re.sub(r"--+", "-", made).strip("-") if left_out else made


def _is_claim(text: str) -> bool:
    try:
        return parse(text) is not None
    except ClaimError:
        return True


def shown_name(target: str) -> str:
    """What a reader sees of a wikilink without an alias: the heading, or the page."""
    name, _, heading = target.strip().partition("#")
    page = name.strip().rpartition("/")[2].removesuffix(".md")
    title = heading.rpartition("#")[2].strip()
    return f"{page} › {title}" if page and title else title or page
