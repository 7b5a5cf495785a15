"""Who may import whom: what is read never knows that it is read, and reading it knows no model by name."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "tsformers"

TORCH = frozenset({"torch", "jaxtyping"})
PURE = frozenset({"markdown", "math_core", "mermaid_render", "pygments", "pymdownx", "selectolax", "yaml"})
HOSTS = frozenset({"jinja2", "markdown_exec", "mkdocs", "watchdog"})

# Modules of reading that run the code of a page, and those that speak to a host. Every other one is plain text work.
RUNNERS = frozenset(
    {
        "alike",
        "blocks",
        "calls",
        "children",
        "effect",
        "overview",
        "classify",
        "comment_text",
        "comments",
        "draft",
        "evaluate",
        "family",
        "hermetic",
        "moment",
        "position",
        "prepare",
        "process",
        "run",
        "snapshot",
        "steps",
        "toys",
        "trace",
    }
    | {"walk", "warm", "watch"}
)
ADAPTERS = frozenset(
    {"__main__", "commands", "fix", "formats", "mkdocs", "mutate", "preview", "report", "shards", "source_mutation"}
)


@dataclass(frozen=True)
class Room:
    """``outside``: top-level packages beside the standard library; ``inside``: prefixes of our own modules."""

    name: str
    outside: frozenset[str]
    inside: tuple[str, ...]


def reading_modules(*names: str) -> tuple[str, ...]:
    return tuple(f"tsformers.reading.{name}" for name in sorted(names))


def room(module: str) -> Room:
    """The room of ``module``, a dotted name below ``tsformers``.

    Raises:
        LookupError: the module belongs to no room.
    """
    parts = module.split(".")[1:]
    match parts:
        case []:
            return Room("package", frozenset(), ())
        case ["axes"]:
            return Room("axes", frozenset(), ())
        case ["layers", *_]:
            return Room("layers", TORCH, ("tsformers.axes", "tsformers.layers"))
        case ["models"]:
            return Room("models", frozenset(), ())
        case ["models", "create"]:
            return Room("models: by name", TORCH, ("tsformers.models",))
        case ["checkpoint"]:
            return Room("checkpoint", TORCH | {"safetensors"}, ("tsformers.axes", "tsformers.layers"))
        case ["models", *_] | ["training"]:
            # models/task.py is no model: the tasks that every model of the papers can be asked for.
            return Room("models", TORCH, ("tsformers.axes", "tsformers.layers", "tsformers.models.task"))
        case ["toy"]:
            return Room("toy", TORCH, ("tsformers.axes", "tsformers.models"))
        case ["toy_tasks"]:
            return Room("toy", TORCH, ("tsformers.axes", "tsformers.models", "tsformers.toy"))
        case ["toy_by_hand"]:
            return Room("toy", TORCH, ("tsformers.axes", "tsformers.layers", "tsformers.toy"))
        case ["toy_training"]:
            return Room("toy", TORCH, ("tsformers.axes", "tsformers.models", "tsformers.toy", "tsformers.training"))
        case ["reading", *rest]:
            return reading_room(rest[0] if rest else "")
    raise LookupError(f"{module} belongs to no room")


def reading_room(name: str) -> Room:
    if name in ADAPTERS:
        return Room("reading: adapters", TORCH | PURE | HOSTS, ("tsformers.axes", "tsformers.reading"))
    if name in RUNNERS:
        return Room("reading: runners", TORCH | PURE, ("tsformers.axes", "tsformers.reading"))
    return Room("reading", PURE, ("tsformers.axes", "tsformers.reading"))


def imports(source: str, module: str, *, is_package: bool) -> Iterator[str]:
    """Dotted names imported anywhere in ``source``, also inside functions; relative ones made absolute."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = module.split(".") if is_package else module.split(".")[:-1]
                parts = parts[: len(parts) - node.level + 1]
                base = ".".join([*parts, *([node.module] if node.module else [])])
            yield from (f"{base}.{alias.name}" for alias in node.names)


def within(name: str, prefix: str) -> bool:
    return name == prefix or name.startswith(prefix + ".")


def forbidden(source: str, module: str, *, is_package: bool = False) -> list[str]:
    """What ``module`` imports although its room does not allow it."""
    here = room(module)
    wrong = []
    for name in imports(source, module, is_package=is_package):
        top = name.partition(".")[0]
        if top == "tsformers":
            allowed = any(within(name, prefix) for prefix in here.inside)
            if here.name == "reading":
                parts = name.split(".")
                allowed = allowed and not (len(parts) > 2 and parts[1] == "reading" and parts[2] in RUNNERS | ADAPTERS)
            elif here.name == "reading: runners":
                allowed = allowed and not any(within(name, prefix) for prefix in reading_modules(*ADAPTERS))
        else:
            allowed = top in sys.stdlib_module_names or top in here.outside
        if not allowed:
            wrong.append(name)
    return wrong


def modules() -> list[tuple[str, Path]]:
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found.append((".".join(parts[:-1] if parts[-1] == "__init__" else parts), path))
    return found


@pytest.mark.parametrize(("module", "path"), modules(), ids=[module for module, _ in modules()])
def test_a_module_imports_only_what_its_room_allows(module: str, path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    assert forbidden(source, module, is_package=path.name == "__init__.py") == []


@pytest.mark.parametrize(
    ("module", "source", "wrong"),
    [
        ("tsformers.axes", "import torch", ["torch"]),
        ("tsformers.layers.encoder", "from tsformers.models import patchtst", ["tsformers.models.patchtst"]),
        ("tsformers.layers.encoder", "from .attention import FullAttention", []),
        ("tsformers.models.patchtst", "from ..layers.encoder import Encoder", []),
        ("tsformers.models.patchtst", "from . import informer", ["tsformers.models.informer"]),
        ("tsformers.models.patchtst", "def f():\n    import tsformers.reading", ["tsformers.reading"]),
        ("tsformers.toy", "import tsformers.reading.run", ["tsformers.reading.run"]),
        ("tsformers.reading.page", "import re, yaml, torch.nn", ["torch.nn"]),
        ("tsformers.reading.claims", "from tsformers.reading.trace import trace", ["tsformers.reading.trace.trace"]),
        ("tsformers.reading.claims", "from tsformers.reading import trace", ["tsformers.reading.trace"]),
        ("tsformers.reading.trace", "import torch, mkdocs", ["mkdocs"]),
        ("tsformers.reading.trace", "from tsformers.reading.mkdocs import P", ["tsformers.reading.mkdocs.P"]),
        ("tsformers.reading.mkdocs", "import mkdocs.plugins\nfrom tsformers import toy", ["tsformers.toy"]),
        ("tsformers.training", "import numpy", ["numpy"]),
    ],
)
def test_the_rule_catches(module: str, source: str, wrong: list[str]) -> None:
    assert forbidden(source, module) == wrong


def test_a_module_of_no_room_is_an_error() -> None:
    with pytest.raises(LookupError, match="helpers"):
        room("tsformers.helpers")


def docstrings(tree: ast.Module) -> set[int]:
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                found.add(id(first.value))
    return found


@pytest.mark.parametrize("path", sorted((PACKAGE / "reading").rglob("*.py")), ids=lambda path: path.name)
def test_reading_names_no_model(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped = docstrings(tree)
    texts = [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and id(n) not in skipped]
    models = ("patchtst", "itransformer", "informer")
    assert [t for t in texts if isinstance(t, str) and any(model in t.lower() for model in models)] == []


def imported_after(statement: str) -> set[str]:
    """Top-level packages in a fresh interpreter after ``statement``, which may end in SystemExit(0)."""
    program = (
        "import sys\n"
        f"try:\n    {statement}\n"
        "except SystemExit as stop:\n    assert not stop.code, stop.code\n"
        "print('\\n' + ' '.join({name.partition('.')[0] for name in sys.modules}))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.splitlines()[-1].split())


def test_help_imports_no_torch() -> None:
    call = "import runpy; sys.argv[1:] = ['--help']; runpy.run_module('tsformers.reading', run_name='__main__')"
    loaded = imported_after(call)
    assert "tsformers" in loaded
    assert not loaded & {"torch", "mkdocs"}


def test_the_package_itself_imports_nothing_heavy() -> None:
    loaded = imported_after("import tsformers")
    assert "tsformers" in loaded
    assert not loaded & {"torch", "mkdocs", "yaml"}
