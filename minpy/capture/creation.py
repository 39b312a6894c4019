"""Arrays that a traced function makes, and `numpy.asarray` of stand-ins: what NumPy's protocols do not reach."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from minpy.capture.functions import full_like
from minpy.capture.noting import as_array, constant, is_known, known_of, operand
from minpy.capture.recorder import Recorder
from minpy.capture.values import Traced
from minpy.differentiation.trees import leaves_of

__all__ = ["CREATION"]

# By function of NumPy: `handler(recorder, function, *arguments, **keywords)`.
CREATION: dict[Any, Callable[..., Any]] = {}


def _plain(recorder: Recorder, value: Any) -> Any:
    if not all(map(is_known, leaves_of(value))):
        raise recorder.refuse("a shape or a range depends on values")
    if isinstance(value, (list, tuple)):
        return tuple(_plain(recorder, one) for one in value)
    value = known_of(value)
    return value.item() if isinstance(value, numpy.ndarray) and not value.ndim else value


def _made(recorder: Recorder, function: Any, *arguments: Any, **keywords: Any) -> Any:
    """Return what does not depend on inputs. `numpy.empty` gives zeros."""
    arguments = tuple(_plain(recorder, value) for value in arguments)
    keywords = {key: _plain(recorder, value) for key, value in keywords.items()}
    answer = (numpy.zeros if function is numpy.empty else function)(*arguments, **keywords)
    if isinstance(answer, (list, tuple)):
        return type(answer)(constant(recorder, one) for one in answer)
    return constant(recorder, answer)


def _full(recorder: Recorder, function: Any, shape: Any, fill_value: Any, dtype: Any = None, **keywords: Any) -> Any:
    if is_known(fill_value):
        return _made(recorder, function, shape, fill_value, dtype, **keywords)
    shape = _plain(recorder, shape)
    lengths = (shape,) if isinstance(shape, (int, numpy.integer)) else tuple(shape)
    return full_like(recorder, fill_value, lengths, numpy.dtype(dtype or fill_value.dtype))


def _array(recorder: Recorder, function: Any, object: Any, dtype: Any = None, **keywords: Any) -> Any:
    """Answer `array`, `asarray` and their kin."""
    copy = keywords.pop("copy", None)
    order = keywords.pop("order", None)
    if keywords.keys() - {"subok"} or order not in (None, "K", "C") or copy is False:
        raise recorder.refuse(f"numpy.{function.__name__} with {', '.join(keywords) or 'order or copy'}= is not traced")
    if not isinstance(object, Traced):
        if isinstance(object, (bool, int, float, complex, numpy.generic)):
            return constant(recorder, numpy.asarray(object, dtype))
        array = operand(recorder, object)
        return array if dtype is None else array.astype(dtype, copy=False)
    array = object if dtype is None else object.astype(dtype, copy=False)
    if array.scalar:
        return as_array(recorder, array)
    if function is numpy.array or copy is True:
        return array.copy() if array is object else array
    if function in (numpy.ascontiguousarray, numpy.require):  # it may be a copy, or not
        return array[...] if array.ndim else array.reshape(1)
    return array


def _register(handler: Callable[..., Any], names: str) -> None:
    CREATION.update({getattr(numpy, name): handler for name in names.split() if hasattr(numpy, name)})


_register(_made, "arange empty eye geomspace identity indices ix_ linspace logspace meshgrid ones tri zeros")
_register(_full, "full")
_register(_array, "array asanyarray asarray ascontiguousarray")
