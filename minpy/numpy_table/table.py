"""The table: `ROWS` by name, and `row_of`, which finds the row of a function.

A function has one row: `numpy.abs` and `numpy.permute_dims` are further names of `absolute` and `transpose`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy

from minpy.numpy_table import (
    creation_rows,
    elementwise_rows,
    product_rows,
    reduction_rows,
    refused,
    sized_by_values,
    views,
    writers,
)
from minpy.numpy_table.row import Row

__all__ = ["METHODS", "ROWS", "function_named", "functions", "named", "row_of"]

ROWS: dict[str, Row] = {
    row.name: row
    for module in (
        elementwise_rows,
        views,
        reduction_rows,
        product_rows,
        sized_by_values,
        writers,
        creation_rows,
        refused,
    )
    for row in module.ROWS
}


def function_named(name: str) -> Any:
    """Return the function of NumPy's with a name such as 'rot90' or 'linalg.norm'; None if this NumPy has none.

    >>> function_named("linalg.norm") is numpy.linalg.norm, function_named("nosuch")
    (True, None)
    """
    module, _, plain = name.rpartition(".")
    place: Any = numpy if not module else getattr(numpy, module, None)
    # A deprecated name is no entry of the module: NumPy's `__getattr__` makes it, with a warning.
    return getattr(place, "__dict__", {}).get(plain)


_BY_FUNCTION: dict[Any, Row] = {}
for _row in ROWS.values():
    if _row.kind != "method":
        _function = function_named(_row.name)
        if _function is not None:
            _BY_FUNCTION.setdefault(_function, _row)

# By name: the functions that arrays have as methods.
METHODS: dict[str, Any] = {name: getattr(numpy, name) for name, row in ROWS.items() if row.method}


def row_of(function: Any) -> Row | None:
    """Return the row of a function of NumPy's; None for any other.

    >>> row_of(numpy.abs).name, row_of(numpy.linalg.norm).kind, row_of(len)
    ('absolute', 'call', None)
    """
    try:
        return _BY_FUNCTION.get(function)
    except TypeError:  # it has no hash
        return None


def named(name: str) -> Row | None:
    """Return the row of a function by any of its names, or of a method; None for what is no function of NumPy's.

    >>> named("permute_dims").name, named("absolute").kind, named("nosuch")
    ('transpose', 'ufunc', None)
    """
    return ROWS.get(name) or row_of(function_named(name))


def functions(*kinds: str) -> Iterator[tuple[Any, Row]]:
    """Return an iterator over (function, row) of the functions of these kinds, of all by default."""
    return ((function, row) for function, row in _BY_FUNCTION.items() if not kinds or row.kind in kinds)
