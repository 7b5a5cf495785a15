"""Which models run a function that a page reads: found in the recorded runs of all pages' toys."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from tsformers.reading.page import Page
from tsformers.reading.record import Call, Reading


class Checked(Protocol):
    """A page and its record."""

    @property
    def page(self) -> Page: ...
    @property
    def reading(self) -> Reading: ...


@dataclass(frozen=True, slots=True)
class Use:
    """``model``: class of the toy's model; ``paths``: where the function's modules stand in it, in order of their first
    call; ``address`` and ``title`` of the page that reads the nearest function around, "" where none does."""

    model: str
    paths: tuple[str, ...]
    address: str
    title: str


def page_title(page: Page) -> str:
    """What a page calls itself: its front matter's title, else its first heading, else its path."""
    first = next((heading for heading in page.headings if heading.level == 1), None)
    if page.front.title:
        return page.front.title
    return f"{first.number} {first.title}".strip().replace("`", "") if first else page.path


def _calls(call: Call) -> Iterator[Call]:
    yield call
    for child in call.children:
        yield from _calls(child)


def uses(results: Iterable[tuple[str, Checked]]) -> dict[str, tuple[Use, ...]]:
    """Function -> its use in each model, for every function that a page reads; ``results`` with the pages' names."""
    listed = list(results)
    wanted = {subject.function for _, result in listed for subject in result.reading.subjects}
    paths: dict[tuple[str, str], dict[str, None]] = {}
    near: dict[tuple[str, str], tuple[int, str, str]] = {}
    for name, result in listed:
        tree = result.reading.tree
        if tree is None:
            continue
        for call in _calls(tree):
            if call.function in wanted:
                paths.setdefault((call.function, tree.owner), {})[call.path] = None
        for subject in result.reading.subjects:
            inside = list(_calls(subject.call)) if subject.call is not None else []
            for call in inside:
                if call.function in wanted:
                    found = (len(inside), name, page_title(result.page))
                    key = (call.function, tree.owner)
                    near[key] = min(near.get(key, found), found)
    grouped: dict[str, list[Use]] = {}
    for (function, model), where in paths.items():
        _, address, title = near.get((function, model), (0, "", ""))
        grouped.setdefault(function, []).append(Use(model, tuple(where), address, title))
    return {function: tuple(found) for function, found in grouped.items()}
