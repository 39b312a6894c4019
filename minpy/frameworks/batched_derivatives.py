"""Derivatives of an operator for many examples at once, by what `op.def_batch` says: for vmap of other frameworks."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy

from minpy.batching import operator_calls
from minpy.core.array import raw_of
from minpy.core.user_functions import read_only
from minpy.differentiation import recorded_run
from minpy.frameworks.derivatives import PULL, Derivative
from minpy.frameworks.inference import ArraySpec, InferredOutputs

__all__ = ["BatchedDerivative", "call_batched", "derivative_of_spec"]

_PREFIX = "batched "


class BatchedDerivative(Derivative):
    """A derivative of an operator for many examples, by its batch rule: each value has an axis of examples in front.

    Its own derivatives are those of the function of all examples: their values and what they return have that axis.

    Examples
    --------
    >>> import numpy as np
    >>> import minpy
    >>> @minpy.customop('numpy')
    ... def total(x):
    ...     return np.sum(x)
    >>> @total.def_batch()
    ... def total_of_batch(batch_size, in_axes, x):
    ...     return np.sum(x, axis=1), 0
    >>> batched = BatchedDerivative(total)
    >>> batched(np.ones((2, 3)))
    [array([3., 3.])]
    >>> batched.pull([0])(np.array([1.0, 2.0]), np.array([3.0, 3.0]), np.ones((2, 3)))
    [array([[1., 1., 1.],
           [2., 2., 2.]])]
    """

    has_examples = True

    @classmethod
    def of(cls, derivative: Derivative) -> BatchedDerivative:
        """Return the one for many examples of what a derivative computes for each."""
        return cls(
            derivative.operator,
            derivative.attributes,
            derivative.num_outputs,
            derivative.returns_tuple,
            derivative.absent,
            derivative.chain,
        )

    @property
    def each(self) -> Derivative:
        """What it computes for each example."""
        return Derivative(self.operator, self.attributes, self.num_outputs, self.returns_tuple, self.absent, self.chain)

    def _with(self, chain: Sequence[tuple[str, Sequence[int]]]) -> Derivative:
        return BatchedDerivative(
            self.operator, self.attributes, self.num_outputs, self.returns_tuple, self.absent, chain
        )

    @property
    def spec(self) -> str:
        """Which derivative it is, as text: see `derivative_of_spec`."""
        return _PREFIX + super().spec

    def __call__(self, *raws: Any) -> list[numpy.ndarray]:
        """Return what it gives for raw arrays: fresh arrays in C order, which share memory with nothing."""
        return [numpy.array(raw_of(part), order="C") for part in self.function()(*map(read_only, raws))]

    def function(self) -> Callable[..., tuple[Any, ...]]:
        """Return it as a function of arrays, raw or recorded by the tape, that returns a tuple."""
        return lambda *values: _function(self, values[0].shape[0])(*values)

    def infer_outputs(self, specs: Sequence[Any]) -> InferredOutputs:
        """Return what the operator returns for examples along the first axis of inputs of these shapes."""
        inferred = super().infer_outputs([ArraySpec(tuple(spec.shape)[1:], spec.dtype) for spec in specs])
        count = specs[0].shape[0]
        outputs = tuple([ArraySpec((count, *spec.shape), spec.dtype) for spec in inferred])
        return InferredOutputs(outputs, inferred.returns_tuple, inferred.source, inferred.is_guess)


def derivative_of_spec(operator: Any, spec: str) -> Derivative:
    """Return the derivative of an operator that a text means, for one example or many; the same one for the same text.

    Examples
    --------
    >>> from minpy.core import Operator
    >>> negative = Operator(numpy.negative, name='negative')
    >>> derivative_of_spec(negative, BatchedDerivative(negative).spec).has_examples
    True
    """
    return _batched_of_spec(operator, spec) if spec.startswith(_PREFIX) else Derivative.from_spec(operator, spec)


@lru_cache(1024)
def _batched_of_spec(operator: Any, spec: str) -> Derivative:
    return BatchedDerivative.of(Derivative.from_spec(operator, spec.removeprefix(_PREFIX)))


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
    outputs = operator_calls.call_batched(derivative.operator, count, in_axes, inputs, dict(derivative.attributes))
    return tuple(outputs) if isinstance(outputs, (tuple, list)) else (outputs,)
