"""Native code as functions that Python calls like its own: by CPython's calling convention, with nothing in between.

A function of C, or of LLVM IR, `PyObject *f(PyObject *self, PyObject *const *args, Py_ssize_t n)` becomes a builtin
(`METH_FASTCALL`; "Common Object Structures" in the C API's manual). `self` is a NumPy array: its table of addresses and
constants. Arguments come as they are: whoever calls has made sure that they are arrays of the right dtype, shape and
layout, whose memory begins where a pointer in the array object says.

Where that pointer is follows from the build of Python (an object's head has 16 bytes, 32 in free-threaded builds, which
`PyArrayObject_fields` of NumPy's `ndarraytypes.h` follows), and is verified once, on arrays of several kinds. In a
free-threaded build the functions run as they do elsewhere, only that several threads may be in one at a time: it must
not write to memory that all calls share.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy

from minpy.core.errors import ArgumentError, LibraryError, describe

__all__ = ["Offsets", "builtin", "offsets"]

_METH_FASTCALL = 0x80


class _MethodDef(ctypes.Structure):
    """`PyMethodDef`: what CPython reads of a builtin at every call."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


class _Table(numpy.ndarray[Any, Any]):
    """A table, and what must live as long as the builtin whose `self` it is."""

    keep_alive: tuple[Any, ...]


@cache
def _constructor() -> Any:
    function = ctypes.pythonapi.PyCFunction_NewEx
    # A prototype of one's own: that of `ctypes.pythonapi` is shared with everybody.
    return ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.py_object)(
        ctypes.cast(function, ctypes.c_void_p).value or 0
    )


def builtin(address: int, name: str, table: numpy.ndarray[Any, Any], *owners: Any) -> Callable[..., Any]:
    """Return a Python function that calls native code.

    Parameters
    ----------
    address : int
        Of `PyObject *f(PyObject *self, PyObject *const *args, Py_ssize_t n)`, which returns a new reference, or NULL
        with an exception set. It takes positional arguments only, as many as it is given.
    name : str
        What the function is called.
    table : numpy.ndarray
        A C-contiguous array, of any dtype and shape: `self` is an array of the same memory, at `offsets().data`.
    *owners
        What else lives as long as the function: the code itself (`llvm.Loaded`), memory that the table points to.

    Examples
    --------
    >>> import ctypes, numpy
    >>> id_of = ctypes.cast(ctypes.pythonapi.PyLong_FromVoidPtr, ctypes.c_void_p).value
    >>> table = numpy.zeros(2, numpy.intp)
    >>> f = builtin(id_of, 'where', table)  # a function of one argument, which is `self`
    >>> f() == id(f.__self__)
    True
    """
    if not isinstance(table, numpy.ndarray) or not table.flags.c_contiguous:
        raise ArgumentError(f"builtin: the table must be a C-contiguous NumPy array, got {describe(table)}.")
    if not address:
        raise ArgumentError(f"builtin: the code of {name!r} has no address.")
    offsets()
    definition = _MethodDef(name.encode(), address, _METH_FASTCALL, None)
    self_table = table.view(_Table)
    # CPython lets go of `self` last: "m_ml ... could be kept alive by m_self" (meth_dealloc).
    self_table.keep_alive = (definition, owners)
    function: Callable[..., Any] = _constructor()(ctypes.addressof(definition), self_table, None)
    return function


class Offsets(NamedTuple):
    """Where the parts of a NumPy array's object lie, in bytes: `PyArrayObject_fields` behind the head of an object."""

    kind: int
    data: int
    axes: int
    shape: int
    dtype: int
    flags: int


@cache
def offsets() -> Offsets:
    """Return where the parts of a NumPy array's object lie, as they do in arrays of several kinds.

    >>> x = numpy.arange(3.0)
    >>> ctypes.c_void_p.from_address(id(x) + offsets().data).value == x.ctypes.data
    True
    """
    head = object.__basicsize__
    at = Offsets(head - 8, head, head + 8, head + 16, head + 40, head + 48)
    base = numpy.arange(24.0)
    arrays = [
        base[5:],
        base[::-2],
        base.reshape(2, 3, 4)[1:, :, 2],
        numpy.zeros((3, 2), "int16", order="F")[1:],
        numpy.zeros((), "bool"),
        numpy.zeros((0, 3)),
        numpy.zeros(3, numpy.intp).view(_Table),
    ]
    arrays[-2].setflags(write=False)
    for array in arrays:
        address = id(array)
        shape = ctypes.c_size_t.from_address(address + at.shape).value
        fields = (
            ctypes.c_size_t.from_address(address + at.kind).value,
            ctypes.c_void_p.from_address(address + at.data).value or 0,
            ctypes.c_int.from_address(address + at.axes).value,
            tuple((ctypes.c_ssize_t * array.ndim).from_address(shape)) if array.ndim else (),
            ctypes.c_size_t.from_address(address + at.dtype).value,
            ctypes.c_int.from_address(address + at.flags).value,
        )
        expected = (id(type(array)), array.ctypes.data, array.ndim, array.shape, id(array.dtype), array.flags.num)
        if fields != expected:
            raise LibraryError(
                f"NumPy {numpy.__version__} keeps elements, shapes and dtypes of arrays where they cannot be found: "
                "native code cannot take arrays."
            )
    return at
