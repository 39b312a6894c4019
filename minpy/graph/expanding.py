"""Users' operators replaced by what their forward functions compute, in the graph that is run.

Users see, name and save one node; a program runs its inside, merged with what surrounds it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from minpy.graph.ir import Node, Value
from minpy.graph.lowering import Builder
from minpy.graph.tracing.captures import Captures
from minpy.graph.tracing.forwards import given_value, is_customop, trace_forward
from minpy.graph.tracing.recorder import Recorder
from minpy.graph.tracing.standin import StandIn
from minpy.graph.tracing.untraceable import Untraceable

__all__ = ["Expanded", "expand"]


class Expanded(NamedTuple):
    """Nodes in an order in which they can be run, and which value became which."""

    nodes: list[Node]
    became: dict[Value, Value]

    def value(self, value: Value) -> Value:
        """Return what a value became."""
        return self.became.get(value, value)


def expand(
    nodes: Sequence[Node], shapes: Mapping[Value, Any], dtypes: Mapping[Value, Any], captures: Captures
) -> Expanded:
    """Return nodes with each `@customop` whose forward can be traced replaced by its steps.

    Parameters
    ----------
    nodes : sequence of Node
        Each after its inputs.
    shapes, dtypes : mapping of Value
    captures : Captures
        Notes what the operators refer to.
    """
    if not any(map(_may_be_traced, nodes)):
        return Expanded(list(nodes), {})
    builder = Builder()
    expanded = Expanded(builder.created, {})
    for node in nodes:
        if not (_may_be_traced(node) and _trace(node, builder, shapes, dtypes, captures, expanded)):
            inputs = [expanded.value(value) for value in node.inputs]
            made = builder.node(node.operator, inputs, node.attributes, node.name, node.kind)
            for index in range(-1, len(node.output_names())):
                expanded.became[Value(node, index)] = Value(made, index)
    return expanded


def _may_be_traced(node: Node) -> bool:
    return node.operator is not None and is_customop(node.operator)


def _trace(
    node: Node,
    builder: Builder,
    shapes: Mapping[Value, Any],
    dtypes: Mapping[Value, Any],
    captures: Captures,
    expanded: Expanded,
) -> bool:
    """Add the steps of one operator; tell whether that could be done."""
    recorder, attempt = Recorder(builder, node.name, StandIn), captures.attempt()
    outputs = [Value(node, index) for index in range(len(node.output_names()))]
    try:
        inputs = [
            given_value(recorder, expanded.value(value), shapes.get(value), dtypes.get(value)) for value in node.inputs
        ]
        answers = trace_forward(recorder, attempt, node.operator, inputs, node.attributes)
    except Untraceable:
        return False
    facts = [(shapes[value], dtypes[value]) for value in outputs]
    if [(answer.shape, answer.dtype) for answer in answers] != facts:
        return False  # what reads it was made for what inference said
    captures.adopt(attempt)
    expanded.became.update((value, answer.value) for value, answer in zip(outputs, answers, strict=True))
    return True
