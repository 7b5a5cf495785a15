"""Pages -> results: each page in a process of its own, within a time limit, all failures of all pages together."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from multiprocessing.context import BaseContext
from pathlib import Path
from typing import Any

from tsformers.reading.failure import Failure
from tsformers.reading.page import Page, read_page
from tsformers.reading.process import place, run_in_process, timeout
from tsformers.reading.record import Reading
from tsformers.reading.settings import Settings, load_settings
from tsformers.reading.verdict import judge_page

GRACE = 1.0  # seconds beyond the limit before the process of a page is killed from outside
START = 120.0  # seconds that a process may take until it is ready: the import of torch on a cold disk


@dataclass
class Result:
    """A page, its record, and everything that is wrong with it, sorted by place."""

    page: Page
    reading: Reading
    failures: list[Failure] = field(default_factory=list)


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
            inside = sorted(path.rglob("*.md"))
            if not inside:
                raise FileNotFoundError(f"{given}: no page (*.md) in this folder")
            folder = str(given).replace(os.sep, "/").rstrip("/")
            for file in inside:
                found.setdefault(file, f"{folder}/{file.relative_to(path).as_posix()}")
        elif path.is_file():
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
) -> list[Result]:
    """Run and judge pages, ``jobs`` at a time (default: one a core); ``done`` is told of each as it ends."""
    with _environment():
        context = _context()
        results: dict[int, Result] = {}
        with ThreadPoolExecutor(jobs or os.cpu_count() or 1) as pool:
            futures = {
                pool.submit(check_page, page, _limited(load_settings(file), time_limit), context): index
                for index, (page, file) in enumerate(zip(pages, files, strict=True))
            }
            for future in as_completed(futures):
                results[futures[future]] = future.result()
                done(future.result())
    return [results[index] for index in range(len(pages))]


def check_files(paths: Sequence[str | Path], **options: Any) -> list[Result]:
    """Read, run and judge the pages that ``paths`` name. Raises FileNotFoundError as ``find_pages`` does."""
    found = find_pages(paths)
    return check_pages([read_page(path, given=given) for path, given in found], [path for path, _ in found], **options)


def check_page(page: Page, settings: Settings, context: BaseContext | None = None) -> Result:
    """Run and judge one page."""
    if not page.front.checked:
        return Result(page, Reading(), sorted(page.problems))
    started = time.perf_counter()
    reading, failures = Reading(), list(page.problems)
    if page.steps or page.front.toy:
        reading, ran = _run(page, settings, context or _context())
        failures += ran
    failures += judge_page(page, reading, settings, failures)
    reading.seconds = time.perf_counter() - started
    return Result(page, reading, sorted(set(failures)))


def _run(page: Page, settings: Settings, context: BaseContext) -> tuple[Reading, list[Failure]]:
    ours, theirs = context.Pipe(duplex=False)
    search = os.getcwd()
    process = context.Process(target=run_in_process, args=(page, settings, search, theirs))  # type: ignore[attr-defined]
    process.start()
    theirs.close()
    step = -1
    deadline = time.monotonic() + START
    try:
        while True:
            if not ours.poll(max(0.0, deadline - time.monotonic())):
                return Reading(), [timeout(page.path, *place(page, step), settings)]
            try:
                message = ours.recv()
            except EOFError:
                process.join(GRACE)
                return Reading(), [_died(page, step, process.exitcode)]
            if message[0] == "ready":
                deadline = time.monotonic() + settings.time_limit + GRACE
            elif message[0] == "step":
                step = message[1]
            elif message[0] == "broken":
                raise CheckerError(f"{page.path}: {message[1]}")
            else:
                return message[1], message[2]
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
    context.set_forkserver_preload(["torch", "torch._dynamo", "tsformers.reading.walk"])
    return context


PINNED = {"PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "TZ": "UTC", "LC_ALL": "C.UTF-8"}


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
