"""A symbol's graph as one that passes edit, and back: a node that was not edited keeps its operator."""

from __future__ import annotations

from typing import Any

from minpy.core.configured import ConfiguredOperator, OperatorFamily
from minpy.core.errors import ArgumentError, FileFormatError
from minpy.graph.ir import CONSTANT, Node, Value
from minpy.graph.partitioning.editable import EditingError, Entry, Graph, GraphNode, as_entry
from minpy.graph.verifier import GraphError, verify
from minpy.symbol.loading import Reader
from minpy.symbol.naming import is_annotation
from minpy.symbol.saving import described, graphs_inside
from minpy.symbol.symbol import Symbol, attribute_strings

__all__ = ["editable", "output_name", "relinked", "symbol_of"]


class _Origin:
    """The node that a `GraphNode` was made of, and what was said of it then."""

    __slots__ = ("attrs", "inside", "node", "op", "saved_outputs")

    def __init__(self, node: Node) -> None:
        self.node = node
        self.inside: Any = []
        try:
            self.op, self.attrs, self.saved_outputs = described(node)
        except ArgumentError:  # what files cannot hold has a name here all the same
            shown = {} if node.operator is CONSTANT else attribute_strings(node)
            self.op, self.attrs = node.kind, {**node.annotations, **shown}
            self.saved_outputs = len(node.output_names())


def editable(symbol: Symbol) -> Graph:
    """Return a symbol's graph to edit; the symbol is not changed by that.

    Examples
    --------
    >>> from minpy import sym
    >>> print(editable(sym.exp(sym.var('x'), name='y')))
    x
    y = exp(x[0])
    outputs: y[0]
    """
    graph = Graph()
    copies: dict[Node, GraphNode] = {}
    for node in symbol.order:
        origin = _Origin(node)
        inputs = [Entry(copies[value.node], value.index) for value in node.inputs]
        copied = GraphNode(origin.op, node.name, origin.attrs, inputs, [*map(editable, graphs_inside(node))])
        origin.inside = _inside(copied)
        copied.origin, copied.graph = origin, graph
        copies[node] = copied
    graph.outputs = [Entry(copies[value.node], value.index) for value in symbol.values]
    return graph.numbered()


def output_name(entry: Entry) -> str:
    """Return what files call an output of a node."""
    node, index = entry
    if node.is_variable:
        return node.name
    if isinstance(node.origin, _Origin):
        return f"{node.name}_{node.origin.node.output_names()[index]}"
    count = len(node.subgraphs[0].outputs)
    return f"{node.name}_output{index if count > 1 else ''}"


def relinked(graph: Graph, before: Graph) -> Graph:
    """Let nodes of a graph that came as text be what they were made of: those of the same name in the graph before."""
    by_name: dict[str, list[GraphNode]] = {}
    for node in before.nodes:
        by_name.setdefault(node.name, []).append(node)
    for node in graph.nodes:
        originals = by_name.get(node.name, [])
        if node.origin is None and originals:
            # Of several of one name, as backends make them one after the other, the one that is alike.
            alike = (it for it in originals if it.op == node.op and _inside(it) == _inside(node))
            original = next(alike, originals[0])
            node.origin = original.origin
            if len(originals) > 1:
                originals.remove(original)
    return graph


def _inside(node: GraphNode) -> Any:
    """Return what the graphs inside of a node are, to be compared: nothing that is only noted."""
    return [*map(_content, node.subgraphs)]


def _content(graph: Graph) -> Any:
    numbers = {node: number for number, node in enumerate(graph.nodes)}

    def numbered(entries: Any) -> list[tuple[int, int]]:
        return [(numbers[entry.node], entry.index) for entry in map(as_entry, entries)]

    rows = [
        (node.op, node.name, _without_annotations(node.attrs), numbered(node.inputs), _inside(node)) for node in numbers
    ]
    return rows, numbered(graph.outputs)


def symbol_of(graph: Graph, where: str, kind: type[Symbol] = Symbol) -> Symbol:
    """Return the symbol of a graph that was edited.

    Raises
    ------
    EditingError
        If it is no graph: it has a cycle, reads what is not there, has several variables of one name, or calls an
        operator that is not there.
    """
    try:
        order = graph.nodes
    except (EditingError, ArgumentError) as error:
        raise EditingError(f"{where}: {error}") from None
    if not graph.outputs:
        raise EditingError(f"{where}: the graph has no outputs; give it some, with graph.outputs = [node].")
    nodes: dict[GraphNode, Node] = {}
    for number, node in enumerate(order):
        inputs = [
            _value(nodes, as_entry(entry), f"{where}: input {position} of {node.name!r} ({node.op})")
            for position, entry in enumerate(node.inputs)
        ]
        nodes[node] = _node(number, node, inputs, where)
    values = [
        _value(nodes, as_entry(entry), f"{where}: output {position}") for position, entry in enumerate(graph.outputs)
    ]
    try:
        verify(values)
    except GraphError as error:
        raise EditingError(f"{where}: {error}") from None
    return kind(values)


def _value(nodes: dict[GraphNode, Node], entry: Entry, noun: str) -> Value:
    node = nodes[entry.node]
    count = len(node.output_names())
    if not isinstance(entry.index, int) or not 0 <= entry.index < count:
        raise EditingError(f"{noun} is output {entry.index} of {node.described()}, which has {count}.")
    return Value(node, entry.index)


def _node(number: int, node: GraphNode, inputs: list[Value], where: str) -> Node:
    origin = node.origin
    if isinstance(origin, OperatorFamily):  # a group that has become a node just now
        return _configured(origin, node, inputs, where)
    if isinstance(origin, _Origin) and origin.op == node.op and len(origin.node.inputs) == len(inputs):
        before = origin.node
        alike = _without_annotations(origin.attrs) == _without_annotations(node.attrs)
        if alike and origin.inside == _inside(node) and not before.annotations.keys() - node.attrs.keys():
            annotations = {
                key: text for key, text in node.attrs.items() if key in before.annotations or is_annotation(key)
            }
            operator = before.operator
            if isinstance(operator, ConfiguredOperator) and annotations != operator.annotations:
                operator = operator.family.configured(operator.parameters, annotations, operator.graphs)
            return Node(operator, inputs, before.attributes, node.name, before.kind, annotations)
    graphs = [
        symbol_of(graph, f"{where}: graph {position} inside of {node.name!r}")
        for position, graph in enumerate(node.subgraphs)
    ]
    try:
        return Reader(where).node(number, node.op, node.name, node.attrs, inputs, graphs)
    except (FileFormatError, ArgumentError) as error:
        raise EditingError(str(error)) from error


def _configured(family: OperatorFamily, node: GraphNode, inputs: list[Value], where: str) -> Node:
    noted = {key: text for key, text in node.attrs.items() if is_annotation(key)}
    inner = [symbol_of(graph, f"{where}: the graph of {node.name!r}") for graph in node.subgraphs]
    operator = family.configured(_without_annotations(node.attrs), noted, inner)
    operator.require_inputs(len(inputs), f"{where}: ")
    return Node(operator, inputs, {}, node.name, family.__name__, noted)


def _without_annotations(attrs: dict[str, str]) -> dict[str, str]:
    """Return the attributes that are the operator's own."""
    return {key: text for key, text in attrs.items() if not is_annotation(key)}
