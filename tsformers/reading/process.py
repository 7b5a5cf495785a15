"""The process that a page runs in: everything global pinned, its record sent through a pipe as the last word."""

from __future__ import annotations

import os
import random
import signal
import sys
import tempfile
import traceback
import warnings
from multiprocessing.connection import Connection
from typing import Any

from tsformers.reading.failure import Failure
from tsformers.reading.page import Page
from tsformers.reading.settings import Settings


def run_in_process(page: Page, settings: Settings, search: str, pipe: Connection) -> None:
    """Entry of the child. Sends ("ready",), then ("step", index) before each step, then ("done", reading, failures).

    Where the checker itself fails the last word is ("broken", traceback).
    """
    import torch

    from tsformers.reading.blocks import TimeUp
    from tsformers.reading.walk import Walker

    if hasattr(os, "setpgrp"):
        os.setpgrp()  # so that what the page starts ends with it
    sink = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(sink, descriptor)  # what writes through C goes nowhere; the page's own output is captured above it
    for folder in (str(settings.root), search):
        if folder not in sys.path:
            sys.path.insert(0, folder)
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float32)
    torch.set_printoptions(profile="default")
    torch.manual_seed(0)
    random.seed(0)
    warnings.simplefilter("ignore")
    folder = tempfile.mkdtemp(prefix="page-")
    os.chdir(folder)
    tempfile.tempdir = folder
    at = [-1]  # before the first step the toys run

    def progress(index: int) -> None:
        at[0] = index
        pipe.send(("step", index))

    def time_up(*_: Any) -> None:
        raise TimeUp

    walker = Walker(page, settings, progress)
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, time_up)
        signal.setitimer(signal.ITIMER_REAL, settings.time_limit)
    pipe.send(("ready",))
    try:
        reading = walker.walk()
        failures = walker.failures
    except TimeUp as error:
        late = _late(page, at[0], error, settings)
        reading, failures = walker.reading, [*walker.failures, late]
    except Exception:
        pipe.send(("broken", traceback.format_exc()))
        return
    finally:
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0)
        os.chdir("/")
        _remove(folder)
    pipe.send(("done", reading, failures))
    pipe.close()


def _late(page: Page, index: int, error: BaseException, settings: Settings) -> Failure:
    """The failure of a page whose time was over, at the beginning of the row that was running."""
    from tsformers.reading.blocks import Block, where
    from tsformers.reading.page import Fence

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
        return page.front.lines.get("toy", 1), 1
    return page.steps[step].line, page.steps[step].column


def timeout(path: str, line: int, column: int, settings: Settings) -> Failure:
    limit = f"{settings.time_limit:g} 秒"
    message = f"运行超过时限 {limit}；这一页在这里停下"
    return Failure(path, line, column, "timeout", expected=f"≤ {limit}", actual=f"> {limit}", message=message)


def _remove(folder: str) -> None:
    import shutil

    shutil.rmtree(folder, ignore_errors=True)
