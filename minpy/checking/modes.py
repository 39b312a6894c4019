"""The modes that an operator runs in. Each layer that adds one registers how to run an operator in it.

A runner is given a `Case` and upstream gradients (one for each output), and returns (outputs, gradients of the
variables), all as NumPy arrays. `op.check` compares them with those of plain NumPy arrays. Where the mode shows them,
the outputs are followed by the auxiliary states after the call; where it computes no gradients, it returns None.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import autograd
import numpy
from autograd.tracer import trace_stack

from minpy.checking.case import Arrays, Case, as_outputs
from minpy.core.array import FRONT_ENDS, Array, new_array
from minpy.core.backward import backward
from minpy.core.nodes import Leaf
from minpy.core.state import Scope, state

__all__ = ["MODES", "Runner", "Unsupported", "register_mode"]

Runner = Callable[[Case, Sequence[numpy.ndarray]], "tuple[Arrays, Arrays | None]"]

MODES: dict[str, Runner] = {}


class Unsupported(Exception):
    """Raised by a runner where its mode does not apply to an operator; the text says why."""


def register_mode(name: str, runner: Runner) -> None:
    """Make `op.check` compare what an operator gives in a further mode.

    Parameters
    ----------
    name : str
        How reports call the mode.
    runner : callable
        `runner(case, upstream)` returns (outputs, gradients of `case.variables`) as lists of NumPy arrays (see the
        module's docstring), or raises `Unsupported`.
    """
    MODES[name] = runner


def record_on(cls: type[Array]) -> Runner:
    """Return the runner that records the call on arrays of a class, and goes backward from its outputs."""

    def run(case: Case, upstream: Sequence[numpy.ndarray]) -> tuple[Arrays, Arrays]:
        inputs = [slot for slot in case.arrays if isinstance(slot, int) or slot in case.slots]
        if not inputs:
            raise Unsupported("none of its inputs is an array")
        arrays = case.replaced({slot: new_array(cls, case.arrays[slot].copy()) for slot in inputs})
        variables: list[Any] = arrays.variables
        gradients = [new_array(cls, numpy.zeros_like(variable._data)) for variable in variables]
        for variable, gradient in zip(variables, gradients, strict=True):
            variable._node = Leaf(variable._data, gradient)
        with Scope(True, None):
            answer, states = arrays.run()
        outputs = answer if isinstance(answer, (tuple, list)) else (answer,)
        heads = [(y, g.reshape(y._data.shape)) for y, g in zip(outputs, upstream, strict=True) if y._node is not None]
        if heads:
            backward([head for head, _ in heads], [start for _, start in heads], train_mode=state.training)
        return [*as_outputs(answer), *states], [gradient._data for gradient in gradients]

    return run


def recorded(kind: str) -> Runner:
    """Return the runner for the array class that is registered for 'numpy' or 'mxnet' when it runs."""
    return lambda case, upstream: record_on(FRONT_ENDS[kind])(case, upstream)


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
    answer, states = named.run()
    return [*as_outputs(answer), *states], named.gradients(upstream)


def under_autograd(case: Case, upstream: Sequence[numpy.ndarray]) -> tuple[Arrays, Arrays]:
    """Run the call inside HIPS autograd's reverse mode."""
    outputs = as_outputs(case.call())
    if not case.slots:
        raise Unsupported("nothing to differentiate")
    level = trace_stack.top
    try:
        pull, _ = autograd.make_vjp(case.function, tuple(range(len(case.slots))))(*case.variables)
        return outputs, as_outputs(pull(tuple(upstream) if len(upstream) > 1 else upstream[0]))
    finally:
        trace_stack.top = level  # autograd leaves it raised after an exception


register_mode("recorded ndarray", recorded("numpy"))
register_mode("recorded NDArray", recorded("mxnet"))
register_mode("by keyword", by_keyword)
register_mode("HIPS autograd", under_autograd)
