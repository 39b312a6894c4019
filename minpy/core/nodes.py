"""The parts of the tape: recorded calls, the outputs of those with several, and leaves.

There is no global list: an array holds its node, a node holds its parents, and a graph dies with its arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from minpy.core.array import FRONT_ENDS, Array, new_array, now
from minpy.core.errors import describe

__all__ = ["Leaf", "Node", "Output", "attach_outputs", "connect", "record_node"]


class Node:
    """One recorded call of an operator.

    `arguments` and `result` are what the gradient rules may read: raw values, with None for those that no rule reads.
    `parents` has one entry for each argument: the node that it came from, or None if it needs no gradient.
    """

    __slots__ = (
        "__weakref__",
        "arguments",
        "attributes",
        "changed",
        "dtype",
        "freed",
        "operator",
        "parents",
        "result",
        "sequence",
        "shape",
    )

    sequence: int
    operator: Any
    arguments: Sequence[Any]
    result: Any
    attributes: dict[str, Any]
    parents: Sequence[Any] | None
    shape: Any
    dtype: Any
    changed: int  # the time at which its array was changed while nothing was recorded; unset before
    freed: int  # the time at which a walk freed the graph and set `parents` to None; unset before

    def __repr__(self) -> str:
        return f"<Node {self.sequence} {self.operator.__name__} -> {describe(self)}>"


class Output:
    """One output of a node whose operator has several."""

    # `arguments` and `result` are never read: freeing a graph sets them, as it does in a `Node`.
    __slots__ = ("arguments", "changed", "dtype", "freed", "index", "parents", "result", "sequence", "shape")

    operator = None

    def __init__(self, node: Node, index: int, data: numpy.ndarray) -> None:
        self.sequence = now()
        self.index = index
        self.parents: tuple[Node] | None = (node,)
        self.shape = data.shape
        self.dtype = data.dtype


class Leaf:
    """A variable, which receives gradients. `gradient` is the array that `backward` writes, which then sets `fresh`."""

    __slots__ = ("dtype", "fresh", "gradient", "request", "sequence", "shape")

    operator = None
    parents: tuple[()] = ()

    def __init__(self, data: numpy.ndarray, gradient: Array | None = None, request: str = "write") -> None:
        self.sequence = now()
        self.shape = data.shape
        self.dtype = data.dtype
        self.gradient = gradient
        self.request = request
        self.fresh = False


def record_node(
    operator: Any, arguments: Sequence[Any], result: Any, attributes: dict[str, Any], parents: Sequence[Any]
) -> Node:
    """Return a node for a call, with the arguments and the result that its rules will read."""
    node: Node = object.__new__(Node)
    node.sequence = now()
    node.operator = operator
    node.arguments = arguments
    node.result = result
    node.attributes = attributes
    node.parents = parents
    return node


def attach_outputs(node: Node, outputs: Sequence[numpy.ndarray]) -> list[Output]:
    """Give `node` several outputs, and return the nodes of their arrays."""
    node.shape = tuple(output.shape for output in outputs)
    node.dtype = tuple(output.dtype for output in outputs)
    return [Output(node, index, output) for index, output in enumerate(outputs)]


def connect(data: numpy.ndarray, node: Any) -> Array:
    """Return an array with NumPy's semantics around `data`, with a node of the tape."""
    return new_array(FRONT_ENDS["numpy"], data, node)
