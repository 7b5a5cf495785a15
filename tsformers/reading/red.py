"""Where the failures of a red page are marked in its author's preview: at the claim, under the block, before the number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

from tsformers.reading.failure import Failure
from tsformers.reading.fences import stand_in
from tsformers.reading.page import Page, Prose, Span
from tsformers.reading.places import Source

WRITTEN = frozenset({"paragraph", "item", "heading", "table", "title"})  # prose in which inline HTML can stand


@dataclass
class Marks:
    """``edits``: (start, end, new text) of the page; ``claims``: what is wrong with a code span, by its key; ``blocks``:
    HTML by key; ``spans``: the steps that are marked; ``keys``: the mark of each failure that has one."""

    edits: list[tuple[int, int, str]] = field(default_factory=list)
    claims: dict[str, str] = field(default_factory=dict)
    blocks: dict[str, str] = field(default_factory=dict)
    spans: set[int] = field(default_factory=set)
    keys: dict[Failure, str] = field(default_factory=dict)


def marks(page: Page, failures: Sequence[Failure], prefix: str, *, attribute: str) -> Marks:
    """A mark for every failure that has a place which can carry one.

    ``attribute`` keys a code span.
    """
    found = Marks()
    starts = [line.start for line in Source(page.path, page.text).lines]
    by_step: dict[int, list[Failure]] = {}
    for failure in failures:
        offset = starts[failure.line - 1] + failure.column - 1
        step = next((i for i, s in enumerate(page.steps) if s.start <= offset < s.end), None)
        if step is not None:
            by_step.setdefault(step, []).append(failure)
        elif any(prose.kind in WRITTEN and _holds(prose, offset) for prose in page.prose):
            key = found.keys[failure] = f"{prefix}-red{len(found.keys)}"
            said = escape(said_of(failure)).replace("`", "&#96;")  # which Markdown would read first
            mark = (
                f'<code class="claim tsf-red" id="{key}" tabindex="0" data-proof="{said}" aria-label="{said}">✗</code>'
            )
            # Behind a link: within its address the mark would be a part of that.
            at = next((link.end for link in page.links if link.start <= offset < link.end), offset)
            found.edits.append((at, at, mark))
    for index, wrong in by_step.items():
        step_there = page.steps[index]
        key = f"{prefix}-red{len(found.keys)}"
        if isinstance(step_there, Span):
            found.spans.add(index)
            found.claims[key] = "\n".join(map(said_of, wrong))
            closing = page.text.index("`", step_there.end) + 1
            found.edits.append((closing, closing, f'{{ {attribute}="{key}" }}'))
        elif step_there.column == 1:  # in a container the lines below would need its prefix
            found.blocks[key] = _box(key, wrong)
            end = step_there.end
            found.edits.append((end, end, stand_in(key)))
        else:
            continue
        found.keys.update(dict.fromkeys(wrong, key))
    return found


def _holds(prose: Prose, offset: int) -> bool:
    return any(
        start <= offset < start + (following - index)
        for (index, start), following in zip(
            prose.breaks, [*(b[0] for b in prose.breaks[1:]), len(prose.text)], strict=True
        )
    )


def said_of(failure: Failure) -> str:
    return f"{failure.line}:{failure.column} {failure.kind}：{failure.message}"


def _box(key: str, failures: Sequence[Failure]) -> str:
    items = "".join(f"<li>{escape(said_of(failure))}</li>" for failure in failures)
    return f'<div class="admonition failure" id="{key}"><p class="admonition-title">这一段没有通过</p><ul>{items}</ul></div>'


def failures_html(failures: Sequence[Failure], keys: dict[Failure, str]) -> str:
    """All that is wrong with a page, each with a link to its mark."""
    items = ""
    for failure in failures:
        place = f"<code>{failure.line}:{failure.column}</code>"
        if failure in keys:
            place = f'<a href="#{keys[failure]}">{place}</a>'
        items += f"<li>{place} {escape(failure.kind)}：{escape(failure.message)}</li>"
    title = f"这一页有 {len(failures)} 处错误；改好之前，网站构建不了"
    return f'<div class="admonition failure"><p class="admonition-title">{title}</p><ul>{items}</ul></div>'
