"""One row for each thing that must be refused at once: by its English name, with both numbers, in Chinese."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tsformers import (
    DataEmbedding,
    DSAttention,
    FullAttention,
    PositionalEmbedding,
    ProbAttention,
    Projector,
    create_model,
)
from tsformers.models.create import MODELS
from tsformers.models.task import FORECASTS, TASKS

SIZES: dict[str, Any] = dict(
    task_name="long_term_forecast", seq_len=24, label_len=5, pred_len=7, enc_in=4, dec_in=4, c_out=4,
    d_model=8, n_heads=2, e_layers=2, d_layers=1, d_ff=12, num_class=3,
)  # fmt: skip
WITH_DECODER = ("Informer", "Transformer", "Nonstationary_Transformer")
WITH_PLACES = ("PatchTST", *WITH_DECODER)
MASKED = ("PatchTST", "Nonstationary_Transformer")
B = 3

Change = dict[str, Any]


def each(names: tuple[str, ...] | dict[str, str], change: Change, message: str) -> list[tuple[str, Change, str]]:
    return [(name, change, message) for name in names]


FLAGS: list[tuple[str, Change, str]] = [
    *each(MODELS, {"d_model": 10, "n_heads": 4}, r"d_model \(10\) 必须能被 n_heads \(4\) 整除"),
    *each(MODELS, {"n_heads": 0}, r"n_heads \(0\) 必须至少为 1"),
    *each(WITH_PLACES, {"d_model": 9, "n_heads": 3}, r"d_model \(9\) 必须是偶数"),
    *each(MODELS, {"d_model": 0}, r"d_model \(0\) 必须至少为 1"),
    ("PatchTST", {"seq_len": 15}, r"seq_len \(15\) 不能小于 patch_len \(16\)"),
    ("PatchTST", {"patch_len": 0}, r"patch_len \(0\) 与 stride \(8\)"),
    ("PatchTST", {"stride": 0}, r"patch_len \(16\) 与 stride \(0\)"),
    ("PatchTST", {"seq_len": 5016, "stride": 1}, r"patch_num \(5002\) 不能大于 5000"),
    *each(WITH_DECODER, {"seq_len": 5001}, r"seq_len \(5001\) 不能大于 5000"),
    *each(WITH_DECODER, {"pred_len": 4996}, r"label_len \+ pred_len \(5001\) 不能大于 5000"),
    *each(MODELS, {"task_name": "forecast"}, r"task_name \('forecast'\) 不是已知的任务，必须是 'long_term_forecast'"),
    *each(MODELS, {"activation": "swish"}, r"activation \('swish'\) 必须是 'relu' 或 'gelu'"),
    *each(WITH_DECODER, {"embed": "time"}, r"embed \('time'\) 必须是 'timeF' 或 'fixed' 或 'learned'"),
    *each(WITH_DECODER, {"freq": "15min"}, r"freq \('15min'\) 必须是 'h'"),
    *each(WITH_DECODER, {"freq": "q", "embed": "fixed"}, r"freq \('q'\) 必须是 'h'"),
    *each(WITH_DECODER, {"label_len": 0}, r"label_len \(0\) 必须至少为 1"),
    *each(WITH_DECODER, {"label_len": 25}, r"label_len \(25\) 不能大于 seq_len \(24\)"),
    *each(MODELS, {"pred_len": 0}, r"pred_len \(0\) 必须至少为 1"),
    *each(WITH_PLACES, {"enc_in": 0, "c_out": 0}, r"enc_in \(0\) 必须至少为 1"),
    *each(MODELS, {"e_layers": 0}, r"e_layers \(0\) 必须至少为 1"),
    *each(WITH_DECODER, {"d_layers": 0}, r"d_layers \(0\) 必须至少为 1"),
    *each(MODELS, {"d_ff": 0}, r"d_ff \(0\) 必须至少为 1"),
    *each(MODELS, {"task_name": "classification", "num_class": None}, r"num_class \(None\) 不能省略"),
    *each(MODELS, {"task_name": "classification", "num_class": 0}, r"num_class \(0\) 必须至少为 1"),
    ("iTransformer", {"task_name": "classification", "enc_in": None}, r"enc_in \(None\) 不能省略"),
    ("iTransformer", {"task_name": "classification", "enc_in": 0}, r"enc_in \(0\) 必须至少为 1"),
    ("iTransformer", {"seq_len": 0}, r"seq_len \(0\) 必须至少为 1"),
    *each(("PatchTST", "iTransformer"), {"c_out": 1}, r"c_out \(1\) 必须等于 enc_in \(4\)"),
    ("Informer", {"task_name": "short_term_forecast", "c_out": 1}, r"c_out \(1\) 必须等于 enc_in \(4\)"),
    ("Nonstationary_Transformer", {"c_out": 1}, r"c_out \(1\) 必须等于 enc_in \(4\)"),
    ("Nonstationary_Transformer", {"task_name": "imputation", "c_out": 1}, r"c_out \(1\) 必须等于 enc_in \(4\)"),
    ("Nonstationary_Transformer", {"dec_in": 5}, r"dec_in \(5\) 必须等于 enc_in \(4\)"),
    (
        "Nonstationary_Transformer",
        {"p_hidden_layers": 3},
        r"p_hidden_layers \(3\) 必须等于 p_hidden_dims 的个数 \(2\)",
    ),
    ("Informer", {"seq_len": 1, "label_len": 1}, r"seq_len \(1\) 太短：factor \(1\)"),
    ("Informer", {"label_len": 1, "pred_len": 1}, r"label_len \+ pred_len \(2\) 太短"),
    ("Informer", {"factor": 0}, r"factor \(0\) 必须至少为 1"),
    *each(MODELS, {"n_head": 2}, r"没有叫 n_head 的参数，是不是 n_heads？"),
    ("PatchTST", {"draw": torch.randint}, r"没有叫 draw 的参数"),
    ("patchtst", {}, r"没有叫 'patchtst' 的模型，是不是 PatchTST？"),
    ("Mamba", {}, r"没有叫 'Mamba' 的模型；已有：PatchTST、iTransformer、Informer、Transformer"),
]


@pytest.mark.parametrize(("name", "change", "message"), FLAGS)
def test_a_wrong_flag_is_named_with_both_numbers(name: str, change: Change, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        create_model(name, **(SIZES | change))


def model_of(name: str, task: str, **change: Any) -> nn.Module:
    return create_model(name, **(SIZES | {"task_name": task} | change)).eval()


def inputs(task: str) -> dict[str, Tensor | None]:
    x_enc = torch.zeros(B, 24, 4)
    return {
        "x_enc": x_enc,
        "x_mark_enc": torch.ones(B, 24) if task == "classification" else torch.zeros(B, 24, 4),
        "x_dec": torch.zeros(B, 12, 4),
        "x_mark_dec": torch.zeros(B, 12, 4),
        "mask": torch.ones_like(x_enc) if task == "imputation" else None,
    }


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", MODELS)
def test_the_inputs_that_the_rows_below_change_are_right(name: str, task: str) -> None:
    out = model_of(name, task)(**inputs(task))
    length = 7 if task in FORECASTS else 24
    assert out.shape == ((B, 3) if task == "classification" else (B, length, 4))


def nan_mask() -> Tensor:
    mask = torch.ones(B, 24, 4)
    mask[1, 5, 2] = torch.nan
    return mask


def hiding_mask() -> Tensor:
    mask = torch.ones(B, 24, 4)
    mask[2, :, 1] = 0
    return mask


Row = tuple[tuple[str, ...] | dict[str, str], str, Change, str]
LONG, IMPUTE, CLASSIFY = "long_term_forecast", "imputation", "classification"
TENSORS: list[Row] = [
    *((MODELS, task, {"x_enc": torch.zeros(24, 4)}, r"x_enc \(24, 4\) 的轴数 \(2\) 必须是 3") for task in TASKS),
    (MODELS, LONG, {"x_enc": torch.zeros(B, 23, 4)}, r"x_enc .* 的 seq_len \(23\) 必须等于 24"),
    (WITH_PLACES, LONG, {"x_enc": torch.zeros(B, 24, 5)}, r"x_enc \(3, 24, 5\) 的 enc_in \(5\) 必须等于 4"),
    (MODELS, CLASSIFY, {"x_enc": torch.zeros(B, 24, 5)}, r"x_enc \(3, 24, 5\) 的 enc_in \(5\) 必须等于 4"),
    *((MODELS, task, {"x_enc": torch.zeros(B, 24, 4).double()}, r"x_enc 的 dtype \(torch.float64\) 必须等于模型参数的 dtype \(torch.float32\)") for task in TASKS),
    (MODELS, LONG, {"x_enc": torch.zeros(B, 24, 4).long()}, r"x_enc 的 dtype \(torch.int64\) .*\(torch.float32\)"),
    *((MODELS, task, {"x_enc": torch.zeros(0, 24, 4)}, r"x_enc \(0, 24, 4\) 里一个值也没有") for task in TASKS),
    (WITH_DECODER, LONG, {"x_dec": torch.zeros(B, 12, 4).double()}, r"x_dec 的 dtype \(torch.float64\) .*\(torch.float32\)"),
    (MODELS, LONG, {"x_enc": None}, r"x_enc \(None\) 不能省略，必须是 \(B, seq_len=24"),
    (("iTransformer", *WITH_DECODER), LONG, {"x_mark_enc": torch.zeros(B, 24)}, r"x_mark_enc .*轴数 \(2\) 必须是 3"),
    (("iTransformer", *WITH_DECODER), LONG, {"x_mark_enc": torch.zeros(B, 23, 4)}, r"x_mark_enc .*seq_len \(23\)"),
    (("iTransformer", *WITH_DECODER), LONG, {"x_mark_enc": torch.zeros(2, 24, 4)}, r"的 B \(2\) 必须等于 3"),
    (WITH_DECODER, LONG, {"x_mark_enc": torch.zeros(B, 24, 5)}, r"x_mark_enc .* 的 marks \(5\) 必须等于 4：freq='h'"),
    (WITH_DECODER, IMPUTE, {"x_mark_enc": torch.zeros(B, 24, 3)}, r"x_mark_enc .* 的 marks \(3\) 必须等于 4：freq='h'"),
    (WITH_DECODER, LONG, {"x_mark_dec": torch.zeros(B, 12, 5)}, r"x_mark_dec .* 的 marks \(5\) 必须等于 4：freq='h'"),
    (WITH_DECODER, LONG, {"x_mark_dec": torch.zeros(B, 11, 4)}, r"x_mark_dec .* 的 dec_len \(11\) 必须等于 12"),
    (WITH_DECODER, LONG, {"x_mark_enc": torch.ones(B, 24, 4).long()}, r"x_mark_enc 的 dtype \(torch.int64\)"),
    (WITH_DECODER, LONG, {"x_dec": torch.zeros(B, 11, 4)}, r"x_dec .* 的 dec_len \(11\) 必须等于 12"),
    (WITH_DECODER, LONG, {"x_dec": torch.zeros(B, 12, 5)}, r"x_dec .* 的 dec_in \(5\) 必须等于 4"),
    (WITH_DECODER, LONG, {"x_dec": torch.zeros(12, 4)}, r"x_dec .* 的轴数 \(2\) 必须是 3"),
    (WITH_DECODER[:2], LONG, {"x_dec": None}, r"x_dec \(None\) 不能省略"),
    (WITH_DECODER, CLASSIFY, {"x_mark_enc": None}, r"x_mark_enc \(None\) 不能省略"),
    (WITH_DECODER, CLASSIFY, {"x_mark_enc": torch.zeros(B, 24, 4)}, r"x_mark_enc .* 的轴数 \(3\) 必须是 2"),
    (WITH_DECODER, CLASSIFY, {"x_mark_enc": torch.zeros(B, 23)}, r"x_mark_enc .* 的 seq_len \(23\) 必须等于 24"),
    (MASKED, IMPUTE, {"mask": None}, r"mask \(None\) 不能省略"),
    (MODELS, IMPUTE, {"mask": torch.ones(24, 4)}, r"mask .* 的轴数 \(2\) 必须是 3"),
    (MODELS, IMPUTE, {"mask": torch.ones(B, 24, 1)}, r"mask .* 的 enc_in \(1\) 必须等于 4"),
    (MODELS, IMPUTE, {"mask": nan_mask()}, r"mask 的 288 个值里有 NaN \(1 个\)"),
    (MODELS, IMPUTE, {"mask": torch.full((B, 24, 4), 0.5)}, r"mask 的值 \(0.5\) 必须是 0 或 1"),
    (MASKED, IMPUTE, {"mask": hiding_mask()}, r"mask 遮住了样本 2 的整条序列 1：24 步里看得见 0 步"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "task", "change", "message"),
    [(name, task, change, message) for names, task, change, message in TENSORS for name in names],
)
def test_a_wrong_input_is_named_with_both_numbers(name: str, task: str, change: Change, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        model_of(name, task)(**(inputs(task) | change))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("given", [torch.zeros(B, 24, 4), torch.zeros(B, 24, 4).long()])
def test_a_double_model_names_both_dtypes(name: str, given: Tensor) -> None:
    message = rf"x_enc 的 dtype \({given.dtype}\) 必须等于模型参数的 dtype \(torch.float64\)"
    with pytest.raises(ValueError, match=message):
        model_of(name, LONG).double()(given, None, torch.zeros(B, 12, 4).double(), None)


MARKS: list[tuple[Change, Tensor, str]] = [
    ({"embed": "fixed"}, torch.full((B, 24, 4), 0.25), r"第 0 列（month）的值 \(0.25\) 必须是 0 到 12 的整数"),
    ({"embed": "learned"}, torch.full((B, 24, 4), 8.0), r"第 2 列（weekday）的值 \(8\) 必须是 0 到 6 的整数"),
    ({"embed": "fixed"}, torch.full((B, 24, 4), -1.0), r"x_mark_enc 第 0 列（month）的值 \(-1\)"),
    ({"embed": "fixed", "freq": "t"}, torch.full((B, 24, 5), 5.0), r"第 4 列（minute）的值 \(5\) 必须是 0 到 3 的整数"),
    ({"embed": "fixed", "freq": "t"}, torch.zeros(B, 24, 4), r"marks \(4\) 必须等于 5：freq='t'、embed='fixed'"),
    ({"embed": "fixed", "freq": "d"}, torch.zeros(B, 24, 3), r"marks \(3\) 必须等于 4：freq='d'、embed='fixed'"),
    ({"freq": "d"}, torch.zeros(B, 24, 4), r"marks \(4\) 必须等于 3：freq='d'、embed='timeF'"),
    ({"freq": "t"}, torch.zeros(B, 24, 4), r"marks \(4\) 必须等于 5：freq='t'、embed='timeF'"),
]  # fmt: skip


@pytest.mark.parametrize("name", WITH_DECODER)
@pytest.mark.parametrize(("change", "marks", "message"), MARKS)
def test_marks_must_fit_embed_and_freq(name: str, change: Change, marks: Tensor, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        model_of(name, "imputation", **change)(torch.zeros(B, 24, 4), marks, None, None, torch.ones(B, 24, 4))


@pytest.mark.parametrize("name", WITH_DECODER)
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64])
def test_whole_marks_of_the_calendar_are_taken(name: str, dtype: torch.dtype) -> None:
    marks = torch.tensor([12, 31, 6, 23, 3], dtype=dtype).expand(B, 24, 5)
    model = model_of(name, "imputation", embed="fixed", freq="t")
    assert model(torch.zeros(B, 24, 4), marks, None, None, torch.ones(B, 24, 4)).shape == (B, 24, 4)


@pytest.mark.parametrize("name", MASKED)
def test_a_mask_may_be_boolean(name: str) -> None:
    model = model_of(name, "imputation")
    mask = torch.rand(B, 24, 4) > 0.3
    x_enc = torch.randn(B, 24, 4).masked_fill(~mask, 0)
    assert torch.equal(model(x_enc, None, None, None, mask), model(x_enc, None, None, None, mask.float()))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("task", TASKS)
def test_checks_that_read_values_are_skipped_without_values(name: str, task: str) -> None:
    model = model_of(name, task).to("meta")
    given = {key: tensor if tensor is None else tensor.to("meta") for key, tensor in inputs(task).items()}
    assert model(**given).is_meta


def heads(length: int) -> Tensor:
    return torch.zeros(B, length, 2, 4)


def attend(tau: Tensor | None = None, delta: Tensor | None = None) -> object:
    return DSAttention(False)(heads(6), heads(5), heads(5), None, tau=tau, delta=delta)


LAYERS: list[tuple[Callable[[], object], str]] = [
    (lambda: ProbAttention(False)(heads(1), heads(6), heads(6), None), r"L_Q \(1\) 与 L_K \(6\) 都必须至少为 2"),
    (lambda: ProbAttention(False)(heads(6), heads(1), heads(1), None), r"L_Q \(6\) 与 L_K \(1\) 都必须至少为 2"),
    (lambda: ProbAttention(False, factor=1)(heads(6), heads(2), heads(2), None), r"L_K \(2\) 太短：factor \(1\)"),
    (lambda: ProbAttention(True)(heads(6), heads(5), heads(5), None), r"L \(6\) 必须等于 S \(5\)"),
    (lambda: FullAttention(True)(heads(6), heads(5), heads(5), None), r"L \(6\) 必须等于 S \(5\)"),
    (lambda: FullAttention(True)(heads(6), heads(1), heads(1), None), r"L \(6\) 必须等于 S \(1\)"),
    (lambda: DSAttention(True)(heads(6), heads(1), heads(1), None), r"L \(6\) 必须等于 S \(1\)"),
    (lambda: attend(tau=torch.ones(B)), r"tau \(3,\) 的轴数 \(1\) 必须是 2"),
    (lambda: attend(tau=torch.ones(1, 1)), r"tau \(1, 1\) 的 B \(1\) 必须等于 3"),
    (lambda: attend(delta=torch.ones(B, 6)), r"delta \(3, 6\) 的 S \(6\) 必须等于 5"),
    (lambda: attend(delta=torch.ones(B, 1)), r"delta \(3, 1\) 的 S \(1\) 必须等于 5"),
    (lambda: DSAttention(scale=0.0), r"scale \(0.0\) 必须大于 0"),
    (lambda: Projector(3, 5, (4, 0), 2, 1), r"p_hidden_dims\[1\] \(0\) 必须至少为 1"),
    (lambda: Projector(3, 5, (), 0, 1), r"p_hidden_layers \(0\) 必须至少为 1"),
    (lambda: PositionalEmbedding(4)(torch.zeros(1, 5001, 4)), r"token 数 \(5001\) 不能大于 5000"),
    (lambda: DataEmbedding(1, 4)(torch.zeros(1, 5001, 1), None), r"token 数 \(5001\) 不能大于 5000"),
]


@pytest.mark.parametrize(("use", "message"), LAYERS)
def test_a_layer_refuses_what_it_would_get_wrong(use: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        use()


def test_the_corrected_attention_needs_one_sampled_key_only() -> None:
    out, _ = ProbAttention(False, factor=1, variant="corrected")(heads(6), heads(2), heads(2), None)
    assert out.shape == (B, 6, 2, 4)
