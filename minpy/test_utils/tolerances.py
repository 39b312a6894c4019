"""Tolerances by dtype, and for pairs of arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy

from minpy.core.array import as_raw
from minpy.test_utils.defaults import get_atol, get_rtol

__all__ = ["default_atols", "default_rtols", "effective_dtype", "get_etol", "get_tolerance", "get_tols"]

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
