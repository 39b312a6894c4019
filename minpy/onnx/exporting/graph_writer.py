"""A graph written as nodes of ONNX: each operator by its row, or by the steps of its definition."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from minpy.capture.forwards import is_customop
from minpy.capture.numpy_functions import bound_arguments
from minpy.capture.places import SourceLocation
from minpy.core import dispatch
from minpy.core.errors import MXNetError, NotTraceableError, ShapeError
from minpy.core.operator import Operator
from minpy.frameworks.axis_lengths import whole_numbers
from minpy.frameworks.called_functions import arguments_of, called, is_defined, spec_of_value
from minpy.frameworks.dialects import NoEqual, Operand, function_key
from minpy.frameworks.inference import ArraySpec, infer_outputs
from minpy.frameworks.sized_proxies import SizedRecorder
from minpy.frameworks.tracing import TracedOperator, TracedSteps
from minpy.graph.ir import CONSTANT, Node, Value, topological
from minpy.numpy_table.table import row_of
from minpy.onnx.exporting.calls import NodeCall, Row, StepsInstead
from minpy.onnx.exporting.emitter import EmittedFunction, Emitter
from minpy.onnx.exporting.tables import FUNCTIONS, OPERATORS

__all__ = ["FUNCTION_DOMAIN", "GraphWriter", "Problem", "draws"]

FUNCTION_DOMAIN = "minpy.operators"
# Attributes of built-in operators that a length of an output is at most, or that are left off one.
_BOUNDS = frozenset(
    ("begin", "end", "indices", "indices_or_sections", "k", "n", "rpn_post_nms_top_n", "rpn_pre_nms_top_n", "topk")
)


@dataclass(frozen=True)
class Problem:
    """A node that cannot be said in ONNX: `reason` completes 'ONNX has no equal of ...'."""

    node: Node
    reason: str
    place: SourceLocation | None = None

    @classmethod
    def of_step(cls, name: str, error: NoEqual) -> Problem:
        """Return the problem of a step of a function that is exported itself."""
        return cls(Node(None, name=name, kind="function"), str(error), getattr(error, "place", None))

    @property
    def is_of_customop(self) -> bool:
        """Whether it is in a function of a user's, whose steps are exported as it is."""
        return self.node.operator is None or _is_users(self.node.operator)

    def __str__(self) -> str:
        where = "" if self.place is None else f" ({self.place}: {self.place.text})"
        return f"{self.node.name!r} ({self.node.kind}): {self.reason}{where}"


class _StepProblem(NoEqual):
    """A step of a definition that has no equal, and where it is."""

    def __init__(self, reason: str, place: SourceLocation | None) -> None:
        super().__init__(reason)
        self.place = place


class GraphWriter:
    """Writes graphs, and steps of definitions, into an `Emitter`.

    Parameters
    ----------
    emitter : Emitter
    shapes, dtypes : mapping of Value
        What inference knows of the graph's values.
    fixed_lengths : mapping of Value to set of int, optional
        Where lengths are open, those of each value that are not: users' functions may choose by these only.
    within : str
        What the names of nodes begin with, in a graph that a node holds.
    """

    def __init__(
        self,
        emitter: Emitter,
        shapes: Mapping[Value, Any],
        dtypes: Mapping[Value, Any],
        fixed_lengths: Mapping[Value, set[int]] | None = None,
        within: str = "",
    ) -> None:
        self.emitter = emitter
        self._fixed_lengths = fixed_lengths
        self._within = within
        self.operands: dict[Value, Any] = {}  # an operand, or a number of Python's
        self.problems: list[Problem] = []
        self._shapes = shapes
        self._dtypes = dtypes
        self._specs: dict[Value, ArraySpec] = {}
        self._expanded: list[Any] = []  # the operators whose definitions are being written
        self._named: set[str] = set()
        self.bounds: set[int] = set()  # numbers that lengths may be bounded by

    # -- a graph -----------------------------------------------------------------------------------------------------

    def give(self, value: Value, operand: Operand) -> None:
        """Say what stands for a variable; no node's result takes its name."""
        self.operands[value] = operand
        self._named.add(operand.text)

    def rename(self, old: str, new: str) -> None:
        """Note that a value has got another name."""
        for value, operand in self.operands.items():
            if isinstance(operand, Operand) and operand.text == old:
                self.operands[value] = operand._replace(text=new)

    def write(self, outputs: Sequence[Value]) -> list[Operand]:
        """Write all nodes that outputs depend on, and return the outputs; `problems` holds what cannot be said."""
        for node in topological(outputs):
            if node.operator is None:
                continue
            if node.operator is CONSTANT:
                value = node.attributes["value"]
                self.operands[Value(node)] = self.emitter.constant(value) if hasattr(value, "shape") else value
                continue
            try:
                self._write_node(node)
            except _StepProblem as error:
                self._go_on_without(node, str(error), error.place)
            except (NoEqual, NotTraceableError) as error:
                self._go_on_without(node, str(error))
        operands = [self.operands[Value(value.node, max(value.index, 0))] for value in outputs]
        return [value if isinstance(value, Operand) else self.emitter.constant(value) for value in operands]

    def _go_on_without(self, node: Node, reason: str, place: SourceLocation | None = None) -> None:
        self.problems.append(Problem(node, reason, place))
        for index in range(len(node.output_names())):
            try:
                spec = self.spec(Value(node, index))
            except MXNetError:
                spec = ArraySpec((), numpy.dtype("float32"))
            self.operands[Value(node, index)] = Operand(self.emitter.fresh("unknown"), *spec)

    def spec(self, value: Value) -> ArraySpec:
        """Return the shape and dtype of a value."""
        if value in self._specs:
            return self._specs[value]
        shape, dtype = self._shapes.get(value), self._dtypes.get(value)
        if shape is None or dtype is None or any(length is None or length < 0 for length in shape):
            node = value.node
            specs = [self._input_spec(source) for source in node.inputs]
            inferred = infer_outputs(node.operator, specs, dict(node.attributes))
            for index, spec in enumerate(inferred):
                self._specs[Value(node, index)] = spec
            return self._specs[value]
        return ArraySpec(tuple(shape), numpy.dtype(dtype))

    def _input_spec(self, value: Value) -> Any:
        return _spec(self.operands[Value(value.node, max(value.index, 0))])

    def _write_node(self, node: Node) -> None:
        operator = node.operator
        inputs = [self.operands[Value(value.node, max(value.index, 0))] for value in node.inputs]
        self.emitter.owner = self.emitter.owner if self._within else node.name
        self.emitter.prefix = f"{self._within}{node.name}/"
        start = len(self.emitter.nodes)
        for name in _BOUNDS.intersection(node.attributes):
            self.bounds.update(whole_numbers(node.attributes[name]))
        is_users = _is_users(operator)
        row = _row_of(operator)
        try:
            if row is None:
                raise StepsInstead
            specs = [self.spec(Value(node, index)) for index in range(len(node.output_names()))]
            attributes = {name: value for name, value in node.attributes.items() if name != "training"}
            names = self._row_called(
                row, operator.__name__, inputs, attributes, specs, len(specs) > 1, node.name, nested=operator
            )
            results = [Operand(name, *spec) for name, spec in zip(names, specs, strict=True)]
        except StepsInstead:
            results = self._through_steps(node, inputs, is_users)
        if inputs and not operator.random and all(getattr(value, "value", None) is not None for value in inputs):
            results = _with_values(node, [value.value for value in inputs], results)
        self._name_results(node, results, start)

    def _name_results(self, node: Node, results: Sequence[Operand], start: int) -> None:
        """Call the results as the node is called, unless they are values that have a name."""
        written = {name for emitted in self.emitter.nodes[start:] for name in emitted.outputs}
        for index, operand in enumerate(results):
            name = node.name if len(results) == 1 else f"{node.name}{index}"
            if self._within:  # several graphs that nodes hold may have nodes of one name
                name = self.emitter.fresh(self._within + name)
            if operand.text in written and operand.text not in self._named and name not in self._named:
                self.emitter.rename(operand.text, name, start)
                results = [one._replace(text=name) if one.text == operand.text else one for one in results]
                self._named.add(name)
        for index, operand in enumerate(results):
            self.operands[Value(node, index)] = operand

    # -- rows --------------------------------------------------------------------------------------------------------

    def _row_called(
        self,
        row: Row,
        function: Any,
        arguments: Sequence[Any],
        keywords: Mapping[str, Any],
        results: Sequence[ArraySpec],
        several: bool,
        name: str,
        nested: Any = None,
    ) -> list[str]:
        call = NodeCall(self, function, results, several, name, nested)
        signature = inspect.signature(row)
        try:
            signature.bind(call, *arguments, **keywords)
        except TypeError:
            unknown = [keyword for keyword in keywords if keyword not in signature.parameters]
            raise NoEqual(f"its argument {', '.join(unknown)}=" if unknown else "these arguments") from None
        names = row(call, *arguments, **keywords)
        if isinstance(names, Operand):
            names = names.text
        return [names] if isinstance(names, str) else [each if isinstance(each, str) else each.text for each in names]

    def call_row(
        self, key: str, arguments: Sequence[Any], keywords: Mapping[str, Any], results: Sequence[ArraySpec], name: str
    ) -> Any:
        """Write a call by the row that a table has under a key; return the name of its result, a tuple for several."""
        row = OPERATORS.get(key) or FUNCTIONS.get(key)
        if row is None:
            raise NoEqual(key)
        names = self._row_called(row, key, arguments, keywords, results, len(results) > 1, name)
        return names[0] if len(names) == 1 else tuple(names)

    def call_texts(
        self,
        function: Any,
        arguments: list[Any],
        keywords: dict[str, Any],
        specs: Sequence[ArraySpec],
        several: bool,
    ) -> list[str]:
        """Write a call of a function of NumPy's, and return the names of its results."""
        key = function_key(function)
        row = FUNCTIONS.get(key)
        if row is None:
            raise NoEqual(f"numpy.{key}" if row_of(function) is not None else key)
        if row_of(function) is not None and not isinstance(function, numpy.ufunc):
            keywords, arguments = bound_arguments(function, arguments, keywords), []
        return self._row_called(row, function, arguments, keywords, specs, several, self.emitter.owner)

    def written_graph(self, symbol: Any, operands: Sequence[Operand], specs: Any, emitter: Emitter) -> list[Operand]:
        """Write the graph of a node, by operands for its variables, in order, and return its outputs.

        `specs`: what inference knows of its values, (shapes, dtypes). The nodes go to `emitter`.
        """
        shapes, dtypes = specs
        prefix = emitter.prefix
        fixed_lengths: dict[Value, set[int]] | None = None if self._fixed_lengths is None else {}
        writer = GraphWriter(emitter, shapes, dtypes, fixed_lengths, within=prefix)
        variables = [node for node in topological(symbol.values) if node.operator is None]
        for node, operand in zip(variables, operands, strict=True):
            writer.give(Value(node), operand)
        outputs = writer.write(symbol.values)
        emitter.prefix = prefix
        if writer.problems:
            raise NoEqual("; ".join(map(str, writer.problems)))
        return outputs

    # -- steps -------------------------------------------------------------------------------------------------------

    def write_function(self, function: Any, inputs: Sequence[Operand]) -> list[Operand]:
        """Write what a function of NumPy's arrays computes, step by step, and return the results."""
        name = getattr(function, "__name__", "function")
        operator = Operator(function, name=name, builtin=True)
        return self.write_steps(TracedOperator(operator, list(map(_spec, inputs)), {}).forward, inputs)

    def _through_steps(self, node: Node, inputs: Sequence[Any], is_users: bool) -> list[Operand]:
        operator = node.operator
        if not isinstance(operator, Operator):
            raise NoEqual(
                f"a {type(operator).__name__}, which has no function of NumPy's to trace; "
                "define it by @customop('numpy')"
            )
        _require_certain(operator, node.attributes)
        attributes = dict(node.attributes)
        if operator.uses_training:
            attributes["training"] = False
        specs = list(map(_spec, inputs))
        if is_users and self._fixed_lengths is not None:
            steps = self._traced_for_any_lengths(operator, specs, attributes, node)
        else:
            steps = TracedOperator(operator, specs, attributes).forward
        inputs = [value for value in inputs if isinstance(value, Operand)]
        if is_users:
            return self._as_function(operator, steps, inputs)
        results = self.write_steps(steps, inputs)
        count = len(node.output_names())
        return [self._in_dtype(node, index, result) for index, result in enumerate(results[:count])]

    def _traced_for_any_lengths(
        self, operator: Any, specs: Sequence[Any], attributes: dict[str, Any], node: Node
    ) -> TracedSteps:
        """Return the steps of a user's function; refuse one that chooses by lengths which may be others."""
        assert self._fixed_lengths is not None
        fixed: set[int] = set().union(*(self._fixed_lengths.get(value, set()) for value in node.inputs))
        every = {length for spec in specs if isinstance(spec, ArraySpec) for length in spec.shape}
        fixed &= every
        recorder_of = SizedRecorder(operator.__name__, fixed, least=1).like
        try:
            steps = TracedOperator(operator, specs, attributes, recorder_of).forward
        except NotTraceableError as error:
            if isinstance(error.__cause__, ValueError):  # as the graph does for such lengths
                raise ShapeError(str(error)) from error.__cause__
            raise
        recorder = steps.recorder
        if isinstance(recorder, SizedRecorder):
            if recorder.choices:
                raise _StepProblem(
                    "it chooses by the length of a dynamic axis, or asks for one as a number of Python's; "
                    "make that axis fixed",
                    recorder.choices.place,
                )
            self.bounds |= recorder.bounds | recorder.lengths.bounds(recorder)
        return steps

    def _in_dtype(self, node: Node, index: int, operand: Operand) -> Operand:
        dtype = self._dtypes.get(Value(node, index))
        if dtype is None or numpy.dtype(dtype) == operand.dtype:
            return operand
        return Operand(self.emitter.cast(operand.text, dtype), operand.shape, numpy.dtype(dtype))

    def write_steps(self, steps: TracedSteps, inputs: Sequence[Operand]) -> list[Operand]:
        """Write traced steps, of these inputs, and return what they compute."""
        texts: dict[Value, Operand] = dict(zip(steps.inputs, inputs, strict=True))
        for captured, array in zip(steps.captured, steps.captured_arrays(), strict=True):
            texts[Value(captured)] = self.operands.get(Value(captured)) or self.emitter.constant(array)
        for step in steps.nodes:
            try:
                for index, result in enumerate(self._step(steps, step, texts)):
                    texts[Value(step, index)] = result
            except NoEqual as error:
                raise _StepProblem(str(error), steps.place(step)) from None
        self.operands.update(texts)
        outputs = [self._value(value, texts) for value in steps.outputs]
        return [output if isinstance(output, Operand) else self.emitter.constant(output) for output in outputs]

    def _value(self, value: Value, texts: Mapping[Value, Operand]) -> Any:
        """Return what stands for a value of steps: an operand, or a number."""
        if value.node.operator is CONSTANT:
            data = value.node.attributes["value"]
            if isinstance(data, numpy.ndarray):
                return self.emitter.constant(data) if data.ndim else data[()]
            return data
        return texts[Value(value.node, max(value.index, 0))]

    def _step(self, steps: TracedSteps, step: Node, texts: Mapping[Value, Operand]) -> list[Operand]:
        operator = step.operator
        specs = [spec_of_value(steps, Value(step, index)) for index in range(len(step.output_names()))]
        inputs = [self._value(value, texts) for value in step.inputs]
        function, several = called(steps, step)
        key = None if function is None else function_key(function)
        if key is not None and (key in FUNCTIONS or not is_defined(operator, function)):
            arguments, keywords = arguments_of(step, function, inputs)
            names = self.call_texts(function, arguments, keywords, specs, several)
            return [Operand(name, *spec) for name, spec in zip(names, specs, strict=True)]
        return self._operator_called(step, inputs, specs)

    def _operator_called(self, step: Node, inputs: Sequence[Any], specs: Sequence[ArraySpec]) -> list[Operand]:
        """Write the call of an operator within a function: by its row, or by its own steps."""
        operator = step.operator
        attributes = {name: value for name, value in step.attributes.items() if name != "training"}
        row = _row_of(operator)
        if row is not None:
            with contextlib.suppress(StepsInstead):
                names = self._row_called(row, operator.__name__, inputs, attributes, specs, len(specs) > 1, step.name)
                return [Operand(name, *spec) for name, spec in zip(names, specs, strict=True)]
        if operator.uses_training:
            attributes["training"] = False
        if operator in self._expanded:  # its definition is a call of itself
            raise NoEqual(operator.__name__)
        self._expanded.append(operator)
        try:
            return self._operator_expanded(step, inputs, attributes)
        finally:
            self._expanded.pop()

    def _operator_expanded(self, step: Node, inputs: Sequence[Any], attributes: dict[str, Any]) -> list[Operand]:
        operator = step.operator
        _require_certain(operator, attributes)
        traced = TracedOperator(operator, list(map(_spec, inputs)), attributes).forward
        operands = [value for value in inputs if isinstance(value, Operand)]
        if _is_users(operator):
            return self._as_function(operator, traced, operands)
        return self.write_steps(traced, operands)

    def _as_function(self, operator: Any, steps: TracedSteps, inputs: Sequence[Operand]) -> list[Operand]:
        """Write a user's operator as a model-local function, and a call of it."""
        body = self.emitter.of_function(operator.__name__)
        names = [body.fresh(each.node.name) for each in steps.inputs]
        writer = GraphWriter(body, {}, {})
        operands = [Operand(name, value.shape, value.dtype) for name, value in zip(names, inputs, strict=True)]
        results = writer.write_steps(steps, operands)
        outputs = [body.output(result.text, names) for result in results]
        documentation = inspect.getdoc(operator) or ""
        function = self.emitter.declare(
            EmittedFunction(_function_name(operator.__name__), body, names, outputs, documentation, FUNCTION_DOMAIN)
        )
        arguments = [value.text for value in inputs]
        texts = self.emitter.add(function.name, arguments, len(outputs), {}, function.domain)
        return [Operand(text, result.shape, result.dtype) for text, result in zip(texts, results, strict=True)]


def _with_values(node: Node, arrays: Sequence[numpy.ndarray], results: Sequence[Operand]) -> list[Operand]:
    """Return results of parameters with their elements: a row that reads them may write these in another form."""
    attributes = dict(node.attributes)
    if node.operator.uses_training:
        attributes["training"] = False
    with numpy.errstate(all="ignore"):
        outputs = dispatch.run(node.operator, [array.copy() for array in arrays], attributes)
    outputs = outputs if isinstance(outputs, (tuple, list)) else (outputs,)
    return [
        result._replace(value=numpy.asarray(output).astype(result.dtype, copy=False))
        for result, output in zip(results, outputs, strict=False)
    ]


def _function_name(name: str) -> str:
    """Return what the function of a user's operator is called: onnxruntime takes an `Add` of any domain for ONNX's."""
    from onnx import defs

    return f"{name}_function" if defs.has(name) else name


def _is_users(operator: Any) -> bool:
    """Tell whether an operator is a function of a user's, which becomes a function of the model."""
    return is_customop(operator) and not operator.builtin


def draws(operator: Any, attributes: Mapping[str, Any]) -> bool:
    """Tell whether a call of an operator draws random numbers in predict mode: Dropout does on request only."""
    if not getattr(operator, "random", False):
        return False
    return operator.draws is None or bool(operator.draws({**attributes, "training": False}))


def _require_certain(operator: Any, attributes: Mapping[str, Any]) -> None:
    """Refuse an operator that draws numbers: its steps would have those that were drawn when it was traced."""
    if draws(operator, attributes):
        raise NoEqual(
            "it draws numbers each time it runs, and ONNX has no equal of how; draw them outside, as an input"
        )


def _row_of(operator: Any) -> Row | None:
    """Return the row of an operator: a user's has none, whatever it is called."""
    return None if _is_users(operator) else OPERATORS.get(operator.__name__)


def _spec(value: Any) -> Any:
    """Return the shape and dtype of an operand; a number as it is."""
    return ArraySpec(value.shape, value.dtype) if isinstance(value, Operand) else value
