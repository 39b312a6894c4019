"""Casts as instructions of LLVM.

Floats that an integer type does not hold are undefined in C; NumPy gives what its loops were compiled to. Here they are
what those give on x86-64 one by one, on every processor: int32 and int64 the lowest number, smaller integers and uint32
the low bits of a cast to int32 and int64, uint64 that of a cast to int64 of what is below 2**63, and NaN as the others.
"""

from __future__ import annotations

import numpy

from minpy.backends.native.kernels.function_writer import Writer, literal, value_type

__all__ = ["cast"]


def cast(writer: Writer, value: str, source: numpy.dtype, target: numpy.dtype) -> str:
    """Write a cast of a value, and return the name of the result."""
    first, second = value_type(source), value_type(target)
    if source == target:
        return value
    if target.kind == "b":
        zero = "fcmp une" if source.kind == "f" else "icmp ne"
        return writer.put(f"{zero} {first} {value}, {'0.0' if source.kind == 'f' else '0'}")
    if source.kind == "f":
        if target.kind == "f":
            return writer.put(f"{'fpext' if second == 'double' else 'fptrunc'} {first} {value} to {second}")
        return _to_integer(writer, value, source, target)
    if target.kind == "f":
        return writer.put(f"{'sitofp' if source.kind == 'i' else 'uitofp'} {first} {value} to {second}")
    if first == second:
        return value
    if source.kind != "b" and source.itemsize > target.itemsize:
        return writer.put(f"trunc {first} {value} to {second}")
    return writer.put(f"{'sext' if source.kind == 'i' else 'zext'} {first} {value} to {second}")


def _to_integer(w: Writer, value: str, source: numpy.dtype, target: numpy.dtype) -> str:
    kind = value_type(source)
    if target == numpy.dtype("uint64"):
        half = literal(2.0**63, source)
        above = w.put(f"fcmp oge {kind} {value}, {half}")
        rest = w.put(f"fsub {kind} {value}, {half}")
        lower = w.put(f"select i1 {above}, {kind} {rest}, {kind} {value}")
        result = _to_signed(w, lower, source, 64)
        upper = w.put(f"xor i64 {result}, {-(2**63)}")
        return w.put(f"select i1 {above}, i64 {upper}, i64 {result}")
    bits = 64 if target.itemsize == 8 or target == numpy.dtype("uint32") else 32
    result = _to_signed(w, value, source, bits)
    return w.put(f"trunc i{bits} {result} to {value_type(target)}") if bits > 8 * target.itemsize else result


def _to_signed(w: Writer, value: str, source: numpy.dtype, bits: int) -> str:
    kind = value_type(source)
    limit = 2.0 ** (bits - 1)
    below = w.put(f"fcmp olt {kind} {value}, {literal(limit, source)}")
    above = w.put(f"fcmp oge {kind} {value}, {literal(-limit, source)}")
    inside = w.put(f"and i1 {below}, {above}")
    result = w.put(f"fptosi {kind} {value} to i{bits}")
    return w.put(f"select i1 {inside}, i{bits} {result}, i{bits} {-(2 ** (bits - 1))}")
