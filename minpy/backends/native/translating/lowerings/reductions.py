"""Reductions, in the dtypes in which NumPy adds up."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy

from minpy.backends.native.language import Array, constant
from minpy.backends.native.translating.lowerings.elementwise_functions import where
from minpy.backends.native.translating.lowerings.lowering_tables import lowers
from minpy.backends.native.translating.lowerings.ufuncs import apply
from minpy.backends.native.translating.promotion import Operand
from minpy.backends.native.translating.results import NotLowered
from minpy.backends.native.translating.step_builder import Emitter
from minpy.core.sums import mean_over, sum_over, sum_to

__all__ = ["accumulator", "axes_of", "finished", "mean", "reduced", "total"]


def axes_of(array: Array, axis: Any) -> tuple[int, ...]:
    """Return the axes that a reduction runs over, in order and not negative."""
    ndim = len(array.shape)
    if axis is None:
        return tuple(range(ndim))
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    if not ndim and axis in (0, -1):  # NumPy lets it pass
        return ()
    result = sorted({int(item) % ndim if -ndim <= item < ndim else ndim for item in axes})
    if len(result) != len(axes) or ndim in result:
        raise NotLowered(f"axis {axis} of an array of shape {array.shape}")
    return tuple(result)


def finished(emitter: Emitter, reduction: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
    """Return a reduction whose axes have length 1 without them, unless they are to stay."""
    if keepdims:
        return reduction
    return emitter.reshape(reduction, [length for axis, length in enumerate(reduction.shape) if axis not in axes])


def accumulator(array: Array, dtype: Any) -> numpy.dtype:
    """Return the dtype in which sums and products are computed."""
    return numpy.dtype(dtype) if dtype is not None else numpy.add.reduce(numpy.zeros(1, array.dtype)).dtype


def reduced(
    emitter: Emitter,
    function: str,
    array: Array,
    axis: Any = None,
    keepdims: Any = False,
    where_: Operand = None,
    initial: Any = None,
    neutral: Any = None,
) -> Array:
    """Return a reduction in the array's own dtype, of the elements where a mask holds, and of an initial value."""
    axes = axes_of(array, axis)
    if where_ is not None:
        if neutral is None:
            raise NotLowered(f"{function} with where= is not compiled")
        array = where(emitter, where_, array, constant(neutral, array.dtype))
    if initial is not None and any(array.shape[item] == 0 for item in axes):
        shape = [1 if item in axes else length for item, length in enumerate(array.shape)]
        result = emitter.broadcast(emitter.cast(initial, array.dtype), shape)
    else:
        result = emitter.reduce(function, array, axes)
        if initial is not None and not _is_neutral(function, initial):
            name = {"sum": "add", "prod": "multiply", "max": "maximum", "min": "minimum"}[function]
            result = emitter.elementwise(name, emitter.cast(initial, array.dtype), result)
    return finished(emitter, result, axes, bool(keepdims))


def _is_neutral(function: str, initial: Any) -> bool:
    if isinstance(initial, Array):
        return False
    return bool(initial == {"sum": 0, "prod": 1, "max": -math.inf, "min": math.inf}[function])


def _accumulation(function: str, neutral: int) -> Callable[..., Array]:
    def lower(
        emitter: Emitter,
        a: Array,
        axis: Any = None,
        dtype: Any = None,
        keepdims: Any = False,
        initial: Any = None,
        where: Operand = None,
    ) -> Array:
        """Return `numpy.sum`, or `numpy.prod`."""
        array = emitter.cast(a, accumulator(a, dtype))
        if array.dtype == bool and function == "sum":
            raise NotLowered("a sum of booleans as booleans is not compiled")
        return reduced(emitter, function, array, axis, keepdims, where, initial, neutral)

    return lower


total = lowers("sum", numpy.add.reduce)(_accumulation("sum", 0))
_prod = lowers("prod", numpy.multiply.reduce)(_accumulation("prod", 1))


@lowers(sum_over)
def _sum_over(emitter: Emitter, data: Array, axis: Any = None, keepdims: bool = False) -> Array:
    return total(emitter, data, axis, data.dtype, keepdims)


@lowers(sum_to)
def _sum_to(emitter: Emitter, data: Array, shape: tuple[int, ...]) -> Array:
    lead = len(data.shape) - len(shape)
    axes = tuple(axis for axis in range(len(data.shape)) if axis < lead or shape[axis - lead] == 1 != data.shape[axis])
    return emitter.reshape(reduced(emitter, "sum", data, axes, True), shape)


def _extreme(function: str) -> Callable[..., Array]:
    def lower(
        emitter: Emitter, a: Array, axis: Any = None, keepdims: Any = False, initial: Any = None, where: Operand = None
    ) -> Array:
        neutral = None if initial is None else _least_extreme(function, a.dtype)
        return reduced(emitter, function, a, axis, keepdims, where, initial, neutral)

    return lower


def _least_extreme(function: str, dtype: numpy.dtype) -> Any:
    """Return what no element changes a maximum or minimum from."""
    if dtype.kind == "f":
        return -math.inf if function == "max" else math.inf
    limits = (False, True) if dtype.kind == "b" else (numpy.iinfo(dtype).min, numpy.iinfo(dtype).max)
    return limits[function == "min"]


_max = lowers("max", "amax", numpy.maximum.reduce)(_extreme("max"))
_min = lowers("min", "amin", numpy.minimum.reduce)(_extreme("min"))


def _quantifier(function: str) -> Callable[..., Array]:
    def lower(emitter: Emitter, a: Array, axis: Any = None, keepdims: Any = False, where: Operand = None) -> Array:
        return reduced(emitter, function, emitter.cast(a, bool), axis, keepdims, where, None, function == "all")

    return lower


lowers("any", numpy.logical_or.reduce)(_quantifier("any"))
lowers("all", numpy.logical_and.reduce)(_quantifier("all"))


@lowers("count_nonzero")
def _count_nonzero(emitter: Emitter, a: Array, axis: Any = None, *, keepdims: bool = False) -> Array:
    return reduced(emitter, "sum", emitter.cast(emitter.cast(a, bool), numpy.intp), axis, keepdims)


def _position(function: str) -> Callable[..., Array]:
    def lower(emitter: Emitter, a: Array, axis: Any = None, keepdims: Any = False) -> Array:
        array = emitter.cast(a, numpy.uint8) if a.dtype == bool else a
        if axis is None and not array.shape:
            return constant(0, numpy.intp)
        return emitter.cast(reduced(emitter, function, array, axis, keepdims), numpy.intp)

    return lower


lowers("argmax")(_position("argmax"))
lowers("argmin")(_position("argmin"))


@lowers("ptp")
def _ptp(emitter: Emitter, a: Array, axis: Any = None, keepdims: Any = False) -> Array:
    return apply(emitter, numpy.subtract, _max(emitter, a, axis, keepdims), _min(emitter, a, axis, keepdims))


@lowers("mean")
def mean(
    emitter: Emitter, a: Array, axis: Any = None, dtype: Any = None, keepdims: Any = False, where: Operand = None
) -> Array:
    """Return `numpy.mean`."""
    wide = numpy.dtype(dtype) if dtype is not None else a.dtype if a.dtype.kind == "f" else numpy.dtype("float64")
    array = emitter.cast(a, wide)
    if wide.kind != "f":
        raise NotLowered(f"a mean in {wide.name} is not compiled")
    count = _count(emitter, array, axis, where)
    total = reduced(emitter, "sum", array, axis, True, where, None, 0)
    return finished(emitter, emitter.elementwise("divide", total, count), axes_of(array, axis), bool(keepdims))


@lowers(mean_over)
def _mean_over(emitter: Emitter, data: Array, axis: Any = None, keepdims: bool = False) -> Array:
    return mean(emitter, data, axis, None, keepdims)


def _count(emitter: Emitter, array: Array, axis: Any, mask: Operand) -> Array:
    """Return how many elements are added up, as an array of the same dtype."""
    axes = axes_of(array, axis)
    if mask is None:
        return constant(math.prod(array.shape[item] for item in axes), array.dtype)
    ones = where(emitter, mask, constant(1, array.dtype), constant(0, array.dtype))
    return emitter.reduce("sum", emitter.broadcast(ones, array.shape), axes)


@lowers("var")
def _var(
    emitter: Emitter,
    a: Array,
    axis: Any = None,
    dtype: Any = None,
    ddof: Any = 0,
    keepdims: Any = False,
    *,
    where: Operand = None,
    mean: Any = None,
    correction: Any = None,
) -> Array:
    wide = numpy.dtype(dtype) if dtype is not None else a.dtype if a.dtype.kind == "f" else numpy.dtype("float64")
    if wide.kind != "f" or where is not None or isinstance(ddof, Array):
        raise NotLowered("a variance in whole numbers, or with where=, is not compiled")
    array = emitter.cast(a, wide)
    axes = axes_of(array, axis)
    count = math.prod(array.shape[item] for item in axes)
    if mean is None:
        mean = emitter.elementwise("divide", emitter.reduce("sum", array, axes), constant(count, wide))
    centred = emitter.elementwise("subtract", array, emitter.cast(mean, wide))
    total = emitter.reduce("sum", emitter.elementwise("square", centred), axes)
    freedom = max(count - (ddof if correction is None else correction), 0)
    result = emitter.elementwise("divide", total, constant(freedom, wide))
    return finished(emitter, result, axes, bool(keepdims))


@lowers("std")
def _std(emitter: Emitter, a: Array, axis: Any = None, dtype: Any = None, *arguments: Any, **keywords: Any) -> Array:
    return emitter.elementwise("sqrt", _var(emitter, a, axis, dtype, *arguments, **keywords))


@lowers("average")
def _average(
    emitter: Emitter, a: Array, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = False
) -> Any:
    if returned:
        raise NotLowered("an average with its weights is not compiled")
    if weights is None:
        return mean(emitter, a, axis, None, keepdims)
    weights = emitter.cast(weights, weights.dtype)
    whole = a.dtype.kind in "biu"
    dtype = numpy.result_type(a.dtype, weights.dtype, *(["float64"] if whole else []))
    if weights.shape != a.shape:
        axes = axes_of(a, axis)
        if len(axes) != 1 or len(weights.shape) != 1:
            raise NotLowered("an average with weights of another shape is not compiled")
        weights = emitter.reshape(weights, [-1 if item in axes else 1 for item in range(len(a.shape))])
        weights = emitter.broadcast(weights, a.shape)
    scale = reduced(emitter, "sum", emitter.cast(weights, dtype), axis, keepdims)
    product = apply(emitter, numpy.multiply, emitter.cast(a, dtype), emitter.cast(weights, dtype))
    return apply(emitter, numpy.divide, reduced(emitter, "sum", product, axis, keepdims), scale)


@lowers("trace")
def _trace(emitter: Emitter, a: Array, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Array:
    diagonal = emitter.view(a, lambda values: numpy.diagonal(values, offset, axis1, axis2))
    return total(emitter, diagonal, -1, dtype)


@lowers("linalg.norm")
def _norm(emitter: Emitter, x: Array, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Array:
    if x.dtype.kind != "f":
        x = emitter.cast(x, "float64")
    axes = axes_of(x, axis)
    if ord is None or (ord == 2 and len(axes) == 1) or (ord in ("f", "fro") and len(axes) == 2):
        return emitter.elementwise("sqrt", reduced(emitter, "sum", emitter.elementwise("square", x), axes, keepdims))
    if len(axes) != 1 or isinstance(ord, str):
        raise NotLowered(f"the norm {ord!r} of matrices is not compiled")
    size = emitter.elementwise("absolute", x)
    function = {math.inf: "max", -math.inf: "min", 1: "sum"}.get(ord)
    if function is not None:
        return reduced(emitter, function, size, axes, keepdims)
    if ord == 0:
        counted = emitter.cast(apply(emitter, numpy.not_equal, x, 0), x.dtype)
        return reduced(emitter, "sum", counted, axes, keepdims)
    raise NotLowered(f"the norm {ord!r} is not compiled")


# -- with what is no number left out -----------------------------------------------------------------------------------


def _without_nans(emitter: Emitter, array: Array, instead: Any) -> Array:
    if array.dtype.kind != "f":
        return array
    return where(emitter, emitter.elementwise("isnan", array), constant(instead, array.dtype), array)


def _accumulation_without_nans(lowering: Callable[..., Array], neutral: int) -> Callable[..., Array]:
    def lower(emitter: Emitter, a: Array, axis: Any = None, dtype: Any = None, **options: Any) -> Array:
        return lowering(emitter, _without_nans(emitter, a, neutral), axis, dtype, **options)

    return lower


def _extreme_without_nans(function: str) -> Callable[..., Array]:
    def lower(emitter: Emitter, a: Array, axis: Any = None, keepdims: Any = False) -> Array:
        if a.dtype.kind != "f":
            return reduced(emitter, function, a, axis, keepdims)
        neutral = _least_extreme(function, a.dtype)
        extreme = reduced(emitter, function, _without_nans(emitter, a, neutral), axis, keepdims)
        nothing = reduced(emitter, "all", emitter.elementwise("isnan", a), axis, keepdims)
        return emitter.elementwise("where", nothing, constant(math.nan, a.dtype), extreme)

    return lower


lowers("nansum")(_accumulation_without_nans(total, 0))
lowers("nanprod")(_accumulation_without_nans(_prod, 1))
lowers("nanmax")(_extreme_without_nans("max"))
lowers("nanmin")(_extreme_without_nans("min"))


@lowers("nanmean")
def _nanmean(emitter: Emitter, a: Array, axis: Any = None, dtype: Any = None, keepdims: Any = False) -> Array:
    if a.dtype.kind != "f":
        return mean(emitter, a, axis, dtype, keepdims)
    array = emitter.cast(a, a.dtype if dtype is None else dtype)
    is_number = emitter.elementwise("logical_not", emitter.elementwise("isnan", array))
    added = reduced(emitter, "sum", _without_nans(emitter, array, 0), axis, keepdims)
    count = reduced(emitter, "sum", emitter.cast(is_number, array.dtype), axis, keepdims)
    return emitter.elementwise("divide", added, count)
