"""Rewrite rules that bring convolutions into the layout of generated kernels, and what follows them into registers.

A convolution becomes a call on arrays with the batch last, between views that turn the axes; what is computed of
turned arrays is computed as it lies, so that in a network of convolutions nothing is turned but its inputs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy

from minpy.graph.native.convolutions.calls import BatchLast, BatchLastForm, convolution_call
from minpy.graph.native.convolutions.choosing import choose
from minpy.graph.native.convolutions.problem import Problem
from minpy.graph.native.convolutions.registers import Processor
from minpy.graph.native.language import Array, Call, Elementwise, Origin, Product, Step, View, viewed
from minpy.graph.native.machine import llvm
from minpy.graph.native.translating.lowerings.convolving import Convolving

if TYPE_CHECKING:
    from minpy.graph.native.passes.rewriting import Rewriter

__all__ = ["fused_into_registers", "with_batch_last"]


def with_batch_last(step: Step, rewriter: Rewriter) -> Array | None:
    """Return what a convolution gives, computed with the batch last; None, where that is not quicker."""
    if not isinstance(step, Call) or not isinstance(step.function, Convolving) or not llvm.available():
        return None
    function = step.function
    problem = _problem(function, step)
    if problem is None:
        return None
    processor = Processor.of(llvm.features())
    plan = choose(problem, function.what, processor)
    if plan.kind == "columns":
        return None
    first, second = step.operands
    first = _turned(first, step.origin)
    if function.what == "weight":
        second = _turned(second, step.origin)
    if plan.kind == "product":
        found = _product(problem, function.what, first, second, step.origin)
    else:
        if second.dtype != first.dtype or not second.is_contiguous:
            second = Elementwise.of("copy", second, origin=step.origin)
        found = convolution_call(BatchLast(function.what, problem), plan.kind, processor, (first, second), step.origin)
    rewriter.notes.add(f"convolutions with the batch last: {plan.kind}")
    shape = step.output.shape
    if function.what == "weight":
        return viewed(found, lambda values: values.reshape(shape))
    return viewed(found, lambda values: numpy.moveaxis(values, -1, 0).reshape(shape))


def _problem(function: Convolving, step: Call) -> Problem | None:
    """Return what is convolved; None, if no kernels are generated for it."""
    first, second = step.operands
    dims = len(function.kernel)
    if dims > 2 or first.dtype != second.dtype or first.dtype.name not in ("float32", "float64"):
        return None
    if not (first.size and second.size and step.output.size):
        return None
    fill = 2 - dims
    facts = (
        (1,) * fill + function.lengths,
        (1,) * fill + function.kernel,
        (1,) * fill + function.stride,
        (1,) * fill + function.dilate,
        (0,) * fill + function.pad,
    )
    channels = {
        "result": lambda: (first.shape[1], second.shape[0]),
        "data": lambda: (step.output.shape[1], first.shape[1]),
        "weight": lambda: (first.shape[1], second.shape[1]),
    }[function.what]()
    lengths, kernel, stride, dilate, pad = ((one[0], one[1]) for one in facts)
    return Problem(first.shape[0], *channels, lengths, kernel, stride, dilate, pad, function.groups, first.dtype.name)


def _turned(array: Array, origin: Origin) -> Array:
    """Return (N, C, *lengths) as a contiguous (C, H, W, N)."""
    shape = array.shape
    if len(shape) == 3:
        array = viewed(array, lambda values: values[:, :, None, :])
    turned = viewed(array, lambda values: numpy.moveaxis(values, 0, -1))
    return turned if turned.is_contiguous else Elementwise.of("copy", turned, origin=origin)


def _product(problem: Problem, what: str, first: Array, second: Array, origin: Origin) -> Array:
    """Return the convolution with a kernel of one element as a product of matrices."""

    def matrix(array: Array) -> Array:
        return viewed(array, lambda values: values.reshape(len(values), -1))

    one = matrix(first)
    if what == "weight":
        found = Product.of(matrix(second), viewed(one, numpy.transpose), origin=origin)
        return viewed(found, lambda values: values.reshape(problem.filters, problem.channels, 1, 1))
    two = viewed(second, lambda values: values.reshape(problem.filters, problem.channels))
    found = Product.of(two if what == "result" else viewed(two, numpy.transpose), one, origin=origin)
    return viewed(found, lambda values: values.reshape(-1, *problem.lengths, problem.batch))


# -- what follows ------------------------------------------------------------------------------------------------------


def fused_into_registers(step: Step, rewriter: Rewriter) -> Array | None:
    """Return what a bias, or relu, makes of a convolution that nobody else reads, done while its sums are there."""
    if not isinstance(step, Elementwise) or step.function not in ("add", "maximum"):
        return None
    for found, other in (step.operands, step.operands[::-1]):
        call = found.root.step
        if not isinstance(call, Call) or not isinstance(call.form, BatchLastForm) or found.shape != step.output.shape:
            continue
        problem = call.form.function.problem
        if call.form.function.what != "result" or not _read_once(found, rewriter):
            continue
        channel = _channel_axis(found, call.output)
        if channel is None or other.dtype != found.dtype:
            continue
        if step.function == "maximum" and _is_zero(other) and not problem.relu:
            return _with(call, found, rewriter, "relu", ())
        if step.function == "add" and not (problem.bias or problem.residual or problem.relu):
            bias = _bias(other, step.output.shape, channel)
            if bias is not None:
                return _with(call, found, rewriter, "bias", (bias,))
    return None


def _read_once(found: Array, rewriter: Rewriter) -> bool:
    """Tell whether nobody reads a call's result but one step, through one view."""
    return rewriter.is_read_once(found) and (not found.is_view or rewriter.is_read_once(found.root))


def _channel_axis(found: Array, result: Array) -> int | None:
    """Return the axis of a view of a whole result along which the channels are; None, if it shows something else."""
    if found.size != result.size or found.layout.offset:
        return None
    apart = result.layout.strides[0]
    axes = [axis for axis, stride in enumerate(found.layout.strides) if found.shape[axis] > 1]
    channels = [axis for axis in axes if found.layout.strides[axis] == apart and found.shape[axis] == result.shape[0]]
    return channels[0] if len(channels) == 1 else None


def _is_zero(array: Array) -> bool:
    value = array.root.value
    return value is not None and array.root.size > 0 and not value.any()


def _bias(array: Array, shape: tuple[int, ...], channel: int) -> Array | None:
    """Return an array of one number a channel that broadcasts to a shape, as a contiguous one of one axis."""
    lead = len(shape) - len(array.shape)
    if channel < lead or array.size != array.shape[channel - lead] or array.size != shape[channel]:
        return None
    flat = View.of(array.root, (array.size,), array.layout._replace(strides=(array.layout.strides[channel - lead],)))
    return flat if flat.is_contiguous else Elementwise.of("copy", flat)


def _with(call: Call, found: Array, rewriter: Rewriter, name: str, more: tuple[Array, ...]) -> Array:
    """Return what a call shows that does something more."""
    form: Any = call.form
    function = replace(form.function, problem=replace(form.function.problem, **{name: True}))
    result = convolution_call(function, form.kind, form.processor, (*call.operands, *more), call.origin)
    rewriter.notes.add(f"{name} of a convolution in registers")
    return View.of(result, found.shape, found.layout) if found.is_view else result
