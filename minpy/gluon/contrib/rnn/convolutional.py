"""Cells whose products are convolutions, over inputs with one, two or three spatial axes."""

from __future__ import annotations

from typing import Any

from minpy.gluon.contrib.rnn.convolving import _ConvGRUCell, _ConvLSTMCell, _ConvRNNCell

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


class Conv1DRNNCell(_ConvRNNCell):
    """A recurrent cell over inputs with one spatial axis, the products being convolutions.

    `h' = activation(W * x + b + R * h + c)`.

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
    conv_layout : {'NCW', 'NWC'}
        The axes of inputs and states.
    activation : str or Block
        What `Activation` takes.
    prefix, params
        See `Block`.

    Examples
    --------
    >>> import minpy as mx
    >>> cell = mx.gluon.contrib.rnn.Conv1DRNNCell((3, 5), 4, 3, 3, i2h_pad=1)
    >>> cell.initialize()
    >>> output, states = cell(mx.nd.ones((2, 3, 5)), cell.begin_state(2))
    >>> output.shape, len(states)
    ((2, 4, 5), 1)
    """

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
            i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer, 1,
            conv_layout, activation, prefix, params,
        )  # fmt: skip


class Conv2DRNNCell(_ConvRNNCell):
    """A recurrent cell over inputs with two spatial axes, the products being convolutions.

    `h' = activation(W * x + b + R * h + c)`.

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
    conv_layout : {'NCHW', 'NHWC'}
        The axes of inputs and states.
    activation : str or Block
        What `Activation` takes.
    prefix, params
        See `Block`.

    Examples
    --------
    >>> import minpy as mx
    >>> cell = mx.gluon.contrib.rnn.Conv2DRNNCell((3, 5, 6), 4, 3, 3, i2h_pad=1)
    >>> cell.initialize()
    >>> output, states = cell(mx.nd.ones((2, 3, 5, 6)), cell.begin_state(2))
    >>> output.shape, len(states)
    ((2, 4, 5, 6), 1)
    """

    def __init__(
        self,
        input_shape: Any,
        hidden_channels: int,
        i2h_kernel: Any,
        h2h_kernel: Any,
        i2h_pad: Any = (0, 0),
        i2h_dilate: Any = (1, 1),
        h2h_dilate: Any = (1, 1),
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        conv_layout: str = "NCHW",
        activation: Any = "tanh",
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        super().__init__(
            input_shape, hidden_channels, i2h_kernel, h2h_kernel, i2h_pad, i2h_dilate, h2h_dilate,
            i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer, 2,
            conv_layout, activation, prefix, params,
        )  # fmt: skip


class Conv3DRNNCell(_ConvRNNCell):
    """A recurrent cell over inputs with three spatial axes, the products being convolutions.

    `h' = activation(W * x + b + R * h + c)`.

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
    conv_layout : {'NCDHW', 'NDHWC'}
        The axes of inputs and states.
    activation : str or Block
        What `Activation` takes.
    prefix, params
        See `Block`.

    Examples
    --------
    >>> import minpy as mx
    >>> cell = mx.gluon.contrib.rnn.Conv3DRNNCell((3, 5, 6, 7), 4, 3, 3, i2h_pad=1)
    >>> cell.initialize()
    >>> output, states = cell(mx.nd.ones((2, 3, 5, 6, 7)), cell.begin_state(2))
    >>> output.shape, len(states)
    ((2, 4, 5, 6, 7), 1)
    """

    def __init__(
        self,
        input_shape: Any,
        hidden_channels: int,
        i2h_kernel: Any,
        h2h_kernel: Any,
        i2h_pad: Any = (0, 0, 0),
        i2h_dilate: Any = (1, 1, 1),
        h2h_dilate: Any = (1, 1, 1),
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        conv_layout: str = "NCDHW",
        activation: Any = "tanh",
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        super().__init__(
            input_shape, hidden_channels, i2h_kernel, h2h_kernel, i2h_pad, i2h_dilate, h2h_dilate,
            i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer, 3,
            conv_layout, activation, prefix, params,
        )  # fmt: skip


class Conv1DLSTMCell(_ConvLSTMCell):
    """A cell of long short-term memory over inputs with one spatial axis, the products being convolutions.

    `LSTMCell` has the formula. Shi et al., 2015, equation 3, without the products with the memory.

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
    conv_layout : {'NCW', 'NWC'}
        The axes of inputs and states.
    activation : str or Block
        What `Activation` takes for candidates and output.
    prefix, params
        See `Block`.

    Examples
    --------
    >>> import minpy as mx
    >>> cell = mx.gluon.contrib.rnn.Conv1DLSTMCell((3, 5), 4, 3, 3, i2h_pad=1)
    >>> cell.initialize()
    >>> output, states = cell(mx.nd.ones((2, 3, 5)), cell.begin_state(2))
    >>> output.shape, len(states)
    ((2, 4, 5), 2)
    """

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
            i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer, 1,
            conv_layout, activation, prefix, params,
        )  # fmt: skip


class Conv2DLSTMCell(_ConvLSTMCell):
    """A cell of long short-term memory over inputs with two spatial axes, the products being convolutions.

    `LSTMCell` has the formula. Shi et al., 2015, equation 3, without the products with the memory.

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
    conv_layout : {'NCHW', 'NHWC'}
        The axes of inputs and states.
    activation : str or Block
        What `Activation` takes for candidates and output.
    prefix, params
        See `Block`.

    Examples
    --------
    >>> import minpy as mx
    >>> cell = mx.gluon.contrib.rnn.Conv2DLSTMCell((3, 5, 6), 4, 3, 3, i2h_pad=1)
    >>> cell.initialize()
    >>> output, states = cell(mx.nd.ones((2, 3, 5, 6)), cell.begin_state(2))
    >>> output.shape, len(states)
    ((2, 4, 5, 6), 2)
    """

    def __init__(
        self,
        input_shape: Any,
        hidden_channels: int,
        i2h_kernel: Any,
        h2h_kernel: Any,
        i2h_pad: Any = (0, 0),
        i2h_dilate: Any = (1, 1),
        h2h_dilate: Any = (1, 1),
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        conv_layout: str = "NCHW",
        activation: Any = "tanh",
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        super().__init__(
            input_shape, hidden_channels, i2h_kernel, h2h_kernel, i2h_pad, i2h_dilate, h2h_dilate,
            i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer, 2,
            conv_layout, activation, prefix, params,
        )  # fmt: skip


class Conv3DLSTMCell(_ConvLSTMCell):
    """A cell of long short-term memory over inputs with three spatial axes, the products being convolutions.

    `LSTMCell` has the formula. Shi et al., 2015, equation 3, without the products with the memory.

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
    conv_layout : {'NCDHW', 'NDHWC'}
        The axes of inputs and states.
    activation : str or Block
        What `Activation` takes for candidates and output.
    prefix, params
        See `Block`.

    Examples
    --------
    >>> import minpy as mx
    >>> cell = mx.gluon.contrib.rnn.Conv3DLSTMCell((3, 5, 6, 7), 4, 3, 3, i2h_pad=1)
    >>> cell.initialize()
    >>> output, states = cell(mx.nd.ones((2, 3, 5, 6, 7)), cell.begin_state(2))
    >>> output.shape, len(states)
    ((2, 4, 5, 6, 7), 2)
    """

    def __init__(
        self,
        input_shape: Any,
        hidden_channels: int,
        i2h_kernel: Any,
        h2h_kernel: Any,
        i2h_pad: Any = (0, 0, 0),
        i2h_dilate: Any = (1, 1, 1),
        h2h_dilate: Any = (1, 1, 1),
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        conv_layout: str = "NCDHW",
        activation: Any = "tanh",
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        super().__init__(
            input_shape, hidden_channels, i2h_kernel, h2h_kernel, i2h_pad, i2h_dilate, h2h_dilate,
            i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer, 3,
            conv_layout, activation, prefix, params,
        )  # fmt: skip


class Conv1DGRUCell(_ConvGRUCell):
    """A gated recurrent unit over inputs with one spatial axis, the products being convolutions.

    `GRUCell` has the formula. Ballas et al., "Delving deeper into convolutional networks for learning video
    representations", 2016.

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
    conv_layout : {'NCW', 'NWC'}
        The axes of inputs and states.
    activation : str or Block
        What `Activation` takes for candidates.
    prefix, params
        See `Block`.

    Examples
    --------
    >>> import minpy as mx
    >>> cell = mx.gluon.contrib.rnn.Conv1DGRUCell((3, 5), 4, 3, 3, i2h_pad=1)
    >>> cell.initialize()
    >>> output, states = cell(mx.nd.ones((2, 3, 5)), cell.begin_state(2))
    >>> output.shape, len(states)
    ((2, 4, 5), 1)
    """

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
            i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer, 1,
            conv_layout, activation, prefix, params,
        )  # fmt: skip


class Conv2DGRUCell(_ConvGRUCell):
    """A gated recurrent unit over inputs with two spatial axes, the products being convolutions.

    `GRUCell` has the formula. Ballas et al., "Delving deeper into convolutional networks for learning video
    representations", 2016.

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
    conv_layout : {'NCHW', 'NHWC'}
        The axes of inputs and states.
    activation : str or Block
        What `Activation` takes for candidates.
    prefix, params
        See `Block`.

    Examples
    --------
    >>> import minpy as mx
    >>> cell = mx.gluon.contrib.rnn.Conv2DGRUCell((3, 5, 6), 4, 3, 3, i2h_pad=1)
    >>> cell.initialize()
    >>> output, states = cell(mx.nd.ones((2, 3, 5, 6)), cell.begin_state(2))
    >>> output.shape, len(states)
    ((2, 4, 5, 6), 1)
    """

    def __init__(
        self,
        input_shape: Any,
        hidden_channels: int,
        i2h_kernel: Any,
        h2h_kernel: Any,
        i2h_pad: Any = (0, 0),
        i2h_dilate: Any = (1, 1),
        h2h_dilate: Any = (1, 1),
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        conv_layout: str = "NCHW",
        activation: Any = "tanh",
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        super().__init__(
            input_shape, hidden_channels, i2h_kernel, h2h_kernel, i2h_pad, i2h_dilate, h2h_dilate,
            i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer, 2,
            conv_layout, activation, prefix, params,
        )  # fmt: skip


class Conv3DGRUCell(_ConvGRUCell):
    """A gated recurrent unit over inputs with three spatial axes, the products being convolutions.

    `GRUCell` has the formula. Ballas et al., "Delving deeper into convolutional networks for learning video
    representations", 2016.

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
    conv_layout : {'NCDHW', 'NDHWC'}
        The axes of inputs and states.
    activation : str or Block
        What `Activation` takes for candidates.
    prefix, params
        See `Block`.

    Examples
    --------
    >>> import minpy as mx
    >>> cell = mx.gluon.contrib.rnn.Conv3DGRUCell((3, 5, 6, 7), 4, 3, 3, i2h_pad=1)
    >>> cell.initialize()
    >>> output, states = cell(mx.nd.ones((2, 3, 5, 6, 7)), cell.begin_state(2))
    >>> output.shape, len(states)
    ((2, 4, 5, 6, 7), 1)
    """

    def __init__(
        self,
        input_shape: Any,
        hidden_channels: int,
        i2h_kernel: Any,
        h2h_kernel: Any,
        i2h_pad: Any = (0, 0, 0),
        i2h_dilate: Any = (1, 1, 1),
        h2h_dilate: Any = (1, 1, 1),
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        conv_layout: str = "NCDHW",
        activation: Any = "tanh",
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        super().__init__(
            input_shape, hidden_channels, i2h_kernel, h2h_kernel, i2h_pad, i2h_dilate, h2h_dilate,
            i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer, 3,
            conv_layout, activation, prefix, params,
        )  # fmt: skip
