"""Weights from real files: read, loaded, refused."""

from __future__ import annotations

import builtins
import json
import os
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from tsformers import CheckpointError, create_model, load_checkpoint
from tsformers.layers.embedding import sinusoids
from tsformers.models.create import MODELS

SIZES: dict[str, Any] = dict(
    task_name="long_term_forecast", seq_len=24, label_len=5, pred_len=7, enc_in=4, dec_in=4, c_out=4,
    d_model=8, n_heads=2, e_layers=2, d_layers=1, d_ff=12,
)  # fmt: skip


PARITY = Path(__file__).parent / "parity"


def model_of(name: str, seed: int, **change: Any) -> nn.Module:
    torch.manual_seed(seed)
    return create_model(name, **(SIZES | change))


def equal(ours: dict[str, Tensor], theirs: dict[str, Tensor]) -> bool:
    return ours.keys() == theirs.keys() and all(torch.equal(ours[name], theirs[name]) for name in ours)


def write(path: Path, weights: dict[str, Tensor]) -> Path:
    if path.suffix == ".safetensors":
        save_file({name: tensor.contiguous() for name, tensor in weights.items()}, path)
    else:
        torch.save(weights, path)
    return path


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("file", ["checkpoint.pth", "model.safetensors"])
def test_what_was_saved_is_loaded(tmp_path: Path, name: str, file: str) -> None:
    saved, model = model_of(name, 1), model_of(name, 2)
    path = write(tmp_path / file, saved.state_dict())
    assert not equal(model.state_dict(), saved.state_dict())
    assert equal(load_checkpoint(path), saved.state_dict())
    assert not equal(model.state_dict(), saved.state_dict())
    assert equal(load_checkpoint(str(path), model), saved.state_dict())
    assert equal(model.state_dict(), saved.state_dict())


@pytest.mark.parametrize("name", MODELS)
def test_weights_of_the_library_give_its_numbers(tmp_path: Path, name: str) -> None:
    """Its weights with the positions it saves beside them, written as it writes them, on one card and on several."""
    with safe_open(PARITY / f"{name}-long_term_forecast.safetensors", "pt") as file:
        flags, places = (json.loads(file.metadata()[key]) for key in ("config", "positional_buffers"))
        tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 - safe_open is no mapping
        seed = int(file.metadata()["rng_seed_before_forward"])
    weights = {key.removeprefix("state/"): tensor for key, tensor in tensors.items() if key.startswith("state/")}
    weights |= {key: sinusoids(length, d_model)[None] for key, (_, length, d_model) in places.items()}
    for prefix in ("", "module."):
        path = tmp_path / f"{prefix}checkpoint.pth"
        torch.save(OrderedDict((prefix + key, tensor) for key, tensor in weights.items()), path)
        model = create_model(name, **flags).double().eval()
        load_checkpoint(path, model)
        torch.manual_seed(seed)
        out = model(*(tensors[f"in/{key}"] for key in ("x_enc", "x_mark_enc", "x_dec", "x_mark_dec")))
        assert (out - tensors["out"]).abs().max() < 1e-12


@pytest.mark.parametrize("file", ["checkpoint.pth", "model.safetensors"])
def test_the_names_of_data_parallel_are_taken_back(tmp_path: Path, file: str) -> None:
    saved, model = model_of("Informer", 1), model_of("Informer", 2)
    parallel = nn.DataParallel(saved).state_dict()
    assert all(name.startswith("module.") for name in parallel)
    load_checkpoint(write(tmp_path / file, parallel), model)
    assert equal(model.state_dict(), saved.state_dict())


def test_the_old_format_of_torch_is_read(tmp_path: Path) -> None:
    saved = model_of("PatchTST", 1).state_dict()
    torch.save(saved, tmp_path / "old.pth", _use_new_zipfile_serialization=False)
    assert equal(load_checkpoint(tmp_path / "old.pth"), saved)


def test_a_model_keeps_its_dtype(tmp_path: Path) -> None:
    model = model_of("iTransformer", 2).double()
    load_checkpoint(write(tmp_path / "checkpoint.pth", model_of("iTransformer", 1).state_dict()), model)
    assert {tensor.dtype for tensor in model.parameters()} == {torch.float64}


def test_all_that_does_not_fit_is_named_with_both_shapes_and_nothing_is_loaded(tmp_path: Path) -> None:
    weights = model_of("PatchTST", 1, pred_len=9).state_dict()
    weights["head.extra"] = torch.zeros(2, 3)
    del weights["encoder.norm.1.weight"]
    path, model = write(tmp_path / "checkpoint.pth", weights), model_of("PatchTST", 2)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    with pytest.raises(CheckpointError) as caught:
        load_checkpoint(path, model)
    assert str(caught.value).splitlines() == [
        f"{path} 与 PatchTST 有 4 处不符：",
        "  encoder.norm.1.weight：模型需要 (8,)，文件里没有",
        "  head.linear.weight：模型需要 (7, 24)，文件里是 (9, 24)",
        "  head.linear.bias：模型需要 (7,)，文件里是 (9,)",
        "  head.extra：模型里没有，文件里是 (2, 3)",
    ]
    assert equal(model.state_dict(), before)


def test_a_checkpoint_of_another_task_does_not_fit(tmp_path: Path) -> None:
    path = write(tmp_path / "checkpoint.pth", model_of("Transformer", 1, task_name="imputation").state_dict())
    with pytest.raises(CheckpointError, match=r"projection.weight：模型里没有，文件里是 \(4, 8\)"):
        load_checkpoint(path, model_of("Transformer", 2))


class Trap:
    def __init__(self, left: Path) -> None:
        self.left = left

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.left),)


@pytest.mark.parametrize("new_format", [True, False])
def test_a_file_that_would_run_code_is_refused(tmp_path: Path, new_format: bool) -> None:
    left = tmp_path / "left"
    torch.save({"weight": Trap(left)}, tmp_path / "trap.pth", _use_new_zipfile_serialization=new_format)
    with pytest.raises(CheckpointError, match="weights_only=True"):
        load_checkpoint(tmp_path / "trap.pth")
    assert not left.exists()


def test_a_whole_model_is_refused(tmp_path: Path) -> None:
    torch.save(model_of("PatchTST", 1), tmp_path / "model.pth")
    with pytest.raises(CheckpointError, match="weights_only=True"):
        load_checkpoint(tmp_path / "model.pth")


@pytest.mark.parametrize(
    ("saved", "message"),
    [
        ([torch.zeros(2)], "里是 list，必须是从参数名到张量的字典"),
        ({"state_dict": {"a": torch.zeros(2)}, "epoch": 3}, "里的 'state_dict' 是 dict，必须是张量"),
    ],
)
def test_what_is_no_table_of_tensors_is_refused(tmp_path: Path, saved: Any, message: str) -> None:
    torch.save(saved, tmp_path / "checkpoint.pth")
    with pytest.raises(CheckpointError, match=message):
        load_checkpoint(tmp_path / "checkpoint.pth")


@pytest.mark.parametrize("file", ["checkpoint.pth", "model.safetensors"])
@pytest.mark.parametrize("content", [b"", b"no weights at all, only text", b"PK\x03\x04 half an archive"])
def test_a_broken_file_is_refused(tmp_path: Path, file: str, content: bytes) -> None:
    (tmp_path / file).write_bytes(content)
    with pytest.raises(CheckpointError, match=file):
        load_checkpoint(tmp_path / file)


@pytest.mark.parametrize("file", ["checkpoint.pth", "model.safetensors"])
def test_a_missing_file_is_said_to_be_missing(tmp_path: Path, file: str) -> None:
    with pytest.raises(FileNotFoundError):
        load_checkpoint(tmp_path / file)


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "model.safetensors", {"weight": torch.zeros(2)})
    real = builtins.__import__

    def without(name: str, *args: Any) -> Any:
        if name.startswith("safetensors"):
            raise ModuleNotFoundError(name)
        return real(name, *args)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match="pip install safetensors"):
        load_checkpoint(path)
