"""Functions of integers and bools as instructions of LLVM: they wrap, and no operand makes them fail, as in NumPy."""

from __future__ import annotations

from collections.abc import Callable

import numpy

from minpy.backends.native.kernels.function_writer import Writer, value_type

__all__ = ["INTEGERS", "power_source", "power_symbol"]

Write = Callable[..., str]


def _is_signed(dtype: numpy.dtype) -> bool:
    return dtype.kind == "i"


def _lowest(dtype: numpy.dtype) -> int:
    return int(numpy.iinfo(dtype).min)


def _plain(instruction: str, bools: str | None = None) -> Write:
    def written(w: Writer, dtype: numpy.dtype, a: str, b: str) -> str:
        return w.put(f"{bools if bools and dtype.kind == 'b' else instruction} {value_type(dtype)} {a}, {b}")

    return written


def _compared(comparison: str) -> Write:
    def written(w: Writer, dtype: numpy.dtype, a: str, b: str) -> str:
        sign = "" if comparison in ("eq", "ne") else "s" if _is_signed(dtype) else "u"
        return w.put(f"icmp {sign}{comparison} {value_type(dtype)} {a}, {b}")

    return written


def _chosen(comparison: str, bools: str) -> Write:
    def written(w: Writer, dtype: numpy.dtype, a: str, b: str) -> str:
        if dtype.kind == "b":
            return w.put(f"{bools} i1 {a}, {b}")
        kind = value_type(dtype)
        first = _compared(comparison)(w, dtype, a, b)
        return w.put(f"select i1 {first}, {kind} {a}, {kind} {b}")

    return written


def _negative(w: Writer, dtype: numpy.dtype, a: str) -> str:
    return w.put(f"sub {value_type(dtype)} 0, {a}")


def _absolute(w: Writer, dtype: numpy.dtype, a: str) -> str:
    if not _is_signed(dtype):
        return a
    kind = value_type(dtype)
    below = w.put(f"icmp slt {kind} {a}, 0")
    return w.put(f"select i1 {below}, {kind} {_negative(w, dtype, a)}, {kind} {a}")


def _sign(w: Writer, dtype: numpy.dtype, a: str) -> str:
    kind = value_type(dtype)
    some = w.put(f"icmp ne {kind} {a}, 0")
    result = w.put(f"zext i1 {some} to {kind}")
    if not _is_signed(dtype):
        return result
    below = w.put(f"icmp slt {kind} {a}, 0")
    return w.put(f"select i1 {below}, {kind} -1, {kind} {result}")


def _reciprocal(w: Writer, dtype: numpy.dtype, a: str) -> str:
    """NumPy casts 1.0 / a: of zero that gives what an infinity gives."""
    kind = value_type(dtype)
    one = w.put(f"icmp eq {kind} {a}, 1")
    result = w.put(f"zext i1 {one} to {kind}")
    if not _is_signed(dtype):
        return result
    minus = w.put(f"icmp eq {kind} {a}, -1")
    result = w.put(f"select i1 {minus}, {kind} -1, {kind} {result}")
    if dtype.itemsize < 4:
        return result
    zero = w.put(f"icmp eq {kind} {a}, 0")
    return w.put(f"select i1 {zero}, {kind} {_lowest(dtype)}, {kind} {result}")


def _divisor(w: Writer, dtype: numpy.dtype, a: str, b: str) -> tuple[str, str, str]:
    """Return whether a divisor is zero, whether the quotient has no place, and a divisor that can be divided by."""
    kind = value_type(dtype)
    zero = w.put(f"icmp eq {kind} {b}, 0")
    refused = zero
    if _is_signed(dtype):
        minus = w.put(f"icmp eq {kind} {b}, -1")
        lowest = w.put(f"icmp eq {kind} {a}, {_lowest(dtype)}")
        both = w.put(f"and i1 {minus}, {lowest}")
        refused = w.put(f"or i1 {zero}, {both}")
    return zero, refused, w.put(f"select i1 {refused}, {kind} 1, {kind} {b}")


def _floor_divide(w: Writer, dtype: numpy.dtype, a: str, b: str) -> str:
    kind = value_type(dtype)
    zero, _, divisor = _divisor(w, dtype, a, b)
    if not _is_signed(dtype):
        result = w.put(f"udiv {kind} {a}, {divisor}")
    else:
        # The lowest number by -1 is divided by 1: it wraps to itself.
        result = w.put(f"sdiv {kind} {a}, {divisor}")
        down = _rounds_down(w, kind, w.put(f"srem {kind} {a}, {divisor}"), divisor)
        result = w.put(f"sub {kind} {result}, {w.put(f'zext i1 {down} to {kind}')}")
    return w.put(f"select i1 {zero}, {kind} 0, {kind} {result}")


def _rounds_down(w: Writer, kind: str, rest: str, divisor: str) -> str:
    some = w.put(f"icmp ne {kind} {rest}, 0")
    signs = w.put(f"xor {kind} {rest}, {divisor}")
    return w.put(f"and i1 {some}, {w.put(f'icmp slt {kind} {signs}, 0')}")


def _remainder(w: Writer, dtype: numpy.dtype, a: str, b: str) -> str:
    kind = value_type(dtype)
    zero, _, divisor = _divisor(w, dtype, a, b)
    if not _is_signed(dtype):
        result = w.put(f"urem {kind} {a}, {divisor}")
    else:
        rest = w.put(f"srem {kind} {a}, {divisor}")
        down = _rounds_down(w, kind, rest, divisor)
        result = w.put(f"select i1 {down}, {kind} {w.put(f'add {kind} {rest}, {divisor}')}, {kind} {rest}")
    return w.put(f"select i1 {zero}, {kind} 0, {kind} {result}")


def _fmod(w: Writer, dtype: numpy.dtype, a: str, b: str) -> str:
    kind = value_type(dtype)
    zero, _, divisor = _divisor(w, dtype, a, b)
    result = w.put(f"{'srem' if _is_signed(dtype) else 'urem'} {kind} {a}, {divisor}")
    return w.put(f"select i1 {zero}, {kind} 0, {kind} {result}")


def _left_shift(w: Writer, dtype: numpy.dtype, a: str, b: str) -> str:
    kind, bits = value_type(dtype), 8 * dtype.itemsize
    inside = w.put(f"icmp ult {kind} {b}, {bits}")
    amount = w.put(f"select i1 {inside}, {kind} {b}, {kind} 0")
    return w.put(f"select i1 {inside}, {kind} {w.put(f'shl {kind} {a}, {amount}')}, {kind} 0")


def _right_shift(w: Writer, dtype: numpy.dtype, a: str, b: str) -> str:
    kind, bits = value_type(dtype), 8 * dtype.itemsize
    inside = w.put(f"icmp ult {kind} {b}, {bits}")
    if _is_signed(dtype):
        return w.put(f"ashr {kind} {a}, {w.put(f'select i1 {inside}, {kind} {b}, {kind} {bits - 1}')}")
    amount = w.put(f"select i1 {inside}, {kind} {b}, {kind} 0")
    return w.put(f"select i1 {inside}, {kind} {w.put(f'lshr {kind} {a}, {amount}')}, {kind} 0")


def _not(w: Writer, dtype: numpy.dtype, a: str) -> str:
    return w.put(f"xor {value_type(dtype)} {a}, {'true' if dtype.kind == 'b' else -1}")


def _power(w: Writer, dtype: numpy.dtype, a: str, b: str) -> str:
    kind = value_type(dtype)
    if b.startswith("%") or int(b) < 0:
        w.uses.add(("power", kind))
        return w.put(f"call {kind} @{power_symbol(kind)}({kind} {a}, {kind} {b})")
    result, square, exponent = "1", a, int(b)
    while exponent:
        if exponent & 1:
            result = square if result == "1" else w.put(f"mul {kind} {result}, {square}")
        exponent >>= 1
        if exponent:
            square = w.put(f"mul {kind} {square}, {square}")
    return result


def power_symbol(kind: str) -> str:
    """Return the name of the function that `power_source` defines."""
    return f"minpy_power_{kind}"


def power_source(kind: str) -> str:
    """Return the definition of a power of integers, by squaring; the exponent is read without a sign.

    >>> power_source("i32").splitlines()[0]
    'define internal i32 @minpy_power_i32(i32 %x, i32 %n) memory(none) nounwind {'
    """
    return f"""define internal {kind} @{power_symbol(kind)}({kind} %x, {kind} %n) memory(none) nounwind {{
entry:
  br label %again
again:
  %result = phi {kind} [ 1, %entry ], [ %next, %again ]
  %square = phi {kind} [ %x, %entry ], [ %squared, %again ]
  %left = phi {kind} [ %n, %entry ], [ %rest, %again ]
  %bit = trunc {kind} %left to i1
  %product = mul {kind} %result, %square
  %next = select i1 %bit, {kind} %product, {kind} %result
  %squared = mul {kind} %square, %square
  %rest = lshr {kind} %left, 1
  %done = icmp eq {kind} %rest, 0
  br i1 %done, label %end, label %again
end:
  ret {kind} %next
}}"""


INTEGERS: dict[str, Write] = {
    "add": _plain("add", bools="or"),
    "subtract": _plain("sub"),
    "multiply": _plain("mul", bools="and"),
    "floor_divide": _floor_divide,
    "remainder": _remainder,
    "fmod": _fmod,
    "power": _power,
    "negative": _negative,
    "absolute": _absolute,
    "sign": _sign,
    "square": lambda w, dtype, a: w.put(f"mul {value_type(dtype)} {a}, {a}"),
    "reciprocal": _reciprocal,
    "invert": _not,
    "logical_not": _not,
    "maximum": _chosen("gt", "or"),
    "minimum": _chosen("lt", "and"),
    "logical_and": _plain("and"),
    "logical_or": _plain("or"),
    "logical_xor": _plain("xor"),
    "bitwise_and": _plain("and"),
    "bitwise_or": _plain("or"),
    "bitwise_xor": _plain("xor"),
    "left_shift": _left_shift,
    "right_shift": _right_shift,
    "greater": _compared("gt"),
    "greater_equal": _compared("ge"),
    "less": _compared("lt"),
    "less_equal": _compared("le"),
    "equal": _compared("eq"),
    "not_equal": _compared("ne"),
}
