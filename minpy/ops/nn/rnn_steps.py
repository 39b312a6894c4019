"""What `RNN` computes, step by step, and its gradients: the definition, which `ops.kernels.recurrent` computes fast."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from minpy.ops.kernels.recurrent import Layers, Weights

__all__ = ["Call", "unrolled"]


class Call(NamedTuple):
    """The inputs of a call, checked, in the dtype to compute in."""

    data: Any
    weights: list[Weights]
    state: Any
    cell: Any
    layers: Layers
    valid: Any


def _sigmoid(values: Any) -> Any:
    return np.tanh(values * 0.5) * 0.5 + 0.5


class _Steps(NamedTuple):
    """What one cell computed at every step, in the order in which it went."""

    order: list[int]
    outputs: list[Any]
    hidden: list[Any]  # before each step
    cells: list[Any]  # before each step, and the last
    gates: list[list[Any]]
    bent: list[Any]  # of an LSTM tanh of the cells; of a GRU what the reset gate multiplies


def _turn(weight: Any) -> Any:
    return np.swapaxes(weight, -1, -2)


def _cell_steps(call: Call, index: int, rows: Any) -> _Steps:
    """Run one cell, the index-th, over all steps of (time, batch, inputs)."""
    layers, weights = call.layers, call.weights[index]
    steps, batch = rows.shape[:2]
    flat = np.reshape(rows, (steps * batch, rows.shape[2]))
    bias = weights.input_bias
    from_input = np.matmul(flat, _turn(weights.input)) + np.expand_dims(bias, 1)
    from_input = np.reshape(from_input, (layers.gates, steps, batch, layers.size))
    backwards = index % layers.directions == 1
    order = list(reversed(range(steps)) if backwards else range(steps))
    hidden, cell = call.state[index], None if call.cell is None else call.cell[index]
    kept = _Steps(order, [], [], [cell], [], [])
    for step in order:
        product = np.matmul(hidden, _turn(weights.hidden)) + np.expand_dims(weights.hidden_bias, 1)
        kept.hidden.append(hidden)
        gates, new, cell, bent = _step(layers, weights, from_input[:, step], product, hidden, cell)
        if call.valid is None:
            out, hidden = new, new
        else:
            inside = call.valid[step]
            out, hidden = np.where(inside, new, 0.0), np.where(inside, new, hidden)
            cell = None if cell is None else np.where(inside, cell, kept.cells[-1])
        kept.outputs.append(out)
        kept.gates.append(gates)
        kept.cells.append(cell)
        kept.bent.append(bent)
    kept.hidden.append(hidden)
    return kept


def _step(
    layers: Layers, weights: Weights, from_input: Any, product: Any, hidden: Any, cell: Any
) -> tuple[list[Any], Any, Any, Any]:
    """Return (the gates, the new state, the new cell, what else the way back reads) of one step."""
    if layers.mode == "lstm":
        first, second, third, fourth = (from_input[gate] + product[gate] for gate in range(4))
        enter, forget, candidate, leave = _sigmoid(first), _sigmoid(second), np.tanh(third), _sigmoid(fourth)
        cell = forget * cell + enter * candidate
        if layers.clip is not None:
            least, most, stops_nan = layers.clip
            cell = np.fmin(np.fmax(cell, least), most) if stops_nan else np.clip(cell, least, most)
        bent = np.tanh(cell)
        new = leave * bent
        if weights.projection is not None:
            new = np.dot(new, np.transpose(weights.projection))
        return [enter, forget, candidate, leave], new, cell, bent
    if layers.mode == "gru":
        reset, update = _sigmoid(from_input[0] + product[0]), _sigmoid(from_input[1] + product[1])
        candidate = np.tanh(from_input[2] + reset * product[2])
        return [reset, update, candidate], candidate + update * (hidden - candidate), None, product[2]
    total = from_input[0] + product[0]
    new = np.maximum(total, 0) if layers.mode == "rnn_relu" else np.tanh(total)
    return [new], new, None, None


def _in_time(steps: _Steps, values: list[Any]) -> Any:
    """Return values of all steps as one array, in the order of time."""
    backwards = len(steps.order) > 1 and steps.order[0] > 0
    return np.stack(values[::-1] if backwards else values)


def _stacked(call: Call, steps: _Steps, values: list[Any], width: int) -> Any:
    """Return values of all steps as one array, in the order of time, also if there are no steps."""
    if values:
        return _in_time(steps, values)
    return np.zeros((0, call.data.shape[1], width), call.data.dtype)


def _layer_outputs(call: Call, cells: list[_Steps]) -> Any:
    return np.concatenate([_stacked(call, cell, cell.outputs, call.layers.results) for cell in cells], axis=-1)


def _layer(call: Call, layer: int, rows: Any) -> list[_Steps]:
    directions = call.layers.directions
    return [_cell_steps(call, layer * directions + direction, rows) for direction in range(directions)]


def unrolled(call: Call, masks: Any) -> tuple[Any, Any, Any, list[Any]]:
    """Return (outputs, last states, last cells, what a kernel would reserve)."""
    layers, rows = call.layers, call.data
    last, last_cell, kept = [], [], []
    result = rows
    for layer in range(layers.count):
        cells = _layer(call, layer, rows)
        result = _layer_outputs(call, cells)
        for cell in cells:
            last.append(cell.hidden[-1])
            last_cell.append(cell.cells[-1])
            for gate in layers.order:
                kept.append(_stacked(call, cell, [gates[gate] for gates in cell.gates], layers.size))
            if layers.mode == "lstm":
                kept.append(_stacked(call, cell, cell.cells[1:], layers.size))
            if layers.mode in ("lstm", "gru"):
                kept.append(_stacked(call, cell, cell.bent, layers.size))
        if layer + 1 < layers.count:
            kept.append(result)
            rows = result * masks[layer] if len(masks) else result
    return result, np.stack(last), np.stack(last_cell) if layers.mode == "lstm" else None, kept
