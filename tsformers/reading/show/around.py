"""Ways out of a page: the other models that use what it reads, and the page to take along."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

from tsformers.reading.uses import Use


def used_by(uses: Sequence[Use], address: Callable[[str], str], here: str) -> str:
    """One line: which models run this function, and where; "" where one model alone does.

    ``address`` leads from a page's name to it, ``here`` is the name of the page that shows the line.
    """
    if len(uses) < 2:
        return ""
    parts = []
    for use in uses:
        shown = "、".join(f"<code>{escape(path)}</code>" for path in use.paths[:3] if path)
        more = f" 等 {len(use.paths)} 处" if len(use.paths) > 3 else ""
        page = f'<a href="{escape(address(use.address))}">{escape(use.title)}</a>' if use.address else ""
        page = page if use.address != here else "本页"
        where = "，".join(part for part in (shown + more, page) if part)
        parts.append(f"{escape(use.model)}" + (f"（{where}）" if where else ""))
    return f'<p class="tsf-uses">用到这一层的模型：{"；".join(parts)}。</p>'


def take_along(files: Sequence[tuple[str, str]]) -> str:
    """The links at the foot of a page to its copies that run without the site: (name, address) each."""
    links = "、".join(f'<a href="{escape(address)}" download>{escape(name)}</a>' for name, address in files)
    return f'<p class="tsf-along">带走这一页：{links}</p>' if links else ""
