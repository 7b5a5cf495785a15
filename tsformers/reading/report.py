"""Results -> JSON and terminal, both from the same records."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from tsformers.reading.failure import Failure
from tsformers.reading.page import Fence, Span
from tsformers.reading.run import Result

FORMAT = 1


def counts(result: Result) -> dict[str, int]:
    """Steps of a page by kind; a claim is a span that was judged as one."""
    fences = Counter(step.kind for step in result.page.steps if isinstance(step, Fence))
    claims = sum(
        isinstance(step, Span) and index in result.reading.evidence and result.reading.evidence[index].kind == "claim"
        for index, step in enumerate(result.page.steps)
    )
    return {
        "quotes": fences["quote"],
        "execs": fences["exec"],
        "examples": result.reading.examples,
        "claims": claims,
        "comments": result.reading.comments,
    }


def coverage(result: Result) -> dict[str, Any]:
    executed = [(s.file, st) for s in result.reading.subjects for st in s.statements if st.executed]
    return {
        "executed": len(executed),
        "explained": sum(statement.explained for _, statement in executed),
        "gap": [f"{file}:{statement.line}" for file, statement in executed if not statement.explained],
    }


def as_json(results: Sequence[Result]) -> dict[str, Any]:
    """The report as plain data; see ``check --json``."""
    pages = [
        {
            "path": result.page.path,
            "seconds": round(result.reading.seconds, 3),
            "reused": False,
            "counts": counts(result),
            "coverage": coverage(result),
            "failures": [asdict(failure) for failure in result.failures],
        }
        for result in results
    ]
    totals: Counter[str] = Counter({"pages": len(results), "failures": sum(len(r.failures) for r in results)})
    for result in results:
        totals.update(counts(result))
        totals["unchecked"] += not result.page.front.checked
    versions = {name: value for result in results for name, value in result.reading.versions.items()}
    return {
        "version": FORMAT,
        "pages": pages,
        "totals": dict(totals),
        "versions": {**versions, "tsformers": _version()},
    }


def _version() -> str:
    try:
        return version("tsformers")
    except PackageNotFoundError:
        return "unknown"


def width(text: str) -> int:
    """Columns on a terminal: wide characters take two."""
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )


def failure_text(failure: Failure, row: str) -> str:
    """A failure as the terminal shows it: place, sentence, the author's row, a caret under the place."""
    lines = [f"{failure.path}:{failure.line}:{failure.column}: {failure.kind}: {failure.message}"]
    if row.strip():
        shown, column = row.replace("\t", " "), failure.column - 1
        lines += [f"    {shown}", f"    {' ' * width(shown[:column])}^"]
    for name, value in (("expected", failure.expected), ("actual", failure.actual)):
        if value:
            lines.append(f"    {name:>8}: {value}")
    return "\n".join(lines)


def summary(results: Sequence[Result]) -> str:
    """One line of totals."""
    total = as_json(results)["totals"]
    parts = ["claims", "quotes", "execs", "examples", "comments"]
    said = ", ".join(f"{total[name]} {name if total[name] != 1 else name[:-1]}" for name in parts)
    pages = f"{total['pages']} page{'s' if total['pages'] != 1 else ''}"
    failures = f"{total['failures']} failure{'s' if total['failures'] != 1 else ''}"
    return f"{pages}, {said}: {failures}"
