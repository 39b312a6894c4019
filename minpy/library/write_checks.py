"""Calls under watch: memory that a library writes and should not, and memory that it should write and does not.

A watched call computes on copies that have room behind them, so that what runs over an end hits nothing of others.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy

__all__ = ["WATCH", "Watched", "watching"]

_FILL = 0xA5
_WIDEST = 8  # bytes of an element, of any dtype


class _Watch(threading.local):
    depth = 0


WATCH = _Watch()


@contextmanager
def watching() -> Iterator[None]:
    """Watch all calls of this thread that are made inside."""
    WATCH.depth += 1
    try:
        yield
    finally:
        WATCH.depth -= 1


class Watched:
    """The arrays of one call, copied."""

    def __init__(self, inputs: Sequence[numpy.ndarray], outputs: Sequence[numpy.ndarray]) -> None:
        self._meant = [*inputs], [*outputs]
        self.inputs, self._behind_inputs = _roomy(inputs)
        self.outputs, self._behind_outputs = _roomy(outputs)
        for copy, array in zip(self.inputs, inputs, strict=True):
            copy[...] = array

    def hand_back(self, mutated: Sequence[int]) -> None:
        """Write the outputs, and the inputs at these positions, to the arrays that were meant."""
        inputs, outputs = self._meant
        for meant, copy in zip(outputs, self.outputs, strict=True):
            meant[...] = copy
        for index in mutated:
            inputs[index][...] = self.inputs[index]

    def changed(self, mutated: Sequence[int]) -> int | None:
        """Return the position of an input that was written to, and is not one of these."""
        for index, (meant, copy) in enumerate(zip(self._meant[0], self.inputs, strict=True)):
            if index not in mutated and numpy.asarray(meant, copy.dtype).tobytes() != copy.tobytes():
                return index
        return None

    def overrun(self) -> tuple[bool, int] | None:
        """Return whether it is an input, and the position, of an array behind which something was written."""
        for is_input, rooms in ((True, self._behind_inputs), (False, self._behind_outputs)):
            for index, room in enumerate(rooms):
                if (room != _FILL).any():
                    return is_input, index
        return None

    def unwritten(self) -> tuple[int, tuple[int, ...]] | None:
        """Return the position of an output, and the index of an element of it, that was left as it was."""
        for index, output in enumerate(self.outputs):
            if output.itemsize > 1:  # a byte may well be what it was
                left = (output.reshape(-1).view(numpy.uint8).reshape(-1, output.itemsize) == _FILL).all(axis=1)
                if left.any():
                    place = numpy.unravel_index(int(left.argmax()), output.shape)
                    return index, tuple(map(int, place))
        return None


def _roomy(arrays: Sequence[numpy.ndarray]) -> tuple[list[numpy.ndarray], list[numpy.ndarray]]:
    """Return arrays of the same kinds, and the memory behind each: as much as elements of any dtype would take."""
    copies, behind = [], []
    for array in arrays:
        room = 64 + array.size * (_WIDEST - array.itemsize)
        memory = numpy.full(-(-(array.nbytes + room) // _WIDEST), 0, numpy.uint64).view(numpy.uint8)
        memory[:] = _FILL
        copies.append(memory[: array.nbytes].view(array.dtype.newbyteorder("=")).reshape(array.shape))
        behind.append(memory[array.nbytes :])
    return copies, behind
