"""What a function stores outside: it holds what the function as written stores, and never a proxy of a capture."""

from __future__ import annotations

import collections
import functools
import threading
import types
import weakref
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


def called(way: Way, function: Any, *seen: Any, count: int = CALLS) -> Iterator[Any]:
    """Call a function with new arrays, and yield what it returns with what it may have changed."""
    captured = way(function)
    for number in range(count):
        yield outcome(captured, way.array(numbers() + number)), seen


@scenario
def an_item_of_a_dict(way: Way) -> Iterator[Any]:
    cache: dict[str, Any] = {}

    def function(x: Any) -> Any:
        cache["sum"] = np.sum(x)
        return x * 2

    yield from called(way, function, cache)


@scenario
def a_key_of_a_dict_for_each_call(way: Way) -> Iterator[Any]:
    cache: dict[int, Any] = {}

    def function(x: Any) -> Any:
        cache[len(cache)] = x + 1
        return x * 2

    yield from called(way, function, cache)


@scenario
def a_memo(way: Way) -> Iterator[Any]:
    cache: dict[str, Any] = {}

    def function(x: Any) -> Any:
        if "first" not in cache:
            cache["first"] = x * 2
        return x + cache["first"]

    yield from called(way, function, cache)


@scenario
def a_dict_by_its_methods(way: Way) -> Iterator[Any]:
    first: dict[str, Any] = {}
    second: Any = collections.defaultdict(list)
    third: Any = collections.OrderedDict()

    def function(x: Any) -> Any:
        first.setdefault("sum", x.sum())
        first.update(last=x * 2)
        second["all"].append(x.max())
        third[len(third)] = x[0]
        return x * 2

    yield from called(way, function, first, second, third)


@scenario
def an_item_of_a_list(way: Way) -> Iterator[Any]:
    kept: list[Any] = [None]

    def function(x: Any) -> Any:
        kept[0] = x * 3
        return x * 2

    yield from called(way, function, kept)


@scenario
def a_list_that_is_appended_to(way: Way) -> Iterator[Any]:
    kept: list[Any] = []

    def function(x: Any) -> Any:
        y = x * 2
        kept.append(y)
        return y

    yield from called(way, function, kept)


@scenario
def a_list_by_its_methods(way: Way) -> Iterator[Any]:
    kept: list[Any] = []
    extended: list[Any] = []
    inserted: list[Any] = [0]

    def function(x: Any) -> Any:
        nonlocal kept
        kept += [x * 2]
        extended.extend([x + 1, (x, x.sum())])
        inserted[:] = [x * 3, *inserted[:2]]
        return x * 2

    yield from called(way, function, kept, extended, inserted)


@scenario
def a_deque_and_a_set(way: Way) -> Iterator[Any]:
    last: Any = collections.deque(maxlen=2)
    known: set[Any] = set()

    def function(x: Any) -> Any:
        last.append(x * 2)
        known.add(x.shape)
        return x + 1

    yield from called(way, function, last, known)


@scenario
def an_attribute(way: Way) -> Iterator[Any]:
    owner = Owner(None)

    def function(x: Any) -> Any:
        owner.value = np.mean(x)
        return x * 2

    yield from called(way, function, owner)


@scenario
def an_attribute_that_is_read_again(way: Way) -> Iterator[Any]:
    owner = Owner(1.0)

    def function(x: Any) -> Any:
        owner.value = x * owner.value
        return owner.value + 1

    yield from called(way, function, owner)


@scenario
def an_attribute_by_setattr(way: Way) -> Iterator[Any]:
    owner = Owner(None)

    def function(x: Any) -> Any:
        setattr(owner, "first", x * 2)  # noqa: B010
        object.__setattr__(owner, "second", x * 3)
        vars(owner)["third"] = x * 4
        owner.__dict__.update(fourth=x * 5)
        return x

    yield from called(way, function, owner)


@scenario
def an_attribute_of_a_class(way: Way) -> Iterator[Any]:
    class Keeper:
        last: Any = None

    def function(x: Any) -> Any:
        Keeper.last = x * 2
        return x + 1

    for result in called(way, function):
        yield result, Keeper.last


@scenario
def an_attribute_of_a_function(way: Way) -> Iterator[Any]:
    def inner(x: Any) -> Any:
        inner.last = x * 2  # type: ignore[attr-defined]
        inner.calls = getattr(inner, "calls", 0) + 1  # type: ignore[attr-defined]
        return x + 1

    for result in called(way, lambda x: inner(x)):
        yield result, vars(inner)


@scenario
def an_attribute_of_a_module(way: Way) -> Iterator[Any]:
    module: Any = types.ModuleType("module_that_keeps")

    def function(x: Any) -> Any:
        module.last = x * 2
        return x + 1

    for result in called(way, function):
        yield result, module.last


@scenario
def slots(way: Way) -> Iterator[Any]:
    class Keeper:
        __slots__ = ("last",)

    keeper = Keeper()

    def function(x: Any) -> Any:
        keeper.last = x * 2
        return x + 1

    for result in called(way, function):
        yield result, keeper.last


@scenario
def a_property_that_stores(way: Way) -> Iterator[Any]:
    class Keeper:
        hidden: Any = None

        @property
        def value(self) -> Any:
            return self.hidden

        @value.setter
        def value(self, value: Any) -> None:
            self.hidden = value * 2

    keeper = Keeper()

    def function(x: Any) -> Any:
        keeper.value = x
        return x + 1

    for result in called(way, function):
        yield result, keeper.hidden


@scenario
def a_cached_property(way: Way) -> Iterator[Any]:
    class Keeper:
        def __init__(self, values: Any) -> None:
            self.values = values

        @functools.cached_property
        def twice(self) -> Any:
            return self.values * 2

    keeper = Keeper(way.array(numbers()))

    for result in called(way, lambda x: x + keeper.twice):
        yield result, vars(keeper)


@scenario
def a_cached_function(way: Way) -> Iterator[Any]:
    kept = []

    @functools.lru_cache(None)
    def cached(factor: float) -> Any:
        kept.append(factor)
        return np.arange(6.0) * factor

    yield from called(way, lambda x: x * np.sum(cached(2.0)), kept)
    yield cached(2.0)


@scenario
def a_cell(way: Way) -> Iterator[Any]:
    last = None

    def function(x: Any) -> Any:
        nonlocal last
        last = x * 2
        return x + 1

    for result in called(way, function):
        yield result, last


@scenario
def a_cell_that_is_counted(way: Way) -> Iterator[Any]:
    total: Any = 0.0

    def function(x: Any) -> Any:
        nonlocal total
        total = total + x.sum()
        return x * total

    for result in called(way, function):
        yield result, total


@scenario
def a_global_statement(way: Way) -> Iterator[Any]:
    names = namespace("""
        last = None
        calls = 0

        def function(x):
            global last, calls
            last = x * 2
            calls += 1
            return x + calls
    """)
    for result in called(way, names["function"]):
        yield result, names["last"], names["calls"]


@scenario
def a_global_by_globals(way: Way) -> Iterator[Any]:
    names = namespace("""
        def function(x):
            globals()["last"] = x * 2
            return x + 1
    """)
    for result in called(way, names["function"]):
        yield result, names.get("last")


@scenario
def a_global_that_is_deleted(way: Way) -> Iterator[Any]:
    names = namespace("""
        def function(x):
            global last
            last = x * 2
            y = last + 1
            del last
            return y
    """)
    for result in called(way, names["function"]):
        yield result, "last" in names


@scenario
def a_default_argument(way: Way) -> Iterator[Any]:
    def function(x: Any, kept: list[Any] = []) -> Any:  # noqa: B006
        kept.append(x * 2)
        return x + len(kept)

    for result in called(way, function):
        yield result, function.__defaults__


@scenario
def a_keyword_default(way: Way) -> Iterator[Any]:
    def function(x: Any, *, kept: dict[str, Any] = {}) -> Any:  # noqa: B006
        kept["last"] = x * 2
        return x + len(kept)

    for result in called(way, function):
        yield result, function.__kwdefaults__


@scenario
def a_closure_that_is_kept(way: Way) -> Iterator[Any]:
    kept: list[Any] = []

    def function(x: Any) -> Any:
        y = x * 2
        kept.append(lambda: y + 1)
        return y

    for result in called(way, function):
        yield result, [each() for each in kept]


@scenario
def a_closure_that_is_returned(way: Way) -> Iterator[Any]:
    captured = way(lambda x: lambda factor: x * factor)
    for number in range(CALLS):
        result = outcome(captured, way.array(numbers() + number))
        yield result(2.0) if callable(result) else result


@scenario
def a_partial_function_that_is_kept(way: Way) -> Iterator[Any]:
    kept: list[Any] = []

    def function(x: Any) -> Any:
        kept.append(functools.partial(np.add, x * 2))
        return x

    for result in called(way, function):
        yield result, [each(1.0) for each in kept]


@scenario
def a_bound_method_that_is_kept(way: Way) -> Iterator[Any]:
    kept: list[Any] = []

    def function(x: Any) -> Any:
        kept.append((x * 2).sum)
        return x

    for result in called(way, function):
        yield result, [each() for each in kept]


@scenario
def an_object_that_is_made_and_kept(way: Way) -> Iterator[Any]:
    kept: list[Any] = []

    def function(x: Any) -> Any:
        kept.append(Owner({"y": [x * 2]}))
        return x + 1

    yield from called(way, function, kept)


@scenario
def an_object_that_registers_itself(way: Way) -> Iterator[Any]:
    class Result:
        made: list[Any] = []

        def __init__(self, value: Any) -> None:
            self.value = value
            Result.made.append(self)

    for result in called(way, lambda x: Result(x * 2).value + 1):
        yield result, [each.value for each in Result.made]


@scenario
def an_object_that_is_returned(way: Way) -> Iterator[Any]:
    yield from called(way, lambda x: Owner(x * 2))


@scenario
def a_generator_that_is_returned(way: Way) -> Iterator[Any]:
    captured = way(lambda x: (x * factor for factor in (1.0, 2.0)))
    for number in range(CALLS):
        result = outcome(captured, way.array(numbers() + number))
        yield list(result) if isinstance(result, types.GeneratorType) else result


@scenario
def a_generator_that_is_kept(way: Way) -> Iterator[Any]:
    kept: list[Any] = []

    def each(y: Any) -> Any:
        while True:
            yield y
            y = y * 2

    def function(x: Any) -> Any:
        kept.append(each(x + 1))
        return next(kept[-1]) * 2

    for result in called(way, function):
        yield result, [next(generator) for generator in kept]


@scenario
def an_iterator_that_is_kept(way: Way) -> Iterator[Any]:
    kept: list[Any] = []

    def function(x: Any) -> Any:
        kept.append(map(np.sin, [x, x * 2]))
        return x + 1

    for result in called(way, function):
        yield result, [list(iterator) for iterator in kept[-1:]]


@scenario
def an_error_that_holds_what_it_saw(way: Way) -> Iterator[Any]:
    kept: list[Any] = []

    def function(x: Any) -> Any:
        try:
            raise ValueError("no", x * 2)
        except ValueError as error:
            kept.append(error)
        return x + 1

    for result in called(way, function):
        yield result, [error.args for error in kept]


@scenario
def an_error_that_leaves(way: Way) -> Iterator[Any]:
    def function(x: Any) -> Any:
        y = x * 2
        raise ValueError("no", y.sum(), {"y": y})

    captured = way(function)
    for number in range(CALLS):
        yield outcome(captured, way.array(numbers() + number))


@scenario
def an_error_with_its_frames(way: Way) -> Iterator[Any]:
    def function(x: Any) -> Any:
        remembered = x * 2  # noqa: F841  (the frame holds it)
        raise ValueError("no")

    captured = way(function)
    for number in range(CALLS):
        try:
            captured(way.array(numbers() + number))
        except ValueError as error:
            trace: Any = error.__traceback__
            while trace.tb_next is not None:
                trace = trace.tb_next
            yield trace.tb_frame.f_code.co_name, trace.tb_frame.f_locals["remembered"]


@scenario
def locals_of_the_thread(way: Way) -> Iterator[Any]:
    local = threading.local()

    def function(x: Any) -> Any:
        local.last = x * 2
        return x + 1

    for result in called(way, function):
        yield result, local.last


@scenario
def a_weak_dict(way: Way) -> Iterator[Any]:
    owner = Owner(1.0)
    cache: Any = weakref.WeakKeyDictionary()

    def function(x: Any) -> Any:
        cache[owner] = x * 2
        return x + 1

    for result in called(way, function):
        yield result, cache.get(owner)


@scenario
def an_array_of_objects(way: Way) -> Iterator[Any]:
    kept = np.array([None, None], dtype=object)

    def function(x: Any) -> Any:
        kept[0] = x.shape
        kept[1] = (x * 2,)
        return x + 1

    yield from called(way, function, kept)


@scenario
def an_array_that_is_read(way: Way) -> Iterator[Any]:
    total = way.array(numbers() * 0)

    def function(x: Any) -> Any:
        total[...] += x
        return total * 2

    yield from called(way, function, total)


@scenario
def an_array_that_is_read_by_out(way: Way) -> Iterator[Any]:
    workspace = way.array(numbers() * 0)

    def function(x: Any) -> Any:
        np.multiply(x, 2, out=workspace)
        return workspace + 1

    yield from called(way, function, workspace)


@scenario
def a_view_of_an_argument_that_is_kept(way: Way) -> Iterator[Any]:
    kept: list[Any] = []

    def function(x: Any) -> Any:
        kept.append(x[1:])
        return x * 2

    captured = way(function)
    for number in range(CALLS):
        x = way.array(numbers() + number)
        result = captured(x)
        x += 10
        yield result, kept


@scenario
def the_argument_that_is_kept(way: Way) -> Iterator[Any]:
    kept: list[Any] = []

    def function(x: Any) -> Any:
        kept.append(x)
        return x * 2

    captured = way(function)
    for number in range(CALLS):
        x = way.array(numbers() + number)
        yield captured(x), kept[-1] is x, kept


@scenario
def an_attribute_of_an_argument(way: Way) -> Iterator[Any]:
    def function(owner: Any, x: Any) -> Any:
        owner.value = x * 2
        return x + 1

    captured, owner = way(function), Owner(None)
    for number in range(CALLS):
        yield outcome(captured, owner, way.array(numbers() + number)), owner


@scenario
def equal_arguments_with_other_attributes(way: Way) -> Iterator[Any]:
    class Equal(Owner):
        def __eq__(self, other: object) -> bool:
            return type(other) is Equal

        def __hash__(self) -> int:
            return 1

    captured = way(lambda owner, x: x * owner.value)
    first, second = Equal(2.0), Equal(3.0)
    for number in range(CALLS):
        for owner in first, second:
            yield outcome(captured, owner, way.array(numbers() + number))
            owner.value += number % 2


@scenario
def an_attribute_of_self(way: Way) -> Iterator[Any]:
    class Model:
        def __init__(self) -> None:
            self.last, self.calls = None, 0

        def run(self, x: Any) -> Any:
            self.last = x * 2
            self.calls += 1
            return x + self.calls

    model = Model()
    yield from called(way, model.run, model)


@scenario
def several_methods_that_store(way: Way) -> Iterator[Any]:
    class Model:
        def __init__(self) -> None:
            self.hidden: Any = None
            self.history: list[Any] = []

        def encode(self, x: Any) -> Any:
            self.hidden = x * 2
            return self.decode()

        def decode(self) -> Any:
            self.history.append(self.hidden.sum())
            return self.hidden + len(self.history)

    model = Model()
    yield from called(way, lambda x: model.encode(x), model)


@scenario
def a_store_behind_a_choice(way: Way) -> Iterator[Any]:
    owner = Owner(0)
    kept: list[Any] = []

    def function(x: Any) -> Any:
        if owner.value > 2:
            kept.append(x * 2)
        return x + 1

    captured = way(function)
    for number in range(2 * CALLS):
        owner.value = number
        yield captured(way.array(numbers() + number)), kept


@scenario
def a_store_in_a_finally(way: Way) -> Iterator[Any]:
    kept: list[Any] = []
    owner = Owner(False)

    def function(x: Any) -> Any:
        try:
            if owner.value:
                raise KeyError("asked for")
            return x * 2
        finally:
            kept.append(x + 1)

    captured = way(function)
    for number in range(2 * CALLS):
        owner.value = number % 3 == 2
        yield outcome(captured, way.array(numbers() + number)), kept


@scenario
def a_store_by_a_helper_in_a_global(way: Way) -> Iterator[Any]:
    names = namespace("""
        kept = {}

        class Meter:
            def __init__(self):
                self.total = 0.0

            def add(self, value):
                self.total = self.total + value
                kept["meter"] = self

        meter = Meter()

        def helper(y):
            meter.add(y.sum())
            return y

        def function(x):
            return helper(x * 2) + 1
    """)
    for result in called(way, names["function"]):
        yield result, names["kept"], names["meter"]


@scenario
def results_that_are_kept_and_changed(way: Way) -> Iterator[Any]:
    kept: list[Any] = []

    def function(x: Any) -> Any:
        y = x * 2
        kept.append(y)
        y += 1
        return y

    captured = way(function)
    for number in range(CALLS):
        result = captured(way.array(numbers() + number))
        result += 100
        yield result, kept


@scenario
def a_result_in_a_container_that_is_read(way: Way) -> Iterator[Any]:
    kept = {"items": [1.0]}
    yield from called(way, lambda x: (x * 2, kept), kept)


@scenario
def what_is_sent_to_a_generator(way: Way) -> Iterator[Any]:
    kept: list[Any] = []

    def collecting() -> Any:
        while True:
            kept.append((yield len(kept)))

    collector = collecting()
    next(collector)

    yield from called(way, lambda x: x * collector.send(x.sum()), kept)


@scenario
def a_context_variable(way: Way) -> Iterator[Any]:
    import contextvars

    variable = contextvars.ContextVar("variable", default=None)

    def function(x: Any) -> Any:
        variable.set(x * 2)
        return x + 1

    for result in called(way, function):
        yield result, variable.get()


@scenario
def a_callback(way: Way) -> Iterator[Any]:
    kept: list[Any] = []
    hooks = [lambda y: kept.append(y), kept.append]

    def function(x: Any) -> Any:
        y = x * 2
        for hook in hooks:
            hook(y)
        return y + 1

    yield from called(way, function, kept)


@scenario
def a_sorted_list(way: Way) -> Iterator[Any]:
    kept = [3, 1, 2]

    def function(x: Any) -> Any:
        kept.sort()
        kept.append(len(kept) % 3)
        return x * kept[0] + kept[-1]

    yield from called(way, function, kept)


@scenario
def a_dict_that_is_emptied(way: Way) -> Iterator[Any]:
    pending = {number: float(number) for number in range(10)}
    yield from called(way, lambda x: x * pending.popitem()[1] + len(pending), pending)


@scenario
def a_lock_that_is_held(way: Way) -> Iterator[Any]:
    lock, kept = threading.Lock(), []

    def function(x: Any) -> Any:
        with lock:
            kept.append(lock.locked())
            return x * 2

    for result in called(way, function, kept):
        yield result, lock.locked()


@scenario
def several_functions_that_share(way: Way) -> Iterator[Any]:
    state: dict[str, Any] = {"x": 0.0}

    def write(x: Any) -> Any:
        state["x"] = x * 2
        return x

    write_it, read_it = way(write), way(lambda x: x + state["x"])
    for number in range(2 * CALLS):
        yield write_it(way.array(numbers() + number)), state
        yield read_it(way.array(numbers() + number)), state


RUN_IN = "compiled compiled_arrays hybridized alone"
# By ways: what leaks, or is stored otherwise than by the function as written.
UNSOUND: dict[str, str] = {}


@pytest.mark.parametrize(("way", "name"), cells(SCENARIOS, UNSOUND, RUN_IN))
def test_as_written(way: str, name: str) -> None:
    require_as_written(SCENARIOS[name], way)


def test_scenarios_run_as_written() -> None:
    require_written_runs(SCENARIOS, RUN_IN)
