"""What each model promises, on random configurations and weights: who sees whom, and what comes back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from tests.properties.configurations import EXAMPLES, TOYS, build, inputs, valid_sizes

SMALL: dict[str, tuple[int, int]] = {
    **{size: (6, 30) for size in ("seq_len", "pred_len")},
    "d_model": (4, 30),
    "d_ff": (5, 40),
}
TOLERANCE = 1e-10


def far(a: Tensor, b: Tensor, *axes: int) -> Tensor:
    """The largest difference along all axes but ``axes``."""
    return (a - b).abs().amax(dim=[axis for axis in range(a.dim()) if axis not in axes])


@EXAMPLES
@given(sizes=valid_sizes("PatchTST", **SMALL), place=st.tuples(st.integers(0, 8), st.integers(0, 8)))
def test_patchtst_in_eval_keeps_channels_and_samples_apart(sizes: dict[str, int], place: tuple[int, int]) -> None:
    model, args = build("PatchTST", sizes), inputs("PatchTST", sizes)
    b, c = place[0] % sizes["B"], place[1] % sizes["C"]
    other = args[0].clone()
    other[b, :, c] = torch.randn(sizes["seq_len"], dtype=torch.float64)
    moved = far(model(*args), model(other, *args[1:]), 0, 2)
    assert moved[b, c] > 1e-6
    moved[b, c] = 0
    assert moved.max() <= TOLERANCE


@EXAMPLES
@given(sizes=valid_sizes("PatchTST", **SMALL))
def test_patchtst_in_training_couples_them_through_batch_norm_alone(sizes: dict[str, int]) -> None:
    model, args = build("PatchTST", sizes, dropout=0.0), inputs("PatchTST", sizes)
    other = args[0].clone()
    other[0, :, 0] = torch.randn(sizes["seq_len"], dtype=torch.float64)
    untouched = torch.ones(sizes["B"], sizes["C"], dtype=torch.bool)
    untouched[0, 0] = False

    def moved() -> Tensor:
        return far(model(*args), model(other, *args[1:]), 0, 2)[untouched]

    model.train()
    assert moved().min() > 1e-9
    for module in model.modules():
        if isinstance(module, nn.BatchNorm1d):
            module.eval()
    assert moved().max() <= TOLERANCE


@EXAMPLES
@given(sizes=valid_sizes("iTransformer", **SMALL), random=st.randoms(use_true_random=False))
def test_itransformer_does_not_know_the_order_of_its_variates(sizes: dict[str, int], random: Any) -> None:
    model = build("iTransformer", sizes)
    x_enc, x_mark_enc, x_dec, x_mark_dec = inputs("iTransformer", sizes)
    order, mark_order = (random.sample(range(n), n) for n in (sizes["N"], sizes["marks"]))
    out = model(x_enc, x_mark_enc, x_dec, x_mark_dec)
    permuted = model(x_enc[:, :, order], x_mark_enc[:, :, mark_order], x_dec, x_mark_dec)
    assert far(permuted, out[:, :, order]).max() <= TOLERANCE
    assert far(out, out.roll(1, dims=2)).max() > 1e-3
    in_another_order_of_time = model(x_enc.flip(1), x_mark_enc, x_dec, x_mark_dec)
    assert far(in_another_order_of_time, out).max() > 1e-3


# The module whose output a model scales back, and what it must give so that the result is the scaled input itself.
SCALED_BACK: dict[str, tuple[str, str, Callable[[Tensor], Tensor]]] = {
    "PatchTST": ("patch_embedding", "head", lambda x: x),
    "iTransformer": ("enc_embedding", "projection", lambda x: x.permute(0, 2, 1)),
    "Informer": ("enc_embedding", "decoder", lambda x: x),
    "Nonstationary_Transformer": ("enc_embedding", "decoder", lambda x: x),
}


@pytest.mark.parametrize("name", SCALED_BACK)
def test_scaling_back_undoes_the_normalisation(name: str) -> None:
    """The network between the two replaced by the identity: what comes out is what went in."""
    entry, last, turned = SCALED_BACK[name]

    @EXAMPLES
    @given(sizes=valid_sizes(name, **SMALL), scale=st.floats(0.01, 1000), shift=st.floats(-1000, 1000))
    def undone(sizes: dict[str, int], scale: float, shift: float) -> None:
        sizes = {**sizes, "pred_len": sizes["seq_len"]}
        if "c_out" in sizes:
            sizes["c_out"] = sizes["enc_in"]
        model = build(name, sizes, task_name="short_term_forecast")
        x_enc, *others = inputs(name, sizes)
        x_enc = scale * x_enc + shift
        kept: list[Tensor] = []
        model.get_submodule(entry).register_forward_pre_hook(lambda module, args: kept.append(args[0]))
        model.get_submodule(last).register_forward_hook(lambda module, args, output: turned(kept[0]))
        out = model(x_enc, *others)
        normalised = kept[0] if kept[0].shape == x_enc.shape else kept[0].permute(0, 2, 1)
        assert normalised.mean(dim=1).abs().max() <= 1e-6
        assert normalised.std(dim=1, unbiased=False).max() <= 1
        assert far(out, x_enc).max() <= 1e-9 * (scale + abs(shift))

    undone()


# Which inputs a model reads; the others get no gradient at all.
READS = {
    "PatchTST": ("x_enc",),
    "iTransformer": ("x_enc", "x_mark_enc"),
    "Informer": ("x_enc", "x_mark_enc", "x_dec", "x_mark_dec"),
    "Transformer": ("x_enc", "x_mark_enc", "x_dec", "x_mark_dec"),
    "Nonstationary_Transformer": ("x_enc", "x_mark_enc", "x_mark_dec"),
}


@pytest.mark.parametrize("name", TOYS)
@pytest.mark.parametrize("training", [False, True])
def test_gradients_reach_what_the_model_reads_and_nothing_else(name: str, training: bool) -> None:
    @settings(EXAMPLES, max_examples=15)
    @given(sizes=valid_sizes(name, **SMALL))
    def reach(sizes: dict[str, int]) -> None:
        model = build(name, sizes, dropout=0.0).train(training)
        args = dict(zip(("x_enc", "x_mark_enc", "x_dec", "x_mark_dec"), inputs(name, sizes), strict=True))
        kept = {key: tensor.clone() for key, tensor in args.items()}
        for tensor in args.values():
            tensor.requires_grad_()
        out = model(*args.values())
        (out * torch.randn_like(out)).sum().backward()
        assert {key for key, tensor in args.items() if tensor.grad is not None} == set(READS[name])
        for key in READS[name]:
            gradient = args[key].grad
            assert gradient is not None and gradient.isfinite().all()
            assert (gradient != 0).any(dim=-1).float().mean() > 0.5, key
        assert all(torch.equal(args[key].detach(), kept[key]) for key in args)

    reach()
