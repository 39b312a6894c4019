"""Pictures read from files and decoded from bytes; lists of pictures and their labels, in files and in memory."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from minpy.base import numeric_types
from minpy.core.array import FRONT_ENDS, Array, new_array, raw_of
from minpy.core.docstrings import documented
from minpy.core.errors import ArgumentError, ArgumentValueError, FileFormatError, FileMissingError, describe
from minpy.core.numpy_semantics import is_np_array
from minpy.files import read_file
from minpy.ndarray.decoding import _cvimdecode, _cvimread

__all__ = ["checked_list", "imdecode", "imread", "read_list"]

_OPTIONS = """
    flag : {1, 0}, optional
        Colours, or gray.
    to_rgb : bool, optional
        Whether red comes first (the default), or blue.
    out : NDArray, optional
        The array to write to.

    Returns
    -------
    NDArray
        Of dtype uint8 and shape (height, width, 3), or (height, width, 1) in gray. (`mx.np.ndarray` where NumPy's
        arrays are used: `set_np`.)
    """


def _in_numpy_semantics(image: Any, out: Any) -> Any:
    return image.as_np_ndarray() if out is None and is_np_array() else image


@documented(options=_OPTIONS)
def imread(filename: Any, *args: Any, **kwargs: Any) -> Any:
    """Return a picture that is read from a file.

    Parameters
    ----------
    filename : str or path
    {options}

    Raises
    ------
    FileMissingError, FileAccessError
        If the file is not there, or cannot be read.
    ArgumentError
        If it holds no picture, or a damaged one.
    MissingDependencyError
        If neither OpenCV nor Pillow is installed: `pip install pillow`.

    Examples
    --------
    >>> import minpy as mx
    >>> mx.image.imread('missing.png')
    Traceback (most recent call last):
        ...
    minpy.core.errors.FileMissingError: imread: there is no file 'missing.png'.
    """
    return _in_numpy_semantics(_cvimread(filename, *args, **kwargs), kwargs.get("out"))


@documented(options=_OPTIONS)
def imdecode(buf: Any, *args: Any, **kwargs: Any) -> Any:
    """Return a picture that is decoded from the bytes of a PNG, JPEG, ... file.

    Parameters
    ----------
    buf : bytes, bytearray, numpy.ndarray or NDArray
    {options}

    Raises
    ------
    ArgumentError
        If it is no picture, or a damaged one.
    MissingDependencyError
        If neither OpenCV nor Pillow is installed: `pip install pillow`.

    Examples
    --------
    >>> import minpy as mx
    >>> bitmap = bytes.fromhex('424d3a000000000000003600000028000000010000000100000001001800'
    ...                        '000000000400000000000000000000000000000000000000ff336600')
    >>> mx.image.imdecode(bitmap).asnumpy()
    array([[[102,  51, 255]]], dtype=uint8)
    """
    if not isinstance(buf, (bytes, bytearray, memoryview, Array)) and not hasattr(buf, "__array_interface__"):
        raise ArgumentValueError(
            f"imdecode: buf is {describe(buf)}; expected bytes, or an array of uint8. Read the file in the mode 'rb'."
        )
    return _in_numpy_semantics(_cvimdecode(buf, *args, **kwargs), kwargs.get("out"))


def _label(values: Any, dtype: str) -> Any:
    with np.errstate(all="raise"):  # numbers that an integer dtype cannot hold
        return new_array(FRONT_ENDS["mxnet"], np.array(values, np.float64).astype(dtype))


def read_list(name: str, path: Any, dtype: str) -> tuple[dict[Any, tuple[Any, str]], list[Any]]:
    """Return the labels and file names in a list, by key, and the keys in the file's order.

    A line is a key, one or more labels, and a file name, with tabs between.
    """
    path = os.fspath(path)
    try:
        lines = read_file(name, path).decode().split("\n")
    except FileMissingError as error:
        raise FileMissingError(f"{name}: there is no list {path!r}.") from error
    except UnicodeDecodeError as error:
        raise FileFormatError(f"{name}: the list {path!r} is no text: {error}.") from error
    entries: dict[Any, tuple[Any, str]] = {}
    keys = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        fields = line.rstrip("\r").split("\t")
        try:
            if len(fields) < 3:
                raise ValueError(f"{len(fields)} fields")
            key, label, file_name = int(fields[0]), _label([float(field) for field in fields[1:-1]], dtype), fields[-1]
        except (ArithmeticError, ValueError) as error:
            raise FileFormatError(
                f"{name}: line {number} of {path!r} is {line[:80]!r}; expected a key that is an integer, one or more "
                f"labels that are numbers, and a file name, with tabs between ({error})."
            ) from error
        if key in entries:
            warnings.warn(
                f"{name}: line {number} of {path!r} has the key {key} once more: its label and picture "
                f"({file_name!r}) take the place of {entries[key][1]!r}.",
                UserWarning,
                stacklevel=3,
            )
        entries[key] = (label, file_name.strip())
        keys.append(key)
    if not keys:
        raise FileFormatError(f"{name}: the list {path!r} names no pictures.")
    return entries, keys


def checked_list(name: str, imglist: Sequence[Any], dtype: str) -> tuple[dict[Any, tuple[Any, str]], list[Any]]:
    """Return the labels and file names of a list in memory by key ('1', '2', ...), and the keys.

    An item is [label, file name], where the label is a number or several, or [label, label, ..., file name].
    """
    entries: dict[Any, tuple[Any, str]] = {}
    for number, item in enumerate(imglist, 1):
        try:
            *labels, file_name = item
            if not labels:
                raise ValueError
            if len(labels) > 1 or isinstance(labels[0], numeric_types):
                label = _label(labels, dtype)
            else:
                label = _label(np.asarray(raw_of(labels[0])).reshape(-1), dtype)
            entries[str(number)] = (label, os.fspath(file_name))
        except (ArithmeticError, TypeError, ValueError) as error:
            raise ArgumentError(
                f"{name}: imglist[{number - 1}] is {describe(item)}; expected [label, file name], where the label is a "
                "number or several."
            ) from error
    if not entries:
        raise ArgumentError(f"{name}: imglist is empty; expected at least one [label, file name].")
    return entries, list(entries)
