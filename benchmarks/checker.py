"""How long `python -m tsformers.reading check` takes, and how much memory, on projects of many pages.

The pages are copies of the site's own reading pages with other titles, in a temporary project that holds the package
too. Each size is measured cold (nothing to reuse), reused (nothing changed since) and with one page changed. Memory is
the greatest sum of the proportional set sizes of the command and all its processes, sampled (Linux only).

    python benchmarks/checker.py
    python benchmarks/checker.py --pages 15 60 --repeat 3 --jobs 1
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from project import ROOT, Measured, best, change, make_project, measure, say

COMMAND = [sys.executable, "-m", "tsformers.reading", "check"]


def benchmark(count: int, repeat: int, options: list[str], *, reuse: bool) -> list[tuple[str, Measured]]:
    """The cases of one size, each with the shortest time and the greatest memory of ``repeat`` runs."""
    with tempfile.TemporaryDirectory(prefix="checker-") as name:
        folder = Path(name)
        say(f"{count} pages: making the project")
        pages = make_project(folder, count)
        cold = []
        for turn in range(repeat):
            say(f"{count} pages: cold, run {turn + 1} of {repeat}")
            shutil.rmtree(folder / ".cache", ignore_errors=True)
            cold.append(measure(folder, [*COMMAND, "docs", *options]))
        found = [("cold", best(cold))]
        if not reuse:
            return found
        reused, one = [], []
        for turn in range(repeat):
            say(f"{count} pages: reused, run {turn + 1} of {repeat}")
            reused.append(measure(folder, [*COMMAND, "docs", *options]))
            say(f"{count} pages: one page changed, run {turn + 1} of {repeat}")
            change(pages[0], turn)
            one.append(measure(folder, [*COMMAND, "docs", *options]))
        return [*found, ("reused", best(reused)), ("one page changed", best(one))]


def main() -> None:
    about = (__doc__ or "").split("\n\n")
    parser = argparse.ArgumentParser(description=about[0], epilog=about[1])
    parser.add_argument("--pages", metavar="N", type=int, nargs="+", default=[15, 60, 240], help="sizes to measure")
    parser.add_argument("--repeat", metavar="N", type=int, default=1, help="runs of each case (default: 1)")
    parser.add_argument("--jobs", metavar="N", type=int, help="pages at a time (default: one a core)")
    given = parser.parse_args()
    if min([*given.pages, given.repeat, given.jobs or 1]) < 1:
        parser.error("sizes, runs and jobs are 1 or more")
    options = ["--jobs", str(given.jobs)] if given.jobs else []
    help_text = subprocess.run([*COMMAND, "--help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    reuse = "--no-reuse" in help_text
    if not reuse:
        say("this version of the command reuses nothing; only cold runs are measured")
    print(f"{'pages':>6}  {'case':<16}  {'seconds':>8}  {'ms a page':>9}  {'peak MB':>8}")
    for count in given.pages:
        for case, found in benchmark(count, given.repeat, options, reuse=reuse):
            each = 1000 * found.seconds / count
            memory_said = f"{found.megabytes:.0f}" if found.megabytes else "-"
            print(f"{count:>6}  {case:<16}  {found.seconds:>8.2f}  {each:>9.0f}  {memory_said:>8}", flush=True)


if __name__ == "__main__":
    main()
