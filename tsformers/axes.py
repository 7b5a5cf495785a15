"""The one vocabulary of axes: how the code, the pages and the papers call a dimension of a tensor."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Axis:
    """A dimension.

    ``name`` is what code and claims write, ``letter`` the one letter that einsum subscripts and formulas write, ``""``
    if there is none. ``unit`` says what is counted along it. ``papers`` maps a model to the letter of its paper.
    """

    name: str
    letter: str
    chinese: str
    english: str
    unit: str
    meaning: str
    papers: tuple[tuple[str, str], ...] = ()


AXES: tuple[Axis, ...] = (
    Axis("B", "B", "批大小", "batch", "样本", "一次前向里的样本数"),
    Axis("C", "C", "通道数", "channels", "序列", "多变量序列里的变量数", (("PatchTST", "M"),)),
    Axis(
        "N", "N", "变量数", "variates", "序列", "多变量序列里的变量数，每个变量是一个 token", (("iTransformer", "N"),)
    ),
    Axis("enc_in", "", "输入变量数", "encoder input series", "序列", "encoder 输入的变量数", (("Informer", "d_x"),)),
    Axis("c_out", "", "输出变量数", "output series", "序列", "预测的变量数", (("Informer", "d_y"),)),
    Axis("marks", "", "时间特征数", "calendar marks", "特征", "每个时间步的日历特征数，由 freq 决定"),
    Axis("steps", "", "总步数", "steps of the series", "时间步", "切窗口之前，整条序列的时间步数"),
    Axis(
        "seq_len",
        "",
        "回看长度",
        "look-back window",
        "时间步",
        "模型看到的历史时间步数",
        (("PatchTST", "L"), ("iTransformer", "T"), ("Informer", "L_x")),
    ),
    Axis(
        "pred_len",
        "",
        "预测长度",
        "forecast horizon",
        "时间步",
        "要预测的时间步数",
        (("PatchTST", "T"), ("iTransformer", "S"), ("Informer", "L_y")),
    ),
    Axis(
        "label_len",
        "",
        "引导长度",
        "start token",
        "时间步",
        "decoder 输入里已知的时间步数，取自历史末尾",
        (("Informer", "L_token"),),
    ),
    Axis("dec_len", "", "decoder 长度", "decoder length", "时间步", "decoder 的位置数：已知步加要预测的步"),
    Axis("padded_len", "", "补齐后长度", "padded length", "时间步", "末尾重复 stride 次之后的长度"),
    Axis("patch_len", "P", "patch 长度", "patch length", "时间步", "一个 patch 覆盖的时间步数", (("PatchTST", "P"),)),
    Axis("patch_num", "", "patch 数", "number of patches", "token", "一条序列切成的 patch 数", (("PatchTST", "N"),)),
    Axis("head_nf", "", "展平宽度", "flattened width", "特征", "一条序列的全部 token 首尾相接后的宽度"),
    Axis("num_class", "", "类别数", "classes", "类", "分类任务要区分的类别数"),
    Axis("token_count", "", "token 数", "number of tokens", "token", "变量 token 与时间特征 token 的总数"),
    Axis("conv_len", "", "卷积后长度", "length after the convolution", "token", "蒸馏卷积之后、池化之前的 token 数"),
    Axis("enc_seq", "", "encoder 输出长度", "encoder output length", "token", "一次蒸馏之后的 token 数"),
    Axis(
        "d_model",
        "",
        "模型宽度",
        "model width",
        "特征",
        "一个 token 的宽度",
        (("PatchTST", "D"), ("iTransformer", "D"), ("Informer", "d_model")),
    ),
    Axis("n_heads", "H", "头数", "heads", "头", "注意力头数", (("PatchTST", "H"),)),
    Axis("d_keys", "E", "每头宽度", "width per head", "特征", "每个头里 query 与 key 的宽度", (("PatchTST", "d_k"),)),
    Axis("d_ff", "", "前馈宽度", "feed-forward width", "特征", "前馈网络中间层的宽度"),
    Axis("L", "L", "query 数", "queries", "token", "当前层看到的 token 数；注意力里是 query 数"),
    Axis("S", "S", "key 数", "keys", "token", "注意力里 key 与 value 的个数；自注意力里与 L 相等"),
    Axis("H", "H", "头数", "heads", "头", "n_heads 在注意力代码里的写法"),
    Axis("E", "E", "query 与 key 宽度", "key width", "特征", "d_keys 在注意力代码里的写法"),
    Axis("D", "D", "value 宽度", "value width", "特征", "每个头里 value 的宽度，这里总与 d_keys 相等"),
    Axis("L_Q", "", "query 数", "queries", "token", "ProbAttention 里 query 的个数", (("Informer", "L_Q"),)),
    Axis("L_K", "", "key 数", "keys", "token", "ProbAttention 里 key 的个数", (("Informer", "L_K"),)),
    Axis("sample_k", "", "抽样 key 数", "sampled keys", "token", "为每个 query 抽出的 key 数"),
    Axis("n_top", "u", "保留 query 数", "kept queries", "token", "真正做注意力的 query 数", (("Informer", "u"),)),
)
