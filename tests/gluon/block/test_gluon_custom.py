"""Operators written in each way there is, inside blocks that are hybridized: the same numbers as eagerly."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minpy as mx
from minpy import autograd, customop, gluon, nd
from minpy.core.errors import MXNetError


@customop("numpy")
def numpy_gate(x, weight):
    """x times the sigmoid of weight x."""
    return x / (1 + np.exp(-weight * x))


def _numpy_rules(x, weight):
    s = 1 / (1 + np.exp(-weight * x))
    return s + weight * x * s * (1 - s), x * x * s * (1 - s)


numpy_gate.def_grad(lambda ans, x, weight: lambda g: g * _numpy_rules(x, weight)[0], argnum=0)
numpy_gate.def_grad(lambda ans, x, weight: lambda g: (g * _numpy_rules(x, weight)[1]).sum(axis=0), argnum=1)


@customop("mxnet")
def mxnet_gate(x, weight):
    """The same, of NDArrays."""
    return x * nd.sigmoid(nd.broadcast_mul(x, nd.expand_dims(weight, axis=0)))


def _mxnet_rules(x, weight):
    weight = nd.expand_dims(weight, axis=0)
    s = nd.sigmoid(nd.broadcast_mul(x, weight))
    bend = x * s * (1 - s)
    return s + nd.broadcast_mul(bend, weight), x * bend


mxnet_gate.def_grad(lambda ans, x, weight: lambda g: g * _mxnet_rules(x, weight)[0], argnum=0)
mxnet_gate.def_grad(lambda ans, x, weight: lambda g: nd.sum(g * _mxnet_rules(x, weight)[1], axis=0), argnum=1)


@customop("numpy")
def called_gate(x, weight):
    """The same, with a loop over rows, which no graph looks into."""
    return np.stack([row / (1 + np.exp(-weight * row)) for row in list(x)])


called_gate.def_grad(lambda ans, x, weight: lambda g: g * _numpy_rules(x, weight)[0], argnum=0)
called_gate.def_grad(lambda ans, x, weight: lambda g: (g * _numpy_rules(x, weight)[1]).sum(axis=0), argnum=1)


class Gate(mx.operator.CustomOp):
    """The same, as MXNet's custom operators are written."""

    def forward(self, is_train, req, in_data, out_data, aux):
        x, weight = (array.asnumpy() for array in in_data)
        self.assign(out_data[0], req[0], nd.array(x / (1 + np.exp(-weight * x)), dtype=x.dtype))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        g, x, weight = (array.asnumpy() for array in (out_grad[0], *in_data))
        to_x, to_weight = _numpy_rules(x, weight)
        self.assign(in_grad[0], req[0], nd.array(g * to_x, dtype=x.dtype))
        self.assign(in_grad[1], req[1], nd.array((g * to_weight).sum(axis=0), dtype=x.dtype))


@mx.operator.register("gluon_gate")
class GateProp(mx.operator.CustomOpProp):
    """What graphs know of it: the shape of the weight follows from that of the data."""

    def list_arguments(self):
        return ["data", "weight"]

    def infer_shape(self, in_shape):
        return [in_shape[0], [in_shape[0][1]]], [in_shape[0]], []

    def create_operator(self, ctx, in_shapes, in_dtypes):
        return Gate()


class GateFunction(autograd.Function):
    """The same, as a Function."""

    def forward(self, x, weight):
        self.save_for_backward(x, weight)
        return x * nd.sigmoid(x * weight)

    def backward(self, g):
        x, weight = self.saved_tensors
        to_x, to_weight = _mxnet_rules(x, weight)
        return g * to_x, (g * to_weight).sum(axis=0)


GATES: dict[str, Callable[..., Any]] = {
    "builtin": lambda F, x, weight: x * F.sigmoid(F.broadcast_mul(x, weight)),
    "customop_numpy": lambda F, x, weight: numpy_gate(x, weight),
    "customop_mxnet": lambda F, x, weight: mxnet_gate(x, weight),
    "customop_called": lambda F, x, weight: called_gate(x, weight),
    "prop": lambda F, x, weight: F.Custom(x, weight, op_type="gluon_gate"),
    "function": lambda F, x, weight: GateFunction()(x, weight),
}
GRAPHS = [name for name in GATES if name != "function"]
# Whose gradients have gradients.
TWICE = ["customop_numpy", "customop_mxnet", "customop_called"]


class GateBlock(gluon.HybridBlock):
    """A block around one of them."""

    def __init__(self, way: str, units: int = 4, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.way = way
        with self.name_scope():
            self.weight = self.params.get("weight", shape=(units,), allow_deferred_init=True)

    def hybrid_forward(self, F, x, weight):
        return GATES[self.way](F, x, weight)


def network(way: str, units: int = 4) -> gluon.nn.HybridSequential:
    """Return a network whose gate is written in some way, with numbers that are always the same."""
    net = gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(gluon.nn.Dense(4, in_units=3), GateBlock(way, units), gluon.nn.Dense(2, in_units=4))
    net.initialize()
    net(nd.ones((1, 3)))
    for index, parameter in enumerate(net.collect_params().values()):
        values = np.sin(np.arange(np.prod(parameter.shape)) * 1.7 + index).reshape(parameter.shape)
        parameter.set_data(nd.array(values))
    return net


def batch(rows: int = 5, seed: int = 0, dtype: str = "float32") -> nd.NDArray:
    return nd.array(np.cos(np.arange(rows * 3) * 2.1 + seed).reshape(rows, 3), dtype=dtype)


def step(net: gluon.Block, x: nd.NDArray) -> list[np.ndarray]:
    """Return the output, and all gradients."""
    x.attach_grad()
    with autograd.record():
        y = net(x)
    y.backward(nd.array(np.cos(np.arange(y.size)).reshape(y.shape), dtype=y.dtype))
    return [y.asnumpy(), x.grad.asnumpy(), *[one.grad().asnumpy().copy() for one in net.collect_params().values()]]


def assert_same(got: list[np.ndarray], expected: list[np.ndarray], tolerance: float = 1e-5) -> None:
    assert len(got) == len(expected)
    for one, other in zip(got, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("way", GATES)
def test_each_way_is_the_builtin_one(way: str) -> None:
    assert_same(step(network(way), batch()), step(network("builtin"), batch()))


@pytest.mark.parametrize("way", GRAPHS)
def test_hybridized_is_eager(way: str) -> None:
    expected, net = network("builtin"), network(way)
    net.hybridize()
    for rows, seed in ((5, 0), (5, 1), (2, 2), (5, 3)):
        assert_same(step(net, batch(rows, seed)), step(expected, batch(rows, seed)))
        x = batch(rows, seed)
        assert_same([net(x).asnumpy()], [expected(x).asnumpy()])


@pytest.mark.parametrize("way", GRAPHS)
def test_hybridized_inside_an_eager_block(way: str) -> None:
    expected, net = network("builtin"), network(way)
    net[1].hybridize()
    assert_same(step(net, batch()), step(expected, batch()))


@pytest.mark.parametrize("way", GRAPHS)
def test_called_several_times_before_one_backward(way: str) -> None:
    results = []
    for net in (network("builtin"), network(way)):
        net.hybridize(net[1].way == way)
        for parameter in net.collect_params().values():
            parameter.grad_req = "add"
        for _ in range(2):
            with autograd.record():
                total = (net(batch()) * net(batch(seed=1))).sum() + net(batch(2)).sum()
            total.backward()
        results.append([total.asnumpy(), *[one.grad().asnumpy() for one in net.collect_params().values()]])
    assert_same(*results)


@pytest.mark.parametrize("way", GRAPHS)
def test_float64(way: str) -> None:
    expected, net = network("builtin"), network(way)
    net.hybridize()
    net(batch())
    for one in (expected, net):
        one.cast("float64")
    got = step(net, batch(dtype="float64"))
    assert all(array.dtype == np.float64 for array in got)
    assert_same(got, step(expected, batch(dtype="float64")), 1e-12)


@pytest.mark.parametrize("way", ["customop_numpy", "customop_mxnet", "prop"])
def test_training_is_the_same(way: str) -> None:
    losses = []
    for name, hybridized in (("builtin", False), (way, False), (way, True)):
        net = network(name)
        net.hybridize(hybridized)
        loss_of = gluon.loss.L2Loss()
        trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.05})
        found = []
        for _ in range(10):
            with autograd.record():
                loss = loss_of(net(batch()), nd.ones((5, 2)))
            loss.backward()
            trainer.step(5)
            found.append(loss.asnumpy())
        losses.append(found)
    assert_same(losses[1], losses[0])
    assert_same(losses[2], losses[0])
    assert losses[0][-1].mean() < losses[0][0].mean()


@pytest.mark.parametrize("way", TWICE)
def test_second_order(way: str) -> None:
    found = []
    for hybridized in (False, True):
        net = network(way)
        net.cast("float64")
        net.hybridize(hybridized)
        x = batch(dtype="float64")
        x.attach_grad()
        with autograd.record():
            (first,) = autograd.grad((net(x) ** 2).sum(), [x], create_graph=True, retain_graph=True)
            squares = (first**2).sum()
        squares.backward()
        found.append([first.asnumpy(), x.grad.asnumpy()])
    assert np.abs(found[0][1]).max() > 1e-3
    assert_same(found[1], found[0], 1e-10)


def test_deferred_shapes_go_through_a_prop() -> None:
    net = gluon.nn.HybridSequential()
    with net.name_scope():
        net.add(gluon.nn.Dense(4), GateBlock("prop", units=0), gluon.nn.Dense(2))
    net.initialize()
    net.hybridize()
    assert net(batch()).shape == (5, 2)
    assert net[1].weight.shape == (4,)


@pytest.mark.parametrize("way", ["customop_numpy", "customop_called", "prop"])
def test_two_threads(way: str) -> None:
    net, expected = network(way), network("builtin")
    net.hybridize()
    wanted = [expected(batch(seed=seed)).asnumpy() for seed in range(2)]
    net(batch())
    found: dict[int, list[np.ndarray]] = {0: [], 1: []}

    def work(seed: int) -> None:
        for _ in range(20):
            x = batch(seed=seed)
            with autograd.record():
                found[seed].append(net(x).asnumpy())

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for seed in range(2):
        assert_same(found[seed], [wanted[seed]] * 20)


def test_a_function_is_no_part_of_a_graph() -> None:
    net = network("function")
    net.hybridize()
    text = (
        r"GateFunction: input 0 is Symbol <Symbol .*>; a Function takes NDArrays\. A graph cannot hold one: leave the "
        r"block that calls it unhybridized, with hybridize\(False\), or write the operator with @customop\('numpy'\)"
    )
    with pytest.raises(MXNetError, match=text):
        net(batch())
    net.hybridize(False)
    assert_same(step(net, batch()), step(network("builtin"), batch()))


def test_the_optional_input_of_a_builtin_operator_in_a_rule() -> None:
    @customop("mxnet")
    def cross_entropy(scores, labels):
        return -nd.sum(nd.log_softmax(scores) * nd.one_hot(labels, 3), axis=1)

    cross_entropy.def_grad(
        lambda ans, scores, labels: lambda g: nd.expand_dims(g, axis=1) * (nd.softmax(scores) - nd.one_hot(labels, 3))
    )
    loss = gluon.nn.HybridLambda(lambda F, scores, labels: cross_entropy(scores, labels))
    gradients = []
    for hybridized in (False, True):
        loss.hybridize(hybridized)
        scores = batch()
        scores.attach_grad()
        with autograd.record():
            total = loss(scores, nd.array([0, 1, 2, 1, 0])).sum()
        total.backward()
        gradients.append(scores.grad.asnumpy())
    assert_same([gradients[1]], [gradients[0]])
