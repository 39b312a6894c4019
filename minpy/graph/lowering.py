"""From a graph as it was written to one that is run: dead nodes dropped, common subexpressions merged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from minpy.graph.builder import GraphBuilder
from minpy.graph.canonicalizing import CANONICAL, Call, canonicalized
from minpy.graph.ir import Node, Value, topological

__all__ = ["lower", "merged"]


def lower(
    outputs: Sequence[Value],
    training: bool,
    builder: GraphBuilder,
    shapes: Mapping[Value, Any],
    dtypes: Mapping[Value, Any],
    canonicalize: bool,
    stateful_operators: dict[Node, Any] | None = None,
) -> tuple[list[Value], dict[Value, Value]]:
    """Return (the outputs of the graph to run, which value became which).

    Variables stay the nodes that they are. Custom operators get a state of their own, or the one that is kept for their
    node in `stateful_operators`; operators that behave differently in training are told which it is. With
    `canonicalize` calls may become others that compute the same.
    """
    became: dict[Value, Value] = {}
    order = topological(outputs)
    readers = Counter([*outputs, *(value for node in order for value in node.inputs)])
    for node in order:
        if node.operator is None:
            became[Value(node)] = Value(node)
            continue
        operator, attributes = node.operator, node.attributes
        if hasattr(operator, "fresh"):
            if stateful_operators is not None and hasattr(operator, "keeping"):
                operator = stateful_operators.get(node) or stateful_operators.setdefault(node, operator.keeping())
            operator = operator.fresh()
        if operator.uses_training and attributes.get("training") is None:
            attributes = {**attributes, "training": training}
        if operator.completed is not None:
            attributes = operator.completed(attributes, shapes[Value(node)])
        inputs = [became[value] for value in node.inputs]
        if canonicalize and operator in CANONICAL:
            first = node.inputs[0]
            shown = [shapes.get(value) for value in node.inputs]
            same = dtypes.get(first) == dtypes.get(Value(node))
            call = Call(operator, inputs, attributes, shown, readers[first] == 1, same, shapes.get(Value(node)))
            operator, inputs, attributes, *_ = canonicalized(call)
        lowered_node = builder.node(operator, inputs, attributes, node.name, node.kind)
        for index in range(len(node.output_names())):
            became[Value(node, index)] = Value(lowered_node, index)
    return [became[output] for output in outputs], became


def merged(outputs: Sequence[Value]) -> list[Value]:
    """Return the outputs of a graph in which calls that compute the same are one; names and variables stay.

    What else lowering does to a graph that is run, only its program knows.
    """
    builder = GraphBuilder()
    became: dict[Value, Value] = {}
    for node in topological(outputs):
        if node.operator is None:
            merged_node = node
        else:
            inputs = [became[value] for value in node.inputs]
            merged_node = builder.add(
                Node(node.operator, inputs, node.attributes, node.name, node.kind, node.annotations)
            )
        became |= {Value(node, index): Value(merged_node, index) for index in range(len(node.output_names()))}
    return [became[output] for output in outputs]


def used(roots: Iterable[Value]) -> set[Node]:
    """Return the nodes that some values depend on."""
    return set(topological(roots))
