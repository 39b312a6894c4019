"""An operator as a graph of PyTensor's: its traced steps as functions of `pytensor.tensor`, with its own rules."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import numpy

from minpy.core.errors import NotTraceableError
from minpy.frameworks.inference import ArraySpec
from minpy.frameworks.tracing import TracedOperator, TracedSteps
from minpy.frameworks.translation import translate

__all__ = ["graph_of"]


def graph_of(
    operator: Any, variables: Sequence[Any], absent: Sequence[int], attributes: dict[str, Any]
) -> tuple[list[Any], bool]:
    """Return (what an operator gives for variables of known shapes, whether callers get a list).

    It is one node, which PyTensor replaces by the steps when it compiles. Its gradient is that of the operator's rules,
    which PyTensor differentiates further.

    Raises
    ------
    NotTraceableError
        Where lengths are not known, the function or a rule does not trace, or PyTensor has no equal of a step.
    """
    from pytensor.compile.builders import OpFromGraph

    name = operator.__name__
    if any(None in variable.type.shape for variable in variables):
        shown = ", ".join(str(variable.type.shape) for variable in variables)
        raise NotTraceableError(
            f"{name}: a graph is made for arrays of known shapes, and those of its inputs are {shown}. Say them: "
            "pt.tensor(shape=(4, 3))."
        )
    inputs: list[Any] = [ArraySpec(v.type.shape, numpy.dtype(v.type.dtype)) for v in variables]
    for position in absent:
        inputs.insert(position, None)
    traced = TracedOperator(operator, inputs, attributes)
    if traced.reason is not None:
        raise NotTraceableError(traced.reason)
    if operator.visible_outputs is not None:
        raise NotTraceableError(f"{name} has outputs that callers do not see.")
    positions = [position for position in range(len(inputs)) if position not in absent]
    inner = [variable.type() for variable in variables]
    outputs = _applied(traced.forward, inner)
    floats = [index for index, output in enumerate(outputs) if _is_float(output)]
    integers = [index for index in range(len(outputs)) if index not in floats]
    live = traced.differentiable
    if live and floats:  # now, so that what has no equal is found out
        _applied(traced.vjp(live), [*[output.type() for output in outputs] * 2, *inner])

    def pullback(values: Sequence[Any], results: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
        return _pulled(traced, positions, floats, values, results, cotangents)

    keyword = "pullback" if "pullback" in inspect.signature(OpFromGraph.__init__).parameters else "lop_overrides"
    made: dict[int, Any] = {}
    if floats:
        connected = [
            [_is_float(variable) and not operator.is_zero(position)] * len(floats)
            for variable, position in zip(variables, positions, strict=True)
        ]
        options = {"connection_pattern": connected, keyword: pullback}
        node = OpFromGraph(inner, [outputs[index] for index in floats], inline=True, name=name, **options)
        made.update(zip(floats, node(*variables, return_list=True), strict=True))
    if integers:  # apart: gradients of nodes that give integers, too, are refused
        made.update(zip(integers, [_applied(traced.forward, variables)[index] for index in integers], strict=True))
    return [made[index] for index in range(len(outputs))], traced.returns_tuple


def _is_float(variable: Any) -> bool:
    return numpy.dtype(variable.type.dtype).kind in "fc"


def _pulled(
    traced: TracedOperator,
    positions: Sequence[int],
    floats: Sequence[int],
    values: Sequence[Any],
    results: Sequence[Any],
    cotangents: Sequence[Any],
) -> list[Any]:
    import pytensor.tensor as pt
    from pytensor.gradient import DisconnectedType, disconnected_type, grad_undefined

    live = traced.differentiable
    outputs = _applied(traced.forward, values)
    heads = [pt.zeros_like(output) for output in outputs]
    for index, result, cotangent in zip(floats, results, cotangents, strict=True):
        outputs[index] = result
        if not isinstance(cotangent.type, DisconnectedType):
            heads[index] = pt.cast(cotangent, result.type.dtype)
    parts = dict(zip(live, _applied(traced.vjp(live), [*heads, *outputs, *values]), strict=True)) if live else {}
    gradients = []
    operator = traced.operator
    for index, (position, value) in enumerate(zip(positions, values, strict=True)):
        if position in parts:
            gradients.append(parts[position])
        elif operator.has_rule(position) or not _is_float(value):
            gradients.append(disconnected_type())
        else:
            gradients.append(grad_undefined(operator, index, value, str(operator.missing_rule(position))))
    return gradients


def _applied(steps: TracedSteps, variables: Sequence[Any]) -> list[Any]:
    """Return what steps compute of variables, in the dtypes that were traced."""
    import pytensor.tensor as pt

    function = translate(steps, "pytensor")
    try:
        results = function(*variables)
    except (TypeError, ValueError, NotImplementedError, AttributeError) as error:
        raise NotTraceableError(
            f"{steps.name}: PyTensor does not take a step: {type(error).__name__}: {error}"
        ) from error
    return [
        pt.cast(pt.as_tensor_variable(result), spec.dtype.name)
        for result, spec in zip(results, steps.output_specs, strict=True)
    ]
