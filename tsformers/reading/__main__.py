"""The command line: ``python -m tsformers.reading check PATH…``."""

from __future__ import annotations

import argparse
import json
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

GREEN, RED, USAGE, BROKEN = 0, 1, 2, 3


def parser() -> argparse.ArgumentParser:
    main = argparse.ArgumentParser(
        prog="python -m tsformers.reading",
        description="Check reading pages: recompute every shape and value that a page states.",
    )
    commands = main.add_subparsers(dest="command", required=True, metavar="COMMAND")
    check = commands.add_parser(
        "check",
        help="run pages and compare every claim with what was computed",
        description="Run pages and compare every claim with what was computed.",
        epilog="Exit status: 0 green, 1 red, 2 usage (no page there), 3 the checker itself failed.",
    )
    check.add_argument("paths", nargs="+", metavar="PATH", help="a page (*.md) or a folder of pages")
    check.add_argument("--json", metavar="FILE", type=Path, help="write the report as JSON ('-': standard output)")
    check.add_argument("--jobs", metavar="N", type=_positive, help="pages at a time (default: one a core)")
    check.add_argument(
        "--time-limit",
        metavar="S",
        type=_seconds,
        help="seconds a page may run (default: the project's setting, or 60)",
    )
    return main


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not 1 or more")
    return value


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not a positive number of seconds")
    return value


def check(options: argparse.Namespace) -> int:
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


def main(arguments: Sequence[str] | None = None) -> int:
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # whatever the locale
    options = parser().parse_args(arguments)
    try:
        return check(options)
    except Exception:
        traceback.print_exc()
        print("The checker itself failed; this is a bug in tsformers.reading.", file=sys.stderr)
        return BROKEN


def _in_utf8() -> None:
    """Start again in UTF-8 mode where the locale says otherwise: the names of pages are read through it."""
    if sys.getfilesystemencoding() != "utf-8":
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])


if __name__ == "__main__":
    _in_utf8()
    sys.exit(main())
