"""An operator as a graph of JAX's: its traced steps as functions of `jax.numpy`, with its own rules as derivatives.

It is a `jax.custom_jvp`, whose tangent is the linear transpose of the traced gradient rule: JAX transposes it again for
reverse mode, and differentiates both for higher orders.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from minpy.core.errors import NotTraceableError
from minpy.frameworks.inference import ArraySpec
from minpy.frameworks.libraries import require
from minpy.frameworks.requests import visible_count
from minpy.frameworks.tracing import TracedOperator, TracedSteps
from minpy.frameworks.translation import translate

jax: Any = require("jax")
jnp: Any = jax.numpy

__all__ = ["GraphForm", "is_live", "zero_tangent"]


class GraphForm:
    """How calls of one kind run as a graph: `call` takes and returns arrays of JAX's.

    Raises NotTraceableError where the function or a rule does not trace, or JAX has no equal of a step.
    """

    reason = None

    def __init__(self, op: Any, specs: Sequence[ArraySpec], absent: Sequence[int], attributes: dict[str, Any]) -> None:
        self.op = op
        inputs: list[Any] = list(specs)
        for position in absent:
            inputs.insert(position, None)
        # Which of the operator's inputs each array is.
        self._positions = [position for position in range(len(inputs)) if position not in absent]
        self._traced = TracedOperator(op, inputs, attributes)
        if self._traced.reason is not None:
            raise NotTraceableError(self._traced.reason)
        self.returns_tuple = self._traced.returns_tuple
        self.visible = visible_count(op, attributes, len(self._traced.outputs))
        self._live = set(self._traced.differentiable)
        self._forward = _Part(self._traced.forward)
        self._pulls: dict[tuple[int, ...], _Part] = {}
        self._pushes: dict[int, _Part] = {}
        self._require_transposes(specs)
        self.call = jax.custom_jvp(lambda *values: self._forward(*values))
        self.call.defjvp(self._jvp, symbolic_zeros=True)

    @property
    def source(self) -> str:
        """The source of the forward function and of its gradients."""
        return "\n".join(part.source for part in (self._forward, *self._pulls.values(), *self._pushes.values()))

    def is_current(self) -> bool:
        """Tell whether all that the functions refer to is what it was when they were traced."""
        return self._traced.is_current()

    def _require_transposes(self, specs: Sequence[ArraySpec]) -> None:
        """Raise a NotTraceableError for a rule that JAX does not take for linear in the gradient from above."""
        primals = [jax.ShapeDtypeStruct(spec.shape, jax.dtypes.canonicalize_dtype(spec.dtype)) for spec in specs]
        outs = jax.eval_shape(self._forward.function, *primals, *self._forward.steps.captured_arrays())
        for at, position in enumerate(self._positions):
            if position in self._live:
                try:
                    jax.eval_shape(
                        lambda tangent, outs, values, at=at: self._pushed([at], [tangent], outs, values),
                        primals[at],
                        outs,
                        primals,
                    )
                except NotTraceableError:
                    raise
                except Exception as error:
                    raise NotTraceableError(
                        f"gradient of {self.op.__name__} for {self.op.argument_name(position)}: JAX does not take it "
                        f"for linear in the gradient from above: {type(error).__name__}: {error}"
                    ) from error

    def _jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        outs = self.call(*primals)
        live = []
        for at, (position, tangent) in enumerate(zip(self._positions, tangents, strict=True)):
            if is_live(tangent) and not self.op.is_zero(position):
                if position not in self._live:
                    raise self.op.missing_rule(position)
                live.append(at)
        return outs, self._pushed(live, [tangents[at] for at in live], outs, primals)

    def _pushed(
        self, at: Sequence[int], tangents: Sequence[Any], outs: Sequence[Any], values: Sequence[Any]
    ) -> tuple[Any, ...]:
        """Return the tangents of the outputs for those of the values at some places."""
        floating = [index for index, out in enumerate(outs) if jnp.issubdtype(out.dtype, jnp.inexact)]
        totals: list[Any] = [None] * len(outs)
        direct = [place for place in at if self._positions[place] in self.op.jvp_rules]
        transposed = [place for place in at if place not in direct]
        by_place = dict(zip(at, tangents, strict=True))
        for place in direct:
            parts = self._push(self._positions[place])(by_place[place], *outs, *values)
            for index in floating:
                totals[index] = parts[index] if totals[index] is None else totals[index] + parts[index]
        if transposed and floating:
            pull = self._pull(tuple(self._positions[place] for place in transposed))

            def linear(*cotangents: Any) -> Any:
                given = dict(zip(floating, cotangents, strict=True))
                upstream = [given[index] if index in given else jnp.zeros_like(out) for index, out in enumerate(outs)]
                return pull(*upstream, *outs, *values)

            shapes = [jax.ShapeDtypeStruct(outs[index].shape, outs[index].dtype) for index in floating]
            parts = jax.linear_transpose(linear, *shapes)(tuple(by_place[place] for place in transposed))
            for index, part in zip(floating, parts, strict=True):
                totals[index] = part if totals[index] is None else totals[index] + part
        return tuple(zero_tangent(out) if total is None else total for out, total in zip(outs, totals, strict=True))

    def _pull(self, positions: tuple[int, ...]) -> _Part:
        if positions not in self._pulls:
            self._pulls[positions] = _Part(self._traced.vjp(positions))
        return self._pulls[positions]

    def _push(self, position: int) -> _Part:
        if position not in self._pushes:
            self._pushes[position] = _Part(self._traced.jvp(position))
        return self._pushes[position]


class _Part:
    """Steps as a function of JAX's, compiled; arrays that they read outside are fetched at each call."""

    def __init__(self, steps: TracedSteps) -> None:
        self.steps = steps
        self.function = translate(steps, "jax")
        self.source: str = self.function.source
        self._run = jax.jit(self.function)

    def __call__(self, *values: Any) -> tuple[Any, ...]:
        results: tuple[Any, ...] = self._run(*values, *self.steps.captured_arrays())
        return results


def is_live(tangent: Any) -> bool:
    """Tell whether a tangent is none of those that stand for zero."""
    return not isinstance(tangent, jax.custom_derivatives.SymbolicZero) and tangent.dtype != jax.dtypes.float0


def zero_tangent(primal: Any) -> Any:
    """Return the tangent of an array that does not change."""
    if jnp.issubdtype(primal.dtype, jnp.inexact):
        return jnp.zeros_like(primal)
    return numpy.zeros(primal.shape, jax.dtypes.float0)
