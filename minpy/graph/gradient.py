"""The gradient of a graph, as further nodes of the same graph, from the operators' rules."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy

from minpy.capture.captured_run import run_captured
from minpy.capture.forwards import definition_of, input_proxy, is_customop
from minpy.capture.noting import constant
from minpy.capture.places import CaptureRefused
from minpy.capture.proxy import ArrayProxy
from minpy.capture.reads import Reads
from minpy.capture.recorder import Notes, Recorder
from minpy.capture.rule_capture import RuleCall, capture_rule, conformed_gradient, has_kernel
from minpy.capture.steps import Step
from minpy.core.array import Shaped
from minpy.core.base_operator import BaseOperator
from minpy.core.default_attributes import with_attributes
from minpy.core.errors import NoGradientError
from minpy.core.operator import Operator
from minpy.core.tape_walk import conform
from minpy.graph.builder import GraphBuilder
from minpy.graph.ir import ANSWER, CONSTANT, Node, Value, topological
from minpy.graph.step_rules import has_step_rule, step_gradients
from minpy.ops.registry import FUNCTIONS

__all__ = ["VjpNode", "differentiate"]


def _shaped(value: Value, shapes: Mapping[Value, Any], dtypes: Any) -> Shaped:
    """Return the shape and dtype of an input; those of constants are not in the tables."""
    if value not in shapes and value.node.operator is CONSTANT:
        constant_value = numpy.asarray(value.node.attributes["value"])
        return Shaped(constant_value.shape, constant_value.dtype)
    return Shaped(shapes[value], dtypes.get(value))


class VjpNode(BaseOperator):
    """The operator of a node that takes an upstream gradient back through another node, by that one's rules.

    Its inputs are the upstream gradients (one for each output that has one), what the rules read of the result, and
    the arguments that they read; its outputs the gradients of the arguments `requires_grad`.
    """

    builtin = True
    gradient_source = "not defined: gradients of graphs are taken once"

    def __init__(
        self,
        node: Node,
        requires_grad: Sequence[int],
        upstream: Sequence[int],
        shapes: Mapping[Value, Any],
        dtypes: Any,
    ) -> None:
        operator = node.operator
        self.__name__ = self.__qualname__ = f"gradient of {node.name}"
        self.node = node
        self.requires_grad = tuple(requires_grad)
        self.upstream = tuple(upstream)
        self.several = operator.visible_outputs is not None or node.returns_tuple
        reads, reads_result = operator.values_read(requires_grad)
        count = len(node.inputs)
        self.reads = tuple(range(count)) if reads is None else tuple(index for index in sorted(reads) if index < count)
        self.placeholders = [_shaped(value, shapes, dtypes) for value in node.inputs]
        self.outputs = [f"gradient{index}" for index in self.requires_grad]
        self.like = Shaped(shapes.get(Value(node), ()), dtypes.get(Value(node)))
        self.output_shapes = [
            (shapes[Value(node, index)], dtypes[Value(node, index)]) for index in range(len(node.output_names()))
        ]
        self.results_read = self._results_read(operator, reads_result)

    def _results_read(self, operator: Any, reads_result: bool) -> tuple[int, ...]:
        """Return which outputs the rules read; (ANSWER,) for all of them, together."""
        if not reads_result:
            return ()
        if not self.several:
            return (0,)
        if operator.outputs_read is not None:
            return tuple(operator.outputs_read)
        if operator.guarded and operator.visible_outputs is None:  # its function may have become steps, without a tuple
            return tuple(range(len(self.output_shapes)))
        return (ANSWER,)

    def values(self, gradients: Mapping[int, Value]) -> list[Value]:
        """Return the inputs of the node."""
        node = self.node
        return [
            *(gradients[index] for index in self.upstream),
            *(Value(node, index) for index in self.results_read),
            *(node.inputs[index] for index in self.reads),
        ]

    def input_names(self, attributes: dict[str, Any], count: int | None = None) -> list[str]:
        """Return what messages call the inputs."""
        names = self.node.input_names()
        return [
            *(f"upstream{index}" for index in self.upstream),
            *(f"output{index}" for index in self.results_read),
            *(names[index] for index in self.reads),
        ]

    @property
    def signature(self) -> Any:  # type: ignore[override]
        """The inputs."""
        from minpy.core.signatures import Signature

        return Signature(tuple(self.input_names({})), {}, {})

    @property
    def is_plain_rule(self) -> bool:
        """Whether it is one call of one rule, on an operator of ours with one output."""
        operator = self.node.operator
        return len(self.requires_grad) == 1 and not self.several and operator.direct and operator.builtin

    def rule_into(self) -> Any:
        """Return the form of that rule which computes in given memory, with the attributes of the node."""
        return with_attributes(self.node.operator.into_rules[self.requires_grad[0]], self.node.attributes)

    @property
    def into(self) -> Any:
        """Whether it can compute in given memory: something, or None."""
        return self if self.is_plain_rule and self.requires_grad[0] in self.node.operator.into_rules else None

    def split(self, values: Sequence[Any]) -> tuple[Any, Any, list[Any]]:
        """Return (upstream gradient, result, arguments) for the inputs' values, as rules take them."""
        first, second = len(self.upstream), len(self.upstream) + len(self.results_read)
        gradients, results = values[:first], values[first:second]
        arguments: list[Any] = list(self.placeholders)
        for index, value in zip(self.reads, values[second:], strict=True):
            arguments[index] = value
        if not self.several:
            return gradients[0], results[0] if results else None, arguments
        result: Any = self._outputs(results)
        reached = dict(zip(self.upstream, gradients, strict=True))
        upstream = tuple(reached[index] if index in reached else _zeros(result[index]) for index in range(len(result)))
        return upstream, result, arguments

    def _outputs(self, results: Sequence[Any]) -> tuple[Any, ...]:
        if self.results_read == (ANSWER,):
            return tuple(results[0])
        outputs: list[Any] = [Shaped(shape, dtype) for shape, dtype in self.output_shapes]
        for index, value in zip(self.results_read, results, strict=True):
            outputs.extend([None] * (index + 1 - len(outputs)))
            outputs[index] = value
        return tuple(outputs)

    def forward(self, *values: Any) -> Any:
        """Return the gradients of the arguments `requires_grad`: one array, or a tuple."""
        node = self.node
        operator = node.operator
        gradient, result, arguments = self.split(values)
        parts: Sequence[Any]
        if operator.direct and operator.builtin:
            parts = [
                operator.raw_rules[index](result, *arguments, **node.attributes)(gradient)
                for index in self.requires_grad
            ]
        else:
            parts = operator.vjp(result, arguments, node.attributes, gradient, self.requires_grad)
        checked = []
        for index, part in zip(self.requires_grad, parts, strict=True):
            like = self.placeholders[index]
            if type(part) is not numpy.ndarray or part.shape != like.shape or part.dtype != like.dtype:
                part = conform(part, operator, index, self.like, like)  # type: ignore[arg-type]
            checked.append(part)
        return tuple(checked) if len(checked) > 1 else checked[0]


def _zeros(like: Any) -> numpy.ndarray:
    return numpy.zeros(numpy.shape(like), like.dtype)


def differentiate(
    outputs: Sequence[Value],
    cotangents: Sequence[Value],
    variables: Iterable[Node],
    shapes: dict[Value, Any],
    dtypes: dict[Value, Any],
    builder: GraphBuilder,
    reads: Reads | None = None,
    notes: Notes | None = None,
) -> dict[Node, Value]:
    """Return the gradients of the outputs with respect to variables; those that no gradient reaches are absent.

    Shapes and dtypes of new values are added to `shapes` and `dtypes`. Rules of users' operators are captured if there
    are `reads`, which note what they refer to. Where steps come from is added to `notes`.

    Raises NoGradientError if a gradient is asked for through an operator that has none.
    """
    order = topological(outputs)
    leading: set[Node] = set(variables)
    for node in order:
        if any(value.node in leading for value in node.inputs):
            leading.add(node)
    pending: dict[Value, Value] = {}
    walk = _Walk(shapes, dtypes, builder, reads, Notes() if notes is None else notes)
    for output, gradient in zip(outputs, cotangents, strict=True):
        walk.add(pending, output, gradient)
    for node in reversed(order):
        if node.operator is None or node not in leading:
            continue
        count = len(node.output_names())
        upstream = {index: pending[Value(node, index)] for index in range(count) if Value(node, index) in pending}
        started = not upstream and node.operator.starts_gradients and dtypes[Value(node)].kind in "fc"
        if started:
            upstream = {0: walk.zeros(Value(node))}
        if not upstream:
            continue
        requires_grad = []
        for index, value in enumerate(node.inputs):
            if value.node in leading and dtypes[value].kind in "fc" and not node.operator.is_zero(index):
                if not node.operator.has_rule(index) and not _is_known(node.operator, index):
                    if started:
                        continue
                    raise NoGradientError(f"{node.described()}: {node.operator.missing_rule(index)}")
                requires_grad.append(index)
        part_with_rules = walk.with_rules(node, shapes.get(Value(node)))
        for index, part in walk.vjp(part_with_rules, requires_grad, upstream):
            walk.add(pending, node.inputs[index], part)
    return {node: pending[Value(node)] for node in leading if node.operator is None and Value(node) in pending}


def _is_known(operator: Any, index: int) -> bool:
    """Tell whether there is a rule for a step that has none of its own: as a function, or as another operator."""
    same_function = FUNCTIONS.get(operator.forward)
    return has_step_rule(operator) or (isinstance(same_function, Operator) and same_function.has_rule(index))


def _step_gradients(recorder: Recorder, call: RuleCall, requires_grad: Sequence[int]) -> dict[int, ArrayProxy]:
    """Return the gradients of a step that is no operator, by the positions of its inputs.

    Raises CaptureRefused.
    """
    parts = run_captured(recorder, step_gradients, call.operator, call.result, call.arguments, call.gradient)
    if parts is None:
        raise recorder.refuse(f"there is no rule for such a call of {call.operator.__name__}")
    first = call.result[0] if isinstance(call.result, tuple) else call.result
    return {index: conformed_gradient(recorder, parts[index], first, call.arguments[index]) for index in requires_grad}


class _NoRuleError(Exception):
    """A step of a composition has a rule, but not for what it is called with."""


class _Walk:
    """The gradients of nodes as new nodes: captured where the rule allows it, else calls of the rule."""

    def __init__(
        self,
        shapes: dict[Value, Any],
        dtypes: dict[Value, Any],
        builder: GraphBuilder,
        reads: Reads | None,
        notes: Notes,
    ) -> None:
        self.shapes = shapes
        self.dtypes = dtypes
        self.builder = builder
        self.reads = reads
        self.notes = notes
        self.refusal: CaptureRefused | None = None

    def add(self, pending: dict[Value, Value], value: Value, gradient: Value) -> None:
        """Add to the gradient of a value."""
        sum_so_far = pending.get(value)
        if sum_so_far is not None:
            node = self.builder.node(FUNCTIONS[numpy.add], [sum_so_far, gradient], {}, f"gradient of {value.node.name}")
            gradient = self.know(Value(node), self.shapes[value], self.dtypes[value])
        pending[value] = gradient

    def know(self, value: Value, shape: Any, dtype: Any) -> Value:
        """Note shape and dtype of a new value."""
        self.shapes[value] = shape
        self.dtypes[value] = dtype
        return value

    def zeros(self, value: Value) -> Value:
        """Return a gradient of zeros for a value."""
        shape, dtype = self.shapes[value], self.dtypes[value]
        node = self.builder.node(
            CONSTANT, (), {"value": numpy.zeros(shape, dtype)}, f"no gradient of {value.node.name}"
        )
        return self.know(Value(node), shape, dtype)

    def vjp(self, node: Node, requires_grad: Sequence[int], upstream: dict[int, Value]) -> list[tuple[int, Value]]:
        """Return (index, gradient) for the inputs of a node at the positions `requires_grad`."""
        if node.operator.expands and node.operator.builtin:
            parts = self.through_parts(node, requires_grad, upstream)
            if parts is not None:
                return parts
        gradients: dict[int, Value] = {}
        called = []
        self.refusal = None
        for index in requires_grad:
            if index not in gradients:
                captured = self.captured(node, index, requires_grad, upstream)
                if captured is None:
                    called.append(index)
                else:
                    gradients.update(captured)
        if called and not node.operator.has_rule(called[0]):
            raise _NoRuleError
        result = list(gradients.items())
        # One rule for several arguments runs once; separate rules run as separate nodes, each freeing what it read.
        together = [called] if not node.operator.direct else [[index] for index in called]
        for indices in filter(None, together):
            operator = VjpNode(node, indices, sorted(upstream), self.shapes, self.dtypes)
            vjp_call = Node(operator, operator.values(upstream), {}, operator.__name__)
            self.builder.created.append(vjp_call)
            if self.refusal is not None:
                self.notes.refusals[vjp_call] = self.refusal
            for position, index in enumerate(indices):
                value = node.inputs[index]
                result.append((index, self.know(Value(vjp_call, position), self.shapes[value], self.dtypes[value])))
        return result

    def through_parts(
        self, node: Node, requires_grad: Sequence[int], upstream: dict[int, Value]
    ) -> list[tuple[int, Value]] | None:
        """Return the gradients of a composition of operators: those of its parts, one after the other.

        Of an input that stands at several positions, the sum belongs to the first. None, if a part has no rule.
        """
        recorder = Recorder(self.builder, node.name, ArrayProxy)
        try:
            inputs = [
                input_proxy(recorder, value, self.shapes.get(value), self.dtypes.get(value)) for value in node.inputs
            ]
            result = run_captured(recorder, definition_of(node.operator), *inputs, **node.attributes)
        except CaptureRefused:
            return None
        results = list(result) if isinstance(result, (tuple, list)) else [result]
        if not all(isinstance(output, ArrayProxy) for output in results):
            return None
        parts = [self.with_rules(part, recorder.facts[part][0]) for part in recorder.nodes]
        position_of = {node.inputs[index]: index for index in reversed(requires_grad)}
        leading = {value.node for value in position_of}
        for step, part in zip(recorder.nodes, parts, strict=True):
            if any(value.node in leading for value in part.inputs):
                leading.add(step)
                if not all(
                    part.operator.has_rule(index) or _is_known(part.operator, index)
                    for index, value in enumerate(part.inputs)
                    if value.node in leading
                ):
                    return None
            for twin in (step, part):
                self.know(Value(twin), *recorder.facts[step])
        for value, fact in recorder.outputs.items():
            self.know(value, *fact)
        try:
            pending = self.back_through(recorder.nodes, parts, leading, results, upstream)
        except _NoRuleError:
            return None
        return [(index, pending[node.inputs[index]]) for index in position_of.values() if node.inputs[index] in pending]

    def back_through(
        self,
        nodes: Sequence[Node],
        parts: Sequence[Node],
        leading: Collection[Node],
        results: Sequence[Any],
        upstream: dict[int, Value],
    ) -> dict[Value, Value]:
        """Return the gradients of what steps read, given those of their results: by the parts that have rules."""
        pending: dict[Value, Value] = {}
        for index, gradient in upstream.items():
            self.add(pending, results[index].value, gradient)
        for step, part in zip(reversed(nodes), reversed(parts), strict=True):
            values = [Value(step, index) for index in range(len(step.output_names()))]
            reached = {index: pending.pop(value) for index, value in enumerate(values) if value in pending}
            if not reached or step not in leading:
                continue
            rows = [
                index
                for index, value in enumerate(part.inputs)
                if value.node in leading and self.dtypes[value].kind in "fc" and not part.operator.is_zero(index)
            ]
            for index, input_gradient in self.vjp(part, rows, reached):
                self.add(pending, part.inputs[index], input_gradient)
        return pending

    def with_rules(self, node: Node, shape: Sequence[int] | None) -> Node:
        """Return a node of the operator that is the same function of NumPy's, where the node's own has no rules."""
        operator = FUNCTIONS.get(node.operator.forward)
        has_rules = node.operator.has_rule(0) and not isinstance(node.operator, Step)
        if has_rules or has_step_rule(node.operator) or not isinstance(operator, Operator):
            return node
        if not shape and operator.values_read(range(len(node.inputs)))[1]:
            return node  # what NumPy returns is a scalar, and nothing to compute into
        twin = Node(operator, node.inputs, {}, node.name)
        self.builder.created.append(twin)  # it is dropped, if no rule reads the result
        for index in range(len(node.output_names())):
            value = Value(node, index)
            if value in self.shapes:
                self.know(Value(twin, index), self.shapes[value], self.dtypes[value])
        return twin

    def captured(
        self, node: Node, index: int, requires_grad: Sequence[int], upstream: dict[int, Value]
    ) -> dict[int, Value] | None:
        """Return the gradients of an input, and of others that come with it, as captured; None: call the rule."""
        operator = node.operator
        if operator.visible_outputs is not None or not (operator.builtin or is_customop(operator)):
            return None
        recorder = Recorder(self.builder, f"gradient of {node.name}", ArrayProxy)
        attempt = None if self.reads is None else self.reads.attempt()
        try:
            call = self.rule_call(recorder, node, upstream)
            if has_step_rule(operator):
                gradients = _step_gradients(recorder, call, requires_grad)
            else:
                with_rule = operator if operator.has_rule(index) else FUNCTIONS.get(operator.forward, operator)
                gradients = capture_rule(recorder, attempt, call._replace(operator=with_rule), index, requires_grad)
        except CaptureRefused as refusal:
            self.refusal = refusal.with_traceback(None)
            return None
        if has_kernel(operator, index) and set(recorder.kinds.values()) - {"elementwise"}:
            return None  # there is a form of the rule that is faster than its parts
        if self.reads is not None and attempt is not None:
            self.reads.adopt(attempt)
        self.notes.add(recorder)
        return {
            position: self.know(part.value, self.shapes[node.inputs[position]], self.dtypes[node.inputs[position]])
            for position, part in gradients.items()
        }

    def rule_call(self, recorder: Recorder, node: Node, upstream: dict[int, Value]) -> RuleCall:
        """Return what the rules of a node are called with: proxies for all arrays."""
        outputs = [Value(node, index) for index in range(len(node.output_names()))]

        def gradient_of(index: int) -> Any:
            if index in upstream:
                return self.proxy_of(recorder, upstream[index])
            zeros = numpy.zeros(self.shapes[outputs[index]], self.dtypes[outputs[index]])
            return constant(recorder, zeros)

        result: Any = tuple(self.proxy_of(recorder, value) for value in outputs)
        gradient: Any = tuple(map(gradient_of, range(len(outputs))))
        if len(outputs) == 1 and not node.returns_tuple:
            (result,), (gradient,) = result, gradient
        arguments = [
            input_proxy(recorder, value, self.shapes.get(value), self.dtypes.get(value)) for value in node.inputs
        ]
        return RuleCall(node.operator, result, arguments, node.attributes, gradient)

    def proxy_of(self, recorder: Recorder, value: Value) -> ArrayProxy:
        """Return the proxy of a value while a rule is captured."""
        return ArrayProxy.from_outside(recorder, value, self.shapes[value], self.dtypes[value])
