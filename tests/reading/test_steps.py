"""The steps of a recorded call: what each statement read and wrote, with names of axes and a slice of the values."""

from __future__ import annotations

import pytest
import torch

from tests.reading.checking import MIXER, check, front, lines_of
from tsformers.reading.calls import AxisNamer
from tsformers.reading.record import SHOWN, Seen, Step, TensorValue
from tsformers.reading.steps import ALL_PASSES, FIRST_PASSES, steps
from tsformers.reading.trace import Target, record


@pytest.fixture(scope="module")
def mixer() -> tuple[Step, ...]:
    return check("正文。\n", MIXER).reading.subjects[0].steps


def recorded(function, *args: object, cases: int = 1) -> tuple[Step, ...]:
    recordings, _ = record(lambda: function(*args), [Target(function)])
    return steps(recordings, AxisNamer([{}] * cases))


def names(seen: tuple[Seen, ...]) -> list[str]:
    return [one.name for one in seen]


def wrote(step: Step) -> list[str]:
    return [after.name for _, after in step.writes]


def test_the_steps_are_the_run_statement_by_statement(mixer: tuple[Step, ...]) -> None:
    at = [(step.text.split("  #")[0], step.passes, step.outcome) for step in mixer]
    assert at == [
        ("", (), None),
        ("B, L, D = x.shape", (), None),
        ("y = x = self.norm(x)", (), None),
        ("outs = []", (), None),
        ("for i in range(self.rounds):", ((1, 2),), True),
        ("y = self.back(torch.relu(self.linear(y)))", ((1, 2),), None),
        ("y = y + i", ((1, 2),), None),
        ("outs.append(y)", ((1, 2),), None),
        ("for i in range(self.rounds):", ((2, 2),), True),
        ("y = self.back(torch.relu(self.linear(y)))", ((2, 2),), None),
        ("y = y + i", ((2, 2),), None),
        ("outs.append(y)", ((2, 2),), None),
        ("if mask is not None:", (), False),
        ("scores = y @ x.transpose(1, 2)", (), None),
        ("total = torch.zeros(B, L)", (), None),
        ("total.add_(scores.sum(-1))", (), None),
        ("return scores, total", (), None),
    ]
    assert mixer[2].line in lines_of("y = x = self.norm(x)")


def test_a_step_knows_what_it_read_and_wrote(mixer: tuple[Step, ...]) -> None:
    entry, _, norm = mixer[:3]
    assert wrote(entry) == ["x", "mask"] and entry.writes[0][0] is None
    assert names(norm.reads) == ["x"] and wrote(norm) == ["y", "x"]
    (unbound, y), (before, x) = norm.writes
    assert unbound is None and before is not None
    assert before.cells == norm.reads[0].cells != x.cells == y.cells
    assert x.value == TensorValue((2, 3, 4), "float64", None)
    assert x.axes == ("B", "L", "d_model")


def test_a_step_names_what_was_made_on_the_way(mixer: tuple[Step, ...]) -> None:
    made = {seen.name: seen.axes for seen in mixer[5].computed}
    assert made == {"self.linear(y)": ("B", "L", "d_ff"), "torch.relu(self.linear(y))": ("B", "L", "d_ff")}
    assert all(not seen.cells for seen in mixer[5].computed)


def test_a_change_in_place_is_a_write(mixer: tuple[Step, ...]) -> None:
    changed = mixer[-2]
    assert changed.text == "total.add_(scores.sum(-1))"
    ((before, after),) = changed.writes
    assert before is not None and after.name == "total"
    assert all(cell == 0 for row in before.cells for cell in row) and after.cells != before.cells


def test_a_condition_shows_what_it_is_about_and_a_return_its_members(mixer: tuple[Step, ...]) -> None:
    condition = next(step for step in mixer if step.outcome is False)
    assert [(seen.name, seen.value) for seen in condition.reads] == [("mask", None)]
    assert wrote(mixer[-1]) == ["return[0]", "return[1]"]
    assert mixer[-1].writes[0][1].axes == ("B", "L", "L")


def counting(times):
    total = 0
    for k in range(times):
        if k % 2:
            total += k
        else:
            total -= k
    return total


def test_a_long_loop_shows_its_first_passes_and_the_last() -> None:
    short = {step.passes[0][0] for step in recorded(counting, ALL_PASSES) if step.passes}
    assert short == set(range(1, ALL_PASSES + 1))
    long = [step.passes[0] for step in recorded(counting, 9) if step.text.startswith("for")]
    assert long == [(k, 9) for k in (*range(1, FIRST_PASSES + 1), 9)]


def test_each_branch_is_told_and_a_loop_without_a_pass_too() -> None:
    taken = [step.outcome for step in recorded(counting, 2) if step.text.startswith("if")]
    assert taken == [False, True]
    empty = [step for step in recorded(counting, 0) if step.text.startswith("for")]
    assert [(step.outcome, step.passes, step.writes) for step in empty] == [(False, (), ())]


def test_an_augmented_assignment_reads_its_target() -> None:
    step = next(step for step in recorded(counting, 2) if step.text == "total += k")
    assert names(step.reads) == ["total", "k"]
    ((before, after),) = step.writes
    assert before is not None and (before.value, after.value) == (0, 1)


def wide(x):
    y = x * 1.0
    return y


@pytest.mark.parametrize("shape", [(), (3,), (20,), (2, 3), (9, 12), (2, 3, 9, 12), (0, 3)])
def test_cells_are_the_first_matrix_cut(shape: tuple[int, ...]) -> None:
    x = torch.arange(torch.Size(shape).numel(), dtype=torch.float64).reshape(shape) / 7
    cells = recorded(wide, x)[1].writes[0][1].cells
    if 0 in shape:
        assert cells == ()
        return
    matrix = x.reshape(-1, *shape[-2:])[0] if len(shape) > 2 else x.reshape(1, -1) if len(shape) < 2 else x
    expected = matrix[:SHOWN, :SHOWN]
    assert torch.allclose(torch.tensor(cells, dtype=torch.float64), expected, rtol=5e-4, atol=0)
    assert all(len(f"{cell:.10g}".replace(".", "").strip("0")) <= 4 for row in cells for cell in row)


def test_not_a_number_stays_one() -> None:
    ((nan, inf),) = recorded(wide, torch.tensor([float("nan"), float("inf")]))[1].writes[0][1].cells
    assert nan != nan and inf == float("inf")


def test_a_toy_of_one_configuration_names_no_axis() -> None:
    subject = check("正文。\n", front("single", "Mixer.forward")).reading.subjects[0]
    assert subject.steps[2].writes[0][1].axes == ("2", "3", "4")


class Guarded:
    width = 3

    def __init__(self) -> None:
        self.kept = 2

    @property
    def loud(self) -> int:
        self.heard = True
        return 1

    def run(self, x):
        y = x * self.kept + self.loud
        return y


def test_attributes_of_self_are_read_without_running_a_property() -> None:
    guarded = Guarded()
    recordings, _ = record(lambda: guarded.run(5), [Target(Guarded.run, guarded)])
    step = steps(recordings, AxisNamer([{}]))[1]
    assert [(seen.name, seen.value) for seen in step.reads] == [("x", 5), ("self.kept", 2)]
