"""Records made by hand for the derived parts: the first encoder layer of a PatchTST, B*C = 8, six patches, width 16."""

from __future__ import annotations

import math

from tsformers.reading.record import Call, Quote, Statement, Subject, TensorValue, Variable

LAYER = "tsformers.layers.encoder.EncoderLayer.forward"
ATTENTION = "tsformers.layers.attention.AttentionLayer.forward"
TOKENS = ("B*C", "patch_num", "d_model")
WIDE = ("B*C", "d_ff", "patch_num")
FIRST_LINE = 40
SOURCE = '''\
def forward(self, x, attn_mask=None, tau=None, delta=None):
    """Tokens in, tokens out."""

    new_x, attn = self.attention(x, x, x, attn_mask=attn_mask, tau=tau, delta=delta)
    x = x + self.dropout(new_x)
    y = x = self.norm1(x)
    y = self.dropout(self.activation(self.conv1(y.transpose(-1, 1))))
    y = self.dropout(self.conv2(y).transpose(-1, 1))
    if tau is not None:
        y = y * tau
    return self.norm2(x + y), attn
'''


def tensor(*shape: int, seed: int = 0, filled: bool = True) -> TensorValue:
    """A float64 record whose elements are a smooth function of their index."""
    data = tuple(math.sin(0.7 * k + seed) for k in range(math.prod(shape))) if filled else None
    return TensorValue(shape, "float64", data)


def torch_call(owner: str, name: str, line: int, before: tuple[int, ...], after: tuple[int, ...]) -> Call:
    kind = {"Dropout": "dropout", "LayerNorm": "normalization", "Conv1d": "conv", "Linear": "linear"}[owner]
    axes = {(8, 6, 16): TOKENS, (8, 64, 6): WIDE, (8, 16, 6): ("B*C", "d_model", "patch_num")}
    return Call(
        f"torch.nn.modules.{kind}.{owner}.forward",
        owner,
        name,
        line,
        (("input", tensor(*before, filled=False), axes.get(before)),),
        tensor(*after, filled=False),
        (axes.get(after),),
        (),
    )


def attention(path: str, line: int) -> Call:
    x = tensor(8, 6, 16, filled=False)
    heads = tensor(8, 6, 2, 8, filled=False)
    inner = Call(
        "tsformers.layers.attention.FullAttention.forward", "FullAttention", path + ".inner_attention", 31,
        (("queries", heads, None), ("keys", heads, None), ("values", heads, None), ("attn_mask", None, None)),
        (heads, None), (("B*C", "patch_num", "n_heads", "d_keys"), None), (),
    )  # fmt: skip
    linears = [
        torch_call("Linear", f"{path}.{name}_projection", 28, (8, 6, 16), (8, 6, 16))
        for name in ("query", "key", "value")
    ]
    out = torch_call("Linear", path + ".out_projection", 34, (8, 6, 16), (8, 6, 16))
    inputs = (("queries", x, TOKENS), ("keys", x, TOKENS), ("values", x, TOKENS),
              ("attn_mask", None, None), ("tau", None, None), ("delta", None, None))  # fmt: skip
    return Call(ATTENTION, "AttentionLayer", path, line, inputs, (x, None), (TOKENS, None), (*linears, inner, out))


def layer(path: str = "encoder.attn_layers.0", line: int = 80) -> Call:
    x = tensor(8, 6, 16, filled=False)
    parts = (
        attention(path + ".attention", 43),
        torch_call("Dropout", path + ".dropout", 44, (8, 6, 16), (8, 6, 16)),
        torch_call("LayerNorm", path + ".norm1", 45, (8, 6, 16), (8, 6, 16)),
        torch_call("Conv1d", path + ".conv1", 46, (8, 16, 6), (8, 64, 6)),
        torch_call("Dropout", path + ".dropout", 46, (8, 64, 6), (8, 64, 6)),
        torch_call("Conv1d", path + ".conv2", 47, (8, 64, 6), (8, 16, 6)),
        torch_call("Dropout", path + ".dropout", 47, (8, 6, 16), (8, 6, 16)),
        torch_call("LayerNorm", path + ".norm2", 50, (8, 6, 16), (8, 6, 16)),
    )
    inputs = (("x", x, TOKENS), ("attn_mask", None, None), ("tau", None, None), ("delta", None, None))
    return Call(LAYER, "EncoderLayer", path, line, inputs, (x, None), (TOKENS, None), parts)


def tree() -> Call:
    x = tensor(8, 6, 16, filled=False)
    series = tensor(2, 17, 4, filled=False)
    encoder = Call(
        "tsformers.layers.encoder.Encoder.forward", "Encoder", "encoder", 60,
        (("x", x, TOKENS),), (x, [None, None]), (TOKENS, None),
        (layer(), layer("encoder.attn_layers.1"), torch_call("LayerNorm", "encoder.norm", 85, (8, 6, 16), (8, 6, 16))),
    )  # fmt: skip
    embedding = Call(
        "tsformers.layers.embedding.PatchEmbedding.forward", "PatchEmbedding", "patch_embedding", 55,
        (("x", tensor(2, 4, 17, filled=False), ("B", "C", "seq_len")),), (x, 4), (TOKENS, None),
        (torch_call("Linear", "patch_embedding.value_embedding", 20, (8, 6, 5), (8, 6, 16)),),
    )  # fmt: skip
    return Call(
        "tsformers.models.patchtst.PatchTST.forward", "PatchTST", "", 0,
        (("x_enc", series, ("B", "seq_len", "C")),), tensor(2, 7, 4, filled=False), (("B", "pred_len", "C"),),
        (embedding, encoder),
    )  # fmt: skip


def subject() -> Subject:
    lines = SOURCE.split("\n")
    statements = tuple(
        Statement(FIRST_LINE + at, FIRST_LINE + at, lines[at].strip(), at != 9, at < 8)
        for at in (3, 4, 5, 6, 7, 8, 9, 10)
    )
    return Subject(
        f"{LAYER} @ encoder.attn_layers.0", LAYER, "encoder.attn_layers.0", "tsformers/layers/encoder.py",
        FIRST_LINE, SOURCE, layer(), statements,
    )  # fmt: skip


def code(*numbers: int) -> str:
    """The source at these physical lines, dedented, as a fence holds it."""
    return "\n".join(SOURCE.split("\n")[number - FIRST_LINE][4:] for number in numbers)


def quote(
    *numbers: int, wrote: tuple[Variable, ...] = (), returned: Variable | None = None, **changes: object
) -> Quote:
    calls = tuple(child for child in layer().children if child.line in numbers)
    fields = {
        "subject": 0, "lines": numbers, "first_line": numbers[0], "last_line": numbers[-1], "executed": True,
        "construction": False, "passes": 1, "chosen_pass": 1, "wrote": wrote, "returned": returned, "calls": calls,
    }  # fmt: skip
    return Quote(**{**fields, **changes})


X0, X1, X2 = (tensor(8, 6, 16, seed=seed) for seed in range(3))
HIDDEN, BACK, OUT = tensor(8, 64, 6, seed=3), tensor(8, 6, 16, seed=4), tensor(8, 6, 16, seed=5)

RESIDUAL = quote(43, 44, wrote=(
    Variable("new_x", None, False, X1, TOKENS), Variable("attn", None, False, None, None),
    Variable("x", X0, True, X1, TOKENS),
))  # fmt: skip
NORM = quote(45, wrote=(Variable("y", None, False, X2, TOKENS), Variable("x", X1, True, X2, TOKENS)))
WIDEN = quote(46, wrote=(Variable("y", X2, True, HIDDEN, WIDE),))
NARROW = quote(47, wrote=(Variable("y", HIDDEN, True, BACK, TOKENS),))
SKIPPED = quote(49, executed=False)
RETURN = quote(50, returned=Variable("return", None, False, (OUT, None), None))
