"""Gradients that compiled rules compute in the arrays of leaves: random programs beside operators run as written.

What may be in the way of a buffer: other names of it, views, another leaf with the same gradient, the same leaf twice,
an upstream gradient or an argument that is some leaf's gradient, gradients that are added, rules that fail.
"""

from __future__ import annotations

import gc
import random

import numpy as np
import pytest

import minpy as mx
from minpy import autograd, customop, nd
from minpy.core import aligned
from minpy.jit import compiled_operators, trial

pytest.importorskip("llvmlite")

COMPILES = True
SHAPE = (64, 128)  # of float32: what native code would compute in arrays that are aligned
CALLS = 10


@pytest.fixture(autouse=True)
def _programs_are_chosen(monkeypatch):
    monkeypatch.setattr(compiled_operators, "_MIN_SPEEDUP", 0.0)
    monkeypatch.setattr(trial.trials, "enabled", False)


def product(several, compiled):
    @customop("numpy", compile=compiled)
    def multiplied(x, y):
        return x[::-1] * y + x

    # What is turned is read elsewhere than it is written: an upstream gradient in the same memory would be spoilt.
    if several:
        multiplied.def_multiple_grad()(lambda ans, x, y: lambda g: ((g * y)[::-1] + g, g * x[::-1]))
    else:
        multiplied.def_grad(lambda ans, x, y: lambda g: (g * y)[::-1] + g)
        multiplied.def_grad(lambda ans, x, y: lambda g: g * x[::-1], argnum=1)
    return multiplied


class Product(mx.gluon.HybridBlock):
    def hybrid_forward(self, F, x, y):
        return F.flip(x, axis=0) * y + x


class ForwardProduct(mx.gluon.HybridBlock):
    def forward(self, x, y):
        return nd.flip(x, axis=0) * y + x


def block(compiled, cls=Product):
    made = cls()
    made.hybridize(compile=compiled)
    return made


OPERATORS = {
    "one rule": lambda compiled: product(True, compiled),
    "two rules": lambda compiled: product(False, compiled),
    "a hybridized block": block,
    "a hybridized block with forward": lambda compiled: block(compiled, ForwardProduct),
}
# Small arrays need not be aligned.
SHAPES = {"large": SHAPE, "small": (8, 4)}


def array(seed):
    return nd.array(np.random.RandomState(seed).uniform(-1, 1, SHAPE).astype(np.float32))


def settle(operator):
    x, y = array(1), array(2)
    for one in (x, y):
        one.attach_grad()
    for _ in range(3 * CALLS):
        with autograd.record():
            z = operator(x, y)
        z.backward()
    return x, y


def places(*leaves):
    return [one.grad._data.__array_interface__["data"][0] for one in leaves]


def test_gradients_of_one_rule_are_computed_where_they_are():
    operator = product(True, True)
    x, y = settle(operator)
    before = places(x, y)
    for seed in range(3):
        head = array(seed)
        with autograd.record():
            z = operator(x, y)
        z.backward(head)
        assert places(x, y) == before
        np.testing.assert_allclose(x.grad.asnumpy(), ((head * y)[::-1] + head).asnumpy(), rtol=1e-5)
        np.testing.assert_allclose(y.grad.asnumpy(), (head * x[::-1]).asnumpy(), rtol=1e-5)


def test_a_rule_alone_computes_where_the_gradient_is():
    operator = product(False, True)
    x, _ = settle(operator)
    y = array(3)
    before = places(x)
    for seed in range(3):
        head = array(seed)
        with autograd.record():
            z = operator(x, y)
        z.backward(head)
        assert places(x) == before
        np.testing.assert_allclose(x.grad.asnumpy(), ((head * y)[::-1] + head).asnumpy(), rtol=1e-5)


STEPS = ["call"] * 5 + ["twice", "shared", "hold", "view", "raw", "drop", "request", "head", "argument", "fail"]
STEPS += [
    "ones",
    "columns first",
    "read",
    "zero elsewhere",
    "retain",
    "chain",
    "new",
    "loss",
    "beside",
    "added elsewhere",
]


class World:
    """Some leaves and an operator, and what was held of them; a random program is run in two of these."""

    def __init__(self, operator):
        self.operator = operator
        self.leaves = [array(seed) for seed in range(3)]
        for leaf in self.leaves:
            leaf.attach_grad()
        self.held = []

    def values(self):
        found = [leaf.grad.asnumpy() for leaf in self.leaves if leaf.grad is not None]
        return found + [one.asnumpy() if isinstance(one, nd.NDArray) else np.array(one) for one in self.held]

    def step(self, draw, seed):
        choice = draw.choice(STEPS)
        first, second = draw.sample(range(3), 2)
        x, y, third = self.leaves[first], self.leaves[second], self.leaves[3 - first - second]
        if choice == "call":
            self.back(x, y, array(seed))
        elif choice == "twice":
            self.back(x, x, array(seed))
        elif choice == "ones":
            self.back(x, y, None)
        elif choice == "columns first" and x.grad is not None:
            autograd.mark_variables([x], [x.grad.T.copy().T])  # not in C's order
        elif choice == "read":
            self.held.append(self.operator(x, y))
        elif choice == "shared" and x.grad is not None:
            autograd.mark_variables([x, y], [x.grad, x.grad])
        elif choice == "hold" and x.grad is not None:
            self.held.append(x.grad)
        elif choice == "view" and x.grad is not None:
            self.held.append(x.grad[3:7])
        elif choice == "raw" and x.grad is not None:
            self.held.append(np.from_dlpack(x.grad))
        elif choice == "drop":
            self.held.clear()
            gc.collect()
        elif choice == "request":
            x.attach_grad(draw.choice(["write", "add", "write", "null"]))
        elif choice == "head":
            self.back(x, y, draw.choice([x, y, third]).grad)
        elif choice == "argument" and third.grad is not None:
            self.back(x, third.grad, array(seed))
        elif choice == "fail":
            with autograd.record():
                z = self.operator(x, y)
            with pytest.raises(mx.MXNetError, match="head gradient of shape" if z._node else "not computed under"):
                z.backward(nd.zeros((2, 3)))
        elif choice == "retain":
            with autograd.record():
                z = self.operator(x, y)
            if z._node is not None:
                z.backward(array(seed), retain_graph=True)
                z.backward(array(seed + 1))
        elif choice == "chain":
            with autograd.record():
                z = self.operator(self.operator(x, y), y)
            if z._node is not None:
                z.backward(array(seed))
        elif choice == "new":
            x.attach_grad()
        elif choice in ("loss", "beside", "added elsewhere", "zero elsewhere"):
            if choice == "added elsewhere" and x.grad is not None:
                autograd.mark_variables([x, third], [x.grad, x.grad], ["write", "add"])
            with autograd.record():
                z = self.operator(x, y)
                factors = {"loss": z, "beside": x, "added elsewhere": third, "zero elsewhere": nd.BlockGrad(x)}
                loss = (z * factors[choice]).sum()
            if loss._node is not None:
                loss.backward()

    def back(self, x, y, head):
        with autograd.record():
            z = self.operator(x, y)
        if z._node is not None:
            z.backward(head)


def test_parameters_of_a_network_below_a_loss_keep_their_gradients():
    net, loss_of = mx.gluon.nn.Dense(128, in_units=64, activation="relu"), mx.gluon.loss.L2Loss()
    net.initialize()
    for one in (net, loss_of):
        one.hybridize()
    x, label = nd.array(np.random.RandomState(0).normal(size=(32, 64)).astype("f")), nd.zeros((32, 128))

    def step():
        with autograd.record():
            loss = loss_of(net(x), label)
        loss.backward()

    for _ in range(CALLS):
        step()
    weight = net.weight
    before, (at,) = weight.grad().asnumpy(), places(weight.data())
    weight.set_data(weight.data() * 2)
    step()
    assert places(weight.data()) == [at]
    assert not np.allclose(weight.grad().asnumpy(), before)
    held = weight.grad().asnumpy(), np.from_dlpack(weight.grad())
    step()
    np.testing.assert_allclose(weight.grad().asnumpy(), held[0], rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(held[1], weight.grad().asnumpy())


def test_a_rule_that_returns_another_shape_writes_nothing():
    @customop("numpy", compile=True)
    def added(x, y):
        return x + y

    added.def_multiple_grad()(lambda ans, x, y: lambda g: (g * 2, g[:3] * 2))
    x, y = array(1), array(2)
    for one in (x, y):
        one.attach_grad()
    for _ in range(2 * CALLS):
        with autograd.record():
            z = added(x, y)
        with pytest.raises(mx.MXNetError, match=r"returned a gradient of shape \(3, 128\); expected \(64, 128\)"):
            z.backward(array(5))
        for one in (x, y):
            assert not one.grad.asnumpy().any()


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("made", OPERATORS.values(), ids=OPERATORS)
def test_random_programs(made, shape, monkeypatch):
    monkeypatch.setitem(globals(), "SHAPE", shape)
    compiled, plain = made(True), made(False)
    settle(compiled)
    settle(plain)
    for program in range(40):
        worlds = [World(compiled), World(plain)]
        for number in range(25):
            seed = 1000 * program + number
            for world in worlds:
                world.step(random.Random(seed), seed)
            for got, expected in zip(*(world.values() for world in worlds), strict=True):
                np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6, err_msg=f"program {program}, {number}")


def test_nothing_is_written_where_a_rule_fails():
    fails = []

    @customop("numpy", compile=True)
    def doubled(x, y):
        return 2 * x + y

    doubled.def_grad(lambda ans, x, y: lambda g: 2 * g)

    @doubled.def_grad(argnum=1)
    def rule(ans, x, y):
        def pull(g):
            if fails:
                raise ValueError("the second rule fails")
            return g * 1

        return pull

    x, y = settle(doubled)
    before = x.grad.asnumpy(), y.grad.asnumpy()
    with autograd.record():
        z = doubled(x, y)
    fails.append(True)
    with pytest.raises(mx.MXNetError, match="the second rule fails"):
        z.backward(array(5))
    for one, kept in zip((x, y), before, strict=True):
        np.testing.assert_array_equal(one.grad.asnumpy(), kept)


def test_large_arrays_are_those_that_begin_at_lines():
    whole = aligned.empty((2 * aligned.LARGE,), np.uint8)
    assert aligned.is_large(whole)
    assert not aligned.is_large(whole[: aligned.LARGE // 2])
    if aligned._allocation() is not None:
        assert not aligned.is_large(whole[16:])


def test_a_rule_may_read_the_gradient_that_it_computes():
    def smoothed(compiled):
        @customop("mxnet", compile=compiled)
        def doubled(x, y):
            return 2 * x + y

        doubled.def_multiple_grad()(lambda ans, x, y: lambda g: (2 * g + 0.5 * nd.flip(kept, axis=0), g + kept.sum()))
        return doubled

    found = []
    for compiled in (True, False):
        operator = smoothed(compiled)
        x, y = array(1), array(2)
        for one in (x, y):
            one.attach_grad()
        kept = x.grad
        for seed in range(2 * CALLS):
            with autograd.record():
                z = operator(x, y)
            z.backward(array(seed) / SHAPE[1])
        found.append((x.grad.asnumpy(), y.grad.asnumpy()))
    for got, expected in zip(*found, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-3, atol=1e-3)
