"""Tensors between files: their values as they stand, bfloat16 as bits; which file keeps which dtype."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NoReturn

import numpy

from minpy.core.dtypes import DTYPES
from minpy.core.errors import ArgumentError, FileFormatError
from minpy.ndarray.array_files import StoredArray

__all__ = ["COMMAND", "DAMAGED", "DTYPES_OF", "Tensors", "fail", "new_array", "require_dtypes", "size_of"]

COMMAND = "python -m minpy convert"
DAMAGED = "It is damaged or incomplete: copy or download it again, or write it anew."

Tensors = dict[str, StoredArray]

_NUMBERS = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
# By the ending of a file, the names of the dtypes that it keeps.
DTYPES_OF = {
    ".params": (*(dtype.name for dtype in DTYPES.values()), "bfloat16"),
    ".safetensors": (*_NUMBERS, "float16", "bfloat16", "float32", "float64", "complex64"),
    ".npz": (*_NUMBERS, "float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
}


def fail(path: str, problem: str, advice: str = DAMAGED) -> NoReturn:
    """Raise the error for a file that cannot be read."""
    raise FileFormatError(f"{COMMAND}: {path!r}: {problem}. {advice}") from None


def require_dtypes(tensors: Mapping[str, StoredArray], ending: str) -> None:
    """Raise unless a file with this ending keeps the dtypes of all tensors."""
    refused = [
        f"{name!r} ({tensor.dtype})" for name, tensor in tensors.items() if tensor.dtype not in DTYPES_OF[ending]
    ]
    if refused:
        keeping = [other for other, dtypes in DTYPES_OF.items() if all(t.dtype in dtypes for t in tensors.values())]
        shown = ", ".join(refused[:5]) + (f" and {len(refused) - 5} more" if len(refused) > 5 else "")
        raise ArgumentError(
            f"{COMMAND}: {ending} files do not know the dtypes of {shown}; they know {', '.join(DTYPES_OF[ending])}. "
            f"Write {' or '.join(keeping)}, or cast these arrays first."
        )


def new_array(path: str, name: str, shape: tuple[int, ...], dtype: numpy.dtype) -> numpy.ndarray:
    """Return an array to read values into."""
    try:
        return numpy.empty(shape, dtype)
    except (ValueError, OverflowError) as error:  # too many axes, or one of length 0 beside astronomic ones
        fail(path, f"{name!r} has the shape {shape}, which NumPy cannot hold: {error}")
    except MemoryError:
        fail(path, f"{name!r} has the shape {shape}, for which there is no memory", "Use a machine with more.")


def size_of(tensors: Mapping[str, StoredArray]) -> int:
    """Return how many bytes the values take.

    >>> size_of({'weight': StoredArray('float32', numpy.zeros((2, 3), 'float32'))})
    24
    """
    return sum(math.prod(tensor.data.shape) * tensor.data.itemsize for tensor in tensors.values())
