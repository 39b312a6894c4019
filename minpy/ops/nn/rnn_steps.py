"""What `RNN` computes, step by step, and its gradients: the definition, which `ops.kernels.recurrent` computes fast."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from minpy.core.sums import sum_over
from minpy.ops.kernels.recurrent import Layers, Weights

__all__ = ["Call", "pulled", "unrolled"]


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
    given = np.matmul(flat, _turn(weights.input)) + np.expand_dims(bias, 1)
    given = np.reshape(given, (layers.gates, steps, batch, layers.size))
    backwards = index % layers.directions == 1
    order = list(reversed(range(steps)) if backwards else range(steps))
    hidden, cell = call.state[index], None if call.cell is None else call.cell[index]
    found = _Steps(order, [], [], [cell], [], [])
    for step in order:
        product = np.matmul(hidden, _turn(weights.hidden)) + np.expand_dims(weights.hidden_bias, 1)
        found.hidden.append(hidden)
        gates, new, cell, bent = _step(layers, weights, given[:, step], product, hidden, cell)
        if call.valid is None:
            out, hidden = new, new
        else:
            inside = call.valid[step]
            out, hidden = np.where(inside, new, 0.0), np.where(inside, new, hidden)
            cell = None if cell is None else np.where(inside, cell, found.cells[-1])
        found.outputs.append(out)
        found.gates.append(gates)
        found.cells.append(cell)
        found.bent.append(bent)
    found.hidden.append(hidden)
    return found


def _step(
    layers: Layers, weights: Weights, given: Any, product: Any, hidden: Any, cell: Any
) -> tuple[list[Any], Any, Any, Any]:
    """Return (the gates, the new state, the new cell, what else the way back reads) of one step."""
    if layers.mode == "lstm":
        first, second, third, fourth = (given[gate] + product[gate] for gate in range(4))
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
        reset, update = _sigmoid(given[0] + product[0]), _sigmoid(given[1] + product[1])
        candidate = np.tanh(given[2] + reset * product[2])
        return [reset, update, candidate], candidate + update * (hidden - candidate), None, product[2]
    total = given[0] + product[0]
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
    return np.concatenate([_stacked(call, one, one.outputs, call.layers.results) for one in cells], axis=-1)


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
        for one in cells:
            last.append(one.hidden[-1])
            last_cell.append(one.cells[-1])
            for gate in layers.order:
                kept.append(_stacked(call, one, [gates[gate] for gates in one.gates], layers.size))
            if layers.mode == "lstm":
                kept.append(_stacked(call, one, one.cells[1:], layers.size))
            if layers.mode in ("lstm", "gru"):
                kept.append(_stacked(call, one, one.bent, layers.size))
        if layer + 1 < layers.count:
            kept.append(result)
            rows = result * masks[layer] if len(masks) else result
    return result, np.stack(last), np.stack(last_cell) if layers.mode == "lstm" else None, kept


def _pulled_step(
    call: Call, weights: Weights, steps: _Steps, number: int, upstream: Any, to_cell: Any
) -> tuple[list[Any], list[Any], Any, Any]:
    """Return the gradients of one step: of its gates' inputs and their products with the state; its state and cell."""
    layers, gates, hidden = call.layers, steps.gates[number], steps.hidden[number]
    if layers.mode == "lstm":
        enter, forget, candidate, leave = gates
        if weights.projection is not None:
            upstream = np.dot(upstream, weights.projection)
        bent = steps.bent[number]
        to_cell = to_cell + upstream * leave * (1 - bent * bent)
        if layers.clip is not None:
            now = steps.cells[number + 1]
            to_cell = to_cell * ((now > layers.clip[0]) & (now < layers.clip[1]))
        slopes = [
            to_cell * candidate * (enter - enter * enter),
            to_cell * steps.cells[number] * (forget - forget * forget),
            to_cell * enter * (1 - candidate * candidate),
            upstream * bent * (leave - leave * leave),
        ]
        return slopes, slopes, 0.0, to_cell * forget
    if layers.mode == "gru":
        reset, update, candidate = gates
        slope = upstream * (1 - update) * (1 - candidate * candidate)
        first = slope * steps.bent[number] * (reset - reset * reset)
        second = upstream * (hidden - candidate) * (update - update * update)
        return [first, second, slope], [first, second, slope * reset], upstream * update, None
    new = gates[0]
    slope = upstream * ((new > 0) if layers.mode == "rnn_relu" else 1 - new * new)
    return [slope], [slope], 0.0, None


def _pulled_cell(
    call: Call, index: int, rows: Any, steps: _Steps, g: Any, to_hidden: Any, to_cell: Any
) -> tuple[Any, list[Any], Any, Any]:
    """Return the gradients of one cell: of what it was given, its weights, its first state and cell."""
    layers, weights = call.layers, call.weights[index]
    slopes: list[Any] = []
    products: list[Any] = []
    answered: list[Any] = []
    for number in reversed(range(len(steps.order))):
        step = steps.order[number]
        upstream, rest, rest_of_cell = g[step] + to_hidden, 0.0, 0.0
        if call.valid is not None:
            inside = call.valid[step]
            upstream, rest = upstream * inside, to_hidden * ~inside
            if to_cell is not None:
                to_cell, rest_of_cell = to_cell * inside, to_cell * ~inside
        answered.append(upstream)
        into_gates, into_products, rest_of_step, cell = _pulled_step(call, weights, steps, number, upstream, to_cell)
        slopes.append(np.stack(into_gates))
        products.append(np.stack(into_products))
        to_hidden = np.sum(np.matmul(products[-1], weights.hidden), axis=0) + rest + rest_of_step
        to_cell = None if cell is None else cell + rest_of_cell
    shape = (layers.gates, rows.shape[0] * rows.shape[1], layers.size)
    # The walk went against the order of the steps: forward in time for the direction that goes backwards.
    turned = slice(None) if index % layers.directions == 1 else slice(None, None, -1)
    batch = rows.shape[1]

    def flat(values: list[Any], width: int) -> Any:
        return np.reshape(np.stack(values[turned]) if values else np.zeros((0, batch, width)), (-1, width))

    def by_gates(values: list[Any]) -> Any:
        if not values:
            return np.zeros(shape, rows.dtype)
        return np.reshape(np.swapaxes(np.stack(values[turned]), 0, 1), shape)

    given = np.reshape(rows, (shape[1], rows.shape[2]))
    before = flat(steps.hidden[-2::-1], layers.results)
    into_gates, into_products = by_gates(slopes), by_gates(products)
    parts = [np.matmul(_turn(into_gates), given), np.matmul(_turn(into_products), before)]
    if weights.projection is not None:
        left = [gates[3] * bent for gates, bent in zip(steps.gates, steps.bent, strict=True)]
        parts.append(np.dot(np.transpose(flat(answered, layers.results)), flat(left[::-1], layers.size)))
    parts += [sum_over(into_gates, axis=1), sum_over(into_products, axis=1)]
    to_rows = np.sum(np.matmul(into_gates, weights.input), axis=0)
    return np.reshape(to_rows, rows.shape), parts, to_hidden, to_cell


def pulled(call: Call, masks: Any, g: Any, of_state: Any, of_cell: Any) -> tuple[Any, Any, Any, Any]:
    """Return the gradients of data, parameters, state and cell, from what is computed anew."""
    layers = call.layers
    rows: list[Any] = [call.data]
    cells: list[list[_Steps]] = []
    for layer in range(layers.count):
        cells.append(_layer(call, layer, rows[-1]))
        if layer + 1 < layers.count:
            result = _layer_outputs(call, cells[-1])
            rows.append(result * masks[layer] if len(masks) else result)
    weights: dict[int, list[Any]] = {}
    states: dict[int, Any] = {}
    ended: dict[int, Any] = {}
    for layer in reversed(range(layers.count)):
        parts = []
        for direction in range(layers.directions):
            index = layer * layers.directions + direction
            some = slice(direction * layers.results, (direction + 1) * layers.results)
            part, weights[index], states[index], ended[index] = _pulled_cell(
                call, index, rows[layer], cells[layer][direction], g[:, :, some], of_state[index],
                None if of_cell is None else of_cell[index],
            )  # fmt: skip
            parts.append(part)
        g = parts[0] if len(parts) == 1 else parts[0] + parts[1]
        if layer and len(masks):
            g = g * masks[layer - 1]
    numbers = range(layers.count * layers.directions)
    flat = [np.ravel(part) for index in numbers for part in weights[index][:-2]]
    flat += [np.ravel(part) for index in numbers for part in weights[index][-2:]]
    to_cell = None if of_cell is None else np.stack([ended[index] for index in numbers])
    return g, np.concatenate(flat), np.stack([states[index] for index in numbers]), to_cell
