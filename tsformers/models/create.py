"""A model by name, built from the flags of Time-Series-Library's command line."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Iterable
from importlib import import_module
from typing import Any

from torch import nn

from tsformers.models.task import require_same_series

MODELS = {
    "PatchTST": "tsformers.models.patchtst",
    "iTransformer": "tsformers.models.itransformer",
    "Informer": "tsformers.models.informer",
    "Transformer": "tsformers.models.transformer",
    "Nonstationary_Transformer": "tsformers.models.nonstationary_transformer",
}

# Flags that Time-Series-Library's models read from its command line. Each model takes those it needs.
FLAGS = frozenset(
    {
        *("task_name", "features", "seq_len", "label_len", "pred_len", "enc_in", "dec_in", "c_out"),
        *("d_model", "n_heads", "e_layers", "d_layers", "d_ff", "factor", "dropout", "activation"),
        *("embed", "freq", "distil", "moving_avg", "patch_len", "stride", "seg_len", "top_k", "num_kernels"),
        *("use_norm", "num_class", "p_hidden_dims", "p_hidden_layers"),
    }
)


def create_model(name: str, **flags: Any) -> nn.Module:
    """The model called ``name``, built from Time-Series-Library's flags.

    A flag that the model does not use is accepted, so one set of flags serves all models. Sizes and ``task_name`` that
    the model uses must be given; the rest has the library's defaults.

    Args:
        name: a key of ``MODELS``, spelt as Time-Series-Library does.
        flags: names and values as on its command line; lengths in time steps.

    Raises:
        ValueError: unknown model or flag (with the nearest known one), a missing flag, or whatever the model rejects;
            ``c_out`` other than ``enc_in`` for a model that forecasts the series it is given (PatchTST, iTransformer).
    """
    if name not in MODELS:
        raise ValueError(f"没有叫 {name!r} 的模型{_did_you_mean(name, MODELS)}；已有：{'、'.join(MODELS)}")
    for flag in flags:
        if flag not in FLAGS:
            raise ValueError(f"没有叫 {flag} 的参数{_did_you_mean(flag, FLAGS)}")
    model = getattr(import_module(MODELS[name]), name)
    parameters = inspect.signature(model).parameters.values()
    needed = [p.name for p in parameters if p.default is p.empty]
    missing = [flag for flag in needed if flag not in flags]
    if missing:
        raise ValueError(f"{name} 缺少参数 {'、'.join(missing)}（需要 {len(needed)} 个，缺 {len(missing)} 个）")
    task_name = flags["task_name"]
    gives_what_it_gets = "c_out" not in {p.name for p in parameters} and task_name != "classification"
    if gives_what_it_gets and {"c_out", "enc_in"} <= flags.keys():
        require_same_series(f"{name} 的 {task_name}", enc_in=flags["enc_in"], c_out=flags["c_out"])
    return model(**{p.name: flags[p.name] for p in parameters if p.name in flags})


def _did_you_mean(word: str, known: Iterable[str]) -> str:
    by_folded = {k.lower(): k for k in sorted(known)}
    near = difflib.get_close_matches(word.lower(), by_folded, n=1)
    return f"，是不是 {by_folded[near[0]]}？" if near else ""
