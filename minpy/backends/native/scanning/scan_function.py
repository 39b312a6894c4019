"""Running sums and products: what they compute, by NumPy and by a generated kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from minpy.backends.native.kernels.function_writer import Writer, memory_type
from minpy.backends.native.kernels.kernel import Kernel, Pointer
from minpy.backends.native.language import Array, Call

__all__ = ["Scan"]

_INSTRUCTIONS = {"add": "add", "multiply": "mul"}


@dataclass(frozen=True)
class Scan:
    """The function of a call that accumulates along the second axis of (before, length, after).

    Attributes
    ----------
    function : {'add', 'multiply'}
        Of numbers; one after the other, as NumPy's accumulate does.

    Examples
    --------
    >>> Scan("add")(numpy.ones((1, 3, 1))).reshape(-1).tolist()
    [1.0, 2.0, 3.0]
    """

    function: str

    @property
    def __name__(self) -> str:
        return f"scan of {self.function}"

    def __call__(self, values: Any) -> Any:
        with numpy.errstate(all="ignore"):
            return getattr(numpy, self.function).accumulate(values, axis=1)

    def kernels(self, call: Call) -> Sequence[Kernel]:
        """Return the kernel."""
        return (_kernel(self.function, call.operands[0], call.output),)

    def label(self) -> str:
        """Return what is done."""
        return self.__name__


def _kernel(function: str, values: Array, result: Array) -> Kernel:
    assert values.is_contiguous
    assert result.is_contiguous
    before, length, after = result.shape
    kind = memory_type(result.dtype)
    instruction = ("f" if result.dtype.kind == "f" else "") + _INSTRUCTIONS[function]
    w = Writer()
    with w.loop("%begin", "%end") as outer:
        start = w.put(f"mul i64 {outer}, {length * after}")
        source, target = w.offset("%p0", kind, start), w.offset("%p1", kind, start)
        with w.loop(0, after, hint=w.hint(parallel=True)) as number, w.independent():
            first = w.load(w.offset(source, kind, number), result.dtype)
            w.store(first, w.offset(target, kind, number), result.dtype)
        with w.loop(1, length) as step:
            place = w.put(f"mul i64 {step}, {after}")
            row, sums = w.offset(source, kind, place), w.offset(target, kind, place)
            last = w.offset(sums, kind, str(-after))
            with w.loop(0, after, hint=w.hint(parallel=True)) as number, w.independent():
                value = w.load(w.offset(row, kind, number), result.dtype)
                so_far = w.load(w.offset(last, kind, number), result.dtype)
                total = w.put(f"{instruction} {kind} {so_far}, {value}")
                w.store(total, w.offset(sums, kind, number), result.dtype)
    return Kernel(
        w.function("ptr noalias %p0, ptr noalias %p1, ptr noalias %scratch, i64 %begin, i64 %end"),
        (Pointer(values.root, values.layout.offset), Pointer(result.root, result.layout.offset, True)),
        metadata=tuple(w.metadata),
        splits=before,
        flops=result.size,
        bytes_moved=2 * result.nbytes,
        name="scan",
    )
