"""`op.traced`: an operator's forward function and its gradients as graphs of steps, for given shapes and dtypes.

The steps are calls of NumPy's functions with all arguments filled in. `minpy.frameworks.translation` writes them as
functions of PyTorch or JAX.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy

from minpy.capture.captured_run import run_captured
from minpy.capture.forwards import capture_forward, definition_of, is_customop
from minpy.capture.noting import constant
from minpy.capture.places import CaptureRefused, SourceLocation
from minpy.capture.proxy import ArrayProxy
from minpy.capture.reads import Reads
from minpy.capture.recorder import LIMIT, Recorder
from minpy.capture.rule_capture import RuleCall, capture_jvp_rule, capture_rule
from minpy.core.errors import NotTraceableError, describe
from minpy.core.operator import Operator
from minpy.core.output_counts import returns_tuple_of_one
from minpy.core.signatures import bind
from minpy.frameworks.inference import ArraySpec, spec_of
from minpy.frameworks.sized_proxies import SizedRecorder
from minpy.graph.builder import GraphBuilder
from minpy.graph.ir import CONSTANT, Node, Value, topological, variable
from minpy.numpy_table.table import row_of

__all__ = ["TracedOperator", "TracedSteps", "traced", "traced_definition"]


class PlainRecorder(Recorder):
    """A recorder of a trace."""

    def __init__(self, title: str) -> None:
        super().__init__(GraphBuilder(), title, ArrayProxy, LIMIT)

    def like(self, title: str) -> PlainRecorder:
        """Return the recorder of a part."""
        return PlainRecorder(title)


class TracedSteps:
    """Steps that compute arrays from arrays: a part of a `TracedOperator`.

    Parameters
    ----------
    name : str
        What messages call it: 'softplus', or 'gradient of softplus'.
    inputs : sequence of Value
        The variables of the arrays that are given, in order.
    outputs : sequence of Value
        What is computed.
    recorder : Recorder
        What noted the steps.
    reads : Reads
        What the functions refer to outside: globals, what closures hold, attributes.
    arguments : sequence, optional
        What the operator was traced for: an `ArraySpec`, or a number, for each of its inputs. Their arrays are the last
        of `inputs`.
    retrace : callable, optional
        Returns the same steps for other shapes of the operator's inputs.
    """

    def __init__(
        self,
        name: str,
        inputs: Sequence[Value],
        outputs: Sequence[Value],
        recorder: PlainRecorder | SizedRecorder,
        reads: Reads,
        arguments: Sequence[Any] = (),
        retrace: Callable[[Sequence[Any], Collection[int]], TracedSteps] | None = None,
    ) -> None:
        self.name = name
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self.reads = reads
        self.recorder = recorder
        self.arguments = tuple(arguments)
        # Traces the same for inputs of the operator of other shapes, by proxies that note what is chosen by lengths.
        self.retrace = retrace
        order = topological(self.outputs)
        read = {node for node in order if node.operator is None}
        self.captured = tuple(node for node in reads.nodes if node in read)
        self.nodes = tuple(node for node in order if node.operator is not None and node.operator is not CONSTANT)

    def spec(self, value: Value) -> ArraySpec:
        """Return the shape and dtype of a value."""
        shape, dtype = self.recorder.outputs[value]
        return ArraySpec(tuple(shape), numpy.dtype(dtype))

    def place(self, node: Node) -> SourceLocation | None:
        """Return the line of the user's code that a step comes from; None where there is none."""
        return self.recorder.places.get(node)

    def function(self, node: Node) -> Any:
        """Return the function of NumPy's that became an operator in a step; None for a step that is a call itself."""
        return self.recorder.functions.get(node)

    @property
    def input_specs(self) -> tuple[ArraySpec, ...]:
        """The shapes and dtypes of the arrays that are given."""
        return tuple(map(self.spec, self.inputs))

    @property
    def output_specs(self) -> tuple[ArraySpec, ...]:
        """The shapes and dtypes of what is computed."""
        return tuple(self.spec(value) if value.node.operator is not CONSTANT else _of(value) for value in self.outputs)

    def captured_arrays(self) -> list[numpy.ndarray]:
        """Return the arrays outside that the steps read (globals, what closures hold), as they are now."""
        by_node = dict(zip(self.reads.nodes, self.reads.arrays(), strict=True))
        return [by_node[node] for node in self.captured]

    def is_current(self) -> bool:
        """Tell whether all that the functions refer to is what it was when they were traced."""
        return self.reads.hold()

    def __len__(self) -> int:
        return len(self.nodes)

    def __str__(self) -> str:
        names: dict[Node, str] = {value.node: f"a{index}" for index, value in enumerate(self.inputs)}
        names.update((node, node.name) for node in self.captured)
        lines = []
        for number, node in enumerate(self.nodes):
            names[node] = f"v{number}"
            shown = ", ".join(_shown(value, names) for value in node.inputs)
            attributes = "".join(f", {name}={value!r}" for name, value in node.attributes.items())
            place = self.place(node)
            where = "" if place is None else f"  # line {place.line}: {place.text}"
            spec = self.spec(Value(node)) if Value(node) in self.recorder.outputs else ""
            lines.append(f"    v{number} = {step_name(self, node)}({shown}{attributes}) -> {spec}{where}")
        given = ", ".join(f"{names[value.node]}: {self.spec(value)}" for value in self.inputs)
        returned = ", ".join(_shown(value, names) for value in self.outputs)
        return "\n".join([f"{self.name}({given})", *lines, f"    return {returned}"])

    __repr__ = __str__


def _of(value: Value) -> ArraySpec:
    data = numpy.asarray(value.node.attributes["value"])
    return ArraySpec(data.shape, data.dtype)


def _shown(value: Value, names: dict[Node, str]) -> str:
    if value.node.operator is CONSTANT:
        data = value.node.attributes["value"]
        return f"<{_of(value)}>" if isinstance(data, numpy.ndarray) and data.size > 4 else repr(data)
    return names[value.node] + (f"[{value.index}]" if value.index > 0 else "")


def step_name(steps: TracedSteps, node: Node) -> str:
    """Return what NumPy calls the function of a step, for messages."""
    function = steps.function(node) or getattr(node.operator, "function", None) or node.operator.forward
    row = row_of(function)
    if row is not None:
        return f"numpy.{row.name}"
    return f"numpy.{function.__name__}" if isinstance(function, numpy.ufunc) else str(node.operator.__name__)


class TracedOperator:
    """An operator's forward function and gradients, traced for inputs of given shapes and dtypes.

    `op.traced` makes it; see there.
    """

    def __init__(
        self,
        operator: Any,
        specs: Sequence[Any],
        attributes: dict[str, Any],
        new_recorder: Callable[[str], Any] = PlainRecorder,
    ) -> None:
        self.operator = operator
        self.specs = tuple(specs)
        self.attributes = attributes
        self._new_recorder = new_recorder
        self._gradients: dict[tuple[int, ...], TracedSteps | str] = {}
        self._forward: TracedSteps | None = None
        self._forward_reason: str | None = None
        self._forward_failure: BaseException | None = None  # what the function raised
        try:
            self._forward = self._trace_forward()
        except CaptureRefused as error:
            self._forward_reason = _reason(f"{operator.__name__}", error)
            self._forward_failure = error.__cause__

    # -- what it is --------------------------------------------------------------------------------------------------

    @property
    def forward(self) -> TracedSteps:
        """The steps of the forward function: of the arrays of a call.

        Raises NotTraceableError where it does not trace; the message is `reason`, its cause what the function raised.
        """
        if self._forward is None:
            raise NotTraceableError(self._forward_reason) from self._forward_failure
        return self._forward

    @property
    def outputs(self) -> tuple[ArraySpec, ...]:
        """The shapes and dtypes of the outputs."""
        return self.forward.output_specs

    @property
    def returns_tuple(self) -> bool:
        """Whether callers get a tuple; there may be one output in it."""
        operator = self.operator
        return len(self.outputs) > 1 or returns_tuple_of_one(operator, self.attributes)

    @property
    def differentiable(self) -> tuple[int, ...]:
        """The positions of the inputs that have a gradient: of floating point, with a rule that is not zero."""
        return tuple(
            index
            for index, spec in enumerate(self.specs)
            if isinstance(spec, ArraySpec)
            and spec.dtype.kind in "fc"
            and not self.operator.is_zero(index)
            and self.operator.has_rule(index)
        )

    @property
    def reason(self) -> str | None:
        """Why the forward function or a gradient does not trace, with its line; None: all do."""
        if self._forward_reason is not None:
            return self._forward_reason
        for index in self.differentiable:
            try:
                self.vjp((index,))
            except NotTraceableError as error:
                return str(error)
        return None

    def vjp(self, positions: Sequence[int] | None = None) -> TracedSteps:
        """Return the steps of gradients: of the cotangents, the outputs and the inputs, one after the other.

        Parameters
        ----------
        positions : sequence of int, optional
            The inputs whose gradients are computed, in this order; by default all that have one.

        Returns
        -------
        TracedSteps
            With an output for each position, of its input's shape and dtype.

        Raises
        ------
        NotTraceableError
            Where a rule does not trace, or there is none.
        """
        asked = self.differentiable if positions is None else tuple(positions)
        if asked not in self._gradients:
            try:
                self._gradients[asked] = self._trace_vjp(asked)
            except CaptureRefused as error:
                names = ", ".join(self.operator.argument_name(index) for index in asked)
                self._gradients[asked] = _reason(f"gradient of {self.operator.__name__} for {names}", error)
        traced_steps = self._gradients[asked]
        if isinstance(traced_steps, str):
            raise NotTraceableError(traced_steps)
        return traced_steps

    def jvp(self, position: int) -> TracedSteps:
        """Return the steps of a rule of `def_jvp`: of the tangent, the outputs and the inputs, one after the other.

        Parameters
        ----------
        position : int
            The input that the tangent is of.

        Returns
        -------
        TracedSteps
            With a tangent for each output of the operator.

        Raises
        ------
        NotTraceableError
            Where the rule does not trace, or there is none.
        """
        key = (-1, position)
        if key not in self._gradients:
            try:
                self._gradients[key] = self._trace_jvp(position)
            except CaptureRefused as error:
                title = f"rule of def_jvp of {self.operator.__name__} for {self.operator.argument_name(position)}"
                self._gradients[key] = _reason(title, error)
        traced_steps = self._gradients[key]
        if isinstance(traced_steps, str):
            raise NotTraceableError(traced_steps)
        return traced_steps

    def is_current(self) -> bool:
        """Tell whether all that the functions refer to is what it was when they were traced."""
        parts = [self._forward, *self._gradients.values()]
        return all(part.is_current() for part in parts if isinstance(part, TracedSteps))

    def __str__(self) -> str:
        if self._forward is None:
            return str(self._forward_reason)
        parts = [str(self._forward)]
        for index in self.differentiable:
            try:
                parts.append(str(self.vjp((index,))))
            except NotTraceableError as error:
                parts.append(str(error))
        return "\n".join(parts)

    __repr__ = __str__

    # -- how it is made ----------------------------------------------------------------------------------------------

    def _trace_forward(self) -> TracedSteps:
        operator = self.operator
        recorder, reads = self._new_recorder(operator.__name__), Reads()
        inputs = [_proxy(recorder, spec, operator.argument_name(index)) for index, spec in enumerate(self.specs)]
        if not isinstance(operator, Operator):
            raise recorder.refuse(f"it is a {type(operator).__name__}, which has no function of NumPy's to trace")
        if is_customop(operator) and not operator.builtin:
            outputs = capture_forward(recorder, reads, operator, inputs, self.attributes)
        else:
            outputs = traced_definition(recorder, operator, inputs, self.attributes)
        return TracedSteps(
            operator.__name__,
            _values(inputs),
            [output.value for output in outputs],
            recorder,
            reads,
            self.specs,
            lambda shapes, fixed: self.at(shapes, fixed).forward,
        )

    def _trace_vjp(self, positions: tuple[int, ...]) -> TracedSteps:
        operator = self.operator
        recorder, reads = self._new_recorder(operator.__name__), Reads()
        cotangents = tuple(_proxy(recorder, spec, f"cotangent{index}") for index, spec in enumerate(self.outputs))
        results = tuple(_proxy(recorder, spec, f"output{index}") for index, spec in enumerate(self.outputs))
        inputs = [_proxy(recorder, spec, operator.argument_name(index)) for index, spec in enumerate(self.specs)]
        many = self.returns_tuple or operator.visible_outputs is not None
        call = RuleCall(
            operator,
            results if many else results[0],
            inputs,
            self.attributes,
            cotangents if many else cotangents[0],
        )
        gradients: dict[int, ArrayProxy] = {}
        for index in positions:
            if index in gradients:
                continue
            if operator.is_zero(index):
                spec = self.specs[index]
                gradients[index] = constant(recorder, numpy.zeros(spec.shape, spec.dtype))
                continue
            attempt = reads.attempt()
            computed = capture_rule(recorder, attempt, call, index, positions)
            reads.adopt(attempt)
            gradients = {**computed, **gradients}
        return TracedSteps(
            f"gradient of {operator.__name__}",
            _values([*cotangents, *results, *inputs]),
            [gradients[index].value for index in positions],
            recorder,
            reads,
            self.specs,
            lambda shapes, fixed: self.at(shapes, fixed).vjp(positions),
        )

    def _trace_jvp(self, position: int) -> TracedSteps:
        operator = self.operator
        recorder, reads = self._new_recorder(operator.__name__), Reads()
        rule = operator.jvp_rules.get(position)
        if rule is None:
            raise recorder.refuse("there is no such rule")
        tangent = _proxy(recorder, self.specs[position], f"tangent of {operator.argument_name(position)}")
        results = tuple(_proxy(recorder, spec, f"output{index}") for index, spec in enumerate(self.outputs))
        inputs = [_proxy(recorder, spec, operator.argument_name(index)) for index, spec in enumerate(self.specs)]
        answer = results if self.returns_tuple or operator.visible_outputs is not None else results[0]
        parts = capture_jvp_rule(
            recorder, reads, RuleCall(operator, answer, inputs, self.attributes, tangent), position
        )
        return TracedSteps(
            f"tangent of {operator.__name__}",
            _values([tangent, *results, *inputs]),
            [part.value for part in parts],
            recorder,
            reads,
            self.specs,
            lambda shapes, fixed: self.at(shapes, fixed).jvp(position),
        )

    def at(self, shapes: Sequence[Any], fixed: Collection[int] = ()) -> TracedOperator:
        """Return the operator traced for other shapes, by proxies that note what is chosen by lengths.

        `shapes`: a shape for each input, or None for one that is no array. `fixed`: lengths that may be chosen by.
        """
        specs = [
            ArraySpec(tuple(shape), spec.dtype) if isinstance(spec, ArraySpec) else spec
            for spec, shape in zip(self.specs, shapes, strict=True)
        ]
        return TracedOperator(self.operator, specs, self.attributes, SizedRecorder(self.operator.__name__, fixed).like)


def _values(proxies: Sequence[Any]) -> list[Value]:
    return [proxy.value for proxy in proxies if isinstance(proxy, ArrayProxy)]


def _proxy(recorder: Recorder, spec: Any, name: str) -> Any:
    if isinstance(spec, ArraySpec):
        proxy: ArrayProxy = recorder.proxy_class.from_outside(recorder, variable(name), spec.shape, spec.dtype)
        return proxy
    return spec


def traced_definition(
    recorder: Recorder, operator: Operator, inputs: Sequence[Any], attributes: dict[str, Any]
) -> list[ArrayProxy]:
    """Return what the definition of a built-in operator gives for proxies."""
    definition: Callable[..., Any] = definition_of(operator)
    result = run_captured(recorder, definition, *inputs, **attributes)
    results = list(result) if isinstance(result, (tuple, list)) else [result]
    for output in results:
        if not isinstance(output, ArrayProxy):
            raise recorder.refuse(f"it returns a {type(output).__name__}")
    return results


def _reason(title: str, error: CaptureRefused) -> str:
    where = "" if error.place is None else f" ({error.place}: {error.place.text})"
    return f"{title} does not trace: {error.reason}{where}"


def traced(operator: Any, specs: Sequence[Any], attributes: dict[str, Any]) -> TracedOperator:
    """Trace an operator and its gradients. This is `op.traced`: see `BaseOperator.traced`."""
    inputs, named = bind(operator.__name__, operator.signature, tuple(specs), dict(attributes), operator.builtin)
    if operator.uses_training and named.get("training") is None:
        named["training"] = False
    return TracedOperator(operator, [_spec(operator, position, value) for position, value in enumerate(inputs)], named)


def _spec(operator: Any, position: int, value: Any) -> Any:
    spec = spec_of(value)
    if isinstance(spec, ArraySpec):
        unknown = [length for length in spec.shape if length < 0]
        if unknown:
            raise NotTraceableError(
                f"{operator.__name__}: {operator.argument_name(position)} has shape {describe(spec.shape)}; a trace "
                "takes lengths that are known."
            )
    return spec
