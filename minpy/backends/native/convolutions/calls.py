"""Convolutions as calls of the step language: what they compute, by NumPy and by generated kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from minpy.backends.native.convolutions.channel_windows import channels_depthwise
from minpy.backends.native.convolutions.channels_last import channels_forward, operands_of, pack_weight, packed_shape
from minpy.backends.native.convolutions.channels_winograd import (
    channels_winograd,
    channels_winograd_weight,
    kernels_of,
    transformed,
    winograd_shape,
)
from minpy.backends.native.convolutions.correlation import Code
from minpy.backends.native.convolutions.data_gradient import data_gradient
from minpy.backends.native.convolutions.depthwise import (
    depthwise_data_gradient,
    depthwise_forward,
    depthwise_weight_gradient,
)
from minpy.backends.native.convolutions.emitter import METADATA
from minpy.backends.native.convolutions.forward import forward
from minpy.backends.native.convolutions.problem import Problem
from minpy.backends.native.convolutions.registers import Processor, VectorsOfBatch
from minpy.backends.native.convolutions.weight_gradient import weight_gradient
from minpy.backends.native.convolutions.winograd import transformed_shape, winograd, winograd_weight
from minpy.backends.native.kernels.kernel import Kernel, Pointer
from minpy.backends.native.language import Array, Call
from minpy.ops.kernels import columns

__all__ = ["Convolution", "ConvolutionForm", "Packing", "PackingForm", "convolution_call", "kernel_of_code", "packed"]

GENERATORS: dict[tuple[str, str], Any] = {
    ("direct", "result"): forward,
    ("direct", "data"): data_gradient,
    ("direct", "weight"): weight_gradient,
    ("depthwise", "result"): depthwise_forward,
    ("depthwise", "data"): depthwise_data_gradient,
    ("depthwise", "weight"): depthwise_weight_gradient,
    ("channels", "result"): channels_forward,
    ("channels depthwise", "result"): channels_depthwise,
    ("channels winograd 2", "result"): lambda problem, processor: channels_winograd(problem, 2, processor),
    ("channels winograd 4", "result"): lambda problem, processor: channels_winograd(problem, 4, processor),
}


@dataclass(frozen=True)
class Convolution:
    """The function of a call: a convolution, or a gradient of one, in the layout of a generated kernel.

    Attributes
    ----------
    what : {'result', 'data', 'weight'}
        'result': of (data, weight, and scale, bias and residual where there are some); 'data': of (gradient, weight);
        'weight': of (data, gradient).
    problem : Problem
    kind : {'direct', 'depthwise', 'winograd', 'channels', 'channels depthwise', 'channels winograd 2', \
'channels winograd 4'}
        The last four have the channels last, the others the batch; of Winograd's, tiles are so many results long.
    processor : Processor
        For which weights are packed.
    """

    what: str
    problem: Problem
    kind: str
    processor: Processor

    @property
    def __name__(self) -> str:
        return {"result": "convolution", "data": "convolution_data", "weight": "convolution_weight"}[self.what]

    @property
    def has_channels_last(self) -> bool:
        """Whether arrays are (N, H, W, C); else they are (C, H, W, N)."""
        return self.kind.startswith("channels")

    @property
    def channel_axis(self) -> int:
        """Which axis of data and result the channels are."""
        return 3 if self.has_channels_last else 0

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of what it gives."""
        one = self.problem
        if self.what == "weight":
            return (one.filters, one.channels // one.groups, *one.kernel)
        channels, lengths = (one.filters, one.outputs) if self.what == "result" else (one.channels, one.lengths)
        return (one.batch, *lengths, channels) if self.has_channels_last else (channels, *lengths, one.batch)

    def __call__(self, first: Any, second: Any, *more: Any) -> Any:
        one = self.problem
        window = {"stride": one.stride, "dilate": one.dilate, "pad": one.pad, "num_group": one.groups}
        # From (C, H, W, N), or (N, H, W, C), to (N, C, H, W) and back: the axes in the opposite order, or turned.
        order, back = ((0, 3, 1, 2), (0, 2, 3, 1)) if self.has_channels_last else ((3, 0, 1, 2), (1, 2, 3, 0))
        first = first.transpose(order)
        if self.what == "weight":
            return columns.convolve_weight.forward(first, second.transpose(order), kernel=one.kernel, **window)
        if self.what == "data":
            found = columns.convolve_data.forward(first, second, lengths=one.lengths, **window)
            return found.transpose(back)
        if self.has_channels_last:
            second = Packing(one, self.kind, self.processor).unpacked(second)
        found = columns.convolve.forward(first, second, **window)
        given = dict(zip(operands_of(one)[2:], more, strict=True))
        if one.scale:
            found = found * given["scale"][:, None, None]
        if one.bias:
            found = found + given["bias"][:, None, None]
        found = found.transpose(back)
        if one.residual:
            found = found + given["residual"]
        return numpy.maximum(found, 0) if one.relu else found


@dataclass(frozen=True)
class ConvolutionForm:
    """How such a call is done by native code."""

    function: Convolution

    def kernels(self, call: Call) -> Sequence[Kernel]:
        """Return the kernel; of Winograd's way a second one, before it, which transforms the weight."""
        one = self.function
        problem, processor = one.problem, one.processor
        names = ("data", "gradient") if one.what == "weight" else operands_of(problem)
        arrays = dict(zip(names, call.operands, strict=True))
        if one.kind != "winograd":
            code: Code = GENERATORS[one.kind, one.what](problem, processor)
            arrays[code.writes[0]] = call.output
            name = f"convolution_{one.kind.replace(' ', '_')}_{one.what}"
            return (kernel_of_code(code, arrays, name, self.flops(call)),)
        weight = arrays["weight"]
        transformed = Array(transformed_shape(problem, one.what, processor), weight.dtype, name="transformed weight")
        first, second = winograd_weight(problem, one.what, processor), winograd(problem, one.what, processor)
        given = {"weight": weight, "transformed": transformed}
        arrays = {**arrays, "weight": transformed, "result": call.output}
        return (
            kernel_of_code(first, given, "winograd_weight", 4 * transformed.size),
            kernel_of_code(second, arrays, f"winograd_{one.what}", self.flops(call) * 4 // 9),
        )

    def flops(self, call: Call) -> int:
        """Return how many operations on numbers the sums of products are."""
        return self.function.problem.flops

    def label(self) -> str:
        """Return what is convolved, and how."""
        one = self.function.problem
        along = [name for name in ("scale", "bias", "residual", "relu") if getattr(one, name)]
        size, kernel = ("x".join(map(str, numbers)) for numbers in (one.lengths, one.kernel))
        what = {"result": "convolution", "data": "data gradient", "weight": "weight gradient"}[self.function.what]
        layout = "channels last" if self.function.has_channels_last else "batch last"
        way = self.function.kind.replace("channels", "direct").removeprefix("direct ")
        text = f"{way} {what} of {one.batch}x{one.channels}x{size} by {one.filters}x{kernel}, {layout}"
        return " + ".join([text, *along])


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
        if self.results:
            return winograd_shape(self.problem, self.results, self.processor)
        return packed_shape(self.problem, self.processor)

    @property
    def results(self) -> int:
        """How many results a tile of Winograd's way is long; 0 of other ways."""
        return int(self.kind.rpartition(" ")[2]) if "winograd" in self.kind else 0

    def _starts(self) -> list[int]:
        filters = self.problem.filters // self.problem.groups
        lanes = VectorsOfBatch.of(filters, self.processor.lanes(self.problem.itemsize))
        return [min(number * lanes.width, filters - lanes.width) for number in range(lanes.count)]

    def __call__(self, weight: Any) -> Any:
        if self.kind == "channels depthwise":
            return weight[:, 0].transpose(1, 2, 0)
        if self.results:
            return transformed(weight, self.results, self._starts(), self.shape[-1])
        groups = weight.reshape(self.problem.groups, -1, *weight.shape[1:])
        width = self.shape[-1]
        return numpy.array([
            one[start : start + width].transpose(2, 3, 1, 0) for one in groups for start in self._starts()
        ])  # fmt: skip

    def unpacked(self, given: Any) -> Any:
        """Return the weight that was packed."""
        one = self.problem
        shape = (one.filters, one.channels // one.groups, *one.kernel)
        if self.kind == "channels depthwise":
            return given.transpose(2, 0, 1).reshape(shape)
        if self.results:
            return kernels_of(given, self.results, self._starts())
        result = numpy.empty((one.groups, one.filters // one.groups, *shape[1:]), given.dtype)
        starts = self._starts()
        for number, vectors in enumerate(given):
            start = starts[number % len(starts)]
            result[number // len(starts), start : start + given.shape[-1]] = vectors.transpose(3, 2, 0, 1)
        return result.reshape(shape)


@dataclass(frozen=True)
class PackingForm:
    """How a weight is packed by native code."""

    function: Packing

    def kernels(self, call: Call) -> Sequence[Kernel]:
        """Return the kernel."""
        one = self.function
        if one.results:
            code = channels_winograd_weight(one.problem, one.results, one.processor)
        else:
            code = pack_weight(one.problem, one.processor)
        arrays = {"weight": call.operands[0], "packed": call.output}
        return (kernel_of_code(code, arrays, "pack_weight", 4 * call.output.size),)

    def flops(self, call: Call) -> int:
        """Return 0: numbers are moved."""
        return 0

    def label(self) -> str:
        """Return what is packed."""
        return f"weight {self.function.shape} packed"


def packed(function: Packing, weight: Array, origin: Any) -> Array:
    """Return a packed weight: of a constant one, a constant."""
    if weight.value is not None:
        return Array(function.shape, weight.dtype, value=numpy.ascontiguousarray(function(weight.value)))
    facts = [(function.shape, weight.dtype)]
    (found,) = Call.of(function, [weight], facts, "a generated kernel", form=PackingForm(function), origin=origin)
    return found


def kernel_of_code(code: Code, arrays: dict[str, Array], name: str, flops: int) -> Kernel:
    """Return a generated function as a kernel of some arrays, which lie contiguously."""
    pointers = []
    for one in (*code.reads, *code.writes):
        array = arrays[one]
        assert array.is_contiguous, one
        pointers.append(Pointer(array.root, array.layout.offset, one in code.writes))
    return Kernel(
        code.body,
        tuple(pointers),
        declares=code.declares,
        metadata=METADATA,
        splits=max(1, code.splits),
        scratch=code.scratch,
        flops=flops,
        bytes_moved=sum(arrays[one].nbytes for one in (*code.reads, *code.writes)),
        is_written=True,
        name=name,
    )


def convolution_call(function: Convolution, operands: Sequence[Array], origin: Any) -> Array:
    """Return what a new call of a convolution gives."""
    facts = [(function.shape, operands[0].dtype)]
    form = ConvolutionForm(function)
    (found,) = Call.of(function, operands, facts, "a generated kernel", form=form, origin=origin)
    return found
