"""Making NDArrays: `array`, `zeros`, `ones`, `full`, `arange`, ... float32 unless a dtype is given."""

from __future__ import annotations

from typing import Any

import numpy

from minpy.core.array import Array
from minpy.core.context import Context, resolve_context
from minpy.core.errors import ArgumentError, DTypeError, describe
from minpy.ndarray.borrowing import lend
from minpy.ndarray.ndarray import NDArray, place

__all__ = ["arange", "array", "empty", "eye", "full", "linspace", "ones", "waitall", "zeros"]


def array(source_array: Any, ctx: Context | None = None, dtype: Any = None) -> NDArray:
    """Return an NDArray with the values of a list, number, NumPy array or NDArray.

    Parameters
    ----------
    source_array : array_like
    ctx : Context, optional
        The device; this thread's default if left out.
    dtype : dtype, optional
        By default the source's if it is an NDArray, else float32.

    Raises
    ------
    ArgumentError
        If the nesting is ragged.
    DTypeError
        If an element is not a number.

    Examples
    --------
    >>> from minpy import nd
    >>> nd.array([1, 2, 3]).dtype
    <class 'numpy.float32'>
    """
    if isinstance(source_array, Array):
        dtype = source_array._data.dtype if dtype is None else dtype
        source_array = source_array._data
    dtype = numpy.float32 if dtype is None else dtype
    shared = lend(source_array, dtype)
    data = shared if shared is not None else numeric_array(source_array, dtype)
    return place(NDArray, data, resolve_context(ctx))


def numeric_array(source: Any, dtype: Any) -> numpy.ndarray:
    """Return a fresh NumPy array of a dtype, or raise the error that says which element does not fit."""
    source = _plain(source)
    try:
        data = numpy.array(source, dtype=dtype)
    except (ValueError, TypeError) as error:
        raise _explain(source, error) from None
    if data.dtype.kind not in "fciub":
        raise DTypeError(f"nd.array: dtype {data.dtype} does not hold numbers; give a numeric dtype such as 'float32'.")
    return data


def _plain(source: Any) -> Any:
    if isinstance(source, Array):
        return source._data
    if isinstance(source, (list, tuple)) and any(isinstance(item, (Array, list, tuple)) for item in source):
        return [_plain(item) for item in source]
    return source


def _explain(source: Any, error: Exception) -> Exception:
    lengths = _ragged(source)
    if lengths is not None:
        where, first, other, position = lengths
        return ArgumentError(
            f"nd.array: the nested lists are ragged: source{where}[0] has length {first}, source{where}[{position}] has "
            f"{other}. Make all rows equally long (pad them), or keep a list of arrays."
        )
    return DTypeError(f"nd.array: cannot make numbers of {describe(source)}: {error}.")


def _ragged(source: Any, where: str = "") -> tuple[str, Any, Any, int] | None:
    """Return (path, first length, other length, position) of the first place where lengths differ."""
    if not isinstance(source, (list, tuple)):
        return None
    lengths = [len(item) if isinstance(item, (list, tuple, numpy.ndarray)) else "a number" for item in source]
    for position, length in enumerate(lengths):
        if length != lengths[0]:
            return where, lengths[0], length, position
    for position, item in enumerate(source):
        found = _ragged(item, f"{where}[{position}]")
        if found is not None:
            return found
    return None


def _shape(shape: Any) -> Any:
    return shape.shape if isinstance(shape, Array) else shape


def empty(shape: int | tuple[int, ...], ctx: Context | None = None, dtype: Any = None) -> NDArray:
    """Return an array whose elements are not set."""
    return place(NDArray, numpy.empty(_shape(shape), dtype or numpy.float32), resolve_context(ctx))


def zeros(shape: int | tuple[int, ...], ctx: Context | None = None, dtype: Any = None, **kwargs: Any) -> NDArray:
    """Return an array of zeros."""
    return place(NDArray, numpy.zeros(_shape(shape), dtype or numpy.float32), resolve_context(ctx))


def ones(shape: int | tuple[int, ...], ctx: Context | None = None, dtype: Any = None, **kwargs: Any) -> NDArray:
    """Return an array of ones."""
    return place(NDArray, numpy.ones(_shape(shape), dtype or numpy.float32), resolve_context(ctx))


def full(shape: int | tuple[int, ...], val: float, ctx: Context | None = None, dtype: Any = None) -> NDArray:
    """Return an array filled with a value."""
    return place(NDArray, numpy.full(_shape(shape), val, dtype or numpy.float32), resolve_context(ctx))


def arange(
    start: float,
    stop: float | None = None,
    step: float = 1.0,
    repeat: int = 1,
    infer_range: bool | None = None,
    ctx: Context | None = None,
    dtype: Any = None,
) -> NDArray:
    """Return evenly spaced values in [start, stop), each `repeat` times; one argument is `stop`."""
    if stop is None:
        start, stop = 0, start
    data = numpy.arange(start, stop, step).astype(dtype or numpy.float32)
    return place(NDArray, numpy.repeat(data, repeat) if repeat != 1 else data, resolve_context(ctx))


def linspace(
    start: float, stop: float, num: int, endpoint: bool = True, ctx: Context | None = None, dtype: Any = None
) -> NDArray:
    """Return `num` evenly spaced values from start to stop."""
    return place(
        NDArray, numpy.linspace(start, stop, num, endpoint=endpoint).astype(dtype or numpy.float32), resolve_context(ctx)
    )


def eye(N: int, M: int = 0, k: int = 0, ctx: Context | None = None, dtype: Any = None) -> NDArray:
    """Return ones on the k-th diagonal of an N x M matrix (M = 0: square), zeros elsewhere."""
    return place(NDArray, numpy.eye(N, M or None, k, dtype or numpy.float32), resolve_context(ctx))


def waitall() -> None:
    """Return at once: operations have finished when they return."""
