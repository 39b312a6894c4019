"""Gradients of parameters that native code computes where they are kept: random training beside blocks as written."""

import gc
import random
import threading

import numpy as np
import pytest

import minpy as mx
from minpy import autograd, gluon, nd
from minpy.gluon import nn
from minpy.graph.frame import Frame
from minpy.jit import trial

pytest.importorskip("llvmlite")

COMPILES = True


class _Symbolic(gluon.HybridBlock):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.dense = nn.Dense(3, in_units=4)
            self.weight = self.params.get("weight", shape=(2, 3), init=mx.init.Uniform(0.5))

    def hybrid_forward(self, F, x, weight):
        hidden = self.dense(x)
        return F.broadcast_mul(F.tanh(hidden), F.sum(weight)) + F.relu(hidden)


class _Captured(_Symbolic):
    def forward(self, x):
        hidden = self.dense(x)
        return nd.tanh(hidden) * self.weight.data().sum() + nd.relu(hidden)


def _array(seed, shape=(2, 4)):
    return nd.array(np.random.RandomState(seed).uniform(-1, 1, shape).astype("float32"))


class _World:
    """A network, an input with a gradient, and what was held; a random program is run in two of these."""

    def __init__(self, make, hybridized):
        mx.random.seed(5)
        self.net = make()
        self.net.initialize(mx.init.Uniform(0.5))
        if hybridized:
            self.net.hybridize()
        self.parameters = list(self.net.collect_params().values())
        self.trainer = gluon.Trainer(self.net.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9})
        self.x = _array(1)
        self.x.attach_grad()
        self.held = []
        for _ in range(4):
            self.output().backward()

    def output(self, x=None, training=True):
        with autograd.record(train_mode=training):
            return self.net(self.x if x is None else x)

    def values(self):
        arrays = [self.x.grad, *self.held]
        for parameter in self.parameters:
            arrays += [parameter.data()] if parameter.grad_req == "null" else [parameter.data(), parameter.grad()]
        return [array.asnumpy() if isinstance(array, nd.NDArray) else np.array(array) for array in arrays]


def _backward(world, parameter, draw, seed):
    world.output().backward()


def _of_head(world, parameter, draw, seed):
    world.output().backward(_array(seed, (2, 3)))


def _of_gradient(world, parameter, draw, seed):
    if world.net.weight.grad_req != "null":
        world.output().backward(world.net.weight.grad())


def _gradient_of_another_kind(world, parameter, draw, seed):
    gradient = draw.choice([nd.zeros((2, 4), dtype="float64"), nd.zeros((4, 2)).T])
    autograd.mark_variables([world.x], [gradient])
    world.output().backward()


def _in_prediction(world, parameter, draw, seed):
    world.output(training=False).backward(train_mode=False)


def _request(world, parameter, draw, seed):
    parameter.grad_req = draw.choice(["write", "write", "add", "null"])


def _train(world, parameter, draw, seed):
    world.output().backward()
    world.trainer.step(2, ignore_stale_grad=True)


def _several_heads(world, parameter, draw, seed):
    autograd.backward([world.output(), world.output(_array(seed))], [_array(seed, (2, 3)), None])


def _grad(world, parameter, draw, seed):
    world.held += autograd.grad([world.output()], [world.x], head_grads=[_array(seed, (2, 3))])


def _retain(world, parameter, draw, seed):
    output = world.output()
    output.backward(_array(seed, (2, 3)), retain_graph=True)
    world.held.append(world.x.grad.copy())
    output.backward(_array(seed + 1, (2, 3)))


def _write_between(world, parameter, draw, seed):
    output = world.output()
    _array(seed)[:] = 3
    output.backward()


def _hold(world, parameter, draw, seed):
    if parameter.grad_req != "null":
        gradient = parameter.grad()
        world.held.append(draw.choice([gradient, gradient[0:1], np.from_dlpack(gradient)]))


def _hold_between(world, parameter, draw, seed):
    output = world.output()
    world.held.append(world.x.grad.detach())
    output.backward()


def _drop(world, parameter, draw, seed):
    world.held.clear()
    gc.collect()


def _new_gradient(world, parameter, draw, seed):
    output = world.output()
    world.x.attach_grad(draw.choice(["write", "add"]))
    output.backward()


def _shared_gradient(world, parameter, draw, seed):
    other = _array(seed)
    autograd.mark_variables([world.x, other], [world.x.grad, world.x.grad])
    world.output().backward()
    world.output(other).backward(_array(seed, (2, 3)))


def _error(world, parameter, draw, seed):
    output = world.output()
    with pytest.raises(mx.MXNetError, match="head gradient of shape"):
        output.backward(_array(seed, (5, 5)))
    output.backward(_array(seed, (2, 3)))
    with pytest.raises(mx.MXNetError, match="was freed by an earlier backward"):
        output.backward()


def _cast_between(world, parameter, draw, seed):
    output = world.output()
    world.net.cast("float64")
    output.backward()
    world.net.cast("float32")


def _used_elsewhere(world, parameter, draw, seed):
    with autograd.record():
        loss = (world.net(world.x) * world.net(2 * world.x)).sum() + (world.x**2).sum()
    loss.backward()


def _in_thread(world, parameter, draw, seed):
    thread = threading.Thread(target=lambda: world.output().backward())
    thread.start()
    thread.join()


STEPS = (
    *[_backward, _of_head, _train] * 4,
    *[_in_prediction, _request, _several_heads, _grad, _retain, _write_between, _hold, _hold_between, _drop, _drop],
    *[_of_gradient] * 2,
    *[_gradient_of_another_kind, _new_gradient, _shared_gradient, _error, _cast_between, _used_elsewhere, _in_thread],
)


@pytest.mark.parametrize("make", [_Symbolic, _Captured])
def test_random_training(make, monkeypatch):
    monkeypatch.setattr(trial.trials, "enabled", False)
    computed = []
    compute_in_leaves = Frame.compute_in_leaves

    def noted(frame, leaves, cotangent):
        computed.append(compute_in_leaves(frame, leaves, cotangent))
        return computed[-1]

    monkeypatch.setattr(Frame, "compute_in_leaves", noted)
    for program in range(8):
        worlds = [_World(make, True), _World(make, False)]
        done = []
        for number in range(30):
            seed = 100 * program + number
            for world in worlds:
                draw = random.Random(seed)
                step, parameter = draw.choice(STEPS), draw.choice(world.parameters)
                step(world, parameter, draw, seed)
            done.append(step.__name__)
            for found, expected in zip(*(world.values() for world in worlds), strict=True):
                np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5, err_msg=f"{program}: {done}")
    assert sum(computed) > 50
    assert not all(computed)
