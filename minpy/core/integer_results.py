"""Results of MXNet's operators for integers and booleans, where NumPy would return floating point, or raise an error.

The result for integers has their dtype: it is computed in floating point, float32 at least, and truncated. Booleans, of
which MXNet refuses most, count as 0 and 1 in float32 where NumPy returns floating point, or raises an error. This is
for calls whose plain result is one of these, so that no other call pays for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

__all__ = ["in_their_dtype", "refused"]

Compute = Callable[[list[Any]], Any]


def in_their_dtype(compute: Compute, raws: Sequence[Any], result: Any) -> Any:
    """Return the result for arrays, if they hold integers or booleans; numbers beside them are cast first.

    `result`: what `compute` returned for `raws`, arrays and numbers: in floating point.
    """
    dtype = _common_dtype(raws)
    if dtype is None:
        return result
    if dtype.kind == "b":
        return numpy.asarray(compute(_cast(raws, numpy.float32))).astype(numpy.float32, copy=False)
    if any(type(raw) is not numpy.ndarray for raw in raws):
        raws = [numpy.asarray(raw).astype(dtype) for raw in raws]
        result = numpy.asarray(compute(list(raws)))
    if dtype.itemsize < 4 and result.dtype.kind == "f":  # NumPy's is float16, and steps on the way may have overflowed
        result = numpy.asarray(compute(_cast(raws, numpy.float32)))
    return result.astype(dtype, copy=False)


def refused(compute: Compute, raws: Sequence[Any]) -> numpy.ndarray | None:
    """Return the result for arrays that NumPy refused (`-mask`, `2 ** -1`); None if they are not such arrays."""
    dtype = _common_dtype(raws)
    if dtype is None:
        return None
    is_boolean = dtype.kind == "b"
    try:
        result = numpy.asarray(compute(_cast(raws, numpy.float32 if is_boolean else numpy.float64)))
    except Exception:  # the first failure says what is wrong
        return None
    return result if is_boolean else result.astype(dtype)


def _common_dtype(raws: Sequence[Any]) -> numpy.dtype | None:
    """Return the dtype of arrays, if all of them hold integers or booleans."""
    dtypes = [raw.dtype for raw in raws if type(raw) is numpy.ndarray]
    if not dtypes or any(dtype.kind not in "iub" for dtype in dtypes):
        return None
    return numpy.result_type(*dtypes)


def _cast(raws: Sequence[Any], dtype: Any) -> list[Any]:
    return [raw.astype(dtype) if type(raw) is numpy.ndarray else raw for raw in raws]
