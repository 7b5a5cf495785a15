"""``check``: run pages and compare every claim with what was computed."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from tsformers.reading.commands import GREEN, RED, STATUS, USAGE, Commands, add_pages


def add(commands: Commands) -> None:
    """Declare the command."""
    about = "run pages and compare every claim with what was computed"
    check = commands.add_parser("check", help=about, description=about.capitalize() + ".", epilog=STATUS)
    check.set_defaults(run=run)
    add_pages(check)
    check.add_argument("--json", metavar="FILE", type=Path, help="write the report as JSON ('-': standard output)")


def run(options: argparse.Namespace) -> int:
    """Check the pages and print what is wrong."""
    from tsformers.reading.page import read_page
    from tsformers.reading.report import as_json, failure_text, summary
    from tsformers.reading.run import Result, check_pages, find_pages
    from tsformers.reading.settings import SettingsError

    sys.path.insert(0, str(Path.cwd()))
    try:
        found = find_pages(options.paths)
    except FileNotFoundError as error:
        print(error, file=sys.stderr)
        return USAGE
    pages = [read_page(path, given=given) for path, given in found]
    ended: list[Result] = []

    def done(result: Result) -> None:
        ended.append(result)
        state = "ok" if not result.failures else f"{len(result.failures)} failed"
        print(
            f"[{len(ended)}/{len(pages)}] {result.page.path} {state} ({result.reading.seconds:.1f} s)", file=sys.stderr
        )

    try:
        limit = options.time_limit
        results = check_pages(pages, [path for path, _ in found], jobs=options.jobs, time_limit=limit, done=done)
    except SettingsError as error:
        print(error, file=sys.stderr)
        return USAGE
    out = sys.stderr if str(options.json) == "-" else sys.stdout
    for result in results:
        rows = result.page.text.splitlines()
        for failure in result.failures:
            row = rows[failure.line - 1] if failure.line <= len(rows) else ""
            print(failure_text(failure, row), file=out)
    print(summary(results), file=out)
    if options.json is not None:
        text = json.dumps(as_json(results), ensure_ascii=False, indent=2) + "\n"
        if str(options.json) == "-":
            print(text, end="")
        else:
            try:
                options.json.write_text(text, encoding="utf-8")
            except OSError as error:
                print(f"{options.json}: {error.strerror}", file=sys.stderr)
                return USAGE
    return RED if any(result.failures for result in results) else GREEN
