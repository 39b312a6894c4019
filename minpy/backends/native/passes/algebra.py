"""The rows of elementwise algebra. Each is exact, for all values: NaN, infinities, both zeros and denormals.

Only those of powers are exact up to rounding: `power` itself is.

What is not here is not exact: `x + 0.0` makes 0.0 of -0.0, and so does `x - -0.0`; `x * 0.0` keeps NaN, and signs;
`not (x > y)` is not `x <= y` for NaN; `sqrt(x * x)` overflows;
`power(x, -0.5)` makes 0.0 of -inf, `1 / sqrt(x)` makes NaN.
"""

from __future__ import annotations

import math

import numpy

from minpy.backends.native.language import Array, Elementwise, Step, broadcast, constant, uniform_value
from minpy.backends.native.passes.patterns import Row, applied
from minpy.backends.native.passes.rewriting import Rewriter

__all__ = ["ROWS", "divided_fast", "holds", "rewrite"]

# exp(-|x|), which is exp(x) for negative x, and which the sigmoid needs anyway.
_TAIL = ("exp", ("negative", ("absolute", "x")))

# power(x, 0.5) as C has it, in a few instructions. Newer NumPys have sqrt(x) there, of -inf and -0.0, too.
_ROOT = ("where", ("equal", "x", -math.inf), math.inf, ("add", ("sqrt", "x"), 0.0))
_IS_SQRT = bool(numpy.signbit(numpy.power(numpy.array([-0.0]), 0.5))[0])

ROWS = (
    Row(("multiply", "x", 1), "x", "biuf", "-0.0 * 1 is -0.0; true and true"),
    Row(("divide", "x", 1), "x", "f"),
    Row(("subtract", "x", 0.0), "x", "iuf", "-0.0 - 0.0 is -0.0, 0.0 - 0.0 is 0.0"),
    Row(("add", "x", -0.0), "x", "f", "0.0 + -0.0 is 0.0"),
    Row(("add", "x", 0), "x", "iub"),
    Row(("multiply", "x", 0), 0, "iub"),
    Row(("floor_divide", "x", 1), "x", "iu"),
    Row(("bitwise_or", "x", 0), "x", "iub"),
    Row(("bitwise_xor", "x", 0), "x", "iub"),
    Row(("power", "x", 1), "x", "iuf"),
    Row(("power", "x", 0), 1, "f", "power(NaN, 0) is 1"),
    Row(("power", "x", 2), ("square", "x"), "iuf", "up to rounding"),
    Row(("power", "x", 3), ("multiply", ("square", "x"), "x"), "iuf", "up to rounding"),
    Row(("power", "x", -1), ("divide", 1, "x"), "f", "up to rounding"),
    Row(("power", "x", 0.5), ("sqrt", "x") if _IS_SQRT else _ROOT, "f", "up to rounding"),
    Row(("power", "x", -0.5), ("divide", 1, _ROOT), "f", "up to rounding"),
    Row(("reciprocal", "x"), ("divide", 1, "x"), "f"),
    Row(("multiply", "x", "x"), ("square", "x"), "iuf"),
    Row(("multiply", "x", -1), ("negative", "x"), "f"),
    Row(("divide", "x", -1), ("negative", "x"), "f"),
    Row(("negative", ("negative", "x")), "x"),
    Row(
        ("negative", ("subtract", "x", "y")), ("subtract", "y", "x"), "iu", "1.0 - 1.0 is 0.0 both ways: not of floats"
    ),
    Row(("add", "x", ("negative", "y")), ("subtract", "x", "y")),
    Row(("subtract", "x", ("negative", "y")), ("add", "x", "y")),
    Row(("multiply", ("negative", "x"), ("negative", "y")), ("multiply", "x", "y")),
    Row(("divide", ("negative", "x"), ("negative", "y")), ("divide", "x", "y"), "f"),
    Row(("square", ("negative", "x")), ("square", "x")),
    Row(("square", ("absolute", "x")), ("square", "x")),
    Row(("absolute", ("negative", "x")), ("absolute", "x"), "if"),
    Row(("absolute", ("absolute", "x")), ("absolute", "x"), "iuf", "also of the least integer, which stays"),
    Row(("absolute", ("square", "x")), ("square", "x"), "f"),
    Row(("maximum", "x", "x"), "x"),
    Row(("minimum", "x", "x"), "x"),
    Row(
        ("maximum", ("maximum", "x", "y"), "y"), ("maximum", "x", "y"), "biu", "which zero it is, depends on the order"
    ),
    Row(("minimum", ("minimum", "x", "y"), "y"), ("minimum", "x", "y"), "biu"),
    Row(("add", ("add", "x", 0.0), 0.0), ("add", "x", 0.0), "f"),
    Row(("logical_and", "x", "x"), "x", "b"),
    Row(("logical_or", "x", "x"), "x", "b"),
    Row(("logical_not", ("logical_not", "x")), "x", "b"),
    Row(("logical_not", ("equal", "x", "y")), ("not_equal", "x", "y"), "b", "both are so for NaN: not equal"),
    Row(("logical_not", ("not_equal", "x", "y")), ("equal", "x", "y"), "b"),
    Row(("invert", ("invert", "x")), "x", "biu"),
    Row(("where", "c", "x", "x"), "x"),
    Row(("where", ("logical_not", "c"), "x", "y"), ("where", "c", "y", "x")),
    Row(
        ("divide", ("exp", ("minimum", "x", 0.0)), ("add", _TAIL, 1)),
        ("divide", ("where", ("greater_equal", "x", 0.0), 1, _TAIL), ("add", _TAIL, 1)),
        "f",
        "exp(min(x, 0)) is exp(0), which is 1, or exp(x), which is there",
    ),
    Row(("copysign", ("negative", "x"), "y"), ("copysign", "x", "y"), "f"),
    Row(("copysign", ("absolute", "x"), "y"), ("copysign", "x", "y"), "f"),
    Row(("floor", ("floor", "x")), ("floor", "x"), "f"),
    Row(("rint", ("rint", "x")), ("rint", "x"), "f"),
)

_BY_FUNCTION: dict[str, list[Row]] = {}
for _row in ROWS:
    _BY_FUNCTION.setdefault(_row.pattern[0], []).append(_row)


def rewrite(step: Step, rewriter: Rewriter) -> Array | None:
    """Return the replacement of a step by one of the rows, or by the rules below."""
    if not isinstance(step, Elementwise):
        return None
    for row in _BY_FUNCTION.get(step.function, ()):
        result = applied(row, step)
        if result is not None:
            rewriter.notes.add(str(row))
            return result
    if step.function == "cast":
        return _cast(step, rewriter)
    if step.function == "copy":
        return _copy(step, rewriter)
    if step.function == "divide":
        return _divided(step, rewriter)
    return None


def _copy(step: Elementwise, rewriter: Rewriter) -> Array | None:
    """Return what is copied: nothing is ever written. Copies of views are kept, they put elements side by side."""
    (operand,) = step.operands
    if not operand.is_contiguous or operand.size != operand.root.size:
        return None
    rewriter.notes.add("copy(x) -> x, of what lies as a whole")
    return operand


def _cast(step: Elementwise, rewriter: Rewriter) -> Array | None:
    (operand,) = step.operands
    target = step.output.dtype
    if operand.dtype == target:
        rewriter.notes.add("cast(x) -> x, to its own dtype")
        return operand
    before = operand.step
    if isinstance(before, Elementwise) and before.function == "cast" and holds(operand.dtype, before.operands[0].dtype):
        rewriter.notes.add("cast(cast(x)) -> cast(x), where the first is exact")
        return Elementwise.of("cast", before.operands[0], dtype=target, origin=step.origin)
    return None


def holds(dtype: numpy.dtype, values: numpy.dtype) -> bool:
    """Tell whether a dtype has all values of another one, and their signs.

    >>> holds(numpy.dtype("float64"), numpy.dtype("float32")), holds(numpy.dtype("float64"), numpy.dtype("int64"))
    (True, False)
    """
    if dtype == values or values.kind == "b":
        return True
    bits = {"float32": 24, "float64": 53}
    if dtype.kind == "f":
        value_bits = bits[values.name] if values.kind == "f" else values.itemsize * 8 - (values.kind == "i")
        return bits[dtype.name] >= value_bits
    if dtype.kind == values.kind:
        return dtype.itemsize >= values.itemsize
    return (dtype.kind, values.kind) == ("i", "u") and dtype.itemsize > values.itemsize


def _divided(step: Elementwise, rewriter: Rewriter) -> Array | None:
    """Return a product with the reciprocal, where that is exact: of powers of two."""
    operand, divisor = step.operands
    value = uniform_value(divisor)
    if value is None or not math.isfinite(value) or value == 0 or uniform_value(operand) is not None:
        return None
    if abs(math.frexp(value)[0]) != 0.5:
        return None
    with numpy.errstate(all="ignore"):
        reciprocal = (1 / value).astype(step.output.dtype)
    if not numpy.isfinite(reciprocal) or reciprocal == 0:
        return None
    rewriter.notes.add("x / 2**n -> x * 2**-n")
    result = Elementwise.of("multiply", operand, constant(reciprocal), origin=step.origin)
    return result if result.shape == step.output.shape else broadcast(result, step.output.shape)


def divided_fast(step: Step, rewriter: Rewriter) -> Array | None:
    """Return a product with the reciprocal of a constant: up to one rounding more. Only where the user allows that."""
    if not isinstance(step, Elementwise) or step.function != "divide":
        return None
    value = uniform_value(step.operands[1])
    if value is None or not math.isfinite(value) or value == 0:
        return None
    with numpy.errstate(all="ignore"):
        reciprocal = (1 / value).astype(step.output.dtype)
    if not numpy.isfinite(reciprocal) or abs(reciprocal) < numpy.finfo(step.output.dtype).tiny:
        return None
    rewriter.notes.add("x / c -> x * (1 / c), for fast mathematics")
    result = Elementwise.of("multiply", step.operands[0], constant(reciprocal), origin=step.origin)
    return result if result.shape == step.output.shape else broadcast(result, step.output.shape)
