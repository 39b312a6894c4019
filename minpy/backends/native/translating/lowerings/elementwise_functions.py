"""Functions of every element that are no ufuncs: choices, rounding, casts, parts of complex numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from minpy.backends.native.language import Array, constant
from minpy.backends.native.translating.lowerings.lowering_tables import lowers
from minpy.backends.native.translating.lowerings.ufuncs import apply
from minpy.backends.native.translating.promotion import Operand, common_dtype
from minpy.backends.native.translating.results import NotLowered
from minpy.backends.native.translating.step_builder import Emitter
from minpy.capture.steps import power, power_of_array
from minpy.capture.storage import as_dtype
from minpy.capture.ufuncs import computed_where

__all__ = ["where"]


@lowers("where")
def where(emitter: Emitter, condition: Operand, x: Operand = None, y: Operand = None) -> Array:
    """Return the elements of one array where a condition holds, those of another where it does not."""
    if x is None or y is None:
        raise NotLowered("the shape of the answer depends on values")
    dtype = common_dtype(x, y)
    return emitter.elementwise("where", emitter.cast(condition, bool), emitter.cast(x, dtype), emitter.cast(y, dtype))


@lowers("clip")
def _clip(
    emitter: Emitter,
    a: Array,
    a_min: Operand = None,
    a_max: Operand = None,
    *,
    min: Operand = None,
    max: Operand = None,
) -> Array:
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    low, high = _within(a, low), _within(a, high)
    if low is None or high is None:  # NumPy calls another ufunc then
        result: Array = a
        if low is not None:
            result = apply(emitter, numpy.maximum, result, low)
        if high is not None:
            result = apply(emitter, numpy.minimum, result, high)
        return result
    dtype = common_dtype(a, low, high)
    array = emitter.elementwise("maximum", emitter.cast(a, dtype), emitter.cast(low, dtype))
    return emitter.elementwise("minimum", array, emitter.cast(high, dtype))


def _within(array: Array, bound: Operand) -> Operand:
    """Return a bound of integers that they can have: NumPy takes any number of Python's."""
    if array.dtype.kind not in "iu" or not isinstance(bound, int):
        return bound
    limits = numpy.iinfo(array.dtype)
    return min(max(bound, limits.min), limits.max)


@lowers("select")
def _select(emitter: Emitter, condlist: Sequence[Array], choicelist: Sequence[Operand], default: Operand = 0) -> Array:
    dtype = common_dtype(*choicelist, default)
    operands = [*condlist, *choicelist, default]
    shape = numpy.broadcast_shapes(*(operand.shape for operand in operands if isinstance(operand, Array)))
    result = emitter.cast(default, dtype)
    for condition, choice in zip(reversed(condlist), reversed(choicelist), strict=True):
        if condition.dtype != bool:
            raise NotLowered("a condition is no boolean")
        result = emitter.elementwise("where", condition, emitter.cast(choice, dtype), result)
    return emitter.broadcast(result, shape)


@lowers("nan_to_num")
def _nan_to_num(
    emitter: Emitter, x: Array, copy: bool = True, nan: float = 0.0, posinf: Any = None, neginf: Any = None
) -> Array:
    if x.dtype.kind != "f":
        return x
    limits = numpy.finfo(x.dtype)
    zero = constant(0, x.dtype)
    result = emitter.elementwise("where", emitter.elementwise("isnan", x), emitter.cast(nan, x.dtype), x)
    for name, value, limit in (("greater", posinf, limits.max), ("less", neginf, limits.min)):
        is_it = emitter.elementwise("logical_and", emitter.elementwise("isinf", x), emitter.elementwise(name, x, zero))
        result = emitter.elementwise("where", is_it, emitter.cast(limit if value is None else value, x.dtype), result)
    return result


@lowers("round", "around", "ndarray.round")
def _round(emitter: Emitter, a: Array, decimals: int = 0) -> Array:
    if a.dtype.kind in "iu" and decimals >= 0:
        return a
    if a.dtype.kind != "f":
        raise NotLowered(f"rounding of {a.dtype.name} to tens is not compiled")
    if not decimals:
        return emitter.elementwise("rint", a)
    power_of_ten = emitter.cast(10.0 ** abs(decimals), a.dtype)
    there, back = ("multiply", "divide") if decimals > 0 else ("divide", "multiply")
    return emitter.elementwise(
        back, emitter.elementwise("rint", emitter.elementwise(there, a, power_of_ten)), power_of_ten
    )


@lowers("fix")
def _fix(emitter: Emitter, x: Array) -> Array:
    if x.dtype.kind in "biu":
        if numpy.fix(numpy.zeros(1, x.dtype)).dtype != x.dtype:
            x = emitter.cast(x, numpy.fix(numpy.zeros(1, x.dtype)).dtype)
        return x
    return emitter.elementwise("trunc", x)


@lowers("real")
def _real(emitter: Emitter, val: Array) -> Array:
    return val


@lowers("imag")
def _imag(emitter: Emitter, val: Array) -> Array:
    return emitter.broadcast(constant(0, val.dtype), val.shape)


@lowers("angle")
def _angle(emitter: Emitter, z: Array, deg: bool = False) -> Array:
    result = apply(emitter, numpy.arctan2, _imag(emitter, z), z)
    return apply(emitter, numpy.multiply, result, 180 / math.pi) if deg else result


def _infinite(comparison: str) -> Callable[..., Array]:
    """Return the lowering of what tells infinities of one sign."""

    def lower(emitter: Emitter, x: Array) -> Array:
        if x.dtype.kind != "f":
            return emitter.broadcast(constant(False), x.shape)
        has_sign = emitter.elementwise(comparison, x, constant(0, x.dtype))
        return emitter.elementwise("logical_and", emitter.elementwise("isinf", x), has_sign)

    return lower


lowers("isposinf")(_infinite("greater"))
lowers("isneginf")(_infinite("less"))


@lowers("sinc")
def _sinc(emitter: Emitter, x: Array) -> Array:
    y = apply(emitter, numpy.multiply, math.pi, where(emitter, apply(emitter, numpy.equal, x, 0), 1.0e-20, x))
    return apply(emitter, numpy.divide, apply(emitter, numpy.sin, y), y)


@lowers("isclose")
def _isclose(
    emitter: Emitter, a: Operand, b: Operand, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Array:
    a, b = (emitter.cast(item, common_dtype(item)) for item in (a, b))
    if b.dtype.kind != "f":
        b = emitter.cast(b, common_dtype(b, numpy.float64(1)))
    gap = apply(emitter, numpy.absolute, apply(emitter, numpy.subtract, a, b))
    bound = apply(emitter, numpy.add, atol, apply(emitter, numpy.multiply, rtol, apply(emitter, numpy.absolute, b)))
    near = apply(emitter, numpy.less_equal, gap, bound)
    near = apply(emitter, numpy.logical_and, near, apply(emitter, numpy.isfinite, b))
    near = apply(emitter, numpy.logical_or, near, apply(emitter, numpy.equal, a, b))
    if equal_nan:
        both = apply(emitter, numpy.logical_and, apply(emitter, numpy.isnan, a), apply(emitter, numpy.isnan, b))
        near = apply(emitter, numpy.logical_or, near, both)
    return near


@lowers("array", "copy", "asarray", "ascontiguousarray", "ndarray.copy")
def _copied(emitter: Emitter, a: Array, dtype: Any = None, **options: Any) -> Array:
    """A copy needs no step: arrays never change."""
    if not isinstance(a, Array):
        raise NotLowered("an array is made of a list")
    return a if dtype is None else emitter.cast(a, dtype)


@lowers(as_dtype)
def _cast(emitter: Emitter, array: Array, dtype: Any) -> Array:
    return emitter.cast(array, dtype)


@lowers(power, power_of_array)
def _operator_power(emitter: Emitter, base: Array, exponent: Any) -> Any:
    return apply(emitter, numpy.power, base, exponent)


@lowers(computed_where)
def _masked(emitter: Emitter, ufunc: Any, target: Array, values: Sequence[Any], options: dict[str, Any]) -> Array:
    *operands, mask = values
    if options:
        raise NotLowered(f"{ufunc.__name__} with where= and {', '.join(options)}= is not compiled")
    result = apply(emitter, ufunc, *operands)
    if isinstance(result, tuple):
        raise NotLowered("a ufunc of several answers with where= is not compiled")
    chosen = emitter.elementwise("where", emitter.cast(mask, bool), emitter.cast(result, target.dtype), target)
    return emitter.broadcast(chosen, target.shape)
