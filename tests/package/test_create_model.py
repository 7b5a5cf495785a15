"""One door to the models, with Time-Series-Library's flag names."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from torch import nn

from tsformers import create_model
from tsformers.models.create import FLAGS, MODELS

SIZES: dict[str, Any] = dict(
    task_name="long_term_forecast", seq_len=24, label_len=5, pred_len=7, enc_in=4, dec_in=4, c_out=4,
    d_model=8, n_heads=2, e_layers=2, d_layers=1, d_ff=12,
)  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_one_set_of_flags_builds_every_model(name: str) -> None:
    model = create_model(name, **SIZES, moving_avg=25, num_class=3, top_k=5)
    B = 3
    batch = torch.zeros(B, 24, 4), torch.zeros(B, 24, 4), torch.zeros(B, 12, 4), torch.zeros(B, 12, 4)
    assert model(*batch).shape == (B, 7, 4)


def test_flags_are_those_of_the_reference_configurations() -> None:
    found = set()
    for path in (Path(__file__).parent / "parity").glob("*.safetensors"):
        with safe_open(path, "pt") as file:
            found |= set(json.loads(file.metadata()["config"]))
    assert found == FLAGS


@pytest.mark.parametrize("name", MODELS)
def test_defaults_are_the_librarys(name: str) -> None:
    known = dict(
        factor=1, dropout=0.1, embed="timeF", freq="h", activation="gelu", distil=True, patch_len=16, stride=8
    )  # fmt: skip
    parameters = inspect.signature(type(create_model(name, **SIZES))).parameters.values()
    assert {p.kind for p in parameters} == {inspect.Parameter.KEYWORD_ONLY}
    defaults = {p.name: p.default for p in parameters if p.default is not p.empty and p.name in FLAGS}
    assert defaults.items() <= known.items()


@pytest.mark.parametrize("name", MODELS)
def test_dropout_is_one_rate_everywhere(name: str) -> None:
    rates = [m.p for m in create_model(name, **SIZES, dropout=0.25).modules() if isinstance(m, nn.Dropout)]
    assert rates
    assert set(rates) == {0.25}


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("PatchTST", {"d_model": 7, "n_heads": 2}, r"d_model \(7\) 必须是偶数"),
    ("iTransformer", {"d_model": 7, "n_heads": 2}, r"d_model \(7\) 必须能被 n_heads \(2\) 整除"),
    ("PatchTST", {"d_model": 8, "n_heads": 3}, r"d_model \(8\) 必须能被 n_heads \(3\) 整除"),
    ("Informer", {"d_model": 8, "n_heads": 0}, r"n_heads \(0\) 必须至少为 1"),
    ("Informer", {"d_model": 9, "n_heads": 3}, r"d_model \(9\) 必须是偶数"),
    ("PatchTST", {"seq_len": 15}, r"seq_len \(15\) 不能小于 patch_len \(16\)"),
    ("PatchTST", {"stride": 0}, r"patch_len \(16\) 与 stride \(0\)"),
    ("Informer", {"seq_len": 1}, r"seq_len \(1\) 太短：factor \(1\)"),
    ("Informer", {"label_len": 0, "pred_len": 2}, r"label_len \+ pred_len \(2\) 太短"),
    ("Informer", {"factor": 0}, r"factor \(0\) 必须至少为 1"),
    ("Informer", {"embed": "time"}, r"embed \('time'\) 必须是 'timeF' 或 'fixed' 或 'learned'"),
    ("Informer", {"freq": "q"}, r"freq \('q'\) 必须是 'h'"),
    ("Informer", {"freq": "q", "embed": "fixed"}, r"freq \('q'\) 必须是 'h'"),
    ("Informer", {"d_layers": 0}, r"d_layers \(0\) 必须至少为 1"),
    ("Informer", {"task_name": "short_term_forecast", "c_out": 1}, r"c_out \(1\) 必须等于 enc_in \(4\)"),
    *((name, {"e_layers": 0}, r"e_layers \(0\) 必须至少为 1") for name in MODELS),
    *((name, {"d_ff": 0}, r"d_ff \(0\) 必须至少为 1") for name in MODELS),
    *((name, {"activation": "swish"}, r"activation \('swish'\) 必须是 'relu' 或 'gelu'") for name in MODELS),
    *((name, {"task_name": "imputation"}, r"task_name \('imputation'\) 目前只支持预测") for name in MODELS),
    *((name, {"task_name": "forecast"}, r"task_name \('forecast'\) 不是已知的任务") for name in MODELS),
    *((name, {"n_head": 2}, r"没有叫 n_head 的参数，是不是 n_heads？") for name in MODELS),
    ("PatchTST", {"draw": torch.randint}, r"没有叫 draw 的参数"),
    ("patchtst", {}, r"没有叫 'patchtst' 的模型，是不是 PatchTST？"),
    ("Mamba", {}, r"没有叫 'Mamba' 的模型；已有：PatchTST、iTransformer、Informer"),
]


@pytest.mark.parametrize(("name", "change", "message"), WRONG)
def test_a_wrong_flag_is_named_with_both_numbers(name: str, change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        create_model(name, **(SIZES | change))


@pytest.mark.parametrize(
    ("name", "missing"),
    [("PatchTST", "seq_len"), ("iTransformer", "task_name"), ("Informer", "label_len"), ("PatchTST", "enc_in")],
)
def test_a_size_that_the_model_needs_must_be_given(name: str, missing: str) -> None:
    flags = {flag: size for flag, size in SIZES.items() if flag != missing}
    with pytest.raises(ValueError, match=f"{name} 缺少参数 {missing}"):
        create_model(name, **flags)


def test_a_size_that_the_model_does_not_need_may_be_missing() -> None:
    flags = {flag: size for flag, size in SIZES.items() if flag not in ("enc_in", "dec_in", "c_out", "label_len")}
    assert isinstance(create_model("iTransformer", **flags), nn.Module)
