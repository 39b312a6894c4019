"""What libraries' partitioners and passes are given: a graph as text, options as texts, and parameters.

All of it is kept as long as the object that holds it; libraries may read it until their function returns.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping
from ctypes import c_char_p, c_int, c_int64, c_size_t, c_void_p
from typing import Any

import numpy

from minpy.core.array import Array, as_raw
from minpy.core.buffers import note_write
from minpy.core.configured import text_of
from minpy.core.errors import ArgumentError, describe
from minpy.graph.partitioning.editable import Graph
from minpy.library.abi import CPU
from minpy.library.call_arguments import address_of, readable, require_dtype

__all__ = ["Parameters", "graph_text", "option_texts", "write_back"]


def graph_text(graph: Graph, where: str) -> bytes:
    """Return a graph as libraries are given it: the JSON form of files, in one line.

    The parser of MXNet's header does not decode escapes. A text whose last character is an escaped backslash looks to
    it as if it went on, and it ends the process.

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
        for node, what, part in _texts_of(graph):
            if part.endswith("\\"):
                raise ArgumentError(
                    f"{where}: {what} of node {node!r} is {part!r}. A text that ends with a backslash cannot be given "
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
    """Return options as libraries are given them.

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
    """Arrays by name, as C sees them: nine arguments. `what` is 'args' or 'aux', for messages.

    The arguments are names, how many, data, shapes, numbers of axes, dtypes, versions, devices, device numbers. If
    `copied`, the library is given copies, which it may change; otherwise C-contiguous arrays are given as they are.

    Examples
    --------
    >>> Parameters({'w': numpy.ones((2, 3), numpy.float32)}, 'pass', 'args').arguments[1]
    1
    """

    __slots__ = ("_given", "_kept", "_lent", "arguments")

    def __init__(self, arrays: Mapping[str, Any], where: str, what: str, copied: bool = False) -> None:
        count = max(len(arrays), 1)
        numbers = [
            require_dtype(as_raw(array).dtype, where, f"{what}[{name!r}]", array) for name, array in arrays.items()
        ]
        self._given = {name: as_raw(array) for name, array in arrays.items()}
        self._lent = {name: readable(raw) for name, raw in self._given.items()}
        if copied:
            self._lent = {name: raw.copy() if raw is self._given[name] else raw for name, raw in self._lent.items()}
        lent = self._lent.values()
        try:
            names = (c_char_p * count)(*[name.encode() for name in arrays])
        except UnicodeEncodeError as error:
            raise ArgumentError(f"{where}: {what} has a name {error.object!r}, which is no text.") from None
        rows: list[Any] = [(c_int64 * max(raw.ndim, 1))(*raw.shape) for raw in lent]
        shapes = (ctypes.POINTER(c_int64) * count)(*rows)
        self._kept = rows
        self.arguments = (
            names,
            len(arrays),
            (c_void_p * count)(*map(address_of, lent)),
            shapes,
            (c_int * count)(*[raw.ndim for raw in lent]),
            (c_int * count)(*numbers),
            (c_size_t * count)(),
            (c_char_p * count)(*[CPU] * len(arrays)),
            (c_int * count)(),
        )

    def changed(self) -> Iterator[tuple[numpy.ndarray, numpy.ndarray]]:
        """Yield (array, new values) for those whose copies the library has changed."""
        for name, raw in self._given.items():
            lent = self._lent[name]
            if lent is not raw and lent.tobytes() != readable(raw).tobytes():
                yield raw, lent


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
