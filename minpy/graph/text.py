"""Graphs as text, for terminals: one line a node."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from minpy.graph.ir import Node, Value, topological
from minpy.ops.inference.partial_shapes import show_shape

__all__ = ["drawing", "graph_text", "node_text"]

_CALL_WIDTH = 48


def node_text(node: Node, shapes: Mapping[Value, Any] | None = None) -> str:
    """Return one line: `name = Operator(inputs, attributes)`, with the shapes of the outputs if they are given."""
    shape = ""
    if shapes is not None:
        shape = f" : {_output_shapes(node, shapes)}"
    if node.operator is None:
        return f"{node.name}{shape} = variable"
    parts = [repr(value) for value in node.inputs]
    parts += [f"{name}={value!r}" for name, value in node.shown_attributes().items()]
    return f"{node.name}{shape} = {node.kind}({', '.join(parts)})"


def graph_text(outputs: Sequence[Value], shapes: Mapping[Value, Any] | None = None) -> str:
    """Return the graph as text: variables and calls in the order of the graph, then what it returns.

    Examples
    --------
    >>> from minpy import sym
    >>> x = sym.var('x')
    >>> print(sym.tanh(sym.sum(x, axis=1, name='s'), name='y').debug_str())
    x = variable
    s = sum(x, axis=1)
    y = tanh(s)
    return y
    """
    lines = [node_text(node, shapes) for node in topological(outputs)]
    return "\n".join([*lines, f"return {', '.join(map(repr, outputs))}"])


def drawing(
    outputs: Sequence[Value], shapes: Mapping[Value, Any] | None = None, hidden: Collection[Node] = frozenset()
) -> str:
    """Return the graph drawn with lines: one row a node, with what it is, its shapes, and the nodes that feed it.

    A node continues the line of an input that nobody reads later; an input that is read again keeps its line beside it,
    as in a skip connection. `○` is a variable, `●` a call, `◉` an output of the graph; a line is read at `├`, `┼` and
    `┤`, for the last time at `╯` and `┴`, and not at all at `─│─`.

    `shapes`: the shapes of values, as far as they are known. `hidden`: variables to leave out, such as weights.

    Examples
    --------
    >>> from minpy import sym
    >>> a = sym.tanh(sym.var('x'), name='a')
    >>> b = sym.exp(sym.sin(a, name='b1'), name='b2')
    >>> print(drawing(sym.Concat(b, a, dim=0, name='c').values))
    ○    x   variable
    ●    a   tanh           ← x
    ├─●  b1  sin            ← a
    │ ●  b2  exp            ← b1
    ◉─╯  c   Concat(dim=0)  ← b2, a
    """
    order = topological(outputs)
    nodes = [node for node in order if node not in hidden]
    output_nodes = {value.node for value in outputs}
    signs = ["◉" if node in output_nodes else "○" if node.operator is None else "●" for node in nodes]
    columns = [_lanes(nodes, signs), [node.name for node in nodes], [_call_text(node) for node in nodes]]
    if shapes is not None:
        columns.append([_output_shapes(node, shapes) for node in nodes])
    columns.append([_fed_by(node, hidden) for node in nodes])
    widths = [max(map(len, column), default=0) for column in columns]
    rows = zip(*columns, strict=True)
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def _lanes(nodes: Sequence[Node], signs: Sequence[str]) -> list[str]:
    """Return the drawn part of every row: a node's sign, the lines that pass it, and those that it reads."""
    shown = set(nodes)
    inputs = {node: list(dict.fromkeys(v.node for v in node.inputs if v.node in shown)) for node in nodes}
    last = {read: node for node in nodes for read in inputs[node]}
    lanes: list[Node | None] = []
    rows = []
    for node, sign in zip(nodes, signs, strict=True):
        read = [lanes.index(source) for source in inputs[node]]
        ending = [lane for lane, source in zip(read, inputs[node], strict=True) if last[source] is node]
        own = min(ending) if ending else _free_lane(lanes, max(read, default=-1) + 1)
        lanes += [None] * (own + 1 - len(lanes))
        rows.append(_row(lanes, own, read, ending, sign))
        for lane in ending:
            lanes[lane] = None
        lanes[own] = node if node in last else None
    return rows


def _free_lane(lanes: Sequence[Node | None], start: int) -> int:
    """Return the first lane from `start` on that no node holds."""
    return next((lane for lane in range(start, len(lanes)) if lanes[lane] is None), max(start, len(lanes)))


def _row(lanes: Sequence[Node | None], own: int, read: Sequence[int], ending: Sequence[int], sign: str) -> str:
    """Draw one row: from the lane of the node to those of its inputs."""
    joined = {own, *read}
    left, right = min(joined), max(joined)
    text = ""
    for lane, holder in enumerate(lanes):
        if lane == own:
            mark = sign
        elif lane in ending:
            mark = "╯" if lane == right else "┴"
        elif lane in joined:
            mark = "├" if lane == left else "┤" if lane == right else "┼"
        elif holder is not None:
            mark = "│"
        else:
            mark = "─" if left < lane < right else " "
        text += mark + ("─" if left <= lane < right else " ")
    return text.rstrip()


def _call_text(node: Node) -> str:
    """Return the operator and its attributes, cut where they get too long for a column."""
    if node.operator is None:
        return "variable"
    attributes = ", ".join(f"{name}={value!r}" for name, value in node.shown_attributes().items())
    text = " ".join(f"{node.kind}({attributes})".split()) if attributes else node.kind
    return text if len(text) <= _CALL_WIDTH else text[: _CALL_WIDTH - 4] + "...)"


def _output_shapes(node: Node, shapes: Mapping[Value, Any]) -> str:
    return ", ".join(show_shape(shapes.get(Value(node, index))) for index in range(len(node.output_names())))


def _fed_by(node: Node, hidden: Collection[Node]) -> str:
    names = [repr(value) for value in node.inputs if value.node not in hidden]
    return f"← {', '.join(names)}" if names else ""
