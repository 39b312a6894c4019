"""`Buffer`: an output that a custom operator will fill, allocated when somebody first looks at it.

Most operators assign a result that they have just computed. Its memory becomes the output's; a buffer allocated
beforehand would only push the result out of the cache.
"""

from __future__ import annotations

from typing import Any

import numpy

from minpy.core.array import Array, new_array, written_since
from minpy.core.errors import ArgumentError
from minpy.ndarray.ndarray import NDArray

__all__ = ["Buffer", "Undeclared"]

_slot: Any = Array.__dict__["_data"]


class Buffer(NDArray):
    """An NDArray of known shape and dtype without memory, until it is read or written.

    Parameters
    ----------
    shape : tuple of int
    dtype : dtype
    """

    __slots__ = ("_dtype", "_shape", "allocated", "given")

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self._shape = shape
        self._dtype = dtype
        # Whether it has memory: somebody may hold a view of it. Whether that was given, and may be somebody else's too.
        self.allocated = False
        self.given = False
        self._node = None

    @property
    def _data(self) -> numpy.ndarray:
        if self.allocated:
            return _slot.__get__(self)
        self._data = data = numpy.zeros(self._shape, self._dtype)
        return data

    @_data.setter
    def _data(self, data: numpy.ndarray) -> None:
        _slot.__set__(self, data)
        self.allocated = True

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""
        return self._shape

    def give(self, data: numpy.ndarray) -> bool:
        """Make `data` the buffer's memory, if it is of its shape and dtype; tell whether it was done."""
        if data.shape != self._shape or data.dtype != self._dtype:
            return False
        _slot.__set__(self, data)
        self.allocated = self.given = True
        return True

    def written(self, since: int) -> bool:
        """Tell whether memory was given, or changed in place after `since`."""
        if self.given:
            return True
        return 0 in self._shape or (self.allocated and written_since(self._data, since))

    def _like(self, data: numpy.ndarray, node: Any = None) -> Any:
        return new_array(NDArray, data, node)

    def __reduce__(self) -> Any:
        return new_array, (NDArray, self._data)


class Undeclared(NDArray):
    """Stands for an array that `declare_backward_dependency` left out; reading it is an error."""

    __slots__ = ("_what",)

    def __init__(self, what: str) -> None:
        self._what = what
        self._node = None

    @property
    def _data(self) -> numpy.ndarray:  # type: ignore[override]
        raise ArgumentError(
            f"backward reads {self._what}, which declare_backward_dependency did not declare. Add it to the list "
            "that the method returns, or leave the method out: then everything is kept."
        )


for _cls in (Buffer, Undeclared):  # users see NDArrays
    _cls.__name__ = _cls.__qualname__ = "NDArray"
