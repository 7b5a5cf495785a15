"""The decoder: its tokens look at each other, then at the encoder's tokens.

Axes: B batch, L decoder tokens, S encoder tokens, d_model width of a token, c_out forecast series.
"""

from __future__ import annotations

from collections.abc import Sequence

from jaxtyping import Bool, Float
from torch import Tensor, nn

from tsformers.layers.activation import activation_function
from tsformers.layers.positionwise import PositionwiseConv1d


class DecoderLayer(nn.Module):
    """Self-attention, cross-attention, feed-forward; each with residual and LayerNorm after it.

    Args:
        self_attention: an ``AttentionLayer`` among the decoder's tokens.
        cross_attention: an ``AttentionLayer`` whose keys and values are the encoder's tokens.
        d_model: width of a token, the same on both sides.
        d_ff: width inside the feed-forward block; None means ``4 * d_model``.
        dropout: one rate for all places.
        activation: "relu" or "gelu".

    Raises:
        ValueError: ``d_ff < 1``, unknown ``activation``.

    Source: ``DecoderLayer`` in Time-Series-Library's ``layers/Transformer_EncDec.py``.
    """

    def __init__(
        self,
        self_attention: nn.Module,
        cross_attention: nn.Module,
        d_model: int,
        d_ff: int | None = None,
        dropout: float = 0.1,
        activation: str = "relu",
    ) -> None:
        super().__init__()
        d_ff = 4 * d_model if d_ff is None else d_ff
        if d_ff < 1:
            raise ValueError(f"d_ff ({d_ff}) 必须至少为 1，或为 None（即 4 * d_model）")
        self.self_attention = self_attention
        self.cross_attention = cross_attention
        self.conv1 = PositionwiseConv1d(d_model, d_ff)
        self.conv2 = PositionwiseConv1d(d_ff, d_model)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.norm3 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)
        self.activation = activation_function(activation)

    def forward(
        self,
        x: Float[Tensor, "B L d_model"],
        cross: Float[Tensor, "B S d_model"],
        x_mask: Bool[Tensor, "B 1 L L"] | None = None,
        cross_mask: Bool[Tensor, "B 1 L S"] | None = None,
        tau: Tensor | None = None,
        delta: Tensor | None = None,
    ) -> Float[Tensor, "B L d_model"]:
        """The decoder's tokens. ``delta`` belongs to the encoder's tokens, so self-attention does not get it."""
        new_x, _ = self.self_attention(x, x, x, attn_mask=x_mask, tau=tau, delta=None)
        x = self.norm1(x + self.dropout(new_x))
        new_x, _ = self.cross_attention(x, cross, cross, attn_mask=cross_mask, tau=tau, delta=delta)
        x = x + self.dropout(new_x)
        y = x = self.norm2(x)
        y = self.dropout(self.activation(self.conv1(y.transpose(-1, 1))))  # [B, d_ff, L]
        y = self.dropout(self.conv2(y).transpose(-1, 1))  # [B, L, d_model]
        return self.norm3(x + y)


class Decoder(nn.Module):
    """Decoder layers one after the other, then a norm and a projection to the forecast series, if there are any.

    Args:
        layers: the ``DecoderLayer`` modules.
        norm_layer: applied after the last layer, or None.
        projection: from ``d_model`` to ``c_out``, or None, which leaves ``d_model``.

    Raises:
        ValueError: no layer.

    Source: ``Decoder`` in Time-Series-Library's ``layers/Transformer_EncDec.py``.
    """

    def __init__(
        self,
        layers: Sequence[nn.Module],
        norm_layer: nn.Module | None = None,
        projection: nn.Module | None = None,
    ) -> None:
        super().__init__()
        if len(layers) < 1:
            raise ValueError(f"d_layers ({len(layers)}) 必须至少为 1：layers 是空的")
        self.layers = nn.ModuleList(layers)
        self.norm = norm_layer
        self.projection = projection

    def forward(
        self,
        x: Float[Tensor, "B L d_model"],
        cross: Float[Tensor, "B S d_model"],
        x_mask: Bool[Tensor, "B 1 L L"] | None = None,
        cross_mask: Bool[Tensor, "B 1 L S"] | None = None,
        tau: Tensor | None = None,
        delta: Tensor | None = None,
    ) -> Float[Tensor, "B L c_out"]:
        """All decoder positions at once; every layer looks at the same ``cross``."""
        for layer in self.layers:
            x = layer(x, cross, x_mask=x_mask, cross_mask=cross_mask, tau=tau, delta=delta)
        if self.norm is not None:
            x = self.norm(x)
        if self.projection is not None:
            x = self.projection(x)  # [B, L, c_out]
        return x
