"""Numbers beside arrays in functions that are compiled, and in blocks: dtypes and values as in NumPy as written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from compiling import both_kinds_of_program
from many import each

import minpy as mx
from minpy import gluon
from minpy.compiling import CompileWarning

COMPILES = True
CALLS = 3

native = both_kinds_of_program(autouse=True)

_SCALAR = np.array(2.0)

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "a scalar of NumPy's": lambda x: x * np.float64(0.7),
    "a scalar of NumPy's before": lambda x: np.float32(0.7) - x,
    "an integer scalar": lambda x: x + np.int64(3),
    "a small integer scalar": lambda x: x + np.int8(3),
    "a boolean scalar": lambda x: x + np.bool_(True),
    "a ufunc": lambda x: np.hypot(x, np.float64(2)),
    "compared": lambda x: x > np.float64(0.1),
    "infinite": lambda x: np.minimum(x, np.float32(-np.inf)),
    "nan": lambda x: np.fmax(x, np.float64("nan")),
    "where, a number": lambda x: np.where(x > 1, x, 0),
    "where, a float": lambda x: np.where(x > 1, 1.5, x),
    "where, a scalar": lambda x: np.where(x > 1, x, np.float32(2)),
    "where, two numbers": lambda x: np.where(x > 1, 1, 0),
    "where, two floats": lambda x: np.where(x > 1, 1.5, 0),
    "clip": lambda x: np.clip(x, 0.5, 2),
    "clip, typed": lambda x: np.clip(x, np.float64(0.5), 2),
    "clip, named": lambda x: np.clip(x, a_min=np.float64(0.5), a_max=None),
    "a large integer": lambda x: (x * 1).astype("int64") * (2**53 + 1),
    "a large integer in a ufunc": lambda x: np.bitwise_xor((x * 1).astype("int64"), 2**60 + 1),
    "the largest integer": lambda x: (x * 1).astype("uint64") + (2**64 - 1),
    "an array without axes": lambda x: x * _SCALAR,
    "an array without axes before": lambda x: _SCALAR - x,
    "an array without axes in a ufunc": lambda x: np.arctan2(x, _SCALAR),
    "a product": lambda x: (x * np.float64(0.7)).sum(axis=-1) / np.float32(3),
}


@each({f"{name}, {dtype}": (name, dtype) for name in FUNCTIONS for dtype in ("bool", "uint8", "int32", "float32")})
def test_a_compiled_function_answers_as_numpy(name: str, dtype: str) -> None:
    function = FUNCTIONS[name]
    array = np.array([[0, 1, 1], [3, 0, 7]]).astype(dtype)
    try:
        expected = function(array)
    except (OverflowError, TypeError) as error:
        with pytest.raises(type(error)), pytest.warns(CompileWarning):
            mx.compile(function)(array)
        return
    compiled = mx.compile(function)
    for _ in range(CALLS):
        answer = compiled(array)
        assert (answer.dtype, answer.shape) == (expected.dtype, expected.shape)
        np.testing.assert_allclose(answer, expected, rtol=1e-6)
        if expected.dtype.kind in "iub":
            np.testing.assert_array_equal(answer, expected)
    assert compiled.reason is None


def test_an_array_without_axes_is_read_anew() -> None:
    scale = np.array(2.0)
    compiled = mx.compile(lambda x: x * scale + np.sqrt(scale))
    for value in (1.0, 4.0, 9.0, 16.0, 25.0):
        scale[...] = value
        np.testing.assert_array_equal(compiled(np.ones(3)), value + np.sqrt(value))


def test_a_gradient_through_a_scalar_of_numpys_has_the_dtype_of_its_argument() -> None:
    def function(x: Any) -> Any:
        return np.where(x > 0, x * np.float64(3), np.float32(2)) ** 2

    compiled = mx.compile(function)
    expected = function(np.array([1.0, -1.0], "float32"))
    x = mx.np.array([1.0, -1.0], dtype="float32")
    x.attach_grad()
    for _ in range(CALLS):
        with mx.autograd.record():
            y = compiled(x)
        y.backward()
        assert (y.dtype, x.grad.dtype) == (expected.dtype, np.dtype("float32"))
        np.testing.assert_allclose(x.grad.asnumpy(), [18.0, 0.0], rtol=1e-6)


class _Scaled(gluon.HybridBlock):
    def __init__(self, factor: Any) -> None:
        super().__init__()
        self.factor = factor

    def forward(self, x: Any) -> Any:
        return np.where(x > 1, x * self.factor, 0)


@pytest.mark.filterwarnings("ignore:.*NumPy 2 looks at dtypes only")  # NumPy 1 at values: it runs as it is written
@each({repr(factor): (factor,) for factor in (np.float64(0.5), np.float32(0.5), 0.5, np.int64(2), 3, np.array(0.5))})
def test_a_block_answers_as_before_it_is_hybridized(factor: Any) -> None:
    for dtype in ("float32", "float64", "int32"):
        x = mx.np.array([0, 1, 2, 3], dtype=dtype)
        block = _Scaled(factor)
        expected = block(x)
        block.hybridize()
        for _ in range(CALLS):
            answer = block(x)
            assert answer.dtype == expected.dtype
            np.testing.assert_array_equal(answer.asnumpy(), expected.asnumpy())


def test_the_text_of_a_call_keeps_the_dtypes_of_scalars() -> None:
    x = mx.sym.var("x").as_np_ndarray()
    node = mx.sym.np.heaviside(x, np.float64(-np.inf))
    assert node.list_attr()["call"] == "x0, float64(-inf)"
    loaded = mx.sym.fromjson(node.tojson())
    found = loaded.eval(x=mx.np.zeros(2, dtype="float32"))[0]
    assert found.dtype == np.heaviside(np.zeros(2, "float32"), np.float64(-np.inf)).dtype  # NumPy 1 looks at the value


def test_an_inverted_ndarray_is_the_error_that_it_is_as_written() -> None:
    class Inverted(gluon.HybridBlock):
        def forward(self, x: Any) -> Any:
            return ~x

    for active in (False, True):
        block = Inverted()
        block.hybridize(active)
        with pytest.raises(TypeError, match=r"bad operand type for unary ~: 'NDArray'"):
            block(mx.nd.ones(2))
