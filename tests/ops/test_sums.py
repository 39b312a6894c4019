"""Sums: as exact as pairwise ones along all axes, whatever lies how in memory, and everywhere where operators add."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minpy as mx
from minpy import nd, sym
from minpy.core.sums import sum_over, sum_to

ROUNDING = {"float16": 2.0**-11, "float32": 2.0**-24, "float64": 2.0**-53}
# Rows that are added one after the other, before blocks are added; a bound of few blocks of blocks.
NAIVE = 3 * 256


def exact(data: np.ndarray, axis: Any, keepdims: bool) -> np.ndarray:
    return np.sum(data.astype(np.longdouble), axis=axis, keepdims=keepdims)


def require_close(got: Any, data: np.ndarray, axis: Any, keepdims: bool = False) -> None:
    """Fail unless a sum is as near as blocks of rows that are added pairwise come."""
    expected = exact(data, axis, keepdims)
    assert np.shape(got) == expected.shape
    assert np.asarray(got).dtype == data.dtype
    scale = exact(np.abs(data.astype("float64")), axis, keepdims)
    if data.dtype == np.float16:  # added up in float32, rounded once
        bound = (NAIVE * ROUNDING["float32"] + ROUNDING["float16"]) * scale + 2.0**-24
    else:
        bound = NAIVE * ROUNDING[data.dtype.name] * scale
    assert (np.abs(np.asarray(got, np.longdouble) - expected) <= bound).all()


@st.composite
def arrays(draw: Any) -> tuple[np.ndarray, Any, bool]:
    """Arrays of up to four axes, of which one may be long, in any order of memory and with gaps; axes to reduce."""
    lengths = draw(st.lists(st.sampled_from([0, 1, 1, 2, 3, 5, 8]), min_size=1, max_size=4))
    long = draw(st.sampled_from([1, 127, 256, 257, 300, 1000, 2049, 5000]))
    lengths[draw(st.integers(0, len(lengths) - 1))] = long
    dtype = draw(st.sampled_from(list(ROUNDING)))
    steps = draw(st.lists(st.sampled_from([1, 1, 2, 3, -1, -2]), min_size=len(lengths), max_size=len(lengths)))
    order = draw(st.permutations(range(len(lengths))))
    random = np.random.RandomState(draw(st.integers(0, 2**16)))
    low = draw(st.sampled_from([0.0, -1.0]))
    stored = random.uniform(low / 16, 1 / 16, [abs(steps[axis]) * lengths[axis] for axis in order]).astype(dtype)
    data = stored.transpose(np.argsort(order))[tuple(slice(None, None, step) for step in steps)]
    assert data.shape == tuple(lengths)
    axes = draw(st.lists(st.integers(-len(lengths), len(lengths) - 1), unique_by=lambda a: a % len(lengths)))
    axis = draw(st.sampled_from([None, tuple(axes), axes[0] if axes else None]))
    return data, axis, draw(st.booleans())


@given(arrays())
@settings(max_examples=300, deadline=None)
def test_sums_are_near_the_exact_ones(case: tuple[np.ndarray, Any, bool]) -> None:
    data, axis, keepdims = case
    require_close(sum_over(data, axis, keepdims), data, axis, keepdims)


@pytest.mark.parametrize("shape", [(), (1,), (3,), (1, 3), (400, 1), (1, 1, 1), (700, 3), (2, 1, 3)])
def test_unbroadcasting(shape: tuple[int, ...]) -> None:
    data = np.random.RandomState(0).uniform(size=(2, 700, 3) if 700 in shape else (2, 400, 3)).astype("float32")
    to = (400, 3) if shape == (700, 3) else shape
    data = data[:, :400] if to != shape else data
    got = sum_to(data, to)
    lead = data.ndim - len(to)
    axes = tuple(range(lead)) + tuple(lead + axis for axis, length in enumerate(to) if length == 1)
    assert got.shape == to
    np.testing.assert_allclose(got, data.astype("float64").sum(axes).reshape(to), rtol=1e-6)


@pytest.mark.parametrize("axis", [3, -4, (0, 3), (0, 0), (1, -2)])
def test_axes_that_do_not_exist_or_are_given_twice(axis: Any) -> None:
    with pytest.raises(ValueError, match=r"axis|duplicate"):
        sum_over(np.ones((300, 2, 2)), axis)


def test_nan_and_infinity_pass_through() -> None:
    data = np.ones((1000, 3), "float32")
    data[500] = [np.nan, np.inf, -np.inf]
    np.testing.assert_array_equal(sum_over(data, 0), [np.nan, np.inf, -np.inf])


LONG = (60_000, 3)


def drawn(*shape: int) -> Any:
    return np.random.RandomState(1).uniform(0, 1, shape).astype("float32")


def summed(gradient: Any, expected: np.ndarray) -> None:
    """Fail unless a sum of many float32 numbers is exact to within a few roundings."""
    got = gradient.asnumpy() if isinstance(gradient, nd.NDArray) else np.asarray(gradient)
    np.testing.assert_allclose(got.astype("float64"), expected, rtol=2e-6)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda x: nd.sum(x, axis=0), lambda x: x.sum(0)),
        (lambda x: x.sum(axis=0), lambda x: x.sum(0)),
        (lambda x: nd.sum(x, axis=1, exclude=True), lambda x: x.sum(0)),
        (lambda x: nd.nansum(x, axis=0), lambda x: x.sum(0)),
        (lambda x: nd.mean(x, axis=0), lambda x: x.mean(0)),
        (lambda x: nd.norm(x, axis=0), lambda x: np.sqrt((x * x).sum(0))),
        (lambda x: nd.norm(x, ord=1, axis=0), lambda x: np.abs(x).sum(0)),
        (lambda x: nd.moments(x, axes=0)[0], lambda x: x.mean(0)),
        (lambda x: nd.moments(x, axes=0)[1], lambda x: x.var(0)),
        (lambda x: x.as_np_ndarray().sum(axis=0), lambda x: x.sum(0)),
        (lambda x: x.as_np_ndarray().mean(axis=0), lambda x: x.mean(0)),
        (lambda x: np.sum(x.as_np_ndarray(), axis=0), lambda x: x.sum(0)),
        (lambda x: sym.sum(sym.var("x"), axis=0).eval(x=x)[0], lambda x: x.sum(0)),
    ],
)
def test_operators_add_up_long_columns(call: Any, expected: Any) -> None:
    x = drawn(*LONG)
    summed(call(nd.array(x)), expected(x.astype("float64")))


def gradient_of(call: Any, *inputs: np.ndarray, head: np.ndarray, position: int) -> Any:
    arrays = [nd.array(value) for value in inputs]
    arrays[position].attach_grad()
    with mx.autograd.record():
        answer = call(*arrays)
    answer.backward(nd.array(head))
    return arrays[position].grad


COLUMN_GRADIENTS = {
    "broadcast_add": (lambda x, b: nd.broadcast_add(x, b), (LONG, (1, 3)), lambda x, g: g.sum(0).reshape(1, 3)),
    "row": (lambda x, b: x * b, (LONG, (3,)), lambda x, g: (g * x).sum(0)),
    "FullyConnected": (
        lambda x, b: nd.FullyConnected(x, nd.ones((3, 3)), b, num_hidden=3),
        (LONG, (3,)),
        lambda x, g: g.sum(0),
    ),
    "dense along the last axis": (
        lambda x, b: nd.FullyConnected(x, nd.ones((3, 3)), b, num_hidden=3, flatten=False),
        ((300, 200, 3), (3,)),
        lambda x, g: g.sum((0, 1)),
    ),
    "Convolution": (
        lambda x, b: nd.Convolution(x, nd.ones((3, 3, 1)), b, kernel=(1,), num_filter=3),
        ((15_000, 3, 4), (3,)),
        lambda x, g: g.sum((0, 2)),
    ),
    "LayerNorm beta": (lambda x, b: nd.LayerNorm(x, nd.ones((3,)), b), (LONG, (3,)), lambda x, g: g.sum(0)),
    "LayerNorm gamma": (
        lambda x, b: nd.LayerNorm(x, b, nd.ones((3,)), eps=1e-5),
        (LONG, (3,)),
        lambda x, g: (g * (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)).sum(0),
    ),
    "broadcast_to": (lambda b: nd.broadcast_to(b, shape=LONG), ((1, 3),), lambda g: g.sum(0).reshape(1, 3)),
    "tile": (lambda b: nd.tile(b, reps=(60_000, 1)), ((1, 3),), lambda g: g.sum(0).reshape(1, 3)),
}


@pytest.mark.parametrize("name", COLUMN_GRADIENTS)
def test_gradients_add_up_long_columns(name: str) -> None:
    """Of what is broadcast, biases, scales: on the tape, and in a graph."""
    call, shapes, expected = COLUMN_GRADIENTS[name]
    inputs = [drawn(*shape) for shape in shapes]
    head = drawn(*call(*map(nd.array, inputs)).shape)
    wide = [value.astype("float64") for value in (*inputs[:-1], head)]
    found = gradient_of(call, *inputs, head=head, position=len(inputs) - 1)
    np.testing.assert_allclose(found.asnumpy(), expected(*wide), rtol=3e-6, atol=2e-2 if "gamma" in name else 0)


def test_a_graph_unbroadcasts_as_the_tape_does() -> None:
    x, b, head = drawn(*LONG), drawn(3), drawn(*LONG)
    symbol = sym.broadcast_mul(sym.var("x"), sym.var("b"))
    executor = symbol.simple_bind(mx.cpu(), grad_req={"x": "null", "b": "write"}, x=LONG, b=(3,))
    for _ in range(3):
        executor.forward(is_train=True, x=nd.array(x), b=nd.array(b))
        executor.backward(nd.array(head))
        summed(executor.grad_dict["b"], (head.astype("float64") * x).sum(0))


def test_float16_is_added_up_in_float32() -> None:
    ones = nd.ones((3000, 2), dtype="float16")
    assert nd.sum(ones, axis=0).asnumpy().tolist() == [3000, 3000]
    assert nd.mean(nd.full((70_000, 2), 1.5, dtype="float16"), axis=0).asnumpy().tolist() == [1.5, 1.5]


def test_sums_of_integers_keep_their_dtype() -> None:
    data = np.full((300, 2), 100, "uint8")
    assert sum_over(data, 0).dtype == np.uint8
    assert sum_over(data, 0).tolist() == [300 * 100 % 256] * 2
    assert math.isclose(float(nd.mean(nd.array(data, dtype="uint8")).asscalar()), 100)
