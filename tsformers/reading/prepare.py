"""What pages with the same toys have in common, done once: the toys run, with the calls that the pages read recorded."""

from __future__ import annotations

import importlib
import random
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import torch

from tsformers.reading.overview import executed_by, tree_of, vocabulary
from tsformers.reading.page import FrontMatter, Page
from tsformers.reading.settings import Settings
from tsformers.reading.toys import Reads, ToyError, ToyRun, load_toy, parse_reads, run_toy
from tsformers.reading.watch import Watch


def watched_of(front: FrontMatter, reads: Iterable[Reads]) -> list[str]:
    """The modules whose packages are watched while the page runs."""
    return [*(line.source.name for line in reads), *(spec.partition(":")[0] for spec in front.all_toys.values())]


def seed() -> None:
    """Let every draw begin anew."""
    torch.default_generator.manual_seed(0)  # torch.manual_seed notes a stack trace for accelerators that no page has
    random.seed(0)
    if "numpy" in sys.modules:
        importlib.import_module("numpy.random").seed(0)


def import_toys(front: FrontMatter) -> None:
    """Import the modules of a page's toys before those of its reads, which so come in one order whatever is read."""
    for spec in front.all_toys.values():
        with suppress(ToyError):  # said where the toy is to run
            load_toy(spec)


@dataclass
class Prepared:
    """``toys`` have recorded ``reads``, by their specs; a page takes of them what it reads."""

    reads: dict[str, Reads] = field(default_factory=dict)
    toys: dict[str, ToyRun] = field(default_factory=dict)
    watch: Watch | None = None  # of what was there when they had run

    def toy(self, name: str, reads: Sequence[Reads]) -> ToyRun | None:
        """A toy's run as if it had recorded ``reads`` alone; None if it was not prepared for them."""
        numbers = {spec: number for number, spec in enumerate(self.reads)}
        if name not in self.toys or any(line.spec not in numbers for line in reads):
            return None
        return self.toys[name].of([numbers[line.spec] for line in reads])


def prepare(pages: Sequence[Page], settings: Settings) -> Prepared:
    """Run the toys of ``pages``, which all have the same, for all of them.

    Raises:
        ToyError: a toy, or a line of ``reads:``, cannot be used, which each page says itself when it runs alone; or what
            one page reads could be seen on another one.
    """
    import_toys(pages[0].front)
    imported = set(sys.modules)
    specs = dict.fromkeys(spec for page in pages for spec in page.front.reads)
    reads = {spec: parse_reads(spec) for spec in specs}
    if len({page.front.reads for page in pages}) > 1 and not sys.modules.keys() <= imported:
        raise ToyError("what a page reads imports modules that the toys alone do not")
    toys = pages[0].front.all_toys
    prepared = Prepared(reads, {name: run_toy(name, toys[name], [*reads.values()]) for name in toys})
    called = {number for run in prepared.toys.values() for number in range(len(reads)) if run.calls(number)}
    if len(called) < len(reads):
        raise ToyError("no toy makes the call of a line of reads")
    for page in pages:
        own = [reads[spec] for spec in page.front.reads]
        vocabulary(page, own, settings)
        if "" in toys:
            tree_of(prepared.toys[""], own)
            executed_by(prepared.toys[""], own, settings)
    if any(len(run.known) > 2 for run in prepared.toys.values()):  # what the tree and the statements were found in
        raise ToyError("the pages show the toys' calls in several packages, and each took runs of its own")
    prepared.watch = Watch(watched_of(pages[0].front, reads.values()))
    return prepared
