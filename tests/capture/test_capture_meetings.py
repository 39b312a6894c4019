"""Captured functions that meet: each other, threads, errors, copies, instances, derivatives, and modes of autograd."""

from __future__ import annotations

import copy
import functools
import gc
import inspect
import pickle
import sys
import threading
import types
import weakref
from collections.abc import Iterator
from typing import Any

import autograd as hips
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

import minpy as mx
from minpy import gluon

COMPILES = True
SCENARIOS, scenario = scenarios()


# -- functions within functions ----------------------------------------------------------------------------------------


@scenario
def a_function_that_calls_another(way: Way) -> Iterator[Any]:
    names = namespace("""
        scale = 2.0

        def inner(x):
            return x * scale
    """)
    inner = way(names["inner"])
    outer = way(lambda x: inner(x) + 1)
    for number in range(2 * CALLS):
        yield outer(way.array(numbers())), inner(way.array(numbers()))
        if number % 3 == 2:
            names["scale"] += 1


@scenario
def a_function_that_calls_itself(way: Way) -> Iterator[Any]:
    def power(x: Any, count: int) -> Any:
        return x if count <= 1 else x * function(x, count - 1)

    function = way(power)
    for number in range(2 * CALLS):
        yield outcome(function, way.array(numbers()), number % 4)


@scenario
def a_function_that_calls_itself_by_a_global(way: Way) -> Iterator[Any]:
    names = namespace("""
        def power(x, count):
            return x * base if count <= 1 else x * function(x, count - 1)

        base = 1.0
    """)
    names["function"] = way(names["power"])
    for number in range(2 * CALLS):
        yield outcome(names["function"], way.array(numbers()), number % 4)
        if number % 3 == 2:
            names["base"] += 0.5


@scenario
def two_functions_that_call_each_other(way: Way) -> Iterator[Any]:
    owner = Owner(2.0)

    def even(x: Any, count: int) -> Any:
        return x * owner.value if count == 0 else odd(x + 1, count - 1)

    def uneven(x: Any, count: int) -> Any:
        return x if count == 0 else even_of(x * 2, count - 1)

    even_of, odd = way(even), way(uneven)
    for number in range(2 * CALLS):
        yield outcome(even_of, way.array(numbers()), number % 3)
        owner.value += number % 2


@scenario
def an_inner_function_that_is_replaced(way: Way) -> Iterator[Any]:
    owner = Owner(way(lambda x: x * 2))
    outer = way(lambda x: owner.value(x) + 1)
    for number in range(2 * CALLS):
        yield outer(way.array(numbers()))
        if number % 3 == 2:
            owner.value = way(lambda x, factor=float(number): x * factor)


@scenario
def an_inner_function_that_changes_its_argument(way: Way) -> Iterator[Any]:
    def add(x: Any, by: Any) -> Any:
        x += by
        return x * 2

    inner = way(add)

    def twice(x: Any) -> Any:
        y = x * 1.0
        first = inner(y, 1.0)
        return first + inner(y, 2.0) + y

    outer = way(twice)
    for number in range(CALLS):
        x = way.array(numbers() + number)
        yield outcome(outer, x), x


@scenario
def an_inner_function_that_acts(way: Way) -> Iterator[Any]:
    calls: list[int] = []

    def acting(x: Any) -> Any:
        calls.append(len(calls))
        return x * len(calls)

    inner = way(acting)
    outer = way(lambda x: inner(x) + inner(x))
    for number in range(CALLS):
        yield outer(way.array(numbers() + number)), calls


@scenario
def an_inner_function_that_raises(way: Way) -> Iterator[Any]:
    owner = Owner(False)

    def checked(x: Any) -> Any:
        if owner.value:
            raise ValueError("asked for")
        return x * 2

    inner = way(checked)

    def caught(x: Any) -> Any:
        try:
            return inner(x)
        except ValueError as error:
            return x * len(error.args[0])

    outer = way(caught)
    for number in range(3 * CALLS):
        owner.value = number % 3 == 2
        yield outer(way.array(numbers())), outcome(inner, way.array(numbers()))


@scenario
def a_block_within_a_function_within_a_block(way: Way) -> Iterator[Any]:
    scale = Owner(2.0)

    class Inner(gluon.HybridBlock):
        def forward(self, x: Any) -> Any:
            return x * scale.value

    inner = Inner()
    if way.is_captured:
        inner.hybridize()
    middle = way(lambda x: inner(x) + scale.value)

    class Outer(gluon.HybridBlock):
        def forward(self, x: Any) -> Any:
            return middle(x) - 1

    outer = Outer()
    if way.is_captured:
        outer.hybridize()
    for number in range(3 * CALLS):
        x = mx.np.array(numbers())
        yield outer(x), middle(x), inner(x)
        if number % 4 == 3:
            scale.value += 1


@scenario
def a_parameter_that_is_an_argument(way: Way) -> Iterator[Any]:
    class Net(gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            self.weight = gluon.Parameter("weight", shape=(6,), init="ones")

        def forward(self, x: Any) -> Any:
            weight = self.weight.data()
            return x * 2 if x is weight else x + weight

    mx.npx.set_np()
    try:
        net = Net()
        net.initialize()
        if way.is_captured:
            net.hybridize()
        for number in range(CALLS):
            yield net(mx.np.array(numbers() + number))
            yield net(net.weight.data())
            net.weight.set_data(mx.np.array(numbers() * number))
    finally:
        mx.npx.reset_np()


# -- definitions -------------------------------------------------------------------------------------------------------


@scenario
def a_function_that_is_defined_again(way: Way) -> Iterator[Any]:
    names = namespace("factor = 2.0")
    for number in range(2 * CALLS):
        exec(f"def function(x):\n    return x * factor + {number % 2}", names)
        names["function"] = way(names["function"])
        yield names["function"](way.array(numbers())), names["function"](way.array(numbers()))
        names["factor"] += number % 3


@scenario
def functions_of_one_code(way: Way) -> Iterator[Any]:
    def made(factor: float, shift: float = 0.0) -> Any:
        return way(lambda x, by=shift: x * factor + by)

    functions = [made(1.0), made(2.0), made(2.0, 1.0), made(3.0)]
    for number in range(CALLS):
        for function in functions:
            yield function(way.array(numbers() + number))


@scenario
def functions_that_are_made_anew(way: Way) -> Iterator[Any]:
    for number in range(3 * CALLS):
        yield way(lambda x, by=float(number): x * by)(way.array(numbers()))


@scenario
def functions_that_are_given_anew(way: Way) -> Iterator[Any]:
    apply = way(lambda function, x: function(x) + 1)
    for number in range(3 * CALLS):
        yield outcome(apply, lambda x, by=float(number): x * by, way.array(numbers()))


@scenario
def one_function_captured_twice(way: Way) -> Iterator[Any]:
    owner = Owner(1.0)

    def function(x: Any) -> Any:
        return x * owner.value

    first, second = way(function), way(function)
    for number in range(2 * CALLS):
        yield first(way.array(numbers())), second(way.array(numbers())), function(way.array(numbers()))
        owner.value += number % 2


@scenario
def a_decorated_function(way: Way) -> Iterator[Any]:
    calls: list[str] = []

    def noted(function: Any) -> Any:
        @functools.wraps(function)
        def outer(*arguments: Any, **keywords: Any) -> Any:
            calls.append(function.__name__)
            return function(*arguments, **keywords)

        return outer

    def function(x: Any, factor: float = 2.0) -> Any:
        """Multiply."""
        return x * factor

    captured = noted(way(function)) if way.name.startswith("compiled") else noted(lambda x: x * 2)
    for number in range(CALLS):
        yield captured(way.array(numbers() + number)), calls


@scenario
def methods_of_several_instances(way: Way) -> Iterator[Any]:
    class Model:
        def __init__(self, factor: float) -> None:
            self.factor = factor

        def run(self, x: Any) -> Any:
            return x * self.factor

    models = [Model(float(number)) for number in range(3)]
    runs = [way(model.run) for model in models]
    for number in range(2 * CALLS):
        for run in runs:
            yield run(way.array(numbers()))
        models[number % 3].factor += 1


@scenario
def a_method_that_is_captured_on_its_class(way: Way) -> Iterator[Any]:
    if not way.name.startswith("compiled"):
        return

    class Model:
        def __init__(self, factor: Any) -> None:
            self.factor = factor

        @way
        def run(self, x: Any) -> Any:
            return x * self.factor

        @classmethod
        def made(cls) -> Any:
            return cls(5.0)

    models = [Model(1.0), Model(2.0), Model.made(), Model(way.array(numbers()))]
    for number in range(2 * CALLS):
        for model in models:
            yield model.run(way.array(numbers())), Model.run(model, way.array(numbers()))
        models[number % 3].factor += 1


@scenario
def a_method_that_a_subclass_calls(way: Way) -> Iterator[Any]:
    if not way.name.startswith("compiled"):
        return

    class Base:
        factor = 2.0

        @way
        def run(self, x: Any) -> Any:
            return x * self.factor

    class Derived(Base):
        @way
        def run(self, x: Any) -> Any:
            return super().run(x) + self.factor

    base, derived = Base(), Derived()
    for number in range(2 * CALLS):
        yield base.run(way.array(numbers())), derived.run(way.array(numbers()))
        (Base if number % 2 else Derived).factor = float(number)


@scenario
def an_instance_with_slots(way: Way) -> Iterator[Any]:
    if not way.name.startswith("compiled"):
        return

    class Model:
        __slots__ = ("factor",)

        def __init__(self) -> None:
            self.factor = 1.0

        @way
        def run(self, x: Any) -> Any:
            return x * self.factor

    model = Model()
    for _ in range(2 * CALLS):
        yield model.run(way.array(numbers()))
        model.factor *= 1.5


@scenario
def partial_functions(way: Way) -> Iterator[Any]:
    function = way(lambda x, y, factor=1.0: (x + y) * factor)
    y = way.array(numbers())
    for number in range(CALLS):
        for partial in functools.partial(function, y), functools.partial(function, y=y, factor=2.0):
            yield outcome(partial, way.array(numbers() + number))


@scenario
def a_captured_partial_function(way: Way) -> Iterator[Any]:
    factors = [1.0, 2.0]
    function = way(functools.partial(lambda factors, x, by=1.0: x * factors[0] + by, factors, by=3.0))
    for _ in range(2 * CALLS):
        yield outcome(function, way.array(numbers()))
        factors[0] += 1


@scenario
def a_captured_object(way: Way) -> Iterator[Any]:
    class Model:
        def __init__(self) -> None:
            self.factor = 1.0

        def __call__(self, x: Any) -> Any:
            return x * self.factor

    model = Model()
    function = way(model)
    for _ in range(2 * CALLS):
        yield outcome(function, way.array(numbers()))
        model.factor += 1


@scenario
def captured_functions_of_numpy(way: Way) -> Iterator[Any]:
    functions = [way(np.tanh), way(np.sum), way(functools.partial(np.sum, axis=0)), way(np.linalg.norm)]
    for number in range(CALLS):
        for function in functions:
            yield outcome(function, way.array(numbers() + number))


@scenario
def a_generator_that_is_captured(way: Way) -> Iterator[Any]:
    def function(x: Any) -> Iterator[Any]:
        yield x * 2
        yield x + 1

    captured = way(function)
    for number in range(CALLS):
        result = outcome(captured, way.array(numbers() + number))
        yield list(result) if isinstance(result, types.GeneratorType) else result


# -- copies ------------------------------------------------------------------------------------------------------------


@scenario
def copies_after_captures(way: Way) -> Iterator[Any]:
    if not way.name.startswith("compiled"):
        return
    owner = Owner(1.0)
    function = way(lambda x: x * owner.value)
    for number in range(CALLS):
        yield function(way.array(numbers()))
        copies = [copy.copy(function), copy.deepcopy(function)] if number % 2 else [function]
        owner.value += 1
        for each in copies[:1]:
            yield each(way.array(numbers()))
        yield function(way.array(numbers()))


@scenario
def an_object_that_holds_a_captured_function_is_copied(way: Way) -> Iterator[Any]:
    if not way.name.startswith("compiled"):
        return

    class Model:
        def __init__(self) -> None:
            self.factor = 1.0
            self.function = way(np.tanh)

        def run(self, x: Any) -> Any:
            return self.function(x) * self.factor

    model = Model()
    for _ in range(CALLS):
        twin = copy.deepcopy(model)
        twin.factor += 1
        yield model.run(way.array(numbers())), twin.run(way.array(numbers()))
        model = twin


# -- errors in the middle ----------------------------------------------------------------------------------------------


@scenario
def an_error_in_the_middle_of_writes(way: Way) -> Iterator[Any]:
    owner = Owner(False)

    def function(x: Any, y: Any) -> Any:
        x += 1
        y[1:] = x[:-1]
        if owner.value:
            raise ValueError("asked for")
        x *= 2
        return x + y

    captured = way(function)
    for number in range(3 * CALLS):
        owner.value = number % 3 == 2
        x, y = way.array(numbers() + number), way.array(numbers())
        yield outcome(captured, x, y), x, y


@scenario
def an_error_of_numbers_in_the_middle_of_writes(way: Way) -> Iterator[Any]:
    def function(x: Any, y: Any) -> Any:
        x += 1
        y /= x
        x *= 2
        return x + y

    captured = way(function)
    for number in range(2 * CALLS):
        x, y = way.array([-1.0, 0.0, 1.0]), way.array([1.0, 2.0, 3.0])
        with np.errstate(all="raise" if number % 2 else "ignore"):
            yield outcome(captured, x, y), x, y


@scenario
def a_write_into_what_is_read_only(way: Way) -> Iterator[Any]:
    def function(x: Any, y: Any) -> Any:
        x += 1
        y += x
        return x + y

    captured = way(function)
    for number in range(2 * CALLS):
        x, y = np.ones(3), np.ones(3)
        y.flags.writeable = number % 2 == 0
        yield outcome(captured, x, y), x, y


@scenario
def a_write_that_does_not_fit(way: Way) -> Iterator[Any]:
    def function(x: Any, y: Any) -> Any:
        x += 1
        x[: len(y)] = y
        return x * 2

    captured = way(function)
    for number in range(2 * CALLS):
        x, y = way.array(numbers()), way.array(numbers(3 + 2 * (number % 4)))
        result = outcome(captured, x, y)
        yield result[0] if isinstance(result, tuple) else result, x, y


# -- derivatives and modes ---------------------------------------------------------------------------------------------


def energy_of(owner: Any) -> Any:
    return lambda x, w: np.sum(np.tanh(x * w) * owner.value) + np.sum(w * w)


@scenario
def derivatives(way: Way) -> Iterator[Any]:
    owner = Owner(1.0)
    energy = way(energy_of(owner))
    both = mx.value_and_grad(energy, (0, 1))
    for number in range(3 * CALLS):
        x, w = way.array(numbers() + number), way.array(numbers())
        yield both(x, w), mx.grad(energy)(x, w), energy(x, w)
        owner.value += number % 2


@scenario
def captured_derivatives(way: Way) -> Iterator[Any]:
    if not way.name.startswith("compiled"):
        return
    owner = Owner(1.0)
    derivative = way(mx.grad(energy_of(owner), (0, 1)))
    both = way(mx.value_and_grad(energy_of(owner)))
    for number in range(3 * CALLS):
        x, w = way.array(numbers() + number), way.array(numbers())
        yield derivative(x, w), both(x, w)
        owner.value += number % 2


@scenario
def second_derivatives(way: Way) -> Iterator[Any]:
    owner = Owner(1.0)
    cube = way(lambda x: np.sum(x * x * x) * owner.value)
    second = mx.grad(lambda x: np.sum(mx.grad(cube)(x) ** 2))
    for number in range(2 * CALLS):
        yield second(way.array(numbers() + number))
        owner.value += number % 2


@scenario
def derivatives_of_what_changes_its_argument(way: Way) -> Iterator[Any]:
    def function(x: Any) -> Any:
        y = x * 1.0
        y *= x
        y[1:] += y[:-1]
        return np.sum(y)

    captured = way(function)
    for number in range(2 * CALLS):
        yield mx.value_and_grad(captured)(way.array(numbers() + number))


@scenario
def derivatives_by_hips_autograd(way: Way) -> Iterator[Any]:
    if not way.name.startswith("compiled"):
        return
    owner = Owner(1.0)

    def function(x: Any) -> Any:
        return np.sum(np.tanh(x) * owner.value) + np.sum(x * x)

    def in_their_words(x: Any) -> Any:
        return hips.numpy.sum(hips.numpy.tanh(x) * owner.value) + hips.numpy.sum(x * x)

    captured = way(function) if way.is_captured else in_their_words
    derivative = hips.grad(captured)
    for number in range(2 * CALLS):
        yield derivative(numbers() + number), hips.elementwise_grad(lambda x: derivative(x))(numbers())
        owner.value += number % 2


@scenario
def a_mode_that_is_read(way: Way) -> Iterator[Any]:
    def function(x: Any) -> Any:
        return x * (1 + mx.autograd.is_recording() + 2 * mx.autograd.is_training())

    captured = way(function)
    for _ in range(CALLS):
        x = mx.np.array(numbers())
        yield captured(x)
        with mx.autograd.record():
            yield captured(x)
            with mx.autograd.pause():
                yield captured(x)
            with mx.autograd.predict_mode():
                yield captured(x)
        with mx.autograd.train_mode():
            yield captured(x)


@scenario
def a_mode_that_is_entered_inside(way: Way) -> Iterator[Any]:
    def function(x: Any) -> Any:
        with mx.autograd.pause():
            y = x * 2
        return x * y

    captured = way(function)
    for number in range(CALLS):
        x = mx.np.array(numbers() + number)
        x.attach_grad()
        with mx.autograd.record():
            total = captured(x).sum()
        total.backward()
        yield x.grad, total, mx.autograd.is_recording()


@scenario
def recorded_calls(way: Way) -> Iterator[Any]:
    owner = Owner(1.0)
    captured = way(lambda x, w: np.tanh(x * w) * owner.value)
    x, w = mx.np.array(numbers()), mx.np.array(numbers() + 1)
    x.attach_grad()
    w.attach_grad("add")
    for number in range(3 * CALLS):
        with mx.autograd.record():
            total = (captured(x, w) + captured(w, x)).sum()
        total.backward()
        yield x.grad, w.grad, captured(x, w)
        owner.value += number % 2


@scenario
def recorded_and_not_in_turn(way: Way) -> Iterator[Any]:
    captured = way(lambda x: np.tanh(x) * x)
    x = mx.np.array(numbers())
    x.attach_grad()
    for number in range(3 * CALLS):
        if number % 3:
            yield captured(x)
        else:
            with mx.autograd.record():
                y = captured(x)
            y.backward()
            yield y, x.grad
        yield captured(mx.np.array(numbers()))


@scenario
def what_is_read_gets_its_gradient(way: Way) -> Iterator[Any]:
    owner = Owner(mx.np.array(numbers()))
    owner.value.attach_grad()
    captured = way(lambda x: x * owner.value)
    for number in range(3 * CALLS):
        with mx.autograd.record():
            y = captured(mx.np.array(numbers() + number))
        y.backward()
        yield y, owner.value.grad
        if number % 4 == 3:
            owner.value = mx.np.array(numbers() * number)
            owner.value.attach_grad()


@scenario
def what_is_read_is_recorded(way: Way) -> Iterator[Any]:
    w = mx.np.array(numbers())
    w.attach_grad()
    owner = Owner(w)
    captured = way(lambda x: x * owner.value)
    for number in range(2 * CALLS):
        with mx.autograd.record():
            owner.value = w * 2
            y = captured(mx.np.array(numbers() + number))
        y.backward()
        yield y, w.grad


@scenario
def gradients_asked_for_later(way: Way) -> Iterator[Any]:
    captured = way(lambda x, w: np.tanh(x * w))
    x, w = mx.np.array(numbers()), mx.np.array(numbers() + 1)
    for number in range(3 * CALLS):
        if number == CALLS:
            x.attach_grad()
        if number == 2 * CALLS:
            w.attach_grad()
        if number < CALLS:
            yield captured(x, w)
            continue
        with mx.autograd.record():
            y = captured(x, w)
        y.backward()
        yield y, x.grad, w.grad


@scenario
def backward_after_a_change(way: Way) -> Iterator[Any]:
    owner = Owner(2.0)
    values = np.ones(6)
    captured = way(lambda x: np.tanh(x * owner.value * values))
    x = mx.np.array(numbers())
    x.attach_grad()
    for _ in range(2 * CALLS):
        with mx.autograd.record():
            y = captured(x)
        owner.value += 1
        values *= 1.1
        y.backward()
        yield y, x.grad


@scenario
def backward_twice_and_late(way: Way) -> Iterator[Any]:
    captured = way(lambda x: np.tanh(x) * x)
    arrays = [mx.np.array(numbers() + number) for number in range(CALLS)]
    for _ in range(3):
        results = []
        for x in arrays:
            x.attach_grad()
            with mx.autograd.record():
                results.append(captured(x))
        for y in results[::-1]:
            y.backward(retain_graph=True)
        results[0].backward()
        yield [x.grad for x in arrays], results


# By ways: what is unlike the function as written.
UNSOUND: dict[str, str] = {}
RUN_IN = "compiled compiled_arrays hybridized"


@pytest.mark.parametrize(("way", "name"), cells(SCENARIOS, UNSOUND, RUN_IN))
def test_as_written(way: str, name: str) -> None:
    require_as_written(SCENARIOS[name], way)


def test_scenarios_run_as_written() -> None:
    require_written_runs(SCENARIOS, RUN_IN)


# -- gradients through stores ------------------------------------------------------------------------------------------

STORES = [
    "v = x - 1; w = v; w[1:] = 1",
    "v = x * 2; v[x > 1] = x[0]",
    "v = x * 2; v[[0, 1]] = x[1:]",
    "v = x * 2; np.put(v, [0], [5.0])",
    "v = x * 2; np.put(v, [0, 0], x[1:])",
    "v = x * 2; np.place(v, x > 1, [5.0, 6.0])",
    "v = x * 2; np.copyto(v, x * 3, where=x > 1)",
    "v = x * 2; np.add.at(v, [0, 0], x[:2])",
    "v = np.outer(x, x); np.fill_diagonal(v, x); v = v[0]",
    "v = x * (1 + 2j); v.real[:] = x * x; v = v.imag * 2 + v.real",
    "v = x * (1 + 2j); v.imag[1:] = x[0] * x[1]; v = v.imag * 2 + v.real",
    "v = np.zeros((2, 3)); v[0] = x; v.T[1] = x[0]; v = np.sum(v, 0)",
]


@pytest.mark.parametrize("text", STORES)
def test_gradients_through_stores(text: str) -> None:
    function = namespace("def function(x):\n    " + text.replace("; ", "\n    ") + "\n    return v", np=np)["function"]
    captured = mx.compile(function)
    at = np.array([0.7, 2.0, 3.0])
    weights = np.array([1.0, 10.0, 100.0])
    step = 1e-6 * np.eye(3)
    expected = [weights @ (function(at + one) - function(at - one)) / 2e-6 for one in step]
    x = mx.np.array(at, dtype="float64")
    x.attach_grad()
    for _ in range(CALLS):
        with mx.autograd.record():
            y = captured(x)
        y.backward(mx.np.array(weights, dtype="float64"))
        np.testing.assert_allclose(x.grad.asnumpy(), expected, rtol=1e-5, atol=1e-5)


# -- threads -----------------------------------------------------------------------------------------------------------


def in_threads(count: int, work: Any) -> list[Any]:
    """Run `work(number)` in so many threads at once, and return what each raised or returned."""
    results: list[Any] = [None] * count
    barrier = threading.Barrier(count)

    def run(number: int) -> None:
        barrier.wait()
        try:
            results[number] = work(number)
        except BaseException as error:
            results[number] = error

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results


THREADED = {
    "compiled": (mx.compile, np.array),
    "hybridized": (lambda function: _hybridized(function), mx.np.array),
}


def _hybridized(function: Any) -> Any:
    class Net(gluon.HybridBlock):
        def forward(self, *arguments: Any) -> Any:
            return function(*arguments)

    net = Net()
    net.hybridize()
    return net


@pytest.mark.filterwarnings("ignore::minpy.compiling.CompileWarning")
@pytest.mark.parametrize("way", THREADED)
def test_threads_while_a_value_changes(way: str) -> None:
    wrap, array = THREADED[way]
    owner = Owner(1.0)
    function = wrap(lambda x: x * owner.value + x)
    allowed = {1.0, 2.0, 3.0}

    def work(number: int) -> None:
        if number == 0:
            for turn in range(60):
                owner.value = float(turn % 3 + 1)
            return
        for turn in range(60):
            x = array(numbers() + turn)
            factors = np.asarray(function(x)) / (numbers() + turn) - 1
            assert np.ptp(factors) < 1e-9  # one value in all of a call
            assert round(float(factors[0]), 6) in allowed

    in_threads(4, work)


@pytest.mark.filterwarnings("ignore::minpy.compiling.CompileWarning")
@pytest.mark.parametrize("way", THREADED)
def test_threads_with_other_shapes_and_modes(way: str) -> None:
    wrap, array = THREADED[way]
    function = wrap(lambda x: np.tanh(x) * 2 + len(x) + 10 * mx.autograd.is_training())

    def work(number: int) -> None:
        for turn in range(30):
            values = numbers(2 + (turn + number) % 4)
            with mx.autograd.train_mode() if (number + turn) % 2 else mx.autograd.predict_mode():
                result = np.asarray(function(array(values)))
            expected = np.tanh(values) * 2 + len(values) + 10 * ((number + turn) % 2)
            np.testing.assert_allclose(result, expected, rtol=1e-6)

    in_threads(4, work)


@pytest.mark.filterwarnings("ignore::minpy.compiling.CompileWarning")
def test_threads_that_write_to_their_own_arguments() -> None:
    def written(x: Any, by: Any) -> Any:
        x += by
        x[1:] *= 2
        return x.sum()

    function = mx.compile(written)

    def work(number: int) -> None:
        for turn in range(40):
            x, expected = numbers() + number, numbers() + number
            result = function(x, float(turn % 3))
            total = written(expected, float(turn % 3))
            np.testing.assert_allclose(x, expected)
            np.testing.assert_allclose(result, total)

    in_threads(4, work)


@pytest.mark.filterwarnings("ignore::minpy.compiling.CompileWarning")
def test_a_function_is_first_called_by_many_threads() -> None:
    for _ in range(5):
        count = [0]

        def counting(x: Any, count: list[int] = count) -> Any:
            count[0] += 1
            return x * 2

        function = mx.compile(counting)
        results = in_threads(4, lambda number, function=function: function(numbers() + number))
        for number, result in enumerate(results):
            np.testing.assert_allclose(result, (numbers() + number) * 2)


@pytest.mark.filterwarnings("ignore::minpy.compiling.CompileWarning")
def test_every_call_of_every_thread_counts() -> None:
    count = [0]
    lock = threading.Lock()

    def counting(x: Any) -> Any:
        with lock:
            count[0] += 1
        return x * 2

    function = mx.compile(counting)
    in_threads(4, lambda number: [function(numbers()) for _ in range(10)])
    assert count == [40]


# -- what a compiled function is --------------------------------------------------------------------------------


def described(x: Any, factor: float = 2.0, *, shift: float = 0.0) -> Any:
    """Multiply and add."""
    return x * factor + shift


compiled_here = mx.compile(described)


@mx.compile
def pickled_by_name(x: Any) -> Any:
    return x * 3


def test_signatures_and_names_stay() -> None:
    for _ in range(2):
        assert inspect.signature(compiled_here) == inspect.signature(described)
        assert (compiled_here.__name__, compiled_here.__doc__) == ("described", "Multiply and add.")
        assert (compiled_here.__module__, compiled_here.__qualname__) == (__name__, "described")
        assert compiled_here.__wrapped__ is described  # type: ignore[attr-defined]
        assert inspect.unwrap(compiled_here) is described
        assert callable(compiled_here)
        compiled_here(numbers())


def test_pickles_after_captures() -> None:
    for _ in range(CALLS):
        pickled_by_name(numbers())
    assert pickle.loads(pickle.dumps(pickled_by_name)) is pickled_by_name
    for _ in range(CALLS):
        compiled_here(numbers(), 3.0)
    again = pickle.loads(pickle.dumps(compiled_here))
    np.testing.assert_allclose(again(numbers(), 4.0, shift=1.0), numbers() * 4 + 1)
    np.testing.assert_allclose(copy.deepcopy(compiled_here)(numbers(), 5.0), numbers() * 5)
    np.testing.assert_allclose(copy.copy(compiled_here)(numbers(), 6.0), numbers() * 6)


def test_a_captured_function_is_freed_with_what_it_holds() -> None:
    class Held:
        value = 2.0

    def made() -> tuple[Any, Any]:
        held = Held()
        function = mx.compile(lambda x: x * held.value)
        for number in range(CALLS):
            function(numbers() + number)
        return function, weakref.ref(held)

    function, reference = made()
    assert reference() is not None
    del function
    gc.collect()
    assert reference() is None


@pytest.mark.parametrize("make", [np.array, mx.np.array])
@pytest.mark.parametrize("kind", ["argument", "nested argument", "global"])
def test_arrays_are_freed_after_a_call(kind: str, make: Any) -> None:
    names = namespace("def function(x, nest=None):\n    return x * 2 + W", W=make(np.ones(6)))
    function = mx.compile(names["function"])
    gc.disable()
    try:
        for number in range(CALLS):
            x = make(numbers() + number)
            reference = weakref.ref(x)
            if kind == "argument":
                function(x)
            elif kind == "nested argument":
                function(make(numbers()), {"a": [x]})
            else:
                names["W"] = x
                function(make(numbers()))
                names["W"] = make(np.ones(6))
                function(make(numbers()))
            del x
            assert reference() is None
    finally:
        gc.enable()
