"""Lists of recorded or traced values in the place of arrays: `np.add([x[0], 1.0], y)`, `np.vstack([[x[0], 1.0], y])`.

NumPy makes arrays of lists before any of its protocols is asked, or never looks into them. So they become arrays first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy

from minpy.core.array import Array
from minpy.core.followed import holds_followed, is_followed
from minpy.differentiation.trees import leaves_of
from minpy.numpy_table.table import row_of
from minpy.ops.numpy.nested_lists import assembled

__all__ = ["as_array", "has_lists", "with_arrays"]

_LISTS = frozenset((list, tuple))


def as_array(caller: str, values: Any) -> Any:
    """Return a nest of recorded or traced values and numbers as one array, of the dtype that its arrays have."""
    leaves = leaves_of(values)
    dtypes = {numpy.dtype(leaf.dtype) for leaf in leaves if hasattr(leaf, "dtype")}
    if complex in map(type, leaves):
        dtypes.add(numpy.dtype("complex64"))
    return assembled(caller, values, numpy.result_type(*dtypes))


def has_lists(arguments: Sequence[Any], keywords: Mapping[str, Any]) -> bool:
    """Tell whether a call is given a list or tuple, which `with_arrays` looks into."""
    if _LISTS.isdisjoint(map(type, arguments)):
        return bool(keywords) and not _LISTS.isdisjoint(map(type, keywords.values()))
    return True


def with_arrays(
    function: Callable[..., Any], arguments: Sequence[Any], keywords: dict[str, Any]
) -> tuple[Sequence[Any], dict[str, Any]]:
    """Return the arguments of a call of NumPy's with arrays in the place of lists that hold what is followed."""
    values = (*arguments, *keywords.values()) if keywords else arguments
    row = row_of(function)
    nests = "" if row is None else row.nests
    if nests == "several":
        for value in values:
            cls = type(value)
            if (cls is list or cls is tuple) and not _LISTS.isdisjoint(map(type, value)):
                break
        else:
            return arguments, keywords
    if nests == "any" or not holds_followed(values):
        return arguments, keywords
    name = getattr(function, "__name__", "")

    def converted(value: Any) -> Any:
        if not _is_nest(value):
            return value
        if nests == "several":
            return type(value)([as_array(f"np.{name}", item) if _is_nest(item) else item for item in value])
        return as_array(f"np.{name}", value)

    return [*map(converted, arguments)], {
        key: value if key == "out" else converted(value) for key, value in keywords.items()
    }


def _is_nest(value: Any) -> bool:
    """Tell whether a value is a list with an array in it, or with what is followed."""
    if not isinstance(value, (list, tuple)):
        return False
    return any(isinstance(leaf, Array) or is_followed(leaf) for leaf in leaves_of(value))
