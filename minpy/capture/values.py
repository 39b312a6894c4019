"""What stands in an array's place, as data: a value of a graph, shape and dtype, and whose memory it may lie in."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy

from minpy.capture.facts import Fact
from minpy.capture.recorder import Recorder
from minpy.graph.ir import Value

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Memory", "Traced"]


class Memory:
    """What several stand-ins may be views of.

    `own` says whether the traced function made it itself, so that it may be written to.
    """

    __slots__ = ("own", "version")

    def __init__(self, own: bool) -> None:
        self.own = own
        self.version = 0


class Traced:
    """A value of a graph in the place of an array: what the modules know of a `ArrayProxy`.

    Attributes
    ----------
    scalar : bool
        Whether NumPy's answer would be a scalar: in-place operators then make a new one.
    known : numpy.ndarray, numpy.generic or None
        The values, if they depend on no input.
    memory : Memory
        Shared by an array and all that may be views of it.
    """

    if TYPE_CHECKING:  # what `ArrayProxy` has
        __getitem__: Any
        __index__: Any
        astype: Any
        copy: Any
        reshape: Any

    __slots__ = ("_value", "_version", "dtype", "is_view", "known", "memory", "recorder", "scalar", "shape")

    def __init__(
        self, recorder: Recorder, value: Value, fact: Fact, memory: Memory | None = None, known: Any = None
    ) -> None:
        self.recorder = recorder
        self._value = value
        self.shape, self.dtype, self.scalar = fact
        self.is_view = memory is not None
        self.memory = Memory(True) if memory is None else memory
        self._version = self.memory.version
        self.known = known

    @classmethod
    def given(cls, recorder: Recorder, value: Value, shape: Sequence[int], dtype: Any) -> Self:
        """Return what stands for an array that comes from outside: it may not be written to."""
        return cls(recorder, value, Fact(tuple(shape), numpy.dtype(dtype), False), Memory(False))

    @property
    def value(self) -> Value:
        """The value of the graph.

        Raises
        ------
        CaptureRefused
            If it is a view of what has been changed since the view was taken.
        """
        self.require_current()
        return self._value

    def require_current(self) -> None:
        """Refuse to read it, if it is a view of what has been changed since the view was taken."""
        if self._version != self.memory.version:
            raise self.recorder.refuse("it reads a view of an array that it has changed since")

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        """The bytes of an element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """The bytes of all elements."""
        return self.size * self.dtype.itemsize

    @property
    def fact(self) -> Fact:
        """Its shape and dtype, and whether it is a scalar."""
        return Fact(self.shape, self.dtype, self.scalar)

    def change(self, value: Value, known: Any) -> None:
        """Have other values from now on; views of it that are there already are out of date."""
        self._value = value
        self.known = known
        self.memory.version += 1
        self._version = self.memory.version
