"""A claim as data: its form, its expressions with their places, and what it states of them."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from tsformers.reading.arithmetic import parse_expression
from tsformers.reading.layout import Operator, layout
from tsformers.reading.literals import Literal

COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">=", "is", "is not", "in", "not in"})


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression of a claim: as written at ``offset`` of the span, and as Python (``…`` ``return`` ``≠`` replaced).

    ``code`` parses with ``ast.parse(mode="eval")``; ``return`` is ``__return__`` there, ``…`` is ``...``.
    """

    text: str
    offset: int
    code: str


@dataclass(frozen=True, slots=True)
class Slot:
    """One slot of a written shape; ``code`` is its integer, or an axis expression such as ``"B*C"``."""

    text: str
    offset: int
    code: int | str

    @property
    def is_integer(self) -> bool:
        return isinstance(self.code, int)


@dataclass(frozen=True, slots=True)
class Claim:
    """What a span states. ``form``: "shape" "equal" "approx" "compare".

    For all forms but "compare", ``text[written:end]`` is what is checked: the bracket or the literal, with its dtype.
    """

    form: str
    text: str
    expressions: tuple[Expression, ...]
    written: int = 0
    end: int = 0
    slots: tuple[Slot, ...] = ()
    axes: tuple[Slot, ...] = ()  # of "= (B*C, patch_num, d_model)"
    dtype: str = ""  # without "torch."
    dtype_offset: int = 0
    tight: bool = False  # no blank before the bracket: a claim only if the expression is a tensor
    asks: bool = False  # "?" stands where the shape or the literal goes
    literal: Literal | None = None
    operators: tuple[Operator, ...] = ()  # of "compare", one less than expressions

    @property
    def bracket(self) -> str:
        """The written shape, of the form "shape"."""
        after = self.slots[-1].offset + len(self.slots[-1].text) if self.slots else self.written
        return self.text[self.written : self.text.index(")", after) + 1]

    @property
    def axis_groups(self) -> tuple[tuple[Slot, ...], ...]:
        """The groups of slots that hold an axis name, hence to be proven on every configuration."""
        named = any(not slot.is_integer for slot in self.slots)
        return ((self.slots,) if named else ()) + ((self.axes,) if self.axes else ())


def expression(text: str, start: int, end: int) -> Expression | None:
    """The expression at ``text[start:end]`` without its outer blanks, None where it is not Python or names nothing."""
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    code = layout(text[start:end]).python
    return Expression(text[start:end], start, code) if parse_expression(code) is not None else None


def names_something(expressions: tuple[Expression, ...]) -> bool:
    """Whether any of them reads a name of its surroundings: a claim about constants alone says nothing of the state."""
    return any(free_names(tree) for item in expressions if (tree := parse_expression(item.code)) is not None)


def free_names(tree: ast.expr) -> set[str]:
    """Names that an expression looks up; one that a comprehension or lambda in it binds is its own everywhere."""
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} - bound_inside(tree)


def bound_inside(tree: ast.expr) -> frozenset[str]:
    """Names that a comprehension, a lambda or := inside the expression binds."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
    return frozenset(found)
