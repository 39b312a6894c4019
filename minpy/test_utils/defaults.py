"""Contexts, dtypes and tolerances that tests use where none are given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy

from minpy.context import Context, current_context, num_gpus, resolve_context, set_current_context

__all__ = [
    "default_context",
    "default_dtype",
    "default_numeric_eps",
    "get_atol",
    "get_rtol",
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
