"""The toys to be followed by hand, against plain Python arithmetic and figures that were worked out apart from it."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from tsformers.toy import ToyFunction
from tsformers.toy_by_hand import ATTENTION, FEED_FORWARD, SIZES, X, attention_by_hand, encoder_layer_by_hand

Matrix = list[list[float]]
# To four decimals: queries, then the weights of both heads, the heads' sums side by side, and the result.
Q = [[1.3, -0.2, 0.7, -0.6], [-0.1, 1.2, -0.7, 1.0]]
A = [[[0.6410, 0.3590], [0.4472, 0.5528]], [[0.6345, 0.3655], [0.3271, 0.6729]]]
HEADS = [[0.6128, 0.8179, 0.2690, 0.2462], [0.4577, 1.2057, -0.3458, 0.3692]]
NEW_X = [[0.5409, 0.4321, 0.1719, 0.2859], [0.1560, 0.6874, 0.4017, 0.4183]]
NORM1 = [[1.4842, -0.2793, 0.1021, -1.3071], [-0.7300, 1.4627, -1.0940, 0.3614]]


def affine(rows: Matrix, name: str, weights: dict[str, tuple]) -> Matrix:
    weight, bias = weights[f"{name}.weight"], weights[f"{name}.bias"]
    return [
        [sum(w * v for w, v in zip(line, row, strict=True)) + b for line, b in zip(weight, bias, strict=True)]
        for row in rows
    ]


def attention(x: Matrix) -> tuple[list[Matrix], Matrix, Matrix]:
    """Weights by head, the heads side by side, the result: in loops, without torch."""
    q, k, v = (affine(x, f"{part}_projection", ATTENTION) for part in ("query", "key", "value"))
    weights, sums = [], [[0.0] * 4 for _ in x]
    for head in range(2):
        own = slice(2 * head, 2 * head + 2)
        rows = []
        for one in q:
            scores = [
                math.exp(sum(a * b for a, b in zip(one[own], other[own], strict=True)) / math.sqrt(2)) for other in k
            ]
            rows.append([score / sum(scores) for score in scores])
        weights.append(rows)
        for place, row in enumerate(rows):
            for column in range(2):
                sums[place][2 * head + column] = sum(
                    w * line[2 * head + column] for w, line in zip(row, v, strict=True)
                )
    return weights, sums, affine(sums, "out_projection", ATTENTION)


def normed(row: list[float]) -> list[float]:
    mean = sum(row) / len(row)
    variance = sum((value - mean) ** 2 for value in row) / len(row)
    return [(value - mean) / math.sqrt(variance + 1e-5) for value in row]


def close(tensor: Tensor, numbers: object, tolerance: float = 1e-12) -> bool:
    return bool((tensor - torch.tensor(numbers, dtype=torch.float64)).abs().max() <= tolerance)


def test_attention_equals_plain_python_and_the_figures() -> None:
    toy = attention_by_hand()
    weights, sums, result = attention([*map(list, X)])
    out, _ = toy.call(*toy.args, **toy.kwargs)
    assert close(out[0], result) and close(out[0], NEW_X, 5e-5)
    inner = toy.call.inner_attention
    inner.output_attention = True
    split = [toy.call.get_submodule(f"{part}_projection")(toy.args[0]) for part in ("query", "key", "value")]
    heads, shown = inner(*(part.view(1, 2, 2, 2) for part in split), None)
    assert close(split[0][0], Q) and close(shown[0], weights) and close(shown[0], A, 5e-5)
    assert close(heads.view(2, 4), sums) and close(heads.view(2, 4), HEADS, 5e-5)


def test_the_encoder_layer_goes_on_from_there() -> None:
    toy = encoder_layer_by_hand()
    _, _, new = attention([*map(list, X)])
    first = [normed([a + b for a, b in zip(x, y, strict=True)]) for x, y in zip(X, new, strict=True)]
    assert close(torch.tensor(first, dtype=torch.float64), NORM1, 5e-5)
    hidden = [[h * 0.5 * (1 + math.erf(h / math.sqrt(2))) for h in row] for row in affine(first, "conv1", FEED_FORWARD)]
    added = affine(hidden, "conv2", FEED_FORWARD)
    result = [normed([a + b for a, b in zip(x, y, strict=True)]) for x, y in zip(first, added, strict=True)]
    assert close(toy.call(*toy.args)[0][0], result)


@pytest.mark.parametrize("make", [attention_by_hand, encoder_layer_by_hand])
def test_the_further_cases_tell_every_axis_apart(make: ToyFunction) -> None:
    assert make.cases == len(SIZES)
    for case in range(1, make.cases):
        sizes = make(case).sizes
        shown = [sizes["B"], sizes["L"], sizes["n_heads"], sizes["d_model"] // sizes["n_heads"], sizes["d_model"]]
        assert len(set(shown)) == len(shown)
    with pytest.raises(ValueError, match=r"case \(3\)"):
        make(3)
