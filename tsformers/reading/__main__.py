"""The command line: ``python -m tsformers.reading check PATH…``."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Any

from tsformers.reading.commands import BROKEN, check, fix, merge, mutate, new, trace

COMMANDS = (check, merge, fix, trace, mutate, new)


class _Version(argparse.Action):
    """Says the versions; found only when asked for, and without importing torch."""

    def __init__(self, option_strings: Sequence[str], dest: str, **rest: Any) -> None:
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, **rest)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from importlib.metadata import version

        python = ".".join(map(str, sys.version_info[:3]))
        print(f"tsformers {version('tsformers')}, torch {version('torch')}, Python {python}")
        parser.exit()


def parser() -> argparse.ArgumentParser:
    main = argparse.ArgumentParser(
        prog="python -m tsformers.reading",
        description="Check reading pages: recompute every shape and value that a page states.",
    )
    main.add_argument("--version", action=_Version, help="show the versions of the package, torch and Python")
    commands = main.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in COMMANDS:
        command.add(commands)
    return main


def main(arguments: Sequence[str] | None = None) -> int:
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # whatever the locale
    options = parser().parse_args(arguments)
    try:
        status = int(options.run(options))
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # whoever read the report has seen enough; what is left of it goes nowhere
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and error.name and not error.name.startswith("tsformers"):
            print(f"{error.name} is not installed; it comes with the extra 'reading' of tsformers.", file=sys.stderr)
        else:
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
