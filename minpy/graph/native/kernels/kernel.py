"""`Kernel`: one function of native code, as LLVM IR, and the memory that it is to be called with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from minpy.graph.native.language import Array

__all__ = ["Kernel", "Pointer"]


@dataclass(frozen=True, slots=True)
class Pointer:
    """An argument of a kernel: memory of an array that is no view, from an offset on.

    Attributes
    ----------
    array : Array
    offset : int
        In elements.
    written : bool
        Whether the kernel writes there.
    """

    array: Array
    offset: int = 0
    written: bool = False


@dataclass(frozen=True, slots=True)
class Kernel:
    """A function `void NAME(ptr %p0, ..., ptr %scratch, i64 %begin, i64 %end)`, and what it is called with.

    Attributes
    ----------
    body : str
        The function's parameters and body, all but its name: kernels with the same body are one function. Written as
        `(ptr noalias %p0, ..., ptr noalias %scratch, i64 %begin, i64 %end) { ... }`.
    pointers : tuple of Pointer
    uses : frozenset of (str, str)
        The functions of `mathematics` that it calls, and their dtypes: ("exp", "float").
    declares : frozenset of str
        The declarations of LLVM's intrinsics that it needs, a line each.
    metadata : tuple of str
        Texts of nodes of metadata, such as `distinct !{!#0, !{!"llvm.loop.mustprogress"}}`: `!#0`, `!#1` and so on
        stand for them in the body, and in one another; a module gives them their numbers.
    splits : int
        The length of the range of which a call does [begin, end), so that two threads can each do a part; 1 if it
        cannot be split: the call is with 0 and 1.
    in_place : frozenset of (int, int)
        Pairs of pointers, one written and one read, whose memory may be the same, address for address: each element is
        read before it is written to. All other memory that a kernel writes to is read and written by nobody else.
    scratch : int
        The bytes of scratch memory that each call needs for itself, aligned to 64.
    flops, bytes_moved : int
        For reports and for the choice of threads: operations on numbers, bytes read and written in memory.
    name : str
        What reports call it, and what its function's name begins with.
    is_written : bool
        Whether its loops are written with vectors, as they are to run: LLVM's passes over loops would change nothing.
    """

    body: str
    pointers: tuple[Pointer, ...]
    uses: frozenset[tuple[str, str]] = frozenset()
    declares: frozenset[str] = frozenset()
    metadata: tuple[str, ...] = ()
    in_place: frozenset[tuple[int, int]] = frozenset()
    splits: int = 1
    scratch: int = 0
    flops: int = 0
    bytes_moved: int = 0
    name: str = "kernel"
    is_written: bool = False
