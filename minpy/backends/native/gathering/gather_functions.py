"""Gathers and scatters as calls of the step language: what they compute, by NumPy and by generated kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from minpy.backends.native.gathering.gather_kernels import gather_kernel, scatter_kernel
from minpy.backends.native.kernels.kernel import Kernel
from minpy.backends.native.language import Call

__all__ = ["WHY", "Gather", "Scatter"]

# Why they are calls, for reports.
WHY = "a generated kernel"


@dataclass(frozen=True)
class Gather:
    """The function of a call that takes slices of data (before, length, after) by positions (count,).

    What it gives has the shape (before, count, after).

    >>> Gather()(numpy.arange(6).reshape(1, 3, 2), numpy.array([2, 0])).tolist()
    [[[4, 5], [0, 1]]]
    """

    __name__ = "gather"

    def __call__(self, data: Any, positions: Any) -> Any:
        return numpy.take(data, positions, axis=1)

    def kernels(self, call: Call) -> Sequence[Kernel]:
        """Return the kernel."""
        data, positions = call.operands
        return (gather_kernel(data, positions, call.output),)

    def label(self) -> str:
        """Return what is done."""
        return "gather"


@dataclass(frozen=True)
class Scatter:
    """The function of a call that places rows of data (count, width) at positions (count,) among `length` rows.

    Attributes
    ----------
    length : int
    adds : bool
        Whether rows are added up, in their order; else the last one of a position stays.
    has_base : bool
        Whether the call is given rows (length, width) that they are placed in a copy of; else these are zeros.

    Examples
    --------
    >>> Scatter(3, True)(numpy.array([[1.0], [2.0], [4.0]]), numpy.array([2, 0, 2])).tolist()
    [[2.0], [0.0], [5.0]]
    """

    length: int
    adds: bool
    has_base: bool = False

    __name__ = "scatter"

    def __call__(self, data: Any, positions: Any, base: Any = None) -> Any:
        result = numpy.zeros((self.length, data.shape[1]), data.dtype) if base is None else numpy.array(base)
        if self.adds:
            numpy.add.at(result, positions, data)
        else:
            result[positions] = data
        return result

    def kernels(self, call: Call) -> Sequence[Kernel]:
        """Return the kernel."""
        data, positions, *base = call.operands
        return (scatter_kernel(data, positions, base[0] if base else None, call.output, self.adds),)

    def label(self) -> str:
        """Return what is done."""
        return f"scatter of {'sums' if self.adds else 'rows'} among {self.length}"
