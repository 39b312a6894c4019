"""A part of a program as Python source, and what it names: some of it is another object for each runner."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy

from minpy.backends.native.answers import Settled
from minpy.backends.native.running import RunnerMemory
from minpy.graph.ir import Node

__all__ = ["ARGUMENT_MISMATCH", "COERCED", "Answer", "Code", "Laid", "NativePart", "NodeCall"]

# What a part returns where arrays do not fit, if others are there to be called again.
ARGUMENT_MISMATCH = NotImplemented
# Stands for what a part calls where arrays do not fit, with all that it was given: itself, with copies.
COERCED = object()


@dataclass(frozen=True, slots=True)
class NodeCall:
    """Stands for the function of a node, which may be another for each runner."""

    node: Node


@dataclass(frozen=True, slots=True)
class Laid:
    """Stands for an array laid into the block of memory of a runner, at an offset in bytes."""

    offset: int
    shape: tuple[int, ...]
    dtype: numpy.dtype
    strides: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Code:
    """Stands for a segment, which is a function of its own for each runner."""

    name: str


@dataclass(frozen=True, slots=True)
class Answer:
    """Stands for what makes answers of a call fit: `Settled`, with the block of memory of a runner."""

    what: str
    shape: tuple[int, ...]
    dtype: numpy.dtype


class NativePart:
    """The forward or backward part of a program, native code inside.

    Parameters
    ----------
    name : str
        'forward' or 'backward'.
    constants : mapping of str to object
        What its source names.
    body : list of (str, Node or None, str)
        Lines, the node whose step a line is, and what is said of it.
    """

    def __init__(self, name: str, constants: Mapping[str, Any], body: list[tuple[str, Node | None, str]]) -> None:
        self.name = name
        self.constants = dict(constants)
        self.body = body
        self._file = f"<minpy native program, {name}>"
        lines = [(f"def make({', '.join(constants)}):", None, ""), *body, (f"    return {name}", None, "")]
        self.source = "\n".join(line for line, _, _ in lines) + "\n"
        self._nodes = {number: node for number, (_, node, _) in enumerate(lines, 1) if node is not None}
        self._notes = [note for _, _, note in lines]
        scope: dict[str, Any] = {}
        exec(compile(self.source, self._file, "exec"), scope)
        self._make = scope.pop("make")

    @property
    def is_native(self) -> bool:
        """Whether it calls no function of Python's that could fail, between segments."""
        return "matmul" not in self.constants and not any(isinstance(one, Answer) for one in self.constants.values())

    def made(self, calls: Callable[[Node], Any], memory: RunnerMemory, coerced: Any = None) -> Callable[..., Any]:
        """Return the function for one context, with the functions of its steps, its memory, and what coerces."""
        constants = self.constants.values()
        function: Callable[..., Any] = self._make(
            *(coerced if one is COERCED else _made(one, calls, memory) for one in constants)
        )
        return function

    def step_of(self, error: BaseException) -> Node | None:
        """Return the node at whose line an error was raised; None if it was raised elsewhere."""
        for frame, line in traceback.walk_tb(error.__traceback__):
            if frame.f_code.co_filename == self._file and line in self._nodes:
                return self._nodes[line]
        return None

    def described(self) -> str:
        """Return the source with what each line does."""
        rows = zip(self.source.splitlines(), self._notes, strict=True)
        return "\n".join(f"{line:<60} # {note}" if note else line for line, note in rows)


def _made(value: Any, call_of: Callable[[Node], Any], memory: RunnerMemory) -> Any:
    if isinstance(value, NodeCall):
        return call_of(value.node)
    if isinstance(value, Code):
        return memory.segments[value.name]
    if isinstance(value, Laid):
        return numpy.ndarray(value.shape, value.dtype, memory.block, value.offset, value.strides)
    if isinstance(value, Answer):
        return Settled(value.what, value.shape, value.dtype, memory.block)
    return value
