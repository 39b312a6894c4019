"""`minpy.checkpoint` gives the same gradients, keeps less, and says so where it cannot run a function again."""

from __future__ import annotations

import gc
import random
import tracemalloc

import autograd
import numpy as np
import pytest

import minpy as mx
from minpy import checkpoint, grad
from minpy.core.errors import ArgumentError, MutationError


def as_it_is(function):
    return function


def block(x, w):
    for _ in range(8):
        x = np.tanh(x * w)
    return x


def chain(x, w, wrap, blocks=8):
    wrapped = wrap(block)
    for _ in range(blocks):
        x = wrapped(x, w)
    return np.sum(x)


def test_it_keeps_only_what_the_function_is_given():
    x, peaks, gradients = np.random.default_rng(0).random(100_000), [], []
    for wrap in (as_it_is, checkpoint):
        gc.collect()
        tracemalloc.start()
        gradients.append(grad(lambda x, w, wrap=wrap: chain(x, w, wrap), (0, 1))(x, np.float64(1.1)))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    # 64 arrays of 0.8 MB against those between 8 blocks, and those in one.
    assert peaks[1] < 0.4 * peaks[0]
    np.testing.assert_allclose(gradients[0][0], gradients[1][0])
    np.testing.assert_allclose(gradients[0][1], gradients[1][1])


def test_the_function_runs_once_more_for_the_gradient():
    calls = []

    @checkpoint
    def counted(x):
        calls.append(type(x))
        return x * x

    assert counted(3.0) == 9.0
    assert len(calls) == 1
    assert grad(counted)(3.0) == 6.0
    assert len(calls) == 3


@pytest.mark.parametrize(
    "derivative",
    [
        grad,
        lambda f: grad(grad(f)),
        lambda f: grad(grad(grad(f))),
        lambda f: lambda x: mx.jvp(f, (x,), (1.0,))[1],
        lambda f: grad(lambda x: mx.jvp(f, (x,), (1.0,))[1]),
        mx.hessian,
    ],
)
def test_derivatives_of_any_order_also_of_what_is_read_from_outside(derivative):
    def function(w, wrap):
        inner = w * w
        return wrap(lambda x: x * inner * w + np.sin(inner) * inner)(w + 1.0)

    checkpointed = derivative(lambda w: function(w, checkpoint))
    plain = derivative(lambda w: function(w, as_it_is))
    np.testing.assert_allclose(checkpointed(1.3), plain(1.3), rtol=1e-10)


def test_it_nests_in_hips_autograd():
    def cube(x):
        return x * x * x

    assert autograd.grad(checkpoint(cube))(2.0) == 12.0
    assert autograd.grad(autograd.grad(checkpoint(cube)))(2.0) == 12.0


def test_what_leads_to_another_array_that_is_read_is_counted_once():
    def function(w, wrap):
        first = w * 2
        second = first * first  # of what is read, too
        return np.sum(wrap(lambda x: x * first + second)(np.ones(3)))

    assert grad(lambda w: function(w, checkpoint))(1.5) == grad(lambda w: function(w, as_it_is))(1.5) == 42.0


def test_nests_several_results_keywords_and_constants():
    @checkpoint
    def function(p, scale, *, power):
        return {"a": p["w"] ** power * scale, "b": [np.sum(p["w"]), np.arange(2.0), 7]}

    def total(p):
        result = function(p, np.array([1.0, 2.0]), power=3)
        assert result["b"][2] == 7
        return np.sum(result["a"]) + result["b"][0] * np.sum(result["b"][1])

    gradient = grad(total)({"w": np.array([1.0, 2.0])})
    np.testing.assert_allclose(gradient["w"], [3 + 1, 24 + 1])


@pytest.mark.parametrize("array", [mx.nd.array, mx.np.array])
def test_recorded_arrays(array):
    gradients = []
    for wrap in (as_it_is, checkpoint):
        x, w = array([0.5, -1.0]), array([2.0, 3.0])
        x.attach_grad()
        w.attach_grad()
        with mx.autograd.record():
            y = wrap(lambda v: (v * w).tanh() * w)(x * 2)
            total = (y * y).sum()
        total.backward()
        assert type(y) is type(x)
        gradients.append((x.grad.asnumpy(), w.grad.asnumpy()))
    np.testing.assert_allclose(gradients[0], gradients[1], rtol=1e-6)


def test_the_callers_arrays_may_change_before_the_gradient_is_taken():
    scale = np.array([1.0, 2.0])
    vjp, _ = mx.make_vjp(lambda x: checkpoint(lambda x, s: x * s)(x, scale))(np.ones(2))
    scale[:] = 100.0
    np.testing.assert_array_equal(vjp(np.ones(2)), [1.0, 2.0])


@pytest.mark.parametrize(
    "draw",
    [
        lambda: np.random.random(3),
        lambda: np.array([random.random() for _ in range(3)]),
        lambda: mx.nd.random.uniform(shape=3).asnumpy(),
    ],
)
def test_random_numbers_are_drawn_again_as_they_were(draw):
    drawn = []

    @checkpoint
    def noisy(x):
        drawn.append(draw())
        return x * x * drawn[-1]

    x = np.array([1.0, 2.0, 3.0])
    vjp, _ = mx.make_vjp(noisy)(x)
    between = draw()
    gradient = vjp(np.ones(3))
    np.testing.assert_array_equal(drawn[0], drawn[1])
    np.testing.assert_allclose(gradient, 2 * x * drawn[0])
    assert not np.array_equal(between, draw())  # goes on where it was


def test_dropout_is_that_of_the_first_run():
    x = mx.nd.ones((1000,))
    x.attach_grad()
    with mx.autograd.record():
        y = checkpoint(lambda v: mx.nd.Dropout(v, p=0.5) * v)(x)
    y.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), 2 * y.asnumpy())


def test_a_function_that_gives_something_else_is_told():
    factor = [1.0]
    vjp, _ = mx.make_vjp(checkpoint(lambda x: x * factor[0]))(np.ones(2))
    factor[0] = 3.0
    with pytest.raises(MutationError, match=r"checkpoint: <lambda> gave other results when it was run again.*changed"):
        vjp(np.ones(2))


def test_what_is_read_from_outside_must_not_change():
    w = mx.nd.array([2.0])
    w.attach_grad()
    with mx.autograd.record():
        y = checkpoint(lambda x: x * w * w)(mx.nd.array([3.0]))
    with mx.autograd.pause():
        w += 1
    with pytest.raises(MutationError, match="changed"):
        y.backward()


def test_it_refuses_what_is_no_function():
    with pytest.raises(ArgumentError, match=r"checkpoint: .* got int 3. Write checkpoint\(f\)\(x\)"):
        checkpoint(3)
