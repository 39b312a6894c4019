"""Passes: what they find, and that routines compute the same after them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy
import pytest
import routine_programs as programs
from random_routines import assert_same, random_inputs, random_routine
from support.reference_evaluator import evaluate
from support.schedule_verifier import check

from minpy.backends.native import passes
from minpy.backends.native.fusing.fuser import scheduled
from minpy.backends.native.language import (
    Array,
    Assembly,
    Call,
    Elementwise,
    Layout,
    Part,
    Product,
    Reduce,
    Routine,
    Step,
    View,
    broadcast,
    constant,
    viewed,
)
from minpy.backends.native.language.layout_algebra import composed
from minpy.backends.native.language.routine_verifier import verify
from minpy.backends.native.passes import batching, product_accumulation, rematerialization
from minpy.backends.native.passes.algebra import ROWS, holds
from minpy.backends.native.passes.patterns import Row
from minpy.backends.native.translating.step_builder import Emitter

FLOAT = numpy.dtype("float32")


def agree(routine: Routine, seed: int, mood: str, *, fast_math: bool = False) -> tuple[Routine, passes.Notes]:
    """Hold what passes make of a routine against it; return that, and what was done."""
    notes = passes.Notes()
    text = str(routine)
    found = passes.optimized(routine, fast_math, notes)
    assert str(routine) == text
    verify(found, "all passes")
    inputs, again = random_inputs(routine, seed, mood), random_inputs(routine, seed, mood)
    assert_same(evaluate(found, again), evaluate(routine, inputs), mood)
    assert_same(again, inputs, mood)
    check(found, scheduled(found))
    return found, notes


@pytest.fixture(autouse=True)
def verified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINPY_VERIFY", "1")


@pytest.mark.parametrize("mood", ["exact", "smooth"])
@pytest.mark.parametrize("seed", range(60))
def test_random_routines(seed: int, mood: str) -> None:
    agree(random_routine(seed, mood), seed, mood)


@pytest.mark.parametrize("mood", ["exact", "smooth"])
@pytest.mark.parametrize("seed", range(100, 130))
def test_random_routines_for_which_all_is_worth_while(seed: int, mood: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rematerialization, "LEAST_KEPT", 1)
    monkeypatch.setattr(rematerialization, "LEAST_FREED", 1)
    monkeypatch.setattr(product_accumulation, "LEAST_PRODUCTS", 2)
    monkeypatch.setattr(batching, "LEAST_PRODUCTS", 2)
    agree(random_routine(seed, mood, steps=50), seed, mood)


# Algebra ------------------------------------------------------------------------------------------------------------


def built(pattern: Any, arrays: dict[str, Array], dtype: numpy.dtype) -> Array:
    """Return an array that a pattern describes."""
    if isinstance(pattern, str):
        return arrays[pattern]
    if isinstance(pattern, tuple):
        return Elementwise.of(pattern[0], *(built(one, arrays, dtype) for one in pattern[1:]))
    return constant(pattern, dtype)


def names_in(pattern: Any) -> set[str]:
    if isinstance(pattern, str):
        return {pattern}
    return set().union(*map(names_in, pattern[1:])) if isinstance(pattern, tuple) else set()


def special(dtype: numpy.dtype) -> list[Any]:
    if dtype.kind == "b":
        return [False, True]
    if dtype.kind in "iu":
        limits = numpy.iinfo(dtype)
        return [limits.min, limits.min + 1, 0, 1, 2, 3, 7, limits.max - 1, limits.max]
    limits = numpy.finfo(dtype)
    ones = [0.0, limits.smallest_subnormal, limits.tiny, 0.1, 1.0, 1.5, 3.0, 1e7, limits.max, numpy.inf]
    return [numpy.nan, *ones, *(-one for one in ones)]


def routine_of(outputs: list[Array], inputs: list[Array]) -> Routine:
    steps: list[Step] = []

    def add(array: Array) -> None:
        if array.step is not None and array.step not in steps:
            for operand in array.step.operands:
                add(operand)
            steps.append(array.step)

    for output in outputs:
        add(output)
    return Routine([Part("forward", inputs, steps, outputs)])


CASES = [
    (row, numpy.dtype(name))
    for row in ROWS
    for name in ("bool", "int8", "uint8", "int64", "float32", "float64")
    if numpy.dtype(name).kind in row.kinds
]


def takes(row: Row, dtype: numpy.dtype) -> bool:
    """Tell whether the functions of a row take a dtype: rows say for which they hold."""
    try:
        arrays = {name: Array((1,), numpy.dtype("bool") if name == "c" else dtype) for name in names_in(row.pattern)}
        verify(routine_of([built(row.pattern, arrays, dtype)], list(arrays.values())))
    except Exception:
        return False
    return True


@pytest.mark.parametrize(("row", "dtype"), [case for case in CASES if takes(*case)], ids=str)
def test_row(row: Row, dtype: numpy.dtype) -> None:
    names = sorted(names_in(row.pattern))
    values = {name: [False, True] if name == "c" else special(dtype) for name in names}
    grid = list(itertools.product(*(values[name] for name in names)))
    arrays = {name: Array((len(grid),), numpy.dtype("bool") if name == "c" else dtype, name=name) for name in names}
    output = built(row.pattern, arrays, dtype)
    routine = routine_of([output], list(arrays.values()))
    notes = passes.Notes()
    found = passes.optimized(routine, notes=notes)
    assert notes.counts[str(row)] >= 1 or row.pattern[0] == "power", "the row was not applied"
    inputs = [numpy.array([point[index] for point in grid], arrays[name].dtype) for index, name in enumerate(names)]
    ((before,),) = evaluate(routine, [inputs])
    ((after,),) = evaluate(found, [inputs])
    if "rounding" in row.because:
        numpy.testing.assert_allclose(after, before, rtol=1e-6)
    else:
        assert_same([[after]], [[before]], "exact")


def test_rows_are_exact_for_broadcasts() -> None:
    x, ones = Array((3,), FLOAT, name="x"), constant(numpy.ones((2, 3)), FLOAT)
    found, _ = agree(routine_of([Elementwise.of("multiply", x, ones)], [x]), 1, "exact")
    assert [type(step) for step in found.steps] == [View, Elementwise]  # a copy, as callers get memory of their own


INEXACT = {
    "x + 0.0": ("add", 0.0),
    "x - -0.0": ("subtract", -0.0),
    "x * 0.0": ("multiply", 0.0),
}


@pytest.mark.parametrize("name", INEXACT)
def test_what_is_not_exact_stays(name: str) -> None:
    function, number = INEXACT[name]
    x = Array((20,), FLOAT, name="x")
    found, notes = agree(routine_of([Elementwise.of(function, x, constant(number, FLOAT))], [x]), 1, "exact")
    assert [step.label() for step in found.steps] == [function]
    assert not notes.counts


@pytest.mark.parametrize(("divisor", "exact"), [(4.0, True), (-0.125, True), (3.0, False), (0.0, False)])
def test_division_by_powers_of_two(divisor: float, exact: bool) -> None:
    x = Array((50,), FLOAT, name="x")
    found, _ = agree(routine_of([Elementwise.of("divide", x, constant(divisor, FLOAT))], [x]), 1, "exact")
    assert [step.label() for step in found.steps] == ["multiply" if exact else "divide"]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_division_by_powers_of_two_at_the_ends(dtype: str) -> None:
    """Also of and to denormals; where the reciprocal is no number, it stays a division."""
    x = Array((len(special(numpy.dtype(dtype))),), numpy.dtype(dtype), name="x")
    limits = numpy.finfo(dtype)
    for divisor in (2.0, float(limits.tiny), float(limits.smallest_subnormal), 2.0 ** (limits.maxexp - 1)):
        routine = routine_of([Elementwise.of("divide", x, constant(divisor, dtype))], [x])
        inputs = [[numpy.array(special(numpy.dtype(dtype)), dtype)]]
        assert_same(evaluate(passes.optimized(routine), inputs), evaluate(routine, inputs), "exact")


def test_fast_mathematics_divides_by_constants_once() -> None:
    x = Array((50,), FLOAT, name="x")
    found, _ = agree(routine_of([Elementwise.of("divide", x, constant(3, FLOAT))], [x]), 1, "smooth", fast_math=True)
    assert [step.label() for step in found.steps] == ["multiply"]


@pytest.mark.parametrize(
    ("dtype", "values", "all_there"),
    [
        ("float64", "float32", True),
        ("float32", "float64", False),
        ("float32", "int8", True),
        ("float32", "int32", False),
        ("float64", "int32", True),
        ("float64", "int64", False),
        ("int64", "uint8", True),
        ("int8", "uint8", False),
        ("uint8", "int8", False),
        ("int8", "bool", True),
    ],
)
def test_casts_back_and_forth(dtype: str, values: str, all_there: bool) -> None:
    assert holds(numpy.dtype(dtype), numpy.dtype(values)) is all_there
    x = Array((4,), numpy.dtype(values), name="x")
    there = Elementwise.of("cast", x, dtype=dtype)
    back = Elementwise.of("cast", there, dtype=values)
    found = passes.optimized(routine_of([Elementwise.of("square" if values != "bool" else "logical_not", back)], [x]))
    assert len(found.steps) == (1 if all_there else 3)


def test_sigmoids_take_one_exponential() -> None:
    x = Array((len(special(FLOAT)),), FLOAT, name="x")
    above = Elementwise.of("exp", Elementwise.of("minimum", x, constant(0, FLOAT)))
    below = Elementwise.of("exp", Elementwise.of("negative", Elementwise.of("absolute", x)))
    y = Elementwise.of("divide", above, Elementwise.of("add", below, constant(1, FLOAT)))
    routine = routine_of([y], [x])
    found = passes.optimized(routine)
    assert sum(step.label() == "exp" for step in found.steps) == 1
    inputs = [[numpy.array(special(FLOAT), FLOAT)]]
    assert_same(evaluate(found, inputs), evaluate(routine, inputs), "exact")


# Constants, reductions, sharing -------------------------------------------------------------------------------------


def test_constants_are_computed() -> None:
    x, emitter = Array((2, 3), FLOAT, name="x"), Emitter()
    ones = emitter.broadcast(emitter.elementwise("exp", constant(0, FLOAT)), (2, 3))
    row = emitter.elementwise("add", constant([1, 2, 3], FLOAT), constant([3, 2, 1], FLOAT))
    y = emitter.elementwise("multiply", emitter.elementwise("add", x, ones), row)
    text = str(Routine([Part("forward", [x], emitter.steps, [y])]))
    assert text.count("=") == 2
    assert "add(x, 1.0)" in text
    assert "multiply(%0, 4.0)" in text


def test_large_constants_are_not_made() -> None:
    column, row = (constant(numpy.arange(100).reshape(shape), FLOAT) for shape in ((100, 1), (1, 100)))
    assert not Emitter().elementwise("add", column, row).is_constant


@pytest.mark.parametrize("function", ["sum", "prod", "max", "min", "argmax"])
def test_reductions_of_single_elements(function: str) -> None:
    x = Array((4, 1), FLOAT, name="x")
    routine = routine_of([Reduce.of(function, x, (1,))], [x])
    found, _ = agree(routine, 1, "exact")
    inputs = [[numpy.array([[-0.0], [0.0], [numpy.nan], [2.0]], FLOAT)]]
    assert_same(evaluate(found, inputs), evaluate(routine, inputs), "exact")


@pytest.mark.parametrize("function", ["sum", "max", "min"])
def test_reductions_of_what_is_broadcast(function: str) -> None:
    x = Array((4, 1), FLOAT, name="x")
    routine = routine_of([Reduce.of(function, broadcast(x, (3, 4, 5)), (0, 2))], [x])
    found, _ = agree(routine, 1, "smooth")
    inputs = [[numpy.array([[-0.0], [numpy.inf], [numpy.nan], [2.0]], FLOAT)]]
    assert_same(evaluate(found, inputs), evaluate(routine, inputs), "exact")


def test_sums_of_small_integers_wrap_as_they_do() -> None:
    x = Array((1,), numpy.dtype("int8"), name="x")
    agree(routine_of([Reduce.of("sum", broadcast(x, (300,)), (0,))], [x]), 1, "exact")


def test_reductions_one_after_the_other() -> None:
    x = Array((3, 4, 5), FLOAT, name="x")
    found, _ = agree(routine_of([Reduce.of("sum", Reduce.of("sum", x, (2,)), (0,))], [x]), 1, "smooth")
    (schedule,) = scheduled(found)
    assert len(schedule.items) == 1


def test_reductions_of_reshaped_arrays() -> None:
    x = Array((3, 4, 5), FLOAT, name="x")
    flat = viewed(Elementwise.of("exp", x), lambda values: values.reshape(3, 20))
    y = Elementwise.of("subtract", flat, Reduce.of("max", flat, (1,)))
    found, _ = agree(routine_of([y], [x]), 1, "smooth")
    (schedule,) = scheduled(found)
    assert len(schedule.items) == 1


def test_equal_steps_are_done_once() -> None:
    x = Array((5,), FLOAT, name="x")
    y = Elementwise.of("add", Elementwise.of("exp", x), Elementwise.of("exp", x))
    found, notes = agree(routine_of([y], [x]), 1, "smooth")
    assert [step.label() for step in found.steps] == ["exp", "add"]
    assert notes.counts["common subexpressions are computed once"] == 1


def test_zeros_of_different_signs_are_different_numbers() -> None:
    x = Array((5,), FLOAT, name="x")
    both = [Elementwise.of("copysign", x, constant(zero, FLOAT)) for zero in (0.0, -0.0)]
    found, _ = agree(routine_of(both, [x]), 1, "exact")
    assert len(found.steps) == 2


def test_outputs_have_memory_of_their_own() -> None:
    x = Array((5,), FLOAT, name="x")
    outputs = [Elementwise.of("multiply", x, constant(1, FLOAT)), *(Elementwise.of("exp", x) for _ in range(3))]
    found, _ = agree(routine_of(outputs, [x]), 1, "smooth")
    given = found.parts[0].outputs
    assert len({array.root for array in given}) == 4
    assert x not in given


def test_dead_steps_go_and_calls_stay() -> None:
    x = Array((5,), FLOAT, name="x")
    called = Call.of(numpy.sort, [x], [((5,), FLOAT)], "it is tested")[0]
    routine = routine_of([Elementwise.of("exp", x)], [x])
    unread = Elementwise.of("sin", x)
    routine.parts[0].steps.extend([called.step, unread.step])  # type: ignore[list-item]
    found, _ = agree(routine, 1, "smooth")
    assert [step.label() for step in found.steps] == ["exp", "call of sort"]


def test_states_are_not_read_again_when_they_are_new() -> None:
    """`-x` is kept by the first part: `x` has another value when the second part runs."""
    x, y = Array((5,), FLOAT, name="x"), Array((5,), FLOAT, name="y")
    minus = Elementwise.of("negative", x)
    new = Elementwise.of("exp", x)
    later = Elementwise.of("subtract", y, minus)
    routine = Routine([
        Part("forward", [x], [minus.step, new.step], [], [(x, new)]),  # type: ignore[list-item]
        Part("backward", [y], [later.step], [later]),  # type: ignore[list-item]
    ])  # fmt: skip
    found, _ = agree(routine, 1, "smooth")
    assert [step.label() for step in found.parts[1].steps] == ["subtract"]


# Layouts ------------------------------------------------------------------------------------------------------------


def test_layouts_of_layouts() -> None:
    """Every composition is held against NumPy's own strides."""
    memory = numpy.arange(24)
    outer = [
        lambda a: a, lambda a: a.T, lambda a: a[::-1], lambda a: a[1:, ::2], lambda a: a.reshape(-1),
        lambda a: a.reshape(2, 2, 6), lambda a: a[2], lambda a: a[:, None], lambda a: a.reshape(8, 3)[::3, 1:],
        lambda a: a[:, ::-1].T, lambda a: numpy.broadcast_to(a, (3, 4, 6)),
    ]  # fmt: skip
    inner = [
        lambda a: a.reshape(4, 6), lambda a: a.reshape(6, 4).T, lambda a: a.reshape(4, 6)[::-1],
        lambda a: numpy.broadcast_to(a[:6], (4, 6)),
        lambda a: a.reshape(2, 3, 2, 2).transpose(0, 2, 1, 3).reshape(4, 6),
    ]  # fmt: skip
    compared = 0
    for first, second in itertools.product(inner, outer):
        inside = first(memory)
        plain = numpy.arange(24).reshape(4, 6)
        seen = second(plain)
        layout = Layout(offset_of(seen, plain), tuple(stride // 8 for stride in seen.strides))
        if not numpy.may_share_memory(inside, memory):
            continue
        base = Layout(offset_of(inside, memory), tuple(stride // 8 for stride in inside.strides))
        found = composed(seen.shape, layout, (4, 6), base)
        expected = second(inside)
        if found is None:
            # Only reshapes that copy cannot be said in strides.
            assert not numpy.may_share_memory(expected, memory)
            continue
        strides = tuple(8 * stride for stride in found.strides)
        shown = numpy.lib.stride_tricks.as_strided(memory[found.offset :], seen.shape, strides)
        numpy.testing.assert_array_equal(shown, expected)
        compared += 1
    assert compared > 30


def offset_of(view: numpy.ndarray, memory: numpy.ndarray) -> int:
    return (view.__array_interface__["data"][0] - memory.__array_interface__["data"][0]) // memory.itemsize


def test_transposes_meet_and_cancel() -> None:
    """Calls that want the batch last, with elementwise steps and reductions between that are written batch first."""

    def batch_last(values: numpy.ndarray) -> numpy.ndarray:
        return values * 2

    x = Array((3, 4, 4, 8), FLOAT, name="x")
    one = Call.of(batch_last, [x], [((3, 4, 4, 8), FLOAT)], "it is tested")[0]
    first = viewed(one, lambda values: values.transpose(3, 0, 1, 2))
    mean = Reduce.of("sum", first, (0, 2, 3))
    y = Elementwise.of("maximum", Elementwise.of("subtract", first, mean), constant(0, FLOAT))
    turned = Elementwise.of("copy", viewed(y, lambda values: values.transpose(1, 2, 3, 0)))
    last = Call.of(batch_last, [turned], [((3, 4, 4, 8), FLOAT)], "it is tested")[0]
    found, notes = agree(routine_of([last], [x]), 1, "smooth")
    assert notes.counts["transposes are moved behind elementwise functions"] >= 2
    (schedule,) = scheduled(found)
    assert [type(item).__name__ for item in schedule.items] == ["Call", "Nest", "Call"]
    assert not any(step.label() == "copy" for step in found.steps)


def test_transposes_that_meet_nothing_stay() -> None:
    x = Array((8, 4), FLOAT, name="x")
    y = Elementwise.of("exp", viewed(x, numpy.transpose))
    found, _ = agree(routine_of([y], [x]), 1, "smooth")
    assert [step.label() for step in found.steps][1:] == ["exp"]
    assert found.parts[0].outputs[0].is_contiguous


def test_what_is_broadcast_is_computed_before() -> None:
    b, x = Array((4, 1), FLOAT, name="b"), Array((4, 100), FLOAT, name="x")
    y = Elementwise.of("add", Elementwise.of("exp", broadcast(b, (4, 100))), x)
    found, _ = agree(routine_of([y], [b, x]), 1, "smooth")
    assert found.steps[0].outputs[0].shape == (4, 1)


def test_gates_that_are_read_in_slices_are_one_loop_nest_with_their_readers_or_two() -> None:
    x, b = Array((4, 512), FLOAT, name="x"), Array((512,), FLOAT, name="b")
    both = Elementwise.of("add", x, b)
    halves = [viewed(both, lambda values, start=start: values[:, start : start + 256]) for start in (0, 256)]
    y = Elementwise.of("multiply", *(Elementwise.of("tanh", half) for half in halves))
    found, _ = agree(routine_of([y], [x, b]), 1, "smooth")
    (schedule,) = scheduled(found)
    assert len(schedule.items) <= 2


def test_padded_slices_are_put_together_once() -> None:
    pieces = [Array((4, 3), FLOAT, name=f"piece{number}") for number in range(3)]
    total = None
    for number, piece in enumerate(pieces):
        padded = Assembly.of([piece], (4, 9), [Layout(3 * number, (9, 1))], fill=0)
        total = padded if total is None else Elementwise.of("add", total, padded)
    assert total is not None
    routine = routine_of([total], pieces)
    found, _ = agree(routine, 1, "exact")
    (assembly,) = [step for step in found.steps if isinstance(step, Assembly)]
    assert assembly.fill is None
    inputs = [[numpy.full((4, 3), -0.0, FLOAT)] * 3]
    assert_same(evaluate(found, inputs), evaluate(routine, inputs), "exact")


def test_padded_slices_that_overlap_are_added() -> None:
    pieces = [Array((4, 3), FLOAT, name=f"piece{number}") for number in range(2)]
    padded = [Assembly.of([one], (4, 5), [Layout(2 * at, (5, 1))], fill=0) for at, one in enumerate(pieces)]
    found, _ = agree(routine_of([Elementwise.of("add", *padded)], pieces), 1, "exact")
    assert sum(isinstance(step, Assembly) for step in found.steps) == 2


# Products -----------------------------------------------------------------------------------------------------------


def test_products_are_added_to_what_nobody_else_reads() -> None:
    x, weight = Array((4, 6), FLOAT, name="x"), Array((6, 6), FLOAT, name="weight")
    first = Product.of(x, weight)
    second = Product.of(Elementwise.of("exp", x), weight)
    found, _ = agree(routine_of([Elementwise.of("add", first, second)], [x, weight]), 1, "smooth")
    assert [len(step.operands) for step in found.steps if isinstance(step, Product)] == [2, 3]
    # A residual is needed again: it is added in the nest that reads both.
    residual = Elementwise.of("exp", x)
    both = Elementwise.of("add", residual, Product.of(residual, weight))
    found, _ = agree(routine_of([both], [x, weight]), 1, "smooth")
    assert [len(step.operands) for step in found.steps if isinstance(step, Product)] == [2]


def test_a_matrix_that_is_read_often_is_turned_once() -> None:
    weight = Array((6, 6), FLOAT, name="weight")
    turned = viewed(weight, numpy.transpose)
    value = Array((4, 6), FLOAT, name="x")
    inputs = [value, weight]
    for _ in range(product_accumulation.LEAST_PRODUCTS):
        value = Elementwise.of("tanh", Product.of(value, turned))
    found, _ = agree(routine_of([value], inputs), 1, "smooth")
    assert sum(step.label() == "copy" for step in found.steps) == 1


@pytest.mark.parametrize(("steps", "layers"), [(4, 1), (5, 2), (8, 2), (6, 3)])
def test_recurrent_networks_are_batched_over_time(steps: int, layers: int) -> None:
    routine = programs.recurrent(steps, layers)
    found, notes = agree(routine, 3, "smooth")
    sizes = [step.operands[0].shape for step in found.steps if isinstance(step, Product)]
    # One product a layer of all rows forward, one backward.
    assert sum(max(shape) == 3 * steps for shape in sizes) == 2 * layers
    assert notes.counts["products by one matrix are one product"] == 2 * layers * steps
    before = sum(isinstance(step, Product) for step in routine.steps)
    assert len(sizes) <= before - 2 * layers * (steps - 1)


def test_products_that_need_each_other_are_not_batched() -> None:
    weight, x = Array((6, 6), FLOAT, name="weight"), Array((4, 6), FLOAT, name="x")
    value = x
    for _ in range(6):
        value = Product.of(Elementwise.of("tanh", value), weight)
    _, notes = agree(routine_of([value], [x, weight]), 1, "smooth")
    assert not notes.counts


def test_calls_keep_their_order_when_products_are_batched() -> None:
    """What a call needs may not wait for what a later call gives."""
    w = programs.Writer()
    value, weight = w.input("x", 4, 6), w.input("weight", 6, 6)
    order: list[int] = []

    def called(number: int) -> Any:
        def call(values: numpy.ndarray) -> numpy.ndarray:
            order.append(number)
            return numpy.sort(values)

        return call

    outputs = []
    for number in range(0, 10, 2):
        value = w.add(Call.of(called(number), [value], [((4, 6), FLOAT)], "it is tested")[0])
        outputs.append(w.product(value, weight))
        w.add(Call.of(called(number + 1), [outputs[-1]], [((4, 6), FLOAT)], "it is tested")[0])
    w.part("forward", outputs)
    _, notes = agree(w.routine(), 1, "smooth")
    assert not notes.counts
    assert order == [*range(10)] * 2


def test_cheap_values_are_computed_again() -> None:
    w = programs.Writer()
    x = w.input("x", 100, 100)
    mask = w("multiply", w("add", x, 2), 3)
    w.part("forward", [w.reduce("sum", w("exp", mask), 0, 1)])
    g = w.input("g", 1, 1)
    w.part("backward", [w("multiply", g, w("multiply", mask, x))])
    found, notes = agree(w.routine(), 1, "smooth")
    assert notes.counts["cheap values are computed again, not kept"] == 2
    (forward, _) = scheduled(found)
    (nest,) = forward.items
    assert [array.shape for array in nest.stored] == [(1, 1)]  # type: ignore[union-attr]


def test_dear_values_are_kept() -> None:
    w = programs.Writer()
    x = w.input("x", 100, 100)
    y = w("exp", x)
    w.part("forward", [w.reduce("sum", y, 0, 1)])
    g = w.input("g", 1, 1)
    w.part("backward", [w("multiply", g, y)])
    _, notes = agree(w.routine(), 1, "smooth")
    assert not notes.counts


# What passes say ----------------------------------------------------------------------------------------------------


def test_described() -> None:
    text = passes.describe()
    assert len({one.name for one in passes.PASSES}) == len(passes.PASSES)
    for one in passes.PASSES:
        assert f"{one.name}: {one.matches}" in text
        assert (one.rule is None) != (one.run is None)
    for row in ROWS:
        assert f"    {row}  ({row.kinds})" in text


def test_notes() -> None:
    notes = passes.Notes()
    notes.add("one")
    notes.add("other", 3)
    notes.add("nothing", 0)
    assert str(notes) == "     3 other\n     1 one"
