"""Symbols as flat tables, for pickling: no recursion, however deep the graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minpy.graph.ir import Node, Value, topological
from minpy.ops.registry import find_operator, known_operator
from minpy.symbol.symbol import Symbol, method

__all__ = ["graph_state", "rebuild"]


def graph_state(heads: Sequence[Value]) -> Any:
    """Return the graph as (rows, heads): a row holds the numbers of the nodes that it reads."""
    order = topological(heads)
    number = {node: position for position, node in enumerate(order)}
    rows = [
        (
            node.kind if node.operator is not None and known_operator(node.kind) is node.operator else node.operator,
            [(number[value.node], value.index) for value in node.inputs],
            node.attributes,
            node.name,
            node.kind,
            node.annotations,
        )
        for node in order
    ]
    return rows, [(number[value.node], value.index) for value in heads]


def rebuild(state: Any, kind: type[Symbol] = Symbol) -> Symbol:
    """Return the symbol, of a class, of a table made by `graph_state`."""
    rows, heads = state
    nodes: list[Node] = []
    for saved, inputs, *fields in rows:
        operator = find_operator(saved) if isinstance(saved, str) else saved
        nodes.append(Node(operator, [Value(nodes[position], index) for position, index in inputs], *fields))
    return kind([Value(nodes[position], index) for position, index in heads])


@method
def __reduce__(self: Symbol) -> Any:
    """Return how a symbol is pickled."""
    state = graph_state(self.values)
    return rebuild, (state,) if type(self) is Symbol else (state, type(self))
