"""Pages as a whole: claims in every kind of place, axis names, classes of spans, toys, several subjects."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.reading.checking import MIXER, WINDING, block, check, front, place, quoted
from tsformers.reading.failure import Failure
from tsformers.reading.record import Evidence, Reading
from tsformers.reading.settings import Settings
from tsformers.reading.verdict import judge_page

# Every form in which a claim may stand: the text with a right claim, RIGHT, is green; with a wrong one red there.
FORMS = {
    "paragraph": "于是 {} 成立。\n",
    "second line of a paragraph": "第一行，\n第二行 {}，\n第三行。\n",
    "after a right one": "先 `x (2, 3, 4)`，再 {}。\n",
    "list": "* 一\n* 二 {}\n",
    "ordered list": "1. 一\n2. 二\n   续 {}\n",
    "nested list": "* 一\n    * 二 {}\n",
    "table": "| 量 | 形状 |\n|---|---|\n| 输入 | {} |\n",
    "heading": "## 输入 {} 的去向\n",
    "block quote": "> 引\n> {} 句\n",
    "quote in a list": "* 一\n\n    > 引 {}\n",
    "admonition": '!!! note "标题"\n\n    内文 {}。\n',
    "title of an admonition": '!!! note "标题 {}"\n\n    内文。\n',
    "collapsed": '??? note "标题"\n\n    第一段。\n\n    第二段 {}。\n',
    "tab": '=== "甲"\n\n    内文 {}。\n\n=== "乙"\n\n    内文。\n',
    "admonition in a tab": '=== "甲"\n\n    !!! tip "提"\n\n        深处 {}。\n',
    "list in an admonition": '!!! note "标题"\n\n    * 一\n    * 二 {}\n',
    "table in a tab": '=== "甲"\n\n    | 量 | 形状 |\n    |---|---|\n    | 输入 | {} |\n',
    "callout": "> [!note] 标题\n> 内文 {}。\n",
    "emphasis": "这里 **重要 {}** 的。\n",
    "link text": "见 [形状 {}](#a)。\n",
    "definition after a fence": quoted("B, L, D = x.shape") + "其后 {}。\n",
}
WRONG = [  # a span, what of it is wrong, the kind of the failure
    ("`x (2, 3, 5)`", "5)", "claim"),
    ("`x (2, 3)`", "(2", "claim"),
    ("`x.shape[1] = 4`", "4`", "claim"),
    ("`x[0, 0] ≈ [0.0, 0.1, 0.2, 0.4]`", "0.4", "claim"),
    ("`x.max() < 0.5`", "x.max", "claim"),
    ("`x (L, B, d_model)`", "L", "axis"),
    ("`xx (2, 3, 4)`", "xx", "name"),
    ("`0.5`", "0.5", "naked"),
    ("`x（2，3，4）`", "x", "claim"),
]


@pytest.mark.parametrize("form", FORMS)
def test_a_right_claim_is_green_in_every_form(form):
    checked = check(FORMS[form].format("`x (2, 3, 4)`"))
    assert [failure for failure in checked.failures if failure.kind not in ("link",)] == []
    assert sum(evidence.kind == "claim" for evidence in checked.reading.evidence.values()) >= 1


@pytest.mark.parametrize("form", FORMS)
def test_wrong_claims_are_red_at_their_place_in_every_form(form):
    for wrong, part, kind in WRONG:
        text = FORMS[form].format(wrong)
        checked = check(text)
        assert checked.said == [(*place(text, wrong, within=wrong.index(part)), kind)], wrong
        assert checked.failures[0].claim == wrong.strip("`")


def test_one_wrong_number_in_four_sentences_is_one_failure():
    sentences = ["`x[0, 0] ≈ [0.0, 0.1, 0.2, 0.3]`"] * 4
    sentences[2] = "`x[0, 0] ≈ [0.0, 0.1, 0.3, 0.3]`"
    text = "。\n\n".join(sentences) + "\n"
    (failure,) = check(text).failures
    assert (failure.line, failure.column) == place(text, "0.3, 0.3]")
    assert "[2]" in failure.message and failure.expected == "0.3" and failure.actual == "0.2"


def test_the_element_of_a_matrix_is_named():
    text = "结果 `x[0, :2, :2] ≈ [[0.0, 0.1], [0.4, 0.6]]`\n"
    (failure,) = check(text).failures
    assert "[1][1]" in failure.message and (failure.line, failure.column) == place(text, "0.6]")


def test_shape_and_dtype_come_before_values():
    text = "`x[0, 0] ≈ [[0.0, 0.1], [0.2, 0.3]]`，`x[0, 0] ≈ 0.0001`，`x[0, 0, :2] ≈ [0.0, 0.1] float32`\n"
    failures = check(text).failures
    assert [failure.kind for failure in failures] == ["claim"] * 3
    assert "秩" in failures[0].message and "秩" in failures[1].message and failures[2].actual == "float64"


def test_the_digits_written_are_the_tolerance():
    header = front("paired", "Pair.forward")
    text = (
        block("m = x.mean() / 2 + 1e-7\ntiny = m * 1e-8")
        + "均值 `m ≈ 0.50`，（`m ≈ 0.5`），`m ≈ 0.51`，`tiny ≈ 1.0e-09`，`tiny ≈ 5.0e-09`\n"
    )
    checked = check(text, header)
    assert checked.said == [
        (*place(text, "0.51", header), "claim"),
        (*place(text, "1.0e-09", header), "claim"),
    ]


def test_asking_is_red_and_answers():
    text = "`x (?)`，`x.max() ≈ ?`\n"
    failures = check(text).failures
    assert [failure.actual for failure in failures] == ["(2, 3, 4)", "1.0000"]


# Axis names


def test_axis_names_of_equal_size_in_the_toy_are_told_apart_by_its_other_configurations():
    right = "`x (B, L, d_model)`，`x (2, 3, 3) = (B, L, d_model)`，`x (B, L, 3)`\n"
    assert check(right, WINDING).failures == []
    text = "`x (B, d_model, L)`\n"  # 2, 3, 3 in the toy
    (failure,) = check(text, WINDING).failures
    assert failure.kind == "axis" and "写反" in failure.message and "配置 1" in failure.message


@pytest.mark.parametrize(
    ("claim", "part", "word"),
    [
        ("`x (L, B, d_model)`", "L, B", "写反"),
        ("`x (B, L, d_ff)`", "d_ff", "d_ff"),
        ("`x (B, L, d_nothing)`", "d_nothing", "没有轴名"),
        ("`x (B, L, D)`", "D)", "没有轴名"),
        ("`x (B, rounds + 1, d_model)`", "rounds + 1", "rounds + 1"),
        ("`x (2, 3, 4) = (B, d_model, L)`", "d_model", "写反"),
        ("`x (2, 3, 4) = (B, L)`", "= (B", "轴"),
    ],
)
def test_wrong_axis_names(claim, part, word):
    text = quoted("B, L, D = x.shape", claim)
    (failure,) = check(text).failures
    assert (failure.line, failure.column) == place(text, claim, within=claim.index(part))
    assert word in failure.message and failure.claim == claim.strip("`")


def test_axis_names_are_those_of_the_toy_though_the_frame_has_others():
    text = quoted("B, L, D = x.shape", "`x (B, L, d_model)`")
    assert check(text).failures == []
    # in the frame of the inner mixer L is the toy's, rounds is not a local: an axis may be an expression over sizes
    assert check("`self.linear.weight (2 * d_model, d_model)`，`self.linear.weight (d_ff, d_model)`\n").failures == []


def test_a_toy_of_one_configuration_proves_no_axis_name():
    text = "`x (2, 3, 4)`，`x (B, L, d_model)`\n"
    (failure,) = check(text, front("single", "Mixer.forward")).failures
    assert failure.kind == "axis" and "一个配置" in failure.message


def test_a_configuration_that_does_not_get_there_is_skipped():
    text = quoted("extra = y.transpose(1, 2)", "`extra (B, d_model, L)`")
    assert check(text, WINDING).failures == []
    wrong = quoted("extra = y.transpose(1, 2)", "`extra (B, L, d_model)`")
    (failure,) = check(wrong, WINDING).failures
    assert "配置 2" in failure.message  # the last one gets there
    (failure,) = check(text, front("shallow", "Winding.forward")).failures
    assert failure.kind == "axis" and "其他配置都没有执行到这里" in failure.message


def test_a_name_of_the_page_has_no_axis_names():
    text = block("mine = x * 2") + "`mine (2, 3, 4)`，`mine (B, L, d_model)`\n"
    checked = check(text)
    assert checked.said == [(*place(text, "(B, L", within=1), "axis")]


def test_a_name_that_the_frame_shadows_still_means_the_configuration():
    text = quoted("B, L, D = x.shape", "`x (B*L, 1, d_model)`，`B = 6`，`sizes.B = 2`，`x (B, 1, d_model)`")
    checked = check(text, front("folded", "Inner.forward"))
    (failure,) = checked.failures
    assert failure.kind == "axis" and failure.claim == "x (B, 1, d_model)"
    assert [evidence.shadowed for evidence in checked.reading.evidence.values()][0] == (("B", 2, 6), ("L", 3, 1))


# Classes of spans


@pytest.mark.parametrize(
    ("span", "kind"),
    [
        ("x (2, 3, 4)", "claim"),
        ("x", "name"),
        ("self.linear.weight", "name"),
        ("x.shape[0]", "name"),
        ("torch.nn.Linear", "name"),
        ("Linear", "name"),
        ("bmm", "name"),
        ("len", "name"),
        ("None", "name"),
        ("return[0]", "name"),
        ("d_ff", "name"),
        ("rounds", "name"),
        ("Mixer", "name"),
        ("y.masked_fill(mask, 0.0)", "source"),
        ("self.linear = nn.Linear(d_model, 2 * d_model)", "source"),
        ("for i in range(self.rounds):", "source"),
        ("outs.append", "source"),
        ("if  mask  is not None", "source"),
        ("pyproject.toml", "page"),
        ("tsformers/reading", "page"),
        ("指标", "term"),
        ("own-term", "term"),
    ],
)
def test_classes_of_spans(span, kind):
    header = MIXER.replace("---\ntoy", "---\nterms: [own-term]\ntoy")
    checked = check(f"见 `{span}`。\n", header, known_terms=frozenset({"指标"}))
    assert checked.failures == []
    assert [evidence.kind for evidence in checked.reading.evidence.values()] == [kind]


@pytest.mark.parametrize(
    "span",
    ["masked_fil", "None of these", "y.masked_fill(mask, 0.5)", "elf.linear", "(2, 3, 4)", "0.0", "while", "==",
     "no/such/path", "../x", "foo bar",
     "outs.append(z)", "__import__('os').system('true')"],
)  # fmt: skip
def test_spans_that_are_nothing(span):
    checked = check(f"见 `{span}`。\n")
    assert [(failure.line, failure.column) for failure in checked.failures] == [(5, 4)]
    assert checked.failures[0].kind in ("name", "naked", "claim")


def test_double_backticks_are_not_checked():
    assert check("写作 ``x (9, 9)`` 和 ``nothing.at_all``。\n").failures == []


# Toys


@pytest.mark.parametrize(
    ("header", "line", "part"),
    [
        (front("broken", "Mixer.forward"), 2, "RuntimeError: no such toy"),
        (front("missing", "Mixer.forward"), 2, "missing"),
        (front("mixer", "Mixer.backward"), 3, "backward"),
        (front("mixer", "Mixer"), 3, "Mixer.forward"),
        (front("mixer", "Mixer.forward @ layers.0"), 3, "layers.0"),
        (front("mixer", "Mixer.forward #2"), 3, "第 2 次"),
        (front("unnamed", "Mixer.forward"), 3, "只调用了 0 次"),
        (front("mixer", "Mixer.forward @@ x"), 3, "reads"),
        (front("summed", "Mixer.forward @ first"), 3, "nn.Module"),
        (front("mixer", "Mixer.forward").replace("sample_toys:mixer", "nowhere:mixer"), 2, "nowhere"),
        (front("mixer", "Mixer.forward").replace("sample_toys:mixer", "sample_toys.mixer"), 2, "module:function"),
        (front("mixer", "Mixer.forward").replace("'tests.reading.sample_toys.Mixer.forward'", "torch.add"), 3, "源码"),
    ],
)  # fmt: skip
def test_a_toy_or_a_function_that_cannot_be_used(header, line, part):
    failures = check("`x (2, 3, 4)`\n", header).failures
    assert [(failure.line, failure.kind) for failure in failures] == [(line, "front-matter")]
    assert part in failures[0].message


def test_a_function_that_only_another_toy_calls_is_read_there():
    header = front("mixer", "Mixer.forward", "Twice.forward", other="twice")
    text = quoted("other, _ = self.second(x)") + "`other is not again`\n\n" + quoted("B, L, D = x.shape") + "`D = 4`\n"
    checked = check(text, header)
    assert checked.failures == []
    assert [evidence.toy for evidence in checked.reading.evidence.values()] == ["other", ""]
    assert [subject.function.split(".")[-2] for subject in checked.reading.subjects] == ["Mixer", "Twice"]
    assert checked.reading.subjects[1].call is not None
    (failure,) = check(text, front("mixer", "Mixer.forward", "Twice.forward", other="trained")).failures
    assert (failure.line, failure.kind) == (4, "front-matter") and "只调用了 0 次" in failure.message


def test_two_calls_of_one_function_have_its_statements_in_common():
    header = front("mixer", "Mixer.forward", "Mixer.forward", other="trained")
    reading = check(quoted("B, L, D = x.shape"), header).reading
    explained = [[s.line for s in subject.statements if s.explained] for subject in reading.subjects]
    assert explained[0] == explained[1] and len(explained[0]) == 1


def test_a_toy_that_the_front_matter_does_not_name():
    for header in (front("", "Mixer.forward"), front("", "Mixer.forward", other="mixer")):
        checked = check("`x (2, 3, 4)`\n", header)
        assert [failure.kind for failure in checked.failures] == ["front-matter"]
    text = quoted("outs = []", options='toy="nowhere"')
    assert [failure.kind for failure in check(text).failures] == ["fence"]


def test_a_module_that_raises_when_imported(tmp_path, monkeypatch):
    (tmp_path / "raising_module.py").write_text("1 / 0\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    for header in ("---\ntoy: raising_module:toy\nreads: [tests.reading.sample_toys.Mixer.forward]\n---\n",
                   "---\ntoy: tests.reading.sample_toys:mixer\nreads: [raising_module.f]\n---\n"):  # fmt: skip
        (failure,) = check("文。\n", header).failures
        assert failure.kind == "front-matter" and "ZeroDivisionError" in failure.message


def test_several_failures_of_the_front_matter_are_said_together():
    header = front("mixer", "Mixer.backward", "Nothing.forward")
    assert len(check("文。\n", header).failures) == 2


def test_a_function_of_no_module():
    text = "`a = 2`，`b = 3`\n\n" + quoted("total = a + b", "`total = 5`，`a + b = 5`，`n = 2`")
    text += quoted("total = total * 10", "`total = 50`，`return = 50`") + quoted("total = -total", "`total = 50`")
    checked = check(text, front("summed", "plain"))
    assert checked.failures == []
    assert [quote.executed for quote in checked.reading.quotes.values()] == [True, True, False]


def test_several_toys():
    header = front("mixer", "Mixer.forward", other="trained")
    text = quoted("y = x = self.norm(x)", "`self.norm.weight.max() < 1`")
    text += quoted("y = x = self.norm(x)", "`self.norm.weight.min() = 2.0`，`x (B, L, d_model)`", 'toy="other"')
    text += block("print(x.abs().max() > 2)") + block("print(x.abs().max() > 2)", 'exec="1" toy="other"')
    checked = check(text, header)
    assert checked.failures == []
    assert list(checked.reading.toys) == ["", "other"]


def test_several_subjects():
    header = front("twice", "Twice.forward", "Mixer.forward @ second")
    text = "`x (2, 3, 4)`，`self.first`\n\n" + quoted("outs = []", "`self.rounds = 1`，`L = 3`")
    text += quoted("other, _ = self.second(x)", "`other (2, 3, 3)`，`scores (2, 3, 3)`，`return (2, 3, 3)`")
    checked = check(text, header)
    assert checked.failures == []
    assert [subject.path for subject in checked.reading.subjects] == ["", "second"]


def test_the_same_function_in_two_calls():
    header = front("twice", "Mixer.forward @ first", "Mixer.forward @ first #2")
    text = "`x[0, 0, 0] = 0.0`\n\n" + quoted(
        "B, L, D = x.shape", "`x[0, 0, 0] = 1.0`", 'of="tests.reading.sample_toys.Mixer.forward @ first #2"'
    )
    assert check(text, header).failures == []


# Pages that read nothing


def test_elsewhere_claims_that_resolve_are_checked_and_the_rest_is_allowed():
    header = front("mixer")
    text = (
        block("import torch\nz = torch.zeros(2, 3)")
        + "`z (2, 3)`，`z (3, 2)`，`anything.at.all`，`0.5`，有 3 个，`q (1, 2)`\n"
    )
    checked = check(text, header)
    assert checked.said == [(*place(text, "3, 2)", header), "claim")]


def test_without_a_toy_a_page_is_checked_too():
    text = block("a = [1, 2]") + "`a = [1, 2]`，`a = [1, 3]`，`len(a) = 2`，`sizes`\n"
    checked = check(text, "---\ntitle: 文\n---\n")
    assert checked.said == [(*place(text, "3]", "---\ntitle: 文\n---\n"), "claim")]


def test_a_python_fence_that_nothing_runs_is_red():
    assert check("```python\na = 1\n```\n", "").said == [(1, 1, "fence")]
    assert check('```python why="只作说明"\na = 1\n```\n', "").said == []


@pytest.mark.parametrize("front", ["", "---\ntoy: tests.reading.sample_toys:mixer\n---\n", MIXER])
def test_a_claim_without_its_value_is_red_on_every_page(front):
    text = "`d_ff =`，`x ≈`，`x.shape =`，`y =`，``x =``，`/=`，`f(x) == f(x)`"  # "y =" is source text of the mixer
    failures = [f for f in check(text, front).failures if f.kind == "claim"]
    assert [f.claim for f in failures] == ["d_ff =", "x ≈", "x.shape =", "y ="]
    assert all("右边缺一个" in f.message and "?" in f.message for f in failures)


@pytest.mark.parametrize("front", ["", MIXER])
def test_a_claim_that_cannot_fail_is_red_on_every_page(front):
    failures = check("`x is x`，`x = x`，`x == x`\n", front).failures
    assert [f.claim for f in failures if "什么也没有说" in f.message] == ["x is x", "x = x", "x == x"]
    assert [f.kind for f in check("`4 = 4`\n").failures] == ["naked"]


def test_a_claim_in_the_text_of_a_picture_is_red_once():
    assert [f.kind for f in check("![前 `x (2, 3, 5)` 后](a.svg)\n").failures] == ["name"]


def test_axis_names_without_a_toy_are_red():
    text = block("import torch\nz = torch.zeros(2, 3)") + "`z (B, L)`\n"
    assert [failure.kind for failure in check(text, "").failures] == ["axis"]


@pytest.mark.parametrize(
    "code",
    ["a = 1\ndel a", "if False:\n    a = 1", 'a = 1\nraise ValueError("x")'],
)
def test_a_name_that_a_sound_block_did_not_bind_is_missing(code: str) -> None:
    """Nothing went wrong, so nothing excuses the claim."""
    options = 'exec="1" raises="ValueError"' if "raise" in code else 'exec="1"'
    code = code.replace("a = 1\nraise", "raise") + ("\na = 1" if "raise" in code else "")
    text = block(code, options) + "`a = 2`\n"
    assert check(text).said == [(*place(text, "a = 2"), "name")]


def test_evidence_that_is_unknown_needs_a_failure_before_it() -> None:
    page = check("`x (2, 3, 4)`").page
    unknown = Reading(evidence={0: Evidence("unknown")})
    settings = Settings(Path.cwd())
    (failure,) = judge_page(page, unknown, settings)
    assert (failure.kind, failure.line) == ("claim", page.steps[0].line)
    assert judge_page(page, unknown, settings, [Failure(page.path, 2, 1, "front-matter")]) == []
    later = Failure(page.path, failure.line + 1, 1, "exec")
    assert judge_page(page, unknown, settings, [later]) == [failure]


@pytest.mark.parametrize(
    "claim",
    [
        "[B for B in [65]] = [65]",
        "(lambda B: B)(65) = 65",
        "(B := 65) = 65",
        "len([1, 2]) = 2",
        "max(3, 4) == 4",
        "sum([8, 8]) = 16",
        "x[0, 0] ≈ […]",
        "x[0] ≈ [[…], …]",
    ],
)
def test_a_claim_that_says_nothing_of_the_state_is_red(claim: str) -> None:
    checked = check(f"于是 `{claim}`。")
    assert [failure.line for failure in checked.failures] == [5] and checked.failures[0].kind in ("claim", "name")


def test_a_term_does_not_hide_a_number():
    known = MIXER.replace("---\ntoy", "---\nterms: [宽 65, 1D 卷积, foo = 65, a.1.weight, 04-标题]\ntoy")
    text = "用 `1D 卷积`，`宽 65`，`foo = 65`，`a.1.weight`、`04-标题`。"
    assert check(text, known).said == [
        (*place(text, "65`，`foo", known), "naked"),
        (*place(text, "65`，`a.1", known), "naked"),
    ]


def test_on_a_page_with_a_toy_a_malformed_claim_is_red() -> None:
    """Though it reads no function: bare numbers and code that does not resolve are allowed there."""
    toy = "---\ntoy: tests.reading.sample_toys:mixer\n---\n"
    text = block("a = (0.0,)") + "`a = (0.0,)`、`x`、`16`、共 16 个、`f(x, 3)`、`gap > 0.1`，"
    assert check(text, toy).failures == []
    assert [(failure.kind, failure.claim) for failure in check(text + "`a = (0.0)`", toy).failures] == [
        ("claim", "a = (0.0)")
    ]


def test_a_size_of_the_configuration_keeps_its_value() -> None:
    own = block("d_model = 9")
    (failure,) = [f for f in check(own + "`d_model = 9`\n").failures if f.kind == "exec"]
    assert "绑定成 9" in failure.message and "尺寸 4" in failure.message and failure.claim == "d_model"
    assert check(block("d_model = 4") + "`d_model = 4`\n").failures == []
    assert check(block("[d_model for d_model in (9,)]") + "`d_model = 4`\n").failures == []
    assert check(own, front("mixer")).failures == []  # where nothing is read, the names are the page's
