"""Numbers as users give them, made into NumPy arrays: lists, scalars, arrays; or the error that says what is none."""

from __future__ import annotations

from typing import Any

import numpy

from minpy.core import aligned
from minpy.core.array import Array
from minpy.core.errors import ArgumentError, DTypeError, MXNetError, describe

__all__ = ["filled", "numeric_array", "wrapped"]

_NUMBERS = frozenset((int, float, bool))


def numeric_array(source: Any, dtype: Any, wraps: bool = True) -> numpy.ndarray:
    """Return a fresh NumPy array of a dtype, or raise the error that says which element is no number.

    Integers that the dtype cannot hold wrap around, as in MXNet; with `wraps=False` they are what NumPy makes of them.
    """
    source = _plain(source)
    try:
        dtype = numpy.dtype(dtype)
    except TypeError:
        raise DTypeError(f"nd.array: unknown dtype {dtype!r}; give a numeric dtype such as 'float32'.") from None
    if dtype.kind not in "fciub":
        raise DTypeError(f"nd.array: dtype {dtype} does not hold numbers; give a numeric dtype such as 'float32'.")
    try:
        array = numpy.asarray(source)
        if source is not None and array.dtype.kind not in "fiub" and (array.dtype.kind != "c" or dtype.kind != "c"):
            _refuse_element(array, dtype)
        if wraps and dtype.kind in "iu" and array.dtype.kind in "iub":  # numbers that do not fit wrap around
            return array.astype(dtype)
        if wraps and dtype.kind in "iu" and array.dtype.kind == "f" and not isinstance(source, numpy.ndarray):
            return _truncated(array, dtype)
        if dtype.kind in "fc":
            return aligned.copied(array, dtype)
        return numpy.array(source, dtype=dtype)
    except OverflowError:
        if not wraps:
            raise
        raise DTypeError(
            f"nd.array: {describe(source)} holds integers of more than 64 bits, which no dtype does."
        ) from None
    except (ValueError, TypeError) as error:
        raise error if isinstance(error, MXNetError) else _explain(source, error) from None


def _truncated(data: numpy.ndarray, dtype: numpy.dtype) -> numpy.ndarray:
    """Return floating-point numbers as integers: fractions are cut off, and what does not fit wraps around."""
    bounds = numpy.iinfo(dtype)
    if ((data >= bounds.min) & (data <= bounds.max)).all():
        return data.astype(dtype)
    wraps = numpy.abs(data) < 2.0**63
    if not wraps.all():
        raise DTypeError(
            f"nd.array: the value {data.reshape(-1)[numpy.argmin(wraps)]} is no {dtype} number. Give a floating-point "
            "dtype."
        )
    return data.astype(numpy.int64).astype(dtype)


def _refuse_element(data: numpy.ndarray, dtype: numpy.dtype) -> None:
    """Raise for the first element that is no number of the dtype."""
    from decimal import Decimal  # few programs have such numbers, or an error here
    from fractions import Fraction

    kinds: tuple[type, ...] = (int, float, numpy.number, numpy.bool_, Decimal, Fraction)
    if dtype.kind == "c":
        kinds += (complex,)
    several = [element if isinstance(element, (list, tuple, numpy.ndarray)) else None for element in data.flat]
    lengths = _ragged([*data]) if data.ndim and any(element is not None for element in several) else None
    if lengths is not None:
        raise _ragged_error(lengths)
    for index in numpy.ndindex(data.shape):
        element = data[index]
        if not isinstance(element, kinds) or (isinstance(element, numpy.complexfloating) and dtype.kind != "c"):
            where = f"element [{', '.join(map(str, index))}]" if index else "the value"
            if isinstance(element, (complex, numpy.complexfloating)):
                advice = "Give dtype='complex64', or take numpy.real or numpy.abs of it."
            elif element is None:
                advice = "Leave it out, or write float('nan')."
            else:
                advice = "Convert it to a number first."
            raise DTypeError(f"nd.array: {where} is {_value_text(element)}, which is no {dtype} number. {advice}")


def _value_text(element: Any) -> str:
    """Return the kind and value of an element, for messages."""
    if element is None:
        return "None"
    element = element.item() if isinstance(element, numpy.generic) else element
    return describe(element)


def _plain(source: Any) -> Any:
    if isinstance(source, Array):
        return source._data
    if not isinstance(source, (list, tuple)) or _NUMBERS.issuperset(map(type, source)):
        return source
    if any(issubclass(cls, (Array, list, tuple)) for cls in {*map(type, source)}):
        return [_plain(item) for item in source]
    return source


def _explain(source: Any, error: Exception) -> Exception:
    lengths = _ragged(source)
    if lengths is not None:
        return _ragged_error(lengths)
    return DTypeError(f"nd.array: cannot make numbers of {describe(source)}: {error}.")


def _ragged_error(lengths: tuple[str, Any, Any, int]) -> ArgumentError:
    where, first, second, position = lengths
    return ArgumentError(
        f"nd.array: the nested lists are ragged: source{where}[0] {first}, source{where}[{position}] {second}. "
        "Make all rows equally long (pad them), or keep a list of arrays."
    )


def _ragged(source: Any, where: str = "") -> tuple[str, Any, Any, int] | None:
    """Return (path, first length, other length, position) of the first place where lengths differ."""
    if not isinstance(source, (list, tuple)):
        return None
    lengths = [
        f"has length {len(item)}" if isinstance(item, (list, tuple)) or numpy.ndim(item) else "is no list"
        for item in source
    ]
    for position, length in enumerate(lengths):
        if length != lengths[0]:
            return where, lengths[0], length, position
    for position, item in enumerate(source):
        problem = _ragged(item, f"{where}[{position}]")
        if problem is not None:
            return problem
    return None


def wrapped(source: Any, dtype: numpy.dtype) -> Any:
    """Return integers as an array of an integer dtype, in which they wrap around; anything else as it is."""
    array = numpy.asarray(source)
    return array.astype(dtype) if array.dtype.kind in "iub" else source


def filled(shape: Any, value: Any, dtype: Any) -> numpy.ndarray:
    """Return a NumPy array filled with a value; integers that its dtype cannot hold wrap around, as in arrays."""
    return numpy.full(shape, numeric_array(value, dtype) if numpy.dtype(dtype).kind in "iu" else value, dtype)
