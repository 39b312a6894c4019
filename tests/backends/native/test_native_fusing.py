"""Steps are grouped into nests: what is fused, and that what runs is what the routine says."""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

import numpy
import pytest
import routine_programs as programs
from random_routines import assert_same, random_inputs, random_routine
from support.reference_evaluator import evaluate
from support.schedule_verifier import InvalidScheduleError, check

from minpy.backends.native import passes
from minpy.backends.native.fusing import growing_nest
from minpy.backends.native.fusing.fuser import scheduled
from minpy.backends.native.fusing.loop_nest import Level, Nest, Place, Schedule
from minpy.backends.native.language import Array, Assembly, Call, Layout, Product, Routine, View
from minpy.backends.native.language.routine_verifier import verify


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


def agree(routine: Routine, schedules: list[Schedule], seed: int, mood: str) -> None:
    """Hold what schedules compute against the routine."""
    inputs = random_inputs(routine, seed, mood)
    expected_inputs = copies(inputs)
    expected = evaluate(routine, expected_inputs)
    check(routine, schedules)
    assert_same(executed(routine, schedules, inputs), expected, mood)
    assert_same(inputs, expected_inputs, mood)


@pytest.mark.parametrize("mood", ["exact", "smooth"])
@pytest.mark.parametrize("seed", range(60))
def test_random_routines(seed: int, mood: str) -> None:
    routine = random_routine(seed, mood)
    verify(routine)
    agree(routine, scheduled(routine), seed, mood)


@pytest.mark.parametrize("seed", range(20))
def test_small_limits(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growing_nest, "MAX_STEPS", 3)
    monkeypatch.setattr(growing_nest, "MAX_POINTERS", 3)
    monkeypatch.setattr(growing_nest, "CACHED_ROW", 40)
    monkeypatch.setattr(growing_nest, "STRIDED_SPACE", 400)
    routine = random_routine(seed, "exact", steps=40)
    schedules = scheduled(routine)
    agree(routine, schedules, seed, "exact")
    nests = [item for schedule in schedules for item in schedule.items if isinstance(item, Nest)]
    assert all(len(nest.steps) <= 3 for nest in nests)


def kinds(routine: Routine, *, passed: bool = True) -> list[list[str]]:
    """Return what the items of each part are, after checking that they do what the routine says."""
    found = passes.optimized(routine) if passed else routine
    schedules = scheduled(found)
    agree(found, schedules, 5, "smooth")
    return [[type(item).__name__ for item in schedule.items] for schedule in schedules]


ONE_NEST_EACH: dict[str, Routine] = {
    "softmax": programs.softmax(),
    "layer norm": programs.layer_norm(),
    "batch norm, relu": programs.batch_norm_relu(),
    "batch norm, relu, of vectors": programs.batch_norm_relu(16, 10),
    "Adam": programs.adam(),
}


@pytest.mark.parametrize("name", ONE_NEST_EACH)
def test_one_nest_each(name: str) -> None:
    assert kinds(ONE_NEST_EACH[name]) == [["Nest"]] * len(ONE_NEST_EACH[name].parts)


def test_softmax_phases() -> None:
    (forward, _) = scheduled(programs.softmax())
    (nest,) = forward.items
    assert isinstance(nest, Nest)
    levels = [(step.label(), nest.levels[step.output], nest.phases[step.output]) for step in nest.steps]
    assert levels == [
        ("max along 1", Level.ROW, 0),
        ("subtract", Level.FULL, 1),
        ("exp", Level.FULL, 1),
        ("sum along 1", Level.ROW, 1),
        ("divide", Level.FULL, 2),
    ]
    assert nest.inner == {1}
    assert list(nest.stored) == [nest.steps[-1].output]


def test_batch_norm_reads_rows_across_the_batch() -> None:
    (forward, _) = scheduled(passes.optimized(programs.batch_norm_relu()))
    (nest,) = forward.items
    assert isinstance(nest, Nest)
    assert (nest.shape, nest.inner, max(nest.phases.values())) == ((4, 8, 6, 6), {0, 2, 3}, 2)
    assert all(level is not Level.COLUMN for level in nest.levels.values())


def test_dense_layers_are_products_and_a_nest_between() -> None:
    forward, backward = kinds(programs.perceptron())
    assert forward == ["Product", "Nest", "Product", "Nest"]
    assert backward == ["Nest", "Product", "Product", "Nest", "Product", "Product"]


def test_gradients_of_biases_are_columns_of_the_nest_that_makes_them() -> None:
    _, backward = scheduled(passes.optimized(programs.perceptron()))
    nest = backward.items[0]
    assert isinstance(nest, Nest)
    assert [nest.levels[step.output] for step in nest.steps] == [Level.FULL, Level.FULL, Level.COLUMN]
    assert nest.inner == frozenset()


def test_sums_over_everything_go_with_rows() -> None:
    w = programs.Writer()
    x = w.input("x", 8, 50)
    e = w("exp", w("subtract", x, w.reduce("max", x, 1)))
    total = w.reduce("sum", w("divide", e, w.reduce("sum", e, 1)), 0, 1)
    w.part("forward", [total])
    (schedule,) = scheduled(w.routine())
    (nest,) = schedule.items
    assert isinstance(nest, Nest)
    assert nest.levels[total] is Level.COLUMN
    assert nest.inner == {1}


def test_no_cycle_through_a_product() -> None:
    w = programs.Writer()
    x = w.input("x", 6, 6)
    y = w("exp", x)
    z = w("add", y, w.product(y, x))
    w.part("forward", [z])
    assert kinds(w.routine()) == [["Nest", "Product", "Nest"]]


def test_a_nest_moves_to_its_only_reader() -> None:
    """Nothing is stored for what could be computed where it is read, though a product comes between."""
    w = programs.Writer()
    x, weight = w.input("x", 6, 6), w.input("weight", 6, 6)
    y = w("sin", w("cos", x))
    w.part("forward", [w("multiply", y, w.product(x, weight))])
    assert kinds(w.routine()) == [["Product", "Nest"]]


def test_what_reads_a_transposed_result_waits_until_it_is_there() -> None:
    w = programs.Writer()
    y = w("exp", w.input("x", 6, 6))
    w.part("forward", [w("add", y, w.view(y, numpy.transpose))])
    assert kinds(w.routine(), passed=False) == [["Nest", "Nest"]]


def test_long_rows_of_dear_values_are_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growing_nest, "CACHED_ROW", 64)
    assert kinds(programs.softmax(), passed=False) == [["Nest", "Nest"], ["Nest"]]


def test_calls_stay_in_order() -> None:
    w = programs.Writer()
    x = w.input("x", 3)
    order: list[int] = []

    def called(number: int) -> Any:
        def call(values: numpy.ndarray) -> numpy.ndarray:
            order.append(number)
            return values

        return call

    first = w.add(Call.of(called(0), [w("exp", x)], [((3,), "float32")], "it is tested")[0])
    second = w.add(Call.of(called(1), [x], [((3,), "float32")], "it is tested")[0])
    w.part("forward", [w("add", second, first)])
    kinds(w.routine())
    assert order == [0, 1] * 2


@pytest.mark.parametrize("part", [0, 1])
def test_recurrent_networks_need_no_assembling(part: int) -> None:
    steps, layers = 6, 2
    found = kinds(programs.recurrent(steps, layers))[part]
    # But for what the caller gets, whose pieces the backward part reads: callers may write into that.
    assert found.count("Assembly") == 1 - part
    # A nest a cell; a product a cell for the state, one a layer for what comes from below, and copies of matrices.
    assert found.count("Nest") <= (steps + 3) * layers
    if part == 0:
        assert found.count("Product") == (steps + 1) * layers


def calls_of(function: Any) -> int:
    """Return how many Python functions are called."""
    count = 0

    def counted(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(counted)
    try:
        function()
    finally:
        sys.setprofile(None)
    return count


def test_planning_takes_time_by_steps() -> None:
    def planned(steps: int) -> int:
        routine = programs.recurrent(steps, 1)
        return calls_of(lambda: scheduled(passes.optimized(routine)))

    few, many = planned(6), planned(18)
    assert many < 3.6 * few


def test_nests_of_time_steps_are_alike() -> None:
    (forward, _) = scheduled(passes.optimized(programs.recurrent(8, 1)))
    shapes = Counter(
        (item.shape, tuple(step.label() for step in item.steps)) for item in forward.items if isinstance(item, Nest)
    )
    assert max(shapes.values()) >= 6
    assert len(shapes) <= 4


def in_place() -> tuple[Routine, Schedule]:
    w = programs.Writer()
    x, weight = w.input("x", 4, 6), w.input("weight", 6, 6)
    pieces = [w("exp", x), w("sin", x)]
    whole = w.assembly(pieces, 1)
    w.part("forward", [w.product(whole, w.assembly([weight, weight], 0))])
    routine = w.routine()
    (schedule,) = scheduled(routine)
    return routine, schedule


def test_pieces_are_computed_in_place() -> None:
    routine, schedule = in_place()
    assert [type(item).__name__ for item in schedule.items] == ["Nest", "Assembly", "Product"]
    whole = routine.steps[2].outputs[0]
    assert [place.root is whole for place in schedule.places.values()] == [True, True]
    assert [place.layout for place in schedule.places.values()] == [Layout(0, (12, 1)), Layout(6, (12, 1))]


def test_pieces_that_others_read_stay_where_they_are() -> None:
    w = programs.Writer()
    x = w.input("x", 4, 6)
    piece = w("exp", x)
    whole = w.assembly([piece, w("sin", x)], 1)
    w.part("forward", [whole, piece])
    assert kinds(w.routine()) == [["Nest", "Assembly"]]


@pytest.mark.parametrize("kept", [False, True])
def test_what_callers_get_holds_nothing_that_is_read_later(kept: bool) -> None:
    w = programs.Writer()
    x = w.input("x", 4, 6)
    piece = w("exp", x)
    w.part("forward", [w.assembly([piece, w("sin", x)], 0)])
    g = w.input("g", 4, 6)
    w.part("backward", [w("multiply", g, piece if kept else x)])
    assert kinds(w.routine(), passed=False)[0] == (["Nest", "Assembly"] if kept else ["Nest"])


def test_sums_of_products_are_added_where_they_lie() -> None:
    w = programs.Writer()
    x, weight = w.input("x", 4, 6), w.input("weight", 6, 6)
    first = w.product(x, weight)
    both = w("add", first, w.product(w("exp", x), weight))
    w.part("forward", [w("sin", both)])
    (schedule,) = scheduled(passes.optimized(w.routine()))
    (place,) = schedule.places.values()
    assert isinstance(place.root.step, Product)


MISTAKES: dict[str, tuple[Any, str]] = {
    "not stored": (lambda nest: nest.stored.clear(), "which is not in memory"),
    "too early": (lambda nest: nest.phases.update(dict.fromkeys(nest.phases, 0)), "known from phase"),
    "out of order": (lambda nest: nest.steps.reverse(), "which comes later"),
    "other axes": (lambda nest: setattr(nest, "inner", frozenset({0})), "neither the space|not along the inner axes"),
    "other level": (lambda nest: nest.levels.update(dict.fromkeys(nest.levels, Level.FULL)), "no value at every point"),
    "twice": (lambda nest: nest.steps.append(nest.steps[0]), "done twice"),
    "no phases": (lambda nest: nest.phases.clear(), "levels and phases are not those"),
    "no such axis": (lambda nest: setattr(nest, "inner", frozenset({7})), "there are no inner axes"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_found(mistake: str) -> None:
    change, message = MISTAKES[mistake]
    routine = programs.softmax()
    schedules = scheduled(routine)
    check(routine, schedules)
    change(schedules[0].items[0])
    with pytest.raises(InvalidScheduleError, match=message):
        check(routine, schedules)


def test_mistakes_of_places_are_found() -> None:
    routine, schedule = in_place()
    piece, other = schedule.places
    nest = schedule.items[0]
    assert isinstance(nest, Nest)
    moved = Place(schedule.places[piece].root, schedule.places[other].layout)
    nest.stored[piece] = moved
    with pytest.raises(InvalidScheduleError, match="elsewhere than the schedule says"):
        check(routine, [schedule])
    schedule.places[piece] = moved  # type: ignore[index]
    with pytest.raises(InvalidScheduleError, match="which is not in memory"):
        check(routine, [schedule])


def test_missing_parts_and_calls_are_found() -> None:
    routine = programs.softmax()
    with pytest.raises(InvalidScheduleError, match="there are 2 parts, and 1 schedules"):
        check(routine, scheduled(routine)[:1])
    w = programs.Writer()
    x = w.input("x", 3)
    w.add(Call.of(numpy.sort, [x], [((3,), "float32")], "it is tested")[0])
    w.part("forward", [w("exp", x)])
    (schedule,) = scheduled(w.routine())
    with pytest.raises(InvalidScheduleError, match=r"call of sort .* is never called"):
        check(w.routine(), [Schedule(schedule.items[1:], {})])
