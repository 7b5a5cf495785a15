"""The guard of a page's process: it refuses what a page may not do, and notes what the page reached.

It is a guard against mistakes. An audit hook sees what goes through the interpreter, wrappers what some libraries do
through C, and RLIMIT_FSIZE of zero stops every other write; against malice the boundary is a machine without secrets.
"""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import importlib.util
import os
import socket
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib.machinery import SourceFileLoader
from types import FrameType
from typing import Any

from tsformers.reading.failure import Failure
from tsformers.reading.limits import place_on
from tsformers.reading.page import Fence, Page
from tsformers.reading.reached import Reached, content, inside, modules, names, standing, tracked

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_TRUNC
FILES = frozenset({
    "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.link", "os.symlink", "os.chmod", "os.chown", "os.chflags",
    "os.truncate", "os.utime", "os.setxattr", "os.removexattr", "shutil.copyfile", "shutil.copytree", "shutil.move",
    "shutil.rmtree", "shutil.make_archive", "shutil.unpack_archive", "tempfile.mkdtemp", "tempfile.mkstemp",
    "sqlite3.connect",
})  # fmt: skip
SOCKETS = frozenset({
    "socket.__new__", "socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo",
    "socket.gethostbyname", "socket.gethostbyaddr", "socket.getnameinfo",
})  # fmt: skip
PROCESSES = frozenset({
    "subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.forkpty", "pty.spawn",
    "os.startfile", "os.kill", "os.killpg", "signal.pthread_kill",
})  # fmt: skip
# Functions that reach files or processes without an audit event: module, name, position of the path, what they do.
UNSEEN = (
    ("torch", "save", 1, "write"),
    ("torch.serialization", "save", 1, "write"),
    ("torch.jit", "save", 1, "write"),
    ("torch.jit", "load", 0, "read"),
    ("torch", "from_file", 0, "map"),
    ("safetensors", "safe_open", 0, "read"),
    ("safetensors", "serialize_file", 1, "write"),
    ("os", "mkfifo", 0, "write"),
    ("os", "mknod", 0, "write"),
    ("_posixsubprocess", "fork_exec", 1, "start"),
)
# The files whose code lists folders for modules and distributions.
SEARCHERS = ("<frozen importlib._bootstrap_external>", importlib.metadata.__file__)


def _nobody(thing: object, attribute: object) -> None:
    """Nobody asked to be told."""


class Refused(PermissionError):
    """A page tried what it may not do."""


def refused(error: BaseException | None) -> bool:
    """Whether an exception comes from a refusal, which the record holds already."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, Refused):
            return True
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return False


@dataclass(frozen=True, slots=True)
class Hit:
    """What was tried, in which step, at which line and column (in bytes, from 0) of the page; line 0: unknown."""

    what: str
    step: int
    line: int = 0
    column: int = 0


@dataclass
class Guard:
    """An audit hook for the process of the page at ``path``. It refuses while ``closed``; a hook cannot be removed.

    ``folder`` is the page's own, empty one: what appears there was written through C.
    """

    path: str
    folder: str
    closed: bool = False
    step: int = -1
    hits: dict[tuple[int, int, int], Hit] = field(default_factory=dict)  # one a place: the first
    reached: Reached = field(default_factory=Reached)
    strays: set[str] = field(default_factory=set)
    hashing: bool = False
    exchanging: Callable[[object, object], None] = _nobody  # told of an attribute that is about to be exchanged
    known: frozenset[str] = frozenset()  # modules of the warm process, none of them the project's

    def install(self) -> None:
        """Put the hook and the wrappers into this process."""
        for name in ("stat", "lstat", "access"):
            _wrap(os, name, self._looking)
        for module, name, position, does in UNSEEN:
            if importlib.util.find_spec(module.split(".")[0]) is not None:
                _wrap(importlib.import_module(module), name, functools.partial(self._unseen, position, does))
        forget_modules()
        self.known = frozenset(sys.modules)
        sys.addaudithook(self._audit)

    def look_for_strays(self) -> None:
        """Note as a hit what stands in the page's folder, unless it was noted before."""
        closed, self.closed = self.closed, False
        try:
            found = sorted({*os.listdir(self.folder)} - self.strays)
        except OSError:
            self._note(Hit("删除文件夹", self.step))
            found = []
        self.closed = closed
        if found:
            self._note(Hit(f"写文件 {found[0]}", self.step))
        self.strays.update(found)

    def _audit(self, event: str, args: tuple[Any, ...]) -> None:
        if not self.closed:
            return
        if event == "open":
            self._open(*args)
        elif event in ("os.listdir", "os.scandir"):
            self._list(args[0])
        elif event in FILES and not _harmless(event, args):
            self._refuse(f"改动文件（{event}）")
        elif event in SOCKETS and not (event == "socket.__new__" and args[1] == getattr(socket, "AF_UNIX", None)):
            self._refuse(f"使用网络（{event}）")
        elif event in PROCESSES:
            self._refuse(f"启动或结束进程（{event}）")
        elif event == "ctypes.dlopen" and args[0]:
            self._read(args[0])
        elif event == "object.__setattr__":
            self.exchanging(args[0], args[1])

    def _open(self, path: object, mode: object, flags: int) -> None:
        name = _name(path)
        if not name:
            return  # a descriptor that is open already
        writes = bool(flags & WRITING) or (isinstance(mode, str) and any(letter in mode for letter in "wax+"))
        if writes and name != os.devnull:
            self._refuse(f"写文件 {name}")
        self._read(name)

    def _read(self, path: object) -> None:
        self._reach(self.reached.files, path, content)

    def _list(self, path: object) -> None:
        frame: FrameType | None = sys._getframe(2)
        searching = frame is not None and frame.f_code.co_filename in SEARCHERS
        where, fingerprint = (self.reached.searched, modules) if searching else (self.reached.listed, names)
        self._reach(where, os.curdir if path is None or path == "" else path, fingerprint)

    def _reach(self, where: dict[str, str], path: object, fingerprint: Callable[[str], str]) -> None:
        name = _name(path)
        if self.hashing or not name:
            return
        self.hashing = True
        try:
            name = os.path.abspath(name)
            if name not in where and not inside(name, self.folder) and tracked(name):
                where[name] = fingerprint(name)
        finally:
            self.hashing = False

    def _looking(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def looking(path: Any, *args: Any, **options: Any) -> Any:
            if self.closed and options.get("dir_fd") is None:
                self._reach(self.reached.probed, path, standing)
            return function(path, *args, **options)

        return looking

    def _unseen(self, position: int, does: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """``function``, watched: what it does to the path at ``position`` goes through C."""

        @functools.wraps(function)
        def watched(*args: Any, **options: Any) -> Any:
            named = [options[name] for name in ("f", "filename", "path") if name in options]
            path = args[position] if position < len(args) else next(iter(named), None)
            if self.closed and does == "start":
                self._refuse("启动或结束进程（fork_exec）")
            writes = does == "write" or (does == "map" and (options.get("shared") or args[1:2] == (True,)))
            if self.closed and writes and _name(path):
                self._refuse(f"写文件 {_name(path)}")
            elif self.closed and not writes:
                self._read(path)
            return function(*args, **options)

        return watched

    def _refuse(self, what: str) -> None:
        self._note(Hit(what, self.step, *place_on(self.path, sys._getframe(1))))
        raise Refused(f"页面不能{what}")

    def _note(self, hit: Hit) -> None:
        self.hits.setdefault((hit.step, hit.line, hit.column), hit)

    def everything_reached(self) -> Reached:
        """What the page reached, with the modules that came without opening a file (extensions written in C)."""
        for name in sys.modules.keys() - self.known:
            file = getattr(sys.modules[name], "__file__", None)
            if isinstance(file, str):
                self._read(file)
        for folder in sys.path:  # also where nothing was looked for so far, since the warm process had it
            self._reach(self.reached.searched, folder, modules)
        for path in self.reached.probed.keys() & self.reached.files.keys():
            del self.reached.probed[path]  # what was read decides, not when it was written
        return self.reached


def hermetic_failures(page: Page, guard: Guard) -> list[Failure]:
    """Each hit as a failure at its place on the page; one of a toy at the front matter, one of a claim at its span."""
    return [_failure(page, hit) for hit in guard.hits.values()]


def _failure(page: Page, hit: Hit) -> Failure:
    from tsformers.reading.blocks import Block, characters, prompt

    message = f"页面里运行的代码不能{hit.what}：一页只读、只算，不写文件，不用网络，不启动进程"
    for step in page.steps:
        rows = step.code.split("\n") if isinstance(step, Fence) else []
        row = hit.line - step.code_line if isinstance(step, Fence) else -1
        if isinstance(step, Fence) and 0 <= row < len(rows):
            before = prompt(step, rows[row])
            column = before + characters(rows[row][before:], hit.column)
            said = {"claim": rows[row].strip(), "actual": hit.what, "message": message}
            return Block(step, page.path).failure("hermetic", row, column, **said)
    line, column = page.front.places.get("toy", (1, 1)) if hit.step < 0 else _at(page, hit.step)
    return Failure(page.path, line, column, "hermetic", actual=hit.what, message=message)


def _at(page: Page, step: int) -> tuple[int, int]:
    return page.steps[step].line, page.steps[step].column


def _name(path: object) -> str:
    return os.fsdecode(path) if isinstance(path, (str, bytes, os.PathLike)) else ""


def _harmless(event: str, args: tuple[Any, ...]) -> bool:
    """Whether an event of changing files changes none: a folder that is there is made, a database in memory opened."""
    if event == "sqlite3.connect":
        return bool(args[0] == ":memory:")
    return event == "os.mkdir" and bool(standing(os.fsdecode(args[0])))


def _wrap(module: Any, name: str, wrapper: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    function = getattr(module, name, None)
    if function is None:
        return  # a version or a platform without it
    wrapped = wrapper(function)
    setattr(module, name, wrapped)
    for known in (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks, os.supports_effective_ids):
        if function in known:
            known.add(wrapped)


_installed: set[str] = set()  # names of modules of the warm process that are not the project's own


def note_modules() -> None:
    """Tell the modules that are there from the project's own once, in the process that the pages' are forked from."""
    _installed.update(sys.modules.keys() - _tracked(sys.modules))


def _tracked(modules: Iterable[str]) -> list[str]:
    """The modules whose file is the project's own, or the machine's."""
    files = {name: getattr(sys.modules[name], "__file__", None) for name in modules}
    main = ("__main__", "__mp_main__")
    return [name for name, file in files.items() if isinstance(file, str) and name not in main and tracked(file)]


def forget_modules() -> None:
    """Let what the warm process imported of the project be imported anew, from source: it may have been edited since.

    The engine itself stays. Byte code is not read for the project's own files: it is told from stale by whole seconds.
    """
    for name in _tracked(sys.modules.keys() - _installed):
        del sys.modules[name]
    package = importlib.import_module(__name__.split(".")[0])
    package.reading = sys.modules[__name__.rpartition(".")[0]]  # type: ignore[attr-defined]
    importlib.invalidate_caches()
    stats = SourceFileLoader.path_stats

    def path_stats(self: SourceFileLoader, path: str) -> Mapping[str, Any]:
        if tracked(os.path.abspath(path)):
            raise OSError(f"{path}: byte code is not used")
        return stats(self, path)

    SourceFileLoader.path_stats = path_stats  # type: ignore[assignment,method-assign]
