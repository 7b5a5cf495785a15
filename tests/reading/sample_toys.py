"""Small functions and toys for the engine's own tests; nothing in them is a model of the package."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from jaxtyping import Float
from torch import nn


@dataclass(frozen=True)
class Toy:
    call: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    axes: dict[str, str] = field(default_factory=dict)
    conditions: tuple[tuple[str, str], ...] = ()


class Mixer(nn.Module):
    """A layer with an alias, a loop, a branch not taken, a change in place and two returned values."""

    def __init__(self, d_model: int, rounds: int) -> None:
        super().__init__()
        self.rounds = rounds
        self.linear = nn.Linear(d_model, 2 * d_model)
        self.back = nn.Linear(2 * d_model, d_model)
        self.norm = nn.LayerNorm(d_model)

    def forward(self, x, mask=None):
        """Mix ``rounds`` times."""
        B, L, D = x.shape
        y = x = self.norm(x)
        outs = []
        for i in range(self.rounds):
            y = self.back(torch.relu(self.linear(y)))  # [B, L, D]
            y = y + i
            outs.append(y)
        if mask is not None:
            y = y.masked_fill(mask, 0.0)
        scores = y @ x.transpose(1, 2)  # [B, L, L]
        total = torch.zeros(B, L)
        total.add_(scores.sum(-1))
        return scores, total


def _fill(module: nn.Module) -> nn.Module:
    count = 0
    with torch.no_grad():
        for parameter in module.parameters():
            for index in range(parameter.numel()):
                parameter.view(-1)[index] = ((7 * count) % 19 - 9) / 10
                count += 1
    return module.double().eval()


def mixer(case: int = 0) -> Toy:
    """Batch and length are equal in the first configuration, so that only the others tell them apart."""
    batch, length, d_model = ((2, 3, 4), (3, 5, 7), (5, 2, 3))[case]
    steps = torch.arange(batch * length * d_model, dtype=torch.float64) % 11
    x = (steps / 10).reshape(batch, length, d_model)
    sizes = {"B": batch, "L": length, "d_model": d_model, "rounds": 2}
    axes = {"B": "B", "L": "L", "d_model": "d_model", "d_ff": "2 * d_model"}
    return Toy(_fill(Mixer(d_model, 2)), (x,), {}, sizes, axes)


mixer.cases = 3


def single(case: int = 0) -> Toy:
    """A toy of one configuration, which can prove no axis name."""
    return mixer(0)


single.cases = 1


def plain(a, b=2):
    """A function of no module."""
    total = a + b
    if total > 3:  # noqa: SIM108 (a branch is what is wanted)
        total = total * 10
    else:
        total = -total
    return total


def summed() -> Toy:
    return Toy(plain, (2,), {"b": 3}, {"n": 2}, {"n": "n"})


class Twice(nn.Module):
    """Calls one layer twice, and one function with two owners."""

    def __init__(self) -> None:
        super().__init__()
        self.first = _fill(Mixer(4, 1))
        self.second = _fill(Mixer(4, 1))

    def forward(self, x):
        scores, total = self.first(x)
        again, _ = self.first(x + 1)
        other, _ = self.second(x)
        return scores + again + other


def twice() -> Toy:
    return Toy(Twice().eval(), mixer().args)


def broken() -> Toy:
    raise RuntimeError("no such toy")


class Winding(nn.Module):
    """The same statement in several places, comments, a branch that only one configuration takes."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.gate = nn.Linear(width, width)
        self.norm = nn.BatchNorm1d(width)
        self.calls = [0]

    def forward(self, x: Float[torch.Tensor, "B L D"], deep: bool) -> torch.Tensor:
        # the copy keeps x as it came
        y = x * 1
        y = y + 1  # once
        z = self.gate(y) + self.gate(x)  # [B, L, D]
        y = y + 1  # twice
        if deep:
            # only some get here
            extra = y.transpose(1, 2)  # [B, D, L]
            y = y + extra.sum()
        else:
            y = y - 1
        # [B, D, L]
        turned = y.transpose(1, 2)
        with torch.no_grad():
            joined = torch.cat(
                [turned, turned],  # [B, 2*D, L]
                dim=1,
            )
        left, right = joined.chunk(2, dim=1)  # [B, D, L]
        while len(self.calls) < 3:
            self.calls.append(0)
        y = y + 1
        return z + y, {"left": left}


def winding(case: int = 0) -> Toy:
    """The branch ``deep`` is taken by the first and the last configuration alone."""
    batch, length, width = ((2, 3, 3), (3, 5, 7), (5, 2, 3))[case]
    x = (torch.arange(batch * length * width, dtype=torch.float64) % 7 / 10).reshape(batch, length, width)
    sizes = {"B": batch, "L": length, "width": width}
    axes = {"B": "B", "L": "L", "d_model": "width"}
    return Toy(_fill(Winding(width)), (x,), {"deep": case != 1}, sizes, axes)


winding.cases = 3


def shallow(case: int = 0) -> Toy:
    """Takes the branch ``deep`` in the first configuration alone."""
    toy = winding(case)
    return replace(toy, kwargs={"deep": case == 0})


shallow.cases = 2


def trained(case: int = 0) -> Toy:
    """The mixer with another norm."""
    toy = mixer(case)
    with torch.no_grad():
        toy.call.norm.weight.fill_(2)
    return toy


trained.cases = 3


def unnamed() -> Toy:
    """A toy whose module the page's path does not hold, and that calls nothing read."""
    return Toy(nn.Linear(2, 2).double().eval(), (torch.zeros(1, 2, dtype=torch.float64),))


class Half(nn.Module):
    def forward(self, x):
        x = x + 1
        return x * 0.5


class Pair(nn.Module):
    """Shares a line with the layer that it calls."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = Half()

    def forward(self, x):
        x = x + 1
        return self.inner(x)


def paired() -> Toy:
    return Toy(Pair(), (torch.ones(1, 2, dtype=torch.float64),))


class Inner(nn.Module):
    def forward(self, x):
        B, L, D = x.shape
        return x.reshape(B * L, D)


class Folded(nn.Module):
    """Puts two axes into one, so that the inner layer's local B is not the configuration's."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = Inner()

    def forward(self, x):
        return self.inner(x.reshape(-1, 1, x.shape[-1]))


def folded(case: int = 0) -> Toy:
    toy = mixer(case)
    return replace(toy, call=Folded(), axes={**toy.axes, "tokens": "B * L"})


folded.cases = 3


def dying() -> Toy:
    """Ends the process that makes it."""
    os._exit(0)


def control(n=3):
    """Loops in loops, a loop that never runs, branches in a loop, try, match, a function inside."""
    found = []
    for i in range(n):
        for j in range(2):
            cell = 10 * i + j
            found.append(cell)
        if i == 1:
            middle = i  # noqa: F841 (a name to claim)
        else:
            edge = i  # noqa: F841 (a name to claim)
    for k in range(0):
        never = k  # noqa: F841 (a name to claim)
    try:
        ratio = n / 0
    except ZeroDivisionError as error:
        ratio = str(error)
    finally:
        closed = True
    match n:
        case 3:
            name = "three"
        case _:
            name = "other"

    def inner(a):
        b = a + 1
        return b

    last = inner(n)
    while True:
        n = n - 1
        if n < 1:
            break
    return found, last, closed, ratio, name


def controlled() -> Toy:
    return Toy(control, ())


def early_out(x, early):
    if early:
        return x
    return -x


def returning() -> Toy:
    return Toy(early_out, (3, True))


class Held(nn.Module):
    """Calls a layer that it holds: what it gets under a new name is as long as that layer likes."""

    def __init__(self) -> None:
        super().__init__()
        self.narrow = nn.Linear(4, 2).double()

    def helper(self, x):
        return self.narrow(x).sum(-1)

    def rebound(self, x):
        x = self.narrow(x)
        return x

    def forward(self, x):
        y = self.narrow(x)
        z = self.helper(x)
        return y, z, self.rebound(x)


def held() -> Toy:
    return Toy(Held().eval(), (torch.ones(2, 3, 4, dtype=torch.float64),))


def library() -> Toy:
    """A toy of code that is nobody's of this project."""
    x = torch.arange(24, dtype=torch.float64).reshape(2, 3, 4) / 10
    return Toy(_fill(nn.TransformerEncoderLayer(4, 2, 8)), (x,))
