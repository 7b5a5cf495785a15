"""What a page's record says of its toys and functions as a whole: call tree, executed statements, vocabulary, subjects."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn

from tsformers.reading.calls import AxisNamer, call_tree
from tsformers.reading.classify import Vocabulary, tokens
from tsformers.reading.executed import executed_lines, executed_statements
from tsformers.reading.page import Page
from tsformers.reading.record import Call, Executed, Statement, Subject
from tsformers.reading.settings import Settings
from tsformers.reading.statements import Function, classes_in
from tsformers.reading.steps import steps
from tsformers.reading.toys import Reads, ToyRun

SOURCE = re.compile(
    r"^\s*Source:\s+``(?P<symbol>[\w.]+)`` in\s+(?P<name>[\w-]+)'s\s+``(?P<file>[\w/.-]+)``", re.MULTILINE
)


def vocabulary(page: Page, reads: Sequence[Reads], settings: Settings) -> Vocabulary:
    """What inline code of the page may be beside a claim or a name of the state."""
    sources = []
    for line in reads:
        text = line.source.source
        owner = classes_in(line.source.file).get(line.source.owner)
        if owner is not None:
            text = "\n".join(line.source.lines[owner.lineno - 1 : owner.end_lineno])
        sources.append(tokens(text))
    terms = settings.known_terms | frozenset(page.front.terms)
    return Vocabulary(tuple(sources), settings.pages, terms, settings.root)


def namer_of(run: ToyRun) -> AxisNamer:
    return AxisNamer([case.axes for case in run.cases])


def tree_of(run: ToyRun, reads: Sequence[Reads]) -> Call | None:
    """The call tree of a toy's run."""
    folder = _package_folder(run, reads)
    if ("tree", folder) not in run.known:
        runs = [(_runner(case.toy), case.toy.call) for case in run.cases]
        run.known["tree", folder] = call_tree(runs, folder, namer_of(run))
    tree: Call | None = run.known["tree", folder]
    return tree


def executed_by(run: ToyRun, reads: Sequence[Reads], settings: Settings) -> tuple[Executed, ...]:
    """What a toy's run executes of the package read; of the code that makes the toy nothing."""
    toy = Path(getattr(sys.modules.get(run.spec.partition(":")[0]), "__file__", None) or "").resolve()
    own = {line.source.file.resolve() for line in reads}
    folder = _package_folder(run, reads)
    if ("executed", folder) not in run.known:
        with torch.no_grad():
            lines = executed_lines(_runner(run.cases[0].toy), folder)
        run.known["executed", folder] = executed_statements(lines)
    found = []
    for function, numbers in run.known["executed", folder]:
        if function.file.resolve() == toy and toy not in own:
            continue
        nodes = [function.nodes[number] for number in numbers]
        statements = tuple(
            (node.tree.lineno, function.excerpt(node))
            for node in nodes
            if not isinstance(node.tree, (ast.FunctionDef, ast.ClassDef))
        )
        found.append(Executed(function.name, relative(function.file, settings), statements))
    return tuple(found)


def call_of(line: Reads, tree: Call | None) -> Call | None:
    """The call that a line of ``reads:`` means, in the tree."""
    found = [call for call in (tree.all() if tree is not None else ()) if call.function == line.source.name]
    if line.path is not None:
        found = [call for call in found if call.path == line.path]
    return found[line.call - 1] if len(found) >= line.call else None


def subject_record(
    number: int, line: Reads, run: ToyRun, tree: Call | None, explained: set[int], settings: Settings, toy: str
) -> Subject:
    """A function that the page reads, the ``number``-th, with its statements and the steps of its call."""
    recordings = [case.recordings[number] for case in run.cases]
    executed = recordings[0].executed if recordings[0] is not None else set()
    statements = tuple(
        Statement(
            node.tree.lineno,
            node.header_end,
            line.source.excerpt(node),
            node.number in executed,
            node.number in explained,
        )
        for node in line.source.nodes
        if not isinstance(node.tree, (ast.FunctionDef, ast.ClassDef))
    )
    return Subject(
        line.spec,
        line.source.name,
        line.path or "",
        relative(line.source.file, settings),
        line.source.tree.lineno,
        line.source.source,
        call_of(line, tree),
        statements,
        _original(line.source, settings.sources),
        steps(recordings, namer_of(run)),
        toy,
    )


def _original(function: Function, sources: Mapping[str, str]) -> tuple[str, str] | None:
    """Name and address of the code that a function follows, from "Source: ``symbol`` in NAME's ``file``" in a docstring."""
    texts = [ast.get_docstring(function.tree) or ""]
    owner = classes_in(function.file).get(function.owner)
    if owner is not None:
        texts.append(ast.get_docstring(owner) or "")
    for text in texts:
        found = SOURCE.search(text)
        if found is not None and found["name"] in sources:
            return f"{found['name']} {found['file']} {found['symbol']}", sources[found["name"]] + found["file"]
    return None


def relative(file: Path, settings: Settings) -> str:
    """A file's name in the project, "/" between parts."""
    resolved = file.resolve()
    return resolved.relative_to(settings.root).as_posix() if resolved.is_relative_to(settings.root) else resolved.name


def _runner(toy: Any) -> Callable[[], object]:
    return lambda: toy.call(*toy.args, **toy.kwargs)


def _package_folder(run: ToyRun, reads: Sequence[Reads]) -> str:
    """The folder of the top package (or the file) whose functions the call tree shows."""
    root = run.cases[0].toy.call
    made_by = type(root) if isinstance(root, nn.Module) else root
    file = reads[0].source.file if reads else Path(inspect.getfile(made_by))
    folder = file.parent
    if not (folder / "__init__.py").exists():
        return str(file)
    while (folder.parent / "__init__.py").exists():
        folder = folder.parent
    return str(folder)
