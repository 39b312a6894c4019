"""Functions of complex numbers, and means of float16, that are compiled or on the tape: as NumPy computes them."""

from __future__ import annotations

import numpy as np
import pytest

import minpy as mx
from minpy import autograd, gluon

COMPILES = True
CALLS = 4

RANDOM = np.random.RandomState(3)
Z = RANDOM.normal(size=(3, 4)) + 1j * RANDOM.normal(size=(3, 4))

FUNCTIONS = {
    "var": lambda a: np.var(a),
    "var of rows": lambda a: np.var(a, axis=1, ddof=1, keepdims=True),
    "std": lambda a: np.std(a, axis=0),
    "method": lambda a: a.var(axis=0),
    "norm": lambda a: np.linalg.norm(a),
    "norm of rows": lambda a: np.linalg.norm(a, axis=1),
    "norm of a matrix": lambda a: np.linalg.norm(a, "fro"),
    "norm of magnitudes": lambda a: np.linalg.norm(a[0], 3),
    "vdot": lambda a: np.vdot(a, a * a),
    "nan_to_num": lambda a: np.nan_to_num(a / 0),
}


class Called(gluon.HybridBlock):
    """A block that calls a function."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, a):
        return self.function(a)


def equal(got, expected, **tolerance):
    got = got.asnumpy() if isinstance(got, mx.np.ndarray) else got
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got, expected, **tolerance)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_complex_arrays_in_graphs(name, dtype):
    function, a = FUNCTIONS[name], Z.astype(dtype)
    expected, compiled = function(a), mx.compile(function)
    for _ in range(CALLS):
        equal(compiled(a), expected, rtol=2e-6)
    assert compiled.reason is None
    block = Called(function)
    block.hybridize()
    for _ in range(CALLS):
        equal(block(mx.np.array(a)), expected, rtol=2e-6)


@pytest.mark.parametrize("name", ["var", "var of rows", "std", "method", "norm", "norm of rows", "norm of magnitudes"])
def test_gradients_for_complex_arrays(name):
    function = FUNCTIONS[name]
    numbers = np.zeros_like(Z)
    for index in np.ndindex(Z.shape):
        for direction in (1, 1j):  # dx - i dy, as in HIPS autograd
            moved = [Z.copy(), Z.copy()]
            moved[0][index] += 1e-6 * direction
            moved[1][index] -= 1e-6 * direction
            slope = (function(moved[0]).sum() - function(moved[1]).sum()) / 2e-6
            numbers[index] += np.conj(direction) * slope
    found = mx.grad(lambda a: function(a).sum())(mx.np.array(Z)).asnumpy()
    np.testing.assert_allclose(found, numbers, rtol=1e-5, atol=1e-7)
    a, compiled = mx.np.array(Z), mx.compile(function)
    a.attach_grad()
    for _ in range(CALLS):
        with autograd.record():
            answer = compiled(a).sum()
        answer.backward()
        np.testing.assert_allclose(a.grad.asnumpy(), numbers, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("function", [np.var, np.std, np.nanvar, np.nanstd])
def test_spread_of_complex_arrays_on_the_tape(function):
    a = mx.np.array(np.where(Z.real > 1, np.nan, Z) if function in (np.nanvar, np.nanstd) else Z)
    a.attach_grad()
    with autograd.record():
        found = getattr(mx.np, function.__name__)(a, axis=0)
    equal(found, function(a.asnumpy(), axis=0), rtol=1e-12)


def test_means_of_float16_may_have_sums_beyond_its_range():
    a = np.full(1000, 100, np.float16)
    compiled = mx.compile(lambda a: (a.mean(), np.mean(a, axis=0, keepdims=True)))
    for _ in range(CALLS):
        for found in compiled(a):
            equal(found, np.full(found.shape, 100, np.float16))
    draws = np.abs(RANDOM.normal(size=(40, 7)) * 3).astype(np.float16)
    equal(mx.compile(lambda a: a.mean(axis=0))(draws), draws.mean(axis=0))
