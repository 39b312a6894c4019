"""What is known is computed once, when the routine is made."""

from __future__ import annotations

import numpy

from minpy.backends.native.language import Array, Elementwise, Reduce, Step, View, broadcast, constant
from minpy.backends.native.passes.patterns import uniform
from minpy.backends.native.passes.rewriting import Rewriter

__all__ = ["rewrite"]

# Elements of a constant that is made: larger ones take more memory than time.
LARGEST = 4096


def rewrite(step: Step, rewriter: Rewriter) -> Array | None:
    """Return a constant in a step's place, or the step with numbers in the places of constants of one value."""
    if not isinstance(step, Elementwise | Reduce):
        return None
    if all(operand.root.is_constant for operand in step.operands):
        return _folded(step, rewriter)
    if isinstance(step, Elementwise) and step.function != "copy":
        return _with_numbers(step, rewriter)
    return None


def _folded(step: Elementwise | Reduce, rewriter: Rewriter) -> Array | None:
    values = [uniform(operand) for operand in step.operands]
    if isinstance(step, Elementwise) and all(value is not None for value in values):
        if step.function == "copy":
            return None
        rewriter.notes.add("constants are computed")
        outcome = constant(step.evaluate(*(numpy.asarray(value) for value in values))[0], step.output.dtype)
        return outcome if outcome.shape == step.output.shape else broadcast(outcome, step.output.shape)
    if max(step.output.size, *(operand.size for operand in step.operands)) > LARGEST:
        return None
    rewriter.notes.add("constants are computed")
    (result,) = step.evaluate(*(_values(operand) for operand in step.operands))
    return constant(result, step.output.dtype)


def _values(array: Array) -> numpy.ndarray:
    value = array.root.value
    assert value is not None
    return array.step.evaluate(value)[0] if isinstance(array.step, View) else value


def _with_numbers(step: Elementwise, rewriter: Rewriter) -> Array | None:
    """Return the step of numbers rather than of constants with axes: nothing has to be read then."""
    operands = list(step.operands)
    changed = False
    for index, operand in enumerate(operands):
        if operand.shape and operand.root.is_constant:
            value = uniform(operand)
            if value is not None:
                operands[index] = constant(value, operand.dtype)
                changed = True
    if not changed:
        return None
    rewriter.notes.add("constants of one value are numbers")
    result = Elementwise.of(step.function, *operands, dtype=step.dtype, origin=step.origin)
    return result if result.shape == step.output.shape else broadcast(result, step.output.shape)
