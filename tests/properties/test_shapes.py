"""The axis formulas of the toys hold for any configuration, not only for the three on the pages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from tests.package.test_toys import INPUTS, WHERE
from tests.properties.configurations import (
    EXAMPLES,
    TOYS,
    WIDE,
    axis_sizes,
    broken,
    build,
    evaluate,
    example,
    first_valid,
    inputs,
)
from tests.properties.configurations import valid_sizes as valid
from tests.properties.watching import Seen, first_tensor, watch


def name_of(table: str) -> str:
    return next(name for name in TOYS if name.lower() == table)


TABLES = {name_of(table): (WHERE[table], INPUTS[table]) for table in WHERE}


NAME = re.compile(r"[A-Za-z_]\w*")


def stated(axes: dict[str, int], run: Callable[[], object]) -> list[Seen]:
    """What the source says that the toy's axes can decide: of a parameter's axes those that a whole word names.

    A letter is its function's own: ``B`` is the batch that an attention sees. A word is the same axis everywhere.
    """
    return [s for s in watch(run) if s.comment or (len(s.axes[0]) > 1 and s.axes[0] in axes)]


@contextmanager
def output_shapes(model: nn.Module) -> Iterator[dict[str, tuple[int, ...]]]:
    shapes: dict[str, tuple[int, ...]] = {}

    def remember(path: str) -> Callable[..., None]:
        def hook(module: nn.Module, args: Any, output: Any) -> None:
            tensor = first_tensor(output)
            if tensor is not None:
                shapes[path] = tuple(tensor.shape)

        return hook

    hooks = [module.register_forward_hook(remember(path)) for path, module in model.named_modules()]
    yield shapes
    for hook in hooks:
        hook.remove()


@pytest.mark.parametrize("name", TABLES)
def test_axis_formulas_hold_on_random_configurations(name: str) -> None:
    """On the meta device, what the modules give; of every eighth configuration also all that the source states."""
    where, given_axes = TABLES[name]
    proven: set[str] = set()
    runs = 0

    @settings(EXAMPLES, max_examples=200)
    @given(sizes=valid(name, d_layers=(1, 1)))  # a second one only repeats the first, and takes time
    def holds(sizes: dict[str, int]) -> None:
        nonlocal runs
        axes = axis_sizes(name, sizes)

        def named(slots: tuple[str, ...]) -> tuple[int, ...]:
            proven.update(word for slot in slots for word in NAME.findall(slot))
            return tuple(evaluate(slot, axes) for slot in slots)

        with torch.device("meta"):
            model, args = build(name, sizes), inputs(name, sizes)
            with output_shapes(model) as shapes:
                model(*args)
        assert [tuple(t.shape) for t in args] == [named(slots) for slots in given_axes]
        # A layer that this configuration does not have (attn_layers.1 of one) gives nothing.
        expected = {path: named(slots) for path, slots in where.items() if path in shapes}
        assert {path: shapes[path] for path in expected} == expected
        runs += 1
        if runs % 8 == 0:
            model, args = build(name, sizes), inputs(name, sizes)
            seen = stated(axes, lambda: model(*args))
            assert [s for s in seen if not s.holds(axes)] == []
            proven.update(word for s in seen for slot in s.axes for word in NAME.findall(slot))

    holds()
    assert runs >= 200
    # label_len is no axis of a tensor: it is what the axis dec_len begins with.
    assert set(example(name).axes) - proven <= {"label_len"}


# A condition that a constructor knows nothing about: it says for which models the toy's formulas are meant.
OF_THE_FORMULAS = {"e_layers == 2"}
# Sizes near what is allowed, in groups that a condition ties together. All are at least 1, but for those of which a
# condition says so.
NEAR_THE_LIMITS: tuple[dict[str, tuple[int, int]], ...] = (
    {size: (1, 3) for size in ("B", "C", "N", "enc_in", "c_out", "d_ff")},
    {"d_model": (1, 13), "n_heads": (1, 4)},
    {"e_layers": (0, 2), "d_layers": (0, 2)},
    {
        **{size: (1, 6) for size in ("seq_len", "pred_len", "patch_len")},
        **{size: (0, 3) for size in ("label_len", "stride")},
        "factor": (1, 3),
    },
)


def near_the_limits(name: str, seed: int) -> dict[str, int]:
    """A valid configuration, in which one group or two are drawn anew, whether that is valid or not."""
    random = Random(seed)
    sizes = first_valid(name, WIDE, random)
    for group in random.sample(NEAR_THE_LIMITS, random.randint(1, 2)):
        sizes.update({size: random.randint(*limits) for size, limits in group.items() if size in sizes})
    return sizes


@pytest.mark.parametrize("name", TOYS)
def test_conditions_reject_what_the_model_rejects(name: str) -> None:
    verdicts: list[bool] = []

    @settings(EXAMPLES, max_examples=200)
    @given(st.integers(0, 2**32))
    def agree(seed: int) -> None:
        sizes = near_the_limits(name, seed)
        conditions = set(broken(name, sizes))
        if sizes["e_layers"] >= 1:
            conditions -= OF_THE_FORMULAS
        with torch.device("meta"):
            try:
                build(name, sizes)
                error = None
            except ValueError as raised:
                error = str(raised)
        assert bool(conditions) == (error is not None), (sizes, conditions, error)
        verdicts.append(error is not None)

    agree()
    assert 40 < sum(verdicts) < len(verdicts) - 40
