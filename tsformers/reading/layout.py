"""Where the strings, brackets and operators of a claim stand: what its grammar needs before it can be read."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

HAN = re.compile(r"[\u3400-\u9fff]")

_OPERATORS = re.compile(
    r"≈|->|=>|:=|//=|\*\*=|<<=|>>=|<<|>>|[-+*/%&|^@]=|==|!=|<=|>=|≠|≤|≥|=|<|>"
    r"|(?<![\w.])(?:is\s+not|is|not\s+in|in)(?!\w)"
)
_PYTHON = {"≠": "!=", "≤": "<=", "≥": ">="}
_OPENING = {"(": ")", "[": "]", "{": "}"}
_CLOSING = {close: open_ for open_, close in _OPENING.items()}
_NARROW = {chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)} | {
    "、": ",",
    "【": "[",
    "】": "]",
    "−": "-",
    "–": "-",
    "⋯": "…",
    "“": '"',
    "”": '"',
    "‘": "'",
    "’": "'",
}
del _NARROW["？"]  # a question is understood in either width


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator outside brackets and strings: as written, and as Python spells it (``≠`` is ``!=``)."""

    text: str
    offset: int
    symbol: str


@dataclass(frozen=True)
class Layout:
    """``code`` is the text with the contents of strings blanked out, character by character."""

    text: str
    code: str
    depth: tuple[int, ...]  # per character, of brackets around it; a bracket has the depth outside it
    partner: dict[int, int]  # offset of a bracket -> offset of its other half
    unbalanced: int | None  # the first bracket without one
    open_string: int | None  # where a string begins that does not end
    operators: tuple[Operator, ...] = field(default=())

    @property
    def python(self) -> str:
        """The text as Python: ``…`` ``return`` ``≠ ≤ ≥`` and unusual blanks replaced, strings untouched."""
        pieces, last = [], 0
        for match in re.finditer(r"…|[≠≤≥]|(?<![\w.])return(?!\w)|[^\S ]", self.code):
            found = match.group()
            new = {"…": "...", "return": "__return__"}.get(found) or _PYTHON.get(found, " ")
            pieces += [self.text[last : match.start()], new]
            last = match.end()
        return "".join([*pieces, self.text[last:]]).strip()


def layout(text: str) -> Layout:
    """Scan a text once."""
    code = list(text)
    depth: list[int] = []
    partner: dict[int, int] = {}
    stack: list[int] = []
    unbalanced: int | None = None
    open_string: int | None = None
    position = 0
    while position < len(text):
        char = text[position]
        if char in "'\"":
            end = _string_end(text, position)
            open_string = position if end is None and open_string is None else open_string
            stop = len(text) if end is None else end
            depth += [len(stack)] * (stop - position)
            code[position + 1 : stop - 1] = "\0" * max(0, stop - position - 2)
            position = stop
            continue
        if char in _CLOSING:
            if stack and text[stack[-1]] == _CLOSING[char]:
                partner[stack[-1]], partner[position] = position, stack[-1]
                stack.pop()
            elif unbalanced is None:
                unbalanced = position
        depth.append(len(stack))
        if char in _OPENING:
            stack.append(position)
        position += 1
    if unbalanced is None and stack:
        unbalanced = stack[-1]
    flat = "".join(c if d == 0 else "\0" for c, d in zip(code, depth, strict=True))
    operators = tuple(
        Operator(match.group(), match.start(), _PYTHON.get(match.group()) or " ".join(match.group().split()))
        for match in _OPERATORS.finditer(flat)
    )
    return Layout(text, "".join(code), tuple(depth), partner, unbalanced, open_string, operators)


def narrowed(lay: Layout) -> str:
    """The text with full-width punctuation outside strings made half-width, as long as the text itself."""
    return "".join(
        _NARROW.get(written, written) if seen == written else written
        for written, seen in zip(lay.text, lay.code, strict=True)
    )


def _string_end(text: str, start: int) -> int | None:
    quote = text[start] * 3 if text.startswith(text[start] * 3, start) else text[start]
    position = start + len(quote)
    while position < len(text):
        if text[position] == "\\":
            position += 2
        elif text.startswith(quote, position):
            return position + len(quote)
        else:
            position += 1
    return None
