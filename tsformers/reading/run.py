"""Pages -> results: run, judged, several at a time, all failures of all pages together."""

from __future__ import annotations

import os
import threading
import time
import traceback
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from multiprocessing.context import BaseContext
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from tsformers.reading.children import (
    CheckerError,
    Outcome,
    module_path,
    pinned_environment,
    run_together,
    start_warm,
    warm_context,
)
from tsformers.reading.failure import Failure
from tsformers.reading.links import with_links
from tsformers.reading.page import Page, read_page
from tsformers.reading.record import Reading
from tsformers.reading.reuse import Shelf, at_start, judged
from tsformers.reading.settings import Settings, load_settings, page_environment
from tsformers.reading.verdict import judge_page

LARGEST_BATCH = 24  # pages that run one after the other in one process


@dataclass
class Result:
    """A page, its record, and everything that is wrong with it, sorted by place."""

    page: Page
    reading: Reading
    failures: list[Failure] = field(default_factory=list)
    reused: bool = False  # a record was used again: nothing ran
    reason: str = ""  # why the page ran or did not
    error: str = ""  # traceback of a failure of the checker itself, on this page

    @property
    def ran(self) -> bool:
        return runs(self.page) and not self.reused


def runs(page: Page) -> bool:
    """Whether there is anything on a page to run."""
    return page.front.checked and bool(page.steps or page.front.toy)


def find_pages(paths: Sequence[str | Path]) -> list[tuple[Path, str]]:
    """The Markdown files that ``paths`` name, folders searched, each with its name as given.

    Raises:
        FileNotFoundError: a path does not exist, or a folder holds no page.
    """
    found: dict[Path, str] = {}
    for given in paths:
        path = Path(given)
        if path.is_dir():
            inside = sorted(file for file in path.rglob("*.md") if not file.is_dir())
            if not inside:
                raise FileNotFoundError(f"{given}: no page (*.md) in this folder; PATH is a page or a folder of pages")
            folder = str(given).replace(os.sep, "/").rstrip("/")
            for file in inside:
                found.setdefault(file, f"{folder}/{file.relative_to(path).as_posix()}")
        elif path.exists() or path.is_symlink():
            found.setdefault(path, str(given).replace(os.sep, "/"))
        else:
            raise FileNotFoundError(no_such(path))
    return list(found.items())


def no_such(path: Path) -> str:
    """What to say of a page that is not there, with one beside it that may have been meant."""
    beside = [file.name for file in path.parent.iterdir()] if path.parent.is_dir() else []
    near = get_close_matches(path.name, beside, 1) or get_close_matches(f"{path.name}.md", beside, 1)
    hint = f"; did you mean {(path.parent / near[0]).as_posix()}?" if near else "; PATH is a page (*.md) or a folder"
    return f"{path.as_posix()}: no such page or folder{hint}"


def warm_up() -> None:
    """Get ready to run pages while they are read yet; for one who will check without records."""
    at_start()
    start_warm()


def check_pages(
    pages: Sequence[Page],
    files: Sequence[Path],
    *,
    jobs: int | None = None,
    time_limit: float | None = None,
    done: Callable[[Result], None] = lambda result: None,
    stop_at_red: bool = False,
    reuse: bool = False,
) -> list[Result]:
    """Run and judge pages, ``jobs`` at a time (default: one a core); ``done`` is told of each as it ends.

    With ``reuse`` records of earlier runs are used where nothing that they depend on changed, and new ones are kept.
    With ``stop_at_red`` no page begins after the first red one has ended; those that never began have no result.
    """
    pages = with_links(pages, files)
    at_start()
    settings = _settings(files, time_limit)
    shelves = {known.root: Shelf(module_path(known)) if reuse else None for known in settings}
    jobs = jobs or os.cpu_count() or 1
    results: dict[int, Result] = {}
    ended: SimpleQueue[tuple[int, Result | None]] = SimpleQueue()
    stop = threading.Event()

    def work(numbers: list[int], context: BaseContext) -> None:
        known = settings[numbers[0]]
        found = check_together([pages[number] for number in numbers], known, context, shelves[known.root])
        for number in numbers:
            try:
                result = next(found) if not stop.is_set() else None
            except Exception as error:
                result = _broken(pages[number], error)
            if result is not None and result.failures and stop_at_red:
                stop.set()
            ended.put((number, result))
        found.close()

    with pinned_environment(), ThreadPoolExecutor(jobs) as pool:
        context = warm_context()
        try:
            for numbers in _batches(pages, settings, jobs):
                pool.submit(work, numbers, context)
            for _ in pages:
                number, result = ended.get()
                if result is not None:
                    results[number] = result
                    done(result)
        finally:
            stop.set()
    return [results[index] for index in sorted(results)]


def _batches(pages: Sequence[Page], settings: Sequence[Settings], jobs: int) -> list[list[int]]:
    """The pages in groups that run one after the other in one process: those with the same toys, but not too many."""
    most = min(LARGEST_BATCH, -(-len(pages) // (4 * jobs)))
    alike: dict[object, list[int]] = {}
    for number, (page, known) in enumerate(zip(pages, settings, strict=True)):
        alone = not runs(page) or page.look
        alike.setdefault(
            number if alone else (id(known), bool(page.front.reads), *page.front.all_toys.items()), []
        ).append(number)
    return sorted(numbers[at : at + most] for numbers in alike.values() for at in range(0, len(numbers), most))


def check_files(paths: Sequence[str | Path], **options: Any) -> list[Result]:
    """Read, run and judge the pages that ``paths`` name. Raises FileNotFoundError as ``find_pages`` does."""
    found = find_pages(paths)
    return check_pages([read_page(path, given=given) for path, given in found], [path for path, _ in found], **options)


def check_page(
    page: Page, settings: Settings, context: BaseContext | None = None, shelf: Shelf | None = None
) -> Result:
    """Run and judge one page, with a ``shelf`` from the record that is kept there if it can be used."""
    return next(check_together([page], settings, context or warm_context(), shelf))


def check_together(
    pages: Sequence[Page], settings: Settings, context: BaseContext, shelf: Shelf | None = None
) -> Generator[Result]:
    """Run and judge pages with the same toys, one after the other; the result of each.

    Where the checker itself fails on a page, that is its result, and the others keep theirs.
    """
    environment = page_environment(settings)
    kept = [_kept(page, settings, environment, shelf) for page in pages]
    outcomes = run_together(
        [page for page, known in zip(pages, kept, strict=True) if known.reading is None], settings, context
    )
    with closing(outcomes):
        for page, known in zip(pages, kept, strict=True):
            started = time.perf_counter()
            outcome = next(outcomes) if known.reading is None else None
            try:
                result = _judged(page, settings, known, outcome)
            except Exception as error:
                result = _broken(page, error)
            if shelf is not None and outcome is not None and not isinstance(outcome, CheckerError):
                result.reason += _keep(result, settings, environment, shelf, outcome)
            result.reading.seconds = time.perf_counter() - started
            yield result


def _broken(page: Page, error: Exception) -> Result:
    last = str(error).strip().split("\n")[-1]
    failure = Failure(page.path, 1, 1, "exec", actual=last, message=f"检查器自身在这一页出错：{last}")
    return Result(page, Reading(), [failure], error="".join(traceback.format_exception(error)))


def _keep(result: Result, settings: Settings, environment: Mapping[str, str], shelf: Shelf, outcome: Outcome) -> str:
    """Keep the record of a page that ran without failure; what is to be said of it if that was not possible."""
    reading, failures, reached = outcome
    if not failures and reached is not None:
        try:
            shelf.put(result.page, settings, environment, reading, reached, right=not result.failures)
        except OSError as error:
            return f"; its record could not be kept: {error.strerror}"
    return ""


@dataclass(frozen=True)
class _Kept:
    """The record of a page, None if it must run, and why; whether the page is found right with it already."""

    reading: Reading | None
    reason: str
    right: bool = False


def _kept(page: Page, settings: Settings, environment: Mapping[str, str], shelf: Shelf | None) -> _Kept:
    if not page.front.checked:
        return _Kept(Reading(), "left out by its front matter")
    if not runs(page):
        return _Kept(Reading(), "nothing on it to run")
    if shelf is None:
        return _Kept(None, "records are not used")
    stored, reason = shelf.take(page, settings, environment)
    if stored is None:
        return _Kept(None, reason)
    return _Kept(stored.reading, reason, right=stored.right == judged(page, settings))


def _judged(page: Page, settings: Settings, known: _Kept, outcome: Outcome | CheckerError | None) -> Result:
    """Raises CheckerError: the checker itself failed in the process of the page."""
    if isinstance(outcome, CheckerError):
        raise outcome
    reading, ran, _ = outcome if outcome is not None else (known.reading or Reading(), [], None)
    failures = [*page.problems, *ran]
    if page.front.checked and not known.right:
        failures += judge_page(page, reading, settings, failures)
    return Result(page, reading, sorted(set(failures)), outcome is None and runs(page), known.reason)


def _settings(files: Sequence[Path], time_limit: float | None) -> list[Settings]:
    """The settings of each page, read once a folder; equal ones are one object."""
    found: dict[Path, Settings] = {}
    for file in files:
        if file.parent not in found:
            known = _limited(load_settings(file), time_limit)
            found[file.parent] = next((other for other in found.values() if other == known), known)
    return [found[file.parent] for file in files]


def _limited(settings: Settings, time_limit: float | None) -> Settings:
    return settings if time_limit is None else replace(settings, time_limit=time_limit)
