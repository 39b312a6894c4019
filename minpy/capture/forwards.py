"""Users' operators captured: what the forward function of a `@customop` computes, as nodes of a program."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy

from minpy.capture import steps
from minpy.capture.abstract_evaluation import Fact
from minpy.capture.captured_run import run_captured
from minpy.capture.nd_proxy import NDArrayProxy, unwrapped, wrapped
from minpy.capture.noting import constant, operand, output_proxy
from minpy.capture.places import CaptureRefused
from minpy.capture.proxy import ArrayProxy
from minpy.capture.reads import CONSTANT_TYPES, Reads, attribute
from minpy.capture.recorder import Recorder
from minpy.capture.shadow import ShadowFunctions
from minpy.capture.values import BaseArrayProxy
from minpy.core.array import Shaped
from minpy.core.operator import Operator
from minpy.differentiation.trees import leaves_of
from minpy.graph.builder import GraphBuilder
from minpy.graph.ir import CONSTANT, Node, Value

__all__ = [
    "capture_forward",
    "captured_facts",
    "definition_of",
    "facts_of",
    "input_proxy",
    "is_customop",
    "operator_argument",
    "plain_attributes",
]


def definition_of(operator: Any) -> Any:
    """Return the function that is captured: the one place that says which form of an operator is its definition."""
    return operator.definition


def is_customop(operator: Any) -> bool:
    """Tell whether it is a function of a user's and its rules, and nothing else: what can be read.

    So is a built-in operator that is nothing but a composition of others.
    """
    return (type(operator) is Operator and not operator.builtin) or operator.expands


def input_proxy(recorder: Recorder, value: Value, shape: Any, dtype: Any) -> Any:
    """Return what a captured function gets for an input: a proxy, or a number that is a constant."""
    if value.node.operator is CONSTANT:
        constant_value = value.node.attributes["value"]
        if not isinstance(constant_value, numpy.ndarray):  # a number; or an instance, `self`
            return constant_value
        return ArrayProxy.from_outside(recorder, value, constant_value.shape, constant_value.dtype)
    if shape is None or dtype is None:
        raise recorder.refuse("the shape or the dtype of an input is not known")
    return ArrayProxy.from_outside(recorder, value, shape, dtype)


def plain_attributes(recorder: Recorder, attributes: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes of a call, lists copied; refuse arrays, and what else is not compared."""
    for name, value in attributes.items():
        if not all(isinstance(leaf, (*CONSTANT_TYPES, type)) for leaf in leaves_of(value)):
            raise recorder.refuse(f"the attribute {name} is a {type(value).__name__}")
    copied: dict[str, Any] = steps.fill(attributes, ())
    return copied


def capture_forward(
    recorder: Recorder, reads: Reads, operator: Any, inputs: Sequence[Any], attributes: dict[str, Any]
) -> list[ArrayProxy]:
    """Return what a user's operator returns, one proxy an output, in memory of its own."""
    if not is_customop(operator):
        raise recorder.refuse(f"it is a {type(operator).__name__}, which has states of its own")
    has_kernel = operator.forward is not definition_of(operator) and not getattr(operator.forward, "is_program", False)
    if operator.visible_outputs is not None or has_kernel:
        raise recorder.refuse("it has outputs that callers do not see, or a kernel")
    in_mxnet = operator.kind == "mxnet"
    shadow = ShadowFunctions(recorder, reads, "forward", wrapped if in_mxnet else None)
    reads.note("forward", attribute, operator, "definition", definition_of(operator))
    values = [wrapped(value) for value in inputs] if in_mxnet else list(inputs)
    try:
        values = [
            operator_argument(shadow, value, operator.argument_name(position)) for position, value in enumerate(values)
        ]
        function = shadow.function(definition_of(operator))
        result = run_captured(recorder, shadow.run, function, values, plain_attributes(recorder, attributes))
    finally:
        shadow.close()
    result = unwrapped(result) if in_mxnet else result
    results = list(result) if isinstance(result, (tuple, list)) else [result]
    if operator.guarded and (operator.notes_arrays or isinstance(result, (tuple, list))):
        operator.note_outputs(len(results) if isinstance(result, (tuple, list)) else 0, attributes)
    outputs: list[ArrayProxy] = []
    for output in results:
        outputs.append(run_captured(recorder, _output, recorder, output, outputs))
    return outputs


def operator_argument(shadow: ShadowFunctions, value: Any, name: str) -> Any:
    """Return what a captured operator, or its rule, gets for an argument: of an object, what is read is noted."""
    if isinstance(value, (BaseArrayProxy, NDArrayProxy, Shaped)):
        return value
    return _part(shadow, value, name) if isinstance(value, (list, tuple, dict)) else shadow.shadow_of(value, name)


def _part(shadow: ShadowFunctions, value: Any, name: str) -> Any:
    if isinstance(value, (list, tuple, dict)):
        return shadow.argument(value, functools.partial(_part, shadow), name)
    if isinstance(value, (BaseArrayProxy, NDArrayProxy)):
        return value
    if not isinstance(value, (type, *CONSTANT_TYPES)):
        raise shadow.refuse(f"{name} is a {type(value).__name__}, which is compared only as an argument itself")
    return shadow.shadow_of(value, name)


def captured_facts(node: Node, facts: Sequence[tuple[Any, Any]], reads: Reads | None = None) -> list[Fact] | None:
    """Return what the outputs of a user's operator are for inputs of these shapes and dtypes; None: run it to know.

    `reads` notes what that rests on.
    """
    try:
        return facts_of(node, facts, reads or Reads())
    except CaptureRefused:
        return None


def facts_of(node: Node, facts: Sequence[tuple[Any, Any]], reads: Reads) -> list[Fact]:
    """Return the facts of the outputs of a user's operator for inputs of these shapes and dtypes, or refuse it."""
    recorder = Recorder(GraphBuilder(), node.name, ArrayProxy)
    inputs = [
        input_proxy(recorder, value, shape, dtype) for value, (shape, dtype) in zip(node.inputs, facts, strict=True)
    ]
    attributes = {**node.attributes, "training": False} if node.operator.uses_training else node.attributes
    results = capture_forward(recorder, reads, node.operator, inputs, attributes)
    return [result.fact for result in results]


def _output(recorder: Recorder, result: Any, earlier: Sequence[ArrayProxy]) -> ArrayProxy:
    if not isinstance(result, (BaseArrayProxy, bool, int, float, complex, numpy.generic, numpy.ndarray)):
        raise recorder.refuse(f"it returns a {type(result).__name__}")
    result = operand(recorder, result)
    if not isinstance(result, ArrayProxy):
        result = constant(recorder, numpy.asarray(result))
    node = result.value.node
    shared = result.is_view or node.operator in (None, CONSTANT) or node not in recorder.places
    if shared or any(output.value == result.value for output in earlier):
        copy = steps.make_step(numpy.array, (steps.Slot(0),), {})
        return output_proxy(recorder, recorder.node(copy, [result.value]), result.fact)
    return result
