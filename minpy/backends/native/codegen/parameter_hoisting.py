"""What is made of parameters alone becomes a part of its own, which runs once and again when one of them has changed.

In inference that is much: weights packed for kernels, or turned; the factors of batch norms with moving statistics,
and weights multiplied by them. What costs less to make anew than to read stays where it is read.
"""

from __future__ import annotations

from collections.abc import Iterable

from minpy.backends.native.fusing.cost_model import DEAR_FUNCTIONS
from minpy.backends.native.language import Array, Call, Elementwise, Part, Reduce, Routine, Step, View

__all__ = ["PREPARED", "SMALLEST", "made_of_parameters", "prepared"]

# The name of the part.
PREPARED = "prepare"

# Bytes of all parameters together below which nothing is prepared: looking whether they have changed would cost more.
SMALLEST = 32 * 1024

# An array that takes so many times the bytes of what it is made of, and is larger than this, is made where it is read.
TIMES, LARGE = 4, 64 * 1024

# Seconds that a byte takes that is read or written, and that it takes to look whether a parameter has changed.
_BYTE, _LOOK = 1e-10, 4e-7


def prepared(routine: Routine) -> Routine:
    """Return a routine of one part with what is made of parameters in a part before; itself, if there is little.

    >>> import numpy
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
    readers: dict[Array, list[Step | Part]] = {}

    def note(reader: Step | Part, arrays: Iterable[Array]) -> None:
        for array in arrays:
            readers.setdefault(array.root, []).append(reader)

    note(forward, [*forward.outputs, *(source for _, source in forward.updates)])
    for step in reversed(forward.steps):
        if step in moved and not isinstance(step, View) and _is_cheaper_anew(step, readers):
            del moved[step]
        if step not in moved:
            note(step, step.operands)
    made = [step for step in moved if not isinstance(step, View)]
    held = [output for step in made for output in step.outputs if output in readers]
    sources = dict.fromkeys(operand.root for step in made for operand in step.operands)
    inputs = [array for array in forward.inputs if array in sources]
    nbytes = sum(array.nbytes for step in made for array in (*step.operands, *step.outputs))
    if not held or nbytes * _BYTE < _LOOK * len(inputs):
        return routine
    there = {*sources, *(output for step in made for output in step.outputs)}
    made_first: list[Step] = []
    remaining: list[Step] = []
    for step in forward.steps:
        # Both parts see the views that are steps of the first one.
        is_first = step in moved and (not isinstance(step, View) or step.operands[0] in there)
        (made_first if is_first else remaining).append(step)
    second = Part(forward.name, forward.inputs, remaining, forward.outputs, forward.updates)
    return Routine([Part(PREPARED, inputs, made_first, held), second])


def made_of_parameters(part: Part) -> dict[Step, None]:
    """Return the steps that depend on parameters and constants alone, and on a parameter at all, in order.

    Calls of Python's functions are not among them: what else they do is not known.
    """
    ready = {array for array in part.inputs if array.is_parameter}
    made: dict[Step, None] = {}
    for step in part.steps:
        operands = [operand for operand in step.operands if not operand.is_constant]
        if operands and all(operand in ready for operand in operands) and _can_move(step):
            made[step] = None
            ready.update(step.outputs)
    return made


def _can_move(step: Step) -> bool:
    return not isinstance(step, Call) or step.form is not None


def _is_cheaper_anew(step: Step, readers: dict[Array, list[Step | Part]]) -> bool:
    """Tell whether a value is made of so little that those who read it had better make it themselves."""
    if not isinstance(step, Elementwise) or step.function in DEAR_FUNCTIONS:
        return False
    output = step.output
    source = sum(root.nbytes for root in {operand.root for operand in step.operands} if not root.is_number)
    if output.nbytes <= max(LARGE, TIMES * source):
        return False
    return all(isinstance(reader, Elementwise | Reduce) for reader in readers.get(output, ()))
