"""Blocks of values computed from parameters: filled once, and again when a parameter is another array or has changed.

A block belongs to the arrays of which it was made, and is read by any number of calls at a time. It is only filled
again while nobody reads it. The log of writes tells whether an array has changed; memory that others than arrays of
ours may write to is never taken for unchanged.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Sequence
from operator import is_
from typing import Any

import numpy

from minpy.backends.memory_planner import new_block
from minpy.core.array import now
from minpy.core.buffers import last_write, may_have_changed
from minpy.graph.locking import lock

__all__ = ["MOST_BLOCKS", "Preparation", "preparing"]

# So many sets of parameters have blocks of their own, such as those of several devices.
MOST_BLOCKS = 4


class _PreparedBlock:
    """A block, with weak references to the arrays that it was computed from, and the time when it was.

    There are none while they are not known, or cannot be told from what they may become.
    """

    __slots__ = ("_checked", "_references", "_time", "block")

    def __init__(self, size: int) -> None:
        self.block = new_block(size)
        self._references: list[weakref.ref[numpy.ndarray]] | None = None

    def note(self, arrays: Sequence[numpy.ndarray], time: int) -> None:
        """Note the arrays that it was computed from."""
        self._time = self._checked = time  # what has been written until then, were other arrays
        self._references = [weakref.ref(array) for array in arrays]

    def invalidate(self) -> None:
        """Make it valid for no arrays, until it is filled again."""
        self._references = None

    def is_valid_for(self, arrays: Sequence[numpy.ndarray | None]) -> bool:
        """Tell whether it was computed from these arrays with the values that they have now."""
        references = self._references
        if references is None or not all(map(is_, [reference() for reference in references], arrays)):
            return False
        latest = last_write()
        if latest > self._checked:
            time = self._time
            if any(may_have_changed(array, time) for array in arrays):
                return False
            self._checked = latest
        return True

    def is_stale(self) -> bool:
        """Tell whether it will never be valid again, unless it is filled again."""
        arrays = [reference() for reference in self._references or ()]
        return any(array is None for array in arrays) or not self.is_valid_for(arrays)


class Preparation:
    """The blocks of one program, each of `size` bytes, made of the arrays of a call at some positions."""

    def __init__(self, positions: Sequence[int], size: int) -> None:
        self.positions = tuple(positions)
        self.size = size
        self._blocks: list[_PreparedBlock] = []

    def __len__(self) -> int:
        return len(self._blocks)

    def block(self, arrays: Sequence[numpy.ndarray], prepare: Callable[..., Any]) -> numpy.ndarray:
        """Return the block for the arrays of a call, filled by `prepare(arrays, block)` if need be."""
        sources = [arrays[position] for position in self.positions]
        block = self._valid_block(sources)
        if block is not None:
            return block
        with lock():
            prepared_block = self._free_block()
        time = now()
        prepare(arrays, prepared_block.block)
        block = prepared_block.block
        if all(map(_is_watched, sources)):
            prepared_block.note(sources, time)
        with lock():  # another thread may have made one of the same arrays
            self._blocks = [*(block for block in self._blocks if not block.is_valid_for(sources)), prepared_block]
        return block

    def _valid_block(self, sources: Sequence[numpy.ndarray]) -> numpy.ndarray | None:
        """Return the block that is valid for some arrays, if there is one."""
        for prepared_block in self._blocks:
            block = prepared_block.block  # referred to before it is checked: from here on it is not filled again
            if prepared_block.is_valid_for(sources):
                return block
        return None

    def _free_block(self) -> _PreparedBlock:
        """Return an unused block: a stale one, the oldest if there are too many, or a new one."""
        spent = next((held for held in self._blocks if held.is_stale()), None)
        if spent is None and len(self._blocks) >= MOST_BLOCKS:
            spent = self._blocks[0]
        if spent is None:
            return _PreparedBlock(self.size)
        self._blocks = [held for held in self._blocks if held is not spent]
        spent.invalidate()  # before readers are counted: whoever begins to read now finds that it is not valid
        if sys.getrefcount(spent.block) > _SOLE:
            return _PreparedBlock(self.size)
        return spent


def preparing(preparation: Preparation, prepare: Callable[..., Any], forward: Callable[..., Any]) -> Callable[..., Any]:
    """Return a forward part that is given the block of what was made of parameters.

    `prepare(arrays, block)` fills a block; `forward(arrays, block)` reads it, and computes all outputs in new arrays.
    """

    def prepared(arrays: Sequence[numpy.ndarray], out: Sequence[Any] = ()) -> Any:
        return forward(arrays, preparation.block(arrays, prepare))

    return prepared


def _is_watched(array: numpy.ndarray) -> bool:
    """Tell whether all writes to the memory of an array are logged: only arrays of ours share it."""
    owner = array
    while isinstance(owner.base, numpy.ndarray):
        owner = owner.base
    return owner.flags.owndata and not may_have_changed(array, now())


def _sole_reference() -> int:
    """Measure what `sys.getrefcount` says of a block that only its slot refers to."""
    prepared_block = _PreparedBlock(1)
    return sys.getrefcount(prepared_block.block)


_SOLE = _sole_reference()
