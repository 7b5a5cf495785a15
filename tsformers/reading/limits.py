"""What a page may use: time, memory, output. Measured in the page's process, so that the line is known."""

from __future__ import annotations

import io
import os
import signal
import sys
from types import FrameType

from tsformers.reading.failure import Failure

ALLOCATORS = ("DefaultCPUAllocator", "can't allocate memory", "std::bad_alloc")


class TimeUp(BaseException):
    """The page's time is over. Not an Exception, so that a block's own handlers let it pass."""


class Stopped(BaseException):
    """The page cannot go on: what it used up is still in use. ``failure`` says what and where."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure)
        self.failure = failure


def out_of_memory(error: BaseException | None) -> bool:
    """Whether an exception, or what caused it, is that memory could not be had, from Python or from torch."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, MemoryError):
            return True
        if isinstance(error, RuntimeError) and any(name in str(error) for name in ALLOCATORS):
            return True
        seen.add(id(error))
        error = error.__cause__
    return False


class Captured(io.StringIO):
    """What a block prints, up to ``limit`` bytes; ``over`` is the line and column of the page that printed beyond.

    The column counts bytes from 0; (0, 0) where no line of the page at ``path`` is running.
    """

    def __init__(self, path: str, limit: int) -> None:
        super().__init__()
        self.path = path
        self.left = limit
        self.over: tuple[int, int] | None = None
        self.running = True

    def close(self) -> None:
        """Refused while the block runs: it is the page's output, not the block's."""
        if self.running:
            raise io.UnsupportedOperation("页面的输出不能关闭")
        super().close()

    def __del__(self) -> None:
        self.running = False

    def write(self, text: str, /) -> int:
        data = str.encode(text, "utf-8")  # what is no text, or half a character, is an error, as of any such stream
        if self.over is not None:
            return len(text)
        self.left -= len(data)
        if self.left >= 0:
            return super().write(text)
        self.over = place_on(self.path, sys._getframe(1))
        super().write(data[: len(data) + self.left].decode("utf-8", "ignore"))
        return len(text)


def place_on(path: str, frame: FrameType | None) -> tuple[int, int]:
    """Line, and column in bytes from 0, of the innermost frame that runs code of the page; (0, 0) if none does."""
    while frame is not None and frame.f_code.co_filename != path:
        frame = frame.f_back
    if frame is None:
        return 0, 0
    places = enumerate(frame.f_code.co_positions())
    column = next((at for index, (_, _, at, _) in places if 2 * index == frame.f_lasti), 0)
    return frame.f_lineno, column or 0


class Cage:
    """The limits that the system enforces on this process; where it has none (Windows, macOS) only some hold."""

    def __init__(self, memory: float) -> None:
        """``memory``: MiB beyond what the process uses now."""
        self.most = int(memory * 2**20)  # bytes
        if sys.platform == "linux":
            with open("/proc/self/statm", encoding="ascii") as file:
                self.most += int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")

    def close(self) -> None:
        if sys.platform != "linux":
            return
        import resource

        self._limit(resource.RLIMIT_AS, self.most)
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a write beyond the limit is an error, not an end
        self._limit(resource.RLIMIT_FSIZE, 0)
        self._limit(resource.RLIMIT_CORE, 0)

    def open(self) -> None:
        """Give memory back, for what remains to be done after the page."""
        if sys.platform != "linux":
            return
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (resource.getrlimit(resource.RLIMIT_AS)[1],) * 2)

    @staticmethod
    def _limit(which: int, value: int) -> None:
        import resource

        hard = resource.getrlimit(which)[1]
        resource.setrlimit(which, (value if hard == resource.RLIM_INFINITY else min(value, hard), hard))
