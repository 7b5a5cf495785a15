"""Watch the libraries in a page's process: a block that puts its own function into torch makes every later claim lie.

The attributes of modules and of their classes are noted before the first block and compared, by identity, after each
one; so are the environment and the current folder. What a block puts back itself is no change. A change is put back at
once, before the engine itself goes on with it, so that the rest of the page is true.
"""

from __future__ import annotations

import builtins
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any

import torch
from torch.nn.modules import module as hooks

from tsformers.reading.settings import SET_BY_TORCH

STANDARD = ("math", "cmath", "random", "operator", "functools", "itertools", "copy", "statistics")
OWN = __name__.split(".")[0]
ALWAYS = frozenset({"torch", OWN, *STANDARD, "fractions", "decimal", "numpy"})  # top packages
# Parts of torch and numpy that nothing computes with under that name: more than half of their attributes.
ASIDE = re.compile(
    r"torch\.(?:_inductor|_dynamo|distributed|onnx|testing|fx|_functorch|_export|export|ao|quantization|package|_refs|_decomp|"
    r"_prims|_prims_common|cuda|xpu|mps|mtia|profiler|_higher_order_ops|utils|_subclasses|_guards|_logging|_library|_ops|"
    r"_custom_op|compiler|jit|distributions|sparse|_numpy|_meta_registrations|contrib|multiprocessing|_C\..*|"
    r"return_types|types|library|hub|_native|_vendor|_strobelight|_dispatch|_weights_only_unpickler|accelerator|cpu)(?:\.|$)"
    r"|numpy\.(?:_|lib|ma\b|matrixlib|dtypes|polynomial|ctypeslib|core|f2py|testing|typing|strings|char|rec)"
)
CORE = ("torch", "torch._C", "torch._tensor", "torch.nn.functional", "math")  # looked at after each claim
# What Python itself writes into a class, when it is first copied, pickled, annotated or compared.
CACHES = frozenset({"__slotnames__", "__annotations__", "__annotations_cache__", "__annotate_func__", "_abc_impl"})
CACHES |= {"__abstractmethods__", "__doc__", "__warningregistry__", "__signature__"}
PARTS = ("__code__", "__defaults__", "__kwdefaults__")  # of a function, which can be exchanged under its name
_TORCH = os.path.dirname(torch.__file__)
_GONE = object()
_BUILTINS = vars(builtins)
MOST_USED = (torch.Tensor, torch.nn.Module)


@dataclass(frozen=True, slots=True, eq=False)
class _Owner:
    """A module or class, and what its attributes were."""

    name: str
    thing: Any
    now: Mapping[str, Any]  # its attributes themselves
    attributes: dict[str, Any]
    bases: tuple[type, ...] | None  # of a class
    strict: bool  # numbers and containers count too; in torch they are its own state


@dataclass(frozen=True, slots=True)
class _Change:
    name: str  # dotted
    thing: Any
    attribute: str
    before: Any

    def undo(self) -> None:
        if self.before is _GONE:
            delattr(self.thing, self.attribute)
        else:
            setattr(self.thing, self.attribute, self.before)


class Watch:
    """What torch, the interpreter and the packages ``of`` hold now; ``look`` gathers in ``found`` what was exchanged."""

    def __init__(self, of: Iterable[str]) -> None:
        self._tops = _tops(of)
        owners: dict[int, _Owner] = {}
        for owner in _watched(self._tops):
            owners.setdefault(id(owner.thing), owner)
        self._owners = list(owners.values())
        self._core = [owner for owner in self._owners if owner.name in CORE or owner.thing in MOST_USED]
        self._core += [owner for owner in self._owners if owner.name.split(".")[0] == OWN]
        globally = {name: value for name, value in vars(hooks).items() if name.startswith("_global_")}
        self._hooks = {name: dict(value) for name, value in globally.items() if isinstance(value, dict)}
        self._modes = _modes()
        self._builtins = dict(_BUILTINS)
        self.stand()
        self._loaded = dict(sys.modules)
        self._exchanged: list[tuple[FunctionType, str, Any]] = []
        self.found: list[str] = []

    def watches(self, of: Iterable[str]) -> bool:
        return self._tops == _tops(of)

    def exchanging(self, function: object, part: object) -> None:
        """Note that a part of a function is about to be exchanged, which an audit event tells."""
        if isinstance(function, FunctionType) and part in PARTS:
            self._exchanged.append((function, str(part), getattr(function, str(part))))

    def look(self, *, core: bool = False) -> None:
        """Note what is not as it was, and put it back; with ``core`` in the most used places only."""
        for name in [*_BUILTINS]:  # first, and with no function of theirs
            if name not in self._builtins and name != "_":
                del _BUILTINS[name]
                self.found += [f"builtins.{name}"]
        for name in self._builtins:
            if name != "_" and _BUILTINS.get(name, _GONE) is not self._builtins[name]:
                _BUILTINS[name] = self._builtins[name]
                self.found += [f"builtins.{name}"]
        self._surroundings()
        if not core and not self._loaded.items() <= sys.modules.items():  # modules are equal if they are the same
            sys.modules.update(self._loaded)
            self.found.append("sys.modules")
        owners = self._core if core else self._owners
        changes = [change for owner in _suspects(owners) for change in _changed(owner)]
        if self._exchanged:
            changes += self._parts()
        for change in changes:
            change.undo()
            self.found.append(change.name)
        self._exchanged.clear()  # of what was just put back, too
        for name, before in self._hooks.items():
            now = getattr(hooks, name)
            if now != before:
                now.clear()
                now.update(before)
                self.found.append(f"torch.nn.modules.module.{name}")
        if _modes() != self._modes:
            self._modes = _modes()
            self.found.append("torch 的运行模式（TorchFunctionMode、TorchDispatchMode、默认设备）")

    def stand(self) -> None:
        """Take the environment and the folder as they are now: those of a page, which differ from those before it."""
        self._environment, self._folder = dict(os.environ), _here()

    def _surroundings(self) -> None:
        """The environment, which threads, seeds and libraries read, and the folder that relative paths start from."""
        now, before = dict(os.environ), self._environment
        for name in (name for name in now.keys() | before.keys() if now.get(name) != before.get(name)):
            if name not in SET_BY_TORCH:
                self.found.append(f"os.environ[{name!r}]")
                os.environ.pop(name, None)
                os.environ.update({name: before[name]} if name in before else {})
        if _here() not in (self._folder, ""):  # that it is gone is the guard's to say
            os.chdir(self._folder)
            self.found.append("当前目录（os.chdir）")

    def _parts(self) -> list[_Change]:
        noted, self._exchanged = self._exchanged, []
        first = {(id(function), part): (function, part, before) for function, part, before in reversed(noted)}
        return [
            _Change(f"{function.__module__}.{function.__qualname__}.{part}", function, part, before)
            for function, part, before in first.values()
            if getattr(function, part) is not before and (function.__module__ or "").split(".")[0] in self._tops
        ]


def _tops(of: Iterable[str]) -> set[str]:
    return {*ALWAYS, *(name.split(".")[0] for name in of)}


_current: list[Watch] = []  # of the page that this process reads; empty where nothing is watched


@contextmanager
def watching(of: Iterable[str], begun: Watch | None = None) -> Iterator[Watch]:
    """Watch the packages ``of`` beside torch and the interpreter, until the end of the page.

    A watch that was ``begun`` before, with nothing run since, goes on if it watches the same.
    """
    names = [*of]
    watch = begun if begun is not None and begun.watches(names) else Watch(names)
    watch.stand()
    _current.append(watch)
    try:
        yield watch
    finally:
        _current.remove(watch)


def look(*, core: bool = False) -> None:
    """To be called as soon as code of a page has run; see ``Watch.look``."""
    for watch in _current:
        watch.look(core=core)


def _here() -> str:
    """The current folder, "" where there is none."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return ""


def _modes() -> tuple[int, int]:
    return torch._C._len_torch_function_stack(), torch._C._len_torch_dispatch_stack()


_noted: dict[str, list[_Owner]] = {}  # of each module that the warm process has and that is always watched
_passed_over: set[str] = set()  # the names of its other modules


def note() -> None:
    """Note what is always watched once, in the process that the pages' processes are forked from."""
    met: set[int] = set()  # a class stands in every module that imports it
    for name, module in list(sys.modules.items()):
        if _counts(name, module, ALWAYS):
            _noted[name] = [owner for owner in _owners(name, module) if id(owner.thing) not in met]
            met.update(id(owner.thing) for owner in _noted[name])
        else:
            _passed_over.add(name)


def _watched(tops: Set[str]) -> Iterator[_Owner]:
    """The modules of the packages ``tops`` and the classes in them, as they are now."""
    for name, module in list(sys.modules.items()):
        noted = _noted.get(name)
        suspects = _suspects(noted) if noted and noted[0].thing is module else None
        if noted and suspects is not None and noted[0] not in suspects:
            yield from (owner if owner not in suspects else _owner(owner.name, owner.thing) for owner in noted)
        elif not (name in _passed_over and name.partition(".")[0] in ALWAYS) and _counts(name, module, tops):
            yield from _owners(name, module)


def _counts(name: str, module: object, tops: Set[str]) -> bool:
    if module is builtins or not isinstance(module, ModuleType):
        return False
    return name.partition(".")[0] in tops and not ASIDE.match(name)


def _owners(name: str, module: ModuleType) -> Iterator[_Owner]:
    yield _owner(name, module)
    for key, value in list(vars(module).items()):
        if isinstance(value, type):
            yield _owner(f"{name}.{key}", value)


def _owner(name: str, thing: Any) -> _Owner:
    bases = thing.__bases__ if isinstance(thing, type) else None
    strict = name.partition(".")[0] not in ("torch", "numpy")
    return _Owner(name, thing, vars(thing), dict(vars(thing)), bases, strict)


def _suspects(owners: list[_Owner]) -> list[_Owner]:
    """Those that are perhaps not as they were: nearly none, found at once."""
    try:  # identity first: the same objects are equal without being asked
        return [
            owner
            for owner in owners
            if owner.now != owner.attributes or (owner.bases is not None and owner.thing.__bases__ is not owner.bases)
        ]
    except Exception:  # an attribute that cannot be compared has been exchanged
        return owners


def _changed(owner: _Owner) -> Iterator[_Change]:
    now, before = owner.now, owner.attributes
    if owner.bases is not None and owner.thing.__bases__ != owner.bases:
        yield _Change(f"{owner.name}.__bases__", owner.thing, "__bases__", owner.bases)
    for name in before.keys() | now.keys():
        old, new = before.get(name, _GONE), now.get(name, _GONE)
        if old is not new and _matters(owner, name, old, new):
            yield _Change(f"{owner.name}.{name}", owner.thing, name, old)


def _matters(owner: _Owner, name: str, old: Any, new: Any) -> bool:
    if name in CACHES or (owner.name, name) == ("torch", "Storage"):  # which set_default_dtype sets
        return False
    if old is _GONE and isinstance(owner.thing, ModuleType):  # an import, or a name given late; unless it hides one
        return not isinstance(new, ModuleType) and (hasattr(builtins, name) or name in ("__getattr__", "__dir__"))
    if owner.strict:
        return True
    if isinstance(new, FunctionType) and new.__code__.co_filename.startswith(_TORCH):
        compiler = new.__code__.co_filename.startswith(os.path.join(_TORCH, "_dynamo"))
        return not compiler and getattr(new, "__wrapped__", None) is not old  # torch wraps its own when it is needed
    if old is _GONE and not (name.startswith("_") and not name.endswith("__")):
        return True  # it hides what the class inherits
    told = new if old is _GONE else old
    return not (told is None or isinstance(told, (bool, int, str, list, dict, set, tuple)))
