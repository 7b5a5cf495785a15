"""Go through a page once, in its own process: run its steps in order and gather what they leave behind."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from tsformers.reading.blocks import Block, Namespace, bound_names, run_examples, run_exec
from tsformers.reading.calls import AxisNamer, call_tree
from tsformers.reading.classify import Standing, Vocabulary, classify, tokens
from tsformers.reading.comments import check_comments
from tsformers.reading.evaluate import Scope
from tsformers.reading.failure import Failure
from tsformers.reading.page import Fence, Page, Span
from tsformers.reading.position import Position, before, entry, executions, position, written
from tsformers.reading.quotes import Match, Piece, QuoteError, match_piece, nearest_line, parse_piece
from tsformers.reading.record import Call, Evidence, Output, Quote, Reading, Statement, Subject, ToyRecord, Variable
from tsformers.reading.settings import Settings
from tsformers.reading.snapshot import freeze
from tsformers.reading.statements import Function, SourceError, function_source, parsed
from tsformers.reading.toys import Reads, ToyError, ToyRun, parse_reads, run_toy

SOURCE = re.compile(r"^\s*Source:\s+(?P<name>[^,\n]+),\s+(?P<file>[\w/.\-]+),\s+(?P<symbol>[\w.]+)", re.MULTILINE)
LONGEST_EXPLAINED = 6  # statements; a longer quote shows, and explains none


@dataclass
class _Place:
    """Where the page stands: a subject, a toy, and per configuration the positions of the passes in question."""

    subject: int
    toy: str
    passes: list[Position]  # in the first configuration; one, unless the passes of a loop may differ
    cases: list[Position | None]  # in the further ones


class Walker:
    """Runs one page. ``progress`` is told the index of each step before it runs."""

    def __init__(self, page: Page, settings: Settings, progress: Callable[[int], None]) -> None:
        self.page = page
        self.settings = settings
        self.progress = progress
        self.reading = Reading()
        self.failures: list[Failure] = []
        self.names = Namespace()
        self.reads: list[Reads] = []
        self.toys: dict[str, ToyRun] = {}
        self.explained: list[set[int]] = []
        self.place: _Place | None = None
        self.lost = False  # the last quote was wrong: what follows speaks of a state that nobody knows
        self.broken: set[str] = set()  # names that failed blocks did not bind

    def walk(self) -> Reading:
        """Run every step; what is wrong is in ``failures`` at the end."""
        if not self._load():
            return self.reading
        for index, step in enumerate(self.page.steps):
            self.progress(index)
            if isinstance(step, Span):
                self.reading.evidence[index] = self._span(step)
            elif step.kind == "exec":
                self._exec(index, step)
            elif step.kind == "example":
                self._examples(step)
            elif step.kind == "quote":
                self._quote(index, step)
        self._close()
        return self.reading

    def _front(self, key: str, message: str, claim: str = "") -> None:
        line = self.page.front.lines.get(key, 1)
        self.failures.append(Failure(self.page.path, line, 1, "front-matter", claim, message=message))

    def _load(self) -> bool:
        front = self.page.front
        for number, spec in enumerate(front.reads):
            try:
                self.reads.append(parse_reads(spec))
            except ToyError as error:
                self._front(f"reads.{number}", str(error), spec)
        toys = {"": front.toy, **front.toys} if front.toy else dict(front.toys)
        if not self.failures:
            for name, spec in toys.items():
                key = f"toys.{name}" if name else "toy"
                try:
                    self.toys[name] = run = run_toy(name, spec, self.reads)
                except ToyError as error:
                    self._front(key, str(error), spec)
                    continue
                except Exception as error:
                    self._front(key, f"玩具 {spec} 运行失败：{type(error).__name__}: {error}", spec)
                    continue
                self.reading.toys[name] = ToyRecord(
                    spec, run.formulas, tuple(c.sizes for c in run.cases), tuple(c.axes for c in run.cases)
                )
        if front.reads and front.toys and not front.toy:
            self._front("toys", "写了 reads 却没有 toy：toys 里的只是另外的玩具，页面开头站在 toy 的运行里", "toys")
        if self.failures or (self.reads and "" not in self.toys):
            return False  # without a toy there is no run to read; the front matter's failure says so
        self.explained = [set() for _ in self.reads]
        self._vocabulary()
        if "" in self.toys:
            self._tree()
        if self.reads:
            self._stand_at_entry(0, "")
        return True

    def _vocabulary(self) -> None:
        sources = []
        for line in self.reads:
            text = line.source.source
            for node in ast.walk(parsed(line.source.file)[1]):
                if isinstance(node, ast.ClassDef) and node.name == line.source.owner:
                    text = ast.get_source_segment(line.source.text, node) or text
            sources.append(tokens(text))
        terms = self.settings.known_terms | frozenset(self.page.front.terms)
        self.vocabulary = Vocabulary(tuple(sources), self.settings.pages, terms, self.settings.root)

    def _tree(self) -> None:
        run = self.toys[""]
        self.namer = AxisNamer([case.axes for case in run.cases])
        runs = [(_runner(case.toy), case.toy.call) for case in run.cases]
        files = [line.source.file for line in self.reads]
        folder = _package_folder(files, runs[0][1])
        self.reading.tree = call_tree(runs, folder, self.namer)

    def _stand_at_entry(self, subject: int, toy: str) -> None:
        recordings = [case.recordings[subject] for case in self.toys[toy].cases]
        first = recordings[0]
        assert first is not None  # run_toy refuses a toy that does not call a subject
        cases = [entry(recording) if recording is not None else None for recording in recordings[1:]]
        self.place = _Place(subject, toy, [entry(first)], cases)

    # Spans

    def _scope(self, at: Position, case: int, page_names: dict[str, Any]) -> Scope:
        place = self.place
        assert place is not None
        reads, known = self.reads[place.subject], self.toys[place.toy].cases[case]
        return Scope(
            frame=at.state,
            page=page_names,
            module=reads.globals,
            sizes=known.sizes,
            axes=known.axes,
            returned=at.recording.returned or {},
            recorded=at.recorded,
            package=reads.source.name.split(".")[0],
        )

    def _standing(self) -> Standing:
        place = self.place
        if place is None:
            case = self.toys[""].cases[0] if "" in self.toys else None
            sizes, axes = (case.sizes, case.axes) if case is not None else ({}, {})
            scope = Scope(page=self.names.own, sizes=sizes, axes=axes)
            return Standing([scope], [], "", None, 0, {**axes, **sizes}, frozenset(self.broken))
        own = self.names.own
        passes = [self._scope(at, 0, own) for at in place.passes]
        cases = [self._scope(at, k, {}) if at is not None else None for k, at in enumerate(place.cases, 1)]
        case = self.toys[place.toy].cases[0]
        sizes = {**case.axes, **case.sizes}
        line = place.passes[0].line
        return Standing(passes, cases, place.toy, place.subject, line, sizes, frozenset(self.broken))

    def _span(self, span: Span) -> Evidence:
        if self.lost:
            return Evidence("unknown")
        return classify(span.text, self._standing(), self.vocabulary, strict=bool(self.reads))

    # Blocks

    def _frame(self, fence: Fence) -> dict[str, Any]:
        """The names that a block sees: the state here, or with ``toy=`` that toy's state at the same place."""
        if self.place is None:
            return {}
        at = self.place.passes[0]
        toy = fence.options.get("toy", self.place.toy)
        if toy != self.place.toy and toy in self.toys:
            recording = self.toys[toy].cases[0].recordings[self.place.subject]
            here = at.recording.events[at.event]
            same = [
                index
                for index, event in enumerate(recording.events if recording is not None else [])
                if (event.kind, event.statement, event.passes) == (here.kind, here.statement, here.passes)
            ]
            if recording is None or not same:
                return {}
            at = Position(recording, same[0])
        return dict(at.state)

    def _exec(self, index: int, fence: Fence) -> None:
        block = Block(fence, self.page.path, frozenset(self.broken))
        text, failure = run_exec(block, self.names, self._frame(fence))
        self.reading.outputs[index] = Output(text)
        self.broken |= bound_names(fence.code) - set(self.names)
        if failure is not None:
            self.failures.append(failure)

    def _examples(self, fence: Fence) -> None:
        count, failures = run_examples(Block(fence, self.page.path), self.names, self._frame(fence))
        self.reading.examples += count
        self.failures.extend(failures)

    # Quotes

    def _quote(self, index: int, fence: Fence) -> None:
        block = Block(fence, self.page.path)
        if not self.reads:
            message = '这段 python 围栏没有运行：引文要在 front matter 写 reads，执行写 exec="1"，只展示写 why="…"'
            said = {"claim": fence.code.split("\n")[0].strip(), "message": message}
            self.failures.append(Failure(self.page.path, fence.line, fence.column, "fence", **said))
            return
        if fence.options.get("toy", "") not in self.toys:
            self.lost = True  # an unknown toy is the fence's failure, said where its options are read
            return
        try:
            piece = parse_piece(fence.code)
            chosen = self._choose(piece, fence)
            if chosen is None:
                self._construction(index, fence, piece)
                return
            self._move(index, fence, *chosen)
            self.lost = False
        except QuoteError as error:
            self.lost = True
            row = _row(fence, error.line)
            hint = f"；源码里最接近的一行是：{error.nearest}" if error.nearest else ""
            said = {"claim": row.strip(), "expected": error.nearest, "message": f"{error}{hint}"}
            column = len(row) - len(row.lstrip())
            self.failures.append(block.failure("quote", error.line, column, **said))

    def _choose(self, piece: Piece, fence: Fence) -> tuple[int, str, Match] | None:
        """The subject, toy and place that a quote means: executed, at or after the last quote, else the first."""
        toy = fence.options.get("toy", "")
        wanted = fence.options.get("of")
        fitting: dict[int, list[Match]] = {}
        problem: QuoteError | None = None
        for number, line in enumerate(self.reads):
            if wanted is not None and not _named(line, wanted):
                continue
            try:
                found = match_piece(piece, line.source)
            except QuoteError as error:  # its statements fit, a comment does not; another function may fit whole
                problem = error
                continue
            if found:
                fitting[number] = found
        if problem is not None and not fitting:
            raise problem
        if wanted is not None and not fitting:
            raise QuoteError(f'of="{wanted}" 指的函数里没有这段代码', *nearest_line(piece, self._sources()))
        if not fitting:
            return None
        subject = self._one_subject(fitting)
        recording = self.toys[toy].cases[0].recordings[subject]
        matches = fitting[subject]
        if recording is None:
            return subject, toy, matches[0]
        ran = [match for match in matches if executions(match, recording)]
        here = self.place.passes[0].line if self.place is not None and self.place.subject == subject else 0
        later = [match for match in ran if match.last_line >= here]
        return subject, toy, (later or ran or matches)[0]

    def _one_subject(self, fitting: dict[int, list[Match]]) -> int:
        if len(fitting) == 1:
            return next(iter(fitting))
        names = {self.reads[number].source.name for number in fitting}
        if self.place is not None and self.place.subject in fitting and len(names) == 1:
            return self.place.subject
        if len(names) == 1:
            return next(iter(fitting))
        raise QuoteError(f'这段代码在几个函数里都有（{"、".join(sorted(names))}）；请在围栏上写 of="…"')

    def _sources(self) -> list[Function]:
        return [line.source for line in self.reads]

    def _move(self, index: int, fence: Fence, subject: int, toy: str, match: Match) -> None:
        run = self.toys[toy]
        recording = run.cases[0].recordings[subject]
        runs = executions(match, recording) if recording is not None else []
        if len(match.nodes) <= LONGEST_EXPLAINED:
            self.explained[subject].update(node.number for node in match.nodes)
        if recording is None or not runs:
            self.reading.quotes[index] = _quote_record(subject, match, executed=False)
            return
        wanted = int(fence.options["pass"]) if fence.options.get("pass", "").isdigit() else None
        if wanted is not None and not 1 <= wanted <= len(runs):
            raise QuoteError(f'pass="{wanted}"：这段代码在本例中只执行了 {len(runs)} 遍')
        chosen = (wanted or 1) - 1
        positions = [position(match, recording, event) for event in runs]
        cases = []
        for case in run.cases[1:]:
            other = case.recordings[subject]
            found = executions(match, other) if other is not None else []
            cases.append(position(match, other, found[chosen]) if other is not None and chosen < len(found) else None)
        at = positions[chosen]
        self.place = _Place(subject, toy, [at] if wanted is not None else positions, cases)
        self.reading.quotes[index] = self._effect(subject, match, at, cases, len(runs), chosen + 1)

    def _effect(
        self, subject: int, match: Match, at: Position, cases: Sequence[Position | None], passes: int, chosen: int
    ) -> Quote:
        assert self.place is not None
        toy = self.toys[self.place.toy]
        namer = AxisNamer([case.axes for case in toy.cases])
        old = before(match, at)
        wrote = []
        for name in written(match, old, at.state):
            others = [freeze(case.state.get(name), data=False) if case is not None else None for case in cases]
            after = freeze(at.state[name])
            wrote.append(Variable(name, freeze(old.get(name)), name in old, after, namer.name(after, others)))
        returned = None
        ends = any(isinstance(node.tree, ast.Return) and node.number in at.recording.executed for node in match.nodes)
        if ends and at.recording.returned is not None:
            value = freeze(at.recording.returned["return"])
            returned = Variable("return", None, False, value, namer.name(value, []))
        call = self._call_of(subject)
        calls = tuple(
            child for child in (call.children if call else ()) if match.first_line <= child.line <= match.last_line
        )
        return replace(
            _quote_record(subject, match, executed=True),
            passes=passes,
            chosen_pass=chosen,
            wrote=tuple(wrote),
            returned=returned,
            calls=calls if match.stop is not None else (),
        )

    def _construction(self, index: int, fence: Fence, piece: Piece) -> None:
        """A quote that stands in no function read: from an ``__init__`` of the subject or of the model, or wrong."""
        for function in self._constructors():
            found = match_piece(piece, function)
            if found:
                self.reading.quotes[index] = replace(
                    _quote_record(0, found[0], executed=True),
                    construction=True,
                    file=_relative(function.file, self.settings),
                    constructor=function.name,
                )
                return
        row, near = nearest_line(piece, [*self._sources(), *self._constructors()])
        raise QuoteError("这段引文与所读函数的源码不符", row, near)

    def _constructors(self) -> list[Function]:
        classes: list[type] = []
        for line in self.reads:
            owner = line.globals.get(line.source.owner)
            if isinstance(owner, type):
                classes.append(owner)
        for run in self.toys.values():
            call = run.cases[0].toy.call
            if isinstance(call, nn.Module):
                classes.extend(type(module) for module in call.modules())
        found = []
        for kind in dict.fromkeys(classes):
            if "__init__" not in vars(kind) or kind.__module__.split(".")[0] == "torch":
                continue
            try:
                found.append(function_source(kind.__init__))
            except SourceError:
                continue  # a constructor that Python made (a dataclass): nothing to quote
        return found

    # The end

    def _call_of(self, subject: int) -> Call | None:
        line = self.reads[subject]
        found = [call for call in _flat(self.reading.tree) if call.function == line.source.name]
        if line.path is not None:
            found = [call for call in found if call.path == line.path]
        return found[line.call - 1] if len(found) >= line.call else None

    def _close(self) -> None:
        for number, line in enumerate(self.reads):
            recording = self.toys[""].cases[0].recordings[number]
            executed = recording.executed if recording is not None else set()
            statements = tuple(
                Statement(
                    node.tree.lineno, node.header_end, line.source.excerpt(node), node.number in executed,
                    node.number in self.explained[number],
                )
                for node in line.source.nodes
                if not isinstance(node.tree, (ast.FunctionDef, ast.ClassDef))
            )  # fmt: skip
            self.reading.subjects.append(
                Subject(
                    line.spec,
                    line.source.name,
                    line.path or "",
                    _relative(line.source.file, self.settings),
                    line.source.tree.lineno,
                    line.source.source,
                    self._call_of(number),
                    statements,
                    _original(line.source, self.settings.sources),
                )
            )
        for index, quote in self.reading.quotes.items():
            fence = self.page.steps[index]
            if isinstance(fence, Fence) and quote.executed and not quote.construction:
                run = self.toys[fence.options.get("toy", "")]
                recordings = [case.recordings[quote.subject] for case in run.cases]
                count, failures = check_comments(
                    Block(fence, self.page.path), quote, recordings, [c.axes for c in run.cases]
                )
                self.reading.comments += count
                self.failures.extend(failures)
        self.reading.versions = {"torch": torch.__version__}


def _quote_record(subject: int, match: Match, *, executed: bool) -> Quote:
    return Quote(
        subject=subject,
        lines=match.lines,
        first_line=match.first_line,
        last_line=match.last_line,
        executed=executed,
        construction=False,
        passes=0,
        chosen_pass=0,
        wrote=(),
        returned=None,
        calls=(),
    )


def _row(fence: Fence, row: int) -> str:
    lines = fence.code.split("\n")
    return lines[row] if 0 <= row < len(lines) else ""


def _original(function: Function, sources: Mapping[str, str]) -> tuple[str, str] | None:
    """Name and address of the code that a function follows, from ``Source: NAME, file, symbol`` in a docstring."""
    texts = [ast.get_docstring(function.tree) or ""]
    for node in ast.walk(parsed(function.file)[1]):
        if isinstance(node, ast.ClassDef) and node.name == function.owner:
            texts.append(ast.get_docstring(node) or "")
    for text in texts:
        found = SOURCE.search(text)
        if found is not None and found["name"] in sources:
            return f"{found['name']} {found['file']} {found['symbol']}", sources[found["name"]] + found["file"]
    return None


def _named(line: Reads, wanted: str) -> bool:
    """Whether ``of=`` means this line: by its spec, its dotted function, or the end of that."""
    name = line.source.name
    return wanted in (line.spec, line.spec.split(" ")[0], name) or name.endswith(f".{wanted}")


def _runner(toy: Any) -> Callable[[], object]:
    return lambda: toy.call(*toy.args, **toy.kwargs)


def _flat(call: Call | None) -> list[Call]:
    if call is None:
        return []
    return [call, *[inner for child in call.children for inner in _flat(child)]]


def _relative(file: Path, settings: Settings) -> str:
    resolved = file.resolve()
    return resolved.relative_to(settings.root).as_posix() if resolved.is_relative_to(settings.root) else resolved.name


def _package_folder(files: Sequence[Path], root: object) -> str:
    """The folder of the top package (or the file) whose functions the call tree shows."""
    file = files[0] if files else None
    if file is None:
        import inspect

        file = Path(inspect.getfile(type(root) if isinstance(root, nn.Module) else root))  # type: ignore[arg-type]
    folder = file.parent
    if not (folder / "__init__.py").exists():
        return str(file)
    while (folder.parent / "__init__.py").exists():
        folder = folder.parent
    return str(folder)
