"""What native code requires of the arrays that it is given, and what is done with those that do not fit.

Code for one shape and dtype that is called on an array of another would read what is not there. So every function
looks at the objects it is given, before it does anything: are they NumPy arrays, of this dtype, shape, C-contiguous,
aligned, writeable where they are written to? That takes some nanoseconds each. If one is not, the function does nothing
and says so; then the arrays are copied into ones that fit, and results copied back.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy

from minpy.backends.native.llvm_ir import FunctionWriter
from minpy.backends.native.machine.builtins import data_offset
from minpy.core.buffers import note_write
from minpy.core.errors import DTypeError, LibraryError, MXNetError, ShapeError, describe

__all__ = [
    "ALIGNED",
    "C_CONTIGUOUS",
    "WRITEABLE",
    "Argument",
    "Offsets",
    "coerced",
    "coerced_groups",
    "is_singular",
    "offsets",
    "usual",
    "write_apart",
    "write_check",
]

C_CONTIGUOUS, ALIGNED, WRITEABLE = 0x1, 0x100, 0x400  # of NumPy's ndarraytypes.h


@dataclass(frozen=True, slots=True)
class Argument:
    """An array that is given.

    Attributes
    ----------
    name : str
        What messages call it.
    shape, dtype
    written : bool
        Whether its elements are changed.
    """

    name: str
    shape: tuple[int, ...]
    dtype: numpy.dtype
    written: bool = False


@dataclass(frozen=True, slots=True)
class Offsets:
    """Where the parts of a NumPy array's object lie, in bytes: `PyArrayObject_fields` behind the head of an object."""

    kind: int
    data: int
    axes: int
    shape: int
    dtype: int
    flags: int


@cache
def offsets() -> Offsets:
    """Return where the parts of a NumPy array's object lie.

    Raises
    ------
    LibraryError
        If they are not where this build of NumPy should have them.

    Examples
    --------
    >>> offsets().shape - offsets().data
    16
    """
    data = data_offset()
    found = Offsets(object.__basicsize__ - 8, data, data + 8, data + 16, data + 40, data + 48)
    for array in (numpy.zeros((2, 3)), numpy.zeros((3, 2), "int16", order="F")[1:], numpy.zeros((), "bool")):
        array.setflags(write=array.ndim != 2)
        address = id(array)
        shape = ctypes.c_size_t.from_address(address + found.shape).value
        expected = (
            id(type(array)),
            array.ndim,
            array.shape,
            id(array.dtype),
            array.flags.num,
        )
        seen = (
            ctypes.c_size_t.from_address(address + found.kind).value,
            ctypes.c_int.from_address(address + found.axes).value,
            tuple((ctypes.c_ssize_t * array.ndim).from_address(shape)) if array.ndim else (),
            ctypes.c_size_t.from_address(address + found.dtype).value,
            ctypes.c_int.from_address(address + found.flags).value,
        )
        if seen != expected:
            raise LibraryError(
                f"NumPy {numpy.__version__} keeps shapes and dtypes of arrays where they cannot be found: native code "
                "cannot take arrays."
            )
    return found


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


def write_check(code: FunctionWriter, thing: str, argument: Argument, kind: str, dtype: str, otherwise: str) -> None:
    """Write the code that looks at one object, and goes to a block if it does not fit.

    Parameters
    ----------
    code : FunctionWriter
    thing : str
        The pointer to the object.
    argument : Argument
    kind, dtype : str
        Pointers to NumPy's class of arrays and to the dtype's object.
    otherwise : str
        The name of a block.
    """
    at = offsets()

    def field(what: str, offset: int) -> str:
        return code.put(f"load {what}, ptr {code.address(thing, 'i8', offset)}, align {8 if what != 'i32' else 4}")

    def go_on(tests: Sequence[str]) -> None:
        found = tests[0]
        for test in tests[1:]:
            found = code.put(f"and i1 {found}, {test}")
        code.go_on_if(found, otherwise)

    # What is no array may have no further fields, and an array of other axes no such lengths.
    go_on([code.put(f"icmp eq ptr {field('ptr', at.kind)}, {kind}")])
    wanted = C_CONTIGUOUS | ALIGNED | (WRITEABLE if argument.written else 0)
    flags = code.put(f"and i32 {field('i32', at.flags)}, {wanted}")
    go_on(
        [
            code.put(f"icmp eq i32 {field('i32', at.axes)}, {len(argument.shape)}"),
            code.put(f"icmp eq ptr {field('ptr', at.dtype)}, {dtype}"),
            code.put(f"icmp eq i32 {flags}, {wanted}"),
        ]
    )
    if argument.shape:
        lengths = field("ptr", at.shape)
        places = [code.address(lengths, "i64", axis) for axis in range(len(argument.shape))]
        found = [code.put(f"load i64, ptr {place}") for place in places]
        go_on([code.put(f"icmp eq i64 {one}, {length}") for one, length in zip(found, argument.shape, strict=True)])


def write_apart(code: FunctionWriter, ranges: Sequence[tuple[str, int]], alone: Sequence[int], otherwise: str) -> None:
    """Write the code that goes to a block if some ranges of memory share a byte with another one.

    Parameters
    ----------
    code : FunctionWriter
    ranges : sequence of (str, int)
        Where each begins, a pointer, and its length in bytes.
    alone : sequence of int
        The positions of those that may share no byte.
    otherwise : str
        The name of a block.
    """
    pairs = {(min(one, other), max(one, other)) for one in alone for other in range(len(ranges)) if other != one}
    pairs = {pair for pair in pairs if all(ranges[one][1] for one in pair)}
    if not pairs:
        return
    used = sorted({one for pair in pairs for one in pair})
    begins = {one: code.put(f"ptrtoint ptr {ranges[one][0]} to i64") for one in used}
    found = ""
    for one, other in sorted(pairs):
        # With a the begin of the first, m bytes long, and b that of the second, of n: they meet if -m < a - b < n,
        # which is one comparison of numbers without a sign.
        distance = code.put(f"sub i64 {begins[one]}, {begins[other]}")
        moved = code.put(f"add i64 {distance}, {ranges[one][1] - 1}")
        meets = code.put(f"icmp ult i64 {moved}, {ranges[one][1] + ranges[other][1] - 1}")
        found = code.put(f"or i1 {found}, {meets}") if found else meets
    block = code.new_block()
    code.do(f"br i1 {found}, label %{otherwise}, label %{block}")
    code.begin(block)


def _fits(array: Any, argument: Argument) -> bool:
    """Tell what the code of `write_check` tells."""
    if type(array) is not numpy.ndarray or array.shape != argument.shape or array.dtype is not usual(argument.dtype):
        return False
    flags = array.flags
    return bool(flags.c_contiguous and flags.aligned and (flags.writeable or not argument.written))


def _broadcasts(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    """Tell whether an array of a shape can be read as one of another."""
    lead = len(to) - len(shape)
    return lead >= 0 and all(one in (1, two) for one, two in zip(shape, to[lead:], strict=True))


def coerced(arrays: Sequence[Any], arguments: Sequence[Argument]) -> tuple[list[numpy.ndarray], Callable[[], None]]:
    """Return arrays that native code takes, with the values of those given, and what copies results back.

    Raises
    ------
    ShapeError
        If one has another shape.
    DTypeError
        If one that is written to has another dtype, or none that is converted without loss of its kind.

    Examples
    --------
    >>> (x,), finish = coerced([numpy.arange(4.0)[::2]], [Argument('x', (2,), numpy.dtype('float64'), True)])
    >>> x.flags.c_contiguous, x.tolist()
    (True, [0.0, 2.0])
    """
    found, back = [], []
    for array, argument in zip(arrays, arguments, strict=True):
        raw = numpy.asarray(array)  # of another class, such as memmap, the memory is taken as it is
        if _fits(raw, argument):
            found.append(raw)
            continue
        if raw.shape != argument.shape and (argument.written or not _broadcasts(raw.shape, argument.shape)):
            raise ShapeError(
                f"{argument.name} is {describe(array)}; the program that was compiled is for shape {argument.shape}."
            )
        exact = raw.dtype == argument.dtype
        if not exact and (argument.written or not numpy.can_cast(raw.dtype, argument.dtype, "same_kind")):
            raise DTypeError(
                f"{argument.name} is {describe(array)}; the program that was compiled is for {argument.dtype}."
            )
        # Equal dtypes may be other objects (int64 is long, or long long): what native code gets is the usual one.
        copied = numpy.empty(argument.shape, usual(argument.dtype))
        numpy.copyto(copied, raw, casting="same_kind")
        found.append(copied)
        if argument.written:
            back.append((raw, copied))

    def finish() -> None:
        for target, values in back:
            numpy.copyto(target, values)
            note_write(target)

    return found, finish


def coerced_groups(
    groups: Sequence[Sequence[Any]], arguments: Sequence[Sequence[Argument]]
) -> tuple[list[list[numpy.ndarray]], Callable[[], None]]:
    """Return arrays that native code takes for groups of which it has refused one; and what copies results back.

    Raises
    ------
    ShapeError, DTypeError
        If one has another shape, or a dtype of another kind.
    MXNetError
        If all of them should fit.
    """
    pairs = [coerced(group, expected) for group, expected in zip(groups, arguments, strict=True)]
    if all(
        new is old for group, (made, _) in zip(groups, pairs, strict=True) for new, old in zip(made, group, strict=True)
    ):
        rows = [row for both in zip(arguments, groups, strict=True) for row in zip(*both, strict=True)]
        raise MXNetError(
            "native code refuses arrays that were made for it: "
            + "; ".join(
                f"{one.name}, {one.dtype} {one.shape}{', written to' * one.written}: got {array.dtype} "
                f"{array.shape} at {array.__array_interface__['data'][0]:#x}, strides {array.strides}, "
                f"{'' if array.flags.behaved else 'not '}aligned and writable"
                for one, array in rows
            )
        )

    def finish() -> None:
        for _, copy_back in pairs:
            copy_back()

    return [made for made, _ in pairs], finish
