"""Training for many steps neither grows memory nor waits for the garbage collector: what a step made goes with it."""

from __future__ import annotations

import gc
import tracemalloc
import weakref

import pytest

import minpy as mx
from minpy.graph.frame import Frame
from minpy.graph.program import ExecutionContext


def trained(hybridized):
    """Return a step of training, of a network with states that move and a random operator inside."""
    nn = mx.gluon.nn
    net = nn.HybridSequential()
    with net.name_scope():
        net.add(nn.Dense(16, activation="relu"), nn.BatchNorm(), nn.Dropout(0.5), nn.Dense(4))
    loss_of = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    net.initialize()
    if hybridized:
        net.hybridize()
        loss_of.hybridize()
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9})
    data, label = mx.nd.random.normal(shape=(32, 8)), mx.nd.array([number % 4 for number in range(32)])

    def step():
        with mx.autograd.record():
            loss = loss_of(net(data), label)
        loss.backward()
        trainer.step(32)
        return loss

    return step


@pytest.fixture
def uncollected():
    """No garbage collector."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def count(cls):
    return sum(type(one) is cls for one in gc.get_objects())


def bytes_after(step, steps):
    for _ in range(steps):
        step()
    gc.collect()  # empties the interpreter's lists of free tuples, which count as memory
    return tracemalloc.get_traced_memory()[0]


@pytest.mark.parametrize("hybridized", [False, True])
def test_training_does_not_grow(hybridized, uncollected):
    step = trained(hybridized)
    for _ in range(10):
        step()
    tracemalloc.start()
    try:
        before = bytes_after(step, 10)
        after = bytes_after(step, 200)
    finally:
        tracemalloc.stop()
    assert after - before < 4096  # an activation of one step alone has 2 KiB


@pytest.mark.parametrize("hybridized", [False, True])
def test_training_leaves_nothing_to_the_garbage_collector(hybridized, uncollected):
    step = trained(hybridized)
    for _ in range(10):
        step()
    gc.collect()
    for _ in range(20):
        step()
    assert gc.collect() == 0


@pytest.mark.parametrize("hybridized", [False, True])
def test_a_step_goes_with_its_loss(hybridized, uncollected):
    step = trained(hybridized)
    for _ in range(5):
        step()
    loss = step()
    reference = weakref.ref(loss._node)
    assert reference() is not None
    del loss
    assert reference() is None


def test_frames_and_runners_stay_few(uncollected):
    frames = count(Frame)
    step = trained(True)
    for _ in range(5):
        step()
    runners = count(ExecutionContext)
    for _ in range(50):
        step()
    assert count(ExecutionContext) == runners > 0
    assert count(Frame) == frames


def test_a_forward_that_is_dropped_gives_its_runner_back(uncollected):
    nn = mx.gluon.nn
    net = nn.Dense(3)
    net.initialize()
    net.hybridize()
    data = mx.nd.ones((2, 5))

    def forward():
        with mx.autograd.record():
            return net(data)

    for _ in range(3):
        forward()
    frames, runners = count(Frame), count(ExecutionContext)
    for _ in range(20):
        forward()
    assert (count(Frame), count(ExecutionContext)) == (frames, runners)
    kept = [forward() for _ in range(4)]
    assert count(Frame) == frames + 4
    del kept
    assert count(Frame) == frames
