"""What the pages rely on: readable numbers, axis names that only the right formula satisfies, no chance."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import tsformers
from tsformers import AXES, toy
from tsformers.toy import Toy, ToyFunction, fixed_draw, one_decimals

NAMES = ("patchtst", "itransformer", "informer", "transformer", "nonstationary_transformer")
PLAIN: dict[str, ToyFunction] = {name: getattr(toy, name) for name in NAMES}
TRAINED: dict[str, ToyFunction] = {name: getattr(toy, f"{name}_trained") for name in NAMES}
EVERY = [
    pytest.param(function, case, id=f"{kind}-{name}-{case}")
    for kind, functions in (("plain", PLAIN), ("trained", TRAINED))
    for name, function in functions.items()
    for case in range(function.cases)
]
PLAIN_CASES = [(name, case) for name, function in PLAIN.items() for case in range(function.cases)]


def value(formula: str, names: dict[str, int]) -> Any:
    return eval(formula, {"__builtins__": {}}, names)


def axis_sizes(made: Toy) -> dict[str, int]:
    return {name: value(formula, made.sizes) for name, formula in made.axes.items()}


def run(made: Toy) -> Tensor:
    return made.call(*made.args, **made.kwargs)


def tenths(tensor: Tensor) -> bool:
    return torch.equal((tensor * 10).round() / 10, tensor)


def norms(model: nn.Module) -> list[nn.Module]:
    return [module for module in model.modules() if isinstance(module, nn.LayerNorm | nn.BatchNorm1d)]


@pytest.mark.parametrize(("function", "case"), EVERY)
def test_every_number_has_one_decimal(function: ToyFunction, case: int) -> None:
    made = function(case)
    assert not made.call.training
    for name, tensor in [*made.call.named_parameters(), *((str(i), t) for i, t in enumerate(made.args))]:
        assert tensor.dtype == torch.float64, name
        assert not tensor.requires_grad, name
        assert tenths(tensor), name
        assert tensor.abs().max() <= 2, name


@pytest.mark.parametrize(("function", "case"), EVERY)
def test_no_two_rows_of_a_weight_are_alike(function: ToyFunction, case: int) -> None:
    for name, weight in function(case).call.named_parameters():
        if weight.dim() > 1:
            rows = weight.flatten(1)
            assert len(rows.unique(dim=0)) == len(rows), name


@pytest.mark.parametrize("name", PLAIN)
def test_no_two_rows_of_an_input_are_alike(name: str) -> None:
    x_enc, x_mark_enc, x_dec, x_mark_dec = PLAIN[name]().args
    known = x_dec[:, : PLAIN[name]().sizes.get("label_len", 0)]
    for tensor in (x_enc, x_mark_enc, known, x_mark_dec):
        rows = tensor.flatten(0, 1)
        assert len(rows.unique(dim=0)) == len(rows)


@pytest.mark.parametrize("name", PLAIN)
def test_decoder_input_is_the_end_of_the_past_and_zeros(name: str) -> None:
    made = PLAIN[name](1)
    label_len = made.sizes.get("label_len", 0)
    x_enc, x_mark_enc, x_dec, x_mark_dec = made.args
    assert x_dec.shape[1] == x_mark_dec.shape[1] == label_len + made.sizes["pred_len"]
    assert torch.equal(x_dec[:, :label_len], x_enc[:, x_enc.shape[1] - label_len :])
    assert torch.equal(x_mark_dec[:, :label_len], x_mark_enc[:, x_enc.shape[1] - label_len :])
    assert not x_dec[:, label_len:].any()


@pytest.mark.parametrize(("name", "case"), PLAIN_CASES)
def test_norms_are_as_constructed_only_in_the_plain_toy(name: str, case: int) -> None:
    plain, trained = PLAIN[name](case).call, TRAINED[name](case).call
    assert norms(plain)
    for ours, theirs in zip(norms(plain), norms(trained), strict=True):
        fresh = type(ours)(ours.weight.shape[0]).double()
        for key, tensor in fresh.state_dict().items():
            assert torch.equal(ours.state_dict()[key], tensor)
            if tensor.dim():
                assert not torch.isclose(theirs.state_dict()[key], tensor).all()
        if isinstance(theirs, nn.BatchNorm1d):
            assert (theirs.running_var > 0).all()
    assert not torch.equal(run(PLAIN[name](case)), run(TRAINED[name](case)))


@pytest.mark.parametrize(("function", "case"), EVERY)
def test_numbers_neither_explode_nor_vanish(function: ToyFunction, case: int) -> None:
    out = run(function(case))
    assert out.isfinite().all()
    assert 0.1 < out.abs().max() < 100


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("case", [0, 1, 2])
def test_attention_is_visibly_uneven(name: str, case: int) -> None:
    made = PLAIN[name](case)
    layers = [path for path, module in made.call.named_modules() if path.endswith("attention.inner_attention")]
    for path in layers:
        (queries, keys, *_), _ = made.inputs_of(path)
        scores = torch.einsum("blhe,bshe->bhls", queries, keys) / queries.shape[-1] ** 0.5
        weights = scores.softmax(-1)
        ratio = weights.amax(-1) / weights.amin(-1)
        assert (ratio > 1.1).all(), path
        assert ratio.median() > 2, path


# The de-normalised output has the series of the input: c_out is another name for enc_in.
SAME = {"nonstationary_transformer": ("c_out",)}


@pytest.mark.parametrize("name", PLAIN)
def test_sizes_that_could_be_confused_differ_in_the_further_cases(name: str) -> None:
    for case in range(1, PLAIN[name].cases):
        sizes = {axis: size for axis, size in axis_sizes(PLAIN[name](case)).items() if axis not in SAME.get(name, ())}
        assert [(a, b) for a, b in combinations(sizes, 2) if sizes[a] == sizes[b]] == []
        assert min(sizes.values()) >= 2
        if name == "patchtst":
            assert sizes["B"] * sizes["C"] not in sizes.values()


@pytest.mark.parametrize("name", PLAIN)
def test_axis_names_are_in_the_vocabulary(name: str) -> None:
    assert set(PLAIN[name]().axes) <= {axis.name for axis in AXES}


WITH_DECODER: dict[str, tuple[str, ...]] = {
    "enc_embedding": ("B", "seq_len", "d_model"),
    "dec_embedding": ("B", "dec_len", "d_model"),
    "encoder.attn_layers.0.attention.inner_attention": ("B", "seq_len", "n_heads", "d_keys"),
    "encoder.attn_layers.1.conv1": ("B", "d_ff", "seq_len"),
    "encoder": ("B", "seq_len", "d_model"),
    "decoder.layers.0.self_attention.inner_attention": ("B", "dec_len", "n_heads", "d_keys"),
    "decoder.layers.0.cross_attention.inner_attention": ("B", "dec_len", "n_heads", "d_keys"),
}
WHERE: dict[str, dict[str, tuple[str, ...]]] = {
    "patchtst": {
        "": ("B", "pred_len", "C"),
        "patch_embedding.padding_patch_layer": ("B", "C", "padded_len"),
        "patch_embedding": ("B*C", "patch_num", "d_model"),
        "encoder.attn_layers.0.attention.inner_attention": ("B*C", "patch_num", "n_heads", "d_keys"),
        "encoder.attn_layers.1.attention": ("B*C", "patch_num", "d_model"),
        "encoder.attn_layers.0.conv1": ("B*C", "d_ff", "patch_num"),
        "encoder.norm.1": ("B*C", "d_model", "patch_num"),
        "head.flatten": ("B", "C", "head_nf"),
        "head": ("B", "C", "pred_len"),
    },
    "itransformer": {
        "": ("B", "pred_len", "N"),
        "enc_embedding": ("B", "token_count", "d_model"),
        "encoder.attn_layers.0.attention.inner_attention": ("B", "token_count", "n_heads", "d_keys"),
        "encoder.attn_layers.1.conv1": ("B", "d_ff", "token_count"),
        "encoder": ("B", "token_count", "d_model"),
        "projection": ("B", "token_count", "pred_len"),
    },
    "informer": {
        "": ("B", "pred_len", "c_out"),
        "enc_embedding": ("B", "seq_len", "d_model"),
        "dec_embedding": ("B", "dec_len", "d_model"),
        "encoder.attn_layers.0.attention.inner_attention": ("B", "n_heads", "seq_len", "d_keys"),
        "encoder.conv_layers.0.downConv": ("B", "d_model", "conv_len"),
        "encoder.conv_layers.0": ("B", "enc_seq", "d_model"),
        "encoder.attn_layers.1": ("B", "enc_seq", "d_model"),
        "decoder.layers.0.self_attention.inner_attention": ("B", "n_heads", "dec_len", "d_keys"),
        "decoder.layers.0.conv1": ("B", "d_ff", "dec_len"),
        "decoder": ("B", "dec_len", "c_out"),
    },
    "transformer": WITH_DECODER | {"": ("B", "pred_len", "c_out"), "decoder": ("B", "dec_len", "c_out")},
    "nonstationary_transformer": WITH_DECODER
    | {
        "": ("B", "pred_len", "c_out"),
        "decoder": ("B", "dec_len", "c_out"),
        "tau_learner.series_conv": ("B", "1", "enc_in"),
        "tau_learner": ("B", "1"),
        "delta_learner": ("B", "seq_len"),
    },
}
FROM_DECODER = (
    ("B", "seq_len", "enc_in"), ("B", "seq_len", "marks"), ("B", "dec_len", "enc_in"), ("B", "dec_len", "marks")
)  # fmt: skip
INPUTS: dict[str, tuple[tuple[str, ...], ...]] = {
    "patchtst": (("B", "seq_len", "C"), ("B", "seq_len", "marks"), ("B", "pred_len", "C"), ("B", "pred_len", "marks")),
    "itransformer": (
        ("B", "seq_len", "N"),
        ("B", "seq_len", "marks"),
        ("B", "pred_len", "N"),
        ("B", "pred_len", "marks"),
    ),
    **dict.fromkeys(("informer", "transformer", "nonstationary_transformer"), FROM_DECODER),
}


@pytest.mark.parametrize(("name", "case"), PLAIN_CASES)
def test_axis_formulas_hold_on_the_tensors(name: str, case: int) -> None:
    made = PLAIN[name](case)
    shapes: dict[str, tuple[int, ...]] = {}

    def remember(path: str) -> Callable[..., None]:
        def hook(module: nn.Module, args: Any, output: Any) -> None:
            shapes[path] = tuple((output[0] if isinstance(output, tuple) else output).shape)

        return hook

    for path, module in made.call.named_modules():
        module.register_forward_hook(remember(path))
    run(made)
    sizes = axis_sizes(made)

    def named(axes: tuple[str, ...]) -> tuple[int, ...]:
        return tuple(value(axis, sizes) for axis in axes)

    assert {path: shapes[path] for path in WHERE[name]} == {path: named(axes) for path, axes in WHERE[name].items()}
    assert [tuple(t.shape) for t in made.args] == [named(axes) for axes in INPUTS[name]]


@pytest.mark.parametrize(("function", "case"), EVERY)
def test_conditions_hold(function: ToyFunction, case: int) -> None:
    made = function(case)
    assert [condition for condition, _ in made.conditions if value(condition, made.sizes) is not True] == []


@pytest.mark.parametrize(
    ("name", "change", "condition"),
    [
        ("patchtst", {"seq_len": 4}, "seq_len >= patch_len"),
        ("patchtst", {"stride": 0}, "stride >= 1"),
        ("patchtst", {"n_heads": 3}, "d_model % n_heads == 0"),
        ("patchtst", {"d_model": 15, "n_heads": 3}, "d_model % 2 == 0"),
        ("itransformer", {"e_layers": 0}, "e_layers >= 1"),
        ("informer", {"d_layers": 0}, "d_layers >= 1"),
        ("informer", {"seq_len": 2, "label_len": 2}, "seq_len + (factor >= 2) >= 3"),
        ("informer", {"label_len": 1, "pred_len": 1}, "label_len + pred_len + (factor >= 2) >= 3"),
        ("informer", {"label_len": 11}, "label_len <= seq_len"),
        ("transformer", {"d_layers": 0}, "d_layers >= 1"),
        ("transformer", {"d_model": 9, "n_heads": 3}, "d_model % 2 == 0"),
        ("nonstationary_transformer", {"label_len": 0}, "label_len >= 1"),
        ("nonstationary_transformer", {"label_len": 11}, "label_len <= seq_len"),
    ],
)
def test_a_condition_says_what_the_model_rejects(name: str, change: dict[str, int], condition: str) -> None:
    made = PLAIN[name]()
    sizes = made.sizes | change
    assert [c for c, _ in made.conditions if not value(c, sizes)] == [condition]
    flags = {flag: size for flag, size in sizes.items() if flag not in ("B", "C", "N", "marks")}
    series = {"patchtst": {"enc_in": 4}, "itransformer": {}}.get(name, {"dec_in": 6, "c_out": 6})
    with pytest.raises(ValueError, match="必须|不能|太短"):
        tsformers.create_model(type(made.call).__name__, task_name="long_term_forecast", **(flags | series))


def lines_of_a_run(made: Toy) -> set[tuple[str, int]]:
    """Lines of the package that a forward executes."""
    package = str(Path(tsformers.__file__).parent)
    seen: set[tuple[str, int]] = set()

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if not frame.f_code.co_filename.startswith(package):
            return None
        if event == "line":
            seen.add((frame.f_code.co_filename, frame.f_lineno))
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        run(made)
    finally:
        sys.settrace(before)
    return seen


@pytest.mark.parametrize("name", PLAIN)
def test_further_cases_execute_what_the_toy_executes(name: str) -> None:
    lines = lines_of_a_run(PLAIN[name]())
    assert len(lines) > 40
    for case in range(1, PLAIN[name].cases):
        assert lines <= lines_of_a_run(PLAIN[name](case))


@pytest.mark.parametrize("name", PLAIN)
def test_a_run_draws_nothing_and_repeats(name: str) -> None:
    torch.manual_seed(1)
    made = PLAIN[name]()
    before = torch.get_rng_state()
    out = run(made)
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(2)
    assert torch.equal(run(PLAIN[name]()), out)


def test_inputs_of_are_those_of_the_run() -> None:
    made = toy.patchtst()
    (x,), options = made.inputs_of("encoder.attn_layers.0")
    tokens, n_vars = made.call.patch_embedding(*made.inputs_of("patch_embedding")[0])
    assert torch.equal(x, tokens)
    assert n_vars == made.sizes["C"]
    assert options == {"attn_mask": None, "tau": None, "delta": None}
    out, _ = made.call.encoder.attn_layers[0](x, **options)
    assert torch.equal(made.inputs_of("encoder.attn_layers.1")[0][0], out)
    assert not made.call.encoder.attn_layers[0]._forward_pre_hooks


@pytest.mark.parametrize(
    ("path", "message"), [("encoder.attn_layers.7", "没有对应的模块"), ("encoder.attn_layers", "没有被调用")]
)
def test_inputs_of_says_which_path_is_wrong(path: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        toy.patchtst().inputs_of(path)


def test_an_unknown_case_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"case \(3\)"):
        toy.informer(3)


def test_one_decimals_are_the_documented_recurrence() -> None:
    state = 0x352441C2  # CRC-32 of "abc"
    expected = []
    for _ in range(6):
        state = (1103515245 * state + 12345) % 2**31
        expected.append(((state >> 16) % 11 - 5) / 10)
    assert one_decimals("abc", 2, 3).flatten().tolist() == expected


def test_fixed_draw_stands_in_for_randint() -> None:
    assert fixed_draw(10, (3, 2)).tolist() == [[0, 3], [7, 0], [4, 7]]
    drawn, expected = fixed_draw(6, (12, 2)), torch.randint(6, (12, 2))
    assert (drawn.shape, drawn.dtype) == (expected.shape, expected.dtype)
    assert drawn.min() >= 0 and drawn.max() < 6
