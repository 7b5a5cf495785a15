"""What an author has still to write: the lines of a page that say TODO."""

from __future__ import annotations

import re

from tsformers.reading.page import Fence, Page

TODO = re.compile(r"\bTODO\b")


def todos(page: Page) -> list[int]:
    """The lines of a page where TODO stands outside of code: what its author has still to write."""
    if TODO.search(page.text) is None:
        return []  # as of nearly every page
    code = [(step.line, step.line + step.code.count("\n") + 2) for step in page.steps if isinstance(step, Fence)]
    return [
        number
        for number, line in enumerate(re.split(r"\r\n|\n|\r", page.text), 1)
        if TODO.search(re.sub(r"`[^`]*`", "", line)) and not any(first <= number <= last for first, last in code)
    ]
