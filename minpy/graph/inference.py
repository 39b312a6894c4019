"""Shapes and dtypes of all values of a graph, inferred to a fixed point in both directions.

Every operator says how what is known about its inputs and outputs completes the rest (`Operator.def_infer_shape`).
Rules are applied along the graph and back until nothing new follows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import is_
from typing import Any

import numpy

from minpy.core.errors import ArgumentError, DTypeError, MXNetError, ShapeError, is_quitting
from minpy.core.output_counts import LearnedOutputs
from minpy.graph.ir import CONSTANT, Node, Value
from minpy.graph.locating import located
from minpy.ops.inference.partial_shapes import complete, is_known, merge_dtypes, merge_shapes, same_dtype, show_shape

__all__ = ["Inference", "infer_dtypes", "infer_shapes", "shapes_returned"]


class Inference:
    """What is known about the values of a graph: shapes, or dtypes."""

    def __init__(
        self,
        order: Sequence[Node],
        rule_of: Callable[[Node], Callable[..., Any] | None],
        merge: Callable[[Any, Any], Any],
        show: Callable[[Any], str],
        kind: str,
    ) -> None:
        self.order = order
        self.known: dict[Value, Any] = {}  # value to shape or dtype
        self.origin: dict[Value, str] = {}  # value to where its knowledge came from, in words
        self._rule_of = rule_of
        self._merge = merge
        self._show = show
        self._kind = kind
        self._task = "infer_shape" if kind == "shape" else "infer_type"
        self._error = ShapeError if kind == "shape" else DTypeError
        self._done: set[Node] = set()

    def tell(self, value: Value, fact: Any, origin: str, node: Node | None = None) -> bool:
        """Add a fact about a value; return whether it says anything new.

        Raises ShapeError or DTypeError if it contradicts what is known; with the node where it does, and where the
        known fact came from.
        """
        before = self.known.get(value)
        try:
            after = self._merge(before, fact)
        except MXNetError:
            raise self._conflict(value, before, fact, origin, node) from None
        if _same(after, before):
            return False
        self.known[value] = after
        self.origin[value] = origin if before is None else f"{self.origin[value]}, and {origin}"
        return True

    def run(self) -> None:
        """Apply the rules until nothing changes."""
        nodes = [node for node in self.order if node.operator is not None]
        changed = True
        while changed:
            changed = sum(map(self._visit, nodes)) > 0
            changed = sum(map(self._visit, reversed(nodes))) > 0 and changed

    def _visit(self, node: Node) -> bool:
        if node in self._done:
            return False
        rule = self._rule_of(node)
        outputs = [Value(node, index) for index in range(len(node.output_names()))]
        before = [self.known.get(value) for value in node.inputs], [self.known.get(value) for value in outputs]
        if rule is None:
            return False
        try:
            after = rule(list(before[0]), list(before[1]), **node.attributes)
        except (ShapeError, DTypeError) as error:
            raise self._failure(node, error) from error
        except Exception as error:
            raise located(f"{self._task}: {node.described()}", error)  # noqa: B904
        if len(after[0]) != len(node.inputs) or len(after[1]) != len(outputs):
            raise ArgumentError(
                f"{self._task}: {node.described()} has {len(node.inputs)} input(s) and {len(outputs)} output(s); with "
                f"its attributes it takes {len(after[0])} and returns {len(after[1])}."
            )
        origin, changed = "", False
        for values, facts, facts_before in ((node.inputs, after[0], before[0]), (outputs, after[1], before[1])):
            for value, fact, old in zip(values, facts, facts_before, strict=True):
                if not _same(fact, old) and fact is not None:
                    origin = origin or f"inferred at {node.described()}"
                    changed = self.tell(value, fact, origin, node) or changed
        if all(self._settled(value) for value in (*node.inputs, *outputs)) and not changed:
            self._done.add(node)
        return changed

    def _settled(self, value: Value) -> bool:
        fact = self.known.get(value)
        return is_known(fact) if isinstance(fact, tuple) else fact is not None

    def _conflict(self, value: Value, before: Any, fact: Any, origin: str, node: Node | None) -> MXNetError:
        at = f"{node.described()}: {self._inputs(node)}; " if node is not None else ""
        return self._error(
            f"{self._task}: {at}{self._named(value)} has {self._kind} {self._show(before)} ({self.origin[value]}) and "
            f"{self._show(fact)} ({origin}). They must be equal."
        )

    def _failure(self, node: Node, error: Exception) -> MXNetError:
        origins = [
            f"{self._named(value)}: {self.origin[value]}"
            for value in node.inputs
            if value in self.origin and value.node.operator is None
        ]
        gap = "\n  " if "\n" in str(error) else " "
        return self._error(
            f"{self._task}: {node.described()}: {self._inputs(node)}: {error}"
            + (f"{gap}({'; '.join(origins)})" if origins else "")
        )

    def _inputs(self, node: Node) -> str:
        return ", ".join(
            f"{name} {value!r} {self._show(self.known.get(value))}"
            for name, value in zip(self._input_names(node), node.inputs, strict=True)
        )

    @staticmethod
    def _input_names(node: Node) -> list[str]:
        names = node.input_names()
        return names if len(names) == len(node.inputs) else node.operator.argument_names(len(node.inputs))

    def _named(self, value: Value) -> str:
        return f"{'variable ' if value.node.operator is None else ''}{value!r}"


def _same(fact: Any, fact_before: Any) -> bool:
    if fact is None or fact_before is None:  # first: numpy.dtype('float64') == None is True
        return fact is fact_before
    return bool(fact == fact_before)


Facts = Sequence[tuple[Mapping[Value, Any], str]]  # what is given, and where it came from, in words


def infer_dtypes(order: Sequence[Node], sources: Facts, default: Any = None) -> Inference:
    """Infer the dtypes of a graph's values from some; variables of which nothing follows have the `default`, if any."""

    def rule_of(node: Node) -> Callable[..., Any]:
        rule: Callable[..., Any] | None = node.operator.type_inference
        return rule if rule is not None else same_dtype

    inference = Inference(order, rule_of, merge_dtypes, lambda fact: "?" if fact is None else fact.name, "dtype")
    for facts, origin in sources:
        for value, dtype in facts.items():
            inference.tell(value, numpy.dtype(dtype), origin)
    inference.run()
    if default is not None:
        open_variables = [Value(node) for node in order if node.operator is None and Value(node) not in inference.known]
        for value in open_variables:
            inference.tell(value, numpy.dtype(default), f"{default} where nothing else is said")
        if open_variables:
            inference.run()
    return inference


def infer_shapes(order: Sequence[Node], sources: Facts, dtypes: Mapping[Value, Any] | None = None) -> Inference:
    """Infer the shapes of a graph's values from some.

    An operator without a rule for partly known shapes is asked once all its inputs are known: its `def_shape` rule; a
    user's function by tracing it; or else its forward function, on arrays of ones of these shapes and of `dtypes`;
    where that fails (a matrix of ones has no inverse), on positive definite matrices.
    """
    dtypes = dtypes or {}

    def rule_of(node: Node) -> Callable[..., Any]:
        rule: Callable[..., Any] | None = node.operator.shape_inference
        return rule if rule is not None else lambda inputs, outputs, **_: _from_inputs(node, inputs, outputs, dtypes)

    inference = Inference(order, rule_of, merge_shapes, show_shape, "shape")
    for node in order:
        if node.operator is CONSTANT:
            inference.tell(Value(node), numpy.shape(node.attributes["value"]), "a constant")
    for facts, origin in sources:
        for value, shape in facts.items():
            inference.tell(value, tuple(shape), origin)
    inference.run()
    return inference


def _from_inputs(node: Node, inputs: Sequence[Any], outputs: Sequence[Any], dtypes: Mapping[Value, Any]) -> Any:
    if complete(outputs) or not complete(inputs):
        return inputs, outputs
    operator = node.operator
    if operator.shape_rule is not None:
        output_shapes = operator.shape_rule(*inputs, **node.attributes)
        return inputs, output_shapes if isinstance(output_shapes, list) else [output_shapes] * len(outputs)
    facts = [(shape, dtypes.get(value) or numpy.float32) for shape, value in zip(inputs, node.inputs, strict=True)]
    shapes = shapes_returned(node, facts)
    if len(shapes) != len(outputs):
        name = operator.__name__
        if type(operator.outputs) is LearnedOutputs and operator.outputs.varies(node.attributes):
            raise ArgumentError(
                f"{name} returns {len(shapes)} arrays here, and has returned {len(outputs)} for other inputs. In "
                "symbols, hybridized blocks and compiled functions the number must follow from the attributes: make "
                "it one of them, or return one array."
            )
        raise ArgumentError(
            f"{name} returns {len(shapes)} arrays, and this symbol of it was made with {len(outputs)} output(s), "
            f"before that was known. Say it where {name} is defined, @customop({operator.kind!r}, "
            f"outputs={len(shapes)}), and make the symbol again."
        )
    return inputs, shapes


def shapes_returned(node: Node, input_facts: Sequence[tuple[Any, Any]]) -> list[Any]:
    """Return the shapes of what an operator returns for inputs of such shapes and dtypes: it is captured, or run."""
    operator = node.operator
    facts = None
    if operator.expands or not operator.builtin:  # others are not captured: most programs need not import that
        from minpy.capture.forwards import captured_facts, is_customop

        facts = captured_facts(node, input_facts) if is_customop(operator) else None
    if facts is not None:
        return [fact.shape for fact in facts]
    told = operator.output_facts(input_facts, node.attributes)
    if told is not None:
        return [shape for shape, _ in told]
    try:
        result = _result_on(node, [numpy.ones(shape, dtype) for shape, dtype in input_facts])
    except IndexError:
        # Where they are positions, ones need not be there.
        result = _result_on(node, [numpy.zeros(shape, dtype) for shape, dtype in input_facts])
    except Exception as error:
        from minpy.capture.abstract_evaluation import invertible

        samples = [numpy.ones(shape, dtype) for shape, dtype in input_facts]
        regular = [invertible(sample, "regular") for sample in samples]
        if is_quitting(error) or all(map(is_, samples, regular)):
            raise
        result = _result_on(node, regular)
    results = result if isinstance(result, (tuple, list)) else [result]
    return [numpy.shape(output) for output in results]


def _result_on(node: Node, arrays: Sequence[numpy.ndarray]) -> Any:
    """Return what the operator of a node returns for arrays; constants are given as they are."""
    operator = node.operator
    values = [
        value.node.attributes["value"] if value.node.operator is CONSTANT else array
        for array, value in zip(arrays, node.inputs, strict=True)
    ]
    attributes = {**node.attributes, "training": False} if operator.uses_training else node.attributes
    with numpy.errstate(all="ignore"):
        return operator(*values, **attributes)
