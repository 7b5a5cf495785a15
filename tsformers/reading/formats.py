"""The report -> what others read: annotations and a summary for GitHub Actions, JUnit's XML."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from datetime import UTC, datetime

from tsformers.reading.coverage import percent
from tsformers.reading.failure import Failure
from tsformers.reading.report import Report, failures_of, share, shown

_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def github(report: Report) -> Iterator[str]:
    """One ``::error`` a failure, which GitHub shows beside the line of the page.

    The file is the page's path as given, which GitHub takes to be relative to the repository.
    """
    for failure in failures_of(report):
        place = {"file": failure.path, "line": failure.line, "col": failure.column, "title": failure.kind}
        said = ",".join(f"{name}={_property(str(value))}" for name, value in place.items())
        yield f"::error {said}::{_data(_sentences(failure))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _sentences(failure: Failure) -> str:
    lines = [failure.message]
    sides = (("claim", failure.claim), ("expected", failure.expected), ("actual", failure.actual))
    return "\n".join(lines + [f"{name}: {value}" for name, value in sides if value])


def junit(report: Report, when: datetime | None = None) -> str:
    """A test case a page. It holds one ``failure``, since some readers take no more, with every place in its text."""
    pages = report["pages"]
    seconds = f"{sum(page['seconds'] for page in pages):.3f}"
    red = sum(bool(page["failures"]) for page in pages)
    left_out = report["totals"]["left_out"]
    skipped = sum(page["path"] in left_out and not page["failures"] for page in pages)
    numbers = {"tests": str(len(pages)), "failures": str(red), "errors": "0"}
    root = ET.Element("testsuites", {"name": "tsformers.reading", **numbers, "time": seconds})
    stamp = (when or datetime.now(UTC)).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S")
    more = {"skipped": str(skipped), "time": seconds, "timestamp": stamp, "hostname": "localhost"}
    suite = ET.SubElement(root, "testsuite", {"name": "pages", **numbers, **more})
    ET.SubElement(suite, "properties")
    for page in pages:
        folder, _, name = page["path"].rpartition("/")
        time = f"{page['seconds']:.3f}"
        classname = _xml(folder.replace("/", ".") or "pages")
        case = ET.SubElement(suite, "testcase", {"name": _xml(name), "classname": classname, "time": time})
        failures = [Failure(**failure) for failure in page["failures"]]
        if failures:
            first, others = failures[0], len(failures) - 1
            message = f"{first}" + (f"（另有 {others} 处）" if others else "")
            failure = ET.SubElement(case, "failure", {"message": _xml(message), "type": first.kind})
            failure.text = _xml("\n".join(_place(failure) for failure in failures))
        elif page["path"] in left_out:
            ET.SubElement(case, "skipped", {"message": _xml(left_out[page["path"]])})
    for name in ("system-out", "system-err"):
        ET.SubElement(suite, name)
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _place(failure: Failure) -> str:
    head = f"{failure.path}:{failure.line}:{failure.column}: {failure.kind}: "
    return head + _sentences(failure).replace("\n", "\n    ")


def _xml(text: str) -> str:
    """Without what XML cannot hold: a page or an output may have control characters in it."""
    return _NO_XML.sub("\ufffd", text)


LISTED = 20  # failures of a summary; all of them are in the log and in the annotations


def markdown(report: Report) -> str:
    """A summary in Markdown: the totals, the coverage of each model, a row a page, what is wrong."""
    totals, failures = report["totals"], failures_of(report)
    numbers = [totals["pages"], totals["claims"], totals["comments"], len(failures)]
    seconds = sum(page["seconds"] for page in report["pages"])
    rows = ["页", "声明", "形状注释", "错误", "秒"]
    lines = [f"### {'❌ 有错' if failures else '✅ 全部相符'}", "", *_table(rows, [[*numbers, f"{seconds:.1f}"]])]
    models = [
        [f"`{spec}`", found["executed"], f"{percent(found)} %", len(found["gap"])]
        for spec, found in totals["models"].items()
    ]
    if models:
        lines += ["", *_table(["玩具模型", "它执行的语句", "讲解覆盖（任一页）", "未讲解"], models)]
    pages = []
    for page in shown(report):
        claims, failed = page["counts"]["claims"], len(page["failures"])
        pages.append([_cell(page["path"]), claims, share(report, page), failed, f"{page['seconds']:.1f}"])
    if pages:
        lines += ["", *_table(["页", "声明", "讲解覆盖（本页所读）", "错误", "秒"], pages)]
    if len(pages) < len(report["pages"]):
        lines += ["", f"另有 {len(report['pages']) - len(pages)} 页没有错，也讲解完整。"]
    if failures:
        lines += ["", *(f"- {_cell(str(failure))}" for failure in failures[:LISTED])]
    if len(failures) > LISTED:
        lines += ["", f"另有 {len(failures) - LISTED} 处，见日志。"]
    return "\n".join(lines) + "\n"


def _table(head: list[str], rows: list[list[object]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|---|{'---:|' * (len(head) - 1)}"
    for row in rows:
        yield f"| {' | '.join(map(str, row))} |"


def _cell(text: str) -> str:
    """Text as it stands: what a page says is neither markup nor the end of a cell here."""
    return re.sub(r"([\\`*_{}\[\]<>()#|~&])", r"\\\1", " ".join(_NO_XML.sub("\ufffd", text).split()))
