"""The opening line of a fence: its language, its options, and the closed list of those that a page may use.

What an exec fence may hold is what markdown-exec 1.12 reads from it (its ``validator``) less what a checked page cannot
allow; what is shown is what Material reads (``title``, ``linenums``, ``hl_lines`` and some classes); the rest is ours.
A fence that markdown-exec or SuperFences would silently not run, or not take for a fence, is a failure here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches

from tsformers.reading.failure import Failure
from tsformers.reading.places import Source

STAND_IN = "tsf"  # language of the fences that stand for HTML, and option that names a recorded output
OURS = ("pass", "of", "toy", "raises", "why")
SHOWN = ("title", "linenums", "hl_lines")
EXEC = ("exec", "id", "idprefix", "html", "source", "result", "updatetoc", "tabs", "width")
CLASSES = ("annotate", "copy", "no-copy", "select", "no-select")
REFUSED = {
    "session": "整页共用一个命名空间，不需要 session",
    "workdir": "每页在一个空的私有目录里运行，不能用 workdir 换目录",
    "returncode": '成败由最后的记录判定，不看返回码；预期出错请写 raises="ValueError"',
}
SOURCES = ("above", "below", "block", "console", "tabbed-left", "tabbed-right")
YES = ("1", "yes", "on", "true")
NO = ("0", "no", "off", "false")
PYTHON_SPELLINGS = ("py", "python3", "py3", "python")
OF_KIND = {
    "quote": ("pass", "of", "toy", "why", *SHOWN),
    "exec": (*EXEC, "toy", "raises", *SHOWN),
    "example": ("toy", "why", *SHOWN),
    "other": ("why", *SHOWN),
}
KIND_NAMES = {"quote": "引用围栏", "exec": "执行围栏", "example": "pycon 围栏", "other": "这种围栏"}


def stand_in(key: str) -> str:
    """A fence, in lines of its own, that the site replaces by the HTML of ``key``."""
    return f'\n\n```{STAND_IN} key="{key}"\n```\n\n'


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a fence; the offsets are those in the page."""

    key: str
    value: str | None  # None for a bare word
    start: int
    value_start: int
    quoted: bool


@dataclass(frozen=True, slots=True)
class Info:
    """A parsed opening line: ``garbage`` is (offset, text) of what is no option, if any."""

    language: str
    options: tuple[Option, ...]
    classes: tuple[tuple[str, int], ...]
    braces: bool
    garbage: tuple[int, str] | None
    start: int


_LANGUAGE = re.compile(r"[ \t]*\.?([\w#.+-]+)(?=[ \t{]|$)")
_ITEM = re.compile(
    r"""[ \t]*(?:\.(?P<class>[\w-]+)|\#(?P<id>[\w-]+)|(?P<key>[A-Za-z][\w-]*)"""
    r"""(?:=(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<bare>[^\s"'{}]+)))?)(?=[ \t}]|$)"""
)


def parse_info(text: str, offset: int) -> Info:
    """The opening line ``text`` after its backticks or tildes, which starts at ``offset`` in the page."""
    end = len(text.rstrip())
    language, at, braces = "", 0, False
    if match := _LANGUAGE.match(text, 0, end):
        language, at = match[1], match.end()
    while at < end and text[at] in " \t":
        at += 1
    if at < end and text[at] == "{":
        if text[end - 1] != "}":
            return Info(language, (), (), True, (offset + at, text[at:end]), offset)
        braces, at, end = True, at + 1, end - 1
    options: list[Option] = []
    classes: list[tuple[str, int]] = []
    while text[at:end].strip():
        match = _ITEM.match(text, at, end)
        if match is None:
            at += len(text[at:end]) - len(text[at:end].lstrip())
            return Info(language, tuple(options), tuple(classes), braces, (offset + at, text[at:end]), offset)
        if match["class"] and not language:
            language = match["class"]
        elif match["class"]:
            classes.append((match["class"], offset + match.start("class")))
        elif match["key"]:
            group = next((g for g in ("double", "single", "bare") if match[g] is not None), None)
            value_start = match.start(group) if group else match.end("key")
            value = match[group] if group else None
            quoted = group in ("double", "single")
            options.append(Option(match["key"], value, offset + match.start("key"), offset + value_start, quoted))
        at = match.end()
    return Info(language, tuple(options), tuple(classes), braces, None, offset)


def kind_of(info: Info) -> str:
    """ "quote", "exec", "example" or "other"; a fence that is marked with a reason is shown only."""
    keys = {option.key for option in info.options}
    if "why" in keys and "exec" not in keys:
        return "other"
    if info.language == "python":
        return "exec" if "exec" in keys else "quote"
    return "example" if info.language == "pycon" else "other"


def check(info: Info, kind: str, source: Source, toys: dict[str, str]) -> list[Failure]:
    """What is wrong with the opening line of a fence."""
    found: list[Failure] = []

    def wrong(offset: int, claim: str, message: str, expected: str = "") -> None:
        found.append(source.failure(offset, "fence", message, claim=claim, expected=expected, actual=claim))

    if info.garbage:
        offset, text = info.garbage
        hint = "值须加引号" if re.match(r"[\w-]+=", text) else '选项须写成 key="value"'
        wrong(offset, text, f"围栏的选项 {text} 读不懂：{hint}")
    keys = [option.key for option in info.options]
    if info.language != "python" and info.language.lower() in PYTHON_SPELLINGS and "why" not in keys:
        wrong(info.start, info.language, f"围栏的语言 {info.language} 不会被检查，请写成 python", expected="python")
    if "why" in keys and "exec" in keys:
        wrong(_first(info, "why").start, "why", "一个围栏不能既运行（exec）又标明只展示（why）")
    for name, offset in info.classes:
        if name not in CLASSES:
            wrong(offset, f".{name}", f"围栏的类 .{name} 不在允许之列{_did_you_mean(name, CLASSES)}")
    for index, option in enumerate(info.options):
        written = option.key if option.value is None else f"{option.key}={option.value}"
        if option.key in keys[:index]:
            wrong(option.start, written, f"选项 {option.key} 写了两次")
        elif option.key in REFUSED:
            wrong(option.start, written, f"不能用选项 {option.key}：{REFUSED[option.key]}")
        elif option.key == "exec" and info.language != "python":
            wrong(
                option.start, written, f"只运行 python 围栏，{info.language or '没有语言的'} 围栏不能写 exec", "python"
            )
        elif option.key not in OF_KIND[kind]:
            wrong(option.start, written, _misplaced(option.key, kind))
        elif option.value is None:
            wrong(option.start, written, f'选项 {option.key} 须有值：{option.key}="…"')
        elif not option.quoted and not info.braces:
            wrong(
                option.value_start,
                written,
                f'选项的值须加引号，否则这个围栏不会被当作代码块：{option.key}="{option.value}"',
                expected=f'{option.key}="{option.value}"',
            )
        elif message := _bad_value(option.key, option.value, toys):
            wrong(option.value_start, written, message)
    return found


def _first(info: Info, key: str) -> Option:
    return next(option for option in info.options if option.key == key)


def _did_you_mean(word: str, words: tuple[str, ...] | list[str]) -> str:
    near = get_close_matches(word, words, n=1, cutoff=0.5)
    return f"，是不是 {near[0]}？" if near else f"；可用的有 {'、'.join(words)}"


def _misplaced(key: str, kind: str) -> str:
    here = OF_KIND[kind]
    everywhere = dict.fromkeys(name for names in OF_KIND.values() for name in names)
    if key in everywhere:
        if key in EXEC and kind == "quote":
            return f'选项 {key} 只用于执行围栏，这里没有 exec="1"'
        return f"{KIND_NAMES[kind]}不能用选项 {key}；可用的有 {'、'.join(here)}"
    return f"没有选项 {key}{_did_you_mean(key, list(here))}"


def _one_of(values: tuple[str, ...]) -> Callable[[str], str]:
    def test(value: str) -> str:
        return "" if value in values else f"没有这个值 {value}{_did_you_mean(value, values)}"

    return test


def _matches(pattern: str, what: str) -> Callable[[str], str]:
    def test(value: str) -> str:
        return "" if re.fullmatch(pattern, value) else f"值 {value!r} 不对：须是{what}"

    return test


def _exec(value: str) -> str:
    if value.lower() in NO or not value:
        return f'exec="{value}" 不会运行；只展示请写 why="…"'
    return _one_of(YES)(value)


_VALUES: dict[str, Callable[[str], str]] = {
    "exec": _exec,
    "html": _one_of(YES + NO),
    "updatetoc": _one_of(YES + NO),
    "source": _one_of(SOURCES),
    "result": _matches(r"[\w#.+-]+", "一个语言名"),
    "tabs": _matches(r"(?:[^|\\]|\\.)+\|(?:[^|\\]|\\.)+", "用 | 隔开的两个标题"),
    "width": _matches(r"[0-9]{1,6}", "非负整数"),
    "id": _matches(r"\S+", "不含空白的名字"),
    "idprefix": _matches(r"\S*", "不含空白的名字"),
    "title": _matches(r".*\S.*", "一个标题"),
    "linenums": _matches(r"[0-9]{1,6}(?: +[0-9]{1,6}){0,2}", "起始行号"),
    "hl_lines": _matches(r"[0-9]{1,6}(?:-[0-9]{1,6})?(?: +[0-9]{1,6}(?:-[0-9]{1,6})?)*", "行号，如 2 4-6"),
    "pass": _matches(r"[1-9][0-9]{0,5}", "从 1 起的整数（循环的第几遍）"),
    "of": _matches(r"\S.*", "front matter 的 reads 里的函数"),
    "raises": _matches(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*", "一个异常类的名字"),
    "why": _matches(r"(?s).*\S.*", "一句理由"),
}


def _bad_value(key: str, value: str, toys: dict[str, str]) -> str:
    if key == "toy":
        if value in toys:
            return ""
        return f"front matter 的 toys 里没有 {value}" + (_did_you_mean(value, list(toys)) if toys else "")
    return _VALUES[key](value)
