"""Arguments that a captured function changes in place: whether its graph may do that, and how they get their values.

A graph knows its variables apart, and stores what it computed at the end. So a call runs as it is written where an
array that is changed shares memory with another one, is read-only, or stands on the tape.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy

from minpy.core.array import FRONT_ENDS, Array, raw_of
from minpy.core.buffers import memory_of, note_writes
from minpy.core.nodes import Leaf
from minpy.core.state import state

__all__ = ["MustRunEagerly", "are_exclusive", "no_writes", "overlaps_itself", "store"]

_WORK = 1000  # what NumPy may spend on finding out whether two strided arrays have an element in common


class MustRunEagerly(Exception):
    """A compiled function that changes something was called where none may: it is to run as it is written."""


class _NoWrites(threading.local):
    """Whether no compiled function may change anything in this thread now: those that would raise `MustRunEagerly`."""

    active = False


no_writes = _NoWrites()


def are_exclusive(arrays: Sequence[Any], positions: Sequence[int]) -> bool:
    """Tell whether a graph may change some of the arrays of a call: those at `positions`.

    Raises
    ------
    MustRunEagerly
        In a call that may be evaluated several times.
    """
    if no_writes.active:
        raise MustRunEagerly
    if state.recording:
        return False
    buffers = list(map(raw_of, arrays))
    for position in positions:
        array, buffer = arrays[position], buffers[position]
        if not buffer.flags.writeable or overlaps_itself(buffer):
            return False
        if isinstance(array, Array) and (
            type(array) not in FRONT_ENDS.values()
            or (array._node is not None and type(array._node) is not Leaf)
            or memory_of(buffer).taped
        ):
            return False
        if any(_may_meet(buffer, another) for number, another in enumerate(buffers) if number != position):
            return False
    return True


def store(outputs: Sequence[Any], arrays: Sequence[Any], positions: Mapping[int, int]) -> None:
    """Put outputs in the place of the values of arrays, where native code has not done so, and note the writes."""
    buffers = list(map(raw_of, arrays))
    for place, position in positions.items():
        value = raw_of(outputs[place])
        if value is not buffers[position]:
            numpy.copyto(buffers[position], value)
    note_writes(buffers, tuple(positions.values()))


def _may_meet(array: numpy.ndarray, another: numpy.ndarray) -> bool:
    """Tell whether two arrays have an element in common, or may have."""
    try:
        return bool(numpy.shares_memory(array, another, max_work=_WORK))  # type: ignore[arg-type]
    except (numpy.exceptions.TooHardError, TypeError):
        return True


def overlaps_itself(array: numpy.ndarray) -> bool:
    """Tell whether some elements of an array may be one, as those of a broadcast array are.

    >>> overlaps_itself(numpy.zeros((2, 3)).T), overlaps_itself(numpy.broadcast_to(numpy.zeros(3), (2, 3)))
    (False, True)
    """
    if array.flags.c_contiguous or not array.size:
        return False
    reach = array.itemsize
    for stride, length in sorted(zip(map(abs, array.strides), array.shape, strict=True)):
        if length > 1:
            if stride < reach:
                return True
            reach += stride * (length - 1)
    return False
