"""What a model can be asked to do, and what it must be given for it.

Every check names the quantity and both numbers, and runs before anything is computed: at construction for sizes, at the
start of a model's ``forward`` for tensors. Checks that look at values are skipped for tensors on the meta device.
"""

from __future__ import annotations

from jaxtyping import Shaped
from torch import Tensor, nn

from tsformers.layers.embedding import MARK_LIMITS, mark_count

FORECASTS = ("long_term_forecast", "short_term_forecast")
TASKS = (*FORECASTS, "imputation", "anomaly_detection", "classification")


def require_task(task_name: str, num_class: int | None) -> str:
    """``task_name`` itself, if it is one of ``TASKS``.

    Raises:
        ValueError: another task, for which Time-Series-Library's models return None; a classification with no
            ``num_class`` or one below 1.
    """
    if task_name not in TASKS:
        raise ValueError(f"task_name ({task_name!r}) 不是已知的任务，必须是 {' 或 '.join(map(repr, TASKS))}")
    if task_name == "classification":
        if num_class is None:
            raise ValueError(f"num_class ({num_class}) 不能省略：task_name ({task_name!r}) 需要知道有几类")
        require_sizes(num_class=num_class)
    return task_name


def require_sizes(**sizes: int) -> None:
    """Nothing, if every size is at least 1.

    Raises:
        ValueError: a size below 1, by its name. A length of 0 is the worst: ``x[:, -0:]`` is the whole of ``x``.
    """
    for name, size in sizes.items():
        if size < 1:
            raise ValueError(f"{name} ({size}) 必须至少为 1")


def require_start(label_len: int, seq_len: int) -> None:
    """Nothing, if a decoder can start from the last ``label_len`` of ``seq_len`` given time steps.

    Raises:
        ValueError: ``label_len`` below 1, or above ``seq_len``.
    """
    if label_len < 1:
        raise ValueError(f"label_len ({label_len}) 必须至少为 1：decoder 的输入以历史末尾的 label_len 步开头")
    if label_len > seq_len:
        raise ValueError(f"label_len ({label_len}) 不能大于 seq_len ({seq_len})：已知的步取自 encoder 输入的末尾")


def require_same_series(task_name: str, *, enc_in: int, **others: int) -> None:
    """Nothing, if the ``others`` (``c_out``, ``dec_in``) equal ``enc_in``.

    Raises:
        ValueError: one does not. Scaling the output back with the input's statistics would broadcast it silently.
    """
    for name, size in others.items():
        if size != enc_in:
            raise ValueError(f"{name} ({size}) 必须等于 enc_in ({enc_in})：{task_name} 用输入的均值和标准差还原输出")


def check_input(
    name: str, tensor: Shaped[Tensor, "*axes"] | None, like: nn.Module | None = None, /, **axes: int | None
) -> Shaped[Tensor, "*axes"]:
    """``tensor`` itself, if it has these axes, by name in their order; None stands for any size.

    Raises:
        ValueError: no tensor, another number of axes, or an axis of another size; with the model ``like``, what
            ``check_kind`` refuses.
    """
    wanted = f"({', '.join(axis if size is None else f'{axis}={size}' for axis, size in axes.items())})"
    if tensor is None:
        raise ValueError(f"{name} (None) 不能省略，必须是 {wanted}")
    shape = tuple(tensor.shape)
    if len(shape) != len(axes):
        raise ValueError(f"{name} {shape} 的轴数 ({len(shape)}) 必须是 {len(axes)}：{wanted}")
    for (axis, size), actual in zip(axes.items(), shape, strict=True):
        if size is not None and actual != size:
            raise ValueError(f"{name} {shape} 的 {axis} ({actual}) 必须等于 {size}：{wanted}")
    check_kind(name, tensor, like)
    return tensor


def check_kind(name: str, tensor: Shaped[Tensor, "*axes"], like: nn.Module | None) -> None:
    """Nothing, if ``tensor`` holds a value at least, and of the dtype of the parameters of ``like``; None asks nothing.

    Raises:
        ValueError: no value, as in an empty batch; another dtype, which torch would refuse at some layer, or convert
            where a float64 statistic meets a float32 series.
    """
    if like is None:
        return
    if tensor.numel() == 0:
        raise ValueError(f"{name} {tuple(tensor.shape)} 里一个值也没有：每根轴都必须至少为 1，批也不能是空的")
    dtype = next(like.parameters()).dtype
    if tensor.dtype != dtype:
        raise ValueError(
            f"{name} 的 dtype ({tensor.dtype}) 必须等于模型参数的 dtype ({dtype})：用 {name}.to({dtype}) 转换，或转换模型"
        )


def check_marks(name: str, marks: Shaped[Tensor, "*axes"] | None, *, embed: str, freq: str, **axes: int) -> None:
    """Nothing, if ``marks`` is None or calendar marks that fit ``embed`` and ``freq``.

    Args:
        name: what the tensor is called.
        marks: one row a time step.
        embed, freq: see ``DataEmbedding``.
        axes: sizes of the axes before the last, by name.

    Raises:
        ValueError: wrong axes or sizes; integers with ``embed`` "timeF"; with "fixed" or "learned", values that are no
            whole numbers of the calendar. Time-Series-Library cuts fractions off, so marks made for "timeF" would all
            become one row.
    """
    if marks is None:
        return
    check_input(name, marks, **axes, marks=None)
    count = mark_count(embed, freq)
    if marks.shape[-1] != count:
        raise ValueError(
            f"{name} {tuple(marks.shape)} 的 marks ({marks.shape[-1]}) 必须等于 {count}："
            f"freq={freq!r}、embed={embed!r} 时每步有 {count} 个时间特征"
        )
    if embed == "timeF" and not marks.is_floating_point():
        raise ValueError(f"{name} 的 dtype ({marks.dtype}) 必须是浮点数：embed='timeF' 的时间特征是 -0.5 到 0.5 的实数")
    if embed == "timeF" or marks.is_meta:
        return
    for column, (what, limit) in enumerate(MARK_LIMITS[:count]):
        values = marks[..., column]
        wrong = values[(values != values.floor()) | (values < 0) | (values >= limit)]
        if wrong.numel():
            raise ValueError(
                f"{name} 第 {column} 列（{what}）的值 ({wrong[0].item():g}) 必须是 0 到 {limit - 1} 的整数："
                f"embed={embed!r} 按值查表，小数是给 embed='timeF' 的"
            )


def check_mask(
    mask: Shaped[Tensor, "*axes"] | None, x_enc: Shaped[Tensor, "B seq_len enc_in"]
) -> Shaped[Tensor, "B seq_len enc_in"]:
    """``mask`` itself, if it says of every value of ``x_enc`` whether it is seen (1) or hidden (0).

    Raises:
        ValueError: no mask; another shape; a value that is NaN or neither 0 nor 1; a series of a sample that is hidden
            throughout, of which no mean can be taken.
    """
    B, seq_len, series = x_enc.shape
    mask = check_input("mask", mask, B=B, seq_len=seq_len, enc_in=series)
    check_unread_mask(mask, x_enc)
    if not mask.is_meta:
        seen = (mask == 1).sum(dim=1)  # [B, enc_in]
        for sample, one in (seen == 0).nonzero()[:1].tolist():
            raise ValueError(f"mask 遮住了样本 {sample} 的整条序列 {one}：{seq_len} 步里看得见 0 步，必须至少为 1")
    return mask


def check_unread_mask(mask: Shaped[Tensor, "*axes"] | None, x_enc: Shaped[Tensor, "B seq_len enc_in"]) -> None:
    """Nothing, if there is no ``mask``, or one as ``check_mask`` wants it; a series may be hidden throughout.

    For imputation by models that take a mask and do not read it: a wrong one is a mistake all the same.

    Raises:
        ValueError: another shape; a value that is NaN or neither 0 nor 1.
    """
    if mask is None:
        return
    B, seq_len, series = x_enc.shape
    check_input("mask", mask, B=B, seq_len=seq_len, enc_in=series)
    if mask.is_meta:
        return
    missing = int(mask.isnan().sum())
    if missing:
        raise ValueError(f"mask 的 {mask.numel()} 个值里有 NaN ({missing} 个)；每个值都必须是 0 或 1")
    odd = mask[(mask != 0) & (mask != 1)]
    if odd.numel():
        raise ValueError(f"mask 的值 ({odd[0].item():g}) 必须是 0 或 1：1 看得见，0 被遮住")
