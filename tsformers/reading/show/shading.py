"""Tables of numbers that a block printed, shown on the site with a shade: darker is larger, whatever the sign.

In a terminal, a notebook or the page's source they are plain Markdown tables; the shade repeats what the numbers say.
"""

from __future__ import annotations

import math
import re
from html import escape

from tsformers.reading.show.values import CHANGE

_TABLE = re.compile(r"^\|(?P<head>.*)\|\n\|[ :|-]+\|\n(?P<body>(?:\|.*\|(?:\n|\Z))+)", re.MULTILINE)
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d+)?(?:e[+-]\d+)?|inf|nan)")


def shaded(text: str) -> str:
    """``text`` with each of its Markdown tables of numbers, such as ``matrix`` prints, as an HTML table with shades."""
    return _TABLE.sub(lambda match: _table(match["head"], match["body"]) or match[0], text)


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("|")]


def _table(head: str, body: str) -> str:
    """The HTML of a table whose cells are all numbers, but for the names of its rows; "" for any other."""
    labels, rows = _cells(head), [_cells(line[1:-1]) for line in body.strip().split("\n")]
    if any(len(row) != len(labels) for row in rows):
        return ""
    numbers = [[_number(cell) for cell in row[1:]] for row in rows]
    known = [abs(number) for row in numbers for number in row if number is not None and math.isfinite(number)]
    cells = [cell for row in rows for cell in row[1:]]
    if not known or any(_number(cell) is None and cell != "…" for cell in cells):
        return ""
    loud = max(known) or 1.0
    corner, *columns = labels
    headings = "".join(f'<th scope="col">{escape(label)}</th>' for label in columns)
    lines = []
    for row, shades in zip(rows, numbers, strict=True):
        shown = "".join(_cell(cell, number, loud) for cell, number in zip(row[1:], shades, strict=True))
        lines.append(f'<tr><th scope="row">{escape(row[0])}</th>{shown}</tr>')
    return (
        f'<div class="tsf-wide" tabindex="0"><table class="tsf-matrix" data-search-exclude=""><thead><tr>'
        f'<th scope="col">{escape(corner)}</th>{headings}</tr></thead><tbody>{"".join(lines)}</tbody></table></div>\n'
    )


def _number(cell: str) -> float | None:
    """The number in a cell, after a change the new one; None if there is none."""
    last = cell.rpartition(CHANGE)[2].strip()
    return float(last) if _NUMBER.fullmatch(last) else None


def _cell(cell: str, number: float | None, loud: float) -> str:
    size = min(1.0, abs(number) / loud) if number is not None and math.isfinite(number) else 0.0
    if CHANGE not in cell:
        return f'<td style="--h:{size:.2f}">{escape(cell)}</td>'
    before, _, after = cell.partition(CHANGE)
    return f'<td style="--h:{size:.2f}" class="tsf-changed"><s>{escape(before.strip())}</s> {CHANGE} <strong>{escape(after.strip())}</strong></td>'
