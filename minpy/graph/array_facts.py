"""What one run of a program tells about its arrays: layouts, and who shares memory with whom.

For given shapes an operator's result always has the same layout, and is a view of the same inputs: plans of memory are
made from these facts.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy

from minpy.backends.protocol import ArrayFact
from minpy.graph.interpreting import Observer
from minpy.graph.ir import CONSTANT, Node
from minpy.graph.schedule import is_trusted

__all__ = ["as_contiguous", "fact_of_input", "noting", "observe"]


def observe(
    node: Node, result: Any, inputs: Sequence[Node], facts: Mapping[Node, ArrayFact], env: Mapping[Node, Any]
) -> ArrayFact:
    """Return the facts about a result that has just been computed, beside its inputs'."""
    arrays = [array for array in (result if isinstance(result, tuple) else (result,)) if _is_array(array)]
    shares: set[Node] = set()
    foreign = not is_trusted(node)
    for source in dict.fromkeys(inputs):
        if source in facts and (foreign or any(_may_share(array, env[source]) for array in arrays)):
            shares |= facts[source].shares
    own = sum(array.nbytes for array in arrays) if not shares or foreign else 0
    if not shares or foreign:
        shares.add(node)
    single = result if _is_array(result) else None
    return ArrayFact(
        None if isinstance(result, tuple) else numpy.shape(result),
        getattr(result, "dtype", None),
        single.strides if single is not None else (),
        frozenset(shares),
        own,
        len(result) if isinstance(result, tuple) else 1,
        single is not None and single.flags.c_contiguous,
        tuple((numpy.shape(part), getattr(part, "dtype", None)) for part in result)
        if isinstance(result, tuple)
        else (),
    )


def _is_array(value: Any) -> bool:
    return isinstance(value, numpy.ndarray)


def _may_share(array: numpy.ndarray, result: Any) -> bool:
    parts = result if isinstance(result, tuple) else (result,)
    return any(_is_array(part) and numpy.may_share_memory(array, part) for part in parts)


def fact_of_input(node: Node, array: Any) -> ArrayFact:
    """Return the facts about the array of a variable."""
    return ArrayFact(numpy.shape(array), array.dtype, array.strides, frozenset([node]), 0, 1, array.flags.c_contiguous)


def noting(facts: dict[Node, ArrayFact], env: Mapping[Node, Any]) -> Observer:
    """Return what notes the facts about each result."""

    def note(node: Node, _: Any, result: Any) -> None:
        if result is not None or node.operator is CONSTANT:  # an optional input that is not given is a constant None
            facts[node] = observe(node, result, [value.node for value in node.inputs], facts, env)

    return note


def as_contiguous(arrays: Sequence[numpy.ndarray], states: Collection[int] = ()) -> Sequence[numpy.ndarray]:
    """Return arrays with those copied that are not C-contiguous, but for the states, which are written to.

    Facts hold for one layout: whether a result is a view, and so may not be written to, depends on that.
    """
    for array in arrays:
        if not array.flags.c_contiguous:
            return [
                array if array.flags.c_contiguous or position in states else array.copy()
                for position, array in enumerate(arrays)
            ]
    return arrays
