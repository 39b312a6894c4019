"""What native code requires of array arguments, and what is done with those that do not fit.

They are copied into ones that fit, and results copied back. `codegen.builtin_writer` writes the checks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import is_
from typing import Any

import numpy

from minpy.core.buffers import note_write
from minpy.core.errors import DTypeError, MXNetError, ShapeError, describe

__all__ = ["Argument", "coerced", "coerced_groups", "is_singular", "usual"]


@dataclass(frozen=True, slots=True)
class Argument:
    """An array argument: what messages call it, its shape and dtype, and whether it is written to."""

    name: str
    shape: tuple[int, ...]
    dtype: numpy.dtype
    written: bool = False


def usual(dtype: numpy.dtype) -> numpy.dtype:
    """Return the object that NumPy itself uses for a dtype: there may be others that are equal.

    >>> usual(numpy.dtype("longlong")) is usual(numpy.dtype("int64"))
    True
    """
    return numpy.dtype(dtype.str)


def is_singular(dtype: numpy.dtype) -> bool:
    """Tell whether there is one object that NumPy itself uses for a dtype, by which arrays of it are known.

    >>> is_singular(numpy.dtype("float32")), is_singular(numpy.dtype(">f4"))
    (True, False)
    """
    return usual(dtype) is usual(dtype)


def _fits(array: Any, argument: Argument) -> bool:
    """Tell whether an array passes the check that `builtin_writer.write_check` writes."""
    if type(array) is not numpy.ndarray or array.shape != argument.shape or array.dtype is not usual(argument.dtype):
        return False
    flags = array.flags
    return bool(flags.c_contiguous and flags.aligned and (flags.writeable or not argument.written))


def _broadcasts(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    """Tell whether an array of a shape can be read as one of another."""
    lead = len(to) - len(shape)
    return lead >= 0 and all(length in (1, target) for length, target in zip(shape, to[lead:], strict=True))


def coerced(arrays: Sequence[Any], arguments: Sequence[Argument]) -> tuple[list[numpy.ndarray], Callable[[], None]]:
    """Return arrays that native code takes, with the values of those given, and what copies results back.

    Those that are written to keep shape and dtype; others broadcast, and are converted without loss of their kind.

    >>> (x,), finish = coerced([numpy.arange(4.0)[::2]], [Argument('x', (2,), numpy.dtype('float64'), True)])
    >>> x.flags.c_contiguous, x.tolist()
    (True, [0.0, 2.0])
    """
    accepted, copied_back = [], []
    for array, argument in zip(arrays, arguments, strict=True):
        raw = numpy.asarray(array)  # of another class, such as memmap, the memory is taken as it is
        if _fits(raw, argument):
            accepted.append(raw)
            continue
        expected = ""
        if raw.shape != argument.shape and (argument.written or not _broadcasts(raw.shape, argument.shape)):
            expected = f"shape {argument.shape}"
        elif raw.dtype != argument.dtype and (
            argument.written or not numpy.can_cast(raw.dtype, argument.dtype, "same_kind")
        ):
            expected = str(argument.dtype)
        if expected:
            error = ShapeError if expected.startswith("shape") else DTypeError
            raise error(f"{argument.name} is {describe(array)}; the program that was compiled is for {expected}.")
        # Equal dtypes may be other objects (int64 is long, or long long): what native code gets is the usual one.
        copied = numpy.empty(argument.shape, usual(argument.dtype))
        numpy.copyto(copied, raw, casting="same_kind")
        accepted.append(copied)
        if argument.written:
            copied_back.append((raw, copied))

    def finish() -> None:
        for target, values in copied_back:
            numpy.copyto(target, values)
            note_write(target)

    return accepted, finish


def coerced_groups(
    groups: Sequence[Sequence[Any]], arguments: Sequence[Sequence[Argument]]
) -> tuple[list[list[numpy.ndarray]], Callable[[], None]]:
    """Return arrays that native code takes for groups of which it has refused one; and what copies results back."""
    arrays, expected = [*chain(*groups)], [*chain(*arguments)]
    accepted, finish = coerced(arrays, expected)
    if all(map(is_, arrays, accepted)):
        misfits = [
            f"{argument.name}, {argument.dtype} {argument.shape}{', written to' * argument.written}: got {array.dtype} "
            f"{array.shape} at {array.__array_interface__['data'][0]:#x}, strides {array.strides}, "
            f"{'' if array.flags.behaved else 'not '}aligned and writable"
            for argument, array in zip(expected, arrays, strict=True)
        ]
        raise MXNetError(f"native code refuses arrays that were made for it: {'; '.join(misfits)}")
    in_order = iter(accepted)
    return [[next(in_order) for _ in group] for group in groups], finish
