"""Cells made of cells: `SequentialRNNCell` and `BidirectionalCell`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from minpy import symbol
from minpy.core.errors import ArgumentError
from minpy.ndarray import NDArray
from minpy.rnn.base_rnn_cell import BaseRNNCell, Weights, normalized
from minpy.rnn.params import RNNParams
from minpy.symbol import Symbol

__all__ = ["BidirectionalCell", "SequentialRNNCell"]


class _CombinedCell(BaseRNNCell):
    """The base of cells that combine others."""

    def __init__(self, params: RNNParams | None) -> None:
        super().__init__(prefix="", params=params)
        self._override_cell_params = params is not None
        self._cells: list[BaseRNNCell] = []

    def _add_cells(self, cells: list[BaseRNNCell]) -> None:
        """Share parameters with cells."""
        if self._override_cell_params:
            for cell in cells:
                if not cell._own_params:
                    raise ArgumentError(
                        f"Either specify params for {type(self).__name__} or child cells, not both: a "
                        f"{type(cell).__name__} has its own."
                    )
                cell.params._params.update(self.params._params)
        for cell in cells:
            self.params._params.update(cell.params._params)
        self._cells.extend(cells)

    def _with_states(self, states: list[Any]) -> Iterator[tuple[BaseRNNCell, list[Any]]]:
        """Yield each cell with its part of the states."""
        begin = 0
        for cell in self._cells:
            count = len(cell.state_info)
            yield cell, states[begin : begin + count]
            begin += count

    @property
    def state_info(self) -> list[dict[str, Any]]:
        return [info for cell in self._cells for info in cell.state_info]

    def begin_state(self, **kwargs: Any) -> list[Any]:  # type: ignore[override]  # as MXNet's
        if self._modified:
            return super().begin_state(**kwargs)  # which says so
        return [state for cell in self._cells for state in cell.begin_state(**kwargs)]

    def unpack_weights(self, args: Weights) -> dict[str, NDArray]:
        args = dict(args)
        for cell in self._cells:
            args = cell.unpack_weights(args)
        return args

    def pack_weights(self, args: Weights) -> dict[str, NDArray]:
        args = dict(args)
        for cell in self._cells:
            args = cell.pack_weights(args)
        return args


class SequentialRNNCell(_CombinedCell):
    """Cells one above the other: each takes the outputs of the one before.

    Parameters
    ----------
    params : RNNParams, optional
        Parameters that all of them share.

    Examples
    --------
    >>> import minpy as mx
    >>> stack = mx.rnn.SequentialRNNCell()
    >>> stack.add(mx.rnn.LSTMCell(8, prefix='l0_'))
    >>> stack.add(mx.rnn.DropoutCell(0.5))
    >>> stack.add(mx.rnn.LSTMCell(4, prefix='l1_'))
    >>> outputs, states = stack.unroll(3, mx.sym.var('data'), merge_outputs=True)
    >>> outputs.infer_shape(data=(2, 3, 5))[1], len(states)
    ([(2, 3, 4)], 4)
    """

    def __init__(self, params: RNNParams | None = None) -> None:
        super().__init__(params)

    def add(self, cell: BaseRNNCell) -> None:
        """Put a cell on top.

        Raises
        ------
        ArgumentError
            If both this one and the cell were given parameters.
        """
        self._add_cells([cell])

    def __call__(self, inputs: Any, states: Any) -> Any:
        self._counter += 1
        after: list[Any] = []
        for cell, cell_states in self._with_states(states):
            if isinstance(cell, BidirectionalCell):
                raise ArgumentError("SequentialRNNCell: a BidirectionalCell cannot be stepped. Use unroll.")
            inputs, cell_states = cell(inputs, cell_states)
            after += cell_states
        return inputs, after

    def _unroll(self, length: int, inputs: Any, begin_state: Any, layout: str, merge_outputs: bool | None) -> Any:
        after: list[Any] = []
        for cell, cell_states in self._with_states(self.begin_state() if begin_state is None else begin_state):
            merge = merge_outputs if cell is self._cells[-1] else None
            inputs, cell_states = cell.unroll(
                length, inputs=inputs, begin_state=cell_states, layout=layout, merge_outputs=merge
            )
            after += cell_states
        return inputs, after


class BidirectionalCell(_CombinedCell):
    """Two cells, of which one goes from the end to the beginning; their outputs stand side by side.

    Parameters
    ----------
    l_cell, r_cell : BaseRNNCell
        Forwards, and backwards.
    params : RNNParams, optional
        Parameters that both share.
    output_prefix : str
        How the names of the outputs begin.

    Raises
    ------
    ArgumentError
        If both this one and the cells were given parameters.

    Examples
    --------
    >>> import minpy as mx
    >>> cell = mx.rnn.BidirectionalCell(mx.rnn.GRUCell(4, prefix='l_'), mx.rnn.GRUCell(4, prefix='r_'))
    >>> outputs, states = cell.unroll(3, mx.sym.var('data'), merge_outputs=True)
    >>> outputs.infer_shape(data=(2, 3, 5))[1]
    [(2, 3, 8)]
    """

    def __init__(
        self,
        l_cell: BaseRNNCell,
        r_cell: BaseRNNCell,
        params: RNNParams | None = None,
        output_prefix: str = "bi_",
    ) -> None:
        super().__init__(params)
        self._output_prefix = output_prefix
        self._add_cells([l_cell, r_cell])

    def __call__(self, inputs: Any, states: Any) -> Any:
        """Not there: a step backwards needs all that comes after it.

        Raises
        ------
        NotImplementedError
            Always.
        """
        raise NotImplementedError("Bidirectional cannot be stepped. Please use unroll")

    def _unroll(self, length: int, inputs: Any, begin_state: Any, layout: str, merge_outputs: bool | None) -> Any:
        steps, axis = normalized(length, inputs, layout, False)
        states = self.begin_state() if begin_state is None else begin_state
        forwards, backwards = self._cells
        count = len(forwards.state_info)
        left, left_states = forwards.unroll(
            length, inputs=steps, begin_state=states[:count], layout=layout, merge_outputs=merge_outputs
        )
        right, right_states = backwards.unroll(
            length, inputs=steps[::-1], begin_state=states[count:], layout=layout, merge_outputs=merge_outputs
        )
        after = [left_states, right_states]
        merge = merge_outputs
        if merge is None:
            merge = isinstance(left, Symbol) and isinstance(right, Symbol)
        if merge:
            right = symbol.reverse(right, axis=axis)
            return symbol.concat(left, right, dim=2, name=f"{self._output_prefix}out"), after
        squeezed: Any = 1  # as files of MXNet's have it
        left, right = (
            list(symbol.SliceChannel(sequence, axis=axis, num_outputs=length, squeeze_axis=squeezed))
            if isinstance(sequence, Symbol)
            else sequence
            for sequence in (left, right)
        )
        outputs = [
            symbol.concat(forward, backward, dim=1, name=f"{self._output_prefix}t{number}")
            for number, (forward, backward) in enumerate(zip(left, reversed(right), strict=True))
        ]
        return outputs, after
