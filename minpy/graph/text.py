"""Graphs as text, for terminals: one line a node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from minpy.core.shapes import show_shape
from minpy.graph.ir import Node, Value, topological

__all__ = ["graph_text", "node_text"]


def node_text(node: Node, shapes: Mapping[Value, Any] | None = None) -> str:
    """Return one line: `name = Operator(inputs, attributes)`, with the shapes of the outputs if they are given."""
    shape = ""
    if shapes is not None:
        count = len(node.output_names())
        shape = " : " + ", ".join(show_shape(shapes.get(Value(node, index))) for index in range(count))
    if node.operator is None:
        return f"{node.name}{shape} = variable"
    parts = [repr(value) for value in node.inputs]
    parts += [f"{name}={value!r}" for name, value in node.attributes.items()]
    return f"{node.name}{shape} = {node.kind}({', '.join(parts)})"


def graph_text(heads: Sequence[Value], shapes: Mapping[Value, Any] | None = None) -> str:
    """Return the graph as text: variables and calls in the order of the graph, then what it returns.

    Examples
    --------
    >>> from minpy import sym
    >>> x = sym.var('x')
    >>> print(sym.tanh(x + 1, name='y').debug_str())
    x = variable
    _plusscalar0 = _plus_scalar(x, scalar=1)
    y = tanh(_plusscalar0)
    return y
    """
    lines = [node_text(node, shapes) for node in topological(heads)]
    return "\n".join([*lines, f"return {', '.join(map(repr, heads))}"])
