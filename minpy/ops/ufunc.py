"""Operators that are NumPy ufuncs of one array (or like one), with the calls on arrays of a plain class spelled out.

They are most of what a network calls, and the cost of the general path in `dispatch` would be half of theirs.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy

from minpy.core import dispatch
from minpy.core.array import PLAIN_CLASSES, Array, create, now
from minpy.core.integers import in_their_dtype
from minpy.core.nodes import Node
from minpy.core.operator import Operator
from minpy.core.state import state

__all__ = ["UnaryUfunc"]

numpy_array = numpy.ndarray
MISSING = object()
_NOTHING = (None,)
# Bytes from which on a result in the memory of a dying argument saves more than finding out costs.
_LARGE = 1 << 15
_NO_ATTRIBUTES: dict[str, Any] = {}


class UnaryUfunc(Operator):
    """An operator that is a ufunc of one array.

    `in_place`, where it is set, computes the result in its argument's memory. It is used for large temporaries, such as
    the argument in `relu(x + y)`, which nobody can see any more: reference counts say so.
    """

    in_place: Any = None

    def __call__(self, value: Any = MISSING, /, *others: Any, **attributes: Any) -> Any:
        if type(value) not in PLAIN_CLASSES or attributes or others:
            given = others if value is MISSING else (value, *others)
            return dispatch.call(self, *given, **attributes)
        raw = value._data
        in_place = self.in_place
        try:
            if (
                in_place is not None
                and raw.nbytes >= _LARGE
                and sys.getrefcount(value) <= _TEMPORARY
                and sys.getrefcount(raw) <= _SOLE
                and raw.base is None
                and raw.dtype.kind == "f"
            ):
                data = in_place(raw)
            else:
                data = self.forward(raw)
        except TypeError:
            return dispatch.call(self, value)
        if type(data) is not numpy_array:
            data = numpy.asarray(data)
        if data.dtype is not raw.dtype and self.keeps_dtype and value._keeps_dtype:
            if raw.dtype.kind not in "iub":
                data = data.astype(raw.dtype)
            elif data.dtype.kind == "f":
                data = in_their_dtype(lambda given: self.forward(*given), (raw,), data)
        array = create(type(value))
        array._data = data
        parent = value._node
        if parent is not None and state.recording:
            plan = self._plan
            if plan is None:
                plan = self.plan()
            if data.dtype.kind not in "fc":
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


class _Probe:
    def __call__(self, value: Any = MISSING, /, *others: Any, **attributes: Any) -> tuple[int, int]:
        raw = value._data
        return sys.getrefcount(value), sys.getrefcount(raw)


def _reference_counts() -> tuple[int, int]:
    """Measure what `sys.getrefcount` says of a temporary argument, and of the buffer that only it refers to.

    0, which no count reaches, where an interpreter does not count a variable of the caller (CPython 3.14).
    """

    def array() -> Array:
        made = Array()
        made._data = numpy.zeros(1)
        return made

    probe = _Probe()
    variable = array()
    temporary, sole = probe(array())
    return (temporary, sole) if probe(variable)[0] > temporary else (0, 0)


_TEMPORARY, _SOLE = _reference_counts()
