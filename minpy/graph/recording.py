"""Calls of compiled graphs on arrays, recorded on the tape: one node a call, which holds the call's frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from minpy.core.array import Array
from minpy.core.base import BaseOperator
from minpy.core.errors import ArgumentError, GradientError
from minpy.core.nodes import attach_outputs, record_node
from minpy.core.state import state
from minpy.graph.compiled import Compiled
from minpy.graph.frame import start
from minpy.graph.ir import Node

__all__ = ["call_graph"]


class _GraphCall(BaseOperator):
    """What the tape asks of a call of a graph. The frame is the last of the node's arguments."""

    builtin = True
    gradient_source = "its graph"

    def __init__(self, name: str, variables: Sequence[Node], count: int) -> None:
        self.__name__ = self.__qualname__ = name
        self._variables = variables
        self._count = count

    def argument_names(self, count: int) -> list[str]:
        """Return the names of the graph's variables."""
        return [*(node.name for node in self._variables), "the frame"][:count]

    def is_zero(self, index: int) -> bool:
        """Tell whether a variable is a state, which has no gradient."""
        return index >= self._count

    def pull_back(
        self, answer: Any, arguments: Sequence[Any], attributes: dict[str, Any], gradient: Any, needed: Sequence[int]
    ) -> list[Any]:
        """Return the gradients of the variables at the positions `needed`."""
        if state.recording:
            raise GradientError(
                f"{self.__name__}: the gradient of a compiled graph cannot be recorded for a second derivative. Call "
                "the operators that it is made of, without compiling, where create_graph=True is needed."
            )
        frame = arguments[-1]
        upstream = gradient if type(gradient) is tuple else (gradient,)
        steps = frame.program.steps
        buffers = {
            self._variables[index]: numpy.empty(arguments[index].shape, arguments[index].dtype) for index in needed
        }
        for node in steps.requests:  # what was asked for when the call was recorded, and is not now
            if node not in buffers:
                array = arguments[self._variables.index(node)]
                buffers[node] = numpy.empty(array.shape, array.dtype)
        frame.backward(upstream, buffers)
        return [buffers[self._variables[index]] for index in needed]


def call_graph(compiled: Compiled, inputs: Sequence[Array], name: str = "graph") -> list[Any]:
    """Call a compiled graph on arrays; the call is recorded as one node, if an input needs a gradient.

    Parameters
    ----------
    compiled : Compiled
    inputs : sequence of Array
        For its arguments and states, in the order of `compiled.variables`.
    name : str
        What messages call it.

    Returns
    -------
    list of Array
        The outputs.

    Raises
    ------
    ArgumentError
        For another number of inputs.
    ShapeError, DTypeError
        If the inputs do not fit the graph.
    """
    if len(inputs) != len(compiled.variables):
        raise ArgumentError(
            f"{name}: {len(inputs)} input(s) given; expected {len(compiled.variables)}: "
            f"{', '.join(node.name for node in compiled.variables)}."
        )
    raws = [value._data for value in inputs]
    parents = [value._node for value in inputs]
    count = len(compiled.arguments)
    requests = None
    if state.recording:
        needed = [node for node, parent in zip(compiled.arguments, parents, strict=False) if parent is not None]
        requests = dict.fromkeys(needed, "write")
    heads, frame = start(compiled.program(raws, state.training, requests), raws)
    answers = [numpy.asarray(head) for head in heads]
    like = inputs[0]
    if not requests or not any(answer.dtype.kind in "fc" for answer in answers):
        return [like._like(answer) for answer in answers]
    operator = _GraphCall(name, compiled.variables, count)
    saved = [raw if index < count else None for index, raw in enumerate(raws)]
    parents = [parent if index < count else None for index, parent in enumerate(parents)]
    node = record_node(operator, [*saved, frame], None, {}, [*parents, None])
    if len(answers) == 1:
        node.shape, node.dtype = answers[0].shape, answers[0].dtype
        return [like._like(answers[0], node)]
    outputs = attach_outputs(node, answers)
    return [
        like._like(answer, output if answer.dtype.kind in "fc" else None)
        for answer, output in zip(answers, outputs, strict=True)
    ]
