"""NumPy's ufuncs."""

from __future__ import annotations

from typing import Any

import numpy

from minpy.backends.native.language import Array, constant
from minpy.backends.native.language.function_table import ELEMENTWISE
from minpy.backends.native.translating.lowerings.lowering_tables import UFUNCS, lowers_ufunc
from minpy.backends.native.translating.promotion import Operand, loop_of, require_supported
from minpy.backends.native.translating.results import NotLowered
from minpy.backends.native.translating.step_builder import Emitter

__all__ = ["apply"]

# Other names of NumPy's for functions of the language.
_NAMES = {"true_divide": "divide", "degrees": "rad2deg", "radians": "deg2rad", "fabs": "absolute"}
_COMPARISONS = {"greater", "greater_equal", "less", "less_equal", "equal", "not_equal"}


def apply(emitter: Emitter, ufunc: numpy.ufunc, *operands: Operand, dtype: Any = None) -> Any:
    """Return what a ufunc gives for arrays and numbers of Python's: an array, or a tuple of them.

    Raises NotLowered if it is not among the functions of the step language, for these dtypes.
    """
    operands = tuple(constant(item) if isinstance(item, (numpy.generic, numpy.ndarray)) else item for item in operands)
    name = _NAMES.get(ufunc.__name__, ufunc.__name__)
    own = UFUNCS.get(name)
    if own is None and name not in ELEMENTWISE:
        raise NotLowered(f"numpy.{ufunc.__name__} is not among the functions that are compiled")
    takes, gives = loop_of(ufunc, operands, dtype)
    if name.startswith("logical_"):
        takes = (numpy.dtype(bool),) * len(takes)
    if name in _COMPARISONS and takes[0] != takes[1]:
        return _compare_whole(emitter, name, *operands)
    require_supported(*takes, *gives)
    arrays = [emitter.cast(operand, loop_dtype) for operand, loop_dtype in zip(operands, takes, strict=True)]
    if own is not None:
        result = own(emitter, *arrays)
        if result is not NotImplemented:
            return result
    return emitter.cast(emitter.elementwise(name, *arrays), gives[0])


def _compare_whole(emitter: Emitter, name: str, *operands: Operand) -> Array:
    """Compare int64 with uint64, of which neither holds the other's values: by sign first."""
    signs = ["i" if not isinstance(operand, Array) else operand.dtype.kind for operand in operands]
    if sorted(signs) != ["i", "u"] or not all(isinstance(operand, Array) for operand in operands):
        raise NotLowered("it compares a number with integers that cannot be it")
    first, second = (emitter.cast(item, "int64" if sign == "i" else "uint64") for item, sign in zip(operands, signs))  # noqa: B905
    is_below = emitter.elementwise("less", first if signs[0] == "i" else second, constant(0, "int64"))
    plain = emitter.elementwise(name, emitter.cast(first, "uint64"), emitter.cast(second, "uint64"))
    # What is below 0 is less than all that is not.
    holds = name == "not_equal" or name.startswith("less" if signs[0] == "i" else "greater")
    return emitter.elementwise("where", is_below, constant(holds), plain)


@lowers_ufunc("positive", "conjugate", "conj")
def _same(emitter: Emitter, array: Array) -> Array:
    return array


@lowers_ufunc("floor", "ceil", "trunc")
def _rounded(emitter: Emitter, array: Array) -> Any:
    return array if array.dtype.kind in "biu" else NotImplemented


@lowers_ufunc("absolute")
def _absolute(emitter: Emitter, array: Array) -> Any:
    return array if array.dtype.kind in "bu" else NotImplemented


@lowers_ufunc("isnan", "isinf")
def _never(emitter: Emitter, array: Array) -> Any:
    return NotImplemented if array.dtype.kind == "f" else _filled(emitter, False, array)


@lowers_ufunc("isfinite")
def _always(emitter: Emitter, array: Array) -> Any:
    return NotImplemented if array.dtype.kind == "f" else _filled(emitter, True, array)


def _filled(emitter: Emitter, value: Any, like: Array) -> Array:
    return emitter.broadcast(constant(value), like.shape)


@lowers_ufunc("fmax")
def _fmax(emitter: Emitter, first: Array, second: Array) -> Any:
    return NotImplemented if first.dtype.kind == "f" else emitter.elementwise("maximum", first, second)


@lowers_ufunc("fmin")
def _fmin(emitter: Emitter, first: Array, second: Array) -> Any:
    return NotImplemented if first.dtype.kind == "f" else emitter.elementwise("minimum", first, second)


@lowers_ufunc("power")
def _power(emitter: Emitter, base: Array, exponent: Array) -> Any:
    if base.dtype.kind == "i" and (exponent.value is None or bool((exponent.value < 0).any())):
        raise NotLowered("powers of integers refuse negative exponents")
    if exponent.value is not None and exponent.size == 1 and not exponent.shape and exponent.value == 2:
        return emitter.elementwise("square", base)
    return NotImplemented


@lowers_ufunc("float_power")
def _float_power(emitter: Emitter, base: Array, exponent: Array) -> Array:
    return emitter.elementwise("power", base, exponent)


@lowers_ufunc("expit")
def _expit(emitter: Emitter, array: Array) -> Array:
    """SciPy's logistic function."""
    unit = constant(1, array.dtype)
    power = emitter.elementwise("exp", emitter.elementwise("negative", array))
    return emitter.elementwise("divide", unit, emitter.elementwise("add", unit, power))


@lowers_ufunc("divmod")
def _divmod(emitter: Emitter, first: Array, second: Array) -> tuple[Array, Array]:
    return emitter.elementwise("floor_divide", first, second), emitter.elementwise("remainder", first, second)


@lowers_ufunc("modf")
def _modf(emitter: Emitter, array: Array) -> tuple[Array, Array]:
    whole = emitter.elementwise("trunc", array)
    fraction = emitter.elementwise("subtract", array, whole)
    zero = constant(0, array.dtype)
    fraction = emitter.elementwise("where", emitter.elementwise("isinf", array), zero, fraction)
    return emitter.elementwise("copysign", fraction, array), whole
