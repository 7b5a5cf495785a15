"""``mutate``: spoil pages one thing at a time and see whether the check finds it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tsformers.reading.commands import GREEN, RED, USAGE, Commands, add_pages, positive

if TYPE_CHECKING:
    from tsformers.reading.source_mutation import JudgedSource

STATUS = (
    "Exit status: 0 every mutant of a page is found or true all the same, 1 one survives or a page is red to begin "
    "with, 2 usage (no page there), 3 the checker itself failed. Surviving mutants of the source do not count: they "
    "are listed with the reason."
)


def add(commands: Commands) -> None:
    """Declare the command."""
    about = "make every claim, example and quote wrong, one at a time, and see whether the check finds it"
    mutate = commands.add_parser("mutate", help=about, description=about.capitalize() + ".", epilog=STATUS)
    mutate.set_defaults(run=run)
    add_pages(mutate)
    mutate.add_argument("--source", action="store_true", help="spoil the source that the pages' toys execute, too")
    mutate.add_argument(
        "--most", metavar="N", type=positive, help="at most N mutants a page (of the source: in all), taken evenly"
    )


def run(options: argparse.Namespace) -> int:
    """Mutate the pages and print what survives."""
    from tsformers.reading.mutate import SURVIVED, mutate_pages
    from tsformers.reading.page import read_page
    from tsformers.reading.run import check_pages, find_pages
    from tsformers.reading.settings import SettingsError

    sys.path.insert(0, str(Path.cwd()))
    try:
        found = find_pages(options.paths)
        pages = [read_page(path, given=given) for path, given in found]
        files = [path for path, _ in found]
        results = check_pages(pages, files, jobs=options.jobs, time_limit=options.time_limit)
    except (FileNotFoundError, SettingsError) as error:
        print(error, file=sys.stderr)
        return USAGE
    red = [failure for result in results for failure in result.failures]
    for failure in red:
        print(failure)
    if red:
        print("These pages are red as they are: make them right first.", file=sys.stderr)
        return RED
    limits = {"jobs": options.jobs, "time_limit": options.time_limit, "most": options.most}
    judged = mutate_pages(results, files, **limits)
    for item in judged:
        if item.verdict != "killed":
            place = f"{item.path}:{item.mutant.line}:{item.mutant.column}"
            reason = f"：{item.reason}" if item.reason else ""
            print(f"{place}: {item.verdict}: {item.mutant.how}: `{item.before}` → `{item.after}`{reason}")
    for sort in ("claim", "example", "quote"):
        print(rate(sort, [item.verdict for item in judged if item.mutant.sort == sort]))
    if options.source:
        from tsformers.reading.source_mutation import mutate_source

        _print_source(mutate_source(results, files, **limits))
    return RED if any(item.verdict == SURVIVED for item in judged) else GREEN


def rate(sort: str, verdicts: Sequence[str]) -> str:
    """How many mutants of a sort were killed, of those that say something else."""
    equivalent = verdicts.count("equivalent")
    killed, count = verdicts.count("killed"), len(verdicts) - equivalent
    share = f" ({100 * killed / count:.1f} %)" if count else ""
    return f"{sort} mutants: {killed} of {count} killed{share}, {equivalent} true all the same"


def _print_source(judged: Sequence[JudgedSource]) -> None:
    for item in judged:
        if item.verdict != "killed":
            place = f"{item.file}:{item.mutant.line}:{item.mutant.column}"
            print(f"{place}: {item.verdict}: {item.mutant.how}: `{item.mutant.statement}`：{item.reason}")
    print(rate("source", [item.verdict for item in judged]))
    kinds: dict[str, int] = {}
    for item in judged:
        if item.verdict == "killed":
            kinds[item.reason] = kinds.get(item.reason, 0) + 1
    if kinds:
        print("killed by: " + ", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items())))
