"""What holds for any attention: which keys a query sees, and which parameters cannot matter."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from tests.properties.configurations import EXAMPLES
from tsformers import AttentionLayer, DecoderLayer, FullAttention

TOLERANCE = 1e-10


@st.composite
def sizes_of_attention(draw: st.DrawFn) -> dict[str, int]:
    """B, L, S, H, E and ``d_model`` = H * E, all different."""
    B, L, S, H, E = draw(st.lists(st.integers(2, 13), min_size=5, max_size=5, unique=True))
    while H * E in (B, L, S, H, E):
        E += 11
    return dict(B=B, L=L, S=S, H=H, E=E, d_model=H * E)


def layer(sizes: dict[str, int], *, mask_flag: bool, **options: Any) -> AttentionLayer:
    torch.manual_seed(0)
    inner = FullAttention(mask_flag, **options)
    return AttentionLayer(inner, sizes["d_model"], sizes["H"]).double().eval()


def tokens(sizes: dict[str, int], length: str) -> Tensor:
    torch.manual_seed(1)
    return torch.randn(sizes["B"], sizes[length], sizes["d_model"], dtype=torch.float64)


def moved(a: Tensor, b: Tensor) -> Tensor:
    """The largest difference of each token place."""
    return (a - b).abs().amax(dim=(0, 2))


@EXAMPLES
@given(sizes=sizes_of_attention(), later=st.integers(0, 23))
def test_masked_attention_sees_no_key_after_the_query(sizes: dict[str, int], later: int) -> None:
    t = later % sizes["L"]
    causal, free = layer(sizes, mask_flag=True), layer(sizes, mask_flag=False)
    x = tokens(sizes, "L")
    changed = torch.cat([x[:, :t], torch.randn_like(x[:, t:])], dim=1)
    before, after = causal(x, x, x, None)[0], causal(changed, changed, changed, None)[0]
    assert (moved(before, after)[:t] <= TOLERANCE).all()
    assert (moved(before, after)[t:] > 1e-6).all()
    assert (moved(free(x, x, x, None)[0], free(changed, changed, changed, None)[0]) > 1e-6).all()


@EXAMPLES
@given(sizes=sizes_of_attention(), later=st.integers(0, 23))
def test_a_decoder_layer_on_masked_attention_is_causal(sizes: dict[str, int], later: int) -> None:
    t = later % sizes["L"]
    made = DecoderLayer(layer(sizes, mask_flag=True), layer(sizes, mask_flag=False), sizes["d_model"], 7)
    made.double().eval()
    x, cross = tokens(sizes, "L"), tokens(sizes, "S")
    changed = torch.cat([x[:, :t], torch.randn_like(x[:, t:])], dim=1)
    difference = moved(made(x, cross), made(changed, cross))
    assert (difference[:t] <= TOLERANCE).all()
    assert (difference[t:] > 1e-6).all()


@EXAMPLES
@given(sizes=sizes_of_attention())
def test_the_mask_alone_hides_and_only_with_its_flag(sizes: dict[str, int]) -> None:
    x, cross = tokens(sizes, "L"), tokens(sizes, "S")
    hidden = torch.rand(sizes["B"], 1, sizes["L"], sizes["S"]) < 0.5
    hidden[..., 0] = False
    masked = layer(sizes, mask_flag=True, output_attention=True)
    free = layer(sizes, mask_flag=False, output_attention=True)
    _, weights = masked(x, cross, cross, hidden)
    assert torch.equal(weights == 0, hidden.expand_as(weights))
    assert torch.equal(free(x, cross, cross, hidden)[0], free(x, cross, cross, None)[0])


@pytest.mark.parametrize("mask_flag", [False, True])
def test_the_key_bias_cannot_matter(mask_flag: bool) -> None:
    """It adds the same to all scores of a query, which softmax does not see."""

    @EXAMPLES
    @given(sizes=sizes_of_attention(), scale=st.floats(0.1, 30))
    def same(sizes: dict[str, int], scale: float) -> None:
        made = layer(sizes, mask_flag=mask_flag)
        x = tokens(sizes, "L")
        before, _ = made(x, x, x, None)
        shift = scale * torch.randn(sizes["d_model"], dtype=torch.float64)
        made.key_projection.bias.data += shift
        assert moved(made(x, x, x, None)[0], before).max() <= TOLERANCE * (1 + scale)
        made.query_projection.bias.data += shift
        assert moved(made(x, x, x, None)[0], before).max() > 1e-6

    same()


@EXAMPLES
@given(sizes=sizes_of_attention(), random=st.randoms(use_true_random=False))
def test_the_order_of_keys_cannot_matter_and_that_of_queries_is_kept(sizes: dict[str, int], random: Any) -> None:
    made = layer(sizes, mask_flag=False)
    x, cross = tokens(sizes, "L"), tokens(sizes, "S")
    order, key_order = (random.sample(range(sizes[axis]), sizes[axis]) for axis in ("L", "S"))
    out, _ = made(x, cross, cross, None)
    permuted, _ = made(x[:, order], cross[:, key_order], cross[:, key_order], None)
    assert moved(permuted, out[:, order]).max() <= TOLERANCE
