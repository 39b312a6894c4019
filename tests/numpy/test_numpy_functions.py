"""`minpy.np` against NumPy: values, shapes and dtypes over random shapes, axes, dtypes, keepdims, where and out."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import minpy as mx
from minpy import np
from minpy.core.errors import MissingPartError

FLOATS = ("float16", "float32", "float64")
DTYPES = (*FLOATS, "int8", "int32", "int64", "uint8", "bool")
SHAPES = arrays.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)
QUICK = settings(max_examples=40, deadline=None)


def values(dtype: Any, shape: Any = SHAPES) -> Any:
    kind = numpy.dtype(dtype).kind
    elements = (
        st.booleans() if kind == "b" else st.integers(0, 5) if kind in "iu" else st.integers(-8, 8).map(lambda n: n / 4)
    )
    return arrays.arrays(dtype, shape, elements=elements)


def same(got: Any, wanted: Any) -> None:
    """Compare results: arrays, tuples of them, or numbers of NumPy's."""
    if isinstance(wanted, (tuple, list)):
        assert len(got) == len(wanted)
        for one, other in zip(got, wanted, strict=True):
            same(one, other)
        return
    assert isinstance(got, np.ndarray), type(got)
    wanted = numpy.asarray(wanted)
    assert got.shape == wanted.shape
    assert got._data.dtype == wanted.dtype
    tolerance = 1e-2 if wanted.dtype == numpy.float16 else 1e-5 if wanted.dtype == numpy.float32 else 1e-12
    numpy.testing.assert_allclose(got.asnumpy(), wanted, rtol=tolerance, atol=tolerance)


def both(function: Any, *arguments: Any, **keywords: Any) -> None:
    """Call a function of NumPy's on arrays of either kind; errors must agree, too."""
    ours = getattr(np, function)
    made = [np.array(one, dtype=one.dtype) if isinstance(one, numpy.ndarray) else one for one in arguments]
    with numpy.errstate(all="ignore"):
        try:
            wanted = getattr(numpy, function)(*arguments, **keywords)
        except (ValueError, TypeError, IndexError) as error:
            kinds = tuple(kind for kind in (ValueError, TypeError, IndexError) if isinstance(error, kind))
            with pytest.raises(kinds):
                ours(*made, **keywords)
            return
        same(ours(*made, **keywords), wanted)


REDUCTIONS = ("sum", "prod", "mean", "max", "min", "std", "var", "all", "any", "ptp")


@QUICK
@given(st.data())
@pytest.mark.parametrize("function", REDUCTIONS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_reductions(function: str, data: Any) -> None:
    x = data.draw(st.sampled_from(DTYPES).flatmap(values))
    if function == "ptp" and x.dtype == bool:
        x = x.astype("int8")
    axes = st.integers(-x.ndim, x.ndim - 1) if x.ndim else st.none()
    several = st.sets(st.integers(0, x.ndim - 1)).map(tuple) if x.ndim else st.none()
    axis = data.draw(st.none() | axes | several)
    both(function, x, axis=axis, keepdims=data.draw(st.booleans()))


@QUICK
@given(st.data())
@pytest.mark.parametrize("function", ["argmax", "argmin", "cumsum", "cumprod", "sort", "argsort", "median", "nansum"])
def test_along_one_axis(function: str, data: Any) -> None:
    kinds = FLOATS if function == "median" else DTYPES[:-1]
    x = data.draw(
        st.sampled_from(kinds).flatmap(lambda kind: values(kind, arrays.array_shapes(max_dims=3, max_side=4)))
    )
    axis = data.draw(st.none() | st.integers(-x.ndim, x.ndim - 1))
    keywords = {"kind": "stable"} if function == "argsort" else {}
    both(function, x, axis=axis, **keywords)


UNARY = ("exp", "sqrt", "abs", "square", "sign", "floor", "tanh", "negative", "isnan", "logical_not", "rint", "arctan")


@QUICK
@given(st.sampled_from(DTYPES).flatmap(values))
@pytest.mark.parametrize("function", UNARY)
def test_unary(function: str, x: Any) -> None:
    both(function, x)


BINARY = ("add", "subtract", "multiply", "divide", "maximum", "power", "mod", "arctan2", "greater", "equal", "hypot")


@QUICK
@given(st.data())
@pytest.mark.parametrize("function", BINARY)
def test_binary(function: str, data: Any) -> None:
    shapes = data.draw(
        arrays.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3, min_side=0)
    ).input_shapes
    x, y = (data.draw(values(data.draw(st.sampled_from(DTYPES)), shape)) for shape in shapes)
    both(function, x, y)
    both(function, x, data.draw(st.sampled_from([2, 0.5, True])))


@QUICK
@given(st.data())
@pytest.mark.parametrize("function", ["add", "multiply", "exp", "maximum"])
def test_where_and_out(function: str, data: Any) -> None:
    shape = data.draw(arrays.array_shapes(max_dims=3, max_side=3))
    x, y = data.draw(values("float32", shape)), data.draw(values("float32", shape))
    mask, start = data.draw(values("bool", shape)), data.draw(values("float32", shape))
    inputs = (x,) if function == "exp" else (x, y)
    wanted, out = start.copy(), np.array(start)
    getattr(numpy, function)(*inputs, out=wanted, where=mask)
    answer = getattr(np, function)(*map(np.array, inputs), out=out, where=np.array(mask))
    assert answer is out
    numpy.testing.assert_allclose(out.asnumpy(), wanted, rtol=1e-6)
    total = np.zeros(shape[1:])
    assert np.sum(np.array(x), axis=0, out=total) is total
    numpy.testing.assert_allclose(total.asnumpy(), x.sum(axis=0), rtol=1e-5, atol=1e-6)


@QUICK
@given(st.data())
def test_shapes(data: Any) -> None:
    x = data.draw(
        st.sampled_from(DTYPES).flatmap(lambda kind: values(kind, arrays.array_shapes(max_dims=3, max_side=3)))
    )
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    order = data.draw(st.permutations(range(x.ndim)))
    both("transpose", x, order)
    both("flip", x, axis)
    both("roll", x, data.draw(st.integers(-3, 3)), axis)
    both("repeat", x, data.draw(st.integers(0, 3)), axis)
    both("tile", x, data.draw(st.integers(0, 3)))
    both("expand_dims", x, axis)
    both("squeeze", x)
    both("ravel", x)
    both("moveaxis", x, axis, 0)
    both("reshape", x, (-1,))
    both("diff", x, 1, axis)
    both("concatenate", [x, x], axis)
    both("pad", x, 1)


@QUICK
@given(st.data())
def test_indexing(data: Any) -> None:
    x = data.draw(values("float32", arrays.array_shapes(max_dims=3, max_side=4)))
    ours = np.array(x)
    key = data.draw(arrays.basic_indices(x.shape, allow_newaxis=True, allow_ellipsis=True))
    same(ours[key], x[key])
    mask = data.draw(values("bool", x.shape))
    same(ours[np.array(mask)], x[mask])
    picked = data.draw(arrays.arrays("int64", 3, elements=st.integers(-x.shape[0], x.shape[0] - 1)))
    same(ours[np.array(picked)], x[picked])
    changed = x.copy()
    changed[key] = 5
    ours[key] = 5
    same(ours, changed)


@QUICK
@given(st.data())
def test_products(data: Any) -> None:
    n, m, k = (data.draw(st.integers(0, 4)) for _ in range(3))
    kind = data.draw(st.sampled_from(FLOATS[1:]))
    a, b, v = data.draw(values(kind, (n, m))), data.draw(values(kind, (m, k))), data.draw(values(kind, (m,)))
    both("dot", a, b)
    both("matmul", a, v)
    both("tensordot", a, b, 1)
    both("inner", a, v)
    both("outer", v, v)
    both("einsum", "ij,jk->ki", a, b)
    both("vdot", v, v)


# -- gradients and what differs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", ["var", "std", "mean"])
@pytest.mark.parametrize("axis", [None, 0, (0, 1)])
def test_gradients_of_float32_keep_their_digits(function: str, axis: Any) -> None:
    random = numpy.random.RandomState(0)
    data = (1000 + random.uniform(size=(30, 20))).astype("float32")
    found = []
    for dtype in ("float32", "float64"):
        x = np.array(data.astype(dtype))
        x.attach_grad()
        with mx.autograd.record():
            y = getattr(np, function)(x, axis=axis).sum()
        y.backward()
        found.append(x.grad.asnumpy())
    assert found[0].dtype == numpy.float32
    numpy.testing.assert_allclose(found[0], found[1], rtol=2e-3, atol=2e-7)


def test_names_that_numpy_removed() -> None:
    x = np.array([[3.0, 1.0], [2.0, 5.0]])
    assert np.alltrue(x)
    assert np.sometrue(x)
    assert np.msort(x).tolist() == [[2, 1], [3, 5]]
    assert np.in1d(x, np.array([1.0])).tolist() == [False, True, False, False]
    assert np.round_(x / 3, 1).tolist()[0] == pytest.approx([1.0, 0.3])
    assert float(np.product(x)) == 30
    assert np.row_stack([x, x]).shape == (4, 2)
    assert numpy.isnan(np.NaN)
    assert (numpy.inf, -numpy.inf) == (np.PINF, np.NINF)
    x.attach_grad()
    with mx.autograd.record():
        area = np.trapz(x, axis=1).sum()
    area.backward()
    assert x.grad.tolist() == [[0.5, 0.5], [0.5, 0.5]]
    for name in ("mirr", "npv", "ppmt", "pv", "rate"):
        with pytest.raises(
            MissingPartError, match=rf"np\.{name} left NumPy with version 1\.20.*numpy_financial\.{name}"
        ):
            getattr(np, name)(0.1)


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "max", "min", "std", "var", "all", "any"])
def test_axes_may_be_a_list(name: str) -> None:
    x = np.array(numpy.arange(24).reshape(2, 3, 4) / 24)
    wanted = getattr(numpy, name)(x.asnumpy(), axis=(0, 2))
    for found in (
        getattr(np, name)(x, axis=[0, 2]),
        getattr(np, name)(x, [0, 2]),
        getattr(x, name)(axis=[0, 2]),
        getattr(x, name)([0, 2]),
    ):
        numpy.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-6)


def test_gradients_over_a_list_of_axes() -> None:
    x = np.ones((2, 3, 4))
    x.attach_grad()
    with mx.autograd.record():
        y = (x.sum(axis=[0, 2]) * np.array([1, 2, 3])).sum()
    y.backward()
    assert x.grad[1, :, 3].asnumpy().tolist() == [1, 2, 3]
