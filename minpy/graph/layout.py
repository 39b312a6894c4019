"""Layers of few rows whose answers lie column by column in a program's memory: their products are faster so.

A fully connected layer is rows · weightᵀ. Computed as weight · rowsᵀ, and left as it then lies, it takes 8 to 15 % less
time for 33 to 128 rows (docs/performance.md). This pays only if nobody turns the answer round again: it is done where
all that read it, and all that lies beside it in elementwise steps, can lie so, too.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from minpy.graph.gradient import PullBack
from minpy.graph.ir import CONSTANT, Node
from minpy.graph.memory import Fact
from minpy.ops.kernels.products import turns
from minpy.ops.nn.fully_connected import fully_connected

__all__ = ["turned"]

_FEWEST_ROWS = 33  # with fewer the columns are so short that what is done along them costs what the product gains


def turned(steps: Sequence[Node], fixed: Collection[Node], facts: Mapping[Node, Fact]) -> dict[Node, Fact]:
    """Return the facts of a program, with other strides where the answers of layers are better turned.

    Parameters
    ----------
    steps : sequence of Node
    fixed : collection of Node
        Steps whose answers are seen from outside: heads, and gradients that are asked for.
    facts : mapping of Node to Fact
        Of the steps and the variables, as observed.
    """
    chosen = {node for node in steps if node not in fixed and _may_be_turned(node, facts)}
    readers: dict[Node, list[tuple[Node, int]]] = {}
    for step in steps:
        for position, value in enumerate(step.inputs):
            readers.setdefault(value.node, []).append((step, position))
    shrinking = True
    while shrinking:
        refused = {
            node
            for node in chosen
            if not all(_takes_turned(step, position, chosen) for step, position in readers.get(node, ()))
            or (_is_elementwise(node) and not _inputs_are_turned(node, chosen, facts))
        }
        chosen -= refused
        shrinking = bool(refused)
    if not any(node.operator is fully_connected for node in chosen):
        return dict(facts)
    return {node: _turned(fact) if node in chosen else fact for node, fact in facts.items()}


def _may_be_turned(node: Node, facts: Mapping[Node, Fact]) -> bool:
    """Tell whether a step writes a matrix of few rows into memory of its own, whatever its order."""
    fact = facts[node]
    if fact.shape is None or len(fact.shape) != 2 or not fact.c_contiguous or fact.shares != {node}:
        return False
    if node.operator is fully_connected:
        data, weight = (facts[value.node] for value in node.inputs[:2])
        if data.shape is None or weight.shape is None or len(data.shape) != 2 or data.shape[0] < _FEWEST_ROWS:
            return False
        return data.dtype == weight.dtype == fact.dtype and turns(data.shape, weight.shape, fact.dtype)
    return _is_elementwise(node) or (_is_gradient(node) and node.operator.needed == (0,))


def _is_elementwise(node: Node) -> bool:
    operator = node.operator
    return operator is not None and operator is not CONSTANT and operator.elementwise and operator.into is not None


def _is_gradient(node: Node) -> bool:
    """Tell whether a step is the gradient of a layer with respect to one argument, written into given memory."""
    operator = node.operator
    return isinstance(operator, PullBack) and operator.node.operator is fully_connected and operator.into is not None


def _takes_turned(step: Node, position: int, chosen: Collection[Node]) -> bool:
    """Tell whether a step reads a turned matrix at a position as fast as any: as rows, or as their gradient."""
    if _is_elementwise(step):
        return step in chosen
    if step.operator is fully_connected:
        return position == 0
    if not _is_gradient(step):
        return False
    first = len(step.operator.upstream) + len(step.operator.answers)
    return bool(position == 0 or step.operator.reads[position - first] == 0)


def _inputs_are_turned(node: Node, chosen: Collection[Node], facts: Mapping[Node, Fact]) -> bool:
    shape = facts[node].shape
    return all(value.node in chosen or (facts[value.node].shape or ()) in ((), (1,)) for value in node.inputs) and any(
        facts[value.node].shape == shape for value in node.inputs
    )


def _turned(fact: Fact) -> Fact:
    assert fact.shape is not None
    size = fact.dtype.itemsize
    return replace(fact, strides=(size, size * fact.shape[0]), c_contiguous=False)
