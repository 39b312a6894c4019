"""The modes that an operator runs in. Each layer that adds one registers how to run an operator in it.

A runner is given a `Case` and upstream gradients (one for each output), and returns (outputs, gradients of the
variables), all as NumPy arrays. `op.check` compares them with those of plain NumPy arrays. Where the mode shows them,
the outputs are followed by the auxiliary states after the call; where it computes no gradients, it returns None.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import autograd
import autograd.numpy
import numpy
from autograd.tracer import Box, trace_stack

from minpy.checking.case import Arrays, Case, as_outputs
from minpy.core.array import FRONT_ENDS, Array, new_array
from minpy.core.backward import backward
from minpy.core.nodes import Leaf
from minpy.core.state import Scope, state
from minpy.core.tape_walk import gradients

__all__ = ["MODES", "SECOND_ORDER", "Runner", "Unsupported", "register_mode"]

Runner = Callable[[Case, Sequence[numpy.ndarray]], "tuple[Arrays, Arrays | None]"]

SecondOrder = Callable[[Case, Sequence[numpy.ndarray], Sequence[numpy.ndarray]], Arrays]

MODES: dict[str, Runner] = {}
SECOND_ORDER: dict[str, SecondOrder] = {}


class Unsupported(Exception):
    """Raised by a runner where its mode does not apply to an operator; the text says why."""


def register_mode(name: str, runner: Runner, second_order: SecondOrder | None = None) -> None:
    """Make `op.check` compare the results of operators in a further mode.

    Parameters
    ----------
    name : str
        The name of the mode in reports.
    runner : callable
        `runner(case, upstream)` returns (outputs, gradients of `case.variables`) as lists of NumPy arrays (see the
        module's docstring), or raises `Unsupported`.
    second_order : callable, optional
        `second_order(case, upstream, weights)` returns the gradients, with respect to `case.variables`, of the sum of
        the gradients of `case.variables` times `weights`.
    """
    MODES[name] = runner
    SECOND_ORDER.pop(name, None)
    if second_order is not None:
        SECOND_ORDER[name] = second_order


class _Recording:
    """A call that is recorded on arrays of a class, with gradients attached to the variables.

    `heads` are the outputs that are recorded, and `head_gradients` their upstream gradients.
    """

    def __init__(self, cls: type[Array], case: Case, upstream: Sequence[numpy.ndarray]) -> None:
        inputs = [slot for slot in case.arrays if isinstance(slot, int) or slot in case.slots]
        if not inputs:
            raise Unsupported("none of its inputs is an array")
        call = case.replaced({slot: new_array(cls, case.arrays[slot].copy()) for slot in inputs})
        self.variables: list[Any] = [*call.variables]
        self.gradients = [new_array(cls, numpy.zeros_like(variable._data)) for variable in self.variables]
        for variable, gradient in zip(self.variables, self.gradients, strict=True):
            variable._node = Leaf(variable._data, gradient)
        with Scope(True, None):
            result, self.states = call.run()
        self.outputs = as_outputs(result)
        parts: Sequence[Any] = result if isinstance(result, (tuple, list)) else (result,)
        heads = [(y, g.reshape(y._data.shape)) for y, g in zip(parts, upstream, strict=True) if y._node is not None]
        self.heads = [head for head, _ in heads]
        self.head_gradients = [g for _, g in heads]


def record_on(kind: str) -> Runner:
    """Return the runner that records the call on arrays of the class for 'numpy' or 'mxnet', and goes backward."""

    def run(case: Case, upstream: Sequence[numpy.ndarray]) -> tuple[Arrays, Arrays]:
        call = _Recording(FRONT_ENDS[kind], case, upstream)
        if call.heads:
            backward(call.heads, call.head_gradients, train_mode=state.training)
        return [*call.outputs, *call.states], [gradient._data for gradient in call.gradients]

    return run


def record_twice_on(kind: str) -> SecondOrder:
    """Return the runner that goes backward once, recording that, and then backward from the gradients."""

    def run(case: Case, upstream: Sequence[numpy.ndarray], weights: Sequence[numpy.ndarray]) -> Arrays:
        call = _Recording(FRONT_ENDS[kind], case, upstream)
        nodes = [variable._node for variable in call.variables]
        cotangents = [g.astype(y._data.dtype) for g, y in zip(call.head_gradients, call.heads, strict=True)]
        with Scope(True, None):
            heads = [head._node for head in call.heads]
            gradient_of = gradients(heads, cotangents, nodes, retain_graph=True, create_graph=True)
        pairs = [(gradient_of.get(node), weight) for node, weight in zip(nodes, weights, strict=True)]
        recorded = [(array, weight) for array, weight in pairs if isinstance(array, Array) and array._node is not None]
        if recorded:
            backward([array for array, _ in recorded], [weight for _, weight in recorded], train_mode=state.training)
        return [gradient._data for gradient in call.gradients]

    return run


def by_keyword(case: Case, upstream: Sequence[numpy.ndarray]) -> tuple[Arrays, Arrays]:
    """Run the call with every input that has a name given by keyword."""
    operator = case.operator
    names = operator.signature.inputs
    if len(case.inputs) > len(names):
        raise Unsupported(f"inputs of *{operator.signature.variadic} have no names")
    first = int(operator.is_method)
    if len(names) == first:
        raise Unsupported("it has no inputs with names")
    keywords = dict(zip(names[first:], case.inputs[first:], strict=True))
    slots = tuple(slot if isinstance(slot, str) else names[slot] for slot in case.slots)
    named = replace(case, inputs=case.inputs[:first], attributes={**keywords, **case.attributes}, slots=slots)
    result, states = named.run()
    return [*as_outputs(result), *states], named.gradients(upstream)


def under_autograd(case: Case, upstream: Sequence[numpy.ndarray]) -> tuple[Arrays, Arrays | None]:
    """Run the call inside HIPS autograd's reverse mode."""
    zeros = (slot for slot, value in case.arrays.items() if value.dtype.kind == "f" and case.operator.is_zero(slot))
    boxed = case if case.slots else replace(case, slots=tuple(zeros))
    if not boxed.slots:
        raise Unsupported("nothing to differentiate")
    outputs: Arrays = []

    def function(*variables: Any) -> Any:
        result = boxed.function(*variables)
        outputs[:] = map(_unboxed, result) if len(upstream) > 1 else [_unboxed(result)]
        return result

    with _autograd():
        values = [value.copy() for value in boxed.variables]  # states among them are moved
        pull, _ = autograd.make_vjp(function, tuple(range(len(boxed.slots))))(*values)
        gradients = as_outputs(pull(tuple(upstream) if len(upstream) > 1 else upstream[0])) if case.slots else None
    return outputs, gradients


def twice_under_autograd(case: Case, upstream: Sequence[numpy.ndarray], weights: Sequence[numpy.ndarray]) -> Arrays:
    """Run the call's gradient inside HIPS autograd's reverse mode."""
    argnums = tuple(range(len(case.slots)))

    def weighted_gradient(*variables: Any) -> Any:
        pull, _ = autograd.make_vjp(case.function, argnums)(*variables)
        parts = pull(tuple(upstream) if len(upstream) > 1 else upstream[0])
        return sum(autograd.numpy.sum(weight * part) for weight, part in zip(weights, parts, strict=True))

    with _autograd():
        return as_outputs(autograd.grad(weighted_gradient, argnums)(*case.variables))


@contextmanager
def _autograd() -> Iterator[None]:
    """Restore the level of autograd's traces, which it leaves raised after an exception; gradients may be zero."""
    level = trace_stack.top
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Output seems independent of input")
            yield
    finally:
        trace_stack.top = level


def _unboxed(value: Any) -> numpy.ndarray:
    while isinstance(value, Box):
        value = value._value
    return as_outputs(value)[0]


register_mode("recorded ndarray", record_on("numpy"), record_twice_on("numpy"))
register_mode("recorded NDArray", record_on("mxnet"), record_twice_on("mxnet"))
register_mode("by keyword", by_keyword)
register_mode("HIPS autograd", under_autograd, twice_under_autograd)
