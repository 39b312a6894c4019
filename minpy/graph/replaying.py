"""Gradients of a call of a graph that can be differentiated again: its steps are put on the tape, one by one.

A program gives first gradients only. For further ones the call is replayed: every step becomes a node of the tape with
the result that it gave (random numbers are not drawn again, states do not move), and the tape walks back through them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from minpy.core.array import Array
from minpy.core.nodes import connect, record_node
from minpy.core.tape_walk import gradients
from minpy.graph.frame import Frame
from minpy.graph.interpreting import read, step_call
from minpy.graph.ir import CONSTANT, Node, Value, topological
from minpy.graph.unplanned import note_place, tape_place
from minpy.ops.tensor.copies import identity

__all__ = ["replayed_gradients"]


def replayed_gradients(
    frame: Frame,
    variables: Sequence[Node],
    arguments: Sequence[Any],
    upstream: Sequence[Any],
    requires_grad: Sequence[int],
) -> list[Any]:
    """Return the gradients of a call of a graph, recorded.

    `frame`: of the call. `variables`: those of the graph. `arguments`: what stands for each: an Array, if it was
    recorded. `upstream`: the gradient of each output. `requires_grad`: the positions of the variables whose gradients
    are wanted.

    Raises NoGradientError or GradientError if an operator of the graph has no gradient that can be recorded.
    """
    steps = frame.program.steps
    results = frame.results()
    buffers: dict[Node, Any] = {}
    places: dict[Node, Any] = {}
    inner: dict[int, Any] = {}  # the variables as this call has them: the walk ends there
    for index, node in enumerate(variables):
        buffers[node] = results[node]
        argument = arguments[index] if index < len(arguments) else None
        if isinstance(argument, Array) and argument._node is not None:
            place = record_node(identity, [None], None, {}, [argument._node])
            place.shape, place.dtype = argument._data.shape, argument._data.dtype
            inner[index] = places[node] = place
    order = topological(steps.written)
    for node in order:
        operator = node.operator
        if operator is None:
            continue
        if operator is CONSTANT:
            buffers[node] = node.attributes["value"]
            continue
        arguments_of = [read(buffers, value) for value in node.inputs]
        ran = steps.ran_as(Value(node)).node  # a user's operator may have become what it computes
        is_step = ran.operator is operator
        result = results[ran] if is_step else step_call(node)(*arguments_of)
        buffers[node] = result
        parents = [tape_place(places, value) for value in node.inputs]
        if any(parent is not None for parent in parents):
            _put(node, frame.operator_of(ran) if is_step else operator, arguments_of, result, parents, places)
    outputs, starts = [], []
    for output, gradient in zip(steps.written, upstream, strict=True):
        place = tape_place(places, output)
        if place is not None:
            outputs.append(place)
            starts.append(gradient if isinstance(gradient, Array) else connect(gradient, None))
    leaves = [inner[index] for index in requires_grad]
    since = min((place.sequence for place in leaves), default=0)
    gradient_of = (
        gradients(outputs, starts, leaves, retain_graph=True, create_graph=True, since=since) if outputs else {}
    )
    zeros = [
        (gradient_of.get(place), buffers[variables[index]]) for place, index in zip(leaves, requires_grad, strict=True)
    ]
    return [numpy.zeros_like(buffer) if gradient is None else gradient for gradient, buffer in zeros]


def _put(
    node: Node, operator: Any, arguments: Sequence[Any], result: Any, parents: Sequence[Any], places: dict[Node, Any]
) -> None:
    """Put a step on the tape."""
    # The tape knows arrays: a scalar of NumPy's would be a constant to it.
    arguments = [numpy.asarray(argument) if isinstance(argument, numpy.generic) else argument for argument in arguments]
    result = result if isinstance(result, tuple) else numpy.asarray(result)
    note_place(places, node, record_node(operator, arguments, result, node.attributes, parents), result)
