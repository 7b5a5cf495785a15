"""Check a page's text in the tests' own process: fast, with what the page's process does apart from isolation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from tsformers.reading.failure import Failure
from tsformers.reading.page import Page, scan
from tsformers.reading.record import Reading
from tsformers.reading.settings import Settings
from tsformers.reading.verdict import judge_page
from tsformers.reading.walk import Walker

MIXER = """---
toy: tests.reading.sample_toys:mixer
reads: [tests.reading.sample_toys.Mixer.forward]
---
"""


@dataclass
class Checked:
    page: Page
    reading: Reading
    failures: list[Failure]

    @property
    def said(self) -> list[tuple[int, int, str]]:
        return [(failure.line, failure.column, failure.kind) for failure in self.failures]


def check(text: str, front: str = MIXER, **settings: object) -> Checked:
    """Run and judge a page."""
    page = scan(front + text, "page.md")
    known = replace(Settings(Path.cwd()), **settings)
    walker = Walker(page, known, lambda index: None)
    reading = walker.walk()
    failures = [*page.problems, *walker.failures, *judge_page(page, reading, known)]
    return Checked(page, reading, sorted(set(failures)))


def place(text: str, needle: str, front: str = MIXER, within: int = 0) -> tuple[int, int]:
    """Line and column of ``needle`` (plus ``within`` characters) in the page."""
    at = (front + text).index(needle) + within
    before = (front + text)[:at]
    return before.count("\n") + 1, at - (before.rfind("\n") + 1) + 1
