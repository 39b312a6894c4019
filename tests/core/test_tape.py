"""What recording costs and survives: depth, memory, threads, processes."""

from __future__ import annotations

import gc
import subprocess
import sys
import textwrap
import threading
import tracemalloc
import weakref

import numpy as np

from minpy import autograd, nd
from minpy.core.nodes import Leaf, Node


def variable(values: object) -> nd.NDArray:
    x = nd.array(values)
    x.attach_grad()
    return x


def test_a_long_chain() -> None:
    x = variable([1.0])
    with autograd.record():
        y = x
        for _ in range(30_000):
            y = y + x
    y.backward(retain_graph=True)
    assert x.grad.asscalar() == 30_001
    del y  # destroys 30,000 nodes, each held by the next
    with autograd.record():
        y = x
        for _ in range(30_000):
            y = -y
    [g] = autograd.grad(y, x, create_graph=True)
    assert g.asscalar() == 1


def one_step(x: nd.NDArray, w: nd.NDArray) -> None:
    with autograd.record():
        hidden = nd.tanh(nd.dot(x, w))
        loss = (nd.softmax(hidden)[:, 1:] * hidden[:, 1:] ** 2).mean()
        [g] = autograd.grad(loss, w, create_graph=True)
        total = loss + (g * g).sum()
    total.backward()
    w -= 0.01 * w.grad


def count(kind: type) -> int:
    return sum(type(thing) is kind for thing in gc.get_objects())


def test_memory_returns_without_the_garbage_collector() -> None:
    x, w = nd.array(np.random.rand(200, 300)), variable(np.random.rand(300, 100))
    one_step(x, w)
    gc.collect()
    gc.disable()
    try:
        before = count(Node), count(Leaf), len(gc.get_objects())
        for _ in range(3):
            one_step(x, w)
        assert (count(Node), count(Leaf)) == before[:2]
        assert len(gc.get_objects()) <= before[2] + 5
        tracemalloc.start()
        one_step(x, w)
        used = tracemalloc.get_traced_memory()[0]
        for _ in range(10):
            one_step(x, w)
        assert tracemalloc.get_traced_memory()[0] < used + x.size  # less than an array; Python keeps some free tuples
    finally:
        tracemalloc.stop()
        gc.enable()
    assert gc.collect() == 0


def test_two_threads_train_at_once() -> None:
    def train(seed: int, results: dict[int, list[float]]) -> None:
        data = np.random.RandomState(seed)
        x, w = nd.array(data.rand(8, 5)), variable(data.rand(5, 3))
        losses = []
        for _ in range(60):
            with autograd.record():
                loss = ((nd.dot(x, w) - 1) ** 2).mean()
            loss.backward()
            w[:] = w - 0.1 * w.grad
            losses.append(float(loss))
        results[seed] = losses

    alone: dict[int, list[float]] = {}
    together: dict[int, list[float]] = {}
    for seed in range(4):
        train(seed, alone)
    threads = [threading.Thread(target=train, args=(seed, together)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert together == alone


def test_a_fork_in_the_middle_of_a_recorded_computation() -> None:
    program = r"""
        import os
        from minpy import autograd, nd
        x = nd.array([1.0, 2.0])
        x.attach_grad()
        with autograd.record():
            y = x * x
            child = os.fork()
            z = (y * (2 if child else 3)).sum()
        z.backward()
        os.write(1, f"{'parent' if child else 'child'} {x.grad.asnumpy().tolist()}\n".encode())
        if not child:
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
    """
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == ["child [6.0, 12.0]", "parent [4.0, 8.0]"]


def test_a_rule_that_needs_a_shape_keeps_no_values():
    x = nd.ones((4, 3))
    x.attach_grad()
    with autograd.record():
        hidden = x * 2
        total = hidden.sum()
    buffer = weakref.ref(hidden._data)
    del hidden
    assert buffer() is None
    total.backward()
    assert (x.grad.asnumpy() == 2).all()
