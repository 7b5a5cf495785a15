"""Mean and spread of a series of which some steps are hidden.

Axes: B batch, seq_len time steps, C series.
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor


def masked_normalise(
    x: Float[Tensor, "B seq_len C"],
    mask: Float[Tensor, "B seq_len C"] | Int[Tensor, "B seq_len C"] | Bool[Tensor, "B seq_len C"],
) -> tuple[Float[Tensor, "B seq_len C"], Float[Tensor, "B 1 C"], Float[Tensor, "B 1 C"]]:
    """Each series of each sample by its own mean and standard deviation over the steps that are seen.

    ``result * stdev + means`` undoes it. The sum runs over all steps, so ``x`` must be 0 where it is hidden, as
    Time-Series-Library's imputation gives it; there the result is 0 too. No gradient flows through ``means`` and
    ``stdev``.

    Args:
        x: the series, in their own units, 0 where hidden.
        mask: 1 (or True) where a step is seen, 0 where it is hidden; at least one step seen in each series, or the
            result of that series is NaN. The models check both.

    Returns:
        The normalised series, their means, their standard deviations (biased, 1e-5 added to the variance).

    Source: the first lines of ``imputation`` in Time-Series-Library's PatchTST and Nonstationary_Transformer.
    """
    hidden = mask == 0  # [B, seq_len, C]
    seen = (mask == 1).sum(dim=1, keepdim=True)  # [B, 1, C]
    means = (x.sum(dim=1, keepdim=True) / seen).detach()  # [B, 1, C]
    x = (x - means).masked_fill(hidden, 0)
    stdev = torch.sqrt((x * x).sum(dim=1, keepdim=True) / seen + 1e-5).detach()  # [B, 1, C]
    return x / stdev, means, stdev
