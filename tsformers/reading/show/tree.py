"""Where a page stands: the call tree of the toy, and the way down to the children."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from tsformers.reading.record import Call, Value
from tsformers.reading.show.values import WORDS, axes_html, brief, members, named_axes, table, tensors

_NONE: Mapping = {}


def is_torch(call: Call) -> bool:
    """Whether the call is one of torch's own modules, which no page explains."""
    return call.function.split(".")[0] == "torch"


def call_name(call: Call) -> str:
    """``EncoderLayer.forward``; the class alone for a module of torch, the name alone for a plain function."""
    last = call.function.rsplit(".", 1)[-1]
    if is_torch(call):
        return call.owner
    return f"{call.owner}.{last}" if call.function.split(".")[-2:-1] == [call.owner] or call.path else last


def local_path(call: Call, parent: Call) -> str:
    """The path below the parent: ``norm1`` of ``encoder.attn_layers.0.norm1``; else the name of the function."""
    if call.path in ("", parent.path):
        return call.function.split(".")[-1]
    return call.path.removeprefix(parent.path + ".") if parent.path else call.path


def output_text(value: Value) -> str:
    """``(8, 6, 16)``, or ``(8, 6, 16), None`` for a tuple."""
    return ", ".join(brief(part) for part in value) if isinstance(value, tuple) else brief(value)


def _output_html(call: Call) -> str:
    parts = members("", call.output, call.output_axes) if isinstance(call.output, tuple) else [
        ("", call.output, call.output_axes[0] if call.output_axes else None)]  # fmt: skip
    return ", ".join(
        f"<span{named}>{escape(brief(value))}</span>" if (named := named_axes(axes)) else escape(brief(value))
        for _, value, axes in parts
    )


def distinct(calls: Sequence[Call]) -> list[tuple[Call, int]]:
    """The calls in order of their first, each with how often the same module gave the same kind of output."""
    found: dict[tuple[str, str, str], tuple[Call, int]] = {}
    for call in calls:
        key = (call.function, call.path, output_text(call.output))
        first, times = found.get(key, (call, 0))
        found[key] = (first, times + 1)
    return list(found.values())


def call_tree(
    tree: Call,
    here: Sequence[tuple[str, str]],
    links: Mapping[str, str] = _NONE,
    layers: Mapping[str, int] = _NONE,
) -> str:
    """The toy's run as a nested list; the calls in ``here`` (function, path) are lit, what is far from them folded.

    Where nothing is lit, all is open but what consists of torch's own modules.

    ``links`` maps a dotted function to the page that reads it, ``layers`` to its layer number.
    """
    lit = set(here)

    def near(call: Call) -> bool:
        if not lit:
            return not all(is_torch(child) for child in call.children)
        return (call.function, call.path) in lit or any(near(child) for child in call.children)

    def item(call: Call, times: int, parent: Call | None) -> str:
        own = (call.function, call.path) in lit
        name = escape(call_name(call))
        if own:
            name = f"<strong>{name}</strong>"
        elif call.function in links:
            name = f'<a href="{escape(links[call.function])}">{name}</a>'
        layer = f'<span class="tsf-layer">L{layers[call.function]}</span> ' if call.function in layers else ""
        parts = [f'{layer}<span class="tsf-name">{name}</span>']
        if call.path:
            path = local_path(call, parent) if is_torch(call) and parent else call.path
            parts.append(f"<code>{escape(path)}</code>")
        parts.append(f'<span class="tsf-shape">→ {_output_html(call)}</span>')
        if times > 1:
            parts.append(f'<span class="tsf-times">×{times}</span>')
        text = " ".join(parts)
        marks = (' class="tsf-leaf"' if is_torch(call) else "") + (' aria-current="page"' if own else "")
        if not call.children:
            return f"<li{marks}>{text}</li>"
        below = f"<ul>{''.join(item(child, count, call) for child, count in distinct(call.children))}</ul>"
        if near(call):
            return f"<li{marks}>{text}{below}</li>"
        # The name may be a link, which a summary, itself a button, must not hold: so the button stands before it alone.
        label = escape(f"{call_name(call)} 里的调用")
        return f'<li{marks}>{text}<details><summary aria-label="{label}"></summary>{below}</details></li>'

    return f'<nav class="tsf-tree" aria-label="调用树"><ul>{item(tree, 1, None)}</ul></nav>'


def _two_lines(value: Value, axes: Sequence[str] | None, words: Mapping[str, str]) -> str:
    shape = f'<span class="tsf-shape"{named_axes(axes)}>{escape(brief(value))}</span>'
    return f'{shape}<br><span class="tsf-axes">{axes_html(axes, words)}</span>' if axes else shape


def children(call: Call, links: Mapping[str, str] = _NONE, words: Mapping[str, str] = WORDS) -> str:
    """The modules and functions that a call calls itself, with input, output and the page that reads each.

    A part of the package that no page reads is named 尚无此页; torch's own modules need no page.
    """
    rows = []
    for child, times in distinct(call.children):
        count = f' <span class="tsf-times">×{times}</span>' if times > 1 else ""
        into: dict[str, list[str]] = {}
        for name, value, axes in child.inputs:
            if any(tensors(value)):
                into.setdefault(_two_lines(value, axes, words), []).append("" if is_torch(child) else f"{name} ")
        given = "".join(
            f"<div>{escape(', '.join(names).replace(' ,', ','))}{text}</div>" for text, names in into.items()
        )
        out = "".join(f"<div>{_two_lines(value, axes, words)}</div>"
                      for _, value, axes in members("", child.output, child.output_axes))  # fmt: skip
        if child.function in links:
            page = f'<a href="{escape(links[child.function])}">{escape(call_name(child))}</a>'
        else:
            page = (
                '<span class="tsf-quiet">PyTorch</span>'
                if is_torch(child)
                else '<span class="tsf-quiet">尚无此页</span>'
            )
        path = f"<code>{escape(local_path(child, call))}</code>" if child.path not in ("", call.path) else ""
        rows.append(
            f"<tr><td>{escape(call_name(child))}{count}</td><td>{path}</td><td>{given}</td><td>{out}</td><td>{page}</td></tr>"
        )
    if not rows:
        return '<p class="tsf-quiet">这一层不再调用别的模块。</p>'
    return table(("子组件", "路径", "输入", "输出", "页面"), rows)
