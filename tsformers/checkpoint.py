"""Weights from a file, into a model or as they are: checkpoints of Time-Series-Library and safetensors.

Nothing in the file is run: ``torch.load`` reads tensors and plain containers only.
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from pickle import UnpicklingError
from typing import Any
from zipfile import BadZipFile

import torch
from torch import Tensor, nn

PARALLEL = "module."  # what torch.nn.DataParallel puts before every name


class CheckpointError(ValueError):
    """A file that holds no weights, or weights that do not fit the model. The message says which and how."""


def load_checkpoint(path: str | PathLike[str], model: nn.Module | None = None) -> dict[str, Tensor]:
    """The weights in the file at ``path``, by name, on the CPU; loaded into ``model`` too if there is one.

    A file that ends in ``.safetensors`` is read with the package safetensors, every other one with ``torch.load``.
    Training on several GPUs at once saves every name with ``module.`` before it; that is taken off. Loading is all or
    nothing: names and shapes are compared first, and a model that they do not fit stays as it was. ``model`` keeps its
    dtype and device.

    Args:
        path: a file with one tensor a name, as ``torch.save(model.state_dict(), path)`` writes it.
        model: gets every tensor, as with ``load_state_dict(strict=True)``; None only reads.

    Raises:
        FileNotFoundError: no such file.
        CheckpointError: no checkpoint, or one that would run code; something in it that is no tensor; names that are
            missing in the file or in the model, or shapes that differ, each by its name with both shapes.
        ImportError: a ``.safetensors`` file, and the package safetensors is not installed.

    Source: ``EarlyStopping.save_checkpoint`` in Time-Series-Library's ``utils/tools.py`` writes ``checkpoint.pth``.
    """
    path = Path(path)
    saved = _read_safetensors(path) if path.suffix == ".safetensors" else _read_pickle(path)
    weights = _without_parallel(_tensors(path, saved))
    if model is not None:
        misfits = _misfits(weights, model.state_dict())
        if misfits:
            raise CheckpointError(f"{path} 与 {type(model).__name__} 有 {len(misfits)} 处不符：\n" + "\n".join(misfits))
        model.load_state_dict(weights)
    return weights


def _read_pickle(path: Path) -> Any:
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except (UnpicklingError, EOFError, BadZipFile, RuntimeError, ValueError) as error:
        first = str(error).partition("\n")[0]
        raise CheckpointError(f"{path} 不是只含张量的检查点，没有读入（weights_only=True）：{first}") from error


def _read_safetensors(path: Path) -> Any:
    try:
        from safetensors import SafetensorError
        from safetensors.torch import load_file
    except ImportError as error:
        raise ImportError(f"读 {path} 需要安装 safetensors：pip install safetensors") from error
    try:
        return load_file(path)
    except SafetensorError as error:
        raise CheckpointError(f"{path} 不是 safetensors 文件：{error}") from error


def _tensors(path: Path, saved: Any) -> dict[str, Tensor]:
    if not isinstance(saved, Mapping):
        raise CheckpointError(f"{path} 里是 {type(saved).__name__}，必须是从参数名到张量的字典")
    for name, value in saved.items():
        if not isinstance(value, Tensor):
            raise CheckpointError(
                f"{path} 里的 {name!r} 是 {type(value).__name__}，必须是张量；请只存 model.state_dict()"
            )
    return dict(saved)


def _without_parallel(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    if not all(name.startswith(PARALLEL) for name in weights):
        return weights
    return {name.removeprefix(PARALLEL): tensor for name, tensor in weights.items()}


def _misfits(weights: Mapping[str, Tensor], wanted: Mapping[str, Tensor]) -> list[str]:
    """One line for each name that does not fit: the model's names in their order, then the file's."""
    lines = []
    for name, tensor in wanted.items():
        shape = tuple(tensor.shape)
        if name not in weights:
            lines.append(f"  {name}：模型需要 {shape}，文件里没有")
        elif weights[name].shape != tensor.shape:
            lines.append(f"  {name}：模型需要 {shape}，文件里是 {tuple(weights[name].shape)}")
    extra = (name for name in weights if name not in wanted)
    return lines + [f"  {name}：模型里没有，文件里是 {tuple(weights[name].shape)}" for name in extra]
