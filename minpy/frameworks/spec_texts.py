"""Attributes of calls as text and back: what graphs of other libraries hold as a string.

It is Python's own notation, read by `ast.literal_eval`; what that has no notation for is a set with one text in it.
"""

from __future__ import annotations

import ast
import math
from typing import Any

import numpy

from minpy.core.errors import ArgumentError, describe

__all__ = ["read_text", "text_of"]


def text_of(value: Any, name: str = "") -> str:
    """Return a value as text: numbers, texts, dtypes, None, and lists, tuples and dicts of these.

    Raises an ArgumentError, which calls it `name`, for others; what is in a dict it calls `name: key`.

    Examples
    --------
    >>> text_of({'axis': (0, numpy.int64(1)), 'scale': float('inf'), 'dtype': numpy.dtype('float32')})
    "{'axis': (0, 1,), 'scale': 1e999, 'dtype': {'dtype float32'}}"
    >>> read_text(text_of((float('nan'), -0.0)))
    (nan, -0.0)
    """
    if isinstance(value, numpy.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, str)):
        return repr(value)
    if isinstance(value, float):
        if math.isnan(value):
            return "{'nan'}"
        return repr(value).replace("inf", "1e999")
    if isinstance(value, complex):
        return f"{{'complex {value.real!r} {value.imag!r}'}}"
    if isinstance(value, tuple):
        return f"({''.join(text_of(part, name) + ', ' for part in value).rstrip()})"
    if isinstance(value, list):
        return f"[{', '.join(text_of(part, name) for part in value)}]"
    if isinstance(value, dict):
        items = [f"{text_of(key, name)}: {text_of(part, f'{name}: {key}')}" for key, part in value.items()]
        return f"{{{', '.join(items)}}}"
    if isinstance(value, numpy.dtype):
        return f"{{'dtype {value.str if value.names else value.name}'}}"
    if isinstance(value, type) and issubclass(value, numpy.generic):
        return f"{{'type {value.__name__}'}}"
    raise ArgumentError(
        f"{name or 'an attribute'} is {describe(value)}; expected a number, a text, a dtype, None, or a tuple, list or "
        "dict of these, as other frameworks hold attributes in their graphs. What jit traces is an array. Make an "
        "array an input."
    )


def read_text(text: str) -> Any:
    """Return the value that `text_of` has written."""
    return _restored(ast.literal_eval(text))


def _restored(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_restored, value))
    if isinstance(value, list):
        return list(map(_restored, value))
    if isinstance(value, dict):
        return {_restored(key): _restored(part) for key, part in value.items()}
    if isinstance(value, set):
        kind, *words = str(*value).split(" ")
        if kind == "nan":
            return float("nan")
        if kind == "complex":
            return complex(*map(float, words))
        return numpy.dtype(words[0]) if kind == "dtype" else numpy.dtype(words[0]).type
    return value
