"""A page writes no file, opens no socket, starts no process; what it tries is said once, at its place."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.reading.checking import MIXER, block, quoted
from tests.reading.processes import run, said, write

ROOT = Path(__file__).resolve().parents[2]
# What is refused: the code of a block, the row (from 0) that tries it, and a word that the message has.
REFUSED = {
    "open": ("a = 1\nopen('out.txt', 'w')", 1, "out.txt"),
    "append": ("open(b'out.txt', 'ab')", 0, "out.txt"),
    "update": ("import pathlib\nopen(pathlib.Path('out.txt'), 'r+')", 1, "out.txt"),
    "os_open": ("import os\nos.open('out.txt', os.O_CREAT | os.O_WRONLY)", 1, "out.txt"),
    "write_text": ("from pathlib import Path\nPath('out.txt').write_text('a')", 1, "out.txt"),
    "absolute": ("open('/tmp/tsformers-out.txt', 'w')", 0, "/tmp/tsformers-out.txt"),
    "mkdir": ("import os\nos.mkdir('a')", 1, "os.mkdir"),
    "mkfifo": ("import os\nos.mkfifo('a')", 1, "写文件"),
    "remove": ("import os\nos.remove('/tmp/none')", 1, "os.remove"),
    "rename": ("import os\nos.rename('/tmp/none', '/tmp/nothing')", 1, "os.rename"),
    "temporary": ("import tempfile\ntempfile.TemporaryDirectory()", 1, "改动文件"),
    "named": ("import tempfile\ntempfile.NamedTemporaryFile()", 1, "写文件"),
    "sqlite": ("import sqlite3\nsqlite3.connect('a.db')", 1, "sqlite3"),
    "torch_save": ("import torch\ntorch.save(torch.ones(1), 'a.pt')", 1, "a.pt"),
    "torch_save_path": ("import pathlib, torch\ntorch.save(torch.ones(1), f=pathlib.Path('a.pt'))", 1, "a.pt"),
    "torch_map": ("import torch\ntorch.from_file('a.bin', shared=True, size=4)", 1, "a.bin"),
    "numpy": ("import numpy\nnumpy.save('a.npy', numpy.ones(1))", 1, "a.npy"),
    "safetensors": (
        "import safetensors.torch, torch\nsafetensors.torch.save_file({'a': torch.ones(1)}, 'a.safetensors')",
        1,
        "a.safetensors",
    ),
    "socket": ("import socket\nsocket.socket()", 1, "网络"),
    "urlopen": ("import urllib.request\nurllib.request.urlopen('http://127.0.0.1:9')", 1, "网络"),
    "name": ("import socket\nsocket.gethostbyname('localhost')", 1, "网络"),
    "subprocess": ("import subprocess\nsubprocess.run(['true'])", 1, "进程"),
    "system": ("import os\nos.system('true')", 1, "进程"),
    "fork": ("import os\nos.fork()", 1, "进程"),
    "exec": ("import os\nos.execv('/bin/true', ['true'])", 1, "进程"),
    "spawn": ("import multiprocessing as m\nm.get_context('spawn').Process(target=print).start()", 1, "进程"),
    "forked": ("import multiprocessing as m\nm.get_context('fork').Process(target=print).start()", 1, "进程"),
    "kill_parent": ("import os\nos.kill(os.getppid(), 0)", 1, "进程"),
}  # fmt: skip
ALLOWED = {
    "read": "import json, os\nprint(open(json.__file__).readline()[:3], os.listdir())",
    "null": "import os\nopen(os.devnull, 'w').write('a')",
    "import": "import colorsys, csv, sqlite3\nsqlite3.connect(':memory:').execute('create table a (b)')",
    "memory": "import io, torch\nfile = io.BytesIO()\ntorch.save(torch.ones(1), file)\nprint(len(file.getvalue()) > 0)",
    "there": "import os\nos.makedirs('.', exist_ok=True)\nos.makedirs(os.getcwd(), exist_ok=True)",
    "thread": "import threading\nt = threading.Thread(target=print)\nt.start()\nt.join()",
    "asyncio": "import asyncio\nasync def f():\n    return 1\nprint(asyncio.run(f()))",
    "optimiser": "import torch\nw = torch.ones(2, requires_grad=True)\no = torch.optim.Adam([w])\nw.sum().backward()\no.step()",
    "threads": "import torch\ntorch.set_num_threads(2)\nprint(torch.ones(300, 300) @ torch.ones(300, 300))",
    "script": "import torch\nprint(torch.jit.trace(torch.nn.Linear(2, 2), torch.ones(1, 2))(torch.ones(1, 2)).shape)",
    "compile": "import torch\nf = torch.compile(lambda a: a + 1, backend='eager')\nprint(f(torch.ones(2)))",
    "loader": "from torch.utils.data import DataLoader\nprint(list(DataLoader([1, 2])))",
}


@pytest.fixture(scope="module", autouse=True)
def at_the_root():
    before = os.getcwd()
    os.chdir(ROOT)
    yield
    os.chdir(before)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Every page at once: each refusal plain, and with its exception swallowed; what is allowed."""
    texts = {f"plain_{name}.md": "文。\n\n" + block(code) for name, (code, _, _) in REFUSED.items()}
    for name, (code, _, _) in REFUSED.items():
        rows = "\n".join(f"    {row}" for row in code.split("\n"))
        texts[f"swallowed_{name}.md"] = block(f"try:\n{rows}\nexcept BaseException:\n    pass")
    texts |= {f"allowed_{name}.md": block(code) for name, code in ALLOWED.items()}
    folder = tmp_path_factory.mktemp("hermetic")
    found = run(folder, texts, time_limit=30)
    assert sorted(path.name for path in folder.iterdir()) == sorted(texts)
    return found


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_page_may_not_do_is_said_once_at_its_line(results, name):
    code, row, word = REFUSED[name]
    (failure,) = results[f"plain_{name}"].failures
    assert (failure.line, failure.kind) == (4 + row, "hermetic")
    assert failure.claim == code.split("\n")[row] and word in failure.message
    assert failure.column <= len(code.split("\n")[row])


@pytest.mark.parametrize("name", REFUSED)
def test_swallowing_the_exception_does_not_help(results, name):
    _, row, word = REFUSED[name]
    failures = results[f"swallowed_{name}"].failures
    assert [(failure.line, failure.kind) for failure in failures] == [(3 + row, "hermetic")]
    assert word in failures[0].message


@pytest.mark.parametrize("name", ALLOWED)
def test_reading_importing_and_computing_are_allowed(results, name):
    assert results[f"allowed_{name}"].failures == []


def test_nothing_was_written(results):
    assert not os.path.exists("/tmp/tsformers-out.txt")


def test_the_column_is_that_of_the_call(tmp_path):
    text = (
        block("甲 = '汉'; print(open('a', 'w'))") + "> ```python exec=\"1\"\n> if True:\n>     open('b', 'w')\n> ```\n"
    )
    found = run(tmp_path, {"a.md": text})["a"]
    rows = text.split("\n")
    assert said(found) == [(2, rows[1].index("open") + 1, "hermetic"), (7, rows[6].index("open") + 1, "hermetic")]


def test_a_function_of_an_earlier_block_is_refused_at_its_own_line(tmp_path):
    text = block("def f():\n    open('a', 'w')") + block("f()\n")
    assert said(run(tmp_path, {"a.md": text})["a"]) == [(3, 5, "hermetic")]


def test_an_exception_made_of_a_refusal_is_the_same_cause(tmp_path):
    code = "try:\n    open('a', 'w')\nexcept OSError as error:\n    raise RuntimeError('no file') from error"
    assert said(run(tmp_path, {"a.md": block(code)})["a"]) == [(3, 5, "hermetic")]


def test_a_loop_that_tries_again_and_again_is_said_once(tmp_path):
    code = "for k in range(50):\n    try:\n        open(f'a{k}', 'w')\n    except OSError:\n        pass"
    assert said(run(tmp_path, {"a.md": block(code)})["a"]) == [(4, 9, "hermetic")]


def test_an_example_a_claim_and_what_follows(tmp_path):
    text = MIXER + "```pycon\n>>> a = 1\n>>> a; open('a', 'w')\n```\n\n" + "`open('b', 'w') is x`，`x (9, 9, 9)`\n"
    found = run(tmp_path, {"a.md": text})["a"]
    assert said(found) == [
        (7, 8, "hermetic"),
        (10, 2, "hermetic"),
        (10, text.split("\n")[9].index("x (9") + 4, "claim"),
    ]


def test_what_is_written_through_c_is_found(tmp_path):
    code = "import ctypes\nlibc = ctypes.CDLL(None)\nprint(libc.creat(b'left', 0o600) > 2)"
    (failure,) = run(tmp_path, {"a.md": block(code) + block("a = 1")})["a"].failures
    assert (failure.line, failure.kind) == (1, "hermetic") and "left" in failure.message


def test_c_cannot_write_a_byte(tmp_path):
    target = tmp_path / "outside.bin"
    code = f"import ctypes\nlibc = ctypes.CDLL(None)\nfd = libc.creat({bytes(target)!r}, 0o600)\nprint(libc.write(fd, b'a', 1))"
    found = run(tmp_path, {"a.md": block(code)})["a"]
    assert [output.text for output in found.reading.outputs.values()] == ["-1\n"]
    assert target.stat().st_size == 0


TOYS = """
from types import SimpleNamespace
{imported}

def double(n=2):
    m = n * 2
    return m

def toy():
    {made}
    return SimpleNamespace(call=double, args=(), kwargs={{}}, sizes={{"k": 2}}, axes={{}})
"""
READS = "---\ntoy: MODULE:toy\nreads: [MODULE.double]\n---\n`n = 3`\n"


@pytest.mark.parametrize(
    ("imported", "made"),
    [
        ("open('a', 'w')", ""),
        ("", "open('a', 'w')"),
        ("try:\n    open('a', 'w')\nexcept OSError:\n    pass", ""),
        ("", "import os; os.system('true')"),
    ],
)
def test_a_toy_runs_under_the_same_guard(tmp_path, monkeypatch, imported, made):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, {"toys_here.py": TOYS.format(imported=imported, made=made or "pass")})
    found = run(tmp_path, {"a.md": READS.replace("MODULE", "toys_here")})["a"]
    assert [item for item in said(found) if item[2] != "claim"] == [(2, 6, "hermetic")]
    assert ("claim" in [kind for _, _, kind in said(found)]) == imported.startswith("try")


def test_no_byte_code_is_written_and_stale_byte_code_is_not_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    import importlib.util
    import py_compile

    write(tmp_path, {"stale.py": "value = 1\n"})
    compiled = importlib.util.cache_from_source(str(tmp_path / "stale.py"))
    py_compile.compile(str(tmp_path / "stale.py"), cfile=compiled)
    before = (tmp_path / "stale.py").stat()
    write(tmp_path, {"stale.py": "value = 2\n", "fresh.py": "value = 3\n"})
    os.utime(tmp_path / "stale.py", ns=(before.st_atime_ns, before.st_mtime_ns))
    found = run(tmp_path, {"a.md": block("import fresh, stale\nprint(stale.value, fresh.value)")})["a"]
    assert [output.text for output in found.reading.outputs.values()] == ["2 3\n"]
    assert [path.name for path in Path(compiled).parent.iterdir()] == [Path(compiled).name]


def test_the_state_of_the_layer_is_as_without_the_guard(tmp_path):
    text = MIXER + quoted("y = x = self.norm(x)", "`y is x`，`x (B, L, d_model)`")
    assert run(tmp_path, {"a.md": text})["a"].failures == []
