"""Explanation coverage: the share of the statements executed by a toy that some page quotes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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


Places = set[tuple[str, int]]


def per_model(readings: Iterable[Reading]) -> dict[str, Coverage]:
    """Coverage of each main toy's whole run, by all pages together; keyed by the toy, as the pages name it."""
    return of_models(*reached(readings))


def reached(readings: Iterable[Reading]) -> tuple[dict[str, Places], Places]:
    """What each main toy executes, and what any page explains. Those of parts of the pages add up to those of all."""
    executed: dict[str, Places] = {}
    explained: Places = set()
    for reading in readings:
        explained |= {(s.file, st.line) for s in reading.subjects for st in s.statements if st.explained}
        toy = reading.toys.get("")
        if toy is not None and reading.subjects:
            places = executed.setdefault(toy.spec, set())
            places |= {(run.file, line) for run in reading.executed for line, _ in run.statements}
            places |= {(s.file, st.line) for s in reading.subjects for st in s.statements if st.executed}
    return executed, explained


def of_models(executed: dict[str, Places], explained: Places) -> dict[str, Coverage]:
    """A statement that any page explains is explained for every toy that executes it."""
    return {spec: Coverage(frozenset(executed[spec]), frozenset(explained)) for spec in sorted(executed)}


def percent(found: Mapping[str, Any]) -> int:
    """The share explained, rounded down, of a coverage as the report holds it."""
    return int(100 * found["explained"] // found["executed"]) if found["executed"] else 100


def summary_lines(models: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """One line a toy, for the terminal, from the models of a report; its base is what the whole toy executes."""
    lines = []
    for spec, found in models.items():
        done, size, gap = found["explained"], found["executed"], found["gap"]
        more = f" and {len(gap) - 3} more" if len(gap) > 3 else ""
        missing = f"; not explained: {', '.join(gap[:3])}{more}" if gap else ""
        lines.append(
            f"{spec}: {done} of {size} statements that this toy executes explained by a page ({percent(found)} %){missing}"
        )
    return lines
