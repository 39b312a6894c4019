"""Contexts, dtypes and tolerances that tests use where none are given; the tolerance for two arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy

from minpy.context import Context, current_context, num_gpus, resolve_context, set_current_context
from minpy.core.array import as_raw

__all__ = [
    "default_atols",
    "default_context",
    "default_dtype",
    "default_numeric_eps",
    "default_rtols",
    "effective_dtype",
    "get_atol",
    "get_etol",
    "get_rtol",
    "get_tolerance",
    "get_tols",
    "list_gpus",
    "set_default_context",
]


_RTOL = {"float16": 1e-2, "float32": 1e-4, "float64": 1e-5}
_ATOL = {"float16": 1e-1, "float32": 1e-3, "float64": 1e-20}
EPS = {"float16": 2.0**-6, "float32": 2.0**-9, "float64": 2.0**-14}
_PRECISION = {"complex64": "float32", "complex128": "float64", "longdouble": "float64"}


def default_context() -> Context:
    """Return the context that new arrays get when none is given.

    Examples
    --------
    >>> default_context()
    cpu(0)
    """
    return current_context()


def set_default_context(ctx: Context | str) -> None:
    """Set the context that new arrays of this thread get when none is given.

    Parameters
    ----------
    ctx : Context or str

    Raises
    ------
    ContextError
        If it is no context on which arrays can be made.

    Examples
    --------
    >>> import minpy as mx
    >>> set_default_context(mx.cpu(1))
    >>> mx.nd.zeros(2).context
    cpu(1)
    >>> set_default_context(mx.cpu(0))
    """
    set_current_context(Context(resolve_context(ctx)))


def default_dtype() -> type:
    """Return the dtype of new arrays.

    Examples
    --------
    >>> default_dtype().__name__
    'float32'
    """
    return numpy.float32


def default_numeric_eps(dtype: Any = None) -> Any:
    """Return the step that finite differences take in a dtype; without one, those of all as a dict.

    Examples
    --------
    >>> default_numeric_eps('float32')
    0.001953125
    """
    table = {numpy.dtype(name): eps for name, eps in EPS.items()}
    return table if dtype is None else table[numpy.dtype(dtype)]


def list_gpus() -> range:
    """Return the numbers of the GPUs that arrays can be made on.

    Examples
    --------
    >>> list(list_gpus())
    []
    """
    return range(num_gpus())


def get_rtol(rtol: float | None = None, dtype: Any = numpy.float64) -> float:
    """Return a relative tolerance: the given one, or else that of a dtype, which is 0 for integers.

    Examples
    --------
    >>> get_rtol(), get_rtol(dtype='float32'), get_rtol(1e-3), get_rtol(dtype='int32')
    (1e-05, 0.0001, 0.001, 0.0)
    """
    return rtol if rtol is not None else _tolerance(_RTOL, dtype)


def get_atol(atol: float | None = None, dtype: Any = numpy.float64) -> float:
    """Return an absolute tolerance: the given one, or else that of a dtype, which is 0 for integers.

    Examples
    --------
    >>> get_atol(), get_atol(dtype='float32'), get_atol(1e-3), get_atol(dtype='int32')
    (1e-20, 0.001, 0.001, 0.0)
    """
    return atol if atol is not None else _tolerance(_ATOL, dtype)


def _tolerance(table: Mapping[str, float], dtype: Any) -> float:
    name = numpy.dtype(dtype).name
    return table.get(_PRECISION.get(name, name), 0.0)


_NAMES = ("float16", "float32", "float64", "bool", "int8", "uint8", "int32", "uint32", "int64", "uint64")


def default_rtols() -> dict[numpy.dtype, float]:
    """Return the relative tolerances of comparisons, by dtype.

    Examples
    --------
    >>> default_rtols()[numpy.dtype('float32')]
    0.0001
    """
    return {numpy.dtype(name): get_rtol(dtype=name) for name in _NAMES}


def default_atols() -> dict[numpy.dtype, float]:
    """Return the absolute tolerances of comparisons, by dtype.

    Examples
    --------
    >>> default_atols()[numpy.dtype('float16')]
    0.1
    """
    return {numpy.dtype(name): get_atol(dtype=name) for name in _NAMES}


def effective_dtype(dat: Any) -> numpy.dtype:
    """Return the dtype that tells how exact an array is: its own, as there are no reduced precisions on a CPU.

    Examples
    --------
    >>> effective_dtype(numpy.zeros(2, 'float16'))
    dtype('float16')
    """
    return as_raw(dat).dtype


def get_tolerance(dat: Any, tol: Any, default_tol: Mapping[numpy.dtype, float]) -> float:
    """Return the tolerance for an array: a given one, for all or by dtype, or else the default of its dtype.

    Examples
    --------
    >>> get_tolerance(numpy.zeros(2, 'float32'), None, default_rtols())
    0.0001
    >>> get_tolerance(numpy.zeros(2, 'float32'), {numpy.dtype('float32'): 0.1}, default_rtols())
    0.1
    """
    if isinstance(tol, (int, float, numpy.number)):
        return float(tol)
    dtype = effective_dtype(dat)
    if tol is not None and dtype in tol:
        return float(tol[dtype])
    return default_tol.get(dtype, 0.0)


def get_tols(x: Any, y: Any, rtol: Any, atol: Any) -> tuple[float, float]:
    """Return the relative and absolute tolerance for comparing two arrays: the larger one of both, each.

    Examples
    --------
    >>> get_tols(numpy.zeros(2, 'float32'), numpy.zeros(2, 'float16'), None, None)
    (0.01, 0.1)
    """
    relative = max(get_tolerance(array, rtol, default_rtols()) for array in (x, y))
    return relative, max(get_tolerance(array, atol, default_atols()) for array in (x, y))


def get_etol(etol: float | None = None) -> float:
    """Return the share of elements that may be wrong: the given one, or else 0."""
    return 0 if etol is None else etol
