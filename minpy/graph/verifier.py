"""Checks that a graph is well formed: after every pass in tests, and for graphs from files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from minpy.core.errors import MXNetError
from minpy.graph.ir import ANSWER, CONSTANT, Node, Value
from minpy.ops.inference.partial_shapes import is_known

__all__ = ["GraphError", "verify"]


class GraphError(MXNetError, ValueError):
    """A graph that cannot be run: a cycle, an operator with the wrong number of inputs, a value that is not there."""


def verify(outputs: Iterable[Value], shapes: Mapping[Value, Any] | None = None) -> None:
    """Raise `GraphError` unless the graph of these outputs is well formed.

    Checked are: that there is no cycle; that inputs are values of nodes, with an index that the node has; the number
    of inputs of each operator; that variables have names, different ones, and no inputs; and, with `shapes`, that
    every value has a known one.
    """
    outputs = list(outputs)
    finished: set[Node] = set()
    open_nodes: set[Node] = set()
    names: dict[str, Node] = {}
    for output in outputs:
        _require_value(output, "a head")
        if output.node in finished:
            continue
        open_nodes.add(output.node)
        stack = [(output.node, iter(output.node.inputs))]
        while stack:
            node, inputs = stack[-1]
            for value in inputs:
                _require_value(value, f"an input of {node.described()}")
                if value.node in open_nodes:
                    raise GraphError(f"{node.described()} depends on itself, through {value.node.described()}.")
                if value.node not in finished:
                    open_nodes.add(value.node)
                    stack.append((value.node, iter(value.node.inputs)))
                    break
            else:
                _verify_node(node, names)
                open_nodes.discard(node)
                finished.add(node)
                stack.pop()
    if shapes is not None:
        for node in finished:
            for index in range(len(node.output_names())):
                if node.operator is not CONSTANT and not is_known(shapes.get(Value(node, index))):
                    raise GraphError(f"{node.described()}: the shape of output {index} is not known.")


def _require_value(value: Any, noun: str) -> None:
    if not isinstance(value, Value) or not isinstance(value.node, Node):
        raise GraphError(f"{noun} is {value!r}; expected a value of a node.")
    count = len(value.node.output_names())
    if not ANSWER <= value.index < count:
        raise GraphError(f"{noun} is output {value.index} of {value.node.described()}, which has {count}.")


def _verify_node(node: Node, names: dict[str, Node]) -> None:
    if node.operator is None:
        if not node.name or node.inputs:
            raise GraphError(f"{node.described()} must have a name and no inputs.")
        if names.setdefault(node.name, node) is not node:
            raise GraphError(f"two variables are named {node.name!r}.")
        return
    signature = node.operator.signature
    least = sum(name not in signature.defaults for name in signature.inputs)
    if len(node.inputs) < least or (signature.variadic is None and len(node.inputs) > len(signature.inputs)):
        raise GraphError(
            f"{node.described()} has {len(node.inputs)} input(s); expected {', '.join(signature.inputs) or 'none'}."
        )
