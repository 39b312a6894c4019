"""Steps that depend on parameters alone become a part of their own, which runs once, and again when one changes.

In inference that is much: weights packed for kernels, or turned; the factors of batch norms with moving statistics,
and weights multiplied by them.
"""

from __future__ import annotations

from minpy.backends.native.language import Call, Part, Routine, Step, View

__all__ = ["PREPARED", "SMALLEST", "made_of_parameters", "prepared"]

# The name of the part.
PREPARED = "prepare"

# Bytes of all parameters together below which nothing is prepared: looking whether they have changed would cost more.
SMALLEST = 32 * 1024

# Seconds that a byte takes that is read or written, and that it takes to look whether a parameter has changed.
_BYTE, _LOOK = 1e-10, 4e-7


def prepared(routine: Routine) -> Routine:
    """Return a routine of one part with what is made of parameters in a part before; itself, if there is little.

    >>> import numpy
    >>> from minpy.backends.native.language import Array, Elementwise
    >>> weight = Array((512, 512), numpy.dtype("float32"), name="weight", is_parameter=True)
    >>> data = Array((512, 512), numpy.dtype("float32"), name="data")
    >>> double = Elementwise.of("multiply", weight, weight)
    >>> result = Elementwise.of("add", data, double)
    >>> print(prepared(Routine([Part("forward", [data, weight], [double.step, result.step], [result])])))
    prepare(weight: float32 (512, 512)):
        %0: float32 (512, 512) = multiply(weight, weight)
        return %0
    forward(data: float32 (512, 512), weight: float32 (512, 512)):
        %1: float32 (512, 512) = add(data, %0)
        return %1
    """
    (forward,) = routine.parts
    moved = made_of_parameters(forward)
    read_later = {array.root for array in (*forward.outputs, *(source for _, source in forward.updates))}
    read_later |= {operand.root for step in forward.steps if step not in moved for operand in step.operands}
    hoisted = [step for step in moved if not isinstance(step, View)]
    outputs = [output for step in hoisted for output in step.outputs if output in read_later]
    sources = dict.fromkeys(operand.root for step in hoisted for operand in step.operands)
    inputs = [array for array in forward.inputs if array in sources]
    nbytes = sum(array.nbytes for step in hoisted for array in (*step.operands, *step.outputs))
    if not outputs or nbytes * _BYTE < _LOOK * len(inputs):
        return routine
    available = {*sources, *(output for step in hoisted for output in step.outputs)}
    preparing_steps: list[Step] = []
    remaining: list[Step] = []
    for step in forward.steps:
        # Both parts see the views that are steps of the first one.
        is_first = step in moved and (not isinstance(step, View) or step.operands[0] in available)
        (preparing_steps if is_first else remaining).append(step)
    second = Part(forward.name, forward.inputs, remaining, forward.outputs, forward.updates)
    return Routine([Part(PREPARED, inputs, preparing_steps, outputs), second])


def made_of_parameters(part: Part) -> dict[Step, None]:
    """Return the steps that depend on parameters and constants alone, and on a parameter at all, in order.

    Calls of Python's functions are not among them: what else they do is not known.
    """
    ready = {array for array in part.inputs if array.is_parameter}
    hoisted: dict[Step, None] = {}
    for step in part.steps:
        operands = [operand for operand in step.operands if not operand.is_constant]
        if operands and all(operand in ready for operand in operands) and _can_move(step):
            hoisted[step] = None
            ready.update(step.outputs)
    return hoisted


def _can_move(step: Step) -> bool:
    return not isinstance(step, Call) or step.form is not None
