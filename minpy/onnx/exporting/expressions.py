"""Arithmetic of rows that are formulas: values whose operators of Python's write nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from minpy.frameworks.dialects import Operand
from minpy.onnx.exporting.calls import NodeCall

__all__ = ["Expression", "concatenate", "numbers_up_to", "stack", "where"]


class Expression:
    """A value in the model, with the operators of Python's that ONNX has; numbers beside it take its dtype.

    Parameters
    ----------
    call : NodeCall
        Writes the nodes.
    value : Operand or str
    dtype : dtype
        Of a value that is given by its name.
    """

    def __init__(self, call: NodeCall, value: Any, dtype: Any = None) -> None:
        self.call = call
        self.name = call.array(value)
        self.dtype = numpy.dtype(value.dtype if isinstance(value, Operand) else dtype)

    def of(self, value: Any) -> Any:
        """Return what stands beside this value: the name of an expression, or a constant of its dtype."""
        return value.name if isinstance(value, Expression) else numpy.asarray(value).astype(self.dtype)

    def node(self, op_type: str, *inputs: Any, dtype: Any = None, **attributes: Any) -> Expression:
        """Return what a node gives for this value and others."""
        names = [each.name if isinstance(each, Expression) else each for each in inputs]
        return Expression(self.call, self.call.node(op_type, self.name, *names, **attributes), dtype or self.dtype)

    def _reversed(self, op_type: str, other: Any) -> Expression:
        return Expression(self.call, self.call.node(op_type, self.of(other), self.name), self.dtype)

    # -- elements ----------------------------------------------------------------------------------------------------

    def __add__(self, other: Any) -> Expression:
        return self.node("Add", self.of(other))

    def __radd__(self, other: Any) -> Expression:
        return self.node("Add", self.of(other))

    def __sub__(self, other: Any) -> Expression:
        return self.node("Sub", self.of(other))

    def __rsub__(self, other: Any) -> Expression:
        return self._reversed("Sub", other)

    def __mul__(self, other: Any) -> Expression:
        return self.node("Mul", self.of(other))

    def __rmul__(self, other: Any) -> Expression:
        return self.node("Mul", self.of(other))

    def __truediv__(self, other: Any) -> Expression:
        return self.node("Div", self.of(other))

    def __mod__(self, other: Any) -> Expression:
        return self.node("Mod", self.of(other))

    def __neg__(self) -> Expression:
        return self.node("Neg")

    def __lt__(self, other: Any) -> Expression:
        return self.node("Less", self.of(other), dtype=bool)

    def __le__(self, other: Any) -> Expression:
        return self.node("LessOrEqual", self.of(other), dtype=bool)

    def __gt__(self, other: Any) -> Expression:
        return self.node("Greater", self.of(other), dtype=bool)

    def __ge__(self, other: Any) -> Expression:
        return self.node("GreaterOrEqual", self.of(other), dtype=bool)

    def equal(self, other: Any) -> Expression:
        """Return where two values are equal."""
        return self.node("Equal", self.of(other), dtype=bool)

    def __and__(self, other: Expression) -> Expression:
        return self.node("And", other)

    def __or__(self, other: Expression) -> Expression:
        return self.node("Or", other)

    def __invert__(self) -> Expression:
        return self.node("Not")

    def maximum(self, other: Any) -> Expression:
        """Return the larger of two values."""
        return self.node("Max", self.of(other))

    def minimum(self, other: Any) -> Expression:
        """Return the smaller of two values."""
        return self.node("Min", self.of(other))

    def clip(self, low: Any, high: Any) -> Expression:
        """Return the value with what is below or above put at the ends."""
        return self.node("Clip", self.of(low), self.of(high))

    def cast(self, dtype: Any) -> Expression:
        """Return the value in another dtype."""
        if numpy.dtype(dtype) == self.dtype:
            return self
        return Expression(self.call, self.call.cast(self.name, dtype), dtype)

    # -- axes --------------------------------------------------------------------------------------------------------

    def reshape(self, *shape: int) -> Expression:
        """Return the value in another shape; a length of -1 follows."""
        return Expression(self.call, self.call.reshape(self.name, shape), self.dtype)

    def transpose(self, *axes: int) -> Expression:
        """Return the value with its axes in another order."""
        return Expression(self.call, self.call.transpose(self.name, axes), self.dtype)

    def unsqueeze(self, *axes: int) -> Expression:
        """Return the value with further axes of length 1."""
        return Expression(self.call, self.call.unsqueeze(self.name, axes), self.dtype)

    def squeeze(self, *axes: int) -> Expression:
        """Return the value without axes of length 1."""
        return Expression(self.call, self.call.squeeze(self.name, axes), self.dtype)

    def at(self, position: int, axis: int) -> Expression:
        """Return the part at a position of an axis, without the axis."""
        return self.node("Gather", self.call.ints(position), axis=axis)

    def part(self, start: Any, stop: Any, axis: int) -> Expression:
        """Return the part between two positions of an axis, which may be open lengths."""
        bounds = [self.call.ints([each]) if isinstance(each, int) else each for each in (start, stop)]
        return self.node("Slice", *bounds, self.call.ints([axis]))

    def along(self, positions: Expression, axis: int) -> Expression:
        """Return the elements at positions along an axis, as `numpy.take_along_axis`."""
        return self.node("GatherElements", positions, axis=axis)

    def rows(self, positions: Expression) -> Expression:
        """Return, for each item of a batch, the rows at positions, (batch, count)."""
        return self.node("GatherND", positions.unsqueeze(2), batch_dims=1)

    def sum(self, axis: int, keepdims: bool = False) -> Expression:
        """Return the sum over an axis."""
        return Expression(self.call, self.call.reduce("ReduceSum", self.name, [axis], keepdims), self.dtype)

    def largest(self, axis: int, keepdims: bool = False) -> Expression:
        """Return the largest element over an axis."""
        return Expression(self.call, self.call.reduce("ReduceMax", self.name, [axis], keepdims), self.dtype)

    def top(self, count: Any) -> tuple[Expression, Expression]:
        """Return the largest elements along the last axis, in order, and their positions; of equal ones the first."""
        values, positions = self.call.node("TopK", self.name, count, outputs=2)
        return Expression(self.call, values, self.dtype), Expression(self.call, positions, numpy.int64)


def where(condition: Expression, holds: Any, otherwise: Any) -> Expression:
    """Return elements of one value where a condition holds, and of another where it does not; one may be a number."""
    like = holds if isinstance(holds, Expression) else otherwise
    call = condition.call
    return Expression(call, call.node("Where", condition.name, like.of(holds), like.of(otherwise)), like.dtype)


def stack(parts: Sequence[Expression], axis: int) -> Expression:
    """Return values joined along a new axis."""
    return concatenate([part.unsqueeze(axis) for part in parts], axis)


def concatenate(parts: Sequence[Expression], axis: int) -> Expression:
    """Return values joined along an axis."""
    if len(parts) == 1:
        return parts[0]
    call = parts[0].call
    return Expression(call, call.node("Concat", *(part.name for part in parts), axis=axis), parts[0].dtype)


def numbers_up_to(call: NodeCall, count: Any, dtype: Any = numpy.int64) -> Expression:
    """Return the numbers from 0 up to a count: a number, or the name of one."""
    limit = call.ints(count) if isinstance(count, int) else count
    return Expression(call, call.node("Range", call.ints(0), limit, call.ints(1)), numpy.int64).cast(dtype)
