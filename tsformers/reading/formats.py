"""Results -> what other programs read: annotations of GitHub Actions, JUnit's XML."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from tsformers.reading.failure import Failure
from tsformers.reading.run import Result

_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def github(results: Sequence[Result]) -> Iterator[str]:
    """One ``::error`` a failure, which GitHub shows beside the line of the page.

    The file is the page's path as given, which GitHub takes to be relative to the repository.
    """
    for result in results:
        for failure in result.failures:
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


def junit(results: Sequence[Result], when: datetime | None = None) -> str:
    """A test case a page. It holds one ``failure``, since some readers take no more, with every place in its text."""
    seconds = f"{sum(result.reading.seconds for result in results):.3f}"
    red = sum(bool(result.failures) for result in results)
    skipped = sum(not result.page.front.checked and not result.failures for result in results)
    numbers = {"tests": str(len(results)), "failures": str(red), "errors": "0"}
    root = ET.Element("testsuites", {"name": "tsformers.reading", **numbers, "time": seconds})
    stamp = (when or datetime.now(UTC)).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S")
    more = {"skipped": str(skipped), "time": seconds, "timestamp": stamp, "hostname": "localhost"}
    suite = ET.SubElement(root, "testsuite", {"name": "pages", **numbers, **more})
    ET.SubElement(suite, "properties")
    for result in results:
        folder, _, name = result.page.path.rpartition("/")
        time = f"{result.reading.seconds:.3f}"
        classname = _xml(folder.replace("/", ".") or "pages")
        case = ET.SubElement(suite, "testcase", {"name": _xml(name), "classname": classname, "time": time})
        if result.failures:
            first, others = result.failures[0], len(result.failures) - 1
            message = f"{first}" + (f"（另有 {others} 处）" if others else "")
            failure = ET.SubElement(case, "failure", {"message": _xml(message), "type": first.kind})
            failure.text = _xml("\n".join(_place(failure) for failure in result.failures))
        elif not result.page.front.checked:
            ET.SubElement(case, "skipped", {"message": _xml(result.page.front.why)})
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
