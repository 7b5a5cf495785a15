"""The toy of the training step: always the same step, on the weights of PatchTST's own toy."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from tsformers.toy import patchtst
from tsformers.toy_training import LEARNING_RATE, patchtst_training
from tsformers.training import windows

CASES = range(patchtst_training.cases)


@pytest.mark.parametrize("case", CASES)
def test_every_call_is_the_first_step(case: int) -> None:
    toy = patchtst_training(case)
    with torch.no_grad():  # as the pages run it
        first = toy.call(*toy.args)
        after = {name: tensor.clone() for name, tensor in toy.call.model.state_dict().items()}
        assert torch.equal(toy.call(*toy.args), first)
    assert all(torch.equal(after[name], tensor) for name, tensor in toy.call.model.state_dict().items())


@pytest.mark.parametrize("case", CASES)
def test_the_weights_before_the_step_are_those_of_patchtst(case: int) -> None:
    start, plain = patchtst_training(case).call.start, patchtst(case).call.state_dict()
    assert start.keys() == plain.keys()
    assert all(torch.equal(start[name], tensor) for name, tensor in plain.items())


@pytest.mark.parametrize("case", CASES)
def test_axes_are_those_of_the_batch(case: int) -> None:
    toy = patchtst_training(case)
    names = {name: eval(formula, {}, toy.sizes) for name, formula in toy.axes.items()}
    shapes = [tuple(tensor.shape) for tensor in windows(*toy.args, *toy.call.lengths)]
    wanted = ["B seq_len C", "B seq_len marks", "B dec_len C", "B dec_len marks", "B pred_len C"]
    assert shapes == [tuple(names[name] for name in axes.split()) for axes in wanted]
    assert all(eval(formula, {}, toy.sizes) for formula, _ in toy.conditions)


def test_further_cases_keep_the_axes_of_each_tensor_apart() -> None:
    for case in CASES[1:]:
        toy = patchtst_training(case)
        for tensor in (*toy.args, *windows(*toy.args, *toy.call.lengths)):
            assert len(set(tensor.shape)) == tensor.dim()


def test_the_step_is_adams_first() -> None:
    toy = patchtst_training()
    *inputs, y = windows(*toy.args, *toy.call.lengths)
    error = toy.call(*toy.args)
    moved = {name: tensor.clone() for name, tensor in toy.call.model.named_parameters()}
    toy.call.model.load_state_dict(toy.call.start)
    toy.call.model.zero_grad()
    F.mse_loss(toy.call.model(*inputs), y).backward()
    assert error.item() == pytest.approx(F.mse_loss(toy.call.model(*inputs), y).item())
    for name, parameter in toy.call.model.named_parameters():
        gradient = parameter.grad
        assert gradient is not None
        step = (
            LEARNING_RATE * gradient / (gradient.abs() + 1e-8)
        )  # both averages are the gradient itself, once unbiased
        torch.testing.assert_close(moved[name], parameter - step, rtol=0, atol=1e-10)
