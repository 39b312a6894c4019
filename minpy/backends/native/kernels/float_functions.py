"""Functions of single elements as instructions of LLVM, with the results of NumPy, NaN and signed zeros included.

Where NumPy's answer depends on how it was compiled, these say what they give: casts of floats to integers that do not
hold them (see `casts`), and the zero that the largest of two zeros of different signs is (the second, as x86 has it).
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence

import numpy

from minpy.backends.native import mathematics
from minpy.backends.native.kernels.casts import cast
from minpy.backends.native.kernels.function_writer import Writer, literal, value_type
from minpy.backends.native.kernels.integer_functions import INTEGERS
from minpy.backends.native.language.function_table import ELEMENTWISE, is_supported

__all__ = ["covers", "flops", "write"]

Write = Callable[..., str]


def covers(function: str, dtype: numpy.dtype) -> bool:
    """Tell whether kernels can compute a function of operands of a dtype; what they cannot has to be a call.

    Powers of integers are those with exponents that are not negative: NumPy refuses others, which no kernel can.

    Examples
    --------
    >>> covers("tanh", numpy.dtype("float32")), covers("tanh", numpy.dtype("int32"))
    (True, False)
    """
    row = ELEMENTWISE.get(function)
    if row is None or not is_supported(dtype) or dtype.kind not in row.kinds:
        return False
    if dtype.kind != "f" or function in _FLOATS or function in ("cast", "copy", "where"):
        return True
    kind = value_type(dtype)
    if mathematics.covers(function, kind):
        return True
    return function in _COMPOSED and all(mathematics.covers(part, kind) for part in _COMPOSED[function][0])


def flops(function: str, dtype: numpy.dtype) -> int:
    """Return about how many operations a function takes, for estimates.

    >>> flops("add", numpy.dtype("float32")), flops("copy", numpy.dtype("float32"))
    (1, 0)
    """
    if function in ("copy", "where", "cast"):
        return 0
    if dtype.kind == "f" and function not in _FLOATS:
        return 20
    return _COSTS.get(function, 1)


_COSTS = {"divide": 4, "sqrt": 4, "reciprocal": 4, "floor_divide": 20, "remainder": 20, "fmod": 20, "power": 20}


def write(
    writer: Writer, function: str, dtype: numpy.dtype, values: Sequence[str], target: numpy.dtype | None = None
) -> str:
    """Write a function of values, and return the name of the result.

    `dtype`: of the operands (of `where`: of the last two). `values`: names, or literals. `target`: what a cast gives.

    Raises ValueError if there is no such function of that dtype.
    """
    kind = value_type(dtype)
    if function == "copy":
        return values[0]
    if function == "cast":
        assert target is not None
        return cast(writer, values[0], dtype, target)
    if function == "where":
        return writer.put(f"select i1 {values[0]}, {kind} {values[1]}, {kind} {values[2]}")
    if dtype.kind != "f":
        if function in INTEGERS and dtype.kind in ELEMENTWISE[function].kinds:
            return INTEGERS[function](writer, dtype, *values)
    elif function in _FLOATS:
        return _FLOATS[function](writer, dtype, *values)
    elif mathematics.covers(function, kind):
        return called(writer, function, kind, *values)
    elif covers(function, dtype):
        return _COMPOSED[function][1](writer, dtype, *values)
    raise ValueError(f"there is no native code for {function} of {dtype}: it has to be a call.")


def called(writer: Writer, function: str, kind: str, *values: str) -> str:
    """Write a call of a function of mathematics."""
    writer.uses.add((function, kind))
    arguments = ", ".join(f"{kind} {value}" for value in values)
    # The tables that some of them read are accesses of the loop, too, once they are inlined.
    return writer.put(f"call {kind} @{mathematics.symbol(function, kind)}({arguments}){writer.mark()}")


# -- floats ----------------------------------------------------------------------------------------------------------


def _plain(instruction: str) -> Write:
    return lambda w, dtype, a, b: w.put(f"{instruction} {value_type(dtype)} {a}, {b}")


def _intrinsic(name: str) -> Write:
    def written(w: Writer, dtype: numpy.dtype, *values: str) -> str:
        kind = value_type(dtype)
        return w.intrinsic(f"llvm.{name}.f{8 * dtype.itemsize}", kind, *((kind, value) for value in values))

    return written


def _scaled(factor: Callable[[type], float]) -> Write:
    return lambda w, dtype, a: w.put(f"fmul {value_type(dtype)} {a}, {literal(factor(dtype.type), dtype)}")


def _chosen(name: str, comparison: str) -> Write:
    """The larger or smaller of two; the first NaN, if there is one; one of equals, the second where that is cheap."""

    def written(w: Writer, dtype: numpy.dtype, a: str, b: str) -> str:
        kind = value_type(dtype)
        if b.startswith("0x") and not _is_nan(b):
            first = w.put(f"fcmp u{comparison} {kind} {a}, {b}")
            return w.put(f"select i1 {first}, {kind} {a}, {kind} {b}")
        if a.startswith("0x") and not _is_nan(a):
            first = w.put(f"fcmp o{comparison} {kind} {a}, {b}")
            return w.put(f"select i1 {first}, {kind} {a}, {kind} {b}")
        return w.intrinsic(f"llvm.{name}.f{8 * dtype.itemsize}", kind, (kind, a), (kind, b), flags="nsz ")

    return written


def _is_nan(text: str) -> bool:
    return math.isnan(struct.unpack(">d", bytes.fromhex(text[2:]))[0])


def _chosen_number(comparison: str) -> Write:
    """The larger or smaller of two, of which one may be NaN."""

    def written(w: Writer, dtype: numpy.dtype, a: str, b: str) -> str:
        kind = value_type(dtype)
        first = w.put(f"fcmp {comparison} {kind} {a}, {b}")
        nan = w.put(f"fcmp uno {kind} {b}, 0.0")
        either = w.put(f"or i1 {first}, {nan}")
        return w.put(f"select i1 {either}, {kind} {a}, {kind} {b}")

    return written


def _sign(w: Writer, dtype: numpy.dtype, a: str) -> str:
    kind = value_type(dtype)
    above, below, nan = (w.put(f"fcmp {test} {kind} {a}, 0.0") for test in ("ogt", "olt", "uno"))
    lower = w.put(f"select i1 {below}, {kind} -1.0, {kind} 0.0")
    result = w.put(f"select i1 {above}, {kind} 1.0, {kind} {lower}")
    return w.put(f"select i1 {nan}, {kind} {a}, {kind} {result}")


def _heaviside(w: Writer, dtype: numpy.dtype, a: str, b: str) -> str:
    kind = value_type(dtype)
    below, zero, nan = (w.put(f"fcmp {test} {kind} {a}, 0.0") for test in ("olt", "oeq", "uno"))
    result = w.put(f"select i1 {below}, {kind} 0.0, {kind} 1.0")
    result = w.put(f"select i1 {zero}, {kind} {b}, {kind} {result}")
    return w.put(f"select i1 {nan}, {kind} {a}, {kind} {result}")


def _divided(w: Writer, dtype: numpy.dtype, a: str, b: str) -> tuple[str, str]:
    """Return the quotient rounded down and the remainder with the divisor's sign: `npy_divmod`, step by step."""
    kind = value_type(dtype)
    rest = w.put(f"frem {kind} {a}, {b}")
    difference = w.put(f"fsub {kind} {a}, {rest}")
    quotient = w.put(f"fdiv {kind} {difference}, {b}")
    is_rest = w.put(f"fcmp une {kind} {rest}, 0.0")
    signs = [w.put(f"fcmp olt {kind} {value}, 0.0") for value in (b, rest)]
    apart = w.put(f"xor i1 {signs[0]}, {signs[1]}")
    apart = w.put(f"and i1 {apart}, {is_rest}")
    moved = w.put(f"fadd {kind} {rest}, {b}")
    less = w.put(f"fsub {kind} {quotient}, 1.0")
    rest = w.put(f"select i1 {apart}, {kind} {moved}, {kind} {rest}")
    quotient = w.put(f"select i1 {apart}, {kind} {less}, {kind} {quotient}")
    zero = _intrinsic("copysign")(w, dtype, "0.0", b)
    rest = w.put(f"select i1 {is_rest}, {kind} {rest}, {kind} {zero}")
    floor = _intrinsic("floor")(w, dtype, quotient)
    above = w.put(f"fsub {kind} {quotient}, {floor}")
    is_above = w.put(f"fcmp ogt {kind} {above}, 0.5")
    next_one = w.put(f"fadd {kind} {floor}, 1.0")
    floor = w.put(f"select i1 {is_above}, {kind} {next_one}, {kind} {floor}")
    exact = w.put(f"fdiv {kind} {a}, {b}")
    signed_zero = _intrinsic("copysign")(w, dtype, "0.0", exact)
    is_quotient = w.put(f"fcmp une {kind} {quotient}, 0.0")
    floor = w.put(f"select i1 {is_quotient}, {kind} {floor}, {kind} {signed_zero}")
    by_zero = w.put(f"fcmp oeq {kind} {b}, 0.0")
    floor = w.put(f"select i1 {by_zero}, {kind} {exact}, {kind} {floor}")
    return floor, rest


def _compared(comparison: str) -> Write:
    return lambda w, dtype, a, b: w.put(f"fcmp {comparison} {value_type(dtype)} {a}, {b}")


def _against_infinity(comparison: str) -> Write:
    def written(w: Writer, dtype: numpy.dtype, a: str) -> str:
        size = _intrinsic("fabs")(w, dtype, a)
        return w.put(f"fcmp {comparison} {value_type(dtype)} {size}, {literal(math.inf, dtype)}")

    return written


def _signbit(w: Writer, dtype: numpy.dtype, a: str) -> str:
    bits = f"i{8 * dtype.itemsize}"
    return w.put(f"icmp slt {bits} {w.put(f'bitcast {value_type(dtype)} {a} to {bits}')}, 0")


_FLOATS: dict[str, Write] = {
    "add": _plain("fadd"),
    "subtract": _plain("fsub"),
    "multiply": _plain("fmul"),
    "divide": _plain("fdiv"),
    "fmod": _plain("frem"),
    "negative": lambda w, dtype, a: w.put(f"fneg {value_type(dtype)} {a}"),
    "square": lambda w, dtype, a: w.put(f"fmul {value_type(dtype)} {a}, {a}"),
    "reciprocal": lambda w, dtype, a: w.put(f"fdiv {value_type(dtype)} 1.0, {a}"),
    "absolute": _intrinsic("fabs"),
    "sqrt": _intrinsic("sqrt"),
    "floor": _intrinsic("floor"),
    "ceil": _intrinsic("ceil"),
    "trunc": _intrinsic("trunc"),
    "rint": _intrinsic("rint"),
    "copysign": _intrinsic("copysign"),
    "deg2rad": _scaled(lambda kind: kind(math.pi) / kind(180)),
    "rad2deg": _scaled(lambda kind: kind(180) / kind(math.pi)),
    "sign": _sign,
    "heaviside": _heaviside,
    "maximum": _chosen("maximum", "gt"),
    "minimum": _chosen("minimum", "lt"),
    "fmax": _chosen_number("ogt"),
    "fmin": _chosen_number("olt"),
    "floor_divide": lambda w, dtype, a, b: _divided(w, dtype, a, b)[0],
    "remainder": lambda w, dtype, a, b: _divided(w, dtype, a, b)[1],
    "greater": _compared("ogt"),
    "greater_equal": _compared("oge"),
    "less": _compared("olt"),
    "less_equal": _compared("ole"),
    "equal": _compared("oeq"),
    "not_equal": _compared("une"),
    "isnan": lambda w, dtype, a: w.put(f"fcmp uno {value_type(dtype)} {a}, 0.0"),
    "isinf": _against_infinity("oeq"),
    "isfinite": _against_infinity("olt"),
    "signbit": _signbit,
}


# -- floats, of other functions --------------------------------------------------------------------------------------


def _logaddexp(power: str, one: float, scale: float | None) -> Write:
    """The larger one, and what the other adds to its logarithm."""

    def written(w: Writer, dtype: numpy.dtype, a: str, b: str) -> str:
        kind = value_type(dtype)
        difference = w.put(f"fsub {kind} {a}, {b}")
        apart = w.put(f"fneg {kind} {_intrinsic('fabs')(w, dtype, difference)}")
        added = called(w, "log1p", kind, called(w, power, kind, apart))
        if scale is not None:
            added = w.put(f"fmul {kind} {added}, {literal(scale, dtype)}")
        first = w.put(f"fcmp ogt {kind} {difference}, 0.0")
        larger = w.put(f"select i1 {first}, {kind} {a}, {kind} {b}")
        result = w.put(f"fadd {kind} {larger}, {added}")
        nan = w.put(f"fcmp uno {kind} {difference}, 0.0")
        result = w.put(f"select i1 {nan}, {kind} {difference}, {kind} {result}")
        twice = w.put(f"fadd {kind} {a}, {literal(one, dtype)}")
        equal = w.put(f"fcmp oeq {kind} {a}, {b}")  # of infinities, too
        return w.put(f"select i1 {equal}, {kind} {twice}, {kind} {result}")

    return written


_COMPOSED: dict[str, tuple[tuple[str, ...], Write]] = {
    "logaddexp": (("exp", "log1p"), _logaddexp("exp", math.log(2), None)),
    "logaddexp2": (("exp2", "log1p"), _logaddexp("exp2", 1.0, 1 / math.log(2))),
}
