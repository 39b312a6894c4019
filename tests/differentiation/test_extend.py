"""`minpy.extend`: primitives as HIPS autograd's users write them, which are operators."""

from __future__ import annotations

import numpy as np
import pytest

import minpy as mx
from minpy.core.errors import ArgumentError, NoGradientError
from minpy.extend import (
    def_linear,
    defjvp,
    defjvp_argnum,
    defjvp_argnums,
    defvjp,
    defvjp_argnum,
    defvjp_argnums,
    notrace_primitive,
    primitive,
    register_notrace,
)
from minpy.test_util import check_grads

X, Y = np.array([0.5, 1.5, -0.3]), np.array([1.1, -2.0, 0.7])


def make_product():
    @primitive
    def product(x, y):
        """Multiply."""
        return x * np.asarray(y)

    return product


def define_by_argument(product):
    defvjp(product, lambda ans, x, y: lambda g: g * y, lambda ans, x, y: lambda g: g * x)


def define_by_argnum(product):
    defvjp_argnum(product, lambda argnum, ans, args, kwargs: lambda g: g * args[1 - argnum])


def define_by_argnums(product):
    defvjp_argnums(
        product, lambda argnums, ans, args, kwargs: lambda g: tuple(g * args[1 - argnum] for argnum in argnums)
    )


@pytest.mark.parametrize("define", [define_by_argument, define_by_argnum, define_by_argnums])
def test_gradients_of_any_order_and_in_both_modes(define):
    product = make_product()
    define(product)
    check_grads(product)(X, Y)
    check_grads(lambda x: product(x, 2.0))(X)
    np.testing.assert_allclose(mx.grad(lambda x: np.sum(product(x, Y)))(X), Y)
    np.testing.assert_allclose(mx.vmap(product)(X, Y), X * Y)
    assert product.__doc__.startswith("Multiply.\n\nGradients")


@pytest.mark.parametrize(
    "define",
    [
        lambda op: defjvp(op, lambda g, ans, x, y: 10 * g * y, lambda g, ans, x, y: 10 * g * x),
        lambda op: defjvp_argnum(op, lambda argnum, g, ans, args, kwargs: 10 * g * args[1 - argnum]),
        lambda op: defjvp_argnums(
            op,
            lambda argnums, gs, ans, args, kwargs: sum(10 * g * args[1 - n] for n, g in zip(argnums, gs, strict=True)),
        ),
    ],
)
def test_forward_rules_are_used(define):
    product = make_product()
    define_by_argument(product)
    define(product)
    tangent = mx.jvp(product, (X, Y), (Y, X))[1]
    np.testing.assert_allclose(tangent, 10 * (Y * Y + X * X))  # ten times too large: the rule, not its transpose


def test_linear_primitives_are_their_own_forward_rules():
    product = make_product()
    def_linear(product)
    np.testing.assert_allclose(mx.jvp(product, (X, Y), (Y, X))[1], Y * Y + X * X)
    with pytest.raises(NoGradientError, match="product has no gradient for argument 0"):
        mx.grad(lambda x: np.sum(product(x, Y)))(X)


def test_zero_rules_and_argnums():
    product = make_product()
    defvjp(product, lambda ans, x, y: lambda g: g * x, argnums=[1])
    defvjp(product, None)
    defjvp(product, None, "same")
    np.testing.assert_array_equal(mx.grad(lambda x: np.sum(product(x, Y)))(X), np.zeros(3))
    np.testing.assert_allclose(mx.grad(lambda y: np.sum(product(X, y)))(Y), X)
    np.testing.assert_allclose(mx.jvp(product, (X, Y), (Y, X))[1], X * X)


def test_parameters_that_are_no_arrays_may_be_given_by_position_and_by_name():
    @primitive
    def total(x, axis=None, factor=2.0):
        return factor * np.sum(x, axis=axis)

    def rule(ans, x, axis=None, factor=2.0):
        def pull(g):
            return factor * (g if axis is None else np.expand_dims(g, axis)) * np.ones(x.shape)

        return pull

    defvjp(total, rule)
    x = np.arange(6.0).reshape(2, 3)
    for call in (lambda x: total(x, (0, 1)), lambda x: total(x, axis=(0, 1)), total, lambda x: total(x, None, 2.0)):
        assert call(x) == 30.0
        np.testing.assert_array_equal(mx.grad(call)(x), np.full((2, 3), 2.0))
    np.testing.assert_array_equal(mx.grad(lambda x: np.sum(total(x, 0, factor=3.0)))(x), np.full((2, 3), 3.0))
    with pytest.raises(ArgumentError, match="total"):
        total(x, None, 2.0, 4.0)


def test_any_number_of_arguments():
    @primitive
    def added(*arrays):
        return sum(arrays)

    defvjp_argnum(added, lambda argnum, ans, args, kwargs: lambda g: (argnum + 1) * g)
    gradients = mx.grad(lambda a, b, c: np.sum(added(a, b, c)), (0, 1, 2))(X, Y, X)
    for number, gradient in enumerate(gradients, 1):
        np.testing.assert_array_equal(gradient, np.full(3, float(number)))


def test_several_results():
    @primitive
    def both(x):
        return x * 2, x * x

    defvjp(both, lambda ans, x: lambda g: 2 * g[0] + 2 * x * g[1])
    check_grads(lambda x: both(x)[0] * both(x)[1])(X)


def test_what_is_not_traced():
    floor = notrace_primitive(np.floor)
    np.testing.assert_array_equal(mx.grad(lambda x: np.sum(x * floor(x)))(X), np.floor(X))
    product = make_product()
    register_notrace(None, product)
    np.testing.assert_array_equal(mx.grad(lambda x: np.sum(x + product(x, x)))(X), np.ones(3))


def test_primitives_run_in_other_modes():
    product = make_product()
    define_by_argument(product)
    x, y = mx.nd.array(X), mx.nd.array(Y)
    x.attach_grad()
    with mx.autograd.record():
        out = product(x, y)
    out.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), Y, rtol=1e-6)
    net = product(mx.sym.var("x"), mx.sym.var("y"))
    np.testing.assert_allclose(net.eval(x=x, y=y)[0].asnumpy(), X * Y, rtol=1e-6)
    assert product.check(X, Y)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: primitive(3), "primitive: got int 3; expected a function in plain NumPy"),
        (lambda: defvjp(np.sin, None), "defvjp: got .*sin.*; expected an operator: what minpy.extend.primitive"),
        (lambda: defvjp(make_product(), None, None, None), "product has no argument 2; its arguments are 0 .x., 1 .y."),
        (lambda: defjvp(make_product(), "twice"), "rule of argument 0 of product is .*; expected a function"),
        (
            lambda: defjvp(make_product(), lambda g: g),
            r"the forward-mode rule takes \(g\), and is called with \(g, ans",
        ),
    ],
)
def test_errors(call, message):
    with pytest.raises(ArgumentError, match=message):
        call()
