"""The one equality of copies: what differs is found, however deep, and nothing else is."""

from __future__ import annotations

import copy
from collections import OrderedDict, deque
from functools import partial
from types import SimpleNamespace

import numpy
import pytest
import torch

from tests.reading.checking import MIXER, block, check, place
from tsformers.reading.alike import alike

NAN = float("nan")


def ring(*items: object) -> list[object]:
    found = list(items)
    found.append(found)
    return found


class Slotted:
    __slots__ = ("a",)

    def __init__(self, a: object) -> None:
        self.a = a


def leaf(grad: float) -> torch.Tensor:
    found = torch.ones(1, requires_grad=True)
    found.grad = torch.full((1,), float(grad))
    return found


def deep(inner: object) -> object:
    for _ in range(20_000):
        inner = [inner]
    return inner


PAIRS = {
    "number": (1, 1, 2),
    "sort of number": (1, 1, 1.0),
    "boolean": (1, 1, True),
    "nan": (NAN, float("nan"), 0.0),
    "minus zero": (0.0, 0.0, -0.0),
    "complex": (1j, 1j, 2j),
    "text": ("a", "a", "b"),
    "set": ({1, 2}, {2, 1}, {1}),
    "list": ([1, [2]], [1, [2]], [1, [3]]),
    "longer": ([1], [1], [1, 2]),
    "sort of list": ([1], [1], (1,)),
    "dictionary": ({"a": 1}, {"a": 1}, {"b": 1}),
    "keys of tensors": ({torch.ones(1): 1}, {torch.ones(1): 1}, {torch.zeros(1): 1}),
    "ordered": (OrderedDict(a=1), OrderedDict(a=1), OrderedDict(a=2)),
    "deque": (deque([1]), deque([1]), deque([2])),
    "ring": (ring(1), ring(1), ring(2)),
    "deep": (deep(1), deep(1), deep(2)),
    "object": (SimpleNamespace(a=[1]), SimpleNamespace(a=[1]), SimpleNamespace(a=[2])),
    "slots": (Slotted(1), Slotted(1), Slotted(2)),
    "partial": (partial(print, 1), partial(print, 1), partial(print, 2)),
    "method": ([1].append, [1].append, print),
    "function": (print, print, len),
    "array": (numpy.ones(2), numpy.ones(2), numpy.zeros(2)),
    "tensor": (torch.ones(2), torch.ones(2), torch.tensor([1.0, 2.0])),
    "shape": (torch.ones(2), torch.ones(2), torch.ones(2, 1)),
    "dtype": (torch.ones(2), torch.ones(2), torch.ones(2, dtype=torch.float64)),
    "nan in a tensor": (torch.tensor([NAN]), torch.tensor([NAN]), torch.tensor([0.0])),
    "zeros": (torch.tensor([0.0]), torch.tensor([0.0]), torch.tensor([-0.0])),
    "complex tensor": (torch.tensor([1j]), torch.tensor([1j]), torch.tensor([complex(NAN, 1)])),
    "sparse": (torch.eye(2).to_sparse(), torch.eye(2).to_sparse(), torch.ones(2, 2).to_sparse()),
    "gradient": (leaf(1), leaf(1), leaf(2)),
    "requires": (torch.ones(1), torch.ones(1), torch.ones(1, requires_grad=True)),
}  # fmt: skip


@pytest.mark.parametrize("name", PAIRS)
def test_copies_are_alike_and_what_differs_is_not(name: str) -> None:
    left, copied, other = PAIRS[name]
    if name != "method":  # a method of a built-in type belongs to its own list
        assert alike(left, copied) and alike(copied, left)
    assert not alike(left, other) and not alike(other, left)


def test_two_copies_of_an_optimizer_are_alike_until_one_steps() -> None:
    weight = torch.ones(1, requires_grad=True)
    made = torch.optim.Adam([weight])
    (3 * weight).sum().backward()
    made.step()
    optimizer, other = copy.deepcopy(made), copy.deepcopy(made)
    assert alike(optimizer, other)
    other.step()
    assert not alike(optimizer, other)


def test_modules_are_compared_by_what_they_hold() -> None:
    module = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
    changes = [
        lambda m: m[0].weight.data.add_(1),
        lambda m: m.train(not m.training),
        lambda m: m[1].running_mean.add_(1),
        lambda m: m[0].register_forward_hook(print),
        lambda m: setattr(m[0], "in_features", 3),
        lambda m: setattr(m, "forward", print),
        lambda m: m.append(torch.nn.Identity()),
        lambda m: m[0].requires_grad_(False),
    ]
    for change in changes:
        other = copy.deepcopy(module)
        assert alike(module, other)
        change(other)
        assert not alike(module, other)


@pytest.mark.parametrize(
    ("made", "changed"),
    [
        ("a = [1]\na.append(a)", "a.__setitem__(0, 2) is None"),
        ("class A:\n    b = 1\na = A()", 'setattr(a, "b", 2) is None'),
        ("from types import SimpleNamespace\na = SimpleNamespace(b=[1])", "a.b.append(2) is None"),
        ("import torch\na = torch.tensor([0.0])", "a.neg_().numel() == 1"),
    ],
)
def test_a_claim_that_changes_what_it_reads_is_red(made: str, changed: str) -> None:
    text = block(made) + f"`{changed}`\n"
    checked = check(text)
    assert checked.said == [(*place(text, changed, MIXER), "claim")] and "改变了状态" in checked.failures[0].message
