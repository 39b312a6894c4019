"""`Array`, what the tape knows of an array: a NumPy buffer and the node that produced it.

The front ends (`minpy.nd.NDArray`, `minpy.numpy.ndarray`) derive from it and give it methods. The module also keeps
what is known of memory: when it was last changed in place, by which `backward` notices that a value it saved has been
overwritten, and which arrays share it, so that a recorded write through one is seen by all.
"""

from __future__ import annotations

import itertools
import math
import weakref
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy

from minpy.core.extensions import extension
from minpy.late import LateTable

__all__ = [
    "FRONT_ENDS",
    "PLAIN_CLASSES",
    "Array",
    "Memory",
    "Shaped",
    "as_raw",
    "create",
    "last_write",
    "may_have_changed",
    "memory_of",
    "new_array",
    "note_external",
    "note_part",
    "note_write",
    "note_writes",
    "note_written",
    "now",
    "raw_of",
    "register_front_end",
    "share",
    "share_with",
    "written_since",
]

# One clock orders everything that happens to arrays: nodes take their sequence number from it, writes their time.
now = itertools.count(1).__next__

create: Any = object.__new__
reference = weakref.ref


class Array:
    """A NumPy buffer with a place on the tape.

    `_data` is the `numpy.ndarray`; `_node` is None, or the tape's node whose value this is.
    """

    __slots__ = ("__weakref__", "_data", "_node")

    _data: numpy.ndarray
    _node: Any

    # Where classes meet in one call, the result is of the class with the highest precedence.
    _precedence: ClassVar[int] = 0
    # Pandas' tables and columns, whose own is up to 4000, leave arithmetic with arrays to these.
    __pandas_priority__: ClassVar[int] = 5000
    # Whether elementwise operators on integers give integers (MXNet's semantics) or may give floats (NumPy's).
    _keeps_dtype: ClassVar[bool] = False

    if TYPE_CHECKING:  # what the front ends define
        _receive: Any
        _changed: Any
        as_np_ndarray: Any
        astype: Any
        context: Any
        dtype: Any
        ndim: Any
        shape: Any
        size: Any

    def _like(self, data: numpy.ndarray, node: Any = None) -> Any:
        """Return a new array of this one's class and context around `data`."""
        array = create(type(self))
        array._data = data
        array._node = node
        return array


class Shaped:
    """The shape and dtype of an array, in its place where the values are not needed."""

    __slots__ = ("dtype", "shape")

    def __init__(self, shape: tuple[int, ...], dtype: numpy.dtype) -> None:
        self.shape = shape
        self.dtype = dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)


def new_array(cls: type, data: numpy.ndarray, node: Any = None) -> Any:
    """Return an array of class `cls` around `data`, without copying."""
    array = create(cls)
    array._data = data
    array._node = node
    return array


def raw_of(value: Any) -> Any:
    """Return the buffer of an `Array`; any other value as it is."""
    return value._data if isinstance(value, Array) else value


def as_raw(value: Any) -> numpy.ndarray:
    """Return the buffer of an `Array`, and anything else as a NumPy array."""
    return value._data if isinstance(value, Array) else numpy.asarray(value)


# Classes whose arrays are nothing but a buffer and a node (no context to carry), so that hot paths may make them.
PLAIN_CLASSES: set[type] = set()

# 'numpy' and 'mxnet': the class that a function of that kind is given when its inputs are recorded.
FRONT_ENDS: LateTable[type[Array]] = LateTable(["mxnet", "numpy"], lambda kind: extension(f"array of {kind}"))


def register_front_end(kind: str, cls: type[Array]) -> None:
    """Make `cls` the array class of functions written for `kind` ('numpy' or 'mxnet')."""
    FRONT_ENDS[kind] = cls
    PLAIN_CLASSES.add(cls)


class Memory:
    """What is known of the memory of one buffer: kept from the first write to it, or the first array that shares it.

    `written` is the time of the latest in-place change of unknown extent; `parts` has later ones of known extent, as
    (time, where). `filled`: recorded values have been written into it, and further ones may be. `taped`: an array that
    shares it may stand on the tape, and be no variable. `external`: others than arrays of ours may look at it, so that
    a write has to reach this very memory.
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
        for key, known in list(self._arrays.items()):
            if known() is None:
                self._arrays.pop(key, None)
        self._limit = 2 * len(self._arrays) + 16

    def others(self, array: Array) -> list[Array]:
        """Return the arrays that share the memory with `array`."""
        if not self._arrays:
            return []
        found = [known() for known in list(self._arrays.values())]
        return [
            other for other in found if other is not None and other is not array and _owner(other._data) is self.owner()
        ]


class _Extent:
    """Where the elements of an array lie; it does not keep their memory alive, and is looked at only while that is."""

    __slots__ = ("__array_interface__",)

    def __init__(self, data: numpy.ndarray) -> None:
        self.__array_interface__ = data.__array_interface__


_memories: dict[int, Memory] = {}
_PARTS = 64  # how many parts are told apart
_WORK = 1000  # what NumPy may spend on finding out whether two strided arrays have an element in common
_last_write = 0


def _owner(data: numpy.ndarray) -> numpy.ndarray:
    while isinstance(data.base, numpy.ndarray):
        data = data.base
    return data


def memory_of(data: numpy.ndarray) -> Memory:
    """Return what is known of the memory behind `data`."""
    owner = data if data.base is None else _owner(data)
    key = id(owner)
    memory = _memories.get(key)
    if memory is None:
        # The callback is C, where no interrupt can be raised: Python would swallow it.
        # One for all threads that come at once.
        memory = _memories.setdefault(key, Memory(weakref.ref(owner, partial(_memories.pop, key))))
    return memory


def share(array: Array, other: Array) -> None:
    """Note that two arrays share their memory. Every view is noted: this is `Memory.add` of both, in fewer steps."""
    base = array._data.base
    memory = _memories.get(id(array._data if base is None else base))
    if memory is None:
        memory = memory_of(array._data)
    arrays = memory._arrays
    arrays[id(array)] = reference(array)
    arrays[id(other)] = reference(other)
    first, second = array._node, other._node
    if (first is not None and first.parents != ()) or (second is not None and second.parents != ()):
        memory.taped = True
    if len(arrays) > memory._limit:
        memory._forget_dead()


def share_with(array: Array, others: Iterable[Any]) -> None:
    """Note with which of some values, `Array`s or not, an array shares its memory."""
    data = array._data
    owner = data if data.base is None else _owner(data)
    for other in others:
        if isinstance(other, Array):
            data = other._data
            if (data if data.base is None else _owner(data)) is owner:
                share(array, other)


def is_alone(array: Array) -> bool:
    """Tell whether nobody else is known to look at the memory of an array."""
    memory = _memories.get(id(_owner(array._data)))
    return memory is None or not (memory.external or memory.others(array))


def note_write(data: numpy.ndarray) -> Memory:
    """Log that the memory behind `data` has been changed in place, and return what is known of it."""
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
    """Log that some memories, which somebody keeps alive, have been changed in place: `note_write`, without looking."""
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
    if len(parts) > _PARTS:
        memory.written = max(memory.written, parts[_PARTS // 2][0])
        del parts[: _PARTS // 2 + 1]


def note_external(data: numpy.ndarray) -> Memory:
    """Log that others than arrays of ours can look at the memory behind `data` from now on, and may write there."""
    global _last_write
    memory = memory_of(data)
    memory.external = True
    _last_write = now()  # so that nobody thinks that nothing has happened
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
        if numpy.may_share_memory(numpy.asarray(extent), data, max_work=_WORK):  # type: ignore[arg-type]
            return True
    return False


def may_have_changed(data: Any, time: int) -> bool:
    """Tell whether the memory behind `data` has been changed in place after `time`, or may have been unseen."""
    memory = _memories.get(id(data if data.base is None else _owner(data)))
    return memory is not None and (memory.external or memory.written > time or written_since(data, time))
