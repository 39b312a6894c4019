"""Writes into arrays, and what they mean for the tape.

A value always goes into the memory that is written to, so that every array that shares it sees the value. If the write
is recorded, each of these arrays gets a new place on the tape: a node that overwrites some of the old elements with
new ones. If it is not, they keep their places, and `backward` warns where a gradient passes through one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy

from minpy.core.array import Array, Shaped, now
from minpy.core.buffers import Memory, is_unseen, memory_of, note_part, note_write, share
from minpy.core.dispatch import read_only_error
from minpy.core.errors import ArgumentError, MutationError, ShapeError, describe
from minpy.core.nodes import Leaf, record_node
from minpy.core.state import state
from minpy.ops.shared_docstrings import with_shared_texts
from minpy.ops.tensor import indexing

__all__ = [
    "Region",
    "receive",
    "record_store",
    "require_writable",
    "slice_assign",
    "slice_assign_scalar",
    "unrecorded_write",
    "view_of",
]

numpy_array = numpy.ndarray
_ALL = slice(None)


def view_of(array: Any, data: numpy.ndarray, operator: Any, attributes: dict[str, Any]) -> Any:
    """Return the array around `data`, a view of the array's memory; `operator`, recorded, makes it from the array."""
    parent = array._node
    if parent is None or not state.recording:
        view = array._like(data)
    else:
        node = record_node(operator, (Shaped(array._data.shape, array._data.dtype),), None, attributes, (parent,))
        node.shape, node.dtype = data.shape, data.dtype
        view = array._like(data, node)
    share(array, view)
    return view


class Region:
    """The elements `array[key]`, and which elements of other arrays they are."""

    def __init__(self, array: Any, key: Any) -> None:
        self.data = data = array._data
        self.key = key
        self.whole = key is Ellipsis or (type(key) is slice and key == _ALL)
        self.basic = self.whole or indexing.is_basic(key)
        self._offsets: Any = None
        if self.basic:
            self.view = data if self.whole else _view(data, key)
            self.shape = self.view.shape
        else:
            # Of several values for one element the last stays, as NumPy writes them one after another.
            positions = numpy.arange(data.size).reshape(data.shape)[key]
            self.view = data
            self.shape = positions.shape
            flat = positions.reshape(-1)[::-1]
            self.into, last = numpy.unique(flat, return_index=True)
            self.of = flat.size - 1 - last

    def covers(self, data: numpy.ndarray, into: Any) -> bool:
        """Tell whether the positions `into` are all of `data`."""
        return (into.stop - into.start if type(into) is slice else into.size) == data.size

    def within(self, data: numpy.ndarray) -> tuple[Any, Any] | None:
        """Return (positions in `data`, flat; positions in the region, flat) of what both have; None for nothing."""
        if not self.basic and (data is self.data or not self.into.size):
            return (self.into, self.of) if self.into.size else None
        if not numpy.may_share_memory(self.view, data):
            return None
        if self.basic and self.view.flags.c_contiguous and data.flags.c_contiguous:
            shift = (_address(self.view) - _address(data)) // data.itemsize
            start, stop = max(shift, 0), min(shift + self.view.size, data.size)
            return (slice(start, stop), slice(start - shift, stop - shift)) if start < stop else None
        return self._search(data)

    def _search(self, data: numpy.ndarray) -> tuple[numpy.ndarray, numpy.ndarray] | None:
        """Answer `within` by looking up every address of `data` among the region's."""
        if self._offsets is None:
            addresses = _addresses(self.view)
            of = numpy.arange(addresses.size)
            if not self.basic:
                addresses, of = addresses[self.into], self.of
            order = numpy.argsort(addresses)
            self._offsets = addresses[order], of[order]
        offsets, of = self._offsets
        searched = _addresses(data)
        places = numpy.minimum(numpy.searchsorted(offsets, searched), offsets.size - 1)
        into = numpy.flatnonzero(offsets[places] == searched)
        return (into, of[places[into]]) if into.size else None


def _view(data: numpy.ndarray, key: Any) -> numpy.ndarray:
    parts = key if type(key) is tuple else (key,)
    return data[parts if any(part is ... for part in parts) else (*parts, ...)]  # with an Ellipsis, never a scalar


def _address(data: numpy.ndarray) -> int:
    address: int = data.__array_interface__["data"][0]
    return address


def _addresses(data: numpy.ndarray) -> numpy.ndarray:
    """Return the address of every element."""
    addresses = numpy.asarray(_address(data))
    for length, stride in zip(data.shape, data.strides, strict=True):
        addresses = addresses[..., None] + numpy.arange(length) * stride
    return addresses.reshape(-1)


def is_freed(node: Any) -> bool:
    """Tell whether a backward has freed what led to a node: what stands there is a constant to what is written now."""
    return node.parents is None


# -- recorded writes ---------------------------------------------------------------------------------------------------


def record_store(array: Any, key: Any, value: Any, raw: Any, change: str) -> None:
    """Do `array[key] = value` while recording, where the array, the value or both are recorded."""
    unseen = is_unseen(array)
    region = Region(array, key)
    memory = memory_of(array._data)
    sharing = _others(array, memory, region)
    _refuse(array, memory, [sharer for sharer, _ in sharing], change)
    if array._data.dtype.kind not in "fc" or 0 in region.shape:
        array._data[key] = raw
        note_write(array._data)
        return
    before = array._data
    if unseen and not memory.external:
        before[key] = raw
    elif _alone(array, memory):
        data = before.copy()
        data[key] = raw
        array._data = data
        memory = memory_of(data)
    else:
        before[key] = raw
        note_part(region.view)
    memory.filled = memory.taped = True
    value_node = value._node if isinstance(value, Array) else None
    value_shape = value._data.shape if isinstance(value, Array) else ()
    for sharer, positions in sharing:
        sharer._node = _overwritten(sharer, region, positions, value_node, value_shape)
    if region.basic:
        parent = None if region.view.size == before.size else _live(array._node)
        if parent is None and value_node is None:
            array._node = None
            return
        arguments = (None, Shaped(value_shape, before.dtype))
        node = record_node(indexing.assign, arguments, None, {"key": key}, (parent, value_node))
        node.shape, node.dtype = before.shape, before.dtype
        array._node = node
    else:
        positions = region.within(before)
        if positions is not None:
            array._node = _overwritten(array, region, positions, value_node, value_shape)


def receive(array: Any, data: numpy.ndarray, node: Any, change: str) -> None:
    """Let `data`, computed while recording, replace the values of an array, which stands at `node` from then on."""
    region = Region(array, ...)
    memory = memory_of(array._data)
    sharing = _others(array, memory, region)
    _refuse(array, memory, [sharer for sharer, _ in sharing], change)
    before = array._data
    if _alone(array, memory) and data.flags.writeable:
        array._data = data.astype(before.dtype, copy=False)
        memory = memory_of(array._data)
    else:
        numpy.copyto(before, data, casting="unsafe")
        note_part(before)
    if before.dtype.kind not in "fc":
        return
    memory.filled = memory.taped = True
    array._node = node
    for sharer, positions in sharing:
        sharer._node = _overwritten(sharer, region, positions, node, data.shape)


def require_writable(array: Any, change: str) -> None:
    """Raise if the whole array may not be changed while recording."""
    memory = memory_of(array._data)
    _refuse(array, memory, [sharer for sharer, _ in _others(array, memory, Region(array, ...))], change)


def _refuse(array: Any, memory: Memory, sharing: list[Array], change: str) -> None:
    """Raise if a recorded write into an array would change a variable, or what else may not change on the tape."""
    if not array._data.flags.writeable:
        raise array._in_place_error(change) if array._records_changes else read_only_error(change)
    for sharer in (array, *sharing):
        node = sharer._node
        if node is None or is_freed(node):
            continue
        if type(node) is Leaf or not (memory.filled or array._records_changes):
            if sharer is array:
                raise array._in_place_error(change)
            kind = "a variable (attach_grad)" if type(node) is Leaf else "a recorded array"
            raise MutationError(
                f"in-place change ({change}) of memory that {kind} ({describe(sharer._data)}) shares, inside "
                f"autograd.record(), through a view or a detached array ({describe(array._data)}): the gradient would "
                "be of a value that no longer exists. Write into a copy (v = x[0:2].copy(), or x.detach().copy())."
            )


def _others(array: Any, memory: Memory, region: Region) -> list[tuple[Any, Any]]:
    """Return the other arrays that have elements of a region, with their positions."""
    sharing = []
    for sharer in memory.others(array):
        positions = region.within(sharer._data)
        if positions is not None:
            sharing.append((sharer, positions))
    return sharing


def _alone(array: Any, memory: Memory) -> bool:
    """Tell whether nobody but nodes can look at an array's memory: then they keep it, and the array gets another."""
    return array._data.base is None and not memory.external and not memory.others(array)


def _live(node: Any) -> Any:
    return None if node is None or is_freed(node) else node


def _overwritten(array: Any, region: Region, positions: Any, value: Any, value_shape: tuple[int, ...]) -> Any:
    """Return the node of an array some of whose elements were overwritten with those of a value at node `value`."""
    data = array._data
    into, of = positions
    parent = None if region.covers(data, into) else _live(array._node)
    if parent is None and value is None:
        return None
    attributes = {"into": into, "of": of, "shape": region.shape}
    node = record_node(indexing.overwrite, (None, Shaped(value_shape, data.dtype)), None, attributes, (parent, value))
    node.shape, node.dtype = data.shape, data.dtype
    return node


# -- writes that are not recorded --------------------------------------------------------------------------------------


def unrecorded_write(array: Any, memory: Memory, key: Any, replaces: bool) -> None:
    """Note on the tape that `array[key]` was changed, neither the array nor the new value being recorded.

    Parameters
    ----------
    array : Array
    memory : Memory
        The array's.
    key : index
        What was written.
    replaces : bool
        Whether the new values do not depend on the old ones.
    """
    region: Region | None = None
    for sharer in _with_places(array, memory):
        if region is None:
            region = Region(array, key)
        positions = region.within(sharer._data)
        if positions is None:
            continue
        node = sharer._node
        if is_freed(node):
            sharer._node = None
        elif state.recording and sharer is not array and (memory.filled or array._records_changes):
            sharer._node = _overwritten(sharer, region, positions, None, region.shape)
        elif replaces and sharer is array and region.covers(sharer._data, positions[0]):
            sharer._node = None
        else:
            node.changed = now()


def _with_places(array: Any, memory: Memory) -> Iterator[Any]:
    """Return which of the arrays on a memory stand on the tape, but for variables."""
    for sharer in (array, *memory.others(array)):
        node = sharer._node
        if node is not None and type(node) is not Leaf:
            yield sharer


@with_shared_texts
def slice_assign(
    self: Any, rhs: Any, begin: Sequence[Any], end: Sequence[Any], step: Sequence[Any] | None = None
) -> Any:
    """Write an array into a part of this one, `x[begin:end:step] = rhs`, and return this one.

    Parameters
    ----------
    rhs : NDArray
        Of the part's shape.
    begin, end, step : tuple of int or None
        One for each axis, or for the first ones; without steps they are 1.

    {returns_array}
        This array.

    {raises_shape_error}
        If `rhs` does not have the part's shape.
    ArgumentError
        If the tuples have different lengths, or more than there are axes.

    {examples}
    >>> nd.zeros((2, 3)).slice_assign(nd.ones((2, 1)), (None, 1), (None, 2), (None, None)).asnumpy().tolist()
    [[0.0, 1.0, 0.0], [0.0, 1.0, 0.0]]
    """
    key = _part("slice_assign", self, begin, end, step)
    expected = self._data[key].shape
    if tuple(rhs.shape) != expected:
        raise ShapeError(
            f"slice_assign: rhs has shape {tuple(rhs.shape)}; the part has {expected}. They must be equal."
        )
    self[key] = rhs
    return self


@with_shared_texts
def slice_assign_scalar(
    self: Any, value: float, begin: Sequence[Any], end: Sequence[Any], step: Sequence[Any] | None = None
) -> Any:
    """Write a number into a part of the array, `x[begin:end:step] = value`, and return the array.

    Parameters
    ----------
    value : number
    begin, end, step : tuple of int or None
        One for each axis, or for the first ones; without steps they are 1.

    {returns_array}
        This array.

    {raises_argument_error}
        If the tuples have different lengths, or more than there are axes.

    {examples}
    >>> nd.zeros((2, 2)).slice_assign_scalar(7, (0,), (1,)).asnumpy().tolist()
    [[7.0, 7.0], [0.0, 0.0]]
    """
    self[_part("slice_assign_scalar", self, begin, end, step)] = value
    return self


def _part(method: str, array: Any, begin: Sequence[Any], end: Sequence[Any], step: Sequence[Any] | None) -> Any:
    steps = (None,) * len(begin) if step is None else step
    if not len(begin) == len(end) == len(steps) <= array.ndim:
        raise ArgumentError(
            f"{method}: begin, end and step are {tuple(begin)}, {tuple(end)} and {step}; expected as many numbers (or "
            f"None) in each, one for an axis of {array.ndim}."
        )
    return tuple(map(slice, begin, end, steps))
