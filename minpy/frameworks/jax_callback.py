"""An operator called by JAX on the CPU: `jax.custom_vjp` over `jax.pure_callback`, order by order.

The function of each order is a `Derivative`, whose gradient is the next one. Shapes and dtypes are told while JAX
traces, so that what is wrong with them is an error of ours at the user's line; errors inside of a callback arrive as
text only.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy

from minpy.core import dispatch, user_functions
from minpy.core.array import raw_of
from minpy.core.errors import MXNetError, ShapeError
from minpy.core.operator import Operator
from minpy.core.state import state
from minpy.frameworks.batched_derivatives import call_batched
from minpy.frameworks.derivatives import Derivative
from minpy.frameworks.inference import ArraySpec, infer_outputs
from minpy.frameworks.jax_graph import is_live
from minpy.frameworks.libraries import require
from minpy.frameworks.requests import visible_count

jax: Any = require("jax")
jnp: Any = jax.numpy

__all__ = ["CallbackForm"]

_canonical = jax.dtypes.canonicalize_dtype


class CallbackForm:
    """How calls of one kind run through NumPy: `call` takes and returns arrays of JAX's.

    `reason`: why they do.
    """

    def __init__(
        self,
        op: Any,
        specs: Sequence[ArraySpec],
        absent: Sequence[int],
        attributes: dict[str, Any],
        batch: str,
        reason: str,
    ) -> None:
        inputs: list[Any] = list(specs)
        for position in absent:
            inputs.insert(position, None)
        self.reason: str | None = reason
        inferred = infer_outputs(op, inputs, attributes)
        self.visible = visible_count(op, attributes, len(inferred))
        self.returns_tuple = inferred.returns_tuple if op.visible_outputs is None else self.visible > 1
        self._op = op
        self._is_guess = inferred.is_guess
        self._outputs = [ArraySpec(spec.shape, _canonical(spec.dtype)) for spec in inferred]
        self._specs = [ArraySpec(spec.shape, _canonical(spec.dtype)) for spec in specs]
        # What `def_batch` says goes before a loop over the examples; not before what the caller says.
        self._has_rule = op.batch_rule is not None and batch == "sequential"
        self._batch = "broadcast_all" if self._has_rule else batch
        self._functions: dict[Any, Any] = {}
        self._rules = _rules_of(op)
        returns_tuple = inferred.returns_tuple or len(inferred) > 1
        self.call = self._function(Derivative(op, attributes, len(inferred), returns_tuple, absent))

    def is_current(self) -> bool:
        """Tell whether the rules are those that it was made for; the function is called as it is now."""
        return self._rules == _rules_of(self._op)

    # -- orders --------------------------------------------------------------------------------------------------------

    def _function(self, derivative: Derivative) -> Any:
        """Return a derivative as a function of JAX's."""
        function = self._functions.get(derivative.chain)
        if function is None:
            function = self._functions[derivative.chain] = self._made(derivative)
        return function

    def _made(self, derivative: Derivative) -> Any:
        returned = self._returned(derivative)
        structs = tuple(jax.ShapeDtypeStruct(spec.shape, spec.dtype) for spec in returned)
        passed, host = self._host(derivative, returned)

        def call(*values: Any) -> tuple[Any, ...]:
            if not structs:
                return ()
            passed_values = [values[position] for position in passed]
            results: tuple[Any, ...] = jax.pure_callback(host, structs, *passed_values, vmap_method=self._batch)
            return results

        function = jax.custom_vjp(call)

        def forward(*primals: Any) -> tuple[Any, Any]:
            values = tuple(primal.value for primal in primals)
            needed = tuple(
                position
                for position, primal in enumerate(primals)
                if primal.perturbed and jnp.issubdtype(primal.value.dtype, jnp.inexact)
            )
            live = _Live(self._with_gradient(derivative, needed), len(values))
            results = function(*values)
            return results, (live, values, results if not derivative.chain else ())

        def backward(residuals: Any, cotangents: Any) -> tuple[Any, ...]:
            live, values, results = residuals
            gradients: list[Any] = [None] * live.count
            if live.positions:
                upstream = [
                    cotangent if is_live(cotangent) else jnp.zeros(spec.shape, spec.dtype)
                    for cotangent, spec in zip(cotangents, returned, strict=True)
                ]
                pull = self._function(derivative.pull(live.positions))
                for position, part in zip(live.positions, pull(*upstream, *results, *values), strict=True):
                    gradients[position] = part
            return tuple(gradients)

        function.defvjp(forward, backward, symbolic_zeros=True)
        return function

    def _host(self, derivative: Derivative, returned: Sequence[ArraySpec]) -> tuple[Sequence[int], Any]:
        """Return (the positions of the values that are handed over, what is called with them).

        Each array takes JAX longer than the function takes for a small one: a rule gets those that it reads.
        """
        is_single = self._batch == "sequential"
        specs = self._values(derivative)
        if self._has_rule:
            return range(len(specs)), functools.partial(_run_for_batches, derivative, specs, returned)
        everything = range(len(specs))
        if not derivative.chain and is_single and not derivative.returns_tuple and isinstance(self._op, Operator):
            return everything, functools.partial(_run_forward, derivative, returned)
        if not (derivative.reads_outputs and is_single and isinstance(self._op, Operator)):
            return everything, functools.partial(_run, derivative, returned, is_single)
        count = derivative.num_outputs
        indices = [derivative.input_position(position) for position in derivative.chain[0][1]]
        inputs_read, reads_outputs = self._op.values_read(indices)
        passed = [
            position
            for position in everything
            if position < count
            or (position < 2 * count and reads_outputs)
            or (position >= 2 * count and self._is_read(derivative, position - 2 * count, inputs_read))
        ]
        return passed, _FirstPull(derivative, returned, specs, passed, indices)

    @staticmethod
    def _is_read(derivative: Derivative, position: int, inputs_read: Any) -> bool:
        return inputs_read is None or derivative.input_position(position) in inputs_read

    def _with_gradient(self, derivative: Derivative, positions: Sequence[int]) -> tuple[int, ...]:
        """Return which of some values have a gradient; raise where a rule is missing."""
        if derivative.chain:
            second_order_error = self._op.second_order_error()
            if positions and second_order_error is not None:
                raise second_order_error
            return tuple(positions)
        live = []
        for position in positions:
            index = derivative.input_position(position)
            if self._op.is_zero(index):
                continue
            if not self._op.has_rule(index):
                raise self._op.missing_rule(index)
            live.append(position)
        return tuple(live)

    def _returned(self, derivative: Derivative) -> list[ArraySpec]:
        """Return the shapes and dtypes that JAX is told."""
        if derivative.lower is None:
            return self._outputs
        values = self._values(derivative)[derivative.offset :]
        return [values[position] for position in derivative.chain[-1][1]]

    def _values(self, derivative: Derivative) -> list[ArraySpec]:
        """Return the shapes and dtypes of a derivative's values."""
        if derivative.lower is None:
            return self._specs
        below = self._values(derivative.lower)
        outputs = self._outputs if derivative.reads_outputs else []
        return [*self._returned(derivative.lower), *outputs, *below]


def _run(derivative: Derivative, returned: Sequence[ArraySpec], is_single: bool, *values: Any) -> tuple[Any, ...]:
    """Return what a derivative gives for the arrays that JAX hands over, which may be its own."""
    results: Any = derivative.function()(*map(numpy.asarray, values))
    if len(results) != len(returned):
        results = derivative(*map(numpy.asarray, values))  # says what is wrong
    arrays = []
    for index, (result, spec) in enumerate(zip(results, returned, strict=True)):
        result = numpy.asarray(raw_of(result))
        shape = result.shape if is_single else result.shape[result.ndim - len(spec.shape) :]
        if shape != spec.shape:
            raise ShapeError(
                f"{derivative.operator.__name__}: output {index} has shape {result.shape}; JAX was told {spec.shape}, "
                "as the function gives for arrays of ones, or its shape rule says. Shapes cannot hang on values there: "
                "return arrays of one size, and say it with def_shape."
            )
        arrays.append(numpy.asarray(result, spec.dtype, order="C"))
    return tuple(arrays)


def _run_forward(derivative: Derivative, returned: Sequence[ArraySpec], *values: Any) -> tuple[Any, ...]:
    """Return what an operator with one output gives, without a look at what it is not: as `_run`, in less time."""
    if not derivative.absent:
        result = dispatch.run(derivative.operator, [numpy.asarray(value) for value in values], derivative.attributes)
        if type(result) is numpy.ndarray and (result.shape, result.dtype) == returned[0] and result.flags.c_contiguous:
            return (result,)
    return _run(derivative, returned, True, *values)


def _run_for_batches(
    derivative: Derivative, specs: Sequence[ArraySpec], returned: Sequence[ArraySpec], *values: Any
) -> tuple[Any, ...]:
    """Return what a derivative gives for one example, or for all of a batch at once."""
    arrays = [numpy.asarray(value) for value in values]
    if not arrays or arrays[0].ndim == len(specs[0].shape):
        return _run(derivative, returned, True, *arrays)
    results = call_batched(derivative, specs, returned, arrays)
    return tuple(numpy.asarray(result, spec.dtype, order="C") for result, spec in zip(results, returned, strict=True))


def _rules_of(operator: Any) -> tuple[Any, Any]:
    """Return the gradient rules of an operator, to be compared."""
    return [*operator.rules], [*operator.multiple_rules]


class _FirstPull:
    """A gradient rule as JAX calls it: on the arrays that it reads, zeros without memory in the place of the others."""

    def __init__(
        self,
        derivative: Derivative,
        returned: Sequence[ArraySpec],
        specs: Sequence[ArraySpec],
        passed: Sequence[int],
        indices: Sequence[int],
    ) -> None:
        self._derivative, self._returned, self._passed = derivative, returned, passed
        self._values: list[Any] = [numpy.broadcast_to(numpy.zeros((), spec.dtype), spec.shape) for spec in specs]
        self._indices = list(indices)
        self._rules = _rules_of(derivative.operator)
        self._is_plain = len(set(indices)) == len(indices) and not derivative.absent

    def __call__(self, *passed_values: Any) -> tuple[Any, ...]:
        values = self._values.copy()
        for position, value in zip(self._passed, passed_values, strict=True):
            values[position] = numpy.asarray(value)
        derivative, operator = self._derivative, self._derivative.operator
        if operator.rules != self._rules[0] or operator.multiple_rules != self._rules[1]:
            raise MXNetError(
                f"{operator.__name__} has another gradient rule than when JAX traced it, which may read what it is not "
                "given. Trace it again: call jax.clear_caches()."
            )
        if self._is_plain and not state.recording and operator.kind == "numpy":
            count = derivative.num_outputs
            inputs = tuple(  # what JAX hands over is read-only already
                [user_functions.read_only(value) if value.flags.writeable else value for value in values[count:]]
            )
            if derivative.returns_tuple:
                upstream, outputs = tuple(values[:count]), inputs[:count]
            else:
                upstream, outputs = values[0], inputs[0]
            parts = operator.vjp(outputs, inputs[count:], dict(derivative.attributes), upstream, self._indices)
            if all(
                type(part) is numpy.ndarray and part.shape == spec.shape and part.dtype == spec.dtype
                for part, spec in zip(parts, self._returned, strict=True)
            ):
                return tuple(parts)
        return _run(derivative, self._returned, True, *values)


class _Live:
    """Which values get a gradient: among residuals, and no array."""

    __slots__ = ("count", "positions")

    def __init__(self, positions: tuple[int, ...], count: int) -> None:
        self.positions = positions
        self.count = count


jax.tree_util.register_pytree_node(
    _Live, lambda live: ((), (live.positions, live.count)), lambda facts, _: _Live(*facts)
)
