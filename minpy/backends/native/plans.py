"""What a program became, kept on disk beside its machine code: source of its parts, tables, memory.

A plan is JSON, in a file of `machine.store`, and as well guarded as machine code is. What it refers to is a segment of
the code, a call of the translated program by its number, a constant with its bytes, or one of a few functions; a
program that has anything else is not kept. It holds for one translated program alone (`identity`), which is there when
it is read.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy

from minpy.backends.native.arguments import Argument, usual
from minpy.backends.native.language import Array, Call, Routine
from minpy.backends.native.machine.store import Store
from minpy.backends.native.source import COERCED, Answer, Code, NativePart, NodeCall, StridedView
from minpy.backends.native.table import ARGUMENT_MISMATCH, Table
from minpy.core import aligned
from minpy.core.buffers import note_writes
from minpy.graph.ir import Node
from minpy.graph.outputs import no_alias

if TYPE_CHECKING:
    from minpy.backends.native.building import NativeProgram
    from minpy.graph.steps import Steps

__all__ = ["MOST_BYTES", "Plan", "find", "keep"]

# Constants of more bytes are not kept.
MOST_BYTES = 2**20
# What the source of parts may name.
_OBJECTS: dict[str, Any] = {
    "ARGUMENT_MISMATCH": ARGUMENT_MISMATCH,
    "add": numpy.add,
    "no_alias": no_alias,
    "coerced": COERCED,
    "copyto": numpy.copyto,
    "aligned": aligned.empty,
    "empty": numpy.empty,
    "matmul": numpy.matmul,
    "ndarray": numpy.ndarray,
    "note_writes": note_writes,
}
_NAMES = {id(value): name for name, value in _OBJECTS.items()}


class Plan(NamedTuple):
    """What runs a program.

    Attributes
    ----------
    code : str
        By what the cache finds the machine code.
    segments : tuple of str
        The names of its functions.
    table : Table
    nbytes : int
        The size of the block of memory.
    arguments : tuple of tuple of Argument
        What is given: see `NativeProgram`.
    reads : frozenset of Node
        The variables that the backward part reads.
    parts : dict of str to NativePart
        Forward; and prepare and backward, if there are such.
    preparation : tuple of (tuple of int, int) or None
        Of which arrays something is made that is kept from call to call, and how many bytes that has.
    """

    code: str
    segments: tuple[str, ...]
    table: Table
    nbytes: int
    arguments: tuple[tuple[Argument, ...], ...]
    reads: frozenset[Node]
    parts: dict[str, NativePart]
    preparation: tuple[tuple[int, ...], int] | None


class _Unkeepable(Exception):
    """There is no form for something in a file."""


def find(key: str, steps: Steps, routine: Routine) -> Plan | None:
    """Return the plan that was kept for a translated program; None, if there is none, or it is damaged.

    Parameters
    ----------
    key : str
        Its `identity`.
    steps : Steps
    routine : Routine
        The program in the step language, as translated.
    """
    found = Store(kind="plan").find(key)
    if found is None:
        return None
    try:
        return _Reader(steps, _calls(routine)).plan(json.loads(found[0]))
    except (ValueError, TypeError, LookupError, SyntaxError, RecursionError):
        return None


def keep(key: str, program: NativeProgram, steps: Steps, routine: Routine) -> bool:
    """Keep what a program became, and tell whether that was possible; see `find`."""
    try:
        record = _Writer(_calls(routine)).record(program, steps)
    except _Unkeepable:
        return False
    return Store(kind="plan").keep(key, json.dumps(record, separators=(",", ":")).encode(), ())


def _calls(routine: Routine) -> list[Call]:
    return [step for step in routine.steps if isinstance(step, Call)]


class _Writer:
    """Writes a program as what JSON has."""

    def __init__(self, calls: Sequence[Call]) -> None:
        self.functions = {id(call.function): number for number, call in enumerate(calls) if call.function is not None}
        self.nodes = {call.node: number for number, call in enumerate(calls) if call.node is not None}

    def record(self, program: NativeProgram, steps: Steps) -> dict[str, Any]:
        if program.loaded is None:
            raise _Unkeepable
        made = program.preparation
        return {
            "code": program.loaded.key,
            "segments": [one.name for one in program.segments],
            "slots": [self._slot(slot) for slot in program.table.slots],
            "nbytes": program.memory.nbytes,
            "arguments": [
                [[one.name, one.shape, one.dtype.str, one.written] for one in row] for row in program.arguments
            ],
            "reads": [position for position, node in enumerate(steps.variables) if node in program.reads],
            "parts": [self._part(part) for part in program.parts],
            "preparation": None if made is None else [made.positions, made.size],
        }

    def _slot(self, key: Any) -> Any:
        if isinstance(key, str):
            return ["name", key]
        if isinstance(key, numpy.dtype):
            return ["dtype", key.str]
        if isinstance(key, Array) and key.value is not None:
            return ["array", *self._array(key.value)]
        raise _Unkeepable

    def _array(self, value: numpy.ndarray) -> list[Any]:
        if value.nbytes > MOST_BYTES or value.dtype.hasobject or not isinstance(value.dtype.str, str):
            raise _Unkeepable
        if value.dtype.names:
            raise _Unkeepable
        return [value.dtype.str, value.shape, base64.b64encode(value.tobytes()).decode()]

    def _part(self, part: NativePart) -> list[Any]:
        constants = [[name, self._constant(value)] for name, value in part.constants.items()]
        lines = [[line, None if node is None else self._node(node), note] for line, node, note in part.lines]
        return [part.name, part.parameters, constants, lines]

    def _node(self, node: Node) -> int:
        number = self.nodes.get(node)
        if number is None:
            raise _Unkeepable
        return number

    def _constant(self, value: Any) -> Any:
        if isinstance(value, NodeCall):
            return ["node", self._node(value.node)]
        if isinstance(value, Code):
            return ["code", value.name]
        if isinstance(value, StridedView):
            return ["strided_view", value.offset, value.shape, value.dtype.str, value.strides]
        if isinstance(value, Answer):
            return ["answer", value.what, value.shape, value.dtype.str]
        if id(value) in _NAMES:
            return ["object", _NAMES[id(value)]]
        if id(value) in self.functions:
            return ["function", self.functions[id(value)]]
        if isinstance(value, numpy.dtype):
            if value.names or value.hasobject:
                raise _Unkeepable
            return ["dtype", value.str]
        if type(value) is numpy.ndarray and value.flags.c_contiguous:
            return ["array", *self._array(value)]
        if type(value) is tuple:
            return ["tuple", *map(self._constant, value)]
        if value is None or type(value) in (bool, int, float, str):
            return ["plain", value]
        raise _Unkeepable


class _Reader:
    """Reads what `_Writer` wrote; raises an error of Python's where that is damaged."""

    def __init__(self, steps: Steps, calls: Sequence[Call]) -> None:
        self.steps = steps
        self.calls = calls

    def plan(self, record: dict[str, Any]) -> Plan:
        table = Table()
        for kind, *rest in record["slots"]:
            if kind == "array":
                value = _array_of(*rest)
                table.slot(Array(value.shape, value.dtype, value=value))
            else:
                table.slot(_dtype(rest[0]) if kind == "dtype" else str(rest[0]))
        arguments = tuple(
            tuple(Argument(name, tuple(shape), _dtype(dtype), written) for name, shape, dtype, written in row)
            for row in record["arguments"]
        )
        reads = frozenset(self.steps.variables[position] for position in record["reads"])
        parts = {part.name: part for part in (self._part(*part) for part in record["parts"])}
        made = record["preparation"]
        if "forward" not in parts or ("prepare" in parts) != (made is not None):
            raise ValueError("a plan lacks a part.")
        preparation = None if made is None else (tuple(made[0]), int(made[1]))
        names = tuple(record["segments"])
        return Plan(record["code"], names, table, record["nbytes"], arguments, reads, parts, preparation)

    def _part(self, name: str, parameters: list[str], constants: list[Any], lines: list[Any]) -> NativePart:
        body = [(line, None if number is None else self._node(number), note) for line, number, note in lines]
        return NativePart(name, parameters, {one: self._constant(*value) for one, value in constants}, body)

    def _node(self, number: int) -> Node:
        node = self.calls[number].node
        if node is None:
            raise ValueError("a plan refers to a call of no node.")
        return node

    def _constant(self, kind: str, *rest: Any) -> Any:
        if kind == "tuple":
            return tuple(self._constant(*one) for one in rest)
        if kind == "array":
            return _array_of(*rest)
        (first, *more) = rest
        if kind == "node":
            return NodeCall(self._node(first))
        if kind == "code":
            return Code(first)
        if kind == "strided_view":
            shape, dtype, strides = more
            return StridedView(first, tuple(shape), _dtype(dtype), tuple(strides))
        if kind == "answer":
            shape, dtype = more
            return Answer(first, tuple(shape), _dtype(dtype))
        if kind == "object":
            return _OBJECTS[first]
        if kind == "function":
            return self.calls[first].function
        if kind == "dtype":
            return _dtype(first)
        if kind == "plain":
            return first
        raise ValueError(f"a plan has a constant of the kind {kind!r}.")


def _dtype(text: str) -> numpy.dtype:
    return usual(numpy.dtype(text))


def _array_of(dtype: str, shape: list[int], content: str) -> numpy.ndarray:
    """Return an array of its bytes, which nobody else has."""
    return numpy.frombuffer(base64.b64decode(content), dtype).reshape(shape).copy()
