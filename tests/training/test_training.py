"""Layer 0: which steps a window holds, what the decoder is told, what one step of training does."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

from tsformers.models.create import MODELS, create_model
from tsformers.training import decoder_input, training_step, windows

SEQ_LEN, LABEL_LEN, PRED_LEN, C, MARKS, STEPS = 10, 4, 7, 3, 5, 29


def counted(steps: int, columns: int, start: int = 0) -> Tensor:
    """No two numbers alike: row ``t`` holds ``start + 100 t`` and what follows it."""
    return start + 100.0 * torch.arange(steps)[:, None] + torch.arange(columns)


SERIES, CALENDAR = counted(STEPS, C), counted(STEPS, MARKS, start=50)


@pytest.mark.parametrize("label_len", [0, 1, LABEL_LEN, SEQ_LEN])
def test_a_window_holds_the_steps_that_it_should(label_len: int) -> None:
    x_enc, x_mark_enc, x_dec, x_mark_dec, y = windows(SERIES, CALENDAR, SEQ_LEN, label_len, PRED_LEN)
    assert len(x_enc) == STEPS - SEQ_LEN - PRED_LEN + 1
    for i in range(len(x_enc)):
        now, first, end = i + SEQ_LEN, i + SEQ_LEN - label_len, i + SEQ_LEN + PRED_LEN
        assert torch.equal(x_enc[i], SERIES[i:now])
        assert torch.equal(x_mark_enc[i], CALENDAR[i:now])
        assert torch.equal(x_dec[i], torch.cat([SERIES[first:now], torch.zeros(PRED_LEN, C)]))
        assert torch.equal(x_mark_dec[i], CALENDAR[first:end])
        assert torch.equal(y[i], SERIES[now:end])


def test_windows_are_counted() -> None:
    assert len(windows(counted(100, 1), counted(100, 1), 10, 5, 7)[0]) == 84
    assert len(windows(counted(17, 1), counted(17, 1), 10, 5, 7)[0]) == 1


def test_windows_but_for_the_decoder_input_are_views() -> None:
    x_enc, x_mark_enc, x_dec, x_mark_dec, y = windows(SERIES, CALENDAR, SEQ_LEN, LABEL_LEN, PRED_LEN)
    places = {SERIES.untyped_storage().data_ptr(), CALENDAR.untyped_storage().data_ptr()}
    assert {t.untyped_storage().data_ptr() for t in (x_enc, x_mark_enc, x_mark_dec, y)} == places
    assert x_dec.untyped_storage().data_ptr() not in places


def test_integer_marks_stay_integers() -> None:
    _, x_mark_enc, _, x_mark_dec, _ = windows(SERIES, CALENDAR.long(), SEQ_LEN, LABEL_LEN, PRED_LEN)
    assert x_mark_enc.dtype == x_mark_dec.dtype == torch.int64


def test_features_say_what_is_forecast() -> None:
    every = windows(SERIES, CALENDAR, SEQ_LEN, LABEL_LEN, PRED_LEN)
    last = windows(SERIES, CALENDAR, SEQ_LEN, LABEL_LEN, PRED_LEN, features="MS")
    assert all(torch.equal(a, b) for a, b in zip(every[:4], last[:4], strict=True))
    assert torch.equal(last[4], every[4][:, :, [C - 1]])
    alone = windows(SERIES[:, :1], CALENDAR, SEQ_LEN, LABEL_LEN, PRED_LEN, features="S")
    assert torch.equal(alone[4], every[4][:, :, :1])


def with_nan() -> Tensor:
    series = SERIES.clone()
    series[[6, 8], [0, 1]] = math.nan
    return series


WRONG: list[tuple[Callable[[], object], str]] = [
    (lambda: windows(SERIES[:, 0], CALENDAR, 10, 4, 7), r"series 必须是 2 维.*\(29,\)"),
    (lambda: windows(SERIES, CALENDAR[None], 10, 4, 7), r"marks 必须是 2 维.*\(1, 29, 5\)"),
    (lambda: windows(SERIES, CALENDAR[1:], 10, 4, 7), r"series 的步数 \(29\) 必须等于 marks 的步数 \(28\)"),
    (lambda: windows(SERIES[:, :0], CALENDAR, 10, 4, 7), r"series 的列数 \(0\)"),
    (lambda: windows(SERIES.long(), CALENDAR, 10, 4, 7), r"浮点数.*torch.int64"),
    (lambda: windows(with_nan(), CALENDAR, 10, 4, 7), r"2 步含 NaN，第一处是第 6 步"),
    (lambda: windows(SERIES, CALENDAR, 10, 4, 20), r"只有 29 步，短于 seq_len \(10\) \+ pred_len \(20\)"),
    (lambda: windows(SERIES, CALENDAR, 0, 0, 7), r"seq_len \(0\) 必须至少为 1"),
    (lambda: windows(SERIES, CALENDAR, 10, 4, 0), r"pred_len \(0\) 必须至少为 1"),
    (lambda: windows(SERIES, CALENDAR, 10, 11, 7), r"label_len \(11\) 必须在 0 到 seq_len \(10\) 之间"),
    (lambda: windows(SERIES, CALENDAR, 10, -1, 7), r"label_len \(-1\) 必须在 0 到 seq_len \(10\) 之间"),
    (lambda: windows(SERIES, CALENDAR, 10, 4, 7, features="SM"), r"features \('SM'\) 必须是 'M'、'S'、'MS' 之一"),
    (lambda: windows(SERIES, CALENDAR, 10, 4, 7, features="S"), r"'S' 时 series 只能有 1 列，实际有 3 列"),
    (lambda: decoder_input(SERIES[None], 30, 7), r"label_len \(30\) 必须在 0 到 seq_len \(29\) 之间"),
    (lambda: decoder_input(SERIES[None], 4, 0), r"pred_len \(0\) 必须至少为 1"),
]


@pytest.mark.parametrize(("call", "message"), WRONG)
def test_a_wrong_argument_is_named(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


class Scaled(nn.Module):
    """The last value of each series times one weight, for every step: the gradient is known in closed form."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.tensor(0.5))

    def forward(self, x_enc: Tensor, x_mark_enc: Tensor, x_dec: Tensor, x_mark_dec: Tensor) -> Tensor:
        return self.weight * x_enc[:, -1:].expand(-1, PRED_LEN, -1)


@pytest.mark.parametrize("features", ["M", "MS"])
def test_a_step_goes_against_the_gradient_of_the_mean_squared_error(features: str) -> None:
    batch = windows(SERIES / 1000, CALENDAR, SEQ_LEN, LABEL_LEN, PRED_LEN, features=features)
    x_enc, y = batch[0], batch[4]
    last = x_enc[:, -1:, -y.shape[2] :].expand_as(y)
    model = Scaled()
    model.weight.grad = torch.tensor(7.0)  # of an earlier step: must not count
    error = training_step(model, torch.optim.SGD(model.parameters(), lr=0.1), *batch)
    assert not error.requires_grad
    assert torch.isclose(error, ((0.5 * last - y) ** 2).mean())
    assert torch.isclose(model.weight.detach(), 0.5 - 0.1 * (2 * (0.5 * last - y) * last).mean())


def test_a_forecast_of_another_size_is_an_error_and_no_step() -> None:
    *inputs, y = windows(SERIES, CALENDAR, SEQ_LEN, LABEL_LEN, PRED_LEN)
    model = Scaled()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for wrong in (y[:, :1], torch.cat([y, y], dim=2), y[:1]):
        with pytest.raises(ValueError, match=r"模型输出的形状 \(13, 7, 3\) 必须等于 y 的形状"):
            training_step(model, optimizer, *inputs, wrong)
    assert model.weight == 0.5


def waves(steps: int) -> tuple[Tensor, Tensor]:
    """Three sines of known periods, and where in each period a step lies (and one mark that says nothing)."""
    time = torch.arange(steps)[:, None]
    period = torch.tensor([8.0, 12.0, 24.0])
    marks = torch.cat([time % period / period - 0.5, torch.zeros(steps, 1)], dim=1)
    return torch.sin(2 * math.pi * time / period) + torch.tensor([0.0, 1.0, -2.0]), marks


@pytest.mark.parametrize("features", ["M", "MS"])
@pytest.mark.parametrize("name", MODELS)
def test_every_model_learns(name: str, features: str) -> None:
    torch.manual_seed(0)
    seq_len, label_len, pred_len = 24, 12, 8
    model = create_model(
        name,
        task_name="long_term_forecast",
        **dict(seq_len=seq_len, label_len=label_len, pred_len=pred_len, enc_in=3, dec_in=3, c_out=3),
        **dict(d_model=16, n_heads=2, e_layers=2, d_layers=1, d_ff=32, dropout=0.0, factor=3),
        **dict(patch_len=8, stride=4, p_hidden_dims=[16, 16], p_hidden_layers=2),
    )
    made = windows(*waves(160), seq_len, label_len, pred_len, features=features)
    kept = [tensor.clone() for tensor in made]
    loader = DataLoader(TensorDataset(*made), batch_size=16, shuffle=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    model.train()
    errors = [float(training_step(model, optimizer, *batch)) for _ in range(4) for batch in loader]
    assert all(torch.equal(a, b) for a, b in zip(made, kept, strict=True))
    steps = len(loader)
    before, after = sum(errors[:3]) / 3, sum(errors[-steps:]) / steps
    assert after < before / 2
    model.eval()
    x_enc, x_mark_enc, x_dec, x_mark_dec, y = made
    with torch.no_grad():
        forecast = model(x_enc, x_mark_enc, x_dec, x_mark_dec)[:, :, -y.shape[2] :]
    assert F.mse_loss(forecast, y) < before / 2


def test_shapes_in_the_signatures_hold() -> None:
    """The tests above again in a process of their own, where every call checks its jaxtyping annotations."""
    again = [name for name in globals() if name.startswith("test_a_step") or name.startswith("test_windows")]
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-x", "-W", "error", "-p", "no:cacheprovider"),
            "--jaxtyping-packages=tsformers.training,beartype.beartype",
            *(f"{__file__}::{name}" for name in again),
            f"{Path(__file__).parent / 'under_hook.py'}",
        ],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert len(again) == 3
    assert done.returncode == 0, done.stdout
