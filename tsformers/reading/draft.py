"""The first draft of a page: every statement that its toy executes of a function, quoted in pieces, with TODO for prose."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from difflib import get_close_matches

from tsformers.reading.overview import tree_of
from tsformers.reading.record import Call, TensorValue
from tsformers.reading.show.tree import is_torch
from tsformers.reading.show.values import members, shape_text
from tsformers.reading.standard import STANDARD
from tsformers.reading.statements import Function, Node
from tsformers.reading.toys import parse_reads, run_toy
from tsformers.reading.walk import LONGEST_EXPLAINED

NAME = re.compile(r"^(?P<number>\d\w*)-(?:Layer(?P<layer>\d\w?)-)?(?P<subject>.+)$")


class DraftError(ValueError):
    """Why no draft can be made; the message is for who called the command."""


def draft(name: str, toy: str, spec: str = "") -> str:
    """The text of the page ``name`` (a file's stem) on ``toy``; ``spec`` is its line of ``reads:``, else the function
    is found in the toy's call tree by the last part of the name.

    Raises:
        DraftError: the name has not the form, or names no function that the toy calls.
        ToyError: the toy or the function cannot be used.
    """
    match = NAME.match(name)
    if match is None:
        raise DraftError(f"{name}: a page is named number-LayerN-Name, such as 03A-Layer2-Part")
    tree = tree_of(run_toy("", toy, []), [])
    call = named(tree, match["subject"]) if not spec and tree is not None else None
    if call is not None:
        spec = f"{call.function} @ {call.path}" if call.path else call.function
    reads = parse_reads(spec)
    run = run_toy("", toy, [reads])
    recording = run.cases[0].recordings[0]
    if recording is None:
        raise run.missing[0]
    read = [one for one in tree.all() if one.function == reads.source.name] if tree is not None else []
    call = next((one for one in read if reads.path in (None, one.path)), None)
    layer = f"Layer {match['layer']}：" if match["layer"] else ""
    title = f"{match['number']} · {layer}{match['subject']}"
    return _text(title, toy, spec, pieces(reads.source, recording.executed), returned(call) if call is not None else "")


def named(tree: Call, subject: str) -> Call:
    """The first call of the package whose class or function is called ``subject``.

    Raises:
        DraftError: there is none; the message names the nearest.
    """
    known: dict[str, Call] = {}
    for call in tree.all():
        if not is_torch(call):
            known.setdefault(call.function.split(".")[-1], call)
            known.setdefault(call.owner, call)
    if subject not in known:
        near = get_close_matches(subject, known, 1, 0.5)
        hint = f"did you mean {near[0]}?" if near else f"it calls {', '.join(sorted(known))}."
        raise DraftError(
            f"{subject}: the toy calls no class or function of that name; {hint} --reads names one outright"
        )
    return known[subject]


def returned(call: Call) -> str:
    """A sentence that claims the shape of what the call returned; "" where it returned no tensor."""
    for name, value, axes in members("return", call.output, call.output_axes):
        if isinstance(value, TensorValue):
            equal = f" = ({', '.join(axes)}{',' if len(axes) == 1 else ''})" if axes else ""
            return f"返回 `{name} {shape_text(value.shape)}{equal}`。"
    return ""


def _text(title: str, toy: str, spec: str, quotes: Iterator[str], claim: str) -> str:
    heads = [standard.begins for standard in STANDARD]
    before, after = heads[: heads.index("完整源码")], heads[heads.index("完整源码") + 1 :]
    lines = ["---", f"toy: {toy}", "reads:", f"  - {spec}", "---", f"# {title}", "", "TODO", ""]
    for number, head in enumerate(before, 1):
        lines += [f"## {number} {head}", "", "TODO", ""]
    lines += ["## 5 逐步解析", "", "### 5.0 完整源码", "", "TODO", ""]
    for number, piece in enumerate(quotes, 1):
        lines += [f"### 5.{number} TODO", "", "```python", piece, "```", "", "TODO", ""]
    if claim:
        lines[-2:] = [f"{claim} TODO", ""]
    for number, head in enumerate(after, 6):
        lines += [f"## {number} {head}", "", "TODO", ""]
    return "\n".join(lines[:-1]) + "\n"


def pieces(source: Function, executed: set[int]) -> Iterator[str]:
    """The executed statements in order: simple ones that stand together in one piece, a compound one's header alone."""
    group: list[Node] = []
    for node in source.nodes:
        if node.number not in executed or isinstance(node.tree, (ast.FunctionDef, ast.ClassDef)):
            continue
        follows = group and node.block == group[-1].block and node.index == group[-1].index + 1
        if group and (node.compound or not follows or len(group) == LONGEST_EXPLAINED):
            yield "\n".join(source.excerpt(one) for one in group)
            group = []
        if isinstance(node.tree, (ast.Match, ast.Try)):  # whose cases and handlers cannot be left out
            yield ast.unparse(node.tree)
        elif node.compound:
            yield source.excerpt(node) + "\n    ..." + ("\nelse:\n    ..." if getattr(node.tree, "orelse", []) else "")
        else:
            group.append(node)
    if group:
        yield "\n".join(source.excerpt(one) for one in group)
