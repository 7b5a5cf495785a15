"""What the site says of itself: the table of all pages with what was recomputed."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Protocol

from tsformers.reading.coverage import Coverage, per_model, per_page
from tsformers.reading.page import Page
from tsformers.reading.record import Reading
from tsformers.reading.show.interface import counts
from tsformers.reading.show.values import table
from tsformers.reading.uses import page_title

STATUS = "<!-- reading: status -->"  # where a page asks for the table


class Checked(Protocol):
    """A page and its record."""

    @property
    def page(self) -> Page: ...
    @property
    def reading(self) -> Reading: ...


def status_html(results: Sequence[tuple[str, Checked]]) -> str:
    """One table a toy, one of the pages; ``results`` holds each page's address, seen from where the table stands."""
    models = per_model(result.reading for _, result in results)
    parts = [_models(models)] if models else []
    reading = [(address, result) for address, result in results if result.page.front.reading]
    parts.append(_pages(reading))
    others = sum(result.page.front.checked for _, result in results) - len(reading)
    left_out = [result.page for _, result in results if not result.page.front.checked]
    said = f"另有 {others} 页不读函数，其中的代码与声明同样检查。"
    if left_out:
        said += "没有检查的页：" + "；".join(f"{page.path}（{page.front.why}）" for page in left_out) + "。"
    parts.append(f"<p>{escape(said)}</p>")
    return f'<div class="tsf-status">{"".join(parts)}</div>'


def _models(models: dict[str, Coverage]) -> str:
    rows = []
    for spec, found in models.items():
        gap = "".join(f"<li><code>{escape(place)}</code></li>" for place in found.gap)
        folded = f"<details><summary>{len(found.gap)} 条</summary><ul>{gap}</ul></details>" if gap else "没有"
        rows.append(
            f'<tr><th scope="row"><code>{escape(spec)}</code></th><td>{len(found.executed)}</td>'
            f"<td>{found.percent} %</td><td>{folded}</td></tr>"
        )
    return table(("toy", "执行过的语句", "已讲解", "还没有讲到"), rows, search=False)


def _pages(results: Sequence[tuple[str, Checked]]) -> str:
    rows = []
    for address, result in results:
        n = counts(result.reading, result.page)
        steps = n["quotes"] + n["execs"] + n["examples"]
        cells = [steps, n["shapes"] + n["values"], n["comments"], f"{per_page(result.reading).percent} %"]
        cells.append(f"{result.reading.seconds:.1f}")
        title = escape(page_title(result.page))
        shown = "".join(f"<td>{cell}</td>" for cell in cells)
        rows.append(f'<tr><th scope="row"><a href="{escape(address)}">{title}</a></th>{shown}</tr>')
    return table(("页", "步", "声明", "形状注释", "讲解覆盖", "秒"), rows, search=False)
