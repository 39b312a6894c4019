"""The functions of a program's steps for one call at a time: each call has operators with states of its own."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from minpy.graph.gradient import VjpNode
from minpy.graph.interpreting import step_call
from minpy.graph.ir import Node
from minpy.graph.state_pool import StateSet

__all__ = ["StepFunctions"]


class StepFunctions:
    """What runs each step of a program, for one call at a time.

    `is_first`: whether it may use the operators of the program itself; others make fresh ones.
    """

    __slots__ = ("_calls", "_is_first", "_nodes", "_stateful", "releasing", "state_set")

    def __init__(self, is_first: bool) -> None:
        self._is_first = is_first
        self._calls: dict[Node, Callable[..., Any]] = {}
        self._nodes: dict[Node, Node] = {}
        self._stateful: list[Any] = []  # the operators that have states, which are kept for further calls
        self.releasing: list[Any] = []  # the operators that hold something from forward to backward
        self.state_set: StateSet | None = None  # the set of states that belongs to the call

    def call_of(self, node: Node) -> Callable[..., Any]:
        """Return the function of a step."""
        call = self._calls.get(node)
        if call is None:
            own = node if self._is_first else self._own(node)
            call = self._calls[node] = step_call(own)
            if hasattr(own.operator, "release"):
                self.releasing.append(own.operator)
            if hasattr(own.operator, "keep_in"):
                self._stateful.append(own.operator)
                if self.state_set is not None:
                    own.operator.keep_in(self.state_set.states)
        return call

    def operator_of(self, node: Node) -> Any:
        """Return the operator that runs a step: that of the node, or one of its own."""
        return node.operator if self._is_first else self._own(node).operator

    def keep_in(self, state_set: StateSet) -> None:
        """Let operators keep their states in a set, until the call is done."""
        self.state_set = state_set
        for operator in self._stateful:
            operator.keep_in(state_set.states)

    def release(self) -> None:
        """Let operators forget what they hold of a call that is done."""
        for operator in self.releasing:
            operator.release()
        state_set, self.state_set = self.state_set, None
        if state_set is not None:
            for operator in self._stateful:
                operator.keep_in(None)
            state_set.release()

    def _own(self, node: Node) -> Node:
        """Return a node that computes the same, with an operator of its own if that has a state."""
        own = self._nodes.get(node)
        if own is None:
            operator = node.operator
            if isinstance(operator, VjpNode):
                differentiated = self._own(operator.node)
                if differentiated is not operator.node:
                    operator = copy.copy(operator)
                    operator.node = differentiated
            elif hasattr(operator, "fresh"):
                operator = operator.fresh()
            same = operator is node.operator
            own = node if same else Node(operator, node.inputs, node.attributes, node.name, node.kind)
            self._nodes[node] = own
        return own
