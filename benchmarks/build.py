"""How long `mkdocs build --strict` takes, and how much memory, with and without checking, on projects of many pages.

The pages are copies of the site's own reading pages with other titles. "source" is MkDocs with the same theme and
plugins but ours: the pages as they are written. "without" renders the same site as ours from records at hand, and
checks nothing. "cold" is the build that is published; "reused" takes the records of an earlier run where nothing
changed. With `--myst N` the pages' notebooks go through MyST-NB too, "cold" and from its cache, on N pages.

Limits, on 2 cores: cold at most "without" and 3 s and 0.1 s a page, reused at most 1.1 times "without".

    python benchmarks/build.py
    python benchmarks/build.py --pages 15 60 --myst 15
"""

from __future__ import annotations

import argparse
import importlib.util
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from project import ROOT, Measured, make_project, measure, say

BUILD = [sys.executable, "-m", "mkdocs", "build", "--quiet"]
OURS = ("tsformers-reading", "markdown-exec")
WITHOUT = """INHERIT: mkdocs.yml
hooks: [benchmarks/without_checking.py]
"""
SPHINX = """extensions = ["myst_nb"]
nb_execution_mode = "cache"
nb_execution_raise_on_error = True
nb_execution_timeout = 600
html_theme = "alabaster"
language = "zh_CN"
"""


def source_only(config: str) -> str:
    """mkdocs.yml without our plugin and markdown-exec, which would run what only our records give names to."""
    kept, skipping = [], False
    for line in config.splitlines():
        if line.startswith("  - "):
            skipping = line.startswith(tuple(f"  - {name}" for name in OURS))
        elif not line.startswith("   "):
            skipping = False
        if not skipping:
            kept.append(line)
    return "\n".join(kept).replace("strict: true", "strict: false") + "\n"


def builds(folder: Path, count: int) -> Iterator[tuple[str, Measured]]:
    """The cases of one size, one after the other."""
    say(f"{count} pages: making the project")
    make_project(folder, count)
    (folder / "source.yml").write_text(
        source_only((folder / "mkdocs.yml").read_text(encoding="utf-8")), encoding="utf-8"
    )
    (folder / "without.yml").write_text(WITHOUT, encoding="utf-8")
    say(f"{count} pages: records for the build without checking")
    measure(folder, [sys.executable, "-m", "benchmarks.without_checking"])
    yield "source", build(folder, "source", count)
    yield "without", build(folder, "without", count)
    yield "cold", build(folder, "mkdocs", count)
    yield "(keeping)", build(folder, "mkdocs", count, reuse=True)
    yield "reused", build(folder, "mkdocs", count, reuse=True)


def build(folder: Path, config: str, count: int, *, reuse: bool = False) -> Measured:
    say(f"{count} pages: {config}{', with records' if reuse else ''}")
    shutil.rmtree(folder / "site", ignore_errors=True)
    return measure(folder, [*BUILD, "--config-file", f"{config}.yml"], READING_REUSE=str(reuse).lower())


def myst(folder: Path, count: int) -> Iterator[tuple[str, Measured]]:
    """The notebooks of the pages, as the site gives them, through MyST-NB."""
    say(f"{count} pages: making the project and its notebooks")
    make_project(folder, count)
    build(folder, "mkdocs", count)
    book = folder / "book"
    for notebook in sorted((folder / "site").rglob("*.ipynb")):
        target = book / notebook.relative_to(folder / "site")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(notebook, target)
    (book / "conf.py").write_text(SPHINX, encoding="utf-8")
    (book / "index.md").write_text("# 目录\n\n```{toctree}\n:glob:\n\n**/*\n```\n", encoding="utf-8")
    for case in ("MyST-NB cold", "MyST-NB reused"):
        say(f"{count} pages: {case}")
        shutil.rmtree(folder / "html", ignore_errors=True)
        # The cache of results is kept, the tree of the last build is not, as in our own case.
        shutil.rmtree(folder / "trees", ignore_errors=True)
        cache = ["-D", f"nb_execution_cache_path={folder / 'cache'}", "-d", str(folder / "trees")]
        command = [sys.executable, "-m", "sphinx", "-q", *cache, "book", "html"]
        yield case, measure(folder, command, PYTHONPATH=str(folder))


def report(count: int, cases: Iterator[tuple[str, Measured]]) -> dict[str, Measured]:
    found = {}
    for case, measured in cases:
        found[case] = measured
        said = f"{measured.megabytes:.0f}" if measured.megabytes else "-"
        each = 1000 * measured.seconds / count
        print(f"{count:>6}  {case:<15}  {measured.seconds:>8.1f}  {each:>9.0f}  {said:>8}", flush=True)
    return found


def limits(count: int, found: dict[str, Measured]) -> None:
    """The measured times beside their limits."""
    without = found["without"].seconds
    for case, limit in (("cold", without + 3 + 0.1 * count), ("reused", 1.1 * without)):
        seconds = found[case].seconds
        print(f"{count:>6}  {case}: {seconds:.1f} s, limit {limit:.1f} s: {'kept' if seconds <= limit else 'NOT KEPT'}")


def main() -> None:
    about = (__doc__ or "").split("\n\n")
    parser = argparse.ArgumentParser(description=about[0], epilog=about[1])
    parser.add_argument("--pages", metavar="N", type=int, nargs="+", default=[15, 60, 240], help="sizes to measure")
    parser.add_argument("--myst", metavar="N", type=int, nargs="*", default=[], help="sizes to measure MyST-NB on")
    given = parser.parse_args()
    if min([*given.pages, *given.myst]) < 1:
        parser.error("sizes are 1 or more")
    if given.myst and importlib.util.find_spec("myst_nb") is None:
        parser.error(f"MyST-NB is not installed: pip install -c {ROOT / 'constraints.txt'} -e '.[docs,speed]'")
    print(f"{'pages':>6}  {'case':<15}  {'seconds':>8}  {'ms a page':>9}  {'peak MB':>8}")
    for count in given.pages:
        with tempfile.TemporaryDirectory(prefix="build-") as name:
            limits(count, report(count, builds(Path(name), count)))
    for count in given.myst:
        with tempfile.TemporaryDirectory(prefix="build-") as name:
            report(count, myst(Path(name), count))


if __name__ == "__main__":
    main()
