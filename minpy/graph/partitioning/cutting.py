"""Groups of nodes cut out of a graph, and put back as one node each, with the group as a graph inside of it.

The edges of a graph have an order, in which a depth-first walk from its outputs comes back over them. A group's inputs
and outputs follow it, so that the graph inside has them in the order in which the node does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from minpy.core.errors import ArgumentError, describe
from minpy.graph.partitioning.editable import Entry, Graph, GraphNode, elements
from minpy.graph.partitioning.growing import Labels, grown, labels_of
from minpy.graph.partitioning.registry import Partitioner, Strategy

__all__ = ["apply_strategy"]

DEDUPLICATE = "dedup_subgraph"

# An edge: a node and the position of its input; None and the position of an output of the graph.
Edge = tuple["GraphNode | None", int]


def apply_strategy(
    graph: Graph,
    partitioner: Partitioner,
    strategy: Strategy,
    options: Mapping[str, Any],
    output_name: Callable[[Entry], str],
) -> int:
    """Replace groups of nodes by nodes; return how many.

    `graph`: is changed; its `args` and `aux` are the values that are known. `output_name`: what files call an output of
    a node.
    """
    where = f"{partitioner.title}: strategy {strategy.name!r}"
    graph.freeze()
    labels = strategy.supported(graph, options)
    if labels is None:
        selector = strategy.selector(graph, options)
    else:
        selector = Labels(labels_of(labels, len(graph), where))
    groups = grown(graph, selector, where)
    graph.thaw()
    cutter = _Cutter(graph, str(options.get(DEDUPLICATE)) == "True", output_name)
    accepted = 0
    for number, members in enumerate(groups):
        accepted += cutter.cut(number, members, strategy, options, where)
    return accepted


class _Cutter:
    """A graph, the order of its edges, and how inputs of groups are made."""

    def __init__(self, graph: Graph, deduplicates: bool, output_name: Callable[[Entry], str]) -> None:
        self._graph = graph
        self._deduplicates = deduplicates
        self._output_name = output_name
        self._ranks = {edge: rank for rank, edge in enumerate(_edges(graph))}
        self._readers: dict[GraphNode, list[Edge]] = {}
        for edge in self._ranks:
            self._readers.setdefault(self._at(edge).node, []).append(edge)

    def _at(self, edge: Edge) -> Entry:
        node, position = edge
        return (self._graph.outputs if node is None else node.inputs)[position]

    def _set(self, edge: Edge, entry: Entry) -> None:
        node, position = edge
        (self._graph.outputs if node is None else node.inputs)[position] = entry

    def cut(
        self, number: int, members: Sequence[GraphNode], strategy: Strategy, options: Mapping[str, Any], where: str
    ) -> bool:
        """Put one node in the place of a group, unless the strategy's review is against it."""
        members = [node for node in members if not node.is_variable]  # whose values come from outside
        if not members:
            return False
        inside = {*members}
        incoming = self._sorted(
            (node, position)
            for node in members
            for position, entry in enumerate(node.inputs)
            if entry.node not in inside
        )
        outgoing = self._sorted(
            edge for node in members for edge in self._readers.get(node, ()) if edge[0] not in inside
        )
        read = [self._at(edge) for edge in incoming]
        group_inputs = [*dict.fromkeys(read)] if self._deduplicates else read
        variables = self._variables(group_inputs, strategy.reviews)
        own = dict(zip(group_inputs, variables, strict=True)) if self._deduplicates else {}
        for position, edge in enumerate(incoming):
            self._set(edge, Entry(own[read[position]] if own else variables[position]))
        written = [self._at(edge) for edge in outgoing]
        places = self._places(written)
        heads = [written[places.index(place)] for place in range(max(places, default=-1) + 1)]
        group = Graph(heads)
        group.numbered()
        try:
            accepted, attributes = strategy.review(group, number, options, self._graph.args, self._graph.aux)
            if accepted:
                attributes = _checked(attributes, where, number)
        except BaseException:
            self._restore(incoming, read)
            raise
        if not accepted:
            self._restore(incoming, read)
            return False
        noted = {"__ext_shape__": _joined("__ext_shape__", heads), "__ext_dtype__": _joined("__ext_dtype__", heads)}
        call = GraphNode(strategy.family.__name__, f"_op{number}", {**noted, **attributes}, group_inputs, [group])
        call.graph = self._graph
        call.origin = strategy.family
        for variable in variables:
            variable.array = None
        first: dict[Entry, Edge] = {}
        for edge, entry in zip(incoming, read, strict=True):
            first.setdefault(entry, edge)
        for position, entry in enumerate(group_inputs):
            edge = (call, position)
            self._ranks[edge] = self._ranks[first[entry] if self._deduplicates else incoming[position]]
            self._readers[entry.node].append(edge)
        for node in inside:
            for position in range(len(node.inputs)):
                self._ranks.pop((node, position), None)
        for entry in {*read}:
            self._readers[entry.node] = [edge for edge in self._readers[entry.node] if edge[0] not in inside]
        for edge, place in zip(outgoing, places, strict=True):
            self._set(edge, Entry(call, place))
        self._readers[call] = outgoing
        return True

    def _sorted(self, edges: Any) -> list[Edge]:
        return sorted(edges, key=self._ranks.__getitem__)

    def _restore(self, incoming: Sequence[Edge], read: Sequence[Entry]) -> None:
        for edge, entry in zip(incoming, read, strict=True):
            self._set(edge, entry)

    def _places(self, written: Sequence[Entry]) -> list[int]:
        """Return which output of the group's node each edge out of it is: without repetition, if edges of one value
        follow each other and share one.
        """
        places: list[int] = []
        for position, entry in enumerate(written):
            same = self._deduplicates and position > 0 and entry == written[position - 1]
            places.append((places[-1] if places else -1) + (not same))
        return places

    def _variables(self, entries: Sequence[Entry], reviewed: bool) -> list[GraphNode]:
        """Return a variable for each of a group's inputs, which says what it stands for."""
        counts: dict[str, int] = {}
        variables = []
        for entry in entries:
            name = self._output_name(entry)
            count = counts[name] = counts.get(name, -1) + 1
            is_argument = entry.node.is_variable
            attrs = {"isArg": str(is_argument)}
            if is_argument:
                attrs["argName"] = entry.node.name
            if reviewed:
                attrs["isAux"] = str(is_argument and entry.node.name in self._graph.states)
            for key in ("__ext_shape__", "__ext_dtype__"):
                text = _element(key, entry)
                if text:
                    attrs[key] = f"[{text}]"
            variable = GraphNode("null", f"{name}{count}", attrs)
            variable.array = entry.node.array
            variables.append(variable)
        return variables


def _edges(graph: Graph) -> list[Edge]:
    """Return the edges of a graph in the order in which a depth-first walk from its outputs comes back over them."""
    edges: list[Edge] = []
    seen: set[GraphNode] = set()
    for position, head in enumerate(graph.outputs):
        stack: list[tuple[Edge, GraphNode, int]] = [((None, position), head.node, 0)]
        if head.node in seen:
            edges.append((None, position))
            continue
        seen.add(head.node)
        while stack:
            edge, node, next_input = stack.pop()
            while next_input < len(node.inputs):
                source = node.inputs[next_input].node
                next_input += 1
                if source in seen:
                    edges.append((node, next_input - 1))
                    continue
                seen.add(source)
                stack.append((edge, node, next_input))
                edge, node, next_input = (node, next_input - 1), source, 0
            edges.append(edge)
    return edges


def _joined(key: str, entries: Sequence[Entry]) -> str:
    """Return the list of what nodes say of single outputs; its elements are empty where they say nothing."""
    return f"[{','.join(_element(key, entry) for entry in entries)}]"


def _element(key: str, entry: Entry) -> str:
    parts = elements(entry.node.attrs.get(key)) or ()
    return parts[entry.index] if entry.index < len(parts) else ""


def _checked(attributes: Any, where: str, number: int) -> dict[str, str]:
    try:
        by_key = {**attributes}
    except TypeError:
        by_key = {"": attributes}
    for key, value in by_key.items():
        if not isinstance(key, str) or not key or not isinstance(value, str):
            shown = describe(attributes) if not key else f"{describe(value)} for {key!r}"
            raise ArgumentError(
                f"{where}: review of group {number} gave {shown} as attributes; expected a dict of strings."
            )
    return by_key
