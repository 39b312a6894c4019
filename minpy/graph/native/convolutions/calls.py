"""Convolutions batch last as calls of the step language: what they compute, by NumPy and by generated kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from minpy.graph.native.convolutions.correlation import Code
from minpy.graph.native.convolutions.data_gradient import data_gradient
from minpy.graph.native.convolutions.depthwise import (
    depthwise_data_gradient,
    depthwise_forward,
    depthwise_weight_gradient,
)
from minpy.graph.native.convolutions.emitter import METADATA
from minpy.graph.native.convolutions.forward import forward
from minpy.graph.native.convolutions.problem import Problem
from minpy.graph.native.convolutions.registers import Processor
from minpy.graph.native.convolutions.weight_gradient import weight_gradient
from minpy.graph.native.convolutions.winograd import transformed_shape, winograd, winograd_weight
from minpy.graph.native.kernels.kernel import Kernel, Pointer
from minpy.graph.native.language import Array, Call
from minpy.ops.kernels import columns

__all__ = ["BatchLast", "BatchLastForm", "convolution_call", "kernel_of_code"]

GENERATORS = {
    ("direct", "result"): forward,
    ("direct", "data"): data_gradient,
    ("direct", "weight"): weight_gradient,
    ("depthwise", "result"): depthwise_forward,
    ("depthwise", "data"): depthwise_data_gradient,
    ("depthwise", "weight"): depthwise_weight_gradient,
}


@dataclass(frozen=True)
class BatchLast:
    """The function of a call: a convolution of (C, H, W, N), or a gradient of one.

    Attributes
    ----------
    what : {'result', 'data', 'weight'}
        'result': of (data, weight, and bias and residual where there are some); 'data': of (gradient, weight);
        'weight': of (data, gradient).
    problem : Problem
    """

    what: str
    problem: Problem

    @property
    def __name__(self) -> str:
        return {"result": "convolution", "data": "convolution_data", "weight": "convolution_weight"}[self.what]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of what it gives."""
        one = self.problem
        if self.what == "result":
            return (one.filters, *one.outputs, one.batch)
        if self.what == "data":
            return (one.channels, *one.lengths, one.batch)
        return (one.filters, one.channels // one.groups, *one.kernel)

    def __call__(self, first: Any, second: Any, *more: Any) -> Any:
        one = self.problem
        window = {"stride": one.stride, "dilate": one.dilate, "pad": one.pad, "num_group": one.groups}
        first = numpy.moveaxis(first, -1, 0)
        if self.what == "weight":
            second = numpy.moveaxis(second, -1, 0)
            return columns.convolve_weight.forward(first, second, kernel=one.kernel, **window)
        if self.what == "data":
            found = columns.convolve_data.forward(first, second, lengths=one.lengths, **window)
            return numpy.moveaxis(found, 0, -1)
        found = numpy.moveaxis(columns.convolve.forward(first, second, **window), 0, -1)
        rest = list(more)
        if one.bias:
            found = found + rest.pop(0)[:, None, None, None]
        if one.residual:
            found = found + rest.pop(0)
        return numpy.maximum(found, 0) if one.relu else found


@dataclass(frozen=True)
class BatchLastForm:
    """How such a call is done by native code.

    Attributes
    ----------
    kind : {'direct', 'depthwise', 'winograd'}
    function : BatchLast
    processor : Processor
    """

    kind: str
    function: BatchLast
    processor: Processor

    def kernels(self, call: Call) -> Sequence[Kernel]:
        """Return the kernel; of Winograd's way a second one, before it, which transforms the weight."""
        what, problem = self.function.what, self.function.problem
        arrays = dict(zip(self._operands(), call.operands, strict=True))
        if self.kind != "winograd":
            code: Code = GENERATORS[self.kind, what](problem, self.processor)
            arrays[code.writes[0]] = call.output
            return (kernel_of_code(code, arrays, f"convolution_{self.kind}_{what}", self.flops(call)),)
        weight = arrays["weight"]
        shape = transformed_shape(problem, what, self.processor)
        transformed = Array(shape, weight.dtype, name="transformed weight")
        first = winograd_weight(problem, what, self.processor)
        second = winograd(problem, what, self.processor)
        given = {"weight": weight, "transformed": transformed}
        arrays = {**arrays, "weight": transformed, "result": call.output}
        return (
            kernel_of_code(first, given, "winograd_weight", 4 * transformed.size),
            kernel_of_code(second, arrays, f"winograd_{what}", self.flops(call) * 4 // 9),
        )

    def _operands(self) -> tuple[str, ...]:
        """Return what the kernels call the operands."""
        if self.function.what == "weight":
            return ("data", "gradient")
        one = self.function.problem
        return ("data", "weight", *(name for name in ("bias", "residual") if getattr(one, name)))

    def flops(self, call: Call) -> int:
        """Return how many operations on numbers the sums of products are."""
        return self.function.problem.flops

    def label(self) -> str:
        """Return what is convolved, and how."""
        one = self.function.problem
        along = [name for name in ("bias", "residual", "relu") if getattr(one, name)]
        size, kernel = ("x".join(map(str, numbers)) for numbers in (one.lengths, one.kernel))
        what = {"result": "convolution", "data": "data gradient", "weight": "weight gradient"}[self.function.what]
        return " + ".join(
            [
                f"{self.kind} {what} of {one.channels}x{size} by {one.filters}x{kernel}, batch of {one.batch} last",
                *along,
            ]
        )


def kernel_of_code(code: Code, arrays: dict[str, Array], name: str, flops: int) -> Kernel:
    """Return a generated function as a kernel of some arrays, which lie contiguously."""
    pointers = []
    for one in (*code.reads, *code.writes):
        array = arrays[one]
        assert array.is_contiguous, one
        pointers.append(Pointer(array.root, array.layout.offset, one in code.writes))
    moved = sum(arrays[one].nbytes for one in (*code.reads, *code.writes))
    return Kernel(
        code.body,
        tuple(pointers),
        metadata=METADATA,
        splits=max(1, code.splits),
        scratch=code.scratch,
        flops=flops,
        bytes_moved=moved,
        name=name,
    )


def convolution_call(
    function: BatchLast, kind: str, processor: Processor, operands: Sequence[Array], origin: Any
) -> Array:
    """Return what a new call of a convolution gives."""
    form = BatchLastForm(kind, function, processor)
    facts = [(function.shape, operands[0].dtype)]
    (found,) = Call.of(function, operands, facts, "a generated kernel", form=form, origin=origin)
    return found
