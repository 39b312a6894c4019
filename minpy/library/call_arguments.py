"""The arguments of the libraries' functions: arrays, graphs and options as texts, parameters.

C-contiguous arrays are passed without a copy, others are copied once. What depends on shapes and dtypes alone is
prepared once for all calls of a kind; a call fills in addresses, and no other call uses its arguments until it is done.
The arguments of partitioners and passes live as long as the object that holds them, so until these return.
"""

from __future__ import annotations

import ctypes
import itertools
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from ctypes import byref, c_char_p, c_int, c_int64, c_size_t, c_void_p
from typing import Any

import numpy

from minpy.core.array import Array, as_raw
from minpy.core.buffers import note_write
from minpy.core.configured import text_of
from minpy.core.errors import ArgumentError, DTypeError, describe
from minpy.graph.partitioning.editable import Graph
from minpy.library.abi import CPU, DTYPE_NUMBERS, DTYPES
from minpy.library.resources import RESOURCES, Workspace

__all__ = [
    "Call",
    "Kind",
    "Layout",
    "Parameters",
    "address_of",
    "as_array",
    "graph_text",
    "option_texts",
    "readable",
    "require_dtype",
    "write_back",
]

Kind = tuple[tuple[int, ...], numpy.dtype]

_DENSE = 0
_number_of_call = itertools.count(1).__next__
# The dtype to advise by the kind of an unsupported one.
_CASTS = {"b": "uint8", "u": "int64", "i": "int32", "c": "float32"}


def as_array(value: Any, who: str, role: str) -> numpy.ndarray:
    """Return an array for an input: numbers and lists become float32, as they do in `nd.array`."""
    if isinstance(value, (numpy.ndarray, numpy.generic)):
        return numpy.asarray(value)
    if value is not None:
        with suppress(TypeError, ValueError):
            return numpy.asarray(value, numpy.float32)
    raise ArgumentError(f"{who}: {role} is {describe(value)}; expected an array.")


def readable(array: numpy.ndarray) -> numpy.ndarray:
    """Return an array that C reads in order: itself, or a copy if it is strided, unaligned, or of other byte order."""
    flags = array.flags
    if flags.c_contiguous and flags.aligned and array.dtype.isnative:
        return array
    return numpy.array(array, array.dtype.newbyteorder("="), order="C")


def require_dtype(dtype: numpy.dtype, who: str, role: str, value: Any) -> int:
    """Return the number of a dtype."""
    number = DTYPE_NUMBERS.get(dtype)
    if number is None:
        number = DTYPE_NUMBERS.get(dtype.newbyteorder("=")) if dtype.kind in "iuf" else None
    if number is None:
        *names, last = [supported.name for supported in DTYPES]
        target = _CASTS.get(dtype.kind, "float32")
        raise DTypeError(
            f"{who}: {role} is {describe(value)}; native operators take {', '.join(names)} and {last}. Cast it first, "
            f"with astype({target!r})."
        )
    return number


def _offset_of_data() -> int | None:
    """Return the offset of the address of its memory in an array object; None where it is unknown.

    NumPy's C interface has it behind the header that every Python object has. Reading it there takes a tenth of the
    time of `array.ctypes.data`.
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


_DATA_OFFSET = _offset_of_data()
_pointer_at = c_void_p.from_address


def address_of(array: numpy.ndarray) -> int:
    """Return the address of an array's memory."""
    return array.ctypes.data


class Layout:
    """The C descriptions of a call's inputs or outputs, without their memory: shapes, dtypes, and devices."""

    __slots__ = (
        "_rows",
        "count",
        "devices",
        "dimensions",
        "ids",
        "indices",
        "kinds",
        "lengths",
        "nonempty",
        "shapes",
        "storages",
        "types",
    )

    def __init__(self, kinds: Sequence[Kind]) -> None:
        self.kinds = tuple(kinds)
        self.count = len(kinds)
        self.nonempty = tuple(index for index, (shape, _) in enumerate(kinds) if math.prod(shape))
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
        self._rows = rows


class Call:
    """The arguments of a call, for a ctypes function without types; those in `first` come first.

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
            *_tensor_arguments(inputs, self.inputs, self.versions),
            *_tensor_arguments(outputs, self.outputs, out_versions),
            *(memory, handle, gpu_memory, handle, None, sparse_memory, handle),
            *(byref(inputs.storages), byref(outputs.storages)),
            *(byref(inputs.indices), byref(outputs.indices), byref(inputs.indices), byref(outputs.indices)),
            *(byref(inputs.lengths), byref(outputs.lengths), byref(inputs.lengths), byref(outputs.lengths)),
            *(self.generators, None),
        )

    def fill(self, inputs: Sequence[numpy.ndarray], outputs: Sequence[numpy.ndarray]) -> Sequence[numpy.ndarray]:
        """Set the addresses of arrays and the inputs' versions; return the inputs, which must outlive the call.

        Inputs that C cannot read directly are copied. Versions differ in each call: NumPy's writes are not noticed,
        and memory is reused, so that no two calls are known to have the same contents.
        """
        of_inputs, of_outputs = self._layouts
        slots, versions, version = self.inputs, self.versions, _number_of_call()
        arrays = inputs
        for array in inputs:
            if not array.flags.carray:
                arrays = [*map(readable, inputs)]
                break
        for index in of_inputs.nonempty:
            array = arrays[index]
            slots[index] = array.ctypes.data if _DATA_OFFSET is None else _pointer_at(id(array) + _DATA_OFFSET).value
            versions[index] = version
        slots = self.outputs
        for index in of_outputs.nonempty:
            array = outputs[index]
            slots[index] = array.ctypes.data if _DATA_OFFSET is None else _pointer_at(id(array) + _DATA_OFFSET).value
        return arrays


def _tensor_arguments(layout: Layout, data: Any, versions: Any) -> tuple[Any, ...]:
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


def graph_text(graph: Graph, where: str) -> bytes:
    """Return a graph in the form for libraries: the JSON of symbol files, in one line.

    The parser of MXNet's header does not decode escapes: it reads beyond a text whose last character is an escaped
    backslash, and ends the process.

    Examples
    --------
    >>> graph = Graph()
    >>> from minpy.graph import Entry
    >>> graph.outputs = [Entry(graph.add_node('exp', 'y', [graph.add_node('null', 'x')]))]
    >>> graph_text(graph, 'pass')[:63]
    b'{"nodes": [{"op": "null", "name": "x", "inputs": []}, {"op": "e'
    """
    text = graph.json()
    if "\\" in text:
        for node, role, part in _texts_of(graph):
            if part.endswith("\\"):
                raise ArgumentError(
                    f"{where}: {role} of node {node!r} is {part!r}. A text that ends with a backslash cannot be given "
                    "to a native library: the parser of MXNet's header would end the process. Change the text."
                )
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ArgumentError(
            f"{where}: the graph has {error.object[error.start : error.end]!r} in a text, which cannot be written in "
            "UTF-8, as native libraries are given it. Change the text."
        ) from None


def _texts_of(graph: Graph) -> Iterator[tuple[str, str, str]]:
    for node in graph.nodes:
        yield node.name, "the name", node.name
        yield node.name, "the operator", node.op
        for key, text in node.attrs.items():
            yield node.name, "the name of an attribute", key
            yield node.name, f"attribute {key!r}", text
        for inner in node.subgraphs:
            yield from _texts_of(inner)


def option_texts(options: Mapping[str, Any], where: str) -> dict[str, str]:
    """Return options in the form for libraries.

    Examples
    --------
    >>> option_texts({'level': 2, 'axes': (1, 2), 'name': None}, 'pass')
    {'level': '2', 'axes': '(1, 2)', 'name': 'None'}
    """
    for key, value in options.items():
        if isinstance(value, (numpy.ndarray, Array)):
            raise ArgumentError(
                f"{where}: option {key!r} is {describe(value)}; native libraries are given options as texts: numbers, "
                "strings, or tuples of them. Arrays belong into args or aux."
            )
    return {key: text_of(where, key, value) for key, value in options.items()}


class Parameters:
    """Arrays by name in C's form: nine arguments. `role` is 'args' or 'aux', for messages.

    The arguments are names, their count, data, shapes, numbers of axes, dtypes, versions, devices, device numbers. If
    `copied`, the library gets copies, which it may change; otherwise C-contiguous arrays are passed without a copy.

    Examples
    --------
    >>> Parameters({'w': numpy.ones((2, 3), numpy.float32)}, 'pass', 'args').arguments[1]
    1
    """

    __slots__ = ("_arrays", "_buffers", "_rows", "arguments")

    def __init__(self, arrays: Mapping[str, Any], where: str, role: str, copied: bool = False) -> None:
        count = max(len(arrays), 1)
        numbers = [
            require_dtype(as_raw(array).dtype, where, f"{role}[{name!r}]", array) for name, array in arrays.items()
        ]
        self._arrays = {name: as_raw(array) for name, array in arrays.items()}
        self._buffers = {name: readable(raw) for name, raw in self._arrays.items()}
        if copied:
            self._buffers = {key: raw.copy() if raw is self._arrays[key] else raw for key, raw in self._buffers.items()}
        buffers = self._buffers.values()
        try:
            names = (c_char_p * count)(*[name.encode() for name in arrays])
        except UnicodeEncodeError as error:
            raise ArgumentError(f"{where}: {role} has a name {error.object!r}, which is no text.") from None
        rows: list[Any] = [(c_int64 * max(raw.ndim, 1))(*raw.shape) for raw in buffers]
        shapes = (ctypes.POINTER(c_int64) * count)(*rows)
        self._rows = rows
        self.arguments = (
            names,
            len(arrays),
            (c_void_p * count)(*map(address_of, buffers)),
            shapes,
            (c_int * count)(*[raw.ndim for raw in buffers]),
            (c_int * count)(*numbers),
            (c_size_t * count)(),
            (c_char_p * count)(*[CPU] * len(arrays)),
            (c_int * count)(),
        )

    def changed(self) -> Iterator[tuple[numpy.ndarray, numpy.ndarray]]:
        """Yield (array, new values) for those whose copies the library has changed."""
        for name, raw in self._arrays.items():
            buffer = self._buffers[name]
            if buffer is not raw and buffer.tobytes() != readable(raw).tobytes():
                yield raw, buffer


def write_back(changes: list[tuple[numpy.ndarray, numpy.ndarray]], where: str) -> None:
    """Write new values into arrays: into all of them, or none."""
    for array, _ in changes:
        if not array.flags.writeable:
            raise ArgumentError(
                f"{where}: it has changed the values of {describe(array)}, which cannot be written to. Give a copy."
            )
    for array, values in changes:
        array[...] = values
        note_write(array)
