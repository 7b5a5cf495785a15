"""The input/output table of a page, and its footer."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from tsformers.reading.grammar import parse
from tsformers.reading.page import Page, Span
from tsformers.reading.record import Call, Reading, Subject
from tsformers.reading.show.values import WORDS, meaning, members, table, tensors, value_html


def io_table(subject: Subject, words: Mapping[str, str] = WORDS) -> str:
    """What goes into the subject's call and what comes out: name, shape with axis names, what the axes count.

    ``words`` maps an axis symbol to its meaning. Raises ValueError for a subject that the toy never called.
    """
    if subject.call is None:
        raise ValueError(f"{subject.function} 在本例中没有被调用，没有输入输出可列")
    call: Call = subject.call
    rows = [("输入", *row) for row in call.inputs]
    rows += [("输出", *row) for row in members("return", call.output, call.output_axes)]
    lines = []
    for side, name, value, axes in rows:
        what = escape(meaning(axes, words)) if any(tensors(value)) else ""
        lines.append(
            f'<tr><th scope="row">{side}</th><td><code>{escape(name)}</code></td>'
            f"<td>{value_html(value, axes, words)}</td><td>{what}</td></tr>"
        )
    return table(("", "名字", "形状", "各轴数的是什么"), lines)


def counts(reading: Reading, page: Page) -> dict[str, int]:
    """What a page's run proved: claims on shapes and others, quotes, examples, comments; statements run, explained."""
    claims = [
        parse(step.text)
        for index, step in enumerate(page.steps)
        if isinstance(step, Span) and index in reading.evidence and reading.evidence[index].kind == "claim"
    ]
    shapes = sum(claim is not None and claim.form == "shape" for claim in claims)
    executed = [statement for subject in reading.subjects for statement in subject.statements if statement.executed]
    return {
        "shapes": shapes,
        "values": len(claims) - shapes,
        "quotes": len(reading.quotes),
        "execs": len(reading.outputs),
        "examples": reading.examples,
        "comments": reading.comments,
        "executed": len(executed),
        "explained": sum(statement.explained for statement in executed),
    }


def footer(reading: Reading, page: Page) -> str:
    """The foot of a page: what was recomputed, with which torch, and how much of the code the page explains."""
    n = counts(reading, page)
    parts = [f"{n[key]} {unit}" for key, unit in (
        ("shapes", "个形状"), ("values", "个数值与关系"), ("quotes", "处源码引用"), ("execs", "个代码块"),
        ("examples", "个示例"), ("comments", "条形状注释"),
    ) if n[key]]  # fmt: skip
    torch = f"用 torch {reading.versions['torch']} " if "torch" in reading.versions else ""
    text = f"本页{torch}重新计算了 {'、'.join(parts)}。" if parts else "本页没有需要重新计算的内容。"
    if reading.cases > 1:
        text += f"轴名在 {reading.cases} 组配置上成立。"
    if n["executed"]:
        text += f"本页所读函数执行到的 {n['executed']} 条语句，讲解了 {n['explained']} 条。"
    return f'<p class="tsf-footer">{escape(text)}</p>'
