"""ProbAttention as Time-Series-Library has it, as it should be, and what the difference does."""

from __future__ import annotations

from typing import Literal, cast

import pytest
import torch
from torch import Tensor

from tsformers import AttentionLayer, FullAttention, Informer, ProbAttention, toy

Variant = Literal["library", "corrected"]
VARIANTS: tuple[Variant, ...] = ("library", "corrected")
B, L, D_MODEL = 3, 12, 8


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def layer(variant: Variant, *, n_heads: int = 2, mask_flag: bool = False, factor: int = 1) -> AttentionLayer:
    inner = ProbAttention(mask_flag, factor=factor, draw=toy.fixed_draw, variant=variant)
    return cast(AttentionLayer, toy.fill(AttentionLayer(inner, D_MODEL, n_heads), trained=False))


def full_like(prob: AttentionLayer, *, mask_flag: bool = False) -> AttentionLayer:
    full = AttentionLayer(FullAttention(mask_flag), D_MODEL, prob.n_heads).double().eval().requires_grad_(False)
    full.load_state_dict(prob.state_dict())
    return full


@pytest.mark.parametrize("mask_flag", [False, True])
def test_with_every_query_kept_only_the_corrected_layer_is_full_attention(mask_flag: bool) -> None:
    x = random(B, L, D_MODEL)
    expected = full_like(layer("corrected"), mask_flag=mask_flag)(x, x, x, None)[0]
    right = layer("corrected", mask_flag=mask_flag, factor=100)(x, x, x, None)[0]
    wrong = layer("library", mask_flag=mask_flag, factor=100)(x, x, x, None)[0]
    assert (right - expected).abs().max() < 1e-12
    assert wrong.shape == expected.shape
    assert (wrong - expected).norm() / expected.norm() > 0.5


def test_the_library_lays_heads_and_times_out_in_the_wrong_order() -> None:
    """Each slot labelled with its time and head; six times, two heads: a sixth of the slots sit where they should."""
    labels = torch.arange(6)[:, None] * 10 + torch.arange(2)  # [L, H]
    values = labels.double()[None, :, :, None]  # [1, L, H, 1]
    q = random(1, 6, 2, 1)

    class Untouched(ProbAttention):
        """Keeps what each query starts from: here the values themselves."""

        def _get_initial_context(self, V: Tensor, L_Q: int) -> Tensor:
            return V

        def _update_context(self, context: Tensor, V: Tensor, scores: Tensor, index: Tensor) -> tuple[Tensor, None]:
            return context, None

    rows = {
        variant: Untouched(False, factor=1, draw=toy.fixed_draw, variant=variant)(q, q, values, None)[0].view(6, 2)
        for variant in VARIANTS
    }
    assert rows["corrected"].tolist() == labels.tolist()
    assert rows["library"].tolist() == [[0, 10], [20, 30], [40, 50], [1, 11], [21, 31], [41, 51]]
    assert (rows["library"] == labels).double().mean() == pytest.approx(1 / 6)


def changed_times(prob: AttentionLayer, from_time: int) -> list[int]:
    x = random(1, L, D_MODEL)
    later = x.clone()
    later[:, from_time:] += random(1, L - from_time, D_MODEL, seed=1)
    change = (prob(later, later, later, None)[0] - prob(x, x, x, None)[0]).abs().amax(dim=(0, 2))
    return torch.nonzero(change > 1e-12).flatten().tolist()


def test_the_library_layer_lets_the_future_through_its_mask() -> None:
    """With every query kept the choice of queries plays no part: what leaks, leaks through the order of the axes.

    Time t of head h stands at place ``t + 12 * h`` and is read as time ``place // 2``.
    """
    assert changed_times(layer("corrected", mask_flag=True, factor=100), 9) == [9, 10, 11]
    assert changed_times(full_like(layer("corrected"), mask_flag=True), 9) == [9, 10, 11]
    leaking = changed_times(layer("library", mask_flag=True, factor=100), 9)
    assert leaking == sorted({(t + L * h) // 2 for t in (9, 10, 11) for h in (0, 1)})
    assert min(leaking) < 9


def test_even_the_corrected_layer_chooses_its_queries_by_future_keys() -> None:
    assert min(changed_times(layer("corrected", mask_flag=True), 9)) < 9


@pytest.mark.parametrize("variant", VARIANTS)
def test_two_heads_keep_samples_apart(variant: Variant) -> None:
    x = random(B, 10, D_MODEL)
    prob = layer(variant)
    assert (prob(x, x, x, None)[0][:1] - prob(x[:1], x[:1], x[:1], None)[0]).abs().max() < 1e-12


def test_one_head_mixes_the_samples_of_a_batch_unless_corrected() -> None:
    x = random(B, 10, D_MODEL)
    others = torch.cat([x[:1], random(B - 1, 10, D_MODEL, seed=1)])
    mixed, apart = (
        (prob(x, x, x, None)[0][0] - prob(others, others, others, None)[0][0]).abs().max()
        for prob in (layer("library", n_heads=1), layer("corrected", n_heads=1))
    )
    assert mixed > 0.1
    assert apart < 1e-12


def attending(variant: Variant, samples: int) -> Tensor:
    """How many queries of each sample got something else than the mean of the values; one head."""
    q, k, v = random(3, samples, 10, 1, 4)
    out, _ = ProbAttention(False, factor=1, draw=toy.fixed_draw, variant=variant)(q, k, v, None)
    out = out.reshape(samples, 10, 4)
    return (~torch.isclose(out, v.mean(dim=1).reshape(samples, 1, 4), rtol=0, atol=1e-12).all(-1)).sum(1)


def test_one_head_gives_every_sample_the_queries_of_all() -> None:
    assert attending("corrected", 3).tolist() == [3, 3, 3]
    together = attending("library", 3)
    assert (together > 3).all()
    assert together.unique().numel() == 1
    assert attending("library", 1).tolist() == [3]


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_draw_is_asked_once_for_all_samples_and_heads(variant: Variant) -> None:
    asked: list[tuple[int, tuple[int, int]]] = []

    def draw(high: int, size: tuple[int, int]) -> Tensor:
        asked.append((high, size))
        return toy.fixed_draw(high, size)

    q, k = random(B, 12, 2, 4), random(B, 6, 2, 4)
    ProbAttention(False, factor=1, draw=draw, variant=variant)(q, k, k, None)
    assert asked == [(6, (12, 2))]


@pytest.mark.parametrize("variant", VARIANTS)
def test_without_a_draw_of_ones_own_two_calls_differ_in_eval_too(variant: Variant) -> None:
    sizes = dict(seq_len=24, label_len=5, pred_len=7, enc_in=4, dec_in=4, c_out=4, d_model=8, n_heads=2)
    torch.manual_seed(0)
    model = Informer(
        task_name="long_term_forecast", e_layers=2, d_layers=1, d_ff=12, variant=variant, **sizes
    ).eval()  # fmt: skip
    batch = torch.randn(B, 24, 4), None, torch.randn(B, 12, 4), None
    torch.manual_seed(1)
    first, second = model(*batch), model(*batch)
    torch.manual_seed(1)
    assert torch.equal(model(*batch), first)
    assert (second - first).abs().max() > 1e-3


def test_the_variants_differ_in_the_forecast_of_the_same_weights() -> None:
    made = toy.informer()
    other = Informer(
        task_name=toy.TASK, dec_in=made.sizes["enc_in"], draw=toy.fixed_draw, variant="corrected",
        **{name: size for name, size in made.sizes.items() if name not in ("B", "marks")},
    ).double().eval()  # fmt: skip
    other.load_state_dict(made.call.state_dict())
    gap = (other(*made.args) - made.call(*made.args)).abs()
    assert gap.min() > 0
    assert gap.max() > 0.1


def test_weights_are_given_in_cross_attention() -> None:
    q, k = random(B, 12, 2, 4), random(B, 6, 2, 4)
    out, weights = ProbAttention(False, output_attention=True, variant="corrected")(q, k, k, None)
    assert torch.allclose(weights.sum(-1), torch.ones(B, 2, 12, dtype=torch.float64))
    assert (torch.einsum("bhls,bshd->blhd", weights, k) - out).abs().max() < 1e-12


def test_the_other_queries_get_the_mean_or_the_running_sum() -> None:
    q, k, v = random(3, 2, 12, 2, 4)
    for mask_flag, rest in ((False, v.mean(1, keepdim=True).expand_as(v)), (True, v.cumsum(1))):
        out, _ = ProbAttention(mask_flag, factor=1, draw=toy.fixed_draw, variant="corrected")(q, k, v, None)
        same = torch.isclose(out, rest, rtol=0, atol=1e-12).all(-1)  # [B, L, H]
        assert (same.sum(1) >= 12 - 3).all()
        assert not same.all()
