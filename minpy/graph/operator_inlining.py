"""Users' operators replaced by what their forward functions compute, in the graph that is run.

Users see, name and save one node; a program runs its inside, merged with what surrounds it.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from minpy.capture.forwards import capture_forward, input_proxy, is_customop
from minpy.capture.places import CaptureRefused
from minpy.capture.proxy import ArrayProxy
from minpy.capture.reads import Reads
from minpy.capture.recorder import Notes, Recorder
from minpy.graph.builder import GraphBuilder
from minpy.graph.gradient import VjpNode
from minpy.graph.ir import Node, Value

__all__ = ["Inliner"]


class Inliner:
    """A graph with users' operators replaced, as far as it has been gone through."""

    def __init__(self) -> None:
        self._builder = GraphBuilder()
        self._became: dict[Value, Value] = {}  # outputs of operators that were replaced
        self._nodes: dict[Node, Node] = {}  # all others
        self.notes = Notes()  # where in users' code they come from, and why some are calls
        self._count = 0

    @property
    def nodes(self) -> list[Node]:
        """The nodes, in an order in which they can be run."""
        return self._builder.created

    def value(self, value: Value) -> Value:
        """Return what a value became."""
        inlined_value = self._became.get(value)
        if inlined_value is not None:
            return inlined_value
        node = self._nodes.get(value.node, value.node)
        return value if node is value.node else Value(node, value.index)

    def go_on(
        self, nodes: Sequence[Node], shapes: Mapping[Value, Any], dtypes: Mapping[Value, Any], reads: Reads | None
    ) -> None:
        """Add the nodes that have come since: each after its inputs.

        `nodes`: all of the graph, those that were there before first. `reads`: notes what operators refer to; None:
        each stays one call.
        """
        for node in nodes[self._count :]:
            is_user = reads is not None and node.operator is not None and is_customop(node.operator)
            if reads is not None and is_user and self._capture(node, shapes, dtypes, reads):
                continue
            self._nodes[node] = self._stays(node)
            self.notes.move(node, self._nodes[node])
        self._count = len(nodes)

    def _stays(self, node: Node) -> Node:
        """Return a node that stays: itself, if its inputs have."""
        inputs = tuple(map(self.value, node.inputs))
        if inputs == node.inputs:
            return self._builder.add(node)
        operator = node.operator
        if isinstance(operator, VjpNode) and self._nodes.get(operator.node, operator.node) is not operator.node:
            operator = copy.copy(operator)
            operator.node = self._nodes[operator.node]
        return self._builder.node(operator, inputs, node.attributes, node.name, node.kind)

    def _capture(self, node: Node, shapes: Mapping[Value, Any], dtypes: Mapping[Value, Any], reads: Reads) -> bool:
        """Add the steps of one operator; tell whether that could be done."""
        recorder, attempt = Recorder(self._builder, node.name, ArrayProxy), reads.attempt()
        outputs = [Value(node, index) for index in range(len(node.output_names()))]
        try:
            inputs = [
                input_proxy(recorder, self.value(value), shapes.get(value), dtypes.get(value)) for value in node.inputs
            ]
            results = capture_forward(recorder, attempt, node.operator, inputs, node.attributes)
        except CaptureRefused as refusal:
            self.notes.refusals[node] = refusal.with_traceback(None)  # which leads to the callers
            return False
        facts = [(shapes[value], dtypes[value]) for value in outputs]
        if [(result.shape, result.dtype) for result in results] != facts:
            return False  # what reads it was made for what inference said
        reads.adopt(attempt)
        self.notes.add(recorder)
        self._became.update((value, result.value) for value, result in zip(outputs, results, strict=True))
        return True
