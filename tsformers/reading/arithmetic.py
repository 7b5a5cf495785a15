"""Arithmetic over named sizes, computed on the syntax tree: no name outside the sizes, no call but those listed."""

from __future__ import annotations

import ast
import difflib
import math
import operator
import warnings
from collections.abc import Callable, Mapping

Number = int | float | bool

FUNCTIONS: dict[str, Callable[..., Number]] = {
    "min": min,
    "max": max,
    "abs": abs,
    "int": int,
    "round": round,
    "ceil": math.ceil,
    "floor": math.floor,
    "sqrt": math.sqrt,
    "log": math.log,
}
_BINARY: dict[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Number, Number], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
LARGEST_POWER = 64
LONGEST = 1000  # characters of a formula


class FormulaError(ValueError):
    """A formula that cannot be computed; ``name`` is the unknown name, when that is why."""

    def __init__(self, message: str, name: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.name = name


def parse_expression(code: str) -> ast.expr | None:
    """The tree of a Python expression, None when the text is none; silent about what Python would warn of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(code, mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


def names(code: str) -> tuple[str, ...]:
    """Names read in an expression, each once, in order of their place; calls' functions are not names here."""
    tree = parse_expression(code)
    if tree is None:
        return ()
    functions = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in functions]
    return tuple(dict.fromkeys(node.id for node in sorted(found, key=lambda node: (node.lineno, node.col_offset))))


def evaluate(formula: str, sizes: Mapping[str, Number]) -> Number:
    """Value of a formula: arithmetic, comparisons, ``and or not``, ``a if b else c``, and FUNCTIONS.

    Raises FormulaError on anything else, on an unknown name and on a division by zero.
    """
    if len(formula) > LONGEST:
        raise FormulaError(f"公式太长：{formula[:40]}…")
    tree = parse_expression(formula.strip())
    if tree is None:
        raise FormulaError(f"公式 {formula} 不是表达式")
    try:
        value = _compute(tree, sizes, formula)
    except RecursionError:
        raise FormulaError(f"公式太长：{formula[:40]}…") from None
    if isinstance(value, complex):
        raise FormulaError(f"公式 {formula} 的值不是实数")
    return value


def evaluate_axis(code: str, sizes: Mapping[str, int], axes: Mapping[str, str]) -> int:
    """Length of an axis such as ``B*C``; a name is an axis (its formula over sizes and axes) or else a size.

    Raises FormulaError when a name is unknown, when axes are defined by each other, when the value is no integer.
    """
    return _axis(code, sizes, axes, ())


def _axis(code: str, sizes: Mapping[str, int], axes: Mapping[str, str], open_: tuple[str, ...]) -> int:
    known: dict[str, Number] = {}
    for name in names(code):
        if name in open_:
            if name not in sizes:
                raise FormulaError(f"轴 {name} 的公式绕回了自己")
            known[name] = sizes[name]
        elif name in axes:
            known[name] = _axis(axes[name], sizes, axes, (*open_, name))
        elif name in sizes:
            known[name] = sizes[name]
        else:
            raise FormulaError(unknown(name, [*axes, *sizes]), name)
    value = evaluate(code, known)
    if isinstance(value, bool) or not isinstance(value, int):
        raise FormulaError(f"{code} 的值 {value} 不是整数")
    return value


def unknown(name: str, among: list[str]) -> str:
    """Sentence on an unknown axis name, with the nearest known one."""
    near = difflib.get_close_matches(name, among, n=1, cutoff=0.5)
    return f"没有轴名 {name}" + (f"，是不是 {near[0]}？" if near else "")


def _compute(node: ast.expr, sizes: Mapping[str, Number], formula: str) -> Number:
    def value(child: ast.expr) -> Number:
        return _compute(child, sizes, formula)

    try:
        match node:
            case ast.Constant(value=bool() | int() | float() as constant):
                return constant
            case ast.Name(id=name):
                if name not in sizes:
                    raise FormulaError(unknown(name, list(sizes)), name)
                return sizes[name]
            case ast.BinOp(left=left, op=ast.Pow(), right=right):
                base, exponent = value(left), value(right)
                if abs(exponent) > LARGEST_POWER or abs(base) > 1e9:
                    raise FormulaError(f"公式 {formula} 的乘方太大")
                return base**exponent
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
                return _BINARY[type(op)](value(left), value(right))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -value(operand)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return +value(operand)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return not value(operand)
            case ast.BoolOp(op=ast.And(), values=parts):
                return all(value(part) for part in parts)
            case ast.BoolOp(op=ast.Or(), values=parts):
                return any(value(part) for part in parts)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return value(body) if value(test) else value(orelse)
            case ast.Compare(left=left, ops=ops, comparators=comparators) if all(type(op) in _COMPARE for op in ops):
                values = [value(left), *map(value, comparators)]
                pairs = zip(ops, values, values[1:], strict=False)
                return all(_COMPARE[type(op)](a, b) for op, a, b in pairs)
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in FUNCTIONS and args:
                return FUNCTIONS[name](*map(value, args))
    except ZeroDivisionError:
        raise FormulaError(f"公式 {formula} 除以了 0") from None
    except (OverflowError, TypeError, ValueError) as error:
        if isinstance(error, FormulaError):
            raise
        raise FormulaError(f"公式 {formula} 算不出来：{error}") from error
    raise FormulaError(f"公式 {formula} 里的 {ast.unparse(node)} 不是允许的算术")
