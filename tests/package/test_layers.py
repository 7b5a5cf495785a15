"""Behaviour of the layers that no oracle covers: gradients, lengths, variants, wrong arguments."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from tsformers import (
    AttentionLayer,
    ConvLayer,
    DataEmbedding,
    Decoder,
    DecoderLayer,
    Encoder,
    EncoderLayer,
    FixedEmbedding,
    FullAttention,
    PatchEmbedding,
    PositionalEmbedding,
    ProbAttention,
    TemporalEmbedding,
    TimeFeatureEmbedding,
    toy,
    triangular_causal_mask,
)


def encoder_layer(d_model: int = 8) -> EncoderLayer:
    return EncoderLayer(AttentionLayer(FullAttention(), d_model, 2), d_model)


WRONG: list[tuple[Callable[[], object], str]] = [
    (lambda: FullAttention(scale=0.0), r"scale \(0.0\) 必须大于 0"),
    (lambda: ProbAttention(scale=-1.0), r"scale \(-1.0\) 必须大于 0"),
    (lambda: ProbAttention(factor=0), r"factor \(0\)"),
    (lambda: ProbAttention(variant="transposed"), r"variant \('transposed'\)"),  # type: ignore[arg-type]
    (lambda: AttentionLayer(FullAttention(), 16, 3), r"d_model \(16\) 必须能被 n_heads \(3\) 整除"),
    (lambda: AttentionLayer(FullAttention(), 16, 3, d_keys=5), r"d_model \(16\) 必须能被 n_heads \(3\) 整除"),
    (lambda: EncoderLayer(nn.Identity(), 8, d_ff=0), r"d_ff \(0\)"),
    (lambda: DecoderLayer(nn.Identity(), nn.Identity(), 8, activation="tanh"), r"activation \('tanh'\)"),
    (lambda: Encoder([]), r"e_layers \(0\)"),
    (lambda: Encoder([encoder_layer()], [ConvLayer(8)]), r"conv_layers \(1\) 必须比 attn_layers \(1\) 少 1"),
    (lambda: Decoder([]), r"d_layers \(0\)"),
    (lambda: PositionalEmbedding(7), r"d_model \(7\) 必须是偶数"),
    (lambda: FixedEmbedding(4, 7), r"d_model \(7\) 必须是偶数"),
    (lambda: DataEmbedding(3, 8, embed_type="timef"), r"embed \('timef'\)"),
    (lambda: TemporalEmbedding(8, "timeF"), r"embed_type \('timeF'\)"),
    (lambda: TemporalEmbedding(8, "learned", "min"), r"freq \('min'\)"),
    (lambda: TimeFeatureEmbedding(8, "min"), r"freq \('min'\)"),
    (lambda: PatchEmbedding(8, 0, 1, 1, 0.0), r"patch_len \(0\)"),
]


@pytest.mark.parametrize(("build", "message"), WRONG)
def test_a_wrong_argument_is_named(build: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build()


def test_widths_per_head_may_be_chosen_freely() -> None:
    layer = AttentionLayer(FullAttention(False), 16, 3, d_keys=5, d_values=4)
    x = torch.randn(2, 6, 16)
    assert layer(x, x, x, None)[0].shape == (2, 6, 16)


@pytest.mark.parametrize(
    "make", [toy.patchtst, toy.itransformer, toy.informer, toy.transformer, toy.nonstationary_transformer]
)
def test_gradients_reach_the_inputs_and_leave_them_alone(make: toy.ToyFunction) -> None:
    made = make()
    x_enc = made.args[0].clone().requires_grad_()
    before = x_enc.detach().clone()
    out = made.call(x_enc, *made.args[1:])
    out.square().sum().backward()
    assert x_enc.grad is not None
    assert (x_enc.grad.abs().amax(dim=(0, 2)) > 0).all()
    assert torch.equal(x_enc.detach(), before)


@pytest.mark.parametrize("make", [toy.patchtst, toy.itransformer])
def test_a_scaled_and_shifted_series_gives_a_scaled_and_shifted_forecast(make: toy.ToyFunction) -> None:
    made = make()
    x_enc, *rest = made.args
    moved = made.call(3 * x_enc + 5, *rest)
    assert (moved - (3 * made.call(x_enc, *rest) + 5)).abs().max() < 1e-3  # 1e-5 is added to the variance


@pytest.mark.parametrize("make", [toy.itransformer, toy.informer, toy.transformer, toy.nonstationary_transformer])
def test_marks_may_be_left_out(make: toy.ToyFunction) -> None:
    made = make()
    x_enc, _, x_dec, _ = made.args
    without = made.call(x_enc, None, x_dec, None)
    assert without.shape == made.call(*made.args).shape
    assert not torch.equal(without, made.call(*made.args))


@pytest.mark.parametrize("length", [3, 4, 6, 8, 9, 10, 48, 96])
def test_distilling_keeps_half_and_one(length: int) -> None:
    assert ConvLayer(4)(torch.randn(2, length, 4)).shape == (2, (length + 1) // 2 + 1, 4)


def test_causal_mask_hides_what_lies_later() -> None:
    hidden = triangular_causal_mask(2, 3)
    assert hidden.shape == (2, 1, 3, 3)
    assert hidden[1, 0].tolist() == [[False, True, True], [False, False, True], [False, False, False]]


class Recorder(nn.Module):
    """An attention that notes which mask, tau and delta reach it."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: tuple[bool, bool, bool] | None = None

    def forward(
        self, q: Tensor, k: Tensor, v: Tensor, attn_mask: Tensor | None, tau: Tensor | None, delta: Tensor | None
    ) -> tuple[Tensor, None]:
        self.seen = (attn_mask is not None, tau is not None, delta is not None)
        return q, None


@pytest.mark.parametrize(
    ("distil", "expected"),
    [
        (True, [(True, True, True), (True, True, False), (False, True, False)]),
        (False, [(True, True, True)] * 3),
    ],
)
def test_what_the_encoder_hands_to_its_layers(distil: bool, expected: list[tuple[bool, bool, bool]]) -> None:
    recorders = [Recorder() for _ in range(3)]
    layers = [EncoderLayer(recorder, 4) for recorder in recorders]
    encoder = Encoder(layers, [ConvLayer(4) for _ in range(2)] if distil else None)
    encoder(torch.randn(2, 6, 4), attn_mask=triangular_causal_mask(2, 6), tau=torch.ones(1), delta=torch.ones(1))
    assert [recorder.seen for recorder in recorders] == expected
