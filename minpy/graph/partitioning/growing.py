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

    `labels`: for each node: -2 not taken, -1 for any group, from 0 for one group.
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


def labels_of(marks: Any, count: int, where: str) -> list[int]:
    """Return the numbers that a strategy gave the nodes.

    Raises ArgumentError if they are no list of numbers, one for each node.
    """
    try:
        labels = [int(label) for label in marks]
    except (TypeError, ValueError):
        labels = []
    if len(labels) != count or min(labels, default=0) < NOT_TAKEN:
        raise ArgumentError(
            f"{where}: supported returned {describe(marks)}; expected {count} numbers, one for each node of the graph: "
            "-2 not taken, -1 for any group, from 0 for one group."
        )
    return labels


def grown(graph: Graph, selector: Selector, where: str) -> list[list[GraphNode]]:
    """Return the groups of nodes that a selector chooses, each in the order of the graph.

    `graph`: frozen. `where`: whose selector it is, for messages.

    Raises ArgumentError if what the selector keeps of a group is no part of it, or depends on itself.
    """
    groups: list[list[GraphNode]] = []
    line = _Line(graph)
    for seed in graph.nodes:
        if seed in line.group_of or not selector.select(seed):
            continue
        excluded: set[GraphNode] = set()
        while True:
            members = _gathered(selector, seed, line, excluded)
            returned = line.entered(members)
            if not returned:
                break
            largest = max(returned, key=_index)
            if largest in excluded:  # the seed itself, a second time: no smaller group around it is free of cycles
                members = {seed: None}
                break
            excluded.add(largest)
            selector.reset()
        candidates = sorted(members, key=_index)
        nodes = _filtered(selector, candidates, where)
        if not nodes:
            continue
        through = line.entered(dict.fromkeys(nodes))
        if through:
            raise ArgumentError(
                f"{where}: filter kept {', '.join(node.name for node in nodes)} of a group of {len(candidates)} nodes, "
                f"and {through[0].name} reads what depends on them through nodes that are not kept. Keep those in "
                "between, or leave it out."
            )
        line.join(nodes)
        groups.append(nodes)
    return groups


def _index(node: GraphNode) -> int:
    return node.index


def _gathered(
    selector: Selector, seed: GraphNode, line: _Line, excluded: Collection[GraphNode]
) -> dict[GraphNode, None]:
    """Return the seed, and what the selector adds to it."""
    members = {seed: None}
    queue, group_of = deque([seed]), line.group_of

    def is_free(node: GraphNode) -> bool:
        return node not in members and node not in group_of and node not in excluded

    while queue:
        node = queue.popleft()
        for source, _ in node.inputs:
            if is_free(source) and selector.select_input(node, source):
                members[source] = None
                queue.append(source)
        for reader in line.readers(node):
            if is_free(reader) and selector.select_output(node, reader):
                members[reader] = None
                queue.append(reader)
    return members


def _filtered(selector: Selector, candidates: list[GraphNode], where: str) -> list[GraphNode]:
    result = selector.filter([*candidates])
    try:
        filtered = [*result]
    except TypeError:
        filtered = [result]  # type: ignore[list-item]  # what is no list is no node, either
    candidate_ids = {*map(id, candidates)}
    wrong = [node for node in filtered if id(node) not in candidate_ids]
    if wrong:
        described = repr(wrong[0]) if isinstance(wrong[0], GraphNode) else describe(wrong[0])
        raise ArgumentError(
            f"{where}: filter returned {described}, which is not among the nodes that it was given: "
            f"{', '.join(node.name for node in candidates)}."
        )
    return sorted(set(filtered), key=_index)


class _Line:
    """The nodes in a line, each behind what it depends on, where the members of a group stand together and depend on
    whatever one of them does.

    So what depends on a node is behind it, and a way back to a set of nodes ends before the last of them: only what
    stands between the first and the last is looked at.
    """

    def __init__(self, graph: Graph) -> None:
        self.group_of: dict[GraphNode, list[GraphNode]] = {}
        self._nodes = graph.nodes
        self._places = {node: place for place, node in enumerate(self._nodes)}
        self._readers = {
            node: [*dict.fromkeys(reader for reader, _ in entries)] for node, entries in graph.consumers().items()
        }

    def readers(self, node: GraphNode) -> list[GraphNode]:
        """Return the nodes that read a node, each once."""
        return self._readers.get(node, [])

    def entered(self, members: Collection[GraphNode]) -> list[GraphNode]:
        """Return the members that read something outside that depends on members."""
        outside = self._dependents(members)
        return [node for node in members if any(source in outside for source, _ in node.inputs)] if outside else []

    def _dependents(self, members: Collection[GraphNode]) -> set[GraphNode]:
        """Return what depends on members, and is none, and stands before the last one."""
        places, last = self._places, max(map(self._places.__getitem__, members))
        dependents: set[GraphNode] = set()
        waiting = [*members]
        while waiting:
            for reader in self.readers(waiting.pop()):
                if places[reader] < last and reader not in dependents and reader not in members:
                    together = self.group_of.get(reader, (reader,))
                    dependents.update(together)
                    waiting += together
        return dependents

    def join(self, members: list[GraphNode]) -> None:
        """Make nodes that nothing outside leads back to a group: what depends on them moves behind the last one."""
        self.group_of.update(dict.fromkeys(members, members))
        places = sorted(map(self._places.__getitem__, members))
        first, end = places[0], places[-1] + 1
        if end - first == len(members):
            return
        inside, behind = {*members}, self._dependents({*members})
        between = [node for node in self._nodes[first:end] if node not in inside]
        self._nodes[first:end] = [
            *(node for node in between if node not in behind),
            *members,
            *(node for node in between if node in behind),
        ]
        for place in range(first, end):
            self._places[self._nodes[place]] = place
