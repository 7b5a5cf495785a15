"""Projects of many pages, made of ours, and how long a command takes in one and how much memory.

Shared by the benchmarks of the checker, the build and the preview.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FRONT = re.compile(r"\A---\n.*?^reads:.*?^---\n", re.MULTILINE | re.DOTALL)
TITLE = re.compile(r"^# (?!.*`)(.+)$", re.MULTILINE)
NAV = re.compile(r"^nav:\n(?: .*\n)+", re.MULTILINE)
INTERVAL = 0.05  # seconds between two looks at the memory
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "NO_MKDOCS_2_WARNING": "1"}


@dataclass(frozen=True)
class Measured:
    seconds: float
    megabytes: float  # 0 where the system does not tell


def reading_pages() -> list[Path]:
    """The site's reading pages, each with its folder below ``docs``."""
    docs = ROOT / "docs"
    return [page for page in sorted(docs.rglob("*.md")) if FRONT.match(page.read_text(encoding="utf-8"))]


def make_project(folder: Path, count: int) -> list[Path]:
    """A project of ``count`` reading pages that can be checked and built; the pages.

    They are whole sets of ours, so that their links to each other lead somewhere. Other pages that they link to lie
    beside each set, with nothing but their headings.
    """
    for name in ("tsformers", "overrides", "benchmarks", "tests"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "docs/terms.yml"):
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    shutil.copytree(ROOT / "docs/assets", folder / "docs/assets")
    (folder / "mkdocs.yml").write_text(NAV.sub("", (ROOT / "mkdocs.yml").read_text(encoding="utf-8")), encoding="utf-8")
    originals = reading_pages()
    others = linked_from(originals)
    pages: list[Path] = []
    for number in range(-(-count // len(originals))):
        copies = folder / "docs" / f"set{number:03d}"
        for other in others:
            leave_out(copies / other.relative_to(ROOT / "docs"), other.read_text(encoding="utf-8"))
        for original in originals:
            page = copies / original.relative_to(ROOT / "docs")
            page.parent.mkdir(parents=True, exist_ok=True)
            text = original.read_text(encoding="utf-8")
            if len(pages) == count:  # the last set may be longer than asked
                leave_out(page, text)
                continue
            page.write_text(TITLE.sub(rf"# \1，抄本 {chr(0x4E00 + number)}", text, count=1), encoding="utf-8")
            pages.append(page)
    (folder / "docs/index.md").write_text("# 首页\n", encoding="utf-8")
    return pages


def linked_from(pages: list[Path]) -> list[Path]:
    """The site's pages that ``pages`` link to and that are not among them."""
    found = set()
    for page in pages:
        for target in re.findall(r"\]\(([^)#:\s]+\.md)", page.read_text(encoding="utf-8")):
            found.add((page.parent / target).resolve())
    return sorted(path for path in found - set(pages) if path.is_file())


def leave_out(page: Path, text: str) -> None:
    """Write a page that holds the headings of ``text`` and no more, and is not checked."""
    page.parent.mkdir(parents=True, exist_ok=True)
    headings = "\n\n".join(re.findall(r"^#{1,6} .+$", text, re.MULTILINE))
    page.write_text(f"---\nchecked: false\nwhy: 只供链接\n---\n{headings}\n", encoding="utf-8")


def descendants(process: int) -> list[int]:
    """The process and all below it, from /proc."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except OSError:  # it ended meanwhile
                continue
            parents.setdefault(int(stat.rpartition(")")[2].split()[1]), []).append(int(entry.name))
    found = [process]
    for parent in found:
        found += parents.get(parent, [])
    return found


def memory(process: int) -> float:
    """Megabytes of a process and all below it, shared pages counted once."""
    total = 0
    for each in descendants(process):
        try:
            rollup = Path(f"/proc/{each}/smaps_rollup").read_text()
        except OSError:
            continue
        total += int(re.search(r"^Pss:\s+(\d+)", rollup, re.MULTILINE)[1])  # type: ignore[index]
    return total / 1024


def measure(folder: Path, command: list[str], **variables: str) -> Measured:
    """Run ``command`` in ``folder``, with these environment variables beside our own.

    Raises:
        RuntimeError: it failed; the message is what it printed.
    """
    linux = sys.platform == "linux"
    peak = 0.0
    with tempfile.TemporaryFile() as output:
        started = time.perf_counter()
        process = subprocess.Popen(
            command, cwd=folder, env={**ENVIRONMENT, **variables}, stdout=output, stderr=subprocess.STDOUT
        )
        while True:
            try:
                process.wait(INTERVAL)
                break
            except subprocess.TimeoutExpired:
                if linux:
                    peak = max(peak, memory(process.pid))
        seconds = time.perf_counter() - started
        if process.returncode:
            output.seek(0)
            raise RuntimeError(output.read().decode("utf-8", "replace"))
    return Measured(seconds, peak)


def best(measured: list[Measured]) -> Measured:
    return Measured(min(m.seconds for m in measured), max(m.megabytes for m in measured))


def change(page: Path, times: int) -> None:
    """Add an executed block to a page, so that it must run again."""
    text = page.read_text(encoding="utf-8")
    page.write_text(f'{text}\n```python exec="1"\nprint("又一块", {times})\n```\n', encoding="utf-8")


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
