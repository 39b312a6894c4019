"""Gradients that are not recorded themselves; differentiating them is an error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from minpy.core.array import Array
from minpy.core.base_operator import BaseOperator
from minpy.core.errors import NoGradientError
from minpy.core.nodes import connect, record_node
from minpy.core.state import state

__all__ = ["first_order"]


class _FirstOrderOnly(BaseOperator):
    """The operator of a gradient that has no gradient of its own; reaching it in a backward pass is the error."""

    def __init__(self, name: str) -> None:
        self.__name__ = f"gradient of {name}"
        self._error = (
            f"{name} has no second-order gradient: its backward is not recorded. Write it with @customop('numpy') and "
            "a rule in plain NumPy, which gives every order, or take first-order gradients only."
        )

    def require_rules(self, node: Any) -> None:
        """Raise `NoGradientError`."""
        raise NoGradientError(self._error)

    def vjp(self, *arguments: Any) -> Any:
        """Raise `NoGradientError`."""
        raise NoGradientError(self._error)


def first_order(name: str, data: Any, traced: Sequence[Array]) -> Any:
    """Return a gradient as a recorded array through which no further gradient flows.

    `name`: the operator, for the message. `traced`: the arrays that it was computed from; if none of them is recorded,
    `data` is returned unchanged.
    """
    parents = [array._node for array in traced]
    if not state.recording or not any(parent is not None for parent in parents):
        return data
    data = numpy.asarray(data)
    node = record_node(_FirstOrderOnly(name), [None] * len(parents), None, {}, parents)
    node.shape, node.dtype = data.shape, data.dtype
    return connect(data, node)
