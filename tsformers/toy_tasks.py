"""Toys for the tasks that are no forecast: the sizes and weights of the forecast's toy, another task.

``num_class`` is the one new size. The mask of ``patchtst_imputation`` hides about a quarter of the steps, at least one
of every series and never all, by a fixed rule.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor, nn

from tsformers.models.itransformer import iTransformer
from tsformers.models.patchtst import PatchTST
from tsformers.toy import (
    ITRANSFORMER_SIZES,
    PATCHTST_SIZES,
    Toy,
    fill,
    flags_of,
    itransformer,
    patchtst,
    with_cases,
)

CLASSES = (3, 4, 7)
ITRANSFORMER_CLASSES = (6, 8, 4)


@with_cases(PATCHTST_SIZES)
def patchtst_imputation(case: int = 0) -> Toy:
    """Every step again, the hidden ones filled in; ``x_enc`` is 0 where it is hidden."""
    toy = _task(PatchTST, patchtst(case), "imputation", series="C")
    x_enc, *rest = toy.args
    mask = visible(*x_enc.shape)
    return replace(toy, args=(x_enc * mask, *rest), kwargs={"mask": mask})


@with_cases(PATCHTST_SIZES)
def patchtst_anomaly_detection(case: int = 0) -> Toy:
    """Every step again: where it differs much, something was unusual."""
    return _task(PatchTST, patchtst(case), "anomaly_detection", series="C")


@with_cases(PATCHTST_SIZES)
def patchtst_classification(case: int = 0) -> Toy:
    """One score a class, from all series at once."""
    return _task(PatchTST, patchtst(case), "classification", series="C", num_class=CLASSES[case])


@with_cases(ITRANSFORMER_SIZES)
def itransformer_classification(case: int = 0) -> Toy:
    """One score a class, from the tokens of all series side by side."""
    classes = ITRANSFORMER_CLASSES[case]
    return _task(iTransformer, itransformer(case), "classification", series="N", num_class=classes)


def visible(B: int, seq_len: int, C: int) -> Tensor:
    """1 where a step is seen, 0 where it is hidden: in series c of sample b every step t with ``(3*t + b + 2*c) % 4 == 0``."""
    b, t, c = torch.arange(B)[:, None, None], torch.arange(seq_len)[:, None], torch.arange(C)
    return ((3 * t + b + 2 * c) % 4 != 0).double()


def _task(model: type[nn.Module], forecast: Toy, task_name: str, *, series: str, **classes: int) -> Toy:
    """``forecast`` with another task; ``series`` is the name of its number of series, ``classes`` a new size."""
    sizes = {**forecast.sizes, **classes}
    flags = flags_of(sizes, without=("B", series, "marks"))
    call = model(task_name=task_name, enc_in=sizes[series], **flags)
    axes = {**forecast.axes, **{name: name for name in classes}}
    return replace(forecast, call=fill(call, trained=False), sizes=sizes, axes=axes)
