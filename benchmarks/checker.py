"""How long `python -m tsformers.reading check` takes, and how much memory, on projects of many pages.

The pages are copies of the site's own reading pages with other titles, in a temporary project that holds the package
too. Each size is measured cold (nothing to reuse), reused (nothing changed since) and with one page changed. Memory is
the greatest sum of the proportional set sizes of the command and all its processes, sampled (Linux only).

    python benchmarks/checker.py
    python benchmarks/checker.py --pages 15 60 --repeat 3 --jobs 1
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FRONT = re.compile(r"\A---\n.*?^reads:.*?^---\n", re.MULTILINE | re.DOTALL)
TITLE = re.compile(r"^# (?!.*`)(.+)$", re.MULTILINE)
INTERVAL = 0.05  # seconds between two looks at the memory
COMMAND = [sys.executable, "-m", "tsformers.reading", "check"]
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}


@dataclass(frozen=True)
class Measured:
    seconds: float
    megabytes: float  # 0 where the system does not tell


def reading_pages() -> list[Path]:
    """The site's reading pages, each with its folder below ``docs``."""
    docs = ROOT / "docs"
    return [page for page in sorted(docs.rglob("*.md")) if FRONT.match(page.read_text(encoding="utf-8"))]


def make_project(folder: Path, count: int) -> list[Path]:
    """A project of ``count`` pages: whole sets of ours, so that their links to each other lead somewhere."""
    originals = reading_pages()
    shutil.copytree(ROOT / "tsformers", folder / "tsformers", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "docs/terms.yml"):
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    pages: list[Path] = []
    for number in range(-(-count // len(originals))):
        for original in originals:
            page = folder / "docs" / f"set{number:03d}" / original.relative_to(ROOT / "docs")
            page.parent.mkdir(parents=True, exist_ok=True)
            text = original.read_text(encoding="utf-8")
            page.write_text(TITLE.sub(rf"# \1，抄本 {chr(0x4E00 + number)}", text, count=1), encoding="utf-8")
            pages.append(page)
    # A last set may be longer than asked: its further pages are there to be linked to, and are not checked.
    for page in pages[count:]:
        page.write_text("---\nchecked: false\nwhy: 只供链接\n---\n# 页\n", encoding="utf-8")
    return pages[:count]


def descendants(process: int) -> list[int]:
    """The process and all below it, from /proc."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except OSError:  # it ended meanwhile
                continue
            parents.setdefault(int(stat.rpartition(")")[2].split()[1]), []).append(int(entry.name))
    found = [process]
    for parent in found:
        found += parents.get(parent, [])
    return found


def memory(process: int) -> float:
    """Megabytes of a process and all below it, shared pages counted once."""
    total = 0
    for each in descendants(process):
        try:
            rollup = Path(f"/proc/{each}/smaps_rollup").read_text()
        except OSError:
            continue
        total += int(re.search(r"^Pss:\s+(\d+)", rollup, re.MULTILINE)[1])  # type: ignore[index]
    return total / 1024


def measure(folder: Path, *arguments: str) -> Measured:
    """Run the command in ``folder``.

    Raises:
        RuntimeError: it was not green; the message is what it printed.
    """
    linux = sys.platform == "linux"
    peak = 0.0
    with tempfile.TemporaryFile() as output:
        started = time.perf_counter()
        process = subprocess.Popen(
            [*COMMAND, *arguments], cwd=folder, env=ENVIRONMENT, stdout=output, stderr=subprocess.STDOUT
        )
        while True:
            try:
                process.wait(INTERVAL)
                break
            except subprocess.TimeoutExpired:
                if linux:
                    peak = max(peak, memory(process.pid))
        seconds = time.perf_counter() - started
        if process.returncode:
            output.seek(0)
            raise RuntimeError(output.read().decode("utf-8", "replace"))
    return Measured(seconds, peak)


def best(measured: list[Measured]) -> Measured:
    return Measured(min(m.seconds for m in measured), max(m.megabytes for m in measured))


def change(page: Path, times: int) -> None:
    """Add an executed block to a page, so that it must run again."""
    text = page.read_text(encoding="utf-8")
    page.write_text(f'{text}\n```python exec="1"\nprint("又一块", {times})\n```\n', encoding="utf-8")


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
            cold.append(measure(folder, "docs", *options))
        found = [("cold", best(cold))]
        if not reuse:
            return found
        reused, one = [], []
        for turn in range(repeat):
            say(f"{count} pages: reused, run {turn + 1} of {repeat}")
            reused.append(measure(folder, "docs", *options))
            say(f"{count} pages: one page changed, run {turn + 1} of {repeat}")
            change(pages[0], turn)
            one.append(measure(folder, "docs", *options))
        return [*found, ("reused", best(reused)), ("one page changed", best(one))]


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


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
