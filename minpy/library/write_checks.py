"""Checks of native calls: memory that a library writes and should not, and memory that it should write and does not.

A watched call computes on copies with padding behind them, so that a write beyond an end damages no other memory.
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
        self._originals = [*inputs], [*outputs]
        self.inputs, self._input_padding = _padded_copies(inputs)
        self.outputs, self._output_padding = _padded_copies(outputs)
        for copy, array in zip(self.inputs, inputs, strict=True):
            copy[...] = array

    def copy_back(self, mutated: Sequence[int]) -> None:
        """Copy the outputs, and the inputs at these positions, back to the original arrays."""
        inputs, outputs = self._originals
        for original, copy in zip(outputs, self.outputs, strict=True):
            original[...] = copy
        for index in mutated:
            inputs[index][...] = self.inputs[index]

    def changed(self, mutated: Sequence[int]) -> int | None:
        """Return the position of an input that was written to, and is not one of these."""
        for index, (original, copy) in enumerate(zip(self._originals[0], self.inputs, strict=True)):
            if index not in mutated and numpy.asarray(original, copy.dtype).tobytes() != copy.tobytes():
                return index
        return None

    def overrun(self) -> tuple[bool, int] | None:
        """Return whether it is an input, and the position, of an array behind which something was written."""
        for is_input, paddings in ((True, self._input_padding), (False, self._output_padding)):
            for index, padding in enumerate(paddings):
                if (padding != _FILL).any():
                    return is_input, index
        return None

    def unwritten(self) -> tuple[int, tuple[int, ...]] | None:
        """Return the position of an output, and the index of an element of it, that was left as it was."""
        for index, output in enumerate(self.outputs):
            if output.itemsize > 1:  # a single byte may well equal the fill
                unchanged = (output.reshape(-1).view(numpy.uint8).reshape(-1, output.itemsize) == _FILL).all(axis=1)
                if unchanged.any():
                    element = numpy.unravel_index(int(unchanged.argmax()), output.shape)
                    return index, tuple(map(int, element))
        return None


def _padded_copies(arrays: Sequence[numpy.ndarray]) -> tuple[list[numpy.ndarray], list[numpy.ndarray]]:
    """Return arrays of the same shapes and dtypes, and the padding behind each: enough for elements of any dtype."""
    copies, paddings_of_copies = [], []
    for array in arrays:
        padding = 64 + array.size * (_WIDEST - array.itemsize)
        memory = numpy.full(-(-(array.nbytes + padding) // _WIDEST), 0, numpy.uint64).view(numpy.uint8)
        memory[:] = _FILL
        copies.append(memory[: array.nbytes].view(array.dtype.newbyteorder("=")).reshape(array.shape))
        paddings_of_copies.append(memory[array.nbytes :])
    return copies, paddings_of_copies
