"""What random programs have found, made small; and a few hundred random programs, compiled, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from fuzz_native import check_graph, failures
from many import each
from thoroughness import often

import minpy as mx
from minpy import sym

pytest.importorskip("llvmlite")

COMPILES = True

RANDOM = np.random.RandomState(5)
X = RANDOM.normal(size=(4, 4))
ROW = RANDOM.normal(size=(2, 1))


def _heads_turned(x):
    double = x * 2
    return double[::-1], double


def _heads_swapped(x):
    double = x * 2
    return double.T, double, double[:, ::-1]


def _sum_of_repeated_rows(x):
    rows = np.sum(np.abs(x), axis=1, keepdims=True)
    return np.sum(np.broadcast_to(rows, x.shape), axis=0, keepdims=True), rows * x


def _rows_and_sums(x, row):
    wide = np.tanh(x[:2] * row)
    return np.sum(wide, axis=1, keepdims=True) * row, np.sum(row, axis=0), wide - np.max(wide, axis=1, keepdims=True)


def _zeros(x):
    return np.sum((x * -0.0)[:, None], axis=1), np.sum(x[:1] * 0 * -1.0, axis=0)


FUNCTIONS = {
    function.__name__: (function, arrays)
    for function, *arrays in (
        (_heads_turned, X),
        (_heads_swapped, X),
        (_sum_of_repeated_rows, X),
        (_rows_and_sums, X, ROW),
        (_zeros, np.abs(X)),
    )
}


@each(FUNCTIONS)
def test_functions_that_were_wrong(function, arrays):
    compiled = mx.compile(function)
    expected = function(*arrays)
    for _ in range(4):
        found = compiled(*arrays)
    assert compiled.explain()[0].is_native
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-15)
        np.testing.assert_array_equal(np.signbit(one), np.signbit(other))


def test_what_is_given_is_summed_once_a_row():
    """A gradient of a bias, beside reductions of wider arrays in one nest."""
    x, w, bias = map(sym.var, ("x", "w", "bias"))
    rows = sym.mean(sym.log_softmax(sym.FullyConnected(x, w, num_hidden=4, no_bias=True)), axis=1, keepdims=True)
    symbol = sym.broadcast_add(sym.erf(rows), bias)
    arrays = {"x": X[:2], "w": X, "bias": np.ones((1, 1))}
    given = {name: mx.nd.array(value, dtype="float64") for name, value in arrays.items()}
    gradients = {name: mx.nd.zeros(value.shape, dtype="float64") for name, value in arrays.items()}
    executor = symbol.bind(mx.cpu(), given, gradients)
    for _ in range(4):
        executor.forward(is_train=True)
        executor.backward([mx.nd.array(ROW, dtype="float64")])
    np.testing.assert_allclose(gradients["bias"].asnumpy(), ROW.sum(axis=0, keepdims=True), rtol=1e-12)


@pytest.mark.parametrize("special", [False, True])
def test_random_programs(special):
    """260 of them, several in one graph, so that less is compiled."""
    for seed in range(often(13, 250)):
        assert check_graph(2000 + seed, 8, special, together=10)


def test_random_networks():
    found, native = failures(range(10_000, 10_000 + often(40, 1000)), ["small network"])
    assert not found, "\n".join(found)
    assert native["small network"] >= 40
