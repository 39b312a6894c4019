"""LLVM IR written instruction by instruction: the base class of all writers of functions.

Names are numbers in order, so that equal functions have equal texts. `kernels.function_writer` adds elements in
memory and hints for LLVM, `convolutions.vector_writer` vectors and integers known while writing,
`mathematics.scalar_function` Python's operators.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from typing import Any, NamedTuple

import numpy

__all__ = ["FunctionWriter", "Loop", "literal"]


def literal(kind: str, number: Any) -> str:
    """Return a number of a type as LLVM reads it, exactly; floats are rounded to their type.

    >>> literal("float", 0.1), literal("i8", -1), literal("i1", True)
    ('0x3FB99999A0000000', '-1', 'true')
    """
    if kind in ("float", "double"):
        with numpy.errstate(all="ignore"):
            value = float(numpy.float32(number)) if kind == "float" else float(number)
        return "0x" + struct.pack(">d", value).hex().upper()
    if kind == "i1":
        return "true" if number else "false"
    return str(int(number))


class Loop(NamedTuple):
    """A loop that is being written: its counter, the block before it, and the one from which it goes on."""

    counter: str
    before: str
    latch: str


class FunctionWriter:
    """The body of a function as it grows.

    Attributes
    ----------
    lines : list of str
    block : str
        The block that is being written.

    Examples
    --------
    >>> code = FunctionWriter()
    >>> with code.counted(0, 3, runs=True) as loop:
    ...     place = code.address('%p0', 'float', loop.counter)
    ...     code.do(f'store float 0.0, ptr {place}')
    >>> print(code.text())
    entry:
      br label %b1
    b1:
      br label %b2
    b2:
      %v1 = phi i64 [ 0, %b1 ], [ %v2, %b3 ]
      %v3 = getelementptr float, ptr %p0, i64 %v1
      store float 0.0, ptr %v3
      br label %b3
    b3:
      %v2 = add nuw nsw i64 %v1, 1
      %v4 = icmp slt i64 %v2, 3
      br i1 %v4, label %b2, label %b4
    b4:
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.block = "entry"
        # What a module has to declare or define for the function, name to text: intrinsics, constant tables.
        self.required: dict[str, str] = {}
        self._values = 0
        self._blocks = 0

    def text(self) -> str:
        """Return what has been written."""
        return "\n".join(["entry:", *self.lines])

    def fresh(self) -> str:
        """Return a new name of a value."""
        self._values += 1
        return f"%v{self._values}"

    def put(self, instruction: str) -> str:
        """Write an instruction, and return the name of its result."""
        name = self.fresh()
        self.lines.append(f"  {name} = {instruction}")
        return name

    def do(self, instruction: str) -> None:
        """Write an instruction that has no result."""
        self.lines.append(f"  {instruction}")

    def intrinsic(self, name: str, result: str, *arguments: tuple[str, str], flags: str = "") -> str:
        """Write a call of an intrinsic, given its full name, and the types and values of its arguments."""
        self.required[name] = f"declare {result} @{name}({', '.join(kind for kind, _ in arguments)})"
        return self.put(f"call {flags}{result} @{name}({', '.join(f'{kind} {value}' for kind, value in arguments)})")

    def new_block(self) -> str:
        """Return a new name of a block."""
        self._blocks += 1
        return f"b{self._blocks}"

    def begin(self, block: str) -> None:
        """Begin a block, into which the one before must have branched."""
        self.lines.append(f"{block}:")
        self.block = block

    def go_on_if(self, condition: str, otherwise: str) -> None:
        """Branch to a block if a condition does not hold, and go on in a new one."""
        block = self.new_block()
        self.do(f"br i1 {condition}, label %{block}, label %{otherwise}")
        self.begin(block)

    def go_on_if_all(self, conditions: Sequence[str], otherwise: str) -> None:
        """Branch to a block if one of several conditions does not hold, and go on in a new one."""
        if conditions:
            self.go_on_if(reduce(lambda first, second: self.put(f"and i1 {first}, {second}"), conditions), otherwise)

    @contextmanager
    def counted(
        self, start: int | str, end: int | str, step: int = 1, hint: str = "", runs: bool = False
    ) -> Iterator[Loop]:
        """Write a loop around what is written inside.

        Empty loops run no times, nor may those of which a bound is not known, unless it is said that the loop `runs`.
        """
        before, header, latch, after = (self.new_block() for _ in range(4))
        counter, following = self.fresh(), self.fresh()
        self.do(f"br label %{before}")
        self.begin(before)
        if not runs if isinstance(start, str) or isinstance(end, str) else start >= end:
            inside = self.put(f"icmp slt i64 {start}, {end}")
            self.do(f"br i1 {inside}, label %{header}, label %{after}")
        else:
            self.do(f"br label %{header}")
        self.begin(header)
        self.do(f"{counter} = phi i64 [ {start}, %{before} ], [ {following}, %{latch} ]")
        yield Loop(counter, before, latch)
        self.do(f"br label %{latch}")
        self.begin(latch)
        self.do(f"{following} = add nuw nsw i64 {counter}, {step}")
        again = self.put(f"icmp slt i64 {following}, {end}")
        self.do(f"br i1 {again}, label %{header}, label %{after}{hint}")
        self.begin(after)

    def address(self, pointer: str, kind: str, index: str | int, stride: int = 1) -> str:
        """Return the address of an element, so many strides away."""
        if stride == 0 or index == 0:
            return pointer
        if stride != 1:
            index = index * stride if isinstance(index, int) else self.put(f"mul i64 {index}, {stride}")
        return self.put(f"getelementptr {kind}, ptr {pointer}, i64 {index}")
