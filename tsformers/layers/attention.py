"""Scaled dot-product attention and the projections around it.

Axes: B batch, L queries, S keys and values, H heads, E width of a query and key per head, D width of a value per head.
"""

from __future__ import annotations

from math import sqrt

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn


def triangular_causal_mask(B: int, L: int, device: torch.device | None = None) -> Bool[Tensor, "B 1 L L"]:
    """True where a query (axis 2) must not look: at every key (axis 3) that lies after it.

    Source: ``TriangularCausalMask`` in Time-Series-Library's ``utils/masking.py``.
    """
    later = torch.ones(L, L, dtype=torch.bool, device=device).triu(diagonal=1)
    return later.expand(B, 1, L, L)


def require_as_many(L: int, S: int) -> None:
    """Nothing, if there are as many queries as keys, without which "the keys after a query" means nothing.

    Raises:
        ValueError: there are not.
    """
    if L != S:
        raise ValueError(f"L ({L}) 必须等于 S ({S})：mask_flag=True 而没有 attn_mask 时，遮住的是每个 query 之后的 key")


class FullAttention(nn.Module):
    """Every query weighs every key (Vaswani et al. 2017, equation 1).

    Args:
        mask_flag: hide keys. Without it ``attn_mask`` is ignored; with it ``attn_mask=None`` means "no key after the
            query", which needs as many keys as queries.
        factor: unused, so that every attention is built alike.
        scale: factor on the scores, positive; None means ``1 / sqrt(E)``.
        attention_dropout: dropout on the attention weights.
        output_attention: return the weights too.

    Raises:
        ValueError: ``scale`` is not positive: masked scores would turn into NaN. In ``forward``, with ``mask_flag`` and
            no ``attn_mask``: another number of keys than of queries.

    Source: ``FullAttention`` in Time-Series-Library's ``layers/SelfAttention_Family.py``.
    """

    def __init__(
        self,
        mask_flag: bool = True,
        factor: int = 5,
        scale: float | None = None,
        attention_dropout: float = 0.1,
        output_attention: bool = False,
    ) -> None:
        super().__init__()
        if scale is not None and scale <= 0:
            raise ValueError(f"scale ({scale}) 必须大于 0，或为 None（即 1 / sqrt(E)）")
        self.scale = scale
        self.mask_flag = mask_flag
        self.output_attention = output_attention
        self.dropout = nn.Dropout(attention_dropout)

    def forward(
        self,
        queries: Float[Tensor, "B L H E"],
        keys: Float[Tensor, "B S H E"],
        values: Float[Tensor, "B S H D"],
        attn_mask: Bool[Tensor, "B 1 L S"] | None,
        tau: Tensor | None = None,
        delta: Tensor | None = None,
    ) -> tuple[Float[Tensor, "B L H D"], Float[Tensor, "B H L S"] | None]:
        """The weighted values, and the weights if ``output_attention``. ``tau`` and ``delta`` are not used here."""
        B, L, H, E = queries.shape
        scale = self.scale or 1 / sqrt(E)
        scores = torch.einsum("blhe,bshe->bhls", queries, keys)  # [B, H, L, S]
        if self.mask_flag:
            if attn_mask is None:
                require_as_many(L, keys.shape[1])
                attn_mask = triangular_causal_mask(B, L, device=queries.device)  # [B, 1, L, L]
            scores = scores.masked_fill(attn_mask, float("-inf"))
        A = self.dropout(torch.softmax(scale * scores, dim=-1))
        V = torch.einsum("bhls,bshd->blhd", A, values)  # [B, L, H, D]
        return V.contiguous(), A if self.output_attention else None


class AttentionLayer(nn.Module):
    """Multi-head attention: project, split into heads, attend inside each head, merge, project.

    Args:
        attention: gets (B, L, H, E) and must give (B, L, H, D), the axes in that order.
        d_model: width of a token, outside.
        n_heads: H.
        d_keys: E; None means ``d_model // n_heads``.
        d_values: D; None means ``d_model // n_heads``. No model here sets it: comments say ``d_keys`` for D too.

    Raises:
        ValueError: ``n_heads < 1``; ``d_keys`` or ``d_values`` left out where ``n_heads`` does not divide ``d_model``.

    Source: ``AttentionLayer`` in Time-Series-Library's ``layers/SelfAttention_Family.py``.
    """

    def __init__(
        self,
        attention: nn.Module,
        d_model: int,
        n_heads: int,
        d_keys: int | None = None,
        d_values: int | None = None,
    ) -> None:
        super().__init__()
        if n_heads < 1:
            raise ValueError(f"n_heads ({n_heads}) 必须至少为 1")
        if (d_keys is None or d_values is None) and d_model % n_heads:
            raise ValueError(f"d_model ({d_model}) 必须能被 n_heads ({n_heads}) 整除")
        d_keys = d_model // n_heads if d_keys is None else d_keys
        d_values = d_model // n_heads if d_values is None else d_values
        self.inner_attention = attention
        self.query_projection = nn.Linear(d_model, d_keys * n_heads)
        self.key_projection = nn.Linear(d_model, d_keys * n_heads)
        self.value_projection = nn.Linear(d_model, d_values * n_heads)
        self.out_projection = nn.Linear(d_values * n_heads, d_model)
        self.n_heads = n_heads

    def forward(
        self,
        queries: Float[Tensor, "B L d_model"],
        keys: Float[Tensor, "B S d_model"],
        values: Float[Tensor, "B S d_model"],
        attn_mask: Bool[Tensor, "B 1 L S"] | None,
        tau: Tensor | None = None,
        delta: Tensor | None = None,
    ) -> tuple[Float[Tensor, "B L d_model"], Float[Tensor, "B H L S"] | None]:
        """One token for each query, and what the inner attention gives as weights."""
        B, L, _ = queries.shape
        _, S, _ = keys.shape
        H = self.n_heads
        queries = self.query_projection(queries).view(B, L, H, -1)  # [B, L, H, d_keys]
        keys = self.key_projection(keys).view(B, S, H, -1)  # [B, S, H, d_keys]
        values = self.value_projection(values).view(B, S, H, -1)  # [B, S, H, d_keys]
        out, attn = self.inner_attention(queries, keys, values, attn_mask, tau=tau, delta=delta)
        out = out.view(B, L, -1)  # [B, L, d_model]
        return self.out_projection(out), attn
