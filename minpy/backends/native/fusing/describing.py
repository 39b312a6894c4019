"""Schedules as text: what runs, in which order, and what it comes from."""

from __future__ import annotations

from collections.abc import Mapping

from minpy.backends.native.fusing.nest import Level, Nest, Place, Schedule
from minpy.backends.native.language import Array, Call, Origin, Product, Step

__all__ = ["describe"]


def describe(schedule: Schedule) -> str:
    """Return a schedule as text: a line for each item, and below a nest its steps, phase by phase.

    Parameters
    ----------
    schedule : Schedule

    Returns
    -------
    str

    Examples
    --------
    >>> import numpy
    >>> from minpy.backends.native.fusing.grouping import scheduled
    >>> from minpy.backends.native.language import Elementwise, Part, Reduce, Routine
    >>> x = Array((4, 1000), numpy.dtype("float32"), name="x")
    >>> largest = Reduce.of("max", x, (1,))
    >>> y = Elementwise.of("exp", Elementwise.of("subtract", x, largest), origin=Origin(("softmax0",)))
    >>> steps = [largest.step, y.step.operands[0].step, y.step]
    >>> (schedule,) = scheduled(Routine([Part("forward", [x], steps, [y])]))
    >>> print(describe(schedule))
    nest (4, 1000), rows along 1: 3 steps of softmax0
        reads x: float32 (4, 1000)
        phase 0
            %0 = max along 1(x)  row
        phase 1
            %1 = subtract(x, %0)
            %2 = exp(%1)  stored
    """
    names = _Names(schedule.places)
    lines: list[str] = []
    for item in schedule.items:
        lines.extend(_nest(item, names) if isinstance(item, Nest) else [_other(item, names)])
    return "\n".join(lines)


class _Names:
    """Names of arrays: those of inputs, and numbers in the order in which they come."""

    def __init__(self, places: Mapping[Array, Place]) -> None:
        self.places = places
        self.numbers: dict[Array, str] = {}

    def of(self, array: Array) -> str:
        if array.is_number:
            assert array.value is not None
            return repr(array.value[()].item())
        root = array.root
        if root.is_constant:
            name = "constant"
        else:
            name = root.name or self.numbers.setdefault(root, f"%{len(self.numbers)}")
        return name if array is root else f"{name}[{array.step.label()}]"  # type: ignore[union-attr]

    def place(self, array: Array) -> str:
        place = self.places.get(array)
        return "" if place is None else f" in {self.of(place.root)} at {place.layout.offset}"


def _nest(nest: Nest, names: _Names) -> list[str]:
    rows = f", rows along {', '.join(map(str, sorted(nest.inner)))}" if nest.inner else ""
    origin = sum((step.origin for step in nest.steps), Origin())
    lines = [f"nest {nest.shape}{rows}: {_count(len(nest.steps))}{_from(origin)}"]
    lines.extend(f"    reads {names.of(array)}: {array.dtype} {array.shape}" for array in nest.reads())
    by_phase: dict[int, list[str]] = {}
    for step in nest.steps:
        output = step.output
        operands = ", ".join(map(names.of, step.operands))
        level = "" if nest.levels[output] is Level.FULL else f"  {nest.levels[output].value}"
        stored = f"  stored{names.place(output)}" if output in nest.stored else ""
        by_phase.setdefault(nest.phases[output], []).append(
            f"{names.of(output)} = {step.label()}({operands}){level}{stored}"
        )
    for phase in sorted(by_phase):
        lines.append(f"    phase {phase}")
        lines.extend(f"        {line}" for line in by_phase[phase])
    return lines


def _other(step: Step, names: _Names) -> str:
    outputs = ", ".join(f"{names.of(output)}{names.place(output)}" for output in step.outputs)
    shapes = " by ".join(str(operand.shape) for operand in step.operands[:2]) if isinstance(step, Product) else ""
    operands = ", ".join(map(names.of, step.operands))
    reason = f": {step.reason}" if isinstance(step, Call) and step.form is None and step.reason else ""
    return f"{step.label()}{' ' + shapes if shapes else ''}: {outputs} of {operands}{_from(step.origin)}{reason}"


def _count(steps: int) -> str:
    return f"{steps} step{'s' if steps != 1 else ''}"


def _from(origin: Origin) -> str:
    nodes = f" of {', '.join(origin.nodes)}" if origin.nodes else ""
    return nodes + (f" ({origin.place})" if origin.place is not None else "")
