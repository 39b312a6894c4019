"""The memory behind arrays: who may write to a buffer, who refers to it, and when it is copied.

The log of writes says when memory was changed in place, by which `backward` notices that a value it saved has been
overwritten, and which arrays share it, so that a recorded write through one is seen by all. Reference counts say
whether a buffer is shared: where it is not, it is handed over instead of copied. Loans say in which call
`asnumpy` and `nd.array` share memory. `docs/architecture.md` has the states of a buffer.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Iterable, Sequence
from functools import partial
from types import CodeType, FrameType
from typing import Any

import numpy

from minpy.core.array import Array, now
from minpy.core.nodes import Leaf

__all__ = [
    "SOLE_HELD",
    "SOLE_ITEM",
    "SOLE_LOCAL",
    "SOLE_OUTPUT",
    "SOLE_SLOT",
    "Memory",
    "is_alone",
    "is_unseen",
    "last_write",
    "loans",
    "may_have_changed",
    "memory_of",
    "note_external",
    "note_part",
    "note_write",
    "note_writes",
    "note_written",
    "owned",
    "share",
    "share_with",
    "unseen_gradients",
    "written_since",
]

reference = weakref.ref


# -- writes and sharing ------------------------------------------------------------------------------------------------


class Memory:
    """The record of one buffer's memory, which begins with the first write to it, or the first array that shares it.

    `written` is the time of the latest in-place change of unknown extent; `parts` has later ones of known extent, as
    (time, where). `filled`: recorded values have been written into it, and further ones may be. `taped`: an array that
    shares it may be recorded, and not a variable. `external`: others than minpy's arrays may read it, so that a write
    has to reach this very memory.
    """

    __slots__ = ("_arrays", "_limit", "external", "filled", "owner", "parts", "taped", "written")

    def __init__(self, owner: weakref.ref[numpy.ndarray]) -> None:
        self.owner = owner
        self.written = 0
        self.parts: list[tuple[int, _Extent]] = []
        self.filled = self.taped = self.external = False
        self._arrays: dict[int, weakref.ref[Array]] = {}
        self._limit = 16

    def add(self, array: Array) -> None:
        """Note that `array` shares the memory."""
        arrays = self._arrays
        arrays[id(array)] = reference(array)
        if array._node is not None and array._node.parents != ():
            self.taped = True
        if len(arrays) > self._limit:
            self._forget_dead()

    def _forget_dead(self) -> None:
        for key, array_reference in list(self._arrays.items()):
            if array_reference() is None:
                self._arrays.pop(key, None)
        self._limit = 2 * len(self._arrays) + 16

    def others(self, array: Array) -> list[Array]:
        """Return the arrays that share the memory with `array`."""
        if not self._arrays:
            return []
        arrays = [array_reference() for array_reference in list(self._arrays.values())]
        return [
            neighbour
            for neighbour in arrays
            if neighbour is not None and neighbour is not array and _owner(neighbour._data) is self.owner()
        ]


class _Extent:
    """Where the elements of an array lie; it does not keep their memory alive, and is used only while that is alive."""

    __slots__ = ("__array_interface__",)

    def __init__(self, data: numpy.ndarray) -> None:
        self.__array_interface__ = data.__array_interface__


_memories: dict[int, Memory] = {}
_MAX_PARTS = 64  # how many parts are recorded separately
_MAX_WORK = 1000  # what NumPy may spend on finding out whether two strided arrays have an element in common
_last_write = 0


def _owner(data: numpy.ndarray) -> numpy.ndarray:
    while isinstance(data.base, numpy.ndarray):
        data = data.base
    return data


def memory_of(data: numpy.ndarray) -> Memory:
    """Return the record of the memory behind `data`."""
    owner = data if data.base is None else _owner(data)
    key = id(owner)
    memory = _memories.get(key)
    if memory is None:
        # The callback is C, where no interrupt can be raised: Python would swallow it.
        # `setdefault`: threads that come at once get the same.
        memory = _memories.setdefault(key, Memory(weakref.ref(owner, partial(_memories.pop, key))))
    return memory


def share(array: Array, neighbour: Array) -> None:
    """Note that two arrays share their memory. Every view is noted: this is `Memory.add` of both, in fewer steps."""
    base = array._data.base
    memory = _memories.get(id(array._data if base is None else base))
    if memory is None:
        memory = memory_of(array._data)
    arrays = memory._arrays
    arrays[id(array)] = reference(array)
    arrays[id(neighbour)] = reference(neighbour)
    first, second = array._node, neighbour._node
    if (first is not None and first.parents != ()) or (second is not None and second.parents != ()):
        memory.taped = True
    if len(arrays) > memory._limit:
        memory._forget_dead()


def share_with(array: Array, values: Iterable[Any]) -> None:
    """Note with which of some values, `Array`s or not, an array shares its memory."""
    data = array._data
    owner = data if data.base is None else _owner(data)
    for candidate in values:
        if isinstance(candidate, Array):
            data = candidate._data
            if (data if data.base is None else _owner(data)) is owner:
                share(array, candidate)


def is_alone(array: Array) -> bool:
    """Tell whether the memory of an array is not known to be shared."""
    memory = _memories.get(id(_owner(array._data)))
    return memory is None or not (memory.external or memory.others(array))


def note_write(data: numpy.ndarray) -> Memory:
    """Log that the memory behind `data` has been changed in place, and return its record."""
    global _last_write
    memory = _memories.get(id(data if data.base is None else _owner(data)))
    if memory is None:
        memory = memory_of(data)
    _last_write = memory.written = now()
    return memory


def note_writes(arrays: Sequence[numpy.ndarray], places: Sequence[int]) -> None:
    """Log that the memory behind some of several arrays is changed in place: `note_write` of each, in fewer steps."""
    global _last_write
    _last_write = time = now()
    for place in places:
        data = arrays[place]
        memory = _memories.get(id(data if data.base is None else _owner(data)))
        if memory is None:
            memory = memory_of(data)
        memory.written = time


def note_written(memories: Iterable[Memory]) -> None:
    """Log that some memories, which the caller keeps alive, have been changed in place: several `note_write` in one."""
    global _last_write
    _last_write = time = now()
    for memory in memories:
        memory.written = time


def note_part(data: numpy.ndarray) -> None:
    """Log that the elements of `data`, a view, have been changed in place, and no others of its memory."""
    global _last_write
    memory = memory_of(data)
    _last_write = now()
    parts = memory.parts
    parts.append((_last_write, _Extent(data)))
    if len(parts) > _MAX_PARTS:
        memory.written = max(memory.written, parts[_MAX_PARTS // 2][0])
        del parts[: _MAX_PARTS // 2 + 1]


def note_external(data: numpy.ndarray) -> Memory:
    """Log that others than minpy's arrays may from now on read and write the memory behind `data`."""
    global _last_write
    memory = memory_of(data)
    memory.external = True
    _last_write = now()  # so that it does not look unchanged
    return memory


def last_write() -> int:
    """Return the time of the latest in-place change of any array; 0 if there was none."""
    return _last_write


def written_since(data: Any, time: int) -> bool:
    """Tell whether the memory behind `data` has been changed in place after `time`."""
    if not isinstance(data, numpy.ndarray):
        return False
    memory = _memories.get(id(_owner(data)))
    if memory is None:
        return False
    if memory.written > time:
        return True
    for written, extent in reversed(memory.parts):
        if written <= time:
            break
        if numpy.may_share_memory(numpy.asarray(extent), data, max_work=_MAX_WORK):  # type: ignore[arg-type]
            return True
    return False


def may_have_changed(data: Any, time: int) -> bool:
    """Tell whether the memory behind `data` has been changed in place after `time`, or may have been unseen."""
    memory = _memories.get(id(data if data.base is None else _owner(data)))
    return memory is not None and (memory.external or memory.written > time or written_since(data, time))


# -- reference counts --------------------------------------------------------------------------------------------------


def is_unseen(array: Array) -> bool:
    """Tell whether only the array itself refers to its buffer and its memory."""
    return sys.getrefcount(array._data) == SOLE_SLOT and array._data.base is None


def unseen_gradients(leaves: Sequence[Any], places: Iterable[int]) -> list[numpy.ndarray] | None:
    """Return the buffers of the gradients that a walk writes for leaves, if it may compute in all of them; else None.

    No buffer may be shared, so that two leaves, or one that is there twice, do not have the same. It is of its leaf's
    shape and dtype, in C's order. There are none for other nodes among `leaves`, nor for leaves whose gradients are
    added or not required. `places` are the positions among `leaves`.
    """
    buffers: list[numpy.ndarray] = []
    for place in places:
        leaf = leaves[place]
        if type(leaf) is not Leaf or leaf.request != "write":
            return None
        target = leaf.gradient
        if target is None:
            return None
        buffer = target._data
        if sys.getrefcount(buffer) != SOLE_HELD or buffer.base is not None or not buffer.flags.carray:
            return None
        if buffer.shape != leaf.shape or buffer.dtype is not leaf.dtype:
            return None
        buffers.append(buffer)
    return buffers


def owned(holder: Any, key: Any) -> numpy.ndarray:
    """Return the raw array `holder[key]`, copied if anybody else refers to it or to its memory."""
    data = holder[key]
    if sys.getrefcount(data) > SOLE_HELD or data.base is not None or not data.flags.writeable:
        data = data.copy()
    return data


def _sole_references() -> tuple[int, int, int, int, int]:
    """Measure what `sys.getrefcount` returns for an object that only we refer to.

    It is in a local; in the slot of an array; in a list and a local; in a list that is iterated over; or in a tuple of
    outputs whose items are arguments of a function. Where an interpreter counts otherwise, values are copied, with
    the same results.
    """

    def count(item: Any, index: int) -> int:
        return sys.getrefcount(item) + 0 * index

    held = [numpy.zeros(1)]
    data = held[0]
    holder = Array()
    holder._data = numpy.zeros(1)
    popped = {0: numpy.zeros(1)}
    local = popped.pop(0)
    for item in [Array()]:
        item_count = sys.getrefcount(item)
    outputs = (numpy.zeros(1), numpy.zeros(1))
    output_count = max([count(output, index) for index, output in enumerate(outputs)])
    return sys.getrefcount(local), sys.getrefcount(holder._data), sys.getrefcount(data), item_count, output_count


SOLE_LOCAL, SOLE_SLOT, SOLE_HELD, SOLE_ITEM, SOLE_OUTPUT = _sole_references()


# -- loans -------------------------------------------------------------------------------------------------------------


class _Loans(threading.local):
    # Buffers are lent to this code, called from this frame, and only where it asks itself, not to functions it calls.
    # The third says whether arrays may lie in memory in any order: sums of others than a copy's have other last bits.
    current: tuple[CodeType, FrameType, bool] | None = None


loans = _Loans()
