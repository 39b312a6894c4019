"""Routines run step by step by NumPy: the naive model that everything compiled is held against."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from minpy.backends.native.language import Array, Routine

__all__ = ["evaluate"]


def evaluate(routine: Routine, inputs: Sequence[Sequence[Any]]) -> list[list[numpy.ndarray]]:
    """Return the outputs of every part.

    Parameters
    ----------
    routine : Routine
    inputs : sequence of sequence of numpy.ndarray
        The inputs of every part, of the shapes and dtypes of its `inputs`.

    Returns
    -------
    list of list of numpy.ndarray

    Raises
    ------
    ValueError
        If an input is not of the shape and dtype that the routine is made for.

    Examples
    --------
    >>> from minpy.backends.native.language import Elementwise, Part, Reduce
    >>> x = Array((2, 3), numpy.dtype("float32"), name="x")
    >>> y = Elementwise.of("square", x)
    >>> z = Reduce.of("sum", y, (1,))
    >>> routine = Routine([Part("forward", [x], [y.step, z.step], [z])])
    >>> evaluate(routine, [[numpy.ones((2, 3), "float32")]])[0][0].tolist()
    [[3.0], [3.0]]
    """
    values: dict[Array, Any] = {}
    results = []
    for part, arrays in zip(routine.parts, inputs, strict=True):
        for array, given in zip(part.inputs, arrays, strict=True):
            if given.shape != array.shape or given.dtype != array.dtype:
                raise ValueError(
                    f"{array.name or 'an input'} is {given.dtype} {given.shape}, the routine is for "
                    f"{array.dtype} {array.shape}."
                )
            values[array] = given
        for step in part.steps:
            operands = [_value(one, values) for one in step.operands]
            values.update(zip(step.outputs, step.evaluate(*operands), strict=True))
        results.append([numpy.array(_value(array, values)) for array in part.outputs])
        for target, source in [(values[target], numpy.array(_value(one, values))) for target, one in part.updates]:
            target[...] = source
    return results


def _value(array: Array, values: dict[Array, Any]) -> Any:
    return array.value if array.is_constant else values[array]
