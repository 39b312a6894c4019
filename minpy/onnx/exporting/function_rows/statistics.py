"""Variances, averages, quantiles and covariances of NumPy's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from minpy.frameworks.dialects import Operand
from minpy.onnx.exporting.calls import NodeCall, Rows
from minpy.onnx.exporting.row_parts import (
    axes_of,
    computes_in,
    constant_of,
    has_value,
    is_nan,
    number,
    real_only,
    without_nan,
)

__all__ = ["ROWS"]

ROWS = Rows()


# -- variances ---------------------------------------------------------------------------------------------------------


@ROWS.enter("std var nanstd nanvar")
def _var(
    call: NodeCall, a: Any, axis: Any = None, dtype: Any = None, ddof: Any = 0, keepdims: bool = False,
    correction: Any = None,
) -> Any:  # fmt: skip
    a = a if isinstance(a, Operand) else Operand(call.array(a), *call.spec(a))
    computed, axes = computes_in(call, a, dtype), axes_of(axis, a.ndim)
    ddof = ddof if correction is None else correction
    # Of float16 NumPy computes in float32.
    inner = numpy.dtype("float32") if computed.name == "float16" else computed
    name = call.array(a, inner)
    missing = None
    if call.key.startswith("nan") and a.dtype.kind == "f":
        missing = is_nan(call, name)
        present = call.cast(call.node("Not", missing), inner)
        count = call.reduce("ReduceSum", present, axes, True)
        mean = call.node("Div", call.reduce("ReduceSum", without_nan(call, name, 0, inner), axes, True), count)
    else:
        count = None
        mean = call.reduce("ReduceMean", name, axes, True)
    centred = call.node("Sub", name, mean)
    if missing is not None:
        centred = call.node("Where", missing, number(call, 0, inner), centred)
    squares = call.node("Mul", centred, centred)
    name = _divided(call, a, squares, count, axes, keepdims, ddof, inner)
    if call.key.endswith("std"):
        name = call.node("Sqrt", name)
    return name if inner == call.result_dtype else call.cast(name, call.result_dtype)


def _divided(
    call: NodeCall,
    a: Operand,
    squares: str,
    count: str | None,
    axes: Sequence[int],
    keepdims: bool,
    ddof: Any,
    dtype: numpy.dtype,
) -> str:
    """Return sums of squares in terms of degrees of freedom; `count`: how many elements are no NaN, None for all."""
    name: str
    if count is None and not isinstance(ddof, Operand) and ddof == 0:
        return call.reduce("ReduceMean", squares, axes, keepdims)
    total = call.reduce("ReduceSum", squares, axes, keepdims)
    if count is None:
        size = int(numpy.prod([a.shape[axis] for axis in axes], dtype=numpy.int64))
        freedom = (
            number(call, max(size - ddof, 0), dtype)
            if not isinstance(ddof, Operand)
            else call.node("Sub", number(call, size, dtype), call.array(ddof, dtype))
        )
        name = call.node("Div", total, freedom)
        return name
    count = count if keepdims else call.squeeze(count, axes) if axes else count
    freedom = call.node("Sub", count, call.array(ddof, dtype))
    # Of what has NaN, NumPy says NaN where too few others are left.
    enough = call.node("Greater", freedom, number(call, 0, dtype))
    name = call.node("Where", enough, call.node("Div", total, freedom), number(call, numpy.nan, dtype))
    return name


@ROWS.enter("average")
def _average(call: NodeCall, a: Any, axis: Any = None, weights: Any = None, keepdims: bool = False) -> Any:
    a = a if isinstance(a, Operand) else Operand(call.array(a), *call.spec(a))
    dtype, axes = call.result_dtype, axes_of(axis, a.ndim)
    real_only(call, dtype)
    values = call.array(a, dtype)
    if weights is None:
        return call.reduce("ReduceMean", values, axes, keepdims)
    factors, shape = call.array(weights, dtype), tuple(call.spec(weights).shape)
    if shape != a.shape:  # one for each place along the axes
        order = [axis for axis, _ in sorted(enumerate(axes), key=lambda pair: pair[1])]
        factors = call.transpose(factors, order) if order != sorted(order) else factors
        factors = call.reshape(factors, [length if axis in axes else 1 for axis, length in enumerate(a.shape)])
    total = call.reduce("ReduceSum", call.node("Mul", values, factors), axes, keepdims)
    return call.node("Div", total, call.reduce("ReduceSum", factors, axes, keepdims))


# -- quantiles ---------------------------------------------------------------------------------------------------------


@ROWS.enter("median nanmedian")
def _median(call: NodeCall, a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    sorted_rows = _Sorted(call, a, axis, call.key.startswith("nan"))
    low, high = sorted_rows.middle()
    middle = call.node("Mul", call.node("Add", low, high), number(call, 0.5, sorted_rows.dtype))
    return sorted_rows.in_shape(sorted_rows.with_nan(middle), (), keepdims)


@ROWS.enter("quantile nanquantile percentile nanpercentile")
def _quantile(
    call: NodeCall, a: Any, q: Any, axis: Any = None, method: str = "linear", keepdims: bool = False
) -> Any:  # fmt: skip
    if method not in ("linear", "lower", "higher", "midpoint", "nearest"):
        raise call.refuse(f"method={method!r}")
    levels = constant_of(call, "q", q)
    share = levels / 100 if "percentile" in call.key else levels
    sorted_rows = _Sorted(call, a, axis, call.key.startswith("nan"))
    results = [
        call.unsqueeze(sorted_rows.with_nan(sorted_rows.between(float(each), method)), (0,))
        for each in share.reshape(-1)
    ]
    joined = results[0] if len(results) == 1 else call.node("Concat", *results, axis=0)
    if levels.ndim == 0:
        return sorted_rows.in_shape(call.squeeze(joined, (0,)), (), keepdims)
    return sorted_rows.in_shape(joined, levels.shape, keepdims)


class _Sorted:
    """An array with the axes that quantiles are along as one, the last, and sorted along it."""

    def __init__(self, call: NodeCall, a: Any, axis: Any, skips_nan: bool) -> None:
        self.call = call
        a = a if isinstance(a, Operand) else Operand(call.array(a), *call.spec(a))
        real_only(call, a.dtype, call.result_dtype)
        self.dtype = a.dtype if a.dtype.kind == "f" else call.result_dtype
        self.axes = axes_of(axis, a.ndim)
        self.others = [at for at in range(a.ndim) if at not in self.axes]
        self.lengths = [a.shape[at] for at in self.others]
        self.count = int(numpy.prod([a.shape[at] for at in self.axes], dtype=numpy.int64))
        self.ndim = a.ndim
        name, order = call.array(a, self.dtype), (*self.others, *self.axes)
        if order != tuple(range(a.ndim)):
            name = call.transpose(name, order)
        if len(self.axes) != 1:
            name = call.reshape(name, [*self.lengths, self.count])
        self.last = len(self.others)
        self.missing: str | None = None
        missing = None
        if self.dtype.kind == "f" and a.dtype.kind == "f":
            missing = is_nan(call, name)
            self.missing = has_value(call, missing, (self.last,), False)
            # NaN last, as in NumPy; onnxruntime would put them anywhere.
            name = call.node("Where", missing, number(call, numpy.inf, self.dtype), name)
        length = call.ints([self.count])
        # TopK sorts integers of 32 and of 64 bits only.
        sortable = self.dtype if self.dtype.kind == "f" else numpy.dtype("int64")
        name = name if sortable == self.dtype else call.cast(name, sortable)
        rows = call.node("TopK", name, length, outputs=2, axis=self.last, largest=0, sorted=1)[0]
        self.rows: str = rows if sortable == self.dtype else call.cast(rows, self.dtype)
        self.present: str | None = None
        if skips_nan and missing is not None:
            whole = call.cast(call.node("Not", missing), self.dtype)
            self.present = call.reduce("ReduceSum", whole, (self.last,), True)
            self.missing = call.node("Equal", call.squeeze(self.present, (self.last,)), number(call, 0, self.dtype))

    def with_nan(self, name: str) -> str:
        """Return results, NaN where these are: where there is any, or nothing else."""
        call = self.call
        if self.missing is None:
            return name
        result: str = call.node("Where", self.missing, number(call, numpy.nan, call.result_dtype), name)
        return result

    def in_result_dtype(self, name: str) -> str:
        """Return numbers of the array in the dtype of the result."""
        return name if self.dtype == self.call.result_dtype else self.call.cast(name, self.call.result_dtype)

    def at(self, index: Any) -> str:
        """Return the numbers at a position, of rows whose lengths differ at positions."""
        call = self.call
        name: str
        if self.present is None:
            name = call.node("Gather", self.rows, index, axis=self.last)
            return name
        zero, last = (number(call, each, numpy.int64) for each in (0, self.count - 1))
        index = call.node("Min", call.node("Max", call.cast(index, numpy.int64), zero), last)
        return call.squeeze(call.node("GatherElements", self.rows, index, axis=self.last), (self.last,))

    def middle(self) -> tuple[str, str]:
        """Return the two numbers in the middle, or twice the one that is there."""
        call = self.call
        if self.present is None and not call.emitter.open_lengths:
            places = [number(call, place, numpy.int64) for place in ((self.count - 1) // 2, self.count // 2)]
            return self.at(places[0]), self.at(places[1])
        two, one = number(call, 2, numpy.int64), number(call, 1, numpy.int64)
        count = number(call, self.count, numpy.int64) if self.present is None else call.cast(self.present, numpy.int64)
        return self.at(call.node("Div", call.node("Sub", count, one), two)), self.at(call.node("Div", count, two))

    def between(self, share: float, method: str) -> str:
        """Return the numbers at a share of the rows' lengths."""
        call, dtype = self.call, numpy.dtype(float)
        count = number(call, self.count, dtype) if self.present is None else call.cast(self.present, dtype)
        last = call.node("Sub", count, number(call, 1, dtype))
        place = call.node("Mul", last, number(call, share, dtype))
        low, high = call.node("Floor", place), call.node("Ceil", place)
        if method in ("lower", "higher", "nearest"):
            chosen = {"lower": low, "higher": high}.get(method) or call.node("Round", place)
            return self.in_result_dtype(self.at(call.cast(chosen, numpy.int64)))
        below, above = self.at(call.cast(low, numpy.int64)), self.at(call.cast(high, numpy.int64))
        distance = self.in_result_dtype(call.node("Sub", above, below))
        below, above, dtype = self.in_result_dtype(below), self.in_result_dtype(above), call.result_dtype
        part = call.cast(call.node("Sub", place, low), dtype)
        one, half, zero = (number(call, each, dtype) for each in (1, 0.5, 0))
        if method == "midpoint":
            part = call.node("Where", call.node("Equal", part, zero), zero, half)
        if self.present is not None:
            part = call.squeeze(part, (self.last,))
        # From the nearer end, as NumPy does.
        up = call.node("Add", below, call.node("Mul", distance, part))
        down = call.node("Sub", above, call.node("Mul", distance, call.node("Sub", one, part)))
        between = call.node("Where", call.node("GreaterOrEqual", part, half), down, up)
        same = call.node("Equal", below, above)  # two infinities, too
        name: str = call.node("Where", same, below, between)
        return name

    def in_shape(self, name: str, levels: tuple[int, ...], keepdims: bool) -> str:
        """Return results in the shape that NumPy's have."""
        if not keepdims and len(levels) < 2:
            return name
        call = self.call
        return call.reshape(name, call.shape)


# -- covariances -------------------------------------------------------------------------------------------------------


@ROWS.enter("cov corrcoef")
def _cov(
    call: NodeCall, m: Any = None, x: Any = None, y: Any = None, rowvar: bool = True, bias: bool = False,
    ddof: Any = None,
) -> Any:  # fmt: skip
    samples = m if x is None else x
    if y is not None:
        raise call.refuse("y=")
    dtype, ndim = call.result_dtype, len(call.spec(samples).shape)
    real_only(call, dtype)
    name = call.array(samples, dtype)
    if ndim == 1:
        name, length = call.unsqueeze(name, (0,)), call.spec(samples).shape[0]
    elif rowvar or call.spec(samples).shape[0] == 1:
        length = call.spec(samples).shape[1]
    else:
        name, length = call.transpose(name, (1, 0)), call.spec(samples).shape[0]
    centred = call.node("Sub", name, call.reduce("ReduceMean", name, (1,), True))
    product = call.node("MatMul", centred, call.transpose(centred, (1, 0)))
    if call.key == "corrcoef":  # how many samples there are falls out
        sizes = call.node("Sqrt", call.reduce("ReduceSum", call.node("Mul", centred, centred), (1,), True))
        result = call.node("Div", call.node("Div", product, sizes), call.transpose(sizes, (1, 0)))
        result = call.node("Clip", result, number(call, -1, dtype), number(call, 1, dtype))
    else:
        correction = (0 if bias else 1) if ddof is None else ddof
        result = call.node("Div", product, number(call, max(length - correction, 0), dtype))
    return result if len(call.shape) == 2 else call.reshape(result, call.shape)
