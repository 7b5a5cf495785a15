"""The standard sections of a reading page: which derived part stands under which heading, and how a block asks for one.

A derived part needs the whole site, which a block does not see. So the function of its name, known on every page, prints
a mark, and whoever renders the page puts the part there.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from tsformers.reading.page import Heading, Page


@dataclass(frozen=True, slots=True)
class Standard:
    """A reserved heading, known by its beginning without numbers and §, and the derived part under it ("": none)."""

    begins: str
    derived: str


STANDARD = (
    Standard("在父层中的位置", "call_tree"),
    Standard("I/O 接口", "io_table"),
    Standard("顺序图", "sequence"),
    Standard("语义分组图", "groups"),
    Standard("完整源码", "source"),
    Standard("下钻", "children"),
    Standard("结构图", "structure"),
    Standard("对照", ""),
    Standard("自测", ""),
)

DERIVED = tuple(standard.derived for standard in STANDARD if standard.derived)
PRINTED = (*DERIVED, "pipeline")  # what a block can print
MARK = re.compile("\ufdd0([a-z_]+)\ufdd1")  # between noncharacters, which no text that is meant to be read holds


def printers() -> dict[str, Callable[[], None]]:
    """The functions of the derived parts, for the namespace of a page."""
    return {name: _printer(name) for name in PRINTED}


def _printer(name: str) -> Callable[[], None]:
    def derived() -> None:
        print(f"\ufdd0{name}\ufdd1")

    derived.__name__ = derived.__qualname__ = name
    return derived


def marked(text: str) -> list[str]:
    """The derived parts that a block's output asks for."""
    return MARK.findall(text)


def derived_part(heading: Heading) -> str:
    """The derived part that a heading asks for, "" if none."""
    for standard in STANDARD:
        if heading.title.startswith(standard.begins):
            return standard.derived
    return ""


def steps_section(heading: Heading) -> bool:
    """A section of pieces, 5.1, 5.2, …: it gets a shape pipeline and is a group of the grouping diagram."""
    return bool(re.fullmatch(r"5\.[1-9]\d*", heading.number))


def section_end(page: Page, heading: Heading) -> int:
    """Offset where the section of a heading ends: the next heading of its level or above, or the end of the page."""
    later = [h.start for h in page.headings if h.start > heading.start and h.level <= heading.level]
    return min(later, default=len(page.text))
