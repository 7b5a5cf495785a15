"""One token a time step: from its values, its place and its calendar marks.

Axes: B batch, L time steps, c_in series, d_model width of a token, marks calendar features of a time step.
"""

from __future__ import annotations

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

# Calendar features a time step has, by freq: a data property of Time-Series-Library's loaders.
MARKS = {"h": 4, "t": 5, "s": 6, "m": 1, "a": 1, "w": 2, "d": 3, "b": 3}
EMBEDS = ("timeF", "fixed", "learned")
# Columns of marks that are looked up in tables, in order: what each counts, and how many rows its table has.
MARK_LIMITS = (("month", 13), ("day", 32), ("weekday", 7), ("hour", 24), ("minute", 4))
MAX_LEN = 5000


def sinusoids(length: int, d_model: int) -> Float[Tensor, "length d_model"]:
    """Row p holds sin and cos of p at falling frequencies, in turn (Vaswani et al. 2017, section 3.5).

    Raises:
        ValueError: odd ``d_model``: sines and cosines come in pairs.
    """
    if d_model % 2:
        raise ValueError(
            f"d_model ({d_model}) 必须是偶数：正弦位置编码的 sin 与 cos 成对，{d_model} % 2 = {d_model % 2}"
        )
    place = torch.arange(length, dtype=torch.float32).unsqueeze(1)
    frequency = torch.exp(torch.arange(0, d_model, 2, dtype=torch.float32) * -(math.log(10000.0) / d_model))
    return torch.stack([torch.sin(place * frequency), torch.cos(place * frequency)], dim=-1).flatten(-2)


def require_places(name: str, tokens: int, max_len: int = MAX_LEN) -> None:
    """Nothing, if a table of ``max_len`` places is enough for ``tokens``.

    Raises:
        ValueError: it is not; ``name`` says what was counted.
    """
    if tokens > max_len:
        raise ValueError(f"{name} ({tokens}) 不能大于 {max_len}：位置编码的表只有 {max_len} 行")


class PositionalEmbedding(nn.Module):
    """The sinusoids of the first L places, the same for every sample. The table is saved with the weights.

    Args:
        d_model: width of a token, even.
        max_len: rows of the table.

    Raises:
        ValueError: odd ``d_model``; in ``forward``, more tokens than rows.

    Source: ``PositionalEmbedding`` in Time-Series-Library's ``layers/Embed.py``.
    """

    pe: Tensor

    def __init__(self, d_model: int, max_len: int = MAX_LEN) -> None:
        super().__init__()
        self.register_buffer("pe", sinusoids(max_len, d_model).unsqueeze(0))

    def forward(self, x: Float[Tensor, "B L _"]) -> Float[Tensor, "1 L d_model"]:
        """Reads the number of tokens of ``x`` alone."""
        require_places("token 数", x.size(1), self.pe.size(1))
        return self.pe[:, : x.size(1)]  # [1, L, d_model]


class TokenEmbedding(nn.Module):
    """A time step and its two neighbours, mixed linearly; the two ends of the series are neighbours.

    Args:
        c_in: number of series.
        d_model: width of a token.

    Source: ``TokenEmbedding`` in Time-Series-Library's ``layers/Embed.py``.
    """

    def __init__(self, c_in: int, d_model: int) -> None:
        super().__init__()
        self.tokenConv = nn.Conv1d(c_in, d_model, kernel_size=3, padding=1, padding_mode="circular", bias=False)
        nn.init.kaiming_normal_(self.tokenConv.weight, mode="fan_in", nonlinearity="leaky_relu")

    def forward(self, x: Float[Tensor, "B L c_in"]) -> Float[Tensor, "B L d_model"]:
        """Step t is mixed from steps t-1, t and t+1, counted around the end: the first step sees the last one."""
        x = self.tokenConv(x.permute(0, 2, 1))  # [B, d_model, L]
        return x.transpose(1, 2)  # [B, L, d_model]


class FixedEmbedding(nn.Module):
    """A table of sinusoids in place of learned rows.

    Args:
        c_in: rows of the table.
        d_model: width of a token, even.

    Raises:
        ValueError: odd ``d_model``.

    Source: ``FixedEmbedding`` in Time-Series-Library's ``layers/Embed.py``.
    """

    def __init__(self, c_in: int, d_model: int) -> None:
        super().__init__()
        self.emb = nn.Embedding(c_in, d_model)
        self.emb.weight = nn.Parameter(sinusoids(c_in, d_model), requires_grad=False)

    def forward(self, x: Int[Tensor, "B L"]) -> Float[Tensor, "B L d_model"]:
        """Row x of the table, without a gradient."""
        return self.emb(x).detach()  # [B, L, d_model]


class TemporalEmbedding(nn.Module):
    """Calendar marks as integers, a table each: month, day, weekday, hour, and with freq "t" the quarter of an hour.

    Args:
        d_model: width of a token.
        embed_type: "fixed" or "learned".
        freq: a key of ``MARKS``; at least the four columns up to the hour are read whatever it says.

    Raises:
        ValueError: unknown ``embed_type`` or ``freq``; odd ``d_model`` with "fixed".

    Source: ``TemporalEmbedding`` in Time-Series-Library's ``layers/Embed.py``.
    """

    def __init__(self, d_model: int, embed_type: str = "fixed", freq: str = "h") -> None:
        super().__init__()
        if embed_type not in ("fixed", "learned"):
            raise ValueError(f"embed_type ({embed_type!r}) 必须是 'fixed' 或 'learned'")
        marks_of(freq)
        table = FixedEmbedding if embed_type == "fixed" else nn.Embedding
        self.minute_embed = table(4, d_model) if freq == "t" else None
        self.hour_embed = table(24, d_model)
        self.weekday_embed = table(7, d_model)
        self.day_embed = table(32, d_model)
        self.month_embed = table(13, d_model)

    def forward(self, x: Float[Tensor, "B L marks"] | Int[Tensor, "B L marks"]) -> Float[Tensor, "B L d_model"]:
        """The sum of a row of each table. Fractions are cut off; the models reject marks that have any."""
        month, day, weekday, hour, *minute = x.long().unbind(-1)  # [B, L]
        x = self.hour_embed(hour) + self.weekday_embed(weekday)  # [B, L, d_model]
        x = x + self.day_embed(day) + self.month_embed(month)
        if self.minute_embed is not None:
            x = x + self.minute_embed(minute[0])
        return x


class TimeFeatureEmbedding(nn.Module):
    """Calendar marks as real numbers in [-0.5, 0.5], mapped linearly.

    Args:
        d_model: width of a token.
        freq: a key of ``MARKS``: how many marks a time step has.

    Raises:
        ValueError: unknown ``freq``.

    Source: ``TimeFeatureEmbedding`` in Time-Series-Library's ``layers/Embed.py``.
    """

    def __init__(self, d_model: int, freq: str = "h") -> None:
        super().__init__()
        self.embed = nn.Linear(marks_of(freq), d_model, bias=False)

    def forward(self, x: Float[Tensor, "B L marks"]) -> Float[Tensor, "B L d_model"]:
        """A linear map of the marks, without bias."""
        return self.embed(x)  # [B, L, d_model]


class DataEmbedding(nn.Module):
    """Value, calendar and place of a time step, added up.

    Args:
        c_in: number of series.
        d_model: width of a token, even.
        embed_type: "timeF" (marks are real numbers), "fixed" or "learned" (marks are integers).
        freq: a key of ``MARKS``: how many marks a time step has.
        dropout: rate on the sum.

    Raises:
        ValueError: odd ``d_model``, unknown ``embed_type`` or ``freq``.

    Source: ``DataEmbedding`` in Time-Series-Library's ``layers/Embed.py``.
    """

    def __init__(
        self, c_in: int, d_model: int, embed_type: str = "fixed", freq: str = "h", dropout: float = 0.1
    ) -> None:
        super().__init__()
        if embed_type not in EMBEDS:
            raise ValueError(f"embed ({embed_type!r}) 必须是 {' 或 '.join(map(repr, EMBEDS))}")
        self.value_embedding = TokenEmbedding(c_in, d_model)
        self.position_embedding = PositionalEmbedding(d_model)
        self.temporal_embedding: nn.Module
        if embed_type == "timeF":
            self.temporal_embedding = TimeFeatureEmbedding(d_model, freq)
        else:
            self.temporal_embedding = TemporalEmbedding(d_model, embed_type, freq)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, x: Float[Tensor, "B L c_in"], x_mark: Float[Tensor, "B L marks"] | Int[Tensor, "B L marks"] | None
    ) -> Float[Tensor, "B L d_model"]:
        """``x_mark=None`` leaves the calendar out."""
        if x_mark is None:
            x = self.value_embedding(x) + self.position_embedding(x)  # [B, L, d_model]
        else:
            x = (
                self.value_embedding(x) + self.temporal_embedding(x_mark) + self.position_embedding(x)
            )  # [B, L, d_model]
        return self.dropout(x)


def marks_of(freq: str) -> int:
    """Number of calendar features for ``freq``.

    Raises:
        ValueError: unknown ``freq``.
    """
    if freq not in MARKS:
        raise ValueError(f"freq ({freq!r}) 必须是 {'、'.join(map(repr, MARKS))} 之一")
    return MARKS[freq]


def mark_count(embed_type: str, freq: str) -> int:
    """Number of marks a time step has when ``DataEmbedding(embed_type=embed_type, freq=freq)`` reads them.

    Marks that are looked up in tables are month, day, weekday and hour whatever ``freq`` says, and the minute for "t".

    Raises:
        ValueError: unknown ``freq``.
    """
    if embed_type == "timeF":
        return marks_of(freq)
    return len(MARK_LIMITS) if freq == "t" else len(MARK_LIMITS) - 1
