"""A part of a program as Python source, and what it names: some of it is another object for each context."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy

from minpy.backends.native.answers import Settled
from minpy.backends.native.running import ContextMemory
from minpy.backends.parts import SourcePart
from minpy.graph.ir import Node

__all__ = ["COERCED", "Answer", "Code", "NativePart", "NodeCall", "StridedView"]

# Stands for what a part calls where arrays do not fit, with all that it was given: itself, with copies.
COERCED = object()


@dataclass(frozen=True, slots=True)
class NodeCall:
    """Stands for the function of a node, which may be another for each context."""

    node: Node


@dataclass(frozen=True, slots=True)
class StridedView:
    """Stands for an array laid into the block of memory of a context, at an offset in bytes."""

    offset: int
    shape: tuple[int, ...]
    dtype: numpy.dtype
    strides: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Code:
    """Stands for a segment, which is a function of its own for each context."""

    name: str


@dataclass(frozen=True, slots=True)
class Answer:
    """Stands for what makes answers of a call fit: `Settled`, with the block of memory of a context."""

    what: str
    shape: tuple[int, ...]
    dtype: numpy.dtype


class NativePart(SourcePart):
    """The forward or backward part of a program, or what prepares it, native code inside."""

    title = "minpy native program"

    @cached_property
    def is_native(self) -> bool:
        """Whether it calls no function of Python's that could fail, between segments."""
        return "matmul" not in self.constants and not any(isinstance(one, Answer) for one in self.constants.values())

    def made(self, calls: Callable[[Node], Any], memory: ContextMemory, coerced: Any = None) -> Callable[..., Any]:
        """Return the function for one context, with the functions of its steps, its memory, and what coerces."""
        return self.function(
            coerced if one is COERCED else _made(one, calls, memory) for one in self.constants.values()
        )


def _made(value: Any, call_of: Callable[[Node], Any], memory: ContextMemory) -> Any:
    if isinstance(value, NodeCall):
        return call_of(value.node)
    if isinstance(value, Code):
        return memory.segments[value.name]
    if isinstance(value, StridedView):
        return numpy.ndarray(value.shape, value.dtype, memory.block, value.offset, value.strides)
    if isinstance(value, Answer):
        return Settled(value.what, value.shape, value.dtype, memory.block)
    return value
