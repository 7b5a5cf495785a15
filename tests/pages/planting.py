"""Plant one error at a time into a copy of a real page, and say where it must be found."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from tsformers.reading.claims import Claim, ClaimError, parse
from tsformers.reading.page import Fence, Page, Span

LOOP = "while True: pass"
# For a page that states no size in such a place; no toy has this width.
ADDED = {
    "heading": "\n\n## 附记：`d_model = 3`\n",
    "table": "\n\n| 名字 | 值 |\n| --- | --- |\n| 宽 | `d_model = 3` |\n",
}


@dataclass(frozen=True)
class Planted:
    """A page with one error: its text, where the error is, what kind the failure must have."""

    text: str
    line: int
    column: int
    kind: str


class NoPlace(LookupError):
    """The page has nothing of the kind to spoil."""


def _claims(page: Page, where: str = "") -> list[tuple[Span, Claim]]:
    found = []
    for step in page.steps:
        if (
            isinstance(step, Span)
            and (not where or step.where == where)
            and "\n" not in page.text[step.start : step.end]
        ):
            try:
                claim = parse(step.text)
            except ClaimError:
                continue
            if claim is not None and not claim.tight and page.text[step.start : step.end] == step.text:
                found.append((step, claim))
    return found


def _at(text: str, offset: int) -> tuple[int, int]:
    return text.count("\n", 0, offset) + 1, offset - (text.rfind("\n", 0, offset) + 1) + 1


def _replace(page: Page, start: int, end: int, new: str, kind: str, at: int | None = None) -> Planted:
    text = page.text[:start] + new + page.text[end:]
    return Planted(text, *_at(text, start if at is None else at), kind)


def _wrong_size(page: Page, where: str) -> Planted:
    for span, claim in _claims(page, where):
        if claim.form == "shape":
            for slot in claim.slots:
                if slot.is_integer:
                    start = span.start + slot.offset
                    return _replace(page, start, start + len(slot.text), str(int(slot.text) + 1), "claim")
        if claim.form == "equal" and re.fullmatch(r"\d+", claim.text[claim.written : claim.end]):
            start = span.start + claim.written
            return _replace(
                page, start, span.start + claim.end, str(int(page.text[start : span.start + claim.end]) + 1), "claim"
            )
    if where not in ADDED:
        raise NoPlace(f"no size in a claim in {where}")
    text = page.text.rstrip("\n") + ADDED[where]
    return Planted(text, *_at(text, text.rindex("3`")), "claim")


def size_in_table(page: Page) -> Planted:
    return _wrong_size(page, "table")


def size_in_heading(page: Page) -> Planted:
    return _wrong_size(page, "heading")


def size_in_prose(page: Page) -> Planted:
    return _wrong_size(page, "prose")


def swapped_axes(page: Page) -> Planted:
    for span, claim in _claims(page):
        sizes = [slot.text for slot in claim.slots]
        if len(sizes) > 2 and sizes[-1] != sizes[-2] and all(slot.is_integer for slot in claim.slots):
            first, second = claim.slots[-2:]
            start, end = span.start + first.offset, span.start + second.offset + len(second.text)
            between = claim.text[first.offset + len(first.text) : second.offset]
            return _replace(page, start, end, second.text + between + first.text, "claim")
    raise NoPlace("no shape whose last two axes differ")


def axis_of_equal_size(page: Page, equal: dict[str, str]) -> Planted:
    """``equal`` maps an axis expression to another of the same size in the toy's first configuration."""
    for span, claim in _claims(page):
        for group in claim.axis_groups:
            for slot in group:
                if slot.text in equal:
                    start = span.start + slot.offset
                    return _replace(page, start, start + len(slot.text), equal[slot.text], "axis")
    raise NoPlace(f"no axis of {sorted(equal)}")


def wrong_decimal(page: Page) -> Planted:
    for span, claim in _claims(page):
        if claim.form != "approx":
            continue
        literal = claim.text[claim.written : claim.end]
        number = re.search(r"-?\d+\.\d+", literal)
        if number is None:
            continue
        last = number.group()[-1]
        start = span.start + claim.written + number.start()
        new = number.group()[:-1] + str((int(last) + 5) % 10)
        return _replace(page, start, start + len(number.group()), new, "claim")
    raise NoPlace("no decimal")


def edited_quote(page: Page) -> Planted:
    for step in page.steps:
        if isinstance(step, Fence) and step.kind == "quote":
            at = page.text.index("self.", step.info_end) if "self." in step.code else -1
            if 0 <= at < step.end:
                line_start = page.text.rfind("\n", 0, at) + 1
                indent = len(page.text[line_start:at]) - len(page.text[line_start:at].lstrip())
                return _replace(page, at, at + 5, "self.the_", "quote", at=line_start + indent)
    raise NoPlace("no quote with self.")


def wrong_output(page: Page) -> Planted:
    text = page.text.rstrip("\n") + "\n\n```pycon\n>>> 1 + 1\n3\n```\n"
    return Planted(text, *_at(text, text.rindex("3\n```")), "example")


def naked_number(page: Page) -> Planted:
    text = page.text.rstrip("\n") + "\n\n这一层共有 5136 个参数。\n"
    return Planted(text, *_at(text, text.rindex("5136")), "naked")


def _in_first_block(page: Page, code: str, kind: str, within: int = 0) -> Planted:
    for step in page.steps:
        if isinstance(step, Fence) and step.kind == "exec":
            at = page.text.rfind("\n", 0, step.end) + 1
            prefix = page.text[at : step.end].split("`")[0].split("~")[0]
            text = page.text[:at] + prefix + code + "\n" + page.text[at:]
            return Planted(text, *_at(text, at + len(prefix) + within), kind)
    raise NoPlace("no block")


def block_raises(page: Page) -> Planted:
    return _in_first_block(page, "1 / 0", "exec")


def block_exits(page: Page) -> Planted:
    return _in_first_block(page, "__import__('sys').exit(0)", "exit")


def block_loops(page: Page) -> Planted:
    return _in_first_block(page, LOOP, "timeout")


PLANTERS: tuple[Callable[[Page], Planted], ...] = (
    size_in_table,
    size_in_heading,
    size_in_prose,
    swapped_axes,
    wrong_decimal,
    edited_quote,
    wrong_output,
    naked_number,
    block_raises,
    block_exits,
    block_loops,
)
