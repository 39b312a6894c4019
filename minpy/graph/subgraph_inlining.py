"""Replaces nodes that hold a graph by the nodes of that graph, in what is run.

Users see, name and save one node; a program runs its content, merged with what surrounds it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from minpy.core.array import Shaped
from minpy.graph.ir import ANSWER, Node, Value, topological

__all__ = ["inlined"]


def inlined(
    outputs: Sequence[Value], shapes: Mapping[Value, Any], dtypes: Mapping[Value, Any]
) -> tuple[Sequence[Value], Mapping[Value, Any], Mapping[Value, Any]]:
    """Return a graph without nodes that only stand for a graph, and what is known of its values.

    `shapes`, `dtypes`: of every value of the graph.
    """
    order = topological(outputs)
    if not any(_inside(node) is not None for node in order):
        return outputs, shapes, dtypes
    tables = dict(shapes), dict(dtypes)
    became: dict[Value, Value] = {}
    for node in order:
        inside = _inside(node)
        if inside is not None:
            input_facts = [Shaped(shapes[value], dtypes[value]) for value in node.inputs]
            inner = inlined(inside.symbol.values, *inside.facts_of(input_facts))
            own = {
                Value(variable): became.get(value, value)
                for variable, value in zip(inside.variables, node.inputs, strict=True)
            }
            for index, output in enumerate(_copied(*inner, own, tables)):
                became[Value(node, index)] = output
        elif any(value in became for value in node.inputs):
            _replace(node, became, tables, (shapes, dtypes))
    return [became.get(output, output) for output in outputs], *tables


def _inside(node: Node) -> Any:
    return None if node.operator is None else node.operator.inside


Facts = tuple[Mapping[Value, Any], Mapping[Value, Any]]


def _copied(
    outputs: Sequence[Value],
    shapes: Mapping[Value, Any],
    dtypes: Mapping[Value, Any],
    became: dict[Value, Value],
    tables: tuple[dict[Value, Any], dict[Value, Any]],
) -> list[Value]:
    """Return the outputs of a graph with new nodes, in which variables have become other values."""
    for node in topological(outputs):
        if node.operator is not None:
            _replace(node, became, tables, (shapes, dtypes))
    return [became[output] for output in outputs]


def _replace(
    node: Node, became: dict[Value, Value], tables: tuple[dict[Value, Any], dict[Value, Any]], facts: Facts
) -> None:
    """Copy a node with its new inputs; facts about it hold for the copy."""
    inputs = [became.get(value, value) for value in node.inputs]
    copy = Node(node.operator, inputs, node.attributes, node.name, node.kind, node.annotations)
    for index in (ANSWER, *range(len(node.output_names()))):
        before, after = Value(node, index), Value(copy, index)
        became[before] = after
        for table, source in zip(tables, facts, strict=True):
            if before in source:
                table[after] = source[before]
