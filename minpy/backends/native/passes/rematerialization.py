"""Cheap values are computed again by a later part, rather than saved for it.

That moves fewer bytes where the earlier part need not store them at all. Where it stores them for itself, as operands
of a convolution, it takes less memory: a batch norm's result is computed again from the norm's operands, which are
saved anyway.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from minpy.backends.native.fusing.cost_model import DEAR_FUNCTIONS
from minpy.backends.native.fusing.fuser import scheduled
from minpy.backends.native.fusing.loop_nest import Nest
from minpy.backends.native.language import Array, Elementwise, Part, Routine, Step, View
from minpy.backends.native.passes.rewriting import Notes, key_of, remade, without_dead_steps

__all__ = ["recomputed"]

# Elements of the smallest array that is computed again: smaller ones stay in the cache.
LEAST_KEPT = 4096

# Bytes of the smallest array that is not saved even though the first part stores it for itself, to save memory.
LEAST_FREED = 1 << 20

# Steps that are done again for one array.
MOST_STEPS = 6


def recomputed(routine: Routine, notes: Notes) -> Routine:
    """Return a routine whose last part computes again what only it needs of what the first part computed.

    An array is computed again if all steps that takes are cheap and read nothing but inputs, small arrays, and arrays
    that are kept anyway; and if storing and reading it would move more bytes than reading those, or if it is a large
    one that is kept for the last part only.
    """
    if len(routine.parts) != 2:
        return routine
    again = _Recomputing(routine).again()
    if not again:
        return routine
    notes.add("cheap values are computed again, not kept", len(again))
    first, last = routine.parts
    return without_dead_steps(Routine([first, _RecomputingPart(last, again).part()]))


class _Recomputing:
    def __init__(self, routine: Routine) -> None:
        self.routine = routine
        first, last = routine.parts
        self.own_outputs = {output for step in first.steps for output in step.outputs}
        states = {target for part in routine.parts for target, _ in part.updates}
        self.inputs = {array for array in first.inputs if array not in states}
        self.read = {operand.root for step in last.steps if not isinstance(step, View) for operand in step.operands}
        self.read |= {array.root for array in last.outputs} | {source.root for _, source in last.updates}
        self.steps: dict[Array, tuple[frozenset[Step], frozenset[Array]] | None] = {}

    def again(self) -> set[Array]:
        """Return the arrays that are computed again, with intermediate ones."""
        candidates = [
            step.output
            for step in self.routine.parts[0].steps
            if isinstance(step, Elementwise) and step.output in self.read and step.output.size >= LEAST_KEPT
        ]
        candidates = [array for array in candidates if self._cone(array) is not None]
        if not candidates:
            return set()
        in_memory = self._in_memory_anyway()
        returned = {array.root for array in self.routine.parts[0].outputs}
        dropped: set[Array] = set()
        result: set[Array] = set()
        for array in candidates:
            self.steps.clear()
            saved = self.read - dropped - {array}
            cone = self._cone(array, saved)
            if cone is None or array in returned:
                continue
            steps, leaves = cone
            if array in in_memory:
                is_better = array.nbytes >= LEAST_FREED and sum(leaf.nbytes for leaf in leaves) <= 2 * array.nbytes
            else:
                is_better = sum(leaf.nbytes for leaf in leaves if leaf not in saved) < 2 * array.nbytes
            if is_better:
                dropped.add(array)
                result.update(step.outputs[0] for step in steps)
        return result

    def _in_memory_anyway(self) -> set[Array]:
        """Return the arrays in memory after the first part even if no other part reads them."""
        (schedule,) = scheduled(Routine([self.routine.parts[0]]))
        in_memory = {array.root for array in self.routine.parts[0].outputs}
        for item in schedule.items:
            in_memory.update(array.root for array in (item.reads() if isinstance(item, Nest) else item.operands))
        return in_memory

    def _cone(self, array: Array, saved: set[Array] | None = None) -> tuple[frozenset[Step], frozenset[Array]] | None:
        """Return the steps that compute an array, and what they read; None, if they are expensive, or too many."""
        if array in self.steps:
            return self.steps[array]
        self.steps[array] = result = self._computed_cone(array, self.read - {array} if saved is None else saved)
        return result

    def _computed_cone(self, array: Array, saved: set[Array]) -> tuple[frozenset[Step], frozenset[Array]] | None:
        step = array.step
        if not isinstance(step, Elementwise) or step.function in DEAR_FUNCTIONS or array not in self.own_outputs:
            return None
        steps: frozenset[Step] = frozenset([step])
        leaves: frozenset[Array] = frozenset()
        for operand in step.operands:
            root = operand.root
            if root.is_constant:
                continue
            if root in saved or root in self.inputs:
                leaves |= {root}
                continue
            if root.size < LEAST_KEPT and root in self.own_outputs:  # keeping a small array costs nothing
                leaves |= {root}
                continue
            cone = self._cone(root, saved)
            if cone is None:
                return None
            steps, leaves = steps | cone[0], leaves | cone[1]
            if len(steps) > MOST_STEPS:
                return None
        return steps, leaves


class _RecomputingPart:
    """A part that computes some arrays of an earlier one again, where it first needs them."""

    def __init__(self, part: Part, again: Collection[Array]) -> None:
        self.old = part
        self.recomputed = again
        self.new: dict[Array, Array] = {}
        self.steps: list[Step] = []
        self.own_outputs = set(part.steps)
        self.computed: dict[Any, Elementwise] = {}

    def part(self) -> Part:
        for step in self.old.steps:
            if not isinstance(step, View):
                self._redo(step)
        outputs = [self._current(array) for array in self.old.outputs]
        updates = [(target, self._current(source)) for target, source in self.old.updates]
        return Part(self.old.name, self.old.inputs, self.steps, outputs, updates)

    def _redo(self, step: Step) -> None:
        operands = tuple(map(self._current, step.operands))
        new = step if operands == step.operands and step in self.own_outputs else remade(step, operands)
        if isinstance(new, Elementwise):  # what the part has computed already is not computed again for it
            same = self.computed.setdefault(key_of(new), new)
            if same is not new:
                self.new[step.outputs[0]] = same.output
                return
        self.steps.append(new)
        self.new.update(zip(step.outputs, new.outputs, strict=True))

    def _current(self, array: Array) -> Array:
        if array in self.new:
            return self.new[array]
        if isinstance(array.step, View):
            root = self._current(array.root)
            if root is array.root and array.step not in self.own_outputs:
                return array
            result = array
            if root is not array.root:
                result = View.of(root, array.shape, array.step.layout, origin=array.step.origin)
            if result.step is not None and result is not root:
                self.steps.append(result.step)
            self.new[array] = result
            return result
        if array in self.recomputed:
            assert array.step is not None
            self._redo(array.step)
            return self.new[array]
        return array
