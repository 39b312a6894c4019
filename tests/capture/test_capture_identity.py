"""Arguments and arrays that are read, being one object or sharing memory: a captured call gives what is as written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from capture_ways import (
    CALLS,
    Owner,
    Way,
    cells,
    namespace,
    numbers,
    outcome,
    require_as_written,
    require_written_runs,
    scenarios,
)

COMPILES = True
SCENARIOS, scenario = scenarios()


# -- which are one object ---


@scenario
def two_arguments_that_become_one(way: Way) -> Iterator[Any]:
    function = way(lambda a, b: a * 2 if a is b else b)
    v, w = way.array(numbers()), way.array(numbers() + 1)
    for _ in range(CALLS):
        yield function(v, w)
        yield function(v, v)


@scenario
def one_argument_twice_that_becomes_two(way: Way) -> Iterator[Any]:
    function = way(lambda a, b: a * 2 if a is b else b)
    v, w = way.array(numbers()), way.array(numbers() + 1)
    for _ in range(CALLS):
        yield function(v, v)
    for _ in range(CALLS):
        yield function(v, w)


@scenario
def equal_arguments_are_not_one(way: Way) -> Iterator[Any]:
    function = way(lambda a, b: a * 2 if a is not b else b)
    for _ in range(CALLS):
        yield function(way.array(numbers()), way.array(numbers()))


@scenario
def three_arguments_in_all_patterns(way: Way) -> Iterator[Any]:
    function = way(lambda a, b, c: a * (1 + (a is b) + 2 * (b is c) + 4 * (a is c)))
    u, v, w = (way.array(numbers() + number) for number in range(3))
    for _ in range(CALLS):
        for arguments in (u, v, w), (u, u, w), (u, v, v), (u, v, u), (u, u, u):
            yield function(*arguments)


@scenario
def one_array_within_a_list(way: Way) -> Iterator[Any]:
    function = way(lambda arrays: arrays[0] * 2 if arrays[0] is arrays[1] else arrays[1])
    v, w = way.array(numbers()), way.array(numbers() + 1)
    for _ in range(CALLS):
        yield function([v, w])
        yield function([v, v])


@scenario
def one_list_twice(way: Way) -> Iterator[Any]:
    function = way(lambda p, q: p[0] * 2 if p is q else q[0])
    v = way.array(numbers())
    same = [v]
    for _ in range(CALLS):
        yield function([v], [v])
        yield function(same, same)


@scenario
def nests_within_nests_that_are_one(way: Way) -> Iterator[Any]:
    function = way(lambda nest: nest["a"][0] * 2 if nest["a"] is nest["b"] else nest["b"][0])
    for kind in list, tuple:
        for _ in range(CALLS):
            first, second = kind([way.array(numbers())]), kind([way.array(numbers() + 1)])
            yield function({"a": first, "b": second})
            yield function({"a": first, "b": first})


@scenario
def a_nest_that_is_a_global(way: Way) -> Iterator[Any]:
    names = namespace("""
        def function(nest):
            return nest[0] * 2 if nest is KNOWN else nest[0] + KNOWN[0]
    """)
    for kind in list, tuple:
        names["KNOWN"] = kind([way.array(numbers())])
        function = way(names["function"])
        for number in range(CALLS):
            yield function(kind([way.array(numbers() + number)]))
            yield function(names["KNOWN"])


@scenario
def a_list_that_holds_itself(way: Way) -> Iterator[Any]:
    function = way(lambda values: values[0] * 2 if values[1] is values else values[0] * 3)
    for number in range(CALLS):
        values: list[Any] = [way.array(numbers() + number)]
        yield outcome(function, [*values, None])
        values.append(values)
        yield outcome(function, values)


@scenario
def an_argument_that_is_a_global(way: Way) -> Iterator[Any]:
    names = namespace("""
        def function(a):
            return a * 2 if a is W else a + W
    """)
    names["W"] = way.array(numbers())
    function = way(names["function"])
    for _ in range(CALLS):
        yield function(way.array(numbers() + 1))
        yield function(names["W"])


@scenario
def an_argument_that_is_in_a_cell(way: Way) -> Iterator[Any]:
    w = way.array(numbers())
    function = way(lambda a: a * 2 if a is w else a + w)
    for _ in range(CALLS):
        yield function(w)
        yield function(way.array(numbers()))


@scenario
def an_argument_that_is_an_attribute(way: Way) -> Iterator[Any]:
    owner = Owner(way.array(numbers()))
    function = way(lambda a: a * 2 if a is owner.value else a + owner.value)
    for _ in range(CALLS):
        yield function(way.array(numbers()))
        yield function(owner.value)
        owner.value = way.array(numbers() + 1)


@scenario
def an_argument_that_is_looked_for_in_a_list(way: Way) -> Iterator[Any]:
    u, v = way.array(numbers()), way.array(numbers() + 1)
    known = [v]
    function = way(lambda a: a * 2 if any(a is one for one in known) else a)
    for _ in range(CALLS):
        yield function(u)
        yield function(v)


@scenario
def an_argument_by_its_id(way: Way) -> Iterator[Any]:
    u, v = way.array(numbers()), way.array(numbers() + 1)
    kept = {id(u): 2.0, id(v): 3.0}
    function = way(lambda a: a * kept.get(id(a), 5.0))
    for _ in range(CALLS):
        yield function(u)
        yield function(v)
        yield function(way.array(numbers()))


@scenario
def globals_that_become_one(way: Way) -> Iterator[Any]:
    v, w = way.array(numbers()), way.array(numbers() + 1)
    owner = Owner(v)
    function = way(lambda a: a * 2 if owner.value is w else a)
    for _ in range(CALLS):
        yield function(v)
        owner.value = w
        yield function(v)
        owner.value = v


@scenario
def the_argument_is_returned(way: Way) -> Iterator[Any]:
    function, v = way(lambda a: a), way.array(numbers())
    for _ in range(CALLS):
        yield v, function(v)


@scenario
def the_changed_argument_is_returned(way: Way) -> Iterator[Any]:
    def change(a: Any) -> Any:
        a += 1
        return a

    function, v = way(change), way.array(numbers())
    for _ in range(CALLS):
        yield v, function(v)


@scenario
def one_result_twice(way: Way) -> Iterator[Any]:
    def twice(a: Any) -> Any:
        b = a * 2
        return b, b

    function, v = way(twice), way.array(numbers())
    for _ in range(CALLS):
        yield list(function(v))


@scenario
def results_are_new_at_each_call(way: Way) -> Iterator[Any]:
    function, v = way(lambda a: a * 2), way.array(numbers())
    results = []
    for _ in range(CALLS):
        results.append(function(v))
        results[0][0] += 1
        yield results


@scenario
def a_constant_result_is_new_at_each_call(way: Way) -> Iterator[Any]:
    function, v = way(lambda a: (a * 2, np.zeros(3))), way.array(numbers())
    results = []
    for _ in range(CALLS):
        results.append(function(v)[1])
        results[0][0] += 1
        yield results


@scenario
def a_global_that_is_returned(way: Way) -> Iterator[Any]:
    w, v = way.array(numbers()), way.array(numbers())
    function = way(lambda a: (a * 2, w))
    for _ in range(CALLS):
        yield w, list(function(v))
        w += 1


# -- which share memory ---


def add_to_the_first(a: Any, b: Any) -> Any:
    a += 1
    return b * 2


def add_to_the_second(a: Any, b: Any) -> Any:
    b += a
    return a * 2


def change_a_part_of_each(a: Any, b: Any) -> Any:
    a[1:] = b[:-1]
    b[0] = a[-1] * 2
    return a + b


def read_before_and_after(a: Any, b: Any) -> Any:
    before = b * 2
    a *= 3
    return before + b


WRITERS = [add_to_the_first, add_to_the_second, change_a_part_of_each, read_before_and_after]
# Two arrays of six numbers each, out of one of twelve.
LAYOUTS = {
    "apart": lambda base: (base[:6], base[6:]),
    "one": lambda base: (base[:6], base[:6]),
    "overlapping": lambda base: (base[:6], base[3:9]),
    "overlapping_backwards": lambda base: (base[3:9], base[:6]),
    "interleaved": lambda base: (base[::2], base[1::2]),
    "reversed": lambda base: (base[:6], base[5::-1]),
    "strided_and_not": lambda base: (base[::2], base[:6]),
    "rows_and_columns": lambda base: (base.reshape(3, 4)[:2, :3], base.reshape(3, 4)[1:, 1:]),
    "transposed": lambda base: (base[:9].reshape(3, 3), base[:9].reshape(3, 3).T),
    "reshaped": lambda base: (base[:6].reshape(2, 3), base[:6].reshape(1, 6).reshape(2, 3)),
}


def _shared(writer: Any, layout: Any) -> Any:
    def shared(way: Way) -> Iterator[Any]:
        function = way(writer)
        for _ in range(CALLS):
            base = way.array(numbers(12))
            yield function(*layout(base)), base

    return shared


def _shared_later(writer: Any, layout: Any) -> Any:
    def shared(way: Way) -> Iterator[Any]:
        function = way(writer)
        for _ in range(CALLS):
            a, b = (way.array(array.copy()) for array in layout(numbers(12)))
            yield function(a, b), a, b
        for _ in range(2):
            base = way.array(numbers(12))
            yield function(*layout(base)), base

    return shared


for _writer in WRITERS:
    for _name, _layout in LAYOUTS.items():
        SCENARIOS[f"{_writer.__name__}_{_name}"] = _shared(_writer, _layout)
        SCENARIOS[f"{_writer.__name__}_{_name}_later"] = _shared_later(_writer, _layout)


def _with_what_is_read(is_written: bool) -> Any:
    def shared(way: Way) -> Iterator[Any]:
        base = way.array(numbers(12))
        owner = Owner(base[3:9])

        def function(a: Any) -> Any:
            before = owner.value * 2
            if is_written:
                a += 1
            return before + owner.value

        captured = way(function)
        for _ in range(CALLS):
            yield captured(way.array(numbers())), base
        for _ in range(CALLS):
            yield captured(base[:6]), base
            yield captured(owner.value), base

    return shared


SCENARIOS["an_argument_overlaps_with_what_is_read"] = _with_what_is_read(False)
SCENARIOS["a_changed_argument_overlaps_with_what_is_read"] = _with_what_is_read(True)


@scenario
def what_is_read_overlaps_later(way: Way) -> Iterator[Any]:
    owner = Owner(way.array(numbers() + 1))

    def function(a: Any) -> Any:
        a += 1
        return owner.value * 2

    captured = way(function)
    a = way.array(numbers())
    for _ in range(CALLS):
        yield captured(a), owner
    owner.value = a
    for _ in range(CALLS):
        yield captured(a), owner
    owner.value = a[::-1]
    for _ in range(CALLS):
        yield captured(a), owner


@scenario
def two_arrays_that_are_read_overlap_with_a_write(way: Way) -> Iterator[Any]:
    base = way.array(numbers(12))
    first, second = Owner(base[:6]), Owner(base[6:])

    def function(a: Any) -> Any:
        first.value[...] = a
        return second.value * 2

    captured = way(function)
    for shift in (6, 6, 6, 6, 0, 3, 5, 0):
        second.value = base[shift : shift + 6]
        yield captured(way.array(numbers() + shift)), base


@scenario
def an_output_is_an_input(way: Way) -> Iterator[Any]:
    def function(a: Any, b: Any, out: Any) -> Any:
        np.add(a, b, out=out)
        return np.multiply(a, b)

    captured = way(function)
    for _ in range(CALLS):
        for pick in (0, 1, 2):
            arrays = [way.array(numbers() + number) for number in range(3)]
            yield captured(arrays[0], arrays[1], arrays[pick]), arrays


@scenario
def a_changed_argument_and_its_view(way: Way) -> Iterator[Any]:
    def function(a: Any) -> Any:
        view = a[::2]
        a *= 2
        view += 1
        return a + 0, view * 3

    captured = way(function)
    for _ in range(CALLS):
        a = way.array(numbers())
        yield captured(a), a


@scenario
def an_argument_of_broadcast_memory(way: Way) -> Iterator[Any]:
    def function(a: Any, b: Any) -> Any:
        b += 1
        return a * 2

    captured = way(function)
    for _ in range(CALLS):
        b = np.ones(1)
        yield outcome(captured, np.broadcast_to(b, (6,)), b), b


RUN_IN = "compiled compiled_arrays hybridized"
# By ways: what gives something else than the function as written.
UNSOUND: dict[str, str] = {}


@pytest.mark.parametrize(("way", "name"), cells(SCENARIOS, UNSOUND, RUN_IN))
def test_as_written(way: str, name: str) -> None:
    require_as_written(SCENARIOS[name], way)


def test_scenarios_run_as_written() -> None:
    require_written_runs(SCENARIOS, RUN_IN)
