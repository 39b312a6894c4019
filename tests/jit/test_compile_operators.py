"""Users' operators inside compiled functions: their gradients are those of their rules, in every mode."""

import warnings

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


# -- operators that cannot be captured, and say what they give ---------------------------------------------------------


def stepwise(dtype=None):
    """An operator that chooses by values, and what it was called with."""
    calls = []

    @mx.customop("numpy")
    def chosen(x):
        calls.append(x.shape)
        out = np.empty_like(x, dtype=dtype)
        for index, value in np.ndenumerate(x):
            out[index] = value * 2 if value > 0 else value
        return out

    chosen.def_grad(lambda ans, x: lambda g: g * np.where(x > 0, 2, 1))
    chosen.def_shape(lambda shape: shape)
    return chosen, calls


X = np.linspace(-1, 1, 6).reshape(2, 3)


def test_what_cannot_be_captured_is_called_where_its_shape_is_declared():
    chosen, calls = stepwise()
    compiled = mx.compile(lambda x: np.tanh(chosen(x * 2)) + 1)
    expected = np.tanh(np.where(X > 0, 4 * X, 2 * X)) + 1
    for number in range(6):
        np.testing.assert_allclose(compiled(X), expected)
        assert len(calls) == number + 1  # as often as written, and never to learn something
    assert compiled.reason is None
    for _ in range(3):
        gradient = mx.elementwise_grad(compiled)(X)
        np.testing.assert_allclose(gradient, (1 - np.tanh(chosen(X * 2)) ** 2) * np.where(X > 0, 4, 2))


def test_a_block_with_such_an_operator_is_one_graph():
    chosen, calls = stepwise()

    class Block(mx.gluon.HybridBlock):
        def forward(self, x):
            return mx.np.tanh(chosen(x * 2)) + 1

    block = Block()
    block.hybridize()
    x = mx.np.array(X)
    x.attach_grad()
    for number in range(5):
        with mx.autograd.record():
            y = block(x)
        y.backward()
        assert len(calls) == number + 1
        slope = np.where(X > 0, 4, 2)
        np.testing.assert_allclose(y.asnumpy(), np.tanh(slope * X) + 1, rtol=1e-6)
        np.testing.assert_allclose(x.grad.asnumpy(), (1 - np.tanh(slope * X) ** 2) * slope, rtol=1e-6)
    assert "1 capture" in str(block.explain_retraces())


def test_a_declaration_that_is_wrong_is_noticed():
    chosen, _ = stepwise("float32")
    compiled = mx.compile(lambda x: chosen(x) * x.dtype.itemsize)
    reason = r"chosen gives float32 \(2, 3\), and by its rules it gives float64 \(2, 3\): correct chosen.def_shape or"
    with pytest.warns(mx.compiling.CompileWarning, match=reason):
        result = compiled(X)
    assert result.dtype == compiled(X).dtype == np.float32
    chosen.def_infer_type(lambda inputs, outputs: (inputs, [np.dtype("float32")]))
    again = mx.compile(lambda x: chosen(x) * x.dtype.itemsize)
    assert again(X).dtype == np.float32
    assert again.reason is None


def test_without_a_declaration_the_function_runs_as_written():
    chosen, calls = stepwise()
    chosen.shape_rule = None
    compiled = mx.compile(lambda x: chosen(x) + 1)
    with pytest.warns(mx.compiling.CompileWarning, match=r"Say it with chosen\.def_shape, and def_infer"):
        compiled(X)
    assert len(calls) == 1


def test_what_is_called_for_nothing_is_called_as_written():
    chosen, calls = stepwise()

    def function(x):
        chosen(x)
        return x + 1

    compiled = mx.compile(function)
    with pytest.warns(mx.compiling.CompileWarning, match="it calls chosen, .* that cannot be captured, for nothing"):
        compiled(X)
    assert len(calls) == 1


def test_values_that_decide_about_the_shape_are_noticed():
    @mx.customop("numpy")
    def positive(x):
        return x[x > 0]

    positive.def_shape(lambda shape: (3,))
    compiled = mx.compile(lambda x: positive(x) * 2)
    for _ in range(4):
        np.testing.assert_allclose(compiled(X), X[X > 0] * 2)
    np.testing.assert_allclose(compiled(np.abs(X)), np.abs(X)[np.abs(X) > 0] * 2)


def test_calls_keep_their_order():
    def noisy(combine):
        @mx.customop("numpy")
        def drawn(x):
            return combine(x, np.random.rand()) if x.sum() < 1e9 else x

        drawn.def_shape(lambda shape: shape)
        return drawn

    first, second = noisy(np.add), noisy(np.multiply)

    def function(x):
        shifted = first(x)
        scaled = second(x)
        return scaled - shifted  # a graph would come to `scaled` first

    compiled = mx.compile(function)
    results = []
    for called in (function, compiled):
        np.random.seed(1)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            results.append([called(X) for _ in range(3)])
    np.testing.assert_allclose(*results)
    assert "it calls drawn, drawn, operators of a user that cannot be captured, and a graph would call them in" in str(
        caught[0].message
    )
    in_order = mx.compile(lambda x: first(x) - second(x))
    np.random.seed(1)
    expected = [first(X) - second(X) for _ in range(3)]
    np.random.seed(1)
    np.testing.assert_allclose([in_order(X) for _ in range(3)], expected)
    assert in_order.reason is None
