"""The outputs of a program as callers get them: in memory that is neither an argument's nor another output's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy

from minpy.backends.protocol import ArrayFact
from minpy.graph.interpreting import read
from minpy.graph.ir import CONSTANT, Node
from minpy.graph.schedule import Steps, is_trusted

__all__ = ["how_returned", "no_alias", "returned"]


def how_returned(steps: Steps, facts: Mapping[Node, ArrayFact]) -> list[str]:
    """Return how each output is returned, so that it has memory of its own: 'as it is', as a 'copy', or 'no_alias'.

    An output may be a view of an argument, or of another output. Of what users' operators return only the arrays
    themselves tell: it is copied if it is an alias of one that was given (`no_alias`).
    """
    returned_before: set[Any] = set()
    ways: list[str] = []
    for output in steps.outputs:
        fact = facts[output.node]
        is_tuple = len(fact.shares) == 1 and fact.shape is None
        owners = {(owner, output.index if is_tuple else 0) for owner in fact.shares}
        foreign = [owner for owner in fact.shares if owner.operator is None or owner.operator is CONSTANT]
        is_user = output.node.operator is not None and not is_trusted(output.node)
        if owners & returned_before or (foreign and not is_user):
            ways.append("copy")
        else:
            ways.append("no_alias" if foreign else "as it is")
        returned_before |= owners
    return ways


def no_alias(array: Any, arguments: Sequence[Any]) -> Any:
    """Return an array, copied if it shares memory with one of the arguments."""
    return array.copy() if any(numpy.may_share_memory(array, argument) for argument in arguments) else array


def returned(
    steps: Steps, facts: Mapping[Node, ArrayFact], env: Mapping[Node, Any], arrays: Sequence[Any]
) -> list[Any]:
    """Return the outputs from the results by node."""
    outputs = []
    for output, how in zip(steps.outputs, how_returned(steps, facts), strict=True):
        value = read(env, output)
        outputs.append(value.copy() if how == "copy" else no_alias(value, arrays) if how == "no_alias" else value)
    return outputs
