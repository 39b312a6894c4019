"""`Kernel`: one function of native code, as LLVM IR, and the memory that it is to be called with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from minpy.backends.native.language.array_and_step import Array

__all__ = ["Kernel", "Pointer", "is_long", "seconds"]

# What this kind of processor does in a second on one core, roughly: to tell what takes long enough for a step aside.
_FLOPS, _BYTES = 2e9, 1e10
# The helper thread is at work some microseconds after it has been asked.
_WORTH_SHARING = 40e-6


def seconds(flops: int, nbytes: int) -> float:
    """Return about how long so many operations, and so many bytes read and written, take in one thread."""
    return max(flops / _FLOPS, nbytes / _BYTES)


def is_long(duration: float) -> bool:
    """Tell whether what takes so many seconds in one thread is worth waking the helper thread."""
    return duration >= _WORTH_SHARING


@dataclass(frozen=True, slots=True)
class Pointer:
    """An argument of a kernel: memory of an array that is no view, from an offset on."""

    array: Array
    offset: int = 0  # in elements
    written: bool = False  # whether the kernel writes there


@dataclass(frozen=True, slots=True)
class Kernel:
    """A function `void NAME(ptr %p0, ..., ptr %scratch, i64 %begin, i64 %end)`, and what it is called with.

    Attributes
    ----------
    flops, bytes_moved : int
        For reports and for the choice of threads: operations on numbers, bytes read and written in memory.
    """

    # The function's parameters and body, all but its name: kernels with the same body are one function. Written as
    # `(ptr noalias %p0, ..., ptr noalias %scratch, i64 %begin, i64 %end) { ... }`.
    body: str
    pointers: tuple[Pointer, ...]
    # The functions of `mathematics` that it calls, and their dtypes: ("exp", "float").
    uses: frozenset[tuple[str, str]] = frozenset()
    declares: frozenset[str] = frozenset()  # the declarations of LLVM's intrinsics that it needs, a line each
    # Texts of nodes of metadata, such as `distinct !{!#0, !{!"llvm.loop.mustprogress"}}`: `!#0`, `!#1` and so on stand
    # for them in the body, and in one another; a module gives them their numbers.
    metadata: tuple[str, ...] = ()
    # Pairs of pointers, one written and one read, whose memory may be the same, address for address: each element is
    # read before it is written to. All other memory that a kernel writes to is read and written by nobody else.
    in_place: frozenset[tuple[int, int]] = frozenset()
    # The length of the range of which a call does [begin, end), so that two threads can each do a part; 1 if it cannot
    # be split: the call is with 0 and 1.
    splits: int = 1
    # Memory for what each part of the range leaves of reductions, if it does: one of the pointers is to it. A call with
    # [splits, splits + 1), when all else is done, makes results of that; one call may do both, up to `end`.
    partials: Array | None = None
    scratch: int = 0  # the bytes of scratch memory that each call needs for itself, aligned to 64
    flops: int = 0
    bytes_moved: int = 0
    name: str = "kernel"  # what reports call it, and what its function's name begins with
    # Whether its loops are written with vectors, as they are to run: LLVM's passes over loops would change nothing.
    is_written: bool = False

    @property
    def end(self) -> int:
        """The end of the range of a call that does everything."""
        return max(self.splits, 1) + (self.partials is not None)
