"""iTransformer (Liu et al., ICLR 2024).

What differs from a Transformer on time steps: a token is a whole series, so attention is among the series and the
feed-forward block reads time. Calendar marks are tokens too; they are attended to and dropped at the end.

Axes: B batch, N series, marks calendar features, token_count N plus marks, seq_len and pred_len time steps.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from tsformers.layers.attention import AttentionLayer, FullAttention
from tsformers.layers.encoder import Encoder, EncoderLayer
from tsformers.models.task import require_forecast


class DataEmbedding_inverted(nn.Module):
    """One linear map from the whole past of a series to its token. Places in time are the map's columns.

    Args:
        c_in: time steps of the past, ``seq_len``.
        d_model: width of a token.
        embed_type, freq: unused, so that every embedding is built alike.
        dropout: rate on the tokens.
    """

    def __init__(
        self, c_in: int, d_model: int, embed_type: str = "fixed", freq: str = "h", dropout: float = 0.1
    ) -> None:
        super().__init__()
        self.value_embedding = nn.Linear(c_in, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, x: Float[Tensor, "B seq_len N"], x_mark: Float[Tensor, "B seq_len marks"] | None
    ) -> Float[Tensor, "B token_count d_model"]:
        """One token for each series, then one for each mark if there are marks."""
        x = x.permute(0, 2, 1)  # [B, N, seq_len]
        if x_mark is not None:
            x = torch.cat([x, x_mark.permute(0, 2, 1)], dim=1)  # [B, token_count, seq_len]
        x = self.value_embedding(x)  # [B, token_count, d_model]
        return self.dropout(x)


class iTransformer(nn.Module):
    """Tokens that are series, an encoder, a linear map from each token to its forecast; normalisation around it.

    Args:
        task_name: "long_term_forecast" or "short_term_forecast", which are the same here.
        seq_len, pred_len: given and forecast time steps.
        d_model, n_heads, e_layers, d_ff: sizes of the encoder.
        dropout: one rate everywhere.
        activation: "relu" or "gelu".

    Raises:
        ValueError: another task; ``d_model`` not divisible by ``n_heads``; ``e_layers < 1``; unknown ``activation``.
    """

    def __init__(
        self,
        *,
        task_name: str,
        seq_len: int,
        pred_len: int,
        d_model: int,
        n_heads: int,
        e_layers: int,
        d_ff: int,
        dropout: float = 0.1,
        activation: str = "gelu",
    ) -> None:
        super().__init__()
        self.task_name = require_forecast(task_name)
        self.seq_len = seq_len
        self.pred_len = pred_len
        self.enc_embedding = DataEmbedding_inverted(seq_len, d_model, dropout=dropout)
        self.encoder = Encoder(
            [
                EncoderLayer(
                    AttentionLayer(FullAttention(False, attention_dropout=dropout), d_model, n_heads),
                    d_model,
                    d_ff,
                    dropout=dropout,
                    activation=activation,
                )
                for _ in range(e_layers)
            ],
            norm_layer=nn.LayerNorm(d_model),
        )
        self.projection = nn.Linear(d_model, pred_len)

    def forecast(
        self,
        x_enc: Float[Tensor, "B seq_len N"],
        x_mark_enc: Float[Tensor, "B seq_len marks"] | None,
        x_dec: Float[Tensor, "B dec_len N"] | None,
        x_mark_dec: Float[Tensor, "B dec_len marks"] | None,
    ) -> Float[Tensor, "B pred_len N"]:
        """Reads ``x_enc`` and ``x_mark_enc``. N may differ from call to call: no weight depends on it."""
        means = x_enc.mean(dim=1, keepdim=True).detach()  # [B, 1, N]
        x_enc = x_enc - means
        stdev = torch.sqrt(x_enc.var(dim=1, keepdim=True, unbiased=False) + 1e-5)  # [B, 1, N]
        x_enc = x_enc / stdev

        _, _, N = x_enc.shape
        enc_out = self.enc_embedding(x_enc, x_mark_enc)  # [B, token_count, d_model]
        enc_out, attns = self.encoder(enc_out)
        dec_out = self.projection(enc_out)  # [B, token_count, pred_len]
        dec_out = dec_out.permute(0, 2, 1)  # [B, pred_len, token_count]
        dec_out = dec_out[:, :, :N]  # [B, pred_len, N]

        dec_out = dec_out * stdev + means
        return dec_out

    def forward(
        self,
        x_enc: Float[Tensor, "B seq_len N"],
        x_mark_enc: Float[Tensor, "B seq_len marks"] | None,
        x_dec: Float[Tensor, "B dec_len N"] | None,
        x_mark_dec: Float[Tensor, "B dec_len marks"] | None,
        mask: Tensor | None = None,
    ) -> Float[Tensor, "B pred_len N"]:
        """The forecast. ``mask`` belongs to imputation and is not read."""
        dec_out = self.forecast(x_enc, x_mark_enc, x_dec, x_mark_dec)  # [B, pred_len, N]
        return dec_out[:, -self.pred_len :, :]  # [B, pred_len, N]
