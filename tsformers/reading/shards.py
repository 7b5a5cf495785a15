"""One check over several machines: which pages each takes, and how their reports become the one report again."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tsformers.reading.coverage import Places, of_models, reached
from tsformers.reading.report import FORMAT, as_json, report_of
from tsformers.reading.run import Result


@dataclass(frozen=True)
class Shard:
    """Part ``number`` (from 1) of ``of``."""

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


class MergeError(ValueError):
    """Reports that are not the shards of one check."""


def shard(text: str) -> Shard:
    """An argument ``K/N``."""
    match = re.fullmatch(r"([0-9]+)/([0-9]+)", text)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise argparse.ArgumentTypeError(f"{text} is not K/N with 1 ≤ K ≤ N")
    return Shard(int(match[1]), int(match[2]))


def positions(files: Sequence[Path], part: Shard) -> list[int]:
    """Which of the pages a shard takes: the longest first, each to the shard that has least; the same everywhere.

    A page's weight is its size in bytes. It needs no earlier run, which another machine would not have.
    """
    sizes = [file.stat().st_size for file in files]
    loads = [0] * part.of
    taken = []
    for index in sorted(range(len(files)), key=lambda index: (-sizes[index], index)):
        least = loads.index(min(loads))
        loads[least] += sizes[index]
        if least == part.number - 1:
            taken.append(index)
    return sorted(taken)


def shard_report(results: Sequence[Result], part: Shard, taken: Sequence[int], total: int) -> dict[str, Any]:
    """The report of a shard's pages, with what only the whole can judge: their places, and the statements reached."""
    executed, explained = reached(result.reading for result in results)
    own = {
        "number": part.number,
        "of": part.of,
        "pages": total,
        "positions": list(taken),
        "executed": {spec: _lines(executed[spec]) for spec in sorted(executed)},
        "explained": _lines(explained),
    }
    return {**as_json(results), "shard": own}


def merged(reports: Mapping[str, Any]) -> dict[str, Any]:
    """The report that one check of all pages gives, from those of its shards by the names of their files.

    Raises:
        MergeError: one is no shard's, is there twice or missing, or they differ in versions or pages.
    """
    parts: dict[int, dict[str, Any]] = {}
    for name, report in reports.items():
        own = report.get("shard") if isinstance(report, dict) and report.get("version") == FORMAT else None
        if own is None:
            raise MergeError(f"{name} is not the report of `check --shard` of this version")
        if own["number"] in parts:
            raise MergeError(f"{name}: shard {own['number']}/{own['of']} is there twice")
        parts[own["number"]] = report
    counts = {(report["shard"]["of"], report["shard"]["pages"]) for report in parts.values()}
    if len(counts) != 1:
        raise MergeError("these are shards of different checks: the numbers of shards or pages differ")
    ((of, total),) = counts
    missing = [str(Shard(number, of)) for number in range(1, of + 1) if number not in parts]
    if missing:
        raise MergeError(f"shard {', '.join(missing)} is missing")
    pages: dict[int, dict[str, Any]] = {}
    left_out: dict[str, str] = {}
    versions: dict[str, str] = {}
    executed: dict[str, Places] = {}
    explained: Places = set()
    for number in sorted(parts):
        report, own = parts[number], parts[number]["shard"]
        pages.update(zip(own["positions"], report["pages"], strict=True))
        left_out |= report["totals"]["left_out"]
        for name, version in report["versions"].items():
            if versions.setdefault(name, version) != version:
                raise MergeError(f"the shards ran with different {name}: {versions[name]} and {version}")
        for spec, lines in own["executed"].items():
            executed.setdefault(spec, set()).update(_places(lines))
        explained |= _places(own["explained"])
    paths = {page["path"] for page in pages.values()}
    if sorted(pages) != list(range(total)) or len(paths) != total:
        raise MergeError("the shards do not add up to all pages: they were not made from the same files")
    ordered = [pages[index] for index in range(total)]
    reasons = {page["path"]: left_out[page["path"]] for page in ordered if page["path"] in left_out}
    return report_of(ordered, reasons, of_models(executed, explained), versions)


def _lines(places: Places) -> dict[str, list[int]]:
    """Line numbers by file."""
    found: dict[str, list[int]] = {}
    for file, line in sorted(places):
        found.setdefault(file, []).append(line)
    return found


def _places(lines: Mapping[str, Sequence[int]]) -> Places:
    return {(file, line) for file, numbers in lines.items() for line in numbers}
