"""The preview: what a save checks again, and what its author sees of a red page."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.reading.checking import MIXER, block, quoted
from tsformers.reading.failure import Failure
from tsformers.reading.page import scan
from tsformers.reading.preview import Preview, standing
from tsformers.reading.red import failures_html, marks

MODULE = "VALUE = 1\n"
FIRST = block("import part\nprint(part.VALUE)") + "`part.VALUE = 1`\n"
SECOND = "# 二\n\n" + block("a = 1") + "`a = 1`\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "pyproject.toml").write_text("[tool.tsformers.reading]\n", encoding="utf-8")
    (tmp_path / "part.py").write_text(MODULE, encoding="utf-8")
    (tmp_path / "docs/一.md").write_text(FIRST, encoding="utf-8")
    (tmp_path / "docs/二.md").write_text(SECOND, encoding="utf-8")
    return tmp_path


def look(preview: Preview, folder: Path) -> tuple[dict[str, list[str]], set[str]]:
    """What is wrong with each page, by kind, and which results are new."""
    files = [(path, f"docs/{path.name}") for path in sorted((folder / "docs").glob("*.md"))]
    results, changed = preview.check(files, [folder / "docs", folder / "part.py"])
    return {result.page.path: [failure.kind for failure in result.failures] for result in results}, changed


def save(path: Path, text: str) -> None:
    """Write a file so that its time of change differs, however coarse the clock of the file system."""
    before = path.stat().st_mtime_ns
    path.write_text(text, encoding="utf-8")
    os.utime(path, ns=(before + 10**9, before + 10**9))


def test_a_save_touches_what_it_changed_and_no_more(project: Path) -> None:
    preview = Preview()
    assert look(preview, project) == ({"docs/一.md": [], "docs/二.md": []}, {"docs/一.md", "docs/二.md"})
    assert look(preview, project)[1] == set()
    save(project / "docs/二.md", SECOND + "多一句。\n")
    assert look(preview, project)[1] == {"docs/二.md"}
    save(project / "docs/二.md", SECOND + "`a = 2`\n")
    assert look(preview, project) == ({"docs/一.md": [], "docs/二.md": ["claim"]}, {"docs/二.md"})
    assert look(preview, project) == ({"docs/一.md": [], "docs/二.md": ["claim"]}, set())
    save(project / "docs/二.md", SECOND)
    assert look(preview, project) == ({"docs/一.md": [], "docs/二.md": []}, {"docs/二.md"})


def test_a_module_that_is_saved_is_told_to_the_pages_that_it_reaches(project: Path) -> None:
    preview = Preview()
    look(preview, project)
    save(project / "part.py", "VALUE = 2\n")
    assert look(preview, project) == ({"docs/一.md": ["claim"], "docs/二.md": []}, {"docs/一.md"})
    save(project / "part.py", MODULE)
    assert look(preview, project) == ({"docs/一.md": [], "docs/二.md": []}, {"docs/一.md"})


def test_a_dead_link_is_looked_at_again_when_another_page_is_saved(project: Path) -> None:
    preview = Preview()
    save(project / "docs/一.md", FIRST + "[那里](二.md#后来)\n")
    assert look(preview, project)[0]["docs/一.md"] == ["link"]
    save(project / "docs/二.md", SECOND + "## 后来\n")
    assert look(preview, project) == ({"docs/一.md": [], "docs/二.md": []}, {"docs/一.md", "docs/二.md"})


def test_a_page_that_is_new_or_gone(project: Path) -> None:
    preview = Preview()
    look(preview, project)
    (project / "docs/三.md").write_text("`b = 1`\n", encoding="utf-8")
    assert look(preview, project)[1] == {"docs/三.md"}
    (project / "docs/三.md").unlink()
    assert look(preview, project) == ({"docs/一.md": [], "docs/二.md": []}, set())


def test_what_begins_with_a_dot_is_not_looked_at(tmp_path: Path) -> None:
    for name in ("a.md", ".b", "c/d.py", "c/__pycache__/e.pyc", ".cache/f"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert sorted(Path(path).name for path in standing([tmp_path])) == ["a.md", "d.py"]
    assert standing([tmp_path / "none"]) == {}


def test_each_failure_is_marked_where_it_is() -> None:
    text = (
        MIXER
        + "# 页\n\n共 17 个，`B = 9`。\n\n"
        + quoted("B, L, D = x.shape")
        + "\n- 项\n\n  "
        + "```python\n  1\n  ```\n"
    )
    page = scan(text, "页.md")
    rows = text.split("\n")

    def at(what: str, kind: str) -> Failure:
        line = next(i for i, row in enumerate(rows) if what in row)
        return Failure("页.md", line + 1, rows[line].index(what) + 1, kind, message=f"<{kind}>")

    naked, claim, quote = at("17", "naked"), at("B = 9", "claim"), at("B, L, D", "quote")
    inside, above = at("  1", "quote"), at("toy:", "front-matter")
    found = marks(page, [naked, claim, quote, inside, above], "s0", attribute="data-k")
    assert set(found.keys) == {naked, claim, quote}  # lines of a fence in a list carry the list's prefix
    new = text
    for start, end, edit in sorted(found.edits, reverse=True):
        new = new[:start] + edit + new[end:]
    assert (
        f'共 <code class="claim tsf-red" id="{found.keys[naked]}"' in new
        and 'data-proof="7:3 naked：&lt;naked&gt;"' in new
    )
    assert f'`B = 9`{{ data-k="{found.keys[claim]}" }}' in new
    assert new.index("x.shape") < new.index(f'```tsf key="{found.keys[quote]}"') < new.index("- 项")
    assert "&lt;quote&gt;" in found.blocks[found.keys[quote]]
    listed = failures_html([naked, above], found.keys)
    assert f'<a href="#{found.keys[naked]}">' in listed and listed.count("<a ") == 1 and "2 处错误" in listed
