"""The functions of elementwise and reduce steps: their names, dtypes of operands and results, and definitions.

Each computes in one dtype: casts are steps of their own, so that promotion is settled when a graph is translated. Their
NumPy functions are the reference for all kernels. There are no steps that NumPy refuses: `power` of integers takes
exponents that are known not to be negative, numbers or unsigned ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy

from minpy.core.dtypes import NATIVE_TYPES
from minpy.ops.tensor.special import erf

__all__ = ["ELEMENTWISE", "REDUCTIONS", "ElementwiseFunction", "Reduction", "is_supported"]


def is_supported(dtype: Any) -> bool:
    """Tell whether arrays of a dtype may be computed with natively: not float16, complex and long double.

    >>> is_supported(numpy.dtype("float32")), is_supported(numpy.dtype("float16"))
    (True, False)
    """
    return numpy.dtype(dtype) in NATIVE_TYPES


class ElementwiseFunction(NamedTuple):
    """A function of single elements, and its definition on arrays.

    `kinds` are the kinds of dtype that it takes: 'b' bool, 'i' and 'u' integers, 'f' floats. All operands have the same
    dtype, but for the condition of `where`, which is bool, and comes first. `result` is the 'same' dtype as that of the
    operands, or 'bool'; of `cast` it is that of the step's output.
    """

    name: str
    arity: int
    kinds: str
    result: str
    evaluate: Callable[..., Any]


def _rows() -> list[ElementwiseFunction]:
    rows = []

    def add(kinds: str, result: str, arity: int, names: str) -> None:
        for name in names.split():
            rows.append(ElementwiseFunction(name, arity, kinds, result, getattr(numpy, name)))

    add("f", "same", 1, "exp exp2 expm1 log log2 log10 log1p sqrt cbrt")
    add("f", "same", 1, "sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh deg2rad rad2deg")
    add("f", "same", 1, "floor ceil rint trunc")
    add("iuf", "same", 1, "negative absolute sign square reciprocal")
    add("b", "same", 1, "logical_not")
    add("biu", "same", 1, "invert")
    add("f", "bool", 1, "isnan isinf isfinite signbit")
    add("f", "same", 2, "divide arctan2 hypot logaddexp logaddexp2 copysign fmax fmin heaviside")
    add("iuf", "same", 2, "subtract power floor_divide remainder fmod")
    add("biuf", "same", 2, "add multiply maximum minimum")
    add("b", "same", 2, "logical_and logical_or logical_xor")
    add("biu", "same", 2, "bitwise_and bitwise_or bitwise_xor")
    add("iu", "same", 2, "left_shift right_shift")
    add("biuf", "bool", 2, "greater greater_equal less less_equal equal not_equal")
    rows.append(ElementwiseFunction("where", 3, "biuf", "same", numpy.where))
    rows.append(ElementwiseFunction("copy", 1, "biuf", "same", numpy.array))
    rows.append(ElementwiseFunction("cast", 1, "biuf", "given", numpy.ndarray.astype))
    rows.append(ElementwiseFunction("erf", 1, "f", "same", erf.definition))
    return rows


class Reduction(NamedTuple):
    """A reduction along axes, which stay as axes of length 1.

    `identity` is what an empty reduction gives, None if that is an error. 'argmax' and 'argmin' give int64, and take
    one axis, or all of them.
    """

    name: str
    kinds: str
    identity: Any
    evaluate: Callable[..., Any]


ELEMENTWISE: dict[str, ElementwiseFunction] = {row.name: row for row in _rows()}

REDUCTIONS: dict[str, Reduction] = {
    row.name: row
    for row in (
        Reduction("sum", "iuf", 0, numpy.sum),
        Reduction("prod", "iuf", 1, numpy.prod),
        Reduction("max", "biuf", None, numpy.max),
        Reduction("min", "biuf", None, numpy.min),
        Reduction("any", "b", False, numpy.any),
        Reduction("all", "b", True, numpy.all),
        Reduction("argmax", "iuf", None, numpy.argmax),
        Reduction("argmin", "iuf", None, numpy.argmin),
    )
}
