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

__all__ = ["first_order", "first_order_error"]


class _FirstOrderOnly(BaseOperator):
    """The operator of a gradient that has no gradient of its own; reaching it in a backward pass is the error."""

    def __init__(self, name: str) -> None:
        self.__name__ = f"gradient of {name}"
        self._name = name

    def require_rules(self, node: Any) -> None:
        """Raise `NoGradientError`."""
        raise first_order_error(self._name)

    def vjp(self, *arguments: Any) -> Any:
        """Raise `NoGradientError`."""
        raise first_order_error(self._name)


def first_order_error(name: str) -> NoGradientError:
    """Return the error of differentiating a gradient that is not recorded; `name`: the operator, for the message."""
    return NoGradientError(
        f"{name} has no second-order gradient: its backward is not recorded. Write it with @customop('numpy') and "
        "a rule in plain NumPy, which gives every order, or take first-order gradients only."
    )


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
