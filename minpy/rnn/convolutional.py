"""Cells of convolutions: `ConvRNNCell`, `ConvLSTMCell`, `ConvGRUCell`."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from minpy import symbol
from minpy.core.docstrings import documented
from minpy.core.errors import ArgumentValueError
from minpy.core.families import with_defaults
from minpy.rnn.base_rnn_cell import BaseRNNCell
from minpy.rnn.cells import gru_step, lstm_step
from minpy.rnn.params import RNNParams
from minpy.symbol import Symbol

__all__ = ["BaseConvRNNCell", "ConvGRUCell", "ConvLSTMCell", "ConvRNNCell"]

Pair = tuple[int, ...]
_LEAKY = functools.partial(symbol.LeakyReLU, act_type="leaky", slope=0.2)

_PARAMETERS = """
Parameters
----------
input_shape : tuple of int
    The shape of the inputs of a step, with the batch: (batch, channels, height, width).
num_hidden : int
    The number of channels of the output.
h2h_kernel, h2h_dilate : tuple of int
    Of the convolution of the state, with odd lengths; it is padded so that the state keeps its size.
i2h_kernel, i2h_stride, i2h_pad, i2h_dilate : tuple of int
    Of the convolution of the input.
i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer : str or Initializer
activation : str or callable
    Such as 'tanh', or a function of a symbol and `name`.
prefix : str
    How the names of nodes and parameters begin.
params : RNNParams, optional
    The parameters of another cell, to share them.
conv_layout : str
    The axes of inputs and outputs.

Raises
------
ArgumentValueError
    For a kernel of the state with an even length.
"""


class BaseConvRNNCell(BaseRNNCell):
    """The base of cells that have a convolution of their input and one of their state.

    See `ConvRNNCell` for the parameters.

    Raises
    ------
    ArgumentValueError
        For a kernel of the state with an even length.
    """

    def __init__(
        self,
        input_shape: Sequence[int],
        num_hidden: int,
        h2h_kernel: Pair,
        h2h_dilate: Pair,
        i2h_kernel: Pair,
        i2h_stride: Pair,
        i2h_pad: Pair,
        i2h_dilate: Pair,
        i2h_weight_initializer: Any,
        h2h_weight_initializer: Any,
        i2h_bias_initializer: Any,
        h2h_bias_initializer: Any,
        activation: Any,
        prefix: str = "",
        params: RNNParams | None = None,
        conv_layout: str = "NCHW",
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        if any(length % 2 == 0 for length in h2h_kernel):
            raise ArgumentValueError(
                f"{type(self).__name__}: only support odd number, get h2h_kernel= {tuple(h2h_kernel)}: the state must "
                "keep its size."
            )
        self._h2h_kernel = h2h_kernel
        self._h2h_dilate = h2h_dilate
        self._h2h_pad = tuple(d * (k - 1) // 2 for d, k in zip(h2h_dilate, h2h_kernel, strict=True))
        self._i2h_kernel = i2h_kernel
        self._i2h_stride = i2h_stride
        self._i2h_pad = i2h_pad
        self._i2h_dilate = i2h_dilate
        self._num_hidden = num_hidden
        self._input_shape = tuple(input_shape)
        self._conv_layout = conv_layout
        self._activation = activation
        # As a graph of its own: what the convolution of an input looks like is what inference says.
        of_input = symbol.Convolution(
            data=symbol.Variable("data"),
            num_filter=num_hidden,
            kernel=i2h_kernel,
            stride=i2h_stride,
            pad=i2h_pad,
            dilate=i2h_dilate,
            layout=conv_layout,
            name="i2h",
        )
        self._state_shape = (0, *of_input.infer_shape(data=self._input_shape)[1][0][1:])
        self._iW = self.params.get("i2h_weight", init=i2h_weight_initializer)
        self._hW = self.params.get("h2h_weight", init=h2h_weight_initializer)
        self._iB = self.params.get("i2h_bias", init=i2h_bias_initializer)
        self._hB = self.params.get("h2h_bias", init=h2h_bias_initializer)

    @property
    def state_info(self) -> list[dict[str, Any]]:
        return [{"shape": self._state_shape, "__layout__": self._conv_layout}]

    def _conv_forward(self, inputs: Symbol, states: Sequence[Symbol], name: str) -> tuple[Symbol, Symbol]:
        """Return all gates' convolutions of the input, and of the state."""
        common: dict[str, Any] = {"num_filter": self._num_hidden * self._num_gates, "layout": self._conv_layout}
        of_input = symbol.Convolution(
            inputs,
            self._iW,
            self._iB,
            name=f"{name}i2h",
            kernel=self._i2h_kernel,
            stride=self._i2h_stride,
            pad=self._i2h_pad,
            dilate=self._i2h_dilate,
            **common,
        )
        of_state = symbol.Convolution(
            states[0],
            self._hW,
            self._hB,
            name=f"{name}h2h",
            kernel=self._h2h_kernel,
            stride=(1,) * len(self._h2h_kernel),
            pad=self._h2h_pad,
            dilate=self._h2h_dilate,
            **common,
        )
        return of_input, of_state

    def _activated(self, values: Symbol, **named: str) -> Symbol:
        return self._get_activation(values, self._activation, **named)


class _ConvCell(BaseConvRNNCell):
    """The constructor of the three cells, which differ in the default of `prefix`."""

    def __init__(
        self,
        input_shape: Sequence[int],
        num_hidden: int,
        h2h_kernel: Pair = (3, 3),
        h2h_dilate: Pair = (1, 1),
        i2h_kernel: Pair = (3, 3),
        i2h_stride: Pair = (1, 1),
        i2h_pad: Pair = (1, 1),
        i2h_dilate: Pair = (1, 1),
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        activation: Any = _LEAKY,
        prefix: str = "",
        params: RNNParams | None = None,
        conv_layout: str = "NCHW",
    ) -> None:
        super().__init__(
            input_shape, num_hidden, h2h_kernel, h2h_dilate, i2h_kernel, i2h_stride, i2h_pad, i2h_dilate,
            i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer, activation,
            prefix, params, conv_layout,
        )  # fmt: skip


@with_defaults(prefix="ConvRNN_")
@documented(parameters=_PARAMETERS)
class ConvRNNCell(_ConvCell):
    """A cell with one gate, of convolutions.

    {parameters}

    Examples
    --------
    >>> import minpy as mx
    >>> cell = mx.rnn.ConvRNNCell((1, 3, 8, 8), 4)
    >>> outputs, states = cell.unroll(2, [mx.sym.var('a'), mx.sym.var('b')])
    >>> mx.sym.Group(outputs).infer_shape(a=(2, 3, 8, 8), b=(2, 3, 8, 8))[1]
    [(2, 4, 8, 8), (2, 4, 8, 8)]
    """

    _gate_names = ("",)

    def __call__(self, inputs: Any, states: Any) -> Any:
        name = self._step_name()
        of_input, of_state = self._conv_forward(inputs, states, name)
        output = self._activated(of_input + of_state, name=f"{name}out")
        return output, [output]


@with_defaults(prefix="ConvLSTM_")
@documented(parameters=_PARAMETERS)
class ConvLSTMCell(_ConvCell):
    """A cell with a memory, of convolutions (Shi et al., "Convolutional LSTM network", 2015).

    {parameters}

    Examples
    --------
    >>> import minpy as mx
    >>> mx.rnn.ConvLSTMCell((1, 3, 8, 8), 4, i2h_pad=(0, 0)).state_shape
    [(0, 4, 6, 6), (0, 4, 6, 6)]
    """

    _gate_names = ["_i", "_f", "_c", "_o"]

    @property
    def state_info(self) -> list[dict[str, Any]]:
        return super().state_info * 2

    def __call__(self, inputs: Any, states: Any) -> Any:
        name = self._step_name()
        of_input, of_state = self._conv_forward(inputs, states, name)
        axis = self._conv_layout.find("C")
        gates = symbol.split(of_input + of_state, num_outputs=4, axis=axis, name=f"{name}slice")
        return lstm_step(gates, states[1], self._activated, name)


@with_defaults(prefix="ConvGRU_")
@documented(parameters=_PARAMETERS)
class ConvGRUCell(_ConvCell):
    """A cell with a gate that forgets and one that resets, of convolutions.

    {parameters}

    Examples
    --------
    >>> import minpy as mx
    >>> mx.rnn.ConvGRUCell((1, 3, 8, 8), 4).state_info
    [{'shape': (0, 4, 8, 8), '__layout__': 'NCHW'}]
    """

    _gate_names = ["_r", "_z", "_o"]

    def __call__(self, inputs: Any, states: Any) -> Any:
        name = self._step_name()
        of_input, of_state = self._conv_forward(inputs, states, name)
        axis = self._conv_layout.find("C")
        along: dict[str, Any] = {} if axis == 1 else {"axis": axis}  # as files of MXNet's have it
        of_input = symbol.split(of_input, num_outputs=3, name=f"{name}_i2h_slice", **along)
        of_state = symbol.split(of_state, num_outputs=3, name=f"{name}_h2h_slice", **along)
        output = gru_step(of_input, of_state, states[0], self._activated, name)
        return output, [output]
