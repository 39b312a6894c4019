"""The dtypes that NumPy's functions compute in: promotion, as the NumPy that is there does it.

Since NumPy 2 a number of Python's takes the dtype of the arrays beside it, whatever its value (NEP 50). Before, so does
every array without axes, and its value decides.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from minpy.backends.native.language import Array, constant
from minpy.backends.native.language.function_table import is_supported
from minpy.backends.native.translating.results import NotLowered
from minpy.capture.abstract_evaluation import VALUE_BASED

__all__ = ["Operand", "common_dtype", "converted", "loop_of", "require_supported"]

# An array, or a number of Python's.
Operand = Any


def require_supported(*dtypes: Any) -> None:
    """Refuse dtypes that are not computed with natively.

    Raises NotLowered.
    """
    for dtype in dtypes:
        if not is_supported(dtype):
            raise NotLowered(f"{numpy.dtype(dtype).name} is not computed natively")


def loop_of(
    ufunc: numpy.ufunc, operands: Sequence[Operand], dtype: Any = None
) -> tuple[tuple[numpy.dtype, ...], tuple[numpy.dtype, ...]]:
    """Return the dtypes that a ufunc takes and gives for operands, which are cast to them.

    Raises NotLowered if it takes no such operands, or if the dtypes depend on values that are not known.

    Examples
    --------
    >>> x = Array((3,), numpy.dtype("int32"))
    >>> loop_of(numpy.true_divide, [x, 2])
    ((dtype('float64'), dtype('float64')), (dtype('float64'),))
    >>> loop_of(numpy.multiply, [Array((3,), numpy.dtype("float32")), 0.1])
    ((dtype('float32'), dtype('float32')), (dtype('float32'),))
    """
    try:
        if VALUE_BASED:
            return _decided(operands, lambda *samples: _loop_by_value(ufunc, samples, dtype))
        return _loop(ufunc, tuple(map(_weak, operands)), dtype)
    except TypeError as error:
        raise NotLowered(str(error)) from None


def common_dtype(*operands: Operand) -> numpy.dtype:
    """Return the dtype to which NumPy promotes operands, as in `numpy.where` and `numpy.concatenate`.

    Raises NotLowered.
    """
    try:
        if VALUE_BASED:
            return _decided(operands, numpy.result_type)
        return numpy.result_type(*(operand.dtype if isinstance(operand, Array) else operand for operand in operands))
    except TypeError as error:
        raise NotLowered(str(error)) from None


def converted(number: Any, dtype: Any) -> Array:
    """Return a number of Python's as a constant of a dtype, as NumPy converts it.

    Raises NotLowered if the dtype cannot hold it: NumPy says so when the function runs.
    """
    dtype = numpy.dtype(dtype)
    if dtype.kind in "iu" and isinstance(number, int):
        limits = numpy.iinfo(dtype)
        if not limits.min <= number <= limits.max:
            raise NotLowered(f"{number} is no {dtype.name}")
    try:
        with numpy.errstate(all="ignore"):
            return constant(numpy.array(number).astype(dtype))
    except (OverflowError, TypeError) as error:
        raise NotLowered(str(error)) from None


def _weak(operand: Operand) -> Any:
    """Return what tells a ufunc's loop: a dtype, or the type of a number whose value does not matter."""
    if isinstance(operand, Array):
        return operand.dtype
    if isinstance(operand, bool):
        return numpy.dtype(bool)
    if type(operand) in (int, float, complex):
        return type(operand)
    return numpy.asarray(operand).dtype


@functools.lru_cache(4096)
def _loop(ufunc: Any, inputs: tuple[Any, ...], dtype: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    signature = {} if dtype is None else {"signature": (None,) * ufunc.nin + (numpy.dtype(dtype),) * ufunc.nout}
    result = ufunc.resolve_dtypes(inputs + (None,) * ufunc.nout, **signature)
    return result[: ufunc.nin], result[ufunc.nin :]


def _loop_by_value(ufunc: Any, samples: Sequence[Any], dtype: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return the loop that NumPy 1 chooses: if one has no axes, all of one dtype, which their values decide."""
    dtypes = [numpy.asarray(sample).dtype for sample in samples]
    if not all(map(numpy.ndim, samples)):
        dtypes = [numpy.result_type(*samples)] * len(samples)
    return _loop(ufunc, tuple(dtypes), dtype)


def _decided(operands: Sequence[Operand], choose: Callable[..., Any]) -> Any:
    """Return what a choice by values comes to, if it is the same whatever the unknown values are.

    Raises NotLowered.
    """
    result = []
    for extreme in (False, True):
        choice = choose(*(_sample(operand, extreme) for operand in operands))
        if choice not in result:
            result.append(choice)
    if len(result) > 1:
        raise NotLowered("the dtype of the answer depends on a value: NumPy 2 looks at dtypes only")
    return result[0]


def _sample(operand: Operand, extreme: bool) -> Any:
    if not isinstance(operand, Array):
        return operand
    if operand.value is not None and not operand.shape:
        return operand.value
    dtype = operand.dtype
    value: Any = 1
    if extreme and not operand.shape and dtype.kind in "iufc":
        value = (numpy.iinfo(dtype) if dtype.kind in "iu" else numpy.finfo(dtype)).max
    return numpy.full((1,) * len(operand.shape), value, dtype)
