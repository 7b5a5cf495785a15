"""Time-series transformers, written to be read: PatchTST, iTransformer, Informer, and two of their kin.

Nothing is imported until a name is used, so ``import tsformers`` is cheap and loads no torch. Types of the names stand
in ``__init__.pyi``.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_NAMES = {
    "axes": ("AXES", "Axis"),
    "checkpoint": ("CheckpointError", "load_checkpoint"),
    "layers.attention": ("AttentionLayer", "FullAttention", "triangular_causal_mask"),
    "layers.decoder": ("Decoder", "DecoderLayer"),
    "layers.embedding": (
        "DataEmbedding",
        "FixedEmbedding",
        "PositionalEmbedding",
        "TemporalEmbedding",
        "TimeFeatureEmbedding",
        "TokenEmbedding",
    ),
    "layers.encoder": ("ConvLayer", "Encoder", "EncoderLayer"),
    "layers.normalisation": ("masked_normalise",),
    "layers.positionwise": ("PositionwiseConv1d",),
    "models.create": ("create_model",),
    "models.informer": ("Informer", "ProbAttention"),
    "models.itransformer": ("DataEmbedding_inverted", "iTransformer"),
    "models.nonstationary_transformer": ("DSAttention", "Nonstationary_Transformer", "Projector"),
    "models.patchtst": ("FlattenHead", "PatchEmbedding", "PatchTST", "Transpose"),
    "models.transformer": ("Transformer",),
    "training": ("decoder_input", "training_step", "windows"),
}
_HOME = {name: module for module, names in _NAMES.items() for name in names}

__all__ = ["__version__", *_HOME]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
