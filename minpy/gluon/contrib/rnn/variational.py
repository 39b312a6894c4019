"""`VariationalDropoutCell`: dropout with the same mask at every step."""

from __future__ import annotations

from typing import Any, ClassVar

from minpy.core.errors import ArgumentError
from minpy.gluon.rnn.bidirectional import BidirectionalCell
from minpy.gluon.rnn.modifiers import ModifierCell, require_rate
from minpy.gluon.rnn.recurrent_cell import first_states
from minpy.gluon.rnn.sequences import functions_of, in_mode, masked, merged, merged_or_split, steps_of, time_axis
from minpy.gluon.rnn.step_memory import recalled

__all__ = ["VariationalDropoutCell"]


class VariationalDropoutCell(ModifierCell):
    """Variational dropout: of the inputs, the first state and the outputs, with masks that stay until `reset`.

    Gal and Ghahramani, "A theoretically grounded application of dropout in recurrent neural networks", 2016. Outside
    training the cell does what the one inside does. Unless states are dropped, `unroll` masks inputs and outputs in one
    go, and merges outputs by default.

    Parameters
    ----------
    base_cell : RecurrentCell
    drop_inputs, drop_states, drop_outputs : float
        The probability with which an element is set to zero.

    Examples
    --------
    >>> import minpy as mx
    >>> cell = mx.gluon.contrib.rnn.VariationalDropoutCell(mx.gluon.rnn.LSTMCell(3), drop_inputs=0.5)
    >>> cell.initialize()
    >>> outputs, states = cell.unroll(4, mx.nd.ones((2, 4, 5)), merge_outputs=True)
    >>> outputs.shape
    (2, 4, 3)
    """

    _memory: ClassVar[tuple[str, ...]] = ("drop_inputs_mask", "drop_states_mask", "drop_outputs_mask")
    drop_inputs_mask: Any
    drop_states_mask: Any
    drop_outputs_mask: Any

    def __init__(
        self, base_cell: Any, drop_inputs: float = 0.0, drop_states: float = 0.0, drop_outputs: float = 0.0
    ) -> None:
        require_rate(
            "VariationalDropoutCell", drop_inputs=drop_inputs, drop_states=drop_states, drop_outputs=drop_outputs
        )
        if drop_states and isinstance(base_cell, BidirectionalCell):
            raise ArgumentError(
                "VariationalDropoutCell: a BidirectionalCell has no single steps whose states could be dropped. Put a "
                "VariationalDropoutCell around each of the cells inside it."
            )
        super().__init__(base_cell)
        self.drop_inputs = drop_inputs
        self.drop_states = drop_states
        self.drop_outputs = drop_outputs

    def _alias(self) -> str:
        return "vardrop"

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p_out = {self.drop_outputs}, p_state = {self.drop_states})"

    def _mask(self, F: Any, kind: str, rate: float, like: Any) -> Any:
        """Return the mask of a kind: the one that is there, or a new one."""
        mask = recalled(getattr(self, f"drop_{kind}_mask"), like)
        if mask is None:
            mask = F.Dropout(F.ones_like(like), p=rate)
            vars(self)[f"drop_{kind}_mask"] = mask
        return mask

    def hybrid_forward(self, F: Any, inputs: Any, states: Any) -> Any:
        """Return the output and the states of the cell inside, with some elements set to zero."""
        if self.drop_states:
            states = [states[0] * self._mask(F, "states", self.drop_states, states[0]), *states[1:]]
        if self.drop_inputs:
            inputs = inputs * self._mask(F, "inputs", self.drop_inputs, inputs)
        output, states = self.base_cell(inputs, states)
        if self.drop_outputs:
            output = output * self._mask(F, "outputs", self.drop_outputs, output)
        return output, states

    def _unroll(
        self, length: int, inputs: Any, begin_state: Any, layout: str, merge_outputs: bool | None, valid_length: Any
    ) -> tuple[Any, list[Any]]:
        if self.drop_states:
            return super()._unroll(length, inputs, begin_state, layout, merge_outputs, valid_length)
        axis = time_axis(layout, self.name)
        inputs = merged(inputs, layout, self.name)
        F = functions_of(inputs)
        if self.drop_inputs:
            inputs = F.Dropout(inputs, p=self.drop_inputs, axes=(axis,))
        steps, functions, batch_size = steps_of(length, inputs, layout, self.name)
        states = first_states(self, functions, begin_state, steps, batch_size)
        self.base_cell._modified = False
        try:
            outputs, states = self.base_cell.unroll(length, steps, states, layout, True, valid_length)
        finally:
            self.base_cell._modified = True
        if self.drop_outputs:
            outputs = F.Dropout(outputs, p=self.drop_outputs, axes=(axis,))
        if valid_length is not None:
            outputs = masked(outputs, valid_length, layout, self.name)
        merge = True if merge_outputs is None else merge_outputs
        return in_mode(merged_or_split(length, outputs, layout, merge, self.name)), states
