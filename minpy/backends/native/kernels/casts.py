"""Casts as instructions of LLVM.

Floats that an integer type does not hold are undefined in C; NumPy gives what its loops were compiled to. Here they are
what those give on x86-64 one by one, on every processor: int32 and int64 the lowest number, smaller integers and uint32
the low bits of a cast to int32 and int64, uint64 that of a cast to int64 of what is below 2**63, and NaN as the others.
"""

from __future__ import annotations

import numpy

from minpy.backends.native.kernels.function_writer import value_type
from minpy.backends.native.mathematics.scalar_function import Value, where

__all__ = ["cast"]


def cast(value: Value, source: numpy.dtype, target: numpy.dtype) -> Value:
    """Write a cast of a value, and return the result."""
    kind = value_type(target)
    if source == target:
        return value
    if target.kind == "b":
        return value.differs(0)
    if source.kind == "f":
        if target.kind == "f":
            return value.converted("fpext" if kind == "double" else "fptrunc", kind)
        return _to_integer(value, target)
    if target.kind == "f":
        return value.converted("sitofp" if value.is_signed else "uitofp", kind)
    if value.type == kind:
        return value
    if source.kind != "b" and source.itemsize > target.itemsize:
        return value.converted("trunc", kind)
    return value.converted("sext" if value.is_signed else "zext", kind)


def _to_integer(value: Value, target: numpy.dtype) -> Value:
    if target == numpy.dtype("uint64"):
        half = 2.0**63
        is_above = value >= half
        result = _to_signed(where(is_above, value - half, value), 64)
        return where(is_above, result ^ -(2**63), result)
    bits = 64 if target.itemsize == 8 or target == numpy.dtype("uint32") else 32
    result = _to_signed(value, bits)
    return result.converted("trunc", value_type(target)) if bits > 8 * target.itemsize else result


def _to_signed(value: Value, bits: int) -> Value:
    limit = 2.0 ** (bits - 1)
    is_inside = (value < limit) & (value >= -limit)
    return where(is_inside, value.converted("fptosi", f"i{bits}"), -(2 ** (bits - 1)))
