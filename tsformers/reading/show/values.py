"""Shapes, axis names and values as text and HTML; matrices and worked sums that a page's block prints."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from tsformers.axes import AXES
from tsformers.reading.record import OpaqueValue, TensorValue, Value

COLUMNS = 8  # a matrix wider than this does not fit a phone
ROWS = 16
FOLDED_ROWS = 8
CHANGE = "→"
_SYMBOL = re.compile(r"[A-Za-z_]\w*(?:\.\w+)*")

WORDS: Mapping[str, str] = {axis.name: axis.chinese for axis in AXES}

# One hue a family on all pages; the letter always stands beside it, so the colour is never alone.
_FAMILIES = {
    "batch": "B",
    "variate": "C N enc_in c_out",
    "time": "seq_len pred_len label_len dec_len padded_len patch_num token_count conv_len enc_seq L S L_Q L_K "
    "sample_k n_top steps",
    "patch": "patch_len",
    "model": "d_model head_nf",
    "head": "n_heads H",
    "key": "d_keys E D",
    "hidden": "d_ff",
    "mark": "marks",
    "class": "num_class",
}
FAMILY = {name: family for family, names in _FAMILIES.items() for name in names.split()}


def shape_text(shape: Sequence[int]) -> str:
    """``(8, 6, 16)``, ``(8,)``, ``()``: a shape as Python writes it."""
    return str(tuple(shape))


def brief(value: Value) -> str:
    """One short line for any recorded value: the shape of a tensor, the type of an object, else its literal."""
    if isinstance(value, TensorValue):
        return shape_text(value.shape)
    if isinstance(value, OpaqueValue):
        return value.type
    if isinstance(value, tuple | list):
        left, right = "()" if isinstance(value, tuple) else "[]"
        inner = ", ".join(brief(item) for item in value)
        return f"{left}{inner}{',' if isinstance(value, tuple) and len(value) == 1 else ''}{right}"
    return repr(value)


def tensors(value: Value) -> Iterator[TensorValue]:
    """The tensors in a value, in order."""
    if isinstance(value, TensorValue):
        yield value
    elif isinstance(value, tuple | list):
        for item in value:
            yield from tensors(item)


def members(name: str, value: Value, axes: Sequence[tuple[str, ...] | None]) -> list[tuple[str, Value, tuple | None]]:
    """The parts of a returned value, named ``name[0]`` and so on, each with its axis names.

    ``axes`` has one entry a member, or one a returned tensor; both are understood.
    """
    if not isinstance(value, tuple | list):
        return [(name, value, axes[0] if axes else None)]
    of_tensors = iter(axes)
    result = []
    for index, item in enumerate(value):
        if len(axes) == len(value):
            names = axes[index]
        else:
            names = next(of_tensors, None) if isinstance(item, TensorValue) else None
        result.append((f"{name}[{index}]", item, names))
    return result


def axes_html(axes: Sequence[str], words: Mapping[str, str] = WORDS) -> str:
    """``(B*C, patch_num, d_model)``, each symbol in a span of its family; a symbol of ``words`` stands in an attribute
    too, for whoever explains it (``notation.explained``)."""

    def span(match: re.Match[str]) -> str:
        symbol = match[0].removeprefix("sizes.")
        meaning = f' data-symbol="{escape(symbol)}"' if symbol in words else ""
        return f'<span class="tsf-ax" data-axis="{FAMILY.get(symbol, "other")}"{meaning}>{escape(match[0])}</span>'

    slots = [_SYMBOL.sub(span, axis) for axis in axes]
    return f"({', '.join(slots)}{',' if len(slots) == 1 else ''})"


def named_axes(axes: Sequence[str] | None) -> str:
    """The attribute that names the axes of a shape, for the panel of sizes; "" where none has a name."""
    named = any(_SYMBOL.search(axis) for axis in axes or ())
    return f' data-axes="{escape(", ".join(axes or ()))}"' if named else ""


def value_html(value: Value, axes: Sequence[str] | None = None, words: Mapping[str, str] = WORDS) -> str:
    """A value in one line: ``(8, 6, 16) = (B*C, patch_num, d_model)`` for a tensor, else its short text."""
    named = any(_SYMBOL.search(axis) for axis in axes or ())
    names = f' <span class="tsf-axes">= {axes_html(axes or (), words)}</span>' if named else ""
    return f'<span class="tsf-shape"{named_axes(axes)}>{escape(brief(value))}</span>{names}'


def table(head: Sequence[str], rows: Sequence[str], *, search: bool = True) -> str:
    """Rows (``<tr>…</tr>``) under column headings, in a table that scrolls inside itself.

    Without ``search`` the site's search leaves the table out. The attribute stands on the table itself: search takes
    the first end of a nested element of the same name, as a ``div`` has many, for the end of what it leaves out.
    """
    cells = "".join(f'<th scope="col">{text}</th>' for text in head)
    out = "" if search else ' data-search-exclude=""'
    body = f'<table class="tsf-table"{out}><thead><tr>{cells}</tr></thead><tbody>{"".join(rows)}</tbody></table>'
    return f'<div class="tsf-wide" tabindex="0">{body}</div>'


def meaning(axes: Sequence[str] | None, words: Mapping[str, str] = WORDS) -> str:
    """What the axes of a tensor count, in the vocabulary's words: ``批大小·通道数 × patch 数 × 模型宽度``."""
    if not axes:
        return ""
    slots = []
    for axis in axes:
        symbols = [name.removeprefix("sizes.") for name in _SYMBOL.findall(axis)]
        slots.append("·".join(words.get(symbol, symbol) for symbol in symbols) or axis)
    return " × ".join(slots)


def _nested(value: Any) -> tuple[tuple[int, ...], list]:
    """Shape and elements in row-major order of a tensor, an array, a record or nested lists."""
    if isinstance(value, TensorValue):
        if value.data is None:
            raise ValueError(f"这个张量 {shape_text(value.shape)} 太大，没有记录数值")
        return value.shape, list(value.data)
    if hasattr(value, "tolist"):
        value = value.tolist()
    if not isinstance(value, list | tuple):
        return (), [value]
    parts = [_nested(item) for item in value]
    shapes = {shape for shape, _ in parts}
    if len(shapes) > 1:
        raise ValueError(f"各行长度不一：{'、'.join(shape_text(shape) for shape in sorted(shapes))}")
    inner = shapes.pop() if shapes else ()
    return (len(parts), *inner), [element for _, elements in parts for element in elements]


def figures(values: Sequence[Any], digits: int) -> list[str]:
    """Numbers as text with the same number of decimals, so that right alignment aligns the decimal point.

    Scientific for all of them where ``digits`` decimals would show a value that is not zero as zero, or where one has
    more than six digits before the point.
    """
    if not any(isinstance(value, float) for value in values):
        return [str(value) for value in values]
    sizes = [abs(value) for value in values if value and math.isfinite(value)]
    style = "e" if sizes and (max(sizes) >= 1e6 or max(sizes) < 0.5 * 10.0**-digits) else "f"
    return [f"{value:.{digits}{style}}" for value in values]


def fewest_digits(values: Sequence[Any], most: int = 4) -> int:
    """The fewest decimals, one at least, that write every value exactly; ``most`` if none do."""
    finite = [value for value in values if isinstance(value, float) and math.isfinite(value)]
    for digits in range(1, most):
        if all(math.isclose(value, round(value, digits), rel_tol=0, abs_tol=1e-12) for value in finite):
            return digits
    return most


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def _markdown_table(rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table with padded cells, first column left, the others right; the blank lines let it follow text."""
    widths = [max(3, *(_width(row[column]) for row in rows)) for column in range(len(rows[0]))]

    def line(row: Sequence[str]) -> str:
        cells = []
        for column, text in enumerate(row):
            room = " " * (widths[column] - _width(text))
            cells.append(text + room if column == 0 else room + text)
        return f"| {' | '.join(cells)} |"

    rule = " | ".join((":" if column == 0 else "-") + "-" * (width - 2) + ("-" if column == 0 else ":")
                      for column, width in enumerate(widths))  # fmt: skip
    return "\n".join(["", line(rows[0]), f"| {rule} |", *(line(row) for row in rows[1:]), ""])


def _labels(names: str | Sequence[str], count: int, what: str) -> list[str]:
    if isinstance(names, str):
        return [str(index) for index in range(count)]
    if len(names) != count:
        raise ValueError(f"{what} 给了 {len(names)} 个名字，矩阵有 {count} 个")
    return list(names)


def _cells(value: Any, digits: int | None) -> tuple[int, int, list[list[str]], bool]:
    """Rows, columns, the cells shown as text, and whether the value was one-dimensional."""
    shape, flat = _nested(value)
    if not 1 <= len(shape) <= 2:
        raise ValueError(f"矩阵只能是一维或二维，这里是 {len(shape)} 维 {shape_text(shape)}；先取一片，例如 x[0]")
    if 0 in shape:
        raise ValueError(f"矩阵里没有元素：{shape_text(shape)}")
    height, width = (1, shape[0]) if len(shape) == 1 else shape
    text = figures(flat, fewest_digits(flat) if digits is None else digits)
    grid = [text[row * width : (row + 1) * width] for row in range(height)]
    return height, width, grid, len(shape) == 1


def matrix(value: Any, rows: str | Sequence[str] = "", columns: str | Sequence[str] = "", digits: int = 4) -> str:
    """A vector or matrix as a Markdown table: ``print(matrix(A[0, 0], rows="query", columns="key"))``.

    ``value`` is a tensor or array (anything with ``tolist``), a recorded tensor or nested lists. ``rows`` and
    ``columns`` name the axis, or each row and column. Floats show ``digits`` decimals; at most 16 rows and 8 columns
    are shown, then ``…``. Raises ValueError for any other rank, for no elements, and for a wrong number of names.
    """
    height, width, grid, flat = _cells(value, digits)
    row_labels, column_labels = _labels(rows, height, "rows"), _labels(columns, width, "columns")
    if flat and isinstance(rows, str):
        row_labels = [rows]
    corner = [f"{rows} ↓" if isinstance(rows, str) and rows and not flat else "",
              f"{columns} →" if isinstance(columns, str) and columns else ""]  # fmt: skip
    head = [" ".join(filter(None, corner)), *_cut(column_labels, COLUMNS)]
    body = [[label, *_cut(cells, COLUMNS)] for label, cells in zip(row_labels[:ROWS], grid[:ROWS], strict=True)]
    if height > ROWS:
        body.append(["…"] * len(head))
    return _markdown_table([head, *body])


def changes(
    before: Any, after: Any, rows: str | Sequence[str] = "", columns: str | Sequence[str] = "", digits: int = 4
) -> str:
    """As ``matrix`` of ``after``, where a number that differs from ``before`` as shown reads ``before → after``.

    Raises ValueError as ``matrix`` does, and for two different shapes.
    """
    (old_shape, old), (new_shape, new) = _nested(before), _nested(after)
    if old_shape != new_shape:
        raise ValueError(f"前后形状不同：{shape_text(old_shape)} 与 {shape_text(new_shape)}")
    shown = figures([*old, *new], digits)
    cells = [was if was == now else f"{was} {CHANGE} {now}" for was, now in zip(shown, shown[len(old) :], strict=False)]
    width = new_shape[-1] if new_shape else 1
    return matrix([cells[at : at + width] for at in range(0, len(cells), width)], rows, columns)


def _cut(cells: Sequence[str], most: int) -> list[str]:
    return list(cells) if len(cells) <= most else [*cells[:most], "…"]


def worked(
    weights: Any,
    x: Any,
    bias: float = 0.0,
    *,
    value: Any = None,
    digits: int = 4,
    names: tuple[str, str] = ("w", "x"),
) -> None:
    """Print a worked sum, one product a row, then the sum, the bias and the result.

    ``weights`` and ``x`` are vectors of one length. ``value`` is what the model computed; ValueError if the terms and
    the bias do not add up to it (relative 1e-9 of the largest part, or of float32's precision for a float32 tensor),
    or if the lengths differ: nothing is broadcast. A term whose printed factors do not multiply to the printed product
    has ``≈``.
    """
    (left_shape, left), (right_shape, right) = _nested(weights), _nested(x)
    if len(left_shape) != 1 or left_shape != right_shape:
        raise ValueError(f"要两个同长的向量，这里是 {shape_text(left_shape)} 与 {shape_text(right_shape)}")
    shift = float(bias)
    products = [a * b for a, b in zip(left, right, strict=True)]
    total = math.fsum(products)
    result = total + shift
    if value is not None:
        actual = float(value)
        single = any("32" in str(getattr(part, "dtype", "")) for part in (weights, x, value))
        largest = max(1.0, *(abs(part) for part in products), abs(shift))
        if not abs(result - actual) <= (1e-5 if single else 1e-9) * largest:
            raise ValueError(f"各项相加得 {result:.{digits + 4}g}，模型算出的是 {actual:.{digits + 4}g}")
    fewest = min(digits, fewest_digits([float(part) for part in (*left, *right)], digits))
    factors = f"{names[0]} × {names[1]}"
    rows = [["", names[0], names[1], factors]]
    for index, (a, b, product) in enumerate(zip(left, right, products, strict=True)):
        shown_a, shown_b, shown = f"{a:.{fewest}f}", f"{b:.{fewest}f}", f"{product:.{digits}f}"
        exact = math.isclose(float(shown_a) * float(shown_b), float(shown), rel_tol=0, abs_tol=1e-12)
        rows.append([str(index), shown_a, shown_b, shown if exact else f"≈ {shown}"])
    rows.append(["和", "", "", f"{total:.{digits}f}"])
    if shift:
        rows += [["偏置", "", "", f"{shift:.{digits}f}"], ["结果", "", "", f"{result:.{digits}f}"]]
    print(_markdown_table(rows))


def slice_html(name: str, value: TensorValue, axes: Sequence[str] | None = None) -> str:
    """The first matrix of a recorded tensor as an HTML table, shaded by size; a sentence where no values are kept."""
    if value.data is None:
        return f'<p class="tsf-quiet">{escape(name)} 有 {math.prod(value.shape)} 个元素，没有记录数值。</p>'
    if 0 in value.shape:
        return f'<p class="tsf-quiet">{escape(name)} 没有元素。</p>'
    if not value.shape:
        return f'<p class="tsf-quiet">{escape(name)} = {escape(figures(value.data, 6)[0])}</p>'
    last = value.shape[-2:]
    count = math.prod(last)
    first = TensorValue(last, value.dtype, value.data[:count])
    _, width, grid, flat = _cells(first, None)
    loud = max((abs(v) for v in first.data or () if math.isfinite(v)), default=0) or 1
    shade = [min(1.0, abs(v) / loud) if math.isfinite(v) else 0.0 for v in first.data or ()]
    leading = len(value.shape) - len(last)
    title = name + (f"[{', '.join('0' * leading)}]" if leading else "")
    names = list(axes[-len(last) :]) if axes else []
    axes_said = "，".join(f"{word} {axis}" for word, axis in zip("列" if flat else "行列", names, strict=False))
    head = "".join(f'<th scope="col">{label}</th>' for label in _cut([str(i) for i in range(width)], COLUMNS))
    lines = []
    for row, cells in enumerate(grid[:FOLDED_ROWS]):
        shown = [f'<td style="--h:{shade[row * width + column]:.2f}">{escape(text)}</td>'
                 for column, text in enumerate(cells[:COLUMNS])]  # fmt: skip
        rest = "<td>…</td>" if width > COLUMNS else ""
        lines.append(f'<tr><th scope="row">{"" if flat else row}</th>{"".join(shown)}{rest}</tr>')
    if len(grid) > FOLDED_ROWS:
        lines.append(f'<tr><th scope="row">…</th>{"<td>…</td>" * (min(width, COLUMNS) + (width > COLUMNS))}</tr>')
    return (
        f'<table class="tsf-matrix"><caption><code>{escape(title)}</code> {escape(axes_said)}</caption>'
        f'<thead><tr><td class="tsf-corner"></td>{head}</tr></thead><tbody>{"".join(lines)}</tbody></table>'
    )
