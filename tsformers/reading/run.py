"""Pages -> results: each page in a process of its own, within a time limit, all failures of all pages together."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from multiprocessing.context import BaseContext
from pathlib import Path
from types import ModuleType
from typing import Any

from tsformers.reading.failure import Failure
from tsformers.reading.links import with_links
from tsformers.reading.page import Page, read_page
from tsformers.reading.process import place, run_in_process, timeout
from tsformers.reading.reached import Reached
from tsformers.reading.record import Reading
from tsformers.reading.reuse import Shelf, at_start
from tsformers.reading.settings import PINNED, Settings, load_settings, page_environment
from tsformers.reading.verdict import judge_page

GRACE = 1.0  # seconds beyond the limit before the process of a page is killed from outside
START = 120.0  # seconds that a process may take until it is ready: the import of torch on a cold disk


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


class CheckerError(RuntimeError):
    """The checker itself failed in the process of a page; the message is the traceback from there."""


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
                raise FileNotFoundError(f"{given}: no page (*.md) in this folder")
            folder = str(given).replace(os.sep, "/").rstrip("/")
            for file in inside:
                found.setdefault(file, f"{folder}/{file.relative_to(path).as_posix()}")
        elif path.exists() or path.is_symlink():
            found.setdefault(path, str(given).replace(os.sep, "/"))
        else:
            raise FileNotFoundError(f"{given}: no such page or folder")
    return list(found.items())


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
    with _environment():
        context = _context()
        results: dict[int, Result] = {}
        with ThreadPoolExecutor(jobs or os.cpu_count() or 1) as pool:
            futures = {
                pool.submit(check_page, page, known, context, *filter(None, [shelves[known.root]])): index
                for index, (page, known) in enumerate(zip(pages, settings, strict=True))
            }
            for future in as_completed(futures):
                result = results[futures[future]] = _ended(future, pages[futures[future]])
                done(result)
                if stop_at_red and result.failures:
                    break
            begun = [future for future in futures if not future.cancel()]  # all at once, before another one begins
            for future in begun:
                if futures[future] not in results:
                    results[futures[future]] = _ended(future, pages[futures[future]])
                    done(results[futures[future]])
    return [results[index] for index in sorted(results)]


def _ended(future: Future[Result], page: Page) -> Result:
    """A page's result; where the checker itself failed on it, that is the result, and the other pages keep theirs."""
    try:
        return future.result()
    except Exception as error:
        last = str(error).strip().split("\n")[-1]
        failure = Failure(page.path, 1, 1, "exec", actual=last, message=f"检查器自身在这一页出错：{last}")
        return Result(page, Reading(), [failure], error="".join(traceback.format_exception(error)))


def check_files(paths: Sequence[str | Path], **options: Any) -> list[Result]:
    """Read, run and judge the pages that ``paths`` name. Raises FileNotFoundError as ``find_pages`` does."""
    found = find_pages(paths)
    return check_pages([read_page(path, given=given) for path, given in found], [path for path, _ in found], **options)


def check_page(
    page: Page, settings: Settings, context: BaseContext | None = None, shelf: Shelf | None = None
) -> Result:
    """Run and judge one page, with a ``shelf`` from the record that is kept there if it can be used."""
    if not page.front.checked:
        return Result(page, Reading(), sorted(page.problems), reason="left out by its front matter")
    started = time.perf_counter()
    reading, ran, reused, reason = _recorded(page, settings, context or _context(), shelf)
    failures = [*page.problems, *ran]
    failures += judge_page(page, reading, settings, failures)
    reading.seconds = time.perf_counter() - started
    return Result(page, reading, sorted(set(failures)), reused, reason)


def _recorded(
    page: Page, settings: Settings, context: BaseContext, shelf: Shelf | None
) -> tuple[Reading, list[Failure], bool, str]:
    """The record of a page and what went wrong, whether it was there already, and why it was used or not."""
    if not runs(page):
        return Reading(), [], False, "nothing on it to run"
    if shelf is None:
        return *_run(page, settings, context)[:2], False, "records are not used"
    environment = page_environment(settings)
    stored, reason = shelf.take(page, settings, environment)
    if stored is not None:
        return stored, [], True, reason
    reading, failures, reached = _run(page, settings, context)
    if not failures and reached is not None:
        try:
            shelf.put(page, settings, environment, reading, reached)
        except OSError as error:
            reason += f"; its record could not be kept: {error.strerror}"
    return reading, failures, False, reason


def module_path(settings: Settings) -> list[str]:
    """The path of modules in a page's process: the command's folder, the project's, then the interpreter's own.

    The folder of the script that started the interpreter is left out, so that every command gives the same.
    """
    script = os.path.dirname(os.path.realpath(sys.argv[0])) if os.path.isfile(sys.argv[0]) else ""
    rest = [folder for folder in sys.path if folder and folder != script]
    return list(dict.fromkeys([os.getcwd(), str(settings.root), *rest]))


def _settings(files: Sequence[Path], time_limit: float | None) -> list[Settings]:
    """The settings of each page, read once a folder."""
    found: dict[Path, Settings] = {}
    for file in files:
        if file.parent not in found:
            found[file.parent] = _limited(load_settings(file), time_limit)
    return [found[file.parent] for file in files]


def _run(page: Page, settings: Settings, context: BaseContext) -> tuple[Reading, list[Failure], Reached | None]:
    ours, theirs = context.Pipe(duplex=False)
    given = (page, settings, module_path(settings), page_environment(settings), theirs)
    process = context.Process(target=run_in_process, args=given)  # type: ignore[attr-defined]
    with _without_main():
        process.start()
    theirs.close()
    step = -1
    deadline = time.monotonic() + START
    try:
        while True:
            if not ours.poll(max(0.0, deadline - time.monotonic())):
                return Reading(), [timeout(page.path, *place(page, step), settings)], None
            try:
                message = ours.recv()
            except EOFError:
                process.join(GRACE)
                return Reading(), [_died(page, step, process.exitcode)], None
            if message[0] == "ready":
                deadline = time.monotonic() + settings.time_limit + GRACE
            elif message[0] == "step":
                step = message[1]
            elif message[0] == "broken":
                raise CheckerError(f"{page.path}: {message[1]}")
            else:
                return message[1], message[2], message[3]
    finally:
        ours.close()
        if process.is_alive():
            process.kill()
        if hasattr(os, "killpg") and process.pid is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
        process.join()


def _died(page: Page, step: int, code: int | None) -> Failure:
    line, column = place(page, step)
    how = f"退出码 {code}"
    if code is not None and code < 0:
        how = f"信号 {signal.Signals(-code).name}"
    message = f"这一页的进程在这里结束了，没有交出结果（{how}）"
    return Failure(page.path, line, column, "exit", actual=how, message=message)


def _limited(settings: Settings, time_limit: float | None) -> Settings:
    return settings if time_limit is None else replace(settings, time_limit=time_limit)


def _context() -> BaseContext:
    """A warm server process to fork from on Linux; elsewhere one spawned process a page."""
    if sys.platform != "linux":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["torch", "torch._dynamo", "safetensors", "tsformers.reading.walk"])
    return context


_STARTING = threading.Lock()


@contextmanager
def _without_main() -> Iterator[None]:
    """Start a process that does not run the program's own main module again: its imports are not the page's."""
    with _STARTING:
        main = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            yield
        finally:
            sys.modules["__main__"] = main


@contextmanager
def _environment() -> Iterator[None]:
    """The environment that the server process and so every page inherits."""
    before = {name: os.environ.get(name) for name in PINNED}
    os.environ.update(PINNED)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
