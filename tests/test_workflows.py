"""The files for the hosts are valid, and what SECURITY.md promises of them holds: a stranger's page meets no secret."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
ACTIONS = sorted((ROOT / ".github/actions").glob("*/action.yml"))
SCHEMAS = {
    "github-workflows": WORKFLOWS,
    "github-actions": ACTIONS,
    "github-issue-config": [ROOT / ".github/ISSUE_TEMPLATE/config.yml"],
    "github-issue-forms": [
        path for path in sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml")) if path.stem != "config"
    ],
    "dependabot": [ROOT / ".github/dependabot.yml"],
    "readthedocs": [ROOT / ".readthedocs.yaml"],
    "citation-file-format": [ROOT / "CITATION.cff"],
}
# What may stand in an expression of a command or of an input: nothing that the author of a pull request writes.
TRUSTED = re.compile(
    r"matrix\.[a-z]+|strategy\.job-index|inputs\.(?:python-version|cache)|toJSON\(needs\)|!cancelled\(\)"
)


def load(path: Path) -> dict[Any, Any]:
    loaded = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert isinstance(loaded, dict)
    return loaded


def validated(schema: str, *paths: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", *map(str, paths)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("schema", SCHEMAS)
def test_each_file_is_what_its_host_expects(schema: str) -> None:
    assert SCHEMAS[schema]
    done = validated(schema, *SCHEMAS[schema])
    assert done.returncode == 0, done.stdout


def test_a_file_that_is_not_is_found(tmp_path: Path) -> None:
    wrong = tmp_path / "check.yml"
    wrong.write_text(WORKFLOWS[0].read_text(encoding="utf-8").replace("runs-on:", "runs_on:", 1), encoding="utf-8")
    assert validated("github-workflows", wrong).returncode == 1


def jobs() -> Iterator[tuple[str, dict[str, Any]]]:
    for path in WORKFLOWS:
        yield from load(path)["jobs"].items()


def steps(job: dict[str, Any]) -> list[dict[str, Any]]:
    """The steps of a job, those of our own actions in their place."""
    found = []
    for step in job["steps"]:
        own = step.get("uses", "").startswith("./")
        found += load(ROOT / step["uses"] / "action.yml")["runs"]["steps"] if own else [step]
    return found


def runs_the_project(job: dict[str, Any]) -> bool:
    return any(step.get("uses", "").startswith("actions/checkout@") for step in job["steps"])


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_what_starts_a_workflow_gives_it_no_secret(path: Path) -> None:
    workflow = load(path)
    assert workflow[True].keys() <= {"pull_request", "push", "schedule"}  # YAML reads the key ``on`` as true
    assert workflow["permissions"] == {}
    assert "secrets" not in path.read_text(encoding="utf-8")
    assert "GITHUB_TOKEN" not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("job", [pytest.param(job, id=name) for name, job in jobs()])
def test_a_job_that_runs_the_project_can_only_read(job: dict[str, Any]) -> None:
    allowed = {"contents": "read"} if runs_the_project(job) else {"id-token": "write", "pages": "write"}
    assert job["permissions"].items() <= allowed.items()
    assert "uses" not in job and job["timeout-minutes"] <= 60
    for step in job["steps"]:
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"] == {"persist-credentials": False}


def test_one_job_writes_and_it_runs_nothing() -> None:
    writing = {name: job for name, job in jobs() if "write" in job["permissions"].values()}
    assert writing.keys() == {"deploy"}
    (step,) = writing["deploy"]["steps"]
    assert "run" not in step and step["uses"].startswith("actions/deploy-pages@")


def test_what_is_published_comes_from_main_alone_and_reads_no_cache() -> None:
    found = dict(jobs())
    for name in ("build", "deploy"):
        assert found[name]["if"] == "${{ github.event_name == 'push' && github.ref == 'refs/heads/main' }}"
    assert (found["deploy"]["needs"], found["build"]["needs"]) == (["build"], ["required"])
    (python,) = (step for step in found["build"]["steps"] if step.get("uses") == "./.github/actions/nox")
    assert python["with"] == {"cache": ""}
    for step in steps(found["build"]):
        assert not re.match(r"actions/(?:cache|download-artifact)", step.get("uses", ""))
    commands = [step["run"] for step in found["build"]["steps"] if "run" in step]
    assert commands == ["nox -s docs"]  # the strict build, which runs every page anew: see test_adapter.py


def test_nothing_that_publishes_asks_for_records() -> None:
    """mkdocs.yml names the variable that asks; who builds for others does not set it."""
    asked = "READING_REUSE"
    assert f"reuse: !ENV [{asked}, false]" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    builds = [*WORKFLOWS, *ACTIONS, ROOT / ".readthedocs.yaml", ROOT / "Containerfile", ROOT / ".ci/run"]
    assert [path.name for path in builds if asked in path.read_text(encoding="utf-8")] == []


def test_every_action_is_pinned_to_a_commit() -> None:
    """A tag can be moved. The same action has the same commit everywhere, and the comment says its version."""
    pinned: dict[str, set[str]] = {}
    for path in [*WORKFLOWS, *ACTIONS]:
        for used in re.findall(r"^ *(?:- )?uses: (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE):
            if used.startswith("./"):
                assert (ROOT / used / "action.yml").is_file()
                continue
            match = re.fullmatch(r"(actions/[a-z-]+)@([0-9a-f]{40}  # v\d+\.\d+\.\d+)", used)
            assert match, used
            pinned.setdefault(match[1], set()).add(match[2])
    assert len(pinned) > 4 and all(len(versions) == 1 for versions in pinned.values()), pinned


@pytest.mark.parametrize("path", [*WORKFLOWS, *ACTIONS], ids=lambda path: path.parent.name + path.stem)
def test_no_command_holds_the_words_of_a_stranger(path: Path) -> None:
    """A title or the name of a branch that stands in a command is run as one."""
    loaded = load(path)
    lists = [job["steps"] for job in loaded["jobs"].values()] if "jobs" in loaded else [loaded["runs"]["steps"]]
    for step in (step for found in lists for step in found):
        for text in [step.get("run", ""), *map(str, {**step.get("with", {}), **step.get("env", {})}.values())]:
            assert [one for one in re.findall(r"\$\{\{\s*(.*?)\s*\}\}", text) if not TRUSTED.fullmatch(one)] == []


def test_the_required_job_waits_for_every_check_and_fails_with_any() -> None:
    found = dict(jobs())
    required = found["required"]
    assert set(required["needs"]) == found.keys() - {"required", "build", "deploy"}
    assert required["if"] == "${{ always() }}"  # a job that is skipped counts as passed
    (step,) = required["steps"]
    assert "unique" in step["run"] and "= success" in step["run"] and step["env"] == {"RESULTS": "${{ toJSON(needs) }}"}


def test_the_jobs_are_sessions_of_nox() -> None:
    sessions = set(re.findall(r"^def (\w+)\(session", (ROOT / "noxfile.py").read_text(encoding="utf-8"), re.MULTILINE))
    commands = [step["run"] for _, job in jobs() for step in job["steps"] if "run" in step]
    named = {name for command in commands for name in re.findall(r"\bnox -s \"?(\w+)", command)}
    assert named <= sessions
    assert named >= {"lint", "types", "tests", "versions", "package", "reading", "docs", "browser"}


def test_the_versions_that_are_promised_are_run() -> None:
    matrix = dict(jobs())["versions"]["strategy"]["matrix"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert matrix["python"][0] == project["requires-python"].removeprefix(">=")
    assert matrix["torch"] == ["oldest", "newest"]


def test_the_shards_are_all_of_them() -> None:
    parts = dict(jobs())["shard"]["strategy"]["matrix"]["part"]
    assert parts == [f"{number}/{len(parts)}" for number in range(1, len(parts) + 1)]


def test_the_citation_names_this_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = load(ROOT / "CITATION.cff")
    assert (citation["version"], citation["license"]) == (project["version"], project["license"])
