"""What partitions graphs, and what rewrites them: `Partitioner` and `Pass`, found by their names.

Here is what the two kinds have in common, those written in Python and those of native libraries: the methods that
`Symbol.optimize_for` calls. All are given graphs as `Graph`, and options as they were given, of any type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy

from minpy.core.configured import OperatorFamily
from minpy.core.errors import ArgumentError, ArgumentValueError, describe
from minpy.graph.partitioning.editable import Graph, GraphNode

__all__ = ["PARTITIONERS", "PASSES", "Allocate", "Partitioner", "Pass", "Selector", "Strategy", "require_free"]

PARTITIONERS: dict[str, Partitioner] = {}
PASSES: dict[str, Pass] = {}

# `allocate(name, shape, dtype, is_argument)`: the memory of a new parameter, to be filled by a pass.
Allocate = Callable[[str, Sequence[int], Any, bool], numpy.ndarray]


class Selector:
    """Chooses which nodes of a graph form groups.

    A group grows from a node that `select` takes, breadth first: for each of its nodes the inputs and then the
    consumers that have no group yet are offered. One selector sees the whole graph, in the order of its nodes; it is
    made as `Selector(graph, **options)`.

    Examples
    --------
    >>> class Chain(Selector):
    ...     def select(self, node):
    ...         return node.op == 'exp'
    ...     def select_output(self, node, output):
    ...         return output.op == 'log'
    """

    def __init__(self, graph: Graph, **options: Any) -> None:
        self.graph = graph

    def select(self, node: GraphNode) -> bool:
        """Tell whether a group begins here."""
        raise NotImplementedError(f"{type(self).__name__} defines no select(self, node).")

    def select_input(self, node: GraphNode, input: GraphNode) -> bool:  # as in MXNet
        """Tell whether a node that `node`, a member of the group, reads becomes a member too."""
        return False

    def select_output(self, node: GraphNode, output: GraphNode) -> bool:
        """Tell whether a node that reads `node`, a member of the group, becomes a member too."""
        return False

    def filter(self, candidates: Sequence[GraphNode]) -> Sequence[GraphNode]:
        """Return which of the members, in the order of the graph, are kept; none: there is no such group."""
        return candidates

    def reset(self) -> None:
        """Begin again with the same first node: the group would have depended on itself, and one node is excluded."""


class Strategy:
    """One way in which a partitioner goes through a graph: which nodes it selects, and what replaces them."""

    name: str
    family: OperatorFamily  # makes the operator of the nodes of groups, by `configured(parameters, noted, [symbol])`
    reviews: bool = False  # whether `review` does anything

    def supported(self, graph: Graph, options: Mapping[str, Any]) -> Sequence[int] | None:
        """Return a number for each node: -2 not taken, -1 for any group, from 0 for one group; None: ask a selector.

        `graph`: frozen: the numbers are for `graph.nodes`.
        """
        return None

    def selector(self, graph: Graph, options: Mapping[str, Any]) -> Selector:
        """Return what chooses the nodes, where `supported` returns None."""
        raise NotImplementedError(f"{type(self).__name__} defines neither supported nor selector.")

    def review(
        self, graph: Graph, number: int, options: Mapping[str, Any], args: Mapping[str, Any], aux: Mapping[str, Any]
    ) -> tuple[bool, Mapping[str, str]]:
        """Return (whether a group becomes a node, the attributes that this has then).

        `graph`: the group; `array` of its variables is set where the value is known. `number`: of the group, from 0.
        `args`, `aux`: what is known of the whole graph's values, by the names there.
        """
        return True, {}


class _Named:
    """Base of what `optimize_for` looks up by name and calls with options."""

    name: str

    @property
    def title(self) -> str:
        """What messages begin with."""
        return f"optimize_for({self.name!r})"

    def check_options(self, options: Mapping[str, Any]) -> None:
        """Raise `ArgumentError` for options that nobody takes."""


class Partitioner(_Named):
    """Replaces parts of a graph by nodes, in the ways of its strategies, one after the other."""

    strategies: Sequence[Strategy]


class Pass(_Named):
    """Rewrites a graph as a whole."""

    def run(
        self,
        graph: Graph,
        options: Mapping[str, Any],
        args: Mapping[str, Any],
        aux: Mapping[str, Any],
        allocate: Allocate,
    ) -> Graph:
        """Return the graph that takes the place of `graph`: this one, edited, or another.

        `args`, `aux`: the values that are known. `allocate`: `allocate(name, shape, dtype, is_argument)` returns memory
        for a new parameter, as a NumPy array to fill.
        """
        raise NotImplementedError(f"{type(self).__name__} defines no run.")


def require_free(name: Any, where: str, replace: bool = False) -> None:
    """Raise unless a partitioner or pass may have this name.

    Raises ArgumentError if it is no string. Raises ArgumentValueError if it is empty, or another has it, and it is not
    to be replaced.
    """
    if not isinstance(name, str):
        raise ArgumentError(f"{where}: the name is {describe(name)}; expected a string.")
    if not name:
        raise ArgumentValueError(f"{where}: the name is empty; it is what optimize_for is called with.")
    if replace:
        return
    for kind, table in (("partitioner", PARTITIONERS), ("pass", PASSES)):
        if name in table:
            raise ArgumentValueError(
                f"{where}: there is a {kind} {name!r} already. Choose another name, or give replace=True to replace it."
            )
