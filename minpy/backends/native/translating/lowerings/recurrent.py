"""`RNN` unrolled: its definition, run on arrays of the step language.

The gradient reads what the forward pass computed, step by step, and not the operator's `reserve`.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any

import numpy

from minpy.backends.native.language import Array, constant
from minpy.backends.native.translating.lowerings.lowering_tables import FUNCTIONS, gradient_of, lowers_operator
from minpy.backends.native.translating.lowerings.ufuncs import apply
from minpy.backends.native.translating.results import NotLowered
from minpy.backends.native.translating.step_builder import Emitter
from minpy.ops.kernels.recurrent_layers import Layers, weights_of
from minpy.ops.nn.rnn import drawn_masks, valid_steps
from minpy.ops.nn.rnn_steps import Call, pulled, unrolled

__all__: list[str] = []

# Steps in time of all layers and directions: more of them are not unrolled.
LONGEST = 256


class _ArrayProxy(numpy.lib.mixins.NDArrayOperatorsMixin):
    """An array of the step language, of which NumPy's functions make others."""

    def __init__(self, emitter: Emitter, array: Array) -> None:
        self.emitter = emitter
        self.array = array
        self.shape, self.dtype = array.shape, array.dtype

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> Any:
        return _ArrayProxy(self.emitter, self.emitter.view(self.array, itemgetter(key)))

    def __array_ufunc__(self, ufunc: numpy.ufunc, method: str, *operands: Any) -> Any:
        lowering = FUNCTIONS.get(ufunc)
        if lowering is None:
            return _ArrayProxy(self.emitter, apply(self.emitter, ufunc, *map(_array_of, operands)))
        return _ArrayProxy(self.emitter, lowering(self.emitter, *map(_array_of, operands)))

    def __array_function__(self, function: Callable[..., Any], types: Any, arguments: Any, keywords: Any) -> Any:
        return _ArrayProxy(self.emitter, FUNCTIONS[function](self.emitter, *map(_array_of, arguments), **keywords))


def _array_of(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(map(_array_of, value))
    return value.array if isinstance(value, _ArrayProxy) else value


def _call(
    emitter: Emitter,
    data: Array,
    parameters: Array,
    state: Array,
    state_cell: Array | None,
    sequence_length: Array | None,
    attributes: dict[str, Any],
) -> Call:
    """Return a call of the operator whose inputs are proxies.

    Raises NotLowered if its inputs differ in their dtypes, or there are no steps in time, or too many.
    """
    mode = attributes["mode"]
    if mode != "lstm" and sequence_length is None and attributes["use_sequence_length"]:
        state_cell, sequence_length = None, state_cell
    cell = state_cell if mode == "lstm" else None
    if len({array.dtype for array in (data, parameters, state, cell) if array is not None}) > 1:
        raise NotLowered("its inputs differ in their dtypes")
    if 0 in data.shape:
        raise NotLowered("there is nothing to go through")
    directions = 2 if attributes["bidirectional"] else 1
    count = data.shape[0] * attributes["num_layers"] * directions
    if count > LONGEST:
        raise NotLowered(f"its {count} steps in time, of all layers, are more than the {LONGEST} that are unrolled")
    least, most = attributes["lstm_state_clip_min"], attributes["lstm_state_clip_max"]
    clip = None if least is None else (least, most, attributes["lstm_state_clip_nan"])
    size, projection = attributes["state_size"], attributes["projection_size"]
    layers = Layers(mode, size, attributes["num_layers"], directions, data.shape[2], projection, clip)
    valid = None
    if attributes["use_sequence_length"]:
        steps, batch = data.shape[:2]
        facts = [((steps, batch, 1), bool)]
        reason = "lengths that are longer than the time are refused"
        valid = _ArrayProxy(emitter, emitter.call(valid_steps, (sequence_length, steps), facts, reason)[0])
    inputs = [None if array is None else _ArrayProxy(emitter, array) for array in (data, parameters, state, cell)]
    return Call(inputs[0], weights_of(inputs[1], layers), inputs[2], inputs[3], layers, valid)


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
    emitter = operators.emitter
    call = _call(emitter, data, parameters, state, state_cell, sequence_length, attributes)
    layers = call.layers
    shape = (layers.count - 1, *data.shape[:2], layers.directions * layers.results)
    masks = constant(numpy.ones((0, *shape[1:]), data.dtype))
    if training and p and layers.count > 1:
        reason = "the masks are drawn at random"
        (masks,) = emitter.call(drawn_masks, (shape, data.dtype, p), [(shape, data.dtype)], reason)
    result, last, last_cell, reserved, forward = unrolled(call, _ArrayProxy(emitter, masks))
    reserve: Any = numpy.concatenate([numpy.ravel(part) for part in reserved])
    operators.forwards[result.array] = call, forward
    return [output.array for output in (result, last, last_cell) if output is not None] + [masks, reserve.array]


@gradient_of("RNN")
def _rnn_gradient(operators: Any, vjp_node: Any, *operands: Any) -> Any:
    count = len(vjp_node.upstream)
    if operands[count][0] not in operators.forwards:
        raise NotLowered("its forward pass is called")
    call, forward = operators.forwards[operands[count][0]]
    cotangents = {
        index: _ArrayProxy(operators.emitter, operand)
        for index, operand in zip(vjp_node.upstream, operands, strict=False)
    }
    of_cell = cotangents.get(2) if call.cell is not None else None
    data, parameters, state, cell = pulled(call, forward, cotangents.get(0), cotangents.get(1), of_cell)
    # Without cells, lengths of sequences may stand in their place.
    gradients = {0: data, 1: parameters, 2: state, 3: cell}
    result = [
        constant(numpy.zeros(like.shape, like.dtype)) if (gradient := gradients[index]) is None else gradient.array
        for index in vjp_node.requires_grad
        for like in [vjp_node.placeholders[index]]
    ]
    return result[0] if len(result) == 1 else result
