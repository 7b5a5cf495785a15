"""Page and record -> Markdown for the site, and the fragments that stand for its quotes and derived parts."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

from tsformers.reading import show
from tsformers.reading.claims import Claim, parse
from tsformers.reading.failure import Failure
from tsformers.reading.fences import EXEC, OURS, STAND_IN, stand_in
from tsformers.reading.page import Fence, Heading, Link, Page, Span
from tsformers.reading.record import Call, Evidence, Quote, Reading, Subject
from tsformers.reading.red import failures_html, marks
from tsformers.reading.slugs import attributes_at, given_id, outline, shown_name
from tsformers.reading.standard import MARK, derived_part, marked, section_end, steps_section

ATTRIBUTE = "data-tsf"
HIDDEN = re.compile(r"^[ \t>]*(?:`{3,}|~{3,})[ \t]*(python\b[^\r\n]*\bexec=[^\r\n]*)", re.MULTILINE)


@dataclass(frozen=True)
class Site:
    """What a page must know of the site. ``api`` gives the address of a dotted name in the API reference, "" if none;
    ``wiki`` the address that the target of a wikilink becomes, "" if it is dead; ``pages`` maps a dotted function to
    the address of the page that reads it, ``layers`` to its layer number; ``terms`` a term to its meaning; ``uses`` a
    function to the line on the models that use it. ``along`` are the page's copies, (name, address) each; ``report``
    gives the address where a step can be reported, from its anchor and what to call it, "" if there is none."""

    api: Callable[[str], str] = lambda name: ""
    wiki: Callable[[str], str] = lambda target: ""
    pages: Mapping[str, str] = field(default_factory=dict)
    layers: Mapping[str, int] = field(default_factory=dict)
    terms: Mapping[str, str] = field(default_factory=dict)
    uses: Callable[[str], str] = lambda function: ""
    along: Sequence[tuple[str, str]] = ()
    report: Callable[[str, str], str] = lambda anchor, step: ""


@dataclass
class Rendered:
    """``fragments``: HTML by key; ``outputs``: recorded output of exec fences by key; ``proofs``: attributes by key;
    ``words``: the axes or the term that inline code names, by key; ``wrong``: what is wrong with a code span, by key."""

    markdown: str
    fragments: dict[str, str]
    outputs: dict[str, str]
    proofs: dict[str, str]
    axes: dict[str, str] = field(default_factory=dict)  # axis names of a claimed shape, by the key of its proof
    words: dict[str, tuple[str, ...]] = field(default_factory=dict)
    wrong: dict[str, str] = field(default_factory=dict)


def render(page: Page, reading: Reading, site: Site, prefix: str, failures: Sequence[Failure] = ()) -> Rendered:
    """The page's Markdown with a key at every place that the record fills; keys begin with ``prefix``.

    The ``failures`` of a red page are listed above it and marked where they are.
    """
    return _Renderer(page, reading, site, prefix, failures).render()


class _Renderer:
    def __init__(self, page: Page, reading: Reading, site: Site, prefix: str, failures: Sequence[Failure]) -> None:
        self.page = page
        self.reading = reading
        self.site = site
        self.prefix = prefix
        self.edits: list[tuple[int, int, str]] = []
        self.result = Rendered("", {}, {}, {})
        self.words = show.words_of(reading)
        self.failures = failures
        self.red = marks(page, failures, prefix, attribute=ATTRIBUTE)

    def render(self) -> Rendered:
        if self.failures:
            self._fragment(self.page.front.end, "red", failures_html(self.failures, self.red.keys))
        for index, step in enumerate(self.page.steps):
            if not isinstance(step, Span):
                self._fence(index, step)
            elif index not in self.red.spans:
                self._span(index, step)
        self._failed()
        self._hidden()
        for link in self.page.links:
            if link.kind == "wiki":
                self._wikilink(link)
        for heading, identifier in zip(self.page.headings, outline(self.page).ids, strict=True):
            self._identify(heading, identifier)
            self._heading(heading)
        if self.page.front.reading and self.reading.subjects:
            self._panel(len(self.page.text))
        if self.page.front.checked and (self.reading.evidence or self.reading.outputs or self.reading.quotes):
            end = len(self.page.text)
            self._fragment(end, "foot", show.footer(self.reading, self.page) + show.take_along(self.site.along))
        text = self.page.text
        # From the end; of several at one place, the one noted first comes to stand first.
        for _, start, end, new in sorted(((e[0], i), *e) for i, e in enumerate(self.edits))[::-1]:
            text = text[:start] + new + text[end:]
        self.result.markdown = text[self.page.front.end :]
        self.result.fragments = {k: show.explained(html, self.words) for k, html in self.result.fragments.items()}
        return self.result

    def _key(self, name: str) -> str:
        return f"{self.prefix}-{name}"

    def _fragment(self, at: int, name: str, html: str) -> None:
        """A fence that stands for a block of HTML, in paragraphs of its own."""
        key = self._key(name)
        self.result.fragments[key] = html
        self.edits.append((at, at, stand_in(key)))

    def _failed(self) -> None:
        self.edits += self.red.edits
        self.result.wrong = self.red.claims
        self.result.fragments.update(self.red.blocks)

    # Spans

    def _span(self, index: int, span: Span) -> None:
        evidence = self.reading.evidence.get(index)
        if evidence is None or evidence.kind != "claim":
            if evidence is not None and evidence.kind not in ("none", "unknown"):
                self._word(index, span)
            return
        key = self._key(f"c{index}")
        claim = parse(span.text)
        assert claim is not None  # evidence of a claim has the text of one
        self.result.proofs[key] = self._proof(claim, evidence)
        if claim.axis_groups and self._main(evidence.toy):
            self.result.axes[key] = ", ".join(slot.text for slot in claim.axis_groups[-1])
        closing = self.page.text.index("`", span.end) + 1
        self.edits.append((closing, closing, f'{{ {ATTRIBUTE}="{key}" }}'))

    def _main(self, toy: str) -> bool:
        """Whether shapes in a run of this toy follow the sizes of the page's main one."""
        own, main = self.reading.toys.get(toy), self.reading.toys.get("")
        return own is not None and main is not None and (own.sizes, own.formulas) == (main.sizes, main.formulas)

    def _of_toy(self, html: str, toy: str) -> str:
        """Shapes of another toy do not follow the panel of sizes, which is the main one's."""
        return html if not html or self._main(toy) else f'<div data-toy="{escape(toy)}">{html}</div>'

    def _word(self, index: int, span: Span) -> None:
        """Inline code that is an axis or a term says what it means, unless it is the text of a link already."""
        names = show.axes_in(span.text, self.words) or ((span.text,) if span.text in self.site.terms else ())
        if not names or any(link.start <= span.start < link.end for link in self.page.links):
            return
        key = self._key(f"w{index}")
        self.result.words[key] = names
        closing = self.page.text.index("`", span.end) + 1
        self.edits.append((closing, closing, f'{{ {ATTRIBUTE}="{key}" }}'))

    def _proof(self, claim: Claim, evidence: Evidence) -> str:
        """What a verified claim shows on hover or focus."""
        owner = ""
        if evidence.subject is not None and evidence.subject < len(self.reading.subjects):
            owner = ".".join(self.reading.subjects[evidence.subject].function.split(".")[-2:])
        return show.proof(claim, evidence, owner)

    # Links

    def _wikilink(self, link: Link) -> None:
        """``[[page#heading|alias]]`` as an ordinary link; the alias stays where it is, with what it holds."""
        written = self.page.text[link.start : link.end]
        opening = written.index("[[")
        bar = written.find("|")
        close = written.rindex("]]")
        address = self.site.wiki(link.target)
        before, after = ("[", f"]({address})") if address else ("", "")
        start = link.start + (opening if address else 0)  # an image that is not there loses its exclamation mark too
        if bar >= 0 and written[bar + 1 : close].strip():
            self.edits.append((start, link.start + bar + 1, before))
        else:
            self.edits.append((start, link.start + close, before + shown_name(link.target)))
        self.edits.append((link.start + close, link.end, after))

    # Fences

    def _fence(self, index: int, fence: Fence) -> None:
        quote = self.reading.quotes.get(index)
        if quote is not None:
            key = self._key(f"q{index}")
            self.result.fragments[key] = self._card(quote, fence, key)
            self.edits.append((fence.info, fence.info_end, f'{STAND_IN} key="{key}"'))
        elif index in self.reading.outputs:
            key = self._key(f"e{index}")
            self.result.outputs[key] = self._filled(index, fence)
            self.edits.append((fence.info, fence.info_end, _info(fence, f' {STAND_IN}="{key}"')))
        elif fence.kind == "exec":  # of a page that stopped before
            self.edits.append((fence.info, fence.info_end, f'{fence.language} title="没有运行到这里"'))
        elif any(name in fence.options for name in OURS):
            self.edits.append((fence.info, fence.info_end, _info(fence)))

    def _filled(self, index: int, fence: Fence) -> str:
        """What a block printed, with the derived parts that it asked for."""

        def part(match: re.Match[str]) -> str:
            html = self.derived(match[1], fence)
            if not html or "html" in fence.options:
                return html
            key = self._key(f"e{index}-{match.start()}")
            self.result.fragments[key] = html
            return stand_in(key)

        text = self.reading.outputs[index].text
        return MARK.sub(part, text if "result" in fence.options else show.shaded(text))

    def _hidden(self) -> None:
        """Exec fences inside HTML comments are no steps, yet SuperFences formats them: there they lose their exec."""
        steps = [(step.start, step.end) for step in self.page.steps if isinstance(step, Fence)]
        for match in HIDDEN.finditer(self.page.text):
            if not any(start <= match.start(1) < end for start, end in steps):
                self.edits.append((match.start(1), match.end(), "text"))

    def _subject(self, quote: Quote) -> Subject:
        return self.reading.subjects[quote.subject]

    def _toy(self, quote: Quote, fence: Fence) -> str:
        """In whose run a quote stands."""
        return fence.options.get("toy", self._subject(quote).toy)

    def _card(self, quote: Quote, fence: Fence, key: str) -> str:
        subject = self._subject(quote)
        # The reference documents a constructor with its class.
        name = documented(quote.constructor.removesuffix(".__init__") or subject.function)
        called = f"{'.'.join(subject.function.split('.')[-2:])} 第 {quote.first_line}–{quote.last_line} 行"
        report = self.site.report(key, called)
        html = show.piece(quote, fence.code, subject, api_url=self.site.api(name), anchor=key, report_url=report)
        return self._of_toy(html, self._toy(quote, fence))

    # Headings and the derived parts under them

    def _identify(self, heading: Heading, identifier: str) -> None:
        """Write down a heading's identifier, so that the site and the judge of links can only agree."""
        if given_id(self.page, heading):
            return
        at = attributes_at(self.page, heading)
        if at is not None:
            self.edits.append((at, at, f"#{identifier} "))
            return
        line = self.page.text[heading.start : heading.end].rstrip()
        at = heading.start + len(line)
        self.edits.append((at, at, f" {{ #{identifier} }}"))

    def _heading(self, heading: Heading) -> None:
        if not self.page.front.reading or not self.reading.subjects:
            return
        name = derived_part(heading)
        if name and not self._printed(name, heading):
            html = self.derived(name)
            if name == "call_tree":
                html += self.site.uses(self.reading.subjects[0].function)
            if html:
                self._fragment(heading.end, name, html)
        if name == "io_table":
            self._panel(heading.end)
        elif name == "source":
            self._steppers(section_end(self.page, heading))
        elif not name and steps_section(heading) and not self._printed("pipeline", heading):
            html = self._pipeline(heading)
            if html:
                self._fragment(heading.end, f"p{heading.line}", html)

    def _pipeline(self, heading: Heading | None) -> str:
        """The shapes along the pieces of a section, a line for each function that they are of."""
        pairs = self._quotes_in(heading) if heading is not None else []
        subjects = dict.fromkeys(quote.subject for quote, _ in pairs)
        return "".join(self._line([pair for pair in pairs if pair[0].subject == subject]) for subject in subjects)

    def _line(self, pairs: Sequence[tuple[Quote, Fence]]) -> str:
        toys = [self._toy(quote, fence) for quote, fence in pairs]
        other = next((toy for toy in toys if not self._main(toy)), toys[0])
        first, fence = pairs[0]
        earlier = self._earlier(first, fence)
        html = show.pipeline([(q, fence.code) for q, fence in pairs], self._subject(first).call, earlier)
        return self._of_toy(html, other)

    def _earlier(self, quote: Quote, fence: Fence) -> list[Quote]:
        """The quotes of the same run that stand above this one, on the page as in the function."""
        return [
            other
            for index, other in self.reading.quotes.items()
            if other.subject == quote.subject and other.last_line < quote.first_line
            and isinstance(step := self.page.steps[index], Fence)
            and step.start < fence.start and step.options.get("toy", "") == fence.options.get("toy", "")
        ]  # fmt: skip

    def _panel(self, at: int) -> None:
        """The panel of sizes, once a page."""
        html = show.size_panel(self.reading.toys[""]) if "" in self.reading.toys else ""
        if html and self._key("sizes") not in self.result.fragments:
            self._fragment(at, "sizes", html)

    def _steppers(self, at: int) -> None:
        """The steps of every subject; the source of the first stands above, of the others before their steps."""
        for number, subject in enumerate(self.reading.subjects, 1):
            prefix = "L" if number == 1 else f"L{number}-"
            above = ""
            if number > 1:
                pieces = self._explained(number - 1)
                above = show.source(subject, pieces, original=subject.original, prefix=prefix)
            html = above + self._of_toy(show.stepper(subject, number, prefix=prefix), subject.toy)
            if html and self._key(f"steps{number}") not in self.result.fragments:
                self._fragment(at, f"steps{number}", html)

    def _around(self, fence: Fence) -> Heading | None:
        """The innermost section that a fence stands in."""
        above = [h for h in self.page.headings if h.start < fence.start < section_end(self.page, h)]
        return above[-1] if above else None

    def _printed(self, name: str, heading: Heading) -> bool:
        """A block under the heading prints the derived part itself."""
        end = section_end(self.page, heading)
        return any(
            isinstance(step, Fence) and step.kind == "exec" and heading.start < step.start < end
            and index in self.reading.outputs and name in marked(self.reading.outputs[index].text)
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

    def derived(self, name: str, fence: Fence | None = None) -> str:
        """The HTML of a derived part, of several functions one after the other, each under its name; of the source,
        for the first (the steppers show the others'); of a pipeline, for the section of ``fence``."""
        if name == "pipeline":
            return self._pipeline(self._around(fence)) if fence is not None else ""
        tree, subjects = self.reading.tree, self.reading.subjects
        if name == "call_tree" and tree is not None:  # also of a page that reads no function, for its whole toy
            return show.call_tree(tree, self._here(), self.site.pages, self.site.layers)
        if tree is None or not subjects or subjects[0].call is None:
            return ""
        of_page: dict[str, Callable[[], str]] = {
            "groups": lambda: show.groups(self._sections(), *(subject.call for subject in subjects)),
            "source": lambda: show.source(subjects[0], self._explained(0), original=subjects[0].original),
        }
        if name in of_page:
            return of_page[name]()
        of_function: dict[str, Callable[[int, Subject, Call], str]] = {
            "io_table": lambda number, subject, call: show.io_table(subject),
            "sequence": lambda number, subject, call: show.sequence(call),
            "children": lambda number, subject, call: show.children(call, self.site.pages),
            "structure": lambda number, subject, call: show.structure(call, subject, self._quotes_of(number)),
        }
        calls = [(number, subject, subject.call) for number, subject in enumerate(subjects) if subject.call is not None]
        if name in ("sequence", "children"):  # of several, those that call something
            calls = [one for one in calls if one[2].children] or calls[:1]
        shown = [(_called(one[2]), self._of_toy(of_function[name](*one), one[1].toy)) for one in calls]
        if len(shown) == 1:
            return shown[0][1]
        return "".join(f'<p class="tsf-quiet">{caption}</p>{html}' for caption, html in shown)

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


def documented(name: str) -> str:
    """The part of a dotted name that the reference documents: a private name is explained with what holds it."""
    parts = name.split(".")
    public = next((place for place, part in enumerate(parts) if part.startswith("_")), len(parts))
    return ".".join(parts[:public])


def _called(call: Call) -> str:
    path = f" <code>{escape(call.path)}</code>" if call.path else ""
    return f"<code>{escape('.'.join(call.function.split('.')[-2:]))}</code>{path}"


def _info(fence: Fence, extra: str = "") -> str:
    """A fence's opening line without our own options."""
    kept = {name: value for name, value in fence.options.items() if name not in OURS or name in EXEC}
    if "why" in fence.options and "title" not in kept:
        kept["title"] = f"只展示：{fence.options['why']}"
    options = "".join(
        f' {name}="{escape(value)}"' if '"' in value else f' {name}="{value}"' for name, value in kept.items()
    )
    return f"{fence.language}{options}{extra}"
