"""Explanation coverage: the share of the statements executed by a toy that some page quotes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tsformers.reading.record import Reading


@dataclass(frozen=True)
class Coverage:
    """Places are (file, line), by which a layer that several models share is explained once."""

    executed: frozenset[tuple[str, int]]
    explained: frozenset[tuple[str, int]]

    @property
    def gap(self) -> list[str]:
        """``path:line`` of every statement executed and not explained."""
        return [f"{file}:{line}" for file, line in sorted(self.executed - self.explained)]

    @property
    def percent(self) -> int:
        """The share explained, rounded down, so that 100 means all."""
        return 100 * len(self.executed & self.explained) // len(self.executed) if self.executed else 100

    def as_json(self) -> dict[str, Any]:
        return {
            "executed": len(self.executed),
            "explained": len(self.executed & self.explained),
            "gap": self.gap,
        }


def per_page(reading: Reading) -> Coverage:
    """Coverage of the functions that a page reads, by the page itself."""
    statements = [(subject.file, s) for subject in reading.subjects for s in subject.statements if s.executed]
    return Coverage(
        frozenset((file, s.line) for file, s in statements),
        frozenset((file, s.line) for file, s in statements if s.explained),
    )


def per_model(readings: Iterable[Reading]) -> dict[str, Coverage]:
    """Coverage of each main toy's whole run, by all pages together; keyed by the toy, as the pages name it."""
    executed: dict[str, set[tuple[str, int]]] = {}
    explained: set[tuple[str, int]] = set()
    for reading in readings:
        explained |= {(s.file, st.line) for s in reading.subjects for st in s.statements if st.explained}
        toy = reading.toys.get("")
        if toy is not None and reading.subjects:
            places = executed.setdefault(toy.spec, set())
            places |= {(run.file, line) for run in reading.executed for line, _ in run.statements}
            places |= {(s.file, st.line) for s in reading.subjects for st in s.statements if st.executed}
    return {spec: Coverage(frozenset(executed[spec]), frozenset(explained)) for spec in sorted(executed)}


def summary_lines(models: dict[str, Coverage]) -> list[str]:
    """One line a toy, for the terminal."""
    lines = []
    for spec, found in models.items():
        done, size = len(found.executed & found.explained), len(found.executed)
        gap = found.gap
        more = f" and {len(gap) - 3} more" if len(gap) > 3 else ""
        missing = f"; not explained: {', '.join(gap[:3])}{more}" if gap else ""
        lines.append(f"{spec}: {done} of {size} executed statements explained ({found.percent} %){missing}")
    return lines
