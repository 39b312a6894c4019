"""From a graph as it was written to one that is run: dead nodes dropped, common subexpressions merged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy

from minpy.core.operator import Operator
from minpy.graph.ir import Node, Value, topological
from minpy.graph.simplifying import SIMPLIFIED, Call, simplified

__all__ = ["Builder", "lower", "merged"]


class Builder:
    """Makes nodes, and gives the node made before where one would compute the same.

    Attributes
    ----------
    created : list of Node
        In the order in which they were made, which is an order in which they can be run.
    """

    def __init__(self) -> None:
        self.created: list[Node] = []
        self._known: dict[Any, Node] = {}

    def node(
        self, operator: Any, inputs: Sequence[Value], attributes: Mapping[str, Any], name: str, kind: str | None = None
    ) -> Node:
        """Return a node that computes this."""
        key = _key(operator, inputs, attributes)
        known = self._known.get(key) if key is not None else None
        if known is None:
            known = Node(operator, inputs, attributes, name, kind)
            self.created.append(known)
            if key is not None:
                self._known[key] = known
        return known

    def add(self, node: Node) -> Node:
        """Return a node that is there already, or the one known here that computes the same."""
        key = _key(node.operator, node.inputs, node.attributes)
        known = self._known.get(key) if key is not None else None
        if known is None:
            known = node
            self.created.append(node)
            if key is not None:
                self._known[key] = node
        return known


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


def lower(
    heads: Sequence[Value],
    training: bool,
    builder: Builder,
    shapes: Mapping[Value, Any],
    dtypes: Mapping[Value, Any],
    simplify: bool,
    keeping: dict[Node, Any] | None = None,
) -> tuple[list[Value], dict[Value, Value]]:
    """Return (the heads of the graph to run, which value became which).

    Variables stay the nodes that they are. Custom operators get a state of their own, or the one that is kept for their
    node in `keeping`; operators that behave differently in training are told which it is. With `simplify` calls may
    become others that compute the same.
    """
    became: dict[Value, Value] = {}
    order = topological(heads)
    readers = Counter([*heads, *(value for node in order for value in node.inputs)])
    for node in order:
        if node.operator is None:
            became[Value(node)] = Value(node)
            continue
        operator, attributes = node.operator, node.attributes
        if hasattr(operator, "fresh"):
            if keeping is not None and hasattr(operator, "keeping"):
                operator = keeping.get(node) or keeping.setdefault(node, operator.keeping())
            operator = operator.fresh()
        if operator.uses_training and attributes.get("training") is None:
            attributes = {**attributes, "training": training}
        if operator.completed is not None:
            attributes = operator.completed(attributes, shapes[Value(node)])
        inputs = [became[value] for value in node.inputs]
        if simplify and operator in SIMPLIFIED:
            first = node.inputs[0]
            shown = [shapes.get(value) for value in node.inputs]
            same = dtypes.get(first) == dtypes.get(Value(node))
            call = Call(operator, inputs, attributes, shown, readers[first] == 1, same, shapes.get(Value(node)))
            operator, inputs, attributes, *_ = simplified(call)
        made = builder.node(operator, inputs, attributes, node.name, node.kind)
        for index in range(len(node.output_names())):
            became[Value(node, index)] = Value(made, index)
    return [became[head] for head in heads], became


def merged(heads: Sequence[Value]) -> list[Value]:
    """Return the heads of a graph in which calls that compute the same are one; names and variables stay.

    What else lowering does to a graph that is run, only its program knows.
    """
    builder = Builder()
    became: dict[Value, Value] = {}
    for node in topological(heads):
        if node.operator is None:
            made = node
        else:
            inputs = [became[value] for value in node.inputs]
            made = builder.add(Node(node.operator, inputs, node.attributes, node.name, node.kind, node.annotations))
        became |= {Value(node, index): Value(made, index) for index in range(len(node.output_names()))}
    return [became[head] for head in heads]


def used(roots: Iterable[Value]) -> set[Node]:
    """Return the nodes that some values depend on."""
    return set(topological(roots))
