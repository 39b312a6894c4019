"""Groups of nodes grown from seeds: breadth first, as a selector chooses, and never one that depends on itself."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from typing import Any

from minpy.core.errors import ArgumentError, describe
from minpy.graph.partitioning.editable import Graph, GraphNode
from minpy.graph.partitioning.registry import Selector

__all__ = ["Labels", "grown", "labels_of"]

NOT_TAKEN, ANY_GROUP = -2, -1


class Labels(Selector):
    """Chooses nodes by numbers: those of one number form groups, and take in what may be in any.

    Parameters
    ----------
    labels : sequence of int
        For each node: -2 not taken, -1 for any group, from 0 for one group.
    """

    def __init__(self, labels: Sequence[int]) -> None:
        self.labels = labels

    def select(self, node: GraphNode) -> bool:
        """Tell whether the node is taken."""
        return self.labels[node.index] != NOT_TAKEN

    def select_input(self, node: GraphNode, input: GraphNode) -> bool:
        """Tell whether the other node goes with this one."""
        label = self.labels[input.index]
        return label == ANY_GROUP or (label != NOT_TAKEN and label == self.labels[node.index])

    def select_output(self, node: GraphNode, output: GraphNode) -> bool:
        """Tell whether the other node goes with this one."""
        return self.select_input(node, output)


def labels_of(given: Any, count: int, where: str) -> list[int]:
    """Return the numbers that a strategy gave the nodes.

    Raises
    ------
    ArgumentError
        If they are no list of numbers, one for each node.
    """
    try:
        found = [int(one) for one in given]
    except (TypeError, ValueError):
        found = []
    if len(found) != count or min(found, default=0) < NOT_TAKEN:
        raise ArgumentError(
            f"{where}: supported returned {describe(given)}; expected {count} numbers, one for each node of the graph: "
            "-2 not taken, -1 for any group, from 0 for one group."
        )
    return found


def grown(graph: Graph, selector: Selector, where: str) -> list[list[GraphNode]]:
    """Return the groups of nodes that a selector chooses, each in the order of the graph.

    Parameters
    ----------
    graph : Graph
        Frozen.
    selector : Selector
    where : str
        Whose selector it is, for messages.

    Raises
    ------
    ArgumentError
        If what the selector keeps of a group is no part of it, or depends on itself.
    """
    groups: list[list[GraphNode]] = []
    group_of: dict[GraphNode, int] = {}
    reach = _Reach(graph, groups, group_of)
    for seed in graph.nodes:
        if seed in group_of or not selector.select(seed):
            continue
        taken = {*group_of}
        while True:
            members = _gathered(graph, selector, seed, taken)
            returned = reach.entered(members)
            if not returned:
                break
            largest = max(returned, key=_index)
            if largest in taken:  # the seed itself, a second time: no smaller group around it is free of cycles
                members = {seed: None}
                break
            taken.add(largest)
            selector.reset()
        candidates = sorted(members, key=_index)
        kept = _kept(selector, candidates, where)
        if not kept:
            continue
        through = reach.entered({*kept})
        if through:
            raise ArgumentError(
                f"{where}: filter kept {', '.join(node.name for node in kept)} of a group of {len(candidates)} nodes, "
                f"and {through[0].name} reads what depends on them through nodes that are not kept. Keep those in "
                "between, or leave it out."
            )
        for node in kept:
            group_of[node] = len(groups)
        groups.append(kept)
    return groups


def _index(node: GraphNode) -> int:
    return node.index


def _gathered(graph: Graph, selector: Selector, seed: GraphNode, taken: Collection[GraphNode]) -> dict[GraphNode, None]:
    """Return the seed, and what the selector adds to it."""
    members = {seed: None}
    queue, consumers = deque([seed]), graph.consumers()
    while queue:
        node = queue.popleft()
        for source, _ in node.inputs:
            if source not in members and source not in taken and selector.select_input(node, source):
                members[source] = None
                queue.append(source)
        for reader in dict.fromkeys(reader for reader, _ in consumers.get(node, ())):
            if reader not in members and reader not in taken and selector.select_output(node, reader):
                members[reader] = None
                queue.append(reader)
    return members


def _kept(selector: Selector, candidates: list[GraphNode], where: str) -> list[GraphNode]:
    given = selector.filter([*candidates])
    try:
        kept = [*given]
    except TypeError:
        kept = [given]  # type: ignore[list-item]  # what is no list is no node, either
    wrong = [node for node in kept if node not in candidates]
    if wrong:
        what = repr(wrong[0]) if isinstance(wrong[0], GraphNode) else describe(wrong[0])
        raise ArgumentError(
            f"{where}: filter returned {what}, which is not among the nodes that it was given: "
            f"{', '.join(node.name for node in candidates)}."
        )
    return sorted(set(kept), key=_index)


class _Reach:
    """What depends on a set of nodes, where each group that is there already counts as one node."""

    def __init__(self, graph: Graph, groups: list[list[GraphNode]], group_of: dict[GraphNode, int]) -> None:
        self._consumers = graph.consumers()
        self._groups = groups
        self._group_of = group_of

    def entered(self, members: Collection[GraphNode]) -> list[GraphNode]:
        """Return the members that read something outside that depends on members."""
        returned: dict[GraphNode, None] = {}
        seen: set[GraphNode] = set()
        waiting: list[GraphNode] = []

        def go_to(node: GraphNode) -> None:
            if node in seen:
                return
            group = self._group_of.get(node)
            together = [node] if group is None else self._groups[group]
            seen.update(together)
            waiting.extend(together)

        for member in members:
            for reader, _ in self._consumers.get(member, ()):
                if reader not in members:
                    go_to(reader)
        while waiting:
            for reader, _ in self._consumers.get(waiting.pop(), ()):
                if reader in members:
                    returned[reader] = None
                else:
                    go_to(reader)
        return [*returned]
