"""Compiled graphs as operators: called on arrays, recorded on the tape as one node, which holds the call's frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter
from time import perf_counter
from types import MappingProxyType
from typing import Any

import numpy

from minpy.backends.protocol import ArgumentMismatch
from minpy.core import aligned
from minpy.core.array import Array
from minpy.core.base_operator import BaseOperator
from minpy.core.errors import ArgumentError, is_quitting
from minpy.core.gradient_rules import OutputBuffer
from minpy.core.nodes import attach_outputs, record_node
from minpy.core.state import state
from minpy.graph.compiled import Compiled
from minpy.graph.frame import Frame
from minpy.graph.program import Program
from minpy.graph.replaying import replayed_gradients
from minpy.graph.unplanned import Unplanned, unplanned

__all__ = ["GraphOperator", "call_graph"]

_MOST_PROGRAMS = 64
_data, _node = attrgetter("_data"), attrgetter("_node")
_kind, _shape, _dtype = attrgetter("shape", "dtype"), attrgetter("shape"), attrgetter("dtype")
_NOTHING: Mapping[int, OutputBuffer] = MappingProxyType({})


class GraphOperator(BaseOperator):
    """A compiled graph that is called as one operator; each call that is recorded is one node of the tape.

    Several calls may be in flight at once: what a call keeps for its backward is its frame, the last of the node's
    arguments.

    `name`: what messages call it. `always_plans`: whether programs are made for arrays of ever new shapes, whatever
    they cost.
    """

    builtin = True
    takes_buffers = True
    gradient_source = "its graph"

    def __init__(self, compiled: Compiled, name: str = "graph", always_plans: bool = False) -> None:
        self.__name__ = self.__qualname__ = name
        self.compiled = compiled
        self._variables = compiled.variables
        self._count = len(compiled.arguments)
        self._programs: dict[Any, Program] = {}
        # Of the latest call that was recorded by `record`: training, which variables need gradients, the shapes and the
        # dtypes of all, and the program.
        self._latest: tuple[Any, Any, list[Any], list[Any], Any] = (None, None, [], [], None)
        self._always_plans = always_plans
        self._unplanned: dict[bool, Unplanned | None] = {}

    # -- what the tape asks ------------------------------------------------------------------------------------------

    def argument_names(self, count: int) -> list[str]:
        """Return the names of the graph's variables."""
        return [*(node.name for node in self._variables), "the frame"][:count]

    def is_zero(self, index: int) -> bool:
        """Tell whether a variable is a state, which has no gradient."""
        return index >= self._count

    def vjp(
        self,
        result: Any,
        arguments: Sequence[Any],
        attributes: dict[str, Any],
        gradient: Any,
        requires_grad: Sequence[int],
        output_buffers: Mapping[int, OutputBuffer] = _NOTHING,
    ) -> list[Any]:
        """Return the gradients of the variables at the positions `requires_grad`, in `output_buffers` if it is safe."""
        frame: Frame = arguments[-1]
        upstream = gradient if type(gradient) is tuple else (gradient,)
        if state.recording:
            return replayed_gradients(frame, self._variables, arguments[:-1], upstream, requires_grad)
        variables, grad_req = self._variables, frame._program.steps.grad_req
        if output_buffers and not frame.goes_through:
            output_buffers = _NOTHING
        buffers, gradients = {}, []
        for index in requires_grad:
            like, target = arguments[index], output_buffers.get(index)
            buffer = None if target is None else target.buffer
            if buffer is None:
                empty = numpy.empty if like.nbytes < aligned.LARGE else aligned.empty
                buffer = empty(like.shape, like.dtype)
            buffers[variables[index]] = buffer
            gradients.append(buffer)
        if len(buffers) != len(grad_req):  # what was asked for when the call was recorded, and is not now
            for index, node in enumerate(variables):
                if node in grad_req and node not in buffers:
                    buffers[node] = aligned.empty(arguments[index].shape, arguments[index].dtype)
        frame.backward(upstream, buffers)
        return gradients

    def compute_in_leaves(self, node: Any, cotangent: Any) -> bool:
        """Let native code compute gradients in the arrays of leaves; see `BaseOperator`."""
        frame: Frame = node.arguments[-1]
        return frame.compute_in_leaves(node.parents, cotangent)

    # -- calls -------------------------------------------------------------------------------------------------------

    def _program(
        self,
        key: Any,
        buffers: Sequence[numpy.ndarray],
        requires_grad: tuple[bool, ...] | None,
        program: Program | None,
    ) -> Program:
        """Return the program for arrays of these kinds, and the gradients that will be asked for, if it is not known.

        `key`: by what it is found again. `program`: the one that was found, if what users' functions refer to may have
        changed since.
        """
        if program is not None and program.steps.is_valid():
            return program
        grad_req = None
        if requires_grad is not None:
            arguments = zip(self.compiled.arguments, requires_grad, strict=False)
            grad_req = {node: "write" for node, is_wanted in arguments if is_wanted}
        program = self.compiled.program(buffers, state.training, grad_req)
        while len(self._programs) >= _MOST_PROGRAMS:
            self._programs.pop(next(iter(self._programs)), None)
        self._programs[key] = program
        return program

    def program(self, buffers: Sequence[numpy.ndarray], requires_grad: tuple[bool, ...] | None) -> Program:
        """Return the program for arrays of these kinds, and the gradients that will be asked for."""
        key = (state.training, requires_grad, tuple(map(_kind, buffers)))
        program = self._programs.get(key)
        if program is None or program.steps.refers:
            program = self._program(key, buffers, requires_grad, program)
        return program

    def call(self, inputs: Sequence[Array], like: Array) -> list[Any]:
        """Return the outputs for arrays; the call is recorded, if an argument needs a gradient.

        `inputs`: for its arguments and states, in the order of `compiled.variables`. `like`: whose class and context
        the outputs get.

        Raises ShapeError or DTypeError if the inputs do not fit the graph.
        """
        buffers = [*map(_data, inputs)]
        requires_grad: tuple[bool, ...] | None = None
        count, state_pool = self._count, self.compiled.state_pool
        # What follows is written out for few calls of Python's functions: each costs what a small kernel does.
        if state.recording:
            parents = [*map(_node, inputs)]
            if len(buffers) != count:
                parents[count:] = [None] * (len(buffers) - count)
            requires_grad = tuple([parent is not None for parent in parents])
            training, latest_requires_grad, shapes, dtypes, latest = self._latest
            is_alike = requires_grad == latest_requires_grad and training == state.training and state_pool is None
            if is_alike and [*map(_shape, buffers)] == shapes and [*map(_dtype, buffers)] == dtypes:
                return [self.record(latest, buffers, parents, like)]
            requires_grad = requires_grad[:count] if True in requires_grad else None
        key = (state.training, requires_grad, tuple(map(_kind, buffers)))
        program = self._programs.get(key)
        if program is None or program.steps.refers:
            if program is None and not self._always_plans and not self.compiled.may_plan(key):
                values = self._called_unplanned(key, buffers, None if requires_grad is None else parents, like)
                if values is not None:
                    return values
            program = self._program(key, buffers, requires_grad, program)
        if requires_grad is None and state_pool is None:
            try:
                results = program.run(buffers)
            except ArgumentMismatch:  # in none of the arrays may be computed: then in copies, which callers take from
                results = program.run(
                    [numpy.array(buffer, numpy.dtype(buffer.dtype.str), order="C") for buffer in buffers]
                )
        else:
            state_set = None
            if state_pool is not None:
                state_set = state_pool.acquire((bool(state.recording), [*map(_kind, buffers)]))
            frame = Frame(program, program.steps.with_captured(buffers) if program.steps.refers else buffers, state_set)
            results = frame.forward()
        values, is_floating, some_floating = [], [], False
        for result in results:
            value = result if type(result) is numpy.ndarray else numpy.asarray(result)
            values.append(value)
            floats = value.dtype.kind in "fc"
            is_floating.append(floats)
            some_floating = some_floating or floats
        if requires_grad is None or not some_floating:
            return [*map(like._like, values)]
        if state_pool is None and not program.steps.refers:
            self._note_latest(program, buffers, requires_grad, values)
        arguments = [*buffers[:count], *[None] * (len(buffers) - count), frame]
        parents.append(None)
        node = record_node(self, arguments, None, {}, parents)
        if len(values) == 1:
            node.shape, node.dtype = values[0].shape, values[0].dtype
            return [like._like(values[0], node)]
        outputs = attach_outputs(node, values)
        nodes = [output if floats else None for output, floats in zip(outputs, is_floating, strict=True)]
        return [*map(like._like, values, nodes)]

    def record(self, program: Program, buffers: list[numpy.ndarray], parents: list[Any], like: Array) -> Any:
        """Return the only output, of floating-point numbers, of a graph without states; the call is recorded.

        `program`: for arrays of these kinds, with a backward part. `buffers`: for its arguments. `parents`: where they
        stand on the tape. `like`: whose class and context the output gets.
        """
        frame = Frame(program, buffers)
        result = frame.forward()[0]
        if type(result) is not numpy.ndarray:
            result = numpy.asarray(result)
        parents.append(None)
        node = record_node(self, [*buffers, frame], None, {}, parents)
        node.shape, node.dtype = result.shape, result.dtype
        return like._like(result, node)

    def _note_latest(
        self, program: Program, buffers: Sequence[numpy.ndarray], requires_grad: Any, results: Sequence[Any]
    ) -> None:
        """Note a call that was recorded, if `record` will do for the next one of its kind."""
        if len(buffers) == self._count and len(results) == 1:
            self._latest = state.training, requires_grad, [*map(_shape, buffers)], [*map(_dtype, buffers)], program

    def _called_unplanned(
        self, key: Any, buffers: Sequence[numpy.ndarray], parents: Sequence[Any] | None, like: Array
    ) -> list[Any] | None:
        """Return the outputs without making a program; None if only one can tell them, or why there are none."""
        training = bool(state.training)
        if training not in self._unplanned:
            self._unplanned[training] = unplanned(self.compiled, training, self.__name__)
        graph = self._unplanned[training]
        if graph is None:
            return None
        began = perf_counter()
        try:
            outputs, nodes = graph.run(buffers, parents, key)
        except Exception as error:
            if is_quitting(error):
                raise
            return None  # a program says which node it is
        self.compiled.allowance.eager_seconds += perf_counter() - began
        return [*map(like._like, outputs, nodes)]


def call_graph(compiled: Compiled, inputs: Sequence[Array], name: str = "graph") -> list[Any]:
    """Call a compiled graph on arrays once; see `GraphOperator`.

    `inputs`: for its arguments and states, in the order of `compiled.variables`. `name`: what messages call it.

    Raises ArgumentError for another number of inputs. Raises ShapeError or DTypeError if the inputs do not fit the
    graph.
    """
    if len(inputs) != len(compiled.variables):
        raise ArgumentError(
            f"{name}: {len(inputs)} input(s) given; expected {len(compiled.variables)}: "
            f"{', '.join(node.name for node in compiled.variables)}."
        )
    return GraphOperator(compiled, name, always_plans=True).call(inputs, inputs[0])
