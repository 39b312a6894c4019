"""`FusedRNNCell`: several layers of cells over a whole sequence as one operator."""

from __future__ import annotations

import warnings
from math import prod
from typing import Any

from minpy import symbol
from minpy.core.errors import ArgumentValueError, ShapeError, nearest
from minpy.initializer import FusedRNN
from minpy.initializer.fused import FUSED_GATES, fused_inputs, fused_layout
from minpy.ndarray import NDArray, zeros
from minpy.rnn.base_rnn_cell import BaseRNNCell, Weights, normalized, pop_array
from minpy.rnn.cells import GRUCell, LSTMCell, RNNCell
from minpy.rnn.combined import BidirectionalCell, SequentialRNNCell
from minpy.rnn.modifiers import DropoutCell
from minpy.rnn.params import RNNParams

__all__ = ["FusedRNNCell"]


class FusedRNNCell(BaseRNNCell):
    """Layers of cells over a whole sequence, as the operator `RNN`: faster than cells that are unrolled.

    Its parameters are one vector. `unfuse` gives the cells that compute the same; `unpack_weights` and `pack_weights`
    of both lead from the parameters of the one to those of the other.

    Parameters
    ----------
    num_hidden : int
        The length of an output of a layer and direction.
    num_layers : int
    mode : {'rnn_relu', 'rnn_tanh', 'lstm', 'gru'}
    bidirectional : bool
    dropout : float
        The part of the outputs between layers that is dropped in training.
    get_next_state : bool
        Whether `unroll` returns the states after the last step.
    forget_bias : float
        What the biases of LSTM's forget gates are initialized with.
    prefix : str, optional
        How the names of nodes and parameters begin; by default the mode.
    params : RNNParams, optional
        The parameters of another cell, to share them.

    Raises
    ------
    ArgumentValueError
        If there is no such mode.

    Examples
    --------
    >>> import minpy as mx
    >>> cell = mx.rnn.FusedRNNCell(8, num_layers=2, mode='gru', bidirectional=True)
    >>> outputs, _ = cell.unroll(3, mx.sym.var('data'), layout='TNC', merge_outputs=True)
    >>> outputs.infer_shape(data=(3, 2, 5))[1]
    [(3, 2, 16)]
    """

    def __init__(
        self,
        num_hidden: int,
        num_layers: int = 1,
        mode: str = "lstm",
        bidirectional: bool = False,
        dropout: float = 0.0,
        get_next_state: bool = False,
        forget_bias: float = 1.0,
        prefix: str | None = None,
        params: RNNParams | None = None,
    ) -> None:
        if mode not in FUSED_GATES:
            raise ArgumentValueError(
                f"FusedRNNCell: there is no mode {mode!r}.{nearest(str(mode), FUSED_GATES)} There are "
                f"{', '.join(map(repr, FUSED_GATES))}."
            )
        super().__init__(prefix=f"{mode}_" if prefix is None else prefix, params=params)
        self._num_hidden = num_hidden
        self._num_layers = num_layers
        self._mode = mode
        self._gate_names = [*FUSED_GATES[mode]]
        self._bidirectional = bidirectional
        self._dropout = dropout
        self._get_next_state = get_next_state
        self._directions = ["l", "r"] if bidirectional else ["l"]
        initializer = FusedRNN(None, num_hidden, num_layers, mode, bidirectional, forget_bias)
        self._parameter = self.params.get("parameters", init=initializer)

    @property
    def state_info(self) -> list[dict[str, Any]]:
        count = len(self._directions) * self._num_layers
        info = {"shape": (count, 0, self._num_hidden), "__layout__": "LNC"}
        return [dict(info) for _ in range(2 if self._mode == "lstm" else 1)]

    def _layout(self, inputs: int) -> list[tuple[str, tuple[int, ...]]]:
        return list(fused_layout(self._mode, self._num_layers, self._num_hidden, inputs, self._bidirectional))

    def unpack_weights(self, args: Weights) -> dict[str, NDArray]:
        """Return parameters with the vector taken apart: the weights and biases of each gate, layer and direction.

        Raises
        ------
        ArgumentValueError
            If the vector is missing.
        ShapeError
            If its length does not fit the cell.
        """
        args = dict(args)
        name = self._parameter.name
        assert name is not None
        vector = pop_array(args, name, "FusedRNNCell.unpack_weights")
        settings = self._mode, self._num_layers, self._num_hidden, self._bidirectional
        inputs = fused_inputs("FusedRNNCell.unpack_weights", name, vector.size, *settings)
        flat = vector.reshape((-1,))
        begin = 0
        for part, shape in self._layout(inputs):
            end = begin + prod(shape)
            args[f"{self._prefix}{part}"] = flat[begin:end].reshape(shape).copy()
            begin = end
        return args

    def pack_weights(self, args: Weights) -> dict[str, NDArray]:
        """Return parameters with those of all gates, layers and directions in one vector.

        Raises
        ------
        ArgumentValueError
            If one is missing.
        ShapeError
            If one has another shape than the first one's number of inputs asks for.
        """
        args = dict(args)
        first_name = f"{self._prefix}l0_i2h{self._gate_names[0]}_weight"
        first = pop_array({**args}, first_name, "FusedRNNCell.pack_weights")
        parts = self._layout(first.shape[1])
        vector = zeros((sum(prod(shape) for _, shape in parts),), first.context, first.dtype)
        begin = 0
        for part, shape in parts:
            array = pop_array(args, f"{self._prefix}{part}", "FusedRNNCell.pack_weights")
            if array.shape != shape:
                raise ShapeError(
                    f"FusedRNNCell.pack_weights: {self._prefix}{part} has shape {array.shape}; expected {shape}."
                )
            end = begin + prod(shape)
            vector[begin:end] = array.reshape((-1,))
            begin = end
        name = self._parameter.name
        assert name is not None
        args[name] = vector
        return args

    def __call__(self, inputs: Any, states: Any) -> Any:
        """Not there: the operator takes whole sequences.

        Raises
        ------
        NotImplementedError
            Always.
        """
        raise NotImplementedError("FusedRNNCell cannot be stepped. Please use unroll, or unfuse() it.")

    def _unroll(self, length: int, inputs: Any, begin_state: Any, layout: str, merge_outputs: bool | None) -> Any:
        sequence, axis = normalized(length, inputs, layout, True)
        if axis not in (0, 1):
            raise ArgumentValueError(f"FusedRNNCell.unroll: unsupported layout {layout}; expected 'TNC' or 'NTC'.")
        if axis == 1:
            warnings.warn("NTC layout detected. Consider using TNC for FusedRNNCell for faster speed", stacklevel=3)
            sequence = symbol.swapaxes(sequence, dim1=0, dim2=1)
        states = self.begin_state() if begin_state is None else begin_state
        mode: Any = self._mode
        result = symbol.RNN(
            data=sequence,
            parameters=self._parameter,
            **dict(zip(("state", "state_cell"), states, strict=False)),
            state_size=self._num_hidden,
            num_layers=self._num_layers,
            bidirectional=self._bidirectional,
            p=self._dropout,
            state_outputs=self._get_next_state,
            mode=mode,
            name=f"{self._prefix}rnn",
        )
        outputs, after = result, []
        if self._get_next_state:
            outputs, *after = list(result)
            for state in after:
                state._set_attr(__layout__="LNC")
        if axis == 1:
            outputs = symbol.swapaxes(outputs, dim1=0, dim2=1)
        return normalized(length, outputs, layout, merge_outputs)[0], after

    def unfuse(self) -> SequentialRNNCell:
        """Return cells that compute the same, step by step.

        Returns
        -------
        SequentialRNNCell

        Examples
        --------
        >>> import minpy as mx
        >>> fused = mx.rnn.FusedRNNCell(4, num_layers=2, mode='lstm', dropout=0.5, prefix='lstm_')
        >>> stack = fused.unfuse()
        >>> outputs, _ = stack.unroll(2, mx.sym.var('data'))
        >>> outputs[0].name
        'lstm_l1_t0_out'
        """
        stack = SequentialRNNCell()
        for layer in range(self._num_layers):
            cells = [self._cell(f"{self._prefix}{direction}{layer}_") for direction in self._directions]
            if self._bidirectional:
                stack.add(BidirectionalCell(cells[0], cells[1], output_prefix=f"{self._prefix}bi_l{layer}_"))
            else:
                stack.add(cells[0])
            if self._dropout > 0 and layer != self._num_layers - 1:
                stack.add(DropoutCell(self._dropout, prefix=f"{self._prefix}_dropout{layer}_"))
        return stack

    def _cell(self, prefix: str) -> BaseRNNCell:
        if self._mode == "lstm":
            return LSTMCell(self._num_hidden, prefix=prefix)
        if self._mode == "gru":
            return GRUCell(self._num_hidden, prefix=prefix)
        return RNNCell(self._num_hidden, activation=self._mode.removeprefix("rnn_"), prefix=prefix)
