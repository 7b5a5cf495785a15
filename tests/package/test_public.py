"""The public face: lazy, complete, documented."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import tsformers

ROOT = Path(__file__).parents[2]


def test_import_loads_no_torch() -> None:
    asked = "print('torch' in sys.modules)"
    program = f"import sys, tsformers; dir(tsformers); {asked}; tsformers.PatchTST; {asked}"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]


@pytest.mark.parametrize("name", tsformers.__all__)
def test_every_public_name_is_there_and_documented(name: str) -> None:
    value = getattr(tsformers, name)
    assert name in dir(tsformers)
    if callable(value):
        assert value.__doc__
        assert value.__name__ == name


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        tsformers.Nothing  # noqa: B018


def test_the_version_is_that_of_the_distribution() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert tsformers.__version__ == project["version"]


def test_the_stub_names_what_the_package_gives() -> None:
    tree = ast.parse((ROOT / "tsformers" / "__init__.pyi").read_text(encoding="utf-8"))
    homes = {
        alias.asname: node.module for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert homes == {name: f"tsformers.{home}" for name, home in tsformers._HOME.items()}
    assert set(tsformers.__all__) == {*homes, "__version__"}


def test_the_vocabulary_names_each_axis_once() -> None:
    names = [axis.name for axis in tsformers.AXES]
    assert len(set(names)) == len(names)
    for axis in tsformers.AXES:
        assert axis.chinese and axis.english and axis.unit and axis.meaning, axis.name
        assert {model for model, _ in axis.papers} <= {"PatchTST", "iTransformer", "Informer"}


def test_shapes_in_the_signatures_hold() -> None:
    """The other tests again in a process of their own, where every call checks its jaxtyping annotations."""
    here = Path(__file__).parent
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-x", "-W", "error", "-p", "no:cacheprovider"),
            "--jaxtyping-packages=tsformers.layers,tsformers.models,tsformers.checkpoint,beartype.beartype",
            *(
                str(here / name)
                for name in (
                    "test_parity.py",
                    "test_oracles.py",
                    "test_tasks.py",
                    "test_checkpoint.py",
                    "under_hook.py",
                )
            ),
            f"{here / 'test_toys.py'}::test_axis_formulas_hold_on_the_tensors",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
