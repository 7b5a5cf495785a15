"""The one form in which anything wrong is said."""

from __future__ import annotations

from dataclasses import dataclass

KINDS = (
    "quote", "exec", "example", "claim", "comment", "axis", "name", "naked", "link", "fence", "front-matter",
    "timeout", "exit", "memory", "output", "hermetic", "coverage",
)  # fmt: skip


@dataclass(frozen=True, order=True)
class Failure:
    """Something wrong at a place of a page; ``line`` and ``column`` from 1, in characters of the file on disk.

    ``claim`` is the author's own text; ``message`` is one sentence, in Chinese, that names the quantity and both sides.
    """

    path: str
    line: int
    column: int
    kind: str
    claim: str = ""
    expected: str = ""
    actual: str = ""
    message: str = ""

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}: {self.kind}: {self.message}"
