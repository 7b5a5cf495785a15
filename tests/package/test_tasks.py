"""What a model does in each task, and what it does not read."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tsformers import DSAttention, FullAttention, Projector, create_model, masked_normalise, toy
from tsformers.models.create import MODELS
from tsformers.models.task import FORECASTS, TASKS

B, SEQ_LEN, SERIES, MARKS, CLASSES = 3, 24, 5, 4, 6
SIZES: dict[str, Any] = dict(
    seq_len=SEQ_LEN, label_len=11, pred_len=7, enc_in=SERIES, dec_in=SERIES, c_out=SERIES, d_model=14, n_heads=2,
    e_layers=2, d_layers=1, d_ff=20, num_class=CLASSES, p_hidden_dims=(9, 10), p_hidden_layers=2, dropout=0.0,
)  # fmt: skip
ON_TIME_STEPS = ("Informer", "Transformer", "Nonstationary_Transformer")
FULL = ("PatchTST", "iTransformer", "Transformer", "Nonstationary_Transformer")  # nothing is drawn in them


def build(name: str, task: str) -> nn.Module:
    torch.manual_seed(0)
    return create_model(name, task_name=task, **SIZES).double().eval()


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def inputs(task: str) -> dict[str, Tensor | None]:
    mask = (random(B, SEQ_LEN, SERIES, seed=9) > -0.5).double()
    x_enc = 2 * random(B, SEQ_LEN, SERIES) + 3
    padding = (torch.arange(SEQ_LEN) < torch.tensor([[24], [17], [9]])).double()
    return {
        "x_enc": x_enc * mask if task == "imputation" else x_enc,
        "x_mark_enc": padding if task == "classification" else random(B, SEQ_LEN, MARKS, seed=1) / 4,
        "x_dec": random(B, 18, SERIES, seed=2),
        "x_mark_dec": random(B, 18, MARKS, seed=3) / 4,
        "mask": mask if task == "imputation" else None,
    }


def run(model: nn.Module, given: dict[str, Tensor | None]) -> Tensor:
    torch.manual_seed(5)
    return model(**given)


READ: dict[tuple[str, str], set[str]] = {
    **{("PatchTST", task): {"x_enc"} for task in TASKS},
    ("PatchTST", "imputation"): {"x_enc", "mask"},
    **{("iTransformer", task): {"x_enc", "x_mark_enc"} for task in (*FORECASTS, "imputation")},
    **{("iTransformer", task): {"x_enc"} for task in ("anomaly_detection", "classification")},
    **{(name, task): {"x_enc", "x_mark_enc", "x_dec", "x_mark_dec"} for name in ON_TIME_STEPS for task in FORECASTS},
    **{(name, "imputation"): {"x_enc", "x_mark_enc"} for name in ON_TIME_STEPS},
    **{(name, "anomaly_detection"): {"x_enc"} for name in ON_TIME_STEPS},
    **{(name, "classification"): {"x_enc", "x_mark_enc"} for name in ON_TIME_STEPS},
    **{("Nonstationary_Transformer", task): {"x_enc", "x_mark_enc", "x_mark_dec"} for task in FORECASTS},
    ("Nonstationary_Transformer", "imputation"): {"x_enc", "x_mark_enc", "mask"},
}


@pytest.mark.parametrize(("name", "task"), [(name, task) for name in MODELS for task in TASKS])
def test_what_a_task_gives_and_what_it_reads(name: str, task: str) -> None:
    model, given = build(name, task), inputs(task)
    out = run(model, given)
    length = 7 if task in FORECASTS else SEQ_LEN
    assert out.shape == ((B, CLASSES) if task == "classification" else (B, length, SERIES))
    assert out.isfinite().all()

    read = set()
    for key, tensor in given.items():
        if tensor is not None:
            other = tensor.flip(1) if key in ("x_mark_enc", "mask") else tensor + random(*tensor.shape, seed=7)
            if not torch.equal(run(model, given | {key: other}), out):
                read.add(key)
    assert read == READ[name, task]


@pytest.mark.parametrize(("name", "task"), [(name, task) for name in FULL for task in TASKS])
def test_samples_do_not_know_each_other(name: str, task: str) -> None:
    model, given = build(name, task), inputs(task)
    alone = run(model, {key: tensor if tensor is None else tensor[:1] for key, tensor in given.items()})
    assert (run(model, given)[:1] - alone).abs().max() < 1e-12


@pytest.mark.parametrize(("name", "task"), [(name, task) for name in MODELS for task in TASKS])
def test_gradients_reach_what_the_task_uses_and_leave_the_inputs_alone(name: str, task: str) -> None:
    model, given = build(name, task), inputs(task)
    x_enc = given["x_enc"]
    assert x_enc is not None
    before = x_enc.clone()
    run(model, given | {"x_enc": x_enc.requires_grad_()}).square().sum().backward()
    assert x_enc.grad is not None
    assert (x_enc.grad.abs().amax(dim=(0, 2)) > 0).all()
    assert torch.equal(x_enc.detach(), before)
    unused = {name.split(".")[0] for name, p in model.named_parameters() if p.requires_grad and p.grad is None}
    not_forecasting = name == "Informer" and task not in FORECASTS
    marks_unread = name in ON_TIME_STEPS and task in ("anomaly_detection", "classification")
    assert unused == {*(("decoder", "dec_embedding") if not_forecasting else ()), *(("enc_embedding",) * marks_unread)}


@pytest.mark.parametrize("task", TASKS)
def test_informer_distils_in_forecasts_only(task: str) -> None:
    assert (build("Informer", task).encoder.conv_layers is not None) == (task in FORECASTS)


@pytest.mark.parametrize("name", ON_TIME_STEPS)
def test_padding_has_no_say_in_the_class_where_nothing_attends_to_it(name: str) -> None:
    """The mask is laid over the encoder's output, not over its attention: padded tokens are seen by the others."""
    model, given = build(name, "classification"), inputs("classification")
    nothing = run(model, given | {"x_mark_enc": torch.zeros(B, SEQ_LEN, dtype=torch.float64)})
    assert (nothing - model.projection.bias).abs().max() < 1e-12
    padded = inputs("classification")["x_enc"]
    assert padded is not None
    padded[2, 9:] += 1
    assert not torch.equal(run(model, given | {"x_enc": padded})[2], run(model, given)[2])


def test_masked_normalise_is_the_mean_and_spread_of_what_is_seen() -> None:
    given = inputs("imputation")
    x, mask = given["x_enc"], given["mask"]
    assert x is not None and mask is not None
    result, means, stdev = masked_normalise(x, mask)
    for b in range(B):
        for c in range(SERIES):
            seen = x[b, mask[b, :, c] == 1, c]
            assert torch.isclose(means[b, 0, c], seen.mean())
            assert torch.isclose(stdev[b, 0, c], (seen.var(correction=0) + 1e-5).sqrt())
    assert ((result * stdev + means) * mask - x).abs().max() < 1e-12
    assert not result[mask == 0].any()


def test_masked_normalise_with_everything_seen_is_plain_normalisation() -> None:
    x = random(B, SEQ_LEN, SERIES)
    result, means, stdev = masked_normalise(x, torch.ones_like(x))
    assert (means - x.mean(1, keepdim=True)).abs().max() < 1e-12
    assert (stdev - (x.var(1, correction=0, keepdim=True) + 1e-5).sqrt()).abs().max() < 1e-12
    assert (result - (x - means) / stdev).abs().max() < 1e-12


@pytest.mark.parametrize("name", ["PatchTST", "Nonstationary_Transformer"])
def test_imputation_with_everything_seen_is_anomaly_detection_with_the_same_weights(name: str) -> None:
    impute, detect = build(name, "imputation"), build(name, "anomaly_detection")
    detect.load_state_dict(impute.state_dict())
    x = random(B, SEQ_LEN, SERIES)
    imputed = impute(x, None, None, None, torch.ones_like(x))
    assert (imputed - detect(x, None, None, None)).abs().max() < 1e-12


def test_anomaly_detection_of_the_nonstationary_transformer_step_by_step() -> None:
    model, x = build("Nonstationary_Transformer", "anomaly_detection"), 2 * random(B, SEQ_LEN, SERIES) + 3
    means, stdev = x.mean(1, keepdim=True), (x.var(1, correction=0, keepdim=True) + 1e-5).sqrt()
    tau, delta = model.tau_learner(x, stdev).exp(), model.delta_learner(x, means)
    tokens, _ = model.encoder(model.enc_embedding((x - means) / stdev, None), tau=tau, delta=delta)
    assert (model(x, None, None, None) - (model.projection(tokens) * stdev + means)).abs().max() < 1e-12


def test_classification_of_the_nonstationary_transformer_step_by_step() -> None:
    model, given = build("Nonstationary_Transformer", "classification"), inputs("classification")
    x, padding = given["x_enc"], given["x_mark_enc"]
    assert x is not None and padding is not None
    means, stdev = x.mean(1, keepdim=True), (x.var(1, correction=0, keepdim=True) + 1e-5).sqrt()
    tau, delta = model.tau_learner(x, stdev).exp(), model.delta_learner(x, means)
    tokens, _ = model.encoder(model.enc_embedding(x, None), tau=tau, delta=delta)
    expected = model.projection((F.gelu(tokens) * padding[:, :, None]).reshape(B, -1))
    assert (run(model, given) - expected).abs().max() < 1e-12


@pytest.mark.parametrize("task", ["imputation", "anomaly_detection", "classification"])
def test_the_other_tasks_of_the_transformer_step_by_step(task: str) -> None:
    model, given = build("Transformer", task), inputs(task)
    x, marks = given["x_enc"], given["x_mark_enc"]
    assert x is not None and marks is not None
    tokens, _ = model.encoder(model.enc_embedding(x, marks if task == "imputation" else None))
    if task == "classification":
        tokens = (F.gelu(tokens) * marks[:, :, None]).reshape(B, -1)
    assert (run(model, given) - model.projection(tokens)).abs().max() < 1e-12


def test_tau_stays_finite_for_a_series_that_is_out_of_all_proportion() -> None:
    model = build("Nonstationary_Transformer", "long_term_forecast").float()
    nn.init.constant_(model.tau_learner.series_conv.weight, 1.0)
    for layer in model.tau_learner.backbone[::2]:
        nn.init.constant_(layer.weight, 1.0)
    tau, _ = model.factors(*(1e9 * torch.ones(B, length, SERIES) for length in (SEQ_LEN, 1, 1)))
    assert torch.allclose(tau.log(), torch.tensor(80.0))


def heads(length: int, seed: int) -> Tensor:
    return random(B, length, 2, 4, seed=seed)


@pytest.mark.parametrize("mask_flag", [False, True])
def test_destationary_attention_without_factors_is_full_attention(mask_flag: bool) -> None:
    q, k, v = heads(7, 1), heads(7, 2), heads(7, 3)
    ours, weights = DSAttention(mask_flag, output_attention=True).eval()(q, k, v, None)
    full, full_weights = FullAttention(mask_flag, output_attention=True).eval()(q, k, v, None)
    assert torch.equal(ours, full)
    assert torch.equal(weights, full_weights)


def test_destationary_attention_is_attention_with_an_additive_mask() -> None:
    q, k, v = heads(7, 1), heads(5, 2), heads(5, 3)
    tau, delta = random(B, 1, seed=4).exp(), random(B, 5, seed=5)
    ours, _ = DSAttention(False).eval()(q, k, v, None, tau=tau, delta=delta)
    q, k, v = (t.transpose(1, 2) for t in (q * tau[:, :, None, None], k, v))
    theirs = F.scaled_dot_product_attention(q, k, v, attn_mask=(delta / 2)[:, None, None, :])
    assert (ours - theirs.transpose(1, 2)).abs().max() < 1e-12


def test_only_differences_of_delta_count() -> None:
    q, k, v = heads(7, 1), heads(5, 2), heads(5, 3)
    delta = random(B, 5, seed=5)
    attend = DSAttention(False).eval()
    first, moved, other = (attend(q, k, v, None, delta=d)[0] for d in (delta, delta + 4, delta.flip(1)))
    assert (moved - first).abs().max() < 1e-12
    assert (other - first).abs().max() > 1e-3


def test_delta_reaches_the_encoder_and_cross_attention_only() -> None:
    made = toy.nonstationary_transformer()
    seen = {}
    for path in (
        "encoder.attn_layers.1.attention",
        "decoder.layers.0.self_attention",
        "decoder.layers.0.cross_attention",
    ):
        _, options = made.inputs_of(path)
        seen[path.rpartition(".")[2]] = {name for name in ("tau", "delta") if options[name] is not None}
    assert seen == {"attention": {"tau", "delta"}, "self_attention": {"tau"}, "cross_attention": {"tau", "delta"}}


def test_the_projector_is_a_perceptron_on_two_numbers_a_series() -> None:
    torch.manual_seed(0)
    ours = Projector(SERIES, SEQ_LEN, (9, 10), 2, 3).double()
    x, stats = random(B, SEQ_LEN, SERIES), random(B, 1, SERIES, seed=1)
    kernel = ours.series_conv.weight[0]  # [SEQ_LEN, 3]
    around = torch.stack([x.roll(1, -1), x, x.roll(-1, -1)])
    mixed = torch.einsum("kbsc,sk->bc", around, kernel)
    assert (ours(x, stats) - ours.backbone(torch.cat([mixed, stats[:, 0]], dim=1))).abs().max() < 1e-12


def test_the_decoder_of_the_nonstationary_transformer_starts_from_normalised_steps() -> None:
    made = toy.nonstationary_transformer()
    x_enc = made.args[0]
    (start, _), _ = made.inputs_of("dec_embedding")
    label_len, pred_len = made.sizes["label_len"], made.sizes["pred_len"]
    stdev = (x_enc.var(1, correction=0, keepdim=True) + 1e-5).sqrt()
    known = ((x_enc - x_enc.mean(1, keepdim=True)) / stdev)[:, -label_len:]
    assert (start[:, :label_len] - known).abs().max() < 1e-12
    assert start.shape[1] == label_len + pred_len
    assert not start[:, label_len:].any()
