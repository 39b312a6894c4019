"""Fusing: steps are grouped into nests, in an order in which all can run.

Items are in a list, in the order in which they will run. Each step joins one of the nests at or behind all that it
reads, the one that saves most bytes read, or else begins a nest at the end. So there are no cycles, and only few nests
are tried for each step: those that compute, or read, its operands. Then nests whose results are first read by another
nest are merged into that, if they can be.
"""

from __future__ import annotations

from collections.abc import Iterable

from minpy.backends.native.fusing.growing_nest import Growing, space_of
from minpy.backends.native.fusing.in_place import placed
from minpy.backends.native.fusing.loop_nest import Item, Level, Nest, Schedule
from minpy.backends.native.language import Array, Elementwise, Layout, Part, Reduce, Routine, Step, View

__all__ = ["scheduled"]

# How many of the nests that read an array a step may join: the last ones.
READERS = 4


def scheduled(routine: Routine) -> list[Schedule]:
    """Return the schedule of each part: nests, products and calls in the order in which they run.

    Best done after `passes.optimized`.

    >>> import numpy
    >>> x = Array((4, 1000), numpy.dtype("float32"), name="x")
    >>> largest = Reduce.of("max", x, (1,))
    >>> exponential = Elementwise.of("exp", Elementwise.of("subtract", x, largest))
    >>> total = Reduce.of("sum", exponential, (1,))
    >>> softmax = Elementwise.of("divide", exponential, total)
    >>> steps = [largest.step, exponential.step.operands[0].step, exponential.step, total.step, softmax.step]
    >>> (schedule,) = scheduled(Routine([Part("forward", [x], steps, [softmax])]))
    >>> (nest,) = schedule.items
    >>> nest.shape, nest.inner, [nest.phases[step.output] for step in steps], list(nest.stored) == [softmax]
    ((4, 1000), frozenset({1}), [0, 1, 1, 1, 2], True)
    """
    live_out = _arrays_needed_later(routine)
    return [_Grouping(part, live_out[number]).schedule() for number, part in enumerate(routine.parts)]


def _arrays_needed_later(routine: Routine) -> list[set[Array]]:
    """Return which arrays have to be in memory when each part is done: its outputs, and what later parts read."""
    results = []
    later: set[Array] = set()
    for part in reversed(routine.parts):
        ends = {array.root for array in part.outputs} | {source.root for _, source in part.updates}
        results.append(later | ends)
        later = later | ends | {operand.root for step in part.steps for operand in step.operands}
    return results[::-1]


class _Grouping:
    """The items of a part, and where each array is computed."""

    def __init__(self, part: Part, live_out: set[Array]) -> None:
        self.part = part
        self.live_out = live_out
        self.items: list[Growing | Step | None] = []
        self.numbers: dict[Array, int] = {}
        self.readers: dict[tuple[Array, Layout], list[int]] = {}
        for step in _live_steps(part, live_out):
            if isinstance(step, Elementwise | Reduce):
                self._group(step)
            else:
                self._append(step)
        self._merge()

    def schedule(self) -> Schedule:
        """Return the nests, products, calls and assemblies in the order in which they run."""
        stored = set(self.live_out)
        for item in self.items:
            stored.update(_roots_read(item))
        items: list[Item] = []
        for item in self.items:
            if item is None:
                continue
            if isinstance(item, Growing):
                nest = item.nest()
                nest.stored = {
                    array: None for array in nest.levels if array in stored or nest.levels[array] is Level.COLUMN
                }
                items.append(nest)
            else:
                items.append(item)  # type: ignore[arg-type]
        places, not_run = placed(items, self.live_out, {array.root for array in self.part.outputs})
        for ready in items:
            if isinstance(ready, Nest):
                ready.stored = {array: places.get(array) for array in ready.stored}
        return Schedule([ready for ready in items if ready not in not_run], places)

    def _append(self, step: Step) -> None:
        for output in step.outputs:
            self.numbers[output] = len(self.items)
        self.items.append(step)

    def _group(self, step: Elementwise | Reduce) -> None:
        number = self._join_best(step)
        if number is None:
            number = len(self.items)
            nest = Growing(space_of(step))
            self.items.append(nest)
            joined = nest.join(step)  # apart from the assertion: `python -O` runs none
            assert joined
        self.numbers[step.output] = number
        for operand in self._arrays_read(step):
            readers = self.readers.setdefault((operand.root, operand.layout), [])
            if not readers or readers[-1] != number:
                readers.append(number)

    def _merge(self) -> None:
        """Merge nests into the first nest that reads them, the last ones first, then into the last nest they read."""
        readers: list[set[int]] = [set() for _ in self.items]
        for number, item in enumerate(self.items):
            for place in self._numbers_read(item, number):
                readers[place].add(number)
        for number in reversed(range(len(self.items))):
            if readers[number]:
                self._move(number, min(readers[number]), readers)
        for number in range(len(self.items)):
            places = self._numbers_read(self.items[number], number)
            if places:
                self._move(number, max(places), readers)

    def _move(self, number: int, target: int, readers: list[set[int]]) -> None:
        """Let the steps of a nest run in another one, if they can."""
        nest, into = self.items[number], self.items[target]
        if not isinstance(nest, Growing) or not isinstance(into, Growing):
            return
        merged = Growing.joined(nest, into) if number < target else Growing.joined(into, nest)
        if merged is None:
            return
        self.items[number], self.items[target] = None, merged
        for place in self._numbers_read(nest, number):
            readers[place].discard(number)
            if place != target:
                readers[place].add(target)
        readers[target] |= readers[number] - {target}
        self.numbers.update(dict.fromkeys(nest.phases, target))

    def _numbers_read(self, item: Growing | Step | None, number: int) -> set[int]:
        """Return the numbers of the items before whose results an item reads."""
        return {self.numbers[root] for root in _roots_read(item) if root in self.numbers} - {number}

    def _arrays_read(self, step: Step) -> Iterable[Array]:
        return dict.fromkeys(operand for operand in step.operands if not operand.is_number)

    def _join_best(self, step: Elementwise | Reduce) -> int | None:
        """Add a step to the nest that saves most bytes, and return the nest's number; None if there is none."""
        read = list(self._arrays_read(step))
        first = max((self.numbers[operand.root] for operand in read if operand.root in self.numbers), default=0)
        saved: dict[int, int] = {}
        for operand in read:
            place = self.numbers.get(operand.root, -1)
            for number in {place, *self.readers.get((operand.root, operand.layout), [])[-READERS:]}:
                if number >= first:
                    saved[number] = saved.get(number, 0) + operand.nbytes
        for number in sorted(saved, key=lambda number: (-saved[number], number)):
            nest = self.items[number]
            if isinstance(nest, Growing) and self._saves(step, nest, saved[number]) and nest.join(step):
                return number
        return None

    def _saves(self, step: Elementwise | Reduce, nest: Growing, saved: int) -> bool:
        """Tell whether joining a nest saves enough: it computes an operand, or reads a tenth of what the step reads."""
        if any(operand.root in nest for operand in step.operands):
            return True
        whole = max(step.output.nbytes, *(operand.nbytes for operand in step.operands))
        return saved * 10 >= whole


def _roots_read(item: Growing | Step | None) -> Iterable[Array]:
    """Return the arrays in memory that an item reads."""
    if item is None:
        return ()
    return (
        {root for root, _ in item.reads} if isinstance(item, Growing) else {operand.root for operand in item.operands}
    )


def _live_steps(part: Part, live_out: set[Array]) -> list[Step]:
    """Return the steps that are not views and whose outputs are read, and all calls."""
    live = set(live_out)
    steps: list[Step] = []
    for step in reversed(part.steps):
        if isinstance(step, View):
            continue
        if step.kind == "call" or any(output in live for output in step.outputs):
            steps.append(step)
            live.update(operand.root for operand in step.operands)
    return steps[::-1]
