"""Graphs made node by node, in which calls that compute the same are one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy

from minpy.core.operator import Operator
from minpy.graph.ir import Node, Value

__all__ = ["GraphBuilder"]


class GraphBuilder:
    """Makes nodes, and gives the node made before where one would compute the same."""

    def __init__(self) -> None:
        # In the order in which they were made, which is an order in which they can be run.
        self.created: list[Node] = []
        self._nodes: dict[Any, Node] = {}

    def node(
        self, operator: Any, inputs: Sequence[Value], attributes: Mapping[str, Any], name: str, kind: str | None = None
    ) -> Node:
        """Return a node that computes this."""
        key = _key(operator, inputs, attributes)
        return self._nodes.get(key) or self._added(key, Node(operator, inputs, attributes, name, kind))

    def add(self, node: Node) -> Node:
        """Return a node that is there already, or the one known here that computes the same."""
        key = _key(node.operator, node.inputs, node.attributes)
        return self._nodes.get(key) or self._added(key, node)

    def _added(self, key: Any, node: Node) -> Node:
        self.created.append(node)
        if key is not None:
            self._nodes[key] = node
        return node


def _key(operator: Any, inputs: Sequence[Value], attributes: Mapping[str, Any]) -> Any:
    """Return what tells nodes apart that compute different things; None if two calls may differ in any case."""
    if not isinstance(operator, Operator) or not operator.builtin or not operator.mergeable:
        return None
    if operator.random or operator.auxiliary:
        return None
    try:
        key = (operator, tuple(inputs), tuple((name, _frozen(value)) for name, value in sorted(attributes.items())))
        hash(key)
    except TypeError:
        return None
    return key


def _frozen(value: Any) -> Any:
    if isinstance(value, numpy.ndarray):
        raise TypeError
    if isinstance(value, (float, numpy.floating)):  # 0.0 and -0.0 are equal, and not the same
        return (type(value), repr(value))
    if isinstance(value, (list, tuple)):
        return tuple(map(_frozen, value))
    return (type(value), value)  # numbers of different types may be equal, as 2 and 2.0 are
