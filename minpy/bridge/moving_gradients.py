"""Functions of NumPy that only move elements, join arrays, or are another name of a function: with gradients.

As `minpy.bridge.numpy_gradients`, written with functions for which autograd has rules.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import autograd.numpy as anp
import numpy
from autograd.tracer import isbox

from minpy.bridge.composition_values import composes, moved, positions, rows_of, value_of
from minpy.bridge.elementwise import ELEMENTWISE
from minpy.bridge.numpy_gradients import COMPOSITIONS
from minpy.bridge.polynomials import POLYNOMIALS
from minpy.bridge.spectra import SPECTRA
from minpy.numpy_table.table import function_named

__all__ = ["COMPOSITIONS"]

COMPOSITIONS.update(ELEMENTWISE)
COMPOSITIONS.update(POLYNOMIALS)
COMPOSITIONS.update(SPECTRA)

# -- moving ------------------------------------------------------------------------------------------------------------

# Functions that only move elements, by the position of the array: what they do to positions says where each element
# comes from, and the gradient goes back the same way.
_MOVES = {
    "array_split broadcast_to delete diagonal dsplit flip hsplit linalg.diagonal linalg.matrix_transpose": 0,
    "matrix_transpose repeat resize rot90 split take_along_axis tile unstack vsplit": 0,
    "compress extract": 1,
}


def _moving(function: Any, place: int) -> Callable[..., Any]:
    """Return a function that moves elements, with a gradient; what is no array of elements is taken by its value."""
    name = [*inspect.signature(function).parameters][place]

    def composition(*arguments: Any, **keywords: Any) -> Any:
        array = keywords.pop(name) if name in keywords else arguments[place]
        options = {key: value_of(value) for key, value in keywords.items()}
        before, after = map(value_of, arguments[:place]), map(value_of, arguments[place + 1 :])
        places = function(*before, positions(array), *after, **options)
        if isinstance(places, (tuple, list)):
            return type(places)(moved(array, part) for part in places)
        return moved(array, places)

    return composition


for _names, _place in _MOVES.items():
    for _name in _names.split():
        if function_named(_name) is not None:
            composes(_name)(_moving(function_named(_name), _place))


@composes("take")
def _take(a: Any, indices: Any, axis: int | None = None, mode: Any = "raise") -> Any:
    indices = numpy.asarray(value_of(indices))
    if indices.dtype.kind == "f":  # which MXNet takes for whole numbers
        indices = indices.astype(numpy.int64)
    return moved(a, numpy.take(positions(a), indices, axis, mode=mode))


def _moving_each(function: Any) -> Callable[..., Any]:
    """Return a function that moves the elements of each of several arrays."""
    return lambda *arrays, **options: tuple(map(moved, arrays, function(*map(positions, arrays), **options)))


composes("broadcast_arrays")(_moving_each(numpy.broadcast_arrays))
composes("meshgrid")(_moving_each(numpy.meshgrid))


# -- joining -----------------------------------------------------------------------------------------------------------


@composes("block")
def _block(arrays: Any) -> Any:
    depth = _depth(arrays)
    ndim = max(depth, max(anp.ndim(leaf) for leaf in _leaves(arrays)))
    return _joined(arrays, ndim, ndim - depth)


def _depth(nest: Any) -> int:
    return 1 + _depth(nest[0]) if isinstance(nest, list) else 0


def _leaves(nest: Any) -> list[Any]:
    return [leaf for item in nest for leaf in _leaves(item)] if isinstance(nest, list) else [nest]


def _joined(nest: Any, ndim: int, axis: int) -> Any:
    if not isinstance(nest, list):
        return anp.reshape(nest, (1,) * (ndim - anp.ndim(nest)) + anp.shape(nest))
    return anp.concatenate([_joined(item, ndim, axis + 1) for item in nest], axis=axis)


@composes("full_like")
def _full_like(
    a: Any, fill_value: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None
) -> Any:
    lengths = anp.shape(a) if shape is None else shape
    return COMPOSITIONS[numpy.broadcast_to](fill_value, lengths).astype(dtype or anp.result_type(a))


@composes("pad")
def _pad(array: Any, pad_width: Any, mode: Any = "constant", **options: Any) -> Any:
    if mode in ("edge", "reflect", "symmetric", "wrap") and options.get("reflect_type", "even") == "even":
        return moved(array, numpy.pad(positions(array), pad_width, mode))
    if mode != "constant":
        raise NotImplementedError("only mode='constant', 'edge', 'reflect', 'symmetric' and 'wrap'")
    values = options.get("constant_values", 0)
    shape = numpy.broadcast_shapes(anp.shape(values), (anp.ndim(array), 2))
    if shape != (anp.ndim(array), 2):
        raise ValueError(f"constant_values of shape {anp.shape(values)} for an array of {anp.ndim(array)} axes")
    numbers = anp.size(array) + numpy.arange(anp.size(values)).reshape(anp.shape(values))
    where = numpy.pad(positions(array), pad_width, mode="constant", constant_values=numbers)
    kind = anp.result_type(array)
    fill_values = anp.ravel(values).astype(kind) if isbox(values) else numpy.ravel(numpy.asarray(values, kind))
    return anp.concatenate([anp.ravel(array), fill_values])[where]


# -- choosing ----------------------------------------------------------------------------------------------------------


@composes("trim_zeros")
def _trim_zeros(filt: Any, trim: Any = "fb") -> Any:
    trimmed = numpy.trim_zeros(value_of(filt), trim)
    places = numpy.argwhere(value_of(filt))
    starts = places.min(axis=0) if len(places) and "f" in trim.lower() else numpy.zeros(anp.ndim(filt), int)
    return filt[tuple(slice(start, start + length) for start, length in zip(starts, trimmed.shape, strict=True))]


@composes("choose")
def _choose(a: Any, choices: Any, mode: str = "raise") -> Any:
    several = [choices[position] for position in range(len(choices))]
    shape = numpy.broadcast_shapes(anp.shape(a), *map(anp.shape, several))
    starts = numpy.cumsum([0, *map(anp.size, several)])
    places = [
        start + numpy.broadcast_to(positions(choice), shape) for start, choice in zip(starts[:-1], several, strict=True)
    ]
    chosen: Any = numpy.choose
    return anp.concatenate(list(map(anp.ravel, several)))[chosen(value_of(a), places, mode=mode)]


@composes("quantile")
def _quantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
) -> Any:
    if isbox(q) and method != "linear":
        raise NotImplementedError(f"with respect to q only with method='linear', not {method!r}")
    shares = numpy.asarray(value_of(q), "float64")
    axes = range(anp.ndim(a)) if axis is None else [axis] if isinstance(axis, (int, numpy.integer)) else axis
    rows, left = rows_of(a, tuple(sorted({position % anp.ndim(a) for position in axes})))
    if numpy.isnan(value_of(rows)).any():
        raise NotImplementedError("not of NaN")
    ordered = COMPOSITIONS[numpy.sort](rows, -1)
    place = shares * (anp.shape(rows)[-1] - 1)
    low, high = numpy.floor(place).astype(int), numpy.ceil(place).astype(int)
    weight = {"linear": place - low, "lower": 0.0, "higher": 1.0, "midpoint": numpy.where(high > low, 0.5, 0.0)}.get(
        method, numpy.round(place) - low if method == "nearest" else None
    )
    if weight is None:
        raise NotImplementedError(f"not with method={method!r}")
    if isbox(q):
        weight = q * (anp.shape(rows)[-1] - 1) - low
    else:
        weight = numpy.asarray(weight, anp.result_type(a))
    quantiles = ordered[..., low] * (1 - weight) + ordered[..., high] * weight
    quantiles = anp.transpose(
        quantiles, (*range(len(left), anp.ndim(quantiles)), *range(len(left)))
    )  # q's axes stand first
    if not keepdims:
        return quantiles
    reduced_shape = [1 if dimension in axes else length for dimension, length in enumerate(anp.shape(a))]
    return anp.reshape(quantiles, (*shares.shape, *reduced_shape))


@composes("percentile")
def _percentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
) -> Any:
    return _quantile(a, (q if isbox(q) else numpy.asarray(q)) / 100.0, axis, method=method, keepdims=keepdims)


@composes("nan_to_num")
def _nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    raw = value_of(x)
    if raw.dtype.kind == "c":
        raise NotImplementedError("not of complex numbers")
    limits = numpy.finfo(raw.dtype)
    numbers = anp.where(numpy.isnan(raw), nan + numpy.zeros(raw.shape, raw.dtype), x)
    numbers = anp.where(numpy.isposinf(raw), limits.max if posinf is None else posinf, numbers)
    return anp.where(numpy.isneginf(raw), limits.min if neginf is None else neginf, numbers).astype(raw.dtype)


# -- under the names of the array API ----------------------------------------------------------------------------------


composes("linalg.matmul")(lambda x1, x2, /: anp.matmul(x1, x2))
composes("linalg.outer")(COMPOSITIONS[numpy.outer])
composes("linalg.tensordot")(lambda x1, x2, /, *, axes=2: anp.tensordot(x1, x2, axes))
composes("linalg.cross")(lambda x1, x2, /, *, axis=-1: anp.cross(x1, x2, axis, axis, axis))
composes("linalg.trace")(lambda x, /, *, offset=0, dtype=None: _trace(x, offset, -2, -1, dtype))
composes("linalg.svdvals")(lambda x, /: anp.linalg.svd(x, full_matrices=False)[1])
composes("linalg.matrix_norm")(
    lambda x, /, *, keepdims=False, ord="fro": COMPOSITIONS[numpy.linalg.norm](x, ord, (-2, -1), keepdims)
)
composes("matvec")(lambda x1, x2, /: anp.sum(x1 * x2[..., None, :], axis=-1))
composes("vecmat")(lambda x1, x2, /: anp.sum(anp.conj(x1)[..., :, None] * x2, axis=-2))


@composes("trace")
def _trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Any:
    diagonals = COMPOSITIONS[numpy.diagonal](a if dtype is None else a.astype(dtype), offset, axis1, axis2)
    return anp.sum(diagonals, axis=-1)


@composes("linalg.svd")
def _svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    if hermitian:
        raise NotImplementedError("not with hermitian=True")
    rows, columns = anp.shape(a)[-2:]
    if compute_uv and full_matrices and rows != columns:
        raise NotImplementedError("of a matrix that is not square only with full_matrices=False")
    u, values, vh = (lambda parts: (parts[0], parts[1], parts[2]))(anp.linalg.svd(a, full_matrices=False))
    return (u, values, vh) if compute_uv else values


@composes("linalg.vector_norm")
def _vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    if axis is None:
        value = COMPOSITIONS[numpy.linalg.norm](anp.ravel(x), ord, 0)
        return anp.reshape(value, (1,) * anp.ndim(x)) if keepdims else value
    if isinstance(axis, (tuple, list)) and len(axis) > 1:
        raise NotImplementedError("only along one axis, or all")
    return COMPOSITIONS[numpy.linalg.norm](x, ord, axis, keepdims)


@composes("vecdot", "linalg.vecdot")
def _vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    return anp.sum(anp.moveaxis(anp.conj(x1), axis, -1) * anp.moveaxis(x2, axis, -1), axis=-1)


def _accumulated(
    function: Any, first: float, x: Any, /, *, axis: Any = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    if axis is None and anp.ndim(x) > 1:
        raise ValueError("For arrays which have more than one dimension ``axis`` argument is required.")
    axis = 0 if axis is None else axis
    accumulated = function(x if dtype is None else x.astype(dtype), axis=axis)
    if not include_initial:
        return accumulated
    shape = [1 if position == axis % anp.ndim(x) else length for position, length in enumerate(anp.shape(x))]
    return anp.concatenate([numpy.full(shape, first, anp.result_type(accumulated)), accumulated], axis)


composes("cumulative_sum")(functools.partial(_accumulated, anp.cumsum, 0.0))
composes("cumulative_prod")(functools.partial(_accumulated, COMPOSITIONS[numpy.cumprod], 1.0))
composes("cumsum")(lambda a, axis=None, dtype=None: anp.cumsum(a if dtype is None else a.astype(dtype), axis=axis))


# -- sums of products --------------------------------------------------------------------------------------------------


@composes("convolve")
def _convolve(a: Any, v: Any, mode: str = "full") -> Any:
    if anp.size(a) < anp.size(v):
        a, v = v, a
    return _slid(a, v, mode)


@composes("correlate")
def _correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    turned = anp.conj(anp.ravel(v))[::-1]
    if anp.size(a) >= anp.size(v):
        return _slid(a, turned, mode)
    return _slid(turned[::-1], anp.ravel(a)[::-1], mode)[::-1]  # the middle of an even length is that of the turned


def _slid(a: Any, v: Any, mode: str) -> Any:
    """Return the convolution of a vector and one that is not longer."""
    length, short = anp.size(a), anp.size(v)
    if not short:
        raise ValueError("v cannot be empty")
    a, v = anp.ravel(a), anp.ravel(v)
    zeros = numpy.zeros(short - 1, anp.result_type(a))
    padded = anp.concatenate([zeros, a, zeros])
    windows = padded[numpy.arange(length + short - 1)[:, None] + numpy.arange(short)[None, :]]
    full = anp.dot(windows, v[::-1])
    if mode in ("full", "f"):
        return full
    first = (short - 1) // 2 if mode in ("same", "s") else short - 1
    return full[first : first + (length if mode in ("same", "s") else length - short + 1)]


@composes("vander")
def _vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    count = anp.size(x) if N is None else N
    if not count:
        return x[:, None][:, :0]
    powers = [anp.ones_like(x)]
    for _ in range(count - 1):
        powers.append(powers[-1] * x)
    columns: Sequence[Any] = powers[:count]
    return anp.stack(columns if increasing else columns[::-1], axis=-1)


@composes("diff")
def _diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    if n == 0:
        return a
    if n < 0:
        raise ValueError(f"np.diff: n is {n}; expected 0 or more differences.")
    last = anp.moveaxis(a, axis, -1)
    parts = [_end(prepend, last, axis), last, _end(append, last, axis)]
    last = anp.concatenate([part for part in parts if part is not None], axis=-1) if len(parts) > 1 else last
    for _ in range(n):
        last = last[..., 1:] - last[..., :-1]
    return anp.moveaxis(last, -1, axis)


@composes("gradient")
def _gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    axes = tuple(range(anp.ndim(f))) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    if edge_order != 1 or any(anp.ndim(step) for step in varargs):
        raise NotImplementedError("only with edge_order=1, and steps that are numbers")
    if len(varargs) not in (0, 1, len(axes)):
        raise TypeError(f"np.gradient: got {len(varargs)} steps; expected one, or one for each of {len(axes)} axes.")
    steps = varargs * len(axes) if len(varargs) == 1 else varargs or (1.0,) * len(axes)
    slopes = tuple(_slope(f, axis_of_slope, step) for axis_of_slope, step in zip(axes, steps, strict=True))
    return slopes[0] if len(slopes) == 1 else slopes


def _slope(f: Any, axis: int, step: Any) -> Any:
    last = anp.moveaxis(f, axis, -1)
    if anp.shape(last)[-1] < 2:
        raise ValueError(f"np.gradient: axis {axis} has {anp.shape(last)[-1]} elements; expected at least 2.")
    inner = (last[..., 2:] - last[..., :-2]) / (2.0 * step)
    ends = [(last[..., 1:2] - last[..., :1]) / step, (last[..., -1:] - last[..., -2:-1]) / step]
    return anp.moveaxis(anp.concatenate([ends[0], inner, ends[1]], axis=-1), -1, axis)


def _end(value: Any, last: Any, axis: int) -> Any:
    if value is None or value is vars(numpy)["_NoValue"]:
        return None
    if anp.ndim(value):
        return anp.moveaxis(value, axis, -1)
    return value + numpy.zeros((*anp.shape(last)[:-1], 1), anp.result_type(last))


def _at_least(function: Any, of_one: Callable[[Any], Any]) -> Callable[..., Any]:
    return lambda *arys: of_one(arys[0]) if len(arys) == 1 else type(function(0.0, 0.0))(map(of_one, arys))


for _name in ("atleast_1d", "atleast_2d", "atleast_3d"):
    composes(_name)(_at_least(getattr(numpy, _name), getattr(anp, _name)))
