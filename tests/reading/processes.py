"""Pages in processes of their own, for the tests of isolation, limits, order and reuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tsformers.reading.report import as_json
from tsformers.reading.run import Result, check_files


def write(folder: Path, files: dict[str, str]) -> list[Path]:
    """Write files, named by their path in ``folder``; those that are pages are given back."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return [folder / name for name in files if name.endswith(".md")]


def run(folder: Path, files: dict[str, str], **options: Any) -> dict[str, Result]:
    """The results of pages written into ``folder``, by the name of the page without its ending."""
    return {Path(result.page.path).stem: result for result in check_files(write(folder, files), **options)}


def said(result: Result) -> list[tuple[int, int, str]]:
    return [(failure.line, failure.column, failure.kind) for failure in result.failures]


def report(results: list[Result]) -> dict[str, Any]:
    """The report without what may differ between two runs of the same thing."""
    found = as_json(results)
    for page in found["pages"]:
        del page["seconds"], page["reused"]
    return found
