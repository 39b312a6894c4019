"""Gradients, and theirs, through values without axes in compiled functions: NumPy answers with scalars there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from compiling import both_kinds_of_program

import minpy as mx
from minpy.core.errors import MXNetError

COMPILES = True
ROUNDS = 4
A = np.array([[1.0, 2.0], [3.0, 4.0]])
DIRECTION = np.array([[1.0, -1.0], [2.0, 0.5]])

native = both_kinds_of_program(autouse=True)

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "a sum squared": lambda a: np.sum(a) ** 2,
    "a sum of squares, squared": lambda a: np.sum(a * a) ** 2,
    "used twice": lambda a: (lambda y: y * y)(np.sum(a)),
    "a function and itself": lambda a: (lambda y: np.exp(y * 0.1) + y)(np.sum(a)),
    "an element": lambda a: np.exp(a[0, 0] * 0.1) * a[1, 1],
    "a norm squared": lambda a: np.linalg.norm(a) ** 2 * np.sum(a),
    "a trace": lambda a: np.trace(a) * np.trace(a @ a),
    "a mean and a logarithm": lambda a: np.mean(a) + np.log(np.mean(a)) * np.mean(a),
    "a sum of absolute values": lambda a: np.sum(np.linalg.norm(a - 2.2, 1, axis=1) ** 2),
}


def _slope(function: Callable[[Any], Any], step: float = 1e-6) -> Any:
    """Return the derivative along `DIRECTION`, by central differences."""
    return (function(A + step * DIRECTION) - function(A - step * DIRECTION)) / (2 * step)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_first_and_second_order(name: str) -> None:
    function = FUNCTIONS[name]
    gradient = mx.grad(mx.compile(function))
    along = mx.grad(lambda a: np.sum(gradient(a) * DIRECTION))
    for _ in range(ROUNDS):
        np.testing.assert_allclose(np.sum(gradient(A) * DIRECTION), _slope(function), rtol=1e-6)
        expected = _slope(lambda a: np.sum(mx.grad(function)(a) * DIRECTION))
        np.testing.assert_allclose(np.sum(along(A) * DIRECTION), expected, rtol=1e-5, atol=1e-8)


def test_a_norm_where_elements_are_zero() -> None:
    function = lambda a: np.sum(np.linalg.norm(a - 2, 1, axis=1) * a[0])
    np.testing.assert_allclose(mx.grad(mx.compile(function))(A), mx.grad(function)(A))


def test_no_gradient_is_an_error_as_without_compiling() -> None:
    function = lambda a: np.sum(np.cov(a)) + np.sum(np.i0(a))
    np.testing.assert_allclose(mx.compile(function)(A), function(A))
    for candidate in (function, mx.compile(function)):
        with pytest.raises(MXNetError, match=r"numpy\.(cov|i0) has no gradient"):
            mx.grad(candidate)(A)
