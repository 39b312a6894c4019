"""What MXNet's operators answer for integers and booleans, where NumPy would give floating point, or refuse.

The answer for integers has their dtype: it is computed in floating point that holds it (float32 at least), and truncated.
Booleans have no such tradition, for MXNet refuses most of them: floating-point answers are in float32, and what NumPy
refuses is computed on 0 and 1 in int64. All of this is for calls that did not give a plain answer, so that no other call
pays for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

__all__ = ["in_their_dtype", "refused"]

Compute = Callable[[list[Any]], Any]


def in_their_dtype(compute: Compute, raws: Sequence[Any], answer: Any) -> numpy.ndarray:
    """Return the answer for arrays, numbers beside which are cast first.

    Parameters
    ----------
    compute : callable
        From such values to an answer.
    raws : sequence
        Arrays and numbers.
    answer : array
        What `compute` answered for them: in floating point.
    """
    dtype = _common_dtype(raws)
    if dtype is None:
        return answer
    if dtype.kind == "b":
        return numpy.asarray(compute(_cast(raws, numpy.float32))).astype(numpy.float32, copy=False)
    if any(type(raw) is not numpy.ndarray for raw in raws):
        raws = [numpy.asarray(raw).astype(dtype) for raw in raws]
        answer = numpy.asarray(compute(raws))
    if answer.dtype == numpy.float16:
        answer = compute(_cast(raws, numpy.float32))
    return numpy.asarray(answer).astype(dtype, copy=False)


def refused(compute: Compute, raws: Sequence[Any]) -> numpy.ndarray | None:
    """Return the answer for arrays that NumPy refused (`-mask`, `2 ** -1`); None if it is refused again, or no wonder."""
    dtype = _common_dtype(raws)
    if dtype is None:
        return None
    try:
        answer = numpy.asarray(compute(_cast(raws, numpy.int64 if dtype.kind == "b" else numpy.float64)))
    except Exception:  # the first failure says what is wrong
        return None
    return answer if dtype.kind == "b" else answer.astype(dtype)


def _common_dtype(raws: Sequence[Any]) -> numpy.dtype | None:
    """Return the dtype of arrays, if all of them hold integers or booleans."""
    dtypes = [raw.dtype for raw in raws if type(raw) is numpy.ndarray]
    if not dtypes or any(dtype.kind not in "iub" for dtype in dtypes):
        return None
    return numpy.result_type(*dtypes)


def _cast(raws: Sequence[Any], dtype: Any) -> list[Any]:
    return [raw.astype(dtype) if type(raw) is numpy.ndarray else raw for raw in raws]
