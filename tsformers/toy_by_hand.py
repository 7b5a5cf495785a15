"""Two toys small enough for paper and pencil: an attention layer, and the encoder layer around the same attention.

One series, two tokens of four numbers, two heads; every weight has one decimal. At these sizes L, H and E are all 2, so
a wrong transpose keeps every shape: the further cases, whose sizes all differ, are there to tell the axes apart.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from tsformers.layers.attention import AttentionLayer, FullAttention
from tsformers.layers.encoder import EncoderLayer
from tsformers.toy import HEADS_DIVIDE, Toy, fill, flags_of, one_decimals, sizes_of, with_cases

SIZES = (
    dict(B=1, L=2, d_model=4, n_heads=2, d_ff=6),
    dict(B=3, L=4, d_model=10, n_heads=2, d_ff=14),
    dict(B=7, L=5, d_model=18, n_heads=3, d_ff=20),
)
X = ((1.0, 0.0, 0.5, -0.5), (0.0, 1.0, -0.5, 0.5))
ATTENTION = {
    "query_projection.weight": ((1.0, 0, 0.4, 0), (0, 1.0, 0, 0.4), (0.2, -0.2, 1.0, 0), (0, 0.6, 0, 1.0)),
    "query_projection.bias": (0.1, 0, 0, -0.1),
    "key_projection.weight": ((0.8, 0.2, 0, 0), (0, 0.6, 0, -0.4), (0, 0.4, 1.0, 0), (0.4, 0, 0, 1.0)),
    "key_projection.bias": (0, 0, 0, 0),
    "value_projection.weight": ((1.0, 0, 0, 0.2), (0, 2.0, 0, 0), (0, 0, 2.0, 0), (0.6, 0, 0, 1.0)),
    "value_projection.bias": (0, 0.1, 0, 0),
    # The first half of the columns belongs to head 0: a row adds the heads or subtracts them.
    "out_projection.weight": ((0.5, 0, 0.5, 0), (0, 0.5, 0, 0.5), (0.5, 0, -0.5, 0), (0, 0.5, 0, -0.5)),
    "out_projection.bias": (0.1, -0.1, 0, 0),
}
FEED_FORWARD = {
    "conv1.weight": (
        (0.5, 0.5, 0, 0), (0, 0.5, 0.5, 0), (0, 0, 0.5, 0.5), (-0.5, 0, 0, 0.5), (0.5, 0, -0.5, 0), (0, -0.5, 0, 0.5),
    ),
    "conv1.bias": (0, 0.1, 0, -0.1, 0, 0.2),
    "conv2.weight": ((0.4, 0, 0, 0.2, 0, 0), (0, 0.4, 0, 0, 0.2, 0), (0, 0, 0.4, 0, 0, 0.2), (0.2, 0, 0, 0.4, 0, 0)),
    "conv2.bias": (0.1, 0, 0, -0.1),
}  # fmt: skip


@with_cases(SIZES)
def attention_by_hand(case: int = 0) -> Toy:
    """An AttentionLayer on FullAttention, called with the same tokens as queries, keys and values."""
    sizes = flags_of(sizes_of(SIZES, case), without=("d_ff",))
    layer = _written(_attention(sizes), ATTENTION, case)
    return _toy(layer, (_tokens(case, sizes),) * 3, sizes, attn_mask=None)


@with_cases(SIZES)
def encoder_layer_by_hand(case: int = 0) -> Toy:
    """An EncoderLayer around the same attention, with GELU as in PatchTST."""
    sizes = sizes_of(SIZES, case)
    layer = EncoderLayer(_attention(sizes), sizes["d_model"], sizes["d_ff"], activation="gelu")
    weights = {f"attention.{name}": value for name, value in ATTENTION.items()} | FEED_FORWARD
    return _toy(_written(layer, weights, case), (_tokens(case, sizes),), sizes)


def _attention(sizes: dict[str, int]) -> AttentionLayer:
    return AttentionLayer(FullAttention(mask_flag=False), sizes["d_model"], sizes["n_heads"])


def _written(module: nn.Module, weights: dict[str, Any], case: int) -> nn.Module:
    """``module`` ready to run, case 0 with the ``weights`` written above."""
    fill(module, trained=False)
    if case == 0:
        for name, value in weights.items():
            parameter = module.get_parameter(name)
            parameter.copy_(torch.tensor(value, dtype=torch.float64).view_as(parameter))
    return module


def _tokens(case: int, sizes: dict[str, int]) -> Tensor:
    if case == 0:
        return torch.tensor([X], dtype=torch.float64)
    return one_decimals("tokens", sizes["B"], sizes["L"], sizes["d_model"], largest=2.0)


def _toy(module: nn.Module, args: tuple[Tensor, ...], sizes: dict[str, int], **kwargs: Any) -> Toy:
    axes = {name: name for name in sizes} | {"d_keys": "d_model // n_heads"}
    return Toy(module, args, kwargs, sizes, axes, (HEADS_DIVIDE,))
