"""Cells with parameters: `RNNCell`, `LSTMCell`, `GRUCell`."""

from __future__ import annotations

from typing import Any, ClassVar

from minpy.gluon.nn.argument_checks import count
from minpy.gluon.rnn.recurrent_cell import HybridRecurrentCell, StateInfo

__all__ = ["GRUCell", "GatedCell", "LSTMCell", "RNNCell"]


class GatedCell(HybridRecurrentCell):
    """What cells have in common that connect inputs and one state with `_gates` gates; for parameters see `GRUCell`."""

    _gates: ClassVar[int] = 1

    def __init__(
        self,
        hidden_size: int,
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        input_size: int = 0,
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        self._hidden_size = count(type(self).__name__, "hidden_size", hidden_size)
        self._input_size = count(type(self).__name__, "input_size", input_size, least=0)
        rows = self._gates * hidden_size
        parameters = (
            ("i2h_weight", (rows, input_size), i2h_weight_initializer),
            ("h2h_weight", (rows, self._output_size()), h2h_weight_initializer),
            *self._further_weights(),
            ("i2h_bias", (rows,), i2h_bias_initializer),
            ("h2h_bias", (rows,), h2h_bias_initializer),
        )
        for name, shape, init in parameters:
            setattr(self, name, self.params.get(name, shape=shape, init=init, allow_deferred_init=True))

    def _output_size(self) -> int:
        return self._hidden_size

    def _further_weights(self) -> tuple[tuple[str, tuple[int, ...], Any], ...]:
        return ()

    def state_info(self, batch_size: int = 0) -> list[StateInfo]:
        """Return what the states are; see `RecurrentCell.state_info`."""
        return [{"shape": (batch_size, self._hidden_size), "__layout__": "NC"}]

    def _sizes(self) -> str:
        rows, inputs = self._reg_params["i2h_weight"].shape  # type: ignore[misc]
        return f"{inputs if inputs > 0 else None} -> {rows}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._sizes()})"


class RNNCell(GatedCell):
    """Elman's recurrent cell: `h' = activation(W x + b + R h + c)`.

    Elman, "Finding structure in time", 1990.

    Parameters
    ----------
    hidden_size : int
    activation : str or Block
        What `Activation` takes.
    i2h_weight_initializer, h2h_weight_initializer : str or Initializer, optional
        Of W and R.
    i2h_bias_initializer, h2h_bias_initializer : str or Initializer
        Of b and c.
    input_size : int
        Length of an input; 0: it follows from the first call.
    prefix, params
        See `Block`.

    Examples
    --------
    >>> import minpy as mx
    >>> cell = mx.gluon.rnn.RNNCell(2, 'relu', input_size=3)
    >>> cell.initialize(mx.init.One())
    >>> output, states = cell(mx.nd.ones((1, 3)), cell.begin_state(1))
    >>> output.asnumpy().tolist()
    [[3.0, 3.0]]
    >>> cell
    RNNCell(3 -> 2, relu)
    """

    def __init__(
        self,
        hidden_size: int,
        activation: Any = "tanh",
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        input_size: int = 0,
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        initializers = i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer
        super().__init__(hidden_size, *initializers, input_size, prefix, params)
        self._activation = activation

    def _alias(self) -> str:
        return "rnn"

    def _sizes(self) -> str:
        return f"{super()._sizes()}, {self._activation}"

    def hybrid_forward(
        self, F: Any, inputs: Any, states: Any, i2h_weight: Any, h2h_weight: Any, i2h_bias: Any, h2h_bias: Any
    ) -> Any:
        """Return the output, and the new state, which is the same."""
        step, size = f"t{self._counter}_", self._hidden_size
        i2h = F.FullyConnected(inputs, i2h_weight, i2h_bias, num_hidden=size, name=step + "i2h")
        h2h = F.FullyConnected(states[0], h2h_weight, h2h_bias, num_hidden=size, name=step + "h2h")
        total = F.elemwise_add(i2h, h2h, name=step + "plus0")
        output = self._get_activation(F, total, self._activation, name=step + "out")
        return output, [output]


class LSTMCell(GatedCell):
    """A cell of long short-term memory.

    `i, f, o = recurrent_activation(W x + b + R h + c)`, `g = activation(...)`, `c' = f c + i g`, `h' = o
    activation(c')`; the gates lie in the parameters as i, f, g, o. Hochreiter and Schmidhuber, "Long short-term
    memory", 1997, with the forget gate of Gers et al., 2000.

    Parameters
    ----------
    hidden_size : int
    i2h_weight_initializer, h2h_weight_initializer : str or Initializer, optional
    i2h_bias_initializer, h2h_bias_initializer : str or Initializer
        `mx.init.LSTMBias(1.0)` lets the forget gate begin open.
    input_size : int
        Length of an input; 0: it follows from the first call.
    prefix, params
        See `Block`.
    activation, recurrent_activation : str or Block
        What `Activation` takes: of the candidates and the output, and of the gates.

    Examples
    --------
    >>> import minpy as mx
    >>> cell = mx.gluon.rnn.LSTMCell(4, input_size=3)
    >>> cell.initialize()
    >>> output, (hidden, memory) = cell(mx.nd.ones((2, 3)), cell.begin_state(2))
    >>> output.shape, memory.shape
    ((2, 4), (2, 4))
    """

    _gates = 4

    def __init__(
        self,
        hidden_size: int,
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        input_size: int = 0,
        prefix: str | None = None,
        params: Any = None,
        activation: Any = "tanh",
        recurrent_activation: Any = "sigmoid",
    ) -> None:
        initializers = i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer
        super().__init__(hidden_size, *initializers, input_size, prefix, params)
        self._activation = activation
        self._recurrent_activation = recurrent_activation

    def _alias(self) -> str:
        return "lstm"

    def state_info(self, batch_size: int = 0) -> list[StateInfo]:
        """Return what the states are: the output and the memory."""
        return super().state_info(batch_size) * 2

    def hybrid_forward(
        self, F: Any, inputs: Any, states: Any, i2h_weight: Any, h2h_weight: Any, i2h_bias: Any, h2h_bias: Any
    ) -> Any:
        """Return the output, and the new states: it, and the memory."""
        step, rows = f"t{self._counter}_", 4 * self._hidden_size
        i2h = F.FullyConnected(inputs, i2h_weight, i2h_bias, num_hidden=rows, name=step + "i2h")
        h2h = F.FullyConnected(states[0], h2h_weight, h2h_bias, num_hidden=rows, name=step + "h2h")
        gates = F.elemwise_add(i2h, h2h, name=step + "plus0")
        enter, forget, candidate, leave = F.SliceChannel(gates, num_outputs=4, name=step + "slice")
        enter = self._get_activation(F, enter, self._recurrent_activation, name=step + "i")
        forget = self._get_activation(F, forget, self._recurrent_activation, name=step + "f")
        candidate = self._get_activation(F, candidate, self._activation, name=step + "c")
        leave = self._get_activation(F, leave, self._recurrent_activation, name=step + "o")
        memory = F.elemwise_add(
            F.elemwise_mul(forget, states[1], name=step + "mul0"),
            F.elemwise_mul(enter, candidate, name=step + "mul1"),
            name=step + "state",
        )
        if isinstance(self._activation, str):
            activated = F.Activation(memory, act_type=self._activation, name=step + "activation0")
        else:
            activated = self._activation(memory)
        output = F.elemwise_mul(leave, activated, name=step + "out")
        return output, [output, memory]


class GRUCell(GatedCell):
    """A gated recurrent unit.

    `r, z = sigmoid(W x + b + R h + c)`, `n = tanh(W x + b + r (R h + c))`, `h' = (1 - z) n + z h`; the gates lie in the
    parameters as r, z, n. Cho et al., "Learning phrase representations using RNN encoder-decoder", 2014, in the form
    that multiplies the product with the state.

    Parameters
    ----------
    hidden_size : int
    i2h_weight_initializer, h2h_weight_initializer : str or Initializer, optional
    i2h_bias_initializer, h2h_bias_initializer : str or Initializer
    input_size : int
        Length of an input; 0: it follows from the first call.
    prefix, params
        See `Block`.

    Examples
    --------
    >>> import minpy as mx
    >>> cell = mx.gluon.rnn.GRUCell(4)
    >>> cell.initialize()
    >>> outputs, states = cell.unroll(5, mx.nd.ones((2, 5, 3)), merge_outputs=True)
    >>> outputs.shape
    (2, 5, 4)
    """

    _gates = 3

    def _alias(self) -> str:
        return "gru"

    def hybrid_forward(
        self, F: Any, inputs: Any, states: Any, i2h_weight: Any, h2h_weight: Any, i2h_bias: Any, h2h_bias: Any
    ) -> Any:
        """Return the output, and the new state, which is the same."""
        step, rows = f"t{self._counter}_", 3 * self._hidden_size
        i2h = F.FullyConnected(inputs, i2h_weight, i2h_bias, num_hidden=rows, name=step + "i2h")
        h2h = F.FullyConnected(states[0], h2h_weight, h2h_bias, num_hidden=rows, name=step + "h2h")
        of_input = F.SliceChannel(i2h, num_outputs=3, name=step + "i2h_slice")
        of_state = F.SliceChannel(h2h, num_outputs=3, name=step + "h2h_slice")
        reset = F.elemwise_add(of_input[0], of_state[0], name=step + "plus0")
        reset = F.Activation(reset, act_type="sigmoid", name=step + "r_act")
        update = F.elemwise_add(of_input[1], of_state[1], name=step + "plus1")
        update = F.Activation(update, act_type="sigmoid", name=step + "z_act")
        candidate = F.elemwise_mul(reset, of_state[2], name=step + "mul0")
        candidate = F.elemwise_add(of_input[2], candidate, name=step + "plus2")
        candidate = F.Activation(candidate, act_type="tanh", name=step + "h_act")
        complement = F.elemwise_sub(F.ones_like(update, name=step + "ones_like0"), update, name=step + "minus0")
        output = F.elemwise_add(
            F.elemwise_mul(complement, candidate, name=step + "mul1"),
            F.elemwise_mul(update, states[0], name=step + "mul20"),
            name=step + "out",
        )
        return output, [output]
