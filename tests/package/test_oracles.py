"""torch's own layers, with weights carried over, are the truth for ours."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tsformers import (
    AttentionLayer,
    DecoderLayer,
    EncoderLayer,
    FullAttention,
    PositionwiseConv1d,
    ProbAttention,
    triangular_causal_mask,
)

B, L, S, D_MODEL, HEADS, D_FF = 3, 7, 5, 12, 4, 20
TOLERANCE = 1e-12


@pytest.fixture(autouse=True)
def float64() -> None:
    torch.manual_seed(0)


def random(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64)


def attention(mask_flag: bool, **options: bool) -> AttentionLayer:
    return AttentionLayer(FullAttention(mask_flag, **options), D_MODEL, HEADS).double().eval()


def carry_attention(ours: AttentionLayer, theirs: nn.MultiheadAttention) -> None:
    parts = (ours.query_projection, ours.key_projection, ours.value_projection)
    theirs.in_proj_weight.data = torch.cat([part.weight.data for part in parts])
    theirs.in_proj_bias.data = torch.cat([part.bias.data for part in parts])
    theirs.out_proj.load_state_dict(ours.out_projection.state_dict())


def carry_feed_forward(ours: nn.Module, theirs: nn.Module) -> None:
    for conv, linear in ((ours.conv1, theirs.linear1), (ours.conv2, theirs.linear2)):
        linear.weight.data = conv.weight.data[:, :, 0]
        linear.bias.data = conv.bias.data


def randomise_norms(layer: nn.Module) -> None:
    for module in layer.modules():
        if isinstance(module, nn.LayerNorm):
            module.weight.data, module.bias.data = random(D_MODEL), random(D_MODEL)


def close(ours: Tensor, theirs: Tensor) -> bool:
    return ours.shape == theirs.shape and bool((ours - theirs).abs().max() <= TOLERANCE)


@pytest.mark.parametrize("causal", [False, True])
def test_full_attention_is_scaled_dot_product_attention(causal: bool) -> None:
    q, k, v = random(B, L, HEADS, 3), random(B, L, HEADS, 3), random(B, L, HEADS, 2)
    ours, _ = FullAttention(causal).double().eval()(q, k, v, None)
    theirs = F.scaled_dot_product_attention(*(t.transpose(1, 2) for t in (q, k, v)), is_causal=causal)
    assert close(ours, theirs.transpose(1, 2))


def test_full_attention_takes_a_scale_and_a_mask() -> None:
    q, k, v = random(B, L, HEADS, 3), random(B, S, HEADS, 3), random(B, S, HEADS, 2)
    hidden = (torch.rand(B, 1, L, S) < 0.4) & (torch.arange(S) > 0)
    ours, _ = FullAttention(True, scale=0.3).double().eval()(q, k, v, hidden)
    theirs = F.scaled_dot_product_attention(*(t.transpose(1, 2) for t in (q, k, v)), attn_mask=~hidden, scale=0.3)
    assert close(ours, theirs.transpose(1, 2))


def test_attention_layer_is_multihead_attention() -> None:
    ours = attention(False, output_attention=True)
    theirs = nn.MultiheadAttention(D_MODEL, HEADS, batch_first=True, dtype=torch.float64).eval()
    carry_attention(ours, theirs)
    x, cross = random(B, L, D_MODEL), random(B, S, D_MODEL)
    out, weights = ours(x, cross, cross, None)
    expected, expected_weights = theirs(x, cross, cross, average_attn_weights=False)
    assert close(out, expected)
    assert close(weights, expected_weights)


@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_encoder_layer_is_transformer_encoder_layer(activation: str) -> None:
    ours = EncoderLayer(attention(False), D_MODEL, D_FF, activation=activation).double().eval()
    randomise_norms(ours)
    theirs = nn.TransformerEncoderLayer(
        D_MODEL, HEADS, D_FF, activation=activation, batch_first=True, dtype=torch.float64
    ).eval()
    carry_attention(ours.attention, theirs.self_attn)
    carry_feed_forward(ours, theirs)
    theirs.norm1.load_state_dict(ours.norm1.state_dict())
    theirs.norm2.load_state_dict(ours.norm2.state_dict())
    x = random(B, L, D_MODEL)
    assert close(ours(x)[0], theirs(x))


def test_decoder_layer_is_transformer_decoder_layer() -> None:
    ours = DecoderLayer(attention(True), attention(False), D_MODEL, D_FF).double().eval()
    randomise_norms(ours)
    theirs = nn.TransformerDecoderLayer(D_MODEL, HEADS, D_FF, batch_first=True, dtype=torch.float64).eval()
    carry_attention(ours.self_attention, theirs.self_attn)
    carry_attention(ours.cross_attention, theirs.multihead_attn)
    carry_feed_forward(ours, theirs)
    for name in ("norm1", "norm2", "norm3"):
        getattr(theirs, name).load_state_dict(getattr(ours, name).state_dict())
    x, cross = random(B, L, D_MODEL), random(B, S, D_MODEL)
    assert close(ours(x, cross), theirs(x, cross, tgt_mask=triangular_causal_mask(1, L)[0, 0]))


@pytest.mark.parametrize("mask_flag", [False, True])
def test_prob_attention_that_keeps_all_queries_is_full_attention(mask_flag: bool) -> None:
    q, k, v = random(B, L, HEADS, 3), random(B, L, HEADS, 3), random(B, L, HEADS, 2)
    full, full_weights = FullAttention(mask_flag, output_attention=True).eval()(q, k, v, None)
    corrected = ProbAttention(mask_flag, factor=100, output_attention=True, variant="corrected").eval()
    out, weights = corrected(q, k, v, None)
    assert close(out, full)
    assert close(weights, full_weights)
    library, _ = ProbAttention(mask_flag, factor=100).eval()(q, k, v, None)
    assert close(library, full.transpose(1, 2))


@pytest.mark.parametrize("length", [1, 6, 97])
def test_a_convolution_of_width_one_is_torch_s_convolution(length: int) -> None:
    torch.manual_seed(0)
    ours = PositionwiseConv1d(5, 7).double()
    theirs = nn.Conv1d(5, 7, kernel_size=1).double()
    theirs.load_state_dict(ours.state_dict(), strict=True)
    x = torch.randn(3, 5, length, dtype=torch.float64)
    mine, other = x.clone().requires_grad_(), x.clone().requires_grad_()
    assert (ours(mine) - theirs(other)).abs().max() < TOLERANCE
    ours(mine).square().sum().backward()
    theirs(other).square().sum().backward()
    assert (mine.grad - other.grad).abs().max() < TOLERANCE
    for one, another in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert (one.grad - another.grad).abs().max() < TOLERANCE


def test_a_convolution_of_width_one_starts_as_torch_s_does() -> None:
    torch.manual_seed(0)
    ours = PositionwiseConv1d(5, 7)
    torch.manual_seed(0)
    theirs = nn.Conv1d(5, 7, kernel_size=1)
    assert torch.equal(ours.weight, theirs.weight) and torch.equal(ours.bias, theirs.bias)
