"""What one runner has of a native program: memory, both parts as functions, and what they are called with.

A part first looks at the arrays that it is given. If one does not fit, as its layout is another, say, it has done
nothing, and is called again with arrays that do, copies of these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy

from minpy.backends.native.arguments import Argument, fitted
from minpy.backends.native.machine import blas, builtins, threads
from minpy.backends.native.table import DESK, SHARE
from minpy.core.errors import MXNetError

if TYPE_CHECKING:
    from minpy.backends.native.machine.llvm import Loaded
    from minpy.backends.native.table import Table

__all__ = ["ALIGNMENT", "UNFIT", "NativeRunner", "RunnerMemory", "aligned"]

# Of the block of memory, and of each array in it, in bytes.
ALIGNMENT = 64

# What parts return where arrays do not fit.
UNFIT = NotImplemented


def aligned(size: int) -> numpy.ndarray:
    """Return new memory of at least one byte that begins at a multiple of `ALIGNMENT`.

    >>> aligned(100).shape
    (100,)
    """
    size = max(size, 1)
    whole = numpy.empty(size + ALIGNMENT, numpy.uint8)
    start = -whole.ctypes.data % ALIGNMENT
    return whole[start : start + size]


class RunnerMemory:
    """A block of memory, and the functions of native code, by their names, that know where it is."""

    def __init__(self, block: numpy.ndarray, segments: Mapping[str, Callable[..., Any]]) -> None:
        self.block = block
        self.segments = segments

    @classmethod
    def made(cls, nbytes: int, table: Table, loaded: Loaded | None, names: Iterable[str]) -> RunnerMemory:
        """Return new memory, and functions that compute in it.

        Parameters
        ----------
        nbytes : int
            The size of the block.
        table : Table
            What the functions refer to.
        loaded : Loaded or None
            Their code.
        names : iterable of str
            How they are called there.
        """
        block = aligned(nbytes)
        if loaded is None:
            return cls(block, {})
        helper = threads.find()
        others = {SHARE: helper.share, DESK: helper.desk} if helper is not None else {}
        addresses = table.filled(block.ctypes.data, blas.find(), others)
        owners = (loaded, block, table)
        return cls(block, {name: builtins.builtin(loaded.address(name), name, addresses, *owners) for name in names})


class NativeRunner:
    """Both parts of a program for one call at a time.

    Parameters
    ----------
    memory : RunnerMemory
    forward : callable
        Of the arrays; returns (heads, what backward reads, what lasts). It may be given arrays as well, or None, one
        for each head, in which these are computed where native code does everything: nothing fails in between then.
    backward : callable or None
        Of the arrays, the heads' gradients, where gradients are asked, and what forward has kept.
    arguments : sequence of sequence of Argument
        What arrays, heads' gradients and arrays for gradients have to be.
    """

    __slots__ = ("arguments", "backward", "forward", "memory")

    def __init__(
        self,
        memory: RunnerMemory,
        forward: Callable[..., Any],
        backward: Callable[..., Any] | None,
        arguments: Sequence[Sequence[Argument]],
    ) -> None:
        self.memory = memory
        self.forward = forward
        self.backward = backward
        self.arguments = arguments

    def fit_forward(self, arrays: Sequence[numpy.ndarray]) -> tuple[Sequence[numpy.ndarray], Any]:
        """Return arrays that fit in place of some that do not, and what the forward part gives for them."""
        arrays, finish = fitted(arrays, self.arguments[0])
        found = self._again(self.forward(arrays), self.arguments[:1], [arrays])
        finish()
        return arrays, found

    def fit_backward(
        self,
        arrays: Sequence[numpy.ndarray],
        heads: Sequence[numpy.ndarray],
        gradients: Sequence[numpy.ndarray],
        kept: list[Any],
    ) -> None:
        """Run the backward part with arrays that fit, in place of some that do not."""
        assert self.backward is not None
        rows = zip((arrays, heads, gradients), self.arguments, strict=True)
        made, finishing = zip(*(fitted(given, expected) for given, expected in rows), strict=True)
        self._again(self.backward(*made, kept), self.arguments, made)
        finishing[2]()

    def _again(
        self, found: Any, expected: Sequence[Sequence[Argument]], given: Sequence[Sequence[numpy.ndarray]]
    ) -> Any:
        if found is UNFIT:
            pairs = [pair for rows in zip(expected, given, strict=True) for pair in zip(*rows, strict=True)]
            raise MXNetError(
                "native code refuses arrays that were made for it: "
                + "; ".join(
                    f"{one.name}, {one.dtype} {one.shape}{', written to' * one.written}: got {array.dtype} "
                    f"{array.shape} at {array.__array_interface__['data'][0]:#x}, strides {array.strides}, "
                    f"{'' if array.flags.behaved else 'not '}aligned and writable"
                    for one, array in pairs
                )
            )
        return found
