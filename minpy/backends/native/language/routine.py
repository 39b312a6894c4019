"""`Routine`, all steps of a program, in `Part`s that run one after the other; printed as text."""

from __future__ import annotations

from dataclasses import dataclass, field

from minpy.backends.native.language.array_and_step import Array, Step

__all__ = ["Part", "Routine"]


@dataclass(eq=False, slots=True)
class Part:
    """Some steps that run together: the forward or the backward part of a program.

    `inputs` are the arrays that its caller gives; a part may read what steps of earlier parts gave, and their inputs.
    `outputs` are what its caller gets. `updates` are inputs, and the arrays whose values they have in place of theirs
    once the part is done: states, such as moving averages. Steps always read the old values.
    """

    name: str
    inputs: list[Array]
    steps: list[Step]
    outputs: list[Array]
    updates: list[tuple[Array, Array]] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class Routine:
    """Parts that run one after the other."""

    parts: list[Part]

    @property
    def steps(self) -> list[Step]:
        """The steps of all parts."""
        return [step for part in self.parts for step in part.steps]

    def __str__(self) -> str:
        """Return the routine as text, a line a step.

        >>> import numpy
        >>> from minpy.backends.native.language import Elementwise, Reduce
        >>> x = Array((2, 3), numpy.dtype("float32"), name="x")
        >>> y = Elementwise.of("exp", x)
        >>> z = Reduce.of("sum", y, (1,))
        >>> print(Routine([Part("forward", [x], [y.step, z.step], [z])]))
        forward(x: float32 (2, 3)):
            %0: float32 (2, 3) = exp(x)
            %1: float32 (2, 1) = sum along 1(%0)
            return %1
        """
        names: dict[Array, str] = {}
        number = 0
        lines = []
        for part in self.parts:
            for position, array in enumerate(part.inputs):
                names[array] = array.name or f"input{position}"
            inputs = ", ".join(f"{names[array]}: {array.dtype} {array.shape}" for array in part.inputs)
            lines.append(f"{part.name}({inputs}):")
            for step in part.steps:
                for output in step.outputs:
                    names[output] = f"%{number}"
                    number += 1
                outputs = ", ".join(f"{names[output]}: {output.dtype} {output.shape}" for output in step.outputs)
                operands = ", ".join(_shown(operand, names) for operand in step.operands)
                lines.append(f"    {outputs} = {step.label()}({operands})")
            for target, source in part.updates:
                lines.append(f"    {names[target]} := {_shown(source, names)}")
            lines.append(f"    return {', '.join(_shown(output, names) for output in part.outputs)}")
        return "\n".join(lines)


def _shown(array: Array, names: dict[Array, str]) -> str:
    if array in names:
        return names[array]
    if array.is_number:
        return repr(array.value[()].item())  # type: ignore[index]
    return f"constant {array.dtype} {array.shape}" if array.is_constant else "?"
