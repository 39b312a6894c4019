"""Recurrent layers over whole sequences: `RNN`, `LSTM`, `GRU`. Each call is one fused operator."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from minpy import ndarray as nd
from minpy import symbol
from minpy.core.docstrings import documented
from minpy.core.errors import ArgumentError, ArgumentValueError, MXNetError, ShapeError
from minpy.gluon.block import HybridBlock
from minpy.gluon.nn.argument_checks import count
from minpy.gluon.rnn.bidirectional import BidirectionalCell
from minpy.gluon.rnn.cells import GRUCell, LSTMCell, RNNCell
from minpy.gluon.rnn.modifiers import DropoutCell, require_rate
from minpy.gluon.rnn.recurrent_cell import StateInfo, make_state
from minpy.gluon.rnn.sequences import in_mode
from minpy.gluon.rnn.sequential import HybridSequentialRNNCell
from minpy.ndarray import NDArray
from minpy.symbol import Symbol

__all__ = ["GRU", "LSTM", "RNN", "_RNNLayer"]

_GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}
_PARAMETER = re.compile(r"([lr])(\d+)_((?:i2h|h2h|h2r)_(?:weight|bias))\Z")


_LAYOUT_TO_BIDIRECTIONAL = """
layout : {'TNC', 'NTC'}
    The axes of inputs and outputs: T time, N batch, C inputs.
dropout : float
    In training, the probability with which an output of a layer (but the last) is set to zero.
bidirectional : bool
    Whether each layer has cells that go backwards too; outputs of both are concatenated.
"""
_DTYPE_TO_PARAMS = """
dtype : str or numpy.dtype
use_sequence_length : bool
    Whether calls give the length of each sequence.
prefix, params
    See `Block`.
"""


class _RNNLayer(HybridBlock):
    """The base of recurrent layers, with MXNet's parameters."""

    def __init__(
        self,
        hidden_size: int,
        num_layers: int,
        layout: str,
        dropout: float,
        bidirectional: bool,
        input_size: int,
        i2h_weight_initializer: Any,
        h2h_weight_initializer: Any,
        i2h_bias_initializer: Any,
        h2h_bias_initializer: Any,
        mode: str,
        projection_size: int | None,
        h2r_weight_initializer: Any,
        lstm_state_clip_min: float | None,
        lstm_state_clip_max: float | None,
        lstm_state_clip_nan: bool,
        dtype: Any,
        use_sequence_length: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        class_name = type(self).__name__
        if layout not in ("TNC", "NTC"):
            raise ArgumentValueError(
                f"{class_name}: layout is {layout!r}; expected 'TNC' (time, batch, inputs) or 'NTC' (batch, time, "
                "inputs)."
            )
        require_rate(class_name, dropout=dropout)
        self._hidden_size = count(class_name, "hidden_size", hidden_size)
        self._projection_size = projection_size or None
        self._num_layers = count(class_name, "num_layers", num_layers)
        self._mode = mode
        self._layout = layout
        self._dropout = dropout
        self._dir = 2 if bidirectional else 1
        self._input_size = count(class_name, "input_size", input_size, least=0)
        self._initializers = {
            "i2h_weight": i2h_weight_initializer,
            "h2h_weight": h2h_weight_initializer,
            "i2h_bias": i2h_bias_initializer,
            "h2h_bias": h2h_bias_initializer,
        }
        self._clip = (lstm_state_clip_min, lstm_state_clip_max, lstm_state_clip_nan)
        self._dtype = dtype
        self._use_sequence_length = use_sequence_length
        rows = _GATES[mode] * hidden_size
        outputs = self._projection_size or hidden_size
        inputs = input_size
        for layer in range(num_layers):
            for direction in "lr"[: self._dir]:
                shapes = {"i2h_weight": (rows, inputs), "h2h_weight": (rows, outputs), "i2h_bias": (rows,)}
                for name, shape in {**shapes, "h2h_bias": (rows,)}.items():
                    self._register_param(f"{direction}{layer}_{name}", shape, self._initializers[name], dtype)
                if self._projection_size:
                    self._register_param(
                        f"{direction}{layer}_h2r_weight", (outputs, hidden_size), h2r_weight_initializer, dtype
                    )
            inputs = outputs * self._dir

    def _register_param(self, name: str, shape: tuple[int, ...], init: Any, dtype: Any) -> Any:
        parameter = self.params.get(name, shape=shape, init=init, allow_deferred_init=True, dtype=dtype)
        setattr(self, name, parameter)
        return parameter

    def __repr__(self) -> str:
        rows, inputs = self._reg_params["l0_i2h_weight"].shape  # type: ignore[misc]
        shown = [f"{inputs if inputs > 0 else None} -> {rows // _GATES[self._mode]}", self._layout]
        if self._num_layers != 1:
            shown.append(f"num_layers={self._num_layers}")
        if self._dropout != 0:
            shown.append(f"dropout={self._dropout}")
        if self._dir == 2:
            shown.append("bidirectional")
        return f"{type(self).__name__}({', '.join(shown)})"

    def _collect_params_with_prefix(self, prefix: str = "") -> dict[str, Any]:
        """Return all parameters, named as those of the cells that the layer consists of."""
        parameters = {}
        for name, parameter in self._reg_params.items():
            match = _PARAMETER.match(name)
            assert match is not None
            direction, layer, kind = match.groups()
            cell = f"{direction}_cell." if self._dir == 2 else ""
            parameters[f"{prefix + '.' if prefix else ''}_unfused.{layer}.{cell}{kind}"] = parameter
        return parameters

    def cast(self, dtype: Any) -> None:
        """Convert the parameters, and the first states of later calls, to another dtype."""
        super().cast(dtype)
        self._dtype = dtype

    # -- states ----------------------------------------------------------------------------------------------------

    def state_info(self, batch_size: int = 0) -> list[StateInfo]:
        """Return what the states are: for each its 'shape', '__layout__' and 'dtype'.

        Parameters
        ----------
        batch_size : int
            0: not known yet.

        Returns
        -------
        list of dict
        """
        cells = self._num_layers * self._dir
        sizes = [self._projection_size or self._hidden_size, self._hidden_size][: 2 if self._mode == "lstm" else 1]
        return [{"shape": (cells, batch_size, size), "__layout__": "LNC", "dtype": self._dtype} for size in sizes]

    def begin_state(self, batch_size: int = 0, func: Callable[..., Any] = nd.zeros, **kwargs: Any) -> list[Any]:
        """Return states to begin sequences with.

        Parameters
        ----------
        batch_size : int
            How many sequences.
        func : callable
            What makes a state: `mx.nd.zeros`, `mx.nd.ones`, `mx.sym.zeros`, ...
        **kwargs
            Given to `func`, with the 'shape' of the state: `ctx`, `dtype`.

        Returns
        -------
        list of NDArray or Symbol
            Of shape (num_layers * directions, batch, hidden_size).
        """
        return [
            make_state(func, f"{self.prefix}h0_{number}", info, kwargs)
            for number, info in enumerate(self.state_info(batch_size))
        ]

    # -- calls -----------------------------------------------------------------------------------------------------

    def __call__(self, inputs: Any, states: Any = None, sequence_length: Any = None, **kwargs: Any) -> Any:
        """Go through sequences.

        Parameters
        ----------
        inputs : NDArray or Symbol
            Of shape (time, batch, inputs), or (batch, time, inputs) with layout='NTC'.
        states : NDArray or Symbol, or list of them, optional
            The first states; zeros.
        sequence_length : NDArray or Symbol, optional
            How many steps of each sequence are valid, of shape (batch,), with `use_sequence_length`.

        Returns
        -------
        outputs : NDArray or Symbol
            Of shape (time, batch, directions * hidden_size), or as the layout says.
        states : list of NDArray or Symbol
            The last; only if states are given.

        Raises
        ------
        ArgumentError
            If the number of states is another, or `sequence_length` is missing.
        ShapeError
            If the shapes do not fit.
        """
        lengths = self._lengths(sequence_length)
        if isinstance(inputs, NDArray):
            self._require_inputs(inputs)
        if states is None:
            if isinstance(inputs, NDArray) and not self._active:
                batch_size = inputs.shape[self._layout.index("N")]
                states = self.begin_state(batch_size, ctx=inputs.context, dtype=inputs.dtype)
            elif isinstance(inputs, Symbol):
                states = self.begin_state(0, func=symbol.zeros)
            result = super().__call__(inputs, states, *lengths, **kwargs)
            return in_mode(result if states is None else result[0])
        if not isinstance(states, (list, tuple)):
            states = [states]
        expected = 2 if self._mode == "lstm" else 1
        if len(states) != expected:
            raise ArgumentError(
                f"{self.name}: got {len(states)} state(s); expected {expected}: "
                f"{'the output and the memory' if expected == 2 else 'the output'} of the step before, as "
                "begin_state() returns."
            )
        self._require_states(inputs, states)
        outputs, after = super().__call__(inputs, list(states), *lengths, **kwargs)
        return in_mode(outputs), in_mode(list(after))

    def _as_called(self, inputs: Any, states: Any = None, sequence_length: Any = None) -> tuple[Any, ...]:
        """Return the arguments of the graph for those of a call."""
        if states is not None:
            states = [*states] if isinstance(states, (list, tuple)) else [states]
        return inputs, states, *self._lengths(sequence_length)

    def _lengths(self, sequence_length: Any) -> tuple[Any, ...]:
        """Return the lengths of sequences as a tuple of further arguments: empty for a layer without."""
        if not self._use_sequence_length:
            return ()
        if sequence_length is None:
            raise ArgumentError(
                f"{self.name}: sequence_length is missing, which use_sequence_length=True asks for: give "
                "sequence_length=, an array of shape (batch,)."
            )
        return (sequence_length,)

    def _require_inputs(self, inputs: NDArray) -> None:
        size = self._reg_params["l0_i2h_weight"]._shape[1]  # type: ignore[index]
        if inputs.ndim != 3 or (size > 0 and inputs.shape[2] != size):
            axes = "(time, batch, inputs)" if self._layout == "TNC" else "(batch, time, inputs)"
            raise ShapeError(
                f"{self.name}: the inputs have shape {inputs.shape}; expected {axes}"
                f"{f' with {size} inputs' if size > 0 else ''}, as layout={self._layout!r} says."
            )

    def _require_states(self, inputs: Any, states: Any) -> None:
        if not isinstance(inputs, NDArray):
            return
        for info, state in zip(self.state_info(inputs.shape[self._layout.index("N")]), states, strict=True):
            if tuple(state.shape) != info["shape"]:
                raise ShapeError(
                    f"{self.name}: a state has shape {state.shape}; expected {info['shape']}, (num_layers * "
                    f"directions, batch, hidden_size), for inputs of shape {inputs.shape} with "
                    f"layout={self._layout!r}. Give begin_state(batch_size=...)."
                )

    def infer_shape(self, inputs: Any, *args: Any) -> None:
        """Complete the shapes of the first layer's weights from those of the inputs."""
        for name in ("l0_i2h_weight", "r0_i2h_weight")[: self._dir]:
            self._reg_params[name].shape = (_GATES[self._mode] * self._hidden_size, inputs.shape[2])

    def hybrid_forward(  # type: ignore[override]
        self, F: Any, inputs: Any, states: Any, sequence_length: Any = None, **kwargs: Any
    ) -> Any:
        """Return the outputs, and, if states are given, the list of the last ones."""
        has_states = states is not None
        if not has_states:
            states = self.begin_state(0, func=F.zeros)
        if self._layout == "NTC":
            inputs = F.swapaxes(inputs, dim1=0, dim2=1)
        flat = [
            F.reshape(kwargs[f"{direction}{layer}_{kind}"], shape=-1)
            for kinds in (("i2h_weight", "h2h_weight", "h2r_weight"), ("i2h_bias", "h2h_bias"))
            for layer in range(self._num_layers)
            for direction in "lr"[: self._dir]
            for kind in kinds
            if kind != "h2r_weight" or self._projection_size
        ]
        least, most, stops_nan = self._clip
        lengths = {} if sequence_length is None else {"sequence_length": sequence_length}
        outputs, *after = F.RNN(
            inputs,
            F._rnn_param_concat(*flat, dim=0),
            *states,
            **lengths,
            use_sequence_length=self._use_sequence_length,
            state_size=self._hidden_size,
            projection_size=self._projection_size,
            num_layers=self._num_layers,
            bidirectional=self._dir == 2,
            p=self._dropout,
            state_outputs=True,
            mode=self._mode,
            lstm_state_clip_min=least,
            lstm_state_clip_max=most,
            lstm_state_clip_nan=stops_nan,
        )
        if self._layout == "NTC":
            outputs = F.swapaxes(outputs, dim1=0, dim2=1)
        return (outputs, after) if has_states else outputs

    # -- cells -----------------------------------------------------------------------------------------------------

    def _unfuse(self) -> HybridSequentialRNNCell:
        """Return the cells that the layer consists of, one above the other, with the layer's parameters."""
        if self._projection_size or self._clip[0] is not None:
            feature = "a projection" if self._projection_size else "bounds of its states"
            raise MXNetError(f"{self.name}._unfuse: the layer has {feature}, which LSTMCell has not.")
        stack = HybridSequentialRNNCell(prefix=self.prefix, params=self.params)
        options = {f"{name}_initializer": value for name, value in self._initializers.items()}
        with stack.name_scope():
            inputs = self._input_size
            for layer in range(self._num_layers):
                cells = [
                    self._cell(input_size=inputs, prefix=f"{direction}{layer}_", **options)
                    for direction in "lr"[: self._dir]
                ]
                stack.add(BidirectionalCell(*cells) if len(cells) == 2 else cells[0])
                if self._dropout > 0 and layer + 1 < self._num_layers:
                    stack.add(DropoutCell(self._dropout))
                inputs = self._hidden_size * self._dir
        return stack

    def _cell(self, **options: Any) -> Any:
        if self._mode == "lstm":
            return LSTMCell(self._hidden_size, **options)
        if self._mode == "gru":
            return GRUCell(self._hidden_size, **options)
        return RNNCell(self._hidden_size, activation=self._mode.removeprefix("rnn_"), **options)


@documented(layout_to_bidirectional=_LAYOUT_TO_BIDIRECTIONAL, dtype_to_params=_DTYPE_TO_PARAMS)
class RNN(_RNNLayer):
    """Layers of Elman's recurrent cells: `h' = activation(W x + b + R h + c)`.

    Elman, "Finding structure in time", 1990.

    Parameters
    ----------
    hidden_size : int
    num_layers : int
        How many layers; each is given the outputs of the one before.
    activation : {'relu', 'tanh'}
    {layout_to_bidirectional}
    i2h_weight_initializer, h2h_weight_initializer : str or Initializer, optional
        Of W and R.
    i2h_bias_initializer, h2h_bias_initializer : str or Initializer
        Of b and c.
    input_size : int
        0: it follows from the first call.
    {dtype_to_params}

    Examples
    --------
    >>> import minpy as mx
    >>> layer = mx.gluon.rnn.RNN(4, 2, layout='NTC')
    >>> layer.initialize()
    >>> layer(mx.nd.ones((3, 5, 6))).shape
    (3, 5, 4)
    """

    def __init__(
        self,
        hidden_size: int,
        num_layers: int = 1,
        activation: str = "relu",
        layout: str = "TNC",
        dropout: float = 0,
        bidirectional: bool = False,
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        input_size: int = 0,
        dtype: Any = "float32",
        **kwargs: Any,
    ) -> None:
        if activation not in ("relu", "tanh"):
            raise ArgumentValueError(f"RNN: activation is {activation!r}; expected 'relu' or 'tanh'.")
        super().__init__(
            hidden_size, num_layers, layout, dropout, bidirectional, input_size, i2h_weight_initializer,
            h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer, "rnn_" + activation, None, None, None,
            None, False, dtype, **kwargs,
        )  # fmt: skip


@documented(layout_to_bidirectional=_LAYOUT_TO_BIDIRECTIONAL, dtype_to_params=_DTYPE_TO_PARAMS)
class LSTM(_RNNLayer):
    """Layers of long short-term memory; `LSTMCell` has the formula.

    Hochreiter and Schmidhuber, "Long short-term memory", 1997; with a projection of the output, Sak, Senior and
    Beaufays, "Long short-term memory based recurrent neural network architectures for large vocabulary speech
    recognition", 2014.

    Parameters
    ----------
    hidden_size : int
    num_layers : int
        How many layers; each is given the outputs of the one before.
    {layout_to_bidirectional}
    input_size : int
        0: it follows from the first call.
    i2h_weight_initializer, h2h_weight_initializer : str or Initializer, optional
    i2h_bias_initializer, h2h_bias_initializer : str or Initializer
        `mx.init.LSTMBias(1.0)` lets the forget gates begin open.
    projection_size : int, optional
        The length to which outputs are projected.
    h2r_weight_initializer : str or Initializer, optional
        Of the projection.
    state_clip_min, state_clip_max : float, optional
        The bounds between which the memory is kept at every step; both or none.
    state_clip_nan : bool
        Whether NaN in the memory becomes the lower bound.
    {dtype_to_params}

    Examples
    --------
    >>> import minpy as mx
    >>> layer = mx.gluon.rnn.LSTM(4, bidirectional=True)
    >>> layer.initialize()
    >>> layer.hybridize()
    >>> outputs, (hidden, memory) = layer(mx.nd.ones((5, 3, 6)), layer.begin_state(3))
    >>> outputs.shape, memory.shape
    ((5, 3, 8), (2, 3, 4))
    >>> layer
    LSTM(6 -> 4, TNC, bidirectional)
    """

    def __init__(
        self,
        hidden_size: int,
        num_layers: int = 1,
        layout: str = "TNC",
        dropout: float = 0,
        bidirectional: bool = False,
        input_size: int = 0,
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        projection_size: int | None = None,
        h2r_weight_initializer: Any = None,
        state_clip_min: float | None = None,
        state_clip_max: float | None = None,
        state_clip_nan: bool = False,
        dtype: Any = "float32",
        **kwargs: Any,
    ) -> None:
        super().__init__(
            hidden_size, num_layers, layout, dropout, bidirectional, input_size, i2h_weight_initializer,
            h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer, "lstm", projection_size,
            h2r_weight_initializer, state_clip_min, state_clip_max, state_clip_nan, dtype, **kwargs,
        )  # fmt: skip


@documented(layout_to_bidirectional=_LAYOUT_TO_BIDIRECTIONAL, dtype_to_params=_DTYPE_TO_PARAMS)
class GRU(_RNNLayer):
    """Layers of gated recurrent units; `GRUCell` has the formula.

    Cho et al., "Learning phrase representations using RNN encoder-decoder", 2014.

    Parameters
    ----------
    hidden_size : int
    num_layers : int
        How many layers; each is given the outputs of the one before.
    {layout_to_bidirectional}
    input_size : int
        0: it follows from the first call.
    i2h_weight_initializer, h2h_weight_initializer : str or Initializer, optional
    i2h_bias_initializer, h2h_bias_initializer : str or Initializer
    {dtype_to_params}

    Examples
    --------
    >>> import minpy as mx
    >>> layer = mx.gluon.rnn.GRU(4, use_sequence_length=True)
    >>> layer.initialize()
    >>> outputs = layer(mx.nd.ones((5, 2, 6)), sequence_length=mx.nd.array([5, 3]))
    >>> outputs[3:, 1].asnumpy().tolist()
    [[0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]
    """

    def __init__(
        self,
        hidden_size: int,
        num_layers: int = 1,
        layout: str = "TNC",
        dropout: float = 0,
        bidirectional: bool = False,
        input_size: int = 0,
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        dtype: Any = "float32",
        **kwargs: Any,
    ) -> None:
        super().__init__(
            hidden_size, num_layers, layout, dropout, bidirectional, input_size, i2h_weight_initializer,
            h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer, "gru", None, None, None, None, False,
            dtype, **kwargs,
        )  # fmt: skip
