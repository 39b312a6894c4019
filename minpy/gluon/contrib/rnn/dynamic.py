"""`dynamic_unroll`: a cell over a sequence whose length is not given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minpy.gluon.rnn.sequences import functions_of, in_mode, time_axis

__all__ = ["dynamic_unroll"]


def dynamic_unroll(
    cell: Any,
    inputs: Any,
    begin_state: Sequence[Any],
    drop_inputs: float = 0,
    drop_outputs: float = 0,
    layout: str = "TNC",
    valid_length: Any = None,
) -> tuple[Any, list[Any]]:
    """Go through a sequence with a cell, as many steps as there are: a loop, also in a graph.

    Parameters
    ----------
    cell : RecurrentCell
    inputs : NDArray or Symbol
        With a time axis.
    begin_state : list of NDArray or Symbol
    drop_inputs, drop_outputs : float
        The probability with which an element is set to zero in training, by the same mask at every step.
    layout : {'TNC', 'NTC'}
        The axes of inputs and outputs.
    valid_length : NDArray or Symbol, optional
        How many steps of each sequence are valid, of shape (batch,).

    Returns
    -------
    outputs : NDArray or Symbol
        With `valid_length`, zeros after the end of each sequence.
    states : list of NDArray or Symbol
        The last; with `valid_length`, those at the end of each sequence.

    Examples
    --------
    >>> import minpy as mx
    >>> cell = mx.gluon.rnn.RNNCell(2, input_size=3)
    >>> cell.initialize()
    >>> unroll = mx.gluon.contrib.rnn.rnn_cell.dynamic_unroll
    >>> outputs, states = unroll(cell, mx.nd.ones((5, 1, 3)), cell.begin_state(1))
    >>> outputs.shape
    (5, 1, 2)
    """
    F = functions_of(inputs)
    axis = time_axis(layout, "dynamic_unroll")
    if drop_inputs:
        inputs = F.Dropout(inputs, p=drop_inputs, axes=(axis,))
    if axis:
        inputs = F.swapaxes(inputs, dim1=0, dim2=axis)
    count = len(begin_state)
    cell.reset()
    if valid_length is None:
        outputs, states = F.contrib.foreach(lambda step, now: cell(step, now), inputs, list(begin_state))
        states = list(states)
    else:

        def step_inside(step: Any, now: Any) -> tuple[Any, list[Any]]:
            *before, number = now
            output, after = cell(step, before)
            inside = F.broadcast_lesser(number, valid_length)
            states = [F.where(inside, new, old) for new, old in zip(after, before, strict=True)]
            return output, [*states, number + 1]

        start = F.zeros_like(valid_length)
        outputs, states = F.contrib.foreach(step_inside, inputs, [*begin_state, start])
        states = list(states)[:count]
        outputs = F.SequenceMask(outputs, sequence_length=valid_length, use_sequence_length=True, axis=0)
    if drop_outputs:
        outputs = F.Dropout(outputs, p=drop_outputs, axes=(0,))
    if axis:
        outputs = F.swapaxes(outputs, dim1=0, dim2=axis)
    return in_mode(outputs), in_mode(states)
