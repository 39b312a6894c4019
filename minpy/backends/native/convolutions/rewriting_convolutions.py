"""The rewrite rule that brings convolutions into the layouts of generated kernels.

A convolution becomes a call on arrays with the batch last, or the channels where examples are few, between transposed
views. Other steps on these arrays are computed in memory order, so that in a network of convolutions only its inputs
are transposed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy

from minpy.backends.native.convolutions.convolution_functions import Convolution, Packing, convolution_call, packed
from minpy.backends.native.convolutions.cost_model import choose
from minpy.backends.native.convolutions.problem import Problem
from minpy.backends.native.convolutions.register_blocking import Processor
from minpy.backends.native.language import Array, Call, Elementwise, Origin, Product, Step, viewed
from minpy.backends.native.machine import llvm
from minpy.backends.native.translating.lowerings.convolving import Convolving

if TYPE_CHECKING:
    from minpy.backends.native.passes.rewriting import Rewriter

__all__ = ["generated"]


def generated(step: Step, rewriter: Rewriter) -> Array | None:
    """Return what a convolution gives, computed by a generated kernel; None, where that is not quicker."""
    if not isinstance(step, Call) or not isinstance(step.function, Convolving) or not llvm.available():
        return None
    problem = _problem(step.function, step)
    if problem is None:
        return None
    processor = Processor.of(llvm.features())
    computed = step.function.computed
    plan = choose(problem, computed, processor, _is_inference(rewriter))
    if plan.kind == "columns":
        return None
    rewriter.notes.add(f"generated convolutions: {plan.kind}")
    if plan.kind.startswith("channels"):
        return _with_channels_last(step, Convolution(computed, problem, plan.kind, processor))
    return _with_batch_last(step, Convolution(computed, problem, plan.kind, processor))


def _is_inference(rewriter: Rewriter) -> bool:
    """Tell whether there are no gradients of convolutions."""
    functions = (step.function for step in rewriter.routine.steps if isinstance(step, Call))
    return all(called.computed == "result" for called in functions if isinstance(called, Convolving | Convolution))


def _problem(function: Convolving, step: Call) -> Problem | None:
    """Return what is convolved; None, if no kernels are generated for it."""
    first, second = step.operands
    dims = len(function.kernel)
    if dims > 2 or first.dtype != second.dtype or first.dtype.name not in ("float32", "float64"):
        return None
    if not (first.size and second.size and step.output.size):
        return None

    def pair(numbers: tuple[int, ...], missing: int) -> tuple[int, int]:
        return (missing, numbers[0]) if dims == 1 else (numbers[0], numbers[1])

    channels = {"result": first, "data": step.output, "weight": first}[function.computed].shape[1]
    filters = {"result": second.shape[0], "data": first.shape[1], "weight": second.shape[1]}[function.computed]
    window = (pair(function.stride, 1), pair(function.dilate, 1), pair(function.pad, 0))
    lengths, kernel = pair(function.lengths, 1), pair(function.kernel, 1)
    return Problem(first.shape[0], channels, filters, lengths, kernel, *window, function.groups, first.dtype.name)


def _turned(array: Array, order: tuple[int, ...], origin: Origin) -> Array:
    """Return (N, C, *lengths) as a contiguous array of four axes in another order."""
    if len(array.shape) == 3:
        array = viewed(array, lambda values: values[:, :, None, :])
    return _contiguous(viewed(array, lambda values: values.transpose(order)), origin)


def _contiguous(array: Array, origin: Origin) -> Array:
    return array if array.is_contiguous else Elementwise.of("copy", array, origin=origin)


def _weight(array: Array, origin: Origin) -> Array:
    """Return (F, C, *kernel) as a contiguous array of four axes."""
    array = _contiguous(array, origin)
    return viewed(array, lambda values: values[:, :, None, :]) if len(array.shape) == 3 else array


def _back(array: Array, order: tuple[int, ...], shape: tuple[int, ...]) -> Array:
    return viewed(array, lambda values: values.transpose(order).reshape(shape))


def _with_batch_last(step: Call, function: Convolution) -> Array:
    problem, shape = function.problem, step.output.shape
    first, second = step.operands
    first = _turned(first, (1, 2, 3, 0), step.origin)
    second = (
        _turned(second, (1, 2, 3, 0), step.origin) if function.computed == "weight" else _weight(second, step.origin)
    )
    if function.kind == "product":
        result = _product(problem, function.computed, first, second, step.origin)
    else:
        result = convolution_call(function, (first, second), step.origin)
    if function.computed == "weight":
        return viewed(result, lambda values: values.reshape(shape))
    return _back(result, (3, 0, 1, 2), shape)


def _product(problem: Problem, computed: str, first: Array, second: Array, origin: Origin) -> Array:
    """Return the convolution with a kernel of one element as a product of matrices."""

    def matrix(array: Array) -> Array:
        return viewed(array, lambda values: values.reshape(len(values), -1))

    data = matrix(first)
    if computed == "weight":
        return Product.of(matrix(second), viewed(data, numpy.transpose), origin=origin)
    weight = viewed(second, lambda values: values.reshape(problem.filters, problem.channels))
    product = Product.of(weight if computed == "result" else viewed(weight, numpy.transpose), data, origin=origin)
    return viewed(product, lambda values: values.reshape(-1, *problem.lengths, problem.batch))


def _with_channels_last(step: Call, function: Convolution) -> Array:
    problem = function.problem
    first, second = step.operands
    first, second = _turned(first, (0, 2, 3, 1), step.origin), _weight(second, step.origin)
    if problem.kernel == (1, 1) != problem.stride and problem.pad == (0, 0):
        # Positions that lie side by side are quicker than those some way apart, which meet in the sets of a cache.
        down, right = problem.stride
        first = _contiguous(viewed(first, lambda values: values[:, ::down, ::right]), step.origin)
        problem = replace(problem, lengths=problem.positions, stride=(1, 1))
        function = replace(function, problem=problem)
    if function.kind == "channels depthwise":
        shape = (problem.channels, *problem.kernel)
        turned = viewed(second, lambda values: values.reshape(shape).transpose(1, 2, 0))
        weight = _contiguous(turned, step.origin)
    else:
        weight = packed(Packing(problem, function.kind, function.processor), second, step.origin)
    result = convolution_call(function, (first, weight), step.origin)
    return _back(result, (0, 3, 1, 2), step.output.shape)
