"""Cells one above the other: `SequentialRNNCell`, `HybridSequentialRNNCell`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minpy.core.errors import ArgumentError, MXNetError, describe
from minpy.gluon.printing import indent
from minpy.gluon.rnn.bidirectional import BidirectionalCell
from minpy.gluon.rnn.recurrent_cell import (
    CombinedCell,
    HybridRecurrentCell,
    RecurrentCell,
    cells_with_states,
    first_states,
)
from minpy.gluon.rnn.sequences import steps_of

__all__ = ["HybridSequentialRNNCell", "SequentialRNNCell"]

_PROTOCOL = ("state_info", "begin_state", "unroll", "reset")


class _Stacked(CombinedCell):
    """The base of both classes."""

    def add(self, cell: RecurrentCell) -> None:
        """Put a cell on top: it is given the outputs of the one below.

        Parameters
        ----------
        cell : RecurrentCell

        Raises
        ------
        ArgumentError
            If it is no cell.
        """
        if not all(hasattr(cell, name) for name in _PROTOCOL):
            raise ArgumentError(
                f"{self.name}.add: got {describe(cell)}; expected a cell, such as LSTMCell. For layers over whole "
                "sequences, such as LSTM, use Sequential or HybridSequential."
            )
        self.register_child(cell)

    def _stepped(self, inputs: Any, states: Sequence[Any]) -> tuple[Any, list[Any]]:
        self._require_steps()
        after: list[Any] = []
        for cell, cell_states in cells_with_states(self._children.values(), states):
            inputs, cell_states = cell(inputs, list(cell_states))
            after += cell_states
        return inputs, after

    def _require_steps(self) -> None:
        for cell in self._children.values():
            if isinstance(cell, BidirectionalCell):
                raise MXNetError(
                    f"{self.name}: it has a BidirectionalCell, which needs the whole sequence and cannot do one step. "
                    "Call unroll."
                )

    def _unroll(
        self, length: int, inputs: Any, begin_state: Any, layout: str, merge_outputs: bool | None, valid_length: Any
    ) -> tuple[Any, list[Any]]:
        if begin_state is None:
            steps, functions, batch_size = steps_of(length, inputs, layout, self.name)
            begin_state = first_states(self, functions, None, steps, batch_size)
        after: list[Any] = []
        cells = list(self._children.values())
        for cell, cell_states in cells_with_states(cells, begin_state):
            inputs, cell_states = cell.unroll(
                length,
                inputs,
                begin_state=list(cell_states),
                layout=layout,
                merge_outputs=merge_outputs if cell is cells[-1] else None,
                valid_length=valid_length,
            )
            after += cell_states
        return inputs, after

    def __getitem__(self, i: Any) -> Any:
        return list(self._children.values())[i]

    def __len__(self) -> int:
        return len(self._children)

    def __repr__(self) -> str:
        lines = "\n".join(f"({name}): {indent(repr(cell), 2)}" for name, cell in self._children.items())
        return f"{type(self).__name__}(\n{lines}\n)"


class SequentialRNNCell(_Stacked):
    """Cells one above the other: at every step each is given the output of the one below.

    Parameters
    ----------
    prefix, params
        See `Block`.

    Examples
    --------
    >>> import minpy as mx
    >>> stack = mx.gluon.rnn.SequentialRNNCell()
    >>> with stack.name_scope():
    ...     stack.add(mx.gluon.rnn.LSTMCell(4))
    ...     stack.add(mx.gluon.rnn.GRUCell(3))
    >>> stack.initialize()
    >>> outputs, states = stack.unroll(5, mx.nd.ones((2, 5, 6)), merge_outputs=True)
    >>> outputs.shape, [state.shape for state in states]
    ((2, 5, 3), [(2, 4), (2, 4), (2, 3)])
    """

    def forward(self, inputs: Any, states: Sequence[Any]) -> tuple[Any, list[Any]]:
        """Do one step in all cells."""
        return self._stepped(inputs, states)


class HybridSequentialRNNCell(_Stacked, HybridRecurrentCell):
    """Cells one above the other, which can become one graph together.

    Parameters
    ----------
    prefix, params
        See `Block`.

    Examples
    --------
    >>> import minpy as mx
    >>> stack = mx.gluon.rnn.HybridSequentialRNNCell()
    >>> with stack.name_scope():
    ...     stack.add(mx.gluon.rnn.LSTMCell(4))
    ...     stack.add(mx.gluon.rnn.DropoutCell(0.5))
    ...     stack.add(mx.gluon.rnn.LSTMCell(3))
    >>> stack.initialize()
    >>> stack.hybridize()
    >>> output, states = stack(mx.nd.ones((2, 6)), stack.begin_state(batch_size=2))
    >>> output.shape
    (2, 3)
    """

    def hybrid_forward(self, F: Any, inputs: Any, states: Any) -> Any:
        """Do one step in all cells."""
        return self._stepped(inputs, states)
