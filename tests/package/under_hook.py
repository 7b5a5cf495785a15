"""Run by ``test_public`` with ``--jaxtyping-packages``: there a wrong shape is an error."""

from __future__ import annotations

import jaxtyping
import pytest
import torch

from tsformers import FullAttention, toy


def test_a_wrong_rank_is_seen() -> None:
    with pytest.raises(jaxtyping.TypeCheckError):
        toy.patchtst().call.encoder.attn_layers[0](torch.zeros(6, 16, dtype=torch.float64))


def test_sizes_that_must_agree_are_seen() -> None:
    q, k, v = torch.zeros(2, 6, 2, 4), torch.zeros(2, 5, 2, 4), torch.zeros(2, 1, 2, 4)
    with pytest.raises(jaxtyping.TypeCheckError):
        FullAttention(False)(q, k, v, None)
