"""Random programs and their derivatives: what `minpy.vmap` gives is what a loop over the examples gives."""

from __future__ import annotations

import math
import warnings
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minpy as mx
from minpy import customop, grad, vmap


@customop("numpy")
def scaled(x, *, factor=2.0, shift=0.0):
    return x * factor + shift


scaled.def_grad(lambda ans, x, *, factor, shift: lambda g: g * factor)


@customop("numpy")
def bent(x, *, power=2):
    return np.tanh(x) ** power


bent.def_grad(lambda ans, x, *, power: lambda g: g * power * np.tanh(x) ** (power - 1) * (1 - np.tanh(x) ** 2))
bent.def_batch("elementwise")


@customop("numpy")
def both_ends(x, y):
    return np.sum(x) + y, x * 2


both_ends.def_multiple_grad(lambda ans, x, y: lambda g: (np.sum(g[0]) + 2 * g[1] + 0 * x, g[0]))


def write(x, y):
    x = x.copy()
    x[..., :1] = 3.0
    return x


def write_into_view(x, y):
    x = x * 1.0
    row = x[..., ::-1]
    row[..., 0] *= 2.0
    return x


def write_inputs(x, y):
    x = x * 1.0
    x += 0.5
    x *= 2
    return x


# Each takes an example's array, with axes or without, and another, and is the same function wherever it stands.
STEPS = {
    "add": lambda x, y: x + y,
    "multiply": lambda x, y: x * y,
    "divide": lambda x, y: x / (2.0 + y * y),
    "power": lambda x, y: np.abs(x) ** 1.5,
    "maximum": lambda x, y: np.maximum(x, y * 0.7),
    "where": lambda x, y: np.where(x > y, x, 2 * y),
    "clip": lambda x, y: np.clip(x, -1.1, 1.3),
    "sum": lambda x, y: np.sum(x, axis=-1),
    "sum of all": lambda x, y: x.sum(),
    "sum kept": lambda x, y: x - np.sum(x, axis=-2, keepdims=True),
    "sum of two axes": lambda x, y: np.sum(x, axis=(-1, 0)),
    "mean": lambda x, y: x - x.mean(-1, keepdims=True),
    "variance": lambda x, y: np.var(x, axis=0, ddof=0),
    "largest": lambda x, y: np.max(x, axis=-1, keepdims=True) * x,
    "smallest": lambda x, y: np.min(x, axis=(0, -1)),
    "median": lambda x, y: np.median(x, axis=-1),
    "product": lambda x, y: np.prod(x, axis=0),
    "running": lambda x, y: np.cumsum(x, axis=-1) + np.cumsum(x, 0),
    "running, flat": lambda x, y: np.cumsum(x),
    "difference": lambda x, y: np.diff(x, axis=-1),
    "sorted": lambda x, y: np.sort(x, axis=-1),
    "transposed": lambda x, y: x.T,
    "swapped": lambda x, y: np.swapaxes(x, 0, -1),
    "moved": lambda x, y: np.moveaxis(x, 0, -1),
    "flat": lambda x, y: x.reshape(-1),
    "halved": lambda x, y: x.reshape(2, -1),
    "new axis": lambda x, y: np.expand_dims(x, -1),
    "new axes": lambda x, y: x[None, ..., None],
    "squeezed": lambda x, y: np.squeeze(x),
    "repeated": lambda x, y: np.broadcast_to(x, (2, *np.shape(x))),
    "reversed": lambda x, y: x[..., ::-1],
    "part": lambda x, y: x[1:],
    "last": lambda x, y: x[-1],
    "chosen": lambda x, y: x[np.array([0, -1, 0])],
    "chosen in the end": lambda x, y: x[..., np.array([0, -1])],
    "flipped": lambda x, y: np.flip(x, -1) + np.flip(x),
    "rolled": lambda x, y: np.roll(x, 1, axis=-1),
    "repeat": lambda x, y: np.repeat(x, 2, axis=-1),
    "taken": lambda x, y: np.take(x, np.array([0, -1]), axis=-1),
    "joined": lambda x, y: np.concatenate([x, 2 * x], axis=-1),
    "stacked": lambda x, y: np.stack([x, np.cos(x)], axis=-1),
    "stacked with the other": lambda x, y: np.stack([x, y * np.ones(np.shape(x))]),
    "beside": lambda x, y: np.hstack([x, x]),
    "above": lambda x, y: np.vstack([x, x]),
    "dot": lambda x, y: np.dot(x, y),
    "dot with itself": lambda x, y: np.dot(x, np.transpose(x)),
    "matmul": lambda x, y: x @ np.ones((np.shape(x)[-1], 2)),
    "outer": lambda x, y: np.outer(x, y)[:3, :2],
    "tensordot": lambda x, y: np.tensordot(x, x, axes=([-1], [-1])),
    "einsum": lambda x, y: np.einsum("...i,...i->...", x, x),
    "einsum of vectors": lambda x, y: np.einsum("i,i->i", x, x),
    "norm": lambda x, y: np.linalg.norm(x),
    "norm along": lambda x, y: np.linalg.norm(x + 1.5, axis=-1),
    "lower": lambda x, y: np.tril(x),
    "trace": lambda x, y: np.trace(x),
    "constant": lambda x, y: np.ones_like(x) * 1.5,
    "size": lambda x, y: x * np.size(x) + np.ndim(x),
    "write": write,
    "write into a view": write_into_view,
    "in place": write_inputs,
    "operator": lambda x, y: scaled(x, factor=1.5, shift=0.25),
    "operator with an array": lambda x, y: scaled(x, factor=0.5) + scaled(y),
    "elementwise operator": lambda x, y: bent(x, power=3),
    "several outputs": lambda x, y: both_ends(x, np.sum(y))[1] + both_ends(x, np.sum(y))[0],
}
SHAPES = [(), (2,), (3,), (2, 3), (1, 2), (2, 1, 3)]


@cache
def result_shape(name, first, second):
    """Return the shape that a step gives for arrays of two shapes, None if NumPy refuses them."""
    try:
        return np.shape(STEPS[name](np.ones(first)[()], np.ones(second)[()]))
    except (ValueError, IndexError, TypeError):
        return None


def program_of(names):
    """Return a function of two arrays that makes some steps, but for those that such arrays do not go with."""

    def program(x, y):
        for name, is_swapped in names:
            first, second = (y, x) if is_swapped else (x, y)
            shape = result_shape(name, np.shape(first), np.shape(second))
            if shape is not None and math.prod(shape) <= 200:
                x = STEPS[name](first, second)
        return x

    return program


def drawn(count, shape, axis, dtype, number):
    """Return (an array of examples along an axis, or one example, if that is None; and the list of examples)."""
    generator = np.random.default_rng(number)
    whole = (generator.random((count, *shape)) * 3 - 1.5).astype(dtype)
    if dtype == "int64":
        whole = generator.integers(-3, 4, (count, *shape))
    if axis is None:
        return whole[0], [whole[0]] * count
    return np.moveaxis(whole, 0, axis), list(whole)


PROGRAMS = st.lists(st.tuples(st.sampled_from(sorted(STEPS)), st.booleans()), min_size=1, max_size=5)
AXES = st.sampled_from([(0, 0), (0, None), (None, 0), (-1, 0), (0, -1), (-1, None)])


@settings(max_examples=150, deadline=None)
@given(
    PROGRAMS,
    st.sampled_from(SHAPES),
    st.sampled_from(SHAPES),
    AXES,
    st.sampled_from(["float64", "float32", "int64"]),
    st.sampled_from([1, 3]),
)
def test_values(names, first_shape, second_shape, in_axes, dtype, count):
    x, first = drawn(count, first_shape, in_axes[0], dtype, 1)
    y, second = drawn(count, second_shape, in_axes[1], "float64", 2)
    program = program_of(names)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        expected = np.stack([program(*row) for row in zip(first, second, strict=True)])
        before = x.copy()
        result = vmap(program, in_axes)(x, y)
    np.testing.assert_array_equal(x, before)
    assert result.dtype == expected.dtype
    np.testing.assert_allclose(result, expected, rtol=2e-5 if dtype == "float32" else 1e-10, atol=1e-6)


def loss_of(names):
    program = program_of(names)

    def loss(x, y):
        return np.sum(np.sin(program(x, y)))

    return loss


@settings(max_examples=60, deadline=None)
@given(PROGRAMS, st.sampled_from(SHAPES), st.sampled_from(SHAPES), AXES)
def test_derivatives(names, first_shape, second_shape, in_axes):
    x, first = drawn(3, first_shape, in_axes[0], "float64", 1)
    y, second = drawn(3, second_shape, in_axes[1], "float64", 2)
    loss = loss_of(names)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        expected = np.stack([grad(loss)(*row) for row in zip(first, second, strict=True)])
        np.testing.assert_allclose(vmap(grad(loss), in_axes)(x, y), expected, rtol=1e-8, atol=1e-8)
        mapped = grad(lambda x, y: np.sum(vmap(loss, in_axes)(x, y)))(x, y)
        whole = np.sum(expected, axis=0) if in_axes[0] is None else np.moveaxis(expected, 0, in_axes[0])
        np.testing.assert_allclose(mapped, whole, rtol=1e-8, atol=1e-8)
        recorded = mx.np.array(x, dtype="float64")
        recorded.attach_grad()
        with mx.autograd.record():
            total = vmap(loss, in_axes)(recorded, mx.np.array(y, dtype="float64")).sum() + 0.0 * recorded.sum()
        total.backward()
        np.testing.assert_allclose(recorded.grad.asnumpy(), whole, rtol=1e-8, atol=1e-8)


@settings(max_examples=60, deadline=None)
@given(PROGRAMS, st.sampled_from([(), (2,), (2, 3)]), st.sampled_from([(), (2,), (3,)]), st.booleans())
def test_maps_of_maps(names, first_shape, second_shape, is_gradient):
    x, y = drawn(2, first_shape, 0, "float64", 1)[0], drawn(3, second_shape, 0, "float64", 2)[0]
    function = grad(loss_of(names)) if is_gradient else program_of(names)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        expected = np.stack([[function(row, other) for other in y] for row in x])
        np.testing.assert_allclose(vmap(vmap(function, (None, 0)), (0, None))(x, y), expected, rtol=1e-8, atol=1e-8)
        turned = vmap(vmap(function, (0, None)), (None, 0), out_axes=1)(x, y)
        np.testing.assert_allclose(turned, expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("name", sorted(STEPS))
def test_each_step_takes_arrays(name):
    assert any(result_shape(name, shape, other) is not None for shape in SHAPES for other in SHAPES)
