"""Hook of MkDocs for benchmarks/build.py: the pages are rendered from records at hand; nothing is run or compared."""

from __future__ import annotations

import pickle
from pathlib import Path

from tsformers.reading.mkdocs import ReadingPlugin
from tsformers.reading.run import Result, check_files

RECORDS = Path("records.pickle")


def keep_records() -> None:
    """Check the pages below ``docs`` of the project in this folder once, and keep what was recorded."""
    RECORDS.write_bytes(pickle.dumps({result.page.path: result for result in check_files(["docs"])}))


def _at_hand(plugin: ReadingPlugin, paths: list[Path], names: list[str]) -> list[Result]:
    known: dict[str, Result] = pickle.loads(RECORDS.read_bytes())
    return [known[name] for name in names]


if __name__ == "__main__":
    keep_records()
else:
    ReadingPlugin._check = _at_hand  # type: ignore[method-assign]
