"""`Buffer`: an output that a custom operator will fill, allocated when it is first read.

Most operators assign a result that they have just computed. Its memory becomes the output's; a buffer allocated
beforehand would only push the result out of the cache.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy

from minpy.core.array import Array, new_array
from minpy.core.buffers import loans, written_since
from minpy.core.errors import ArgumentError
from minpy.ndarray.ndarray import NDArray

__all__ = ["Buffer", "Undeclared", "memory_of", "shape_and_dtype"]

_slot: Any = Array.__dict__["_data"]
# The memory of a buffer that has some.
memory_of = _slot.__get__
_allocate = _slot.__set__


class Buffer(NDArray):
    """An NDArray of known shape and dtype without memory, until it is read or written.

    `kind`, `name`: for messages, 'output' or 'the gradient of', and the name of that output or input.
    """

    __slots__ = ("allocated", "final_dtype", "final_shape", "is_adopted", "is_assigned", "kind", "name")

    def __init__(self, shape: tuple[int, ...], dtype: Any, kind: str, name: str) -> None:
        self.final_shape = shape
        self.final_dtype = dtype
        self.kind = kind
        self.name = name
        # Whether it has memory, of which there may be views; whether that was adopted, and may have other owners.
        self.allocated = self.is_adopted = False
        # Whether all of it was written by `assign`.
        self.is_assigned = False
        self._node = None

    @property
    def _data(self) -> numpy.ndarray:
        if self.allocated:
            return _slot.__get__(self)
        self._data = data = numpy.zeros(self.final_shape, self.final_dtype)
        return data

    @_data.setter
    def _data(self, data: numpy.ndarray) -> None:
        _allocate(self, data)
        self.allocated = True

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""
        return self.final_shape

    def adopt(self, source: Array) -> bool:
        """Make the memory of `source` the buffer's own if possible; return whether it was.

        It is possible where buffers are lent, for an array of the buffer's shape and dtype. `run_method` copies the
        memory afterwards if it has other owners.
        """
        data = source._data
        caller: Any = sys._getframe(2)
        loan = loans.current
        if (
            loan is not None
            and caller.f_code is loan[0]
            and caller.f_back is loan[1]
            and data.shape == self.final_shape
            and data.dtype == self.final_dtype
            and data.base is None
            and data.flags.c_contiguous
        ):
            _allocate(self, data)
            self.allocated = self.is_adopted = self.is_assigned = True
            return True
        return False

    def copy_from(self, data: numpy.ndarray) -> None:
        """Allocate the buffer as a copy of `data`, which has its shape."""
        _allocate(self, data.copy() if data.dtype is self.final_dtype else data.astype(self.final_dtype, "C"))
        self.allocated = self.is_assigned = True

    def written(self, since: int) -> bool:
        """Tell whether memory was adopted, or changed in place after `since`."""
        if self.is_assigned or 0 in self.final_shape:
            return True
        return self.allocated and written_since(self._data, since)

    def _like(self, data: numpy.ndarray, node: Any = None) -> Any:
        return new_array(NDArray, data, node)

    def __reduce__(self) -> Any:
        return new_array, (NDArray, self._data)


class Undeclared(NDArray):
    """An array that `declare_backward_dependency` left out; reading it is an error."""

    __slots__ = ("_noun",)

    def __init__(self, noun: str) -> None:
        self._noun = noun
        self._node = None

    @property
    def _data(self) -> numpy.ndarray:  # type: ignore[override]
        raise ArgumentError(
            f"backward reads {self._noun}, which declare_backward_dependency did not declare. Add it to the list "
            "that the method returns, or leave the method out: then everything is kept."
        )


def shape_and_dtype(array: NDArray) -> Any:
    """Return an array's shape and dtype, without allocating it; None for an undeclared one."""
    if type(array) is Undeclared:
        return None
    return (array.final_shape, array.final_dtype) if type(array) is Buffer else (array._data.shape, array._data.dtype)


for _cls in (Buffer, Undeclared):  # users see NDArrays
    _cls.__name__ = _cls.__qualname__ = "NDArray"
