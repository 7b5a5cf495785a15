"""PatchTST's toys for the tasks that are no forecast: the same sizes and weights, another task.

``num_class`` is the one new size. The mask of ``patchtst_imputation`` hides about a quarter of the steps, at least one
of every series and never all, by a fixed rule.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from tsformers.models.patchtst import PatchTST
from tsformers.toy import PATCHTST_SIZES, Toy, fill, flags_of, patchtst, with_cases

CLASSES = (3, 4, 7)


@with_cases(PATCHTST_SIZES)
def patchtst_imputation(case: int = 0) -> Toy:
    """Every step again, the hidden ones filled in; ``x_enc`` is 0 where it is hidden."""
    toy = _task("imputation", case)
    x_enc, *rest = toy.args
    mask = visible(*x_enc.shape)
    return replace(toy, args=(x_enc * mask, *rest), kwargs={"mask": mask})


@with_cases(PATCHTST_SIZES)
def patchtst_anomaly_detection(case: int = 0) -> Toy:
    """Every step again: where it differs much, something was unusual."""
    return _task("anomaly_detection", case)


@with_cases(PATCHTST_SIZES)
def patchtst_classification(case: int = 0) -> Toy:
    """One score a class, from all series at once."""
    return _task("classification", case)


def visible(B: int, seq_len: int, C: int) -> Tensor:
    """1 where a step is seen, 0 where it is hidden: in series c of sample b every step t with ``(3*t + b + 2*c) % 4 == 0``."""
    b, t, c = torch.arange(B)[:, None, None], torch.arange(seq_len)[:, None], torch.arange(C)
    return ((3 * t + b + 2 * c) % 4 != 0).double()


def _task(task_name: str, case: int) -> Toy:
    forecast = patchtst(case)
    flags = flags_of(forecast.sizes, without=("B", "C", "marks"))
    sizes, axes = dict(forecast.sizes), dict(forecast.axes)
    if task_name == "classification":
        flags["num_class"] = sizes["num_class"] = CLASSES[case]
        axes["num_class"] = "num_class"
    model = PatchTST(task_name=task_name, enc_in=sizes["C"], **flags)
    return replace(forecast, call=fill(model, trained=False), sizes=sizes, axes=axes)
