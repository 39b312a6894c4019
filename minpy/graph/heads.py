"""Heads as callers get them: with memory that is nobody else's, neither an argument's nor another head's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy

from minpy.backends.protocol import ArrayFact
from minpy.graph.interpreting import read
from minpy.graph.ir import CONSTANT, Node
from minpy.graph.steps import Steps, is_trusted

__all__ = ["apart", "how_returned", "returned"]


def how_returned(steps: Steps, facts: Mapping[Node, ArrayFact]) -> list[str]:
    """Return how each head is returned, so that it has memory of its own: 'as it is', as a 'copy', or 'apart'.

    A head may be a view of an argument, or of another head. Of what users' operators return only the arrays themselves
    tell: it is set `apart` from those that were given.
    """
    taken: set[Any] = set()
    found: list[str] = []
    for head in steps.heads:
        fact = facts[head.node]
        owners = {(owner, head.index if fact.shares == {owner} and fact.shape is None else 0) for owner in fact.shares}
        foreign = [owner for owner in fact.shares if owner.operator is None or owner.operator is CONSTANT]
        is_user = head.node.operator is not None and not is_trusted(head.node)
        if owners & taken or (foreign and not is_user):
            found.append("copy")
        else:
            found.append("apart" if foreign else "as it is")
        taken |= owners
    return found


def apart(array: Any, others: Sequence[Any]) -> Any:
    """Return an array, copied if it shares memory with one of the others."""
    return array.copy() if any(numpy.may_share_memory(array, other) for other in others) else array


def returned(
    steps: Steps, facts: Mapping[Node, ArrayFact], env: Mapping[Node, Any], arrays: Sequence[Any]
) -> list[Any]:
    """Return the heads from the answers by node."""
    heads = []
    for head, how in zip(steps.heads, how_returned(steps, facts), strict=True):
        value = read(env, head)
        heads.append(value.copy() if how == "copy" else apart(value, arrays) if how == "apart" else value)
    return heads
