"""Gradients of an executor that are written into one array, or into arrays that share memory."""

from __future__ import annotations

from collections.abc import Mapping

import numpy

from minpy.graph.ir import Node

__all__ = ["Shared"]


class Shared:
    """Gradients that are asked for into one array, or into arrays that share memory.

    Each is computed into an array of its own, and these are put where they belong in the end: what is to be written in
    the order of the arguments, so that the last one stays; then what is to be added.
    """

    def __init__(self, targets: dict[Node, numpy.ndarray], shared: list[Node], requests: Mapping[Node, str]) -> None:
        self._targets = targets
        self._own = {node: numpy.empty(targets[node].shape, targets[node].dtype) for node in shared}
        self._requests = requests

    @classmethod
    def of(cls, targets: dict[Node, numpy.ndarray], requests: Mapping[Node, str]) -> Shared | None:
        """Return what keeps these arrays apart; None if no two of them share memory."""
        shared = [
            node
            for node, array in targets.items()
            if any(another is not node and numpy.may_share_memory(array, targets[another]) for another in targets)
        ]
        return cls(targets, shared, requests) if shared else None

    def buffers(self) -> dict[Node, numpy.ndarray]:
        """Return where to compute the gradients."""
        for array in self._own.values():
            array.fill(0)
        return {**self._targets, **self._own}

    def finish(self) -> None:
        """Put the gradients where they were asked for."""
        for request in ("write", "add"):
            for node, array in self._own.items():
                if self._requests[node] == request == "write":
                    numpy.copyto(self._targets[node], array)
                elif self._requests[node] == request:
                    self._targets[node][...] += array
