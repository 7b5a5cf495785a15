"""How long it takes from the save of a page until the preview shows it, on projects of many pages.

`mkdocs serve --dirty` is started as `nox -s serve` does. Then pages are saved one after the other, in turns: a word of
prose, a block that must run again, a claim that becomes wrong and right again. Each time a client waits as a browser
does, on the address where the server tells of a new build, fetches the page and looks for what was written. With
`--module` a module of the package is saved too, which the pages that it reaches are checked again for.

    python benchmarks/preview.py
    python benchmarks/preview.py --pages 60 --saves 20 --module
"""

from __future__ import annotations

import argparse
import http.client
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from project import ENVIRONMENT, make_project, say

START = 1800.0  # seconds at most until the first build is served
PATIENCE = 300.0  # seconds at most until a save is seen


@dataclass
class Server:
    """A running preview of the project in ``folder``."""

    folder: Path
    port: int
    process: subprocess.Popen[bytes]

    def get(self, path: str) -> str:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request("GET", path)
            return connection.getresponse().read().decode("utf-8")
        finally:
            connection.close()

    def seconds_until(self, page: Path, save: Callable[[], None], seen: Callable[[str], bool]) -> float:
        """Seconds from ``save`` until the built ``page`` is fetched and is as ``seen`` wants it.

        Raises:
            RuntimeError: it was not seen in time.
        """
        address = "/" + quote(page.relative_to(self.folder / "docs").with_suffix(".html").as_posix())
        epoch, ident = re.search(r"livereload\((\d+), (\d+)\)", self.get(address)).groups()  # type: ignore[union-attr]
        began = time.perf_counter()
        save()
        while time.perf_counter() - began < PATIENCE:
            epoch = self.get(f"/livereload/{epoch}/{ident}") or epoch
            if seen(self.get(address)):
                return time.perf_counter() - began
        raise RuntimeError(f"{page}: what was saved is not shown after {PATIENCE:g} s")


def started(folder: Path) -> Server:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "serve",
        "--no-strict",
        "--dirty",
        "--watch",
        "tsformers",
        "-a",
        f"127.0.0.1:{port}",
    ]
    with (folder / "serve.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, env=ENVIRONMENT, stdout=log, stderr=subprocess.STDOUT)
    server = Server(folder, port, process)
    began = time.monotonic()
    while time.monotonic() - began < START:
        if process.poll() is not None:
            raise RuntimeError((folder / "serve.log").read_text(encoding="utf-8"))
        try:
            server.get("/index.html")
            return server
        except OSError:
            time.sleep(0.2)
    raise RuntimeError("the preview did not start")


def prose(server: Server, page: Path, turn: int) -> float:
    word = f"改动{chr(0x4E00 + turn)}。"
    return server.seconds_until(page, lambda: append(page, f"\n\n{word}\n"), lambda html: word in html)


def block(server: Server, page: Path, turn: int) -> float:
    word = f"印出{chr(0x4E00 + turn)}"
    text = f'\n\n```python exec="1"\nprint("印" + "出{chr(0x4E00 + turn)}")\n```\n'
    return server.seconds_until(page, lambda: append(page, text), lambda html: word in html)


def wrong(server: Server, page: Path, turn: int) -> float:
    return server.seconds_until(
        page, lambda: append(page, "\n\n`torch.nn.LayerNorm(4).eps = 0.1`\n"), lambda html: "tsf-red" in html
    )


def right(server: Server, page: Path, turn: int) -> float:
    """After ``wrong``, on the same page."""
    text = page.read_text(encoding="utf-8").replace(
        "`torch.nn.LayerNorm(4).eps = 0.1`", "`torch.nn.LayerNorm(4).eps = 1e-05`"
    )
    return server.seconds_until(
        page, lambda: page.write_text(text, encoding="utf-8") and None, lambda html: "tsf-red" not in html
    )


SAVES = (prose, block, wrong, right)


def append(page: Path, text: str) -> None:
    with page.open("a", encoding="utf-8") as file:
        file.write(text)


LINE = ("softmax(scale * scores", "softmax(scale * 1.0 * scores")  # of the attention, before and after


def module(server: Server, pages: list[Path]) -> float:
    """A statement of a module is changed: a page that quotes it is red, and shows it."""
    file = server.folder / "tsformers/layers/attention.py"
    text = file.read_text(encoding="utf-8").replace(*LINE)
    page = next(page for page in pages if LINE[0] in page.read_text(encoding="utf-8"))
    return server.seconds_until(
        page, lambda: file.write_text(text, encoding="utf-8") and None, lambda html: "admonition failure" in html
    )


def main() -> None:
    about = (__doc__ or "").split("\n\n")
    parser = argparse.ArgumentParser(description=about[0], epilog=about[1])
    parser.add_argument("--pages", metavar="N", type=int, nargs="+", default=[60, 240], help="sizes to measure")
    parser.add_argument("--saves", metavar="N", type=int, default=12, help="saves of each size (default: 12)")
    parser.add_argument("--module", action="store_true", help="save a module of the package too")
    given = parser.parse_args()
    if min([*given.pages, given.saves]) < 1:
        parser.error("sizes and saves are 1 or more")
    print(f"{'pages':>6}  {'first build':>11}  {'median':>7}  {'95 %':>7}  {'slowest':>7}   seconds, by kind of save")
    for count in given.pages:
        with tempfile.TemporaryDirectory(prefix="preview-") as name:
            folder = Path(name)
            say(f"{count} pages: making the project, first build")
            pages = make_project(folder, count)
            began = time.perf_counter()
            server = started(folder)
            first = time.perf_counter() - began
            try:
                times: dict[str, list[float]] = {}
                for turn in range(given.saves):
                    kind = SAVES[turn % len(SAVES)]
                    page = pages[turn // len(SAVES) * 7 % len(pages)]
                    say(f"{count} pages: save {turn + 1} of {given.saves}, {kind.__name__}")
                    times.setdefault(kind.__name__, []).append(kind(server, page, turn))
                taken = sorted(second for seconds in times.values() for second in seconds)
                slow = taken[min(len(taken) - 1, int(0.95 * len(taken)))]
                kinds = ", ".join(f"{kind} {statistics.median(seconds):.2f}" for kind, seconds in times.items())
                if given.module:
                    kinds += f", module {module(server, pages):.2f}"
                print(
                    f"{count:>6}  {first:>11.1f}  {statistics.median(taken):>7.2f}  {slow:>7.2f}  {taken[-1]:>7.2f}   {kinds}",
                    flush=True,
                )
            finally:
                server.process.terminate()
                server.process.wait()


if __name__ == "__main__":
    main()
