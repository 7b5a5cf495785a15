"""Pages about code that is not ours, checked by the command in a folder of its own: the engine knows no model."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import tsformers
from tsformers.reading.trace import Target, record

PACKAGE = Path(tsformers.__file__).resolve().parents[1]

PLAIN = '''"""A module with nothing of torch in it."""

from types import SimpleNamespace


def smooth(series, width):
    """A moving average."""
    # the window
    half = width // 2
    padded = [series[0]] * half + series + [series[-1]] * half
    means = []
    for start in range(len(series)):
        window = padded[start : start + width]
        means.append(sum(window) / width)
    return means


def toy():
    return SimpleNamespace(call=smooth, args=([1.0, 2.0, 6.0],), kwargs={"width": 3}, sizes={"n": 3}, axes={})
'''

PLAIN_PAGE = """---
toy: smoothing:toy
reads: [smoothing.smooth]
---
# 滑动平均

## 1 在父层中的位置

入口处 `width = 3`，`len(series) = 3`。

## 5 逐步

### 5.1 填充

```python
half = width // 2
padded = [series[0]] * half + series + [series[-1]] * half
```

`half = 1`，`len(padded) = 5`，`padded ≈ [1.0, 1.0, 2.0, 6.0, 6.0]`。

### 5.2 平均

```python
means = []
for start in range(len(series)):
    ...
```

```python pass="2"
window = padded[start : start + width]
means.append(sum(window) / width)
```

第二遍里 `start = 1`，`sum(window) / width = 3.0`。

```python
return means
```

`return ≈ [1.33, 3.00, 4.67]`，`return is means`。

```pycon
>>> [round(mean, 2) for mean in means]
[1.33, 3.0, 4.67]
```
"""

ATTENTION_TOY = '''"""Toys of a function of torch itself."""

from types import SimpleNamespace

import torch
from torch.nn import functional

SIZES = (dict(L=3, S=4, N=2, E=6, H=2), dict(L=5, S=7, N=3, E=12, H=4))


def tenths(*shape):
    count = torch.Size(shape).numel()
    return ((torch.arange(count, dtype=torch.float64) * 7) % 11 - 5).reshape(shape) / 10


def attend(query, key, value, E, H):
    weight, bias = tenths(3 * E, E), tenths(3 * E)
    return functional.multi_head_attention_forward(
        query, key, value, E, H, weight, bias, None, None, False, 0.0, tenths(E, E), tenths(E), training=False
    )


def toy(case=0):
    sizes = SIZES[case]
    L, S, N, E = (sizes[name] for name in "LSNE")
    args = (tenths(L, N, E), tenths(S, N, E), tenths(S, N, E) + 0.1)
    kwargs = {"E": E, "H": sizes["H"]}
    axes = {"L": "L", "S": "S", "N": "N", "E": "E", "H": "H", "head_dim": "E // H"}
    return SimpleNamespace(call=attend, args=args, kwargs=kwargs, sizes=sizes, axes=axes)


toy.cases = 2
'''

ATTENTION_PAGE = """---
toy: attending:toy
reads: [torch.nn.functional.multi_head_attention_forward]
---
# 多头注意力，PyTorch 自己的

入口处 `query (3, 2, 6) = (L, N, E)`，`key (4, 2, 6) = (S, N, E)`，`num_heads = 2`。

```python
tgt_len, bsz, embed_dim = query.shape
```

`tgt_len = 3`，`bsz == N`。

```python
attn_output_weights = torch.bmm(q_scaled, k.transpose(-2, -1))
```

```python
attn_output_weights = softmax(attn_output_weights, dim=-1)
```

`attn_output_weights (4, 3, 4) = (N*H, L, S)`，每行的和是一：`(attn_output_weights.sum(-1) - 1).abs().max() < 1e-12`。

```python
attn_output = torch.bmm(attn_output_weights, v)
```

`attn_output (4, 3, 3) = (N*H, L, head_dim)`，来自 `torch.bmm(attn_output_weights, v) (4, 3, 3)`。

`return[0] (3, 2, 6) = (L, N, E)`，`return[1] (2, 3, 4) = (N, L, S)`。
"""


def command(folder, *arguments):
    known = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    known |= {"PYTHONPATH": str(PACKAGE), "OMP_NUM_THREADS": "1"}
    line = [sys.executable, "-m", "tsformers.reading", *map(str, arguments)]
    done = subprocess.run(line, cwd=folder, env=known, capture_output=True, timeout=100)
    return done.returncode, done.stdout.decode("utf-8") + done.stderr.decode("utf-8")


def check(folder):
    """Status, what was printed, and the failures as (path, line, column, kind) with their messages."""
    status, printed = command(folder, "check", ".", "--json", "report.json")
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    failures = [failure for page in report["pages"] for failure in page["failures"]]
    return status, printed, failures, report


@pytest.fixture
def folder(tmp_path):
    """A project of somebody else, without a coverage that a page must reach."""
    (tmp_path / "pyproject.toml").write_text("[tool.tsformers.reading]\n", encoding="utf-8")
    for name, text in {
        "smoothing.py": PLAIN, "plain.md": PLAIN_PAGE, "attending.py": ATTENTION_TOY, "attention.md": ATTENTION_PAGE,
    }.items():  # fmt: skip
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def replace(file, old, new):
    text = file.read_text(encoding="utf-8")
    assert text.count(old) == 1, old
    file.write_text(text.replace(old, new), encoding="utf-8")


def test_a_plain_module_and_a_function_of_torch_are_read_like_any_model(folder):
    status, printed, failures, report = check(folder)
    assert failures == [] and status == 0, printed
    counts = {page["path"]: page["counts"] for page in report["pages"]}
    assert counts["./plain.md"]["quotes"] == 4 and counts["./plain.md"]["examples"] == 1
    assert counts["./attention.md"]["claims"] == 11
    assert report["totals"]["models"]["smoothing:toy"] == {"executed": 7, "explained": 7, "gap": []}
    assert "smoothing:toy: 7 of 7 statements that this toy executes explained by a page (100 %)" in printed


def test_every_planted_error_is_found_in_both(folder):
    planted = [
        ("plain.md", "len(padded) = 5", "len(padded) = 6", "claim"),
        ("plain.md", "`sum(window) / width = 3.0`", "`sum(window) / width = 2.0`", "claim"),
        ("plain.md", "[1.33, 3.0, 4.67]\n", "[1.33, 3.0, 4.76]\n", "example"),
        ("attention.md", "(4, 3, 4) = (N*H, L, S)", "(4, 3, 4) = (N*H, S, L)", "axis"),
        ("attention.md", "`return[1] (2, 3, 4)", "`return[1] (2, 4, 3)", "claim"),
        ("attention.md", "torch.bmm(attn_output_weights, v)\n", "torch.bmm(attn_output_weights, k)\n", "quote"),
    ]
    rows = []
    for name, old, new, kind in planted:
        replace(folder / name, old, new)
        text = (folder / name).read_text(encoding="utf-8")
        rows.append((f"./{name}", text[: text.index(new)].count("\n") + 1, kind))
    status, printed, failures, _ = check(folder)
    assert status == 1
    # after a quote that fits nowhere nothing is known of the state, so the claim behind it is not judged
    rows.remove(next(row for row in rows if row[1] == max(r[1] for r in rows if r[0] == "./attention.md")))
    assert [(f["path"], f["line"], f["kind"]) for f in failures] == sorted(rows), printed


def test_lines_above_the_source_change_nothing_and_an_edit_of_it_is_red_at_the_quote(folder):
    (folder / "attention.md").unlink()
    source = folder / "smoothing.py"
    replace(source, "    # the window\n", "    # the window\n    # of so many\n    # values\n\n")
    status, printed, failures, _ = check(folder)
    assert failures == [] and status == 0, printed
    replace(source, "half = width // 2", "half = width // 3")
    status, printed, failures, _ = check(folder)
    assert status == 1
    (failure,) = [failure for failure in failures if failure["kind"] == "quote"]
    line = PLAIN_PAGE[: PLAIN_PAGE.index("half = width")].count("\n") + 1
    assert (failure["line"], failure["column"]) == (line, 1)
    assert "half = width // 3" in failure["message"] and "half = width // 3" in printed


class Counted:
    """Names its own class inside a method."""

    made = 0

    def again(self):
        Counted.made += 1
        return isinstance(self, Counted)


def countdown(number):
    return countdown(number - 1) if number else number


def outer():
    def inner(number):
        return inner(number - 1) if number else number

    return inner


@pytest.mark.parametrize(("function", "arguments"), [(Counted.again, (Counted(),)), (countdown, (2,)), (outer(), (2,))])
def test_a_function_that_names_itself_or_its_class_is_recorded(function, arguments):
    (recording,), returned = record(lambda: function(*arguments), [Target(function)])
    assert recording.returned == {"return": returned} and len(recording.events) >= 2


def test_the_engine_names_no_model_and_no_layer():
    """Names of classes and functions of what is read, which a reader of any code would not look for."""
    names = set()
    for room in ("models", "layers"):
        for file in (PACKAGE / "tsformers" / room).glob("*.py"):
            found = re.findall(r"^class (\w+)", file.read_text(encoding="utf-8"), re.MULTILINE)
            names |= {name for name in found if not hasattr(torch.nn, name)}
    assert {"EncoderLayer", "ProbAttention", "PatchTST"} <= names
    engine = PACKAGE / "tsformers" / "reading"
    docstring = re.compile(r'"""(?:.|\n)*?"""')
    for file in engine.rglob("*.py"):
        code = re.sub(r"#.*", "", docstring.sub("", file.read_text(encoding="utf-8")))
        assert {name for name in names if re.search(rf"\b{name}\b", code)} == set(), file.name
