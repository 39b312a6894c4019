"""Reductions with MXNet's semantics: over everything they have shape (1,), and all keep the dtype.

`numpy.sum` and its kin, which give scalars, are in `ops.numpy.recorded_functions`.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from minpy.core.errors import ArgumentError, ShapeError
from minpy.core.sums import mean_over, sum_over
from minpy.ops.inference.rule_parts import booleans_give, dtype_attribute, numbered
from minpy.ops.registry import operator

__all__ = [
    "argmax",
    "argmax_channel",
    "argmin",
    "expand",
    "max",
    "mean",
    "min",
    "moments",
    "nanprod",
    "nansum",
    "norm",
    "prod",
    "sum",
]

Axis = int | tuple[int, ...] | None

_scalar = np.generic
_mean: Any = np.mean
_multiply: Any = np.multiply.reduce
_maximum: Any = np.maximum.reduce
_minimum: Any = np.minimum.reduce

# The dtypes in which norms of floating-point numbers are computed; those of other dtypes in float64.
_WIDE = {"e": np.float32, "f": np.float32}

_DOC = """{sentence}

Parameters
----------
data : NDArray
    Of any dtype.
axis : int or tuple of int, optional
    The axes to reduce, negative ones counted from the last; all of them if left out, or ().
keepdims : bool
    Whether the reduced axes stay, with length 1.
exclude : bool
    Whether to reduce all axes but the given ones.

Returns
-------
NDArray
    Of the dtype of `data`; of shape (1,) if all axes are reduced and not kept.{notes}

Raises
------
ShapeError
    If an axis does not exist, or is given twice.

Examples
--------
>>> from minpy import nd
>>> x = nd.array([[1, 2, 2], [3, 0, 3]])
>>> nd.{name}(x, axis=1).asnumpy()
array({result}, dtype=float32)
"""


def _doc(name: str, sentence: str, result: str, notes: str = "") -> str:
    return _DOC.format(name=name, sentence=sentence, result=result, notes=f" {notes}" if notes else "")


# -- axes --------------------------------------------------------------------------------------------------------------


def resolve_axes(name: str, axis: Any, shape: tuple[int, ...], exclude: bool = False) -> tuple[int, ...]:
    """Return the axes that a reduction runs over, in order and not negative.

    Raises
    ------
    ShapeError
        If an axis does not exist, or is given twice.

    Examples
    --------
    >>> resolve_axes('sum', -1, (2, 3, 4), exclude=True)
    (0, 1)
    """
    ndim = len(shape)
    if axis is None or axis == () or axis == []:
        return tuple(range(ndim))
    numbers = (axis,) if isinstance(axis, (int, np.integer)) else tuple(axis)
    for number in numbers:
        if not -ndim <= number < ndim:
            raise ShapeError(
                f"{name}: axis {number} does not exist in an array of shape {shape}; axes are {-ndim} to {ndim - 1}."
            )
    chosen = {int(number) % ndim for number in numbers}
    if len(chosen) != len(numbers):
        raise ShapeError(f"{name}: axis {axis} names an axis of an array of shape {shape} twice.")
    return tuple(number for number in range(ndim) if (number in chosen) != bool(exclude))


def _reduced(name: str, data: Any, axis: Any, exclude: bool) -> Any:
    """Return the `axis` argument for NumPy: None for all axes."""
    if axis is None:
        return None
    axes = resolve_axes(name, axis, data.shape, exclude)
    return None if len(axes) == data.ndim else axes


def _shaped(result: Any) -> Any:
    """Return a reduction's result with at least one axis."""
    if result.ndim:
        return result
    return np.array(result, ndmin=1) if isinstance(result, _scalar) else result.reshape((1,))


def _accumulator_dtype(data: Any) -> Any:
    """Return the dtype to reduce in, where NumPy would choose a wider one."""
    return data.dtype if data.dtype.kind in "iub" else None


def _with_axes(value: Any, data: Any, axis: Any, keepdims: bool, exclude: bool) -> Any:
    """Return a reduction's result or gradient with its reduced axes back, of length 1."""
    shape = np.shape(data)
    if axis is None or keepdims:
        return value  # of shape (1,), or kept: it broadcasts as it is
    axes = resolve_axes("reduction", axis, shape, exclude)
    return np.reshape(value, tuple(1 if position in axes else length for position, length in enumerate(shape)))


def expand(value: Any, shape: tuple[int, ...]) -> Any:
    """Return `value` repeated along its axes of length 1 to `shape`, as `numpy.broadcast_to` but in new memory."""
    if type(value) is np.ndarray:
        result = np.empty(shape, value.dtype)
        result[...] = value
        return result
    return np.broadcast_to(value, shape) if shape else np.reshape(value, ())


def _count(data: Any, ans: Any) -> int:
    """Return how many elements are reduced to each element of a result."""
    return int(np.size(data) // builtins.max(np.size(ans), 1))


# -- sums and products -------------------------------------------------------------------------------------------------


@operator(name="sum", aliases=("sum_axis",), doc=_doc("sum", "Return the sum over axes.", "[5., 6.]"), shape_only=(0,))
def sum(data: np.ndarray, *, axis: Axis = None, keepdims: bool = False, exclude: bool = False) -> np.ndarray:
    axes = _reduced("sum", data, axis, exclude)
    return _shaped(sum_over(data, axes, keepdims))


sum.def_grad(lambda ans, data, **over: lambda g: expand(_with_axes(g, data, **over), np.shape(data)))


@operator(
    name="nansum",
    doc=_doc("nansum", "Return the sum over axes, in which NaN counts as 0.", "[5., 6.]", "The gradient at NaN is 0."),
    grad=lambda ans, data, **over: lambda g: np.where(data == data, _with_axes(g, data, **over), 0),
)
def nansum(data: np.ndarray, *, axis: Axis = None, keepdims: bool = False, exclude: bool = False) -> np.ndarray:
    axes = _reduced("nansum", data, axis, exclude)
    return _shaped(sum_over(np.where(data == data, data, data.dtype.type(0)), axes, keepdims))


@operator(
    name="mean",
    doc=_doc("mean", "Return the mean over axes.", "[1.6666666, 2.       ]", "The mean of integers is truncated."),
    shape_only=(0,),
)
def mean(data: np.ndarray, *, axis: Axis = None, keepdims: bool = False, exclude: bool = False) -> np.ndarray:
    axes = _reduced("mean", data, axis, exclude)
    if data.dtype.kind == "f":
        return _shaped(mean_over(data, axes, keepdims))
    return _shaped(_mean(data, axis=axes, keepdims=keepdims).astype(data.dtype))


@mean.def_grad()
def _mean_gradient(ans: Any, data: Any, **over: Any) -> Callable[[Any], Any]:
    return lambda g: expand(_with_axes(g / _count(data, g), data, **over), np.shape(data))


@operator(
    name="prod",
    doc=_doc(
        "prod", "Return the product over axes.", "[4., 0.]", "The gradient is the product of the others, also at 0."
    ),
)
def prod(data: np.ndarray, *, axis: Axis = None, keepdims: bool = False, exclude: bool = False) -> np.ndarray:
    axes = _reduced("prod", data, axis, exclude)
    return _shaped(_multiply(data, axis=axes, dtype=_accumulator_dtype(data), keepdims=keepdims))


def product_of_others(data: Any, axes: tuple[int, ...]) -> Any:
    """Return, for each element, the product of the other elements along `axes`."""
    shape = np.shape(data)
    kept_axes = [axis for axis in range(len(shape)) if axis not in axes]
    order = (*kept_axes, *axes)
    rows = np.reshape(
        np.transpose(data, order), [*(shape[axis] for axis in kept_axes), math.prod(shape[axis] for axis in axes)]
    )
    products = np.reshape(_product_of_others(rows), [shape[axis] for axis in order])
    return np.transpose(products, np.argsort(order).tolist())


def _product_of_others(rows: Any) -> Any:
    """Return `product_of_others` along the last axis, by halves: the other pairs' product times the other of the pair.

    There is no division, so zeros need no care, and derivatives of any order are right.
    """
    *outer, length = np.shape(rows)
    if length < 2:
        return np.ones((*outer, length), rows.dtype)
    pairs = length // 2
    left, right = rows[..., 0 : 2 * pairs : 2], rows[..., 1 : 2 * pairs : 2]
    products, last = left * right, rows[..., 2 * pairs :]
    halved = _product_of_others(np.concatenate([products, last], axis=-1))
    partner_products = halved[..., :pairs]
    pair_products = np.reshape(
        np.stack([partner_products * right, partner_products * left], axis=-1), (*outer, 2 * pairs)
    )
    return np.concatenate([pair_products, halved[..., pairs:]], axis=-1)


def raw_product_of_others(data: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """Return the same of a raw array in half the time: the product of all, divided by each, but at zeros."""
    zero = data == 0
    divisor = np.where(zero, data.dtype.type(1), data)
    product = np.prod(divisor, axis=axes, keepdims=True)
    zeros = np.sum(zero, axis=axes, keepdims=True)
    return np.where(zero, product * (zeros == 1), product * (zeros == 0) / divisor)


@prod.def_grad()
def _prod_gradient(ans: Any, data: Any, *, axis: Axis, keepdims: bool, exclude: bool) -> Callable[[Any], Any]:
    axes = resolve_axes("prod", axis, np.shape(data), exclude)
    return lambda g: product_of_others(data, axes) * _with_axes(g, data, axis, keepdims, exclude)


@prod.def_grad_kernel()
def _raw_prod_gradient(ans: Any, data: Any, *, axis: Axis, keepdims: bool, exclude: bool) -> Callable[[Any], Any]:
    axes = resolve_axes("prod", axis, data.shape, exclude)
    return lambda g: raw_product_of_others(data, axes) * _with_axes(g, data, axis, keepdims, exclude)


@operator(
    name="nanprod",
    doc=_doc(
        "nanprod", "Return the product over axes, in which NaN counts as 1.", "[4., 0.]", "The gradient at NaN is 0."
    ),
)
def nanprod(data: np.ndarray, *, axis: Axis = None, keepdims: bool = False, exclude: bool = False) -> np.ndarray:
    axes = _reduced("nanprod", data, axis, exclude)
    return _shaped(_multiply(np.where(data == data, data, 1), axis=axes, dtype=data.dtype, keepdims=keepdims))


@nanprod.def_grad()
def _nanprod_gradient(ans: Any, data: Any, *, axis: Axis, keepdims: bool, exclude: bool) -> Callable[[Any], Any]:
    axes = resolve_axes("nanprod", axis, np.shape(data), exclude)

    def gradient(g: Any) -> Any:
        number = data == data
        products = product_of_others(np.where(number, data, 1), axes)
        return np.where(number, products * _with_axes(g, data, axis, keepdims, exclude), 0)

    return gradient


# -- extremes ----------------------------------------------------------------------------------------------------------

_TIES = "Where several elements are the {0}, each gets the gradient. NaN is the {0} of what holds one."


@operator(
    name="max",
    aliases=("max_axis",),
    doc=_doc("max", "Return the largest element over axes.", "[2., 3.]", _TIES.format("maximum")),
)
def max(data: np.ndarray, *, axis: Axis = None, keepdims: bool = False, exclude: bool = False) -> np.ndarray:
    return _shaped(_maximum(data, axis=_reduced("max", data, axis, exclude), keepdims=keepdims))


@operator(
    name="min",
    aliases=("min_axis",),
    doc=_doc("min", "Return the smallest element over axes.", "[1., 0.]", _TIES.format("minimum")),
)
def min(data: np.ndarray, *, axis: Axis = None, keepdims: bool = False, exclude: bool = False) -> np.ndarray:
    return _shaped(_minimum(data, axis=_reduced("min", data, axis, exclude), keepdims=keepdims))


def _extreme_gradient(ans: Any, data: Any, *, axis: Axis, keepdims: bool, exclude: bool) -> Callable[[Any], Any]:
    def gradient(g: Any) -> Any:
        chosen = data == _with_axes(ans, data, axis, keepdims, exclude)
        return chosen * _with_axes(g, data, axis, keepdims, exclude)

    return gradient


max.def_grad(_extreme_gradient)
min.def_grad(_extreme_gradient)

_POSITION_DOC = """Return the position of the {which} element along an axis, as a number of the dtype of `data`.

Parameters
----------
data : NDArray
    Of any dtype. Positions beyond what the dtype holds exactly (2048 for float16) are rounded.
axis : int, optional
    Without one, the position counts through the whole array.
keepdims : bool
    Whether the axis stays, with length 1.

Returns
-------
NDArray
    Of the dtype of `data` (int64 for booleans); of shape (1,) without an axis. The first of several, and the first NaN.
    Its gradient is zero.

Raises
------
ArgumentError
    If `axis` is not an int.
ShapeError
    If there is no such axis.

Examples
--------
>>> from minpy import nd
>>> nd.{name}(nd.array([[1, 2, 2], [3, 0, 3]]), axis=1).asnumpy()
array({result}, dtype=float32)
"""


def _position(name: str, function: Callable[..., Any], data: Any, axis: Any, keepdims: bool) -> Any:
    if axis is not None and not isinstance(axis, (int, np.integer)):
        raise ArgumentError(f"{name}: axis must be one int or None, got {axis!r}.")
    axes = resolve_axes(name, axis, data.shape)
    position = function(data, axis=None if axis is None else axes[0], keepdims=keepdims)
    return _shaped(position.astype(np.int64 if data.dtype.kind == "b" else data.dtype))


@operator(name="argmax", doc=_POSITION_DOC.format(name="argmax", which="largest", result="[1., 0.]"), zero="all")
def argmax(data: np.ndarray, *, axis: int | None = None, keepdims: bool = False) -> np.ndarray:
    return _position("argmax", np.argmax, data, axis, keepdims)


@operator(name="argmin", doc=_POSITION_DOC.format(name="argmin", which="smallest", result="[0., 1.]"), zero="all")
def argmin(data: np.ndarray, *, axis: int | None = None, keepdims: bool = False) -> np.ndarray:
    return _position("argmin", np.argmin, data, axis, keepdims)


@operator(name="argmax_channel", zero="all")
def argmax_channel(data: np.ndarray) -> np.ndarray:
    """Return `argmax` along axis 1, where a batch has its channels.

    {data_parameter}
        Of two axes or more.

    {returns_array}
        Of the dtype of `data` (int64 for booleans), without axis 1. Its gradient is zero.

    {raises_shape_error}
        If there is no axis 1.

    {examples}
    >>> nd.argmax_channel(nd.array([[1, 2, 2], [3, 0, 3]])).asnumpy()
    array([1., 0.], dtype=float32)
    """
    return _position("argmax_channel", np.argmax, data, 1, False)


# -- moments -----------------------------------------------------------------------------------------------------------


@operator(name="moments", outputs=numbered(2))
def moments(data: np.ndarray, *, axes: int | tuple[int, ...], keepdims: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and variance over axes.

    {data_parameter}
    axes : int or tuple of int
        The axes to reduce; for global moments all of them.
    keepdims : bool
        Whether the reduced axes stay, with length 1.

    Returns
    -------
    mean, variance : NDArray
        Of the dtype of `data`. The variance is the mean square of the differences from the mean.

    {raises_shape_error}
        If an axis does not exist, or is given twice.

    {examples}
    >>> mean, variance = nd.moments(nd.array([[1, 3], [2, 6]]), axes=1)
    >>> mean.asnumpy(), variance.asnumpy()
    (array([2., 4.], dtype=float32), array([1., 4.], dtype=float32))
    """
    over = _reduced("moments", data, axes, False)
    values = data.astype(np.float64) if data.dtype.kind in "iub" else data
    average = mean_over(values, over, keepdims=True)
    variance = mean_over(np.square(values - average), over, keepdims)
    average = average if keepdims else average.reshape(np.shape(variance))
    return tuple(_shaped(value.astype(data.dtype, copy=False)) for value in (average, variance))


@moments.def_grad()
def _moments_gradient(ans: Any, data: Any, *, axes: Any, keepdims: bool) -> Callable[[Any], Any]:
    def gradient(g: Any) -> Any:
        mean_gradient, variance_gradient = (_with_axes(part, data, axes, keepdims, False) for part in g)
        difference = data - _with_axes(ans[0], data, axes, keepdims, False)
        return (mean_gradient + variance_gradient * (difference + difference)) / _count(data, g[0])

    return gradient


# -- norms -------------------------------------------------------------------------------------------------------------


@operator(name="norm", dtypes=dtype_attribute(name="out_dtype"))
def norm(
    data: np.ndarray, *, ord: int = 2, axis: Axis = None, out_dtype: str | None = None, keepdims: bool = False
) -> np.ndarray:
    """Return the norm over axes: the root of the sum of squares, or the sum of absolute values.

    {data_parameter}
    ord : int
        2 for the root of the sum of squares (over two axes Frobenius' norm), 1 for the sum of absolute values.
    axis : int or tuple of int, optional
        The axes to reduce; all of them if left out.
    out_dtype : str, optional
        The dtype of the result; by default that of `data`.
    keepdims : bool
        Whether the reduced axes stay, with length 1.

    {returns_array}
        Of shape (1,) if all axes are reduced and not kept. The gradient of a norm of zeros is zero.

    {raises_argument_error}
        If `ord` is neither 1 nor 2.
    ShapeError
        If an axis does not exist, or is given twice.

    {examples}
    >>> nd.norm(nd.array([[3, 4], [6, 8]]), axis=1).asnumpy()
    array([ 5., 10.], dtype=float32)
    >>> nd.norm(nd.array([[3, -4]]), ord=1).asnumpy()
    array([7.], dtype=float32)
    """
    if ord not in (1, 2):
        raise ArgumentError(f"norm: ord must be 1 or 2, got {ord!r}.")
    axes = _reduced("norm", data, axis, False)
    wide = _WIDE.get(data.dtype.char, np.float64)  # where squares overflow soon
    if ord == 1:
        result = sum_over(np.absolute(data, dtype=wide), axes, keepdims)
    else:
        result = np.sqrt(sum_over(np.square(data, dtype=wide), axes, keepdims))
    return _shaped(result.astype(out_dtype or data.dtype, copy=False))


@norm.def_grad()
def _norm_gradient(ans: Any, data: Any, *, ord: int, axis: Axis, keepdims: bool) -> Callable[[Any], Any]:
    if ord == 1:
        return lambda g: np.sign(data) * _with_axes(g, data, axis, keepdims, False)
    return lambda g: data * _with_axes(g / np.where(ans == 0, 1, ans), data, axis, keepdims, False)


for _operator in (sum, nansum, mean, prod, nanprod, max, min, argmax, argmin, argmax_channel, moments, norm):
    _operator.may_alias = False


# -- inference ---------------------------------------------------------------------------------------------------------


def _reduced_shapes(inputs: Any, outputs: Any, *, axis: Any, keepdims: bool, exclude: bool) -> Any:
    [data] = inputs
    if data is None:
        return inputs, outputs if axis is not None or keepdims else [(1,)] * len(outputs)
    axes = range(len(data)) if axis is None else resolve_axes("reduction", axis, data, exclude)
    lengths = [1 if number in axes else length for number, length in enumerate(data) if keepdims or number not in axes]
    return inputs, [tuple(lengths) or (1,)] * len(outputs)


def _shapes_without_exclude(inputs: Any, outputs: Any, *, axis: Any, keepdims: bool) -> Any:
    return _reduced_shapes(inputs, outputs, axis=axis, keepdims=keepdims, exclude=False)


for _operator in (sum, nansum, mean, prod, nanprod, max, min):
    _operator.def_infer_shape(_reduced_shapes)
for _operator in (argmax, argmin, norm):
    _operator.def_infer_shape(_shapes_without_exclude)
argmax_channel.def_infer_shape(lambda inputs, outputs: _shapes_without_exclude(inputs, outputs, axis=1, keepdims=False))
for _operator in (argmax, argmin, argmax_channel):
    _operator.def_infer_type(booleans_give(np.int64))


@moments.def_infer_shape
def _moments_shapes(inputs: Any, outputs: Any, *, axes: Any, keepdims: bool) -> Any:
    return _shapes_without_exclude(inputs, outputs, axis=axes, keepdims=keepdims)
