"""The two activations of the feed-forward blocks, by name."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor
from torch.nn import functional as F

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": F.relu, "gelu": F.gelu}


def activation_function(activation: str) -> Callable[[Tensor], Tensor]:
    """The function called ``activation``.

    Raises:
        ValueError: a name other than "relu" and "gelu". Time-Series-Library takes every other name for "gelu".
    """
    if activation not in ACTIVATIONS:
        raise ValueError(f"activation ({activation!r}) 必须是 {' 或 '.join(map(repr, ACTIVATIONS))}")
    return ACTIVATIONS[activation]
