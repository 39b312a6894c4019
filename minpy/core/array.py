"""`Array`, what the tape knows of an array: a NumPy buffer and the node that produced it.

The front ends (`minpy.nd.NDArray`, `minpy.numpy.ndarray`) derive from it and give it methods.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy

from minpy.core.extensions import extension
from minpy.late import LateTable

__all__ = [
    "FRONT_ENDS",
    "PLAIN_CLASSES",
    "Array",
    "Shaped",
    "as_raw",
    "create",
    "new_array",
    "now",
    "raw_of",
    "register_front_end",
]

# One clock orders everything that happens to arrays: nodes take their sequence number from it, writes their time.
now = itertools.count(1).__next__

create: Any = object.__new__


class Array:
    """A NumPy buffer with a place on the tape.

    `_data` is the `numpy.ndarray`; `_node` is None, or the tape's node whose value this is.
    """

    __slots__ = ("__weakref__", "_data", "_node")

    _data: numpy.ndarray
    _node: Any

    # Where classes meet in one call, the result is of the class with the highest precedence.
    _precedence: ClassVar[int] = 0
    # Pandas' frames and series, with priorities of up to 4000, leave arithmetic with arrays to these.
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


# Classes whose arrays are nothing but a buffer and a node (no context to carry), so that hot paths may create them.
PLAIN_CLASSES: set[type] = set()

# 'numpy' and 'mxnet': the class that a function of that kind is given when its inputs are recorded.
FRONT_ENDS: LateTable[type[Array]] = LateTable(["mxnet", "numpy"], lambda kind: extension(f"array of {kind}"))


def register_front_end(kind: str, cls: type[Array]) -> None:
    """Make `cls` the array class of functions written for `kind` ('numpy' or 'mxnet')."""
    FRONT_ENDS[kind] = cls
    PLAIN_CLASSES.add(cls)
