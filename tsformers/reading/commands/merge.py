"""``merge``: make one report of the reports of a check's shards."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from tsformers.reading.commands import STATUS, USAGE, Commands, add_reports


def add(commands: Commands) -> None:
    """Declare the command."""
    about = "make one report of the JSON reports of `check --shard 1/N` to `N/N`"
    merge = commands.add_parser("merge", help=about, description=about.capitalize() + ".", epilog=STATUS)
    merge.set_defaults(run=run)
    merge.add_argument("reports", nargs="+", metavar="REPORT", type=Path, help="the JSON report of a shard")
    add_reports(merge)


def run(options: argparse.Namespace) -> int:
    """Merge the reports, and say what the whole check says."""
    from tsformers.reading.commands.reports import finish, output
    from tsformers.reading.report import failures_of
    from tsformers.reading.shards import MergeError, merged

    parts: dict[str, Any] = {}
    for file in options.reports:
        try:
            parts[str(file)] = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            print(f"{file}: {error}", file=sys.stderr)
            return USAGE
    try:
        report = merged(parts)
    except MergeError as error:
        print(error, file=sys.stderr)
        return USAGE
    for failure in failures_of(report):
        print(failure, file=output(options))
    return finish(report, options)
