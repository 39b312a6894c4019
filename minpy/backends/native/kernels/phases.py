"""What each run of a nest's inner loops computes, computes again, and reads back from memory."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field

from minpy.backends.native.fusing.loop_nest import Level, Nest
from minpy.backends.native.kernels.element_functions import flops
from minpy.backends.native.kernels.nest_geometry import Geometry, is_of_rows
from minpy.backends.native.language import Array, Elementwise, Reduce, Step

__all__ = ["Phase", "phases_of", "weight"]

# A value with an expression no larger than this is computed again in later phases: that takes less time than to write
# and to read it. What is written anyway is read.
_CHEAP_FLOPS = 8
_CHEAP_READS = 3


@dataclass(slots=True)
class Phase:
    """One run of the inner loops."""

    number: int
    # What is computed at each point, in order; reductions along axes of length 1 are among it.
    steps: list[Elementwise | Reduce] = field(default_factory=list)
    # Values of earlier phases that are read back: from where they are stored (False), or spilled (True).
    loads: dict[Array, bool] = field(default_factory=dict)
    spills: list[Array] = field(default_factory=list)  # what is written to scratch memory for later phases
    stores: list[Array] = field(default_factory=list)  # what is written to memory
    rows: list[Reduce] = field(default_factory=list)  # the reductions along the inner axes
    columns: list[Reduce] = field(default_factory=list)  # the reductions that take in every point in memory
    reads: dict[Array, None] = field(default_factory=dict)  # what is read from memory, views as they are


def phases_of(nest: Nest, geometry: Geometry) -> list[Phase]:
    """Return the phases of a nest that have something to do, in order."""
    levels = nest.levels
    phases: dict[int, Phase] = {}

    def phase(number: int) -> Phase:
        return phases.setdefault(number, Phase(number))

    for step in nest.steps:
        array, number = step.output, nest.phases[step.output]
        if isinstance(step, Reduce) and levels[array] is not Level.FULL:
            if array in geometry.rows:
                phase(number).rows.append(step)
            elif not is_of_rows(nest, step):
                phase(number).columns.append(step)
        elif levels[array] is Level.FULL and array in geometry.stores:
            phase(number).stores.append(array)

    result = [phases[number] for number in sorted(phases)]
    first: dict[Array, Phase] = {}
    spilled: dict[Array, None] = {}
    for current in result:
        live = dict.fromkeys(current.stores)
        for reduction in (*current.rows, *current.columns):
            live[reduction.operands[0]] = None
        live = {array.root if array.root in levels else array: None for array in live}
        for step in reversed(nest.steps):
            array = step.output
            if array not in live or levels[array] is not Level.FULL:
                continue
            written = {stored for stored in geometry.stores if nest.phases[stored] < current.number}
            if array in first and (array in written or not _is_cheap(nest, array, written | spilled.keys())):
                if array not in written and array not in spilled:
                    spilled[array] = None
                    first[array].spills.append(array)
                current.loads[array] = array not in written
                continue
            first.setdefault(array, current)
            current.steps.insert(0, step)
            for operand in step.operands:
                live[operand.root if operand.root in levels else operand] = None
        current.reads = {array: None for array in live if array in geometry.reads}
    return result


def weight(step: Step) -> int:
    """Return about how many instructions a step is."""
    return max(1, flops(step.function, step.operands[-1].dtype)) if isinstance(step, Elementwise) else 1


def _is_cheap(nest: Nest, array: Array, there: Set[Array]) -> bool:
    """Tell whether a value is computed faster than read back: from what is in memory, and what is `there`, too."""
    cost, reads, todo, seen = 0, set(), [array], {array}
    while todo:
        step = todo.pop().step
        assert step is not None
        cost += weight(step)
        for operand in step.operands:
            root = operand.root
            if nest.levels.get(root) is Level.FULL:
                if root in there:
                    reads.add(root)
                elif root not in seen:
                    seen.add(root)
                    todo.append(root)
            elif root not in nest.levels and not operand.is_number:
                reads.add(operand)
        if cost > _CHEAP_FLOPS or len(reads) > _CHEAP_READS:
            return False
    return True
