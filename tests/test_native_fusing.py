"""Steps are grouped into nests: what is fused, and that what runs is what the routine says."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from random_routines import assert_same, random_inputs, random_routine

from minpy.graph.native.evaluating import evaluate
from minpy.graph.native.fusing.checking import check
from minpy.graph.native.fusing.grouping import scheduled
from minpy.graph.native.fusing.nest import Nest, Place, Schedule
from minpy.graph.native.language import (
    Array,
    Assembly,
    Routine,
    View,
)
from minpy.graph.native.verifying import verify


class Memory:
    """Memory as the schedule says it lies: what is in no array of its own is a window into that of another."""

    def __init__(self) -> None:
        self.roots: dict[Array, numpy.ndarray] = {}

    def of(self, root: Array) -> numpy.ndarray:
        if root not in self.roots:
            self.roots[root] = numpy.empty(root.shape, root.dtype)
            if isinstance(root.step, Assembly) and root.step.fill is not None:
                self.roots[root].fill(root.step.fill)
        return self.roots[root]

    def window(self, array: Array, place: Place) -> numpy.ndarray:
        flat = self.of(place.root).reshape(-1)[place.layout.offset :]
        strides = tuple(stride * flat.itemsize for stride in place.layout.strides)
        return numpy.lib.stride_tricks.as_strided(flat, array.shape, strides)

    def read(self, array: Array, places: Any) -> numpy.ndarray:
        root = array.root
        if root.is_constant:
            values = root.value
        elif root in places:
            values = numpy.ascontiguousarray(self.window(root, places[root]))
        else:
            values = self.roots[root]
        return array.step.evaluate(values)[0] if isinstance(array.step, View) else values

    def write(self, array: Array, place: Place | None, values: Any) -> None:
        target = self.of(array) if place is None else self.window(array, place)
        target[...] = values


def executed(routine: Routine, schedules: list[Schedule], inputs: list[list[numpy.ndarray]]) -> list[list[Any]]:
    """Run schedules item by item, each nest step by step."""
    memory = Memory()
    results = []
    places: dict[Array, Place] = {}
    for part, schedule, arrays in zip(routine.parts, schedules, inputs, strict=True):
        memory.roots.update(zip(part.inputs, arrays, strict=True))
        places.update(schedule.places)
        for item in schedule.items:
            steps = item.steps if isinstance(item, Nest) else [item]
            values: dict[Array, Any] = {}
            for step in steps:
                operands = [
                    values[one]
                    if one in values
                    else one.step.evaluate(values[one.root])[0]
                    if one.root in values
                    else memory.read(one, places)
                    for one in step.operands
                ]
                values.update(zip(step.outputs, map(numpy.array, step.evaluate(*operands)), strict=True))
            stored = item.stored if isinstance(item, Nest) else {one: places.get(one) for one in item.outputs}
            for array, place in stored.items():
                memory.write(array, place, values[array])
        results.append([numpy.array(memory.read(array, places)) for array in part.outputs])
        for target, source in [(target, memory.read(source, places).copy()) for target, source in part.updates]:
            arrays[part.inputs.index(target)][...] = source
    return results


def copies(inputs: list[list[numpy.ndarray]]) -> list[list[numpy.ndarray]]:
    return [[array.copy() for array in arrays] for arrays in inputs]


@pytest.mark.parametrize("mood", ["exact", "smooth"])
@pytest.mark.parametrize("seed", range(100))
def test_random_routines(seed: int, mood: str) -> None:
    routine = random_routine(seed, mood)
    verify(routine)
    inputs = random_inputs(routine, seed, mood)
    expected_inputs = copies(inputs)
    expected = evaluate(routine, expected_inputs)
    schedules = scheduled(routine)
    check(routine, schedules)
    assert_same(executed(routine, schedules, inputs), expected, mood)
    assert_same(inputs, expected_inputs, mood)
