"""Values as a pickle and the bytes of their arrays beside it, which are copied once, and nowhere unpacked."""

from __future__ import annotations

import io
import pickle
from collections.abc import Sequence
from multiprocessing.reduction import ForkingPickler
from typing import Any

import numpy

__all__ = ["ALIGNMENT", "TaskPickler", "TaskUnpickler", "layout", "packed", "packed_whole"]

ALIGNMENT = 64  # bytes: what vector instructions like


class _Packer(ForkingPickler):
    """Pickles what workers reply; arrays of numbers go beside the pickle, in one piece each."""

    def reducer_override(self, obj: Any) -> Any:
        if type(obj) is numpy.ndarray and not obj.flags.forc and not obj.dtype.hasobject:
            return obj.copy().__reduce_ex__(5)  # what has gaps would go through the pickle
        return NotImplemented


def packed(value: Any) -> tuple[bytes, list[memoryview]]:
    """Return a pickle, and the buffers that it is loaded with."""
    file = io.BytesIO()
    buffers: list[pickle.PickleBuffer] = []
    _Packer(file, 5, True, buffers.append).dump(value)
    return file.getvalue(), [buffer.raw() for buffer in buffers]


def packed_whole(pickled: bytes, buffers: Sequence[memoryview]) -> bytes:
    """Return both in one: what goes through a pipe."""
    return pickle.dumps((pickled, [bytearray(buffer) for buffer in buffers]), 5)


def layout(buffers: Sequence[memoryview]) -> tuple[list[tuple[int, int]], int]:
    """Return where each buffer begins and ends when they lie one after the other, and where the last one ends."""
    spans, end = [], 0
    for buffer in buffers:
        start = -(-end // ALIGNMENT) * ALIGNMENT
        end = start + buffer.nbytes
        spans.append((start, end))
    return spans, end


class TaskPickler(ForkingPickler):
    """Pickles what workers are given to do; what they were started with goes by name."""

    def __init__(self, file: Any, known_objects: dict[int, str]) -> None:
        super().__init__(file, 5)
        self._known_objects = known_objects

    def persistent_id(self, obj: Any) -> str | None:
        """Return the name of what workers know."""
        return self._known_objects.get(id(obj))


class TaskUnpickler(pickle.Unpickler):
    """Loads what `TaskPickler` wrote."""

    def __init__(self, file: Any, known_objects: dict[str, Any]) -> None:
        super().__init__(file)
        self._known_objects = known_objects

    def persistent_load(self, pid: Any) -> Any:
        """Return what a name stands for."""
        return self._known_objects[pid]
