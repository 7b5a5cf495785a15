"""A check over several machines: no page twice, none left out, and the merged report is the single one."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from pathlib import Path

import pytest

from tests.reading.checking import MIXER, WINDING, block, quoted
from tsformers.reading.__main__ import main
from tsformers.reading.commands import GREEN, RED, USAGE
from tsformers.reading.shards import MergeError, Shard, merged, positions, shard

# The first explains a statement that the toy of the second executes as well; the third is red, the fourth left out.
PAGES = {
    "a.md": MIXER + quoted("B, L, D = x.shape") + "见 [乙](sub/b.md#二)。\n",
    "sub/b.md": MIXER + "## 二\n\n`x (2, 3, 4)`，`x (2, 3, 5)`。\n",
    "sub/c.md": WINDING + "长" * 300 + "\n\n" + quoted("y = x * 1") + block("1 / 0"),
    "d.md": "---\nchecked: false\nwhy: 草稿\n---\n",
    "e.md": MIXER + "见 [丙](sub/c.md#没有)，`self.rounds = 2`。\n",
    "f.md": "文\n",
}


@pytest.fixture
def folder(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "path", [os.getcwd(), *sys.path])
    monkeypatch.chdir(tmp_path)
    for name, text in PAGES.items():
        file = tmp_path / "pages" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return tmp_path


def plain(report):
    """A report without what differs from run to run."""
    return {**report, "pages": [{**page, "seconds": 0, "reused": False} for page in report["pages"]]}


def timeless(xml):
    return re.sub(r' (time|timestamp)="[^"]*"', "", xml)


def read(name):
    return json.loads(Path(name).read_text(encoding="utf-8"))


@pytest.mark.parametrize("of", [1, 2, 7])
def test_the_merged_report_is_that_of_a_single_check(folder, of, capsys):
    """Also where there are more shards than pages; failures, JUnit's XML, dead links and each model's coverage too."""
    assert main(["check", "pages", "--json", "whole.json", "--junit", "whole.xml"]) == RED
    said = capsys.readouterr().out.split("\n")
    names = []
    for number in range(1, of + 1):
        names.append(f"{number}.json")
        status = main(["check", "pages", "--shard", f"{number}/{of}", "--json", names[-1]])
        report = read(names[-1])
        assert status == (RED if report["totals"]["failures"] else GREEN)
    capsys.readouterr()
    assert main(["merge", *reversed(names), "--json", "merged.json", "--junit", "merged.xml"]) == RED
    whole = read("whole.json")
    assert whole["totals"]["failures"] > 2 and whole["totals"]["unchecked"] == 1
    assert {failure["kind"] for page in whole["pages"] for failure in page["failures"]} >= {"claim", "exec", "link"}
    assert len(whole["totals"]["models"]) == 2 and all(m["explained"] for m in whole["totals"]["models"].values())
    assert json.dumps(plain(read("merged.json")), indent=1) == json.dumps(plain(whole), indent=1)
    assert timeless(Path("merged.xml").read_text("utf-8")) == timeless(Path("whole.xml").read_text("utf-8"))
    assert capsys.readouterr().out.split("\n")[-2:] == said[-2:]


def test_a_model_is_explained_across_shards(folder):
    """What one shard's page explains counts for a toy that only another shard's page runs."""
    for number in (1, 2):
        main(["check", "pages/a.md", "pages/sub/b.md", "--shard", f"{number}/2", "--json", f"{number}.json"])
    parts = [read("1.json"), read("2.json")]
    assert sorted(model["explained"] for part in parts for model in part["totals"]["models"].values()) == [0, 1]
    (model,) = merged({"1": parts[0], "2": parts[1]})["totals"]["models"].values()
    assert model["explained"] == 1


@pytest.mark.parametrize(("pages", "of"), [(1, 3), (10, 2), (240, 7)])
def test_every_page_belongs_to_one_shard(tmp_path, pages, of):
    files = [tmp_path / f"{number}.md" for number in range(pages)]
    for number, file in enumerate(files):
        file.write_bytes(b"x" * (number * 7919 % 1000 + 1))
    parts = [positions(files, Shard(number, of)) for number in range(1, of + 1)]
    assert sorted(index for part in parts for index in part) == list(range(pages))
    assert all(part == sorted(part) for part in parts)
    loads = [sum(files[index].stat().st_size for index in part) for part in parts]
    assert max(loads) - min(loads) <= max(file.stat().st_size for file in files)


@pytest.mark.parametrize("text", ["0/2", "3/2", "1", "1/0", "a/b", "-1/2", "1/2/3", "１/２"])
def test_what_is_no_shard_is_refused(text):
    with pytest.raises(argparse.ArgumentTypeError, match=re.escape(text)):
        shard(text)


@pytest.fixture
def parts(folder):
    for number in (1, 2):
        main(["check", "pages/d.md", "pages/f.md", "--shard", f"{number}/2", "--json", f"{number}.json"])
    return {"1.json": read("1.json"), "2.json": read("2.json")}


def changed(report, **values):
    return {**report, "shard": {**report["shard"], **values}}


def test_reports_that_do_not_belong_together_are_refused(parts):
    one, two = parts["1.json"], parts["2.json"]
    assert merged(parts)["totals"]["pages"] == 2
    other = {**two, "versions": {**two["versions"], "tsformers": "0"}}
    single = {key: value for key, value in one.items() if key != "shard"}
    for wrong, said in [
        ({"1": one}, "shard 2/2 is missing"),
        ({"1": one, "2": two, "3": one}, "3: shard 1/2 is there twice"),
        ({"1": one, "2": single}, "2 is not the report"),
        ({"1": one, "2": [1]}, "2 is not the report"),
        ({"1": one, "2": {**two, "version": 0}}, "2 is not the report"),
        ({"1": one, "2": changed(two, pages=3)}, "different checks"),
        ({"1": one, "2": changed(two, of=3)}, "different checks"),
        ({"1": one, "2": other}, "different tsformers"),
        ({"1": one, "2": changed(two, positions=one["shard"]["positions"])}, "do not add up"),
        ({"1": one, "2": {**two, "pages": one["pages"]}}, "do not add up"),
    ]:
        with pytest.raises(MergeError, match=said):
            merged(wrong)


def test_the_command_refuses_too(parts, capsys):
    assert main(["merge", "1.json"]) == USAGE
    assert "shard 2/2 is missing" in capsys.readouterr().err
    Path("broken.json").write_text("{", encoding="utf-8")
    for name in ("broken.json", "none.json"):
        assert main(["merge", "1.json", name]) == USAGE
        assert capsys.readouterr().err.startswith(f"{name}: ")
    with pytest.raises(SystemExit) as end:
        main(["check", "pages", "--shard", "1/2", "-x"])
    assert end.value.code == USAGE
