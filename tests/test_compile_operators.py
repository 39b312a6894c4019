"""Users' operators inside compiled functions: their gradients are those of their rules, in every mode."""

import autograd
import numpy as np
import pytest

import minpy as mx

COMPILES = True


@mx.customop("numpy")
def squared(x):
    return x * x


squared.def_grad(lambda ans, x: lambda g: g * 100 * x)  # not what its definition would give


@mx.customop("numpy")
def both(x, y):
    return x * y, x + y


both.outputs = ["product", "sum"]
both.def_grad(lambda ans, x, y: lambda g: g[0] * y * 10 + g[1])
both.def_grad(lambda ans, x, y: lambda g: g[0] * x * 10 + g[1], 1)


@mx.customop("mxnet")
def leaky(x, slope=0.1):
    return mx.nd.where(x > 0, x, x * slope)


leaky.def_grad(lambda ans, x, slope=0.1: lambda g: g * 7)


@mx.customop("numpy")
def printed(x):
    print("called")
    return x * 2


printed.def_grad(lambda ans, x: lambda g: 2 * g)


def of_one(x, y):
    return np.sum(squared(x) * y)


def of_two(x, y):
    product, total = both(x, y)
    return np.sum(product * total)


@pytest.mark.parametrize("function", [of_one, of_two])
def test_gradients_are_those_of_the_rules(function):
    x, y = np.arange(3.0), np.array([1.0, 2.0, 5.0])
    compiled = mx.compile(function)
    for _ in range(4):
        np.testing.assert_allclose(compiled(x, y), function(x, y))
        for gradient in (mx.grad, autograd.grad):
            for argnum in (0, 1):
                np.testing.assert_allclose(gradient(compiled, argnum)(x, y), gradient(function, argnum)(x, y))
    assert compiled.reason is None


def test_of_mxnets_arrays_with_attributes():
    def function(x):
        return mx.nd.sum(leaky(x, slope=0.3))

    compiled = mx.compile(function)
    x = mx.nd.array([1, -2, 3])
    x.attach_grad()
    for _ in range(4):
        with mx.autograd.record():
            total = compiled(x)
        total.backward()
        np.testing.assert_allclose(total.asnumpy(), function(x).asnumpy())
        np.testing.assert_array_equal(x.grad.asnumpy(), [7, 7, 7])
    assert compiled.reason is None


def test_an_operator_with_effects_runs_as_written(capsys):
    compiled = mx.compile(lambda x: printed(x) + 1)
    with pytest.warns(mx.compiling.CompileWarning, match="printed.*of a user"):
        compiled(np.ones(2))
    compiled(np.ones(2))
    assert capsys.readouterr().out == "called\n" * 2
