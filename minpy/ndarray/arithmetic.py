"""The arithmetic methods of array classes, written for the one call that matters: two arrays of the same class.

Everything else (mixed classes, NumPy scalars and arrays, other contexts, broadcasting errors) goes the general way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from minpy.core.array import create, now
from minpy.core.nodes import Node, record_node
from minpy.core.operator import Operator
from minpy.core.state import state

__all__ = ["binary_methods", "comparison_method"]

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
    reads_result = plan.reads_result
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
            node.result = data if reads_result else None
            node.attributes = _NO_ATTRIBUTES
            node.parents = (parent, other_parent)
            node.shape = data.shape
            node.dtype = data.dtype
            array._node = node
        else:
            array._node = None
        return array

    def reflected(self: Any, other: Any) -> Any:
        kind = type(other)
        if (kind is not float and kind is not int) or type(self) is not cls:
            return general(operator, other, self)
        b = self._data
        try:
            data = ufunc(other, b)
        except (ValueError, TypeError, OverflowError):
            return general(operator, other, self)
        if type(data) is not numpy_array or data.dtype is not b.dtype or data.dtype.kind != "f":
            return general(operator, other, self)
        array = create(cls)
        array._data = data
        parent = self._node
        if parent is not None and state.recording:
            node = create(Node)
            node.sequence = now()
            node.operator = operator
            # Rules compute with the number in the dtype of the array: of Python's, NumPy's functions make float64.
            node.arguments = (numpy.asarray(other, b.dtype), b) if reads_arguments else (other, None)
            node.result = data if reads_result else None
            node.attributes = _NO_ATTRIBUTES
            node.parents = (None, parent)
            node.shape = data.shape
            node.dtype = data.dtype
            array._node = node
        else:
            array._node = None
        return array

    return method, reflected


def comparison_method(
    cls: Any, operator: Any, ufunc: numpy.ufunc, general: Callable[[Any, Any, Any], Any]
) -> Callable[[Any, Any], Any]:
    """Return the method for `x < y`: of a ufunc, or of an operator that returns 0 or 1 in the dtype of the arrays.

    The gradient of such an operator is zero, so that recording keeps no values; booleans are not recorded.
    """
    is_ufunc = operator is ufunc

    def method(self: Any, other: Any) -> Any:
        kind = type(other)
        a = self._data
        dtype = a.dtype
        if kind is cls:
            b, other_parent = other._data, other._node
            is_plain = b.dtype is dtype
        else:
            b, other_parent = other, None
            is_plain = kind is float or kind is int
        if not is_plain or type(self) is not cls or dtype.kind != "f":
            return general(operator, self, other)
        try:
            data = ufunc(a, b)
        except (ValueError, OverflowError):
            return general(operator, self, other)
        if type(data) is not numpy_array:
            return general(operator, self, other)
        array = create(cls)
        array._data = data if is_ufunc else data.astype(dtype)
        array._node = None
        parent = self._node
        if (parent is not None or other_parent is not None) and state.recording and not is_ufunc:
            arguments = _NOTHING if kind is cls else (None, other)
            array._node = node = record_node(operator, arguments, None, _NO_ATTRIBUTES, (parent, other_parent))
            node.shape = data.shape
            node.dtype = dtype
        return array

    return method
