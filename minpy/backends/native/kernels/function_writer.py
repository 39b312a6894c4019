"""`Writer`: the text of one function of LLVM IR, with loops."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy

from minpy.backends.native.codegen import function_writer
from minpy.backends.native.codegen.function_writer import FunctionWriter
from minpy.core.dtypes import NATIVE_TYPES

__all__ = ["Writer", "literal", "memory_type", "value_type"]


def value_type(dtype: numpy.dtype) -> str:
    """Return the type of a value in registers.

    >>> value_type(numpy.dtype("float32")), value_type(numpy.dtype("uint16")), value_type(numpy.dtype("bool"))
    ('float', 'i16', 'i1')
    """
    return NATIVE_TYPES.get(dtype) or f"i{8 * dtype.itemsize}"  # what is not computed in is copied as bits


def memory_type(dtype: numpy.dtype) -> str:
    """Return the type of an element in memory: bools are bytes there."""
    return "i8" if dtype.kind == "b" else value_type(dtype)


def literal(value: Any, dtype: numpy.dtype) -> str:
    """Return a number as LLVM reads it, exactly.

    >>> literal(0.1, numpy.dtype("float32")), literal(-1, numpy.dtype("uint8")), literal(True, numpy.dtype("bool"))
    ('0x3FB99999A0000000', '-1', 'true')
    """
    return function_writer.literal(value_type(dtype), value)


class Writer(FunctionWriter):
    """Writes a function of kernels, whose accesses may be marked as independent."""

    def __init__(self) -> None:
        super().__init__()
        self.allocations: list[str] = []
        self.uses: set[tuple[str, str]] = set()  # functions of mathematics, and their types
        self.metadata: list[str] = []  # Nodes; `!#0` is the first
        self._group: str | None = None
        self.marked = False
        # Whether loops stay loops, so that large nests do not become long code.
        self.is_rolled = False

    def allocate(self, count: int, element: str) -> str:
        """Return a pointer to memory on the stack, made once a call."""
        name = self.fresh()
        self.allocations.append(f"  {name} = alloca [{count} x {element}], align 64")
        return name

    # -- memory ------------------------------------------------------------------------------------------------------

    def node(self, text: str) -> str:
        """Return the name of a node of metadata."""
        if text not in self.metadata or text.startswith("distinct"):
            self.metadata.append(text)
            return f"!#{len(self.metadata) - 1}"
        return f"!#{self.metadata.index(text)}"

    def mark(self) -> str:
        """Return the metadata that an access has inside a loop whose iterations are independent, to be appended."""
        if not self.marked:
            return ""
        if self._group is None:
            self._group = self.node("distinct !{}")
        return f", !llvm.access.group {self._group}"

    def offset(self, pointer: str, element: str, index: str) -> str:
        """Return a pointer moved by a number of elements."""
        return pointer if index == "0" else self.put(f"getelementptr inbounds {element}, ptr {pointer}, i64 {index}")

    def load(self, pointer: str, dtype: numpy.dtype) -> str:
        """Return an element as a value."""
        result = self.put(f"load {memory_type(dtype)}, ptr {pointer}{self.mark()}")
        return self.put(f"icmp ne i8 {result}, 0") if dtype.kind == "b" else result

    def store(self, value: str, pointer: str, dtype: numpy.dtype) -> None:
        """Write a value to memory."""
        if dtype.kind == "b":
            value = self.put(f"zext i1 {value} to i8")
        self.do(f"store {memory_type(dtype)} {value}, ptr {pointer}{self.mark()}")

    # -- loops -------------------------------------------------------------------------------------------------------

    def hint(self, *attributes: str, parallel: bool = False) -> str:
        """Return metadata for a loop: `llvm.loop.` attributes; `parallel`: marked accesses meet in one iteration only.

        What is marked never depends on another iteration: LLVM need not compare addresses before it vectorises.
        """
        parts = [
            f'!{{!"llvm.loop.{attribute}"}}' if " " not in attribute else _attribute(attribute)
            for attribute in ("mustprogress", *attributes)
        ]
        if parallel:
            if self._group is None:
                self._group = self.node("distinct !{}")
            parts.append(f'!{{!"llvm.loop.parallel_accesses", {self._group}}}')
        number = len(self.metadata)
        self.metadata.append(f"distinct !{{!#{number}, {', '.join(parts)}}}")
        return f", !llvm.loop !#{number}"

    @contextmanager
    def loop(
        self, start: int | str, end: int | str, step: int = 1, hint: str = "", runs: bool = False
    ) -> Iterator[str]:
        """Write a loop around what is written inside, and give its variable.

        Empty loops run no times, nor may those of which a bound is not known, unless it is said that the loop `runs`.
        """
        if not hint and self.is_rolled:
            hint = self.hint("unroll.disable")
        with self.counted(start, end, step, hint, runs) as loop:
            yield loop.counter

    @contextmanager
    def independent(self) -> Iterator[None]:
        """Mark the accesses written inside: they belong to a loop whose hint is `parallel`."""
        before, self.marked = self.marked, True
        yield
        self.marked = before

    @contextmanager
    def when(self, condition: str | None) -> Iterator[None]:
        """Run what is written inside only if a condition holds. Values given inside must not be used after it."""
        if condition is None:
            yield
            return
        then, after = self.new_block(), self.new_block()
        self.do(f"br i1 {condition}, label %{then}, label %{after}")
        self.begin(then)
        yield
        self.do(f"br label %{after}")
        self.begin(after)

    def load_if(self, condition: str | None, places: Sequence[tuple[str, numpy.dtype]]) -> list[str]:
        """Return elements as values; zeros, if there is a condition and it does not hold: nothing is read then."""
        if condition is None or not places:
            return [self.load(pointer, dtype) for pointer, dtype in places]
        before = self.block
        then, after = self.new_block(), self.new_block()
        self.do(f"br i1 {condition}, label %{then}, label %{after}")
        self.begin(then)
        result = [self.load(pointer, dtype) for pointer, dtype in places]
        self.do(f"br label %{after}")
        self.begin(after)
        return [
            self.put(f"phi {value_type(dtype)} [ {literal(0, dtype)}, %{before} ], [ {value}, %{then} ]")
            for value, (_, dtype) in zip(result, places, strict=True)
        ]

    def function(self, parameters: str) -> str:
        """Return the function without its name."""
        return "\n".join([f"({parameters}) {{", "entry:", *self.allocations, *self.lines, "  ret void", "}"])


def _attribute(attribute: str) -> str:
    name, _, value = attribute.partition(" ")
    return f'!{{!"llvm.loop.{name}", {value}}}'
