"""What `RNN` computes, step by step, and its gradients: the definition of `ops.kernels.recurrent_layers`.

A layer's inputs are known before it begins: they are multiplied by its weights in one product for all steps. So are the
gradients of weights, once all steps are pulled back. Compiled programs unroll these steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from minpy.core.sums import sum_over
from minpy.ops.kernels.recurrent_layers import Layers, Weights

__all__ = ["Call", "Forward", "pulled", "unrolled"]


class Call(NamedTuple):
    """The inputs of a call, checked, in the dtype to compute in."""

    data: Any
    weights: list[Weights]
    state: Any
    cell: Any
    layers: Layers
    valid: Any


class CellSteps(NamedTuple):
    """What one cell computed at every step, by number of the step in time."""

    order: list[int]  # of the steps
    outputs: list[Any]
    hidden: list[Any]  # before each step
    cells: list[Any]  # before each step
    cells_after: list[Any]
    gates: list[list[Any]]
    extra: list[Any]  # of an LSTM tanh of the cells; of a GRU what the reset gate multiplies
    last_hidden: Any
    last_cell: Any


class Forward(NamedTuple):
    """What the backward pass reads.

    Attributes
    ----------
    masks : array
        What the outputs of each layer but the last are multiplied by; empty: nothing.
    inputs : list of array
        Of each layer, of shape (time, batch, inputs).
    cells : list of list of CellSteps
        Of each layer, for each direction.
    """

    masks: Any
    inputs: list[Any]
    cells: list[list[CellSteps]]


def _sigmoid(values: Any) -> Any:
    return np.tanh(values * 0.5) * 0.5 + 0.5


def _matrix(weight: Any) -> Any:
    """Return weights of all gates, one below the other."""
    return np.reshape(weight, (-1, weight.shape[-1]))


def _by_gate(values: Any, layers: Layers) -> list[Any]:
    """Return the columns of each gate."""
    return [values[:, gate * layers.size : (gate + 1) * layers.size] for gate in range(layers.gates)]


def _cell_steps(call: Call, index: int, rows: Any) -> CellSteps:
    """Run one cell, the index-th, over all steps of (time, batch, inputs)."""
    layers, weights = call.layers, call.weights[index]
    steps, batch = rows.shape[:2]
    from_inputs = np.matmul(_matrix(rows), np.transpose(_matrix(weights.input)))
    hidden_weight = np.transpose(_matrix(weights.hidden))
    biases = weights.input_bias + weights.hidden_bias
    hidden, cell = call.state[index], None if call.cell is None else call.cell[index]
    order = list(range(steps))[:: -1 if index % layers.directions else 1]
    empty: list[list[Any]] = [[None] * steps for _ in range(6)]
    result = CellSteps(order, empty[0], empty[1], empty[2], empty[3], empty[4], empty[5], hidden, cell)
    for step in order:
        result.hidden[step], result.cells[step] = hidden, cell
        inputs, product = from_inputs[step * batch : (step + 1) * batch], np.matmul(hidden, hidden_weight)
        result.gates[step], new, new_cell, result.extra[step] = _step(
            layers, weights, biases, inputs, product, hidden, cell
        )
        if call.valid is None:
            result.outputs[step] = hidden = new
        else:
            inside = call.valid[step]
            result.outputs[step], hidden = np.where(inside, new, 0.0), np.where(inside, new, hidden)
            new_cell = None if cell is None else np.where(inside, new_cell, cell)
        result.cells_after[step] = cell = new_cell
    return result._replace(last_hidden=hidden, last_cell=cell)


def _step(
    layers: Layers, weights: Weights, biases: Any, inputs: Any, product: Any, hidden: Any, cell: Any
) -> tuple[list[Any], Any, Any, Any]:
    """Return (the gates, the new state, the new cell, what else the backward pass reads) of one step."""
    if layers.mode == "gru":
        input_products, hidden_products = _by_gate(inputs, layers), _by_gate(product, layers)
        reset, update = (_sigmoid(input_products[gate] + hidden_products[gate] + biases[gate]) for gate in range(2))
        hidden_part = hidden_products[2] + weights.hidden_bias[2]
        candidate = np.tanh(input_products[2] + weights.input_bias[2] + reset * hidden_part)
        return [reset, update, candidate], candidate + update * (hidden - candidate), None, hidden_part
    totals = [total + bias for total, bias in zip(_by_gate(inputs + product, layers), biases, strict=True)]
    if layers.mode == "lstm":
        enter, forget, candidate, leave = (
            np.tanh(total) if gate == 2 else _sigmoid(total) for gate, total in enumerate(totals)
        )
        cell = forget * cell + enter * candidate
        if layers.clip is not None:
            least, most, stops_nan = layers.clip
            cell = np.fmin(np.fmax(cell, least), most) if stops_nan else np.clip(cell, least, most)
        tanh_cell = np.tanh(cell)
        new = leave * tanh_cell
        if weights.projection is not None:
            new = np.matmul(new, np.transpose(weights.projection))
        return [enter, forget, candidate, leave], new, cell, tanh_cell
    new = np.maximum(totals[0], 0) if layers.mode == "rnn_relu" else np.tanh(totals[0])
    return [new], new, None, None


def _stacked(call: Call, values: Sequence[Any], width: int) -> Any:
    """Return values of all steps as one array, also if there are no steps."""
    return np.stack(values) if values else np.zeros((0, call.data.shape[1], width), call.data.dtype)


def _reserved_arrays(call: Call, cell: CellSteps) -> list[Any]:
    """Return what a kernel would reserve of one cell."""
    layers = call.layers
    reserved = [[gates[gate] for gates in cell.gates] for gate in layers.order]
    reserved += [cell.cells_after] if layers.mode == "lstm" else []
    reserved += [cell.extra] if layers.mode in ("lstm", "gru") else []
    return [_stacked(call, values, layers.size) for values in reserved]


def unrolled(call: Call, masks: Any) -> tuple[Any, Any, Any, list[Any], Forward]:
    """Return (outputs, last states, last cells, what a kernel would reserve, what the backward pass reads)."""
    layers, rows = call.layers, call.data
    forward = Forward(masks, [], [])
    reserved = []
    result = rows
    for layer in range(layers.count):
        first = layer * layers.directions
        cells = [_cell_steps(call, first + direction, rows) for direction in range(layers.directions)]
        forward.inputs.append(rows)
        forward.cells.append(cells)
        result = np.concatenate([_stacked(call, cell.outputs, layers.results) for cell in cells], axis=-1)
        reserved += [part for cell in cells for part in _reserved_arrays(call, cell)]
        if layer + 1 < layers.count:
            reserved.append(result)
            rows = result * masks[layer] if len(masks) else result
    ends = [cell for cells in forward.cells for cell in cells]
    last = np.stack([cell.last_hidden for cell in ends])
    last_cell = np.stack([cell.last_cell for cell in ends]) if layers.mode == "lstm" else None
    return result, last, last_cell, reserved, forward


def _step_vjp(
    call: Call, weights: Weights, cell: CellSteps, step: int, upstream: Any, to_cell: Any
) -> tuple[list[Any], Any, Any]:
    """Return the gradients of one step: of its gates' inputs, of its state other than through them, of its cell.

    Of a GRU's gates there are four: of the inputs of n, r and z, and of the product with the state in that of n.
    """
    layers, gates, hidden = call.layers, cell.gates[step], cell.hidden[step]
    if layers.mode == "lstm":
        enter, forget, candidate, leave = gates
        if weights.projection is not None:
            upstream = np.matmul(upstream, weights.projection)
        tanh_cell = cell.extra[step]
        into_cell = upstream * leave * (1 - tanh_cell * tanh_cell)
        to_cell = into_cell if to_cell is None else to_cell + into_cell
        if layers.clip is not None:
            now = cell.cells_after[step]
            to_cell = to_cell * ((now > layers.clip[0]) & (now < layers.clip[1]))
        slopes = [
            to_cell * candidate * (enter - enter * enter),
            to_cell * cell.cells[step] * (forget - forget * forget),
            to_cell * enter * (1 - candidate * candidate),
            upstream * tanh_cell * (leave - leave * leave),
        ]
        return slopes, None, to_cell * forget
    if layers.mode == "gru":
        reset, update, candidate = gates
        slope = upstream * (1 - update) * (1 - candidate * candidate)
        of_reset = slope * cell.extra[step] * (reset - reset * reset)
        of_update = upstream * (hidden - candidate) * (update - update * update)
        return [slope, of_reset, of_update, slope * reset], upstream * update, None
    new = gates[0]
    return [upstream * ((new > 0) if layers.mode == "rnn_relu" else 1 - new * new)], None, None


def _cell_vjp(
    call: Call, index: int, rows: Any, cell: CellSteps, g: Any, to_hidden: Any, to_cell: Any
) -> tuple[Any, list[Any], Any, Any]:
    """Return the gradients of one cell: of its input, its weights, its first state and cell.

    `g`, `to_hidden` and `to_cell` are the gradients of its outputs, last state and last cell; None: zeros.
    """
    layers, weights, size = call.layers, call.weights[index], call.layers.size
    is_gru = layers.mode == "gru"
    steps, batch = rows.shape[:2]
    hidden_weight = _matrix(weights.hidden)
    slopes: list[Any] = [None] * steps
    output_gradients: list[Any] = [None] * steps
    for step in reversed(cell.order):
        upstream = to_hidden if g is None else g[step] if to_hidden is None else to_hidden + g[step]
        if upstream is None:
            upstream = np.zeros((batch, layers.results), rows.dtype)
        after_end = []
        if call.valid is not None:
            inside = call.valid[step]
            upstream = np.where(inside, upstream, 0.0)
            after_end = [None if to is None else np.where(inside, 0.0, to) for to in (to_hidden, to_cell)]
            to_cell = None if to_cell is None else np.where(inside, to_cell, 0.0)
        output_gradients[step] = upstream
        into_gates, to_state, to_cell = _step_vjp(call, weights, cell, step, upstream, to_cell)
        slopes[step] = into_gates[0] if len(into_gates) == 1 else np.concatenate(into_gates, axis=1)
        to_hidden = np.matmul(slopes[step][:, size:] if is_gru else slopes[step], hidden_weight)
        for gradient in (to_state, *after_end[:1]):
            to_hidden = to_hidden if gradient is None else to_hidden + gradient
        if after_end and after_end[1] is not None:
            to_cell = to_cell + after_end[1]
    into_gates = _matrix(_stacked(call, slopes, (4 if is_gru else layers.gates) * size))
    sums = sum_over(into_gates, axis=0)
    inputs = _matrix(rows)
    if is_gru:  # the gates are r, z, n: n comes first in the slopes, and again last
        input_slopes = np.concatenate([into_gates[:, size : 3 * size], into_gates[:, :size]], axis=1)
        biases = [np.concatenate([sums[size : 3 * size], sums[:size]]), sums[size:]]
    else:
        input_slopes, biases = into_gates, [sums, sums]
    parts = [np.matmul(np.transpose(input_slopes), inputs)]
    parts.append(_hidden_gradient(call, cell, into_gates[:, size:] if is_gru else into_gates))
    if weights.projection is not None:
        unprojected = [gates[3] * extra for gates, extra in zip(cell.gates, cell.extra, strict=True)]
        upstreams = _matrix(_stacked(call, output_gradients, layers.results))
        parts.append(np.matmul(np.transpose(upstreams), _matrix(_stacked(call, unprojected, size))))
    to_rows = np.reshape(np.matmul(input_slopes, _matrix(weights.input)), rows.shape)
    return to_rows, [*parts, *biases], to_hidden, to_cell


def _hidden_gradient(call: Call, cell: CellSteps, slopes: Any) -> Any:
    """Return the gradient of the weights of the state."""
    return np.matmul(np.transpose(slopes), _matrix(_stacked(call, cell.hidden, call.layers.results)))


def pulled(call: Call, forward: Forward, g: Any, of_state: Any, of_cell: Any) -> tuple[Any, Any, Any, Any]:
    """Return the gradients of data, parameters, states and cells; upstream gradients that are None are zeros."""
    layers, masks = call.layers, forward.masks
    weights: dict[int, list[Any]] = {}
    states: dict[int, Any] = {}
    first_cells: dict[int, Any] = {}
    for layer in reversed(range(layers.count)):
        to_rows = None
        for direction in range(layers.directions):
            index = layer * layers.directions + direction
            columns = slice(direction * layers.results, (direction + 1) * layers.results)
            to_input, weights[index], states[index], first_cells[index] = _cell_vjp(
                call, index, forward.inputs[layer], forward.cells[layer][direction],
                None if g is None else g[:, :, columns],
                None if of_state is None else of_state[index],
                None if of_cell is None else of_cell[index],
            )  # fmt: skip
            to_rows = to_input if to_rows is None else to_rows + to_input
        g = to_rows * masks[layer - 1] if layer and len(masks) else to_rows
    numbers = range(layers.count * layers.directions)
    flat = [np.ravel(part) for index in numbers for part in weights[index][:-2]]
    flat += [np.ravel(part) for index in numbers for part in weights[index][-2:]]
    to_cell = None if call.cell is None else np.stack([first_cells[index] for index in numbers])
    return g, np.concatenate(flat), np.stack([states[index] for index in numbers]), to_cell
