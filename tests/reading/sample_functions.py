"""Functions to record; here, since pytest rewrites the assertions of test modules."""

from __future__ import annotations

import torch


def control_flow(n):
    found = []
    for i in range(n):
        if i == 1:
            continue
        if i == 4:
            break
        found.append(i)
    else:
        found.append(-1)
    k = 0
    while k < 3:
        k += 1
        try:
            found.append(1 // (k - 2))
        except ZeroDivisionError:
            found.append(None)
        finally:
            found.append("f")
    with torch.no_grad():
        squares = [j * j for j in found if isinstance(j, int)]
    pick = {j: j for j in squares}
    first, *rest = squares
    match first:
        case 0:
            rest = rest[::-1]
        case _:
            rest = []
    assert rest is not None
    del first
    return pick, rest
