"""`Graph` and `GraphNode`: a graph as in files, which functions of users and of libraries read and edit."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy

from minpy.core.configured import OperatorFamily
from minpy.core.customop import user_name
from minpy.core.errors import ArgumentError, ArgumentValueError, FileFormatError, MXNetError, describe, nearest
from minpy.core.operator import Operator

__all__ = ["EditingError", "Entry", "Graph", "GraphNode"]


class EditingError(MXNetError, ValueError):
    """A graph that was edited, and is no graph any more: it has a cycle, or reads what is not there."""


class Entry(NamedTuple):
    """One output of a node: what inputs of other nodes, and outputs of graphs, are.

    Parameters
    ----------
    node : GraphNode
    index : int
    """

    node: GraphNode
    index: int = 0  # type: ignore[assignment]  # hides the method of tuples, which has no use here

    def __repr__(self) -> str:
        return f"{self.node.name}[{self.index}]"


class GraphNode:
    """A node of a graph that can be edited: a call of an operator, or a variable.

    Nodes are made by `Graph.add_node`, `Graph.add_argument` and `Graph.add_auxiliary`.

    Attributes
    ----------
    op : str
        The name of the operator as files hold it; 'null' for a variable.
    name : str
    attrs : dict of str to str
        The operator's attributes, and what is noted at the node: all strings.
    inputs : list of Entry
        What it reads: pairs of a node and the number of its output.
    subgraphs : list of Graph
        The graphs inside of it.
    index : int
        Its position in the graph, counted when the graph was handed over: what libraries call the node's id.
    array : NDArray or None
        Of a variable: its value, where it is known.

    Examples
    --------
    >>> graph = Graph()
    >>> y = graph.add_node('exp', 'y', [graph.add_node('null', 'x')])
    >>> y, y.inputs, y.is_variable
    (<GraphNode y = exp(x[0])>, [x[0]], False)
    """

    __slots__ = ("array", "attrs", "graph", "index", "inputs", "name", "op", "origin", "subgraphs")

    def __init__(
        self,
        op: str,
        name: str,
        attrs: Mapping[str, str] | None = None,
        inputs: Iterable[Any] = (),
        subgraphs: Iterable[Graph] = (),
    ) -> None:
        self.op = op
        self.name = name
        self.attrs = dict(attrs or {})
        self.inputs = [as_entry(value) for value in inputs]
        self.subgraphs = list(subgraphs)
        self.index = -1
        self.array: Any = None
        self.graph: Graph | None = None
        self.origin: Any = None  # what it was made of, and may become again if it is not edited

    @property
    def is_variable(self) -> bool:
        """Whether its value is given from outside."""
        return self.op == "null"

    @property
    def outputs(self) -> list[Entry]:
        """Who reads it: pairs of a node and the position among that node's inputs."""
        return [] if self.graph is None else [*self.graph.consumers().get(self, [])]

    @property
    def shapes(self) -> list[tuple[int, ...] | None] | None:
        """The shapes of its outputs, with None for one, and -1 for a length, not known; None if nothing was inferred.

        Examples
        --------
        >>> GraphNode('exp', 'y', {'__ext_shape__': '[[2,3]]', '__ext_dtype__': '[0]'}).shapes
        [(2, 3)]
        """
        texts = elements(self.attrs.get("__ext_shape__"))
        return None if texts is None else [_shape(text) for text in texts]

    @property
    def dtypes(self) -> list[int] | None:
        """The numbers of its outputs' dtypes in MXNet, -1 for one that is not known; None if nothing was inferred."""
        texts = elements(self.attrs.get("__ext_dtype__"))
        return None if texts is None else [int(text or -1) for text in texts]

    def __repr__(self) -> str:
        if self.is_variable:
            return f"<GraphNode {self.name}>"
        return f"<GraphNode {self.name} = {self.op}({', '.join(map(repr, self.inputs))})>"


def elements(text: str | None) -> list[str] | None:
    """Return the elements of a list such as '[[2,3],[None],[4]]' or '[0,6]', as texts; None where nothing is said.

    Examples
    --------
    >>> elements('[[2,3],[None]]'), elements('[,]'), elements(None)
    (['[2,3]', '[None]'], ['', ''], None)
    """
    if text is None:
        return None
    parts, depth, begin = [], 0, 1
    for position, char in enumerate(text):
        depth += (char == "[") - (char == "]")
        if (char == "," and depth == 1) or (char == "]" and depth == 0):
            parts.append(text[begin:position])
            begin = position + 1
    return parts


def _shape(text: str) -> tuple[int, ...] | None:
    """Return the shape that an element of `__ext_shape__` says; None if there is nothing in it."""
    return (
        None if "None" in text or not text else tuple(int(length) for length in text.strip("[]").split(",") if length)
    )


def as_entry(value: Any) -> Entry:
    """Return an output of a node: `value` itself, or the first one of a node, or that of a pair."""
    if isinstance(value, Entry):
        return value
    if isinstance(value, GraphNode):
        return Entry(value)
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], GraphNode):
        return Entry(*value)
    raise ArgumentError(
        f"an input of a node is {describe(value)}; expected a GraphNode, or a pair (GraphNode, output)."
    )


class Graph:
    """A graph that can be read and edited: what partitioners and passes are given.

    Whatever its outputs do not depend on is no part of it: a node is added by reading it, and taken away by reading it
    no more.

    Parameters
    ----------
    outputs : sequence of GraphNode or (GraphNode, int)

    Attributes
    ----------
    outputs : list of Entry
    attrs : dict of str to str
        What is noted at the graph as a whole.
    args, aux : dict of str to NDArray
        The values of arguments and auxiliary states that are known.
    states : frozenset of str
        The names of the variables that are auxiliary states.

    Examples
    --------
    >>> graph = Graph()
    >>> x = graph.add_node('null', 'x')
    >>> graph.outputs = [Entry(graph.add_node('exp', 'y', [x]))]
    >>> print(graph)
    x
    y = exp(x[0])
    outputs: y[0]
    >>> graph.nodes[1].op = 'log'
    >>> graph.node('y')
    <GraphNode y = log(x[0])>
    """

    def __init__(self, outputs: Iterable[Any] = ()) -> None:
        self.outputs: list[Entry] = [as_entry(value) for value in outputs]
        self.attrs: dict[str, Any] = {}
        self.args: Mapping[str, Any] = {}
        self.aux: Mapping[str, Any] = {}
        self.states: frozenset[str] = frozenset()
        self.new_args: dict[str, Any] = {}
        self.new_aux: dict[str, Any] = {}
        self._is_frozen = False
        self._order: list[GraphNode] = []
        self._consumers: dict[GraphNode, list[Entry]] | None = None
        self._entries: tuple[list[int], list[Any]] = ([], [])  # `_entries_read` when the order was computed

    # -- reading -----------------------------------------------------------------------------------------------------

    @property
    def nodes(self) -> list[GraphNode]:
        """The nodes, each after its inputs, in the order in which files hold them.

        Raises
        ------
        EditingError
            If a node reads itself, through others or not.
        """
        return [*self._current()]

    def _current(self) -> list[GraphNode]:
        """Return the nodes, sorted anew if any inputs have changed since the last time."""
        if not self._is_frozen:
            lengths, entries = self._entries_read()
            if lengths != self._entries[0] or [*map(id, entries)] != [*map(id, self._entries[1])]:
                self._order = ordered(self.outputs)
                self._consumers = None
                self._entries = self._entries_read()
        return self._order

    def _entries_read(self) -> tuple[list[int], list[Any]]:
        lists = [self.outputs, *[node.inputs for node in self._order]]
        return [*map(len, lists)], [*chain.from_iterable(lists)]

    @property
    def variables(self) -> list[GraphNode]:
        """The nodes that are variables."""
        return [node for node in self.nodes if node.is_variable]

    def __len__(self) -> int:
        return len(self.nodes)

    def __iter__(self) -> Iterator[GraphNode]:
        return iter(self.nodes)

    def node(self, name: str) -> GraphNode:
        """Return the node of that name.

        Raises
        ------
        ArgumentValueError
            If there is none.
        """
        nodes = self.nodes
        for node in nodes:
            if node.name == name:
                return node
        raise ArgumentValueError(f"the graph has no node {name!r}.{nearest(name, [node.name for node in nodes])}")

    def consumers(self) -> dict[GraphNode, list[Entry]]:
        """Return who reads each node: pairs of a node and the position among that node's inputs."""
        order = self._current()
        if self._consumers is None:
            self._consumers = consumers_of(order)
        return self._consumers

    def __str__(self) -> str:
        lines = []
        for node in self.nodes:
            attributes = "".join(f", {key}={value}" for key, value in node.attrs.items() if not key.startswith("__"))
            lines.append(
                node.name if node.is_variable else f"{node.name} = {node.op}({_listed(node.inputs)}{attributes})"
            )
        return "\n".join([*lines, f"outputs: {_listed(self.outputs)}"])

    # -- editing -----------------------------------------------------------------------------------------------------

    def add_node(
        self, op: Any, name: str, inputs: Iterable[Any] = (), attrs: Mapping[str, Any] | None = None
    ) -> GraphNode:
        """Return a new node; it is part of the graph once it is read, by a node or as an output.

        Parameters
        ----------
        op : str, or an operator
            The name of an operator as files hold it; 'null': a variable. Or a `@customop` or `nd.<name>` itself.
        name : str
        inputs : sequence of GraphNode or (GraphNode, int)
        attrs : mapping of str to str, optional
            The values may be numbers, and tuples of them: they become strings.

        Returns
        -------
        GraphNode

        Raises
        ------
        ArgumentError
            If op or name are no strings, or an input is no node.

        Examples
        --------
        >>> from minpy import customop, nd
        >>> @customop('numpy')
        ... def cube(x):
        ...     return x ** 3
        >>> cube.__module__ = 'cubes'
        >>> graph = Graph()
        >>> x = graph.add_node('null', 'x')
        >>> graph.add_node(cube, 'y', [x]), graph.add_node(nd.exp, 'z', [x])
        (<GraphNode y = cubes:cube(x[0])>, <GraphNode z = exp(x[0])>)
        """
        op = _name_in_files(op)
        for argument, text in (("op", op), ("name", name)):
            if not isinstance(text, str) or not text:
                raise ArgumentError(
                    f"Graph.add_node: {argument} is {describe(text)}; expected a string that is not empty."
                )
        node = GraphNode(op, name, {str(key): str(value) for key, value in (attrs or {}).items()}, inputs)
        node.graph = self
        return node

    def add_argument(self, name: str, array: Any, attrs: Mapping[str, Any] | None = None) -> GraphNode:
        """Return a new variable with a value, which becomes an argument of the symbol.

        Parameters
        ----------
        name : str
        array : NDArray or array_like
        attrs : mapping of str to str, optional

        Returns
        -------
        GraphNode

        Raises
        ------
        ArgumentValueError
            If there is a variable of that name.
        """
        return self._new_variable(name, array, attrs, self.new_args)

    def add_auxiliary(self, name: str, array: Any, attrs: Mapping[str, Any] | None = None) -> GraphNode:
        """Return a new variable with a value, which becomes an auxiliary state; otherwise as `add_argument`.

        It is a state if an operator that changes it reads it, such as BatchNorm.
        """
        return self._new_variable(name, array, attrs, self.new_aux)

    def _new_variable(self, name: str, array: Any, attrs: Mapping[str, Any] | None, into: dict[str, Any]) -> GraphNode:
        variable_names = [node.name for node in self.nodes if node.is_variable]
        if name in (*variable_names, *self.args, *self.aux, *self.new_args, *self.new_aux):
            raise ArgumentValueError(f"the graph has a variable {name!r} already; choose another name for the new one.")
        variable = self.add_node("null", name, (), attrs)
        variable.array = into[name] = array if hasattr(array, "_data") else numpy.array(array)
        return variable

    def replace(self, old: Any, new: Any) -> None:
        """Make whatever reads an output read another one: nodes, and the outputs of the graph.

        Parameters
        ----------
        old, new : GraphNode or (GraphNode, int)
            If `new` reads `old` itself, it goes on to do so: so a node is put behind another.

        Examples
        --------
        >>> graph = Graph()
        >>> y = graph.add_node('exp', 'y', [graph.add_node('null', 'x')])
        >>> graph.outputs = [Entry(y)]
        >>> graph.replace(y, graph.add_node('tanh', 'z', [y]))
        >>> print(graph)
        x
        y = exp(x[0])
        z = tanh(y[0])
        outputs: z[0]
        """
        before, after = as_entry(old), as_entry(new)
        for node in self._current():
            if node is not after.node and (before in node.inputs or before.node in node.inputs):
                node.inputs[:] = [after if as_entry(value) == before else value for value in node.inputs]
        self.outputs = [after if as_entry(value) == before else value for value in self.outputs]

    # -- handing over ------------------------------------------------------------------------------------------------

    def numbered(self) -> Graph:
        """Give the nodes the numbers that they have in `json()`; returns the graph."""
        for number, node in enumerate(self.nodes):
            node.index = number
            node.graph = self
        return self

    def freeze(self) -> None:
        """Compute order and consumers once: nobody edits it any more."""
        self.numbered()
        self.consumers()
        self._is_frozen = True

    def thaw(self) -> None:
        """Let it be edited again."""
        self._is_frozen = False

    def json(self) -> str:
        """Return the graph in the JSON form of files, in one line, without attributes of the graph as a whole.

        Examples
        --------
        >>> graph = Graph()
        >>> graph.outputs = [Entry(graph.add_node('null', 'x'))]
        >>> graph.json()
        '{"nodes": [{"op": "null", "name": "x", "inputs": []}], "arg_nodes": [0], "node_row_ptr": [0, 1], \
"heads": [[0, 0, 0]]}'
        """
        return json.dumps(self._document(), ensure_ascii=False)

    def _document(self) -> dict[str, Any]:
        order = self.nodes
        numbers = {node: number for number, node in enumerate(order)}
        rows, counts = [0], output_counts(order, self.outputs)
        nodes = []
        for node in order:
            item: dict[str, Any] = {"op": node.op, "name": node.name}
            if node.attrs:
                item["attrs"] = dict(sorted(node.attrs.items()))
            item["inputs"] = [[numbers[source], index, 0] for source, index in node.inputs]
            if node.subgraphs:
                item["subgraphs"] = [graph._document() for graph in node.subgraphs]
            nodes.append(item)
            rows.append(rows[-1] + counts[node])
        return {
            "nodes": nodes,
            "arg_nodes": [number for number, node in enumerate(order) if node.is_variable],
            "node_row_ptr": rows,
            "heads": [[numbers[node], index, 0] for node, index in map(as_entry, self.outputs)],
        }

    @classmethod
    def from_json(cls, text: str) -> Graph:
        """Return the graph that a text in the JSON form of files describes.

        Parameters
        ----------
        text : str

        Raises
        ------
        FileFormatError
            If it is none.

        Examples
        --------
        >>> print(Graph.from_json('{"nodes": [{"op": "null", "name": "x", "inputs": []}], "heads": [[0, 0, 0]]}'))
        x
        outputs: x[0]
        """
        try:
            document = json.loads(text, strict=False)
        except ValueError as error:
            raise FileFormatError(f"Graph.from_json: it is no JSON: {error}.") from error
        return cls._of(document)

    @classmethod
    def _of(cls, document: Any) -> Graph:
        decoded = cls()
        nodes: list[GraphNode] = []
        try:
            for item in document["nodes"]:
                inputs = [Entry(nodes[number], index) for number, index, *_ in item["inputs"]]
                node = GraphNode(item["op"], item["name"], item.get("attrs"), inputs)
                node.subgraphs = [cls._of(graph) for graph in item.get("subgraphs") or ()]
                node.graph = decoded
                nodes.append(node)
            decoded.outputs = [Entry(nodes[number], index) for number, index, *_ in document["heads"]]
            own_keys = ("nodes", "arg_nodes", "node_row_ptr", "heads")
            decoded.attrs = {key: value for key, value in document.items() if key not in own_keys}
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            raise FileFormatError(
                f"Graph.from_json: it describes no graph: {type(error).__name__}: {error}. Expected nodes, each with "
                "op, name and inputs, which come after what they read; and heads."
            ) from error
        return decoded.numbered()


def ordered(outputs: Iterable[Any]) -> list[GraphNode]:
    """Return the nodes that outputs depend on, each after its inputs, in the order of a depth-first walk.

    Raises
    ------
    EditingError
        If there is a cycle.
    """
    order: list[GraphNode] = []
    finished: dict[GraphNode, bool] = {}
    for output in outputs:
        node = as_entry(output).node
        if node in finished:
            continue
        finished[node] = False
        stack = [(node, iter(node.inputs))]
        while stack:
            node, inputs = stack[-1]
            for value in inputs:
                source = value.node if type(value) is Entry else as_entry(value).node
                if source not in finished:
                    finished[source] = False
                    stack.append((source, iter(source.inputs)))
                    break
                if not finished[source]:
                    path = [node_on_path.name for node_on_path, _ in stack]
                    through = path[path.index(source.name) :]
                    raise EditingError(
                        f"the graph has a cycle: node {source.name!r} ({source.op}) reads itself, through "
                        f"{' <- '.join([*through, source.name])}."
                    )
            else:
                finished[node] = True
                order.append(node)
                stack.pop()
    return order


def consumers_of(order: Iterable[GraphNode]) -> dict[GraphNode, list[Entry]]:
    """Return who reads each node: pairs of a node and the position among that node's inputs."""
    readers: dict[GraphNode, list[Entry]] = {}
    for node in order:
        for position, value in enumerate(node.inputs):
            readers.setdefault(as_entry(value).node, []).append(Entry(node, position))
    return readers


def output_counts(order: Sequence[GraphNode], outputs: Iterable[Entry]) -> dict[GraphNode, int]:
    """Return how many outputs each node has: as is known of it, and at least those that are read."""
    counts = {node: max(1, getattr(node.origin, "saved_outputs", 1)) for node in order}
    for node in order:
        for source, index in node.inputs:
            counts[source] = max(counts[source], index + 1)
    for source, index in map(as_entry, outputs):
        counts[source] = max(counts[source], index + 1)
    return counts


def _listed(entries: Iterable[Any]) -> str:
    return ", ".join(map(repr, entries))


def _name_in_files(op: Any) -> Any:
    """Return the name of an operator, where one is given in place of it."""
    if isinstance(op, OperatorFamily):
        return op.__name__
    if isinstance(op, Operator):
        return (op.saved_name or op.__name__) if op.builtin else user_name(op)
    return op
