"""The tables of lowerings, and the decorators that fill them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

__all__ = [
    "DEFINITIONS",
    "FUNCTIONS",
    "GRADIENTS",
    "OPERATORS",
    "UFUNCS",
    "defines",
    "gradient_of",
    "lowers",
    "lowers_operator",
    "lowers_ufunc",
]

Lowering = Callable[..., Any]

# By function: `lowering(emitter, *arguments, **keywords)`, arguments as NumPy's function takes them, with an `Array` in
# the place of each array; returns an array, or a list or tuple of them.
FUNCTIONS: dict[Any, Lowering] = {}
# By name of a ufunc: `lowering(emitter, *arrays)`, of those whose elements need more than one step, or another one for
# some dtypes; the arrays have the dtypes of the ufunc's loop.
UFUNCS: dict[str, Lowering] = {}
# By name of a built-in operator: `lowering(operators, *operands, **attributes)`, with all attributes; returns an array,
# or a list of them. `operators` are the `Operators` that lower it.
OPERATORS: dict[str, Lowering] = {}
# By name of a built-in operator: a function of NumPy's that computes the same, and can be traced, where the operator's
# own definition cannot: it checks values, or writes into views. It has all attributes, too.
DEFINITIONS: dict[str, Lowering] = {}
# By name of a built-in operator, its gradients: `lowering(operators, vjp_node, *operands)`, operands as `VjpNode` has
# them; returns an array, or a list of them for several arguments.
GRADIENTS: dict[str, Lowering] = {}


def _enter(table: dict[Any, Lowering], keys: Any) -> Callable[[Lowering], Lowering]:
    def enter(lowering: Lowering) -> Lowering:
        for key in keys:
            assert key not in table, key
            table[key] = lowering
        return lowering

    return enter


def lowers(*functions: Any) -> Callable[[Lowering], Lowering]:
    """Enter a lowering of functions: callables, or names in NumPy, of which this NumPy may not have all."""
    result = []
    for function in functions:
        place: Any = numpy if isinstance(function, str) else function
        for part in function.split(".") if isinstance(function, str) else ():
            place = getattr(place, part, None)
        if place is not None and place not in result and place not in FUNCTIONS:
            result.append(place)
    return _enter(FUNCTIONS, result)


def lowers_ufunc(*names: str) -> Callable[[Lowering], Lowering]:
    """Enter a lowering of ufuncs, by their names."""
    return _enter(UFUNCS, names)


def lowers_operator(*names: str) -> Callable[[Lowering], Lowering]:
    """Enter a lowering of operators, by their names."""
    return _enter(OPERATORS, names)


def defines(*names: str) -> Callable[[Lowering], Lowering]:
    """Enter a definition of operators that can be traced, by their names."""
    return _enter(DEFINITIONS, names)


def gradient_of(*names: str) -> Callable[[Lowering], Lowering]:
    """Enter a lowering of the gradients of operators, by their names."""
    return _enter(GRADIENTS, names)
