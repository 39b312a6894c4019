"""Lists of pictures and their labels: files that `im2rec` writes, and lists in memory."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from minpy.base import numeric_types
from minpy.core.array import FRONT_ENDS, new_array, raw_of
from minpy.core.errors import ArgumentError, FileFormatError, FileMissingError, describe
from minpy.files import read_file

__all__ = ["checked_list", "read_list"]


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
