"""The commands, one module each: ``add(commands)`` declares it, ``run(options)`` does it and gives the exit status.

Nothing heavy is imported before a command runs, so that ``--help`` answers at once.

What is wrong with a call is told in English, as ``--help`` and argparse's own errors are, which stand on the same
stream: what was given, then what would be right. What is wrong on a page is told in the language of the pages.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

GREEN, RED, USAGE, BROKEN = 0, 1, 2, 3
STATUS = "Exit status: 0 green, 1 red, 2 usage (no page there), 3 the checker itself failed."

Commands = Any  # argparse's action of subparsers, whose class is private


def positive(text: str) -> int:
    """An argument that is an integer of 1 or more."""
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not an integer of 1 or more")
    return int(text)


def seconds(text: str) -> float:
    """An argument that is a positive number of seconds."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number of seconds")
    return value


def add_pages(command: argparse.ArgumentParser) -> None:
    """The arguments of every command that runs pages."""
    command.add_argument("paths", nargs="+", metavar="PATH", help="a page (*.md) or a folder of pages")
    command.add_argument("--jobs", metavar="N", type=positive, help="pages at a time (default: one a core)")
    command.add_argument(
        "--time-limit",
        metavar="S",
        type=seconds,
        help="seconds a page may run (default: the project's setting, or 60)",
    )


def add_reports(command: argparse.ArgumentParser) -> None:
    """The arguments of every command that makes the report."""
    command.add_argument("--json", metavar="FILE", type=Path, help="write the report as JSON ('-': standard output)")
    command.add_argument("--junit", metavar="FILE", type=Path, help="write JUnit's XML, a test case a page ('-': too)")
    command.add_argument(
        "--summary", metavar="FILE", type=Path, help="add a summary in Markdown to the end of a file ('-': too)"
    )
    command.add_argument("--github", action="store_true", help="print annotations for GitHub Actions, too")
