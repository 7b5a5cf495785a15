"""The recorder against an oracle: the interpreter's own trace of lines."""

from __future__ import annotations

import copy
import sys

import pytest
import torch
from torch import nn

from tests.reading import sample_toys
from tests.reading.sample_functions import control_flow
from tsformers.reading.statements import SourceError, function_source
from tsformers.reading.trace import NotCalled, Target, record


def lines_by_settrace(run, code):
    """(line executed, locals after it) for each line of the first call of ``code``, as sys.settrace sees it."""
    seen, frames = [], []

    def local(frame, event, arg):
        if frame is frames[0] and event == "exception" and seen:
            seen.pop()  # the statement was begun and not finished
        elif frame is frames[0] and event in ("line", "return"):
            if seen and seen[-1][1] is None:
                seen[-1][1] = copy.deepcopy(dict(frame.f_locals))
            if event == "line":
                seen.append([frame.f_lineno, None])
        return local

    def tracer(frame, event, arg):
        if event == "call" and frame.f_code is code and not frames:
            frames.append(frame)
            return local
        return None

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        with torch.no_grad():
            run()
    finally:
        sys.settrace(before)
    return seen


def same(left, right):
    if isinstance(left, torch.Tensor):
        return isinstance(right, torch.Tensor) and left.shape == right.shape and torch.equal(left, right)
    if isinstance(left, (list, tuple)):
        return len(left) == len(right) and all(same(a, b) for a, b in zip(left, right, strict=True))
    return isinstance(left, nn.Module) or left == right


def compare_with_settrace(function, run):
    source = function_source(function)
    simple = {
        node.tree.lineno: node.number
        for node in source.nodes
        if not node.compound and node.tree.lineno == node.tree.end_lineno
    }
    oracle = [(line, state) for line, state in lines_by_settrace(run, function.__code__) if line in simple]
    (recording,), _ = record(run, [Target(function)])
    ours = [
        (source.nodes[event.statement].tree.lineno, event.state)
        for event in recording.events
        if event.kind == "after"
        and source.nodes[event.statement].tree.lineno in simple
        and not source.nodes[event.statement].compound
    ]
    assert [line for line, _ in ours] == [line for line, _ in oracle]
    for (line, state), (_, expected) in zip(ours, oracle, strict=True):
        for name in expected:
            if name != "__class__":
                assert same(expected[name], state[name]), (line, name)
    return len(ours)


def test_states_of_a_layer_equal_those_of_settrace():
    toy = sample_toys.mixer()
    assert compare_with_settrace(sample_toys.Mixer.forward, lambda: toy.call(*toy.args)) == 13


@pytest.mark.parametrize("n", [0, 3, 7])
def test_states_under_every_kind_of_control_flow_equal_those_of_settrace(n):
    assert compare_with_settrace(control_flow, lambda: control_flow(n)) > 10


def test_states_of_code_that_is_not_ours_equal_those_of_settrace():
    encoder = nn.Transformer(8, 2, 1, 1, 16, batch_first=True).double().eval()
    x = torch.arange(48, dtype=torch.float64).reshape(2, 3, 8) / 10
    function = nn.TransformerDecoderLayer.forward
    assert compare_with_settrace(function, lambda: encoder.decoder.layers[0](x, x)) == 3


def test_the_run_is_not_changed_and_the_code_is_put_back():
    toy = sample_toys.mixer()
    code = sample_toys.Mixer.forward.__code__
    plain = toy.call(*toy.args)
    _, recorded = record(lambda: toy.call(*toy.args), [Target(sample_toys.Mixer.forward)])
    assert torch.equal(plain[0], recorded[0]) and torch.equal(plain[1], recorded[1])
    assert sample_toys.Mixer.forward.__code__ is code
    assert not [name for name in vars(sample_toys) if "record" in name]


def test_the_code_is_put_back_when_the_run_raises():
    code = sample_toys.Mixer.forward.__code__
    with pytest.raises(AttributeError):
        record(lambda: sample_toys.mixer().call(None), [Target(sample_toys.Mixer.forward)])
    assert sample_toys.Mixer.forward.__code__ is code


def recorded(toy=None):
    toy = toy or sample_toys.mixer()
    (recording,), _ = record(lambda: toy.call(*toy.args), [Target(sample_toys.Mixer.forward)])
    return recording


def after(recording, text, pass_=1):
    """The state after the statement that begins with ``text``, in a pass."""
    source = recording.function
    events = [
        event
        for event in recording.events
        if event.kind == "after" and source.excerpt(source.nodes[event.statement]).startswith(text)
    ]
    return events[pass_ - 1].state


def test_identity_and_aliasing_hold_within_a_state():
    state = after(recorded(), "y = x = ")
    assert state["y"] is state["x"]
    assert after(recorded(), "y = y + i")["y"] is not after(recorded(), "y = y + i")["x"]


def test_identity_holds_between_states_and_the_returned_value():
    recording = recorded()
    late, early = after(recording, "total.add_"), after(recording, "total = ")
    assert early.same(early["total"], late["total"])  # changed in place: one object
    assert not torch.equal(early["total"], late["total"])  # with another content in each state
    assert late.same(late["scores"], recording.returned["return"][0])


def test_views_share_their_storage_within_a_state():
    def views(x):
        row = x[0]
        turned = x.t()
        row.add_(1)
        return row, turned

    x = torch.arange(6.0).reshape(2, 3)
    (recording,), _ = record(lambda: views(x), [Target(views)])
    state = recording.events[-1].state
    pointer = state["x"].untyped_storage().data_ptr()
    assert state["row"].untyped_storage().data_ptr() == state["turned"].untyped_storage().data_ptr() == pointer
    assert state["turned"].stride() == x.t().stride()
    assert recording.events[1].state["x"][0].tolist() == [0, 1, 2]
    assert state["x"][0].tolist() == [1, 2, 3]


def test_buffers_that_change_without_a_version_are_seen():
    def normalise(layer, x):
        first = layer(x)
        second = layer(x)
        return first - second

    layer = nn.BatchNorm1d(3)
    x = torch.arange(12.0).reshape(4, 3)
    (recording,), _ = record(lambda: normalise(layer, x), [Target(normalise)])
    means = [event.state["layer"].running_mean.tolist() for event in recording.events[:3]]
    assert means[0] == [0, 0, 0] and means[0] != means[1] != means[2]


def test_every_value_of_a_sub_expression_is_kept_with_its_pass():
    recording = recorded()
    linear = [value for value in recording.values if "attr='linear'" in value.callee]
    assert [value.passes for value in linear] == [(1,), (2,)]
    assert not torch.equal(linear[0].value, linear[1].value)
    assert tuple(linear[0].value.shape) == (2, 3, 8)


def test_a_call_is_chosen_by_owner_and_number():
    toy = sample_toys.twice()
    forward = sample_toys.Mixer.forward
    targets = [Target(forward, toy.call.first, 2), Target(forward, toy.call.second), Target(forward)]
    found, _ = record(lambda: toy.call(*toy.args), targets)
    x = toy.args[0]
    assert torch.equal(found[0].events[0].state["x"], x + 1)
    assert torch.equal(found[1].events[0].state["x"], x)
    assert found[1].events[0].state["self"] is not found[2].events[0].state["self"]


def test_a_call_that_is_not_made_is_an_error():
    toy = sample_toys.mixer()
    with pytest.raises(NotCalled) as error:
        record(lambda: toy.call(*toy.args), [Target(sample_toys.Mixer.forward, call=n) for n in (1, 3)])
    assert error.value.calls == [1, 1]
    assert [recording is None for recording in error.value.recordings] == [False, True]


def generator(n):
    yield n


async def waits():
    return 1


@pytest.mark.parametrize("function", [generator, waits, len, nn.Linear])
def test_what_cannot_be_recorded_is_refused(function):
    with pytest.raises(SourceError):
        function_source(function)


def test_a_function_without_return_returned_none():
    def silent(x):
        x += 1

    (recording,), _ = record(lambda: silent(1), [Target(silent)])
    assert recording.returned == {"return": None}


def test_a_closure_and_super_can_be_recorded():
    factor = 3

    class Base:
        def scale(self, x):
            return x * factor

    class Derived(Base):
        def scale(self, x):
            y = super().scale(x)
            return y + factor

    (recording,), result = record(lambda: Derived().scale(2), [Target(Derived.scale)])
    assert result == 9
    assert recording.events[-1].state["y"] == 6
