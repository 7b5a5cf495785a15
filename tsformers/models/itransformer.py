"""iTransformer (Liu et al., ICLR 2024).

What differs from a Transformer on time steps: a token is a whole series, so attention is among the series and the
feed-forward block reads time. Calendar marks are tokens too; they are attended to and dropped at the end.

Axes: B batch, N series, marks calendar features, token_count N plus marks, seq_len and pred_len time steps.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Real, Shaped
from torch import Tensor, nn
from torch.nn import functional as F

from tsformers.layers.attention import AttentionLayer, FullAttention
from tsformers.layers.encoder import Encoder, EncoderLayer
from tsformers.models.task import FORECASTS, check_input, check_unread_mask, require_sizes, require_task


class DataEmbedding_inverted(nn.Module):
    """One linear map from the whole past of a series to its token. Places in time are the map's columns.

    Args:
        c_in: time steps of the past, ``seq_len``.
        d_model: width of a token.
        embed_type, freq: unused, so that every embedding is built alike.
        dropout: rate on the tokens.

    Source: ``DataEmbedding_inverted`` in Time-Series-Library's ``layers/Embed.py``.
    """

    def __init__(
        self, c_in: int, d_model: int, embed_type: str = "fixed", freq: str = "h", dropout: float = 0.1
    ) -> None:
        super().__init__()
        self.value_embedding = nn.Linear(c_in, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, x: Float[Tensor, "B seq_len N"], x_mark: Real[Tensor, "B seq_len marks"] | None
    ) -> Float[Tensor, "B token_count d_model"]:
        """One token for each series, then one for each mark if there are marks."""
        x = x.permute(0, 2, 1)  # [B, N, seq_len]
        if x_mark is not None:
            x = torch.cat([x, x_mark.permute(0, 2, 1)], dim=1)  # [B, token_count, seq_len]
        x = self.value_embedding(x)  # [B, token_count, d_model]
        return self.dropout(x)


class iTransformer(nn.Module):
    """Tokens that are series, an encoder, a linear map from each token to its forecast; normalisation around it.

    Imputation and anomaly detection are the same path with ``seq_len`` steps in place of ``pred_len``. Classification
    does not normalise, and reads all tokens at once, so there the number of series is fixed.

    Args:
        task_name: "long_term_forecast" or "short_term_forecast", which are the same here; "imputation";
            "anomaly_detection" and "classification", both without marks.
        seq_len, pred_len: given and forecast time steps.
        d_model, n_heads, e_layers, d_ff: sizes of the encoder.
        dropout: one rate everywhere.
        activation: "relu" or "gelu".
        enc_in: N, the number of series; only "classification" reads it, and needs it.
        num_class: number of classes; only "classification" reads it, and needs it.

    Raises:
        ValueError: another task; ``d_model`` not divisible by ``n_heads``; ``e_layers < 1``; unknown ``activation``;
            ``pred_len < 1`` for a forecast; no ``enc_in`` or ``num_class`` for classification. In ``forward``: an input
            of another rank, size or dtype or without a value, a ``mask`` with NaN.

    Source: ``Model`` in Time-Series-Library's ``models/iTransformer.py``.
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
        enc_in: int | None = None,
        num_class: int | None = None,
    ) -> None:
        super().__init__()
        self.task_name = require_task(task_name, num_class)
        require_sizes(seq_len=seq_len, d_model=d_model)
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
        if task_name in FORECASTS:
            require_sizes(pred_len=pred_len)
            self.projection = nn.Linear(d_model, pred_len)
        elif num_class is not None and task_name == "classification":
            if enc_in is None:
                raise ValueError(f"enc_in ({enc_in}) 不能省略：task_name ({task_name!r}) 把全部变量的 token 一起读")
            require_sizes(enc_in=enc_in)
            self.dropout = nn.Dropout(dropout)
            self.projection = nn.Linear(d_model * enc_in, num_class)
        else:
            self.projection = nn.Linear(d_model, seq_len)
        self.enc_in = enc_in if task_name == "classification" else None

    def forecast(
        self,
        x_enc: Float[Tensor, "B seq_len N"],
        x_mark_enc: Real[Tensor, "B seq_len marks"] | None,
        x_dec: Float[Tensor, "B dec_len N"] | None,
        x_mark_dec: Real[Tensor, "B dec_len marks"] | None,
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

    def imputation(
        self, x_enc: Float[Tensor, "B seq_len N"], x_mark_enc: Real[Tensor, "B seq_len marks"] | None
    ) -> Float[Tensor, "B seq_len N"]:
        """Every time step again, the hidden ones filled in. No mask is read: hidden steps count as zeros."""
        return self.forecast(x_enc, x_mark_enc, None, None)

    def anomaly_detection(self, x_enc: Float[Tensor, "B seq_len N"]) -> Float[Tensor, "B seq_len N"]:
        """Every time step again: where it differs much from ``x_enc``, something was unusual. No marks."""
        return self.forecast(x_enc, None, None, None)

    def classification(self, x_enc: Float[Tensor, "B seq_len N"]) -> Float[Tensor, "B num_class"]:
        """One score a class, from the tokens of all series side by side. Padded time steps count as they are."""
        enc_out = self.enc_embedding(x_enc, None)  # [B, N, d_model]
        enc_out, attns = self.encoder(enc_out)
        output = self.dropout(F.gelu(enc_out))
        output = output.flatten(1)  # [B, N*d_model]
        return self.projection(output)  # [B, num_class]

    def forward(
        self,
        x_enc: Float[Tensor, "B seq_len N"],
        x_mark_enc: Real[Tensor, "B seq_len marks"] | Real[Tensor, "B seq_len"] | None,
        x_dec: Float[Tensor, "B dec_len N"] | None,
        x_mark_dec: Real[Tensor, "B dec_len marks"] | None,
        mask: Shaped[Tensor, "B seq_len N"] | None = None,
    ) -> Float[Tensor, "B pred_len N"] | Float[Tensor, "B seq_len N"] | Float[Tensor, "B num_class"]:
        """What ``task_name`` asks for. ``x_dec`` and ``x_mark_dec`` are not read; anomaly detection and classification
        do not read ``x_mark_enc`` either. ``mask`` is checked in imputation, but this model does not read it.

        Raises:
            ValueError: see the class.
        """
        check_input("x_enc", x_enc, self, B=None, seq_len=self.seq_len, enc_in=self.enc_in)
        if self.task_name == "classification":
            return self.classification(x_enc)
        if self.task_name == "anomaly_detection":
            return self.anomaly_detection(x_enc)
        if x_mark_enc is not None:
            check_input("x_mark_enc", x_mark_enc, B=x_enc.shape[0], seq_len=self.seq_len, marks=None)
        if self.task_name == "imputation":
            check_unread_mask(mask, x_enc)
            return self.imputation(x_enc, x_mark_enc)
        dec_out = self.forecast(x_enc, x_mark_enc, x_dec, x_mark_dec)  # [B, pred_len, N]
        return dec_out[:, -self.pred_len :, :]  # [B, pred_len, N]
