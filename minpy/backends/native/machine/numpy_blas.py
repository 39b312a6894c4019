"""The products of matrices that NumPy itself calls, by their addresses: its BLAS, through the CBLAS interface.

No library is opened: the dynamic loader is asked for symbols of NumPy's extension module and of what that is linked
with, so products here run in the same library, with the same threads, as NumPy's. Builds give its functions different
names, and integers of 32 or 64 bits; both are found out, and results compared with NumPy's, before it is trusted.

Stacks of products (`cblas_sgemm_batch`, `..._strided`) are not taken where they are exported: the first of OpenBLAS
0.3.31 in NumPy's wheels jumps to an offset in a table in place of a function, the second of 0.3.34 fails, too, and the
process ends. So they cannot even be tried.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy

from minpy.backends.native.machine import helper_thread as native_threads

__all__ = ["NO_TRANS", "ROW_MAJOR", "TRANS", "Blas", "find"]

# Of `cblas.h`.
ROW_MAJOR = 101
NO_TRANS, TRANS = 111, 112

# How builds name `cblas_sgemm`: the wheels' OpenBLAS (NumPy 2, and 1.26), MKL and Accelerate with integers of 64 bits;
# the same with 32, which is what Linux distributions and conda have.
_NAMINGS = (
    "scipy_{}64_",
    "{}64_",
    "{}_64",
    "{}$NEWLAPACK$ILP64",
    "scipy_{}",
    "{}",
    "{}$NEWLAPACK",
)
_FUNCTIONS = ("sgemm", "dgemm", "sgemv", "dgemv")


@dataclass(frozen=True)
class Blas:
    """NumPy's BLAS.

    `integer` is the type of its integers in LLVM IR, 'i32' or 'i64' (enumerations, such as `ROW_MAJOR`, are 'i32'
    always), `addresses` where 'sgemm', 'dgemm', 'sgemv' and 'dgemv' begin, `file` what they are in, '' if unknown.
    """

    integer: str
    addresses: Mapping[str, int]
    file: str
    _get_threads: Callable[[], int] | None
    _set_threads: Callable[[int], object] | None

    @property
    def is_openblas(self) -> bool:
        """Whether it is OpenBLAS, as its file is named."""
        return "openblas" in os.path.basename(self.file).lower()

    @property
    def threads(self) -> int | None:
        """How many threads a product may run in; None where the library does not say."""
        return None if self._get_threads is None else int(self._get_threads())

    @property
    def has_more_threads(self) -> bool:
        """Whether products run in more threads than generated loops do."""
        return (self.threads or 1) > native_threads.count()

    def set_threads(self, count: int) -> bool:
        """Let products run in so many threads from now on, those of NumPy too, and tell whether that was possible."""
        if self._set_threads is None:
            return False
        self._set_threads(count)
        return True


@cache
def find() -> Blas | None:
    """Return the BLAS of NumPy; None if it has none whose functions can be found and do what they should.

    Examples
    --------
    >>> blas = find()
    >>> blas is None or sorted(blas.addresses)[0].startswith('dgemm')
    True
    """
    for look_up in _lookups():
        for naming in _NAMINGS:
            library = _library(look_up, naming)
            if library is not None:
                return library
    return None


# -- asking the loader -----------------------------------------------------------------------------------------------

_LookUp = Callable[[str], int]


def _extension() -> str | None:
    """Return the file of the extension module that holds NumPy's products."""
    for name in ("numpy._core._multiarray_umath", "numpy.core._multiarray_umath"):
        try:
            return importlib.import_module(name).__file__
        except ImportError:
            continue
    return None


def _lookups() -> list[_LookUp]:
    """Return functions from the name of a symbol to its address, 0 where there is none; nothing new is loaded."""
    path = _extension()
    if path is None:
        return []
    if sys.platform == "win32":  # where a module's symbols are its own only
        return [look_up for look_up in map(_of_handle, _bundled_libraries(path)) if look_up is not None]
    look_up = _of_handle(path)
    return [] if look_up is None else [look_up]


def _of_handle(path: str) -> _LookUp | None:
    # Python has loaded it: this opens nothing but a handle, which sees the libraries that it is linked with, too.
    mode = getattr(os, "RTLD_NOLOAD", 0) | getattr(os, "RTLD_LAZY", 0)
    try:
        library = ctypes.CDLL(path, mode=mode)
    except OSError:
        return None

    def look_up(name: str) -> int:
        try:
            return ctypes.cast(library[name], ctypes.c_void_p).value or 0
        except (AttributeError, ValueError):
            return 0

    return look_up


def _bundled_libraries(path: str) -> list[str]:
    """Return the libraries that a wheel of NumPy for Windows brings."""
    folder = os.path.join(os.path.dirname(path), os.pardir, os.pardir, "numpy.libs")
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    return [os.path.join(os.path.abspath(folder), name) for name in sorted(names) if "openblas" in name]


class _DlInfo(ctypes.Structure):
    """`Dl_info` of `dladdr`."""

    _fields_ = [
        ("file", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("symbol", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
    ]


def _file_of(address: int) -> str:
    """Return the file that the code at an address is of."""
    try:
        dladdr = ctypes.CDLL(None).dladdr
    except (AttributeError, OSError, TypeError):  # on Windows
        return ""
    info = _DlInfo()
    is_found = dladdr(ctypes.c_void_p(address), ctypes.byref(info))
    return os.fsdecode(info.file) if is_found and info.file else ""


# -- which of its names are there, and what they do ------------------------------------------------------------------


def _library(look_up: _LookUp, naming: str) -> Blas | None:
    """Return the library that names its functions so, if it is there and can be trusted."""
    addresses = {name: look_up(naming.format(f"cblas_{name}")) for name in _FUNCTIONS}
    dot = look_up(naming.format("cblas_ddot"))
    if not all(addresses.values()) or not dot:
        return None
    integer = _integer(dot)
    if integer is None or not all(_multiplies(addresses[name], name, integer) for name in _FUNCTIONS):
        return None
    return Blas(integer, MappingProxyType(addresses), _file_of(addresses["sgemm"]), *_thread_counts(look_up, naming))


def _integer(dot: int) -> str | None:
    """Return the type of a library's integers, told by `cblas_ddot`: of no elements, or fewer, it is 0.

    A length of 3 - 2^32 is 3 to a library that reads 32 bits of it, and negative to one that reads 64.
    """
    x = numpy.array([1.0, 2.0, 3.0])
    word, pointer = ctypes.c_int64, ctypes.c_void_p
    function = ctypes.CFUNCTYPE(ctypes.c_double, word, pointer, word, pointer, word)(dot)
    if function(3, x.ctypes.data, 1, x.ctypes.data, 1) != 14.0:
        return None
    return {14.0: "i32", 0.0: "i64"}.get(function(3 - 2**32, x.ctypes.data, 1, x.ctypes.data, 1))


def _multiplies(address: int, name: str, integer: str) -> bool:
    """Tell whether a function computes small products as NumPy does."""
    dtype = numpy.dtype(numpy.float32 if name[0] == "s" else numpy.float64)
    is_right = _gemm_is_right if name[1:] == "gemm" else _gemv_is_right
    return is_right(address, dtype, ctypes.c_int32 if integer == "i32" else ctypes.c_int64)


_M, _N, _K = 3, 4, 5


def _operands(dtype: numpy.dtype[Any]) -> tuple[numpy.ndarray[Any, Any], ...]:
    """Return a, b and c of small integers, whose products are exact; the rows of each have room behind them."""
    shapes = ((_M, _K + 1), (_K, _N + 2), (_M, _N + 3))
    return tuple(
        (numpy.arange(rows * columns) % (7 + number) - 3).astype(dtype).reshape(rows, columns)
        for number, (rows, columns) in enumerate(shapes)
    )


def _prototype(dtype: numpy.dtype[Any], word: Any, text: str, address: int) -> Callable[..., None]:
    """Return a function of C by the kinds of its arguments: enumeration, integer, scalar, pointer."""
    kinds = {"e": ctypes.c_int, "i": word, "p": ctypes.c_void_p}
    kinds["s"] = ctypes.c_float if dtype.itemsize == 4 else ctypes.c_double
    function: Callable[..., None] = ctypes.CFUNCTYPE(None, *(kinds[kind] for kind in text))(address)
    return function


def _gemm_is_right(address: int, dtype: numpy.dtype[Any], word: Any) -> bool:
    gemm = _prototype(dtype, word, "eeeiiispipispi", address)
    for turned_a in (False, True):
        for turned_b in (False, True):
            a, b, c = _operands(dtype)
            left, right = (a[:, :_K].T.copy() if turned_a else a), (b[:, :_N].T.copy() if turned_b else b)
            expected = c.copy()
            expected[:, :_N] = 2 * (a[:, :_K] @ b[:, :_N]) - c[:, :_N]
            gemm(
                ROW_MAJOR, TRANS if turned_a else NO_TRANS, TRANS if turned_b else NO_TRANS, _M, _N, _K,
                2.0, left.ctypes.data, left.shape[1], right.ctypes.data, right.shape[1],
                -1.0, c.ctypes.data, c.shape[1],
            )  # fmt: skip
            if not numpy.array_equal(c, expected):
                return False
    return True


def _gemv_is_right(address: int, dtype: numpy.dtype[Any], word: Any) -> bool:
    gemv = _prototype(dtype, word, "eeiispipispi", address)
    for turned in (False, True):
        a, b, c = _operands(dtype)
        x, y = b[: _M if turned else _K, :2].copy(), c[0].copy()
        matrix = a[:, :_K].T if turned else a[:, :_K]
        expected = y.copy()
        expected[: len(matrix)] = matrix @ x[:, 0] + 3 * y[: len(matrix)]
        gemv(
            ROW_MAJOR, TRANS if turned else NO_TRANS, _M, _K,
            1.0, a.ctypes.data, a.shape[1], x.ctypes.data, 2, 3.0, y.ctypes.data, 1,
        )  # fmt: skip
        if not numpy.array_equal(y, expected):
            return False
    return True


def _thread_counts(look_up: _LookUp, naming: str) -> tuple[Callable[[], int] | None, Callable[[int], object] | None]:
    """Return the functions that tell and change in how many threads products run."""
    for reading, writing in (
        ("openblas_get_num_threads", "openblas_set_num_threads"),
        ("MKL_Get_Max_Threads", "MKL_Set_Num_Threads"),
    ):
        for name in (naming, "{}"):
            get, put = look_up(name.format(reading)), look_up(name.format(writing))
            if get and put:
                return ctypes.CFUNCTYPE(ctypes.c_int)(get), ctypes.CFUNCTYPE(None, ctypes.c_int)(put)
    return None, None
