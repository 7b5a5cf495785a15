"""Results -> JSON and terminal, both from the same records."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from tsformers.reading.coverage import Coverage, per_model, percent
from tsformers.reading.failure import Failure
from tsformers.reading.page import Fence, Span
from tsformers.reading.places import Source
from tsformers.reading.run import Result

FORMAT = 1
PARTS = ("claims", "quotes", "execs", "examples", "comments")  # what is counted, in the order in which it is said
Report = Mapping[str, Any]  # what ``as_json`` gives
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")  # as a blank each, so that columns hold


def counts(result: Result) -> dict[str, int]:
    """Steps of a page by kind; a claim is a span that was judged as one."""
    fences = Counter(step.kind for step in result.page.steps if isinstance(step, Fence))
    claims = sum(
        isinstance(step, Span) and index in result.reading.evidence and result.reading.evidence[index].kind == "claim"
        for index, step in enumerate(result.page.steps)
    )
    return {
        "quotes": fences["quote"],
        "execs": fences["exec"],
        "examples": result.reading.examples,
        "claims": claims,
        "comments": result.reading.comments,
    }


def coverage(result: Result) -> dict[str, Any]:
    executed = [(s.file, st) for s in result.reading.subjects for st in s.statements if st.executed]
    return {
        "executed": len(executed),
        "explained": sum(statement.explained for _, statement in executed),
        "gap": [f"{file}:{statement.line}" for file, statement in executed if not statement.explained],
    }


def as_json(results: Sequence[Result]) -> dict[str, Any]:
    """The report as plain data; see ``check --json``."""
    versions = {name: value for result in results for name, value in result.reading.versions.items()}
    models = per_model(result.reading for result in results)
    left_out = {result.page.path: result.page.front.why for result in results if not result.page.front.checked}
    return report_of([_page(result) for result in results], left_out, models, {**versions, "tsformers": _version()})


def _page(result: Result) -> dict[str, Any]:
    return {
        "path": result.page.path,
        "seconds": round(result.reading.seconds, 3),
        "reused": result.reused,
        "counts": counts(result),
        "coverage": coverage(result),
        "failures": [asdict(failure) for failure in result.failures],
    }


def report_of(
    pages: list[dict[str, Any]], left_out: dict[str, str], models: Mapping[str, Coverage], versions: dict[str, str]
) -> dict[str, Any]:
    """The report of pages that are plain data already, with the totals counted; ``left_out``: why, by the path."""
    totals = Counter({"pages": len(pages), "failures": sum(len(page["failures"]) for page in pages)})
    totals.update(dict.fromkeys(PARTS, 0))
    for page in pages:
        totals.update(page["counts"])
    totals["unchecked"] = len(left_out)
    found = {spec: models[spec].as_json() for spec in models}
    counted = {**totals, "left_out": left_out, "models": found}
    return {"version": FORMAT, "pages": pages, "totals": counted, "versions": versions}


def _version() -> str:
    try:
        return version("tsformers")
    except PackageNotFoundError:
        return "unknown"


def width(text: str) -> int:
    """Columns on a terminal: wide characters take two, combining and invisible ones none."""
    return sum(
        0
        if unicodedata.combining(char) or unicodedata.category(char) in ("Cf", "Me", "Mn")
        else 2
        if unicodedata.east_asian_width(char) in "WF"
        else 1
        for char in text
    )


def shortened(text: str, columns: int) -> str:
    """The text, or its beginning with ``…``, in at most so many columns."""
    return text if width(text) <= columns else excerpt(text, 0, 0, columns)[0]


def excerpt(row: str, start: int, end: int, columns: int) -> tuple[str, int]:
    """As much of a row around ``row[start:end]`` as fits, cuts marked by ``…``; and the column where ``start`` is."""
    if width(row) <= columns:
        return row, width(row[:start])
    left = right = min(start, len(row))
    room = columns - 2  # for the marks
    while right < min(end, len(row)) and width(row[left : right + 1]) <= room:
        right += 1
    while True:
        wider = [(left - 1, right)] * (left > 0) + [(left, right + 1)] * (right < len(row))
        wider.sort(key=lambda pair: (start - pair[0] > pair[1] - end, pair))  # so that both sides grow alike
        fitting = [pair for pair in wider if width(row[pair[0] : pair[1]]) <= room]
        if not fitting:
            break
        left, right = fitting[0]
    mark = "…" if left > 0 else ""
    return mark + row[left:right] + ("…" if right < len(row) else ""), width(mark + row[left:start])


COLUMNS = 100  # of the author's row, where nothing tells how wide a line may be
HINTS = {
    "claim": "trace {path}:{line} 列出这里的名字、形状和值；fix {path} 把算出的值写进页面（形状加 --shapes）",
    "axis": "轴名要在玩具的每个配置上都成立；trace {path}:{line} 列出这里各张量的轴",
    "name": "trace {path}:{line} 列出这里的名字；术语写进 terms",
    "naked": "把数写成声明（`x.shape[0] = 3`），小的数用汉字，例外连同理由写进 front matter 的 numbers",
    "example": "fix {path} 把得到的输出写进页面",
    "quote": "引文按语法树与源码比较，空白和换行不算；略去的语句写单独一行 ...",
    "coverage": "引用这些语句并讲解；多于六条语句的引文不算讲解",
}  # by kind; said once a run
BOLD, FAINT, ALARM, CALM = "\x1b[1m", "\x1b[2m", "\x1b[1;31m", "\x1b[32m"


def painted(text: str, style: str, colour: bool) -> str:
    return f"{style}{text}\x1b[0m" if colour and text else text


_MOVES = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def failure_text(
    failure: Failure, row: str, *, columns: int = COLUMNS, colour: bool = False, hint: bool = False
) -> str:
    """A failure as the terminal shows it: place, sentence, the author's row, carets under the place."""
    place = painted(f"{failure.path}:{failure.line}:{failure.column}", BOLD, colour)
    lines = [f"{place}: {painted(failure.kind, ALARM, colour)}: {_harmless(failure.message)}"]
    if row.strip():
        row, start = CONTROL.sub(" ", row), failure.column - 1
        written = (failure.claim,) if failure.kind == "name" else (failure.expected, failure.claim)
        length = next((len(text) for text in written if text and row.startswith(text, start)), 1)
        shown, at = excerpt(row, start, start + length, max(20, columns - 4))
        marked = min(width(row[start : start + length]), width(shown) - at)
        lines += [f"    {shown}", f"    {' ' * at}{painted('^' * max(1, marked), ALARM, colour)}"]
    for name, value in (("expected", failure.expected), ("actual", failure.actual)):
        if value:
            lines.append(f"    {name:>8}: {_harmless(value)}")
    if hint and failure.kind in HINTS:
        said = HINTS[failure.kind].format(path=failure.path, line=failure.line)
        lines.append(painted(f"    {'hint':>8}: {said}", FAINT, colour))
    return "\n".join(lines)


def _harmless(text: str) -> str:
    """Text from a page's run as a terminal may show it: what would move its cursor is spelt out."""
    return _MOVES.sub(lambda match: repr(match[0])[1:-1], text)


def row_of(result: Result, failure: Failure) -> str:
    """The author's row that a failure stands in."""
    lines = Source(result.page.path, result.page.text).lines
    return lines[failure.line - 1].text if failure.line <= len(lines) else ""


def failures_text(results: Sequence[Result], *, columns: int = COLUMNS, colour: bool = False) -> Iterator[str]:
    """Every failure, in the order of the pages and of their places; a hint with the first of each kind."""
    said: set[str] = set()
    for result in results:
        for failure in result.failures:
            row, hint = row_of(result, failure), failure.kind not in said
            said.add(failure.kind)
            yield failure_text(failure, row, columns=columns, colour=colour, hint=hint)


LONGEST = 40  # pages of a table; of more, those that are green and explained whole are only counted


def failures_of(report: Report) -> list[Failure]:
    """Every failure, in the order of the pages and of their places."""
    return [Failure(**failure) for page in report["pages"] for failure in page["failures"]]


def shown(report: Report) -> list[dict[str, Any]]:
    """The pages that a table has a row for."""
    pages: list[dict[str, Any]] = report["pages"]
    if len(pages) <= LONGEST:
        return pages
    return [page for page in pages if page["failures"] or page["coverage"]["gap"]]


def share(report: Report, page: Mapping[str, Any]) -> str:
    """How much of what a page reads it explains."""
    if page["path"] in report["totals"]["left_out"]:
        return "unchecked"
    return f"{percent(page['coverage'])} %" if page["coverage"]["executed"] else "-"


def table(report: Report, *, colour: bool = False) -> Iterator[str]:
    """A row a page: claims, how much of its own ``reads:`` it explains, failures, seconds."""
    rows = [("page", "claims", "own reads explained", "failures", "seconds")]
    styles = [BOLD]
    for page in shown(report):
        failed, claims = str(len(page["failures"])), str(page["counts"]["claims"])
        rows.append((page["path"], claims, share(report, page), failed, f"{page['seconds']:.1f}"))
        styles.append(ALARM if page["failures"] else CALM)
    widths = [max(width(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row, style in zip(rows, styles, strict=True):
        first = row[0] + " " * (widths[0] - width(row[0]))
        rest = [cell.rjust(size) for cell, size in zip(row[1:], widths[1:], strict=True)]
        yield painted("  ".join([first, *rest]), style, colour)
    left_out = len(report["pages"]) - len(rows) + 1
    if left_out:
        yield f"and {left_out} more, green and explained whole"


def summary(report: Report) -> str:
    """One line of totals."""
    total = report["totals"]
    said = ", ".join(f"{total[name]} {name if total[name] != 1 else name[:-1]}" for name in PARTS)
    pages = f"{total['pages']} page{'s' if total['pages'] != 1 else ''}"
    failures = f"{total['failures']} failure{'s' if total['failures'] != 1 else ''}"
    return f"{pages}, {said}: {failures}"
