"""Layer 0: a series cut into windows, the decoder's input, one training step.

What a model gets is always the same four tensors, whether it reads them or not; ``y`` is what it should have said. A
window is ``seq_len`` known steps and the ``pred_len`` steps after them, and the next window starts one step later.

Axes: steps of the series, B windows, C series, marks calendar features of a step, targets series that are forecast.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

FEATURES = ("M", "S", "MS")


def windows(
    series: Float[Tensor, "steps C"],
    marks: Float[Tensor, "steps marks"] | Int[Tensor, "steps marks"],
    seq_len: int,
    label_len: int,
    pred_len: int,
    features: str = "M",
) -> tuple[
    Float[Tensor, "B seq_len C"],
    Float[Tensor, "B seq_len marks"] | Int[Tensor, "B seq_len marks"],
    Float[Tensor, "B dec_len C"],
    Float[Tensor, "B dec_len marks"] | Int[Tensor, "B dec_len marks"],
    Float[Tensor, "B pred_len targets"],
]:
    """Every window of a series, oldest first: ``x_enc, x_mark_enc, x_dec, x_mark_dec, y``.

    ``B = steps - seq_len - pred_len + 1``. All but ``x_dec`` are views of the arguments: windows overlap in memory.

    Args:
        series: one row a time step, in the order of time, without gaps.
        marks: the calendar features of the same time steps, also of those to be forecast: the calendar is known.
        seq_len: known time steps of a window.
        label_len: how many of them, the newest, the decoder gets again; 0 for none.
        pred_len: time steps to forecast.
        features: "M" forecasts all series; "S" says that there is but one; "MS" forecasts the last one from all.

    Raises:
        ValueError: a rank other than 2; a different number of rows; ``series`` not real or with NaN; ``seq_len < 1``,
            ``pred_len < 1``, ``label_len`` not in 0 to ``seq_len``; a series shorter than one window; unknown
            ``features``, or "S" with another number of series than one.

    Source: ``Dataset_Custom`` in Time-Series-Library's ``data_provider/data_loader.py``.
    """
    _require_series(series, marks, features)
    _require_lengths(seq_len, label_len, pred_len)
    B = len(series) - (seq_len + pred_len) + 1
    if B < 1:
        raise ValueError(f"series 只有 {len(series)} 步，短于 seq_len ({seq_len}) + pred_len ({pred_len})")
    span = series.unfold(0, seq_len + pred_len, 1)  # [B, C, seq_len+pred_len]
    span = span.transpose(1, 2)  # [B, seq_len+pred_len, C]
    span_mark = marks.unfold(0, seq_len + pred_len, 1)  # [B, marks, seq_len+pred_len]
    span_mark = span_mark.transpose(1, 2)  # [B, seq_len+pred_len, marks]

    x_enc = span[:, :seq_len]  # [B, seq_len, C]
    x_mark_enc = span_mark[:, :seq_len]  # [B, seq_len, marks]
    x_dec = decoder_input(x_enc, label_len, pred_len)  # [B, label_len+pred_len, C]
    x_mark_dec = span_mark[:, seq_len - label_len :]  # [B, label_len+pred_len, marks]
    y = span[:, seq_len:]  # [B, pred_len, C]
    if features == "MS":
        y = y[:, :, -1:]  # [B, pred_len, 1]
    return x_enc, x_mark_enc, x_dec, x_mark_dec, y


def decoder_input(x_enc: Float[Tensor, "B seq_len C"], label_len: int, pred_len: int) -> Float[Tensor, "B dec_len C"]:
    """The newest ``label_len`` known steps, then ``pred_len`` zeros where the forecast will stand.

    Nothing of the future is in it. With a ``label_len`` of 0 it is all zeros.

    Raises:
        ValueError: ``label_len`` not in 0 to ``seq_len``, ``pred_len < 1``.

    Source: ``Exp_Long_Term_Forecast`` in Time-Series-Library's ``exp/exp_long_term_forecasting.py``.
    """
    B, seq_len, C = x_enc.shape
    _require_lengths(seq_len, label_len, pred_len)
    known = x_enc[:, seq_len - label_len :]  # [B, label_len, C]
    unknown = x_enc.new_zeros(B, pred_len, C)  # [B, pred_len, C]
    return torch.cat([known, unknown], dim=1)  # [B, label_len+pred_len, C]


def training_step(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    x_enc: Float[Tensor, "B seq_len C"],
    x_mark_enc: Float[Tensor, "B seq_len marks"] | Int[Tensor, "B seq_len marks"] | None,
    x_dec: Float[Tensor, "B dec_len C"] | None,
    x_mark_dec: Float[Tensor, "B dec_len marks"] | Int[Tensor, "B dec_len marks"] | None,
    y: Float[Tensor, "B pred_len targets"],
) -> Float[Tensor, ""]:
    """One step of ``optimizer`` on the mean squared error of a batch; the error before that step.

    ``model`` is used in the mode it is in: call ``model.train()`` first. Its last ``targets`` series are compared, so
    a model that forecasts all series can be trained on the last one alone.

    Raises:
        ValueError: the forecast has another size than ``y``: without this, the error would be taken over a broadcast.

    Source: ``Exp_Long_Term_Forecast`` in Time-Series-Library's ``exp/exp_long_term_forecasting.py``.
    """
    _, _, targets = y.shape
    outputs = model(x_enc, x_mark_enc, x_dec, x_mark_dec)[:, :, -targets:]  # [B, pred_len, targets]
    if outputs.shape != y.shape:
        raise ValueError(f"模型输出的形状 {tuple(outputs.shape)} 必须等于 y 的形状 {tuple(y.shape)}")
    loss = F.mse_loss(outputs, y)  # []
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.detach()


def _require_series(series: Tensor, marks: Tensor, features: str) -> None:
    for name, tensor in (("series", series), ("marks", marks)):
        if tensor.dim() != 2:
            raise ValueError(f"{name} 必须是 2 维（时间步, 列），实际形状是 {tuple(tensor.shape)}")
    if len(series) != len(marks):
        raise ValueError(f"series 的步数 ({len(series)}) 必须等于 marks 的步数 ({len(marks)})")
    if series.shape[1] < 1:
        raise ValueError(f"series 的列数 ({series.shape[1]}) 必须至少为 1")
    if not series.is_floating_point():
        raise ValueError(f"series 必须是浮点数，实际 dtype 是 {series.dtype}")
    missing = series.isnan().any(dim=1).nonzero()
    if len(missing):
        raise ValueError(f"series 有 {len(missing)} 步含 NaN，第一处是第 {int(missing[0])} 步（从 0 数起）")
    if features not in FEATURES:
        raise ValueError(f"features ({features!r}) 必须是 {'、'.join(map(repr, FEATURES))} 之一")
    if features == "S" and series.shape[1] != 1:
        raise ValueError(f"features 为 'S' 时 series 只能有 1 列，实际有 {series.shape[1]} 列")


def _require_lengths(seq_len: int, label_len: int, pred_len: int) -> None:
    if seq_len < 1:
        raise ValueError(f"seq_len ({seq_len}) 必须至少为 1")
    if pred_len < 1:
        raise ValueError(f"pred_len ({pred_len}) 必须至少为 1")
    if not 0 <= label_len <= seq_len:
        raise ValueError(f"label_len ({label_len}) 必须在 0 到 seq_len ({seq_len}) 之间")
