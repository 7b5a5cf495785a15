"""What an inline code span is: a claim, a name, source text, a page, a term; and what stands behind it."""

from __future__ import annotations

import ast
import difflib
import io
import re
import tokenize
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

import torch

from tsformers.reading.claims import Claim, ClaimError, FormulaError, evaluate_axis, judge, parse
from tsformers.reading.evaluate import RETURN, EvaluationError, Scope, Unresolved, evaluate
from tsformers.reading.form import free_names
from tsformers.reading.record import Evidence, TensorValue, Value
from tsformers.reading.snapshot import Snapshot, freeze

DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*|\[[^\[\]]*\])*")


@dataclass(frozen=True)
class Vocabulary:
    """What a span may be beside a claim or a name of the state."""

    sources: tuple[tuple[str, ...], ...]  # tokens of each subject's class or function
    pages: frozenset[str]
    terms: frozenset[str]
    root: Path


@dataclass(frozen=True)
class Standing:
    """Where the page stands for a span: ``scopes`` of the passes in case 0 (one unless they may differ), then the cases."""

    passes: Sequence[Scope]
    cases: Sequence[Scope | None]  # of the further configurations
    toy: str
    subject: int | None
    line: int
    sizes: dict[str, int]
    broken: frozenset[str] = frozenset()  # names that failed blocks did not bind


def classify(text: str, standing: Standing, vocabulary: Vocabulary, strict: bool) -> Evidence:
    """The evidence for one span; of kind "none" when it is nothing that a page may show as code."""
    scope = standing.passes[0]
    problem = suggestion = ""
    try:
        claim = parse(text)
    except ClaimError as error:
        claim, problem, suggestion = None, error.message, error.suggestion
    if claim is not None:
        unresolved = _unresolved(claim, scope)
        if unresolved is None:
            found = _claim(claim, standing)
            if found is not None:
                return found
        elif unresolved.name in standing.broken:
            return Evidence("unknown")
        else:
            problem, suggestion = str(unresolved), unresolved.suggestion
    if DOTTED.fullmatch(text) and scope.resolves(text):
        return Evidence("name")
    if _is_axis(text, standing.sizes):
        return Evidence("name")
    if _is_source(text, vocabulary.sources):
        return Evidence("source")
    if text in vocabulary.pages or _is_path(text, vocabulary.root):
        return Evidence("page")
    if text in vocabulary.terms:
        return Evidence("term")
    if not problem and DOTTED.fullmatch(text):
        try:
            problem, suggestion = _missing(text, scope)
        except Unresolved as error:
            if error.name in standing.broken:
                return Evidence("unknown")
            problem, suggestion = str(error), error.suggestion
    return Evidence("none", problem=problem if strict else "", suggestion=suggestion)


def _missing(text: str, scope: Scope) -> tuple[str, str]:
    """Which attribute of a dotted name is not there, and the one that was meant perhaps.

    Raises:
        Unresolved: its first name is not there.
    """
    first, *attributes = text.split("[")[0].split(".")
    found = scope.look_up(RETURN if first == "return" else first)
    for index, attribute in enumerate(attributes):
        owner = ".".join([first, *attributes[:index]])
        if not hasattr(found, attribute):
            near = difflib.get_close_matches(attribute, dir(found), n=1)
            hint = f"，是不是 {owner}.{near[0]}" if near else ""
            return f"{owner} 没有 {attribute}{hint}", f"{owner}.{near[0]}" if near else ""
        found = getattr(found, attribute)
    return f"{text} 在这里不存在", ""


def _names(claim: Claim) -> list[str]:
    return sorted(set().union(*(free_names(ast.parse(item.code, mode="eval").body) for item in claim.expressions)))


def _unresolved(claim: Claim, scope: Scope) -> Unresolved | None:
    for name in _names(claim):
        try:
            scope.look_up(name)
        except Unresolved as error:
            return error
    return None


def _claim(claim: Claim, standing: Standing) -> Evidence | None:
    """Evidence for a claim whose names resolve; None if it only looked like one (a bracket without a blank)."""
    base = Evidence("claim", toy=standing.toy, subject=standing.subject, line=standing.line)
    if not any(standing.passes[0].knows(name) for name in _names(claim)):
        return replace(base, problem="这里只有常数和 Python 自带的函数，没有说到当前状态里的任何量")
    try:
        results = [_row(claim, scope) for scope in standing.passes]
    except EvaluationError as error:
        return None if claim.form == "shape" and claim.tight else replace(base, problem=str(error))
    values = [[freeze(result) for result in row] for row in results]
    sure = not claim.tight and any(slot.is_integer for slot in claim.slots)
    if claim.form == "shape" and not sure and not isinstance(values[0][0], TensorValue):
        return None  # ``len(x)``, or ``return (scores, total)``: source text by its looks
    outcomes = [_identities(claim, row, scope) for row, scope in zip(results, standing.passes, strict=True)]
    for row, outcome in zip(values[1:], outcomes[1:], strict=True):
        if not _same_row(claim, (row, outcome), (values[0], outcomes[0])):
            return replace(
                base, problem=f'循环的各遍（共 {len(values)} 遍）在这里结果不同；请在围栏上写 pass="…" 说明是哪一遍'
            )
    texts = [expression.text for expression in claim.expressions]
    base = replace(base, values=tuple(zip(texts, values[0], strict=True)))
    if claim.form == "compare":
        return replace(base, outcomes=outcomes[0])
    if claim.form == "shape":
        shapes = [_shape(results[0][0])]
        for scope in standing.cases:
            shapes.append(_shape_in(claim.expressions[0].code, scope))
        return replace(base, shapes=tuple(shapes), shadowed=_shadowed(claim, standing))
    return base


def _row(claim: Claim, scope: Scope) -> list[Any]:
    """What the claim's expressions are at one moment, all on the same copies of it."""
    copies: dict[int, Any] = {}
    return [evaluate(expression.code, scope, copies) for expression in claim.expressions]


Row = tuple[Sequence[Value], tuple[bool | None, ...]]


def _same_row(claim: Claim, left: Row, right: Row) -> bool:
    """Whether two passes say the same of a claim: its shape, the truth of a comparison, else the values."""
    if claim.form == "shape":
        return [getattr(v, "shape", v) for v in left[0]] == [getattr(v, "shape", v) for v in right[0]]
    if claim.form == "compare":
        return (judge(claim, *left) is None) == (judge(claim, *right) is None)
    return repr(left) == repr(right)  # repr, so that nan equals nan


def _identities(claim: Claim, results: Sequence[Any], scope: Scope) -> tuple[bool | None, ...]:
    found: list[bool | None] = []
    for index, operator in enumerate(op.symbol for op in claim.operators):
        if operator not in ("is", "is not"):
            found.append(None)
            continue
        left, right = results[index], results[index + 1]
        same = scope.frame.same(left, right) if isinstance(scope.frame, Snapshot) else left is right
        found.append(same if operator == "is" else not same)
    return tuple(found)


def _shape(value: Any) -> tuple[int, ...] | None:
    return tuple(value.shape) if isinstance(value, torch.Tensor) else None


def _shape_in(code: str, scope: Scope | None) -> tuple[int, ...] | None:
    if scope is None:
        return None
    try:
        return _shape(evaluate(code, scope))
    except EvaluationError:
        return None  # this configuration does not get there, which the verdict says


def _shadowed(claim: Claim, standing: Standing) -> tuple[tuple[str, int, int], ...]:
    frame = standing.passes[0].frame
    names = {
        name
        for slot in [*claim.slots, *(claim.axes or ())]
        for name in re.findall(r"[A-Za-z_]\w*", slot.text)
        if name in standing.sizes and isinstance(frame.get(name), int)
    }
    return tuple(
        (name, standing.sizes[name], frame[name]) for name in sorted(names) if frame[name] != standing.sizes[name]
    )


@cache  # of whole classes, too
def tokens(text: str) -> tuple[str, ...]:
    """The tokens of Python text that mean something; of text that does not tokenise, what comes before it breaks."""
    found = []
    skipped = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type not in skipped:
                found.append(token.string)
    except (tokenize.TokenError, IndentationError, SyntaxError):
        pass  # an open bracket at the end: the tokens of what is there are given
    return tuple(found)


def _is_source(text: str, sources: Iterable[tuple[str, ...]]) -> bool:
    wanted = tokens(text)
    if not any(token.isidentifier() for token in wanted) or _dense(wanted) != _dense(text):
        return False
    return any(
        wanted == source[start : start + len(wanted)]
        for source in sources
        for start in range(len(source) - len(wanted) + 1)
    )


def _dense(text: Iterable[str]) -> str:
    return "".join("".join(text).split())


def _is_axis(text: str, sizes: dict[str, int]) -> bool:
    try:
        evaluate_axis(text, sizes, {})
    except FormulaError:
        return False
    return not text.strip().isdigit()


def _is_path(text: str, root: Path) -> bool:
    parts = PurePosixPath(text).parts
    if not text or not parts or parts[0] in ("/", "..") or not re.fullmatch(r"[\w./\-]+", text):
        return False
    return ("/" in text or "." in text) and (root / text).exists()
