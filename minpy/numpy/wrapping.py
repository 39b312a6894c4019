"""NumPy's functions, wrapped so that they take and return arrays of the tape."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

import numpy

from minpy.bridge.hips_boxes import boxes
from minpy.bridge.protocols import autograd_version
from minpy.bridge.sequence_arguments import has_lists, with_arrays
from minpy.core.array import Array, new_array
from minpy.numpy.array_class import ndarray
from minpy.numpy_table.refused import SETTINGS
from minpy.numpy_table.table import row_of

__all__ = ["wrap_function", "wrap_result", "wrapped_namespace"]


def wrap_result(value: Any) -> Any:
    """Return NumPy arrays and numbers, also inside tuples and lists, as `minpy.numpy.ndarray`s; all else as it is."""
    if type(value) is ndarray:
        return value
    if isinstance(value, numpy.ndarray):
        return new_array(ndarray, value) if value.dtype.kind in "fciub" else value
    if isinstance(value, numpy.number):
        return new_array(ndarray, numpy.asarray(value))
    if isinstance(value, Array):
        return value if isinstance(value, ndarray) else value.as_np_ndarray()
    if type(value) in (tuple, list):
        return type(value)(map(wrap_result, value))
    return value


def _holds_box(values: Iterable[Any]) -> bool:
    for value in values:
        cls = type(value)
        if cls in boxes.types or ((cls is list or cls is tuple) and _holds_box(value)):
            return True
    return False


def wrap_function(function: Callable[..., Any], name: str, module: str = "numpy") -> Callable[..., Any]:
    """Return a NumPy function that returns arrays of the tape; boxes of HIPS autograd go to autograd's version."""

    def wrapper(*arguments: Any, **keywords: Any) -> Any:
        if has_lists(arguments, keywords):
            converted, keywords = with_arrays(function, arguments, keywords)
            arguments = tuple(converted)
        if _holds_box(arguments) or (keywords and _holds_box(keywords.values())):
            return (autograd_version(function) or function)(*arguments, **keywords)
        return wrap_result(function(*arguments, **keywords))

    wrapper.__name__ = wrapper.__qualname__ = name
    wrapper.__module__ = f"minpy.{module}"
    vars(wrapper)["__wrapped__"] = function
    wrapper.__doc__ = f"Return what `{module}.{name}` does, as arrays of the tape; its documentation is NumPy's."
    return wrapper


def wrapped_namespace(namespace: Any, module: str, skip: Iterable[str] = ()) -> dict[str, Any]:
    """Return the public names of a NumPy module: functions wrapped; classes, dtypes and constants as they are.

    Submodules are left out. They are not even looked up, because NumPy imports some of them when that is done.
    """
    functions: dict[str, Any] = {}
    wrapped: dict[Any, Any] = {}  # one for each function, whatever NumPy's names for it
    members = vars(namespace)
    names = {name for name in getattr(namespace, "__all__", members) if not name.startswith("_")}.difference(skip)
    if module == "numpy":  # NumPy 1 does not list them, as they would hide Python's
        names |= {"abs", "max", "min", "round"}
    for name in sorted(names):
        value = members.get(name)
        if name not in members or inspect.ismodule(value):
            continue
        wrappable = callable(value) and not inspect.isclass(value)
        if wrappable:
            row = row_of(value)
            wrappable = row is None or row.reason != SETTINGS  # those are offered as they are
        if wrappable and value not in wrapped:
            own = getattr(value, "__name__", name)
            wrapped[value] = wrap_function(value, own if own in names and members.get(own) is value else name, module)
        functions[name] = wrapped[value] if wrappable else value
    return functions
