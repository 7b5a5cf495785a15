"""The literals of claims: a small grammar of its own, so that what an author wrote is read and never evaluated.

``0.33`` keeps its digits: it speaks of every value that lies at most half a unit of its last digit away.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

DTYPES = frozenset(
    {"float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "uint16", "uint32"}
    | {"uint64", "bool", "complex64", "complex128"}
)
DEEPEST = 12  # nesting of lists; a tensor of more axes is not written out in a sentence
LARGEST_EXPONENT = 330  # beyond the range of float64

NUMBER = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?(?![\w.])", re.ASCII)
_WORD = re.compile(r"[-+]?(?:torch\.)?[A-Za-z_]\w*(?:\.\w+)*", re.ASCII)
_LENIENT = re.compile(
    r"\s+|[-+]?[\d.]+(?:[eE][-+]?\d*)?[.\d]*|[\[\](),…?]|'[^']*'|\"[^\"]*\"|[-+]?\b(?:True|False|None|nan|inf)\b"
    r"|[\u3400-\u9fff，。；：、]+",
    re.ASCII,
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "\\": "\\", "'": "'", '"': '"'}


class ClaimError(ValueError):
    """A text that has the form of a claim and is malformed; ``offset`` points into the text.

    ``suggestion`` is the whole text as it should be, "" where none can be told. With ``length`` it stands for that
    many characters at ``offset`` only; ``parse`` makes it whole.
    """

    def __init__(self, message: str, offset: int, suggestion: str = "", length: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset
        self.suggestion = suggestion
        self.length = length

    def within(self, text: str) -> ClaimError:
        """The same, its suggestion made of the whole text."""
        if not self.length or not self.suggestion:
            return self
        whole = text[: self.offset] + self.suggestion + text[self.offset + self.length :]
        return ClaimError(self.message, self.offset, whole)


class Vacuous(ClaimError):
    """A claim that states nothing, ``d_ff =`` or ``x is x``: nobody can have meant that, whatever the page is about."""


@dataclass(frozen=True, slots=True)
class Scalar:
    """One written value. ``kind``: "int" "float" "bool" "none" "str" "dtype" (then ``value`` is its name)."""

    kind: str
    text: str
    offset: int
    value: int | float | bool | str | None

    @property
    def exact(self) -> Fraction:
        """The number as written; only for finite numbers."""
        return Fraction(self.text)

    @property
    def half_unit(self) -> Fraction:
        """Half a unit of the last written digit: 0.005 for ``0.33``, 5e-11 for ``1.0e-09``."""
        mantissa, _, exponent = self.text.lower().partition("e")
        decimals = len(mantissa.partition(".")[2])
        return Fraction(10) ** (int(exponent or 0) - decimals) / 2

    @property
    def negative(self) -> bool:
        return self.text.startswith("-")


@dataclass(frozen=True, slots=True)
class Items:
    """A list or tuple. ``skip`` is where ``…`` stands among the items: that many of them come before it."""

    kind: str  # "list" "tuple"
    text: str
    offset: int
    items: tuple[Literal, ...]
    skip: int | None = None


Literal = Scalar | Items


def scalars(literal: Literal) -> Iterator[Scalar]:
    """Every scalar in it, in the order written."""
    if isinstance(literal, Scalar):
        yield literal
    else:
        for item in literal.items:
            yield from scalars(item)


def depth(literal: Literal) -> int:
    """How deep lists are nested, along the first item of each."""
    if isinstance(literal, Scalar):
        return 0
    return 1 + (depth(literal.items[0]) if literal.items else 0)


def looks_literal(text: str) -> bool:
    """Whether a text holds nothing but pieces of literals, so that it is a bad literal rather than source text."""
    position = 0
    while position < len(text):
        match = _LENIENT.match(text, position)
        if match is None:
            return False
        position = match.end()
    return text.strip() != ""


def read(text: str, start: int) -> tuple[Literal, int]:
    """Read the literal that begins at or after ``start``; returns it and the offset just after it.

    Raises ClaimError, with an offset into ``text``, where the text is not a literal.
    """
    return _read(text, _blank(text, start), 0)


def _blank(text: str, position: int) -> int:
    while position < len(text) and text[position].isspace():
        position += 1
    return position


def _read(text: str, position: int, level: int) -> tuple[Literal, int]:
    if position >= len(text):
        raise ClaimError("这里缺一个值", position)
    char = text[position]
    if char in "[(":
        return _items(text, position, level)
    if char in "'\"":
        return _string(text, position)
    number = NUMBER.match(text, position)
    if number is not None:
        return _number(number.group(), position), number.end()
    word = _WORD.match(text, position)
    if word is not None:
        return _word(word.group(), position), word.end()
    raise ClaimError(f"{_piece(text, position)} 不是字面量", position)


def _items(text: str, start: int, level: int) -> tuple[Items, int]:
    if level >= DEEPEST:
        raise ClaimError(f"括号嵌套超过 {DEEPEST} 层", start)
    kind, close = ("list", "]") if text[start] == "[" else ("tuple", ")")
    items: list[Literal] = []
    skip: int | None = None
    comma = True  # whether an item may stand here
    position = start + 1
    while True:
        position = _blank(text, position)
        if position >= len(text):
            raise ClaimError(f"括号 {text[start]} 没有闭合", start)
        char = text[position]
        if char == close:
            break
        if char in "])":
            raise ClaimError(f"括号不配对：{text[start]} 遇到了 {char}", position)
        if char == ",":
            if comma:
                raise ClaimError("逗号前缺一个值", position)
            comma = True
            position += 1
            continue
        if not comma:
            raise ClaimError(f"{_piece(text, position)} 前缺一个逗号", position)
        comma = False
        if char == "…" or text.startswith("...", position):
            if skip is not None:
                raise ClaimError("同一层列表里只能有一个 …", position)
            skip = len(items)
            position += 1 if char == "…" else 3
            continue
        item, position = _read(text, position, level + 1)
        items.append(item)
    if kind == "tuple" and skip is not None:
        raise ClaimError("元组要写全，… 只能出现在列表里", start)
    if kind == "tuple" and len(items) == 1 and not comma:
        suggestion = text[start:position].rstrip() + ",)"
        raise ClaimError("只有一个元素的元组要带逗号", start, suggestion, position + 1 - start)
    return Items(kind, text[start : position + 1], start, tuple(items), skip), position + 1


def _string(text: str, start: int) -> tuple[Scalar, int]:
    quote, value, position = text[start], "", start + 1
    while position < len(text) and text[position] != quote:
        if text[position] == "\\":
            escape = text[position + 1 : position + 2]
            if escape not in _ESCAPES:
                raise ClaimError(f"字符串里的 \\{escape} 不认识", position)
            value += _ESCAPES[escape]
            position += 2
        else:
            value += text[position]
            position += 1
    if position >= len(text):
        raise ClaimError("字符串没有闭合", start)
    return Scalar("str", text[start : position + 1], start, value), position + 1


def _number(written: str, offset: int) -> Scalar:
    mantissa, _, exponent = written.lower().partition("e")
    if len(mantissa) > 400 or len(exponent) > 6 or abs(int(exponent or 0)) > LARGEST_EXPONENT:
        raise ClaimError(f"{written[:40]} 超出 float64 的范围", offset)
    if written.startswith("+"):
        raise ClaimError("正数不写加号", offset, written[1:], len(written))
    if "." in written or exponent:
        value = float(written)
        if value in (float("inf"), float("-inf")):
            raise ClaimError(f"{written[:40]} 超出 float64 的范围", offset)
        return Scalar("float", written, offset, value)
    digits = written.lstrip("-")
    if len(digits) > 1 and digits.startswith("0"):
        raise ClaimError(f"整数 {written} 不能以 0 开头", offset)
    return Scalar("int", written, offset, int(written))


def _word(word: str, offset: int) -> Scalar:
    match word:
        case "True" | "False":
            return Scalar("bool", word, offset, word == "True")
        case "None":
            return Scalar("none", word, offset, None)
        case "nan" | "inf" | "-inf":
            return Scalar("float", word, offset, float(word))
    if word.removeprefix("torch.") in DTYPES and word.startswith("torch."):
        return Scalar("dtype", word, offset, word)
    raise ClaimError(f"{word} 不是字面量", offset)


def _piece(text: str, position: int) -> str:
    match = re.compile(r"[\w.]+|\S").match(text, position)
    return match.group() if match else text[position : position + 1]
