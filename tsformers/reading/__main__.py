"""The command line: ``python -m tsformers.reading check PATH…``."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Sequence

from tsformers.reading.commands import BROKEN, check

COMMANDS = (check,)


def parser() -> argparse.ArgumentParser:
    main = argparse.ArgumentParser(
        prog="python -m tsformers.reading",
        description="Check reading pages: recompute every shape and value that a page states.",
    )
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
        return int(options.run(options))
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
