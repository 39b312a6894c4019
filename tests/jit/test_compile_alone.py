"""Operators compiled alone, where the program is always chosen: what callers see does not tell."""

from __future__ import annotations

import autograd as hips
import numpy as np
import pytest

import minpy as mx
from minpy import autograd, customop, nd
from minpy.jit import compiled_operators, trial

pytest.importorskip("llvmlite")

COMPILES = True

X = np.random.RandomState(0).normal(size=(20, 30))
CALLS = 10


@pytest.fixture(autouse=True)
def _programs_are_chosen(monkeypatch):
    monkeypatch.setattr(compiled_operators, "_MIN_SPEEDUP", 0.0)
    monkeypatch.setattr(trial.trials, "enabled", False)


def is_native(compiled):
    return any(kind.is_settled for kind in compiled._kinds.values())


def gradient(operator, x=X):
    x = nd.array(x, dtype=x.dtype)
    x.attach_grad()
    with autograd.record():
        y = operator(x)
    y.backward()
    return x.grad.asnumpy()


@pytest.mark.parametrize("kind", ["numpy", "mxnet"])
def test_rules_that_do_not_read_the_argument(kind):
    functions = np if kind == "numpy" else nd

    @customop(kind, compile=True)
    def tanh(x):
        return functions.tanh(x)

    tanh.def_grad(lambda ans, x: lambda g: g * (1 - ans * ans))
    for _ in range(CALLS):
        np.testing.assert_allclose(gradient(tanh), 1 - np.tanh(X) ** 2, rtol=1e-9)
        assert type(tanh(X)) is np.ndarray
    assert is_native(tanh.forward)
    assert is_native(tanh.gradients.raw[0])


def test_scalars_and_tuples_stay_what_they_are():
    @customop("numpy", compile=True)
    def total(x):
        return np.sum(x * x)

    @customop("numpy", compile=True)
    def single(x):
        return (np.exp(x),)

    total.def_grad(lambda ans, x: lambda g: 2 * x * g)
    for _ in range(CALLS):
        assert type(total(X)) is np.float64
        np.testing.assert_allclose(hips.grad(total)(X), 2 * X)
        assert hips.grad(total)(1.5) == 3.0
        (found,) = single(X)
        np.testing.assert_allclose(found, np.exp(X), rtol=1e-12)
    assert is_native(total.forward)


def test_instances_whose_shape_is_no_arrays():
    class Layer:
        def __init__(self, factor):
            self.factor, self.shape = factor, (1, 2)

        @customop("numpy", compile=True)
        def run(self, x):
            return np.tanh(x * self.factor)

    layer = Layer(2.0)
    for factor in (2.0, 3.0):
        layer.factor = factor
        for _ in range(CALLS):
            np.testing.assert_allclose(layer.run(X), np.tanh(X * factor), rtol=1e-12)


def test_rules_are_replaced():
    @customop("numpy", compile=True)
    def exp(x):
        return np.exp(x)

    exp.def_grad(lambda ans, x: lambda g: g * ans)
    for _ in range(CALLS):
        np.testing.assert_allclose(gradient(exp), np.exp(X), rtol=1e-12)
    with pytest.warns(UserWarning, match="is defined already"):
        exp.def_grad(lambda ans, x: lambda g: g * ans * 2)
    for _ in range(CALLS):
        np.testing.assert_allclose(gradient(exp), 2 * np.exp(X), rtol=1e-12)
    with pytest.warns(UserWarning, match="is defined already"):
        exp.def_grad(lambda ans, x: ans)
    with pytest.raises(mx.MXNetError, match=r"returned float64 \(20, 30\); expected a function"):
        gradient(exp)


def test_what_changes_again_and_again_is_only_called():
    factor = [1.0]

    @customop("numpy", compile=True)
    def scaled(x):
        return np.tanh(x * factor[0])

    for number in range(120):
        factor[0] += number % 9 == 0
        np.testing.assert_allclose(scaled(X), np.tanh(X * factor[0]), rtol=1e-12)
    assert "what it refers to changes again and again" in scaled.forward.reasons().values()
