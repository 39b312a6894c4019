"""What the operands and the indices of an `NDArray` may be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from minpy.core.array import Array
from minpy.core.errors import ArgumentError, describe

__all__ = ["BASIC", "NUMBERS", "SCALARS", "as_dtype_of", "kept_key", "key_text", "operand", "raw_key"]

SCALARS = (int, float, bool)
# The types of what a key that selects a view is mostly made of; see `indexing.is_basic`.
BASIC = frozenset((int, slice, type(None), type(...)))
# What may stand beside an array of integers as an attribute, too.
NUMBERS = frozenset((int, float, *(numpy.dtype(code).type for code in "bBhHiIlLqQefd")))


def operand(value: Any, array: Any) -> Any:
    """Return the other operand of an array as dispatch takes it; NotImplemented for what is no operand."""
    if isinstance(value, Array):
        return value
    if isinstance(value, numpy.generic):
        value = value.item()
    if type(value) in SCALARS:
        return as_dtype_of(value, array._data.dtype)
    if isinstance(value, (list, tuple)):
        raise ArgumentError(
            f"an NDArray and a {type(value).__name__} cannot be operands of one operation. Convert it with nd.array()."
        )
    if isinstance(value, (str, bytes, type(None), Sequence, dict)):
        return NotImplemented
    return value


def as_dtype_of(value: Any, dtype: numpy.dtype) -> numpy.ndarray:
    """Return a number in the dtype of the array beside it; but for numbers that booleans cannot hold."""
    if dtype.kind == "b" and type(value) is not bool:
        dtype = numpy.dtype(numpy.int64 if type(value) is int else numpy.float32)
    return numpy.asarray(value).astype(dtype)


def raw_key(key: Any) -> Any:
    """Return an index with NumPy values in place of arrays; float arrays index by their integer values."""
    if isinstance(key, tuple):
        return tuple(raw_key(part) for part in key)
    if isinstance(key, Array):
        data = key._data
        return data if data.dtype.kind in "iub" else data.astype(numpy.int64)
    if isinstance(key, list):
        return [raw_key(part) for part in key] if any(isinstance(part, Array) for part in key) else key
    return key


def kept_key(key: Any) -> Any:
    """Return an index that stays what it is when the arrays in it are changed."""
    if isinstance(key, (numpy.ndarray, list)):
        return key.copy()
    if type(key) is slice:
        bounds = (key.start, key.stop, key.step)
        return slice(*[_as_bound(bound) for bound in bounds])
    return tuple(map(kept_key, key)) if isinstance(key, tuple) else key


def _as_bound(bound: Any) -> Any:
    """Return a bound of a slice; a number in place of an array of one."""
    return bound.__index__() if isinstance(bound, Array) else bound  # type: ignore[attr-defined]


def key_text(key: Any) -> str:
    """Return an index as it is written in source, for messages: `2, 1:3, ...`."""
    parts = key if isinstance(key, tuple) else (key,)
    texts = []
    for part in parts:
        if isinstance(part, slice):
            ends = ["" if end is None else str(end) for end in (part.start, part.stop)]
            texts.append(":".join(ends) + (f":{part.step}" if part.step is not None else ""))
        else:
            texts.append(
                "..." if part is Ellipsis else describe(part) if isinstance(part, numpy.ndarray) else repr(part)
            )
    return ", ".join(texts)
