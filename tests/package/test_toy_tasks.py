"""The toys of the other tasks: what they give, and that the mask is as it says."""

from __future__ import annotations

import pytest
import torch

from tsformers.toy import ToyFunction, itransformer, patchtst
from tsformers.toy_tasks import (
    CLASSES,
    ITRANSFORMER_CLASSES,
    itransformer_classification,
    patchtst_anomaly_detection,
    patchtst_classification,
    patchtst_imputation,
    visible,
)

TASKS = {
    patchtst_imputation: patchtst,
    patchtst_anomaly_detection: patchtst,
    patchtst_classification: patchtst,
    itransformer_classification: itransformer,
}


@pytest.mark.parametrize("make", TASKS)
def test_each_task_gives_its_own_shape(make: ToyFunction) -> None:
    assert make.cases == TASKS[make].cases
    for case in range(make.cases):
        toy = make(case)
        sizes = toy.sizes
        wanted = (sizes["B"], sizes["num_class"]) if "num_class" in sizes else tuple(toy.args[0].shape)
        assert tuple(toy.call(*toy.args, **toy.kwargs).shape) == wanted
        assert toy.call.task_name in make.__name__


@pytest.mark.parametrize("make", TASKS)
def test_the_encoder_is_that_of_the_forecast(make: ToyFunction) -> None:
    forecast, other = TASKS[make]().call.state_dict(), make().call.state_dict()
    shared = [name for name in forecast if not name.startswith(("head.", "projection."))]
    assert shared
    assert all(torch.equal(forecast[name], other[name]) for name in shared)


@pytest.mark.parametrize(
    ("make", "classes"),
    [(patchtst_classification, CLASSES), (itransformer_classification, ITRANSFORMER_CLASSES)],
)
def test_the_classes_are_no_other_size(make: ToyFunction, classes: tuple[int, ...]) -> None:
    assert [make(case).sizes["num_class"] for case in range(make.cases)] == list(classes)
    for case in range(make.cases):
        sizes = make(case).sizes
        assert sizes["num_class"] != sizes["B"]


def test_the_mask_hides_some_of_every_series_and_never_all() -> None:
    for case in range(patchtst.cases):
        toy = patchtst_imputation(case)
        mask = toy.kwargs["mask"]
        seen = mask.sum(dim=1)
        assert ((seen > 0) & (seen < mask.shape[1])).all()
        assert torch.equal(toy.args[0] != 0, (mask == 1) & (patchtst(case).args[0] != 0))
    assert [[t for t in range(9) if visible(2, 9, 3)[b, t, c] == 0] for b, c in ((0, 0), (1, 2))] == [[0, 4, 8], [1, 5]]
