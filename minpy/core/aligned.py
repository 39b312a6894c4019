"""Large arrays whose memory begins at a cache line: wide loads and stores then touch one line each, not two.

C's allocator gives multiples of 16 bytes. Arrays created here own their memory like any other NumPy array; only the
allocator differs (NEP 49, "Data allocation strategies"): C's `aligned_alloc`, whose memory NumPy frees as its own.

Importing this has no side effect: C functions are looked up, and the C library is made to keep freed memory, when the
first large array is created here.
"""

from __future__ import annotations

import ctypes
import math
import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy

__all__ = ["LARGE", "copied", "empty", "is_large", "prepare", "zeros"]

_ALIGNMENT = 64
# In bytes: with smaller arrays less is gained than the calls cost.
LARGE = 1 << 14
# In bytes: from this size on NumPy asks for large pages, where the system gives them on request.
_HUGE = 1 << 22

# In bytes: the largest threshold that glibc adapts to (`DEFAULT_MMAP_THRESHOLD_MAX` in its malloc.c).
_MAX_THRESHOLD = 1 << 25

# Indices into NumPy's table of C functions ("Array API" in its manual), since version 1.22.
_SET_HANDLER, _GET_HANDLER = 304, 305
# The name of the capsules of allocators.
_CAPSULE_NAME = b"mem_handler"


class _Allocator(ctypes.Structure):
    """`PyDataMemAllocator`."""

    _fields_ = [(name, ctypes.c_void_p) for name in ("ctx", "malloc", "calloc", "realloc", "free")]


class _Allocation(NamedTuple):
    """The allocators, and the functions that arrays are created with."""

    set_handler: Callable[[Any], Any]  # sets NumPy's allocator, and returns the one before
    aligning: Any  # the capsule of the allocator that aligns
    default: Any  # the capsule of NumPy's own
    advise: Callable[[int, int], None] | None  # asks for large pages, for an address and a number of bytes


class _Handler(ctypes.Structure):
    """`PyDataMem_Handler`."""

    _fields_ = [("name", ctypes.c_char * 127), ("version", ctypes.c_uint8), ("allocator", _Allocator)]


def _function(address: int, *types: Any) -> Callable[..., Any]:
    function: Callable[..., Any] = ctypes.PYFUNCTYPE(*types)(address)
    return function


def _api(capsule_pointer: Callable[..., Any]) -> Any:
    """Return NumPy's table of C functions."""
    # NumPy 1.26 has a `numpy._core`, too, once something was unpickled that NumPy 2 had pickled: with little in it.
    core = getattr(numpy, "core" if numpy.__version__.startswith("1.") else "_core")
    table = capsule_pointer(core.multiarray._ARRAY_API, None)
    return ctypes.cast(table, ctypes.POINTER(ctypes.c_void_p))


def _keep_freed_memory() -> None:
    """Have the C library keep the memory of large arrays that are freed, for the next ones.

    glibc maps a block that is larger than any that was freed before from the system, page by page as it is written to,
    and unmaps it at once when it is freed; blocks over 32 MiB always. A training step would pay for that with each of
    its arrays, several times the cost of computing with it. Freeing one block raises the threshold to its size, and
    glibc then keeps up to twice as much.
    """
    library = ctypes.CDLL(None)
    allocate = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t)(("malloc", library))
    free = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(("free", library))
    free(allocate(_MAX_THRESHOLD - (1 << 16)))


def _adviser() -> Callable[[int, int], None] | None:
    """Return the function of an address and a number of bytes that asks for large pages."""
    import mmap  # for its constants

    advice = getattr(mmap, "MADV_HUGEPAGE", None)
    if advice is None:
        return None
    advise = ctypes.CDLL(None).madvise
    advise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    page = mmap.PAGESIZE

    def ask(address: int, nbytes: int) -> None:
        start = -(-address // page) * page
        # Its result does not matter: without large pages there are small ones.
        advise(start, address + nbytes - start, advice)

    return ask


@cache
def _allocation() -> _Allocation | None:
    """Return what aligned arrays are created with; None where memory cannot be aligned."""
    if sys.platform != "linux" or sys.implementation.name != "cpython":
        return None
    object_ = ctypes.py_object
    pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, object_, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi)
    )
    capsule_of = ctypes.PYFUNCTYPE(object_, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
        ("PyCapsule_New", ctypes.pythonapi)
    )
    api = _api(pointer_of)
    set_handler = _function(api[_SET_HANDLER], object_, object_)
    default = _function(api[_GET_HANDLER], object_)()
    default_handler = _Handler.from_address(pointer_of(default, _CAPSULE_NAME))
    if default_handler.name != b"default_allocator" or default_handler.version != 1:
        return None  # a foreign one, as of a memory profiler
    allocate = ctypes.cast(ctypes.CDLL(None).aligned_alloc, ctypes.c_void_p).value
    allocator = default_handler.allocator
    # `malloc(ctx, size)` is `aligned_alloc(alignment, size)`.
    handler = _Handler(
        b"minpy_aligned", 1, _Allocator(_ALIGNMENT, allocate, allocator.calloc, allocator.realloc, allocator.free)
    )
    for kept_alive in (handler, _CAPSULE_NAME):  # arrays may be freed after this module is gone
        ctypes.pythonapi.Py_IncRef(object_(kept_alive))
    _keep_freed_memory()
    return _Allocation(set_handler, capsule_of(ctypes.addressof(handler), _CAPSULE_NAME, None), default, _adviser())


def prepare() -> None:
    """Have the C library keep the memory of large arrays, for callers who create them elsewhere."""
    _allocation()


def empty(shape: int | Sequence[int], dtype: Any = float) -> numpy.ndarray:
    """Return a new array whose elements are not set, and which begins at a multiple of 64 bytes if it is large.

    It is C-contiguous, and owns its memory. Where the C library or NumPy does not support this, it begins where
    NumPy's arrays do.

    Examples
    --------
    >>> x = empty((100, 100), "float32")
    >>> x.shape, x.flags.owndata
    ((100, 100), True)
    """
    dtype = numpy.dtype(dtype)
    try:
        nbytes = dtype.itemsize * math.prod(map(int, shape))  # type: ignore[arg-type]
    except TypeError:
        nbytes = dtype.itemsize * int(shape)  # type: ignore[arg-type]
    allocation = _allocation() if nbytes >= LARGE else None
    if allocation is None:
        return numpy.empty(shape, dtype)
    before = allocation.default
    try:
        before = allocation.set_handler(allocation.aligning)  # Ctrl-C may come before anything has been assigned
        array = numpy.empty(shape, dtype)
    finally:
        allocation.set_handler(before)
    if nbytes >= _HUGE and allocation.advise is not None:
        allocation.advise(array.ctypes.data, nbytes)
    return array


def is_large(array: numpy.ndarray) -> bool:
    """Tell whether an array is large, and begins at a multiple of 64 bytes if arrays created here do.

    Examples
    --------
    >>> is_large(empty(10)), is_large(empty((100, 100)))
    (False, True)
    """
    if array.nbytes < LARGE:
        return False
    address: int = array.__array_interface__["data"][0]
    return address % _ALIGNMENT == 0 or _allocation() is None


def zeros(shape: int | Sequence[int], dtype: Any = float) -> numpy.ndarray:
    """Return a new array of zeros, in memory as that of `empty`."""
    array = empty(shape, dtype)
    array.fill(0)
    return array


def copied(source: numpy.ndarray, dtype: Any = None) -> numpy.ndarray:
    """Return a copy of an array, converted as `astype` does it, C-contiguous, in memory as that of `empty`.

    >>> copied(numpy.arange(3), "float32")
    array([0., 1., 2.], dtype=float32)
    """
    copy = empty(source.shape, source.dtype if dtype is None else dtype)
    numpy.copyto(copy, source, casting="unsafe")
    return copy
