"""The process that a page runs in: everything global pinned, its record sent through a pipe as the last word."""

from __future__ import annotations

import linecache
import locale
import os
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

from tsformers.reading.failure import Failure
from tsformers.reading.limits import Cage, TimeUp, out_of_memory
from tsformers.reading.page import Fence, Page, Span
from tsformers.reading.record import Evidence, Reading
from tsformers.reading.settings import Settings

if TYPE_CHECKING:  # these need torch, which only the child has
    from tsformers.reading.hermetic import Guard
    from tsformers.reading.prepare import Prepared

STAND_IN = "page"  # what stands in a report for the name of the page's own folder, another one at each run


def run_in_process(
    page: Page, settings: Settings, path: Sequence[str], environment: Mapping[str, str], folder: str, pipe: Connection
) -> None:
    """Entry of the child: run ``page`` in an empty ``folder`` of its own, with this ``path`` of modules and no other
    ``environment``; sends as ``read``.
    """
    guard = begin(page.path, path, environment, folder, [pipe])
    cage = Cage(settings.memory_limit)
    read(page, settings, pipe, guard, cage)
    os.chdir("/")  # so that the folder can be removed


def begin(
    name: str, path: Sequence[str], environment: Mapping[str, str], folder: str, pipes: Sequence[Connection]
) -> Guard:
    """Make this process fit for a page: all that is global pinned, with a guard, which is open yet."""
    from tsformers.reading.hermetic import Guard

    if hasattr(os, "setpgrp"):
        os.setpgrp()  # so that what the page starts ends with it
    _silence([pipe.fileno() for pipe in pipes])
    _pin(folder, path, environment)
    guard = Guard(name, folder)
    guard.install()
    return guard


def read(
    page: Page, settings: Settings, pipe: Connection, guard: Guard, cage: Cage, prepared: Prepared | None = None
) -> None:
    """Run ``page``; what is ``prepared`` of it is done already.

    Sends ("ready", process), then ("step", index) before each step, then ("done", reading, failures, reached). Where the
    checker itself fails the last word is ("broken", traceback).
    """
    from tsformers.reading.blocks import executed_rows
    from tsformers.reading.walk import Walker

    # Whoever asks for a line of the page's code, as a stack trace does, gets it without opening the page: prose is no
    # part of the program. Without a time of change an entry is never looked at again.
    rows = executed_rows(page)
    linecache.cache[page.path] = (sum(map(len, rows)), None, rows, page.path)

    def progress(index: int) -> None:
        if guard.step < 0:
            alarm(settings.time_limit)  # the toys had as much
        guard.look_for_strays()
        guard.step = index  # -1 before the first step, when the toys run
        pipe.send(("step", index))

    walker = Walker(page, settings, progress, prepared)
    guard.exchanging = walker.exchanging
    pipe.send(("ready", os.getpid()))
    alarm(settings.time_limit)
    failures: list[Failure] = []
    try:
        cage.close()
        guard.closed = True
        walker.walk()
    except TimeUp as error:
        failures.append(_late(page, guard.step, error, settings))
    except Exception as error:
        alarm(0)
        if not out_of_memory(error):
            guard.closed = False
            cage.open()
            pipe.send(("broken", traceback.format_exc()))
            return
        failures.append(memory(page.path, *place(page, guard.step), settings))
    finally:
        alarm(0)
        cage.open()
        guard.look_for_strays()
        reached = guard.everything_reached()
        guard.closed = False
    reading, failures = _with_hits(page, walker.reading, [*walker.failures, *failures], guard)
    pipe.send(("done", *_without_folder(reading, failures, guard.folder), reached))
    pipe.close()


def _silence(kept: Sequence[int]) -> None:
    """What writes through C goes nowhere; the page's own output is captured above it.

    Nor can it reach the server that processes are forked from: of the pipes only those ``kept`` stay.
    """
    sink = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(sink, descriptor)
    if sys.platform == "linux":
        for number in map(int, os.listdir("/proc/self/fd")):
            with suppress(FileNotFoundError):  # of the listing itself
                if number not in kept and os.readlink(f"/proc/self/fd/{number}").startswith("pipe:"):
                    os.dup2(sink, number)
    os.close(sink)


def _pin(folder: str, path: Sequence[str], environment: Mapping[str, str]) -> None:
    """Make everything global the same for each page, whatever its place in the order and whoever started the checker."""
    import torch

    from tsformers.reading.prepare import seed

    os.environ.clear()
    own = {"HOME": folder, "TMPDIR": folder, "TORCHINDUCTOR_CACHE_DIR": folder, "PATH": os.defpath}
    os.environ.update({**environment, **own})
    if hasattr(time, "tzset"):
        time.tzset()
    for name in ("C.UTF-8", "C"):
        try:
            locale.setlocale(locale.LC_ALL, name)
            break
        except locale.Error:
            continue  # a system without it has the plain one
    sys.path[:] = path
    sys.argv[:] = [""]
    sys.dont_write_bytecode = True
    os.chdir(folder)
    tempfile.tempdir = folder
    warnings.resetwarnings()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float32)
    torch.set_printoptions(profile="default")
    torch.set_grad_enabled(True)
    seed()


def alarm(seconds: float) -> None:
    """Raise TimeUp after ``seconds``, 0: never; only where the system has such a clock."""

    def time_up(*_: Any) -> None:
        raise TimeUp

    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, time_up if seconds else signal.SIG_IGN)
        signal.setitimer(signal.ITIMER_REAL, seconds)


def _with_hits(page: Page, reading: Reading, failures: list[Failure], guard: Any) -> tuple[Reading, list[Failure]]:
    """With what the guard refused as failures; a claim that tried it says no more."""
    from tsformers.reading.hermetic import hermetic_failures

    for hit in guard.hits.values():
        if hit.step >= 0 and isinstance(page.steps[hit.step], Span):
            reading.evidence[hit.step] = Evidence("unknown")
    return reading, [*failures, *hermetic_failures(page, guard)]


def _without_folder(reading: Reading, failures: list[Failure], folder: str) -> tuple[Reading, list[Failure]]:
    for index, output in reading.outputs.items():
        reading.outputs[index] = replace(output, text=output.text.replace(folder, STAND_IN))
    clean = [
        replace(
            failure, actual=failure.actual.replace(folder, STAND_IN), message=failure.message.replace(folder, STAND_IN)
        )
        for failure in failures
    ]
    return reading, clean


def _late(page: Page, index: int, error: BaseException, settings: Settings) -> Failure:
    """The failure of a page whose time was over, at the beginning of the row that was running."""
    from tsformers.reading.blocks import Block, where

    step = page.steps[index] if index >= 0 else None
    if not isinstance(step, Fence):
        return timeout(page.path, *place(page, index), settings)
    block, rows = Block(step, page.path), step.code.split("\n")
    row = where(error, page.path, step.line)[0] - step.code_line
    if not 0 <= row < len(rows):
        return timeout(page.path, step.line, step.column, settings)
    at = block.failure("timeout", row, len(rows[row]) - len(rows[row].lstrip()))
    return timeout(page.path, at.line, at.column, settings)


def place(page: Page, step: int) -> tuple[int, int]:
    """Line and column of a step; of -1, before the first one, those of the toy."""
    if step < 0:
        return page.front.places.get("toy", (1, 1))
    return page.steps[step].line, page.steps[step].column


def timeout(path: str, line: int, column: int, settings: Settings) -> Failure:
    limit = f"{settings.time_limit:g} 秒"
    message = f"运行超过时限 {limit}；这一页在这里停下"
    return Failure(path, line, column, "timeout", expected=f"≤ {limit}", actual=f"> {limit}", message=message)


def memory(path: str, line: int, column: int, settings: Settings) -> Failure:
    limit = f"{settings.memory_limit:g} MiB"
    message = f"内存超过上限 {limit}；这一页在这里停下"
    return Failure(path, line, column, "memory", expected=f"≤ {limit}", actual=f"> {limit}", message=message)
