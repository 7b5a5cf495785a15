"""The tree of calls of a toy's run: what stands in it, and where."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn

from tsformers.reading.calls import AxisNamer, call_tree
from tsformers.reading.record import Call


class Swap(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.transpose(0, 1)


class Layer(nn.Module):
    """Calls torch's modules on their own, in a container, and inside one of torch's layers."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.norm = nn.Sequential(Swap(), nn.BatchNorm1d(3), Swap())
        self.attend = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0)

    def forward(self, x: Tensor) -> Tensor:
        return self.attend(self.norm(self.linear(x)))


def outline(call: Call) -> list[object]:
    return [call.path, *map(outline, call.children)]


def test_a_container_of_torch_shows_its_members_and_a_layer_of_torch_does_not() -> None:
    layer = Layer()
    tree = call_tree([(lambda: layer(torch.ones(3, 4)), layer)], str(Path(__file__).parent), AxisNamer([]))
    assert tree is not None
    members = ["norm", ["norm.0"], ["norm.1"], ["norm.2"]]
    assert outline(tree) == ["", ["linear"], members, ["attend"]]
