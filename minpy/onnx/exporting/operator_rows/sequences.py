"""Operators on sequences of different lengths, of shape (time, batch, ...) or (batch, time, ...)."""

from __future__ import annotations

from typing import Any

import numpy

from minpy.frameworks.dialects import Operand
from minpy.onnx.exporting.calls import NodeCall, Rows
from minpy.onnx.exporting.positions import counted, truncated

__all__ = ["ROWS"]

ROWS = Rows()


def _steps_and_lengths(call: NodeCall, data: Operand, lengths: Operand, axis: int) -> tuple[str, str]:
    """Return the names of the numbers of the steps and of the lengths, which broadcast to the data's first two axes."""
    steps = call.unsqueeze(counted(call, data.shape[axis]), [1 - axis])
    return steps, call.unsqueeze(truncated(call, lengths), [axis])


@ROWS.enter("SequenceMask")
def _sequence_mask(
    call: NodeCall,
    data: Operand,
    sequence_length: Operand | None = None,
    use_sequence_length: bool = False,
    value: float = 0.0,
    axis: int = 0,
) -> Any:
    if sequence_length is None:
        return call.node("Identity", data)
    valid = call.node("Less", *_steps_and_lengths(call, data, sequence_length, axis))
    if data.ndim > 2:
        valid = call.unsqueeze(valid, list(range(2, data.ndim)))
    return call.node("Where", valid, data, numpy.asarray(value).astype(data.dtype))


@ROWS.enter("SequenceLast")
def _sequence_last(
    call: NodeCall,
    data: Operand,
    sequence_length: Operand | None = None,
    use_sequence_length: bool = False,
    axis: int = 0,
) -> Any:
    if sequence_length is None:
        return call.node("Gather", data, call.ints(-1), axis=axis)
    batch = data.shape[1 - axis]
    last = call.node("Sub", call.node("Max", truncated(call, sequence_length), call.ints(1)), call.ints(1))
    places = [call.unsqueeze(part, [1]) for part in (last, counted(call, batch))]
    coordinates = call.node("Concat", *(places if axis == 0 else places[::-1]), axis=1)
    return call.node("GatherND", data, coordinates)


@ROWS.enter("SequenceReverse")
def _sequence_reverse(
    call: NodeCall,
    data: Operand,
    sequence_length: Operand | None = None,
    use_sequence_length: bool = False,
    axis: int = 0,
) -> Any:
    if sequence_length is None:
        backwards = [call.ints([each]) for each in (-1, numpy.iinfo(numpy.int64).min, 0, -1)]
        return call.node("Slice", data, *backwards)
    return call.node("ReverseSequence", data, truncated(call, sequence_length), batch_axis=1, time_axis=0)
