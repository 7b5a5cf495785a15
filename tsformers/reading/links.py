"""Links between pages, judged on their files: relative links, wikilinks, anchors, images. Nothing is fetched."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tsformers.reading.failure import Failure
from tsformers.reading.page import Fence, Link, Page
from tsformers.reading.places import Source
from tsformers.reading.scan import scan_text
from tsformers.reading.settings import load_settings
from tsformers.reading.slugs import Outline, outline, slug

_DEFINITION = re.compile(r"^[ \t>]*\[[^\]^][^\]]*\]:[ \t]*(<[^<>\n]*>|\S+)", re.MULTILINE)
UNWRITTEN = "；还没有的页不加链接，写成行内代码，并注明尚无此页"


@dataclass
class DeadLink(Exception):
    """Why a link leads nowhere; ``offset`` is where in the target the wrong part begins."""

    message: str
    suggestion: str = ""
    actual: str = ""
    offset: int = 0


class Library:
    """The files that pages can link to: those of a folder of pages, by their path in it."""

    def __init__(self, root: Path, *, whole: bool) -> None:
        """``whole``: the folder is a site, beyond which no link leads; else only a place where a page lies."""
        self.root = root
        self.whole = whole
        self._files: frozenset[str] | None = None
        self._pages: dict[str, Page] = {}
        self._outlines: dict[str, Outline] = {}

    @property
    def files(self) -> frozenset[str]:
        if self._files is None:
            found: list[str] = []
            for folder, inside, names in os.walk(self.root):
                inside[:] = sorted(name for name in inside if self.whole and not name.startswith("."))
                below = Path(folder).relative_to(self.root).as_posix()
                found += [posixpath.normpath(posixpath.join(below, n)) for n in names if not n.startswith(".")]
            self._files = frozenset(found)
        return self._files

    def know(self, name: str, page: Page) -> None:
        """Take a page that was read already."""
        self._pages[name] = page

    def outline(self, name: str) -> Outline:
        """The places of a page; none in a file that is no page, or cannot be read as text."""
        if name not in self._outlines:
            page = self._pages.get(name)
            if page is None:
                data = (self.root / name).read_bytes() if name.endswith(".md") else b""
                text = data.decode("utf-8-sig", errors="replace")
                page = scan_text(text, name).page
            self._outlines[name] = outline(page)
        return self._outlines[name]

    def holds(self, name: str) -> bool:
        return name in self.files or (not self.whole and (self.root / name).is_file())

    def address(self, target: str, here: str) -> tuple[str, str]:
        """(file, anchor) that a Markdown link on the page ``here`` leads to; file "" for one that leaves the site.

        Raises:
            DeadLink: there is no such file or anchor.
        """
        if not target:
            raise DeadLink("链接没有写地址")
        try:
            url = urlsplit(target)
        except ValueError as error:
            raise DeadLink(f"链接的地址不合法：{error}") from error
        if url.scheme or url.netloc:
            return "", ""
        path, anchor = unquote(url.path), unquote(url.fragment)
        if path.startswith("/"):
            inside = path.lstrip("/")
            raise DeadLink("站内的链接须写相对路径，不以 / 开头", _relative(inside, here) if self.holds(inside) else "")
        name = posixpath.normpath(posixpath.join(posixpath.dirname(here), path)) if path else here
        if self.whole and (name == ".." or name.startswith("../")):
            raise DeadLink(f"{target} 在网站的文件夹之外，网站上打不开")
        if path.endswith("/") or not self.holds(name):
            raise self._missing(path, name, here)
        if anchor and name.endswith(".md"):
            self._land(name, anchor, target.index("#"), "" if name == here else path)
        return name, anchor

    def _missing(self, path: str, name: str, here: str) -> DeadLink:
        guesses = [f"{name}.md", posixpath.join(name, "index.md"), re.sub(r"(?:\.html|/index\.html)$", ".md", name)]
        near = next((guess for guess in guesses if guess != name and self.holds(guess)), "")
        if not near:
            base = posixpath.basename(name)
            near = next(iter(sorted(file for file in self.files if posixpath.basename(file) == base)), "")
        if not near:
            ending = posixpath.splitext(name)[1]
            kind = [file for file in self.files if posixpath.splitext(file)[1] == ending and file != here]
            near = next(iter(get_close_matches(name, sorted(kind), 1, 0.7)), "")
        suggestion = _relative(near, here) if near else ""
        hint = f"；是不是 {suggestion}？" if suggestion else UNWRITTEN if name.endswith(".md") else ""
        return DeadLink(f"没有文件 {path}{hint}", suggestion, "没有这个文件")

    def _land(self, name: str, anchor: str, offset: int, shown: str) -> None:
        places = self.outline(name)
        if places.holds(anchor):
            return
        where = f"{shown} 里" if shown else "本页"
        matching = [i for i, keys in zip(places.ids, places.keys, strict=True) if slug(anchor) in keys]
        near = next(iter(matching or get_close_matches(anchor, [*places.ids, *sorted(places.others)], 1, 0.4)), "")
        hint = f"；是不是 #{near}？" if near else ""
        raise DeadLink(f"{where}没有锚点 #{anchor}{hint}", f"#{near}" if near else "", "没有这个锚点", offset)

    def wiki(self, target: str, here: str) -> tuple[str, str]:
        """(file, anchor) that the wikilink ``[[target]]`` on the page ``here`` leads to.

        Raises:
            DeadLink: there is no such page or heading, or several.
        """
        name, mark, heading = target.partition("#")
        file = self._named(name.strip(), here) if name.strip() else here
        if not mark:
            return file, ""
        wanted, offset = heading.rpartition("#")[2].strip(), target.index("#")
        places = self.outline(file)
        if wanted in places.ids:
            return file, wanted
        key = slug(wanted)
        found = [i for i, keys in zip(places.ids, places.keys, strict=True) if key and key in keys]
        if len(found) == 1:
            return file, found[0]
        where = f"{name.strip()} 里" if name.strip() else "本页"
        if found:
            listed = "、".join(f"#{identifier}" for identifier in found)
            raise DeadLink(
                f"{where}有 {len(found)} 个标题叫 {wanted}：{listed}；请写明是哪一个", f"#{found[0]}", "", offset
            )
        titles = {heading.title: i for heading, i in zip(places.headings, places.ids, strict=True)}
        near = next(iter(get_close_matches(wanted, list(titles), 1, 0.5)), "")
        hint = f"；是不是 #{near}？" if near else ""
        raise DeadLink(f"{where}没有标题 {wanted}{hint}", f"#{near}" if near else "", "没有这个标题", offset)

    def _named(self, name: str, here: str) -> str:
        """The page, or the file with an extension, that a wikilink names by its stem or by the end of its path."""
        wanted = (
            name if re.search(r"\.\w{2,4}$", name) and not name.endswith(".md") else f"{name.removesuffix('.md')}.md"
        )
        found = sorted(file for file in self.files if file == wanted or file.endswith(f"/{wanted}"))
        if len(found) == 1:
            return found[0]
        if wanted in found and "/" in wanted:
            return wanted
        if found:
            listed = "、".join(file.removesuffix(".md") for file in found)
            raise DeadLink(
                f"叫 {name} 的有 {len(found)} 个：{listed}；请连同文件夹一起写", found[0].removesuffix(".md")
            )
        stems = sorted({posixpath.basename(file).removesuffix(".md") for file in self.files if file.endswith(".md")})
        near = next(iter(get_close_matches(name.rpartition("/")[2], stems, 1, 0.6)), "")
        hint = f"；是不是 {near}？" if near else UNWRITTEN
        raise DeadLink(f"没有叫 {name} 的页{hint}", near, "没有这一页")

    def written(self, target: str, here: str) -> str:
        """The address, relative to the page ``here``, that a wikilink becomes; "" if it is dead."""
        try:
            file, anchor = self.wiki(target, here)
        except DeadLink:
            return ""
        path = "" if file == here else _relative(file, here)
        return re.sub(r"[ ()<>]", lambda m: f"%{ord(m[0]):02X}", path + (f"#{anchor}" if anchor else ""))


def _relative(name: str, here: str) -> str:
    return posixpath.relpath(name, posixpath.dirname(here) or ".")


def judge_links(page: Page, library: Library, here: str) -> list[Failure]:
    """Every dead link of a page that lies at ``here`` in the library."""
    source = Source(page.path, page.text)
    failures: list[Failure] = []
    for link in page.links:
        try:
            if link.kind == "wiki":
                file, _ = library.wiki(link.target, here)
                if page.text[link.start] == "!" and file.endswith(".md"):
                    raise DeadLink("![[…]] 只能嵌入图片；要引向一页，请写 [[…]]", f"[[{link.target}]]")
            else:
                library.address(link.target, here)
        except DeadLink as dead:
            failures.append(_failure(page, link, dead))
    for at, target in _definitions(page):
        try:
            library.address(target, here)
        except DeadLink as dead:
            said = {"claim": target, "expected": dead.suggestion, "actual": dead.actual}
            failures.append(source.failure(at + dead.offset, "link", dead.message, **said))
    return failures


def _failure(page: Page, link: Link, dead: DeadLink) -> Failure:
    written = page.text[link.start : link.end]
    column = link.column + dead.offset + (f"<{link.target}>" in written)
    return Failure(page.path, link.line, column, "link", link.target, dead.suggestion, dead.actual, dead.message)


def _definitions(page: Page) -> list[tuple[int, str]]:
    """Targets of the definitions of reference links, ``[name]: target``, with their places."""
    fences = [(step.start, step.end) for step in page.steps if isinstance(step, Fence)]
    found = []
    for match in _DEFINITION.finditer(page.text, page.front.end):
        if not any(start <= match.start(1) < end for start, end in fences):
            target = match[1].strip("<>")
            found.append((match.start(1) + match[1].startswith("<"), target))
    return found


def with_links(pages: Sequence[Page], files: Sequence[Path]) -> list[Page]:
    """The pages with their dead links among what is wrong with them."""
    libraries: dict[Path, Library] = {}
    places: list[tuple[Library, str]] = []
    for page, file in zip(pages, files, strict=True):
        path = Path(os.path.abspath(file))
        if path.parent not in libraries:
            library = library_of(path)
            libraries[path.parent] = libraries.setdefault(library.root, library)
        library = libraries[path.parent]
        places.append((library, path.relative_to(library.root).as_posix()))
        library.know(places[-1][1], page)
    judged = []
    for page, (library, here) in zip(pages, places, strict=True):
        dead = judge_links(page, library, here)
        judged.append(replace(page, problems=tuple(sorted([*page.problems, *dead]))) if dead else page)
    return judged


def library_of(path: Path) -> Library:
    """The site that a page lies in, by the settings of its project; for any other page the folder around it."""
    settings = load_settings(path)
    docs = Path(os.path.abspath(settings.root / settings.docs))
    return Library(docs, whole=True) if path.is_relative_to(docs) else Library(path.parent, whole=False)
