"""Spoil the source that the pages' toys execute, one statement at a time, and see which page notices."""

from __future__ import annotations

import importlib.util
import multiprocessing
import os
import queue
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tsformers.reading.mutate import EQUIVALENT, KILLED, SURVIVED, evenly
from tsformers.reading.page import Fence, Page, scan
from tsformers.reading.reached import local
from tsformers.reading.record import Quote, Reading
from tsformers.reading.run import Result, check_page
from tsformers.reading.settings import load_settings
from tsformers.reading.source_mutants import SourceMutant, source_mutants

TREE = "调用树"
SYMMETRIC = frozenset(f"swapped arguments of {name}" for name in ("transpose", "swapaxes", "min", "max"))


def requoted(page: Page, source: str, mutant: SourceMutant) -> Page:
    """The page, its quotes of the changed line changed in the same way."""
    start, end = source.rfind("\n", 0, mutant.start) + 1, source.find("\n", mutant.end)
    old = source[start:end].strip()
    new = (source[start : mutant.start] + mutant.new + source[mutant.end : end]).strip()
    code = len(old.partition("  #")[0])
    text = page.text
    for step in reversed(page.steps):
        if isinstance(step, Fence) and step.kind == "quote":
            quoted = text[step.start : step.end]
            changed = quoted.replace(old, new)
            if changed == quoted and "\n" not in old and new.endswith(old[code:]):  # quoted without its comment
                changed = quoted.replace(old[:code], new[: len(new) - len(old) + code])
            text = text[: step.start] + changed + text[step.end :]
    return scan(text, page.path)


@dataclass(frozen=True)
class JudgedSource:
    """A mutant of a source file; ``reason`` is the kind of the first failure, or why nothing noticed."""

    file: str
    mutant: SourceMutant
    verdict: str
    reason: str


@dataclass(frozen=True)
class Module:
    """A source file with functions that some page's toy executes: qualified name -> pages, those that read it first."""

    name: str
    file: Path
    functions: dict[str, list[int]]

    @property
    def root(self) -> Path:
        """The folder of the top package, or the file where there is none."""
        folder = self.file
        for _ in range(self.name.count(".") + (self.file.name == "__init__.py")):
            folder = folder.parent
        return folder


def mutate_source(
    results: Sequence[Result],
    files: Sequence[Path],
    *,
    jobs: int | None = None,
    time_limit: float | None = None,
    most: int | None = None,
) -> list[JudgedSource]:
    """Judge the mutants of the functions that the toys of pages found right execute; at most ``most`` in all."""
    work = [
        (module, mutant)
        for module in _modules(results)
        for mutant in source_mutants(module.file.read_text(encoding="utf-8"), frozenset(module.functions))
    ]
    settings = [load_settings(file) for file in files]
    if time_limit is not None:
        settings = [replace(known, time_limit=time_limit) for known in settings]

    def check(number: int, page: Page, context: Any) -> Result:
        return check_page(page, settings[number], context)

    count = jobs or os.cpu_count() or 1
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder, ThreadPoolExecutor(count) as pool:
        places: queue.SimpleQueue[Path] = queue.SimpleQueue()
        for number in range(count):
            places.put(Path(folder) / str(number))

        def judge(item: tuple[Module, SourceMutant]) -> JudgedSource:
            place = places.get()
            try:
                return _judge(*item, place, results, check)
            finally:
                places.put(place)

        return list(pool.map(judge, evenly(work, most)))


Check = Callable[[int, Page, Any], Result]


def _judge(module: Module, mutant: SourceMutant, place: Path, results: Sequence[Result], check: Check) -> JudgedSource:
    """Whether a page notices a mutant, its quotes changed like the source: that the text is another one proves nothing."""
    shown = os.path.relpath(module.file)
    text = module.file.read_text(encoding="utf-8")
    pages = module.functions[_reading_function(module, mutant.function)]
    changed: list[str] = []
    with _copied(module, mutant.applied(text), place) as context:
        for page in pages:
            result = check(page, requoted(results[page].page, text, mutant), context)
            if result.failures:
                return JudgedSource(shown, mutant, KILLED, result.failures[0].kind)
            changed += [f"{result.page.path} 的 {name}" for name in differing(results[page].reading, result.reading)]
    with _copied(module, mutant.probe(text), place) as context:
        reached = any(check(page, results[page].page, context).failures for page in pages)
    verdict, reason = _why(mutant, reached, changed, _is_read(module, mutant.function, results))
    return JudgedSource(shown, mutant, verdict, reason)


def _why(mutant: SourceMutant, reached: bool, changed: Sequence[str], read: bool) -> tuple[str, str]:
    """Why nothing noticed, the surest reason first."""
    if not reached:
        return SURVIVED, "玩具没有执行到这一句"
    values = [name for name in changed if not name.endswith(TREE)]
    if "ropout" in mutant.how and not values:
        return EQUIVALENT, "eval 时 dropout 是恒等映射"
    if mutant.how in SYMMETRIC and not values:
        return EQUIVALENT, "次序不影响结果"
    if not read:
        return SURVIVED, f"还没有页面精读 {mutant.function}"
    if values:
        return SURVIVED, f"变了 {'、'.join(values[:3])}，没有一处声明说到它们"
    if changed:
        return SURVIVED, "只有调用树变了，页面所读函数里的值没有变"
    return SURVIVED, "页面记录的值一个都没有变：在各玩具上等价，或影响在所读函数之外"


def _is_read(module: Module, function: str, results: Sequence[Result]) -> bool:
    read = {subject.function for result in results for subject in result.reading.subjects}
    return f"{module.name}.{function}" in read


def _reading_function(module: Module, function: str) -> str:
    return function if function in module.functions else next(iter(module.functions))


def differing(old: Reading, new: Reading) -> list[str]:
    """Names of what two records of one page hold otherwise: variables, expressions, output of blocks, calls."""
    found: list[str] = []
    for index, quote in old.quotes.items():
        found += [name for name, value in _written(quote) if (name, value) not in _written(new.quotes[index])]
    for index, evidence in old.evidence.items():
        other = new.evidence[index]
        pairs = zip(evidence.values, other.values, strict=False)
        found += [left[0] for left, right in pairs if repr(left) != repr(right)]
        found += [
            name for (name, _), a, b in zip(evidence.values, evidence.shapes, other.shapes, strict=False) if a != b
        ]
    found += [f"第 {index} 步的输出" for index, output in old.outputs.items() if new.outputs.get(index) != output]
    if repr(old.tree) != repr(new.tree):
        found.append(TREE)
    return list(dict.fromkeys(found))


def _written(quote: Quote) -> list[tuple[str, str]]:
    variables = [*quote.wrote, *([quote.returned] if quote.returned is not None else [])]
    return [(variable.name, repr(variable.after)) for variable in variables]


def _modules(results: Sequence[Result]) -> list[Module]:
    """The files of the project whose functions the toys execute, with the constructors of their classes."""
    found: dict[str, tuple[Path, dict[str, list[int]]]] = {}
    order = sorted(range(len(results)), key=lambda index: not results[index].reading.subjects)
    for reads_it in (True, False):
        for page in order:
            reading = results[page].reading
            read = {subject.function for subject in reading.subjects}
            for function in dict.fromkeys(
                call.function for call in (reading.tree.all() if reading.tree is not None else ())
            ):
                place = _place(function) if (function in read) is reads_it else None
                if place is None:
                    continue
                module, file, name = place
                functions = found.setdefault(module, (file, {}))[1]
                owner = name.rpartition(".")[0]
                for known in (name, *([f"{owner}.__init__"] if owner else [])):
                    if page not in functions.setdefault(known, []):
                        functions[known].append(page)
    return [Module(name, file, functions) for name, (file, functions) in sorted(found.items())]


def _place(dotted: str) -> tuple[str, Path, str] | None:
    """Module, file and qualified name of a function of the project; None for one of an installed package."""
    parts = dotted.split(".")
    for size in range(len(parts) - 1, 0, -1):
        name = ".".join(parts[:size])
        try:
            spec = importlib.util.find_spec(name)
        except (ModuleNotFoundError, ValueError):
            continue
        if spec is not None and spec.origin is not None:
            file = Path(spec.origin)
            return (name, file, ".".join(parts[size:])) if local(str(file), [os.getcwd()]) else None
    return None


class _copied:
    """A copy of a package with one file changed; as a context, what starts processes that import it first."""

    def __init__(self, module: Module, text: str, place: Path) -> None:
        self.module, self.text, self.place = module, text, place

    def __enter__(self) -> Redirected:
        root = self.module.root
        target = self.place / root.name
        if root.is_dir():
            shutil.copytree(root, target, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
            (target / self.module.file.relative_to(root)).write_text(self.text, encoding="utf-8")
        else:
            self.place.mkdir(parents=True, exist_ok=True)
            target.write_text(self.text, encoding="utf-8")
        return Redirected(str(self.place), self.module.name.split(".")[0])

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.place)


class Redirected:
    """A multiprocessing context whose processes look for a package in another folder first."""

    def __init__(self, folder: str, package: str) -> None:
        name = "forkserver" if sys.platform == "linux" else "spawn"
        self.context = multiprocessing.get_context(name)
        self.folder, self.package = folder, package

    def Pipe(self, duplex: bool = True) -> Any:
        return self.context.Pipe(duplex)

    def Process(self, target: Callable[..., None], args: tuple[Any, ...]) -> Any:
        page, settings, path, *rest = args
        given = (self.folder, self.package, target, (page, settings, [self.folder, *path], *rest))
        return self.context.Process(target=_redirected, args=given)  # type: ignore[attr-defined]


def _redirected(folder: str, package: str, target: Callable[..., None], args: tuple[Any, ...]) -> None:
    """Entry of the child. What the engine itself has imported of the package stays; the rest comes from the copy."""
    sys.dont_write_bytecode = True
    known = sys.modules.get(package)
    if known is not None and hasattr(known, "__path__"):
        known.__path__ = [os.path.join(folder, package), *known.__path__]
    target(*args)
