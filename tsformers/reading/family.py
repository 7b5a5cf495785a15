"""One process for pages with the same toys: it runs the toys once, then each page in a child forked from there.

It only saves time. Where the toys give any trouble every page runs alone, from the beginning, and says so itself.
"""

from __future__ import annotations

import gc
import os
import shutil
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING

from tsformers.reading.limits import Cage, TimeUp
from tsformers.reading.page import Page
from tsformers.reading.process import alarm, begin, read
from tsformers.reading.settings import Settings

if TYPE_CHECKING:  # these need torch, which only the process itself has
    from tsformers.reading.hermetic import Guard
    from tsformers.reading.prepare import Prepared


def run_family(
    pages: Sequence[Page],
    settings: Settings,
    path: Sequence[str],
    environment: Mapping[str, str],
    pipes: Sequence[Connection],
    control: Connection,
) -> None:
    """Entry of the process: run ``pages`` one after the other, each with its pipe, as ``process.read`` does.

    Sends through ``control`` whether they can run together, then the status with which the child of each page ended.
    """
    guard = begin(pages[0].path, path, environment)
    cage = Cage(settings.memory_limit)
    prepared = _prepared(pages, settings, guard, cage)
    control.send(prepared is not None)
    if prepared is not None:
        gc.freeze()  # a collection in a child would copy all of it
        for page, pipe in zip(pages, pipes, strict=True):
            child = os.fork()
            if child == 0:
                try:
                    os.setpgrp()
                    guard.path = page.path
                    read(page, settings, pipe, guard, cage, prepared)
                finally:
                    os._exit(0)
            pipe.close()
            _, status = os.waitpid(child, 0)
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(child, signal.SIGKILL)  # what the page started
            for name in os.listdir(guard.folder):
                _remove(os.path.join(guard.folder, name))
            control.send(os.waitstatus_to_exitcode(status))
    os.chdir("/")
    shutil.rmtree(guard.folder, ignore_errors=True)


def _prepared(pages: Sequence[Page], settings: Settings, guard: Guard, cage: Cage) -> Prepared | None:
    """What the pages have in common; None where that went not as quietly as it should."""
    from tsformers.reading.prepare import prepare

    alarm(settings.time_limit)
    try:
        cage.close()
        guard.closed = True
        prepared = prepare(pages, settings)
    except (Exception, TimeUp, SystemExit):  # which a page that runs alone meets again, and says
        return None
    finally:
        alarm(0)
        cage.open()
        guard.look_for_strays()
        guard.closed = False
    alone = len(os.listdir("/proc/self/task")) == 1  # a thread, and what it holds, would be missing in the children
    return prepared if alone and not guard.hits else None


def _remove(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path, ignore_errors=True)
    else:
        os.unlink(path)
