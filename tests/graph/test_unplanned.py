"""Graphs that run without a program, as shapes are ever new: numbers, gradients, states and errors are as with one."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minpy as mx
from minpy import autograd, gluon, nd, profiler
from minpy.backends.switches import same_bits
from minpy.gluon import nn
from minpy.graph import allowance, unplanned

X = np.linspace(-1, 1, 30, dtype="float32").reshape(5, 2, 3)


class _Several(gluon.HybridBlock):
    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.tanh(x), F.reshape(x, shape=(-1,)), F.argmax(x, axis=0), F.split(x, num_outputs=2, axis=1)


class _Numbers(gluon.HybridBlock):
    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.where(x > 0.25, F.broadcast_add(x**2, F.ones((1, 2, 3))), F.zeros_like(x) - 1 / (x + 3))


class _Again(gluon.HybridBlock):
    """One value twice, and twice in one memory."""

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        y = F.exp(x)
        return y, y, F.reshape(y, shape=(-1,)), F.BlockGrad(y) * x


class _Loss(gluon.HybridBlock):
    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.SoftmaxOutput(F.reshape(x, shape=(-1, 3)), F.argmax(F.reshape(x, shape=(-1, 3)), axis=1))


class _Itself(gluon.HybridBlock):
    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return x, F.tanh(x)


class _Loop(gluon.HybridBlock):
    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.contrib.foreach(lambda part, state: (part + state, part * state), x, F.ones((2, 3)))[0]


class _Doubling(mx.operator.CustomOp):
    def forward(self, is_train: Any, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
        self.assign(out_data[0], req[0], in_data[0] * 2)

    def backward(self, req: Any, out_grad: Any, in_data: Any, out_data: Any, in_grad: Any, aux: Any) -> None:
        self.assign(in_grad[0], req[0], out_grad[0] * 2)


@mx.operator.register("doubling_of_unplanned_graphs")
class _DoublingProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx: Any, shapes: Any, dtypes: Any) -> Any:
        return _Doubling()


class _OfUser(gluon.HybridBlock):
    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.Custom(F.tanh(x), op_type="doubling_of_unplanned_graphs")


class _Heads(gluon.HybridBlock):
    """Outputs that depend on different parameters: one on none, and one that carries a loss."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.first, self.second = (self.params.get(name, shape=(3,)) for name in ("first", "second"))

    def hybrid_forward(self, F: Any, x: Any, first: Any, second: Any) -> Any:
        rows = F.reshape(x, shape=(-1, 3))
        best = F.argmax(rows, axis=1)
        logits = F.broadcast_mul(rows, second)
        metric = F.one_hot(F.cast(best, dtype="int32"), 3)
        return F.broadcast_mul(rows, first), F.tanh(logits), metric, F.SoftmaxOutput(logits, best)


class _Metric(gluon.HybridBlock):
    """One output, which depends on the parameter by way of integers only."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.weight = self.params.get("weight", shape=(3,))

    def hybrid_forward(self, F: Any, x: Any, weight: Any) -> Any:
        scores = F.broadcast_mul(F.reshape(x, shape=(-1, 3)), weight)
        return F.one_hot(F.cast(F.argmax(scores, axis=1), dtype="int32"), 3)


def _sequential(*layers: Any) -> Any:
    net = nn.HybridSequential()
    net.add(*layers)
    return net


NETS: dict[str, Callable[[], Any]] = {
    "several outputs": _Several,
    "numbers and constants": _Numbers,
    "one value twice": _Again,
    "an output layer": _Loss,
    "a dense network": lambda: _sequential(nn.Dense(4, activation="relu"), nn.Dense(2, flatten=False)),
    "dropout": lambda: _sequential(nn.Dense(6, flatten=False), nn.Dropout(0.5), nn.Dense(2)),
    "moving averages": lambda: _sequential(nn.BatchNorm(axis=1), nn.Dense(3), nn.BatchNorm()),
    "an LSTM": lambda: gluon.rnn.LSTM(4, layout="TNC"),
    "a GRU of two layers with dropout": lambda: gluon.rnn.GRU(4, 2, dropout=0.3, layout="TNC"),
    "normalized": lambda: _sequential(nn.LayerNorm(), nn.GELU(), nn.Dense(2)),
}
# What has states of each call, or returns what is not computed, stays a program.
PLANNED: dict[str, Callable[[], Any]] = {"an argument itself": _Itself, "a loop": _Loop, "a user's operator": _OfUser}


@pytest.fixture(autouse=True)
def _nothing_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allowance, "_FREE", 0)
    monkeypatch.setattr(allowance, "_SHARE", -1.0)


def _hybridized(make: Callable[[], Any], plans: bool, monkeypatch: pytest.MonkeyPatch) -> Any:
    mx.random.seed(3)
    net = make()
    net.initialize(mx.init.Uniform(0.5))
    net.hybridize()
    net(nd.array(X))  # what waits for shapes gets them
    graph = next(iter(net._graphs.values()))
    if plans:
        monkeypatch.setattr(graph.compiled, "may_plan", lambda key: True)
    return net


def _outcome(net: Any, training: bool, create_graph: bool = False) -> list[np.ndarray]:
    """Return outputs, gradients and parameters after a call on an array of another shape."""
    mx.random.seed(7)
    x = nd.array(np.concatenate([X, X[::-1] * 2]))
    x.attach_grad()
    with autograd.record(train_mode=training):
        outputs = net(x)
        outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
        outputs = [part for output in outputs for part in (output if isinstance(output, list) else [output])]
        floating = [output for output in outputs if output._node is not None]
        total = sum((output * (1 + place)).sum() for place, output in enumerate(floating))
        if create_graph:
            (gradient,) = autograd.grad(total, [x], create_graph=True)
            total = (gradient * gradient).sum()
    total.backward()
    found = [*outputs, x.grad]
    for parameter in net.collect_params().values():
        found.append(parameter.data())
        if parameter.grad_req != "null":
            found.append(parameter.grad())
    return [array.asnumpy() for array in found]


def _programs(net: Any) -> int:
    return sum(len(graph.compiled) for graph in net._graphs.values())


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", NETS)
def test_the_same_as_with_a_program(name: str, training: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    without, planned = (_hybridized(NETS[name], plans, monkeypatch) for plans in (False, True))
    before = _programs(without)
    for _ in range(2):
        for found, expected in zip(_outcome(without, training), _outcome(planned, training), strict=True):
            assert found.dtype == expected.dtype
            np.testing.assert_allclose(found, expected, rtol=2e-6, atol=2e-6)
    assert _programs(without) == before
    assert _programs(planned) > before


@pytest.mark.parametrize("name", ["numbers and constants", "a dense network", "one value twice", "normalized"])
def test_second_derivatives(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    without, planned = (_hybridized(NETS[name], plans, monkeypatch) for plans in (False, True))
    pairs = zip(_outcome(without, True, True), _outcome(planned, True, True), strict=True)
    for found, expected in pairs:
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("make", [_Heads, _Metric])
def test_backward_of_one_output_writes_all_gradients(make: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    without, planned = (_hybridized(make, plans, monkeypatch) for plans in (False, True))
    before = _programs(without)
    x = nd.array(np.concatenate([X, X * 2])[:, :, ::-1])
    count = 4 if make is _Heads else 1
    for place in range(2 * count):
        gradients = []
        for net in (without, planned):
            with autograd.record():
                outputs = net(x)
            output = outputs[place % count] if count > 1 else outputs
            output.backward()
            parameters = net.collect_params().values()
            gradients.append([parameter.grad().asnumpy() for parameter in parameters])
            for parameter in parameters:
                assert parameter.data()._fresh_grad
                parameter.data()._fresh_grad = False
            with pytest.raises(mx.MXNetError, match="was freed by an earlier backward"):
                output.backward()
        for found, expected in zip(*gradients, strict=True):
            np.testing.assert_allclose(found, expected, rtol=2e-6, atol=2e-6)
    assert _programs(without) == before


@pytest.mark.parametrize("name", PLANNED)
def test_what_only_programs_run(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    without, planned = (_hybridized(PLANNED[name], plans, monkeypatch) for plans in (False, True))
    before = _programs(without)
    for found, expected in zip(_outcome(without, True), _outcome(planned, True), strict=True):
        np.testing.assert_array_equal(found, expected)
    assert _programs(without) > before


def test_outputs_have_memory_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    for make in (_Several, _Again):
        net = _hybridized(make, False, monkeypatch)
        x = nd.array(X[:3])
        outputs = net(x)
        outputs = [part._data for output in outputs for part in (output if isinstance(output, list) else [output])]
        for place, output in enumerate(outputs):
            for other in (x._data, *outputs[:place]):
                assert not np.shares_memory(output, other)


def test_arrays_that_do_not_fit_say_so_as_with_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = []
    for plans in (False, True):
        net = _hybridized(lambda: _sequential(nn.BatchNorm(axis=1), nn.Dense(3)), plans, monkeypatch)
        averages = [parameter.data().asnumpy() for parameter in net.collect_params().values()]
        with autograd.record(), pytest.raises(mx.MXNetError) as caught:
            net(nd.ones((4, 2, 7)))
        texts.append(re.sub(r"(batchnorm|dense)\d+", r"\1", str(caught.value)))
        for parameter, before in zip(net.collect_params().values(), averages, strict=True):
            np.testing.assert_array_equal(parameter.data().asnumpy(), before)
    assert texts[0] == texts[1]


def test_what_is_seen_often_gets_a_program_when_there_is_time(monkeypatch: pytest.MonkeyPatch) -> None:
    net = _hybridized(NETS["a dense network"], False, monkeypatch)
    graph = next(iter(net._graphs.values())).compiled
    before = len(graph)
    for _ in range(5):
        net(nd.array(X[:2]))
    assert graph.allowance.eager_seconds > 0
    assert len(graph) == before
    monkeypatch.setattr(allowance, "_SHARE", 1e9)
    net(nd.array(X[:2]))
    assert len(graph) == before + 1
    net(nd.array(X[:1]))  # seen for the first time
    assert len(graph) == before + 1


def test_the_first_programs_are_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allowance, "_FREE", 8)
    net = gluon.rnn.LSTM(4, layout="TNC")
    net.initialize()
    net.hybridize()
    for number in range(100):
        with autograd.record():
            total = net(nd.ones((1 + number % 20, 2, 3))).sum()
        total.backward()
    assert _programs(net) == 8


def test_same_bits_and_profilers_ask_for_programs(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    net = _hybridized(NETS["a dense network"], False, monkeypatch)
    before = _programs(net)
    with same_bits():
        net(nd.array(X[:2]))
    assert _programs(net) == before + 1
    profiler.set_config(filename=str(tmp_path / "profile.json"), profile_all=True)
    profiler.set_state("run")
    try:
        net(nd.array(X[:1]))
    finally:
        profiler.set_state("stop")
        profiler.dumps(reset=True)
    assert _programs(net) == before + 2


def test_what_is_remembered_of_shapes_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allowance, "_MOST_SEEN", 5)
    monkeypatch.setattr(unplanned, "_MOST_KINDS", 5)
    net = _hybridized(NETS["an LSTM"], False, monkeypatch)
    for length in range(1, 20):
        net(nd.ones((length, 2, 3)))
    graph = next(iter(net._graphs.values()))
    assert len(graph.compiled.allowance._seen) == 5
    assert [len(calls._closed) for calls in graph.operator._unplanned.values()] == [5]
