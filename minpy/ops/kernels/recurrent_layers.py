"""Recurrent layers over all steps of a sequence, in memory that is allocated once: forward, and back through time.

The products of all steps with the input's weights are one product, before the loop; those of the gradients of the
weights are one each, after it. Only the product with the state is left inside. Everything elementwise is done in place,
on gates that lie one after the other: (gates, time, batch, size). A sigmoid is (1 + tanh(x / 2)) / 2, so that one
`tanh` serves all gates of a step; the halves are in the weights.

The forward pass saves in `reserve` what the backward pass reads: the gates, the cells, the layers' outputs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from minpy.core.sums import sum_over

__all__ = ["GATES", "Layers", "Weights", "run", "vjp", "weights_of"]

GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}
# The order in which the gates lie in memory, sigmoids first: those of an LSTM are stored as i, f, g, o.
_ORDER = {"rnn_relu": (0,), "rnn_tanh": (0,), "lstm": (0, 1, 3, 2), "gru": (0, 1, 2)}
_SIGMOIDS = {"rnn_relu": 0, "rnn_tanh": 0, "lstm": 3, "gru": 2}


@dataclass(frozen=True)
class Layers:
    """What recurrent layers are: their cells, how many, how large.

    Attributes
    ----------
    mode : {'rnn_relu', 'rnn_tanh', 'lstm', 'gru'}
    size : int
        Of a state.
    count, directions : int
        How many layers, and cells in each: two if one goes backwards.
    inputs : int
        Length of an element of the sequence.
    projection : int, optional
        To what length an LSTM's output is projected.
    clip : tuple of (float, float, bool), optional
        Between what an LSTM's cells are kept, and whether NaN becomes the lower bound.
    """

    mode: str
    size: int
    count: int
    directions: int
    inputs: int
    projection: int | None = None
    clip: tuple[float, float, bool] | None = None

    @property
    def gates(self) -> int:
        """How many gates a cell has."""
        return GATES[self.mode]

    @property
    def order(self) -> tuple[int, ...]:
        """The gates in the order in which they lie in `reserve`."""
        return _ORDER[self.mode]

    @property
    def results(self) -> int:
        """Length of a cell's output."""
        return self.projection or self.size

    def inputs_of(self, layer: int) -> int:
        """Return the length of a layer's input at a step."""
        return self.results * self.directions if layer else self.inputs

    def shapes(self) -> list[tuple[int, ...]]:
        """Return the shapes of what lies in the vector of parameters: the weights of all cells, then the biases."""
        gates, size = self.gates, self.size
        shapes: list[tuple[int, ...]] = []
        for cell in range(self.count * self.directions):
            shapes += [(gates, size, self.inputs_of(cell // self.directions)), (gates, size, self.results)]
            if self.projection:
                shapes.append((self.projection, size))
        return shapes + [(gates, size)] * (2 * self.count * self.directions)

    def parameters(self) -> int:
        """Return the length of the vector of parameters."""
        return sum(map(math.prod, self.shapes()))

    def reserved(self, steps: int, batch: int) -> list[tuple[int, ...]]:
        """Return the shapes of what lies in `reserve`.

        For each cell the gates, and of an LSTM the cells and their tanh, of a GRU the candidates' products with the
        state; after the cells of a layer that is not the last its outputs.
        """
        shapes: list[tuple[int, ...]] = []
        for layer in range(self.count):
            for _ in range(self.directions):
                shapes.append((self.gates, steps, batch, self.size))
                shapes += [(steps, batch, self.size)] * {"lstm": 2, "gru": 1}.get(self.mode, 0)
            if layer + 1 < self.count:
                shapes.append((steps, batch, self.results * self.directions))
        return shapes


class Weights(NamedTuple):
    """The parameters of a cell, by gates: (gates, size, inputs), (gates, size, results) and (gates, size)."""

    input: Any
    hidden: Any
    projection: Any
    input_bias: Any
    hidden_bias: Any


def laid_out(vector: Any, shapes: Sequence[tuple[int, ...]]) -> Iterator[Any]:
    """Yield the parts of a vector, in these shapes."""
    end = 0
    for shape in shapes:
        start, end = end, end + math.prod(shape)
        yield np.reshape(vector[start:end], shape)


def weights_of(parameters: Any, layers: Layers) -> list[Weights]:
    """Return the weights of every cell as views of the vector of parameters (or recorded parts of it)."""
    arrays = laid_out(parameters, layers.shapes())
    cells = layers.count * layers.directions
    weights = [(next(arrays), next(arrays), next(arrays) if layers.projection else None) for _ in range(cells)]
    return [Weights(*matrices, next(arrays), next(arrays)) for matrices in weights]


def _gate_scales(layers: Layers, dtype: Any) -> np.ndarray:
    """Return what the gates are multiplied by before tanh: half, where it makes a sigmoid of it."""
    sigmoids = _SIGMOIDS[layers.mode]
    return np.array([0.5] * sigmoids + [1.0] * (layers.gates - sigmoids), dtype)[:, None, None]


def _by_gate_order(weight: np.ndarray, layers: Layers) -> np.ndarray:
    order = layers.order
    return weight if order == tuple(range(len(order))) else weight[list(order)]


def _transposed_weights(weight: np.ndarray, layers: Layers) -> np.ndarray:
    """Return weights by which rows are multiplied: (gates in order, inputs, size), dense, which BLAS is faster with."""
    result = np.empty((weight.shape[0], weight.shape[2], weight.shape[1]), weight.dtype)
    np.multiply(_by_gate_order(weight, layers).transpose(0, 2, 1), _gate_scales(layers, weight.dtype), out=result)
    return result


def run(
    data: np.ndarray,
    weights: Sequence[Weights],
    state: np.ndarray,
    cell: np.ndarray | None,
    layers: Layers,
    valid: np.ndarray | None,
    masks: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, np.ndarray]:
    """Return (the outputs of all steps, the last states, the last cells of an LSTM, what `vjp` reads).

    Parameters
    ----------
    data : array
        (time, batch, inputs).
    weights : sequence of Weights
        Of each layer and direction.
    state, cell : array
        (layers * directions, batch, results or size).
    layers : Layers
    valid : array, optional
        Boolean, (time, batch, 1): which steps lie inside their sequence.
    masks : array
        What the outputs of each layer but the last are multiplied by; empty: nothing.
    """
    steps, batch = data.shape[:2]
    dtype = data.dtype
    shapes = layers.reserved(steps, batch)
    reserve = np.empty(sum(map(math.prod, shapes)), dtype)
    arrays = laid_out(reserve, shapes)
    width = layers.results
    last = np.empty((len(weights), batch, width), dtype)
    last_cell = None if cell is None else np.empty((len(weights), batch, layers.size), dtype)
    current = result = data
    for layer in range(layers.count):
        arrays_by_direction = [_cell_arrays(arrays, layers) for _ in range(layers.directions)]
        final = layer + 1 == layers.count
        result = np.empty((steps, batch, layers.directions * width), dtype) if final else next(arrays)
        rows = current.reshape(steps * batch, current.shape[2])
        for direction, cell_arrays in enumerate(arrays_by_direction):
            index = layer * layers.directions + direction
            out = result[:, :, direction * width : (direction + 1) * width]
            start = None if cell is None else cell[index]
            last[index], end_cell = _forward(
                _CellRun(layers, weights[index], direction == 1, valid, rows, state[index], start, out, *cell_arrays)
            )
            if last_cell is not None:
                last_cell[index] = end_cell
        current = result * masks[layer] if len(masks) and not final else result
    return result, last, last_cell, reserve


def _cell_arrays(arrays: Iterator[np.ndarray], layers: Layers) -> list[Any]:
    """Return a cell's arrays in `reserve`: the gates, and two more, or None where it has fewer."""
    reserved: list[Any] = [next(arrays) for _ in range({"lstm": 3, "gru": 2}.get(layers.mode, 1))]
    return reserved + [None] * (3 - len(reserved))


class _CellRun(NamedTuple):
    """One cell over all steps: its weights, its inputs, and what the backward pass reads."""

    layers: Layers
    weights: Weights  # of the cell
    backwards: bool  # from the last step to the first
    valid: np.ndarray | None  # which steps lie inside their sequence
    rows: np.ndarray  # its inputs, (time * batch, inputs)
    state: np.ndarray  # at the beginning
    cell: Any  # at the beginning; None but for an LSTM
    outputs: np.ndarray  # of all steps
    gates: np.ndarray  # (gates, time, batch, size)
    first: Any  # of an LSTM its cells, of a GRU what the reset gate lets through
    second: Any  # of an LSTM tanh of its cells


def _forward(call: _CellRun) -> tuple[np.ndarray, Any]:
    """Run one cell over all steps; return its last state and cell."""
    layers, weights, backwards, valid, rows, state, cell, out, gates, first, second = call
    count, steps, batch, size = gates.shape
    mode = layers.mode
    np.matmul(rows, _transposed_weights(weights.input, layers), out=gates.reshape(count, steps * batch, size))
    bias = weights.input_bias + weights.hidden_bias
    if mode == "gru":
        bias[2] = weights.input_bias[2]
    gates += (_by_gate_order(bias, layers)[:, None, :] * _gate_scales(layers, rows.dtype))[:, None]
    turned = _transposed_weights(weights.hidden, layers)
    project = None if weights.projection is None else np.ascontiguousarray(weights.projection.T)
    product = np.empty((count, batch, size), rows.dtype)
    scratch = np.empty((batch, size), rows.dtype)
    hidden = np.ascontiguousarray(state)
    for step in reversed(range(steps)) if backwards else range(steps):
        gate = gates[:, step]
        np.matmul(hidden, turned, out=product)
        if mode == "lstm":
            gate += product
            np.tanh(gate, out=gate)
            _to_sigmoid(gate[:3])
            new_cell, tanh_cell = first[step], second[step]
            np.multiply(gate[1], cell, out=new_cell)
            np.multiply(gate[0], gate[3], out=scratch)
            new_cell += scratch
            if layers.clip is not None:
                _clip(new_cell, layers.clip)
            np.tanh(new_cell, out=tanh_cell)
            new = (
                gate[2] * tanh_cell
                if project is None
                else np.dot(np.multiply(gate[2], tanh_cell, out=scratch), project)
            )
            if valid is not None:
                np.copyto(new_cell, cell, where=~valid[step])
            cell = new_cell
        elif mode == "gru":
            both = gate[:2]
            both += product[:2]
            np.tanh(both, out=both)
            _to_sigmoid(both)
            np.add(product[2], weights.hidden_bias[2], out=first[step])
            candidate = gate[2]
            np.multiply(both[0], first[step], out=scratch)
            candidate += scratch
            np.tanh(candidate, out=candidate)
            new = hidden - candidate
            new *= both[1]
            new += candidate
        else:
            gate += product
            if mode == "rnn_relu":
                np.maximum(gate, 0, out=gate)
            else:
                np.tanh(gate, out=gate)
            new = gate[0]
        if valid is None:
            out[step] = hidden = new
        else:
            inside = valid[step]
            out[step] = np.where(inside, new, 0)
            hidden = np.where(inside, new, hidden)
    return hidden, cell


def _to_sigmoid(tanh: np.ndarray) -> None:
    tanh *= 0.5
    tanh += 0.5


def _clip(cell: np.ndarray, clip: tuple[float, float, bool]) -> None:
    least, most, stops_nan = clip
    if stops_nan:
        np.fmin(np.fmax(cell, least, out=cell), most, out=cell)
    else:
        np.clip(cell, least, most, out=cell)


def vjp(
    data: np.ndarray,
    weights: Sequence[Weights],
    state: np.ndarray,
    cell: np.ndarray | None,
    layers: Layers,
    valid: np.ndarray | None,
    masks: np.ndarray,
    result: np.ndarray,
    reserve: np.ndarray,
    g: np.ndarray,
    of_state: np.ndarray,
    of_cell: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
    """Return the gradients of (data, the vector of parameters, states, cells).

    Parameters
    ----------
    data, weights, state, cell, layers, valid, masks
        As for `run`.
    result, reserve : array
        What it returned.
    g, of_state, of_cell : array
        Upstream gradients: of the outputs, the last states, the last cells.
    """
    steps, batch = data.shape[:2]
    dtype, width = data.dtype, layers.results
    arrays = laid_out(reserve, layers.reserved(steps, batch))
    arrays_by_layer, outputs = [], []
    for layer in range(layers.count):
        arrays_by_layer.append([_cell_arrays(arrays, layers) for _ in range(layers.directions)])
        outputs.append(result if layer + 1 == layers.count else next(arrays))
    of_parameters = np.empty(layers.parameters(), dtype)
    into = weights_of(of_parameters, layers)
    to_state = np.empty(state.shape, dtype)
    to_cell = None if cell is None else np.empty(cell.shape, dtype)
    for layer in reversed(range(layers.count)):
        layer_input = outputs[layer - 1] if layer else data
        if layer and len(masks):
            layer_input = layer_input * masks[layer - 1]
        rows = layer_input.reshape(steps * batch, layer_input.shape[2])
        to_rows = np.zeros_like(rows)
        for direction, cell_arrays in enumerate(arrays_by_layer[layer]):
            index = layer * layers.directions + direction
            columns = slice(direction * width, (direction + 1) * width)
            start = None if cell is None else cell[index]
            before = outputs[layer][:, :, columns]
            to_state[index], start_cell = _backward(
                _CellRun(
                    layers, weights[index], direction == 1, valid, rows, state[index], start, before, *cell_arrays
                ),
                _Upstream(g[:, :, columns], of_state[index], None if of_cell is None else of_cell[index]),
                into[index],
                to_rows,
            )
            if to_cell is not None:
                to_cell[index] = start_cell
        g = to_rows.reshape(layer_input.shape)
        if layer and len(masks):
            g *= masks[layer - 1]
    return g, of_parameters, to_state, to_cell


def _before(values: np.ndarray, start: np.ndarray, valid: np.ndarray | None, backwards: bool) -> np.ndarray:
    """Return what each step started from: the values of the step before it, or `start` at the first one."""
    result = np.empty(values.shape, values.dtype)
    if not len(values):
        return result
    if not backwards:
        result[0] = start
        result[1:] = values[:-1]
        return result
    result[-1] = start
    result[:-1] = values[1:]
    if valid is not None:  # sequences that end earlier start there
        np.copyto(result[:-1], start, where=~valid[1:])
    return result


class _Upstream(NamedTuple):
    """The gradients of a cell's results: all outputs, the last state, and the last cell of an LSTM."""

    outputs: np.ndarray
    state: np.ndarray
    cell: Any


def _backward(call: _CellRun, upstream_of: _Upstream, into: Weights, to_rows: np.ndarray) -> tuple[np.ndarray, Any]:
    """Pull gradients back through one cell and all steps; return those of its first state and cell.

    Those of the weights are written into `into`, those of the rows added to `to_rows`.
    """
    layers, weights, backwards, valid, rows, state, cell, outputs, gates, first, second = call
    g, to_hidden, to_cell = upstream_of
    count, steps, batch, size = gates.shape
    mode, dtype = layers.mode, rows.dtype
    width = layers.results
    hidden = _before(outputs, state, valid, backwards)
    slopes = np.empty(gates.shape, dtype)  # the gradients of what went into the gates
    of_product = np.empty((steps, batch, size), dtype) if mode == "gru" else None
    projected = None if weights.projection is None else np.empty((steps, batch, width), dtype)
    weight = np.ascontiguousarray(_by_gate_order(weights.hidden, layers))
    products = np.empty((count, batch, width), dtype)
    scratch = np.empty((batch, size), dtype)
    to_hidden = np.array(to_hidden)
    if mode == "lstm":
        to_cell = np.array(to_cell)
        inside = None if layers.clip is None else (first > layers.clip[0]) & (first < layers.clip[1])
        # One pass over all steps each: σ' = σ (1 - σ) = σ - σ², tanh' = 1 - tanh².
        cells = _before(first, cell, None, backwards)
        falls = second * second
        np.subtract(1, falls, out=falls)
        falls *= gates[2]
    for step in range(steps) if backwards else reversed(range(steps)):
        gate, slope = gates[:, step], slopes[:, step]
        upstream = to_hidden + g[step]
        carried = rest_of_cell = None
        if valid is not None:
            ends = ~valid[step]
            upstream *= valid[step]
            carried = to_hidden * ends
        if mode == "lstm":
            if valid is not None:
                rest_of_cell = to_cell * ends
                to_cell *= valid[step]
            if projected is not None:
                projected[step] = upstream
                upstream = np.dot(upstream, weights.projection)
            np.multiply(upstream, falls[step], out=scratch)
            to_cell += scratch
            if inside is not None:
                to_cell *= inside[step]
            np.multiply(to_cell, gate[3], out=slope[0])
            np.multiply(to_cell, cells[step], out=slope[1])
            np.multiply(upstream, second[step], out=slope[2])
            np.multiply(to_cell, gate[0], out=slope[3])
            sigmoids = gate[:3]
            rise = np.multiply(sigmoids, sigmoids)
            np.subtract(sigmoids, rise, out=rise)
            slope[:3] *= rise
            np.multiply(gate[3], gate[3], out=scratch)
            np.subtract(1, scratch, out=scratch)
            slope[3] *= scratch
            to_cell *= gate[1]
            if rest_of_cell is not None:
                to_cell += rest_of_cell
            np.matmul(slope, weight, out=products)
            to_hidden = _sum_of(products)
        elif mode == "gru":
            reset, update, candidate = gate
            np.subtract(1, update, out=scratch)
            np.multiply(upstream, scratch, out=slope[2])
            np.multiply(candidate, candidate, out=scratch)
            np.subtract(1, scratch, out=scratch)
            slope[2] *= scratch
            np.subtract(hidden[step], candidate, out=slope[1])
            slope[1] *= upstream
            np.multiply(slope[2], first[step], out=slope[0])
            both = gate[:2]
            rise = np.multiply(both, both)
            np.subtract(both, rise, out=rise)
            slope[:2] *= rise
            through = of_product[step]  # type: ignore[index]
            np.multiply(slope[2], reset, out=through)
            np.matmul(slope[:2], weight[:2], out=products[:2])
            np.dot(through, weight[2], out=products[2])
            upstream *= update
            to_hidden = _sum_of(products)
            to_hidden += upstream
        else:
            out = gate[0]
            if mode == "rnn_relu":
                np.multiply(upstream, out > 0, out=slope[0])
            else:
                np.multiply(out, out, out=scratch)
                np.subtract(1, scratch, out=scratch)
                np.multiply(upstream, scratch, out=slope[0])
            to_hidden = np.dot(slope[0], weight[0])
        if carried is not None:
            to_hidden += carried
    _weight_gradients(rows, hidden, slopes, of_product, layers, into)
    for position, gate_number in enumerate(layers.order):
        to_rows += np.dot(slopes[position].reshape(steps * batch, size), weights.input[gate_number])
    if projected is not None:
        unprojected = (gates[2] * second).reshape(steps * batch, size)
        np.dot(projected.reshape(steps * batch, width).T, unprojected, out=into.projection)
    return to_hidden, to_cell


def _sum_of(products: np.ndarray) -> np.ndarray:
    result = products[0] + products[1]
    for product in products[2:]:
        result += product
    return result


def _weight_gradients(
    rows: np.ndarray, hidden: np.ndarray, slopes: np.ndarray, of_product: Any, layers: Layers, into: Weights
) -> None:
    """Write the gradients of the weights and biases, each one product over all steps."""
    count, steps, batch, size = slopes.shape
    before = hidden.reshape(steps * batch, hidden.shape[2])
    for position, gate in enumerate(layers.order):
        slope = slopes[position].reshape(steps * batch, size)
        np.dot(slope.T, rows, out=into.input[gate])
        into.input_bias[gate] = sum_over(slope, 0)
        if of_product is not None and gate == count - 1:
            slope = of_product.reshape(steps * batch, size)
            into.hidden_bias[gate] = sum_over(slope, 0)
        else:
            into.hidden_bias[gate] = into.input_bias[gate]
        np.dot(slope.T, before, out=into.hidden[gate])
