"""What a traced step calls: the function of NumPy's, and its arguments with operands in the place of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from minpy.capture import steps as capture_steps
from minpy.capture.noting import in_container
from minpy.core.operator import Operator
from minpy.frameworks.dialects import Operand
from minpy.frameworks.inference import ArraySpec
from minpy.frameworks.tracing import TracedSteps
from minpy.graph.ir import Node, Value

__all__ = ["arguments_of", "called", "is_defined", "spec_of_value"]


def spec_of_value(steps: TracedSteps, value: Value) -> ArraySpec:
    """Return the shape and dtype of a value, or of all that a step returns where its outputs are not told apart."""
    try:
        return steps.spec(value)
    except KeyError:
        return steps.spec(Value(value.node))


def called(steps: TracedSteps, node: Node) -> tuple[Any, bool]:
    """Return (the function of NumPy's, or of captures', that a step calls; whether it returns a tuple or list)."""
    operator = node.operator
    several = len(node.output_names()) > 1
    if isinstance(operator, capture_steps.Step):
        names = operator.outputs
        return operator.function, several or (isinstance(names, list) and names[:1] == ["output0"])
    function = steps.function(node)
    if function is None and isinstance(operator.forward, numpy.ufunc):
        function = operator.forward
    return function, several


def is_defined(operator: Any, function: Any) -> bool:
    """Tell whether an operator's definition says more than the function that it is."""
    return type(operator) is Operator and operator.definition is not function


def arguments_of(node: Node, function: Any, inputs: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments of a step's call, with operands in the place of arrays."""
    operator = node.operator
    if isinstance(operator, capture_steps.Step):
        return (
            list(_filled(operator.arguments, inputs)),
            _filled(operator.keywords, inputs),
        )
    return list(inputs), dict(node.attributes)


def _filled(value: Any, inputs: Sequence[Any]) -> Any:
    """Return a nest with operands in the place of its slots: a tuple that is an operand stays one."""
    if type(value) is capture_steps.Slot:
        return inputs[value.index]
    if isinstance(value, Operand):
        return value
    if isinstance(value, (list, tuple)):
        return in_container(type(value), [_filled(part, inputs) for part in value])
    if isinstance(value, dict):
        return {key: _filled(part, inputs) for key, part in value.items()}
    return value
