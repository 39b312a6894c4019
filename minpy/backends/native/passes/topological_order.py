"""Routines sorted again, after arrays were replaced by others that depend on other steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from minpy.backends.native.language import Array, Call, Elementwise, Part, Routine, Step, View
from minpy.backends.native.language.layout_algebra import reviewed
from minpy.backends.native.passes.rewriting import remade, without_dead_steps

__all__ = ["reordered"]


def reordered(
    routine: Routine, replacements: Mapping[Array, Array], computed: Sequence[Sequence[Array]] | None = None
) -> Routine:
    """Return a routine with some arrays replaced, each step after those that it reads then.

    `replacements`: of the same shapes and dtypes. Steps that are not of the routine may give them, which may read any
    of its arrays; nothing may come to need itself. `computed`: what each part is to compute by its end, also if only
    later parts read it.

    Steps stay in their order, but for those that others now need earlier. Calls stay in their order.
    """
    order = _Order(routine, replacements)
    parts = []
    for number, part in enumerate(routine.parts):
        order.steps = []
        for step in part.steps:
            if any(output not in replacements for output in step.outputs):
                order.require(step)
        for array in (*(computed[number] if computed else ()), *part.outputs, *(source for _, source in part.updates)):
            order.require_array(array)
        outputs = [order.final(array) for array in part.outputs]
        updates = [(target, order.final(source)) for target, source in part.updates]
        parts.append(Part(part.name, list(part.inputs), order.steps, outputs, updates))
    return without_dead_steps(Routine(parts))


class _Order:
    def __init__(self, routine: Routine, replacements: Mapping[Array, Array]) -> None:
        self.replacements = replacements
        self.steps: list[Step] = []
        self.done: dict[Step, tuple[Array, ...]] = {}
        self.previous_call: dict[Step, Step] = {}
        for part in routine.parts:
            last = None
            for step in part.steps:
                if isinstance(step, Call):
                    if last is not None:
                        self.previous_call[step] = last
                    last = step

    def replacement_of(self, array: Array) -> Array:
        while array in self.replacements:
            array = self.replacements[array]
        return array

    def final(self, array: Array) -> Array:
        """Return the array that replaces an array, once its step has been added."""
        array = self.replacement_of(array)
        return array if array.step is None else self.done[array.step][array.index]

    def require_array(self, array: Array) -> None:
        step = self.replacement_of(array).step
        if step is not None:
            self.require(step)

    def require(self, step: Step) -> None:
        """Add a step after its dependencies. Chains are as long as programs: this is no recursion."""
        stack = [(step, False)]
        while stack:
            step, is_ready = stack.pop()
            if step in self.done:
                continue
            if is_ready:
                self._add(step)
                continue
            stack.append((step, True))
            dependencies = [self.replacement_of(operand).step for operand in reversed(step.operands)]
            if step in self.previous_call:
                dependencies.append(self.previous_call[step])
            stack.extend((item, False) for item in dependencies if item is not None and item not in self.done)

    def _add(self, step: Step) -> None:
        operands = tuple(map(self.final, step.operands))
        if isinstance(step, View) and operands[0].is_view:
            result = reviewed(step, operands[0])
            if result is None:
                copy = Elementwise.of("copy", operands[0], origin=step.origin)
                assert copy.step is not None
                self.steps.append(copy.step)
                result = reviewed(step, copy)
                assert result is not None
            if result.step is not None and result.step not in self.done:
                self.steps.append(result.step)
                self.done[result.step] = result.step.outputs
            self.done[step] = (result,)
            return
        new = step if operands == step.operands else remade(step, operands)
        self.steps.append(new)
        self.done[step] = new.outputs
