"""The project's own files agree with each other, and none of them knows the machine it was written on."""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import os
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from mkdocs.plugins import BasePlugin
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]

READMES = ("README.md", "README.en.md")
DOCUMENTS = (*READMES, "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md", "deploy/README.md")
# What a build of torch for a graphics card brings along; the pages are built with the one for the CPU.
OF_AN_ACCELERATOR = ("cuda-", "nvidia-", "triton")


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def pins() -> dict[str, str]:
    """Name to version, from constraints.txt."""
    found = {}
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            pin = re.fullmatch(r"([A-Za-z0-9][A-Za-z0-9._-]*)==([A-Za-z0-9.]+)", line)
            assert pin, f"not a plain pin: {line}"
            found[canonicalize_name(pin[1])] = pin[2]
    return found


def test_every_requirement_is_pinned_within_its_range(project: dict[str, Any]) -> None:
    pinned = pins()
    texts = [*project["dependencies"], *(text for extra in project["optional-dependencies"].values() for text in extra)]
    requirements = [Requirement(text) for text in texts]
    outside = [
        str(requirement)
        for requirement in requirements
        if requirement.name != project["name"]
        and not requirement.specifier.contains(pinned.get(canonicalize_name(requirement.name), "0"))
    ]
    assert outside == []


def test_everything_that_gets_installed_is_pinned(project: dict[str, Any]) -> None:
    """Also what our requirements require: a package that floats would change a page without a change of ours."""
    pinned = pins()
    extras = project["optional-dependencies"]
    queue = [Requirement(text) for text in [*project["dependencies"], *extras["docs"], *extras["tests"]]]
    seen: set[tuple[str, str]] = set()
    while queue:
        requirement = queue.pop()
        name = canonicalize_name(requirement.name)
        if name.startswith(OF_AN_ACCELERATOR):
            continue
        for extra in ["", *requirement.extras]:
            if (name, extra) in seen:
                continue
            seen.add((name, extra))
            if name == project["name"]:
                queue += [Requirement(text) for text in extras.get(extra, [])]
                continue
            children = map(Requirement, importlib.metadata.requires(requirement.name) or [])
            queue += [child for child in children if not child.marker or child.marker.evaluate({"extra": extra})]
    assert {name for name, _ in seen} - {*pinned, project["name"]} == set()


def test_the_commands_of_the_readme_exist() -> None:
    tree = ast.parse((ROOT / "noxfile.py").read_text(encoding="utf-8"))
    sessions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.decorator_list}
    documents = [*READMES, "CONTRIBUTING.md", "docs/index.md", "deploy/README.md", ".ci/run"]
    for name in documents:
        text = (ROOT / name).read_text(encoding="utf-8")
        named = {word for words in re.findall(r"nox -s ((?:[a-z]+ ?)+)", text) for word in words.split()}
        assert named, name
        assert named <= sessions, name
    for name in READMES:
        readme = (ROOT / name).read_text(encoding="utf-8")
        assert "\npython -m pip install nox && nox -s docs\n" in readme
        assert "\nnox -s tests\n" in readme


def test_the_two_readmes_say_the_same() -> None:
    """What needs no translation: commands, what the tools found, the quoted code, where links lead."""
    chinese, english = ((ROOT / name).read_text(encoding="utf-8") for name in READMES)
    for pattern in (r"^\| [\w-]+ \d+\.[\d.]+ \|[^\n]*$", r"^```python\n.*?^```$", r"\]\(([^)]+)\)"):
        here, there = (set(re.findall(pattern, text, re.MULTILINE | re.DOTALL)) for text in (chinese, english))
        assert here and here - {"README.en.md"} == there - {"README.md"}
    commands = [
        set(re.findall(r"^```console\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)) for text in (chinese, english)
    ]
    assert len(commands[0] & commands[1]) >= 4


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_links_of_a_document_lead_to_files(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    targets = [target for target in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in target]
    assert [target for target in targets if not (ROOT / name).parent.joinpath(target).is_file()] == []
    named = re.findall(r"`((?:tests|deploy|benchmarks|tsformers)/[\w/.-]+\.\w+)`", text)
    assert [path for path in named if not (ROOT / path).is_file()] == []


def test_the_picture_of_the_readme_is_small() -> None:
    assert (ROOT / ".github/page.png").stat().st_size < 150_000


def test_the_plugin_that_is_declared_exists(project: dict[str, Any]) -> None:
    module, _, name = project["entry-points"]["mkdocs.plugins"]["tsformers-reading"].partition(":")
    assert issubclass(getattr(importlib.import_module(module), name), BasePlugin)


def test_the_list_of_terms_explains_each_in_chinese() -> None:
    terms = yaml.safe_load((ROOT / "docs/terms.yml").read_text(encoding="utf-8"))
    assert all(isinstance(term, str) and re.search(r"[\u4e00-\u9fff]", meaning) for term, meaning in terms.items())
    assert list(terms) == sorted(terms, key=str.lower)


def test_the_script_of_the_whole_check_can_be_run() -> None:
    script = ROOT / ".ci/run"
    assert os.access(script, os.X_OK)
    subprocess.run(["bash", "-n", str(script)], check=True)


def test_no_file_knows_the_machine_it_was_written_on() -> None:
    here = re.compile(r"file://|(?<![\w.~])/(?:home|opt|root|Users|work)/\w")
    folders = ("tsformers", "docs", "tests", "benchmarks", "deploy", ".ci", ".github")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.suffix != ".pyc"]
    files += [path for path in ROOT.iterdir() if path.suffix in {".md", ".py", ".toml", ".txt", ".yml"}]
    found = []
    for path in files:
        if path.is_file() and path != Path(__file__):
            text = path.read_bytes().decode("utf-8", errors="ignore")
            found += [f"{path.relative_to(ROOT)}: {hit[0]}" for hit in here.finditer(text)]
    assert [hit for hit in found if "docs/assets/vendor" not in hit] == []
