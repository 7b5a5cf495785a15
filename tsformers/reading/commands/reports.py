"""How ``check`` and ``merge`` end: the one record as a table on the terminal and in the files that were asked for."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import IO

from tsformers.reading.commands import GREEN, RED, USAGE
from tsformers.reading.coverage import summary_lines
from tsformers.reading.formats import github, junit, markdown
from tsformers.reading.report import Report, summary, table


def output(options: argparse.Namespace) -> IO[str]:
    """Where a person reads: standard output, unless a report goes there."""
    return sys.stderr if "-" in map(str, (options.json, options.junit, options.summary)) else sys.stdout


def coloured(out: IO[str]) -> bool:
    return out.isatty() and "NO_COLOR" not in os.environ


def finish(report: Report, options: argparse.Namespace, note: str = "") -> int:
    """Say the report and write it; the exit status."""
    out = output(options)
    for line in github(report) if options.github else ():
        print(line, file=out)
    for line in table(report, colour=coloured(out)):
        print(line, file=out)
    if note:
        print(note, file=out)
    for line in summary_lines(report["totals"]["models"]):
        print(line, file=out)
    print(summary(report), file=out)
    files = [
        (options.json, "w", json.dumps(report, ensure_ascii=False, indent=2) + "\n"),
        (options.junit, "w", junit(report)),
        (options.summary, "a", markdown(report)),
    ]
    if not all(_write(file, mode, text) for file, mode, text in files if file is not None):
        return USAGE
    return RED if report["totals"]["failures"] else GREEN


def _write(file: Path, mode: str, text: str) -> bool:
    """Write a report; False, with the reason said, if that cannot be."""
    if str(file) == "-":
        print(text, end="")
        return True
    try:
        with file.open(mode, encoding="utf-8", errors="backslashreplace") as stream:  # half a character, too
            stream.write(text)
    except OSError as error:
        print(f"{file}: {error.strerror}", file=sys.stderr)
        return False
    return True
