"""Routines run step by step by NumPy: the naive model that everything compiled is held against."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from minpy.backends.native.language import Array, Routine

__all__ = ["evaluate"]


def evaluate(routine: Routine, inputs: Sequence[Sequence[Any]]) -> list[list[numpy.ndarray]]:
    """Return the outputs of every part, given the inputs of every part.

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
        for array, value in zip(part.inputs, arrays, strict=True):
            if value.shape != array.shape or value.dtype != array.dtype:
                raise ValueError(
                    f"{array.name or 'an input'} is {value.dtype} {value.shape}, the routine is for "
                    f"{array.dtype} {array.shape}."
                )
            values[array] = value
        for step in part.steps:
            operands = [_value(operand, values) for operand in step.operands]
            values.update(zip(step.outputs, step.evaluate(*operands), strict=True))
        results.append([numpy.array(_value(array, values)) for array in part.outputs])
        for target, source in [(values[t], numpy.array(_value(source, values))) for t, source in part.updates]:
            target[...] = source
    return results


def _value(array: Array, values: dict[Array, Any]) -> Any:
    return array.value if array.is_constant else values[array]
