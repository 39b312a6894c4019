"""Arrays as the libraries' functions take them: the 35 arguments that a call computes with.

C-contiguous arrays are passed as they lie in memory, others are copied once. What depends on shapes and dtypes alone is
prepared once for all calls of a kind; a call fills in addresses, and uses its arguments alone until it is done.
"""

from __future__ import annotations

import ctypes
import itertools
import math
import sys
from collections.abc import Sequence
from contextlib import suppress
from ctypes import byref, c_char_p, c_int, c_int64, c_size_t, c_void_p
from typing import Any

import numpy

from minpy.core.errors import ArgumentError, DTypeError, describe
from minpy.library.abi import CPU, DTYPE_NUMBERS, DTYPES
from minpy.library.resources import RESOURCES, Workspace

__all__ = [
    "Call",
    "Kind",
    "Layout",
    "address_of",
    "as_array",
    "readable",
    "require_dtype",
]

Kind = tuple[tuple[int, ...], numpy.dtype]

_DENSE = 0
_number_of_call = itertools.count(1).__next__
# What to cast to, where it is not obvious.
_CASTS = {"b": "uint8", "u": "int64", "i": "int32", "c": "float32"}


def as_array(value: Any, who: str, what: str) -> numpy.ndarray:
    """Return an array for an input: numbers and lists become float32, as they do in `nd.array`."""
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
    """Return the number of a dtype."""
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
        addresses = [c_void_p.from_address(id(probe) + offset).value for probe in probes]
        if addresses == [probe.ctypes.data for probe in probes]:
            return offset
    return None


_OFFSET = _offset_of_data()
_at = c_void_p.from_address


def address_of(array: numpy.ndarray) -> int:
    """Return the address of an array's memory."""
    return array.ctypes.data


class Layout:
    """What C is told of the arrays on one side of a call apart from their memory: shapes, dtypes, and devices."""

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
    """The arguments of a call, for a ctypes function without types, after those that are `first`.

    Before each call, `fill` sets the addresses of the arrays and the inputs' versions; `generators`, the address of
    the generators of random numbers, is set by the caller.
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

    def fill(self, inputs: Sequence[numpy.ndarray], outputs: Sequence[numpy.ndarray]) -> Sequence[numpy.ndarray]:
        """Put in the addresses of arrays, and the inputs' versions; return the inputs, which have to live as long.

        Inputs that C cannot read as they are get copied. Versions are others at each call: what NumPy writes is not
        seen, and memory is used again, so that no two calls are known to be given the same contents.
        """
        of_inputs, of_outputs = self._layouts
        slots, versions, version = self.inputs, self.versions, _number_of_call()
        arrays = inputs
        for array in inputs:
            if not array.flags.carray:
                arrays = [*map(readable, inputs)]
                break
        for index in of_inputs.filled:
            array = arrays[index]
            slots[index] = array.ctypes.data if _OFFSET is None else _at(id(array) + _OFFSET).value
            versions[index] = version
        slots = self.outputs
        for index in of_outputs.filled:
            array = outputs[index]
            slots[index] = array.ctypes.data if _OFFSET is None else _at(id(array) + _OFFSET).value
        return arrays


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
