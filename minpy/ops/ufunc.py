"""Operators that are NumPy ufuncs of one array (or like one), with the calls on arrays of a plain class spelled out.

They are most of what a network calls, and the cost of the general path in `dispatch` would be half of theirs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy

from minpy.core import dispatch
from minpy.core.array import PLAIN_CLASSES, create, now
from minpy.core.integers import in_their_dtype
from minpy.core.nodes import Node
from minpy.core.operator import Operator
from minpy.core.rules import Plan
from minpy.core.state import state

__all__ = ["UnaryUfunc"]

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

    def __call__(self, value: Any = MISSING, /, *others: Any, **attributes: Any) -> Any:
        if attributes and type(value) in PLAIN_CLASSES:
            attributes.pop("name", None)  # which only graphs have
        if type(value) not in PLAIN_CLASSES or attributes or others:
            given = others if value is MISSING else (value, *others)
            return dispatch.call(self, *given, **attributes)
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
            node.answer = data if plan.reads_answer else None
            node.attributes = _NO_ATTRIBUTES
            node.parents = (parent,)
            node.shape = data.shape
            node.dtype = data.dtype
            array._node = node
        else:
            array._node = None
        return array


def _in_its_dtype(forward: Any, raw: numpy.ndarray, data: numpy.ndarray) -> numpy.ndarray:
    """Return what NDArrays have as the answer, where NumPy's is of another dtype than the argument."""
    if raw.dtype.kind not in "iub":
        return data.astype(raw.dtype, copy=False)
    if data.dtype.kind != "f":
        return data
    answer: numpy.ndarray = in_their_dtype(lambda given: forward(*given), (raw,), data)
    return answer
