"""Random programs with random blocks of both generations: hybridized or not, they find the same numbers."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import minpy as mx
from minpy import autograd, customop, gluon, nd
from minpy.core.errors import MutationError, MXNetError
from minpy.core.state import TRACES
from minpy.gluon import nn

WIDTH = 3


@customop("numpy")
def softsign(x):
    return x / (1 + np.abs(x))


softsign.def_grad(lambda ans, x: lambda g: g / (1 + np.abs(x)) ** 2)


class Scale(gluon.HybridBlock):
    """Parameters whose shapes follow, a constant, and plain attributes."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.factor, self.shifts = 0.5, [0.25]
        with self.name_scope():
            self.weight = self.params.get("weight", shape=(1, 0), allow_deferred_init=True)
            self.table = self.params.get_constant("table", nd.array([[0.5] * WIDTH]))

    def hybrid_forward(self, F: Any, x: Any, weight: Any, table: Any) -> Any:
        return (
            F.broadcast_mul(x, F.FullyConnected(table, weight, num_hidden=1, no_bias=True)) + F.broadcast_add(x, table)
        ) * self.factor + self.shifts[0]


class Second(gluon.HybridBlock):
    """Of the second generation."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.factor, self.held = 0.5, nd.ones((1, WIDTH)) * 0.25
        self.weight = gluon.Parameter("weight", shape=(1, 0), allow_deferred_init=True)

    def infer_shape(self, x: Any) -> None:
        self.weight.shape = (1, x.shape[1])

    def forward(self, x: Any) -> Any:
        y = nd.tanh(nd.broadcast_mul(x, self.weight.data())) * self.factor
        y = nd.broadcast_add(y, self.held) if x.shape[0] > 2 else y - 0.125
        return y * 1.5 if autograd.is_training() else y


class Custom(gluon.HybridBlock):
    def hybrid_forward(self, F: Any, x: Any) -> Any:
        with autograd.pause():
            gate = F.sigmoid(x)
        return softsign(x) * gate


class Twice(gluon.HybridBlock):
    """Calls a block twice, and passes nested values to it."""

    def __init__(self, inner: Any, **options: Any) -> None:
        super().__init__(**options)
        self.inner = inner

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return (self.inner(x) - self.inner(x * 0.5)) * 2 + x


class TwiceWritten(gluon.HybridBlock):
    def __init__(self, inner: Any, **options: Any) -> None:
        super().__init__(**options)
        self.inner = inner

    def forward(self, x: Any) -> Any:
        return nd.concat(self.inner(x), self.inner(x + 0.5), dim=0)[: x.shape[0]] + x


LEAVES: list[Callable[[], Any]] = [
    lambda: nn.Dense(WIDTH, activation="tanh"),
    lambda: nn.Dense(WIDTH, use_bias=False, flatten=False),
    lambda: nn.BatchNorm(momentum=0.5),
    lambda: nn.LayerNorm(),
    Scale,
    Second,
    Custom,
    lambda: nn.HybridLambda("sin"),
]


def build(description: Any, made: list[Any]) -> Any:
    """Return the block of a description: a number of a leaf, a kind and a part, a list; blocks made may come again."""
    if isinstance(description, int):
        if description >= len(LEAVES):
            return made[description % len(made)] if made else LEAVES[0]()
        made.append(LEAVES[description]())
        return made[-1]
    if isinstance(description, tuple):
        return {"twice": Twice, "written": TwiceWritten}[description[0]](build(description[1], made))
    net = nn.HybridSequential()
    net.add(*[build(one, made) for one in description])
    return net


DESCRIPTIONS = st.recursive(
    st.integers(0, len(LEAVES) + 1),
    lambda parts: st.one_of(
        st.tuples(st.sampled_from(["twice", "written"]), parts), st.lists(parts, min_size=1, max_size=3)
    ),
    max_leaves=5,
)


def fill(net: Any) -> None:
    for number, parameter in enumerate(net.collect_params().values()):
        if parameter._data is not None and not isinstance(parameter, gluon.Constant):
            size = int(np.prod(parameter.shape))
            values = ((np.arange(size) * 7 + number * 3) % 11 * 0.1 - 0.45).reshape(parameter.shape)
            parameter.set_data(nd.array(np.abs(values) + 0.5 if parameter.name.endswith("var") else values))


def rows(count: int, seed: int, dtype: Any = "float32") -> Any:
    return nd.array(np.random.default_rng(seed).uniform(-1, 1, (count, WIDTH)).astype(dtype), dtype=dtype)


def gradients(net: Any) -> list[Any]:
    return [one.grad().asnumpy().copy() for one in net.collect_params().values() if one.grad_req != "null"]


def leaves_of(net: Any) -> list[Any]:
    found: list[Any] = []
    net.apply(lambda block: found.append(block) if isinstance(block, (Scale, Second)) else None)
    return found


# Each takes the network, the path of a file, and two numbers; and returns arrays to compare, or a new network.
def predict(net: Any, path: Any, count: int, seed: int) -> Any:
    return [net(rows(count, seed, dtype_of(net))).asnumpy()]


def dtype_of(net: Any) -> Any:
    found = [one._dtype for one in net.collect_params().values()]
    return found[0] if found else "float32"


def train(net: Any, path: Any, count: int, seed: int) -> Any:
    x, other = rows(count, seed, dtype_of(net)), rows(count, seed + 1, dtype_of(net))
    x.attach_grad()
    with autograd.record():
        loss = (net(x) * net(other) + net(x)).sum()
    loss.backward(retain_graph=bool(seed % 2))
    if seed % 2:
        loss.backward()
    return [loss.asnumpy(), x.grad.asnumpy(), *gradients(net)]


def record_predicting(net: Any, path: Any, count: int, seed: int) -> Any:
    x = rows(count, seed, dtype_of(net))
    x.attach_grad()
    with autograd.record(train_mode=False):
        out = net(x)
    out.backward(train_mode=False)
    return [out.asnumpy(), x.grad.asnumpy()]


def second_order(net: Any, path: Any, count: int, seed: int) -> Any:
    x = rows(count, seed, dtype_of(net))
    x.attach_grad()
    with autograd.record():
        [slope] = autograd.grad((net(x) ** 2).sum(), [x], create_graph=True)
        penalty = (slope * slope).sum()
    penalty.backward()
    return [slope.asnumpy(), x.grad.asnumpy(), *gradients(net)]


def step(net: Any, path: Any, count: int, seed: int) -> Any:
    x = rows(count, seed, dtype_of(net))
    x.attach_grad()
    with autograd.record():
        loss = (net(x) ** 2).mean()
    loss.backward()
    if any(one.grad_req != "null" for one in net.collect_params().values()):
        gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.05}).step(1, ignore_stale_grad=True)
    return [loss.asnumpy(), *(one.data().asnumpy() for one in net.collect_params().values())]


def set_data(net: Any, path: Any, count: int, seed: int) -> Any:
    for one in [*net.collect_params(".*weight").values()][:count]:
        one.set_data(one.data() * 0.75)


def write_in_place(net: Any, path: Any, count: int, seed: int) -> Any:
    for one in [*net.collect_params(".*weight|.*beta").values()][:count]:
        one.data()[:] = one.data() * 0.5


def write_between(net: Any, path: Any, count: int, seed: int) -> Any:
    """Write to a parameter between forward and backward: an error, or the gradient of the old values."""
    found: list[Any] = []
    for writes in (False, True):
        x = rows(count, seed, dtype_of(net))
        x.attach_grad()
        with autograd.record():
            loss = (net(x * 1) ** 2).sum()
        if writes:
            for one in [*net.collect_params(".*weight").values()][:1]:
                one.data()[:] = one.data() * 0.5
        try:
            loss.backward()
        except MutationError:
            continue
        found.append(x.grad.asnumpy())
    if len(found) == 2:
        np.testing.assert_allclose(found[1], found[0], rtol=2e-3, atol=2e-4 * max(1, np.abs(found[0]).max()))
    return found[:1]


def change_attributes(net: Any, path: Any, count: int, seed: int) -> Any:
    for one in leaves_of(net)[:count]:
        one.factor = one.factor * -1.5
        if isinstance(one, Scale):
            one.shifts[0] += 0.5
        elif seed % 2:
            one.held = one.held * 2
        else:
            one.held += 0.5


def add_requests(net: Any, path: Any, count: int, seed: int) -> Any:
    request = ["write", "add", "null"][seed % 3]
    net.collect_params(".*weight|.*bias").setattr("grad_req", request)
    net.collect_params().zero_grad()


def cast(net: Any, path: Any, count: int, seed: int) -> Any:
    dtype = ["float32", "float64"][seed % 2]
    net.cast(dtype)
    for one in leaves_of(net):
        if isinstance(one, Second):
            one.held = one.held.astype(dtype)


def save_and_load(net: Any, path: Any, count: int, seed: int) -> Any:
    net.save_parameters(path)
    set_data(net, path, 9, seed)
    net.load_parameters(path)


def to_another_context(net: Any, path: Any, count: int, seed: int) -> Any:
    net.collect_params().reset_ctx(mx.cpu(1))
    out = net(rows(count, seed, dtype_of(net)).as_in_context(mx.cpu(1))) if not leaves_of(net) else None
    net.collect_params().reset_ctx(mx.cpu(0))
    return [] if out is None else [out.asnumpy()]


def add_layer(net: Any, path: Any, count: int, seed: int) -> Any:
    layer = nn.Dense(WIDTH, in_units=WIDTH, prefix=f"added{len(net)}_", dtype=dtype_of(net))
    layer.initialize(mx.init.Constant(0.25))
    net.add(layer)


def fail(net: Any, path: Any, count: int, seed: int) -> Any:
    try:
        with autograd.record():
            net(nd.ones((2, WIDTH, 2, 1), dtype=dtype_of(net)), nd.ones((1,)), 3)
    except (MXNetError, TypeError):
        return []
    raise AssertionError("three arguments were taken")


def copied(net: Any, path: Any, count: int, seed: int) -> Any:
    try:
        return copy.deepcopy(net) if seed % 2 else pickle.loads(pickle.dumps(net))
    except (pickle.PicklingError, AttributeError):
        return copy.deepcopy(net)


def toggled(net: Any, path: Any, count: int, seed: int) -> Any:
    if net._active:
        net.hybridize(False)
        net.hybridize(True, clear=bool(seed % 2))


ACTIONS = [
    predict,
    train,
    record_predicting,
    second_order,
    step,
    set_data,
    write_in_place,
    write_between,
    change_attributes,
    add_requests,
    cast,
    save_and_load,
    to_another_context,
    add_layer,
    fail,
    copied,
    toggled,
]
PROGRAMS = st.lists(
    st.tuples(st.integers(0, len(ACTIONS) - 1), st.integers(1, 4), st.integers(0, 7)), min_size=2, max_size=9
)


def run(description: Any, program: Any, path: Any, active: bool) -> list[Any]:
    """Return all that a program finds with a network, hybridized or not."""
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(build(description, []))
    net.initialize(mx.init.One())
    net.hybridize(active)
    net(rows(2, 0))
    fill(net)
    found: list[Any] = []
    for number, count, seed in program:
        answer = ACTIONS[number](net, path, count, seed)
        if isinstance(answer, gluon.Block):
            net = answer
        else:
            found.append((ACTIONS[number].__name__, answer or []))
        assert not TRACES
        assert not autograd.is_recording()
    found.append(("at last", [net(rows(3, 1, dtype_of(net))).asnumpy()]))
    return found


def compare(description: Any, program: Any, path: Any) -> None:
    """Assert that a program finds the same with both networks."""
    eager, hybridized = (run(description, program, path, active) for active in (False, True))
    for (name, one), (_, other) in zip(eager, hybridized, strict=True):
        for left, right in zip(one, other, strict=True):
            assert left.dtype == right.dtype, name
            scale = max(1.0, float(np.abs(left).max(initial=0)))
            np.testing.assert_allclose(right, left, rtol=2e-3, atol=2e-4 * scale, err_msg=name)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(DESCRIPTIONS, PROGRAMS)
def test_programs_find_the_same(tmp_path_factory: Any, description: Any, program: Any) -> None:
    compare(description, program, tmp_path_factory.getbasetemp() / "programs.params")
