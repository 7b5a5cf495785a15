"""``trace``: every name, shape and value that a page may speak of at one of its lines."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tsformers.reading.commands import GREEN, RED, USAGE, Commands, positive, seconds

if TYPE_CHECKING:
    from tsformers.reading.page import Page
    from tsformers.reading.record import Moment, Value

STATUS = "Exit status: 0 shown, 1 the page does not get there, 2 usage, 3 the checker itself failed."
ABOUT = """Show what a page may claim at a line, after the last quote that begins at or before it: the names of the
state with their shapes, dtypes and values, the sub-expressions of the piece quoted last, and what was returned."""
WIDEST = 48  # columns of a name or expression, of a value

Row = tuple[str, str, str, str]


class _Wrong(ValueError):
    """A place, toy or pass that the page has not."""


def add(commands: Commands) -> None:
    """Declare the command."""
    about = "show every name, shape and value at a line of a page"
    trace = commands.add_parser("trace", help=about, description=ABOUT, epilog=STATUS)
    trace.set_defaults(run=run)
    trace.add_argument("place", metavar="PAGE:LINE", help="a page and a line of it")
    trace.add_argument("--toy", metavar="NAME", help="in the run of this toy of the front matter's toys")
    trace.add_argument("--pass", metavar="K", type=positive, dest="chosen", help="in this pass of the loop, from 1")
    trace.add_argument("--time-limit", metavar="S", type=seconds, help="seconds that the page may run")


def run(options: argparse.Namespace) -> int:
    """Run the page up to the line and print what is known there."""
    from tsformers.reading.page import read_page
    from tsformers.reading.report import failure_text, row_of
    from tsformers.reading.run import check_pages, no_such
    from tsformers.reading.settings import SettingsError

    sys.path.insert(0, str(Path.cwd()))
    name, _, line = options.place.rpartition(":")
    if not name or not line.isdecimal() or int(line) < 1:
        print(f"{options.place!r} is not PAGE:LINE, such as docs/page.md:12", file=sys.stderr)
        return USAGE
    path = Path(name)
    if not path.is_file():
        print(no_such(path) if not path.exists() else f"{name}: not a page, but a folder", file=sys.stderr)
        return USAGE
    whole = read_page(path, given=name)
    try:
        page = _up_to(whole, int(line), options.toy, options.chosen)
        result = check_pages([page], [path], jobs=1, time_limit=options.time_limit)[0]
    except (_Wrong, SettingsError) as error:
        print(error, file=sys.stderr)
        return USAGE
    for failure in result.failures:
        if failure.kind not in ("coverage", "link", "naked"):  # of the whole page, of which this is a part
            print(failure_text(failure, row_of(result, failure)), file=sys.stderr)
    if result.reading.moment is None:
        print(f"{options.place}: the page does not get there", file=sys.stderr)
        return RED
    print("\n".join(_lines(result.reading.moment, options.place)))
    return GREEN


def _up_to(page: Page, line: int, toy: str | None, chosen: int | None) -> Page:
    """The page's blocks that begin at or before a line, the last quote in the toy and pass asked for."""
    from tsformers.reading.page import Fence

    if line > (size := page.text.count("\n") + 1):
        raise _Wrong(f"{page.path}: has no line {line}, the last is {size}")
    if toy is not None and toy not in page.front.toys:
        known = ", ".join(page.front.toys) or "none"
        raise _Wrong(f"{page.path}: --toy {toy} is not among the toys: of its front matter; there: {known}")
    steps = [step for step in page.steps if isinstance(step, Fence) and step.line <= line]
    last = next((index for index in reversed(range(len(steps))) if steps[index].kind == "quote"), None)
    front = page.front
    if last is not None:
        asked = {"toy": toy, "pass": str(chosen) if chosen is not None else None}
        said = {name: value for name, value in asked.items() if value is not None}
        steps[last] = replace(steps[last], options={**steps[last].options, **said})
    elif chosen is not None:
        raise _Wrong(
            f"{page.path}:{line}: no quote stands before it, so there is no pass {chosen}; choose a later line"
        )
    elif toy is not None:
        front = replace(front, toy=front.toys[toy])
    return replace(page, front=front, steps=tuple(steps), problems=(), prose=(), links=(), look=True)


def _lines(moment: Moment, place: str) -> Iterator[str]:
    yield f"{place}: {_where(moment)}"
    if moment.toy:
        yield f"toy: {moment.toy}"
    groups = [
        ("names", [(v.name, *_columns(v.after, v.axes)) for v in moment.names]),
        ("names of the page's blocks", [(v.name, *_columns(v.after, v.axes)) for v in moment.own]),
        ("computed by the piece", [(c.text, *_columns(c.value, c.axes)) for c in moment.computed]),
        ("returned", [(v.name, *_columns(v.after, v.axes)) for v in moment.returned]),
    ]
    for title, rows in groups:
        if rows:
            yield f"\n{title}"
            yield from _table(rows)


def _where(moment: Moment) -> str:
    if not moment.function:
        return "the page reads no function"
    if moment.line == 0:
        return f"at the entry of {moment.function}"
    passes = f", pass {moment.chosen_pass} of {moment.passes}" if moment.passes > 1 else ""
    return f"after {moment.file}:{moment.line}{passes}: {moment.source.splitlines()[0].strip()}"


def _columns(value: Value, axes: Sequence[str] | None) -> tuple[str, str, str]:
    """Shape with the names of its axes, dtype or type, and a preview."""
    from tsformers.reading.record import OpaqueValue, TensorValue
    from tsformers.reading.values import describe, shape_text

    if isinstance(value, TensorValue):
        shape = shape_text(value.shape)
        named = axes is not None and any(not name.isdigit() for name in axes)
        return f"{shape} = ({', '.join(axes or ())})" if named else shape, value.dtype, _preview(value)
    if isinstance(value, OpaqueValue):
        return "", value.type, "" if "\n" in value.text else value.text
    return "", type(value).__name__, describe(value)


def _preview(value: Value) -> str:
    """The first elements of a tensor, in its brackets: ``[[0.1, 0.2, …], …]``."""
    from tsformers.reading.record import TensorValue
    from tsformers.reading.values import brief

    assert isinstance(value, TensorValue)
    if value.data is None:
        return "(too large to be recorded)"
    if not value.shape:
        return brief(value.data[0], value.dtype)
    if not value.data:
        return "[]"
    shown = [brief(item, value.dtype) for item in value.data[: value.shape[-1]][:4]]
    text = "[" + ", ".join(shown + ["…"] * (value.shape[-1] > 4)) + "]"
    for size in reversed(value.shape[:-1]):
        text = f"[{text}, …]" if size > 1 else f"[{text}]"
    return text


def _table(rows: Sequence[Row]) -> Iterator[str]:
    from tsformers.reading.report import shortened, width

    cut = [(shortened(name, WIDEST), shape, dtype, shortened(value, WIDEST)) for name, shape, dtype, value in rows]
    widths = [max(width(row[column]) for row in cut) for column in range(3)]
    for row in cut:
        cells = [cell + " " * (size - width(cell)) for cell, size in zip(row, widths, strict=False)]
        yield "  " + "  ".join([*cells, row[3]]).rstrip()
