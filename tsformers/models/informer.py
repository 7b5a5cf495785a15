"""Informer (Zhou et al., AAAI 2021).

What differs from a Transformer: only some queries attend (ProbSparse attention); the encoder halves its tokens between
layers (distilling, ``ConvLayer``); the decoder gives all forecast steps at once, its unknown inputs being zeros.

Axes: B batch, H heads, L_Q queries, L_K keys, E and D widths per head, sample_k keys drawn a query, n_top queries kept.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, log, sqrt
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int, Real, Shaped
from torch import Tensor, nn
from torch.nn import functional as F

from tsformers.layers.attention import AttentionLayer, require_as_many
from tsformers.layers.decoder import Decoder, DecoderLayer
from tsformers.layers.embedding import DataEmbedding, require_places
from tsformers.layers.encoder import ConvLayer, Encoder, EncoderLayer
from tsformers.models.task import (
    FORECASTS,
    check_input,
    check_marks,
    check_unread_mask,
    require_same_series,
    require_sizes,
    require_start,
    require_task,
)

Draw = Callable[[int, tuple[int, int]], Tensor]


class ProbAttention(nn.Module):
    """Attention for the queries whose scores are least even; the mean of the values for all others.

    How uneven a query is, is estimated on ``sample_k`` keys drawn for it, the same for all samples and heads.

    Args:
        mask_flag: hide the keys after a query; the other queries then get the running sum of the values, not a mean.
        factor: how many queries and sampled keys: ``factor * ceil(ln L)``, at most L.
        scale: factor on the scores, positive; None means ``1 / sqrt(E)``.
        attention_dropout: kept for its rate; this attention drops nothing.
        output_attention: return the weights too.
        draw: gives the drawn keys, called as ``draw(L_K, (L_Q, sample_k))``; ``torch.randint`` by default, also in
            eval mode, so two calls differ unless the seed is set.
        variant: "library" computes as Time-Series-Library does: the result is (B, H, L_Q, D), which ``AttentionLayer``
            takes for (B, L_Q, H, D), and with one head the samples of a batch share their kept queries. "corrected"
            gives (B, L_Q, H, D) and keeps samples apart.

    Raises:
        ValueError: ``factor < 1``, ``scale`` not positive, unknown ``variant``. In ``forward``: one query or one key,
            of which ``ceil(ln 1) = 0`` would be kept; "library" with one sampled key, whose axis its bare ``squeeze``
            would take away; ``mask_flag`` with another number of keys than of queries.

    Source: ``ProbAttention`` in Time-Series-Library's ``layers/SelfAttention_Family.py``.
    """

    def __init__(
        self,
        mask_flag: bool = True,
        factor: int = 5,
        scale: float | None = None,
        attention_dropout: float = 0.1,
        output_attention: bool = False,
        draw: Draw = torch.randint,
        variant: Literal["library", "corrected"] = "library",
    ) -> None:
        super().__init__()
        if factor < 1:
            raise ValueError(f"factor ({factor}) 必须至少为 1")
        if scale is not None and scale <= 0:
            raise ValueError(f"scale ({scale}) 必须大于 0，或为 None（即 1 / sqrt(E)）")
        if variant not in ("library", "corrected"):
            raise ValueError(f"variant ({variant!r}) 必须是 'library' 或 'corrected'")
        self.factor = factor
        self.scale = scale
        self.mask_flag = mask_flag
        self.output_attention = output_attention
        self.dropout = nn.Dropout(attention_dropout)
        self.draw = draw
        self.variant = variant

    def _require_lengths(self, L_Q: int, L_K: int) -> None:
        if L_Q < 2 or L_K < 2:
            raise ValueError(f"L_Q ({L_Q}) 与 L_K ({L_K}) 都必须至少为 2：长度为 1 时 ceil(ln 1) = 0，一个也抽不到")
        if self.variant == "library" and min(self.factor * ceil(log(L_K)), L_K) < 2:
            raise ValueError(
                f"L_K ({L_K}) 太短：factor ({self.factor}) 下只抽到 1 个 key，"
                "variant='library' 的 squeeze 会去掉这一轴；加大 factor，或用 variant='corrected'"
            )

    def _prob_QK(
        self, Q: Float[Tensor, "B H L_Q E"], K: Float[Tensor, "B H L_K E"], sample_k: int, n_top: int
    ) -> tuple[Float[Tensor, "B _ n_top L_K"], Int[Tensor, "*_ n_top"]]:
        """Scores of the kept queries against every key, and which queries were kept, the most uneven first."""
        B, H, L_Q, E = Q.shape
        L_K = K.shape[2]
        index_sample = self.draw(L_K, (L_Q, sample_k))  # [L_Q, sample_k]
        K_sample = K[:, :, index_sample, :]  # [B, H, L_Q, sample_k, E]
        Q_K_sample = torch.matmul(Q.unsqueeze(-2), K_sample.transpose(-2, -1))  # [B, H, L_Q, 1, sample_k]
        # [B, H, L_Q, sample_k]
        Q_K_sample = Q_K_sample.squeeze() if self.variant == "library" else Q_K_sample.squeeze(-2)
        M = Q_K_sample.max(dim=-1).values - Q_K_sample.sum(dim=-1) / L_K  # [B, H, L_Q]
        M_top = M.topk(n_top).indices  # [B, H, n_top]
        b = torch.arange(B)[:, None, None]  # [B, 1, 1]
        h = torch.arange(H)[None, :, None]  # [1, H, 1]
        Q_reduce = Q[b, h, M_top, :]  # [B, H, n_top, E]
        Q_K = torch.matmul(Q_reduce, K.transpose(-2, -1))  # [B, H, n_top, L_K]
        return Q_K, M_top

    def _get_initial_context(self, V: Float[Tensor, "B H L_K D"], L_Q: int) -> Float[Tensor, "B H L_Q D"]:
        """What a query gets that does not attend."""
        if self.mask_flag:
            return V.cumsum(dim=-2)
        return V.mean(dim=-2, keepdim=True).expand(-1, -1, L_Q, -1)  # [B, H, L_Q, D]

    def _update_context(
        self,
        context: Float[Tensor, "B H L_Q D"],
        V: Float[Tensor, "B H L_K D"],
        scores: Float[Tensor, "B _ n_top L_K"],
        index: Int[Tensor, "*_ n_top"],
    ) -> tuple[Float[Tensor, "B H L_Q D"], Float[Tensor, "B H L_Q L_K"] | None]:
        """The rows of the kept queries replaced by what they attend to, and the weights if ``output_attention``.

        In the weights the other rows stand as even ones, also where they are a running sum.
        """
        B, H, L_Q, D = context.shape
        L_K = V.shape[2]
        if self.mask_flag:
            later = torch.ones(L_Q, L_K, dtype=torch.bool, device=V.device).triu(diagonal=1)  # [L_Q, L_K]
            scores = scores.masked_fill(later[index], float("-inf"))
        attn = torch.softmax(scores, dim=-1)
        b = torch.arange(B)[:, None, None]  # [B, 1, 1]
        h = torch.arange(H)[None, :, None]  # [1, H, 1]
        context = context.index_put((b, h, index), torch.matmul(attn, V))
        if not self.output_attention:
            return context, None
        even = torch.full((B, H, L_Q, L_K), 1 / L_K, dtype=attn.dtype, device=attn.device)
        return context, even.index_put((b, h, index), attn)

    def forward(
        self,
        queries: Float[Tensor, "B L_Q H E"],
        keys: Float[Tensor, "B L_K H E"],
        values: Float[Tensor, "B L_K H D"],
        attn_mask: Bool[Tensor, "B 1 L_Q L_K"] | None,
        tau: Tensor | None = None,
        delta: Tensor | None = None,
    ) -> tuple[Float[Tensor, "B _ _ D"], Float[Tensor, "B H L_Q L_K"] | None]:
        """What each query gets, axes as ``variant`` says. ``attn_mask``, ``tau`` and ``delta`` are not used here."""
        B, L_Q, H, E = queries.shape
        _, L_K, _, _ = keys.shape
        queries = queries.transpose(2, 1)  # [B, H, L_Q, E]
        keys = keys.transpose(2, 1)  # [B, H, L_K, E]
        values = values.transpose(2, 1)  # [B, H, L_K, D]
        if self.mask_flag:
            require_as_many(L_Q, L_K)
        self._require_lengths(L_Q, L_K)
        U_part = min(self.factor * ceil(log(L_K)), L_K)
        u = min(self.factor * ceil(log(L_Q)), L_Q)
        scores_top, index = self._prob_QK(queries, keys, sample_k=U_part, n_top=u)  # [B, H, u, L_K]
        scale = self.scale or 1 / sqrt(E)
        scores_top = scores_top * scale
        context = self._get_initial_context(values, L_Q)  # [B, H, L_Q, D]
        context, attn = self._update_context(context, values, scores_top, index)
        if self.variant == "corrected":
            context = context.transpose(2, 1)  # [B, L_Q, H, D]
        return context.contiguous(), attn


class Informer(nn.Module):
    """Embeddings, a distilling encoder, a decoder that starts from ``label_len`` known steps and ``pred_len`` zeros.

    The other tasks use the encoder alone, without distilling: one vector a time step, then a linear map. The decoder is
    built all the same, as in Time-Series-Library, so that its checkpoints load; nothing calls it.

    Args:
        task_name: "long_term_forecast"; "short_term_forecast", which normalises ``x_enc`` (not ``x_dec``);
            "imputation", "anomaly_detection" (no marks), or "classification".
        seq_len, label_len, pred_len: given time steps; those the decoder gets again; those it forecasts.
        enc_in, dec_in, c_out: number of series of encoder input, decoder input and output.
        d_model, n_heads, e_layers, d_layers, d_ff: sizes of encoder and decoder.
        factor: see ``ProbAttention``.
        dropout: one rate everywhere.
        embed, freq: see ``DataEmbedding``.
        activation: "relu" or "gelu".
        distil: a ``ConvLayer`` between encoder layers; in forecasts only.
        draw, variant: see ``ProbAttention``.
        num_class: number of classes; only "classification" reads it, and needs it.

    Raises:
        ValueError: another task; ``d_model`` odd or not divisible by ``n_heads``; ``e_layers < 1`` or ``d_layers < 1``;
            unknown ``activation``, ``embed`` or ``freq``; fewer than two sampled keys, so too short a ``seq_len`` or
            ``label_len + pred_len``; more than 5,000 time steps. For forecasts: ``pred_len < 1``, ``label_len`` not in
            1 to ``seq_len``; for the short-term one, ``c_out`` not equal to ``enc_in``. For classification: no
            ``num_class``. In ``forward``: an input of another rank, size or dtype or without a value, marks that do not fit ``freq`` and
            ``embed``, a ``mask`` with NaN.

    Source: ``Model`` in Time-Series-Library's ``models/Informer.py``.
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
        factor: int = 1,
        dropout: float = 0.1,
        embed: str = "timeF",
        freq: str = "h",
        activation: str = "gelu",
        distil: bool = True,
        draw: Draw = torch.randint,
        variant: Literal["library", "corrected"] = "library",
        num_class: int | None = None,
    ) -> None:
        super().__init__()
        self.task_name = require_task(task_name, num_class)
        require_sizes(seq_len=seq_len, enc_in=enc_in, dec_in=dec_in, c_out=c_out, d_model=d_model)
        require_places("seq_len", seq_len)
        forecasts = task_name in FORECASTS
        if forecasts:
            require_sizes(pred_len=pred_len)
            require_start(label_len, seq_len)
            require_places("label_len + pred_len", label_len + pred_len)
        if task_name == "short_term_forecast":
            require_same_series(task_name, enc_in=enc_in, c_out=c_out)
        self.seq_len = seq_len
        self.pred_len = pred_len
        self.label_len = label_len
        self.enc_in = enc_in
        self.dec_in = dec_in
        self.embed = embed
        self.freq = freq
        distil = distil and forecasts

        def attention(mask_flag: bool) -> AttentionLayer:
            inner = ProbAttention(mask_flag, factor, attention_dropout=dropout, draw=draw, variant=variant)
            return AttentionLayer(inner, d_model, n_heads)

        self.enc_embedding = DataEmbedding(enc_in, d_model, embed, freq, dropout)
        self.dec_embedding = DataEmbedding(dec_in, d_model, embed, freq, dropout)
        self.encoder = Encoder(
            [
                EncoderLayer(attention(False), d_model, d_ff, dropout=dropout, activation=activation)
                for _ in range(e_layers)
            ],
            [ConvLayer(d_model) for _ in range(e_layers - 1)] if distil else None,
            norm_layer=nn.LayerNorm(d_model),
        )
        self.decoder = Decoder(
            [
                DecoderLayer(attention(True), attention(False), d_model, d_ff, dropout=dropout, activation=activation)
                for _ in range(d_layers)
            ],
            norm_layer=nn.LayerNorm(d_model),
            projection=nn.Linear(d_model, c_out),
        )
        if task_name in ("imputation", "anomaly_detection"):
            self.projection = nn.Linear(d_model, c_out)
        if num_class is not None and task_name == "classification":
            self.dropout = nn.Dropout(dropout)
            self.projection = nn.Linear(d_model * seq_len, num_class)
        lengths = {"seq_len": seq_len} | ({"label_len + pred_len": label_len + pred_len} if forecasts else {})
        for name, length in lengths.items():
            if length < 2 or min(factor * ceil(log(length)), length) < 2:
                raise ValueError(f"{name} ({length}) 太短：factor ({factor}) 下 ProbAttention 抽不到两个 key")

    def long_forecast(
        self,
        x_enc: Float[Tensor, "B seq_len enc_in"],
        x_mark_enc: Real[Tensor, "B seq_len marks"] | None,
        x_dec: Float[Tensor, "B dec_len dec_in"],
        x_mark_dec: Real[Tensor, "B dec_len marks"] | None,
    ) -> Float[Tensor, "B dec_len c_out"]:
        """All decoder positions, the known ones first."""
        enc_out = self.enc_embedding(x_enc, x_mark_enc)  # [B, seq_len, d_model]
        dec_out = self.dec_embedding(x_dec, x_mark_dec)  # [B, dec_len, d_model]
        enc_out, attns = self.encoder(enc_out)  # [B, enc_seq, d_model]
        dec_out = self.decoder(dec_out, enc_out)  # [B, dec_len, c_out]
        return dec_out

    def short_forecast(
        self,
        x_enc: Float[Tensor, "B seq_len enc_in"],
        x_mark_enc: Real[Tensor, "B seq_len marks"] | None,
        x_dec: Float[Tensor, "B dec_len dec_in"],
        x_mark_dec: Real[Tensor, "B dec_len marks"] | None,
    ) -> Float[Tensor, "B dec_len c_out"]:
        """The same around a normalised ``x_enc``; ``x_dec`` stays as it is, as in Time-Series-Library."""
        means = x_enc.mean(dim=1, keepdim=True).detach()  # [B, 1, enc_in]
        x_enc = x_enc - means
        stdev = torch.sqrt(x_enc.var(dim=1, keepdim=True, unbiased=False) + 1e-5).detach()  # [B, 1, enc_in]
        x_enc = x_enc / stdev
        dec_out = self.long_forecast(x_enc, x_mark_enc, x_dec, x_mark_dec)  # [B, dec_len, c_out]
        return dec_out * stdev + means

    def imputation(
        self, x_enc: Float[Tensor, "B seq_len enc_in"], x_mark_enc: Real[Tensor, "B seq_len marks"] | None
    ) -> Float[Tensor, "B seq_len c_out"]:
        """Every time step again, the hidden ones filled in. Nothing is normalised, and no mask is read."""
        enc_out = self.enc_embedding(x_enc, x_mark_enc)  # [B, seq_len, d_model]
        enc_out, attns = self.encoder(enc_out)
        return self.projection(enc_out)  # [B, seq_len, c_out]

    def anomaly_detection(self, x_enc: Float[Tensor, "B seq_len enc_in"]) -> Float[Tensor, "B seq_len c_out"]:
        """Every time step again: where it differs much from ``x_enc``, something was unusual. No marks."""
        return self.imputation(x_enc, None)

    def classification(
        self, x_enc: Float[Tensor, "B seq_len enc_in"], x_mark_enc: Real[Tensor, "B seq_len"]
    ) -> Float[Tensor, "B num_class"]:
        """One score a class. ``x_mark_enc`` is 1 for a time step and 0 for padding after the end of a sample."""
        enc_out = self.enc_embedding(x_enc, None)  # [B, seq_len, d_model]
        enc_out, attns = self.encoder(enc_out)
        output = self.dropout(F.gelu(enc_out))
        output = output * x_mark_enc.unsqueeze(-1)  # [B, seq_len, d_model]
        output = output.flatten(1)  # [B, seq_len*d_model]
        return self.projection(output)  # [B, num_class]

    def forward(
        self,
        x_enc: Float[Tensor, "B seq_len enc_in"],
        x_mark_enc: Real[Tensor, "B seq_len marks"] | Real[Tensor, "B seq_len"] | None,
        x_dec: Float[Tensor, "B dec_len dec_in"] | None,
        x_mark_dec: Real[Tensor, "B dec_len marks"] | None,
        mask: Shaped[Tensor, "B seq_len enc_in"] | None = None,
    ) -> Float[Tensor, "B pred_len c_out"] | Float[Tensor, "B seq_len c_out"] | Float[Tensor, "B num_class"]:
        """What ``task_name`` asks for; a forecast is the last ``pred_len`` positions of the decoder.

        Forecasts read ``x_dec`` and ``x_mark_dec``; in classification ``x_mark_enc`` says which steps are no padding.
        ``mask`` is checked in imputation, but this model does not read it.

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
            check_unread_mask(mask, x_enc)
            return self.imputation(x_enc, x_mark_enc)
        dec_len = self.label_len + self.pred_len
        x_dec = check_input("x_dec", x_dec, self, B=B, dec_len=dec_len, dec_in=self.dec_in)
        check_marks("x_mark_dec", x_mark_dec, embed=self.embed, freq=self.freq, B=B, dec_len=dec_len)
        if self.task_name == "short_term_forecast":
            dec_out = self.short_forecast(x_enc, x_mark_enc, x_dec, x_mark_dec)  # [B, dec_len, c_out]
        else:
            dec_out = self.long_forecast(x_enc, x_mark_enc, x_dec, x_mark_dec)  # [B, dec_len, c_out]
        return dec_out[:, -self.pred_len :, :]  # [B, pred_len, c_out]
