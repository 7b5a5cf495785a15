"""Naked numbers: digits on a reading page that nobody recomputes.

The exceptions are numbers that name something (a section, a layer, a version, a year, a paper, an identifier), the
indices, exponents and one-digit constants of formulas, and what the page's front matter lists with a reason.
"""

from __future__ import annotations

import re
from collections import Counter

from tsformers.reading.failure import Failure
from tsformers.reading.page import Page, Prose
from tsformers.reading.places import Source

_LATIN = "A-Za-z0-9_"
_DOTTED = r"\d+(?:\.\d+)*"
_YEAR = r"(?:19[5-9]\d|20[0-3]\d)"

# Every pattern covers the digits that it excuses. ``\d`` is any decimal digit, full-width ones too.
_NAMES = [
    re.compile(pattern)
    for pattern in (
        rf"(?<![{_LATIN}])[A-Za-z_][{_LATIN}]*",  # Conv1d, norm1, L3, float64, ETTh1
        rf"(?<![{_LATIN}.])\d{{2}}[A-Z]\d?(?![{_LATIN}])(?:-[{_LATIN}]+)*",  # pages: 04A, 03B1, 04A-Layer3-EncoderLayer
        rf"(?<![{_LATIN}.])[1-4][dD](?![{_LATIN}])",  # 1D, 2d
        rf"Layer\s?\d[A-Z]?(?![{_LATIN}.])",
        rf"§\s?{_DOTTED}(?:\.x)?",
        rf"(?<![{_LATIN}.]){_DOTTED}\.x(?![{_LATIN}])",  # 5.x
        rf"第\s?{_DOTTED}\s?[章节]|(?<![{_LATIN}.])\d+(?:\.\d+)+\s?[小]?节",
        r"(?:(?<![\u4e00-\u9fff])|(?<=[见如在由从和与看即照据考下上]))[图表]\s?\d+(?:[.-]\d+)*(?!\s?[个张次维步层])",
        rf"公式\s?[(（]?{_DOTTED}[)）]?|式\s?[(（]{_DOTTED}[)）]",
        rf"(?:Figures?|Fig\.|Tables?|Eq\.|Equation|Sections?|Sec\.|Chapter|Appendix|Algorithm|Theorem)\s?\(?{_DOTTED}\)?",
        rf"(?<![{_LATIN}.])v?\d+\.\d+\.\d+(?:[.+-]?[{_LATIN}]+)*(?![{_LATIN}])",  # 2.13.0, 1.6.1rc1
        rf"(?:Python|PyTorch|[Tt]orch|CUDA|NumPy|MkDocs|Material|Linux|Ubuntu|macOS|Windows|Chromium|Apache|BY|Git|GCC)"
        rf"(?:-|\s?)v?{_DOTTED}\+?(?!\s?[%个次维步层倍])",
        rf"(?:版本|[Vv]ersion)\s?v?{_DOTTED}|(?<![{_LATIN}.])\d+\.\d+(?:\.\d+)*\s?版",
        r"(?:PEP|RFC|ISO|IEEE)[\s-]?\d+",
        rf"(?<![{_LATIN}-])[A-Z]{{2,}}-\d+(?:\.\d+)?(?![{_LATIN}.])",  # UTF-8, GPT-2
        rf"(?<![{_LATIN}.]){_YEAR}\s?年(?:\s?\d{{1,2}}\s?月(?:\s?\d{{1,2}}\s?日)?)?",
        rf"(?<![{_LATIN}.-]){_YEAR}[-/]\d{{1,2}}(?:[-/]\d{{1,2}})?(?![{_LATIN}/-])",
        rf"(?<![{_LATIN}-])[A-Z][A-Za-z-]+(?:\s?et\sal\.|\s?等人?)?[,，]?\s?[(（]?{_YEAR}(?![{_LATIN}.%])",
        rf"[(（,，]\s?{_YEAR}(?=\s?[)）\]])",
        r"(?i:arxiv)(?:\.org/(?:abs|pdf)/|[\s:：]*)\d{4}\.\d{4,5}(?:v\d+)?",
        r"(?i:doi)[\s:：]*10\.\d{4,9}/[^\s，。；）)]+|(?i:isbn)[\s:：]*[\d-]+",
        rf"(?:(?<![{_LATIN}.#-])|(?<=[A-Za-z])|[A-Za-z][\w.-]*/[\w.-]+)#\d+",  # issues, owner/repository#12
        rf"(?:(?<![{_LATIN}])(?:[Ii]ssues?|PR|MR)|议题|拉取请求)\s?#?\d+",
        r"(?<![0-9A-Za-z])(?=[0-9a-f]*[a-f])(?=[0-9a-f]*\d)[0-9a-f]{7,40}(?![0-9A-Za-z])",  # commits
    )
]
_HEADING_NUMBER = re.compile(r"\s*§?\s?(?:\d+|[A-Z](?=\.\d))(?:\.\d+)*(?:\.?[ \t\u3000]|[.、．]|$)")

_NUMBER = r"[-+−－]?\d+(?:,\d{3})*(?:[.．]\d+)*(?:[eE][-+−]?\d+)?[%％]?"
_SEQUENCE = re.compile(rf"{_NUMBER}(?:\s?[×xX*/:：~～]\s?{_NUMBER})*")
_TUPLE = re.compile(rf"[(（\[［](?=[^()（）\[\]］]*\d)[\s{_LATIN}\d.．,，、;；×*+/=:：−－-]+[)）\]］]")

_SCRIPT = re.compile(r"[_^]\s*")
_SPACE = re.compile(r"\\mathbb\s*(?:\{\s*R\s*\}|R)\s*\}*\s*(?:_\s*(?:\w|\{[^{}]*\}))?\^\s*$|ℝ\s*\^\s*$")
_MEASURES = re.compile(
    r"\\(?:tag|hspace|vspace|label|ref|eqref|rule|kern|color|phantom)\*?\s*(?:\{[^{}]*\})+|\\\\\[[^\]]*\]"
)

_HALF = {
    ord("，"): ", ",
    ord("、"): ", ",
    ord("；"): "; ",
    ord("（"): "(",
    ord("）"): ")",
    ord("［"): "[",
    ord("］"): "]",
}
_HALF |= {ord("。"): ".", ord("．"): ".", ord("："): ":", ord("＝"): "=", ord("－"): "-", ord("−"): "-", ord("＋"): "+"}
_HALF |= {ord("＊"): "*", ord("／"): "/", ord("＿"): "_", ord("＜"): "<", ord("＞"): ">", ord("\u3000"): " "}
_HALF |= {0xFF10 + digit: str(digit) for digit in range(10)}


def bare(text: str) -> bool:
    """Whether inline code holds numbers and nothing that they could be of: ``16``, ``(8, 6, 16)``, ``≈ 0.5``."""
    numbers = re.sub(r"\d+(?:\.\d*)?(?:[eE][-+]?\d+)?", "0", text.translate(_HALF))
    return "0" in numbers and re.fullmatch(r"[0\s()\[\]{},.;+\-*/×%％…:=≈<>≤≥≠~]+", numbers) is not None


def full_width(text: str) -> str | None:
    """Inline code with its full-width punctuation and digits made half-width; None where there is none."""
    half = text.translate(_HALF)
    if half == text:
        return None
    half = re.sub(r"([,;]) +", r"\1 ", half)
    half = re.sub(r"(?<=[A-Za-z0-9_\])])\((?=\s*\d)", " (", half) if "（" in text else half
    return re.sub(r" {2,}", " ", half).strip()


def naked_numbers(page: Page) -> list[Failure]:
    """The naked numbers of a reading page, and the exceptions in its front matter that nothing needs; [] elsewhere."""
    if not page.front.reading:
        return []
    source = Source(page.path, page.text)
    failures = [failure for prose in page.prose for failure in _of_prose(prose, page, source)]
    used = used_exceptions(page)
    for number in page.front.numbers:
        if not used[number]:
            line = page.front.lines.get(f"numbers.{number}", 1)
            message = f"numbers 里的例外 {number} 在页面上没有用到，请删去"
            failures.append(Failure(page.path, line, 1, "front-matter", number, message=message))
    return sorted(failures)


def used_exceptions(page: Page) -> Counter[str]:
    """How often each exception of the front matter excuses a number, for the report."""
    used: Counter[str] = Counter()
    for prose in page.prose:
        for number, (start, end) in _exceptions(prose.text, page):
            excused = _excused(prose)
            if any(prose.text[at].isdecimal() and at not in excused for at in range(start, end)):
                used[number] += 1
    return used


def _exceptions(text: str, page: Page) -> list[tuple[str, tuple[int, int]]]:
    found = []
    for number in page.front.numbers:
        before = r"(?<![\d.])" if number[:1].isdecimal() else ""
        after = r"(?![\d])(?!\.\d)" if number[-1:].isdecimal() else ""
        found += [(number, m.span()) for m in re.finditer(before + re.escape(number) + after, text)]
    return found


def _of_prose(prose: Prose, page: Page, source: Source) -> list[Failure]:
    if not any(char.isdecimal() for char in prose.text):
        return []
    excused = _excused(prose)
    for _, (start, end) in _exceptions(prose.text, page):
        excused.update(range(start, end))
    naked = [at for at, char in enumerate(prose.text) if char.isdecimal() and at not in excused]
    failures: list[Failure] = []
    done = 0
    for at in naked:
        if at < done:
            continue
        start, done = _whole(prose.text, at, excused)
        claim = prose.text[start:done]
        failures.append(source.failure(prose.offset(start), "naked", _advice(claim, prose.kind), claim=claim))
    return failures


def _excused(prose: Prose) -> set[int]:
    return _excused_in_formula(prose.text) if prose.kind == "formula" else _excused_in_text(prose)


def _excused_in_text(prose: Prose) -> set[int]:
    excused: set[int] = set()
    for pattern in _NAMES:
        for match in pattern.finditer(prose.text):
            excused.update(range(*match.span()))
    if prose.kind == "heading" and (number := _HEADING_NUMBER.match(prose.text)):
        excused.update(range(*number.span()))
    return excused


def _excused_in_formula(text: str) -> set[int]:
    excused: set[int] = set()
    sizes: set[int] = set()
    for match in _SCRIPT.finditer(text):
        span = range(match.end(), _argument(text, match.end()))
        (sizes if _SPACE.search(text[: match.end()]) else excused).update(span)
    for match in _MEASURES.finditer(text):
        excused.update(range(*match.span()))
    for match in re.finditer(r"(?<![\d.])\d(?![\d]|\.\d)", text):
        excused.add(match.start())
    return excused - sizes


def _argument(text: str, at: int) -> int:
    """End of a LaTeX argument: one character, one command, or one group."""
    if at >= len(text):
        return at
    if text[at] == "\\":
        match = re.compile(r"\\(?:[A-Za-z]+|.)").match(text, at)
        return match.end() if match else at + 1
    if text[at] != "{":
        return at + 1
    depth = 0
    for index in range(at, len(text)):
        depth += {"{": 1, "}": -1}.get(text[index], 0)
        if depth == 0:
            return index + 1
    return len(text)


def _whole(text: str, at: int, excused: set[int]) -> tuple[int, int]:
    """The tuple or number that a digit belongs to."""
    for pattern in (_TUPLE, _SEQUENCE):
        for match in pattern.finditer(text):
            if match.start() <= at < match.end():
                start, end = match.span()
                if pattern is _TUPLE and "," not in match[0] and re.fullmatch(rf".\s*{_NUMBER}\s*.", match[0]):
                    continue
                while start < at and start in excused:
                    start += 1
                return start, end
    return at, at + 1


def _advice(claim: str, kind: str) -> str:
    half = full_width(claim) or claim
    if kind == "formula":
        return f"公式里的数 {claim} 没有人核对：用符号代替，或在正文里写成声明，如 `名字 = {half}`"
    if half[:1] in "([":
        return f"裸露的形状 {claim} 没有人核对：写成声明，如 `名字 {half}`"
    return f"裸露的数 {claim} 没有人核对：写成声明，如 `名字 = {half}`；小的数可用汉字（两个头）"
