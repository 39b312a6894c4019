"""`NativePass`: a graph pass of a native library, which is given a graph as text and gives back another.

New parameters are allocated through a callback, while the library's function runs; it writes their values. It may
change the values of parameters that are there, too: it is given copies, and what it has changed is written back when
the new graph turns out to be one. So a pass that fails has changed nothing.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Mapping
from ctypes import CDLL, POINTER, byref, c_int64, c_size_t, c_void_p, cast, string_at
from typing import Any
from weakref import WeakValueDictionary

import numpy

from minpy.core.errors import LibraryError, MXNetError
from minpy.graph.partitioning.editable import Graph
from minpy.graph.partitioning.registry import Allocate, Pass
from minpy.library.abi import DTYPES, NEW_PARAMETER
from minpy.library.binary import Binary, PassEntry, Texts
from minpy.library.call_arguments import Parameters, address_of, graph_text, option_texts, write_back
from minpy.symbol.editing import relinked, symbol_of

__all__ = ["NativePass"]

_MAX_AXES = 32
_MAX_SHOWN = 60  # characters of an invalid graph in a message
_ZERO_TERMINATED_SINCE = 8  # the version from which on a text that a pass returns ends with a zero
_number = itertools.count(1).__next__


class NativePass(Pass):
    """A graph pass of a native library."""

    def __init__(self, binary: Binary, entry: PassEntry) -> None:
        self.name = entry.name
        self.path = binary.path
        self._binary = binary
        self._entry = entry
        self._where = f"{binary.path}: pass {entry.name!r}"

    @property
    def title(self) -> str:
        """What messages begin with."""
        return f"optimize_for({self.name!r}) of {self.path}"

    def __repr__(self) -> str:
        return f"<NativePass {self.name} of {self.path}>"

    def run(
        self,
        graph: Graph,
        options: Mapping[str, Any],
        args: Mapping[str, Any],
        aux: Mapping[str, Any],
        allocate: Allocate,
    ) -> Graph:
        """Return the graph that the library makes of a graph."""
        where = self._where
        text, texts = graph_text(graph, where), Texts(option_texts(options, where), f"{where}: ")
        parameter_lists = Parameters(args, where, "args", copied=True), Parameters(aux, where, "aux", copied=True)
        allocations = _Allocations(allocate, where)
        address = c_void_p()
        binary = self._binary
        messages_before = binary.message_count()
        status = binary.functions["_passCallGraphPass"](
            self._entry.body,
            text,
            byref(address),
            *texts.arguments,
            self.name.encode(),
            *parameter_lists[0].arguments,
            *parameter_lists[1].arguments,
            _CALLBACK,
            allocations.handle,
        )
        content = _content(address.value, binary.version) if address.value else None
        binary.functions["_opCallFree"](address)
        allocations.finish()
        if not status:
            raise binary.failure(LibraryError, f"{where} failed on a graph of {len(graph)} node(s).", messages_before)
        if content is None:
            raise binary.failure(LibraryError, f"{where} reported success, and gave back no graph.", messages_before)
        changed_graph = self._graph(content, graph)
        write_back([change for parameters in parameter_lists for change in parameters.changed()], where)
        return changed_graph

    def _graph(self, content: bytes, original: Graph) -> Graph:
        """Return the graph of a text, once it is known to be one that can be computed."""
        where = f"{self._where} gave back"
        try:
            if self._binary.version >= _ZERO_TERMINATED_SINCE:
                document = json.loads(content.decode(), strict=False)
            else:  # what follows the graph is whatever was in that memory before
                document, _ = json.JSONDecoder(strict=False).raw_decode(content.decode(errors="replace").lstrip())
        except (ValueError, RecursionError) as error:
            raise LibraryError(f"{where} a text that is no JSON: {error}. It begins with {content[:60]!r}.") from error
        try:
            changed_graph = relinked(Graph.from_json(json.dumps(_sorted_graph(document, f"{where} a graph"))), original)
            symbol_of(changed_graph, f"{where} a graph that cannot be used")
        except RecursionError:
            raise LibraryError(f"{where} a graph that cannot be used: graphs are nested too deep.") from None
        except MXNetError as error:
            raise LibraryError(str(error)) from error
        return changed_graph


def _usable_size() -> Callable[[int], int] | None:
    """Return the function of the C library that tells how large an allocated block is, where there is one."""
    try:
        function = CDLL(None).malloc_usable_size
    except (AttributeError, OSError, TypeError):
        return None
    function.restype, function.argtypes = c_size_t, [c_void_p]
    return function


def _content(address: int, version: int) -> bytes:
    """Return a text that a library has allocated. Those of MXNet 1.7 may lack the final zero and fill their block."""
    size = None if version >= _ZERO_TERMINATED_SINCE else _usable_size()
    if size is None:
        return string_at(address)
    return string_at(address, size(address)).split(b"\0", 1)[0]


def _sorted_graph(document: Any, where: str) -> dict[str, Any]:
    """Return a graph as files have it: the nodes that its heads depend on, each after its inputs.

    MXNet's header gives back all nodes that were there or have been added, in an order of its own.
    """
    nodes = document.get("nodes") if isinstance(document, dict) else None
    if not isinstance(nodes, list) or not isinstance(document.get("heads"), list):
        raise LibraryError(f"{where}: expected an object with lists of nodes and heads; it is {_shortened(document)}.")
    if not document["heads"]:
        raise LibraryError(f"{where}: it has no heads; expected the outputs of the graph.")
    for number, node in enumerate(nodes):
        if not isinstance(node, dict) or not all(isinstance(node.get(key), str) for key in ("op", "name")):
            raise LibraryError(
                f"{where}: node {number} is {_shortened(node)}; expected an object with the texts op and name."
            )
        _check_node(node, len(nodes), f"{where}: node {number} ({node['name']!r}, {node['op']})")
    _check_entries(document["heads"], len(nodes), f"{where}: head")
    order = _topological_order(nodes, document["heads"], where)
    positions = {number: index for index, number in enumerate(order)}

    def renumbered(entries: list[list[int]]) -> list[list[int]]:
        return [[positions[number], *fields] for number, *fields in entries]

    return {
        "nodes": [{**nodes[number], "inputs": renumbered(nodes[number].get("inputs", []))} for number in order],
        "heads": renumbered(document["heads"]),
    }


def _check_node(node: dict[str, Any], count: int, label: str) -> None:
    attributes = node.get("attrs", {})
    if not isinstance(attributes, dict) or not all(isinstance(text, str) for text in attributes.values()):
        raise LibraryError(f"{label} has the attributes {_shortened(attributes)}; expected an object of texts.")
    _check_entries(node.get("inputs", []), count, f"{label}: input")
    subgraphs = node.get("subgraphs") or []
    if not isinstance(subgraphs, list):
        raise LibraryError(f"{label} has the subgraphs {_shortened(subgraphs)}; expected a list of graphs.")
    node["subgraphs"] = [_sorted_graph(inner, f"{label}: subgraph {number}") for number, inner in enumerate(subgraphs)]


def _check_entries(entries: Any, count: int, where: str) -> None:
    if not isinstance(entries, list):
        raise LibraryError(f"{where}s are {_shortened(entries)}; expected a list of [node, output, version].")
    for position, entry in enumerate(entries):
        if (
            not isinstance(entry, list)
            or len(entry) not in (2, 3)
            or not all(type(part) is int and part >= 0 for part in entry)
        ):
            raise LibraryError(
                f"{where} {position} is {_shortened(entry)}; expected [node, output, version], numbers from 0."
            )
        if entry[0] >= count:
            raise LibraryError(f"{where} {position} is of node {entry[0]}, and there are {count} nodes.")


def _topological_order(nodes: list[dict[str, Any]], heads: list[list[int]], where: str) -> list[int]:
    """Return the numbers of the nodes that heads depend on, each after those that it reads."""
    order: list[int] = []
    finished: dict[int, bool] = {}
    for head, *_ in heads:
        stack = [(head, iter(nodes[head].get("inputs", [])))] if head not in finished else []
        finished.setdefault(head, False)
        while stack:
            number, inputs = stack[-1]
            for source, *_ in inputs:
                if source not in finished:
                    finished[source] = False
                    stack.append((source, iter(nodes[source].get("inputs", []))))
                    break
                if not finished[source]:
                    path = [visited for visited, _ in stack]
                    names = [repr(nodes[visited]["name"]) for visited in (*path[path.index(source) :], source)]
                    raise LibraryError(f"{where}: it has a cycle: {' reads '.join(names)}.")
            else:
                finished[number] = True
                order.append(number)
                stack.pop()
    return order


def _shortened(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN - 3]}..."


class _Allocations:
    """The new parameters of one run of a pass. The callback finds them by `handle`.

    A pass goes on to write into the memory that it has requested. So a refused parameter gets other memory if
    possible, and the error is raised when the pass has returned.
    """

    __slots__ = ("__weakref__", "_allocate", "_arrays", "_where", "handle", "interrupt", "problems")

    def __init__(self, allocate: Allocate, where: str) -> None:
        self.handle = _number()
        self.problems: list[str] = []
        self.interrupt: BaseException | None = None
        self._allocate = allocate
        self._where = where
        self._arrays: list[numpy.ndarray] = []
        _ALLOCATIONS[self.handle] = self

    def add(self, shape: Any, ndim: int, device: bytes | None, number: int, name: bytes | None, is_arg: bool) -> Any:
        """Return the memory of a new parameter."""
        lengths = [*shape[: min(ndim, _MAX_AXES)]] if shape and ndim > 0 else []
        text = (name or b"").decode(errors="replace")
        label = f"the parameter {text!r} of shape {tuple(lengths)}"
        problem = ""
        if not text:
            problem = "a parameter without a name"
        elif not 0 <= ndim <= _MAX_AXES or any(length < 0 for length in lengths):
            problem = f"{label} and {ndim} axes; expected up to {_MAX_AXES} axes of lengths from 0"
        elif not 0 <= number < len(DTYPES):
            problem = f"{label} and the dtype {number}; expected a number of a dtype, 0 to {len(DTYPES) - 1}"
        elif device != b"cpu":
            problem = f"{label} on the device {(device or b'').decode(errors='replace')!r}; there is 'cpu'"
        try:
            if problem:
                array = numpy.zeros(max(math.prod(max(length, 0) for length in lengths), 1), numpy.float64)
            else:
                array = self._allocate(text, tuple(lengths), DTYPES[number], bool(is_arg))
        except (MemoryError, ValueError) as error:
            self.problems.append(problem or f"{label} and dtype {DTYPES[number].name}: {error}")
            return None
        if problem:
            self.problems.append(problem)
        self._arrays.append(array)
        return address_of(array)

    def finish(self) -> None:
        """Raise an interrupt that came during an allocation, or the error for what could not be allocated."""
        _ALLOCATIONS.pop(self.handle, None)
        if self.interrupt is not None:
            raise self.interrupt
        if self.problems:
            raise LibraryError(f"{self._where} asked for {self.problems[0]}.")


_ALLOCATIONS: WeakValueDictionary[int, _Allocations] = WeakValueDictionary()


def _new_parameter(
    handle: int | None,
    shape: int | None,
    ndim: int,
    device: bytes | None,
    device_id: int,
    number: int,
    name: bytes | None,
    is_arg: int,
    data: int | None,
) -> None:
    if not data:
        return
    into = c_void_p.from_address(data)
    into.value = None
    allocations = _ALLOCATIONS.get(handle or 0)
    if allocations is None:
        return
    lengths = cast(shape, POINTER(c_int64)) if shape else None
    while True:  # an exception here would be lost, and the library would write to no memory
        try:
            into.value = allocations.add(lengths, ndim, device, number, name, bool(is_arg))
            return
        except Exception as error:
            allocations.interrupt = error
            return
        except BaseException as error:
            allocations.interrupt = error


# Kept for good: libraries may be given it at any time.
_CALLBACK = NEW_PARAMETER(_new_parameter)
