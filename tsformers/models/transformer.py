"""Transformer (Vaswani et al., NeurIPS 2017), on time steps, as the other models are compared with.

A token is one time step with all its series. The decoder gives all forecast steps at once: its unknown inputs are
zeros. Nothing is normalised around it.

Axes: B batch, seq_len, dec_len and pred_len time steps, enc_in, dec_in and c_out series, marks calendar features.
"""

from __future__ import annotations

from jaxtyping import Float, Real, Shaped
from torch import Tensor, nn
from torch.nn import functional as F

from tsformers.layers.attention import AttentionLayer, FullAttention
from tsformers.layers.decoder import Decoder, DecoderLayer
from tsformers.layers.embedding import DataEmbedding, require_places
from tsformers.layers.encoder import Encoder, EncoderLayer
from tsformers.models.task import (
    FORECASTS,
    check_input,
    check_marks,
    check_unread_mask,
    require_sizes,
    require_start,
    require_task,
)


class Transformer(nn.Module):
    """Embeddings, an encoder, a decoder that starts from ``label_len`` known steps and ``pred_len`` zeros.

    The other tasks use an encoder alone: one vector a time step, then a linear map.

    Args:
        task_name: "long_term_forecast" or "short_term_forecast", which are the same here; "imputation",
            "anomaly_detection" (no marks), or "classification".
        seq_len, label_len, pred_len: given time steps; those the decoder gets again; those it forecasts.
        enc_in, dec_in, c_out: number of series of encoder input, decoder input and output.
        d_model, n_heads, e_layers, d_layers, d_ff: sizes of encoder and decoder.
        dropout: one rate everywhere.
        embed, freq: see ``DataEmbedding``.
        activation: "relu" or "gelu".
        num_class: number of classes; only "classification" reads it, and needs it.

    Raises:
        ValueError: another task; ``d_model`` odd or not divisible by ``n_heads``; ``e_layers < 1``; unknown
            ``activation``, ``embed`` or ``freq``; more than 5,000 time steps. For forecasts: ``d_layers < 1``,
            ``pred_len < 1``, ``label_len`` not in 1 to ``seq_len``. For classification: no ``num_class``. In
            ``forward``: an input of another rank, size or dtype or without a value, marks that do not fit ``freq`` and ``embed``, a ``mask`` with
            NaN.

    Source: ``Model`` in Time-Series-Library's ``models/Transformer.py``.
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
        num_class: int | None = None,
    ) -> None:
        super().__init__()
        self.task_name = require_task(task_name, num_class)
        require_sizes(seq_len=seq_len, enc_in=enc_in, dec_in=dec_in, c_out=c_out, d_model=d_model)
        require_places("seq_len", seq_len)
        self.seq_len = seq_len
        self.pred_len = pred_len
        self.label_len = label_len
        self.enc_in = enc_in
        self.dec_in = dec_in
        self.embed = embed
        self.freq = freq

        def attention(mask_flag: bool) -> AttentionLayer:
            return AttentionLayer(FullAttention(mask_flag, attention_dropout=dropout), d_model, n_heads)

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

    def forecast(
        self,
        x_enc: Float[Tensor, "B seq_len enc_in"],
        x_mark_enc: Real[Tensor, "B seq_len marks"] | None,
        x_dec: Float[Tensor, "B dec_len dec_in"],
        x_mark_dec: Real[Tensor, "B dec_len marks"] | None,
    ) -> Float[Tensor, "B dec_len c_out"]:
        """All decoder positions, the known ones first."""
        enc_out = self.enc_embedding(x_enc, x_mark_enc)  # [B, seq_len, d_model]
        enc_out, attns = self.encoder(enc_out)
        dec_out = self.dec_embedding(x_dec, x_mark_dec)  # [B, dec_len, d_model]
        return self.decoder(dec_out, enc_out)  # [B, dec_len, c_out]

    def imputation(
        self, x_enc: Float[Tensor, "B seq_len enc_in"], x_mark_enc: Real[Tensor, "B seq_len marks"] | None
    ) -> Float[Tensor, "B seq_len c_out"]:
        """Every time step again, the hidden ones filled in. No mask is read."""
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
        dec_out = self.forecast(x_enc, x_mark_enc, x_dec, x_mark_dec)  # [B, dec_len, c_out]
        return dec_out[:, -self.pred_len :, :]  # [B, pred_len, c_out]
