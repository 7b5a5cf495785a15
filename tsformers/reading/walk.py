"""Go through a page once, in its own process: run its steps in order and gather what they leave behind."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch

from tsformers.reading.blocks import Block, Namespace, bound_names, run_examples, run_exec
from tsformers.reading.classify import Standing, classify
from tsformers.reading.comments import Run, check_comments
from tsformers.reading.effect import constructors, effect, quote_record
from tsformers.reading.evaluate import Scope
from tsformers.reading.failure import Failure
from tsformers.reading.hermetic import refused
from tsformers.reading.limits import Stopped, out_of_memory
from tsformers.reading.moment import moment, own_names
from tsformers.reading.overview import call_of, executed_by, namer_of, relative, subject_record, tree_of, vocabulary
from tsformers.reading.page import Fence, Page, Span
from tsformers.reading.position import Position, entry, executions, position
from tsformers.reading.prepare import Prepared, import_toys, seed, watched_of
from tsformers.reading.quotes import Match, Piece, QuoteError, match_piece, nearest_line, parse_piece
from tsformers.reading.record import (
    Call,
    Evidence,
    Moment,
    Output,
    Reading,
    ToyRecord,
)
from tsformers.reading.settings import Settings
from tsformers.reading.standard import marked
from tsformers.reading.statements import Function
from tsformers.reading.toys import Reads, ToyError, ToyRun, load_toy, parse_reads, run_toy
from tsformers.reading.watch import Watch, watching

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

    def __init__(
        self, page: Page, settings: Settings, progress: Callable[[int], None], prepared: Prepared | None = None
    ) -> None:
        """``prepared``: what was done already for this page and others with its toys."""
        self.page = page
        self.prepared = prepared or Prepared()
        self.settings = settings
        self.progress = progress
        self.reading = Reading()
        self.failures: list[Failure] = []
        self.names = Namespace()
        self.reads: list[Reads] = []
        self.trees: dict[str, Call | None] = {}
        self.homes: list[str] = []  # of each line of reads, the toy that it is shown in
        self.toys: dict[str, ToyRun] = {}
        self.explained: list[set[int]] = []
        self.place: _Place | None = None
        self.lost = False  # the last quote was wrong: what follows speaks of a state that nobody knows
        self.sound = True  # nothing is wrong with the front matter
        self.watch: Watch | None = None  # from the moment when the toys have run
        self.broken: set[str] = set()  # names that failed blocks did not bind

    def walk(self) -> Reading:
        """Run every step; what is wrong is in ``failures`` at the end."""
        if not self._load():
            return self.reading
        front = self.page.front
        seed()  # whatever the toys drew
        try:
            with watching(watched_of(front, self.reads), self.prepared.watch) as self.watch:
                for index, step in enumerate(self.page.steps):
                    self.progress(index)
                    self._step(index, step)
                    self._watched(step)
        except Stopped as stopped:
            self.failures.append(stopped.failure)
            return self.reading
        self._close()
        return self.reading

    def _step(self, index: int, step: Span | Fence) -> None:
        if isinstance(step, Span):
            self.reading.evidence[index] = self._span(step)
        elif step.kind == "exec":
            self._exec(index, step)
        elif step.kind == "example":
            self._examples(index, step)
        elif step.kind == "quote":
            self._quote(index, step)

    def _front(self, key: str, message: str, claim: str = "", error: BaseException | None = None) -> None:
        self.sound = False
        if refused(error):
            return  # which the guard says
        line, column = self.page.front.places.get(key, (1, 1))
        kind = "memory" if out_of_memory(error) else "front-matter"
        near = ""
        if isinstance(error, ToyError) and error.part:
            column += [m.start() for m in re.finditer(rf"(?<!\w){re.escape(error.part)}(?!\w)", claim)][-1]
            claim, near = error.part, error.near
        self.failures.append(Failure(self.page.path, line, column, kind, claim, near, message=message))

    def _load(self) -> bool:
        front = self.page.front
        if not self.prepared.toys:
            import_toys(front)
        for number, spec in enumerate(front.reads):
            try:
                self.reads.append(self.prepared.reads.get(spec) or parse_reads(spec))
            except ToyError as error:
                self._front(f"reads.{number}", str(error), spec, error)
        if not self.sound:  # nothing runs; but whatever is misspelt is said at once
            for name, spec in front.all_toys.items():
                try:
                    load_toy(spec)
                except ToyError as error:
                    self._front(f"toys.{name}" if name else "toy", str(error), spec, error)
        else:
            for name, spec in front.all_toys.items():
                key = f"toys.{name}" if name else "toy"
                try:
                    self.toys[name] = run = self.prepared.toy(name, self.reads) or run_toy(name, spec, self.reads)
                except ToyError as error:
                    self._front(key, str(error), spec, error)
                    continue
                except Exception as error:
                    self._front(key, f"玩具 {spec} 运行失败：{type(error).__name__}: {error}", spec, error)
                    continue
                self.reading.toys[name] = ToyRecord(
                    spec,
                    run.formulas,
                    tuple(c.sizes for c in run.cases),
                    tuple(c.axes for c in run.cases),
                    run.conditions,
                )
        if front.reads and front.toys and not front.toy:
            self._front("toys", "写了 reads 却没有 toy：toys 里的只是另外的玩具，页面开头站在 toy 的运行里", "toys")
        elif self.sound and "" in self.toys:
            self._settle()
        if not self.sound or (self.reads and "" not in self.toys):
            return False  # without a toy there is no run to read; the front matter's failure says so
        self.explained = [set() for _ in self.reads]
        self.vocabulary = vocabulary(self.page, self.reads, self.settings)
        if "" in self.toys:
            self.reading.tree = self.trees[""] = tree_of(self.toys[""], self.reads)
            self.reading.executed = executed_by(self.toys[""], self.reads, self.settings)
        if self.reads:
            self._stand_at_entry(0, self.homes[0])
        return True

    def _settle(self) -> None:
        """Give each line of ``reads:`` the toy that its calls are shown in: the page's own, else the first that makes them."""
        for number, line in enumerate(self.reads):
            home = next(
                (name for name in ("", *self.toys) if name in self.toys and self.toys[name].calls(number)), None
            )
            if home is None:
                why = next((run.missing[number] for run in self.toys.values()), None)
                self._front(f"reads.{number}", str(why or "没有 toy"), line.spec, why)
            else:
                self.homes.append(home)

    def _stand_at_entry(self, subject: int, toy: str) -> None:
        recordings = [case.recordings[subject] for case in self.toys[toy].cases]
        first = recordings[0]
        assert first is not None  # the toy is the home of the subject
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

    def exchanging(self, function: object, part: object) -> None:
        """Told by the process that a part of a function is about to be exchanged."""
        if self.watch is not None:
            self.watch.exchanging(function, part)

    def _watched(self, step: Span | Fence) -> None:
        """Whether a step left torch, the interpreter and what is read as they were; it was put back already."""
        assert self.watch is not None
        names, self.watch.found = sorted(self.watch.found), []
        if not names:
            return
        shown = "、".join(names[:3]) + (f" 等 {len(names)} 处" if len(names) > 3 else "")
        message = f"这里改掉了 {shown}，之后算出的就不是原来的程序：换一个名字，或在同一处恢复"
        kind, claim = ("claim", step.text) if isinstance(step, Span) else (step.kind, step.code.split("\n")[0])
        self.failures.append(Failure(self.page.path, step.line, step.column, kind, claim, message=message))

    def _know_copies(self) -> None:
        """Let what blocks saw of the state be the same thing as the state: ``kept is x`` after ``kept = x``."""
        for run in self.toys.values():
            for recording in (
                recording for case in run.cases for recording in case.recordings if recording is not None
            ):
                origin = recording.events[0].state.origin
                known = [(old, new) for old, new in self.names.copies.items() if old in origin]
                origin.update((id(new), origin[old]) for old, new in known)

    def _exec(self, index: int, fence: Fence) -> None:
        limit = int(self.settings.output_limit * 2**20)
        block = Block(fence, self.page.path, frozenset(self.broken), output_limit=limit)
        text, failure = run_exec(block, self.names, self._frame(fence))
        self._know_copies()
        self.reading.outputs[index] = Output(text)
        self.failures.extend(block.loud)
        self._keep_sizes(fence)
        if failure is None and (parts := marked(text)) and "result" in fence.options:
            said = {"claim": f"{parts[0]}()", "message": f"{parts[0]}() 画的是图表，这一围栏不能写 result="}
            failure = Failure(self.page.path, fence.line, fence.column, "exec", **said)
        if failure is not None:
            self.failures.append(failure)
        if failure is not None or block.silent:
            self.broken |= bound_names(fence.code) - set(self.names)

    def _keep_sizes(self, fence: Fence) -> None:
        """Refuse a name of the configuration with another value: claims of that name would speak of the page's own."""
        if not self.reads:
            return
        sizes = self._standing().sizes
        for name in sorted(bound_names(fence.code) & sizes.keys() & self.names.keys()):
            value = self.names[name]
            if type(value) is int and value != sizes[name]:
                message = f"代码块把 {name} 绑定成 {value}，而它是配置里的尺寸 {sizes[name]}；换一个名字，否则之后的声明说不清指哪个"
                said = {"claim": name, "expected": str(sizes[name]), "actual": str(value), "message": message}
                self.failures.append(Failure(self.page.path, fence.line, fence.column, "exec", **said))

    def _examples(self, index: int, fence: Fence) -> None:
        block = Block(fence, self.page.path, output_limit=int(self.settings.output_limit * 2**20))
        count, failures = run_examples(block, self.names, self._frame(fence))
        self._know_copies()
        self.reading.printed[index] = tuple(block.printed)
        self.reading.examples += count
        self.failures.extend(failures)
        self._keep_sizes(fence)

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
            row = fence.row(error.line)
            hint = f"；源码里最接近的一行是：{error.nearest}" if error.nearest else ""
            said = {"claim": row.strip(), "expected": error.nearest, "message": f"{error}{hint}"}
            column = len(row) - len(row.lstrip())
            self.failures.append(block.failure("quote", error.line, column, **said))

    def _choose(self, piece: Piece, fence: Fence) -> tuple[int, str, Match] | None:
        """The subject, toy and place that a quote means: executed, at or after the last quote, else the first."""
        asked = fence.options.get("toy")
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
        if asked is not None:
            fitting = {number: found for number, found in fitting.items() if self.toys[asked].calls(number)} or fitting
        subject = self._one_subject(fitting)
        toy = asked if asked is not None else self.homes[subject]
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
            for number, line in enumerate(self.reads):  # two calls of one function have its statements in common
                if line.source.name == self.reads[subject].source.name:
                    self.explained[number].update(node.number for node in match.nodes)
        if recording is None or not runs:
            self.reading.quotes[index] = quote_record(subject, match, executed=False)
            return
        written = fence.options.get("pass", "")
        wanted = int(written) if re.fullmatch(r"[0-9]{1,6}", written) else None  # else the fence's own failure
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
        self.reading.quotes[index] = effect(
            subject, match, at, cases, run, self._call_of(subject), len(runs), chosen + 1
        )

    def _construction(self, index: int, fence: Fence, piece: Piece) -> None:
        """A quote that stands in no function read: from an ``__init__`` of the subject or of the model, or wrong."""
        for function in constructors(self.reads, self.toys.values()):
            found = match_piece(piece, function)
            if found:
                self.reading.quotes[index] = replace(
                    quote_record(0, found[0], executed=True),
                    construction=True,
                    file=relative(function.file, self.settings),
                    constructor=function.name,
                )
                return
        row, near = nearest_line(piece, [*self._sources(), *constructors(self.reads, self.toys.values())])
        raise QuoteError("这段引文与所读函数的源码不符", row, near)

    # The end

    def _call_of(self, subject: int) -> Call | None:
        return call_of(self.reads[subject], self._tree(subject))

    def _tree(self, subject: int) -> Call | None:
        """The call tree in which a subject stands: that of the toy that it is shown in."""
        home = self.homes[subject]
        if home not in self.trees:
            self.trees[home] = tree_of(self.toys[home], self.reads)
        return self.trees[home]

    def _close(self) -> None:
        for number, line in enumerate(self.reads):
            home, explained = self.homes[number], self.explained[number]
            self.reading.subjects.append(
                subject_record(number, line, self.toys[home], self._tree(number), explained, self.settings, home)
            )
        runs = [
            [
                Run(name, case.index, recording, case.axes)
                for name, run in self.toys.items()
                for case in run.cases
                if (recording := case.recordings[number]) is not None
            ]
            for number in range(len(self.reads))
        ]
        count, failures = check_comments(self.page, self.reading.quotes, self._sources(), runs)
        self.reading.comments += count
        self.failures.extend(failures)
        self.reading.versions = {"torch": str(torch.__version__)}
        if self.page.look and not self.lost:
            self.reading.moment = self._moment()

    def _moment(self) -> Moment:
        """What is known where the page ends."""
        place = self.place
        if place is None:
            return Moment(own=own_names(self.names.own))
        namer = namer_of(self.toys[place.toy])
        quotes = [quote for quote in self.reading.quotes.values() if quote.executed and not quote.construction]
        found = moment(place.passes[0], place.cases, namer)
        return replace(
            found,
            toy=self.toys[place.toy].spec,
            function=self.reads[place.subject].source.name,
            file=relative(self.reads[place.subject].source.file, self.settings),
            passes=quotes[-1].passes if quotes else 1,
            chosen_pass=quotes[-1].chosen_pass if quotes else 1,
            own=own_names(self.names.own),
        )


def _named(line: Reads, wanted: str) -> bool:
    """Whether ``of=`` means this line: by its spec, its path, its dotted function, or the end of that."""
    name = line.source.name
    return wanted in (line.spec, line.spec.split(" ")[0], name, line.path) or name.endswith(f".{wanted}")
