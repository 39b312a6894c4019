"""Derivatives of an operator for many examples at once, by what `op.def_batch` says: for vmap of other frameworks."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from minpy.core.array import raw_of
from minpy.differentiation import recorded_run
from minpy.frameworks.derivatives import PULL, Derivative
from minpy.frameworks.inference import ArraySpec

__all__ = ["call_batched"]


def call_batched(
    derivative: Derivative, specs: Sequence[ArraySpec], returned: Sequence[ArraySpec], values: Sequence[numpy.ndarray]
) -> list[Any]:
    """Return what a derivative gives for many examples.

    Parameters
    ----------
    derivative : Derivative
        Of an operator with a `batch_rule`.
    specs, returned : sequence of ArraySpec
        What one example's values are, and what is returned for them.
    values : sequence of ndarray
        With the same leading axes each, those of the examples.
    """
    lead = values[0].shape[: values[0].ndim - len(specs[0].shape)]
    if derivative.operator.batch_rule == "elementwise":
        most = max([len(spec.shape) for spec in (*specs, *returned)], default=0)
        aligned = [
            value.reshape(lead + (1,) * (most - len(spec.shape)) + spec.shape)
            for value, spec in zip(values, specs, strict=True)
        ]
        results = [raw_of(part) for part in derivative.function()(*aligned)]
    else:
        count = math.prod(lead)
        flat = [value.reshape(count, *spec.shape) for value, spec in zip(values, specs, strict=True)]
        results = [raw_of(part) for part in _function(derivative, count)(*flat)]
    return [numpy.asarray(part).reshape(lead + spec.shape) for part, spec in zip(results, returned, strict=True)]


def _function(derivative: Derivative, count: int) -> Callable[..., tuple[Any, ...]]:
    """Return a derivative as a function of arrays with an axis of examples in front.

    As examples have nothing to do with each other, the derivatives of the function of all of them are those of each.
    """
    lower = derivative.lower
    if lower is None:
        return lambda *values: _forward(derivative, count, values)
    function, positions, offset = _function(lower, count), derivative.chain[-1][1], derivative.offset
    if derivative.chain[-1][0] == PULL:
        upstream = lower.num_returned
        return lambda *values: tuple(recorded_run.vjp(function, values[offset:], positions)[1](values[:upstream]))
    return lambda *values: tuple(recorded_run.jvp(function, values[offset:], positions, values[:offset])[1])


def _forward(derivative: Derivative, count: int, values: Sequence[Any]) -> tuple[Any, ...]:
    inputs: list[Any] = list(values)
    for position in derivative.absent:
        inputs.insert(position, None)
    in_axes = tuple(None if value is None else 0 for value in inputs)
    outputs, out_axes = derivative.operator.batch_rule(count, in_axes, *inputs, **derivative.attributes)
    if not isinstance(outputs, (tuple, list)):
        outputs, out_axes = (outputs,), (out_axes,)
    elif not isinstance(out_axes, (tuple, list)):
        out_axes = (out_axes,) * len(outputs)
    return tuple(
        numpy.broadcast_to(output, (count, *output.shape)) if axis is None else numpy.moveaxis(output, axis, 0)
        for output, axis in zip(outputs, out_axes, strict=True)
    )
