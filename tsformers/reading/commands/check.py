"""``check``: run pages and compare every claim with what was computed."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from pathlib import Path

from tsformers.reading.commands import BROKEN, GREEN, RED, STATUS, USAGE, Commands, add_pages


def add(commands: Commands) -> None:
    """Declare the command."""
    about = "run pages and compare every claim with what was computed"
    check = commands.add_parser("check", help=about, description=about.capitalize() + ".", epilog=STATUS)
    check.set_defaults(run=run)
    add_pages(check)
    check.add_argument("--json", metavar="FILE", type=Path, help="write the report as JSON ('-': standard output)")
    check.add_argument("--junit", metavar="FILE", type=Path, help="write JUnit's XML, a test case a page ('-': too)")
    check.add_argument("--github", action="store_true", help="print annotations for GitHub Actions, too")
    check.add_argument(
        "--only", metavar="TEXT", action="append", default=[], help="only pages whose path contains TEXT (repeatable)"
    )
    check.add_argument("--no-reuse", action="store_true", help="run every page, whatever was recorded before")
    check.add_argument("--explain", action="store_true", help="say of each page why it ran or did not")
    check.add_argument("-x", "--exitfirst", action="store_true", help="begin no page after the first red one")


def run(options: argparse.Namespace) -> int:
    """Check the pages and print what is wrong."""
    from tsformers.reading.coverage import per_model, summary_lines
    from tsformers.reading.formats import github, junit
    from tsformers.reading.page import read_page
    from tsformers.reading.report import COLUMNS, as_json, failures_text, summary, table
    from tsformers.reading.run import Result, check_pages, find_pages
    from tsformers.reading.settings import SettingsError

    sys.path.insert(0, str(Path.cwd()))
    try:
        found = find_pages(options.paths)
    except FileNotFoundError as error:
        print(error, file=sys.stderr)
        return USAGE
    if options.only:
        found = [(path, given) for path, given in found if any(text in given for text in options.only)]
        if not found:
            print(f"no page whose path contains {' or '.join(options.only)}", file=sys.stderr)
            return USAGE
    pages = [read_page(path, given=given) for path, given in found]
    ended: list[Result] = []

    def done(result: Result) -> None:
        ended.append(result)
        state = "ok" if not result.failures else f"{len(result.failures)} failed"
        state += ", reused" if result.reused else ""
        print(
            f"[{len(ended)}/{len(pages)}] {result.page.path} {state} ({result.reading.seconds:.1f} s)", file=sys.stderr
        )

    try:
        limit = options.time_limit
        results = check_pages(
            pages,
            [path for path, _ in found],
            jobs=options.jobs,
            time_limit=limit,
            done=done,
            stop_at_red=options.exitfirst,
            reuse=not options.no_reuse,
        )
    except SettingsError as error:
        print(error, file=sys.stderr)
        return USAGE
    out = sys.stderr if "-" in (str(options.json), str(options.junit)) else sys.stdout
    colour = out.isatty() and "NO_COLOR" not in os.environ
    columns = shutil.get_terminal_size().columns if out.isatty() else COLUMNS
    for text in failures_text(results, columns=columns, colour=colour):
        print(text, file=out)
    for line in github(results) if options.github else ():
        print(line, file=out)
    for result in results if options.explain else ():
        print(f"{result.page.path}: {'ran' if result.ran else 'did not run'}: {result.reason}", file=out)
    for line in table(results, colour=colour):
        print(line, file=out)
    if len(results) < len(pages):
        print(f"stopped at the first red page; {len(pages) - len(results)} not run", file=out)
    for line in summary_lines(per_model(result.reading for result in results)):
        print(line, file=out)
    print(summary(results), file=out)
    reports = [
        (options.json, json.dumps(as_json(results), ensure_ascii=False, indent=2) + "\n"),
        (options.junit, junit(results)),
    ]
    if not all(_write(file, text) for file, text in reports if file is not None):
        return USAGE
    broken = [result.error for result in results if result.error]
    if broken:
        print(*broken, "The checker itself failed; this is a bug in tsformers.reading.", sep="\n", file=sys.stderr)
        return BROKEN
    return RED if any(result.failures for result in results) else GREEN


def _write(file: Path, text: str) -> bool:
    """Write a report; False, with the reason said, if that cannot be."""
    if str(file) == "-":
        print(text, end="")
        return True
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        print(f"{file}: {error.strerror}", file=sys.stderr)
        return False
    return True
