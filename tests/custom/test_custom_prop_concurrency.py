"""Custom operators in threads, after a fork, and in pools of processes, in the middle of a recorded forward."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from custom_operators import Double, operator_of

import minpy as mx
from minpy import autograd, nd
from minpy.custom import prop_operator as custom_operator


@pytest.fixture(params=["lent", "copied"], autouse=True)
def sharing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run with small arrays as with large ones, which methods share, and as they are: copied."""
    if request.param == "lent":
        monkeypatch.setattr(custom_operator, "LENT_SIZE", 0)


forking = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork"),
    # Python 3.12 and later warn of any fork beside other threads, such as those of a BLAS.
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning"),
]


@pytest.fixture
def switching() -> Iterator[None]:
    """Lets threads take turns as often as possible."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def train(seed: int, steps: int = 20) -> list[np.ndarray]:
    """Trains a network of two layers, all of it custom operators that call `asnumpy()`, and returns its weights."""
    random = np.random.RandomState(seed)
    data, target = nd.array(random.randn(8, 5)), nd.array(random.randn(8, 2))
    weights = [nd.array(random.randn(4, 5)), nd.array(random.randn(2, 4))]
    for weight in weights:
        weight.attach_grad()
    for _ in range(steps):
        with autograd.record():
            hidden = nd.Custom(nd.Custom(data, weights[0], op_type="shared_dense"), op_type="shared_sigmoid")
            output = nd.Custom(nd.Custom(hidden, weights[1], op_type="shared_dense"), op_type="shared_sigmoid")
            loss = ((output - target) * (output - target)).sum()
        loss.backward()
        with autograd.pause():
            for weight in weights:
                weight[:] = weight - 0.1 * weight.grad
    return [weight.asnumpy() for weight in weights]


def same(results: Any, expected: Any) -> bool:
    return all(np.array_equal(got, want) for got, want in zip(results, expected, strict=True))


@pytest.mark.usefixtures("switching")
def test_threads_that_train_at_once_finish_with_the_numbers_of_one() -> None:
    expected = [train(seed) for seed in (1, 2)]
    assert not same(*expected)
    barrier = threading.Barrier(2)

    def run(seed: int) -> list[np.ndarray]:
        barrier.wait(10)
        return train(seed)

    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(run, (1, 2)))
    assert same(results[0], expected[0])
    assert same(results[1], expected[1])


@pytest.mark.usefixtures("switching")
def test_an_operator_may_wait_for_another_thread() -> None:
    """Both forwards are entered before either leaves: nothing serializes them, and nothing deadlocks."""
    barrier = threading.Barrier(2)

    class Meeting(Double):
        def forward(self, is_train, req, in_data, out_data, aux):
            barrier.wait(10)
            self.assign(out_data[0], req[0], nd.array(in_data[0].asnumpy() * 2))

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            barrier.wait(10)
            super().backward(req, out_grad, in_data, out_data, in_grad, aux)

    name = operator_of(Meeting)

    def run(value: float) -> tuple[float, float, bool]:
        x = nd.array([value])
        x.attach_grad()
        with autograd.record():
            y = nd.Custom(x, op_type=name)
            recording = autograd.is_recording()
        y.backward()
        return y.asscalar(), x.grad.asscalar(), recording

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(run, (1.0, 5.0))) == [(2, 2, True), (10, 2, True)]


def test_waiting_returns() -> None:
    y = nd.Custom(nd.ones((2,)), op_type="shared_sigmoid")
    assert y.wait_to_read() is None
    assert nd.waitall() is None


# -- fork --------------------------------------------------------------------------------------------------------------


def in_child(work: Callable[[], Any]) -> Callable[[], Any]:
    """Forks; the child does the work and ends. Returns what waits for the child's answer."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writer, pickle.dumps(work()))
            os._exit(0)
        finally:
            os._exit(1)
    os.close(writer)

    def answer() -> Any:
        with open(reader, "rb") as pipe:
            data = pipe.read()
        assert os.waitpid(child, 0)[1] == 0
        return pickle.loads(data)

    return answer


def half_way() -> Callable[[], tuple[list[float], list[float]]]:
    """Begins a recorded forward, and returns what finishes it, and its backward."""
    x, scope = nd.array([0.0, 1.0]), autograd.record()
    x.attach_grad()
    scope.__enter__()
    hidden = nd.Custom(x, op_type="shared_sigmoid")

    def finish() -> tuple[list[float], list[float]]:
        y = nd.Custom(hidden, op_type="shared_sigmoid") * hidden
        scope.__exit__(None, None, None)
        y.backward()
        return y.asnumpy().tolist(), x.grad.asnumpy().tolist()

    return finish


class TestFork:
    pytestmark = forking

    def test_in_the_middle_of_a_recorded_forward(self) -> None:
        expected = half_way()()
        finish = half_way()
        answer = in_child(finish)
        assert finish() == expected
        assert answer() == expected

    def test_inside_an_operator(self) -> None:
        answers = []

        class Forking(Double):
            def forward(self, is_train, req, in_data, out_data, aux):
                y = in_data[0].asnumpy() * 2
                if is_train:
                    answers.append(in_child(lambda: train(3, steps=2)))
                self.assign(out_data[0], req[0], nd.array(y))

        x = nd.array([1.0])
        x.attach_grad()
        with autograd.record():
            y = nd.Custom(x, op_type=operator_of(Forking))
        y.backward()
        assert (y.asscalar(), x.grad.asscalar()) == (2, 2)
        assert same(answers[0](), train(3, steps=2))

    def test_while_another_thread_is_inside_an_operator(self) -> None:
        inside, leave = threading.Event(), threading.Event()

        class Slow(Double):
            def forward(self, is_train, req, in_data, out_data, aux):
                inside.set()
                leave.wait(10)
                super().forward(is_train, req, in_data, out_data, aux)

        name, results = operator_of(Slow), []
        thread = threading.Thread(target=lambda: results.append(nd.Custom(nd.array([1]), op_type=name).asscalar()))
        thread.start()
        inside.wait(10)
        answer = in_child(lambda: train(4, steps=2))
        leave.set()
        thread.join(10)
        assert results == [2]
        assert same(answer(), train(4, steps=2))

    def test_a_pool_of_processes(self) -> None:
        expected, finish = half_way()(), half_way()
        with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork")) as pool:
            futures = [pool.submit(train, seed, 3) for seed in (5, 6)]
            assert finish() == expected
            for seed, future in zip((5, 6), futures, strict=True):
                assert same(future.result(30), train(seed, 3))

    def test_exceptions_come_back_from_a_pool(self) -> None:
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork")) as pool:
            with pytest.raises(ZeroDivisionError, match=r"'failing_operator': Failing.forward failed") as caught:
                pool.submit(call_failing).result(30)
            assert isinstance(caught.value, mx.MXNetError)
            assert same(pool.submit(train, 7, 1).result(30), train(7, 1))


class Failing(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], 1 // 0)


@mx.operator.register("failing_operator")
class FailingProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx, in_shapes, in_dtypes):
        return Failing()


def call_failing() -> Any:
    return nd.Custom(nd.ones((1,)), op_type="failing_operator")
