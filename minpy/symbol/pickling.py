"""Symbols as flat tables, for pickling: no recursion, however deep the graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minpy.graph.ir import Node, Value, topological
from minpy.ops.registry import OPERATORS
from minpy.symbol.symbol import Symbol, method

__all__ = ["graph_state", "rebuild"]


def graph_state(heads: Sequence[Value]) -> Any:
    """Return the graph as (rows, heads): a row holds the numbers of the nodes that it reads."""
    order = topological(heads)
    number = {node: position for position, node in enumerate(order)}
    rows = [
        (
            node.kind if node.operator is not None and OPERATORS.get(node.kind) is node.operator else node.operator,
            [(number[value.node], value.index) for value in node.inputs],
            node.attributes,
            node.name,
            node.kind,
            node.annotations,
        )
        for node in order
    ]
    return rows, [(number[value.node], value.index) for value in heads]


def rebuild(state: Any) -> Symbol:
    """Return the symbol of a table made by `graph_state`."""
    rows, heads = state
    nodes: list[Node] = []
    for operator, inputs, *rest in rows:
        made = OPERATORS[operator] if isinstance(operator, str) else operator
        nodes.append(Node(made, [Value(nodes[position], index) for position, index in inputs], *rest))
    return Symbol([Value(nodes[position], index) for position, index in heads])


@method
def __reduce__(self: Symbol) -> Any:
    """Return how a symbol is pickled."""
    return rebuild, (graph_state(self.values),)
