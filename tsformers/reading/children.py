"""The processes of pages, seen from outside: started, listened to, ended; each answers with its record or a failure."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from types import ModuleType

from tsformers.reading.failure import Failure
from tsformers.reading.page import Page
from tsformers.reading.process import place, run_in_process, timeout
from tsformers.reading.reached import Reached
from tsformers.reading.record import Reading
from tsformers.reading.settings import PINNED, Settings, page_environment

GRACE = 1.0  # seconds beyond the limit before the process of a page is killed from outside
START = 120.0  # seconds that a process may take until it is ready: the import of torch on a cold disk
TOGETHER = frozenset({"memory", "exit"})  # kinds of failure that what ran before in a process may have part in

Outcome = tuple[Reading, list[Failure], Reached | None]  # the last only of a page that ran to its end


class CheckerError(RuntimeError):
    """The checker itself failed in the process of a page; the message is the traceback from there."""


def module_path(settings: Settings) -> list[str]:
    """The path of modules in a page's process: the command's folder, the project's, then the interpreter's own.

    The folder of the script that started the interpreter is left out, so that every command gives the same.
    """
    script = os.path.dirname(os.path.realpath(sys.argv[0])) if os.path.isfile(sys.argv[0]) else ""
    rest = [folder for folder in sys.path if folder and folder != script]
    return list(dict.fromkeys([os.getcwd(), str(settings.root), *rest]))


def run_alone(page: Page, settings: Settings, context: BaseContext) -> Outcome:
    """Run a page in a process of its own.

    Raises:
        CheckerError: the checker itself failed there.
    """
    ours, theirs = context.Pipe(duplex=False)
    folder = tempfile.mkdtemp(prefix="page-")
    given = (page, settings, module_path(settings), page_environment(settings), folder, theirs)
    process = _started(context, run_in_process, given)
    theirs.close()

    def code() -> int | None:
        process.join(GRACE)
        exitcode: int | None = process.exitcode
        return exitcode

    try:
        return _listen(page, settings, ours, code)
    finally:
        ours.close()
        if process.is_alive():
            process.kill()
        _kill_group(process.pid)
        process.join()
        shutil.rmtree(folder, ignore_errors=True)


def run_together(pages: Sequence[Page], settings: Settings, context: BaseContext) -> Generator[Outcome | CheckerError]:
    """Run pages with the same toys one after the other, as ``family`` tells; what it cannot tell of a page alone."""
    if len(pages) == 1 or context.get_start_method() != "forkserver":
        yield from (_alone(page, settings, context) for page in pages)
        return
    from tsformers.reading.family import run_family

    control, theirs = context.Pipe(duplex=False)
    pipes = [context.Pipe(duplex=False) for _ in pages]
    folder = tempfile.mkdtemp(prefix="page-")
    given = (
        *([*pages], settings, module_path(settings), page_environment(settings), folder),
        *([pipe for _, pipe in pipes], theirs),
    )
    process = _started(context, run_family, given)
    for pipe in (theirs, *(pipe for _, pipe in pipes)):
        pipe.close()
    together = bool(_told(control, START + settings.time_limit))
    try:
        for page, (ours, _) in zip(pages, pipes, strict=True):
            outcome = _in_family(page, settings, ours, control) if together else None
            together = outcome is not None
            if outcome is None or any(failure.kind in TOGETHER for failure in outcome[1]):
                yield _alone(page, settings, context)
            else:
                yield outcome
    finally:
        for connection in (control, *(ours for ours, _ in pipes)):
            connection.close()
        process.kill()
        _kill_group(process.pid)
        process.join()
        shutil.rmtree(folder, ignore_errors=True)


def _alone(page: Page, settings: Settings, context: BaseContext) -> Outcome | CheckerError:
    try:
        return run_alone(page, settings, context)
    except CheckerError as error:
        return error


def _in_family(page: Page, settings: Settings, pipe: Connection, control: Connection) -> Outcome | None:
    """What came of a page's turn; None if its process, or the family's, gave no answer."""
    codes: list[int | None] = []

    def code() -> int | None:
        codes.append(_told(control, GRACE))
        return codes[-1]

    try:
        outcome = _listen(page, settings, pipe, code)
    except CheckerError:
        return None
    if not codes:
        code()
    return outcome if codes[0] is not None else None


def _told(control: Connection, seconds: float) -> int | None:
    """The next word of a family, if there comes one."""
    try:
        return int(control.recv()) if control.poll(seconds) else None
    except EOFError:
        return None


def _listen(page: Page, settings: Settings, pipe: Connection, code: Callable[[], int | None]) -> Outcome:
    """What the process of a page sends; ``code`` tells with which status it ended.

    Raises:
        CheckerError: the checker itself failed there.
    """
    step = -1
    process: int | None = None
    deadline = time.monotonic() + START
    try:
        while True:
            if not pipe.poll(max(0.0, deadline - time.monotonic())):
                return Reading(), [timeout(page.path, *place(page, step), settings)], None
            try:
                message = pipe.recv()
            except EOFError:
                return Reading(), [_died(page, step, code())], None
            except Exception as error:  # whatever reading gives of what the page itself wrote into the pipe
                return Reading(), [_garbled(page, step, error)], None
            if message[0] == "ready":
                process = message[1]
                deadline = time.monotonic() + settings.time_limit + GRACE
            elif message[0] == "step":
                if step < 0:  # the toys have run, and the steps have as much time again
                    deadline = time.monotonic() + settings.time_limit + GRACE
                step = message[1]
            elif message[0] == "broken":
                raise CheckerError(f"{page.path}: {message[1]}")
            else:
                return message[1], message[2], message[3]
    finally:
        _kill_group(process)


def _kill_group(process: int | None) -> None:
    if hasattr(os, "killpg") and process is not None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process, signal.SIGKILL)


def _died(page: Page, step: int, code: int | None) -> Failure:
    line, column = place(page, step)
    how = f"退出码 {code}"
    if code is not None and code < 0:
        how = f"信号 {signal.Signals(-code).name}"
    message = f"这一页的进程在这里结束了，没有交出结果（{how}）"
    return Failure(page.path, line, column, "exit", actual=how, message=message)


def _garbled(page: Page, step: int, error: Exception) -> Failure:
    line, column = place(page, step)
    what = f"{type(error).__name__}: {error}"
    message = f"这一页的进程在这里送来的不是结果（{what}）：页面里的代码不能写它没有打开的文件描述符"
    return Failure(page.path, line, column, "exit", actual=what, message=message)


def warm_context() -> BaseContext:
    """A warm server process to fork from on Linux; elsewhere one spawned process a page."""
    if sys.platform != "linux":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["safetensors", "tsformers.reading.warm"])
    return context


def start_warm() -> None:
    """Start that server process: it imports torch while the caller goes on."""
    if warm_context().get_start_method() == "forkserver":
        from multiprocessing import forkserver  # not on every system

        with pinned_environment():
            forkserver.ensure_running()


_STARTING = threading.Lock()
STARTS = 5  # times that a start is tried: a page may have ended the server that processes are forked from


def _started(context: BaseContext, run: Callable[..., None], given: tuple[object, ...]) -> BaseProcess:
    process: BaseProcess = context.Process(target=run, args=given)  # type: ignore[attr-defined]
    for left in reversed(range(STARTS)):
        try:
            with _without_main():
                process.start()
            break
        except (EOFError, ConnectionError):
            if not left:
                raise
            time.sleep(0.2)  # until the system has noticed, too; then another server is started
    return process


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
def pinned_environment() -> Iterator[None]:
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
