"""`LSTMPCell`: an LSTM whose output is projected."""

from __future__ import annotations

from typing import Any

from minpy.core.errors import ArgumentError
from minpy.gluon.rnn.cells import GatedCell
from minpy.gluon.rnn.recurrent_cell import StateInfo

__all__ = ["LSTMPCell"]


class LSTMPCell(GatedCell):
    """A cell of long short-term memory whose output is projected: `h' = P (o tanh(c'))`.

    Sak, Senior and Beaufays, "Long short-term memory based recurrent neural network architectures for large vocabulary
    speech recognition", 2014.

    Parameters
    ----------
    hidden_size : int
        Length of the memory.
    projection_size : int
        Length of the output.
    i2h_weight_initializer, h2h_weight_initializer, h2r_weight_initializer : str or Initializer, optional
        From input to hidden, from output to hidden, and of the projection.
    i2h_bias_initializer, h2h_bias_initializer : str or Initializer
    input_size : int
        Length of an input; 0: it follows from the first call.
    prefix, params
        See `Block`.

    Examples
    --------
    >>> import minpy as mx
    >>> cell = mx.gluon.contrib.rnn.LSTMPCell(4, 2)
    >>> cell.initialize()
    >>> output, (hidden, memory) = cell(mx.nd.ones((1, 3)), cell.begin_state(1))
    >>> output.shape, memory.shape
    ((1, 2), (1, 4))
    >>> cell
    LSTMPCell(3 -> 16 -> 2)
    """

    _gates = 4

    def __init__(
        self,
        hidden_size: int,
        projection_size: int,
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        h2r_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        input_size: int = 0,
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        if projection_size < 1:
            raise ArgumentError(f"LSTMPCell: projection_size is {projection_size}; expected 1 or more.")
        self._projection_size = projection_size
        self._h2r_weight_initializer = h2r_weight_initializer
        initializers = i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer
        super().__init__(hidden_size, *initializers, input_size, prefix, params)

    def _alias(self) -> str:
        return "lstmp"

    def _output_size(self) -> int:
        return self._projection_size

    def _further_weights(self) -> tuple[tuple[str, tuple[int, ...], Any], ...]:
        return (("h2r_weight", (self._projection_size, self._hidden_size), self._h2r_weight_initializer),)

    def _sizes(self) -> str:
        return f"{super()._sizes()} -> {self._projection_size}"

    def state_info(self, batch_size: int = 0) -> list[StateInfo]:
        """Return what the states are: the output and the memory."""
        return [
            {"shape": (batch_size, size), "__layout__": "NC"} for size in (self._projection_size, self._hidden_size)
        ]

    def hybrid_forward(
        self,
        F: Any,
        inputs: Any,
        states: Any,
        i2h_weight: Any,
        h2h_weight: Any,
        h2r_weight: Any,
        i2h_bias: Any,
        h2h_bias: Any,
    ) -> Any:
        """Return the output, and the new states: it, and the memory."""
        step, rows = f"t{self._counter}_", 4 * self._hidden_size
        i2h = F.FullyConnected(inputs, i2h_weight, i2h_bias, num_hidden=rows, name=step + "i2h")
        h2h = F.FullyConnected(states[0], h2h_weight, h2h_bias, num_hidden=rows, name=step + "h2h")
        enter, forget, candidate, leave = F.SliceChannel(i2h + h2h, num_outputs=4, name=step + "slice")
        enter = F.Activation(enter, act_type="sigmoid", name=step + "i")
        forget = F.Activation(forget, act_type="sigmoid", name=step + "f")
        candidate = F.Activation(candidate, act_type="tanh", name=step + "c")
        leave = F.Activation(leave, act_type="sigmoid", name=step + "o")
        memory = F.elemwise_add(forget * states[1], enter * candidate, name=step + "state")
        hidden = F.elemwise_mul(leave, F.Activation(memory, act_type="tanh"), name=step + "hidden")
        output = F.FullyConnected(hidden, h2r_weight, num_hidden=self._projection_size, no_bias=True, name=step + "out")
        return output, [output, memory]
