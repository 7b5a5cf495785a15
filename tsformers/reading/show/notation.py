"""The one vocabulary on the site: the table of axes and terms, and what a symbol says on hover and focus."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape

from tsformers.axes import AXES, Axis
from tsformers.reading.record import Reading, ToyRecord
from tsformers.reading.show.values import FAMILY, table

BY_NAME: Mapping[str, Axis] = {axis.name: axis for axis in AXES}
_SYMBOL = re.compile(r"[A-Za-z_]\w*")
_EXPRESSION = re.compile(r"(?:sizes\.)?[A-Za-z_]\w*(?:\s*\*\s*(?:sizes\.)?[A-Za-z_]\w*)*")
_GROUP = re.compile(r'<span class="tsf-axes">((?:= )?\((?:<span class="tsf-ax"[^>]*>[^<]*</span>|[^<])*\))</span>')

_NONE = '<span class="tsf-quiet">—</span>'


def toy_name(spec: str) -> str:
    """``package.toy:small`` -> ``small``."""
    return spec.rpartition(":")[2]


def _letter(axis: Axis, spec: str) -> str:
    """What the paper of the toy's model writes for the axis; "" where it has no letter for it."""
    toy = toy_name(spec).casefold()
    return next((f"{model} 的论文写作 {sign}" for model, sign in axis.papers if toy.startswith(model.casefold())), "")


def word(axis: Axis, toy: ToyRecord | None = None) -> str:
    """What an axis says of itself: name, meaning, size in the toy's first configuration, the paper's letter."""
    said = [f"{axis.name}：{axis.chinese}（{axis.english}），{axis.meaning}"]
    if toy is not None and axis.name in toy.axes[0]:
        formula = toy.formulas[axis.name]
        said.append(f"本例的配置里是 {toy.axes[0][axis.name]}" + (f" = {formula}" if formula != axis.name else ""))
    if toy is not None and (letter := _letter(axis, toy.spec)):
        said.append(letter)
    return "；".join(said)


def words_of(reading: Reading) -> dict[str, str]:
    """What each axis says on a page: of its main toy where it has one."""
    toy = reading.toys.get("")
    return {axis.name: word(axis, toy) for axis in AXES}


def axes_in(text: str, words: Mapping[str, str]) -> tuple[str, ...]:
    """The axes that inline code names, if it is one or a product of several, ``B*C``; none of any other code."""
    if not _EXPRESSION.fullmatch(text):
        return ()
    symbols = tuple(dict.fromkeys(symbol for symbol in _SYMBOL.findall(text) if symbol != "sizes"))
    return symbols if all(symbol in words for symbol in symbols) else ()


def word_ids(names: Iterable[str]) -> str:
    """The identifiers of what axes and terms say, as ``aria-describedby`` writes them."""
    return " ".join("word-" + re.sub(r"\W", "-", name) for name in names)


def word_attributes(names: Sequence[str]) -> str:
    """The attributes of inline code that says what it means; one axis has its colour."""
    family = FAMILY.get(names[0], "") if len(names) == 1 else ""
    colour, axis = (" tsf-ax", f' data-axis="{family}"') if family else ("", "")
    return f'class="tsf-word{colour}" tabindex="0" aria-describedby="{word_ids(names)}"{axis}'


def explained(html: str, words: Mapping[str, str]) -> str:
    """A derived part whose axis symbols say what they are: each on hover, the axes of a tensor together on focus.

    One stop of the keyboard a tensor is enough; inside a summary, which is a stop already, there is none of its own.
    """
    parts = re.split(r"(<summary>.*?</summary>)", html, flags=re.DOTALL)
    return "".join(_explained(part, words, stop=not part.startswith("<summary>")) for part in parts)


def _explained(html: str, words: Mapping[str, str], *, stop: bool) -> str:
    def group(match: re.Match[str]) -> str:
        symbols = dict.fromkeys(re.findall(r'data-symbol="([^"]*)"', match[1]))
        ids = word_ids(symbol for symbol in symbols if symbol in words)
        if not ids:
            return match[0]
        attribute = f'tabindex="0" aria-describedby="{ids}"' if stop else f'data-words="{ids}"'
        return f'<span class="tsf-axes" {attribute}>{match[1]}</span>'

    return _GROUP.sub(group, html)


def glossary(html: str, words: Mapping[str, str]) -> str:
    """What the axes and terms on a page say, once each: for the style sheet's panels and for a screen reader.

    ``html`` is the whole page, ``words`` maps a name to what it says.
    """
    by_id = {word_ids([name]): said for name, said in words.items()}
    symbols = sorted(set(re.findall(r'data-symbol="([^"]+)"', html)) & set(words))
    groups = sorted(set(re.findall(r'(?:aria-describedby|data-words)="(word-[^"]+)"', html)))
    if not symbols and not groups:
        return ""
    told = dict.fromkeys(one for ids in groups for one in ids.split())
    defined = dict.fromkeys([*(word_ids([symbol]) for symbol in symbols), *told])
    rules = [f".md-typeset{{{''.join(f'--{one}:{_css(by_id[one])};' for one in defined)}}}"]
    rules += [f'[data-symbol="{symbol}"]{{--word:var(--{word_ids([symbol])})}}' for symbol in symbols]
    for ids in groups:
        lines = ' "\\a " '.join(f"var(--{one})" for one in ids.split())
        rules.append(f':is([aria-describedby="{ids}"],[data-words="{ids}"]){{--word:{lines}}}')
    spans = "".join(f'<span id="{one}">{escape(by_id[one])}</span>' for one in told)
    return f'<div class="tsf-words" hidden data-search-exclude><style>{"".join(rules)}</style>{spans}</div>'


def _css(text: str) -> str:
    """A text as a string of CSS that can stand in HTML."""
    return '"' + re.sub(r'["\\\n<&]', lambda match: f"\\{ord(match[0]):x} ", text) + '"'


def _sign(text: str) -> str:
    """A letter of a paper, ``L_x``, with its index below the line."""
    letter, _, index = text.partition("_")
    return f"<var>{escape(letter)}</var>" + (f"<sub>{escape(index)}</sub>" if index else "")


def toys_of(readings: Iterable[Reading]) -> list[ToyRecord]:
    """The toys of all pages, each once; one with the sizes and formulas of another stands for both."""
    found: dict[tuple, ToyRecord] = {}
    for reading in readings:
        for toy in reading.toys.values():
            key = (tuple(toy.sizes[0].items()), tuple(toy.formulas.items()))
            if key not in found or len(toy.spec) < len(found[key].spec):
                found[key] = toy
    return sorted(found.values(), key=lambda toy: toy.spec)


def axes_table(toys: Sequence[ToyRecord]) -> str:
    """Every axis of the vocabulary, in two tables: code name, letter, 中文, English, meaning, the papers' letters; then
    its size and formula in each toy, for those that a toy has."""
    words, sizes = [], []
    for axis in AXES:
        letter = f" <var>{escape(axis.letter)}</var>" if axis.letter and axis.letter != axis.name else ""
        papers = "<br>".join(f"{escape(model)} {_sign(sign)}" for model, sign in axis.papers)
        name = f'<code class="tsf-ax" data-axis="{FAMILY.get(axis.name, "other")}">{escape(axis.name)}</code>'
        words.append(
            f'<tr id="axis-{escape(axis.name)}"><th scope="row">{name}{letter}</th><td>{escape(axis.chinese)}<br>'
            f'<span class="tsf-quiet" lang="en">{escape(axis.english)}</span></td>'
            f'<td>{escape(axis.meaning)} <span class="tsf-quiet">（单位：{escape(axis.unit)}）</span></td>'
            f"<td>{papers or _NONE}</td></tr>"
        )
        if any(axis.name in toy.axes[0] for toy in toys):
            cells = "".join(f"<td>{_size(axis.name, toy)}</td>" for toy in toys)
            sizes.append(f'<tr><th scope="row">{name}</th>{cells}</tr>')
    names = [f"<code>{escape(toy_name(toy.spec))}</code>" for toy in toys]
    return (
        f'<div class="tsf-notation">{table(("记号", "名称", "含义", "论文的字母"), words)}'
        f"<p>在各个玩具模型里的大小，由公式算出的附上公式：</p>{table(('记号', *names), sizes)}</div>"
    )


def _size(name: str, toy: ToyRecord) -> str:
    if name not in toy.axes[0]:
        return _NONE
    formula = toy.formulas[name]
    return f"{toy.axes[0][name]}" + (f' <code class="tsf-quiet">{escape(formula)}</code>' if formula != name else "")


def terms_table(terms: Mapping[str, str]) -> str:
    """The terms that a page may write as inline code, with what each means."""
    rows = [
        f'<tr><th scope="row"><code>{escape(term)}</code></th><td>{escape(said)}</td></tr>'
        for term, said in sorted(terms.items(), key=lambda pair: pair[0].casefold())
    ]
    return table(("术语", "意思"), rows)
