"""The shape and dtype of a step's result, and whether it is a scalar, found without computing it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy

__all__ = ["VALUE_BASED", "Fact", "fact_of", "invertible", "large", "reduced", "shrunken", "tiny"]

# Before NumPy 2, what a 0-d operand does to the dtype of a result depends on its value.
VALUE_BASED = int(numpy.__version__.split(".")[0]) < 2


class Fact(NamedTuple):
    """A result: its shape and dtype, and whether it is a scalar of NumPy's instead of an array."""

    shape: tuple[int, ...]
    dtype: numpy.dtype
    scalar: bool


def fact_of(sample: Any) -> Fact:
    """Return the fact of an array or a scalar."""
    array = numpy.asarray(sample)
    return Fact(array.shape, array.dtype, not isinstance(sample, numpy.ndarray))


def tiny(fact: Any) -> Any:
    """Return an array of one element with a fact's dtype and number of axes."""
    if fact.scalar:
        return fact.dtype.type(1)
    return numpy.ones((1,) * len(fact.shape), fact.dtype)


def large(fact: Any) -> Any:
    """Return an array of a fact's shape that takes no memory: ones; zeros for integers, which may be indices."""
    value = fact.dtype.type(0 if fact.dtype.kind in "iu" else 1)
    return value if fact.scalar else numpy.broadcast_to(numpy.asarray(value), fact.shape)


def invertible(sample: Any, kind: str) -> Any:
    """Return a sample that equations have a solution with: those of ones only have none.

    `kind`: 'regular': the square matrices in the last two axes have an inverse; 'solve': the matrix of all axes
    together, as `linalg.tensorsolve` takes it, has one; 'distinct': all elements differ.
    """
    if not isinstance(sample, numpy.ndarray):
        return sample
    if kind == "distinct":
        return numpy.arange(sample.size).astype(sample.dtype).reshape(sample.shape)
    if sample.ndim < 2:
        return sample
    count = math.isqrt(sample.size)
    if kind == "solve" and count * count == sample.size:
        return numpy.eye(count, dtype=sample.dtype).reshape(sample.shape)
    if sample.shape[-1] != sample.shape[-2]:
        return sample
    return sample + numpy.eye(sample.shape[-1], dtype=sample.dtype)


def shrunken(function: Callable[..., Any], facts: Sequence[Any]) -> Fact:
    """Return the fact of a product (`dot`, `einsum`, ...): each length of its result is one of its operands'.

    It is computed with small lengths in place of the large ones.
    """
    lengths = sorted({length for fact in facts for length in fact.shape if length > 1})
    small = {length: 2 + position for position, length in enumerate(lengths)}
    back = {value: key for key, value in small.items()}
    samples = [
        fact.dtype.type(1)
        if fact.scalar
        else numpy.ones(tuple(small.get(length, length) for length in fact.shape), fact.dtype)
        for fact in facts
    ]
    result = fact_of(function(*samples))
    return result._replace(shape=tuple(back.get(length, length) for length in result.shape))


def reduced(function: Callable[..., Any], fact: Any, axis: Any, keepdims: bool) -> Fact:
    """Return the fact of a reduction of an array of that fact along some axes (None: all)."""
    result = fact_of(function(tiny(fact)))
    count = len(fact.shape)
    axes = range(count) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    reduced_axes = {int(position) % max(count, 1) for position in axes}
    if keepdims:
        shape = tuple(1 if position in reduced_axes else length for position, length in enumerate(fact.shape))
    else:
        shape = tuple(length for position, length in enumerate(fact.shape) if position not in reduced_axes)
    if len(shape) != len(result.shape):
        raise ValueError("not a reduction")
    return Fact(shape, result.dtype, result.scalar)
