"""Operators that are written for float32 and say so nowhere, as those of old libraries: what checks make of them.

They are played by NumPy, which reads and writes the memory of other dtypes as C++ does that calls `data<float>()`.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import minpy as mx
from minpy import customop, sym
from minpy.test_utils import check_numeric_gradient

_garbage = itertools.count(1)


@customop("mxnet")
def squared_float(x):
    x = np.ascontiguousarray(x)
    y = np.full(x.shape, next(_garbage), x.dtype)  # memory that was used before
    y.view(np.float32).reshape(-1)[: x.size] = x.view(np.float32).reshape(-1)[: x.size] ** 2
    return y


@squared_float.def_grad
def squared_float_gradient(ans, x):
    return lambda g: 2 * g * x


@squared_float.def_shape
def squared_float_shape(x):
    return x


X = np.random.RandomState(0).rand(3, 4) + 0.5


def test_numeric_gradients_of_what_reads_float32_alone():
    check_numeric_gradient(squared_float(sym.var("x")), [X], rtol=1e-2, atol=1e-2)


def test_numeric_gradients_that_are_wrong_are_found_there_too():
    x = sym.var("x")
    with pytest.raises(AssertionError, match="the gradient of 'x' is wrong: NUMERICAL_x and BACKWARD_x differ"):
        check_numeric_gradient(squared_float(sym.BlockGrad(x)) + x, [X], rtol=1e-2, atol=1e-2)


def test_numeric_gradients_are_still_computed_in_float64():
    """Steps that float32 would drown: 1000 + x."""
    x = sym.var("x")
    check_numeric_gradient(sym.sum(1000 + x * x) / 16, [X], numeric_eps=1e-4, rtol=1e-3, atol=1e-4)


def test_check_says_that_forward_is_for_float32():
    with pytest.raises(
        mx.MXNetError,
        match="squared_float.check: two calls with the same float64 inputs differ, and with float32 inputs they do not: "
        "forward is written for float32",
    ):
        squared_float.check(X)


def test_check_of_random_operators_is_as_it_was():
    @customop("numpy")
    def noisy(x):
        return x + next(_garbage)

    assert "random: two calls differ" in noisy.check(X)["forward"].note


def test_scripts_may_import_the_c_library():
    from minpy.base import _LIB

    assert not hasattr(_LIB, "__wrapped__")
    with pytest.raises(mx.MXNetError, match=r"mx\.base\._LIB\.MXLoadLib is of MXNet's C library"):
        _LIB.MXLoadLib("lib.so", 1)
