"""The verifier of schedules: what holds for all of them, whatever was fused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy

from minpy.backends.native.fusing.loop_nest import Level, Nest, Place, Schedule, aligned_strides, reduced_axes
from minpy.backends.native.language import (
    Array,
    Assembly,
    Elementwise,
    Layout,
    Part,
    Reduce,
    Routine,
    Step,
    View,
    contiguous,
)
from minpy.backends.native.language.layout_algebra import composed, stripped
from minpy.core.errors import MXNetError

__all__ = ["InvalidScheduleError", "check"]


class InvalidScheduleError(MXNetError):
    """A schedule does not do what its routine says: a fault of the fuser, not of what users wrote."""


def check(routine: Routine, schedules: Sequence[Schedule]) -> None:
    """Raise if schedules, one a part, do not do what a routine says.

    That is if a step is missing, or runs twice; if something is read before it is in memory; if the levels and phases
    of a nest do not go together; if memory is written that is still to be read.
    """
    if len(routine.parts) != len(schedules):
        raise InvalidScheduleError(f"there are {len(routine.parts)} parts, and {len(schedules)} schedules.")
    memory = _Memory()
    asked: list[set[Array]] = []
    later: set[Array] = set()
    for part in reversed(routine.parts):
        asked.append(later)
        later = later | {operand.root for step in part.steps for operand in step.operands}
        later |= {array.root for array in part.outputs}
    for part, schedule, needed in zip(routine.parts, schedules, reversed(asked), strict=True):
        _Check(part, schedule, memory, needed).run()


class _Memory:
    """What lies where: for each element of what has memory of its own, the array whose element it is now."""

    def __init__(self) -> None:
        self.places: dict[Array, Place] = {}
        self.numbers: dict[Array, int] = {}
        self.owners: dict[Array, numpy.ndarray] = {}
        self.pieces: dict[Array, set[int]] = {}

    def number(self, array: Array) -> int:
        return self.numbers.setdefault(array, len(self.numbers) + 1)

    def elements(self, array: Array) -> tuple[numpy.ndarray, Layout | None]:
        """Return who owns the memory in which the elements of an array lie, and where they lie in it."""
        root = array.root
        place = self.places.get(root)
        layout: Layout | None = array.layout
        memory = root
        if place is not None:
            memory = place.root
            layout = composed(array.shape, array.layout, root.shape, place.layout)
        owners = self.owners.setdefault(memory, numpy.zeros(memory.size, numpy.int64))
        return owners, layout

    def window(self, array: Array) -> numpy.ndarray | None:
        owners, layout = self.elements(array)
        if layout is None:
            return None
        return layout.window(owners, array.shape)

    def write(self, array: Array) -> None:
        window = self.window(array)
        assert window is not None
        window[...] = self.number(array)

    def problem(self, array: Array) -> str | None:
        """Return why an array cannot be read."""
        root = array.root
        if root.is_constant or not array.size:
            return None
        window = self.window(array)
        if window is None:
            return "does not lie where it can be read"
        if root in self.pieces:
            owners = set(numpy.unique(window).tolist())
            return None if owners <= self.pieces[root] else "is not there as a whole"
        if (window == self.number(root)).all():
            return None
        return "was overwritten" if (window != 0).all() else "is not in memory"


class _Check:
    def __init__(self, part: Part, schedule: Schedule, memory: _Memory, needed: set[Array]) -> None:
        self.part = part
        self.schedule = schedule
        self.memory = memory
        self.requires_grad = needed
        self.steps = {step for step in part.steps if not isinstance(step, View)}
        self.done: set[Step] = set()

    def fail(self, what: str) -> None:
        raise InvalidScheduleError(f"part {self.part.name!r}: {what}")

    def run(self) -> None:
        self.memory.places.update(self.schedule.places)
        for array in self.part.inputs:
            self.memory.write(array)
        self._note_pieces()
        for number, item in enumerate(self.schedule.items):
            steps = item.steps if isinstance(item, Nest) else [item]
            for step in steps:
                if step not in self.steps:
                    self.fail(f"item {number} does {step.outputs[0].described()}, which is no step of it.")
                if step in self.done:
                    self.fail(f"{step.outputs[0].described()} is done twice.")
                self.done.add(step)
            for array in item.reads() if isinstance(item, Nest) else item.operands:
                self._require(array, f"item {number} reads")
            if isinstance(item, Nest):
                for nest_problem in _NestCheck(item).problems():
                    self.fail(f"item {number}: {nest_problem}")
                for array, place in item.stored.items():
                    if self.schedule.places.get(array) != place:
                        self.fail(f"item {number} stores {array.described()} elsewhere than the schedule says.")
            for array in item.stored if isinstance(item, Nest) else item.outputs:
                self.memory.write(array)
        for array in (*self.part.outputs, *(source for _, source in self.part.updates)):
            self._require(array, "what is returned:")
        for array in self.requires_grad:
            if array.step in self.steps:
                self._require(array, "a later part reads")
        missing = [step for step in self.part.steps if step.kind == "call" and step not in self.done]
        if missing:
            self.fail(f"{missing[0].outputs[0].described()} is never called.")

    def _require(self, array: Array, who: str) -> None:
        problem = self.memory.problem(array)
        if problem is not None:
            self.fail(f"{who} {array.described()}, which {problem}.")

    def _note_pieces(self) -> None:
        """Note what lies in the assemblies that nobody puts together: their pieces have to be computed in place."""
        items = {item for item in self.schedule.items if isinstance(item, Assembly)}
        for step in reversed(self.part.steps):
            if not isinstance(step, Assembly) or step in items:
                continue
            whole = step.output
            pieces: set[int] = set()
            for operand, piece in zip(step.operands, step.pieces, strict=True):
                if not _same(self._place_of(operand), self._expected(operand, whole, piece.layout), operand):
                    break
                pieces.add(self.memory.number(operand.root))
            else:
                self.memory.pieces[whole] = pieces
        # Pieces can be assemblies in place themselves.
        for step in self.part.steps:
            if isinstance(step, Assembly) and step.output in self.memory.pieces:
                for operand in step.operands:
                    self.memory.pieces[step.output] |= self.memory.pieces.get(operand.root, set())

    def _place_of(self, operand: Array) -> Place | None:
        place = self.schedule.places.get(operand.root)
        if place is None:
            return None
        layout = composed(operand.shape, operand.layout, operand.root.shape, place.layout)
        return None if layout is None else Place(place.root, layout)

    def _expected(self, operand: Array, whole: Array, layout: Layout) -> Place | None:
        outer = self.schedule.places.get(whole)
        if outer is None:
            return Place(whole, layout)
        inside = composed(operand.shape, layout, whole.shape, outer.layout)
        return None if inside is None else Place(outer.root, inside)


def _same(place: Place | None, expected: Place | None, array: Array) -> bool:
    if place is None or expected is None or place.root is not expected.root:
        return False
    axes = zip(array.shape, place.layout.strides, expected.layout.strides, strict=True)
    same = all(length == 1 or stride == expected_stride for length, stride, expected_stride in axes)
    return same and place.layout.offset == expected.layout.offset


class _NestCheck:
    """What holds inside of one nest."""

    def __init__(self, nest: Nest) -> None:
        self.nest = nest

    def problems(self) -> Iterator[str]:
        nest = self.nest
        if not all(0 <= axis < len(nest.shape) for axis in nest.inner):
            yield f"there are no inner axes {sorted(nest.inner)} in {nest.shape}."
        outputs = {step.output for step in nest.steps}
        if outputs != nest.levels.keys() or outputs != nest.phases.keys():
            yield "levels and phases are not those of its steps."
        if not nest.stored.keys() <= outputs:
            yield "it stores what it does not compute."
        computed: set[Array] = set()
        for step in nest.steps:
            for problem in self.about(step, computed):
                yield f"{step.output.described()}: {problem}"
            computed.add(step.output)

    def about(self, step: Elementwise | Reduce, computed: set[Array]) -> Iterator[str]:
        nest = self.nest
        output = step.output
        level = nest.levels[output]
        row = tuple(1 if axis in nest.inner else length for axis, length in enumerate(nest.shape))
        domain = step.operands[0].shape if isinstance(step, Reduce) else output.shape
        of_rows = stripped(domain) != stripped(nest.shape)
        if of_rows and stripped(domain) != stripped(row):
            yield f"{domain} is neither the space {nest.shape} nor its rows."
            return
        if isinstance(step, Reduce):
            axes = reduced_axes(step, nest.shape)
            along = {axis for axis in nest.inner if nest.shape[axis] != 1}
            if level is Level.FULL:
                yield "a reduction gives no value at every point."
            elif level is Level.ROW and (of_rows or axes != along):
                yield f"it is not along the inner axes {sorted(nest.inner)}."
            elif level is Level.COLUMN and (step.function.startswith("arg") or not (along <= axes or not along & axes)):
                yield f"it is along some of the inner axes {sorted(nest.inner)}, or searches."
            if level is Level.COLUMN and output not in nest.stored:
                yield "it is not stored."
        elif level is not (Level.ROW if of_rows else Level.FULL):
            yield f"its level is {level.value}."
        phase = 0
        for operand in step.operands:
            root = operand.root
            if root not in nest.levels:
                try:
                    aligned_strides(operand.shape, operand.layout.strides, nest.shape)
                except ValueError as problem:
                    yield str(problem)
                continue
            if root not in computed:
                yield f"it reads {root.described()}, which comes later."
            if nest.levels[root] is Level.COLUMN:
                yield f"it reads {root.described()}, which is not known before the end."
            if of_rows and nest.levels[root] is Level.FULL:
                yield f"it reads {root.described()} at every point."
            there = aligned_strides(root.shape, contiguous(root.shape), nest.shape)
            if operand.layout.offset or aligned_strides(operand.shape, operand.layout.strides, nest.shape) != there:
                yield f"it reads {root.described()} where it does not lie."
            reduced = isinstance(root.step, Reduce) and nest.levels[root] is Level.ROW
            phase = max(phase, nest.phases[root] + reduced)
        if nest.phases[output] < phase:
            yield f"it runs in phase {nest.phases[output]}, what it reads is known from phase {phase} on."
