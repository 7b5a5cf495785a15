"""Random configurations, drawn so that no two sizes of a tensor are equal: then a swapped axis cannot hide."""

from __future__ import annotations

from functools import cache
from random import Random
from types import CodeType
from typing import Any

import torch
from hypothesis import settings
from hypothesis import strategies as st
from torch import Tensor, nn

from tsformers import create_model, toy
from tsformers.models.create import MODELS
from tsformers.toy import Toy, ToyFunction

TOYS: dict[str, ToyFunction] = {name: getattr(toy, name.lower()) for name in MODELS}
FREQ = {1: "m", 2: "w", 3: "d", 4: "h", 5: "t", 6: "s"}

# The same examples on every run and machine: a test that turns red has been turned by a change.
EXAMPLES = settings(derandomize=True, deadline=None, database=None, max_examples=20)

WIDE: dict[str, tuple[int, int]] = {
    **{name: (2, 9) for name in ("B", "C", "N", "enc_in", "c_out")},
    "marks": (1, 6),
    **{name: (8, 60) for name in ("seq_len", "pred_len")},
    "label_len": (1, 30),
    "patch_len": (2, 14),
    "stride": (1, 9),
    "d_model": (4, 60),
    "n_heads": (2, 5),
    "d_ff": (5, 90),
    "e_layers": (1, 2),
    "d_layers": (1, 2),
    "factor": (1, 4),
}


@cache
def example(name: str) -> Toy:
    """The toy of the model ``name``, built once for its formulas."""
    return TOYS[name]()


@cache
def compiled(formula: str) -> CodeType:
    return compile(formula, formula, "eval")


def evaluate(formula: str, names: dict[str, int]) -> Any:
    return eval(compiled(formula), {"__builtins__": {}}, names)


def axis_sizes(name: str, sizes: dict[str, int]) -> dict[str, int]:
    """The size of every axis that the toy of the model ``name`` names, by the toy's own formulas."""
    return {axis: evaluate(formula, sizes) for axis, formula in example(name).axes.items()}


def broken(name: str, sizes: dict[str, int]) -> list[str]:
    """The conditions of the toy that ``sizes`` do not meet."""
    return [formula for formula, _ in example(name).conditions if not evaluate(formula, sizes)]


def valid_sizes(name: str, **ranges: tuple[int, int]) -> st.SearchStrategy[dict[str, int]]:
    """Sizes for the toy of the model ``name`` that meet its conditions, all axes of different sizes.

    They come from ``WIDE`` or the range given. One number decides them all, since most draws would be thrown away.
    """
    return st.builds(lambda seed: first_valid(name, {**WIDE, **ranges}, Random(seed)), st.integers(0, 2**32))


def first_valid(name: str, ranges: dict[str, tuple[int, int]], random: Random) -> dict[str, int]:
    """The first of the configurations that ``random`` gives that is valid and has no two axes of one size."""
    axes_apart = apart(name)
    for _ in range(20_000):
        sizes = {size: random.randint(*ranges[size]) for size in example(name).sizes}
        if "e_layers == 2" in broken(name, sizes):
            sizes["e_layers"] = 2
        if broken(name, sizes):
            continue
        found = [evaluate(formula, sizes) for formula in axes_apart]
        if len(set(found)) == len(found):
            return sizes
    raise AssertionError(f"no configuration of {name} within {ranges} keeps its axes apart")


@cache
def apart(name: str) -> tuple[str, ...]:
    """Formulas of sizes that must differ: of the toy's axes (two names may have one), and of PatchTST's merged batch."""
    batch = ["B * C"] if name == "PatchTST" else []
    return (*sorted(set(example(name).axes.values())), *batch)


def build(name: str, sizes: dict[str, int], **flags: Any) -> nn.Module:
    """The model ``name`` with ``sizes``, in float64 and eval mode, its random weights seeded."""
    torch.manual_seed(0)
    given = {size: number for size, number in sizes.items() if size not in ("B", "C", "N", "marks")}
    series = sizes.get("enc_in", sizes.get("C", sizes.get("N")))
    made: dict[str, Any] = {
        **dict(task_name="long_term_forecast", label_len=0, enc_in=series, dec_in=series, c_out=series),
        **dict(freq=FREQ[sizes["marks"]], **given),
        **flags,
    }
    return create_model(name, **made).double().eval()


def inputs(name: str, sizes: dict[str, int]) -> list[Tensor]:
    """``x_enc, x_mark_enc, x_dec, x_mark_dec``, random and seeded, no two alike."""
    torch.manual_seed(1)
    series = sizes.get("enc_in", sizes.get("C", sizes.get("N", 0)))
    steps = (sizes["seq_len"], sizes.get("label_len", 0) + sizes["pred_len"])
    return [
        torch.randn(sizes["B"], length, width, dtype=torch.float64)
        for length in steps
        for width in (series, sizes["marks"])
    ]
