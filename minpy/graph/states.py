"""The functions of a program's steps for one call at a time: operators with states have one for each call in flight."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from minpy.graph.gradient import VjpNode
from minpy.graph.interpreting import step_call
from minpy.graph.ir import Node
from minpy.graph.keeping import Kept

__all__ = ["StepFunctions"]


class StepFunctions:
    """What runs each step of a program, for one call at a time.

    Parameters
    ----------
    is_first : bool
        Whether it may use the operators of the program itself; others make fresh ones.

    Attributes
    ----------
    kept : Kept or None
        The set of states that belongs to the call.
    releasing : list
        The operators that hold something from forward to backward.
    """

    __slots__ = ("_calls", "_is_first", "_keeping", "_nodes", "kept", "releasing")

    def __init__(self, is_first: bool) -> None:
        self._is_first = is_first
        self._calls: dict[Node, Callable[..., Any]] = {}
        self._nodes: dict[Node, Node] = {}
        self._keeping: list[Any] = []  # the operators that have states, which are kept for further calls
        self.releasing: list[Any] = []
        self.kept: Kept | None = None

    def call_of(self, node: Node) -> Callable[..., Any]:
        """Return the function of a step."""
        call = self._calls.get(node)
        if call is None:
            own = node if self._is_first else self._own(node)
            call = self._calls[node] = step_call(own)
            if hasattr(own.operator, "release"):
                self.releasing.append(own.operator)
            if hasattr(own.operator, "keep_in"):
                self._keeping.append(own.operator)
                if self.kept is not None:
                    own.operator.keep_in(self.kept.states)
        return call

    def operator_of(self, node: Node) -> Any:
        """Return the operator that runs a step: that of the node, or one of its own."""
        return node.operator if self._is_first else self._own(node).operator

    def keep_in(self, kept: Kept) -> None:
        """Let operators keep their states in a set, until the call is done."""
        self.kept = kept
        for operator in self._keeping:
            operator.keep_in(kept.states)

    def release(self) -> None:
        """Let operators forget what they hold of a call that is done."""
        for operator in self.releasing:
            operator.release()
        kept, self.kept = self.kept, None
        if kept is not None:
            for operator in self._keeping:
                operator.keep_in(None)
            kept.give_back()

    def _own(self, node: Node) -> Node:
        """Return a node that computes the same, with an operator of its own if that has a state."""
        known = self._nodes.get(node)
        if known is None:
            operator = node.operator
            if isinstance(operator, VjpNode):
                of = self._own(operator.node)
                if of is not operator.node:
                    operator = copy.copy(operator)
                    operator.node = of
            elif hasattr(operator, "fresh"):
                operator = operator.fresh()
            same = operator is node.operator
            known = node if same else Node(operator, node.inputs, node.attributes, node.name, node.kind)
            self._nodes[node] = known
        return known
