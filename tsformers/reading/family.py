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
    folder: str,
    pipes: Sequence[Connection],
    control: Connection,
) -> None:
    """Entry of the process: run ``pages`` one after the other, each with its pipe, as ``process.read`` does.

    Sends through ``control`` whether they can run together, then the status with which the child of each page ended.
    """
    guard = begin(pages[0].path, path, environment, folder, [control, *pipes])
    cage = Cage(settings.memory_limit)
    mine = os.lstat(folder)
    prepared = _prepared(pages, settings, guard, cage)
    control.send(prepared is not None)
    if prepared is not None:
        gc.freeze()  # a collection in a child would copy all of it
        for number, (page, pipe) in enumerate(zip(pages, pipes, strict=True)):
            child = os.fork()
            if child == 0:
                try:
                    for other in (control, *pipes[number + 1 :]):
                        other.close()  # what a page leaves behind could hold them open, or write into them
                    os.setpgrp()
                    guard.path = page.path
                    read(page, settings, pipe, guard, cage, prepared)
                finally:
                    os._exit(0)
            pipe.close()
            _, status = os.waitpid(child, 0)
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(child, signal.SIGKILL)  # what the page started
            clean = _cleared(folder, mine)
            control.send(os.waitstatus_to_exitcode(status))
            if not clean:
                break
    os.chdir("/")  # so that the folder can be removed


def _prepared(pages: Sequence[Page], settings: Settings, guard: Guard, cage: Cage) -> Prepared | None:
    """What the pages have in common; None where that went not as quietly as it should."""
    from tsformers.reading.prepare import prepare

    shared = _shared()
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
    return prepared if alone and shared == _shared() and not guard.hits else None


def _shared() -> set[tuple[str, str]]:
    """What a fork does not copy: open files, whose place in them is one for all, and memory mapped as shared."""
    found = set()
    for number in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):  # of the listing itself
            found.add((number, os.readlink(f"/proc/self/fd/{number}")))
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as file:
        found.update((row, "") for row in file if row.split(maxsplit=2)[1].endswith("s"))
    return found


def _cleared(folder: str, mine: os.stat_result) -> bool:
    """Empty the pages' folder; whether it is that, and empty: a page may have put another thing in its place."""
    try:
        if not os.path.samestat(mine, os.lstat(folder)):
            return False
        for entry in os.scandir(folder):
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path, ignore_errors=True)
            else:
                os.unlink(entry.path)
        return not os.listdir(folder)
    except OSError:
        return False
