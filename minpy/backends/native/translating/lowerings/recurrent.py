"""`RNN` unrolled: the steps in time of all layers, forward and back, as products and elementwise steps.

What the input's weights multiply is known before a layer begins: one product for all steps in time. What the gradients
of weights sum up is known once a layer is done: one product for all steps, too. Between, each step in time is one
product, with the state, and the elementwise functions of the gates; the nests of different steps are the same code.

What an operator's answer holds for the way back (`reserve`: gates, cells, the outputs of inner layers) is an assembly,
in whose memory all that is computed. The formulas are those of `minpy.ops.nn.rnn`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import numpy

from minpy.backends.native.language import Array, constant
from minpy.backends.native.translating.emitter import Emitter
from minpy.backends.native.translating.lowerings.tables import gradient_of, lowers_operator
from minpy.backends.native.translating.refusals import NotLowered
from minpy.ops.kernels.recurrent import Layers, Weights
from minpy.ops.nn.rnn import drawn_masks, valid_steps

__all__: list[str] = []

# Steps in time of all layers and directions: more of them are not unrolled.
LONGEST = 256


class _Reserve(NamedTuple):
    """What one cell left: at every step in time the gates in the order of `Layers.order`, and cells or products."""

    gates: list[list[Array]]
    cells: list[Array]
    bent: list[Array]


class _Call:
    """A call of the operator, and what writes its steps."""

    def __init__(
        self,
        emitter: Emitter,
        data: Array,
        parameters: Array,
        state: Array,
        state_cell: Array | None,
        sequence_length: Array | None,
        attributes: dict[str, Any],
    ) -> None:
        mode = attributes["mode"]
        if mode != "lstm" and sequence_length is None and attributes["use_sequence_length"]:
            state_cell, sequence_length = None, state_cell
        least, most = attributes["lstm_state_clip_min"], attributes["lstm_state_clip_max"]
        self.emitter = emitter
        self.data, self.parameters, self.state = data, parameters, state
        self.cell = state_cell if mode == "lstm" else None
        self.layers = Layers(
            mode,
            attributes["state_size"],
            attributes["num_layers"],
            2 if attributes["bidirectional"] else 1,
            data.shape[2],
            attributes["projection_size"],
            None if least is None else (least, most, attributes["lstm_state_clip_nan"]),
        )
        self.steps, self.batch = data.shape[:2]
        self._require()
        self.dtype = data.dtype
        self.one = constant(1, self.dtype)
        self.zero = constant(0, self.dtype)
        self.weights = list(self._weights())
        self.valid: list[Array] | None = None
        if attributes["use_sequence_length"]:
            (valid,) = emitter.call(
                valid_steps,
                (sequence_length, self.steps),
                [((self.steps, self.batch, 1), bool)],
                "lengths that are longer than the time are refused",
            )
            self.valid = [self.taken(valid, step) for step in range(self.steps)]

    def _require(self) -> None:
        given = [self.data, self.parameters, self.state, *([] if self.cell is None else [self.cell])]
        if len({array.dtype for array in given}) > 1:
            raise NotLowered("its inputs differ in their dtypes")
        if 0 in self.data.shape:
            raise NotLowered("there is nothing to go through")
        count = self.steps * self.layers.count * self.layers.directions
        if count > LONGEST:
            raise NotLowered(f"its {count} steps in time, of all layers, are more than the {LONGEST} that are unrolled")

    def _weights(self) -> Iterator[Weights]:
        """Yield the weights of every cell, as matrices of all gates, one below the other, and rows of biases."""
        layers, number = self.layers, self.layers.count * self.layers.directions
        found: list[Array] = []
        end = 0
        for shape in layers.shapes():
            start, end = end, end + math.prod(shape)
            rows = (1, end - start) if len(found) >= len(layers.shapes()) - 2 * number else (-1, shape[-1])
            found.append(self.emitter.reshape(self.taken(self.parameters, slice(start, end)), rows))
        parts = iter(found)
        matrices = [(next(parts), next(parts), next(parts) if layers.projection else None) for _ in range(number)]
        for one in matrices:
            yield Weights(*one, next(parts), next(parts))

    # -- writing -------------------------------------------------------------------------------------------------------

    def view(self, array: Array, function: Callable[[numpy.ndarray], Any]) -> Array:
        return self.emitter.view(array, function)

    def taken(self, array: Array, key: Any) -> Array:
        """Return a slice."""
        return self.emitter.view(array, itemgetter(key))

    def add(self, first: Array, second: Array) -> Array:
        return self.emitter.elementwise("add", first, second)

    def multiply(self, first: Array, *others: Array) -> Array:
        for other in others:
            first = self.emitter.elementwise("multiply", first, other)
        return first

    def subtract(self, first: Array, second: Array) -> Array:
        return self.emitter.elementwise("subtract", first, second)

    def where(self, condition: Array, first: Array, second: Array) -> Array:
        return self.emitter.elementwise("where", condition, first, second)

    def tanh(self, array: Array) -> Array:
        return self.emitter.elementwise("tanh", array)

    def sigmoid(self, array: Array) -> Array:
        """Return 1 / (1 + exp(-x)): where the power is infinite, 0, as it should be."""
        power = self.emitter.elementwise("exp", self.emitter.elementwise("negative", array))
        return self.emitter.elementwise("divide", self.one, self.add(power, self.one))

    def columns(self, array: Array, number: int, width: int) -> Array:
        """Return the columns of one gate, the number-th."""
        return self.view(array, lambda values: values[..., number * width : (number + 1) * width])

    def turned(self, matrix: Array) -> Array:
        return self.emitter.transpose(matrix, (1, 0))

    def at(self, array: Array, step: int, direction: int = 0) -> Array:
        """Return the rows of a step in time, and the columns of one direction, of (time, batch, ...)."""
        width = self.layers.results
        return self.view(array, lambda values: values[step, :, direction * width : (direction + 1) * width])

    def rows(self, array: Array) -> Array:
        """Return (time, batch, width) as rows."""
        return self.emitter.reshape(array, (-1, array.shape[-1]))

    def stacked(self, arrays: Sequence[Array]) -> Array:
        """Return matrices of one shape, put together along a first axis."""
        places = [lambda values, number=number: values[number] for number in range(len(arrays))]
        return self.emitter.assembly(arrays, (len(arrays), *arrays[0].shape), places)

    def beside(self, arrays: Sequence[Array]) -> Array:
        """Return matrices of one shape beside each other."""
        height, width = arrays[0].shape
        places = [
            lambda values, number=number: values[:, number * width : (number + 1) * width]
            for number in range(len(arrays))
        ]
        return self.emitter.assembly(arrays, (height, width * len(arrays)), places)

    def flat(self, arrays: Sequence[Array]) -> Array:
        """Return the elements of arrays one after the other."""
        places, start = [], 0
        for one in arrays:
            places.append(lambda values, a=start, b=start + one.size, shape=one.shape: values[a:b].reshape(shape))
            start += one.size
        return self.emitter.assembly(arrays, (start,), places)

    # -- one cell ------------------------------------------------------------------------------------------------------

    def order(self, direction: int) -> list[int]:
        """Return the steps in the order in which a cell goes through them."""
        return list(range(self.steps))[:: -1 if direction else 1]

    def step(
        self, weights: Weights, turned: Sequence[Array], bias: Array, given: Array, hidden: Array, cell: Any
    ) -> tuple[list[Array], Array, Any, Any]:
        """Return (the gates, the new state, the new cell, what else the way back reads) of one step."""
        layers, size = self.layers, self.layers.size
        product = self.emitter.product

        def part(array: Array, number: int) -> Array:
            return self.columns(array, number, size)

        if layers.mode == "gru":
            of_state = product(hidden, turned[0])
            reset, update = (
                self.sigmoid(self.add(self.add(part(given, number), part(of_state, number)), part(bias, number)))
                for number in range(2)
            )
            through = self.add(part(of_state, 2), part(weights.hidden_bias, 2))
            of_input = self.add(part(given, 2), part(weights.input_bias, 2))
            candidate = self.tanh(self.add(of_input, self.multiply(reset, through)))
            new = self.add(candidate, self.multiply(update, self.subtract(hidden, candidate)))
            return [reset, update, candidate], new, None, through
        total = product(hidden, turned[0], given)
        before = [self.add(part(total, number), part(bias, number)) for number in range(layers.gates)]
        if layers.mode == "lstm":
            enter, forget, candidate, leave = (
                self.tanh(one) if number == 2 else self.sigmoid(one) for number, one in enumerate(before)
            )
            cell = self.add(self.multiply(forget, cell), self.multiply(enter, candidate))
            if layers.clip is not None:
                cell = self.clipped(cell)
            bent = self.tanh(cell)
            new = self.multiply(leave, bent)
            if weights.projection is not None:
                new = product(new, turned[1])
            return [enter, forget, candidate, leave], new, cell, bent
        if layers.mode == "rnn_relu":
            new = self.emitter.elementwise("maximum", before[0], self.zero)
        else:
            new = self.tanh(before[0])
        return [new], new, None, None

    def clipped(self, cell: Array) -> Array:
        assert self.layers.clip is not None
        least, most, stops_nan = self.layers.clip
        for name, bound in (("fmax" if stops_nan else "maximum", least), ("fmin" if stops_nan else "minimum", most)):
            cell = self.emitter.elementwise(name, cell, constant(bound, self.dtype))
        return cell

    def cell_forward(self, index: int, rows: Array) -> tuple[list[Array], Array, Any, _Reserve]:
        """Return (outputs in the order of time, the last state, the last cell, what is kept) of one cell."""
        weights, direction = self.weights[index], index % self.layers.directions
        given = self.emitter.product(rows, self.turned(weights.input))
        turned = [self.turned(one) for one in (weights.hidden, weights.projection) if one is not None]
        bias = self.add(weights.input_bias, weights.hidden_bias)
        hidden = self.view(self.state, lambda values: values[index])
        cell = None if self.cell is None else self.view(self.cell, lambda values: values[index])
        outputs: dict[int, Array] = {}
        gates: dict[int, list[Array]] = {}
        cells: dict[int, Any] = {}
        bent: dict[int, Any] = {}
        for step in self.order(direction):
            mine = self.taken(given, slice(step * self.batch, (step + 1) * self.batch))
            gates[step], new, now, bent[step] = self.step(weights, turned, bias, mine, hidden, cell)
            if self.valid is None:
                outputs[step], hidden, cell = new, new, now
            else:
                inside = self.valid[step]
                outputs[step], hidden = self.where(inside, new, self.zero), self.where(inside, new, hidden)
                cell = None if cell is None else self.where(inside, now, cell)
            cells[step] = cell
        times = range(self.steps)
        kept = _Reserve(
            [gates[one] for one in times],
            [cells[one] for one in times] if cell is not None else [],
            [bent[one] for one in times] if bent[0] is not None else [],
        )
        return [outputs[one] for one in times], hidden, cell, kept

    # -- all cells -----------------------------------------------------------------------------------------------------

    def forward(self, masks: Array) -> list[Array]:
        """Return what the operator answers."""
        layers, directions, width = self.layers, self.layers.directions, self.layers.results
        reserve: list[Array] = []
        last: list[Array] = []
        last_cells: list[Array] = []
        given = result = self.data
        for layer in range(layers.count):
            cells = [
                self.cell_forward(layer * directions + direction, self.rows(given)) for direction in range(directions)
            ]
            places, pieces = [], []
            for direction, (outputs, *_) in enumerate(cells):
                pieces += outputs
                places += [
                    lambda v, step=step, a=direction * width: v[step, :, a : a + width] for step in range(self.steps)
                ]
            result = self.emitter.assembly(pieces, (self.steps, self.batch, directions * width), places)
            for direction, (_, hidden, cell, kept) in enumerate(cells):
                # What the outputs hold, too, is computed there.
                ends = 0 if direction else self.steps - 1
                last.append(hidden if self.valid is not None else self.at(result, ends, direction))
                last_cells.append(cell)
                reserve += [gates[gate] for gate in layers.order for gates in kept.gates]
                reserve += [*kept.cells, *kept.bent]
            if layer + 1 < layers.count:
                reserve.append(result)
                given = result
                if masks.size:
                    given = self.multiply(result, self.taken(masks, layer))
        seen = [result, self.stacked(last), *([self.stacked(last_cells)] if self.cell is not None else [])]
        return [*seen, masks, self.flat(reserve)]


@lowers_operator("RNN")
def _rnn(
    operators: Any,
    data: Array,
    parameters: Array,
    state: Array,
    state_cell: Array | None = None,
    sequence_length: Array | None = None,
    *,
    p: float,
    training: bool | None,
    **attributes: Any,
) -> list[Array]:
    call = _Call(operators.emitter, data, parameters, state, state_cell, sequence_length, attributes)
    layers = call.layers
    shape = (layers.count - 1, *data.shape[:2], layers.directions * layers.results)
    if training and p and layers.count > 1:
        (masks,) = operators.emitter.call(
            drawn_masks, (shape, data.dtype, p), [(shape, data.dtype)], "the masks are drawn at random"
        )
    else:
        masks = constant(numpy.ones((0, *shape[1:]), data.dtype))
    return call.forward(masks)


# -- back through time -------------------------------------------------------------------------------------------------


class _Back:
    """The way back through a call, from what it answered."""

    def __init__(self, call: _Call, result: Array, masks: Array, reserve: Array) -> None:
        self.call = call
        self.masks = masks
        self.kept: list[_Reserve] = []
        self.results: list[Array] = []
        layers, (steps, batch, size) = call.layers, (call.steps, call.batch, call.layers.size)
        end = 0

        def taken(*shape: int) -> Array:
            nonlocal end
            start, end = end, end + math.prod(shape)
            return call.emitter.reshape(call.taken(reserve, slice(start, end)), shape)

        def matrices() -> list[Array]:
            return [taken(batch, size) for _ in range(steps)]

        for layer in range(layers.count):
            for _ in range(layers.directions):
                by_gate = {gate: matrices() for gate in layers.order}
                gates = [[by_gate[gate][step] for gate in range(layers.gates)] for step in range(steps)]
                cells = matrices() if layers.mode == "lstm" else []
                self.kept.append(_Reserve(gates, cells, matrices() if layers.mode in ("lstm", "gru") else []))
            final = layer + 1 == layers.count
            self.results.append(result if final else taken(steps, batch, layers.directions * layers.results))

    def gradients(self, upstream: Array | None, of_state: Array | None, of_cell: Array | None) -> list[Array]:
        """Return the gradients of data, parameters, states and cells."""
        call, layers, directions = self.call, self.call.layers, self.call.layers.directions
        weights: dict[int, list[Array]] = {}
        states: dict[int, Array] = {}
        cells: dict[int, Array] = {}
        g = upstream
        for layer in reversed(range(layers.count)):
            given = self.results[layer - 1] if layer else call.data
            mask = None
            if layer and self.masks.size:
                mask = call.taken(self.masks, layer - 1)
                given = call.multiply(given, mask)
            to_rows: Array | None = None
            for direction in range(directions):
                index = layer * directions + direction
                cell = _CellBack(self, index, self.results[layer], g)
                cell.run(*(None if one is None else call.taken(one, index) for one in (of_state, of_cell)))
                weights[index] = cell.weight_gradients(call.rows(given))
                states[index], cells[index] = cell.to_hidden, cell.to_cell
                to_rows = cell.row_gradients(to_rows)
            assert to_rows is not None
            g = call.emitter.reshape(to_rows, given.shape)
            if mask is not None:
                g = call.multiply(g, mask)
        assert g is not None
        numbers = range(layers.count * directions)
        parts = [part for index in numbers for part in weights[index][:-2]]
        parts += [part for index in numbers for part in weights[index][-2:]]
        found = [g, call.flat(parts), call.stacked([states[index] for index in numbers])]
        return [*found, call.stacked([cells[index] for index in numbers])] if call.cell is not None else found


class _CellBack:
    """The way back through one cell.

    What goes into the gates has slopes in columns: those of the gates; of a GRU [n, r, z, n of the product with the
    state], so that the last three are those of that product.
    """

    def __init__(self, back: _Back, index: int, result: Array, g: Array | None) -> None:
        self.back, self.call, self.index = back, back.call, index
        self.direction = index % self.call.layers.directions
        self.weights = self.call.weights[index]
        self.kept = back.kept[index]
        self.result, self.g = result, g
        self.slopes: Array
        self.answered: Array | None = None
        self.to_hidden: Array
        self.to_cell: Any = None

    def before(self, step: int) -> int | None:
        """Return the step that a cell went through before one; None at the first."""
        found = step + 1 if self.direction else step - 1
        return found if 0 <= found < self.call.steps else None

    def hidden_before(self, step: int) -> Array:
        """Return the state that a step found."""
        call, before = self.call, self.before(step)
        first = call.view(call.state, lambda values: values[self.index])
        if before is None:
            return first
        found = call.at(self.result, before, self.direction)
        if call.valid is None or not self.direction:  # after the end of a sequence slopes are 0, whatever the state is
            return found
        return call.where(call.valid[before], found, first)

    def run(self, to_hidden: Array | None, to_cell: Array | None) -> None:
        """Go through all steps."""
        call, layers = self.call, self.call.layers
        slopes: dict[int, Array] = {}
        answered: dict[int, Array] = {}
        nothing = call.emitter.broadcast(call.zero, (call.batch, layers.results))
        for step in reversed(call.order(self.direction)):
            parts = [one for one in (to_hidden, self._upstream(step)) if one is not None]
            upstream = parts[0] if len(parts) == 1 else call.add(*parts) if parts else nothing
            rest = rest_of_cell = None
            if call.valid is not None:
                inside = call.valid[step]
                upstream = call.where(inside, upstream, call.zero)
                if to_hidden is not None:
                    rest = call.where(inside, call.zero, to_hidden)
                if to_cell is not None:
                    rest_of_cell = call.where(inside, call.zero, to_cell)
                    to_cell = call.where(inside, to_cell, call.zero)
            answered[step] = upstream
            columns, more, to_cell = self._pulled(step, upstream, to_cell)
            slopes[step] = call.beside(columns)
            to_hidden = call.emitter.product(self._of_product(slopes[step]), self.weights.hidden)
            for one in (more, rest):
                to_hidden = to_hidden if one is None else call.add(to_hidden, one)
            if rest_of_cell is not None:
                to_cell = call.add(to_cell, rest_of_cell)
        assert to_hidden is not None
        self.to_hidden, self.to_cell = to_hidden, to_cell
        self.slopes = call.rows(call.stacked([slopes[step] for step in range(call.steps)]))
        if self.weights.projection is not None:
            self.answered = call.rows(call.stacked([answered[step] for step in range(call.steps)]))

    def _upstream(self, step: int) -> Array | None:
        return None if self.g is None else self.call.at(self.g, step, self.direction)

    def _of_product(self, slopes: Array) -> Array:
        """Return the columns that go into the product with the state."""
        if self.call.layers.mode != "gru":
            return slopes
        return self.call.view(slopes, lambda values: values[:, self.call.layers.size :])

    def _pulled(self, step: int, upstream: Array, to_cell: Array | None) -> tuple[list[Array], Array | None, Any]:
        """Return (the slopes of one step, what else its state has, the gradient of its cell)."""
        call, layers = self.call, self.call.layers
        gates = self.kept.gates[step]
        if layers.mode == "lstm":
            assert call.cell is not None
            enter, forget, candidate, leave = gates
            if self.weights.projection is not None:
                upstream = call.emitter.product(upstream, self.weights.projection)
            bent = self.kept.bent[step]
            into = call.multiply(upstream, leave, self._of_tanh(bent))
            to_cell = into if to_cell is None else call.add(to_cell, into)
            if layers.clip is not None:
                to_cell = self._inside_of_bounds(to_cell, self.kept.cells[step])
            before = self.before(step)
            found = call.view(call.cell, lambda v: v[self.index]) if before is None else self.kept.cells[before]
            slopes = [
                call.multiply(to_cell, candidate, self._of_sigmoid(enter)),
                call.multiply(to_cell, found, self._of_sigmoid(forget)),
                call.multiply(to_cell, enter, self._of_tanh(candidate)),
                call.multiply(upstream, bent, self._of_sigmoid(leave)),
            ]
            return slopes, None, call.multiply(to_cell, forget)
        if layers.mode == "gru":
            reset, update, candidate = gates
            slope = call.multiply(upstream, call.subtract(call.one, update), self._of_tanh(candidate))
            first = call.multiply(slope, self.kept.bent[step], self._of_sigmoid(reset))
            change = call.subtract(self.hidden_before(step), candidate)
            second = call.multiply(upstream, change, self._of_sigmoid(update))
            return [slope, first, second, call.multiply(slope, reset)], call.multiply(upstream, update), None
        (new,) = gates
        if layers.mode == "rnn_relu":
            is_risen = call.emitter.elementwise("greater", new, call.zero)
            return [call.multiply(upstream, call.emitter.cast(is_risen, call.dtype))], None, None
        return [call.multiply(upstream, self._of_tanh(new))], None, None

    def _of_tanh(self, value: Array) -> Array:
        return self.call.subtract(self.call.one, self.call.multiply(value, value))

    def _of_sigmoid(self, value: Array) -> Array:
        return self.call.subtract(value, self.call.multiply(value, value))

    def _inside_of_bounds(self, gradient: Array, cell: Array) -> Array:
        call, clip = self.call, self.call.layers.clip
        assert clip is not None
        for name, bound in (("greater", clip[0]), ("less", clip[1])):
            is_inside = call.emitter.elementwise(name, cell, constant(bound, call.dtype))
            gradient = call.multiply(gradient, call.emitter.cast(is_inside, call.dtype))
        return gradient

    # -- after the steps -----------------------------------------------------------------------------------------------

    def weight_gradients(self, rows: Array) -> list[Array]:
        """Return the gradients of the weights and biases: products over all steps."""
        call, size, is_gru = self.call, self.call.layers.size, self.call.layers.mode == "gru"
        product = call.emitter.product
        of_product = self._of_product(self.slopes)
        sums = call.emitter.reduce("sum", self.slopes, (0,))
        if is_gru:  # the gates are r, z, n, and so are what goes into them
            starts = ((size, 3 * size), (0, size))
            found = [product(call.turned(call.taken(self.slopes, (slice(None), slice(a, b)))), rows) for a, b in starts]
            of_input = [call.taken(sums, (slice(None), slice(a, b))) for a, b in starts]
            biases = [*of_input, call.view(sums, lambda values: values[:, size:])]
            into_input = [call.flat(found)]
            biases = [call.flat(biases[:2]), biases[2]]
        else:
            into_input = [product(call.turned(self.slopes), rows)]
            biases = [sums, sums]
        parts = [*into_input, self._hidden_gradient(of_product)]
        if self.answered is not None:
            left = [call.multiply(gates[3], bent) for gates, bent in zip(self.kept.gates, self.kept.bent, strict=True)]
            parts.append(product(call.turned(self.answered), call.rows(call.stacked(left))))
        return [*parts, *biases]

    def _hidden_gradient(self, slopes: Array) -> Array:
        """Return the gradient of the weights of the state: the first step's, and one product of all others."""
        call, batch, steps = self.call, self.call.batch, self.call.steps
        first = steps - 1 if self.direction else 0

        def of_steps(start: int, end: int) -> Array:
            return call.turned(call.view(slopes, lambda values: values[start * batch : end * batch]))

        found = call.emitter.product(of_steps(first, first + 1), self.hidden_before(first))
        if steps == 1:
            return found
        shift, width = 0 if self.direction else 1, call.layers.results
        some = slice(self.direction * width, (self.direction + 1) * width)
        before = call.view(self.result, lambda values: values[1 - shift : steps - shift, :, some])
        if call.valid is not None and self.direction:
            before = call.stacked([self.hidden_before(step) for step in range(steps - 1)])
        return call.emitter.product(of_steps(shift, steps - 1 + shift), call.rows(before), found)

    def row_gradients(self, added: Array | None) -> Array:
        """Return the gradients of what the cell was given, and what is added."""
        call, size = self.call, self.call.layers.size
        product, weight = call.emitter.product, self.weights.input
        if call.layers.mode != "gru":
            return product(self.slopes, weight, added)
        of_candidate, of_others = (
            call.taken(self.slopes, (slice(None), slice(a, b))) for a, b in ((0, size), (size, 3 * size))
        )
        found = product(of_candidate, call.view(weight, lambda values: values[2 * size :]), added)
        return product(of_others, call.view(weight, lambda values: values[: 2 * size]), found)


@gradient_of("RNN")
def _rnn_gradient(operators: Any, vjp_node: Any, *operands: Any) -> Any:
    attributes = _with_defaults(vjp_node.node)
    count = len(vjp_node.upstream)
    answer = operands[count]
    arguments: list[Any] = [None] * 5
    for index, operand in zip(vjp_node.reads, operands[count + 1 :], strict=True):
        arguments[index] = operand
    data, parameters, state, cell, lengths = arguments
    call = _Call(operators.emitter, data, parameters, state, cell, lengths, attributes)
    cotangents = dict(zip(vjp_node.upstream, operands, strict=False))
    back = _Back(call, answer[0], answer[-2], answer[-1])
    cell_cotangent = cotangents.get(2) if call.cell is not None else None
    of_arguments = back.gradients(cotangents.get(0), cotangents.get(1), cell_cotangent)
    if len(of_arguments) == 3 and arguments[3] is not None:  # lengths, in the place of cells
        of_arguments.append(constant(numpy.zeros(arguments[3].shape, arguments[3].dtype)))
    gradients = [of_arguments[index] for index in vjp_node.requires_grad]
    return gradients[0] if len(gradients) == 1 else gradients


def _with_defaults(node: Any) -> dict[str, Any]:
    known = node.operator.signature.attributes.items()
    return {**{name: one.default for name, one in known}, **node.attributes}
