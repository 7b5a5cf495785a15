"""PatchTST (Nie et al., ICLR 2023, "A Time Series is Worth 64 Words").

What differs from a Transformer on time steps: a token is a patch, a window of ``patch_len`` steps of one series; and
every series is a sample of its own, so the encoder's batch is B*C (channel independence).

Axes: B batch, C series, seq_len given steps, patch_num patches, d_model width of a token, pred_len forecast steps.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Real, Shaped
from torch import Tensor, nn

from tsformers.layers.attention import AttentionLayer, FullAttention
from tsformers.layers.embedding import PositionalEmbedding, require_places
from tsformers.layers.encoder import Encoder, EncoderLayer
from tsformers.layers.normalisation import masked_normalise
from tsformers.models.task import FORECASTS, check_input, check_mask, require_sizes, require_task


class PatchEmbedding(nn.Module):
    """Cut every series into overlapping patches, one token a patch.

    The last value is repeated ``padding`` times first: with ``padding = stride`` that makes one patch more, so the
    newest steps are never cut off.

    Args:
        d_model: width of a token, even.
        patch_len, stride: width of a patch and the distance from one to the next, in time steps.
        padding: how often the last value is repeated, in time steps.
        dropout: rate on the tokens.

    Raises:
        ValueError: odd ``d_model``, ``patch_len < 1`` or ``stride < 1``; in ``forward``, more than 5,000 patches.

    Source: ``PatchEmbedding`` in Time-Series-Library's ``layers/Embed.py``.
    """

    def __init__(self, d_model: int, patch_len: int, stride: int, padding: int, dropout: float) -> None:
        super().__init__()
        if patch_len < 1 or stride < 1:
            raise ValueError(f"patch_len ({patch_len}) 与 stride ({stride}) 都必须至少为 1")
        self.patch_len = patch_len
        self.stride = stride
        self.padding_patch_layer = nn.ReplicationPad1d((0, padding))
        self.value_embedding = nn.Linear(patch_len, d_model, bias=False)
        self.position_embedding = PositionalEmbedding(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "B C seq_len"]) -> tuple[Float[Tensor, "B*C patch_num d_model"], int]:
        """The tokens, all series of the first sample first, and C, which undoes the merging of B and C."""
        B, n_vars, _ = x.shape
        x = self.padding_patch_layer(x)  # [B, C, padded_len]
        x = x.unfold(dimension=-1, size=self.patch_len, step=self.stride)  # [B, C, patch_num, patch_len]
        x = x.reshape(B * n_vars, -1, self.patch_len)  # [B*C, patch_num, patch_len]
        x = self.value_embedding(x) + self.position_embedding(x)  # [B*C, patch_num, d_model]
        return self.dropout(x), n_vars


class Transpose(nn.Module):
    """The axes ``dims`` exchanged, as a module, so that it can stand in an ``nn.Sequential``: here always 1 and 2.

    Source: ``Transpose`` in Time-Series-Library's ``models/PatchTST.py``.
    """

    def __init__(self, *dims: int) -> None:
        super().__init__()
        self.dims = dims

    def forward(self, x: Float[Tensor, "B rows columns"]) -> Float[Tensor, "B columns rows"]:
        """A view: nothing is copied."""
        return x.transpose(*self.dims)  # [B, columns, rows]


class FlattenHead(nn.Module):
    """All tokens of a series side by side, one linear map from them to the forecast; shared by the series.

    Args:
        n_vars: C.
        nf: width of the flattened tokens, ``d_model * patch_num``.
        target_window: forecast steps.
        head_dropout: rate on the forecast.

    Source: ``FlattenHead`` in Time-Series-Library's ``models/PatchTST.py``.
    """

    def __init__(self, n_vars: int, nf: int, target_window: int, head_dropout: float = 0) -> None:
        super().__init__()
        self.n_vars = n_vars
        self.flatten = nn.Flatten(start_dim=-2)
        self.linear = nn.Linear(nf, target_window)
        self.dropout = nn.Dropout(head_dropout)

    def forward(self, x: Float[Tensor, "B C d_model patch_num"]) -> Float[Tensor, "B C pred_len"]:
        """All steps of every series at once, in the scale of the tokens."""
        x = self.flatten(x)  # [B, C, d_model*patch_num]
        x = self.linear(x)  # [B, C, pred_len]
        return self.dropout(x)


class PatchTST(nn.Module):
    """Patches, an encoder on each series alone, a linear head; values normalised per sample and series around it.

    Imputation and anomaly detection give ``seq_len`` steps in place of ``pred_len``; imputation normalises by the steps
    that are seen. Classification reads the tokens of all series at once.

    Args:
        task_name: "long_term_forecast" or "short_term_forecast", which are the same here; "imputation",
            "anomaly_detection" or "classification".
        seq_len, pred_len: given and forecast time steps.
        enc_in: C, the number of series.
        d_model, n_heads, e_layers, d_ff: sizes of the encoder.
        dropout: one rate everywhere.
        activation: "relu" or "gelu".
        patch_len, stride: width of a patch and the distance from one to the next, in time steps.
        num_class: number of classes; only "classification" reads it, and needs it.

    Raises:
        ValueError: another task; ``seq_len < patch_len``; ``d_model`` odd or not divisible by ``n_heads``;
            ``e_layers < 1``; unknown ``activation``; more than 5,000 patches; ``pred_len < 1`` for a forecast; no
            ``num_class`` for classification. In ``forward``: an input of another rank, size or dtype or without a value; in imputation no
            ``mask``, or one with NaN or a series that is hidden throughout.

    Source: ``Model`` in Time-Series-Library's ``models/PatchTST.py``.
    """

    def __init__(
        self,
        *,
        task_name: str,
        seq_len: int,
        pred_len: int,
        enc_in: int,
        d_model: int,
        n_heads: int,
        e_layers: int,
        d_ff: int,
        dropout: float = 0.1,
        activation: str = "gelu",
        patch_len: int = 16,
        stride: int = 8,
        num_class: int | None = None,
    ) -> None:
        super().__init__()
        if seq_len < patch_len:
            raise ValueError(f"seq_len ({seq_len}) 不能小于 patch_len ({patch_len})")
        self.task_name = require_task(task_name, num_class)
        require_sizes(enc_in=enc_in, d_model=d_model)
        self.seq_len = seq_len
        self.pred_len = pred_len
        self.enc_in = enc_in
        self.patch_embedding = PatchEmbedding(d_model, patch_len, stride, padding=stride, dropout=dropout)
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
            norm_layer=nn.Sequential(Transpose(1, 2), nn.BatchNorm1d(d_model), Transpose(1, 2)),
        )
        require_places("patch_num", (seq_len - patch_len) // stride + 2)
        self.head_nf = d_model * ((seq_len - patch_len) // stride + 2)
        if task_name in FORECASTS:
            require_sizes(pred_len=pred_len)
            self.head = FlattenHead(enc_in, self.head_nf, pred_len, head_dropout=dropout)
        elif num_class is not None and task_name == "classification":
            self.dropout = nn.Dropout(dropout)
            self.projection = nn.Linear(self.head_nf * enc_in, num_class)
        else:
            self.head = FlattenHead(enc_in, self.head_nf, seq_len, head_dropout=dropout)

    def encode(self, x_enc: Float[Tensor, "B seq_len C"]) -> Float[Tensor, "B C d_model patch_num"]:
        """The tokens of every series after the encoder, patches last, so that the head can lay them side by side."""
        x_enc = x_enc.permute(0, 2, 1)  # [B, C, seq_len]
        enc_out, n_vars = self.patch_embedding(x_enc)  # [B*C, patch_num, d_model]
        enc_out, attns = self.encoder(enc_out)
        enc_out = enc_out.unflatten(0, (-1, n_vars))  # [B, C, patch_num, d_model]
        return enc_out.permute(0, 1, 3, 2)  # [B, C, d_model, patch_num]

    def forecast(
        self,
        x_enc: Float[Tensor, "B seq_len C"],
        x_mark_enc: Real[Tensor, "B seq_len marks"] | None,
        x_dec: Float[Tensor, "B dec_len C"] | None,
        x_mark_dec: Real[Tensor, "B dec_len marks"] | None,
    ) -> Float[Tensor, "B pred_len C"]:
        """Reads ``x_enc`` alone."""
        means = x_enc.mean(dim=1, keepdim=True).detach()  # [B, 1, C]
        x_enc = x_enc - means
        stdev = torch.sqrt(x_enc.var(dim=1, keepdim=True, unbiased=False) + 1e-5)  # [B, 1, C]
        x_enc = x_enc / stdev

        enc_out = self.encode(x_enc)  # [B, C, d_model, patch_num]
        dec_out = self.head(enc_out)  # [B, C, pred_len]
        dec_out = dec_out.permute(0, 2, 1)  # [B, pred_len, C]

        dec_out = dec_out * stdev + means
        return dec_out

    def imputation(
        self, x_enc: Float[Tensor, "B seq_len C"], mask: Shaped[Tensor, "B seq_len C"]
    ) -> Float[Tensor, "B seq_len C"]:
        """Every time step again, the hidden ones filled in. ``x_enc`` is 0 where ``mask`` is 0."""
        x_enc, means, stdev = masked_normalise(x_enc, mask)  # [B, seq_len, C]
        dec_out = self.head(self.encode(x_enc))  # [B, C, seq_len]
        return dec_out.permute(0, 2, 1) * stdev + means  # [B, seq_len, C]

    def anomaly_detection(self, x_enc: Float[Tensor, "B seq_len C"]) -> Float[Tensor, "B seq_len C"]:
        """Every time step again: where it differs much from ``x_enc``, something was unusual."""
        return self.forecast(x_enc, None, None, None)

    def classification(self, x_enc: Float[Tensor, "B seq_len C"]) -> Float[Tensor, "B num_class"]:
        """One score a class, from all tokens of all series side by side. Padded time steps count as they are."""
        means = x_enc.mean(dim=1, keepdim=True).detach()  # [B, 1, C]
        x_enc = x_enc - means
        stdev = torch.sqrt(x_enc.var(dim=1, keepdim=True, unbiased=False) + 1e-5)  # [B, 1, C]
        x_enc = x_enc / stdev

        output = self.dropout(self.encode(x_enc).flatten(1))  # [B, C*head_nf]
        return self.projection(output)  # [B, num_class]

    def forward(
        self,
        x_enc: Float[Tensor, "B seq_len C"],
        x_mark_enc: Real[Tensor, "B seq_len marks"] | Real[Tensor, "B seq_len"] | None,
        x_dec: Float[Tensor, "B dec_len C"] | None,
        x_mark_dec: Real[Tensor, "B dec_len marks"] | None,
        mask: Shaped[Tensor, "B seq_len C"] | None = None,
    ) -> Float[Tensor, "B pred_len C"] | Float[Tensor, "B seq_len C"] | Float[Tensor, "B num_class"]:
        """What ``task_name`` asks for, from ``x_enc``; imputation reads ``mask`` too (1 seen, 0 hidden).

        Raises:
            ValueError: see the class.
        """
        check_input("x_enc", x_enc, self, B=None, seq_len=self.seq_len, enc_in=self.enc_in)
        if self.task_name == "imputation":
            return self.imputation(x_enc, check_mask(mask, x_enc))
        if self.task_name == "anomaly_detection":
            return self.anomaly_detection(x_enc)
        if self.task_name == "classification":
            return self.classification(x_enc)
        dec_out = self.forecast(x_enc, x_mark_enc, x_dec, x_mark_dec)  # [B, pred_len, C]
        return dec_out[:, -self.pred_len :, :]  # [B, pred_len, C]
