"""``check``: run pages and compare every claim with what was computed."""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path
from typing import Any

from tsformers.reading.commands import BROKEN, STATUS, USAGE, Commands, add_pages, add_reports


def add(commands: Commands) -> None:
    """Declare the command."""
    about = "run pages and compare every claim with what was computed"
    check = commands.add_parser("check", help=about, description=about.capitalize() + ".", epilog=STATUS)
    check.set_defaults(run=run)
    add_pages(check)
    add_reports(check)
    check.add_argument(
        "--only", metavar="TEXT", action="append", default=[], help="only pages whose path contains TEXT (repeatable)"
    )
    check.add_argument("--no-reuse", action="store_true", help="run every page, whatever was recorded before")
    check.add_argument("--explain", action="store_true", help="say of each page why it ran or did not")
    part = check.add_mutually_exclusive_group()  # reports are merged only where they hold every page
    part.add_argument(
        "--shard", metavar="K/N", type=_shard, help="only the K-th of N parts of the pages; see the command merge"
    )
    part.add_argument("-x", "--exitfirst", action="store_true", help="begin no page after the first red one")


def _shard(text: str) -> Any:
    from tsformers.reading.shards import shard

    return shard(text)


def run(options: argparse.Namespace) -> int:
    """Check the pages and print what is wrong."""
    from tsformers.reading.commands.reports import coloured, finish, output
    from tsformers.reading.page import read_page
    from tsformers.reading.report import COLUMNS, as_json, failures_text
    from tsformers.reading.run import Result, check_pages, find_pages, warm_up
    from tsformers.reading.settings import SettingsError
    from tsformers.reading.shards import positions, shard_report
    from tsformers.reading.todo import todos

    sys.path.insert(0, str(Path.cwd()))
    try:
        found = find_pages(options.paths)
    except FileNotFoundError as error:
        print(error, file=sys.stderr)
        return USAGE
    if options.only:
        every, found = found, [item for item in found if any(text in item[1] for text in options.only)]
        if not found:
            wanted = " or ".join(map(repr, options.only))
            print(f"--only: none of the {len(every)} pages, such as {every[0][1]}, contains {wanted}", file=sys.stderr)
            return USAGE
    total, taken = len(found), list(range(len(found)))
    if options.shard:
        taken = positions([path for path, _ in found], options.shard)
        found = [found[index] for index in taken]
    if options.no_reuse:
        warm_up()
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
    out = output(options)
    colour = coloured(out)
    columns = shutil.get_terminal_size().columns if out.isatty() else COLUMNS
    for text in failures_text(results, columns=columns, colour=colour):
        print(text, file=out)
    for result in results if options.explain else ():
        print(f"{result.page.path}: {'ran' if result.ran else 'did not run'}: {result.reason}", file=out)
    for page in pages:
        for line in todos(page):
            print(f"{page.path}:{line}: TODO，还没有写；列进导航之前要写完", file=out)
    left = len(pages) - len(results)
    report = shard_report(results, options.shard, taken, total) if options.shard else as_json(results)
    status = finish(report, options, f"stopped at the first red page; {left} not run" if left else "")
    broken = [result.error for result in results if result.error]
    if broken and status != USAGE:
        print(*broken, "The checker itself failed; this is a bug in tsformers.reading.", sep="\n", file=sys.stderr)
        return BROKEN
    return status
