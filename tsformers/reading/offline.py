"""The whole site in one file: a zip whose bytes depend on nothing but what is in the site."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path

EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time that the format knows
# For crawlers and servers, and each with the time of the build or addresses that only a server understands.
SERVED = frozenset({"404.html", "sitemap.xml", "sitemap.xml.gz"})


def files_of(site: Path) -> Iterator[str]:
    """What goes into the copy: every file of the site, sorted, but for those that only a server needs."""
    names = (path.relative_to(site).as_posix() for path in site.rglob("*") if path.is_file())
    yield from sorted(name for name in names if name not in SERVED and not name.endswith(".zip"))


def write_zip(site: Path, name: str, without: str = "") -> Path:
    """Write ``site/name``, in it one folder of that name; ``without`` is left out of its pages: the link to itself."""
    target = site / name
    folder = Path(name).stem
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for file in files_of(site):
            data = (site / file).read_bytes()
            if without and file.endswith(".html"):
                data = data.replace(without.encode(), b"")
            entry = zipfile.ZipInfo(f"{folder}/{file}", EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, data)
    return target
