"""How fast the layers and models are, beside two other ways to write them.

    python benchmarks/models.py --help

Every subject runs on the same input in the same process, in turns, so a slow moment of the machine hits all alike:

* ``tsformers``: ``EncoderLayer`` on ``FullAttention``, as the models use it;
* ``literal``: the same numbers written down as formulas, one einsum each, from the very same weights;
* ``torch.nn``: ``TransformerEncoderLayer`` of the same sizes with the same weights. In eval mode without gradients it
  runs fused kernels, so its forward is measured as it is used.

Then the feed-forward block alone, with ``PositionwiseConv1d`` and with ``torch.nn.Conv1d`` on the same weights; then the
models as wholes, forward and training step, without anything beside them. Times are medians; ``×`` is the
time divided by that of tsformers, so above 1 means that tsformers is faster. The peak is the memory that torch's own
allocator held above what it held before, as its profiler saw it.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import sqrt
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.profiler import ProfilerActivity, profile

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tsformers import AttentionLayer, EncoderLayer, FullAttention, PositionwiseConv1d, create_model  # noqa: E402
from tsformers.training import training_step  # noqa: E402

TASK = "long_term_forecast"


@dataclass(frozen=True)
class Sizes:
    """One encoder layer: ``B`` sequences of ``L`` tokens."""

    name: str
    B: int
    L: int
    d_model: int
    n_heads: int
    d_ff: int


@dataclass(frozen=True)
class Case:
    """A whole model and a batch of it."""

    name: str
    flags: dict[str, int | str]
    B: int
    series: int


@dataclass(frozen=True)
class Measured:
    milliseconds: float
    megabytes: float


def layer_sizes(batch: int) -> list[Sizes]:
    """The toys, then what the models make of 96 steps: PatchTST 12 patches a series, iTransformer a token a series."""
    big = dict(d_model=512, n_heads=8, d_ff=2048)
    return [
        Sizes("toy PatchTST", B=8, L=6, d_model=16, n_heads=2, d_ff=64),
        Sizes("toy iTransformer", B=3, L=9, d_model=8, n_heads=2, d_ff=32),
        Sizes("toy Informer", B=3, L=10, d_model=8, n_heads=2, d_ff=32),
        Sizes("96 steps", B=batch, L=96, **big),
        *(Sizes(f"12 patches, {n} series", B=batch * n, L=12, **big) for n in (7, 21)),
        Sizes("12 patches, 321 series", B=321, L=12, **big),
        *(Sizes(f"{n} series + 4 marks", B=batch, L=n + 4, **big) for n in (7, 21, 321)),
    ]


def model_cases(batch: int) -> list[Case]:
    big = dict(seq_len=96, label_len=48, pred_len=96, d_model=512, n_heads=8, e_layers=2, d_layers=1, d_ff=2048)
    small = dict(pred_len=7, n_heads=2, e_layers=2, d_layers=1)
    return [
        Case("PatchTST", {**small, "seq_len": 17, "patch_len": 5, "stride": 3, "d_model": 16, "d_ff": 64}, 2, 4),
        Case("iTransformer", {**small, "seq_len": 12, "d_model": 8, "d_ff": 32}, 3, 5),
        Case("Informer", {**small, "seq_len": 10, "label_len": 5, "d_model": 8, "d_ff": 32, "factor": 1}, 3, 6),
        *(Case("PatchTST", {**big, "patch_len": 16, "stride": 8}, batch if n < 100 else 1, n) for n in (7, 21, 321)),
        *(Case("iTransformer", big, batch, n) for n in (7, 21, 321)),
        *(Case("Informer", {**big, "factor": 3}, batch, n) for n in (7, 21, 321)),
    ]


class Literal(nn.Module):
    """The layer as a formula sheet writes it: einsum for every product, norms spelt out, the weights of ``layer``."""

    def __init__(self, layer: EncoderLayer, n_heads: int) -> None:
        super().__init__()
        self.layer = layer
        self.n_heads = n_heads

    def forward(self, x: Tensor) -> Tensor:
        layer, attention = self.layer, self.layer.attention
        Q, K, V = (
            torch.einsum("bld,hed->blhe", x, part.weight.unflatten(0, (self.n_heads, -1)))
            + part.bias.unflatten(0, (self.n_heads, -1))
            for part in (attention.query_projection, attention.key_projection, attention.value_projection)
        )
        A = torch.softmax(torch.einsum("blhe,bshe->bhls", Q, K) / sqrt(Q.shape[-1]), dim=-1)
        O = torch.einsum("bhls,bshe->blhe", F.dropout(A, layer.dropout.p, self.training), V)  # noqa: E741
        out = attention.out_projection
        mixed = torch.einsum("blhe,dhe->bld", O, out.weight.unflatten(1, (self.n_heads, -1))) + out.bias
        x = self.norm(x + F.dropout(mixed, layer.dropout.p, self.training), layer.norm1)
        y = F.gelu(torch.einsum("bld,fd->blf", x, layer.conv1.weight[:, :, 0]) + layer.conv1.bias)
        y = F.dropout(y, layer.dropout.p, self.training)
        y = torch.einsum("blf,df->bld", y, layer.conv2.weight[:, :, 0]) + layer.conv2.bias
        return self.norm(x + F.dropout(y, layer.dropout.p, self.training), layer.norm2)

    def norm(self, x: Tensor, norm: nn.LayerNorm) -> Tensor:
        centred = x - x.mean(dim=-1, keepdim=True)
        return centred / torch.sqrt((centred * centred).mean(dim=-1, keepdim=True) + norm.eps) * norm.weight + norm.bias


class Ours(nn.Module):
    def __init__(self, layer: EncoderLayer) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x)[0]


def subjects(sizes: Sizes) -> dict[str, nn.Module]:
    """The three layers, with the same weights."""
    attention = AttentionLayer(FullAttention(False), sizes.d_model, sizes.n_heads)
    layer = EncoderLayer(attention, sizes.d_model, sizes.d_ff, activation="gelu")
    theirs = nn.TransformerEncoderLayer(sizes.d_model, sizes.n_heads, sizes.d_ff, activation="gelu", batch_first=True)
    parts = (attention.query_projection, attention.key_projection, attention.value_projection)
    theirs.self_attn.in_proj_weight.data = torch.cat([part.weight.data for part in parts])
    theirs.self_attn.in_proj_bias.data = torch.cat([part.bias.data for part in parts])
    theirs.self_attn.out_proj.load_state_dict(attention.out_projection.state_dict())
    for conv, linear in ((layer.conv1, theirs.linear1), (layer.conv2, theirs.linear2)):
        linear.weight.data, linear.bias.data = conv.weight.data[:, :, 0].clone(), conv.bias.data.clone()
    return {"tsformers": Ours(layer), "literal": Literal(layer, sizes.n_heads), "torch.nn": theirs}


def feed_forwards(sizes: Sizes) -> dict[str, nn.Module]:
    """The two blocks, with the same weights."""
    ours = (PositionwiseConv1d(sizes.d_model, sizes.d_ff), PositionwiseConv1d(sizes.d_ff, sizes.d_model))
    theirs = (nn.Conv1d(sizes.d_model, sizes.d_ff, 1), nn.Conv1d(sizes.d_ff, sizes.d_model, 1))
    for one, other in zip(ours, theirs, strict=True):
        other.load_state_dict(one.state_dict())
    blocks = {"tsformers": ours, "nn.Conv1d": theirs}
    return {name: nn.Sequential(first, nn.GELU(), second) for name, (first, second) in blocks.items()}


def forward_of(module: nn.Module, *inputs: Tensor) -> Callable[[], object]:
    def forward() -> None:
        module.eval()
        with torch.no_grad():
            module(*inputs)

    return forward


def backward_of(module: nn.Module, x: Tensor) -> Callable[[], object]:
    """A training step of a layer: forward in training mode, backward, a step of gradient descent."""
    optimizer = torch.optim.SGD(module.parameters(), lr=1e-6)

    def step() -> None:
        module.train()
        optimizer.zero_grad()
        module(x).square().mean().backward()
        optimizer.step()

    return step


def training_of(model: nn.Module, batch: tuple[Tensor, ...]) -> Callable[[], object]:
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)

    def step() -> None:
        model.train()
        training_step(model, optimizer, *batch)

    return step


def measure(runs: dict[str, Callable[[], object]], repeats: int, seconds: float) -> dict[str, Measured]:
    """Medians over ``repeats`` rounds of all ``runs`` in turn, fewer if ``seconds`` have passed, three at least."""
    for run in runs.values():
        run()
    times: dict[str, list[float]] = {name: [] for name in runs}
    began = time.perf_counter()
    for count in range(repeats):
        if count >= 3 and time.perf_counter() - began > seconds:
            break
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - start)
    return {name: Measured(1000 * statistics.median(times[name]), peak(run) / 2**20) for name, run in runs.items()}


def peak(run: Callable[[], object]) -> int:
    """The most bytes that torch held at once during ``run`` beyond what it held at its start."""
    with quiet(), profile(activities=[ProfilerActivity.CPU], profile_memory=True, acc_events=True) as profiled:
        run()
    held = most = 0
    for event in sorted(memory_events(profiled), key=lambda event: event[0]):
        held += event[1]
        most = max(most, held)
    return most


@contextmanager
def quiet() -> Iterator[None]:
    """Standard error closed for a while: torch's profiler writes to it at every start and stop, from C++."""
    sys.stderr.flush()
    kept = os.dup(2)
    with open(os.devnull, "wb") as nothing:
        os.dup2(nothing.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def memory_events(profiled: profile) -> list[tuple[int, int]]:
    """When torch took or gave back how many bytes."""
    found = []
    pending = list(profiled.profiler.kineto_results.experimental_event_tree())
    while pending:
        event = pending.pop()
        pending.extend(event.children)
        if event.name == "[memory]":
            found.append((event.start_time_ns, event.extra_fields.alloc_size))
    return found


def check_equal(layers: dict[str, nn.Module], x: Tensor) -> None:
    """All give the same numbers, or there is nothing to compare.

    Raises:
        SystemExit: they do not.
    """
    with torch.no_grad():
        outs = {name: module.eval()(x) for name, module in layers.items()}
    for name, out in outs.items():
        difference = float((out - outs["tsformers"]).abs().max())
        if difference > 1e-4:
            raise SystemExit(f"{name} differs from tsformers by {difference}")


def layer_table(batch: int, repeats: int, seconds: float) -> list[str]:
    made = {sizes: (subjects, (sizes.B, sizes.L, sizes.d_model)) for sizes in layer_sizes(batch)}
    return side_by_side("one encoder layer", made, repeats, seconds)


def feed_forward_table(batch: int, repeats: int, seconds: float) -> list[str]:
    made = {sizes: (feed_forwards, (sizes.B, sizes.d_model, sizes.L)) for sizes in layer_sizes(batch)}
    return side_by_side("feed-forward block", made, repeats, seconds)


def side_by_side(
    title: str,
    made: dict[Sizes, tuple[Callable[[Sizes], dict[str, nn.Module]], tuple[int, ...]]],
    repeats: int,
    seconds: float,
) -> list[str]:
    """A row for each of ``made``: what builds the modules of one size, and the shape of their input."""
    rows = []
    for sizes, (build, shape) in made.items():
        progress(f"{title}, {sizes.name}")
        torch.manual_seed(0)
        layers = build(sizes)
        if not rows:
            names = "".join(f"{name + ' ms':>14}{'MB':>8}{'×':>7}" for name in layers)
            rows.append(f"{title:26}{'input':>18} {'':8}{names}")
        x = torch.randn(shape)
        check_equal(layers, x)
        for kind, run_of in (("forward", forward_of), ("step", backward_of)):
            found = measure({name: run_of(module, x) for name, module in layers.items()}, repeats, seconds)
            ours = found["tsformers"].milliseconds
            row = f"{sizes.name:26}{str(shape):>18} {kind:8}"
            for one in found.values():
                row += f"{one.milliseconds:14.3f}{one.megabytes:8.1f}{one.milliseconds / ours:7.2f}"
            rows.append(row)
    return rows


def model_table(batch: int, repeats: int, seconds: float) -> list[str]:
    rows = [f"{'model':14}{'B':>4}{'series':>8}{'d_model':>9}{'forward ms':>14}{'MB':>8}{'step ms':>14}{'MB':>8}"]
    for case in model_cases(batch):
        progress(f"{case.name}, {case.series} series")
        torch.manual_seed(0)
        series = {"enc_in": case.series, "dec_in": case.series, "c_out": case.series}
        model = create_model(case.name, task_name=TASK, **{"label_len": 0, **case.flags, **series})
        seq_len, pred_len = int(case.flags["seq_len"]), int(case.flags["pred_len"])
        dec_len = int(case.flags.get("label_len", 0)) + pred_len
        lengths = ((seq_len, case.series), (seq_len, 4), (dec_len, case.series), (dec_len, 4), (pred_len, case.series))
        data = tuple(torch.randn(case.B, length, width) for length, width in lengths)
        found = measure({"forward": forward_of(model, *data[:4]), "step": training_of(model, data)}, repeats, seconds)
        row = f"{case.name:14}{case.B:4}{case.series:8}{case.flags['d_model']:9}"
        for one in found.values():
            row += f"{one.milliseconds:14.3f}{one.megabytes:8.1f}"
        rows.append(row)
    return rows


def progress(text: str) -> None:
    print(f"measuring {text} …", file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Time tsformers' encoder layer against torch.nn and a literal einsum formulation, then the models.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--repeats", type=int, default=50, help="rounds at most for each row")
    parser.add_argument("--seconds", type=float, default=10.0, help="time for each row, after its first three rounds")
    parser.add_argument("--batch", type=int, default=8, help="samples in a batch of the large sizes")
    parser.add_argument("--threads", type=int, default=1, help="threads of torch")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    print(f"torch {torch.__version__}, Python {platform.python_version()}, {platform.machine()}, float32, ", end="")
    print(f"{given.threads} thread(s), at most {given.repeats} rounds or {given.seconds:g} s a row\n")
    for table in (layer_table, feed_forward_table, model_table):
        print("\n".join(table(given.batch, given.repeats, given.seconds)), end="\n\n", flush=True)


if __name__ == "__main__":
    main()
