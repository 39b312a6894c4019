"""Reductions of what was reduced, broadcast, or reshaped before."""

from __future__ import annotations

import math

import numpy

from minpy.backends.native.language import Array, Elementwise, Reduce, Step, broadcast, constant, viewed
from minpy.backends.native.layouts import expanded
from minpy.backends.native.passes.rewriting import Rewriter

__all__ = ["rewrite"]

# Reductions that can be done along some axes first, and then along others.
IN_STAGES = frozenset("sum prod max min any all".split())  # noqa: SIM905


def rewrite(step: Step, rewriter: Rewriter) -> Array | None:
    """Return what stands in the place of a reduction."""
    if not isinstance(step, Reduce):
        return None
    operand = step.operands[0]
    lengths = {operand.shape[axis] for axis in step.axes}
    if lengths <= {1}:
        rewriter.notes.add("reductions along axes of length 1 are elementwise")
        return _of_one(step)
    if step.function not in IN_STAGES or 0 in operand.shape:
        return None
    if 1 in lengths:
        rewriter.notes.add("axes of length 1 are not reduced")
        return Reduce.of(
            step.function, operand, [axis for axis in step.axes if operand.shape[axis] != 1], origin=step.origin
        )
    return _of_broadcast(step, rewriter) or _of_reduction(step, rewriter)


def _of_one(step: Reduce) -> Array:
    operand = step.operands[0]
    if step.function.startswith("arg"):
        zeros = broadcast(constant(0, numpy.int64), step.output.shape)
        return Elementwise.of("copy", zeros, origin=step.origin)
    if step.function == "sum" and operand.dtype.kind == "f":
        # A sum begins with 0.0: that of one -0.0 is 0.0.
        return Elementwise.of("add", operand, constant(0.0, operand.dtype), origin=step.origin)
    return operand


def _of_broadcast(step: Reduce, rewriter: Rewriter) -> Array | None:
    """Return a reduction without the axes along which its operand is the same: one product is closer than many sums."""
    operand = step.operands[0]
    strides = expanded(operand, operand.shape)
    same = [axis for axis in step.axes if strides[axis] == 0]
    if not same or not operand.is_view or step.function == "prod":
        return None
    index = tuple(slice(0, 1) if axis in same else slice(None) for axis in range(len(operand.shape)))
    result = viewed(operand, lambda values: values[index], step.origin)
    rest = [axis for axis in step.axes if axis not in same]
    if rest:
        result = Reduce.of(step.function, result, rest, origin=step.origin)
    if step.function == "sum":
        times = math.prod(operand.shape[axis] for axis in same)
        result = Elementwise.of("multiply", result, _wrapped(times, operand.dtype), origin=step.origin)
        if operand.dtype.kind == "f":
            # A sum begins with 0.0.
            result = Elementwise.of("add", result, constant(0.0, operand.dtype), origin=step.origin)
    rewriter.notes.add("reductions of what is broadcast are of what is there once")
    return result


def _wrapped(number: int, dtype: numpy.dtype) -> Array:
    """Return a number as sums of a dtype count: small integers begin anew."""
    return constant(numpy.array(number).astype(dtype))


def _of_reduction(step: Reduce, rewriter: Rewriter) -> Array | None:
    operand = step.operands[0]
    before = operand.step
    if not isinstance(before, Reduce) or before.function != step.function or not rewriter.is_read_once(operand):
        return None
    rewriter.notes.add("two reductions, one after the other, are one")
    return Reduce.of(step.function, before.operands[0], {*before.axes, *step.axes}, origin=before.origin + step.origin)
