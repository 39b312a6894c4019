"""How arguments are given, nested and keyed: a captured call gives what is as written."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from capture_ways import CALLS, Owner, Way, cells, numbers, outcome, require_as_written, require_written_runs, scenarios

import minpy as mx

COMPILES = True
SCENARIOS, scenario = scenarios()


@scenario
def keywords_in_another_order(way: Way) -> Iterator[Any]:
    function = way(lambda x, **keywords: x * float("".join(str(value) for value in keywords.values())))
    x = way.array(numbers())
    for _ in range(CALLS):
        yield outcome(function, x, a=1, b=2)
        yield outcome(function, x, b=2, a=1)
        yield outcome(function, x, a=2, b=1)


@scenario
def by_position_and_by_keyword(way: Way) -> Iterator[Any]:
    function = way(lambda x, y=2.0, *more, z=3.0, **keywords: x * y + z + len(more) + 10 * len(keywords))
    x = way.array(numbers())
    for _ in range(CALLS):
        yield outcome(function, x)
        yield outcome(function, x, 4.0)
        yield outcome(function, x, y=4.0)
        yield outcome(function, x, 4.0, 5.0)
        yield outcome(function, x, z=4.0)
        yield outcome(function, x, w=4.0)
        yield outcome(function, x=x)


@scenario
def calls_that_do_not_fit(way: Way) -> Iterator[Any]:
    function = way(lambda x, y: x * y)
    x = way.array(numbers())
    for _ in range(CALLS):
        yield function(x, x)
        for arguments, keywords in ((), {}), ((x,), {}), ((x, x, x), {}), ((x,), {"z": x}), ((x, x), {"y": x}):
            yield type(outcome(function, *arguments, **keywords)).__name__


@scenario
def dicts_in_another_order(way: Way) -> Iterator[Any]:
    function = way(lambda d: sum((2**number) * value for number, value in enumerate(d.values())))
    a, b = way.array(numbers()), way.array(numbers() + 1)
    for _ in range(CALLS):
        yield function({"a": a, "b": b})
        yield function({"b": b, "a": a})
        yield function({"b": a, "a": b})


@scenario
def keys_that_change(way: Way) -> Iterator[Any]:
    function = way(lambda d: sum(d.values()) * len("".join(map(repr, d))))
    a, b = way.array(numbers()), way.array(numbers() + 1)
    for _ in range(CALLS):
        for d in {"a": a}, {"bb": a}, {"a": a, "b": b}, {1: a}, {1.0: a}, {True: a}, {(1, 2): a}, {None: b}:
            yield function(d)


@scenario
def keys_that_are_equal(way: Way) -> Iterator[Any]:
    function = way(lambda d: sum(d.values()) * len(repr([*d])))
    a = way.array(numbers())
    for _ in range(CALLS):
        for key in "a", np.str_("a"), 0.0, -0.0, 0, False, (1, 2), (1.0, 2), np.float64(0):
            yield outcome(function, {key: a})


@scenario
def keys_that_are_objects(way: Way) -> Iterator[Any]:
    function = way(lambda d: sum(d.values()) * next(iter(d)).value)
    a, owners = way.array(numbers()), [Owner(2.0), Owner(3.0)]
    for number in range(CALLS):
        for owner in owners:
            yield function({owner: a})
            owner.value += number % 2


@scenario
def named_tuples_of_others(way: Way) -> Iterator[Any]:
    pair = collections.namedtuple("pair", "a b")
    function = way(lambda nest: nest.a * 2 + nest.b)
    for number in range(CALLS):
        yield function(pair(way.array(numbers() + number), way.array(numbers())))


@scenario
def attributes_that_arrays_do_not_have(way: Way) -> Iterator[Any]:
    def made(name: str) -> Any:
        source = f"def has(x):\n    try:\n        x.{name}\n    except AttributeError:\n        return 3\n    return 2"
        names: dict[str, Any] = {}
        exec(source, names)
        has = names["has"]
        return way(lambda x, number: (x * has(x) + has(x[0]) + has(x * 2), x * has(number)))

    for name in "recorder storage chain known value fact front scalar inner put fill nbytes expression pin".split():  # noqa: SIM905
        function = made(name)
        for number in range(4):
            yield outcome(function, way.array(numbers()), 0.5 + number)


@scenario
def attributes_of_users_named_as_those_of_proxies(way: Way) -> Iterator[Any]:
    owner = Owner(Owner(2.0))
    owner.known = owner.inner = lambda x: x * 2  # type: ignore[attr-defined]
    function = way(lambda x: owner.inner(x) * owner.known(x) + owner.value.value)  # type: ignore[attr-defined]
    for number in range(CALLS):
        yield function(way.array(numbers() + number))
        owner.value.value += number % 2


@scenario
def lists_that_grow(way: Way) -> Iterator[Any]:
    function = way(lambda arrays: sum(arrays) * len(arrays))
    for count in (1, 2, 3, 2, 1, 3, 3, 3, 1, 1):
        yield function([way.array(numbers() + number) for number in range(count)])


@scenario
def nests_of_other_classes(way: Way) -> Iterator[Any]:
    pair = collections.namedtuple("pair", "a b")
    function = way(lambda nest: (nest[0] * 2 + nest[1]) * len(type(nest).__name__))
    a, b = way.array(numbers()), way.array(numbers() + 1)
    for _ in range(CALLS):
        for nest in [a, b], (a, b), pair(a, b), collections.deque([a, b]):
            yield outcome(function, nest)


@scenario
def nests_that_change_their_depth(way: Way) -> Iterator[Any]:
    def total(nest: Any) -> Any:
        if isinstance(nest, dict):
            return sum(total(value) for value in nest.values()) + 1
        return sum(map(total, nest)) * 2 if isinstance(nest, (list, tuple)) else nest

    function = way(total)
    a, b = way.array(numbers()), way.array(numbers() + 1)
    for _ in range(CALLS):
        for nest in [a, b], [[a], b], [a, [b]], {"a": [a, {"b": b}]}, [a, b, 2.0], [a, b, 3], (a, (), b), [a, {}, b]:
            yield function(nest)


@scenario
def containers_that_are_changed(way: Way) -> Iterator[Any]:
    def function(values: Any, named: Any) -> Any:
        values.append(values[0] * 2)
        named["sum"] = values[0] + named["x"]
        return named["sum"] * len(values)

    captured = way(function)
    for _ in range(CALLS):
        values, named = [way.array(numbers())], {"x": way.array(numbers())}
        yield outcome(captured, values, named), values, named


@scenario
def containers_that_are_emptied(way: Way) -> Iterator[Any]:
    captured = way(lambda values: values.pop() * 2)
    for _ in range(CALLS):
        values = [way.array(numbers()), way.array(numbers() + 1)]
        yield outcome(captured, values), values


@scenario
def containers_that_are_returned(way: Way) -> Iterator[Any]:
    captured = way(lambda values: {"same": values, "twice": [value * 2 for value in values]})
    for _ in range(CALLS):
        values = [way.array(numbers())]
        yield outcome(captured, values), values


@scenario
def objects_as_arguments(way: Way) -> Iterator[Any]:
    @dataclasses.dataclass
    class Batch:
        data: Any
        scale: float

    captured = way(lambda x, batch: x + batch.data * batch.scale)
    batch = Batch(way.array(numbers()), 1.0)
    for number in range(2 * CALLS):
        yield outcome(captured, way.array(numbers()), batch)
        batch.scale = 1.0 + number // 2
        if number % 3 == 2:
            batch.data = way.array(numbers() + number)


@scenario
def objects_that_are_changed(way: Way) -> Iterator[Any]:
    def function(x: Any, owner: Any) -> Any:
        owner.value = owner.value + 1
        return x * owner.value

    captured, owner = way(function), Owner(1)
    for _ in range(CALLS):
        yield outcome(captured, way.array(numbers()), owner), owner


@scenario
def functions_as_arguments(way: Way) -> Iterator[Any]:
    captured = way(lambda function, x: function(x) + 1)
    factor = 2.0
    functions = [np.tanh, np.sin, lambda x: x * factor, lambda x: x * 3, abs, Owner(1).__eq__]
    for _ in range(CALLS):
        for function in functions[:-1]:
            yield outcome(captured, function, way.array(numbers()))
        factor += 1


@scenario
def other_plain_arguments(way: Way) -> Iterator[Any]:
    captured = way(lambda x, value: x * len(repr(value)))
    values: list[Any] = [
        "a",
        "bb",
        b"a",
        None,
        ...,
        (),
        (1,),
        (1.0,),
        [1],
        {1},
        frozenset(),
        slice(1),
        range(3),
        1,
        1.0,
    ]
    for _ in range(CALLS):
        for value in values:
            yield outcome(captured, way.array(numbers()), value)


@scenario
def texts_of_arguments(way: Way) -> Iterator[Any]:
    uses = [repr, str, lambda v: f"{v}", lambda v: f"{v[0]:.3f}", lambda v: "%s" % v[0], lambda v: str(v.sum())]  # noqa: UP031
    functions = [way(lambda x, v, use=use: x * len(use(v))) for use in uses]
    for number in range(CALLS):
        for function in functions:
            yield outcome(function, way.array(numbers()), way.array(numbers() + 9 * number))


@scenario
def texts_of_what_holds_arguments(way: Way) -> Iterator[Any]:
    pair = collections.namedtuple("pair", "a b")
    uses = [
        lambda v: repr([v]),
        lambda v: str((v, 1)),
        lambda v: f"{ {1: v} }",
        lambda v: "%r" % (pair(v, 1),),  # noqa: UP031
        lambda v: "{!r:>40}".format(v[:2]),  # noqa: UP032
        lambda v: str(ValueError(v)),
        lambda v: ascii(v * 2),
        lambda v: "".join(map(repr, v)),
    ]
    functions = [way(lambda x, v, use=use: x * len(use(v))) for use in uses]
    for number in range(CALLS):
        for function in functions:
            yield outcome(function, way.array(numbers()), way.array(numbers() + 10**number))


@scenario
def axes_and_shapes(way: Way) -> Iterator[Any]:
    captured = way(lambda x, axis, shape: np.sum(x.reshape(shape), axis=axis))
    for _ in range(CALLS):
        for axis, shape in (0, (2, 3)), (1, (2, 3)), (1, (3, 2)), ((0, 1), (2, 3)), (None, (2, 3)), (-1, (6, 1)):
            yield captured(way.array(numbers()), axis, shape)


@scenario
def indices(way: Way) -> Iterator[Any]:
    captured = way(lambda x, index: x[index] * 2)
    for _ in range(CALLS):
        for index in 0, 1, True, slice(1, 3), slice(None, None, -1), [0, 1], (0,), (), None, ..., -1, np.int64(2):
            yield outcome(captured, way.array(numbers()), index)


@scenario
def arrays_as_indices(way: Way) -> Iterator[Any]:
    captured = way(lambda x, index: x[index] * 2)
    for _ in range(CALLS):
        for index in np.array([0, 1]), np.array([True, False] * 3), np.array(2), np.array([], int), np.array([5, -1]):
            yield outcome(captured, way.array(numbers()), way.array(index, index.dtype))


@scenario
def shapes_dtypes_and_ranks_in_turn(way: Way) -> Iterator[Any]:
    captured = way(lambda x: (x * 2 + 1, x.sum(), len(x), x.shape, x.ndim, x.dtype.name, np.mean(x, axis=-1)))
    for _ in range(CALLS):
        for shape in (6,), (2, 3), (3, 2), (1, 6), (6, 1, 1), (0,), (2, 0):
            for dtype in np.float64, np.float32, np.int32:
                with np.errstate(all="ignore"):
                    yield outcome(captured, way.array(np.ones(shape), dtype))


@scenario
def dtypes_that_meet_a_changing_number(way: Way) -> Iterator[Any]:
    owner = Owner(1)
    captured = way(lambda x, w: x * owner.value + w)
    for number in range(2 * CALLS):
        for dtype in np.float64, np.float32, np.int32, np.uint8:
            owner.value = [1, 1.5, np.float32(2), np.float64(2), 3, 300, True, 2.5][number]
            yield outcome(captured, way.array([1, 2, 3], dtype), way.array([1, 2, 3], dtype))


@scenario
def kinds_of_arrays_that_meet(way: Way) -> Iterator[Any]:
    captured = way(lambda x, y: x * 2 + y)
    kinds = [mx.np.ones(3), mx.np.ones(3, dtype="int32"), 1.0, 1]
    if way.name != "hybridized":  # which refuses to mix kinds
        kinds += [np.ones(3), mx.nd.ones(3), np.ones(3, np.float32), [1.0, 2.0, 3.0]]
    for _ in range(CALLS):
        for x in kinds:
            for y in kinds:
                result = outcome(captured, x, y)
                yield result if not isinstance(result, tuple) else result[0]


@scenario
def classes_of_results(way: Way) -> Iterator[Any]:
    captured = way(
        lambda x: [
            np.sum(x), x.sum(), x[0], x[:1], x.max(), np.mean(x), x.mean(axis=0), x[0] * 2, np.sqrt(x[0]), x @ x,
            np.dot(x, x), np.any(x > 1), x.shape, x.dtype, len(x), x.sum().item(), float(x[0]), x.size, x.argmax(),
            np.float64(1) * 2, np.linalg.norm(x), np.multiply(2.0, 3.0), np.asarray(x[0]), x[...], x[0][()], 1, None,
        ]
    )  # fmt: skip
    for _ in range(CALLS):
        yield captured(way.array(numbers()))


@scenario
def classes_of_results_that_can_be_captured(way: Way) -> Iterator[Any]:
    captured = way(
        lambda x: [
            np.sum(x), x.sum(), x[0], x[:1], x.max(), np.mean(x), x.mean(axis=0), x[0] * 2, np.sqrt(x[0]), x @ x,
            np.dot(x, x), np.any(x > 1), x.shape, len(x), x.size, x.argmax(), x[...], 1, None, "text", {"a": 1.0},
        ]
    )  # fmt: skip
    for _ in range(CALLS):
        yield captured(way.array(numbers()))


RUN_IN = "compiled compiled_arrays hybridized"
# By ways: what gives something else than the function as written.
UNSOUND: dict[str, str] = {}


@pytest.mark.parametrize(("way", "name"), cells(SCENARIOS, UNSOUND, RUN_IN))
def test_as_written(way: str, name: str) -> None:
    require_as_written(SCENARIOS[name], way)


def test_scenarios_run_as_written() -> None:
    require_written_runs(SCENARIOS, RUN_IN)
