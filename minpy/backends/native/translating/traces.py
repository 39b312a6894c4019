"""Traces: definitions and gradient rules of operators run on proxies, as calls of further operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy

from minpy.backends.native.language import Array
from minpy.backends.native.translating.results import NotLowered
from minpy.capture.abstract_evaluation import VALUE_BASED, Fact
from minpy.capture.captured_run import run_captured
from minpy.capture.forwards import definition_of
from minpy.capture.noting import constant
from minpy.capture.places import CaptureRefused
from minpy.capture.proxy import ArrayProxy
from minpy.capture.recorder import Recorder
from minpy.capture.rule_capture import RuleCall, capture_rule
from minpy.capture.steps import frozen
from minpy.core.array import Shaped
from minpy.graph.builder import GraphBuilder
from minpy.graph.gradient import VjpNode
from minpy.graph.ir import ANSWER, CONSTANT, Node, Value, variable
from minpy.graph.lowering import used

__all__ = ["Trace", "Traces"]

# An operator whose definition takes more steps than this is called: loops that are unrolled.
_MAX_STEPS = 400


class Trace(NamedTuple):
    """The calls of operators by which a function computes its outputs."""

    inputs: list[Any]  # for each argument its value; None where it is no array
    nodes: list[Node]  # in an order in which they can be run
    outputs: list[Any]  # Values, or arrays and numbers that depend on no argument
    is_single: bool  # whether the result is one array, and no tuple
    facts: Mapping[Value, tuple[tuple[int, ...], Any]]  # shape and dtype of what nodes give
    updates: list[tuple[int, Value]]  # positions of arguments that the function changes, and their new values


class Traces:
    """Makes traces, one for all calls with the same key."""

    def __init__(self) -> None:
        self._traces: dict[Any, Trace | NotLowered] = {}

    def definition(
        self, operator: Any, operands: Sequence[Any], attributes: dict[str, Any], function: Any = None
    ) -> Trace:
        """Return the trace of an operator's definition, or of a function in its place.

        Raises NotLowered if it cannot be captured.
        """
        return self._cached(
            lambda: (operator, tuple(map(_key, operands)), frozen(attributes)),
            lambda: _definition_trace(operator, operands, attributes, function or definition_of(operator)),
        )

    def rules(self, vjp_node: VjpNode, operands: Sequence[Any]) -> Trace:
        """Return the trace of the gradient rules of an operator; `operands` are the inputs of the node.

        Raises NotLowered if one cannot be captured.
        """
        node = vjp_node.node
        constants = [value.node.attributes["value"] for value in node.inputs if value.node.operator is CONSTANT]
        return self._cached(
            lambda: (
                node.operator,
                vjp_node.requires_grad,
                vjp_node.upstream,
                tuple((item.shape, item.dtype) for item in vjp_node.placeholders),
                tuple(map(_key, operands)),
                frozen(constants),
                frozen(node.attributes),
            ),
            lambda: _rule_trace(vjp_node, operands),
        )

    def _cached(self, key_of: Callable[[], Any], make: Callable[[], Trace]) -> Trace:
        try:
            key = key_of()
            hash(key)
        except TypeError:  # an attribute that is an array
            return make()
        if key not in self._traces:
            try:
                self._traces[key] = make()
            except NotLowered as refusal:
                self._traces[key] = refusal
        result = self._traces[key]
        if isinstance(result, NotLowered):
            raise NotLowered(result.reason, result.place)
        return result


def _key(operand: Any) -> Any:
    if isinstance(operand, Array):
        value = operand.value.item() if _may_decide_dtypes(operand) else None  # type: ignore[union-attr]
        return (operand.shape, operand.dtype, frozen(value))
    if isinstance(operand, tuple):
        return tuple(map(_key, operand))
    return frozen(operand)


def _may_decide_dtypes(operand: Array) -> bool:
    """Tell whether the value of an operand is known, and may decide about dtypes."""
    return VALUE_BASED and operand.is_number


def _proxy_of(recorder: Recorder, operand: Any, is_state: bool = False) -> Any:
    """Return the proxy of an operand; a state may be changed."""
    if isinstance(operand, Array) and _may_decide_dtypes(operand):
        return constant(recorder, operand.value)
    value = variable("input")
    if is_state:
        return ArrayProxy(recorder, value, Fact(operand.shape, operand.dtype, False))
    return ArrayProxy.from_outside(recorder, value, operand.shape, operand.dtype)


def _captured(recorder: Recorder, run: Callable[[], Any]) -> Any:
    try:
        return run()
    except CaptureRefused as refusal:
        if isinstance(refusal.__cause__, NotLowered):
            raise refusal.__cause__ from None
        raise NotLowered(refusal.reason, refusal.place) from None


def _definition_trace(operator: Any, operands: Sequence[Any], attributes: dict[str, Any], function: Any) -> Trace:
    recorder = Recorder(GraphBuilder(), operator.__name__, ArrayProxy, _MAX_STEPS)
    names = operator.argument_names(len(operands))
    if operator.auxiliary:
        names = operator.input_names(attributes, len(operands))
    proxies = [
        _proxy_of(recorder, operand, name in operator.auxiliary) if isinstance(operand, Array) else operand
        for name, operand in zip(names, operands, strict=True)
    ]
    inputs = [proxy.value if isinstance(proxy, ArrayProxy) else None for proxy in proxies]
    result = _captured(recorder, lambda: run_captured(recorder, function, *proxies, **attributes))
    is_single = not isinstance(result, (tuple, list))
    updates = [
        (position, proxy.value)
        for position, proxy in enumerate(proxies)
        if isinstance(proxy, ArrayProxy) and proxy.value != inputs[position]
    ]
    return _trace(recorder, inputs, [result] if is_single else list(result), is_single, updates)


def _trace(
    recorder: Recorder, inputs: list[Any], outputs: Sequence[Any], is_single: bool, updates: list[tuple[int, Value]]
) -> Trace:
    values = [output.value if isinstance(output, ArrayProxy) else numpy.asarray(output) for output in outputs]
    live = used([value for value in (*values, *(item for _, item in updates)) if isinstance(value, Value)])
    nodes = [node for node in recorder.builder.created if node in live]
    return Trace(inputs, nodes, values, is_single, recorder.outputs, updates)


def _rule_trace(vjp_node: VjpNode, operands: Sequence[Any]) -> Trace:
    recorder = Recorder(GraphBuilder(), vjp_node.__name__, ArrayProxy, _MAX_STEPS)
    proxies = [_proxies_of(recorder, operand) for operand in operands]
    first, second = len(vjp_node.upstream), len(vjp_node.upstream) + len(vjp_node.results_read)
    node = vjp_node.node
    arguments: list[Any] = []
    for value, like in zip(node.inputs, vjp_node.placeholders, strict=True):
        constant_value = value.node.attributes["value"] if value.node.operator is CONSTANT else None
        is_array = value.node.operator is not CONSTANT or isinstance(constant_value, numpy.ndarray)
        arguments.append(_proxy_of(recorder, _with_dtype(like)) if is_array else constant_value)
    for index, proxy in zip(vjp_node.reads, proxies[second:], strict=True):
        arguments[index] = proxy
    result, gradient = _rule_arguments(recorder, vjp_node, proxies[:first], proxies[first:second])
    call = RuleCall(node.operator, result, arguments, node.attributes, gradient)
    gradients: dict[int, ArrayProxy] = {}

    def run() -> None:
        for index in vjp_node.requires_grad:
            if index not in gradients:
                gradients.update(capture_rule(recorder, None, call, index, vjp_node.requires_grad))

    _captured(recorder, run)
    results = [gradients[index] for index in vjp_node.requires_grad]
    return _trace(recorder, list(map(_values_of, proxies)), results, len(results) == 1, [])


def _proxies_of(recorder: Recorder, operand: Any) -> Any:
    if isinstance(operand, tuple):
        return tuple(_proxies_of(recorder, item) for item in operand)
    return _proxy_of(recorder, operand) if isinstance(operand, Array) else operand


def _values_of(proxy: Any) -> Any:
    if isinstance(proxy, tuple):
        return tuple(map(_values_of, proxy))
    return proxy.value if isinstance(proxy, ArrayProxy) else None


def _with_dtype(like: Any) -> Any:
    if like.dtype is None:
        raise NotLowered("the dtype of an argument is not known")
    return like


def _rule_arguments(
    recorder: Recorder, vjp_node: VjpNode, upstream: Sequence[Any], results: Sequence[Any]
) -> tuple[Any, Any]:
    """Return (answer, upstream gradient) as rules take them."""
    if not vjp_node.several:
        result = results[0] if results else _proxy_of(recorder, _with_dtype(vjp_node.like))
        return result, upstream[0]
    if vjp_node.results_read == (ANSWER,):
        outputs = list(results[0])
    else:
        outputs = [_proxy_of(recorder, Shaped(shape, dtype)) for shape, dtype in vjp_node.output_shapes]
        for index, proxy in zip(vjp_node.results_read, results, strict=True):
            while len(outputs) <= index:
                outputs.append(None)
            outputs[index] = proxy
    gradients = dict(zip(vjp_node.upstream, upstream, strict=True))
    gradient = []
    for index, output in enumerate(outputs):
        if index in gradients:
            gradient.append(gradients[index])
        elif output is None:
            raise NotLowered("the shape of an output is not known")
        else:
            gradient.append(constant(recorder, numpy.zeros(output.shape, output.dtype)))
    return tuple(outputs), tuple(gradient)
