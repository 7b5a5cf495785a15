"""The convolution of width 1 in the feed-forward blocks.

Axes: B batch, L tokens, d_in and d_out width of a token before and after.
"""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F


class PositionwiseConv1d(nn.Conv1d):
    """A convolution of width 1, computed as what it is: one linear map, applied to each token by itself.

    Weights, their names and shapes and how they start are those of ``nn.Conv1d``, so checkpoints fit; only the kernel
    that does the arithmetic is that of ``nn.Linear``: on a CPU the faster one, the more so the shorter the sequences
    (``benchmarks/models.py`` measures both).

    Args:
        d_in: width of a token before.
        d_out: width of a token after.

    Source: equation 2 of Vaswani et al. 2017, which section 3.3 there also calls two convolutions with kernel size 1.
    """

    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__(d_in, d_out, kernel_size=1)

    def forward(self, x: Float[Tensor, "B d_in L"]) -> Float[Tensor, "B d_out L"]:
        """The tokens, as many as before; the axes in the order of ``nn.Conv1d``."""
        x = x.transpose(-1, 1)  # [B, L, d_in]
        x = F.linear(x, self.weight[:, :, 0], self.bias)  # [B, L, d_out]
        return x.transpose(-1, 1)  # [B, d_out, L]
