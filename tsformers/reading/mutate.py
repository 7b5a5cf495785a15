"""Prove the checker: spoil pages and source one thing at a time, and see whether anything turns red.

Mutants of claims, examples and quotes are put into a page many at a time, at most one in each step, since claims only
read; each is judged by what is said at its own place. What leaves every expression as it was is judged with the page's
record, without running it again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tsformers.reading.claims import Claim, ClaimError, FormulaError, evaluate_axis, parse
from tsformers.reading.failure import Failure
from tsformers.reading.meaning import is_true
from tsformers.reading.mutants import Mutant, changed_text, grouped, page_mutants
from tsformers.reading.page import Page, Span, scan
from tsformers.reading.record import Evidence, Reading
from tsformers.reading.run import Result, check_pages
from tsformers.reading.settings import Settings, load_settings
from tsformers.reading.verdict import judge_page

KILLED, EQUIVALENT, SURVIVED = "killed", "equivalent", "survived"


@dataclass(frozen=True)
class Judged:
    """A mutant and what became of it; ``before`` and ``after`` are the text of its step, or of its row in a fence."""

    path: str
    mutant: Mutant
    verdict: str
    before: str
    after: str
    reason: str = ""


@dataclass(frozen=True)
class _Subject:
    """A page that is right, its file, settings and record."""

    page: Page
    file: Path
    settings: Settings
    reading: Reading


@dataclass(frozen=True)
class _Trial:
    """Mutants that stand in one changed page, what was said of it, and its record."""

    subject: _Subject
    mutants: tuple[Mutant, ...]
    page: Page
    failures: Sequence[Failure] = ()
    reading: Reading | None = None

    @property
    def aligned(self) -> bool:
        """Whether each step of the changed page is the one it was: else nothing can be said of a single mutant."""
        return len(self.page.steps) == len(self.subject.page.steps)


Runner = Callable[[Sequence[_Trial]], list[_Trial]]


def mutate_pages(
    results: Sequence[Result],
    files: Sequence[Path],
    *,
    jobs: int | None = None,
    time_limit: float | None = None,
    most: int | None = None,
) -> list[Judged]:
    """Judge every mutant of pages that were found right; ``most`` bounds how many a page, taken evenly."""

    def run(trials: Sequence[_Trial]) -> list[_Trial]:
        pages, where = [trial.page for trial in trials], [trial.subject.file for trial in trials]
        ran = check_pages(pages, where, jobs=jobs, time_limit=time_limit) if trials else []
        return [
            replace(trial, failures=result.failures, reading=result.reading)
            for trial, result in zip(trials, ran, strict=True)
        ]

    subjects = [
        _Subject(result.page, file, load_settings(file), result.reading)
        for result, file in zip(results, files, strict=True)
    ]
    waiting: list[_Trial] = []
    judged: list[Judged] = []
    for subject in subjects:
        mutants = evenly(page_mutants(subject.page, subject.reading), most)
        for sort in (("claim", "example"), ("quote",)):  # a wrong quote leaves what follows unknown
            for runs in (False, True):
                chosen = [mutant for mutant in mutants if mutant.sort in sort and mutant.runs is runs]
                for group in grouped(chosen):
                    trial = _trial(subject, group)
                    if runs or not trial.aligned:
                        waiting.append(trial)
                    else:
                        judged += _judge(_recorded(trial))
    alone: list[_Trial] = []
    for trial in run(waiting):
        judged_here = list(_judge(trial)) if trial.aligned or len(trial.mutants) == 1 else []
        done = {item.mutant for item in judged_here if item.verdict != SURVIVED or item.mutant.sort == "claim"}
        judged += [item for item in judged_here if item.mutant in done]
        alone += [_trial(trial.subject, [mutant]) for mutant in trial.mutants if mutant not in done]
    for trial in run(alone):
        judged += _judge(trial)
    judged = _aliases(judged, {subject.page.path: subject for subject in subjects}, run)
    return sorted(judged, key=lambda item: (item.path, item.mutant.start, item.mutant.end, item.mutant.new))


def evenly(items: Sequence[Any], most: int | None) -> list[Any]:
    """At most ``most`` of the items, as far apart as they go."""
    if most is None or len(items) <= most:
        return list(items)
    return [items[index * len(items) // most] for index in range(most)]


def _trial(subject: _Subject, mutants: Sequence[Mutant]) -> _Trial:
    return _Trial(subject, tuple(mutants), scan(changed_text(subject.page, mutants), subject.page.path))


def _recorded(trial: _Trial) -> _Trial:
    """What the page's own record says of a changed page."""
    reading = trial.subject.reading
    failures = [*trial.page.problems, *judge_page(trial.page, reading, trial.subject.settings)]
    return replace(trial, failures=failures, reading=reading)


def _judge(trial: _Trial) -> Iterator[Judged]:
    lone = len(trial.mutants) == 1 and (trial.mutants[0].sort != "claim" or not trial.aligned)
    for mutant in trial.mutants:
        step = trial.page.steps[mutant.step] if trial.aligned else None
        said = trial.failures if lone or step is None else [f for f in trial.failures if _inside(f, step, trial.page)]
        before, after = _shown(trial.subject.page, mutant)
        judged = Judged(trial.subject.page.path, mutant, KILLED if said else SURVIVED, before, after)
        if not said and mutant.sort == "claim" and trial.reading is not None:
            judged = _by_meaning(judged, trial.reading.evidence.get(mutant.step), trial)
        yield judged


def _inside(failure: Failure, step: object, page: Page) -> bool:
    """Whether something was said at a step's own place."""
    if isinstance(step, Span):
        return failure.line == step.line and step.column <= failure.column <= step.column + len(step.text)
    first, last = page.text.count("\n", 0, step.start) + 1, page.text.count("\n", 0, step.end) + 1  # type: ignore[attr-defined]
    return first <= failure.line <= last


def _shown(page: Page, mutant: Mutant) -> tuple[str, str]:
    step = page.steps[mutant.step]
    start, end = step.start, step.end
    if not isinstance(step, Span):
        start = page.text.rfind("\n", 0, mutant.start) + 1
        end = page.text.find("\n", mutant.end)
    changed = page.text[start : mutant.start] + mutant.new + page.text[mutant.end : end]
    return page.text[start:end].strip(), changed.strip()


def _by_meaning(judged: Judged, evidence: Evidence | None, trial: _Trial) -> Judged:
    """A claim that nothing was said of: true all the same, or a hole."""
    assert trial.reading is not None
    try:
        claim = parse(judged.after)
    except ClaimError as error:
        return replace(judged, reason=f"写法有误而没有报出：{error.message}")
    if claim is None or evidence is None or evidence.kind != "claim":
        kind = evidence.kind if evidence is not None else "none"
        return replace(judged, reason=f"改后不再是声明，被当作 {kind} 放过")
    truth = is_true(claim, evidence, trial.reading)
    if truth and judged.mutant.how in ("axis of equal size", "swapped axes") and not _by_definition(judged, trial):
        return replace(judged, reason="在玩具的每个配置里都一样长，却只是巧合：要有一个长度不同的配置")
    if truth:
        return replace(judged, verdict=EQUIVALENT, reason=_why(judged, claim, trial.subject.page))
    return replace(judged, reason="改后不成立，检查却没有发现" if truth is False else "改后是否成立无从判断")


def _by_definition(judged: Judged, trial: _Trial) -> bool:
    """Whether the names before and after a change are as long whatever the sizes, and not in these configurations alone."""
    assert trial.reading is not None
    evidence = trial.reading.evidence[judged.mutant.step]
    toy = trial.reading.toys.get(evidence.toy)
    before, after = parse(judged.before.strip("`")), parse(judged.after)
    if toy is None or before is None or after is None:
        return False
    sizes = toy.sizes[0]
    for name in ("", *sizes):
        other = (
            {**sizes, name: sizes[name] + 5} if name else {n: v + 3 * i + 7 for i, (n, v) in enumerate(sizes.items())}
        )
        for old, new in zip(before.axis_groups, after.axis_groups, strict=True):
            for one, two in zip(old, new, strict=True):
                try:
                    lengths = {evaluate_axis(str(slot.code), other, toy.formulas) for slot in (one, two)}
                except FormulaError:
                    continue  # sizes that this formula does not allow
                if len(lengths) > 1:
                    return False
    return True


def _why(judged: Judged, claim: Claim, page: Page) -> str:
    mutant = judged.mutant
    old = page.text[mutant.start : mutant.end]
    match mutant.how:
        case "axis of equal size":
            return f"{mutant.new} 与 {old} 按定义一样长"
        case "swapped axes":
            return "交换的两个轴按定义一样长"
        case "flipped relation":
            return "反过来也成立：没有元素可比，或与 nan 相比"
    if mutant.how.startswith("renamed"):
        return f"{claim.text} 说的也是真的"
    return "实际值恰在两种写法的误差界上，两种写法都对"


def _aliases(judged: Sequence[Judged], subjects: dict[str, _Subject], run: Runner) -> list[Judged]:
    """Say of renamed variables whether both names stand for one object, which only a run can tell."""
    asked: dict[str, list[Mutant]] = {}
    renamed = [item for item in judged if item.verdict == EQUIVALENT and item.mutant.how.startswith("renamed")]
    for item in renamed:
        step = subjects[item.path].page.steps[item.mutant.step]
        old = subjects[item.path].page.text[item.mutant.start : item.mutant.end]
        question = replace(item.mutant, start=step.start, end=step.end, new=f"{old} is {item.mutant.new}")
        asked.setdefault(item.path, []).append(question)
    trials = [_trial(subjects[path], group) for path, mutants in asked.items() for group in grouped(mutants)]
    same = {
        (trial.subject.page.path, mutant.step, mutant.new)
        for trial in run(trials)
        for mutant in trial.mutants
        if trial.aligned and not any(_inside(f, trial.page.steps[mutant.step], trial.page) for f in trial.failures)
    }
    found = []
    for item in judged:
        old = subjects[item.path].page.text[item.mutant.start : item.mutant.end]
        question_text = f"{old} is {item.mutant.new}"
        one = item in renamed and (item.path, item.mutant.step, question_text) in same
        found.append(replace(item, reason=f"{question_text}：两个名字是同一个对象") if one else item)
    return found
