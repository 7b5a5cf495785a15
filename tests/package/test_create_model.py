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
    model = create_model(name, **SIZES, moving_avg=25, num_class=3, top_k=5, p_hidden_dims=(6, 5), p_hidden_layers=2)
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
        factor=1, dropout=0.1, embed="timeF", freq="h", activation="gelu", distil=True, patch_len=16, stride=8,
        p_hidden_dims=(128, 128), p_hidden_layers=2,
    )  # fmt: skip
    parameters = inspect.signature(type(create_model(name, **SIZES))).parameters.values()
    assert {p.kind for p in parameters} == {inspect.Parameter.KEYWORD_ONLY}
    defaults = {p.name: p.default for p in parameters if p.default is not p.empty and p.name in FLAGS}
    only_for_classification = {"num_class": None} | ({"enc_in": None} if name == "iTransformer" else {})
    assert defaults.items() <= (known | only_for_classification).items()
    assert only_for_classification.items() <= defaults.items()


@pytest.mark.parametrize("name", MODELS)
def test_dropout_is_one_rate_everywhere(name: str) -> None:
    rates = [m.p for m in create_model(name, **SIZES, dropout=0.25).modules() if isinstance(m, nn.Dropout)]
    assert rates
    assert set(rates) == {0.25}


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
