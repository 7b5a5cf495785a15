"""Page and record -> failures: every span judged by what was recorded. Pure, so that a record can be judged again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tsformers.reading.beside import beside_claims
from tsformers.reading.claims import AxisCase, Claim, ClaimError, Mismatch, judge, judge_axes, parse
from tsformers.reading.failure import Failure
from tsformers.reading.literals import Vacuous
from tsformers.reading.naked import bare, full_width, naked_numbers
from tsformers.reading.page import Page, Span
from tsformers.reading.record import Evidence, Reading, ToyRecord
from tsformers.reading.settings import Settings

# A number by itself in a term, not one in a name: "宽 65", "foo = 65"; but encoder.norm.1.weight, 04-标题, 1D 卷积.
_NUMBER = re.compile(r"(?:^|[\s=(\[<>≈×*/+，、])[-+]?(\d+(?:\.\d+)?)(?=$|[\s)\],，、%％×])")


def judge_page(page: Page, reading: Reading, settings: Settings, so_far: Sequence[Failure] = ()) -> list[Failure]:
    """Everything wrong with the claims, names and numbers of a page that was run.

    ``so_far`` is what reading and running it found: a quote that failed explains nothing, which is not said again.
    """
    failures: list[Failure] = []
    told = {(known.line, known.column) for known in so_far if known.kind == "name"}  # that the site shows no code there
    for index, step in enumerate(page.steps):
        if isinstance(step, Span) and index in reading.evidence and (step.line, step.column) not in told:
            failures.extend(_span(page, step, reading.evidence[index], reading))
            if reading.evidence[index].kind == "unknown" and not any(known.line <= step.line for known in so_far):
                message = "这里的状态没有确定下来，什么也没有核对；而前面没有一处错误说明原因"
                failures.append(_at(page, step, 0, "claim", message=message))
    if page.front.reading:
        failures.extend(naked_numbers(page))
        failures.extend(beside_claims(page))
        if not any(failure.kind == "quote" for failure in so_far):
            failures.extend(_coverage(page, reading, settings))
    return failures


def _at(page: Page, span: Span, offset: int, kind: str, **said: str) -> Failure:
    line, column = span.line, span.column + offset
    if "\n" in page.text[span.start : span.end]:  # a span over two lines: offsets count its blanks as line ends do
        before = page.text[span.start : span.start + offset]
        if "\n" in before:
            line, column = line + before.count("\n"), len(before) - before.rfind("\n")
    return Failure(page.path, line, column, kind, span.text, **said)


def _span(page: Page, span: Span, evidence: Evidence, reading: Reading) -> Iterator[Failure]:
    strict = page.front.reading
    if strict and bare(span.text):
        yield _at(
            page,
            span,
            0,
            "naked",
            message=f"代码里只有 {span.text}：是什么的值或形状？写成 名字 {span.text} 这样的声明",
        )
        return
    if evidence.kind == "unknown":
        return
    half = full_width(span.text)
    if half is not None:
        yield _at(page, span, 0, "claim", expected=half, message=f"声明里用了全角标点；请写成 {half}")
        return
    try:
        claim = parse(span.text)
    except ClaimError as error:
        # "claim" where the text was another one when it ran
        meant = page.front.claims and evidence.kind in ("none", "claim")
        if meant or (isinstance(error, Vacuous) and evidence.kind != "term"):
            yield _at(page, span, error.offset, "claim", expected=error.suggestion, message=error.message)
        return
    if evidence.kind == "none":
        if strict:
            message = evidence.problem or "行内代码既不是声明，也不是名字、源码、页面或术语"
            yield _at(page, span, 0, "name", expected=evidence.suggestion, message=message)
        return
    if strict and evidence.kind == "term":
        number = _NUMBER.search(span.text)
        if number is not None:
            message = f"术语 {span.text} 里有没有人核对的数：写成声明，如 名字 = 数，或另说"
            yield _at(page, span, number.start(1), "naked", message=message)
        return
    if evidence.kind == "claim" and claim is not None:
        yield from _claim(page, span, claim, evidence, reading)


def _claim(page: Page, span: Span, claim: Claim, evidence: Evidence, reading: Reading) -> Iterator[Failure]:
    if evidence.problem:
        yield _at(page, span, 0, "claim", message=evidence.problem)
        return
    values = [value for _, value in evidence.values]
    wrong = judge(claim, values, evidence.outcomes)
    if wrong is not None:
        yield _mismatch(page, span, wrong, "claim")
        return
    if claim.form == "shape":
        toy = reading.toys.get(evidence.toy)
        for axis in judge_axes(claim, axis_cases(toy, evidence)):
            yield _mismatch(page, span, axis, "axis")


def axis_cases(toy: ToyRecord | None, evidence: Evidence) -> list[AxisCase]:
    if toy is None:
        return []
    shapes = [*evidence.shapes, *[None] * (len(toy.sizes) - len(evidence.shapes))]
    return [AxisCase(index, sizes, toy.formulas, shapes[index]) for index, sizes in enumerate(toy.sizes)]


def _mismatch(page: Page, span: Span, wrong: Mismatch, kind: str) -> Failure:
    return _at(page, span, wrong.offset, kind, expected=wrong.expected, actual=wrong.actual, message=wrong.message)


def _coverage(page: Page, reading: Reading, settings: Settings) -> Iterator[Failure]:
    for number, subject in enumerate(reading.subjects):
        executed = [statement for statement in subject.statements if statement.executed]
        gap = [f"{subject.file}:{statement.line}" for statement in executed if not statement.explained]
        share = 100 * (1 - len(gap) / len(executed)) if executed else 100
        if share < settings.coverage:
            line, column = page.front.places.get(f"reads.{number}", (1, 1))
            message = f"{subject.function} 有 {len(gap)} 条执行过的语句没有讲到：{'、'.join(gap)}"
            expected, actual = f"{settings.coverage:g} %", f"{int(share)} %"
            yield Failure(page.path, line, column, "coverage", subject.spec, expected, actual, message)
