"""``new``: write the first draft of a page, from what its toy executes."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from tsformers.reading.commands import GREEN, USAGE, Commands

if TYPE_CHECKING:
    from tsformers.reading.page import Page

ABOUT = """Write a page that passes the check already: front matter, all standard sections, every executed statement
quoted, one claim, and TODO where prose belongs. A page with TODO is listed by check and refused by the strict build
once it is in the navigation."""
STATUS = "Exit status: 0 written or listed, 2 usage, 3 the checker itself failed."


def add(commands: Commands) -> None:
    """Declare the command."""
    new = commands.add_parser("new", help="write the first draft of a page", description=ABOUT, epilog=STATUS)
    new.set_defaults(run=run)
    new.add_argument("page", nargs="?", metavar="PAGE", help="folder/name below the docs, e.g. model/03A-Layer2-Part")
    new.add_argument("--toy", metavar="SPEC", help="package.module:function (default: as on the folder's other pages)")
    new.add_argument(
        "--reads",
        metavar="SPEC",
        default="",
        help="dotted.function @ path.of.module (default: the class or function in the call tree that PAGE names last)",
    )
    new.add_argument("--list", action="store_true", help="list the functions of every folder's toy that no page reads")


def run(options: argparse.Namespace) -> int:
    """Write the page, or list what has none."""
    from tsformers.reading.draft import DraftError
    from tsformers.reading.settings import SettingsError, load_settings
    from tsformers.reading.toys import ToyError

    sys.path.insert(0, str(Path.cwd()))
    try:
        settings = load_settings(Path.cwd())
        docs = settings.root / settings.docs
        if options.list:
            return _list(docs)
        if not options.page:
            print("new: PAGE is missing, such as model/03A-Layer2-Part; or give --list", file=sys.stderr)
            return USAGE
        return _write(docs, options)
    except ToyError as error:  # in the words that the page's front matter would get
        print(
            f"--toy {options.toy or '(of the folder)'}, --reads {options.reads or '(of PAGE)'}: {error}",
            file=sys.stderr,
        )
        return USAGE
    except (DraftError, SettingsError) as error:
        print(error, file=sys.stderr)
        return USAGE


def _pages(folder: Path) -> list[Page]:
    from tsformers.reading.page import read_page

    return [read_page(path) for path in sorted(folder.rglob("*.md"))]


def _toy(pages: list[Page]) -> str:
    """The toy that most of the pages read, "" if none reads one."""
    specs = Counter(page.front.toy for page in pages if page.front.reading and page.front.toy)
    return specs.most_common(1)[0][0] if specs else ""


def _write(docs: Path, options: argparse.Namespace) -> int:
    from tsformers.reading.draft import DraftError, draft

    name = options.page.removesuffix(".md").strip("/")
    file = docs / f"{name}.md"
    if not file.resolve().is_relative_to(docs.resolve()):
        raise DraftError(f"{options.page}: outside of {docs.name}/; PAGE is folder/name below it")
    if file.exists():
        raise DraftError(
            f"{file.relative_to(docs.parent).as_posix()}: exists already, left as it is; give another name"
        )
    toy = options.toy or _toy(_pages(file.parent))
    if not toy:
        raise DraftError(
            f"{file.parent.name}/: no page there reads a function, so no toy can be taken from it; "
            "give one, such as --toy package.module:function"
        )
    text = draft(file.stem, toy, options.reads)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8", newline="\n")
    shown = file.relative_to(docs.parent).as_posix()
    print(f"写好了 {shown}，其中 TODO 有 {text.count('TODO')} 处。检查：python -m tsformers.reading check {shown}")
    title = next(line[2:] for line in text.split("\n") if line.startswith("# "))
    print(f'写完之后列进 mkdocs.yml 的 nav：\n      - "{title}": {file.relative_to(docs).as_posix()}')
    return GREEN


def _list(docs: Path) -> int:
    from tsformers.reading.overview import tree_of
    from tsformers.reading.show.tree import is_torch
    from tsformers.reading.toys import run_toy

    everywhere = _pages(docs)
    read = {spec.split(" ")[0] for page in everywhere for spec in page.front.reads}
    for folder in sorted(path for path in docs.iterdir() if path.is_dir()):
        toy = _toy(_pages(folder))
        tree = tree_of(run_toy("", toy, []), []) if toy else None
        if tree is None:
            continue
        calls = {call.function: call for call in reversed(list(tree.all())) if not is_torch(call)}
        missing = [call for call in tree.all() if calls.get(call.function) is call and call.function not in read]
        print(f"{folder.name}（{toy}）：{len(calls)} 个函数，{len(missing)} 个还没有页")
        for call in missing:
            print(f"  {call.function}" + (f" @ {call.path}" if call.path else ""))
    return GREEN
