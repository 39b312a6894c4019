"""What reductions begin with, how they take in a value, and how vectors of partial results become one."""

from __future__ import annotations

import numpy

from minpy.backends.native.kernels.function_writer import Writer, literal

__all__ = ["combined", "folded", "identity", "is_better", "is_summed"]


def is_summed(function: str, dtype: numpy.dtype) -> bool:
    """Tell whether a reduction is a sum of floats, whose order matters for its error."""
    return function == "sum" and dtype.kind == "f"


def identity(function: str, dtype: numpy.dtype) -> str:
    """Return, as a literal, what a reduction begins with.

    >>> identity("max", numpy.dtype("int8")), identity("min", numpy.dtype("float64"))
    ('-128', '0x7FF0000000000000')
    """
    if function in ("sum", "any"):
        return literal(0, dtype)
    if function in ("prod", "all"):
        return literal(1, dtype)
    lowest = function.endswith("max")
    if dtype.kind == "f":
        return literal(-numpy.inf if lowest else numpy.inf, dtype)
    if dtype.kind == "b":
        return literal(not lowest, dtype)
    bounds = numpy.iinfo(dtype)
    return literal(bounds.min if lowest else bounds.max, dtype)


def is_better(writer: Writer, function: str, dtype: numpy.dtype, kind: str, value: str, best: str) -> str:
    """Write whether 'argmax' or 'argmin' moves on to a value: to a larger one, or to the first NaN."""
    more = "gt" if function.endswith("max") else "lt"
    if dtype.kind != "f":
        return writer.put(f"icmp {'s' if dtype.kind == 'i' else 'u'}{more} {kind} {value}, {best}")
    # Larger, or one of them NaN; which must not be the old one.
    result = writer.put(f"fcmp u{more} {kind} {value}, {best}")
    number = writer.put(f"fcmp ord {kind} {best}, {best}")
    return writer.put(f"and {_bits(kind)} {result}, {number}")


def _bits(kind: str) -> str:
    """Return the type of comparisons of a type."""
    return f"{kind.partition(' x ')[0]} x i1>" if kind.startswith("<") else "i1"


def combined(writer: Writer, function: str, dtype: numpy.dtype, kind: str, first: str, second: str) -> str:
    """Write what a reduction makes of two values, or of two vectors: `kind` is their type."""
    bits = _bits(kind)
    if function == "sum" or function == "prod":
        instruction = {"sum": "add", "prod": "mul"}[function]
        return writer.put(f"{'f' if dtype.kind == 'f' else ''}{instruction} {kind} {first}, {second}")
    if function in ("any", "all"):
        return writer.put(f"{'or' if function == 'any' else 'and'} {kind} {first}, {second}")
    if dtype.kind == "b":
        return writer.put(f"{'or' if function.endswith('max') else 'and'} {kind} {first}, {second}")
    more = "gt" if function.endswith("max") else "lt"
    if dtype.kind == "f":
        suffix = f"v{kind[1:].partition(' ')[0]}f" if kind.startswith("<") else "f"
        name = f"llvm.{'maximum' if function.endswith('max') else 'minimum'}.{suffix}{8 * dtype.itemsize}"
        return writer.intrinsic(name, kind, (kind, first), (kind, second), flags="nsz ")
    is_first = writer.put(f"icmp {'s' if dtype.kind == 'i' else 'u'}{more} {kind} {first}, {second}")
    return writer.put(f"select {bits} {is_first}, {kind} {first}, {kind} {second}")


def folded(writer: Writer, function: str, dtype: numpy.dtype, element: str, vector: str, count: int) -> str:
    """Write what a reduction makes of the elements of a vector, `count` of them, a power of two; return that element.

    Halves are combined again and again, so that sums are pairwise.
    """
    while count > 1:
        whole, half = f"<{count} x {element}>", f"<{count // 2} x {element}>"
        parts = []
        for start in (0, count // 2):
            order = ", ".join(f"i32 {start + k}" for k in range(count // 2))
            parts.append(writer.put(f"shufflevector {whole} {vector}, {whole} poison, <{count // 2} x i32> <{order}>"))
        vector = combined(writer, function, dtype, half, *parts)
        count //= 2
    return writer.put(f"extractelement <1 x {element}> {vector}, i64 0")
