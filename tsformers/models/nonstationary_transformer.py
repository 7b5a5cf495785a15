"""Non-stationary Transformer (Liu et al., NeurIPS 2022).

What differs from a Transformer: values are normalised per sample and series around it, and attention is told what that
took away. From the raw values and their statistics one small network learns ``tau``, which stands for their variance
and scales every score; another learns ``delta``, one shift for each key, which stands for their mean.

Axes: B batch, L queries, S keys and values, H heads, E width of a query and key per head, D width of a value per head,
seq_len, dec_len and pred_len time steps, enc_in series, marks calendar features.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import torch
from jaxtyping import Bool, Float, Real, Shaped
from torch import Tensor, nn
from torch.nn import functional as F

from tsformers.layers.attention import AttentionLayer, require_as_many, triangular_causal_mask
from tsformers.layers.decoder import Decoder, DecoderLayer
from tsformers.layers.embedding import DataEmbedding, require_places
from tsformers.layers.encoder import Encoder, EncoderLayer
from tsformers.layers.normalisation import masked_normalise
from tsformers.models.task import (
    FORECASTS,
    check_input,
    check_marks,
    check_mask,
    require_same_series,
    require_sizes,
    require_start,
    require_task,
)

LARGEST_LOG_TAU = 80.0  # exp of more is infinite in float32


class DSAttention(nn.Module):
    """De-stationary attention: the scores of normalised tokens, scaled by ``tau`` and shifted by ``delta``.

    The softmax is taken of ``scale * (tau * scores + delta)``. A shift that is the same for all keys has no effect.

    Args:
        mask_flag: hide keys. Without it ``attn_mask`` is ignored; with it ``attn_mask=None`` means "no key after the
            query", which needs as many keys as queries.
        factor: unused, so that every attention is built alike.
        scale: factor on the scores, positive; None means ``1 / sqrt(E)``.
        attention_dropout: dropout on the attention weights.
        output_attention: return the weights too.

    Raises:
        ValueError: ``scale`` is not positive. In ``forward``: ``tau`` or ``delta`` of another size than (B, 1) or
            (B, S), which could be broadcast silently; with ``mask_flag`` and no ``attn_mask``, another number of keys
            than of queries.

    Source: ``DSAttention`` in Time-Series-Library's ``layers/SelfAttention_Family.py``.
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
        tau: Float[Tensor, "B 1"] | None = None,
        delta: Float[Tensor, "B S"] | None = None,
    ) -> tuple[Float[Tensor, "B L H D"], Float[Tensor, "B H L S"] | None]:
        """The weighted values, and the weights if ``output_attention``.

        ``tau`` is one positive factor a sample, None for 1; ``delta`` one shift for each key, None for 0.
        """
        B, L, H, E = queries.shape
        _, S, _, _ = keys.shape
        scale = self.scale or 1 / sqrt(E)
        scores = torch.einsum("blhe,bshe->bhls", queries, keys)  # [B, H, L, S]
        if tau is not None:
            check_input("tau", tau, B=B, factor=1)
            scores = scores * tau[:, :, None, None]
        if delta is not None:
            check_input("delta", delta, B=B, S=S)
            scores = scores + delta[:, None, None, :]
        if self.mask_flag:
            if attn_mask is None:
                require_as_many(L, S)
                attn_mask = triangular_causal_mask(B, L, device=queries.device)  # [B, 1, L, L]
            scores = scores.masked_fill(attn_mask, float("-inf"))
        A = self.dropout(torch.softmax(scale * scores, dim=-1))
        V = torch.einsum("bhls,bshd->blhd", A, values)  # [B, L, H, D]
        return V.contiguous(), A if self.output_attention else None


class Projector(nn.Module):
    """What a sample's raw values and one statistic of them say about it: a perceptron on two numbers a series.

    A convolution takes every time step as a channel and runs along the series, whose two ends are neighbours, so each
    series becomes one number, mixed with its neighbours in the order of the columns.

    Args:
        enc_in: number of series.
        seq_len: time steps.
        hidden_dims: widths of the hidden layers, each followed by ReLU.
        hidden_layers: how many there are; says the same as ``hidden_dims``, as in Time-Series-Library's flags.
        output_dim: numbers given for a sample.

    Raises:
        ValueError: no hidden layer, or ``hidden_layers`` other than the number of ``hidden_dims``.

    Source: ``Projector`` in Time-Series-Library's ``models/Nonstationary_Transformer.py``.
    """

    def __init__(
        self, enc_in: int, seq_len: int, hidden_dims: Sequence[int], hidden_layers: int, output_dim: int
    ) -> None:
        super().__init__()
        if hidden_layers != len(hidden_dims):
            raise ValueError(f"p_hidden_layers ({hidden_layers}) 必须等于 p_hidden_dims 的个数 ({len(hidden_dims)})")
        require_sizes(p_hidden_layers=hidden_layers, **{f"p_hidden_dims[{i}]": d for i, d in enumerate(hidden_dims)})
        self.series_conv = nn.Conv1d(seq_len, 1, kernel_size=3, padding=1, padding_mode="circular", bias=False)
        widths = (2 * enc_in, *hidden_dims)
        hidden = [
            layer
            for i in range(hidden_layers)
            for layer in (nn.Linear(widths[i], widths[i + 1]), nn.ReLU())
        ]  # fmt: skip
        self.backbone = nn.Sequential(*hidden, nn.Linear(widths[-1], output_dim, bias=False))

    def forward(
        self, x: Float[Tensor, "B seq_len enc_in"], stats: Float[Tensor, "B 1 enc_in"]
    ) -> Float[Tensor, "B output_dim"]:
        """``output_dim`` numbers of any sign for each sample; ``x`` is in the units of the series."""
        x = self.series_conv(x)  # [B, 1, enc_in]
        x = torch.cat([x, stats], dim=1)  # [B, 2, enc_in]
        x = x.flatten(1)  # [B, 2*enc_in]
        return self.backbone(x)


class Nonstationary_Transformer(nn.Module):
    """A Transformer on normalised values whose every attention gets ``tau`` and ``delta`` of the raw ones.

    The decoder starts from the last ``label_len`` normalised steps of ``x_enc`` and ``pred_len`` zeros; what is passed
    as ``x_dec`` is not read. The other tasks use an encoder alone: one vector a time step, then a linear map.

    Args:
        task_name: "long_term_forecast" or "short_term_forecast", which are the same here; "imputation", which
            normalises by the steps that are seen; "anomaly_detection" (no marks); or "classification", where ``tau``
            and ``delta`` are given to tokens that are not normalised.
        seq_len, label_len, pred_len: given time steps; those the decoder gets again; those it forecasts.
        enc_in, dec_in, c_out: number of series of encoder input, decoder input and output: all the same.
        d_model, n_heads, e_layers, d_layers, d_ff: sizes of encoder and decoder.
        dropout: one rate everywhere.
        embed, freq: see ``DataEmbedding``.
        activation: "relu" or "gelu".
        p_hidden_dims, p_hidden_layers: see ``Projector``.
        num_class: number of classes; only "classification" reads it, and needs it.

    Raises:
        ValueError: another task; ``d_model`` odd or not divisible by ``n_heads``; ``e_layers < 1``; unknown
            ``activation``, ``embed`` or ``freq``; more than 5,000 time steps; ``p_hidden_dims`` that are not
            ``p_hidden_layers`` many. For forecasts: ``d_layers < 1``, ``pred_len < 1``, ``label_len`` not in 1 to
            ``seq_len``, ``dec_in`` not equal to ``enc_in``. For all but classification: ``c_out`` not equal to
            ``enc_in``. For classification: no ``num_class``. In ``forward``: an input of another rank, size or dtype or without a value, marks
            that do not fit ``freq`` and ``embed``; in imputation no ``mask``, or one with NaN or a series that is
            hidden throughout.

    Source: ``Model`` in Time-Series-Library's ``models/Nonstationary_Transformer.py``.
    """

    def __init__(
        self,
        *,
        task_name: str,
        seq_len: int,
        label_len: int,
        pred_len: int,
        enc_in: int,
        dec_in: int,
        c_out: int,
        d_model: int,
        n_heads: int,
        e_layers: int,
        d_layers: int,
        d_ff: int,
        dropout: float = 0.1,
        embed: str = "timeF",
        freq: str = "h",
        activation: str = "gelu",
        p_hidden_dims: Sequence[int] = (128, 128),
        p_hidden_layers: int = 2,
        num_class: int | None = None,
    ) -> None:
        super().__init__()
        self.task_name = require_task(task_name, num_class)
        require_sizes(seq_len=seq_len, enc_in=enc_in, dec_in=dec_in, c_out=c_out, d_model=d_model)
        require_places("seq_len", seq_len)
        if task_name != "classification":
            require_same_series(task_name, enc_in=enc_in, c_out=c_out)
        self.seq_len = seq_len
        self.pred_len = pred_len
        self.label_len = label_len
        self.enc_in = enc_in
        self.embed = embed
        self.freq = freq

        def attention(mask_flag: bool) -> AttentionLayer:
            return AttentionLayer(DSAttention(mask_flag, attention_dropout=dropout), d_model, n_heads)

        self.enc_embedding = DataEmbedding(enc_in, d_model, embed, freq, dropout)
        self.encoder = Encoder(
            [
                EncoderLayer(attention(False), d_model, d_ff, dropout=dropout, activation=activation)
                for _ in range(e_layers)
            ],
            norm_layer=nn.LayerNorm(d_model),
        )
        if task_name in FORECASTS:
            require_sizes(pred_len=pred_len)
            require_start(label_len, seq_len)
            require_places("label_len + pred_len", label_len + pred_len)
            require_same_series(task_name, enc_in=enc_in, dec_in=dec_in)
            self.dec_embedding = DataEmbedding(dec_in, d_model, embed, freq, dropout)
            self.decoder = Decoder(
                [
                    DecoderLayer(
                        attention(True), attention(False), d_model, d_ff, dropout=dropout, activation=activation
                    )
                    for _ in range(d_layers)
                ],
                norm_layer=nn.LayerNorm(d_model),
                projection=nn.Linear(d_model, c_out),
            )
        elif num_class is not None and task_name == "classification":
            self.dropout = nn.Dropout(dropout)
            self.projection = nn.Linear(d_model * seq_len, num_class)
        else:
            self.projection = nn.Linear(d_model, c_out)
        self.tau_learner = Projector(enc_in, seq_len, p_hidden_dims, p_hidden_layers, output_dim=1)
        self.delta_learner = Projector(enc_in, seq_len, p_hidden_dims, p_hidden_layers, output_dim=seq_len)

    def factors(
        self,
        x_raw: Float[Tensor, "B seq_len enc_in"],
        means: Float[Tensor, "B 1 enc_in"],
        stdev: Float[Tensor, "B 1 enc_in"],
    ) -> tuple[Float[Tensor, "B 1"], Float[Tensor, "B seq_len"]]:
        """``tau``, one positive factor a sample, and ``delta``, one shift for each time step of the encoder."""
        x_raw = x_raw.detach()
        tau = self.tau_learner(x_raw, stdev).clamp(max=LARGEST_LOG_TAU).exp()  # [B, 1]
        delta = self.delta_learner(x_raw, means)  # [B, seq_len]
        return tau, delta

    def forecast(
        self,
        x_enc: Float[Tensor, "B seq_len enc_in"],
        x_mark_enc: Real[Tensor, "B seq_len marks"] | None,
        x_dec: Float[Tensor, "B dec_len enc_in"] | None,
        x_mark_dec: Real[Tensor, "B dec_len marks"] | None,
    ) -> Float[Tensor, "B dec_len c_out"]:
        """All decoder positions, the known ones first. ``x_dec`` is not read."""
        x_raw = x_enc
        means = x_enc.mean(dim=1, keepdim=True).detach()  # [B, 1, enc_in]
        x_enc = x_enc - means
        stdev = torch.sqrt(x_enc.var(dim=1, keepdim=True, unbiased=False) + 1e-5).detach()  # [B, 1, enc_in]
        x_enc = x_enc / stdev
        tau, delta = self.factors(x_raw, means, stdev)

        enc_out = self.enc_embedding(x_enc, x_mark_enc)  # [B, seq_len, d_model]
        enc_out, attns = self.encoder(enc_out, tau=tau, delta=delta)
        x_dec = F.pad(x_enc[:, -self.label_len :], (0, 0, 0, self.pred_len))  # [B, dec_len, enc_in]
        dec_out = self.dec_embedding(x_dec, x_mark_dec)  # [B, dec_len, d_model]
        dec_out = self.decoder(dec_out, enc_out, tau=tau, delta=delta)  # [B, dec_len, c_out]
        return dec_out * stdev + means

    def imputation(
        self,
        x_enc: Float[Tensor, "B seq_len enc_in"],
        x_mark_enc: Real[Tensor, "B seq_len marks"] | None,
        mask: Shaped[Tensor, "B seq_len enc_in"],
    ) -> Float[Tensor, "B seq_len c_out"]:
        """Every time step again, the hidden ones filled in. ``x_enc`` is 0 where ``mask`` is 0."""
        x_raw = x_enc
        x_enc, means, stdev = masked_normalise(x_enc, mask)  # [B, seq_len, enc_in]
        tau, delta = self.factors(x_raw, means, stdev)
        enc_out = self.enc_embedding(x_enc, x_mark_enc)  # [B, seq_len, d_model]
        enc_out, attns = self.encoder(enc_out, tau=tau, delta=delta)
        return self.projection(enc_out) * stdev + means  # [B, seq_len, c_out]

    def anomaly_detection(self, x_enc: Float[Tensor, "B seq_len enc_in"]) -> Float[Tensor, "B seq_len c_out"]:
        """Every time step again: where it differs much from ``x_enc``, something was unusual. No marks."""
        return self.imputation(x_enc, None, torch.ones_like(x_enc))

    def classification(
        self, x_enc: Float[Tensor, "B seq_len enc_in"], x_mark_enc: Real[Tensor, "B seq_len"]
    ) -> Float[Tensor, "B num_class"]:
        """One score a class. ``x_mark_enc`` is 1 for a time step and 0 for padding after the end of a sample.

        The tokens are made of the raw values: only ``tau`` and ``delta`` see the statistics, padding included.
        """
        means = x_enc.mean(dim=1, keepdim=True).detach()  # [B, 1, enc_in]
        stdev = torch.sqrt(x_enc.var(dim=1, keepdim=True, unbiased=False) + 1e-5).detach()  # [B, 1, enc_in]
        tau, delta = self.factors(x_enc, means, stdev)
        enc_out = self.enc_embedding(x_enc, None)  # [B, seq_len, d_model]
        enc_out, attns = self.encoder(enc_out, tau=tau, delta=delta)
        output = self.dropout(F.gelu(enc_out))
        output = output * x_mark_enc.unsqueeze(-1)  # [B, seq_len, d_model]
        output = output.flatten(1)  # [B, seq_len*d_model]
        return self.projection(output)  # [B, num_class]

    def forward(
        self,
        x_enc: Float[Tensor, "B seq_len enc_in"],
        x_mark_enc: Real[Tensor, "B seq_len marks"] | Real[Tensor, "B seq_len"] | None,
        x_dec: Float[Tensor, "B dec_len enc_in"] | None,
        x_mark_dec: Real[Tensor, "B dec_len marks"] | None,
        mask: Shaped[Tensor, "B seq_len enc_in"] | None = None,
    ) -> Float[Tensor, "B pred_len c_out"] | Float[Tensor, "B seq_len c_out"] | Float[Tensor, "B num_class"]:
        """What ``task_name`` asks for; a forecast is the last ``pred_len`` positions of the decoder.

        Forecasts read ``x_mark_dec``; ``x_dec`` is checked if there is one, but not read; imputation reads ``mask`` (1 seen, 0 hidden); in classification
        ``x_mark_enc`` says which steps are no padding.

        Raises:
            ValueError: see the class.
        """
        check_input("x_enc", x_enc, self, B=None, seq_len=self.seq_len, enc_in=self.enc_in)
        B = x_enc.shape[0]
        if self.task_name == "classification":
            return self.classification(x_enc, check_input("x_mark_enc", x_mark_enc, B=B, seq_len=self.seq_len))
        if self.task_name == "anomaly_detection":
            return self.anomaly_detection(x_enc)
        check_marks("x_mark_enc", x_mark_enc, embed=self.embed, freq=self.freq, B=B, seq_len=self.seq_len)
        if self.task_name == "imputation":
            return self.imputation(x_enc, x_mark_enc, check_mask(mask, x_enc))
        dec_len = self.label_len + self.pred_len
        if x_dec is not None:
            check_input("x_dec", x_dec, self, B=B, dec_len=dec_len, dec_in=self.enc_in)
        check_marks("x_mark_dec", x_mark_dec, embed=self.embed, freq=self.freq, B=B, dec_len=dec_len)
        dec_out = self.forecast(x_enc, x_mark_enc, x_dec, x_mark_dec)  # [B, dec_len, c_out]
        return dec_out[:, -self.pred_len :, :]  # [B, pred_len, c_out]
