"""Normalising by the steps that are seen, and back."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.properties.configurations import EXAMPLES
from tsformers.layers.normalisation import masked_normalise


@EXAMPLES
@given(
    shape=st.lists(st.integers(2, 19), min_size=3, max_size=3, unique=True),
    scale=st.floats(0.01, 1000),
    shift=st.floats(-1000, 1000),
    seen=st.floats(0.2, 1),
)
def test_masked_normalisation_is_undone_where_steps_are_seen(
    shape: list[int], scale: float, shift: float, seen: float
) -> None:
    torch.manual_seed(0)
    mask = torch.rand(*shape, dtype=torch.float64) < seen
    mask[:, 0] = True
    x = (scale * torch.randn(*shape, dtype=torch.float64) + shift).masked_fill(~mask, 0)
    normalised, means, stdev = masked_normalise(x, mask)
    assert (normalised[~mask] == 0).all()
    assert ((normalised * stdev + means - x)[mask].abs() <= 1e-9 * (scale + abs(shift))).all()
    for b, c in ((0, 0), (shape[0] - 1, shape[2] - 1)):
        alone = x[b, :, c][mask[b, :, c]]
        assert torch.isclose(means[b, 0, c], alone.mean())
        assert torch.isclose(stdev[b, 0, c], (alone.var(unbiased=False) + 1e-5).sqrt())
