"""MXNet's numbers for dtypes, which its files hold."""

from __future__ import annotations

import numpy

__all__ = ["DTYPES", "DTYPE_NUMBERS"]

# Little-endian, as in files.
DTYPES = {
    number: numpy.dtype(f"<{code}" if code[-1] != "1" else code)
    for number, code in enumerate(("f4", "f8", "f2", "u1", "i4", "i1", "i8", "b1"))
}
DTYPE_NUMBERS = {dtype: number for number, dtype in DTYPES.items()}
