"""The dtypes that arrays have: one row each, and what follows from the rows.

Eager calls take any dtype of numbers that NumPy has. Files, native libraries, captures and native code take those of
which a row says so: who adds a dtype begins here.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy

__all__ = ["ARRAY_KINDS", "DTYPES", "DTYPE_NUMBERS", "LIBRARY_DTYPES", "NATIVE_TYPES", "ROWS", "Row"]


class Row(NamedTuple):
    """The properties of a dtype."""

    name: str
    number: int | None = None  # MXNet's, in files and attributes
    # LLVM's type of a value in a register; '' where native code does not compute in it. In memory bools are bytes.
    native: str = ""
    in_libraries: bool = False  # whether native libraries take arrays of it


ROWS = (
    Row("float32", 0, "float", True),
    Row("float64", 1, "double", True),
    Row("float16", 2, "", True),
    Row("uint8", 3, "i8", True),
    Row("int32", 4, "i32", True),
    Row("int8", 5, "i8", True),
    Row("int64", 6, "i64", True),
    Row("bool", 7, "i1"),
    Row("int16", native="i16"),
    Row("uint16", native="i16"),
    Row("uint32", native="i32"),
    Row("uint64", native="i64"),
    Row("complex64"),
    Row("complex128"),
)

# The kinds of dtype that arrays of captured functions may have.
ARRAY_KINDS = "".join(dict.fromkeys(numpy.dtype(row.name).kind for row in ROWS))
# By MXNet's number, little-endian as in files.
DTYPES = {row.number: numpy.dtype("<" + numpy.dtype(row.name).str[1:]) for row in ROWS if row.number is not None}
DTYPE_NUMBERS = {dtype: number for number, dtype in DTYPES.items()}
# By MXNet's number: others make a library throw an exception that ends the process.
LIBRARY_DTYPES = tuple(numpy.dtype(row.name) for row in ROWS if row.in_libraries)
# By dtype, in the byte order of the machine.
NATIVE_TYPES = {numpy.dtype(row.name): row.native for row in ROWS if row.native}
