"""Layers that others wrote from the papers, in ``transformers``, with weights carried over, are the truth for ours.

Whole models are not comparable: they have scalers, distribution heads and value embeddings of their own.
"""

from __future__ import annotations

from math import ceil, log, log1p
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from transformers import InformerConfig, PatchTSTConfig
from transformers.models.informer.modeling_informer import (
    InformerConvLayer,
    InformerDecoderLayer,
    InformerEncoderLayer,
    InformerProbSparseAttention,
    InformerSinusoidalPositionalEmbedding,
)
from transformers.models.patchtst.modeling_patchtst import PatchTSTEncoderLayer, PatchTSTPatchify

from tsformers import (
    AttentionLayer,
    ConvLayer,
    DecoderLayer,
    EncoderLayer,
    FullAttention,
    PatchEmbedding,
    PositionalEmbedding,
    ProbAttention,
)

B, C, L, S, D_MODEL, HEADS, D_FF = 3, 4, 9, 7, 12, 2, 20
TOLERANCE = 1e-12
ACTIVATIONS = ["relu", "gelu"]


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(0)


def random(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64)


def randomised(module: nn.Module) -> Any:
    """``module`` in float64 and eval mode with no parameter or statistic at its construction value."""
    module.double().eval()
    for parameter in module.parameters():
        parameter.data = random(*parameter.shape) / 3
    for name, buffer in module.named_buffers():
        if buffer.is_floating_point():
            buffer.copy_(random(*buffer.shape).abs() + 0.5 if name.endswith("running_var") else random(*buffer.shape))
    return module


def informer_config(activation: str = "gelu") -> InformerConfig:
    config = InformerConfig(
        prediction_length=5,
        d_model=D_MODEL,
        encoder_attention_heads=HEADS,
        decoder_attention_heads=HEADS,
        encoder_ffn_dim=D_FF,
        decoder_ffn_dim=D_FF,
        activation_function=activation,
        attention_type="full",
    )
    config._attn_implementation = "eager"
    return config


def carry_attention(ours: AttentionLayer, theirs: nn.Module) -> None:
    for name in ("query", "key", "value", "out"):
        projection = getattr(ours, f"{name}_projection")
        getattr(theirs, f"{name[0]}_proj" if name != "out" else "out_proj").load_state_dict(projection.state_dict())


def carry_linear(conv: nn.Conv1d, linear: nn.Linear) -> None:
    linear.load_state_dict({"weight": conv.weight[:, :, 0], "bias": conv.bias})


def close(ours: Tensor, theirs: Tensor, tolerance: float = TOLERANCE) -> bool:
    return ours.shape == theirs.shape and bool((ours - theirs).abs().max() <= tolerance)


def attention(inner: nn.Module) -> AttentionLayer:
    return AttentionLayer(inner, D_MODEL, HEADS)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_encoder_layer_is_that_of_their_patchtst(activation: str) -> None:
    ours = randomised(EncoderLayer(attention(FullAttention(False)), D_MODEL, D_FF, activation=activation))
    config = PatchTSTConfig(
        d_model=D_MODEL,
        num_attention_heads=HEADS,
        ffn_dim=D_FF,
        activation_function=activation,
        norm_type="layernorm",
        norm_eps=1e-5,
        pre_norm=False,
    )
    config._attn_implementation = "eager"
    theirs = PatchTSTEncoderLayer(config).double().eval()
    carry_attention(ours.attention, theirs.self_attn)
    carry_linear(ours.conv1, theirs.ff[0])
    carry_linear(ours.conv2, theirs.ff[3])
    theirs.norm_sublayer1.load_state_dict(ours.norm1.state_dict())
    theirs.norm_sublayer3.load_state_dict(ours.norm2.state_dict())
    x = random(B, C, L, D_MODEL)
    assert close(ours(x.flatten(0, 1))[0], theirs(x)[0].flatten(0, 1))


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_encoder_layer_is_that_of_their_informer(activation: str) -> None:
    ours = randomised(EncoderLayer(attention(FullAttention(False)), D_MODEL, D_FF, activation=activation))
    theirs = InformerEncoderLayer(informer_config(activation)).double().eval()
    carry_attention(ours.attention, theirs.self_attn)
    carry_linear(ours.conv1, theirs.fc1)
    carry_linear(ours.conv2, theirs.fc2)
    theirs.self_attn_layer_norm.load_state_dict(ours.norm1.state_dict())
    theirs.final_layer_norm.load_state_dict(ours.norm2.state_dict())
    x = random(B, L, D_MODEL)
    assert close(ours(x)[0], theirs(x, attention_mask=None, layer_head_mask=None)[0])


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_decoder_layer_is_that_of_their_informer(activation: str) -> None:
    ours = randomised(
        DecoderLayer(
            attention(FullAttention(True)), attention(FullAttention(False)), D_MODEL, D_FF, activation=activation
        )
    )
    theirs = InformerDecoderLayer(informer_config(activation), layer_idx=0).double().eval()
    carry_attention(ours.self_attention, theirs.self_attn)
    carry_attention(ours.cross_attention, theirs.encoder_attn)
    carry_linear(ours.conv1, theirs.fc1)
    carry_linear(ours.conv2, theirs.fc2)
    theirs.self_attn_layer_norm.load_state_dict(ours.norm1.state_dict())
    theirs.encoder_attn_layer_norm.load_state_dict(ours.norm2.state_dict())
    theirs.final_layer_norm.load_state_dict(ours.norm3.state_dict())
    x, cross = random(B, L, D_MODEL), random(B, S, D_MODEL)
    expected = theirs(x, attention_mask=additive_causal_mask(), encoder_hidden_states=cross, use_cache=False)[0]
    assert close(ours(x, cross), expected)


def additive_causal_mask() -> Tensor:
    return torch.full((L, L), float("-inf"), dtype=torch.float64).triu(diagonal=1).expand(B, 1, L, L)


def prob_pair(ours: AttentionLayer, factor: int, *, is_decoder: bool) -> InformerProbSparseAttention:
    theirs = InformerProbSparseAttention(D_MODEL, HEADS, sampling_factor=factor, is_decoder=is_decoder, layer_idx=0)
    theirs.double().eval()
    carry_attention(ours, theirs)
    return theirs


@pytest.mark.parametrize("masked", [False, True])
def test_their_sparse_attention_with_all_queries_kept_is_full_attention(masked: bool) -> None:
    ours = randomised(attention(FullAttention(masked)))
    corrected = attention(ProbAttention(masked, factor=100, variant="corrected")).double().eval()
    corrected.load_state_dict(ours.state_dict())
    theirs = prob_pair(ours, 100, is_decoder=masked)
    x = random(B, L, D_MODEL)
    expected = theirs(x, attention_mask=additive_causal_mask() if masked else None)[0]
    assert close(ours(x, x, x, None)[0], expected)
    assert close(corrected(x, x, x, None)[0], expected)


@pytest.mark.parametrize("masked", [False, True])
def test_corrected_sparse_attention_is_theirs_on_the_same_keys(masked: bool) -> None:
    """They draw one set of keys for all queries; given that set, ours keeps and computes the same."""
    kept = ceil(log(L))
    assert kept == ceil(log1p(L)) < L  # they count queries by ln(1 + L)

    def one_set(high: int, size: tuple[int, int]) -> Tensor:
        return drawn.expand(size[0], -1)

    ours = randomised(attention(ProbAttention(masked, factor=1, draw=one_set, variant="corrected")))
    theirs = prob_pair(ours, 1, is_decoder=masked)
    x = random(B, L, D_MODEL)
    torch.manual_seed(1)
    drawn = torch.randint(0, L, (L,))
    torch.manual_seed(1)
    expected = theirs(x, attention_mask=additive_causal_mask() if masked else None)[0]
    # Their running sum of the values, for the queries that are not kept, is taken in float32.
    assert close(ours(x, x, x, None)[0], expected, tolerance=1e-5 if masked else TOLERANCE)
    full = attention(FullAttention(masked)).double().eval()
    full.load_state_dict(ours.state_dict())
    assert not close(full(x, x, x, None)[0], expected, tolerance=1e-2)


@pytest.mark.parametrize("length", [8, L])
def test_conv_layer_is_theirs_with_one_more_token_at_each_end(length: int) -> None:
    """Their convolution pads one token on each side, Time-Series-Library's two: its ends come from the other end."""
    ours = randomised(ConvLayer(D_MODEL))
    theirs = InformerConvLayer(D_MODEL).double().eval()
    theirs.load_state_dict(ours.state_dict())
    x = random(B, length, D_MODEL)
    inside = theirs.downConv(x.transpose(1, 2))
    wrapped = torch.cat([inside[:, :, -1:], inside, inside[:, :, :1]], dim=2)
    assert close(ours.downConv(x.transpose(1, 2)), wrapped)
    expected = theirs.maxPool(theirs.activation(theirs.norm(wrapped))).transpose(1, 2)
    assert close(ours(x), expected)
    assert ours(x).shape[1] == theirs(x).shape[1] + 1


def test_positions_are_theirs_in_another_order_of_columns() -> None:
    """Theirs are all sines, then all cosines; both tables are float32, so a place costs up to its own rounding."""
    places = 200
    theirs = InformerSinusoidalPositionalEmbedding(places, D_MODEL)
    theirs._init_weight()
    ours = PositionalEmbedding(D_MODEL)(torch.zeros(1, places, 1))[0]
    ours_by_kind = torch.cat([ours[:, 0::2], ours[:, 1::2]], dim=1)
    assert close(ours_by_kind, theirs(torch.Size([1, places])), tolerance=places * torch.finfo(torch.float32).eps)


def test_patches_are_theirs_of_a_series_padded_by_hand() -> None:
    """They pad nothing and leave out the oldest steps, so only a length that the patches fill is comparable."""
    patch_len, stride = 5, 3
    seq_len = patch_len + 4 * stride
    x = random(B, seq_len, C)
    padded = torch.cat([x, x[:, -1:].expand(-1, stride, -1)], dim=1)
    theirs = PatchTSTPatchify(
        PatchTSTConfig(context_length=padded.shape[1], patch_length=patch_len, patch_stride=stride)
    )
    ours = randomised(PatchEmbedding(D_MODEL, patch_len, stride, padding=stride, dropout=0.0))
    ours.position_embedding.pe.zero_()
    tokens, n_vars = ours(x.permute(0, 2, 1))
    assert n_vars == C
    assert close(tokens, theirs(padded).flatten(0, 1) @ ours.value_embedding.weight.T)
