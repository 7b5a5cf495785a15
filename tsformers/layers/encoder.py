"""The encoder: attention and feed-forward blocks in a row, Post-LN, optionally with fewer tokens from block to block.

Axes: B batch (in PatchTST B*C), L tokens, enc_seq tokens that the encoder gives, d_model width of a token.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from tsformers.layers.activation import activation_function
from tsformers.layers.positionwise import PositionwiseConv1d


class ConvLayer(nn.Module):
    """Distilling (Informer, section 3.2): a convolution, then a pooling that keeps ``(L + 1) // 2 + 1`` of L tokens.

    The circular padding is 2 on each side for a kernel of 3, so the convolution itself makes two tokens more than it
    gets. Time-Series-Library does so, and its checkpoints were trained with it.

    Args:
        c_in: width of a token, ``d_model``.

    Source: ``ConvLayer`` in Time-Series-Library's ``layers/Transformer_EncDec.py``.
    """

    def __init__(self, c_in: int) -> None:
        super().__init__()
        self.downConv = nn.Conv1d(c_in, c_in, kernel_size=3, padding=2, padding_mode="circular")
        self.norm = nn.BatchNorm1d(c_in)
        self.activation = nn.ELU()
        self.maxPool = nn.MaxPool1d(kernel_size=3, stride=2, padding=1)

    def forward(self, x: Float[Tensor, "B L d_model"]) -> Float[Tensor, "B enc_seq d_model"]:
        """Fewer tokens, each the largest, feature by feature, of neighbouring steps; the ends see each other."""
        x = self.downConv(x.permute(0, 2, 1))  # [B, d_model, conv_len]
        x = self.norm(x)
        x = self.activation(x)
        x = self.maxPool(x)  # [B, d_model, enc_seq]
        return x.transpose(1, 2)  # [B, enc_seq, d_model]


class EncoderLayer(nn.Module):
    """Attention among the tokens, then a feed-forward block on each token; each with residual and LayerNorm after it.

    The feed-forward block is written as two convolutions of width 1, which is a linear map of each token.

    Args:
        attention: an ``AttentionLayer``.
        d_model: width of a token.
        d_ff: width inside the feed-forward block; None means ``4 * d_model``.
        dropout: one rate for three places.
        activation: "relu" or "gelu".

    Raises:
        ValueError: ``d_ff < 1``, unknown ``activation``.

    Source: ``EncoderLayer`` in Time-Series-Library's ``layers/Transformer_EncDec.py``.
    """

    def __init__(
        self,
        attention: nn.Module,
        d_model: int,
        d_ff: int | None = None,
        dropout: float = 0.1,
        activation: str = "relu",
    ) -> None:
        super().__init__()
        d_ff = 4 * d_model if d_ff is None else d_ff
        if d_ff < 1:
            raise ValueError(f"d_ff ({d_ff}) 必须至少为 1，或为 None（即 4 * d_model）")
        self.attention = attention
        self.conv1 = PositionwiseConv1d(d_model, d_ff)
        self.conv2 = PositionwiseConv1d(d_ff, d_model)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)
        self.activation = activation_function(activation)

    def forward(
        self,
        x: Float[Tensor, "B L d_model"],
        attn_mask: Bool[Tensor, "B 1 L L"] | None = None,
        tau: Tensor | None = None,
        delta: Tensor | None = None,
    ) -> tuple[Float[Tensor, "B L d_model"], Float[Tensor, "B H L L"] | None]:
        """The tokens, as many and as wide as before, and the attention weights if the attention gives them."""
        new_x, attn = self.attention(x, x, x, attn_mask=attn_mask, tau=tau, delta=delta)
        x = x + self.dropout(new_x)
        y = x = self.norm1(x)
        y = self.dropout(self.activation(self.conv1(y.transpose(-1, 1))))  # [B, d_ff, L]
        y = self.dropout(self.conv2(y).transpose(-1, 1))  # [B, L, d_model]
        return self.norm2(x + y), attn


class Encoder(nn.Module):
    """Encoder layers one after the other, and a norm at the end.

    Args:
        attn_layers: the ``EncoderLayer`` modules.
        conv_layers: None, or one module less than ``attn_layers``: what stands between them.
        norm_layer: applied at the end, or None.

    Raises:
        ValueError: no layer, or a number of ``conv_layers`` that does not fit between them.

    Source: ``Encoder`` in Time-Series-Library's ``layers/Transformer_EncDec.py``.
    """

    def __init__(
        self,
        attn_layers: Sequence[nn.Module],
        conv_layers: Sequence[nn.Module] | None = None,
        norm_layer: nn.Module | None = None,
    ) -> None:
        super().__init__()
        if len(attn_layers) < 1:
            raise ValueError(f"e_layers ({len(attn_layers)}) 必须至少为 1：attn_layers 是空的")
        if conv_layers is not None and len(conv_layers) != len(attn_layers) - 1:
            raise ValueError(f"conv_layers ({len(conv_layers)}) 必须比 attn_layers ({len(attn_layers)}) 少 1")
        self.attn_layers = nn.ModuleList(attn_layers)
        self.conv_layers = nn.ModuleList(conv_layers) if conv_layers is not None else None
        self.norm = norm_layer

    def forward(
        self,
        x: Float[Tensor, "B L d_model"],
        attn_mask: Bool[Tensor, "B 1 L L"] | None = None,
        tau: Tensor | None = None,
        delta: Tensor | None = None,
    ) -> tuple[Float[Tensor, "B enc_seq d_model"], list[torch.Tensor | None]]:
        """The tokens that remain, and one entry of attention weights (or None) a layer.

        With ``conv_layers`` the number of tokens changes on the way, so ``delta`` reaches the first layer only and
        ``attn_mask`` not the last.
        """
        attns = []
        if self.conv_layers is not None:
            for attn_layer, conv_layer in zip(self.attn_layers, self.conv_layers, strict=False):
                x, attn = attn_layer(x, attn_mask=attn_mask, tau=tau, delta=delta)
                x = conv_layer(x)  # [B, enc_seq, d_model]
                attns.append(attn)
                delta = None
            x, attn = self.attn_layers[-1](x, tau=tau, delta=None)
            attns.append(attn)
        else:
            for attn_layer in self.attn_layers:
                x, attn = attn_layer(x, attn_mask=attn_mask, tau=tau, delta=delta)
                attns.append(attn)
        if self.norm is not None:
            x = self.norm(x)
        return x, attns
