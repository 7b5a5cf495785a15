"""The toy of Layer 0: one series, all its windows as one batch, one step of Adam on PatchTST.

The model is PatchTST at the sizes of its own toy, with its weights, but in training mode and without dropout, which
would draw anew at every call. B is not chosen: it is the number of windows.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from tsformers.models.patchtst import PatchTST
from tsformers.toy import PATCHTST_SIZES, TASK, Toy, fill, flags_of, one_decimals, patchtst, with_cases
from tsformers.training import training_step, windows

LABEL_LENS = (6, 11, 8)
LEARNING_RATE = 0.01


class FirstStep(nn.Module):
    """The first step of a training: every call starts from the weights that ``model`` had at construction.

    Gradients are switched on within, whatever the caller has set: a step is nothing without them.

    Args:
        model: what is trained; put into training mode.
        lr: learning rate of Adam.
        seq_len, label_len, pred_len: see ``windows``.
    """

    def __init__(self, model: nn.Module, *, lr: float, seq_len: int, label_len: int, pred_len: int) -> None:
        super().__init__()
        self.model = model.train().requires_grad_(True)
        self.start = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        self.lr = lr
        self.lengths = (seq_len, label_len, pred_len)

    def forward(self, series: Float[Tensor, "steps C"], marks: Float[Tensor, "steps marks"]) -> Float[Tensor, ""]:
        """The error before the step; afterwards ``model`` has the weights after it."""
        self.model.load_state_dict(self.start)
        optimizer = torch.optim.Adam(self.model.parameters(), lr=self.lr)
        batch = windows(series, marks, *self.lengths)
        with torch.enable_grad():
            return training_step(self.model, optimizer, *batch)


@with_cases(PATCHTST_SIZES)
def patchtst_training(case: int = 0) -> Toy:
    """A first training step of PatchTST on all windows of a short series."""
    plain = patchtst(case)
    chosen = flags_of(plain.sizes, without=("B", "C", "marks"))
    model = fill(PatchTST(task_name=TASK, enc_in=plain.sizes["C"], dropout=0.0, **chosen), trained=False)
    lengths = dict(seq_len=chosen["seq_len"], label_len=LABEL_LENS[case], pred_len=chosen["pred_len"])
    steps = plain.sizes["B"] + lengths["seq_len"] + lengths["pred_len"] - 1
    sizes = {name: size for name, size in plain.sizes.items() if name != "B"} | {"steps": steps} | lengths
    return Toy(
        call=FirstStep(model, lr=LEARNING_RATE, **lengths),
        args=(
            one_decimals("series", steps, sizes["C"], largest=2.0),
            one_decimals("marks", steps, sizes["marks"]),
        ),
        kwargs={},
        sizes=sizes,
        axes={
            **plain.axes,
            "steps": "steps",
            "B": "steps - seq_len - pred_len + 1",
            "label_len": "label_len",
            "dec_len": "label_len + pred_len",
        },
        conditions=(
            ("steps >= seq_len + pred_len", "steps 不能小于 seq_len + pred_len：至少要有一个窗口"),
            ("label_len <= seq_len", "label_len 不能大于 seq_len：decoder 的已知部分取自历史"),
            *plain.conditions,
        ),
    )
