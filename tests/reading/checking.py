"""Check a page's text in the tests' own process: fast, with what the page's process does apart from isolation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from tests.reading import sample_toys
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
    failures = [*page.problems, *walker.failures]
    failures += judge_page(page, reading, known, failures)
    return Checked(page, reading, sorted(set(failures)))


def place(text: str, needle: str, front: str = MIXER, within: int = 0) -> tuple[int, int]:
    """Line and column of ``needle`` (plus ``within`` characters) in the page."""
    at = (front + text).index(needle) + within
    before = (front + text)[:at]
    return before.count("\n") + 1, at - (before.rfind("\n") + 1) + 1


def front(toy: str, *reads: str, **toys: str) -> str:
    """Front matter of a page that reads functions of the sample toys."""
    lines = [f"toy: tests.reading.sample_toys:{toy}"] if toy else []
    if toys:
        lines.append("toys: {" + ", ".join(f"{name}: 'tests.reading.sample_toys:{toys[name]}'" for name in toys) + "}")
    if reads:
        lines.append("reads: [" + ", ".join(f"'tests.reading.sample_toys.{line}'" for line in reads) + "]")
    return "\n".join(["---", *lines, "---", ""])


WINDING = front("winding", "Winding.forward")


def quoted(code: str, after: str = "", options: str = "") -> str:
    """A quote, and what a page says after it."""
    return f"```python{options and ' ' + options}\n{code}\n```\n\n{after}\n"


def block(code: str, options: str = 'exec="1"') -> str:
    return f"```python {options}\n{code}\n```\n\n"


def lines_of(text: str) -> list[int]:
    """Source lines of the sample toys that hold ``text``."""
    source = Path(sample_toys.__file__).read_text(encoding="utf-8").splitlines()
    return [number for number, line in enumerate(source, 1) if text in line]
