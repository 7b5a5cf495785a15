"""Diagrams as SVG, drawn at build time: sequence, semantic groups, structure.

The renderer is mermaid-render (PyPI), which needs neither browser nor Node; only `svg` knows it.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from xml.etree import ElementTree

from tsformers.reading.record import Call, Quote, Subject, Value
from tsformers.reading.show.flow import flow, parse, reads, written
from tsformers.reading.show.tree import call_name, is_torch, local_path, output_text
from tsformers.reading.show.values import brief, tensors

_SVG = "{http://www.w3.org/2000/svg}"


@dataclass(frozen=True, slots=True)
class Section:
    """A 5.x section of a page: its heading's number and title, its quotes, and the code of each quote's fence."""

    number: str
    title: str
    pieces: tuple[Quote, ...]
    texts: tuple[str, ...]


def svg(source: str, label: str, kind: str = "") -> str:
    """The diagram of a Mermaid source in a figure whose ``aria-label`` tells it in words; search leaves it out.

    The same source gives the same text; ids in it are prefixed, so that diagrams can share a page. The colours stay
    plain attributes, which the style sheet maps to the scheme's. Raises ValueError where the source is not Mermaid.
    """
    from mermaid_render import mermaid_to_svg  # starts a JavaScript engine: only when something is drawn

    root = ElementTree.fromstring(mermaid_to_svg(source, theme="redux-color"))
    prefix = "d" + hashlib.sha256(f"{kind}\n{label}\n{source}".encode()).hexdigest()[:8] + "-"
    for element in root.iter():
        element.tag = element.tag.removeprefix(_SVG)
        for name, value in list(element.attrib.items()):
            if name == "id":
                element.set(name, prefix + value)
            elif name.startswith("data-"):
                del element.attrib[name]
            else:
                element.set(name, re.sub(r"url\(#|^#(?=[A-Za-z_][\w-]*$)(?![0-9A-Fa-f]{6}$)",
                                         lambda match: match[0] + prefix, value))  # fmt: skip
    for parent in [element for element in root.iter("g") if element.get("class") == "pele-cluster"]:
        for title in parent.findall("text"):  # above the edges, which would cross it
            parent.remove(title)
            root.append(title)
    for parent in list(root.iter()):
        for halo in [text for text in parent.findall("text") if text.get("fill") == "none"]:
            parent.remove(halo)  # in a colour that no scheme maps; the style sheet makes one
    width, height, box = float(root.get("width", "0")), float(root.get("height", "0")), root.get("viewBox", "")
    root.attrib.clear()
    root.attrib.update({
        "xmlns": "http://www.w3.org/2000/svg", "viewBox": box, "width": f"{width:g}", "height": f"{height:g}",
        "font-size": "16", "font-family": "sans-serif", "fill": "#172D4A", "style": f"--w:{width / 16:.2f}",
        "aria-hidden": "true", "focusable": "false",
    })  # fmt: skip
    drawing = ElementTree.tostring(root, encoding="unicode").replace("\n", " ")
    extra = f" tsf-{kind}" if kind else ""
    return (
        f'<figure class="tsf-figure{extra}" role="img" aria-label="{escape(label)}" data-search-exclude="">'
        f'<div class="tsf-wide" tabindex="0">{drawing}</div></figure>'
    )


def _text(text: str) -> str:
    """A label in Mermaid: what its grammar or its HTML would read otherwise is written as a character code."""
    return re.sub(r'[#;"<>&`\\\[\]{}|:%]', lambda match: f"#{ord(match[0])};", text)


def _sent(call: Call) -> list[str]:
    """``queries, keys, values (8, 6, 16)``: the tensors passed, grouped by shape; else the other arguments."""
    by_shape: dict[str, list[str]] = {}
    for name, value, _ in call.inputs:
        if any(tensors(value)):
            by_shape.setdefault(brief(value), []).append("" if is_torch(call) else name)
    return [f"{', '.join(names)} {shape}".lstrip(", ") for shape, names in by_shape.items()] or [
        ", ".join(f"{name} = {brief(value)}" for name, value, _ in call.inputs if value is not None) or "无参数"
    ]


def sequence(call: Call) -> str:
    """The sequence diagram of a call: the layer, the modules and functions that it calls itself, what passes between.

    Returns a sentence where it calls none.
    """
    if not call.children:
        return '<p class="tsf-quiet">这一层不调用别的模块，没有顺序图。</p>'
    people: dict[str, str] = {}
    lines: list[str] = []
    told: list[str] = []
    for child in call.children:
        name = local_path(child, call)
        person = people.setdefault(name, f"p{len(people) + 1}")
        sent, back = _sent(child), output_text(child.output)
        lines += [
            f"p0->>{person}: {'<br/>'.join(map(_text, sent))}",
            f"activate {person}",
            f"{person}-->>p0: {_text(back)}",
            f"deactivate {person}",
        ]
        told.append(f"{len(told) + 1}. 把 {'，'.join(sent)} 交给 {name}（{child.owner}），得到 {back}")
    owners = {local_path(child, call): child.owner for child in call.children if child.path not in ("", call.path)}
    head = [f"participant p0 as {_text(call.owner)}"]
    head += [f"participant {person} as {_text(name)}" + (f"<br/>{_text(owners[name])}" if name in owners else "")
             for name, person in people.items()]  # fmt: skip
    label = f"顺序图：{call.owner} 依次调用。{'；'.join(told)}。最后返回 {output_text(call.output)}。"
    return svg("\n".join(["sequenceDiagram", *head, *lines]), label, "sequence")


_SHAPES = {
    "input": '(["{}"])',
    "output": '(["{}"])',
    "part": '["{}"]',
    "torch": '("{}"):::torch',
    "operation": '("{}"):::operation',
}


def structure(call: Call, subject: Subject, quotes: Sequence[Quote] = ()) -> str:
    """The structure diagram of a layer: its parts in order, the operations between them, residual edges, shapes.

    ``quotes`` of the subject give shapes to what statements compute without a module.
    """
    graph = flow(call, subject, quotes)
    if not graph.edges:
        return '<p class="tsf-quiet">没有张量流过这一层，没有结构图。</p>'
    nodes = {node.key: node for node in graph.nodes}
    lines = ["flowchart TB"]
    for node in graph.nodes:
        shown = _text(node.label)
        if node.kind in ("input", "output"):
            shown += f"<br/>{_text(node.shape)}"
        single = node.kind == "operation" and len(node.label) == 1
        lines.append(node.key + (f'(("{shown}")):::sum' if single else _SHAPES[node.kind].format(shown)))
    told = []
    for start, end, shape in graph.edges:
        plain = not shape or nodes[start].kind == "input"  # an input has its shape in the box
        lines.append(f"{start} --> {end}" if plain else f'{start} -->|"{_text(shape)}"| {end}')
        told.append(f"{nodes[start].label} {shape}".strip() + f" 进入 {nodes[end].label}")
    return svg("\n".join(lines), f"结构图：{call.owner}。{'；'.join(told)}。", "structure")


def _title(section: Section) -> str:
    """The heading without the claims in its brackets, and without the marks of inline code."""
    title = re.sub(r"（[^（）]*`[^（）]*）|\([^()]*`[^()]*\)", "", section.title).replace("`", "").strip()
    return f"{section.number} {title}".strip()


def _cut(text: str, most: int = 32) -> str:
    """One line of code; where it is too long it ends with a whole word."""
    if len(text) <= most:
        return text
    head = text[: most - 1]
    if re.match(r"\w", text[most - 1]):
        head = re.sub(r"\w+$", "", head) or head
    return head + "…"


def _piece_label(quote: Quote, text: str) -> str:
    """What a piece writes, and below it the modules that it calls, else what it does instead."""
    line = next((line.strip() for line in text.split("\n") if line.strip()), "")
    if not quote.executed:
        return f"未执行<br/>{_text(_cut(line))}"
    names = [variable.name for variable in written(quote, text)]
    if quote.returned is not None:
        names.append("返回")
    first = ", ".join(names[:4]) + (" …" if len(names) > 4 else "")
    second = _called(quote, text) or _done(text)
    if not first and not second:
        return _text(_cut(line))
    if len(second) > 32:
        second = second.replace("、", "、\n")
    return "<br/>".join(_text(part).replace("\n", "<br/>") for part in (first, second) if part)


def _simple(text: str) -> list[ast.stmt]:
    """The statements of a piece that have no body, those within bodies too, in order."""
    found = [node for statement in parse(text) for node in ast.walk(statement)
             if isinstance(node, ast.stmt) and not hasattr(node, "body")]  # fmt: skip
    return sorted(found, key=lambda node: node.lineno)


def _names(node: ast.AST, context: type[ast.expr_context]) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, context)}


def _called(quote: Quote, text: str) -> str:
    """The modules that a piece calls: ``a → b`` where b gets what a made, ``a、b`` where neither needs the other.

    Of a piece in a loop, those of its pass; several modules of a list are one, ``layers.0–1``.
    """
    calls = list(quote.calls)
    if quote.passes > 1 and len(calls) % quote.passes == 0:
        size = len(calls) // quote.passes
        calls = calls[(quote.chosen_pass - 1) * size : quote.chosen_pass * size]
    listed: dict[str, list[int]] = {}
    places: dict[str, int] = {}
    for call in calls:
        name = _last_name(call)
        stem, _, number = name.rpartition(".")
        key = stem if number.isdecimal() else name
        listed.setdefault(key, []).extend([int(number)] if number.isdecimal() else [])
        places.setdefault(key, call.line)
    told: list[str] = []
    statements = _simple(text)
    of_statement = [
        {quote.lines[row - 1] for row in range(node.lineno, (node.end_lineno or node.lineno) + 1)}
        for node in statements
    ]
    before: int | None = None
    for key, line in places.items():
        at = next((index for index, lines in enumerate(of_statement) if line in lines), None)
        numbers = sorted(set(listed[key]))
        span = f"{numbers[0]}–{numbers[-1]}" if len(numbers) > 1 else "".join(map(str, numbers))
        if told:
            apart = before is not None and at is not None and before != at and not any(
                _names(statements[at], ast.Load) & _names(one, ast.Store) for one in statements[:at])  # fmt: skip
            told.append("、" if apart else " → ")
        told.append(f"{key}.{span}" if numbers else key)
        before = at
    return "".join(told[:7]) + (" …" if len(told) > 7 else "")


def _done(text: str) -> str:
    """``out.view``, or the statement's source, of a piece without modules that is one statement."""
    match _simple(text):
        case [
            ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value) | ast.Return(value=ast.expr() as value)
        ]:
            parts = (
                value.elts if isinstance(value, ast.Tuple) else [value.func if isinstance(value, ast.Call) else value]
            )
            return _cut(", ".join(map(ast.unparse, parts)).replace("self.", ""))
    return ""


def _flowing(section: Section) -> Section:
    kept = [
        (quote, text)
        for quote, text in zip(section.pieces, section.texts, strict=True)
        if not quote.construction and (quote.returned is not None or not quote.wrote or any(
            any(tensors(variable.after)) for variable in written(quote, text)))
    ]  # fmt: skip
    return Section(section.number, section.title, tuple(q for q, _ in kept), tuple(text for _, text in kept))


def _last_name(call: Call) -> str:
    """``norm1``, and of a list of modules ``layers.0``."""
    found = re.search(r"(?:[^.]+\.\d+|[^.]+)$", call.path)
    return found[0] if found else call_name(call)


def groups(sections: Sequence[Section], *calls: Call | None) -> str:
    """The semantic grouping diagram: a group a section, a box a quoted piece, edges where a variable flows.

    A variable flows from the piece that wrote it last, in the order of the source, to each piece of the same function
    that reads it; edges carry its name and shape. ``calls``, one a function read, give the inputs and their shapes; of
    several functions each has an input and a result of its own. Pieces that the toy did not execute stand without
    edges; those of a constructor, and headers of loops, through which nothing flows, are left out.
    """
    sections = [_flowing(section) for section in sections]
    placed = [(s, q, text, f"n{s}_{i}") for s, section in enumerate(sections)
              for i, (q, text) in enumerate(zip(section.pieces, section.texts, strict=True))]  # fmt: skip
    if not placed:
        return '<p class="tsf-quiet">本页没有引用源码，没有语义分组图。</p>'
    several = len({quote.subject for _, quote, _, _ in placed}) > 1
    writers: dict[tuple[int, str], tuple[str, Value]] = {}  # by function and name
    names: dict[str, str] = {}
    for subject in sorted({quote.subject for _, quote, _, _ in placed}):
        call = calls[subject] if subject < len(calls) else None
        function = f"{call_name(call)} " if several and call is not None else ""
        names |= {f"in{subject}": f"{function}输入", f"out{subject}": f"{function}返回"}
        for name, value, _ in call.inputs if call is not None else ():
            writers[subject, name] = (f"in{subject}", value)
    ends = dict(names)
    edges: dict[tuple[str, str], list[str]] = {}

    def edge(start: str, end: str, text: str) -> None:
        texts = edges.setdefault((start, end), [])
        if text not in texts:
            texts.append(text)

    order = sorted(placed, key=lambda item: (item[1].subject, next(filter(None, item[1].lines), item[1].first_line)))
    for _, quote, text, key in order:
        names[key] = _piece_label(quote, text).replace("、<br/>", "、").replace("<br/>", "：")
        if not quote.executed or quote.construction:
            continue
        for name in sorted(reads(text)):
            start, value = writers.get((quote.subject, name), (key, None))
            if start != key and any(tensors(value)):
                edge(start, key, f"{name} {brief(value)}")
        for variable in written(quote, text):
            writers[quote.subject, variable.name] = (key, variable.after)
        if quote.returned is not None:
            edge(key, f"out{quote.subject}", output_text(quote.returned.after))
    lines = ["flowchart TB"]
    lines += [f'{end}(["{_text(label)}"])' for end, label in ends.items() if any(end == start for start, _ in edges)]
    for s, section in enumerate(sections):
        if not section.pieces:
            continue
        lines.append(f'subgraph g{s}["{_text(_title(section))}"]')
        lines += [f'{key}["{_piece_label(quote, text)}"]' + ("" if quote.executed else ":::idle")
                  for at, quote, text, key in placed if at == s]  # fmt: skip
        lines.append("end")
    lines += [f'{end}(["{_text(label)}"])' for end, label in ends.items() if any(end == last for _, last in edges)]
    lines += [f'{start} -->|"{"<br/>".join(map(_text, texts))}"| {end}' for (start, end), texts in edges.items()]
    told = [f"{_title(section)}，{len(section.pieces)} 段" for section in sections if section.pieces]
    flows = [
        f"{'，'.join(texts)} 从{_spoken(names[start])}到{_spoken(names[end])}" for (start, end), texts in edges.items()
    ]
    return svg("\n".join(lines), f"语义分组图：{'；'.join(told)}。数据流：{'；'.join(flows) or '无'}。", "groups")


def _spoken(label: str) -> str:
    return " " + re.sub(r"#(\d+);", lambda match: chr(int(match[1])), label) + " "
