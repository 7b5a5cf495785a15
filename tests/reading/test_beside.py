"""What stands beside a claim may not change the number that a reader reads."""

from __future__ import annotations

import pytest

from tests.reading.checking import check, place
from tsformers.reading.beside import beside_claims
from tsformers.reading.page import scan


@pytest.mark.parametrize(
    ("text", "beside"),
    [
        ("共 -`x.shape[0] = 3`", "-"),
        ("共 −`x.shape[0] = 3`", "−"),
        ("共 -**`x.shape[0] = 3`**", "-"),
        ("共 &minus;`x.shape[0] = 3`", "−"),
        ("共 $-$`x.shape[0] = 3`", "-"),
        ("共 ±`x.shape[0] = 3`", "±"),
        ("共 √`x.shape[0] = 3`", "√"),
        ("负 `x.shape[0] = 3`", "负"),
        ("e`x.shape[0] = 3`", "e"),
        ("`x.shape[0] = 3`%", "%"),
        ("`x.shape[0] = 3` ％", "％"),
        ("**`x.shape[0] = 3`**‰", "‰"),
        ("`x.shape[0] = 3`$\\%$", "%"),
        ("`x.shape[0] = 3`&#37;", "%"),
        ("`x.shape[0] = 3`e4", "e"),
        ("`x.shape[0] = 3`k", "k"),
        ("`x.shape[0] = 3`²", "²"),
        ("`x.shape[0] = 3` 万", "万"),
        ("| 数 |\n|---|\n| -`x.shape[0] = 3` |", "-"),
        ("# 共 `x.shape[0] = 3`% 个", "%"),
        ("- `x.shape[0] ≈ 3.0`%", "%"),
        ("`x (3, 4)`°", "°"),
    ],
)
def test_a_sign_or_unit_is_found(text: str, beside: str) -> None:
    (failure,) = beside_claims(scan(text, "page.md"))
    assert (failure.kind, failure.actual) == ("naked", beside)


@pytest.mark.parametrize(
    "text",
    [
        "- `x.shape[0] = 3`",
        "* `x.shape[0] = 3` 个",
        "共`x.shape[0] = 3`个，有——`x.shape[0] = 3`——之多",
        "（`x.shape[0] = 3`）、`x (3, 4)`/`x (3, 4)`",
        "`x.shape[0] = 3` 十分清楚，`x.shape[0] = 3` 万一、`x.shape[0] = 3` 倍",
        "-`x` 与 `conv1`s",
        "| `x.shape[0] = 3` |\n|---|\n| `x.shape[0] = 3` |",
        "<b>`x.shape[0] = 3`</b>，[`x.shape[0] = 3`](a.md)",
        "`x.shape[0] = 3`：$-1$",
    ],
)
def test_what_changes_nothing_is_not(text: str) -> None:
    assert beside_claims(scan(text, "page.md")) == []


def test_it_is_red_on_a_reading_page_at_the_claim() -> None:
    text = "共 -`x.shape[0] = 2` 行，`x.shape[0] = 2`% 列"
    checked = check(text)
    assert checked.said == [
        (*place(text, "`x"), "naked"),
        (*place(text, "`%"), "naked"),
    ]
