"""The front matter of a page: YAML, read safely, each key with its physical line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

import yaml

from tsformers.reading.failure import Failure
from tsformers.reading.page import FrontMatter
from tsformers.reading.places import Line, Source

OURS = ("toy", "toys", "reads", "terms", "numbers", "checked", "why")
THEIRS = (  # what MkDocs and Material read
    "title", "description", "author", "date", "hide", "tags", "search", "icon", "template", "status", "subtitle",
    "comments", "social", "robots", "authors", "edit_url",
)  # fmt: skip
_OPENING = re.compile(r"-{3}[ \t]*$")
_CLOSING = re.compile(r"(?:-{3}|\.{3})[ \t]*$")
_FUNCTION = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*:[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_READ = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)+(?:\s+@\s+\w+(?:\.\w+)*)?(?:\s*#[1-9]\d{0,5})?")

_KEY = re.compile(r"[^:#]*(?:[^:#\s]):(?:\s|$)")
_UNCLOSED = re.compile(r"unexpected end of stream|expected ',' or")
_PROBLEMS = (  # what PyYAML says -> what an author can do about it; anything else is told in its own words
    (r"mapping values are not allowed", "这里多了一个冒号，或上一行没有写完；含「冒号加空格」的值要加引号"),
    (r"could not find expected ':'", "这里之前有一个键没有冒号：键和值写成 key: value"),
    (r"expected ',' or '[\]}]'", "方括号或花括号没有闭合，或两项之间缺逗号"),
    (r"expected <block end>", "缩进或写法与上面各行不一致：同一层的键、同一列表的 - 要对齐，一行只写一个值"),
    (r"(?:sequence entries|mapping keys) are not allowed", "列表的 - 或键不能写在这里：另起一行，并缩进"),
    (r"character '\\t' that cannot start", "不能用制表符（tab）缩进，请改用空格"),
    (r"that cannot start any token", "值不能以这个字符开头；请给值加引号"),
    (r"unexpected end of stream", "引号没有闭合"),
    (r"unknown escape character", "双引号里的反斜杠是转义符；请改用单引号"),
    (r"undefined alias", "* 开头的值是 YAML 的别名，而没有这个别名；请给值加引号"),
    (r"expected alphabetic or numeric character", "* 或 & 在值的开头有别的意思；请给值加引号"),
    (r"duplicate anchor|second occurrence", "同一个锚点（&名字）写了两次"),
    (r"expected the node content", "这里缺一个值"),
    (
        r"document separator|another document|<document start>",
        "front matter 只能是一份文档，里面不能再有 --- 或 ... 或 %",
    ),
)


def read_front_matter(source: Source) -> tuple[FrontMatter, list[Failure], int]:
    """(front matter, what is wrong with it, index of the first line after it)."""
    lines = source.lines
    if not _OPENING.match(lines[0].text):
        return FrontMatter(), [], 0
    last = next((n for n in range(1, len(lines)) if _CLOSING.match(lines[n].text)), None)
    if last is None:
        if any(line.text.strip() for line in lines[1:2]) and ":" in lines[1].text:
            return FrontMatter(), [source.failure(0, "front-matter", "front matter 没有收尾的 ---", claim="---")], 0
        return FrontMatter(), [], 0
    body = "\n".join(line.text for line in lines[1:last]) + "\n"
    reader = _Reader(source)
    try:
        root = yaml.compose(body, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        reader.broken(error)
        root = None
    except RecursionError:
        root = None
        reader.found.append(source.failure(lines[1].start, "front-matter", "front matter 嵌套太深，无法读取"))
    front = reader.read(root, lines[last].end)
    return front, reader.found, last + 1


class _Reader:
    """Walks the YAML nodes, so that every value has its place."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.found: list[Failure] = []
        self.places: dict[str, tuple[int, int]] = {}

    def offset(self, mark: Any) -> int:
        line = self.source.lines[min(mark.line + 1, len(self.source.lines) - 1)]
        return min(line.start + mark.column, line.end)

    def wrong(self, node: yaml.Node, message: str, *, claim: str = "", expected: str = "", actual: str = "") -> None:
        at = self.offset(node.start_mark)
        self.found.append(
            self.source.failure(at, "front-matter", message, claim=claim, expected=expected, actual=actual)
        )

    def broken(self, error: yaml.YAMLError) -> None:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        if isinstance(error, yaml.reader.ReaderError):
            rest, problem = self.source.lines[1].start, f"有 YAML 不许的字符 {chr(error.character)!r}"
            at = self.source.text.index(chr(error.character), rest)
        else:
            problem = getattr(error, "problem", None) or str(error)
            if _UNCLOSED.search(problem):
                mark = getattr(error, "context_mark", None) or mark  # where it was opened
            unknown = f"YAML 读不懂这里（{problem}）"
            problem = next((said for pattern, said in _PROBLEMS if re.search(pattern, problem)), unknown)
            at = self.offset(mark) if mark is not None else self.source.lines[1].start
        if (bare := self.without_colon(at)) is not None:
            at, problem = bare.start, "这一行没有冒号，或冒号后面没有空格：键和值写成 key: value"
        line, column = self.source.place(at)
        message = f"front matter 不是合法的 YAML（第 {line} 行第 {column} 列）：{problem}"
        claim = self.source.lines[line - 1].text[column - 1 :].strip()
        self.found.append(self.source.failure(at, "front-matter", message, claim=claim))

    def without_colon(self, until: int) -> Line | None:
        """A line of the outermost level, up to a place, that is no key and no item."""
        for line in self.source.lines[1:]:
            if line.start > until or _CLOSING.match(line.text):
                break
            if line.text.strip() and line.text[0] not in " \t#-[]{}\"'|>,?&*!%@" and not _KEY.match(line.text):
                return line
        return None

    def read(self, root: yaml.Node | None, end: int) -> FrontMatter:
        if root is None:
            return FrontMatter(end=end)
        if not isinstance(root, yaml.MappingNode):
            self.wrong(root, "front matter 须是键和值（key: value），冒号后面空一格", actual=_kind(root))
            return FrontMatter(end=end)
        values: dict[str, yaml.Node] = {}
        for key, name, node in self.pairs(root, "键"):
            if name not in OURS + THEIRS:
                near = get_close_matches(name, OURS + THEIRS, n=1, cutoff=0.6)
                hint = f"，是不是 {near[0]}？" if near else f"；可用的有 {'、'.join(OURS)}"
                self.wrong(key, f"front matter 没有键 {name}{hint}", claim=name, expected=near[0] if near else "")
                continue
            self.places[name] = self.place(node if name == "toy" else key)
            values[name] = node
        front = FrontMatter(
            toy=self.text(values, "toy", _FUNCTION, "package.module:function"),
            toys=self.toys(values),
            reads=self.strings(values, "reads", _READ, "dotted.function 或 dotted.function @ 模块路径"),
            terms=self.strings(values, "terms", None, "术语"),
            numbers=self.numbers(values),
            checked=self.checked(values),
            why=self.text(values, "why", None, "一句理由"),
            places=self.places,
            end=end,
            title=self.text(values, "title", None, "标题"),
        )
        if "reads" in values and not (front.toy or front.toys or "toy" in values or "toys" in values):
            self.wrong(values["reads"], "写了 reads 却没有 toy：须说明用哪个 toy 运行", claim="reads", expected="toy")
        if not front.checked and not front.why:
            self.wrong(values["checked"], "checked: false 须有 why: 说明理由", claim="checked: false", expected="why")
        if front.checked and "why" in values:
            self.wrong(values["why"], "why 只和 checked: false 一起用", claim="why")
        return front

    def place(self, node: yaml.Node) -> tuple[int, int]:
        """Line and column of what is written, without its quotation mark."""
        line, column = self.source.place(self.offset(node.start_mark))
        return line, column + (getattr(node, "style", None) in ("'", '"'))

    def pairs(self, mapping: yaml.MappingNode, what: str) -> Sequence[tuple[yaml.Node, str, yaml.Node]]:
        seen: set[str] = set()
        pairs = []
        for key, node in mapping.value:
            if not isinstance(key, yaml.ScalarNode):
                self.wrong(key, f"{what}须是文本", actual=_kind(key))
            elif key.value in seen:
                self.wrong(key, f"{what} {key.value} 写了两次", claim=key.value)
            else:
                seen.add(key.value)
                pairs.append((key, key.value, node))
        return pairs

    def text(self, values: dict[str, yaml.Node], name: str, shape: re.Pattern[str] | None, what: str) -> str:
        node = values.get(name)
        return "" if node is None else self.scalar(node, name, shape, what)

    def scalar(self, node: yaml.Node, name: str, shape: re.Pattern[str] | None, what: str) -> str:
        if not isinstance(node, yaml.ScalarNode) or node.tag == "tag:yaml.org,2002:null":
            self.wrong(
                node, f"{name} 须是文本（{what}），这里是{_kind(node)}", claim=name, expected=what, actual=_kind(node)
            )
            return ""
        value = node.value.strip()
        if not value or (shape and not shape.fullmatch(value)):
            self.wrong(node, f"{name} 须写成 {what}，这里是 {value!r}", claim=value, expected=what, actual=value)
            return ""
        return value

    def strings(
        self, values: dict[str, yaml.Node], name: str, shape: re.Pattern[str] | None, what: str
    ) -> tuple[str, ...]:
        node = values.get(name)
        if node is None:
            return ()
        if not isinstance(node, yaml.SequenceNode):
            self.wrong(node, f"{name} 须是列表，这里是{_kind(node)}", claim=name, expected="列表", actual=_kind(node))
            return ()
        items: list[str] = []
        for item in node.value:
            if value := self.scalar(item, f"{name} 的每一项", shape, what):
                value += self.call_number(item) if name == "reads" else ""
                self.places[f"{name}.{len(items)}"] = self.place(item)
                items.append(value)
        return tuple(items)

    def call_number(self, item: yaml.Node) -> str:
        """The " #2" after an unquoted item: a comment to YAML, the second call to an author."""
        end = self.offset(item.end_mark)
        rest = self.source.lines[item.end_mark.line + 1]
        match = re.fullmatch(r"\s+(#[1-9]\d{0,5})\s*", rest.text[end - rest.start :])
        return f" {match[1]}" if match else ""

    def toys(self, values: dict[str, yaml.Node]) -> dict[str, str]:
        node = values.get("toys")
        if node is None:
            return {}
        if not isinstance(node, yaml.MappingNode):
            self.wrong(
                node, f"toys 须是 名字: package.module:function，这里是{_kind(node)}", claim="toys", actual=_kind(node)
            )
            return {}
        toys = {}
        for _, name, item in self.pairs(node, "toys 里的名字"):
            if value := self.scalar(item, f"toys.{name}", _FUNCTION, "package.module:function"):
                self.places[f"toys.{name}"] = self.place(item)
                toys[name] = value
        return toys

    def numbers(self, values: dict[str, yaml.Node]) -> dict[str, str]:
        """A mapping of exceptions to reasons, or a list of such mappings."""
        node = values.get("numbers")
        if node is None:
            return {}
        mappings = node.value if isinstance(node, yaml.SequenceNode) else [node]
        numbers: dict[str, str] = {}
        for mapping in mappings:
            if not isinstance(mapping, yaml.MappingNode):
                self.wrong(mapping, f"numbers 的每一项须是 数: 理由，这里是{_kind(mapping)}", claim="numbers")
                continue
            for key, name, item in self.pairs(mapping, "numbers 里的数"):
                if name in numbers:
                    self.wrong(key, f"numbers 里的数 {name} 写了两次", claim=name)
                elif reason := self.scalar(item, f"numbers 里 {name} 的理由", None, "一句理由"):
                    self.places[f"numbers.{name}"] = self.place(key)
                    numbers[name] = reason
        return numbers

    def checked(self, values: dict[str, yaml.Node]) -> bool:
        node = values.get("checked")
        if node is None:
            return True
        if not isinstance(node, yaml.ScalarNode) or node.tag != "tag:yaml.org,2002:bool":
            self.wrong(node, f"checked 须是 true 或 false，这里是{_kind(node)}", claim="checked", actual=_kind(node))
            return True
        return node.value.lower() in ("true", "yes", "on")


def _kind(node: yaml.Node) -> str:
    if isinstance(node, yaml.SequenceNode):
        return "列表"
    if isinstance(node, yaml.MappingNode):
        return "键和值"
    return "空" if node.tag == "tag:yaml.org,2002:null" else f" {node.value!r}"
