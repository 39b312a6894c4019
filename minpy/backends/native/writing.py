"""LLVM IR written instruction by instruction: names, blocks, loops."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Loop", "Writer"]


class Loop(NamedTuple):
    """A loop that is being written: its number, counter, length, and the block before it."""

    number: int
    counter: str
    length: int | str
    before: str

    @property
    def latch(self) -> str:
        """The block at its end, from which it goes on."""
        return f"latch{self.number}"


class Writer:
    """The body of a function as it grows.

    Examples
    --------
    >>> code = Writer()
    >>> loop = code.begin(3)
    >>> place = code.at('%p0', 'float', loop.counter)
    >>> code.do(f'store float 0.0, ptr {place}')
    >>> code.end(loop)
    >>> print(code.text())
    entry:
      br label %loop0
    loop0:
      %i0 = phi i64 [ 0, %entry ], [ %n0, %latch0 ]
      %v1 = getelementptr float, ptr %p0, i64 %i0
      store float 0.0, ptr %v1
      br label %latch0
    latch0:
      %n0 = add i64 %i0, 1
      %c0 = icmp ult i64 %n0, 3
      br i1 %c0, label %loop0, label %done0
    done0:
    """

    def __init__(self) -> None:
        self.lines: list[str] = ["entry:"]
        self.block = "entry"
        self._count = 0

    def text(self) -> str:
        """Return what has been written."""
        return "\n".join(self.lines)

    def number(self) -> int:
        """Return a number for a new name."""
        self._count += 1
        return self._count - 1

    def do(self, instruction: str) -> None:
        """Write an instruction that gives nothing."""
        self.lines.append(f"  {instruction}")

    def put(self, instruction: str) -> str:
        """Write an instruction, and return the name of what it gives."""
        name = f"%v{self.number()}"
        self.lines.append(f"  {name} = {instruction}")
        return name

    def label(self, name: str) -> None:
        """Begin a block."""
        self.lines.append(f"{name}:")
        self.block = name

    def begin(self, length: int | str) -> Loop:
        """Begin a loop that runs at least once: so often as a number says, or a value of the code."""
        number = self.number()
        loop = Loop(number, f"%i{number}", length, self.block)
        self.do(f"br label %loop{number}")
        self.label(f"loop{number}")
        self.do(f"{loop.counter} = phi i64 [ 0, %{loop.before} ], [ %n{number}, %{loop.latch} ]")
        return loop

    def end(self, loop: Loop) -> None:
        """End the innermost loop."""
        number = loop.number
        self.do(f"br label %{loop.latch}")
        self.label(loop.latch)
        self.do(f"%n{number} = add i64 {loop.counter}, 1")
        self.do(f"%c{number} = icmp ult i64 %n{number}, {loop.length}")
        self.do(f"br i1 %c{number}, label %loop{number}, label %done{number}")
        self.label(f"done{number}")

    def at(self, pointer: str, kind: str, index: str | int, stride: int = 1) -> str:
        """Return the address of an element, so many strides away."""
        if stride == 0 or index == 0:
            return pointer
        if stride != 1:
            index = index * stride if isinstance(index, int) else self.put(f"mul i64 {index}, {stride}")
        return self.put(f"getelementptr {kind}, ptr {pointer}, i64 {index}")
