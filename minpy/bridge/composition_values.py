"""What the compositions of NumPy's functions share: their table, values without boxes, elements told by positions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import autograd.numpy as anp
import numpy
from autograd.tracer import getval, isbox

from minpy.numpy_table.table import function_named

__all__ = ["COMPOSITIONS", "composes", "moved", "positions", "rows_of", "value_of"]

# By function of NumPy: the same, written with functions for which autograd has rules.
COMPOSITIONS: dict[Any, Callable[..., Any]] = {}


def composes(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a composition for functions of NumPy, by names; those that this NumPy does not have are left out."""

    def register(composition: Callable[..., Any]) -> Callable[..., Any]:
        functions = map(function_named, names)
        COMPOSITIONS.update((function, composition) for function in functions if function is not None)
        return composition

    return register


def value_of(array: Any) -> Any:
    """Return what is in the boxes of HIPS autograd, of which there may be several around each other."""
    while isbox(array):
        array = getval(array)
    return array


def positions(array: Any) -> numpy.ndarray:
    """Return an array of the same shape that has the position of each element."""
    return numpy.arange(anp.size(array)).reshape(anp.shape(array))


def moved(array: Any, places: Any) -> Any:
    """Return the elements from some positions: a function that only moves elements is told by what it does to these."""
    return anp.ravel(array)[places]


def rows_of(array: Any, axes: tuple[int, ...]) -> tuple[Any, list[int]]:
    """Return an array with several axes, none negative, drawn together into its last one, and the others."""
    left = [axis for axis in range(anp.ndim(array)) if axis not in axes]
    shape = anp.shape(array)
    return anp.reshape(anp.transpose(array, (*left, *axes)), (*(shape[axis] for axis in left), -1)), left
