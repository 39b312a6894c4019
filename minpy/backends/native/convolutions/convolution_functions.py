"""Convolutions as calls of the step language: what they compute, by NumPy and by generated kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from minpy.backends.native.convolutions.channels_depthwise import channels_depthwise
from minpy.backends.native.convolutions.channels_last import channels_forward, pack_weight, packed_shape
from minpy.backends.native.convolutions.depthwise import depthwise, depthwise_weight_gradient
from minpy.backends.native.convolutions.direct_convolution import Code, correlate
from minpy.backends.native.convolutions.problem import Problem
from minpy.backends.native.convolutions.register_blocking import Processor, VectorsOfBatch
from minpy.backends.native.convolutions.vector_writer import METADATA
from minpy.backends.native.convolutions.weight_gradient import weight_gradient
from minpy.backends.native.convolutions.winograd_kernels import (
    kernels_of,
    transformed,
    transformed_shape,
    winograd,
    winograd_weight,
)
from minpy.backends.native.kernels.kernel import Kernel, Pointer
from minpy.backends.native.language import Array, Call
from minpy.backends.native.translating.lowerings.convolving import Convolving

__all__ = ["Convolution", "Packing", "convolution_call", "kernel_of_code", "packed"]

GENERATORS: dict[str, Callable[[Problem, str, Processor], Code]] = {
    "direct": lambda problem, computed, processor: _direct(problem, computed, processor),
    "winograd": lambda problem, computed, processor: winograd(problem, computed, processor, channels_last=False),
    "channels": lambda problem, computed, processor: channels_forward(problem, processor),
    "channels depthwise": lambda problem, computed, processor: channels_depthwise(problem, processor),
    "channels winograd": lambda problem, computed, processor: winograd(
        problem, computed, processor, channels_last=True
    ),
}


def _direct(problem: Problem, computed: str, processor: Processor) -> Code:
    is_depthwise = problem.is_depthwise and problem.groups > 1
    if computed == "weight":
        return (depthwise_weight_gradient if is_depthwise else weight_gradient)(problem, processor)
    return (depthwise if is_depthwise else correlate)(problem, computed, processor)


@dataclass(frozen=True)
class Convolution:
    """The function of a call: a convolution, or a gradient of one, in the layout of a generated kernel.

    Attributes
    ----------
    computed : {'result', 'data', 'weight'}
        'result': of (data, weight); 'data': of (gradient, weight); 'weight': of (data, gradient).
    problem : Problem
    kind : {'direct', 'winograd', 'channels', 'channels depthwise', 'channels winograd'}
        The last three have the channels last, the others the batch.
    processor : Processor
        For which weights are packed.
    """

    computed: str
    problem: Problem
    kind: str
    processor: Processor

    @property
    def __name__(self) -> str:
        return {"result": "convolution", "data": "convolution_data", "weight": "convolution_weight"}[self.computed]

    @property
    def has_channels_last(self) -> bool:
        """Whether arrays are (N, H, W, C); else they are (C, H, W, N)."""
        return self.kind.startswith("channels")

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of what it gives."""
        problem = self.problem
        if self.computed == "weight":
            return problem.weight_shape
        is_result = self.computed == "result"
        channels, lengths = (problem.filters, problem.positions) if is_result else (problem.channels, problem.lengths)
        return (problem.batch, *lengths, channels) if self.has_channels_last else (channels, *lengths, problem.batch)

    def __call__(self, first: Any, second: Any) -> Any:
        problem = self.problem
        convolved = Convolving(
            self.computed, problem.lengths, problem.kernel, problem.stride, problem.dilate, problem.pad, problem.groups
        )
        # From (C, H, W, N), or (N, H, W, C), to (N, C, H, W) and back.
        order, back = ((0, 3, 1, 2), (0, 2, 3, 1)) if self.has_channels_last else ((3, 0, 1, 2), (1, 2, 3, 0))
        if self.computed == "weight":
            return convolved(first.transpose(order), second.transpose(order))
        if self.has_channels_last:
            second = Packing(problem, self.kind, self.processor).unpacked(second)
        return convolved(first.transpose(order), second).transpose(back)

    def kernels(self, call: Call) -> Sequence[Kernel]:
        """Return the kernel; of Winograd's way with the batch last, a second one before it transforms the weight."""
        problem, computed = self.problem, self.computed
        names = ("data", "gradient" if computed == "weight" else "weight")
        arrays = dict(zip(names, call.operands, strict=True))
        kernels = []
        if self.kind == "winograd":
            weight = arrays["weight"]
            shape = transformed_shape(problem, computed, self.processor, channels_last=False)
            arrays["weight"] = Array(shape, weight.dtype, name="transformed weight")
            code = winograd_weight(problem, computed, self.processor, channels_last=False)
            transform = {"weight": weight, "packed": arrays["weight"]}
            kernels.append(kernel_of_code(code, transform, "winograd_weight", 4 * arrays["weight"].size))
        code = GENERATORS[self.kind](problem, computed, self.processor)
        arrays[code.writes[0]] = call.output
        flops = problem.flops // 4 if "winograd" in self.kind else problem.flops
        kernels.append(kernel_of_code(code, arrays, f"convolution_{self.kind.replace(' ', '_')}_{computed}", flops))
        return kernels

    def label(self) -> str:
        """Return what is convolved, and how."""
        problem = self.problem
        size, kernel = ("x".join(map(str, lengths)) for lengths in (problem.lengths, problem.kernel))
        noun = {"result": "convolution", "data": "data gradient", "weight": "weight gradient"}[self.computed]
        layout = "channels last" if self.has_channels_last else "batch last"
        kind = self.kind.removeprefix("channels").strip() or "direct"
        return f"{kind} {noun} of {problem.batch}x{problem.channels}x{size} by {problem.filters}x{kernel}, {layout}"


@dataclass(frozen=True)
class Packing:
    """The function of a call that packs a weight for a convolution with the channels last."""

    problem: Problem
    kind: str
    processor: Processor

    __name__ = "packing"

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of a packed weight."""
        if self.kind == "channels depthwise":
            return (*self.problem.kernel, self.problem.channels)
        if self.kind == "channels winograd":
            return transformed_shape(self.problem, "result", self.processor, channels_last=True)
        return packed_shape(self.problem, self.processor)

    def _starts(self) -> list[int]:
        filters = self.problem.filters // self.problem.groups
        lanes = VectorsOfBatch.of(filters, self.processor.lanes(self.problem.itemsize))
        return [min(number * lanes.width, filters - lanes.width) for number in range(lanes.count)]

    def __call__(self, weight: Any) -> Any:
        if self.kind == "channels depthwise":
            return weight[:, 0].transpose(1, 2, 0)
        width = self.shape[-1]
        if self.kind == "channels winograd":
            return transformed(weight, self.shape[0], self._starts(), width)
        groups = weight.reshape(self.problem.groups, -1, *weight.shape[1:])
        blocks = [group[start : start + width] for group in groups for start in self._starts()]
        return numpy.array(blocks).transpose(0, 3, 4, 2, 1)

    def unpacked(self, packed: Any) -> Any:
        """Return the weight that was packed."""
        shape = self.problem.weight_shape
        if self.kind == "channels depthwise":
            return packed.transpose(2, 0, 1).reshape(shape)
        starts = self._starts()
        if self.kind == "channels winograd":
            return kernels_of(packed, starts)
        weight = numpy.empty((self.problem.groups, shape[0] // self.problem.groups, *shape[1:]), packed.dtype)
        for number, vectors in enumerate(packed):
            group, block = divmod(number, len(starts))
            weight[group, starts[block] : starts[block] + packed.shape[-1]] = vectors.transpose(3, 2, 0, 1)
        return weight.reshape(shape)

    def kernels(self, call: Call) -> Sequence[Kernel]:
        """Return the kernel."""
        if self.kind == "channels winograd":
            code = winograd_weight(self.problem, "result", self.processor, channels_last=True)
        else:
            code = pack_weight(self.problem, self.processor)
        arrays = {"weight": call.operands[0], "packed": call.output}
        return (kernel_of_code(code, arrays, "pack_weight", 4 * call.output.size),)

    def label(self) -> str:
        """Return what is packed."""
        return f"weight {self.shape} packed"


def packed(function: Packing, weight: Array, origin: Any) -> Array:
    """Return a packed weight: of a constant one, a constant."""
    if weight.value is not None:
        return Array(function.shape, weight.dtype, value=numpy.ascontiguousarray(function(weight.value)))
    return _call(function, [weight], origin)


def convolution_call(function: Convolution, operands: Sequence[Array], origin: Any) -> Array:
    """Return what a new call of a convolution gives."""
    return _call(function, operands, origin)


def _call(function: Convolution | Packing, operands: Sequence[Array], origin: Any) -> Array:
    facts = [(function.shape, operands[0].dtype)]
    (result,) = Call.of(function, operands, facts, "a generated kernel", origin=origin)
    return result


def kernel_of_code(code: Code, arrays: dict[str, Array], name: str, flops: int) -> Kernel:
    """Return a generated function as a kernel of some arrays, which lie contiguously."""
    pointers = []
    for role in (*code.reads, *code.writes):
        array = arrays[role]
        assert array.is_contiguous, role
        pointers.append(Pointer(array.root, array.layout.offset, role in code.writes))
    return Kernel(
        code.body,
        tuple(pointers),
        declares=code.declares,
        metadata=METADATA,
        splits=max(1, code.splits),
        scratch=code.scratch,
        flops=flops,
        bytes_moved=sum(arrays[role].nbytes for role in (*code.reads, *code.writes)),
        is_written=True,
        name=name,
    )
