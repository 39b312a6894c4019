"""Arrays as the libraries' functions take them: the 35 arguments that a call computes with.

C-contiguous arrays are passed as they lie in memory, others are copied once. What depends on shapes and dtypes alone is
prepared once for all calls of a kind; a call fills in addresses, and uses its arguments alone until it is done.
"""

from __future__ import annotations

import ctypes
import math
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from ctypes import byref, c_char_p, c_int, c_int64, c_size_t, c_void_p
from typing import Any

import numpy

from minpy.core.array import version_of
from minpy.core.errors import ArgumentError, DTypeError, describe
from minpy.library.abi import CPU, DTYPE_NUMBERS, DTYPES
from minpy.library.resources import RESOURCES, Workspace

__all__ = [
    "Call",
    "Kind",
    "Layout",
    "address_of",
    "as_array",
    "put_addresses",
    "put_versions",
    "readable",
    "require_dtype",
]

Kind = tuple[tuple[int, ...], numpy.dtype]

_DENSE = 0
# What to cast to, where it is not obvious.
_CASTS = {"b": "uint8", "u": "int64", "i": "int32", "c": "float32"}


def as_array(value: Any, who: str, what: str) -> numpy.ndarray:
    """Return an array for an input: numbers and lists become float32, as they do in `nd.array`.

    Raises
    ------
    ArgumentError
        If it cannot be one.
    """
    if isinstance(value, (numpy.ndarray, numpy.generic)):
        return numpy.asarray(value)
    if value is not None:
        with suppress(TypeError, ValueError):
            return numpy.asarray(value, numpy.float32)
    raise ArgumentError(f"{who}: {what} is {describe(value)}; expected an array.")


def readable(array: numpy.ndarray) -> numpy.ndarray:
    """Return an array that C reads in order: itself, or a copy if it is strided, unaligned, or of other byte order."""
    flags = array.flags
    if flags.c_contiguous and flags.aligned and array.dtype.isnative:
        return array
    return numpy.array(array, array.dtype.newbyteorder("="), order="C")


def require_dtype(dtype: numpy.dtype, who: str, what: str, value: Any) -> int:
    """Return the number of a dtype.

    Raises
    ------
    DTypeError
        If libraries do not know it: they would end the process. The text says what to cast to.
    """
    number = DTYPE_NUMBERS.get(dtype)
    if number is None:
        number = DTYPE_NUMBERS.get(dtype.newbyteorder("=")) if dtype.kind in "iuf" else None
    if number is None:
        *most, last = [known.name for known in DTYPES]
        target = _CASTS.get(dtype.kind, "float32")
        raise DTypeError(
            f"{who}: {what} is {describe(value)}; native operators take {', '.join(most)} and {last}. Cast it first, "
            f"with astype({target!r})."
        )
    return number


def _offset_of_data() -> int | None:
    """Return where in an array object the address of its memory is kept; None where that cannot be told.

    NumPy's C interface has it behind the header that every Python object has. Read there, it costs a tenth of what
    `array.ctypes.data` does.
    """
    if sys.implementation.name != "cpython":
        return None
    memory = numpy.zeros(8, numpy.float32)
    probes: list[numpy.ndarray] = [memory, memory[3:], numpy.empty((2, 3)), numpy.empty(())]
    for offset in range(object.__basicsize__, numpy.ndarray.__basicsize__, ctypes.sizeof(c_void_p)):
        found = [c_void_p.from_address(id(probe) + offset).value for probe in probes]
        if found == [probe.ctypes.data for probe in probes]:
            return offset
    return None


def _address_writer() -> Callable[[Any, Sequence[int], Sequence[numpy.ndarray]], None]:
    offset, at = _offset_of_data(), c_void_p.from_address

    def by_interface(slots: Any, positions: Sequence[int], arrays: Sequence[numpy.ndarray]) -> None:
        for index in positions:
            slots[index] = arrays[index].ctypes.data

    def by_reading(slots: Any, positions: Sequence[int], arrays: Sequence[numpy.ndarray]) -> None:
        for index in positions:
            slots[index] = at(id(arrays[index]) + offset).value  # type: ignore[operator]

    return by_interface if offset is None else by_reading


# Puts the addresses of the arrays at some positions into a C array.
put_addresses = _address_writer()


def address_of(array: numpy.ndarray) -> int:
    """Return the address of an array's memory."""
    address: int = array.ctypes.data
    return address


def put_versions(slots: Any, positions: Sequence[int], arrays: Sequence[numpy.ndarray]) -> None:
    """Put into a C array how often the arrays at some positions have been written to, as far as minpy knows."""
    for index in positions:
        slots[index] = version_of(arrays[index])


class Layout:
    """What C is told of the arrays on one side of a call apart from their memory: shapes, dtypes, and devices.

    Parameters
    ----------
    kinds : sequence of (shape, dtype)

    Attributes
    ----------
    count : int
    filled : tuple of int
        The positions of the arrays that have elements. Others have no address.
    """

    __slots__ = (
        "_kept",
        "count",
        "devices",
        "dimensions",
        "filled",
        "ids",
        "indices",
        "kinds",
        "lengths",
        "shapes",
        "storages",
        "types",
    )

    def __init__(self, kinds: Sequence[Kind]) -> None:
        self.kinds = tuple(kinds)
        self.count = len(kinds)
        self.filled = tuple(index for index, (shape, _) in enumerate(kinds) if math.prod(shape))
        size = max(self.count, 1)
        rows = [(c_int64 * max(len(shape), 1))(*shape) for shape, _ in kinds]
        self.shapes = (ctypes.POINTER(c_int64) * size)(*rows)  # type: ignore[misc]
        self.dimensions = (c_int * size)(*[len(shape) for shape, _ in kinds])
        self.types = (c_int * size)(*[DTYPE_NUMBERS[dtype] for _, dtype in kinds])
        self.devices = (c_char_p * size)(*[CPU] * self.count)
        self.ids = (c_int * size)()
        self.storages = (c_int * size)(*[_DENSE] * self.count)
        self.indices = (c_void_p * size)()
        self.lengths = (c_int64 * size)()
        self._kept = rows


class Call:
    """The arguments of a call, to be filled in, for inputs and outputs of given layouts.

    Parameters
    ----------
    first : sequence
        The arguments that come before those for the arrays.
    inputs, outputs : Layout

    Attributes
    ----------
    arguments : tuple
        For a ctypes function without types.
    inputs, outputs, versions : ctypes array
        The addresses of the inputs' and outputs' memory, and the inputs' versions, to be set before each call.
    generators : c_void_p
        The address of the generators of random numbers, to be set before each call.
    workspace : Workspace
    """

    __slots__ = ("_layouts", "arguments", "generators", "inputs", "outputs", "versions", "workspace")

    def __init__(self, first: Sequence[Any], inputs: Layout, outputs: Layout) -> None:
        self._layouts = inputs, outputs
        self.workspace = Workspace()
        self.generators = c_void_p()
        self.inputs = (c_void_p * max(inputs.count, 1))()
        self.outputs = (c_void_p * max(outputs.count, 1))()
        self.versions = (c_size_t * max(inputs.count, 1))()
        out_versions = (c_size_t * max(outputs.count, 1))()
        memory, gpu_memory, sparse_memory = RESOURCES
        handle = c_void_p(self.workspace.handle)
        self.arguments = (
            *first,
            *_side(inputs, self.inputs, self.versions),
            *_side(outputs, self.outputs, out_versions),
            *(memory, handle, gpu_memory, handle, None, sparse_memory, handle),
            *(byref(inputs.storages), byref(outputs.storages)),
            *(byref(inputs.indices), byref(outputs.indices), byref(inputs.indices), byref(outputs.indices)),
            *(byref(inputs.lengths), byref(outputs.lengths), byref(inputs.lengths), byref(outputs.lengths)),
            *(self.generators, None),
        )


def _side(layout: Layout, data: Any, versions: Any) -> tuple[Any, ...]:
    return (
        byref(layout.shapes),
        byref(layout.dimensions),
        byref(data),
        byref(layout.types),
        byref(versions),
        byref(layout.devices),
        byref(layout.ids),
        layout.count,
    )
