"""Maxima of windows in networks with the channels last: by a kernel of their own.

They come as maxima of strided views, one for each place in a window, of data that were padded before. A kernel does
without the padding, which is a copy of the largest arrays there are, and reads each number once for the windows of a
row that it is in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy

from minpy.backends.native.convolutions.calls import kernel_of_code
from minpy.backends.native.convolutions.channel_windows import Pooling, channels_pooling
from minpy.backends.native.convolutions.registers import Processor
from minpy.backends.native.kernels.kernel import Kernel
from minpy.backends.native.language import Array, Assembly, Call, Elementwise, Part, Routine, Step, View, contiguous
from minpy.backends.native.machine import llvm

if TYPE_CHECKING:
    from minpy.backends.native.passes.rewriting import Notes, Rewriter

__all__ = ["Maxima", "MaximaForm", "pooled"]

# Channels, and places of a window, from which a kernel is worth a call.
CHANNELS, PLACES = 8, 4


@dataclass(frozen=True)
class Maxima:
    """The function of a call that takes the maxima of windows, channels last."""

    pooling: Pooling
    processor: Processor

    __name__ = "maxima"

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of what it gives."""
        return (self.pooling.batch, *self.pooling.counts, self.pooling.channels)

    def __call__(self, data: Any) -> Any:
        rows, columns = self.pooling.axes
        result = numpy.full(self.shape, -numpy.inf, data.dtype)
        for y in range(rows.count):
            for x in range(columns.count):
                top, left = y * rows.step + rows.offset, x * columns.step + columns.offset
                window = data[
                    :,
                    top + rows.begins(y) : top + rows.ends(y),
                    left + columns.begins(x) : left + columns.ends(x),
                ]
                result[:, y, x] = window.max((1, 2))
        return result


@dataclass(frozen=True)
class MaximaForm:
    """How such a call is done by native code."""

    function: Maxima

    def kernels(self, call: Call) -> Sequence[Kernel]:
        """Return the kernel."""
        code = channels_pooling(self.function.pooling, self.function.processor)
        arrays = {"data": call.operands[0], "result": call.output}
        return (kernel_of_code(code, arrays, "maxima", self.flops(call)),)

    def flops(self, call: Call) -> int:
        """Return how many numbers are compared."""
        height, width = self.function.pooling.kernel
        return call.output.size * height * width

    def label(self) -> str:
        """Return what it takes the maxima of."""
        one = self.function.pooling
        size, kernel = ("x".join(map(str, numbers)) for numbers in (one.lengths, one.kernel))
        return f"maxima of {kernel} of {one.batch}x{one.channels}x{size}, channels last"


def pooled(routine: Routine, notes: Notes) -> Routine:
    """Return a routine in which kernels take the maxima of windows along channels that lie side by side.

    Parameters
    ----------
    routine : Routine
        With gradients, it stays as it is: they are read off the same views.
    notes : Notes
        Is told what was done.
    """
    if len(routine.parts) > 1 or not llvm.available():
        return routine
    from minpy.backends.native.passes.rewriting import Rewriter, readers  # whose room has this pass

    by = readers(routine)
    found: dict[Array, tuple[Array, Pooling]] = {}
    for step in routine.steps:
        if isinstance(step, Elementwise) and step.function == "maximum" and len(step.output.shape) == 4:
            windows = _windows(step, by)
            if windows is not None:
                found[step.output] = windows
    if not found:
        return routine
    processor = Processor.of(llvm.features())

    def rule(step: Step, rewriter: Rewriter) -> Array | None:
        before = rewriter.former(step.outputs[0])
        if rewriter.is_made or before not in found:
            return None
        data, pooling = found[before]
        function = Maxima(pooling, processor)
        facts = [(function.shape, data.dtype)]
        operands = [rewriter.current(data)]
        form = MaximaForm(function)
        (made,) = Call.of(function, operands, facts, "a generated kernel", form=form, origin=step.origin)
        rewriter.notes.add("maxima of windows: by a kernel")
        return made

    return Rewriter(routine, rule, notes).rebuilt()


def _windows(step: Elementwise, by: Mapping[Array, list[Step | Part]]) -> tuple[Array, Pooling] | None:
    """Return the data, and the windows of them, whose maxima a step gives at last."""
    leaves = _leaves(step, by)
    if leaves is None or len(leaves) < PLACES:
        return None
    root, shape = leaves[0].root, step.output.shape
    larger = [one for one in by.get(step.output, ()) if isinstance(one, Elementwise) and one.function == "maximum"]
    if any(one.root is root for reader in larger for one in reader.operands if one is not step.output):
        return None  # these are a part of the windows
    if any(one.root is not root or one.shape != shape or one.dtype != root.dtype for one in leaves):
        return None
    if len(root.shape) != 4 or root.dtype.name not in ("float32", "float64") or root.shape[3] != shape[3]:
        return None
    pooling = _grid(root, [one.layout for one in leaves], shape)
    if pooling is None:
        return None
    data = root
    while (inner := _unpadded(data)) is not None:
        data, (down, right) = inner
        height, width = data.shape[1:3]
        pad = (pooling.pad[0] + down, pooling.pad[1] + right)
        pooling = replace(pooling, lengths=(height, width), pad=pad)
    if isinstance(data.step, Elementwise) or data.is_view or not pooling.is_covered:
        return None
    return data, pooling


def _leaves(step: Elementwise, by: Mapping[Array, list[Step | Part]]) -> list[Array] | None:
    """Return the views that a step gives the maxima of, through others that nobody else reads."""
    found: list[Array] = []
    left = list(step.operands)
    while left:
        one = left.pop()
        if isinstance(one.step, View):
            found.append(one)
        elif isinstance(one.step, Elementwise) and one.step.function == "maximum" and len(by.get(one, ())) == 1:
            left += one.step.operands
        else:
            return None
    return found


def _grid(root: Array, layouts: Sequence[Any], shape: Sequence[int]) -> Pooling | None:
    """Return the windows whose places views are, if they are all places of one kind of window."""
    batch, height, width, channels = root.shape
    strides = layouts[0].strides
    size, line = height * width * channels, width * channels
    if any(one.strides != strides for one in layouts) or shape[0] != batch or channels < CHANNELS:
        return None
    if strides[3] != 1 or (batch > 1 and strides[0] != size) or strides[1] % line or strides[2] % channels:
        return None
    stride = (strides[1] // line if shape[1] > 1 else 1, strides[2] // channels if shape[2] > 1 else 1)
    places = {divmod(one.offset, line) for one in layouts}
    rows, columns = {row for row, _ in places}, {column // channels for _, column in places}
    kernel = (len(rows), len(columns))
    whole = {(row, column * channels) for row in range(kernel[0]) for column in range(kernel[1])}
    if places != whole or len(places) != len(layouts) or min(stride) < 1:
        return None
    counts = (shape[1], shape[2])
    return Pooling(batch, channels, (height, width), kernel, stride, (0, 0), counts, "max", dtype=root.dtype.name)


def _unpadded(array: Array) -> tuple[Array, tuple[int, int]] | None:
    """Return what was padded with the least number there is, and with how many rows and columns before it."""
    step = array.step
    if not isinstance(step, Assembly) or len(step.operands) != 1 or step.fill is None:
        return None
    data, layout = step.operands[0], step.pieces[0].layout
    if not float(step.fill) <= float(numpy.finfo(array.dtype).min) or data.is_view or len(data.shape) != 4:
        return None
    if data.shape[0] != array.shape[0] or data.shape[3] != array.shape[3]:
        return None
    row, rest = divmod(layout.offset, array.shape[2] * array.shape[3])
    column, rest = divmod(rest, array.shape[3])
    alike = all(
        length == 1 or one == other
        for length, one, other in zip(data.shape, layout.strides, contiguous(array.shape), strict=True)
    )
    return (data, (row, column)) if alike and rest == 0 else None
