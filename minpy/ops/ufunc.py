"""Operators that are NumPy ufuncs: of one array (or like one), or of two, which have forms with a number.

Calls of those of one array, on arrays of a plain class, are spelled out: they are most of what a network calls, and the
cost of the general path in `dispatch` would be half of theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy

from minpy.core import dispatch
from minpy.core.array import PLAIN_CLASSES, create, now
from minpy.core.gradient_rules import Plan
from minpy.core.integer_results import in_their_dtype
from minpy.core.nodes import Node
from minpy.core.operator import Operator
from minpy.core.state import state

__all__ = ["NUMBER_FORMS", "UnaryUfunc", "WithNumberForms"]

numpy_array = numpy.ndarray
MISSING = object()
_NOTHING = (None,)
_NO_ATTRIBUTES: dict[str, Any] = {}


class UnaryUfunc(Operator):
    """An operator that is a ufunc of one array."""

    def plan(self) -> Plan:
        """Return what recording a call has to keep; calls of this class ask whether that is any argument."""
        plan = super().plan()
        if plan.reads_arguments is None:
            plan = self._plan = replace(plan, reads_arguments=frozenset((0,)))
        return plan

    def __call__(self, value: Any = MISSING, /, *inputs: Any, **attributes: Any) -> Any:
        if attributes and type(value) in PLAIN_CLASSES:
            attributes.pop("name", None)  # which only graphs have
        if type(value) not in PLAIN_CLASSES or attributes or inputs:
            arguments = inputs if value is MISSING else (value, *inputs)
            return dispatch.call(self, *arguments, **attributes)
        raw = value._data
        try:
            data = self.forward(raw)
        except TypeError:
            return dispatch.call(self, value)
        if type(data) is not numpy_array:
            data = numpy.asarray(data)
        if data.dtype is not raw.dtype and self.keeps_dtype and value._keeps_dtype:
            data = _in_its_dtype(self.forward, raw, data)
        array = create(type(value))
        array._data = data
        parent = value._node
        if parent is not None and state.recording:
            plan = self._plan
            if plan is None:
                plan = self.plan()
            if (
                data.dtype.kind not in "fc" and raw.dtype.kind not in "iub"
            ):  # integers have gradients if they are variables
                array._node = None
                return array
            node = create(Node)
            node.sequence = now()
            node.operator = self
            node.arguments = (raw,) if plan.reads_arguments else _NOTHING
            node.result = data if plan.reads_result else None
            node.attributes = _NO_ATTRIBUTES
            node.parents = (parent,)
            node.shape = data.shape
            node.dtype = data.dtype
            array._node = node
        else:
            array._node = None
        return array


def _in_its_dtype(forward: Any, raw: numpy.ndarray, data: numpy.ndarray) -> numpy.ndarray:
    """Return the result of NDArrays, where NumPy's is of another dtype than the argument."""
    if raw.dtype.kind not in "iub":
        return data.astype(raw.dtype, copy=False)
    if data.dtype.kind != "f":
        return data
    result: numpy.ndarray = in_their_dtype(lambda arrays: forward(*arrays), (raw,), data)
    return result


# The operators of two arrays, less `broadcast_`, with a number on their right, and on their left.
NUMBER_FORMS = {
    "add": ("plus", "plus"),
    "sub": ("minus", "rminus"),
    "mul": ("mul", "mul"),
    "div": ("div", "rdiv"),
    "mod": ("mod", "rmod"),
    "power": ("power", "rpower"),
    "maximum": ("maximum", "maximum"),
    "minimum": ("minimum", "minimum"),
    "hypot": ("hypot", "hypot"),
    "equal": ("equal", "equal"),
    "not_equal": ("not_equal", "not_equal"),
    "greater": ("greater", "lesser"),
    "greater_equal": ("greater_equal", "lesser_equal"),
    "lesser": ("lesser", "greater"),
    "lesser_equal": ("lesser_equal", "greater_equal"),
    "logical_and": ("logical_and", "logical_and"),
    "logical_or": ("logical_or", "logical_or"),
    "logical_xor": ("logical_xor", "logical_xor"),
}


class WithNumberForms(Operator):
    """An operator of two arrays, which broadcast, that has forms for an array and a number.

    Attributes
    ----------
    find_form : callable
        Returns the operator of a name.
    """

    find_form: Callable[[str], Operator]

    @cached_property
    def with_number(self) -> tuple[Operator, Operator]:  # type: ignore[override]
        """The operators with a number on the right, and on the left."""
        right, left = NUMBER_FORMS[self.__name__.removeprefix("broadcast_")]
        return self.find_form(f"_{right}_scalar"), self.find_form(f"_{left}_scalar")
