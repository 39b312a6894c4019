"""Cells whose products are convolutions, over inputs with one, two or three spatial axes.

Shi et al., "Convolutional LSTM network: a machine learning approach for precipitation nowcasting", 2015.
"""

from __future__ import annotations

import functools
from typing import Any, ClassVar

from minpy.core.errors import ArgumentError, ArgumentValueError, ShapeError
from minpy.gluon.nn.window_families import CHANNELS_FIRST, CHANNELS_LAST, of_axes
from minpy.gluon.rnn.recurrent_cell import HybridRecurrentCell, StateInfo

__all__ = [
    "Conv1DGRUCell",
    "Conv1DLSTMCell",
    "Conv1DRNNCell",
    "Conv2DGRUCell",
    "Conv2DLSTMCell",
    "Conv2DRNNCell",
    "Conv3DGRUCell",
    "Conv3DLSTMCell",
    "Conv3DRNNCell",
]


def _lengths(class_name: str, name: str, value: Any, dims: int) -> tuple[int, ...]:
    """Return a setting of a convolution for each spatial axis."""
    lengths = (value,) * dims if isinstance(value, int) else tuple(value)
    if len(lengths) != dims:
        raise ArgumentValueError(f"{class_name}: {name} is {value!r}; expected a number, or {dims} of them.")
    return lengths


class _BaseConvRNNCell(HybridRecurrentCell):
    """The base of convolutional cells: their parameters and states."""

    _gate_names: tuple[str, ...] = ("",)

    def __init__(
        self,
        input_shape: Any,
        hidden_channels: int,
        i2h_kernel: Any,
        h2h_kernel: Any,
        i2h_pad: Any,
        i2h_dilate: Any,
        h2h_dilate: Any,
        i2h_weight_initializer: Any,
        h2h_weight_initializer: Any,
        i2h_bias_initializer: Any,
        h2h_bias_initializer: Any,
        dims: int,
        conv_layout: str,
        activation: Any,
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        class_name = type(self).__name__
        layouts = CHANNELS_FIRST[dims], CHANNELS_LAST[dims]
        if conv_layout not in layouts:
            raise ArgumentValueError(
                f"{class_name}: conv_layout is {conv_layout!r}; expected {' or '.join(map(repr, layouts))}."
            )
        self._input_shape = tuple(input_shape)
        if len(self._input_shape) != dims + 1:
            raise ShapeError(
                f"{class_name}: input_shape is {self._input_shape}; expected {dims + 1} lengths, those of "
                f"{conv_layout[1:]!r}."
            )
        if hidden_channels < 1:
            raise ArgumentError(f"{class_name}: hidden_channels is {hidden_channels}; expected 1 or more.")
        self._hidden_channels = hidden_channels
        self._conv_layout = conv_layout
        self._activation = activation
        self._i2h_kernel = _lengths(class_name, "i2h_kernel", i2h_kernel, dims)
        self._i2h_pad = _lengths(class_name, "i2h_pad", i2h_pad, dims)
        self._i2h_dilate = _lengths(class_name, "i2h_dilate", i2h_dilate, dims)
        self._h2h_kernel = _lengths(class_name, "h2h_kernel", h2h_kernel, dims)
        self._h2h_dilate = _lengths(class_name, "h2h_dilate", h2h_dilate, dims)
        if not all(length % 2 for length in self._h2h_kernel):
            raise ArgumentValueError(
                f"{class_name}: h2h_kernel is {h2h_kernel}; its lengths must be odd, so that a state has the same "
                "shape as the one before."
            )
        self._h2h_pad = tuple(
            dilate * (kernel - 1) // 2 for kernel, dilate in zip(self._h2h_kernel, self._h2h_dilate, strict=True)
        )
        self._channel_axis = conv_layout.index("C")
        self._stride = (1,) * dims
        inputs = self._input_shape[self._channel_axis - 1]
        spatial = [length for axis, length in enumerate(self._input_shape) if axis != self._channel_axis - 1]
        after = [
            length + 2 * pad - dilate * (kernel - 1)
            for length, pad, dilate, kernel in zip(
                spatial, self._i2h_pad, self._i2h_dilate, self._i2h_kernel, strict=True
            )
        ]
        if min(after) < 1:
            raise ShapeError(
                f"{class_name}: i2h_kernel {self._i2h_kernel} with dilation {self._i2h_dilate} does not fit into "
                f"inputs of shape {self._input_shape}, padded by {self._i2h_pad}."
            )
        self._state_shape = self._with_channels(hidden_channels, tuple(after))
        rows = len(self._gate_names) * hidden_channels
        for name, shape, init in (
            ("i2h_weight", (rows, *self._with_channels(inputs, self._i2h_kernel)), i2h_weight_initializer),
            ("h2h_weight", (rows, *self._with_channels(hidden_channels, self._h2h_kernel)), h2h_weight_initializer),
            ("i2h_bias", (rows,), i2h_bias_initializer),
            ("h2h_bias", (rows,), h2h_bias_initializer),
        ):
            setattr(self, name, self.params.get(name, shape=shape, init=init, allow_deferred_init=True))

    def _with_channels(self, channels: int, spatial: tuple[int, ...]) -> tuple[int, ...]:
        return (channels, *spatial) if self._channel_axis == 1 else (*spatial, channels)

    def __repr__(self) -> str:
        rows = self._reg_params["i2h_weight"].shape[0]  # type: ignore[index]
        inputs = self._input_shape[self._channel_axis - 1]
        return f"{type(self).__name__}({inputs} -> {rows}, {self._activation}, {self._conv_layout})"

    @property
    def _num_gates(self) -> int:
        return len(self._gate_names)

    def state_info(self, batch_size: int = 0) -> list[StateInfo]:
        """Return what the states are; see `RecurrentCell.state_info`."""
        return [{"shape": (batch_size, *self._state_shape), "__layout__": self._conv_layout}]

    def _conv_forward(
        self,
        F: Any,
        inputs: Any,
        states: Any,
        i2h_weight: Any,
        h2h_weight: Any,
        i2h_bias: Any,
        h2h_bias: Any,
        step: str,
    ) -> tuple[Any, Any]:
        """Return the convolutions of the inputs and of the state before."""
        common = {
            "num_filter": self._num_gates * self._hidden_channels,
            "stride": self._stride,
            "layout": self._conv_layout,
        }
        i2h = F.Convolution(
            inputs, i2h_weight, i2h_bias, kernel=self._i2h_kernel, pad=self._i2h_pad, dilate=self._i2h_dilate,
            name=step + "i2h", **common,
        )  # fmt: skip
        h2h = F.Convolution(
            states[0], h2h_weight, h2h_bias, kernel=self._h2h_kernel, pad=self._h2h_pad, dilate=self._h2h_dilate,
            name=step + "h2h", **common,
        )  # fmt: skip
        return i2h, h2h

    def _gates(self, F: Any, values: Any, name: str) -> list[Any]:
        return list(F.SliceChannel(values, num_outputs=self._num_gates, axis=self._channel_axis, name=name))


class _CellOfAxes(_BaseConvRNNCell):
    """The constructor of the nine public classes; `_cell` sets the defaults for so many spatial axes."""

    _axes: ClassVar[int]

    def __init__(
        self,
        input_shape: Any,
        hidden_channels: int,
        i2h_kernel: Any,
        h2h_kernel: Any,
        i2h_pad: Any = (0,),
        i2h_dilate: Any = (1,),
        h2h_dilate: Any = (1,),
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        conv_layout: str = "NCW",
        activation: Any = "tanh",
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        super().__init__(
            input_shape, hidden_channels, i2h_kernel, h2h_kernel, i2h_pad, i2h_dilate, h2h_dilate,
            i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer, self._axes,
            conv_layout, activation, prefix, params,
        )  # fmt: skip


class _ConvRNNCell(_CellOfAxes):
    """`h' = activation(W * x + b + R * h + c)`, the products being convolutions."""

    def _alias(self) -> str:
        return "conv_rnn"

    def hybrid_forward(
        self, F: Any, inputs: Any, states: Any, i2h_weight: Any, h2h_weight: Any, i2h_bias: Any, h2h_bias: Any
    ) -> Any:
        """Return the output, and the new state, which is the same."""
        step = f"t{self._counter}_"
        i2h, h2h = self._conv_forward(F, inputs, states, i2h_weight, h2h_weight, i2h_bias, h2h_bias, step)
        output = self._get_activation(F, i2h + h2h, self._activation, name=step + "out")
        return output, [output]


class _ConvLSTMCell(_CellOfAxes):
    """An LSTM, the products being convolutions."""

    _gate_names = ("_i", "_f", "_c", "_o")

    def _alias(self) -> str:
        return "conv_lstm"

    def state_info(self, batch_size: int = 0) -> list[StateInfo]:
        """Return what the states are: the output and the memory."""
        return super().state_info(batch_size) * 2

    def hybrid_forward(
        self, F: Any, inputs: Any, states: Any, i2h_weight: Any, h2h_weight: Any, i2h_bias: Any, h2h_bias: Any
    ) -> Any:
        """Return the output, and the new states: it, and the memory."""
        step = f"t{self._counter}_"
        i2h, h2h = self._conv_forward(F, inputs, states, i2h_weight, h2h_weight, i2h_bias, h2h_bias, step)
        enter, forget, candidate, leave = self._gates(F, i2h + h2h, step + "slice")
        enter = F.Activation(enter, act_type="sigmoid", name=step + "i")
        forget = F.Activation(forget, act_type="sigmoid", name=step + "f")
        candidate = self._get_activation(F, candidate, self._activation, name=step + "c")
        leave = F.Activation(leave, act_type="sigmoid", name=step + "o")
        memory = F.elemwise_add(forget * states[1], enter * candidate, name=step + "state")
        output = F.elemwise_mul(leave, self._get_activation(F, memory, self._activation), name=step + "out")
        return output, [output, memory]


class _ConvGRUCell(_CellOfAxes):
    """A GRU, the products being convolutions."""

    _gate_names = ("_r", "_z", "_o")

    def _alias(self) -> str:
        return "conv_gru"

    def hybrid_forward(
        self, F: Any, inputs: Any, states: Any, i2h_weight: Any, h2h_weight: Any, i2h_bias: Any, h2h_bias: Any
    ) -> Any:
        """Return the output, and the new state, which is the same."""
        step = f"t{self._counter}_"
        i2h, h2h = self._conv_forward(F, inputs, states, i2h_weight, h2h_weight, i2h_bias, h2h_bias, step)
        of_input = self._gates(F, i2h, step + "i2h_slice")
        of_state = self._gates(F, h2h, step + "h2h_slice")
        reset = F.Activation(of_input[0] + of_state[0], act_type="sigmoid", name=step + "r_act")
        update = F.Activation(of_input[1] + of_state[1], act_type="sigmoid", name=step + "z_act")
        candidate = of_input[2] + reset * of_state[2]
        candidate = self._get_activation(F, candidate, self._activation, name=step + "h_act")
        output = F.elemwise_add((1.0 - update) * candidate, update * states[0], name=step + "out")
        return output, [output]


_PARAMETERS = """
{formula}

Parameters
----------
input_shape : tuple of int
    The shape of one input, in the order of `conv_layout`, without the batch.
hidden_channels : int
    The channels of a state.
i2h_kernel, h2h_kernel : int or tuple of int
    The lengths of the filters of inputs, and of states; the latter are odd.
i2h_pad : int or tuple of int
    What is added on both sides of the inputs; states are padded so that they keep their shape.
i2h_dilate, h2h_dilate : int or tuple of int
i2h_weight_initializer, h2h_weight_initializer : str or Initializer, optional
i2h_bias_initializer, h2h_bias_initializer : str or Initializer
conv_layout : {'{first}', '{last}'}
    The axes of inputs and states.
activation : str or Block
    What `Activation` takes {activated}.
prefix, params
    See `Block`.

Examples
--------
>>> import minpy as mx
>>> cell = mx.gluon.contrib.rnn.Conv{dims}D{kind}Cell((3, {lengths}), 4, 3, 3, i2h_pad=1)
>>> cell.initialize()
>>> output, states = cell(mx.nd.ones((2, 3, {lengths})), cell.begin_state(2))
>>> output.shape, len(states)
((2, 4, {lengths}), {states})
"""


_FORMULAS = {
    "RNN": "`h' = activation(W * x + b + R * h + c)`.",
    "LSTM": "`LSTMCell` has the formula. Shi et al., 2015, equation 3, without the products with the memory.",
    "GRU": """`GRUCell` has the formula. Ballas et al., "Delving deeper into convolutional networks for learning video
        representations", 2016.""",
}


def _cell(axes: int, kind: str, activated: str, states: int = 1) -> Any:
    return of_axes(
        axes,
        repeated=("i2h_pad", "i2h_dilate", "h2h_dilate"),
        parameters=_PARAMETERS,
        formula=_FORMULAS[kind],
        activated=activated,
        dims=str(axes),
        kind=kind,
        lengths=", ".join("567"[:axes]),
        states=str(states),
    )


_rnn_cell = functools.partial(_cell, kind="RNN", activated="for the output")
_lstm_cell = functools.partial(_cell, kind="LSTM", activated="for candidates and output", states=2)
_gru_cell = functools.partial(_cell, kind="GRU", activated="for candidates")


@_rnn_cell(1)
class Conv1DRNNCell(_ConvRNNCell):
    """A recurrent cell over inputs with one spatial axis, the products being convolutions.

    {parameters}
    """


@_rnn_cell(2)
class Conv2DRNNCell(_ConvRNNCell):
    """A recurrent cell over inputs with two spatial axes, the products being convolutions.

    {parameters}
    """


@_rnn_cell(3)
class Conv3DRNNCell(_ConvRNNCell):
    """A recurrent cell over inputs with three spatial axes, the products being convolutions.

    {parameters}
    """


@_lstm_cell(1)
class Conv1DLSTMCell(_ConvLSTMCell):
    """A cell of long short-term memory over inputs with one spatial axis, the products being convolutions.

    {parameters}
    """


@_lstm_cell(2)
class Conv2DLSTMCell(_ConvLSTMCell):
    """A cell of long short-term memory over inputs with two spatial axes, the products being convolutions.

    {parameters}
    """


@_lstm_cell(3)
class Conv3DLSTMCell(_ConvLSTMCell):
    """A cell of long short-term memory over inputs with three spatial axes, the products being convolutions.

    {parameters}
    """


@_gru_cell(1)
class Conv1DGRUCell(_ConvGRUCell):
    """A gated recurrent unit over inputs with one spatial axis, the products being convolutions.

    {parameters}
    """


@_gru_cell(2)
class Conv2DGRUCell(_ConvGRUCell):
    """A gated recurrent unit over inputs with two spatial axes, the products being convolutions.

    {parameters}
    """


@_gru_cell(3)
class Conv3DGRUCell(_ConvGRUCell):
    """A gated recurrent unit over inputs with three spatial axes, the products being convolutions.

    {parameters}
    """
