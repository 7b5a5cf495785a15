"""``fix``: write what was computed into the pages that state something else."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tsformers.reading.commands import GREEN, RED, USAGE, Commands, add_pages

if TYPE_CHECKING:
    from tsformers.reading.fix import Piece, Proposal
    from tsformers.reading.run import Result

STATUS = "Exit status: 0 nothing left to fix, 1 something refused or left red, 2 usage, 3 the checker itself failed."
ABOUT = """Correct the values that pages state, where another one is computed. Only the literals of claims and the
output of examples are edited; `≈ ?`, `= ?`, `(?)` and an example without output are
filled in; an integer that was asked for by `≈ ?` is written with `=`. Each page runs twice:
a value that is another one the second time is not written. Never run in CI, where a page must be right already."""


def add(commands: Commands) -> None:
    """Declare the command."""
    about = "write what was computed into the pages that state something else"
    fix = commands.add_parser("fix", help=about, description=ABOUT, epilog=STATUS)
    fix.set_defaults(run=run)
    add_pages(fix)
    fix.add_argument("--shapes", action="store_true", help="correct shapes and dtypes, too")
    fix.add_argument("--values", action="store_true", help="correct values that change by more than 10 %%, too")
    fix.add_argument("--dry-run", action="store_true", help="show what would be changed and write nothing")


@dataclass
class _Job:
    """A page on its way: what the file holds, its first run, what is to be changed, how it is after that."""

    path: Path
    data: bytes
    result: Result
    proposal: Proposal
    after: Result


def in_ci() -> bool:
    """Whether this runs where nobody would look at the change: CI services set ``CI``."""
    return os.environ.get("CI", "").lower() not in ("", "0", "false")


def run(options: argparse.Namespace) -> int:
    """Correct the pages and print what was changed and what was not."""
    if in_ci():
        print("fix does not run in CI (the environment has CI set): a page must be right already", file=sys.stderr)
        return USAGE
    from tsformers.reading.fix import propose
    from tsformers.reading.page import read_page
    from tsformers.reading.run import check_pages, find_pages
    from tsformers.reading.settings import SettingsError

    sys.path.insert(0, str(Path.cwd()))
    try:
        found = find_pages(options.paths)
    except FileNotFoundError as error:
        print(error, file=sys.stderr)
        return USAGE
    files = [path for path, _ in found]
    data = [path.read_bytes() for path in files]
    limits = {"jobs": options.jobs, "time_limit": options.time_limit}
    try:
        results = check_pages([read_page(path, given=given) for path, given in found], files, **limits)
    except SettingsError as error:
        print(error, file=sys.stderr)
        return USAGE
    jobs = []
    for path, held, result in zip(files, data, results, strict=True):
        proposal = propose(result.page, result.reading, shapes=options.shapes, values=options.values)
        jobs.append(_Job(path, held, result, proposal, result))
    _run_again(jobs, limits)
    written, changed = True, 0
    for job in jobs:
        _show(job)
        pieces = len({edit.piece for edit in job.proposal.edits})
        if pieces and not options.dry_run and not _write(job):
            written = False
        else:
            changed += pieces
    left = sum(len(job.after.failures) for job in jobs)
    done = "would be fixed" if options.dry_run else "fixed"
    print(f"{changed} {done}, {sum(len(job.proposal.refused) for job in jobs)} refused, {left} failures left")
    return RED if left or not written or (options.dry_run and changed) else GREEN


def _run_again(jobs: list[_Job], limits: dict[str, float | None]) -> None:
    """Run the corrected pages, until no value is written that differs between two runs."""
    from tsformers.reading.fix import apply, unstable
    from tsformers.reading.page import scan
    from tsformers.reading.run import check_pages

    todo = [job for job in jobs if job.proposal.edits]
    while todo:
        pages = [scan(apply(job.result.page.text, job.proposal.edits), job.result.page.path) for job in todo]
        again = check_pages(pages, [job.path for job in todo], **limits)  # type: ignore[arg-type]
        unsure = []
        for job, after in zip(todo, again, strict=True):
            job.after = after
            bad = unstable(job.result.reading, job.after.reading, job.proposal.edits)
            if bad:
                job.proposal.refuse(bad, "两次运行得到的值不同，不能写下其中一个")
                unsure.append(job)
        todo = unsure


def _show(job: _Job) -> None:
    """Old and new of every row changed, with what stands there; then what is left, with the reason."""
    from tsformers.reading.fix import excerpts, piece_at
    from tsformers.reading.report import COLUMNS, excerpt, failure_text, row_of

    path, page = job.result.page.path, job.result.page
    for pieces, line, column, old, new in excerpts(page.text, job.proposal.edits):
        print(f"{path}:{line}:{column}: {'；'.join(_about(job, piece) for piece in pieces)}")
        for mark, row in [*(("-", row) for row in old), *(("+", row) for row in new)]:
            print(f"    {mark} {excerpt(row, column - 1, column, COLUMNS - 6)[0]}")
    said: set[Piece] = set()
    for failure in job.after.failures:
        print(failure_text(failure, row_of(job.after, failure)))
        there = piece_at(job.after.page, failure.line, failure.column)
        if there in job.proposal.refused and there not in said:
            said.add(there)
            print(f"       fix: {job.proposal.refused[there]}")


def _about(job: _Job, piece: Piece) -> str:
    """The piece of source that a claim speaks about, or the example."""
    from tsformers.reading.page import Fence

    page, reading = job.result.page, job.result.reading
    step = page.steps[piece[0]]
    if isinstance(step, Fence):
        return f"示例 {step.code.splitlines()[reading.printed[piece[0]][piece[1]].row].strip()}"
    evidence = reading.evidence[piece[0]]
    if evidence.subject is None:
        return f"`{step.text}`"
    subject = reading.subjects[evidence.subject]
    if evidence.line == 0:
        return f"`{step.text}`，在 {subject.function} 入口"
    source = next((s.text.splitlines()[0] for s in subject.statements if s.line == evidence.line), "")
    return f"`{step.text}`，在 {subject.file}:{evidence.line} 之后：{source.strip()}"


def _write(job: _Job) -> bool:
    """Put the corrected text in the place of the file, whole or not at all; False if somebody changed it meanwhile."""
    target = job.path.resolve()
    mark = job.data[: len(job.data) - len(job.result.page.text.encode("utf-8"))]  # what is no text: a byte order mark
    if target.read_bytes() != job.data:
        print(f"{job.result.page.path}: changed while it was read; left alone", file=sys.stderr)
        return False
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(mark + job.after.page.text.encode("utf-8"))
        shutil.copymode(target, name)
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise
    return True
