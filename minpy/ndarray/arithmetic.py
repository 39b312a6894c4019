"""The arithmetic methods of array classes, written for the one call that matters: two arrays of the same class.

Everything else (mixed classes, NumPy scalars and arrays, other contexts, broadcasting errors) goes the general way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from minpy.core.array import create, now
from minpy.core.nodes import Node
from minpy.core.operator import Operator
from minpy.core.state import state

__all__ = ["binary_methods", "unary_method"]

numpy_array = numpy.ndarray
_NOTHING = (None, None)
_NO_ATTRIBUTES: dict[str, Any] = {}


def binary_methods(
    cls: Any, operator: Operator, general: Callable[[Operator, Any, Any], Any]
) -> tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]:
    """Return the methods for `x @ y` and its reflection, where @ is the operator (a ufunc of two arrays).

    Parameters
    ----------
    cls : type
        The class that the methods are for; its subclasses go the general way.
    operator : Operator
    general : callable
        `general(operator, x, y)` answers every other call.
    """
    ufunc = operator.forward
    plan = operator.plan()
    reads_arguments = plan.reads_arguments is None or bool(plan.reads_arguments)
    reads_answer = plan.reads_answer
    makes_floats = ufunc is numpy.true_divide

    def method(self: Any, other: Any) -> Any:
        kind = type(other)
        if kind is cls and type(self) is cls:
            a = self._data
            b = other._data
            try:
                data = ufunc(a, b)
            except (ValueError, TypeError):
                return general(operator, self, other)
            if makes_floats and data.dtype is not a.dtype:
                return general(operator, self, other)
            parent = self._node
            other_parent = other._node
        elif (kind is float or kind is int) and type(self) is cls:
            a = self._data
            b = other
            try:
                data = ufunc(a, b)
            except (ValueError, TypeError, OverflowError):
                return general(operator, self, other)
            if type(data) is not numpy_array or data.dtype is not a.dtype:
                return general(operator, self, other)
            parent = self._node
            other_parent = None
        else:
            return general(operator, self, other)
        if type(data) is not numpy_array:
            data = numpy.asarray(data)
        array = create(cls)
        array._data = data
        if (parent is not None or other_parent is not None) and state.recording:
            node = create(Node)
            node.sequence = now()
            node.operator = operator
            node.arguments = (a, b) if reads_arguments else _NOTHING if kind is cls else (None, b)
            node.answer = data if reads_answer else None
            node.attributes = _NO_ATTRIBUTES
            node.parents = (parent, other_parent)
            node.shape = data.shape
            node.dtype = data.dtype
            array._node = node
        else:
            array._node = None
        return array

    def reflected(self: Any, other: Any) -> Any:
        return general(operator, other, self)

    return method, reflected


def unary_method(operator: Operator) -> Callable[[Any], Any]:
    """Return the method for a prefix operator such as `-x`."""

    def method(self: Any) -> Any:
        return operator(self)

    return method
