"""The panel of a model's configuration: its sizes as fields, from which the page's script computes every shape anew."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape

from tsformers.reading.arithmetic import names
from tsformers.reading.record import ToyRecord
from tsformers.reading.show.values import WORDS


def used_sizes(toy: ToyRecord) -> list[str]:
    """The sizes that the formulas of the toy's axes and its conditions read, in the order of the configuration."""
    formulas = [*toy.formulas.values(), *(formula for formula, _ in toy.conditions)]
    used = {name for formula in formulas for name in names(formula)}
    return [name for name in toy.sizes[0] if name in used] if toy.sizes else []


def size_panel(toy: ToyRecord, words: Mapping[str, str] = WORDS) -> str:
    """The panel of a toy, hidden until a script opens it; empty for a toy without sizes.

    The formulas and conditions stand in it as JSON: ``{"sizes", "axes", "conditions": [[formula, message]]}``.
    """
    shown = used_sizes(toy)
    if not shown:
        return ""
    sizes = toy.sizes[0]
    data = {"sizes": sizes, "axes": toy.formulas, "conditions": toy.conditions}
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c").replace("&", "\\u0026")
    fields = "".join(_field(name, sizes[name], words.get(name, "")) for name in shown)
    derived = "".join(
        f'<li><code>{escape(axis)} = {escape(formula)}</code> = <span data-size="{escape(axis)}">{toy.axes[0][axis]}</span></li>'
        for axis, formula in toy.formulas.items()
        if formula != axis
    )
    derived = f'<ul class="tsf-derived">{derived}</ul>' if derived else ""
    return (
        '<details class="tsf-sizes" hidden="" data-search-exclude=""><summary>换一组尺寸，看形状怎么变</summary>'
        f'<script type="application/json">{text}</script>'
        '<p class="tsf-quiet">正文、表格与卡片里的形状跟着变；图里的数字与数值仍是本例的。</p>'
        '<div class="tsf-state"><p class="tsf-said" role="status"></p>'
        '<button type="button" class="tsf-reset">恢复本例</button></div>'
        f'<div class="tsf-fields">{fields}</div>'
        f"{derived}</details>"
    )


def _field(name: str, size: int, word: str) -> str:
    code = escape(name)
    less, more = (
        f'<button type="button" tabindex="-1" data-by="{by}" aria-label="{code} {said}">{sign}</button>'
        for by, said, sign in ((-1, "减一", "−"), (1, "加一", "+"))
    )
    meaning = f" <small>{escape(word)}</small>" if word else ""
    return (
        f'<div class="tsf-field"><label for="size-{code}"><code>{code}</code>{meaning}</label>'
        f'{less}<input type="number" id="size-{code}" name="{code}" min="1" step="1" inputmode="numeric" value="{size}"/>'
        f"{more}</div>"
    )
