"""Branches, and loops whose number of steps is known: their graphs are imported in the place of the node."""

from __future__ import annotations

from typing import Any

import numpy

from minpy import symbol
from minpy.onnx.importing.calls import Call, row
from minpy.onnx.importing.refusals import Refusal
from minpy.onnx.importing.tensors import Tensor

# Operators are called with lists of inputs before their keywords, which types cannot tell apart.
sym: Any = symbol
np = sym.np
# A loop of more steps makes a graph that nobody wants to compile.
_MOST_STEPS = 512


@row("If")
def branch(call: Call) -> Any:
    """The branch that is taken, where that is known; else both, of which the condition chooses element by element."""
    condition = call.tensor(0).constant
    branches = [call.get("then_branch"), call.get("else_branch")]
    if condition is not None:
        return call.importer.walk_within(branches[0 if bool(condition.ravel()[0]) else 1], [])
    first, second = (call.importer.walk_within(graph, []) for graph in branches)
    chosen = np.reshape(call.symbol(0), ())
    results = []
    for taken, otherwise in zip(first, second, strict=True):
        if taken.shape is None or taken.shape != otherwise.shape or taken.dtype != otherwise.dtype:
            raise Refusal(
                "its condition is computed while the model runs, and its branches return other shapes or dtypes. Give"
                " shapes=, if that follows from the shapes of inputs; else make them equal",
                needs_shapes=True,
            )
        symbols = call.importer.symbol_of(taken), call.importer.symbol_of(otherwise)
        results.append(Tensor("", np.where(chosen, *symbols), None, taken.dtype, taken.shape))
    return results


@row("Loop")
def loop(call: Call) -> Any:
    """One copy of the body for each step."""
    graph, count = call.get("body"), len(call.outputs)
    most = int(call.value(0, "number of steps").ravel()[0]) if call.has(0) else None
    condition = call.value(1, "condition").ravel()[0] if call.has(1) else True
    states = [call.tensor(index) for index in range(2, len(call.inputs))]
    scanned: list[list[Tensor]] = [[] for _ in range(count - len(states))]
    step = 0
    while bool(condition) and (most is None or step < most):
        _limit(step)
        counter = Tensor("", constant=numpy.asarray(step, numpy.int64))
        going = Tensor("", constant=numpy.asarray(True))
        ends, *results = call.importer.walk_within(graph, [counter, going, *states])
        if ends.constant is None:
            raise Refusal(
                "whether it goes on is computed of values while the model runs, and graphs are as long as they are."
                " Export the model with a fixed number of steps"
            )
        condition = ends.constant.ravel()[0]
        states = results[: len(states)]
        for parts, result in zip(scanned, results[len(states) :], strict=True):
            parts.append(result)
        step += 1
    return [*states, *(_stacked(call, parts, 0) for parts in scanned)]


@row("Scan")
def scan(call: Call) -> Any:
    """One copy of the body for each element of the sequences."""
    graph, sequences = call.get("body"), call.get("num_scan_inputs")
    if call.opset < 9:
        raise Refusal("before opset 9 it has a batch axis. Convert the model by onnx.version_converter")
    count = len(call.inputs) - sequences
    states, outputs = [call.tensor(index) for index in range(count)], len(call.outputs) - count
    places = range(count, len(call.inputs))
    axes = [
        axis % call.rank(index)
        for axis, index in zip(call.get("scan_input_axes", [0] * sequences), places, strict=True)
    ]
    backwards = call.get("scan_input_directions", [0] * sequences)
    (steps,) = call.shape(count, [axes[0]])
    _limit(steps - 1)
    scanned: list[list[Tensor]] = [[] for _ in range(outputs)]
    for step in range(steps):
        elements = [
            _element(call, index, axis, steps - 1 - step if backward else step)
            for index, axis, backward in zip(places, axes, backwards, strict=True)
        ]
        results = call.importer.walk_within(graph, [*states, *elements])
        states = results[:count]
        for parts, result in zip(scanned, results[count:], strict=True):
            parts.append(result)
    directions = call.get("scan_output_directions", [0] * outputs)
    ends = call.get("scan_output_axes", [0] * outputs)
    return [
        *states,
        *(
            _stacked(call, parts[::-1] if backward else parts, axis)
            for parts, axis, backward in zip(scanned, ends, directions, strict=True)
        ),
    ]


def _limit(step: int) -> None:
    if step >= _MOST_STEPS:
        raise Refusal(f"it has more than {_MOST_STEPS} steps, and each becomes nodes of its own. Run it outside")


def _element(call: Call, index: int, axis: int, step: int) -> Tensor:
    """Return one element of a sequence."""
    lengths = call.lengths(index)
    part = np.take(call.symbol(index), step, axis=axis)
    return Tensor("", part, None, call.dtype(index), lengths[:axis] + lengths[axis + 1 :])


def _stacked(call: Call, parts: list[Tensor], axis: int) -> Tensor:
    """Return what the steps of a loop give, along a new axis."""
    if not parts:
        raise Refusal("it has no steps, and collects what they give. Leave it out")
    first = parts[0].shape
    if all(part.constant is not None for part in parts):
        return Tensor("", constant=numpy.stack([numpy.asarray(part.constant) for part in parts], axis))
    symbols = [call.importer.symbol_of(part) for part in parts]
    shape = None
    if first is not None:
        place = axis if axis >= 0 else axis + len(first) + 1
        shape = [*first[:place], len(parts), *first[place:]]
    return Tensor("", np.stack(symbols, axis=axis), None, parts[0].dtype, shape)
