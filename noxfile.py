"""Every command of the project, each in an environment of its own under ``.nox/``, with pinned versions."""

from __future__ import annotations

import hashlib
import re
import shutil
import tempfile
from pathlib import Path

import nox

nox.needs_version = ">=2024.10"
nox.options.sessions = ["tests", "docs"]
nox.options.reuse_existing_virtualenvs = True
nox.options.error_on_missing_interpreters = True

CONSTRAINTS = "constraints.txt"
AXE = "axe-core@4.14.1"  # of npm: what looks for barriers in the built pages
# One thread: the results are the same on every machine, and two builds at once do not slow each other down.
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "NO_MKDOCS_2_WARNING": "1", "PYTHONHASHSEED": "0"}


def install(session: nox.Session, *packages: str) -> None:
    """Install ``packages`` at the pinned versions, unless this environment already holds just that."""
    inputs = [Path(name).read_bytes() for name in ("pyproject.toml", CONSTRAINTS)]
    key = hashlib.sha256(b"\0".join([*inputs, *(name.encode() for name in packages)])).hexdigest()
    stamp = Path(session.virtualenv.location) / "installed.sha256"
    if stamp.exists() and stamp.read_text() == key:
        session.log("environment is up to date")
        return
    session.log("installing the pinned packages; the first time this takes a minute or two")
    session.install("-c", CONSTRAINTS, *packages)
    stamp.write_text(key)


@nox.session
def docs(session: nox.Session) -> None:
    """Build the site into ``site/``; a wrong claim, a dead link or any warning fails the build."""
    install(session, "-e", ".[docs]")
    session.run("mkdocs", "build", "--strict", *session.posargs, env=ENVIRONMENT)


@nox.session
def serve(session: nox.Session) -> None:
    """Serve the site on this machine; a page that is saved is checked and built again, with what depends on it.

    Other pages keep what they show of it, such as the title in a list, until the next start.
    """
    install(session, "-e", ".[docs]")
    session.run("mkdocs", "serve", "--no-strict", "--dirty", "--watch", "tsformers", *session.posargs, env=ENVIRONMENT)


@nox.session
def new(session: nox.Session) -> None:
    """Write the first draft of a page (``nox -s new -- informer/03C1-Layer3-DecoderLayer``), or ``-- --list``."""
    install(session, "-e", ".[docs]")
    session.run("python", "-m", "tsformers.reading", "new", *session.posargs, env=ENVIRONMENT)


@nox.session
def tests(session: nox.Session) -> None:
    """Run the tests, a worker a core; arguments after ``--`` go to pytest."""
    install(session, "-e", ".[docs,tests]")
    # Whole files go to a worker: what a file's tests share, a build of the site say, is made once.
    session.run("pytest", "--numprocesses=auto", "--dist=loadfile", *session.posargs, env=ENVIRONMENT)


@nox.session
def browser(session: nox.Session) -> None:
    """Serve the built ``site/`` by nginx as the container does, and open it in Chromium; see ``.ci/run`` for both."""
    install(session, *nox.project.load_toml("pyproject.toml")["project"]["optional-dependencies"]["browser"])
    folder = Path(session.virtualenv.location).resolve() / AXE
    if not (folder / "node_modules/axe-core/axe.min.js").is_file():
        if shutil.which("npm") is None:
            session.error("axe-core comes from npm, which is not on the PATH: apt-get install npm")
        session.run(
            "npm", "install", "--no-save", "--no-audit", "--no-fund", "--prefix", str(folder), AXE, external=True
        )
    # The built site is the subject, so neither the package nor torch is installed here.
    environment = {**ENVIRONMENT, "AXE": str(folder / "node_modules/axe-core/axe.min.js")}
    session.run("pytest", "--confcutdir=tests/browser", "tests/browser", *session.posargs, env=environment)


@nox.session
def peers(session: nox.Session) -> None:
    """Compare our layers with those of ``transformers``, which were written by others."""
    install(session, "-e", ".[peers]")
    session.run("pytest", "tests/peers", *session.posargs, env=ENVIRONMENT)


@nox.session
@nox.parametrize("torch", ["oldest", "newest"])
def versions(session: nox.Session, torch: str) -> None:
    """Run the package's own tests with the oldest or the newest PyTorch that it allows, on the Python that runs nox."""
    project = nox.project.load_toml("pyproject.toml")["project"]
    (allowed,) = (text for text in project["dependencies"] if text.startswith("torch"))
    lowest = allowed.split(",")[0].replace(">=", "~=") + ".0"
    others = Path(session.create_tmp()) / "constraints.txt"
    pins = Path(CONSTRAINTS).read_text(encoding="utf-8").splitlines()
    others.write_text("\n".join(pin for pin in pins if not pin.startswith("torch==")), encoding="utf-8")
    session.install("-c", str(others), lowest if torch == "oldest" else allowed, "-e", ".[tests]")
    session.run("python", "-c", "import sys, torch; print('Python', sys.version, 'PyTorch', torch.__version__)")
    session.run("pytest", "tests/package", "tests/properties", "tests/training", *session.posargs, env=ENVIRONMENT)


@nox.session
def package(session: nox.Session) -> None:
    """Build ``dist/``, and use the wheel as a stranger does: installed by itself, in a folder of their own."""
    install(session, *nox.project.load_toml("pyproject.toml")["project"]["optional-dependencies"]["package"])
    shutil.rmtree("dist", ignore_errors=True)
    session.run("python", "-m", "build", "--no-isolation")  # the wheel from the source that it is published with
    (wheel,) = Path("dist").resolve().glob("*.whl")
    constraints = Path(CONSTRAINTS).resolve()
    readmes = {name: Path(name).read_text(encoding="utf-8") for name in ("README.md", "README.en.md")}
    with tempfile.TemporaryDirectory() as folder, session.chdir(folder):
        for name, text in readmes.items():
            (example,) = re.findall(r"^````markdown\n(.+?)^````$", text, re.MULTILINE | re.DOTALL)
            Path(name).write_text(example, encoding="utf-8")
        session.run("python", "-m", "venv", "own")
        python = str(next(path for path in Path(folder, "own").glob("*/python*") if path.stem == "python"))
        session.run(python, "-m", "pip", "install", "--quiet", "-c", str(constraints), str(wheel), external=True)
        session.run(python, "-c", "import tsformers; print(tsformers.create_model)", external=True)
        session.run(python, "-W", "error", "-m", "tsformers.reading", "check", *readmes, external=True)


@nox.session
def compare(session: nox.Session) -> None:
    """Plant errors into a page for each tool that runs documentation; fail where README's table says otherwise."""
    install(session, "-e", ".[docs,compare]")
    session.run("python", "benchmarks/compare_tools.py", "--compare", "README.md", "README.en.md", env=ENVIRONMENT)


@nox.session
def speed(session: nox.Session) -> None:
    """Measure how long the site's build takes, with and without checking, and MyST-NB beside it (half an hour)."""
    install(session, "-e", ".[docs,speed]")
    session.run("python", "benchmarks/build.py", *(session.posargs or ["--myst", "15"]), env=ENVIRONMENT)


@nox.session
def lint(session: nox.Session) -> None:
    """Check style and formatting."""
    install(session, *nox.project.load_toml("pyproject.toml")["project"]["optional-dependencies"]["lint"])
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")


@nox.session
def types(session: nox.Session) -> None:
    """Check types."""
    install(session, "-e", ".[docs,types]")
    session.run("mypy")


@nox.session
def reading(session: nox.Session) -> None:
    """Run a command of the checker: ``nox -s reading -- check docs``."""
    install(session, "-e", ".[docs]")
    session.run("python", "-m", "tsformers.reading", *session.posargs, env=ENVIRONMENT)
