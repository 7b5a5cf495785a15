"""Page and record -> Markdown for the site, and the fragments that stand for its quotes and derived parts."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

from pymdownx.slugs import slugify

from tsformers.reading import show
from tsformers.reading.claims import describe
from tsformers.reading.fences import EXEC, OURS
from tsformers.reading.page import Fence, Heading, Page, Span
from tsformers.reading.record import Evidence, Quote, Reading, Subject
from tsformers.reading.standard import derived_part, section_end, steps_section

FENCE = "tsf"  # language of the fences that stand for a fragment, and option that names a recorded output
ATTRIBUTE = "data-tsf"
HIDDEN = re.compile(r"^[ \t>]*(?:`{3,}|~{3,})[ \t]*(python\b[^\r\n]*\bexec=[^\r\n]*)", re.MULTILINE)


@dataclass(frozen=True)
class Site:
    """What a page must know of the site. ``api`` gives the address of a dotted name in the API reference, "" if none;
    ``pages`` maps a dotted function to the address of the page that reads it, ``layers`` to its layer number."""

    api: Callable[[str], str] = lambda name: ""
    pages: Mapping[str, str] = field(default_factory=dict)
    layers: Mapping[str, int] = field(default_factory=dict)


@dataclass
class Rendered:
    """``fragments``: HTML by key; ``outputs``: recorded output of exec fences by key; ``proofs``: attributes by key."""

    markdown: str
    fragments: dict[str, str]
    outputs: dict[str, str]
    proofs: dict[str, str]


def render(page: Page, reading: Reading, site: Site, prefix: str) -> Rendered:
    """The page's Markdown with a key at every place that the record fills; keys begin with ``prefix``."""
    return _Renderer(page, reading, site, prefix).render()


class _Renderer:
    def __init__(self, page: Page, reading: Reading, site: Site, prefix: str) -> None:
        self.page = page
        self.reading = reading
        self.site = site
        self.prefix = prefix
        self.edits: list[tuple[int, int, str]] = []
        self.result = Rendered("", {}, {}, {})

    def render(self) -> Rendered:
        for index, step in enumerate(self.page.steps):
            if isinstance(step, Span):
                self._span(index, step)
            else:
                self._fence(index, step)
        self._hidden()
        for heading in self.page.headings:
            self._heading(heading)
        if self.page.front.checked and (self.reading.evidence or self.reading.outputs or self.reading.quotes):
            end = len(self.page.text)
            self._fragment(end, "foot", show.footer(self.reading, self.page))
        text = self.page.text
        # From the end; of several at one place, the one noted first comes to stand first.
        for _, start, end, new in sorted(((e[0], i), *e) for i, e in enumerate(self.edits))[::-1]:
            text = text[:start] + new + text[end:]
        self.result.markdown = text[self.page.front.end :]
        return self.result

    def _key(self, name: str) -> str:
        return f"{self.prefix}-{name}"

    def _fragment(self, at: int, name: str, html: str) -> None:
        """A fence that stands for a block of HTML, in paragraphs of its own."""
        key = self._key(name)
        self.result.fragments[key] = html
        self.edits.append((at, at, f'\n\n```{FENCE} key="{key}"\n```\n\n'))

    # Spans

    def _span(self, index: int, span: Span) -> None:
        evidence = self.reading.evidence.get(index)
        if evidence is None or evidence.kind != "claim":
            return
        key = self._key(f"c{index}")
        self.result.proofs[key] = self._proof(span, evidence)
        closing = self.page.text.index("`", span.end) + 1
        self.edits.append((closing, closing, f'{{ {ATTRIBUTE}="{key}" }}'))

    def _proof(self, span: Span, evidence: Evidence) -> str:
        """What a verified claim shows on hover or focus: what was evaluated, its value, where."""
        said = [f"{text} = {describe(value)}" for text, value in evidence.values if text != describe(value)]
        said += [f"这里 {name} 在当前帧里是 {frame}，配置里是 {size}" for name, size, frame in evidence.shadowed]
        if evidence.subject is not None and evidence.subject < len(self.reading.subjects):
            subject = self.reading.subjects[evidence.subject]
            owner = ".".join(subject.function.split(".")[-2:])
            said.append(f"{owner} 第 {evidence.line} 行之后" if evidence.line else f"进入 {owner} 时")
        if len(evidence.shapes) > 1 and re.search(r"[A-Za-z_]", span.text.rpartition("(")[2]):
            proven = sum(shape is not None for shape in evidence.shapes)
            said.append(f"轴名在 {proven} 组配置上成立")
        return "；".join(said)

    # Fences

    def _fence(self, index: int, fence: Fence) -> None:
        quote = self.reading.quotes.get(index)
        if quote is not None:
            key = self._key(f"q{index}")
            self.result.fragments[key] = self._card(quote, fence, key)
            self.edits.append((fence.info, fence.info_end, f'{FENCE} key="{key}"'))
        elif index in self.reading.outputs:
            key = self._key(f"e{index}")
            self.result.outputs[key] = self.reading.outputs[index].text
            self.edits.append((fence.info, fence.info_end, _info(fence, f' {FENCE}="{key}"')))
        elif any(name in fence.options for name in OURS):
            self.edits.append((fence.info, fence.info_end, _info(fence)))

    def _hidden(self) -> None:
        """Exec fences inside HTML comments are no steps, yet SuperFences formats them: there they lose their exec."""
        steps = [(step.start, step.end) for step in self.page.steps if isinstance(step, Fence)]
        for match in HIDDEN.finditer(self.page.text):
            if not any(start <= match.start(1) < end for start, end in steps):
                self.edits.append((match.start(1), match.end(), "text"))

    def _subject(self, quote: Quote) -> Subject:
        return self.reading.subjects[quote.subject]

    def _card(self, quote: Quote, fence: Fence, key: str) -> str:
        subject = self._subject(quote)
        # The reference documents a constructor with its class.
        name = quote.constructor.removesuffix(".__init__") or subject.function
        return show.piece(quote, fence.code, subject, api_url=self.site.api(name), anchor=key)

    # Headings and the derived parts under them

    def _heading(self, heading: Heading) -> None:
        if "`" in heading.title:
            bare = re.sub(r"`[^`]*`", "", heading.title)
            slug = slugify(case="lower")(re.sub(r"[（(]\s*[）)]", "", f"{heading.number} {bare}"), "-").strip("-")
            line = self.page.text[heading.start : heading.end].rstrip()
            at = heading.start + len(line)
            self.edits.append((at, at, f" {{ #{slug} }}"))
        if not self.page.front.reading or not self.reading.subjects:
            return
        name = derived_part(heading)
        if name and not self._printed(name, heading):
            html = self.derived(name)
            if html:
                self._fragment(heading.end, name, html)
        elif steps_section(heading):
            quotes = [quote for quote, _ in self._quotes_in(heading)]
            html = show.pipeline(quotes, self._subject(quotes[0]).call) if quotes else ""
            if html:
                self._fragment(heading.end, f"p{heading.line}", html)

    def _printed(self, name: str, heading: Heading) -> bool:
        """A block under the heading prints the derived part itself."""
        end = section_end(self.page, heading)
        return any(
            isinstance(step, Fence) and step.kind == "exec" and heading.start < step.start < end
            and re.search(rf"\b{name}\(\)", step.code)
            for index, step in enumerate(self.page.steps)
        )  # fmt: skip

    def _quotes_in(self, heading: Heading) -> list[tuple[Quote, Fence]]:
        end = section_end(self.page, heading)
        found = []
        for index, step in enumerate(self.page.steps):
            quote = self.reading.quotes.get(index)
            if isinstance(step, Fence) and quote is not None and heading.start < step.start < end:
                found.append((quote, step))
        return found

    def derived(self, name: str) -> str:
        """The HTML of a derived part, for the page's first subject."""
        subject = self.reading.subjects[0]
        call = subject.call
        if call is None or self.reading.tree is None:
            return ""
        parts: dict[str, Callable[[], str]] = {
            "call_tree": lambda: show.call_tree(self.reading.tree, self._here(), self.site.pages, self.site.layers),
            "io_table": lambda: show.io_table(subject),
            "sequence": lambda: show.sequence(call),
            "groups": lambda: show.groups(self._sections(), call),
            "source": lambda: show.source(subject, self._explained(0), original=subject.original),
            "children": lambda: show.children(call, self.site.pages),
            "structure": lambda: show.structure(call, subject, self._quotes_of(0)),
        }
        return parts[name]()

    def _here(self) -> list[tuple[str, str]]:
        return [(s.call.function, s.call.path) for s in self.reading.subjects if s.call is not None]

    def _sections(self) -> list[show.Section]:
        found = []
        for heading in self.page.headings:
            pairs = self._quotes_in(heading) if steps_section(heading) else []
            if pairs:
                quotes, codes = tuple(q for q, _ in pairs), tuple(f.code for _, f in pairs)
                title = re.sub(r"[（(][^（()）]*`[^`]*`[^（()）]*[）)]", "", heading.title).replace("`", "")
                found.append(show.Section(heading.number, title, quotes, codes))
        return found

    def _quotes_of(self, subject: int) -> list[Quote]:
        return [quote for quote in self.reading.quotes.values() if quote.subject == subject]

    def _explained(self, subject: int) -> Sequence[tuple[Quote, str, str]]:
        found = []
        for heading in self.page.headings:
            if not steps_section(heading):
                continue
            for index, step in enumerate(self.page.steps):
                quote = self.reading.quotes.get(index)
                inside = heading.start < step.start < section_end(self.page, heading)
                if quote is not None and inside and quote.subject == subject and not quote.construction:
                    found.append((quote, heading.number, f"#{self._key(f'q{index}')}"))
        return found


def _info(fence: Fence, extra: str = "") -> str:
    """A fence's opening line without our own options."""
    kept = {name: value for name, value in fence.options.items() if name not in OURS or name in EXEC}
    if "why" in fence.options and "title" not in kept:
        kept["title"] = f"只展示：{fence.options['why']}"
    options = "".join(
        f' {name}="{escape(value)}"' if '"' in value else f' {name}="{value}"' for name, value in kept.items()
    )
    return f"{fence.language}{options}{extra}"
