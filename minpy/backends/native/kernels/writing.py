"""`Writer`: the text of one function of LLVM IR, with loops."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy

__all__ = ["Writer", "literal", "memory_type", "value_type"]

_FLOATS = {4: "float", 8: "double"}


def value_type(dtype: numpy.dtype) -> str:
    """Return the type of a value in registers.

    >>> value_type(numpy.dtype("float32")), value_type(numpy.dtype("uint16")), value_type(numpy.dtype("bool"))
    ('float', 'i16', 'i1')
    """
    if dtype.kind == "f":
        return _FLOATS[dtype.itemsize]
    return "i1" if dtype.kind == "b" else f"i{8 * dtype.itemsize}"


def memory_type(dtype: numpy.dtype) -> str:
    """Return the type of an element in memory: bools are bytes there."""
    return "i8" if dtype.kind == "b" else value_type(dtype)


def literal(value: Any, dtype: numpy.dtype) -> str:
    """Return a number as LLVM reads it, exactly.

    >>> literal(0.1, numpy.dtype("float32")), literal(-1, numpy.dtype("uint8")), literal(True, numpy.dtype("bool"))
    ('0x3FB99999A0000000', '-1', 'true')
    """
    if dtype.kind == "f":
        with numpy.errstate(all="ignore"):
            return "0x" + struct.pack(">d", float(dtype.type(value))).hex().upper()
    return ("true" if value else "false") if dtype.kind == "b" else str(int(value))


class Writer:
    """Writes a function line by line. Names are numbers in order, so that equal functions have equal texts.

    Attributes
    ----------
    declares : set of str
        The declarations of intrinsics.
    uses : set of (str, str)
        Functions of mathematics, and their types.
    metadata : list of str
        Nodes; `!#0` is the first.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.allocations: list[str] = []
        self.declares: set[str] = set()
        self.uses: set[tuple[str, str]] = set()
        self.metadata: list[str] = []
        self._numbers = 0
        self._labels = 0
        self._group: str | None = None
        self._block = "entry"
        self.marked = False
        # Whether loops stay loops, so that large nests do not become long code.
        self.is_rolled = False

    # -- lines -------------------------------------------------------------------------------------------------------

    def fresh(self) -> str:
        """Return a new name."""
        self._numbers += 1
        return f"%v{self._numbers}"

    def give(self, text: str) -> str:
        """Write an instruction, and return the name of what it gives."""
        name = self.fresh()
        self.lines.append(f"  {name} = {text}")
        return name

    def do(self, text: str) -> None:
        """Write an instruction that gives nothing."""
        self.lines.append(f"  {text}")

    def label(self) -> str:
        """Return a new name of a block."""
        self._labels += 1
        return f"b{self._labels}"

    def begin(self, label: str) -> None:
        """Begin a block, into which the one before must have branched."""
        self.lines.append(f"{label}:")
        self._block = label

    def allocate(self, count: int, element: str) -> str:
        """Return a pointer to memory on the stack, made once a call."""
        name = self.fresh()
        self.allocations.append(f"  {name} = alloca [{count} x {element}], align 64")
        return name

    def intrinsic(self, name: str, result: str, *arguments: tuple[str, str], flags: str = "") -> str:
        """Write a call of an intrinsic, given its full name, and the types and values of its arguments."""
        self.declares.add(f"declare {result} @{name}({', '.join(kind for kind, _ in arguments)})")
        return self.give(f"call {flags}{result} @{name}({', '.join(f'{kind} {value}' for kind, value in arguments)})")

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
        return pointer if index == "0" else self.give(f"getelementptr inbounds {element}, ptr {pointer}, i64 {index}")

    def load(self, pointer: str, dtype: numpy.dtype) -> str:
        """Return an element as a value."""
        found = self.give(f"load {memory_type(dtype)}, ptr {pointer}{self.mark()}")
        return self.give(f"icmp ne i8 {found}, 0") if dtype.kind == "b" else found

    def store(self, value: str, pointer: str, dtype: numpy.dtype) -> None:
        """Write a value to memory."""
        if dtype.kind == "b":
            value = self.give(f"zext i1 {value} to i8")
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
        before, header, latch, after = (self.label() for _ in range(4))
        variable = self.fresh()
        following = self.fresh()
        self.do(f"br label %{before}")
        self.begin(before)
        if not runs if isinstance(start, str) or isinstance(end, str) else start >= end:
            inside = self.give(f"icmp slt i64 {start}, {end}")
            self.do(f"br i1 {inside}, label %{header}, label %{after}")
        else:
            self.do(f"br label %{header}")
        self.begin(header)
        self.do(f"{variable} = phi i64 [ {start}, %{before} ], [ {following}, %{latch} ]")
        yield variable
        self.do(f"br label %{latch}")
        self.begin(latch)
        self.do(f"{following} = add nuw nsw i64 {variable}, {step}")
        again = self.give(f"icmp slt i64 {following}, {end}")
        self.do(f"br i1 {again}, label %{header}, label %{after}{hint}")
        self.begin(after)

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
        then, after = self.label(), self.label()
        self.do(f"br i1 {condition}, label %{then}, label %{after}")
        self.begin(then)
        yield
        self.do(f"br label %{after}")
        self.begin(after)

    def load_if(self, condition: str | None, places: Sequence[tuple[str, numpy.dtype]]) -> list[str]:
        """Return elements as values; zeros, if there is a condition and it does not hold: nothing is read then."""
        if condition is None or not places:
            return [self.load(pointer, dtype) for pointer, dtype in places]
        before = self._block
        then, after = self.label(), self.label()
        self.do(f"br i1 {condition}, label %{then}, label %{after}")
        self.begin(then)
        found = [self.load(pointer, dtype) for pointer, dtype in places]
        self.do(f"br label %{after}")
        self.begin(after)
        return [
            self.give(f"phi {value_type(dtype)} [ {literal(0, dtype)}, %{before} ], [ {value}, %{then} ]")
            for value, (_, dtype) in zip(found, places, strict=True)
        ]

    def text(self, parameters: str) -> str:
        """Return the function without its name."""
        return "\n".join([f"({parameters}) {{", "entry:", *self.allocations, *self.lines, "  ret void", "}"])


def _attribute(attribute: str) -> str:
    name, _, value = attribute.partition(" ")
    return f'!{{!"llvm.loop.{name}", {value}}}'
