"""The functional interface: kinds, structures, nesting, errors."""

from __future__ import annotations

import threading
from collections import OrderedDict, namedtuple

import autograd
import autograd.numpy as anp
import numpy as np
import pytest

import minpy as mx
import minpy.numpy
from minpy import elementwise_grad, grad, grad_and_loss, hessian, jacobian, jvp, value_and_grad, vjp
from minpy.core.errors import ArgumentError, DTypeError, GraphFreedError, NoGradientError, ShapeError

X = np.array([0.5, -1.0, 2.0])
Pair = namedtuple("Pair", "w b")


def cubes(x):
    return np.sum(x**3)


def as_kind(kind, value):
    array = mx.nd.array(value, dtype="float64")
    return {"numpy": np.asarray(value), "nd": array, "np": array.as_np_ndarray()}[kind]


def plain(value):
    return value.asnumpy() if isinstance(value, mx.nd.NDArray) else np.asarray(value)


# -- kinds -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["numpy", "nd", "np"])
def test_the_gradient_comes_back_in_the_kind_that_went_in(kind):
    x = as_kind(kind, X)
    gradient = grad(cubes)(x)
    assert type(gradient) is type(x)
    np.testing.assert_allclose(plain(gradient), 3 * X**2)
    value, gradient = value_and_grad(cubes)(x)
    assert type(gradient) is type(x)
    assert isinstance(value, np.float64 if kind == "numpy" else type(x))
    gradient, loss = grad_and_loss(cubes)(x)
    np.testing.assert_allclose(plain(loss), plain(value))
    assert type(elementwise_grad(np.exp)(x)) is type(x)
    assert type(jacobian(np.exp)(x)) is type(x)
    assert type(hessian(cubes)(x)) is type(x)
    np.testing.assert_allclose(plain(hessian(cubes)(x)), np.diag(6 * X))
    out, pull = vjp(np.exp, x)
    assert type(out) is type(pull(out)[0]) is type(x)
    out, tangent = jvp(np.exp, (x,), (x,))
    assert type(out) is type(tangent) is type(x)
    np.testing.assert_allclose(plain(tangent), np.exp(X) * X)


def test_numbers():
    assert grad(lambda x: x * x)(3.0) == 6.0
    assert type(grad(lambda x: x * x)(3.0)) is float
    assert type(grad(np.sin)(np.float32(0))) is np.float32
    assert grad(lambda x: x * x)(np.array(3.0)).shape == ()
    assert value_and_grad(lambda x: x * x)(3.0) == (9.0, 6.0)
    assert jvp(np.sin, (0.0,), (2.0,)) == (0.0, 2.0)


def test_float32_and_the_functions_arguments():
    seen = []

    def function(x, y, *, flag):
        seen.append((type(x), type(y), flag))
        return (x * y).sum()

    gradient = grad(function, 1)(X, X.astype("float32"), flag="yes")
    assert gradient.dtype == np.float32
    assert seen == [(np.ndarray, minpy.numpy.ndarray, "yes")]


def test_gradients_are_arrays_of_ones_own():
    first, second = grad(lambda x, y: np.sum(x + y), (0, 1))(X, X)
    first += 1
    np.testing.assert_array_equal(second, 1)
    gradient = grad(np.sum)(X)
    gradient[0] = 7
    np.testing.assert_array_equal(X, [0.5, -1.0, 2.0])


def test_the_name_and_the_docstring_are_the_functions():
    assert grad(cubes).__name__ == "grad_of_cubes"
    assert "minpy.hessian" in hessian(cubes).__doc__
    assert grad(cubes).__wrapped__ is cubes


# -- arguments ---------------------------------------------------------------------------------------------------------


def test_argnum():
    function = lambda x, y, z: x * y * y * z
    assert grad(function, 1)(2.0, 3.0, 4.0) == 48.0
    assert grad(function, -1)(2.0, 3.0, 4.0) == 18.0
    assert grad(function, (2, 0))(2.0, 3.0, 4.0) == (18.0, 36.0)
    assert grad(function, [0])(2.0, 3.0, 4.0) == (36.0,)
    (xx, xy), (yx, yy) = hessian(function, (0, 1))(2.0, 3.0, 4.0)
    assert (xx, xy, yx, yy) == (0.0, 24.0, 24.0, 16.0)


def test_nests_of_arrays():
    def loss(parameters, x):
        first, second = parameters["layers"]
        return np.sum(np.tanh(x @ first.w + first.b) @ second[0]) + parameters["bias"] * 2

    parameters = OrderedDict(
        layers=[Pair(np.eye(3), np.zeros(3)), (np.ones((3, 2)), None)],
        bias=1.5,
    )
    gradient = grad(loss)(parameters, X)
    assert type(gradient) is OrderedDict
    assert list(gradient) == ["layers", "bias"]
    assert type(gradient["layers"]) is list
    assert type(gradient["layers"][0]) is Pair
    assert gradient["layers"][1][1] is None
    assert gradient["bias"] == 2.0
    slope = 2 * (1 - np.tanh(X) ** 2)
    np.testing.assert_allclose(gradient["layers"][0].b, slope)
    np.testing.assert_allclose(gradient["layers"][0].w, np.outer(X, slope))
    np.testing.assert_allclose(gradient["layers"][1][0], np.stack([np.tanh(X)] * 2, 1))


def test_jacobian_of_nests():
    result = jacobian(lambda p: {"s": p["a"] * p["b"], "t": [p["a"] ** 2]})({"a": X, "b": 2.0})
    np.testing.assert_allclose(result["s"]["a"], 2 * np.eye(3))
    np.testing.assert_allclose(result["s"]["b"], X)
    np.testing.assert_allclose(result["t"][0]["a"], np.diag(2 * X))
    np.testing.assert_allclose(result["t"][0]["b"], np.zeros(3))


def test_jacobian_shapes():
    matrix = np.arange(6.0).reshape(2, 3)
    assert jacobian(lambda x: x @ X)(matrix).shape == (2, 2, 3)
    np.testing.assert_array_equal(jacobian(lambda x: matrix @ x)(X), matrix)
    assert jacobian(lambda x: x[:0])(X).shape == (0, 3)
    assert jacobian(np.sum)(X).shape == (3,)
    assert jacobian(lambda x: np.ones(2))(X).shape == (2, 3)


def test_an_ignored_argument_has_gradient_zero():
    np.testing.assert_array_equal(grad(lambda x, y: np.sum(y))(X, X), np.zeros(3))
    assert grad(lambda x: 1.5)(2.0) == 0.0
    assert grad(lambda x: np.round(x))(2.3) == 0.0
    np.testing.assert_array_equal(grad(lambda x: x[0] * 2)(X), [2, 0, 0])
    assert jvp(lambda x: np.ones(2), (X,), (X,))[1].tolist() == [0.0, 0.0]
    assert vjp(lambda x: np.ones(2), X)[1](np.ones(2))[0].tolist() == [0.0, 0.0, 0.0]


def test_closures_over_arrays_recorded_earlier_are_constants():
    w = mx.nd.array(X, dtype="float64")
    w.attach_grad()
    with mx.autograd.record():
        y = w * w
    y.backward()
    assert w.grad.asnumpy().tolist() == (2 * X).tolist()
    np.testing.assert_allclose(grad(lambda x: np.sum(x * y * w))(X), X**3)
    np.testing.assert_allclose(jvp(lambda x: np.sum(x * y), (X,), (X,))[1], np.sum(X**3))
    assert w.grad.asnumpy().tolist() == (2 * X).tolist()


# -- forward and reverse -----------------------------------------------------------------------------------------------


def test_vjp_pulls_as_often_as_asked():
    (total, pair), pull = vjp(lambda x, y: (np.sum(x * y), (x, y * 2)), X, 2 * X)
    assert total == np.sum(2 * X * X)
    np.testing.assert_array_equal(pair[1], 4 * X)
    for factor in (1.0, 2.0):
        dx, dy = pull((factor, (np.zeros(3), np.ones(3))))
        np.testing.assert_allclose(dx, factor * 2 * X)
        np.testing.assert_allclose(dy, factor * X + 2)


def test_jvp_uses_forward_rules_and_else_transposes():
    calls = []

    @mx.customop("numpy")
    def cube(x):
        return x**3

    cube.def_grad(lambda ans, x: lambda g: 3 * x * x * g)
    assert jvp(cube, (2.0,), (1.0,)) == (8.0, 12.0)
    cube.def_jvp(lambda ans, x: lambda t: calls.append(1) or 3 * x * x * t)
    assert jvp(cube, (2.0,), (1.0,)) == (8.0, 12.0)
    assert calls == [1]


def test_jvp_and_vjp_are_transposes():
    matrix = np.arange(9.0).reshape(3, 3) + 5 * np.eye(3)
    function = lambda x: np.linalg.solve(matrix, np.tanh(x)) * np.sum(x)
    tangent, cotangent = np.ones(3), np.array([1.0, -2.0, 0.5])
    pushed = jvp(function, (X,), (tangent,))[1]
    [pulled] = vjp(function, X)[1](cotangent)
    np.testing.assert_allclose(pushed @ cotangent, pulled @ tangent)
    result, pushed = jvp(lambda p: {"y": p["x"] ** 2}, ({"x": X},), ({"x": tangent},))
    np.testing.assert_allclose(result["y"], X**2)
    np.testing.assert_allclose(pushed["y"], 2 * X)


# -- nesting -----------------------------------------------------------------------------------------------------------


def test_any_order():
    function, value = np.sin, 0.3
    for expected in (np.cos, lambda x: -np.sin(x), lambda x: -np.cos(x), np.sin, np.cos):
        function = grad(function)
        assert np.isclose(function(value), expected(value))


@pytest.mark.parametrize("kind", ["numpy", "nd", "np"])
def test_nested_operators(kind):
    x = as_kind(kind, X)
    np.testing.assert_allclose(plain(jacobian(grad(cubes))(x)), np.diag(6 * X))
    np.testing.assert_allclose(plain(hessian(lambda x: np.sum(grad(cubes)(x) ** 2))(x)), np.diag(108 * X**2))
    np.testing.assert_allclose(plain(grad(lambda x: np.sum(jacobian(np.exp)(x)))(x)), np.exp(X))
    np.testing.assert_allclose(plain(grad(lambda x: np.sum(jvp(np.sin, (x,), (x,))[1]))(x)), np.cos(X) - X * np.sin(X))
    np.testing.assert_allclose(plain(grad(lambda x: np.sum(vjp(np.sin, x)[1](x)[0]))(x)), np.cos(X) - X * np.sin(X))
    np.testing.assert_allclose(plain(jvp(grad(cubes), (x,), (as_kind(kind, np.ones(3)),))[1]), 6 * X)
    np.testing.assert_allclose(plain(jacobian(jacobian(lambda x: x**3))(x)).sum((1, 2)), 6 * X)


def test_perturbations_are_not_confused():
    assert grad(lambda x: x * grad(lambda y: x + y)(2.0))(1.0) == 1.0
    assert grad(lambda x: x * grad(lambda y: x * y)(1.0))(3.0) == 6.0
    assert grad(lambda x: grad(lambda y: x * x * y * y)(x))(2.0) == 24.0
    assert jvp(lambda x: x * jvp(lambda y: x + y, (1.0,), (1.0,))[1], (1.0,), (1.0,))[1] == 1.0
    assert grad(lambda x: x * jvp(lambda y: x * y, (1.0,), (1.0,))[1])(3.0) == 6.0
    assert jvp(lambda x: x * grad(lambda y: x * y)(1.0), (3.0,), (1.0,))[1] == 6.0


def test_an_inner_gradient_of_constants_stays_a_numpy_array():
    kinds = []

    def outer(x):
        inner = grad(cubes)(X)
        value, again = value_and_grad(cubes)(X)
        kinds.extend([type(inner), type(value), type(again), type(jvp(cubes, (X,), (X,))[1])])
        return np.sum(x * inner)

    np.testing.assert_allclose(grad(outer)(X), 3 * X**2)
    assert kinds == [np.ndarray, np.float64, np.ndarray, np.float64]


def test_inside_record_the_result_is_recorded():
    x = mx.nd.array(X, dtype="float64")
    x.attach_grad()
    with mx.autograd.record():
        gradient = grad(lambda x: (x * x * x).sum())(x)
        loss = (gradient * x).sum()
    assert type(gradient) is mx.nd.NDArray
    loss.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), 9 * X**2)
    with mx.autograd.record():
        closure = grad(lambda y: np.sum(x * y * y))(np.ones(3))
        value, _ = value_and_grad(lambda y: np.sum(x * y))(np.ones(3))
        unrelated = grad(cubes)(X)
    assert type(unrelated) is np.ndarray
    closure.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), 2)
    value.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), 1)
    with mx.autograd.record():
        pushed = jvp(lambda y: x * y, (X,), (np.ones(3),))[1]
    pushed.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), 1)


def test_outside_record_nothing_is_recorded():
    x = mx.nd.array(X, dtype="float64")
    x.attach_grad()
    value, gradient = value_and_grad(lambda x: (x * x).sum())(x)
    assert value._node is None
    assert gradient._node is None
    assert x.grad.asnumpy().tolist() == [0, 0, 0]


def test_inside_hips_autograd():
    np.testing.assert_allclose(autograd.grad(lambda x: anp.sum(grad(cubes)(x) * x))(X), 9 * X**2)
    np.testing.assert_allclose(autograd.jacobian(grad(cubes))(X), np.diag(6 * X))
    np.testing.assert_allclose(autograd.hessian(lambda x: anp.sum(grad(cubes)(x)))(X), 6 * np.eye(3))
    np.testing.assert_allclose(autograd.elementwise_grad(lambda x: value_and_grad(cubes)(x)[0])(X), 3 * X**2)
    np.testing.assert_allclose(autograd.grad(lambda x: anp.sum(jvp(np.sin, (x,), (X,))[1]))(X), -X * np.sin(X))
    result = autograd.grad(lambda p: anp.sum(grad(lambda p: np.sum(p["a"] ** 3))(p)["a"]))({"a": X})
    np.testing.assert_allclose(result["a"], 6 * X)
    with pytest.raises(ArgumentError, match="vjp: an argument is traced by HIPS autograd"):
        autograd.grad(lambda x: vjp(np.sin, x)[1](1.0)[0])(1.0)


# -- operators ---------------------------------------------------------------------------------------------------------


def test_a_softmax_loss_written_by_hand():
    @mx.customop("numpy")
    def my_softmax(x, y):
        probs = np.exp(x - np.max(x, axis=1, keepdims=True))
        probs /= np.sum(probs, axis=1, keepdims=True)
        return -np.sum(np.log(probs[np.arange(x.shape[0]), y])) / x.shape[0]

    def my_softmax_grad(ans, x, y):
        def gradient(g):
            count = x.shape[0]
            probs = np.exp(x - np.max(x, axis=1, keepdims=True))
            probs /= np.sum(probs, axis=1, keepdims=True)
            probs[np.arange(count), y] -= 1
            probs /= count
            return probs

        return gradient

    my_softmax.def_grad(my_softmax_grad)
    x, y = np.random.default_rng(0).normal(size=(4, 3)), np.array([0, 2, 1, 1])
    gradient = grad(my_softmax)(x, y)
    for position in np.ndindex(x.shape):
        shift = np.zeros_like(x)
        shift[position] = 1e-6
        numeric = (my_softmax(x + shift, y) - my_softmax(x - shift, y)) / 2e-6
        assert np.isclose(gradient[position], numeric, atol=1e-8)
    assert hessian(my_softmax)(x, y).shape == (4, 3, 4, 3)


# -- errors ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: grad(np.exp)(X), ShapeError, r"got float64 \(3,\).*jacobian .*elementwise_grad"),
        (lambda: grad(lambda x: (x[0], x[1]))(X), ShapeError, "got a nest of 2 arrays"),
        (lambda: hessian(np.exp)(X), ShapeError, "hessian differentiates a function whose result is one number"),
        (lambda: grad(lambda x: None)(X), ArgumentError, "returned NoneType None; expected an array"),
        (lambda: grad(lambda x: "loss")(X), ArgumentError, "returned str 'loss'"),
        (lambda: grad(np.sum)(np.arange(3)), DTypeError, r"grad: argument 0 has dtype int64, which has no gradient"),
        (lambda: grad(lambda x: x * x)(3), DTypeError, r"argument 0 is int 3.*Give a float \(3.0\)"),
        (lambda: grad(lambda x: x["n"])({"n": np.arange(2)}), DTypeError, r"argument 0\['n'\] has dtype int64"),
        (lambda: grad(lambda x: x)("text"), DTypeError, "argument 0 is str 'text', which has no gradient"),
        (lambda: grad(lambda x: x)(None), DTypeError, "argument 0 is NoneType None"),
        (lambda: grad(np.sum)(mx.nd.array([1], dtype="int32")), DTypeError, "dtype int32"),
        (lambda: grad(lambda x: np.sum(x * 1j))(X), DTypeError, "the result is complex"),
        (lambda: grad(lambda x: np.argmax(x))(X), DTypeError, "integers and truth values have no gradient. Return the"),
        (
            lambda: grad(lambda x: np.allclose(x, x))(X),
            DTypeError,
            "<lambda> returned .*bool.*, and integers and truth values have no gradient",
        ),
        (
            lambda: grad(np.sum, 1)(X),
            ArgumentError,
            "there is no argument 1: sum was called with 1 positional argument",
        ),
        (lambda: grad(np.sum)(a=X), ArgumentError, "called with 0 positional arguments.*given by position"),
        (lambda: grad(np.sum, "a"), ArgumentError, "argnum is a position"),
        (lambda: grad(np.sum, ()), ArgumentError, "argnum is a position"),
        (lambda: grad(np.sum(X)), ArgumentError, r"Write grad\(f\)\(x\), not grad\(f\(x\)\)"),
        (lambda: jvp(np.sin, X, X), ArgumentError, r"Write jvp\(function, \(x,\), \(t,\)\)"),
        (lambda: jvp(np.sin, (X,), (X[:2],)), ShapeError, r"jvp: the tangent\[0\] has shape \(2,\), expected \(3,\)"),
        (lambda: jvp(np.sin, (X,), (X, X)), ShapeError, r"expected arrays at \[0\], got them at \[0\], \[1\]"),
        (lambda: vjp(np.sin, X)[1](1.0), ShapeError, r"vjp: the gradient has shape \(\), expected \(3,\)"),
        (lambda: grad(lambda x: np.nextafter(x, 1.0))(0.5), NoGradientError, "numpy.nextafter has no gradient"),
    ],
)
def test_errors(call, error, match):
    with pytest.raises(error, match=match):
        call()
    assert not mx.autograd.is_recording()


def test_flags_are_restored_after_an_exception():
    def fails(x):
        assert mx.autograd.is_recording()
        raise ZeroDivisionError

    for call in (lambda: grad(fails)(X), lambda: jvp(fails, (X,), (X,)), lambda: grad(grad(fails))(1.0)):
        with pytest.raises(ZeroDivisionError):
            call()
        assert not mx.autograd.is_recording()
    with mx.autograd.record():
        with pytest.raises(ZeroDivisionError):
            grad(fails)(X)
        assert mx.autograd.is_recording()
        assert mx.autograd.is_training()


def test_a_freed_graph_around_a_nested_gradient_is_said():
    x = mx.nd.array(X)
    x.attach_grad()
    with mx.autograd.record():
        y = x * x
        y.sum().backward()
        inner = grad(lambda z: (z * y).sum())(mx.nd.array(X))
        loss = inner.sum()
    with pytest.raises(GraphFreedError, match="freed"):
        loss.backward()


def test_threads():
    results = []
    threads = [
        threading.Thread(target=lambda s=s: results.append((s, hessian(lambda x: np.sum(x**4) * s)(X))))
        for s in (1.0, 2.0, 3.0)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 3
    for scale, result in results:
        np.testing.assert_allclose(result, np.diag(12 * X**2) * scale)
