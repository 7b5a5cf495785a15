"""The guard of a page's process: it refuses what a page may not do, and notes which files the page read.

It is a guard against mistakes. An audit hook sees what goes through the interpreter; RLIMIT_FSIZE of zero stops what
writes through C; against malice the boundary is a machine without secrets.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_TRUNC
FILES = {
    "os.mkdir", "os.makedirs", "os.remove", "os.rename", "os.rmdir", "os.link", "os.symlink", "os.chmod", "os.chown",
    "os.truncate", "os.utime", "shutil.copyfile", "shutil.copytree", "shutil.move", "shutil.rmtree",
    "tempfile.mkdtemp", "tempfile.mkstemp", "shutil.make_archive", "shutil.unpack_archive", "sqlite3.connect",
}  # fmt: skip
SOCKETS = {"socket.__new__", "socket.connect", "socket.bind", "socket.getaddrinfo", "socket.gethostbyname"}
PROCESSES = {
    "subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.forkpty", "pty.spawn",
    "os.startfile", "os.kill", "os.killpg",
}  # fmt: skip


class Refused(PermissionError):
    """A page tried what it may not do."""


@dataclass(frozen=True, slots=True)
class Hit:
    """What was tried, and the line and column (from 0) of the page where."""

    what: str
    line: int
    column: int


@dataclass
class Guard:
    """An audit hook for the process of the page at ``path``. It refuses while ``closed``; a hook cannot be removed."""

    path: str
    closed: bool = False
    hits: list[Hit] = field(default_factory=list)
    opened: set[str] = field(default_factory=set)

    def install(self) -> None:
        sys.addaudithook(self._audit)
        import torch

        torch.save = self._saving(torch.save)

    def _audit(self, event: str, args: tuple[Any, ...]) -> None:
        if event == "open":
            self._open(*args)
        elif not self.closed:
            return
        elif event in FILES:
            self._refuse(f"改动文件（{event}）")
        elif event in SOCKETS:
            self._refuse(f"使用网络（{event}）")
        elif event in PROCESSES:
            self._refuse(f"启动或结束进程（{event}）")

    def _open(self, path: object, mode: object, flags: int) -> None:
        name = os.fsdecode(path) if isinstance(path, (str, bytes, os.PathLike)) else ""
        writes = bool(flags & WRITING) or (isinstance(mode, str) and any(letter in mode for letter in "wax+"))
        if self.closed and writes and name != os.devnull:
            self._refuse(f"写文件 {name or path}")
        if name and not writes:
            self.opened.add(os.path.abspath(name))

    def _refuse(self, what: str) -> None:
        frame: FrameType | None = sys._getframe(2)
        place = (0, 0)
        while frame is not None:
            if frame.f_code.co_filename == self.path:
                column = next(
                    (c for i, (_, _, c, _) in enumerate(frame.f_code.co_positions()) if 2 * i == frame.f_lasti), 0
                )
                place = (frame.f_lineno, column or 0)
                break
            frame = frame.f_back
        self.hits.append(Hit(what, *place))
        raise Refused(f"页面不能{what}")

    def _saving(self, save: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(obj: object, f: Any, *args: Any, **options: Any) -> Any:
            if self.closed and isinstance(f, (str, os.PathLike)):  # written through C, unseen by the hook
                self._refuse(f"写文件 {os.fspath(f)}")
            return save(obj, f, *args, **options)

        return guarded
