"""Which digits of a text name something, and so need no proof: a section, a layer, a version, a year, a paper.

Each rule asks for what makes it a name (the word before a version, the author before a year), since a bare number that
only looks like one may be a size. What is left over goes into a page's front matter, with its reason.
"""

from __future__ import annotations

import re

_LATIN = "A-Za-z0-9_"
_DOTTED = r"\d+(?:\.\d+)*"
_VERSION = r"v?[1-9]\d*(?:\.\d+)+"
_YEAR = r"(?:19[5-9]\d|20[0-3]\d)"
_MEASURED = r"(?!\s?[%％个维种次步倍条张行列头])"  # a number that counts something names nothing
_VENUES = "NeurIPS|NIPS|ICLR|ICML|AAAI|KDD|IJCAI|CVPR|ICCV|ECCV|ACL|EMNLP|NAACL|JMLR|TMLR|TPAMI"

# Every pattern covers the digits that it excuses. ``\d`` is any decimal digit, full-width ones too.
_NAMES = [
    re.compile(pattern)
    for pattern in (
        rf"(?<![{_LATIN}.])0\d[A-Z]\d?(?![{_LATIN}])(?:-[{_LATIN}]+)*",  # pages: 04A, 03B1, 04A-Layer3-EncoderLayer
        rf"(?<![{_LATIN}.])0\d(?=\s·\s(?:\D|\d(?:\.\d)+\s?节)|-Layer\d)",  # pages without a letter: 02 · forecast, 02-Layer1-forecast
        rf"(?<![{_LATIN}.])[1-4][dD](?![{_LATIN}])",  # 1D, 2d
        rf"Layer\s?\d[A-Z]?(?![{_LATIN}.]){_MEASURED}",
        rf"§\s?{_DOTTED}(?:\.x)?",
        rf"(?<![{_LATIN}.]){_DOTTED}\.x(?![{_LATIN}])",  # 5.x
        rf"第\s?{_DOTTED}\s?[章节]|(?<![{_LATIN}.])\d+(?:\.\d+)+\s?[小]?节",
        r"(?:(?<![\u4e00-\u9fff])|(?<=[见如在由从和与看即照据考下上]))[图表]\s?\d+(?:[.-]\d+)*(?![\d.-]*\s?[个张次维步层])",
        rf"公式\s?[(（]?{_DOTTED}[)）]?{_MEASURED}|式\s?[(（]{_DOTTED}[)）]",
        rf"(?:Figures?|Fig\.|Tables?|Eq\.|Equation|Sections?|Sec\.|Chapter|Appendix|Algorithm|Theorem)"
        rf"\s?(?:\({_DOTTED}\)|{_DOTTED}(?![{_LATIN}])){_MEASURED}",
        rf"(?<![{_LATIN}.])v?\d+\.\d+\.\d+(?:[.+-]?[{_LATIN}]+)*(?![{_LATIN}])",  # 2.13.0, 1.6.1rc1
        rf"(?:Python|PyTorch|[Tt]orch|CUDA|NumPy|MkDocs|Material|Linux|Ubuntu|macOS|Chromium|Apache|BY|Git|GCC)"
        rf"[-\s]?{_VERSION}(?![{_LATIN}])\+?{_MEASURED}|Python\s[23](?![{_LATIN}.]){_MEASURED}",
        rf"(?:版本|[Vv]ersion)\s?v?\d+(?:\.\d+)+|(?<![{_LATIN}.])\d+\.\d+(?:\.\d+)*\s?版",
        rf"(?:PEP|RFC|ISO|IEEE)[\s-]?\d+(?![{_LATIN}.]){_MEASURED}",
        rf"(?<![{_LATIN}-])(?:UTF|GPT|SHA|MD)-\d{{1,3}}(?![{_LATIN}.])",
        rf"(?<![{_LATIN}.]){_YEAR}\s?年(?:\s?\d{{1,2}}\s?月(?:\s?\d{{1,2}}\s?日)?)?",
        rf"(?<![{_LATIN}.-]){_YEAR}([-/])(?:0[1-9]|1[0-2])\1(?:0[1-9]|[12]\d|3[01])(?![{_LATIN}/-])",
        rf"(?<![{_LATIN}-])[A-Z][A-Za-z-]+(?:\s?et\sal\.|\s?等人?)[,，]?\s?[(（]?{_YEAR}(?![{_LATIN}.]){_MEASURED}",
        rf"》\s?[(（,，]?\s?{_YEAR}(?![{_LATIN}.]){_MEASURED}",
        rf"(?<![{_LATIN}-])(?:{_VENUES})\s?{_YEAR}(?![{_LATIN}.]){_MEASURED}",
        r"(?i:arxiv)(?:\.org/(?:abs|pdf)/|[\s:：]*)\d{4}\.\d{4,5}(?:v\d+)?",
        r"(?i:doi)[\s:：]*10\.\d{4,9}/[^\s，。；）)]+|(?i:isbn)[\s:：]*[\d-]+",
        rf"(?:(?<![{_LATIN}.#-])|(?<=[A-Za-z])|(?<![\w.-])[A-Za-z][\w.-]*/[\w.-]+)#\d+(?![{_LATIN}.]){_MEASURED}",
        rf"(?:(?<![{_LATIN}])(?:[Ii]ssues?|PR|MR)|议题|拉取请求)\s?#?\d+(?![{_LATIN}.]){_MEASURED}",
        r"(?:提交|[Cc]ommit|修订)\s?[0-9a-f]{7,40}(?![0-9A-Za-z])",
        r"(?<![0-9A-Za-z])(?=[0-9]*[a-f])[0-9a-f]{40}(?![0-9A-Za-z])",
    )
]
_NAME = re.compile(rf"(?<![{_LATIN}])[A-Za-z_][{_LATIN}]*")  # Conv1d, norm1, L3, float64, ETTh1
# Names that carry a size: x17, B32, d_model16, head8x64; the number formats are the exception.
_CARRIES = re.compile(
    r"[xX]\d|[A-Za-z]_?\d{2}|(?=[a-z_]*_)[a-z_]*\d{2}|(?!float|int|uint|bfloat|complex|fp|bf|utf|sha)[a-z]+\d{2}"
)
_COUNTED = re.compile(r"\s?[%％个维次步倍条张行列]")
_HEADING_NUMBER = re.compile(
    r"\s*§?\s?(?:\d(?!\d)|\d{1,2}(?=\.\d)|[A-Z](?=\.\d))(?:\.\d{1,2}(?!\d))*(?:\.?[ \t\u3000]+(?![%％个维种次倍条张])|[.、．]|$)"
)

_SCRIPT = re.compile(r"[_^]\s*")
_SPACE = re.compile(r"\\mathbb\s*(?:\{\s*R\s*\}|R)\s*\}*\s*(?:_\s*(?:\w|\{[^{}]*\}))?\^\s*$|ℝ\s*\^\s*$")
_LONGEST_SPACE = 200  # characters before the ^ of a space
_MEASURES = re.compile(
    r"\\(?:tag|hspace|vspace|label|ref|eqref|rule|kern|color|phantom)\*?\s*(?:\{[^{}]*\})+|\\\\\[[^\]]*\]"
)
_DIGIT = re.compile(r"(?<![\d.])\d(?![\d]|\.\d)")


def excused(text: str, kind: str) -> bytearray:
    """One for each character that needs no proof, in prose of this ``kind``; see ``Prose.kind``."""
    return _in_formula(text) if kind == "formula" else _in_text(text, kind)


def _in_text(text: str, kind: str) -> bytearray:
    found = bytearray(len(text))
    for pattern in _NAMES:
        for match in pattern.finditer(text):
            _mark(found, *match.span())
    for match in _NAME.finditer(text):
        short = match.end() - match.start() == 2 and match[0][0].isalpha()
        if not _CARRIES.match(match[0]) and not (short and _COUNTED.match(text, match.end())):
            _mark(found, *match.span())
    if kind == "heading" and (number := _HEADING_NUMBER.match(text)):
        _mark(found, *number.span())
    return found


def _in_formula(text: str) -> bytearray:
    """Indices, exponents, limits and one-digit constants; but not the sizes of a space."""
    found = bytearray(len(text))
    ends = _groups(text)
    sizes: list[tuple[int, int]] = []
    for match in _SCRIPT.finditer(text):
        span = match.end(), _argument(text, match.end(), ends)
        before = text[max(0, match.end() - _LONGEST_SPACE) : match.end()]
        if _SPACE.search(before) or r"\times" in text[slice(*span)]:
            sizes.append(span)
        else:
            _mark(found, *span)
    for match in _MEASURES.finditer(text):
        _mark(found, *match.span())
    for match in _DIGIT.finditer(text):
        found[match.start()] = 1
    for start, end in sizes:
        found[start:end] = bytes(end - start)
    return found


def _mark(found: bytearray, start: int, end: int) -> None:
    found[start:end] = b"\1" * (end - start)


def _groups(text: str) -> dict[int, int]:
    """Offset of each brace that opens a LaTeX group -> the offset after the one that closes it."""
    ends: dict[int, int] = {}
    opened: list[int] = []
    for at, char in enumerate(text):
        if char == "{":
            opened.append(at)
        elif char == "}" and opened:
            ends[opened.pop()] = at + 1
    return ends


def _argument(text: str, at: int, ends: dict[int, int]) -> int:
    """End of a LaTeX argument: one character, one command, or one group."""
    if at >= len(text):
        return at
    if text[at] == "\\":
        match = re.compile(r"\\(?:[A-Za-z]+|.)").match(text, at)
        return match.end() if match else at + 1
    return ends.get(at, len(text)) if text[at] == "{" else at + 1
