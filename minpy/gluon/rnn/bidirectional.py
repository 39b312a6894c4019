"""`BidirectionalCell`: one cell goes forwards, another backwards."""

from __future__ import annotations

from typing import Any

from minpy.core.errors import MXNetError
from minpy.gluon.rnn.recurrent_cell import CombinedCell, HybridRecurrentCell, first_states
from minpy.gluon.rnn.sequences import (
    functions_of,
    in_mode,
    is_merged,
    masked,
    merged,
    merged_or_split,
    require_lengths,
    reversed_in_time,
    steps_of,
)

__all__ = ["BidirectionalCell"]


class BidirectionalCell(CombinedCell, HybridRecurrentCell):
    """Two cells, one of which goes through the sequence backwards; the outputs of both are concatenated.

    It needs the whole sequence, and so has no single step: call `unroll`. With `valid_length` the cell that goes
    backwards begins at the end of each sequence. Schuster and Paliwal, "Bidirectional recurrent neural networks", 1997.

    Parameters
    ----------
    l_cell, r_cell : RecurrentCell
        The cells that go forwards and backwards.
    output_prefix : str
        In front of the names of the outputs in a graph.

    Examples
    --------
    >>> import minpy as mx
    >>> cell = mx.gluon.rnn.BidirectionalCell(mx.gluon.rnn.LSTMCell(3), mx.gluon.rnn.GRUCell(2))
    >>> cell.initialize()
    >>> outputs, states = cell.unroll(4, mx.nd.ones((1, 4, 6)), merge_outputs=True)
    >>> outputs.shape
    (1, 4, 5)
    """

    def __init__(self, l_cell: Any, r_cell: Any, output_prefix: str = "bi_") -> None:
        super().__init__(prefix="", params=None)
        self.register_child(l_cell, "l_cell")
        self.register_child(r_cell, "r_cell")
        self._output_prefix = output_prefix

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Refuse: the cell that goes backwards begins at the end."""
        raise _NoSteps(
            f"{self!r} needs the whole sequence, as one of its cells begins at the end; it cannot do one step. Call "
            "unroll."
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}(forward={self._children['l_cell']!r}, backward={self._children['r_cell']!r})"

    def _unroll(
        self, length: int, inputs: Any, begin_state: Any, layout: str, merge_outputs: bool | None, valid_length: Any
    ) -> tuple[Any, list[Any]]:
        name = type(self).__name__  # its name is empty, so that it adds nothing to the names of the cells inside
        steps, functions, batch_size = steps_of(length, inputs, layout, name)
        require_lengths(valid_length, length, batch_size, name)
        states = first_states(self, functions, begin_state, steps, batch_size)
        forwards, backwards = self._children["l_cell"], self._children["r_cell"]
        count = len(forwards.state_info(batch_size))
        left, left_states = forwards.unroll(
            length, steps, list(states[:count]), layout, merge_outputs, valid_length=valid_length
        )
        right, right_states = backwards.unroll(
            length, reversed_in_time(steps, valid_length), list(states[count:]), layout, merge_outputs, valid_length
        )
        merge = is_merged(left) if merge_outputs is None else merge_outputs
        right = reversed_in_time(steps_of(length, right, layout, name)[0], valid_length)
        if merge:
            left, right = merged(left, layout, name), merged(right, layout, name)
            outputs = functions.concat(left, right, dim=2, name=f"{self._output_prefix}out")
        else:
            left = steps_of(length, left, layout, name)[0]
            outputs = [
                functions_of(forward).concat(forward, backward, dim=1, name=f"{self._output_prefix}t{number}")
                for number, (forward, backward) in enumerate(zip(left, right, strict=True))
            ]
        if valid_length is not None:
            outputs = merged_or_split(length, masked(outputs, valid_length, layout, name), layout, merge, name)
        return in_mode(outputs), in_mode([*left_states, *right_states])


class _NoSteps(MXNetError, NotImplementedError):
    """Raised when a cell that needs the whole sequence is called for one step."""
