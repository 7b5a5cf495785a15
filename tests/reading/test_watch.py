"""What a block puts into torch, the interpreter or the engine is red at the block, and is put back."""

from __future__ import annotations

import builtins
import math
import os

import pytest
import torch
from torch.nn.modules.module import register_module_forward_hook

from tests.reading.checking import block, check, quoted
from tests.reading.processes import run, said
from tsformers.reading import evaluate
from tsformers.reading.watch import Watch

FALSE = "a = torch.ones(2).sum()\n"
PATCHES = {
    "method": "torch.Tensor.sum = lambda self: torch.tensor(7.0)",
    "function": "torch.nn.functional.softmax = lambda *a, **k: 7",
    "package": "torch.ones = torch.zeros",
    "dtype": "torch.float32 = torch.float64",
    "class": "torch.nn.Conv1d.forward = lambda self, x: x",
    "inherited": "torch.nn.Linear.__call__ = lambda self, x: x",
    "deleted": "del torch.nn.functional.relu",
    "module": "torch.nn.functional = None",
    "builtin": "import builtins\nbuiltins.len = lambda x: 7",
    "shadow": "import tests.reading.sample_toys as toys\ntoys.len = lambda x: 7",
    "standard": "import math\nmath.sqrt = lambda x: 7",
    "constant": "import math\nmath.pi = 3",
    "engine": "import tsformers.reading.evaluate as engine\nengine.evaluate = lambda *a: 7",
    "engine class": "from tsformers.reading.failure import Failure\nFailure.__init__ = lambda *a, **k: None",
    "read": "import tests.reading.sample_toys as toys\ntoys.Mixer.forward = lambda self, x: x",
    "bases": "torch.nn.Flatten.__bases__ = (torch.nn.Identity,)",
    "hook": "from torch.nn.modules.module import register_module_forward_hook\n"
    "register_module_forward_hook(lambda m, a, out: out * 0)",
    "environment": "import os\nos.environ['TORCH_SEED'] = '3'",
    "environment lost": "import os\ndel os.environ['PATH']",
    "folder": "import os\nos.chdir('/')",
    "mode": "from torch.overrides import TorchFunctionMode\nclass M(TorchFunctionMode):\n"
    "    def __torch_function__(self, f, types, args=(), kwargs=None):\n        return f(*args, **(kwargs or {}))\n"
    "M().__enter__()",
}


@pytest.mark.parametrize("name", [name for name in PATCHES if name != "mode"])
def test_a_patch_is_red_at_the_block_and_is_undone(name: str) -> None:
    kept_around = dict(os.environ), os.getcwd()
    kept = torch.Tensor.sum, torch.ones, builtins.len, math.sqrt, evaluate.evaluate, torch.nn.Conv1d.forward
    checked = check("文。\n\n" + block("import torch\n" + PATCHES[name]) + block("b = 2") + "`b = 2`\n")
    (failure,) = checked.failures
    assert (failure.line, failure.kind) == (7, "exec") and "改掉了" in failure.message
    assert (torch.Tensor.sum, torch.ones, len, math.sqrt, evaluate.evaluate, torch.nn.Conv1d.forward) == kept
    assert (dict(os.environ), os.getcwd()) == kept_around
    assert torch.ones(2).sum().item() == 2.0 and torch.float32 is not torch.float64


def test_a_patch_in_an_example_or_a_claim_is_red() -> None:
    example = "```pycon\n>>> import torch\n>>> torch.Tensor.sum = lambda self: 7\n```\n"
    assert [failure.kind for failure in check(example).failures] == ["example"]
    claim = block("import torch") + '`setattr(torch.Tensor, "sum", 7) is None`\n'
    assert [(failure.kind, failure.line) for failure in check(claim).failures] == [("claim", 9)]
    assert callable(torch.Tensor.sum)


def test_a_class_patched_through_the_frame_is_red() -> None:
    text = quoted("y = x = self.norm(x)") + block("type(self).forward = lambda self, x: x")
    assert [failure.kind for failure in check(text).failures] == ["exec"]


def test_what_the_block_puts_back_is_no_change() -> None:
    code = "import torch\nkept = torch.ones\ntorch.ones = torch.zeros\ntorch.ones = kept"
    code += "\ntorch.Tensor.sum = 7\ndel torch.Tensor.sum"
    code += "\nfrom torch.nn.modules.module import register_module_forward_hook as r\nr(print).remove()"
    assert check(block(code)).failures == []


@pytest.mark.parametrize(
    "code",
    [
        "import copy, pickle\nimport torch\nm = torch.nn.Linear(2, 2)\ncopy.deepcopy(m)\npickle.dumps(m)",
        "import torch\nw = torch.ones(2, requires_grad=True)\no = torch.optim.Adam([w])\nw.sum().backward()\no.step()",
        "import warnings\nimport torch\nwarnings.simplefilter('ignore')\nprint(torch.jit.trace(torch.nn.Linear(2, 2), torch.ones(1, 2))(torch.ones(1, 2)).shape)",
        "import torch\nf = torch.compile(lambda a: a + 1, backend='eager')\nprint(f(torch.ones(2)))",
        "import torch\ntorch.set_printoptions(precision=2)\ntorch.manual_seed(3)\ntorch.set_default_dtype(torch.float32)",
        "import torch\nwith torch.no_grad(), torch.device('cpu'):\n    torch.ones(2)",
        "from collections import namedtuple\nimport colorsys, csv, decimal, fractions, statistics, numpy\n"
        "P = namedtuple('P', 'a b', defaults=[1])\nnumpy.ones(2).sum()",
        "class Own(__import__('torch').nn.Module):\n    pass\nOwn.forward = lambda self, x: x\nOwn().a = 3",
        "import unittest.mock, torch\nwith unittest.mock.patch.object(torch, 'ones', torch.zeros):\n    torch.ones(2)",
    ],
)
def test_what_torch_and_python_do_themselves_is_no_change(code: str) -> None:
    assert check(block(code)).failures == []


def test_hooks_put_on_every_module_are_taken_away() -> None:
    watch = Watch([])
    register_module_forward_hook(lambda module, inputs, output: output * 0)
    watch.look()
    assert watch.found == ["torch.nn.modules.module._global_forward_hooks"]
    assert torch.nn.Identity()(torch.ones(1)).item() == 1.0


def test_the_code_of_a_function_exchanged_and_a_mode_entered_are_red(tmp_path) -> None:
    code = "import torch.nn.functional as F\ndef f(input, dim=None, _stacklevel=3, dtype=None):\n    return input\n\n"
    pages = {
        "code.md": block(code + "F.softmax.__code__ = f.__code__") + block("b = 2") + "`b = 2`\n",
        "defaults.md": block("import torch.nn.functional as F\nF.dropout.__defaults__ = (0.5, False, False)"),
        "restored.md": block(
            code + "kept = F.softmax.__code__\nF.softmax.__code__ = f.__code__\nF.softmax.__code__ = kept"
        ),
        "mode.md": "文。\n\n" + block("import torch\n" + PATCHES["mode"]),
        "own.md": block("def f():\n    return 1\n\ndef g():\n    return 2\n\nf.__code__ = g.__code__\nprint(f())"),
    }
    results = run(tmp_path, pages)
    assert {name: said(result) for name, result in results.items()} == {
        "code": [(1, 1, "exec")],
        "defaults": [(1, 1, "exec")],
        "restored": [],
        "mode": [(3, 1, "exec")],
        "own": [],
    }


def test_a_setting_of_torch_is_no_change(tmp_path) -> None:
    page = block(
        "import torch\ntorch.set_default_dtype(torch.float64)\ntorch.manual_seed(1)\ntorch.set_grad_enabled(False)"
    )
    assert run(tmp_path, {"a.md": page + "`torch.tensor(0.5).dtype is torch.float64`\n"})["a"].failures == []
