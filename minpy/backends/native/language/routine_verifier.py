"""The verifier: checks that a routine is well formed, before and after each pass."""

from __future__ import annotations

from collections.abc import Callable

import numpy

from minpy.backends.native.language import (
    Array,
    Assembly,
    Call,
    Elementwise,
    Layout,
    Product,
    Reduce,
    Routine,
    Step,
    View,
)
from minpy.backends.native.language.function_table import ELEMENTWISE, REDUCTIONS, is_supported
from minpy.core.errors import MXNetError

__all__ = ["InvalidRoutineError", "verify"]


class InvalidRoutineError(MXNetError):
    """A routine breaks the rules of the step language: a fault of a pass, not of what users wrote."""


def verify(routine: Routine, after: str = "translating") -> None:
    """Raise if a routine is not well formed, with the step, the problem, and the last pass.

    >>> from minpy.backends.native.language import Part
    >>> x = Array((2, 3), numpy.dtype("float32"), name="x")
    >>> y = Elementwise.of("exp", x)
    >>> verify(Routine([Part("forward", [x], [y.step], [y])]))
    >>> verify(Routine([Part("forward", [x], [], [y])]))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    minpy...InvalidRoutineError: after translating: part 'forward' returns exp (float32 (2, 3)), which no step ...
    """
    computed: set[Array] = set()

    def fail(problem: str) -> None:
        raise InvalidRoutineError(f"after {after}: {problem}")

    for part in routine.parts:
        for array in part.inputs:
            if array.step is not None or array.is_constant:
                fail(f"part {part.name!r}: its input {array.described()} is given by a step, or a constant.")
            computed.add(array)
        for number, step in enumerate(part.steps):
            where = f"part {part.name!r}, step {number} ({step.label()})"
            for operand in step.operands:
                if operand not in computed and not operand.is_constant:
                    fail(f"{where} reads {operand.described()}, which no step before gives.")
            for index, output in enumerate(step.outputs):
                if output.step is not step or output.index != index:
                    fail(f"{where}: its output {index} belongs to another step.")
                if output in computed:
                    fail(f"{where} is there twice.")
                computed.add(output)
            _RULES[type(step)](step, lambda problem, where=where: fail(f"{where}: {problem}"))  # type: ignore[misc]
        for target, source in part.updates:
            if target not in part.inputs:
                fail(f"part {part.name!r} updates {target.described()}, which is not an input of it.")
            if (source.shape, source.dtype) != (target.shape, target.dtype):
                fail(f"part {part.name!r} updates {target.described()} with {source.described()}.")
        for array in (*part.outputs, *(source for _, source in part.updates)):
            if array not in computed and not array.is_constant:
                fail(f"part {part.name!r} returns {array.described()}, which no step before gives.")


Fail = Callable[[str], None]


def _elementwise(step: Step, fail: Fail) -> None:
    assert isinstance(step, Elementwise)
    row = ELEMENTWISE.get(step.function)
    if row is None:
        fail(f"there is no function {step.function!r}.")
        return
    if len(step.operands) != row.arity:
        fail(f"it takes {row.arity} operands, not {len(step.operands)}.")
    operands = step.operands
    if step.function == "where":
        if operands[0].dtype != numpy.bool_:
            fail(f"its condition is {operands[0].dtype}, not bool.")
        operands = operands[1:]
    dtypes = {operand.dtype for operand in operands}
    if len(dtypes) != 1:
        fail(f"its operands are of several dtypes: {', '.join(sorted(map(str, dtypes)))}. Cast them before.")
    for dtype in (*dtypes, step.output.dtype):
        if not is_supported(dtype):
            fail(f"{dtype} is not supported: it has to be a call.")
    if operands[0].dtype.kind not in row.kinds:
        fail(f"it does not take {operands[0].dtype}.")
    expected = numpy.broadcast_shapes(*(operand.shape for operand in step.operands))
    if step.output.shape != expected:
        fail(f"its output is {step.output.shape}, its operands broadcast to {expected}.")


def _reduce(step: Step, fail: Fail) -> None:
    assert isinstance(step, Reduce)
    (operand,) = step.operands
    row = REDUCTIONS.get(step.function)
    if row is None:
        fail(f"there is no reduction {step.function!r}.")
        return
    if operand.dtype.kind not in row.kinds or not is_supported(operand.dtype):
        fail(f"it does not take {operand.dtype}.")
    if not all(0 <= axis < len(operand.shape) for axis in step.axes) or len(set(step.axes)) != len(step.axes):
        fail(f"its axes {step.axes} are not those of {operand.shape}.")
    if step.function.startswith("arg") and len(step.axes) not in (1, len(operand.shape)):
        fail("it takes one axis, or all.")
    empty = any(operand.shape[axis] == 0 for axis in step.axes)
    if empty and row.identity is None:
        fail(f"nothing is reduced: axes {step.axes} of {operand.shape}.")


def _within_memory(root: Array, shape: tuple[int, ...], layout: Layout) -> bool:
    """Tell whether all elements of a layout lie within an array's memory."""
    if len(layout.strides) != len(shape):
        return False
    if 0 in shape:
        return True
    first, last = layout.reach(shape)
    return first >= 0 and last < root.size


def _view(step: Step, fail: Fail) -> None:
    assert isinstance(step, View)
    (root,) = step.operands
    if root.is_view:
        fail("it is a view of a view: those are one.")
    if not _within_memory(root, step.shape, step.layout):
        fail(f"its layout {tuple(step.layout)} of {step.shape} leaves the memory of {root.shape}.")


def _assembly(step: Step, fail: Fail) -> None:
    assert isinstance(step, Assembly)
    if len(step.operands) != len(step.pieces):
        fail(f"it has {len(step.pieces)} pieces, and {len(step.operands)} operands.")
    if len({operand.dtype for operand in step.operands}) != 1:
        fail("its pieces are of several dtypes.")
    covered = numpy.zeros(step.output.size, numpy.bool_) if step.fill is None else None
    for operand, piece in zip(step.operands, step.pieces, strict=True):
        if not _within_memory(step.output, operand.shape, piece.layout):
            fail(f"a piece of {operand.shape} at {tuple(piece.layout)} leaves {step.shape}.")
        if any(length > 1 and stride == 0 for length, stride in zip(operand.shape, piece.layout.strides, strict=True)):
            fail("a piece writes several elements to one place.")
        if covered is not None:
            piece.layout.window(covered, operand.shape)[...] = True
    if covered is not None and not covered.all():
        fail("its pieces leave some elements unwritten, and it has no fill.")


def _product(step: Step, fail: Fail) -> None:
    first, second, *added = step.operands
    if any(operand.dtype != first.dtype for operand in step.operands) or first.dtype not in (
        numpy.dtype("float32"),
        numpy.dtype("float64"),
    ):
        fail(f"its operands are {', '.join(str(operand.dtype) for operand in step.operands)}.")
    if len(first.shape) < 2 or len(first.shape) != len(second.shape) or first.shape[:-2] != second.shape[:-2]:
        fail(f"it is of {first.shape} by {second.shape}.")
    elif first.shape[-1] != second.shape[-2]:
        fail(f"it is of {first.shape} by {second.shape}: {first.shape[-1]} is not {second.shape[-2]}.")
    if added and added[0].shape != step.output.shape:
        fail(f"{added[0].shape} is added to {step.output.shape}.")


def _call(step: Step, fail: Fail) -> None:
    assert isinstance(step, Call)
    if step.function is None and step.node is None:
        fail("it has neither a function nor a node.")


_RULES: dict[type, Callable[[Step, Fail], None]] = {
    Elementwise: _elementwise,
    Reduce: _reduce,
    View: _view,
    Assembly: _assembly,
    Product: _product,
    Call: _call,
}
