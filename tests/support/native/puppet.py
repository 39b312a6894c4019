"""`Puppet`: the library of `puppet.c`, whose partitioners and passes do what Python functions say, and log it.

It knows nothing of who loaded the library, and so runs beside MXNet, too.
"""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ctypes import POINTER, c_char_p, c_int, c_int64, c_size_t, c_void_p
from typing import Any

import numpy

__all__ = ["DTYPES", "Puppet"]

DTYPES = ("float32", "float64", "float16", "uint8", "int32", "int8", "int64")

_TEXTS = POINTER(c_char_p)
_INTS = POINTER(c_int)
_OPTIONS = (_TEXTS, _TEXTS, c_int)
_PARAMETERS = (
    _TEXTS,
    c_int,
    POINTER(c_void_p),
    POINTER(POINTER(c_int64)),
    _INTS,
    _INTS,
    POINTER(c_size_t),
    _TEXTS,
    _INTS,
)
_ALLOCATE = ctypes.CFUNCTYPE(
    None, c_void_p, POINTER(c_int64), c_int, c_char_p, c_int, c_int, c_char_p, c_int, POINTER(c_void_p)
)
_FUNCTIONS = {
    "supported": ctypes.CFUNCTYPE(c_int, c_char_p, c_char_p, c_int, _INTS, *_OPTIONS),
    "create": ctypes.CFUNCTYPE(c_int, c_char_p, c_char_p, POINTER(c_void_p), *_OPTIONS),
    "select": ctypes.CFUNCTYPE(None, c_void_p, c_int, _INTS),
    "select_input": ctypes.CFUNCTYPE(None, c_void_p, c_int, c_int, _INTS),
    "select_output": ctypes.CFUNCTYPE(None, c_void_p, c_int, c_int, _INTS),
    "filter": ctypes.CFUNCTYPE(None, c_void_p, _INTS, c_int, POINTER(c_void_p), _INTS),
    "reset": ctypes.CFUNCTYPE(None, c_void_p),
    "review": ctypes.CFUNCTYPE(
        c_int,
        c_char_p,
        c_char_p,
        c_int,
        _INTS,
        *_OPTIONS,
        POINTER(c_void_p),
        POINTER(c_void_p),
        _INTS,
        *_PARAMETERS,
        *_PARAMETERS,
    ),
    "run": ctypes.CFUNCTYPE(
        c_int,
        c_char_p,
        c_char_p,
        POINTER(c_void_p),
        *_OPTIONS,
        c_char_p,
        *_PARAMETERS,
        *_PARAMETERS,
        _ALLOCATE,
        c_void_p,
    ),
}


class _Handlers(ctypes.Structure):
    _fields_ = [*_FUNCTIONS.items()]


class Puppet:
    """The library, and what it is to do.

    Parameters
    ----------
    path : path-like
        Of the library that was built, which may be loaded already.
    tag : str
        What its names end with.

    Attributes
    ----------
    log : list of list
        What was called, with what.
    does : dict of str to callable
        What to do. Those that are not there fail, or choose nothing.

        - `ids(graph, options)`: one number for each node;
        - `select(graph, node)`, `select_input(graph, node, other)`, `select_output(graph, node, other)`: a bool;
        - `filter(graph, candidates)`: those to keep;
        - `review(graph, number, options, args, aux)`: whether to accept, None to leave that as it is, and attributes;
        - `run(graph, options, args, aux, host)`: the new graph, or a text, which has no end if it is a bytearray.
          `host.allocate` and `host.change` are about parameters.

        A graph is what the JSON says. Functions return None to fail, having called `message`.
    raised : list of Exception
        What went wrong in these functions.
    """

    def __init__(self, path: Any, tag: str = "") -> None:
        self.tag = tag
        self.library = ctypes.CDLL(str(path))
        self.library.puppet_lend.restype = c_void_p
        self.library.puppet_lend.argtypes = [c_size_t]
        self.library.puppet_attributes.restype = c_char_p
        self.library.raw_fault.restype = c_char_p
        self.library.raw_log_line.restype = c_char_p
        self.library.raw_states_made.restype = ctypes.c_long
        self.library.raw_states_destroyed.restype = ctypes.c_long
        handlers = _Handlers.in_dll(self.library, "puppet_handlers")
        self._kept = {name: kind(self._guarded(name)) for name, kind in _FUNCTIONS.items()}
        for name, function in self._kept.items():
            setattr(handlers, name, function)
        self.log: list[list[Any]] = []
        self.raised: list[Exception] = []
        self.does: dict[str, Callable[..., Any]] = {}
        self._graphs: list[Any] = []

    @contextmanager
    def doing(self, **does: Callable[..., Any]) -> Iterator[Puppet]:
        """Let it do this, and afterwards nothing."""
        self.log, self.raised, self.does = [], [], does
        try:
            yield self
        finally:
            self.does = {}
            if self.raised:
                raise self.raised[0]

    def message(self, text: str) -> None:
        """Add an error message."""
        self.library.puppet_message(text.encode())

    def attributes(self) -> dict[str, str]:
        """Return the attributes of the state that was made last."""
        parts = self.library.puppet_attributes().decode().split("\1")
        return dict(part.split("=", 1) for part in parts if part)

    def faults(self) -> list[str]:
        """Return what the host did that no host may do."""
        return [self.library.raw_fault(index).decode() for index in range(self.library.raw_faults())]

    def lent(self) -> int:
        """Return how many blocks of memory the host has not given back."""
        return int(self.library.raw_blocks())

    def lend(self, content: bytes) -> int:
        """Return the address of memory that the host has to give back."""
        block: int = self.library.puppet_lend(max(len(content), 1))
        ctypes.memmove(block, content, len(content))
        return block

    def _guarded(self, name: str) -> Callable[..., Any]:
        method = getattr(self, f"_{name}")

        def call(*arguments: Any) -> Any:
            try:
                return method(*arguments)
            except Exception as error:
                self.raised.append(error)
                return 0

        return call

    def _asked(self, name: str, *arguments: Any) -> Any:
        return self.does[name](*arguments) if name in self.does else None

    # -- partitioners ----------------------------------------------------------------------------------------------

    def _supported(self, strategy: bytes, text: bytes, count: int, ids: Any, *options: Any) -> int:
        graph, given = json.loads(text), _texts(*options)
        self.log.append(["supported", strategy.decode(), graph, given, ids[:count]])
        answer = self._asked("ids", graph, given)
        if answer is None:
            return 0
        for index, number in enumerate(answer):
            ids[index] = number
        return 1

    def _create(self, strategy: bytes, text: bytes, selector: Any, *options: Any) -> int:
        graph, given = json.loads(text), _texts(*options)
        self.log.append(["create", strategy.decode(), graph, given])
        if "create" in self.does:
            answer = self.does["create"](graph, given)
            if answer is None:
                return 0
            selector[0] = answer or None
            return 1
        self._graphs.append(graph)
        selector[0] = len(self._graphs)  # any number but 0 tells selectors apart
        return 1

    def _graph(self, selector: int) -> Any:
        return self._graphs[selector - 1]

    def _select(self, selector: int, node: int, selected: Any) -> None:
        self.log.append(["select", node])
        selected[0] = bool(self._asked("select", self._graph(selector), node))

    def _select_input(self, selector: int, node: int, other: int, selected: Any) -> None:
        self.log.append(["input", node, other])
        selected[0] = bool(self._asked("select_input", self._graph(selector), node, other))

    def _select_output(self, selector: int, node: int, other: int, selected: Any) -> None:
        self.log.append(["output", node, other])
        selected[0] = bool(self._asked("select_output", self._graph(selector), node, other))

    def _filter(self, selector: int, candidates: Any, count: int, keep: Any, number: Any) -> None:
        given = candidates[:count]
        self.log.append(["filter", given])
        answer = self.does["filter"](self._graph(selector), given) if "filter" in self.does else given
        if isinstance(answer, tuple):  # a number that does not fit
            number[0], answer = answer
        else:
            number[0] = len(answer)
        if answer is not None:
            keep[0] = self.lend(bytes((c_int * len(answer))(*answer)))

    def _reset(self, selector: int) -> None:
        self.log.append(["reset"])

    def _review(
        self, strategy: bytes, text: bytes, number: int, accept: Any, keys: Any, values: Any, count: int, *rest: Any
    ) -> int:
        names, texts, how_many, *parameters = rest
        args, aux = _arrays(*parameters[:9]), _arrays(*parameters[9:])
        graph, options = json.loads(text), _texts(keys, values, count)
        self.log.append(["review", strategy.decode(), number, graph, options, _listed(args), _listed(aux), accept[0]])
        answer = self._asked("review", graph, number, options, args, aux)
        if answer is None:
            return 0
        accepted, attributes = answer
        if accepted is not None:
            accept[0] = accepted
        if attributes:
            for where, what in ((names, [*attributes]), (texts, [*attributes.values()])):
                blocks = [self.lend((one if isinstance(one, bytes) else one.encode()) + b"\0") for one in what]
                where[0] = self.lend(bytes((c_void_p * len(blocks))(*blocks)))
            how_many[0] = len(attributes)
        return 1

    # -- passes ----------------------------------------------------------------------------------------------------

    def _run(
        self, name: bytes, text: bytes, result: Any, keys: Any, values: Any, count: int, called: bytes, *rest: Any
    ) -> int:
        *parameters, callback, handle = rest
        args, aux = _arrays(*parameters[:9]), _arrays(*parameters[9:])
        graph, options = json.loads(text), _texts(keys, values, count)
        self.log.append(
            ["pass", name.decode(), called.decode(), json.loads(text), options, _listed(args), _listed(aux)]
        )

        host = _Host(parameters, callback, handle)
        answer = self._asked("run", graph, options, args, aux, host)
        if answer is None:
            return 0
        if answer != "":
            text = answer if isinstance(answer, (str, bytes, bytearray)) else json.dumps(answer)
            content = text.encode() if isinstance(text, str) else bytes(text)
            result[0] = self.lend(content if isinstance(text, bytearray) else content + b"\0")
        return 1


class _Host:
    """What a pass may do to parameters."""

    def __init__(self, parameters: Any, callback: Any, handle: Any) -> None:
        self._parameters = parameters
        self._callback = callback
        self._handle = handle

    def allocate(
        self, name: Any, values: Any, is_arg: bool = True, dtype: Any = None, device: str = "cpu", shape: Any = None
    ) -> bool:
        """Ask for a parameter, and write its values; tell whether there was memory."""
        array = numpy.asarray(values)
        number = DTYPES.index(array.dtype.name) if dtype is None else dtype
        lengths = array.shape if shape is None else shape
        data = c_void_p()
        named = None if name is None else name.encode()
        row = (c_int64 * max(len(lengths), 1))(*lengths)
        self._callback(self._handle, row, len(lengths), device.encode(), 0, number, named, is_arg, ctypes.byref(data))
        if data.value:
            ctypes.memmove(data.value, numpy.ascontiguousarray(array).ctypes.data, array.nbytes)
        return bool(data.value)

    def change(self, name: str, values: Any) -> None:
        """Write other values into a parameter that is there."""
        for names, count, data, *_ in (self._parameters[:9], self._parameters[9:]):
            for index in range(count):
                if names[index].decode() == name:
                    array = numpy.ascontiguousarray(values)
                    ctypes.memmove(data[index], array.ctypes.data, array.nbytes)


def _texts(keys: Any, values: Any, count: int) -> dict[str, str]:
    return {keys[index].decode(): values[index].decode() for index in sorted(range(count), key=keys.__getitem__)}


def _arrays(
    names: Any, count: int, data: Any, shapes: Any, dims: Any, types: Any, versions: Any, devices: Any, device_ids: Any
) -> dict[str, numpy.ndarray]:
    """Return the parameters by name: copies, as they are the host's."""
    found = {}
    for index in range(count):
        shape, dtype = tuple(shapes[index][: dims[index]]), numpy.dtype(DTYPES[types[index]])
        size = int(numpy.prod(shape, dtype=int)) * dtype.itemsize
        if devices[index] != b"cpu" or device_ids[index] != 0:
            raise AssertionError(f"{names[index]!r} is on {devices[index]!r} {device_ids[index]}")
        content = ctypes.string_at(data[index], size) if size else b""
        found[names[index].decode()] = numpy.frombuffer(content, dtype).reshape(shape)
    return found


def _listed(arrays: dict[str, numpy.ndarray]) -> dict[str, list[Any]]:
    """Return name: [dtype, values] for JSON."""
    return {name: [array.dtype.name, array.tolist()] for name, array in sorted(arrays.items())}
