"""A recorded call step by step: a table that stands alone, with the matrices that the page's script shows beside it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from html import escape

from tsformers.reading.record import Seen, Step, Subject, TensorValue
from tsformers.reading.show.cards import qualified
from tsformers.reading.show.values import WORDS, brief, shape_text, table, value_html

LONGEST = 60  # characters of a value that is no tensor


class _Matrices:
    """The slices of the steps, each distinct one once."""

    def __init__(self) -> None:
        self.found: dict[str, int] = {}

    def number(self, seen: Seen | None) -> int | None:
        if seen is None or not seen.cells or not isinstance(seen.value, TensorValue):
            return None
        rows = [[_plain(cell) for cell in row] for row in seen.cells]
        text = json.dumps({"shape": seen.value.shape[-2:], "rows": rows}, separators=(",", ":"), allow_nan=False)
        return self.found.setdefault(text, len(self.found))

    def json(self) -> str:
        return f"[{','.join(self.found)}]"


def _plain(cell: float | int | bool) -> float | int | str:
    """A number as JSON can say it; no longer than its four digits need."""
    if isinstance(cell, bool):
        return str(cell)
    if isinstance(cell, float):
        if not math.isfinite(cell):
            return str(cell)
        return int(cell) if cell.is_integer() and abs(cell) < 1e15 else cell
    return cell


def _variable(seen: Seen, matrices: _Matrices, words: Mapping[str, str], before: Seen | None = None) -> str:
    number, was = matrices.number(seen), matrices.number(before)
    data = "" if number is None else f' data-m="{number}"'
    if before is not None and was is not None:
        data += f' data-was="{was}" data-was-axes="{escape(", ".join(before.axes or ()))}"'
    old = ""
    if before is not None and brief(before.value) != brief(seen.value):
        old = f'<span class="tsf-was">{escape(_short(before))}</span> → '
    if isinstance(seen.value, TensorValue):
        shown = value_html(seen.value, seen.axes, words)
    else:
        shown = f'{old or "= "}<span class="tsf-shape">{escape(_short(seen))}</span>'
        old = ""
    return f'<div class="tsf-var"{data}><code>{escape(seen.name)}</code> {old}{shown}</div>'


def _short(seen: Seen) -> str:
    text = shape_text(seen.value.shape) if isinstance(seen.value, TensorValue) else brief(seen.value)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _note(step: Step) -> str:
    """Which pass of which loop, and where a header led."""
    passes = "，".join(f"第 {number} / {of} 轮" for number, of in step.passes)
    looping = step.text.startswith(("for ", "while "))
    outcome = ""
    if step.outcome is False:
        outcome = "一轮也没有" if looping else "条件不成立"
    elif step.outcome and not looping:
        outcome = "条件成立"
    return "，".join(filter(None, (passes, outcome)))


def step_id(subject: int, step: int) -> str:
    """``s=17`` for a step of the page's first subject, ``s=2.17`` for one of the second; both count from 1."""
    return f"s={step}" if subject == 1 else f"s={subject}.{step}"


def stepper(subject: Subject, number: int = 1, *, prefix: str = "L", words: Mapping[str, str] = WORDS) -> str:
    """The steps of a subject, the ``number``-th of its page, as a table in a fold, with their matrices as JSON.

    ``prefix`` is that of the line anchors of ``source``. Empty where the subject has no steps. Search leaves the table
    out: it would find every shape a second time.
    """
    if not subject.steps:
        return ""
    function = escape(qualified(subject.function))
    matrices = _Matrices()
    rows = [_row(step, step_id(number, at), function, matrices, words) for at, step in enumerate(subject.steps, 1)]
    steps = table(("步", "行", "语句", "读", "途中", "写"), rows, search=False)
    return (
        f'<div class="tsf-stepper" data-prefix="{escape(prefix)}" data-title="{function}" data-search-exclude="">'
        f'<script type="application/json">{matrices.json()}</script>'
        f'<details class="tsf-steps"><summary>逐步运行 <code>{function}</code>：'
        f"{len(subject.steps)} 步列成一张表</summary>{steps}</details></div>"
    )


def _row(step: Step, name: str, function: str, matrices: _Matrices, words: Mapping[str, str]) -> str:
    note = _note(step)
    code = f"<code>{escape(step.text)}</code>" if step.text else f"进入 <code>{function}</code>"
    cells: Sequence[str] = (
        "".join(_variable(seen, matrices, words) for seen in step.reads),
        "".join(_variable(seen, matrices, words) for seen in step.computed),
        "".join(_variable(after, matrices, words, before) for before, after in step.writes),
    )
    said = f'<div class="tsf-note">{note}</div>' if note else ""
    return (
        f'<tr id="{name}" data-line="{step.line}" data-end="{step.end_line}">'
        f'<th scope="row"><a href="#{name}">{name.partition("=")[2]}</a></th><td>{step.line}</td>'
        f"<td>{code}{said}</td>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
    )
