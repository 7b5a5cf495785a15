"""Every command of the project, each in an environment of its own under ``.nox/``, with pinned versions."""

from __future__ import annotations

import hashlib
from pathlib import Path

import nox

nox.needs_version = ">=2024.10"
nox.options.sessions = ["tests", "docs"]
nox.options.reuse_existing_virtualenvs = True
nox.options.error_on_missing_interpreters = True

CONSTRAINTS = "constraints.txt"
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
def tests(session: nox.Session) -> None:
    """Run the tests, a worker a core; arguments after ``--`` go to pytest."""
    install(session, "-e", ".[docs,tests]")
    # Whole files go to a worker: what a file's tests share, a build of the site say, is made once.
    session.run("pytest", "--numprocesses=auto", "--dist=loadfile", *session.posargs, env=ENVIRONMENT)


@nox.session
def browser(session: nox.Session) -> None:
    """Serve the built ``site/`` by nginx as the container does, and open it in Chromium; see ``.ci/run`` for both."""
    install(session, *nox.project.load_toml("pyproject.toml")["project"]["optional-dependencies"]["browser"])
    # The built site is the subject, so neither the package nor torch is installed here.
    session.run("pytest", "--confcutdir=tests/browser", "tests/browser", *session.posargs, env=ENVIRONMENT)


@nox.session
def peers(session: nox.Session) -> None:
    """Compare our layers with those of ``transformers``, which were written by others."""
    install(session, "-e", ".[peers]")
    session.run("pytest", "tests/peers", *session.posargs, env=ENVIRONMENT)


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, formatting and types."""
    install(session, "-e", ".[docs,tests,browser,lint]")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")
