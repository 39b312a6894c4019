"""Cells of fully connected layers: `RNNCell`, `LSTMCell`, `GRUCell`."""

from __future__ import annotations

from typing import Any

from minpy import symbol
from minpy.initializer import LSTMBias
from minpy.rnn.base_rnn_cell import BaseRNNCell
from minpy.rnn.params import RNNParams
from minpy.symbol import Symbol

__all__ = ["GRUCell", "LSTMCell", "RNNCell", "gru_step", "lstm_step"]


class _DenseCell(BaseRNNCell):
    """A cell with a fully connected layer from its input and one from its state, each with all gates."""

    def __init__(self, num_hidden: int, prefix: str, params: RNNParams | None, **of_bias: Any) -> None:
        super().__init__(prefix=prefix, params=params)
        self._num_hidden = num_hidden
        self._iW = self.params.get("i2h_weight")
        self._iB = self.params.get("i2h_bias", **of_bias)
        self._hW = self.params.get("h2h_weight")
        self._hB = self.params.get("h2h_bias")

    @property
    def _info(self) -> dict[str, Any]:
        return {"shape": (0, self._num_hidden), "__layout__": "NC"}

    def _layers(self, inputs: Symbol, state: Symbol, name: str) -> tuple[Symbol, Symbol]:
        """Return all gates' products with the input, and with the state."""
        width = self._num_hidden * self._num_gates
        of_input = symbol.FullyConnected(inputs, self._iW, self._iB, num_hidden=width, name=f"{name}i2h")
        of_state = symbol.FullyConnected(state, self._hW, self._hB, num_hidden=width, name=f"{name}h2h")
        return of_input, of_state


class RNNCell(_DenseCell):
    """A cell with one gate (Elman, "Finding structure in time", 1990): h' = activation(W x + b + R h + c).

    Parameters
    ----------
    num_hidden : int
        The length of its output, which is its state.
    activation : str or callable
        Such as 'tanh' and 'relu', or a function of a symbol and `name`.
    prefix : str
        How the names of nodes and parameters begin.
    params : RNNParams, optional
        The parameters of another cell, to share them.

    Examples
    --------
    >>> import minpy as mx
    >>> cell = mx.rnn.RNNCell(4, prefix='rnn_')
    >>> output, states = cell(mx.sym.var('x'), cell.begin_state())
    >>> output.list_arguments()
    ['x', 'rnn_i2h_weight', 'rnn_i2h_bias', 'rnn_h2h_weight', 'rnn_h2h_bias']
    """

    _gate_names = ("",)

    def __init__(
        self, num_hidden: int, activation: Any = "tanh", prefix: str = "rnn_", params: RNNParams | None = None
    ) -> None:
        super().__init__(num_hidden, prefix, params)
        self._activation = activation

    @property
    def state_info(self) -> list[dict[str, Any]]:
        return [self._info]

    def __call__(self, inputs: Symbol, states: list[Symbol]) -> tuple[Symbol, list[Symbol]]:
        name = self._step_name()
        of_input, of_state = self._layers(inputs, states[0], name)
        output = self._get_activation(of_input + of_state, self._activation, name=f"{name}out")
        return output, [output]


class LSTMCell(_DenseCell):
    """A cell with a memory (Hochreiter, Schmidhuber, "Long short-term memory", 1997; forget gates: Gers et al., 2000).

    With i, f, o = sigmoid(...), g = tanh(...), each of W x + b + R h + c: the memory is c' = f c + i g, and the output
    h' = o tanh(c').

    Parameters
    ----------
    num_hidden : int
        The lengths of its output and its memory.
    prefix : str
        How the names of nodes and parameters begin.
    params : RNNParams, optional
        The parameters of another cell, to share them.
    forget_bias : float
        What the biases of forget gates are initialized with.

    Examples
    --------
    >>> import minpy as mx
    >>> outputs, states = mx.rnn.LSTMCell(4).unroll(2, mx.sym.var('data'))
    >>> [output.name for output in (*outputs, *states)]
    ['lstm_t0_out', 'lstm_t1_out', 'lstm_t1_out', 'lstm_t1_state']
    """

    _gate_names = ["_i", "_f", "_c", "_o"]

    def __init__(
        self, num_hidden: int, prefix: str = "lstm_", params: RNNParams | None = None, forget_bias: float = 1.0
    ) -> None:
        super().__init__(num_hidden, prefix, params, init=LSTMBias(forget_bias=forget_bias))

    @property
    def state_info(self) -> list[dict[str, Any]]:
        return [self._info, self._info]

    def __call__(self, inputs: Symbol, states: list[Symbol]) -> tuple[Symbol, list[Symbol]]:
        name = self._step_name()
        of_input, of_state = self._layers(inputs, states[0], name)
        gates = symbol.split(of_input + of_state, num_outputs=4, name=f"{name}slice")
        return lstm_step(gates, states[1], _tanh, name)


def _tanh(values: Symbol, **named: Any) -> Symbol:
    return symbol.Activation(values, act_type="tanh", **named)


def lstm_step(gates: Symbol, memory: Symbol, activated: Any, name: str) -> tuple[Symbol, list[Symbol]]:
    """Return output and states of an LSTM's step, from its gates before their activations."""
    enter = symbol.Activation(gates[0], act_type="sigmoid", name=f"{name}i")
    keep = symbol.Activation(gates[1], act_type="sigmoid", name=f"{name}f")
    content = activated(gates[2], name=f"{name}c")
    leave = symbol.Activation(gates[3], act_type="sigmoid", name=f"{name}o")
    memory = symbol.elemwise_add(keep * memory, enter * content, name=f"{name}state")
    output = symbol.elemwise_mul(leave, activated(memory), name=f"{name}out")
    return output, [output, memory]


class GRUCell(_DenseCell):
    """A cell with a gate that forgets and one that resets (Cho et al., 2014, in the form of cuDNN).

    With r, z = sigmoid(W x + b + R h + c) and n = tanh(W x + b + r (R h + c)): h' = (1 - z) n + z h.

    Parameters
    ----------
    num_hidden : int
        The length of its output, which is its state.
    prefix : str
        How the names of nodes and parameters begin.
    params : RNNParams, optional
        The parameters of another cell, to share them.

    Examples
    --------
    >>> import minpy as mx
    >>> mx.rnn.GRUCell(4).state_info
    [{'shape': (0, 4), '__layout__': 'NC'}]
    """

    _gate_names = ["_r", "_z", "_o"]

    def __init__(self, num_hidden: int, prefix: str = "gru_", params: RNNParams | None = None) -> None:
        super().__init__(num_hidden, prefix, params)

    @property
    def state_info(self) -> list[dict[str, Any]]:
        return [self._info]

    def __call__(self, inputs: Symbol, states: list[Symbol]) -> tuple[Symbol, list[Symbol]]:
        name = self._step_name()
        of_input, of_state = self._layers(inputs, states[0], f"{name}_")
        of_input = symbol.split(of_input, num_outputs=3, name=f"{name}_i2h_slice")
        of_state = symbol.split(of_state, num_outputs=3, name=f"{name}_h2h_slice")
        output = gru_step(of_input, of_state, states[0], _tanh, name)
        return output, [output]


def gru_step(of_input: Symbol, of_state: Symbol, state: Symbol, activated: Any, name: str) -> Symbol:
    """Return the output of a GRU's step, from what its gates make of the input and of the state."""
    reset = symbol.Activation(of_input[0] + of_state[0], act_type="sigmoid", name=f"{name}_r_act")
    keep = symbol.Activation(of_input[1] + of_state[1], act_type="sigmoid", name=f"{name}_z_act")
    new = activated(of_input[2] + reset * of_state[2], name=f"{name}_h_act")
    return symbol.elemwise_add((1.0 - keep) * new, keep * state, name=f"{name}out")
