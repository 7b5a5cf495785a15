"""The toys: each model at sizes that fit on a page, every weight and input a number with one decimal.

Nothing is random. Numbers come from ``one_decimals``, a short integer recurrence started from a name, so no version of
a random generator can change them; Informer's drawn keys come from ``fixed_draw``. Norm layers keep gamma 1 and beta 0,
and running statistics 0 and 1, except in the ``…_trained`` toys; tables of sinusoids are always what they are.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol, cast

import torch
from torch import Tensor, nn

from tsformers.models.informer import Informer
from tsformers.models.itransformer import iTransformer
from tsformers.models.nonstationary_transformer import Nonstationary_Transformer
from tsformers.models.patchtst import PatchTST
from tsformers.models.transformer import Transformer

TASK = "long_term_forecast"
P_HIDDEN_DIMS = (11, 9)
FREQ = {4: "h", 5: "t"}  # a freq with so many marks

PATCHTST_SIZES = (
    dict(B=2, C=4, marks=4, seq_len=17, pred_len=7, patch_len=5, stride=3, d_model=16, n_heads=2, d_ff=64, e_layers=2),
    dict(B=3, C=5, marks=6, seq_len=29, pred_len=13, patch_len=9, stride=4, d_model=22, n_heads=2, d_ff=44, e_layers=3),
    dict(B=5, C=2, marks=4, seq_len=33, pred_len=11, patch_len=7, stride=4, d_model=18, n_heads=3, d_ff=40, e_layers=3),
)
ITRANSFORMER_SIZES = (
    dict(B=3, N=5, marks=4, seq_len=12, pred_len=7, d_model=8, n_heads=2, d_ff=32, e_layers=2),
    dict(B=3, N=6, marks=4, seq_len=13, pred_len=5, d_model=14, n_heads=2, d_ff=28, e_layers=3),
    dict(B=2, N=7, marks=5, seq_len=17, pred_len=11, d_model=24, n_heads=3, d_ff=40, e_layers=3),
)
INFORMER_SIZES = (
    dict(
        B=3, enc_in=6, c_out=6, marks=4, seq_len=10, label_len=5, pred_len=7, d_model=8, n_heads=2, d_ff=32,
        e_layers=2, d_layers=1, factor=1,
    ),
    dict(
        B=5, enc_in=7, c_out=6, marks=4, seq_len=14, label_len=10, pred_len=9, d_model=22, n_heads=2, d_ff=44,
        e_layers=2, d_layers=2, factor=1,
    ),
    dict(
        B=2, enc_in=9, c_out=7, marks=5, seq_len=21, label_len=6, pred_len=8, d_model=30, n_heads=3, d_ff=40,
        e_layers=2, d_layers=2, factor=2,
    ),
)  # fmt: skip
TRANSFORMER_SIZES = (
    dict(
        B=3, enc_in=6, c_out=6, marks=4, seq_len=10, label_len=5, pred_len=7, d_model=8, n_heads=2, d_ff=32,
        e_layers=2, d_layers=1,
    ),
    dict(
        B=5, enc_in=7, c_out=6, marks=4, seq_len=14, label_len=10, pred_len=9, d_model=22, n_heads=2, d_ff=44,
        e_layers=2, d_layers=2,
    ),
    dict(
        B=2, enc_in=9, c_out=7, marks=5, seq_len=21, label_len=6, pred_len=8, d_model=30, n_heads=3, d_ff=40,
        e_layers=2, d_layers=2,
    ),
)  # fmt: skip
NONSTATIONARY_TRANSFORMER_SIZES = tuple(
    {name: size for name, size in sizes.items() if name != "c_out"} for sizes in TRANSFORMER_SIZES
)


@dataclass(frozen=True, eq=False)
class Toy:
    """A model with its inputs: ``call(*args, **kwargs)`` runs it.

    ``call`` is in float64 and eval mode, without gradients. ``sizes`` is the configuration; ``axes`` maps the name of
    an axis to a formula over the sizes; ``conditions`` are (formula over the sizes that must be true, message if not).
    """

    call: nn.Module
    args: tuple[Tensor, ...]
    kwargs: dict[str, Any]
    sizes: dict[str, int]
    axes: dict[str, str]
    conditions: tuple[tuple[str, str], ...]

    def inputs_of(self, path: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Arguments and keyword arguments of the first call of the module at ``path`` in a run of the toy.

        Raises:
            ValueError: there is no such module, or the run does not call it.
        """
        try:
            module = self.call.get_submodule(path)
        except AttributeError as error:
            raise ValueError(f"path ({path!r}) 在 {type(self.call).__name__} 里没有对应的模块：{error}") from None
        seen: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
        hook = module.register_forward_pre_hook(lambda _, args, kwargs: seen.append((args, kwargs)), with_kwargs=True)
        try:
            self.call(*self.args, **self.kwargs)
        finally:
            hook.remove()
        if not seen:
            raise ValueError(f"path ({path!r}) 对应的模块在这个 toy 的一次运行里没有被调用")
        return seen[0]


class ToyFunction(Protocol):
    """What builds a toy: case 0 is the toy of the pages, the other cases prove names of axes."""

    cases: int

    def __call__(self, case: int = 0) -> Toy: ...


def one_decimals(name: str, *shape: int, largest: float = 0.5) -> Tensor:
    """A float64 tensor of tenths in ``[-largest, largest]``: one sequence for each ``name``, in row-major order.

    ``state = (1103515245 * state + 12345) % 2**31``, started at the CRC-32 of the name; each state gives one number.
    """
    tenths = _tenths(name, torch.Size(shape).numel(), round(largest * 10))
    return torch.tensor(tenths, dtype=torch.float64).reshape(shape) / 10


@cache  # a page builds its toy again and again
def _tenths(name: str, count: int, largest: int) -> list[int]:
    state = zlib.crc32(name.encode())
    tenths = []
    for _ in range(count):
        state = (1103515245 * state + 12345) % 2**31
        tenths.append((state >> 16) % (2 * largest + 1) - largest)
    return tenths


def fixed_draw(high: int, size: tuple[int, int]) -> Tensor:
    """In place of ``torch.randint(high, size)``: entry ``[i, j]`` is ``(7 * i + 3 * j) % high``."""
    rows, columns = size
    return (7 * torch.arange(rows)[:, None] + 3 * torch.arange(columns)) % high


def fill(model: nn.Module, *, trained: bool) -> nn.Module:
    """Give ``model`` its one-decimal weights and make it ready to run: float64, eval mode, no gradients."""
    learned = {name for name, parameter in model.named_parameters() if parameter.requires_grad}
    model.double().eval().requires_grad_(False)
    for path, module in model.named_modules():
        norm = isinstance(module, nn.LayerNorm | nn.BatchNorm1d)
        if norm and not trained:
            continue
        for name, parameter in module.named_parameters(path, recurse=False):
            around = 1.0 if norm and name.endswith("weight") else 0.0
            if name in learned:
                parameter.copy_(one_decimals(name, *parameter.shape) + around)
        if isinstance(module, nn.BatchNorm1d) and module.running_mean is not None and module.running_var is not None:
            module.running_mean.copy_(one_decimals(f"{path}.running_mean", module.num_features))
            module.running_var.copy_(one_decimals(f"{path}.running_var", module.num_features) + 1.0)
    return model


def with_cases(table: tuple[dict[str, int], ...]) -> Callable[[Callable[..., Toy]], ToyFunction]:
    """Mark a toy function with the number of its cases."""

    def mark(function: Callable[..., Toy]) -> ToyFunction:
        marked = cast(ToyFunction, function)
        marked.cases = len(table)
        return marked

    return mark


@with_cases(PATCHTST_SIZES)
def patchtst(case: int = 0) -> Toy:
    """PatchTST, norms as constructed."""
    return _patchtst(case, trained=False)


@with_cases(PATCHTST_SIZES)
def patchtst_trained(case: int = 0) -> Toy:
    """PatchTST with norm layers that are not at their construction values."""
    return _patchtst(case, trained=True)


@with_cases(ITRANSFORMER_SIZES)
def itransformer(case: int = 0) -> Toy:
    """iTransformer, norms as constructed."""
    return _itransformer(case, trained=False)


@with_cases(ITRANSFORMER_SIZES)
def itransformer_trained(case: int = 0) -> Toy:
    """iTransformer with norm layers that are not at their construction values."""
    return _itransformer(case, trained=True)


@with_cases(INFORMER_SIZES)
def informer(case: int = 0) -> Toy:
    """Informer, norms as constructed."""
    return _informer(case, trained=False)


@with_cases(INFORMER_SIZES)
def informer_trained(case: int = 0) -> Toy:
    """Informer with norm layers that are not at their construction values."""
    return _informer(case, trained=True)


@with_cases(TRANSFORMER_SIZES)
def transformer(case: int = 0) -> Toy:
    """Transformer, norms as constructed."""
    return _transformer(case, trained=False)


@with_cases(TRANSFORMER_SIZES)
def transformer_trained(case: int = 0) -> Toy:
    """Transformer with norm layers that are not at their construction values."""
    return _transformer(case, trained=True)


@with_cases(NONSTATIONARY_TRANSFORMER_SIZES)
def nonstationary_transformer(case: int = 0) -> Toy:
    """Nonstationary_Transformer, norms as constructed."""
    return _nonstationary_transformer(case, trained=False)


@with_cases(NONSTATIONARY_TRANSFORMER_SIZES)
def nonstationary_transformer_trained(case: int = 0) -> Toy:
    """Nonstationary_Transformer with norm layers that are not at their construction values."""
    return _nonstationary_transformer(case, trained=True)


HEADS_DIVIDE = ("d_model % n_heads == 0", "d_model 必须能被 n_heads 整除")
EVEN_MODEL = ("d_model % 2 == 0", "d_model 必须是偶数：正弦位置编码的 sin 与 cos 成对")
ENCODER_LAYERS = ("e_layers >= 1", "e_layers 必须至少为 1")
DECODER_LAYERS = ("d_layers >= 1", "d_layers 必须至少为 1")
START = (
    ("label_len >= 1", "label_len 必须至少为 1：decoder 的输入以历史末尾的 label_len 步开头"),
    ("label_len <= seq_len", "label_len 不能大于 seq_len：decoder 的已知部分取自 encoder 输入的末尾"),
)


def _patchtst(case: int, *, trained: bool) -> Toy:
    sizes = sizes_of(PATCHTST_SIZES, case)
    model = PatchTST(task_name=TASK, enc_in=sizes["C"], **flags_of(sizes, without=("B", "C", "marks")))
    return Toy(
        call=fill(model, trained=trained),
        args=_batch(
            sizes["B"], sizes["C"], sizes["marks"], seq_len=sizes["seq_len"], label_len=0, pred_len=sizes["pred_len"]
        ),
        kwargs={},
        sizes=sizes,
        axes={
            **_plain("B", "C", "seq_len", "pred_len", "marks", "patch_len"),
            "padded_len": "seq_len + stride",
            "patch_num": "(seq_len - patch_len) // stride + 2",
            **_plain("d_model", "n_heads"),
            "d_keys": "d_model // n_heads",
            "d_ff": "d_ff",
            "head_nf": "d_model * ((seq_len - patch_len) // stride + 2)",
        },
        conditions=(
            ("seq_len >= patch_len", "seq_len 不能小于 patch_len"),
            ("stride >= 1", "stride 必须至少为 1"),
            HEADS_DIVIDE,
            EVEN_MODEL,
            ENCODER_LAYERS,
        ),
    )


def _itransformer(case: int, *, trained: bool) -> Toy:
    sizes = sizes_of(ITRANSFORMER_SIZES, case)
    model = iTransformer(task_name=TASK, **flags_of(sizes, without=("B", "N", "marks")))
    return Toy(
        call=fill(model, trained=trained),
        args=_batch(
            sizes["B"], sizes["N"], sizes["marks"], seq_len=sizes["seq_len"], label_len=0, pred_len=sizes["pred_len"]
        ),
        kwargs={},
        sizes=sizes,
        axes={
            **_plain("B", "N", "marks"),
            "token_count": "N + marks",
            **_plain("seq_len", "pred_len", "d_model", "n_heads"),
            "d_keys": "d_model // n_heads",
            "d_ff": "d_ff",
        },
        conditions=(HEADS_DIVIDE, ENCODER_LAYERS),
    )


def _informer(case: int, *, trained: bool) -> Toy:
    sizes = sizes_of(INFORMER_SIZES, case)
    model = Informer(
        task_name=TASK,
        dec_in=sizes["enc_in"],
        freq=FREQ[sizes["marks"]],
        draw=fixed_draw,
        **flags_of(sizes, without=("B", "marks")),
    )
    return Toy(
        call=fill(model, trained=trained),
        args=_batch(
            sizes["B"],
            sizes["enc_in"],
            sizes["marks"],
            seq_len=sizes["seq_len"],
            label_len=sizes["label_len"],
            pred_len=sizes["pred_len"],
        ),
        kwargs={},
        sizes=sizes,
        axes={
            **_plain("B", "enc_in", "c_out", "marks", "seq_len"),
            "conv_len": "seq_len + 2",
            "enc_seq": "(seq_len + 1) // 2 + 1",
            **_plain("label_len", "pred_len"),
            "dec_len": "label_len + pred_len",
            **_plain("d_model", "n_heads"),
            "d_keys": "d_model // n_heads",
            "d_ff": "d_ff",
        },
        conditions=(
            HEADS_DIVIDE,
            EVEN_MODEL,
            ENCODER_LAYERS,
            ("e_layers == 2", "e_layers 必须是 2：enc_seq 的公式只算一次蒸馏"),
            DECODER_LAYERS,
            ("seq_len + (factor >= 2) >= 3", "seq_len 太短：ProbAttention 要抽到两个 key"),
            ("label_len + pred_len + (factor >= 2) >= 3", "label_len + pred_len 太短：ProbAttention 要抽到两个 key"),
            *START,
        ),
    )


def _transformer(case: int, *, trained: bool) -> Toy:
    sizes = sizes_of(TRANSFORMER_SIZES, case)
    model = Transformer(
        task_name=TASK,
        dec_in=sizes["enc_in"],
        freq=FREQ[sizes["marks"]],
        **flags_of(sizes, without=("B", "marks")),
    )
    return _full_decoder(model, sizes, trained=trained)


def _nonstationary_transformer(case: int, *, trained: bool) -> Toy:
    sizes = sizes_of(NONSTATIONARY_TRANSFORMER_SIZES, case)
    model = Nonstationary_Transformer(
        task_name=TASK,
        dec_in=sizes["enc_in"],
        c_out=sizes["enc_in"],
        freq=FREQ[sizes["marks"]],
        p_hidden_dims=P_HIDDEN_DIMS,
        p_hidden_layers=len(P_HIDDEN_DIMS),
        **flags_of(sizes, without=("B", "marks")),
    )
    return _full_decoder(model, sizes, trained=trained)


def _full_decoder(model: nn.Module, sizes: dict[str, int], *, trained: bool) -> Toy:
    """The toy of a model with a decoder whose encoder keeps all its tokens."""
    return Toy(
        call=fill(model, trained=trained),
        args=_batch(
            sizes["B"],
            sizes["enc_in"],
            sizes["marks"],
            seq_len=sizes["seq_len"],
            label_len=sizes["label_len"],
            pred_len=sizes["pred_len"],
        ),
        kwargs={},
        sizes=sizes,
        axes={
            **_plain("B", "enc_in"),
            "c_out": "c_out" if "c_out" in sizes else "enc_in",
            **_plain("marks", "seq_len", "label_len", "pred_len"),
            "dec_len": "label_len + pred_len",
            **_plain("d_model", "n_heads"),
            "d_keys": "d_model // n_heads",
            "d_ff": "d_ff",
        },
        conditions=(HEADS_DIVIDE, EVEN_MODEL, ENCODER_LAYERS, DECODER_LAYERS, *START),
    )


def _batch(B: int, series: int, marks: int, *, seq_len: int, label_len: int, pred_len: int) -> tuple[Tensor, ...]:
    """x_enc, x_mark_enc, x_dec, x_mark_dec as a training step builds them: x_dec repeats the last steps, then zeros."""
    x_enc = one_decimals("x_enc", B, seq_len, series, largest=2.0)
    mark = one_decimals("x_mark", B, seq_len + pred_len, marks)
    known = x_enc[:, seq_len - label_len :]
    x_dec = torch.cat([known, torch.zeros(B, pred_len, series, dtype=torch.float64)], dim=1)
    return x_enc, mark[:, :seq_len].clone(), x_dec, mark[:, seq_len - label_len :].clone()


def sizes_of(table: tuple[dict[str, int], ...], case: int) -> dict[str, int]:
    """The sizes of a case, a copy.

    Raises:
        ValueError: there is no such case.
    """
    if not 0 <= case < len(table):
        raise ValueError(f"case ({case}) 必须在 0 到 {len(table) - 1} 之间")
    return dict(table[case])


def flags_of(sizes: dict[str, int], without: tuple[str, ...]) -> dict[str, Any]:
    """The sizes but those ``without``: what a model is built with, where these belong to the data."""
    return {name: size for name, size in sizes.items() if name not in without}


def _plain(*names: str) -> dict[str, str]:
    return {name: name for name in names}
