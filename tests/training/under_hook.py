"""Run by ``test_training`` with ``--jaxtyping-packages``: there a wrong shape is an error."""

from __future__ import annotations

import jaxtyping
import pytest
import torch
from torch import nn

from tsformers.training import decoder_input, training_step


def test_a_wrong_rank_is_seen() -> None:
    with pytest.raises(jaxtyping.TypeCheckError):
        decoder_input(torch.zeros(10, 3), 4, 7)


def test_sizes_that_must_agree_are_seen() -> None:
    x, mark, dec, dec_mark, y = (torch.zeros(2, *size) for size in ((10, 3), (10, 4), (11, 3), (10, 4), (7, 3)))
    model = nn.Linear(3, 3)
    with pytest.raises(jaxtyping.TypeCheckError):
        training_step(model, torch.optim.SGD(model.parameters()), x, mark, dec, dec_mark, y)
