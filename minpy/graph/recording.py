"""Compiled graphs as operators: called on arrays, recorded on the tape as one node, which holds the call's frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy

from minpy.core import aligned
from minpy.core.array import Array
from minpy.core.base import BaseOperator
from minpy.core.errors import ArgumentError
from minpy.core.nodes import attach_outputs, record_node
from minpy.core.rules import OutputBuffer
from minpy.core.state import state
from minpy.graph.compiled import Compiled
from minpy.graph.frame import Frame, start
from minpy.graph.program import Program
from minpy.graph.replaying import replayed_gradients

__all__ = ["GraphOperator", "call_graph"]

_MOST_PLANS = 64
_NOTHING: Mapping[int, OutputBuffer] = MappingProxyType({})


class _Plan:
    """What calls on arrays of the same kinds have in common."""

    __slots__ = ("captures", "program")

    def __init__(self, program: Program) -> None:
        self.program = program
        self.captures = program.steps.captures or None


class GraphOperator(BaseOperator):
    """A compiled graph that is called as one operator; each call that is recorded is one node of the tape.

    Several calls may be in flight at once: what a call keeps for its backward is its frame, the last of the node's
    arguments.

    Parameters
    ----------
    compiled : Compiled
    name : str
        What messages call it.
    """

    builtin = True
    takes_buffers = True
    gradient_source = "its graph"

    def __init__(self, compiled: Compiled, name: str = "graph") -> None:
        self.__name__ = self.__qualname__ = name
        self.compiled = compiled
        self._variables = compiled.variables
        self._count = len(compiled.arguments)
        self._plans: dict[Any, _Plan] = {}

    # -- what the tape asks ------------------------------------------------------------------------------------------

    def argument_names(self, count: int) -> list[str]:
        """Return the names of the graph's variables."""
        return [*(node.name for node in self._variables), "the frame"][:count]

    def is_zero(self, index: int) -> bool:
        """Tell whether a variable is a state, which has no gradient."""
        return index >= self._count

    def pull_back(
        self,
        answer: Any,
        arguments: Sequence[Any],
        attributes: dict[str, Any],
        gradient: Any,
        needed: Sequence[int],
        targets: Mapping[int, OutputBuffer] = _NOTHING,
    ) -> list[Any]:
        """Return the gradients of the variables at the positions `needed`, in `targets` if nothing can fail."""
        frame: Frame = arguments[-1]
        upstream = gradient if type(gradient) is tuple else (gradient,)
        if state.recording:
            return replayed_gradients(frame, self._variables, arguments[:-1], upstream, needed)
        variables, requests = self._variables, frame.program.steps.requests
        if targets and not frame.goes_through:
            targets = _NOTHING
        buffers = {}
        for index in needed:
            like, target = arguments[index], targets.get(index)
            if target is None or target.buffer is None:
                buffers[variables[index]] = aligned.empty(like.shape, like.dtype)
            else:
                buffers[variables[index]] = target.buffer
        if len(buffers) != len(requests):  # what was asked for when the call was recorded, and is not now
            for index, node in enumerate(variables):
                if node in requests and node not in buffers:
                    buffers[node] = aligned.empty(arguments[index].shape, arguments[index].dtype)
        frame.backward(upstream, buffers)
        return [buffers[variables[index]] for index in needed]

    # -- calls -------------------------------------------------------------------------------------------------------

    def plan(self, raws: Sequence[numpy.ndarray], needed: tuple[bool, ...] | None) -> _Plan:  # type: ignore[override]
        """Return the program for arrays of these kinds, and the gradients that will be asked for."""
        key = (state.training, needed, tuple([(raw.shape, raw.dtype) for raw in raws]))
        plan = self._plans.get(key)
        if plan is None or (plan.captures is not None and not plan.program.steps.is_current()):
            requests = None
            if needed is not None:
                arguments = zip(self.compiled.arguments, needed, strict=False)
                requests = {node: "write" for node, one in arguments if one}
            plan = _Plan(self.compiled.program(raws, state.training, requests))
            while len(self._plans) >= _MOST_PLANS:
                self._plans.pop(next(iter(self._plans)), None)
            self._plans[key] = plan
        return plan

    def call(self, inputs: Sequence[Array], like: Array) -> list[Any]:
        """Return the outputs for arrays; the call is recorded, if an argument needs a gradient.

        Parameters
        ----------
        inputs : sequence of Array
            For its arguments and states, in the order of `compiled.variables`.
        like : Array
            Whose class and context the outputs get.

        Raises
        ------
        ShapeError, DTypeError
            If the inputs do not fit the graph.
        """
        raws = [value._data for value in inputs]
        needed: tuple[bool, ...] | None = None
        if state.recording:
            parents: list[Any] = [value._node for value in inputs]
            if len(raws) != self._count:
                parents[self._count :] = [None] * (len(raws) - self._count)
            needed = tuple([parent is not None for parent in parents[: self._count]])
            if True not in needed:
                needed = None
        plan = self.plan(raws, needed)
        keeping, kept = self.compiled.keeping, None
        if keeping is not None:
            kept = keeping.take((bool(state.recording), [(raw.shape, raw.dtype) for raw in raws]))
        heads, frame = start(plan.program, raws, kept=kept)
        answers = [head if type(head) is numpy.ndarray else numpy.asarray(head) for head in heads]
        if needed is None:
            return [like._like(answer) for answer in answers]
        floating = [answer.dtype.kind in "fc" for answer in answers]
        if True not in floating:
            return [like._like(answer) for answer in answers]
        arguments: list[Any] = [*raws[: self._count], *[None] * (len(raws) - self._count), frame]
        parents.append(None)
        node = record_node(self, arguments, None, {}, parents)
        if len(answers) == 1:
            node.shape, node.dtype = answers[0].shape, answers[0].dtype
            return [like._like(answers[0], node)]
        outputs = attach_outputs(node, answers)
        return [
            like._like(answer, output if is_floating else None)
            for answer, output, is_floating in zip(answers, outputs, floating, strict=True)
        ]


def call_graph(compiled: Compiled, inputs: Sequence[Array], name: str = "graph") -> list[Any]:
    """Call a compiled graph on arrays once; see `GraphOperator`.

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
    return GraphOperator(compiled, name).call(inputs, inputs[0])
