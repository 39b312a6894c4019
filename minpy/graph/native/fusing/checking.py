"""The verifier of schedules: what holds for all of them, whatever was fused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from minpy.core.errors import MXNetError
from minpy.graph.native.fusing.nest import Level, Nest, Place, Schedule, aligned_strides, reduced_axes
from minpy.graph.native.language import Array, Assembly, Elementwise, Part, Reduce, Routine, Step, View, contiguous

__all__ = ["InvalidScheduleError", "check"]


class InvalidScheduleError(MXNetError):
    """A schedule does not do what its routine says: a fault of the fuser, not of what users wrote."""


def check(routine: Routine, schedules: Sequence[Schedule]) -> None:
    """Raise if schedules do not do what a routine says.

    Parameters
    ----------
    routine : Routine
    schedules : sequence of Schedule
        One a part.

    Raises
    ------
    InvalidScheduleError
        If a step is missing, or runs twice; if something is read before it is in memory; if the levels and phases of
        a nest do not go together; if memory is written that is still to be read.

    Examples
    --------
    >>> import numpy
    >>> x = Array((2, 3), numpy.dtype("float32"), name="x")
    >>> y = Elementwise.of("exp", x)
    >>> check(Routine([Part("forward", [x], [y.step], [y])]), [Schedule([], {})])
    Traceback (most recent call last):
    minpy.graph.native.fusing.checking.InvalidScheduleError: part 'forward': exp (float32 (2, 3)) is returned, but never stored.
    """  # noqa: E501
    if len(routine.parts) != len(schedules):
        raise InvalidScheduleError(f"there are {len(routine.parts)} parts, and {len(schedules)} schedules.")
    memory: set[Array] = set()
    asked: list[set[Array]] = []
    later: set[Array] = set()
    for part in reversed(routine.parts):
        asked.append(later)
        later = later | {operand.root for step in part.steps for operand in step.operands}
        later |= {array.root for array in part.outputs}
    for part, schedule, needed in zip(routine.parts, schedules, reversed(asked), strict=True):
        _Check(part, schedule, memory, needed).run()


class _Check:
    def __init__(self, part: Part, schedule: Schedule, memory: set[Array], needed: set[Array]) -> None:
        self.part = part
        self.schedule = schedule
        self.memory = memory
        self.needed = needed
        self.steps = {step for step in part.steps if not isinstance(step, View)}
        self.done: set[Step] = set()
        self.overwritten: set[Array] = set()

    def fail(self, what: str) -> None:
        raise InvalidScheduleError(f"part {self.part.name!r}: {what}")

    def run(self) -> None:
        self.memory.update(self.part.inputs)
        pieces = _pieces_in_place(self.part, self.schedule)
        for number, item in enumerate(self.schedule.items):
            steps = item.steps if isinstance(item, Nest) else [item]
            for step in steps:
                if step not in self.steps:
                    self.fail(f"item {number} does {_told(step.outputs[0])}, which is no step of it.")
                if step in self.done:
                    self.fail(f"{_told(step.outputs[0])} is done twice.")
                self.done.add(step)
            reads = item.reads() if isinstance(item, Nest) else dict.fromkeys(item.operands)
            for array in reads:
                self._read(array, number)
            if isinstance(item, Nest):
                _NestCheck(item, lambda what, number=number: self.fail(f"item {number}: {what}")).run()
                written = dict(item.stored)
            else:
                written = {output: self.schedule.places.get(output) for output in item.outputs}
            for array, place in written.items():
                self._write(array, place, number)
            for assembly in pieces:
                if all(one in self.memory for one in assembly.operands):
                    self.memory.add(assembly.output)
                    self.done.add(assembly)
        for array in (*self.part.outputs, *(source for _, source in self.part.updates)):
            if not array.is_constant and array.root not in self.memory:
                self.fail(f"{_told(array)} is returned, but never stored.")
        for array in self.needed:
            if array.step in self.steps and array not in self.memory:
                self.fail(f"{_told(array)} is read by a later part, but never stored.")
        for target, source in self.part.updates:
            place = self.schedule.places.get(source)
            if target in self.overwritten and (place is None or place.root is not target):
                self.fail(f"{_told(target)} is overwritten, but not by what it is updated with.")
        missing = [step for step in self.part.steps if step.kind == "call" and step not in self.done]
        if missing:
            self.fail(f"{_told(missing[0].outputs[0])} is never called.")

    def _read(self, array: Array, number: int) -> None:
        root = array.root
        if not root.is_constant and root not in self.memory:
            self.fail(f"item {number} reads {_told(root)}, which is not in memory.")
        if root in self.overwritten:
            self.fail(f"item {number} reads {_told(root)}, which was overwritten.")

    def _write(self, array: Array, place: Place | None, number: int) -> None:
        if self.schedule.places.get(array) != place:
            self.fail(f"item {number} stores {_told(array)} elsewhere than the schedule says.")
        if place is not None and place.root in self.part.inputs:
            if place.root not in {target for target, source in self.part.updates if source is array}:
                self.fail(f"item {number} writes into the input {_told(place.root)}.")
            if place.root in self.needed:
                self.fail(f"item {number} overwrites {_told(place.root)}, which a later part reads.")
            self.overwritten.add(place.root)
        self.memory.add(array)


class _NestCheck:
    """What holds inside of one nest."""

    def __init__(self, nest: Nest, fail: object) -> None:
        self.nest = nest
        self.fail = fail

    def run(self) -> None:
        for problem in self.problems():
            self.fail(problem)  # type: ignore[operator]

    def problems(self) -> Iterator[str]:
        nest = self.nest
        if not all(0 <= axis < len(nest.shape) for axis in nest.inner):
            yield f"there are no inner axes {sorted(nest.inner)} in {nest.shape}."
        outputs = {step.output for step in nest.steps}
        if outputs != nest.levels.keys() or outputs != nest.phases.keys():
            yield "levels and phases are not those of its steps."
        if not nest.stored.keys() <= outputs:
            yield "it stores what it does not compute."
        known: set[Array] = set()
        for step in nest.steps:
            for problem in self.about(step, known):
                yield f"{_told(step.output)}: {problem}"
            known.add(step.output)

    def about(self, step: Elementwise | Reduce, known: set[Array]) -> Iterator[str]:
        nest = self.nest
        output = step.output
        level = nest.levels[output]
        row = tuple(1 if axis in nest.inner else length for axis, length in enumerate(nest.shape))
        domain = step.operands[0].shape if isinstance(step, Reduce) else output.shape
        of_rows = _stripped(domain) != _stripped(nest.shape)
        if of_rows and _stripped(domain) != _stripped(row):
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
            if root not in known:
                yield f"it reads {_told(root)}, which comes later."
            if nest.levels[root] is Level.COLUMN:
                yield f"it reads {_told(root)}, which is not known before the end."
            if of_rows and nest.levels[root] is Level.FULL:
                yield f"it reads {_told(root)} at every point."
            there = aligned_strides(root.shape, contiguous(root.shape), nest.shape)
            if operand.layout.offset or aligned_strides(operand.shape, operand.layout.strides, nest.shape) != there:
                yield f"it reads {_told(root)} where it does not lie."
            reduced = isinstance(root.step, Reduce) and nest.levels[root] is Level.ROW
            phase = max(phase, nest.phases[root] + reduced)
        if nest.phases[output] < phase:
            yield f"it runs in phase {nest.phases[output]}, what it reads is known from phase {phase} on."
        place = nest.stored.get(output)
        if place is not None:
            yield from self.about_place(step, place)

    def about_place(self, step: Elementwise | Reduce, place: Place) -> Iterator[str]:
        nest = self.nest
        output = step.output
        target = (0, *aligned_strides(output.shape, place.layout.strides, nest.shape))
        for other in nest.steps:
            for operand in other.operands:
                if operand.root is not place.root:
                    continue
                found = aligned_strides(operand.shape, operand.layout.strides, nest.shape)
                if (operand.layout.offset - place.layout.offset, *found) != target or nest.levels[
                    output
                ] is not Level.FULL:
                    yield f"it is written over {_told(place.root)}, which is read at other points."
                elif nest.phases[other.output] > nest.phases[output]:
                    yield f"it is written over {_told(place.root)}, which is read in a later phase."


def _pieces_in_place(part: Part, schedule: Schedule) -> list[Assembly]:
    """Return the assemblies that nobody puts together: their pieces are computed in their memory."""
    there = {item for item in schedule.items if isinstance(item, Assembly)}
    found = []
    for step in part.steps:
        if isinstance(step, Assembly) and step not in there:
            places = [schedule.places.get(operand) for operand in step.operands]
            expected = [Place(step.output, piece.layout) for piece in step.pieces]
            if places == expected:
                found.append(step)
    return found


def _stripped(shape: tuple[int, ...]) -> tuple[int, ...]:
    lead = next((axis for axis, length in enumerate(shape) if length != 1), len(shape))
    return shape[lead:]


def _told(array: Array) -> str:
    what = array.name or (array.step.label() if array.step is not None else "an array")
    return f"{what} ({array.dtype} {array.shape})"
