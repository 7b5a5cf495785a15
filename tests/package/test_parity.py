"""Same weights, inputs and draws as Time-Series-Library: the same numbers, in every module on the way."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from torch import Tensor, nn

from tsformers import create_model
from tsformers.models.create import MODELS
from tsformers.models.task import TASKS

PARITY = Path(__file__).parent / "parity"
CASES = sorted(path.stem for path in PARITY.glob("*.safetensors"))
INPUTS = ("x_enc", "x_mark_enc", "x_dec", "x_mark_dec")
TOLERANCE = 1e-12


@dataclass(frozen=True)
class Case:
    model: str
    flags: dict[str, Any]
    seed: int
    tensors: dict[str, Tensor]

    def under(self, prefix: str) -> dict[str, Tensor]:
        return {key.removeprefix(prefix): t for key, t in self.tensors.items() if key.startswith(prefix)}


def load(stem: str) -> Case:
    with safe_open(PARITY / f"{stem}.safetensors", "pt") as file:
        metadata = file.metadata()
        tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 - safe_open is no mapping
    return Case(metadata["model"], json.loads(metadata["config"]), int(metadata["rng_seed_before_forward"]), tensors)


def first_tensor(output: Any) -> Tensor:
    return output[0] if isinstance(output, tuple) else output


def build(case: Case) -> nn.Module:
    model = create_model(case.model, **case.flags).double().eval()
    loaded = model.load_state_dict(case.under("state/"), strict=False)
    assert loaded.unexpected_keys == []
    assert all(key.endswith("position_embedding.pe") for key in loaded.missing_keys)
    return model


def test_every_model_has_a_case() -> None:
    assert {stem.partition("-")[0] for stem in CASES} == set(MODELS)


@pytest.mark.parametrize("stem", CASES)
def test_output_and_every_module_on_the_way(stem: str) -> None:
    case = load(stem)
    model = build(case)
    seen: dict[str, Tensor] = {}

    def remember(path: str) -> Any:
        def hook(module: nn.Module, args: Any, output: Any) -> None:
            seen.setdefault(path, first_tensor(output))

        return hook

    for path, module in model.named_modules():
        module.register_forward_hook(remember(path))
    inputs = case.under("in/")
    torch.manual_seed(case.seed)
    out = model(*(inputs[name] for name in INPUTS), mask=inputs.get("mask"))

    expected = case.under("mid/") | {"": case.tensors["out"]}
    assert set(expected) <= set(seen)
    assert torch.equal(out, seen[""])
    for path, tensor in expected.items():
        assert seen[path].shape == tensor.shape, path
        assert (seen[path] - tensor).abs().max() <= TOLERANCE, path


@pytest.mark.parametrize("stem", [stem for stem in CASES if stem.startswith("Informer")])
def test_informer_draws_what_the_library_draws(stem: str) -> None:
    """The other way round: another seed gives other numbers, so the agreement above is not for want of drawing."""
    case = load(stem)
    model, inputs = build(case), case.under("in/")
    torch.manual_seed(case.seed + 1)
    out = model(*(inputs[name] for name in INPUTS), mask=inputs.get("mask"))
    assert (out - case.tensors["out"]).abs().max() > 1e-3


SIZES = dict(pred_len=7, n_heads=2, e_layers=2, d_layers=1, factor=1, num_class=3)
TIME_STEPS = dict(seq_len=24, label_len=12, enc_in=5, dec_in=5, c_out=5, d_model=8, d_ff=32)
CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "PatchTST": dict(seq_len=17, enc_in=4, d_model=16, d_ff=64, patch_len=5, stride=3),
    "iTransformer": dict(seq_len=12, enc_in=5, d_model=8, d_ff=32),
    "Informer": dict(seq_len=10, label_len=5, enc_in=6, dec_in=6, c_out=6, d_model=8, d_ff=32),
    "Transformer": TIME_STEPS,
    "Nonstationary_Transformer": TIME_STEPS | dict(p_hidden_dims=(8, 8), p_hidden_layers=2),
}
STATE_DICTS: dict[str, dict[str, list[int]]] = json.loads((PARITY / "state_dict.json").read_text(encoding="utf-8"))


def test_every_model_has_names_for_every_task() -> None:
    assert set(STATE_DICTS) == {f"{name}/{task}" for name in MODELS for task in TASKS}


@pytest.mark.parametrize("which", STATE_DICTS)
def test_state_dict_has_the_librarys_names_and_shapes(which: str) -> None:
    name, _, task = which.partition("/")
    model = create_model(name, task_name=task, **SIZES, **CONFIGURATIONS[name])
    assert {key: list(tensor.shape) for key, tensor in model.state_dict().items()} == STATE_DICTS[which]
