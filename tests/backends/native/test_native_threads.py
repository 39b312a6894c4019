"""Four threads at once in what has become native code: a block, a function, an operator, and executors of one symbol.

Each thread has inputs of its own, and knows what comes out. Threads meet while programs are traced, run as Python and
become native code, and when that is called. `MINPY_THOROUGH=1`: for a minute each.
"""

import sys
import threading
import time

import autograd
import numpy as np
import pytest
from thoroughness import often

import minpy as mx

COMPILES = True
pytest.importorskip("llvmlite")

THREADS = 4
SECONDS = often(1, 60)
RANDOM = np.random.RandomState(5)
WEIGHTS = RANDOM.normal(size=(6, 5)).astype(np.float32) / 2


@pytest.fixture(autouse=True)
def _frequent_switches():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    yield
    sys.setswitchinterval(before)


def in_threads(work):
    """Run `work(number)`, which returns what is called again and again, in all threads until the time is over."""
    end = time.monotonic() + SECONDS
    failures, counts = [], []
    ready = threading.Barrier(THREADS)

    def run(number):
        try:
            once = work(number)
            ready.wait()
            count = 0
            while not failures and (count < 6 or time.monotonic() < end):
                once()
                count += 1
            counts.append(count)
        except BaseException as error:
            failures.append(error)
            ready.abort()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    assert len(counts) == THREADS


def drawn(number, rows):
    return np.random.RandomState(number).normal(size=(rows, 5)).astype(np.float32)


def formula(x, w):
    """The value and the gradients of sum(tanh(x wᵀ)² · (1, 2, ...))."""
    scale = np.arange(1, w.shape[0] + 1)
    t = np.tanh(x.astype(np.float64) @ w.T.astype(np.float64))
    g = 2 * t * (1 - t * t) * scale
    return (t * t * scale).sum(), g @ w, g.T @ x


def require_close(found, expected):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(np.asarray(one), other, rtol=2e-4, atol=2e-4)


class Squares(mx.gluon.HybridBlock):
    """A dense layer, and a loss, as `formula` has them."""

    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.dense = mx.gluon.nn.Dense(6, in_units=5, activation="tanh", use_bias=False)

    def hybrid_forward(self, F, x, scale):
        return F.sum(F.broadcast_mul(F.square(self.dense(x)), scale))


# Shapes that are the same in all threads share one program; those that are not have more of them.
@pytest.mark.parametrize("rows", [[3, 3, 3, 3], [200, 200, 200, 200], [3, 4, 3, 4]], ids=["small", "large", "mixed"])
@pytest.mark.parametrize("static", [False, True])
def test_one_block(rows, static):
    block = Squares()
    block.initialize()
    block.dense.weight.set_data(mx.nd.array(WEIGHTS))
    block.dense.weight.grad_req = "null"  # its gradient would be that of any thread
    block.hybridize(static_alloc=static, static_shape=static)
    scale = mx.nd.array(np.arange(1, 7))

    def work(number):
        raw = drawn(number, rows[number])
        expected = formula(raw, WEIGHTS)
        x = mx.nd.array(raw)
        x.attach_grad()

        def once():
            with mx.autograd.record():
                loss = block(x, scale)
            loss.backward()
            require_close((loss.asscalar(), x.grad.asnumpy()), expected[:2])
            require_close((block(x, scale).asscalar(),), expected[:1])

        return once

    in_threads(work)


def test_executors_of_one_symbol():
    x, w, scale = (mx.sym.var(name) for name in ("x", "w", "scale"))
    product = mx.sym.tanh(mx.sym.dot(x, w, transpose_b=True))
    symbol = mx.sym.sum(mx.sym.broadcast_mul(mx.sym.square(product), scale))

    def work(number):
        raw = drawn(number, 3)
        expected = formula(raw, WEIGHTS)
        executor = symbol.simple_bind(mx.cpu(), x=raw.shape, w=WEIGHTS.shape, scale=(6,))
        executor.copy_params_from({"x": raw, "w": WEIGHTS, "scale": np.arange(1, 7)})

        def once():
            [value] = executor.forward(is_train=True)
            executor.backward()
            found = value.asscalar(), executor.grad_dict["x"].asnumpy(), executor.grad_dict["w"].asnumpy()
            require_close(found, expected)

        return once

    in_threads(work)


def test_one_executor_crashes_nothing():
    """Whose result comes out is not said where threads share an executor; it lies between those of all inputs."""
    x = mx.sym.var("x")
    executor = mx.sym.sum(mx.sym.exp(x) * 2, axis=1).simple_bind(mx.cpu(), x=(4, 50))
    known = [2 * 50 * np.exp(number) for number in range(THREADS)]

    def work(number):
        given = np.full((4, 50), number, np.float32)

        def once():
            executor.forward(is_train=True, x=given)
            values = executor.outputs[0].asnumpy()
            assert values.shape == (4,)
            assert (values >= min(known) * 0.999).all()
            assert (values <= max(known) * 1.001).all()
            try:
                executor.backward(mx.nd.ones((4,)))
            except mx.MXNetError as error:  # another thread is between forward and backward, or has changed x
                if "forward" not in str(error):
                    raise

        return once

    in_threads(work)


@pytest.mark.parametrize("rows", [[3, 3, 3, 3], [3, 4, 3, 4]], ids=["same", "mixed"])
def test_one_function_and_its_gradients(rows):
    def total(x, w):
        return np.sum(np.tanh(x @ w.T) ** 2 * np.arange(1, 7))

    compiled = mx.compile(total)
    both = mx.compile(mx.value_and_grad(total, argnum=(0, 1)))

    def work(number):
        raw = drawn(number, rows[number])
        expected = formula(raw, WEIGHTS)
        x = mx.np.array(raw)
        x.attach_grad()

        def once():
            value, gradients = both(raw, WEIGHTS)
            require_close((value, *gradients), expected)
            require_close((compiled(raw, WEIGHTS),), expected[:1])
            with mx.autograd.record():
                value = compiled(x, mx.np.array(WEIGHTS))
            value.backward()
            require_close((x.grad.asnumpy(),), expected[1:2])

        return once

    in_threads(work)


def test_one_operator_alone():
    @mx.customop("numpy", compile=True)
    def swish(x):
        return x / (1 + np.exp(-x))

    @swish.def_grad
    def gradient(ans, x):
        return lambda g: g * (ans + (1 - ans) / (1 + np.exp(-x)))

    def work(number):
        raw = np.random.RandomState(number).normal(size=(100, 100 + number % 2))
        sigmoid = 1 / (1 + np.exp(-raw))
        answer, slope = raw * sigmoid, sigmoid * (1 + raw * (1 - sigmoid))
        x = mx.nd.array(raw, dtype="float64")
        x.attach_grad()

        def once():
            np.testing.assert_allclose(swish(raw), answer, rtol=1e-12, atol=1e-14)
            with mx.autograd.record():
                y = swish(x)
            y.backward()
            np.testing.assert_allclose(x.grad.asnumpy(), _slope(answer, sigmoid), rtol=1e-9, atol=1e-12)
            found = autograd.grad(lambda x: autograd.numpy.sum(swish(x)))(raw)
            np.testing.assert_allclose(found, _slope(answer, sigmoid), rtol=1e-9, atol=1e-12)

        assert np.isfinite(slope).all()
        return once

    in_threads(work)


def _slope(answer, sigmoid):
    """What the rule of `test_one_operator_alone` gives."""
    return answer + (1 - answer) * sigmoid
