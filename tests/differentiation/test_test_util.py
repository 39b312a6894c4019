"""`minpy.test_util.check_grads` passes what is right, and finds what is wrong, in each mode and order."""

from __future__ import annotations

import numpy as np
import pytest

from minpy.core.errors import ArgumentError, CheckError
from minpy.extend import defjvp, defvjp, primitive
from minpy.test_util import check_equivalent, check_grads, check_jvp, check_vjp, combo_check, scalar_close

X = np.array([0.4, 1.2, -0.8])


def make(reverse=2.0, second=1.0, forward=None):
    """Return an operator x * x whose rules are right for (2.0, 1.0, 2.0)."""

    @primitive
    def square(x):
        return x * x

    @primitive
    def twice(x):
        return reverse * x

    defvjp(square, lambda ans, x: lambda g: g * twice(x))
    defvjp(twice, lambda ans, x: lambda g: g * reverse * second)
    if forward is not None:
        defjvp(square, lambda g, ans, x: forward * x * g)
    return square


def test_right_gradients_pass():
    check_grads(make(), order=3)(X)
    check_grads(make(forward=2.0))(X)
    check_vjp(np.tanh, X)
    check_jvp(np.tanh, X)
    check_grads(lambda p, y: {"a": p["w"] * y, "b": [np.sum(y)]})({"w": X}, X)
    check_grads(lambda z: z * z * np.exp(1j * z))(X + 1j)
    check_grads(lambda z: np.abs(z) * np.conj(z))(X + 1j)


@pytest.mark.parametrize(
    ("operator", "modes", "order", "message"),
    [
        (
            make(reverse=2.01),
            ["rev"],
            1,
            r"derivative \(VJP\) check of square failed at .*in reverse mode the derivative along",
        ),
        (
            make(forward=2.01),
            ["fwd"],
            1,
            r"derivative \(JVP\) check of square failed at .*in forward mode a random sum of the tangent is",
        ),
        (
            make(second=1.1),
            ["rev"],
            2,
            r"derivative \(VJP\) check of vjp_square failed at .*that of central differences",
        ),
    ],
)
def test_wrong_gradients_are_found(operator, modes, order, message):
    with pytest.raises(CheckError, match=message):
        check_grads(operator, modes=modes, order=order)(X)


def test_second_order_is_not_checked_in_the_first():
    check_grads(make(second=1.1), modes=["rev"], order=1)(X)


def test_only_the_arguments_that_are_asked_for():
    @primitive
    def product(x, y):
        return x * y

    defvjp(product, lambda ans, x, y: lambda g: g * y, lambda ans, x, y: lambda g: g * x * 3)
    check_grads(product, 0, modes=["rev"], order=1)(X, X)
    with pytest.raises(CheckError):
        check_grads(product, (0, 1), modes=["rev"], order=1)(X, X)


def test_all_combinations():
    shapes = []

    def total(x, axis):
        shapes.append((np.shape(x), axis))
        return np.sum(x, axis=axis)

    combo_check(total, (0,), order=1)([np.ones((2, 3)), np.ones((3, 2))], axis=[None, 0])
    assert set(shapes) == {((2, 3), None), ((2, 3), 0), ((3, 2), None), ((3, 2), 0)}


def test_equivalence():
    check_equivalent((X, [1.0]), (X.copy(), [1.0]))
    with pytest.raises(CheckError, match="values differ"):
        check_equivalent(X, X + 1e-3)
    with pytest.raises(CheckError, match="expected something like"):
        check_equivalent(X, X[:2])
    assert scalar_close(1.0, 1.0 + 1e-9)
    assert not scalar_close(1.0, 1.1)


def test_modes_are_checked():
    with pytest.raises(ArgumentError, match=r"modes is \['backward'\]; expected a list of 'fwd' and 'rev'"):
        check_grads(np.sin, modes=["backward"])
