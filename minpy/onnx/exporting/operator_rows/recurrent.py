"""Recurrent layers: a node for each layer, its weights cut out of the one vector that MXNet has for all."""

from __future__ import annotations

from typing import Any

import numpy

from minpy.frameworks.dialects import Operand
from minpy.onnx.exporting.calls import NodeCall, Rows

__all__ = ["ROWS"]

ROWS = Rows()

_OP_TYPES = {"lstm": "LSTM", "gru": "GRU", "rnn_tanh": "RNN", "rnn_relu": "RNN"}
# The gates of MXNet in ONNX's order: i, f, g, o become i, o, f, c; r, z, n become z, r, h.
_GATES = {"lstm": (0, 3, 1, 2), "gru": (1, 0, 2), "rnn_tanh": (0,), "rnn_relu": (0,)}


@ROWS.enter("RNN")
def _rnn(
    call: NodeCall,
    data: Operand,
    parameters: Operand,
    state: Operand,
    state_cell: Operand | None = None,
    sequence_length: Operand | None = None,
    state_size: int = 0,
    num_layers: int = 1,
    bidirectional: bool = False,
    mode: str = "lstm",
    projection_size: int | None = None,
    lstm_state_clip_min: float | None = None,
    lstm_state_clip_max: float | None = None,
    use_sequence_length: bool = False,
    **_: Any,
) -> Any:
    if parameters.value is None:
        raise call.refuse("parameters that are computed by the graph: their gates are in another order in ONNX")
    if projection_size is not None:
        raise call.refuse("projection_size")
    if lstm_state_clip_min is not None or lstm_state_clip_max is not None:
        raise call.refuse("lstm_state_clip_min and lstm_state_clip_max")
    if mode != "lstm":  # the cell is that of an LSTM alone; what follows it moves up
        state_cell, sequence_length = None, state_cell if sequence_length is None else sequence_length
    directions = 2 if bidirectional else 1
    weights = _Weights(parameters.value, mode, state_size, num_layers, directions, data.shape[2])
    lengths = call.array(sequence_length, numpy.int32) if use_sequence_length and sequence_length is not None else None
    is_empty = None
    if lengths is not None:  # onnxruntime's states after no step are zero in some cases
        is_empty = call.reshape(call.node("Equal", lengths, numpy.asarray(0, numpy.int32)), (1, -1, 1))
    outputs, last_states, last_cells = data.text, [], []
    for layer in range(num_layers):
        first = [
            None if each is None else _part(call, each, layer, directions, num_layers) for each in (state, state_cell)
        ]
        attributes: dict[str, Any] = {
            "hidden_size": state_size,
            "direction": "bidirectional" if bidirectional else "forward",
        }
        if mode == "gru":
            attributes["linear_before_reset"] = 1
        if mode == "rnn_relu":
            attributes["activations"] = ["Relu"] * directions
        results = call.node(
            _OP_TYPES[mode],
            outputs,
            *map(call.emitter.stored, weights.of_layer(layer)),
            lengths,
            *(first if mode == "lstm" else first[:1]),
            outputs=3 if mode == "lstm" else 2,
            **attributes,
        )
        outputs = _joined(call, results[0], directions, state_size)
        last = list(results[1:])
        if is_empty is not None:
            last = [call.node("Where", is_empty, begin, end) for begin, end in zip(first, last, strict=False)]
        last_states.append(last[0])
        last_cells.extend(last[1:])
    everything = [outputs, _stacked(call, last_states)]
    if last_cells:
        everything.append(_stacked(call, last_cells))
    return tuple(everything[: len(call.results)])


def _part(call: NodeCall, states: Operand, layer: int, directions: int, num_layers: int) -> str:
    if num_layers == 1:
        return states.text
    ends = [call.ints([number]) for number in (layer * directions, (layer + 1) * directions)]
    return str(call.node("Slice", states, *ends, call.ints([0])))


def _joined(call: NodeCall, outputs: str, directions: int, size: int) -> str:
    """Return the outputs of the directions beside each other: ONNX has (time, directions, batch, size)."""
    if directions == 1:
        return call.squeeze(outputs, [1])
    return call.reshape(call.transpose(outputs, (0, 2, 1, 3)), (0, 0, directions * size))


def _stacked(call: NodeCall, parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else str(call.node("Concat", *parts, axis=0))


class _Weights:
    """The weights and biases of all cells, cut out of one vector: see `RNN`'s `parameters`."""

    def __init__(
        self, vector: numpy.ndarray, mode: str, size: int, num_layers: int, directions: int, num_inputs: int
    ) -> None:
        self.gates = _GATES[mode]
        self.size, self.directions = size, directions
        rows = len(self.gates) * size
        self.matrices: list[tuple[numpy.ndarray, numpy.ndarray]] = []
        offset = 0
        for layer in range(num_layers):
            width = num_inputs if layer == 0 else directions * size
            for _ in range(directions):
                both = []
                for columns in (width, size):
                    both.append(vector[offset : offset + rows * columns].reshape(rows, columns))
                    offset += rows * columns
                self.matrices.append((both[0], both[1]))
        self.biases = vector[offset:].reshape(num_layers * directions, 2, rows)

    def of_layer(self, layer: int) -> list[numpy.ndarray]:
        """Return W, R and B of a layer, as ONNX has them."""
        cells = range(layer * self.directions, (layer + 1) * self.directions)
        inputs = numpy.stack([self._ordered(self.matrices[cell][0]) for cell in cells])
        hidden = numpy.stack([self._ordered(self.matrices[cell][1]) for cell in cells])
        biases = numpy.stack([numpy.concatenate([self._ordered(bias) for bias in self.biases[cell]]) for cell in cells])
        return [inputs, hidden, biases]

    def _ordered(self, rows: numpy.ndarray) -> numpy.ndarray:
        by_gate = rows.reshape(len(self.gates), self.size, *rows.shape[1:])
        return numpy.concatenate([by_gate[gate] for gate in self.gates])


@ROWS.enter("_rnn_param_concat")
def _rnn_param_concat(call: NodeCall, *parts: Operand, dim: int = 1, **_: Any) -> Any:
    return call.node("Concat", *parts, axis=dim)
