"""What a function does to the world: as often, in the same order, with the same contents as when it is as written."""

from __future__ import annotations

import builtins
import contextlib
import io
import itertools
import logging
import os
import random
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from capture_ways import (
    CALLS,
    Owner,
    Way,
    cells,
    numbers,
    outcome,
    require_as_written,
    require_written_runs,
    scenarios,
    tells_of_captures,
)

COMPILES = True
SCENARIOS, scenario = scenarios()


def printed(function: Any, *arguments: Any) -> Any:
    """Return the outcome of a call, and what it prints."""
    stream = io.StringIO()
    with contextlib.redirect_stdout(stream), contextlib.redirect_stderr(stream):
        result = outcome(function, *arguments)
    return result, stream.getvalue()


@scenario
def printing(way: Way) -> Iterator[Any]:
    def function(x: Any) -> Any:
        print("called")
        return x * 2

    captured = way(function)
    for number in range(2 * CALLS):
        yield printed(captured, way.array(numbers() + number))


@scenario
def printing_what_is_known(way: Way) -> Iterator[Any]:
    def function(x: Any) -> Any:
        print("shape", x.shape, x.dtype, end=";")
        y = x * 2
        print(y.ndim, len(y), sep=",")
        return y

    captured = way(function)
    for number in range(CALLS):
        yield printed(captured, way.array(numbers() + number))


@scenario
def printing_values(way: Way) -> Iterator[Any]:
    def function(x: Any) -> Any:
        print("before", x)
        y = x * 2
        print(f"{y[0]:.3f}", repr(y))
        return y

    captured = way(function)
    for number in range(CALLS):
        yield printed(captured, way.array(numbers() + number))


@scenario
def printing_where_an_error_follows(way: Way) -> Iterator[Any]:
    def function(x: Any) -> Any:
        print("once")
        if x[0] > 1:
            print("large")
            raise ValueError("large")
        return x * 2

    captured = way(function)
    for number in (0, 0, 1, 0, 1, 0):
        yield printed(captured, way.array(numbers() + number))


@scenario
def printing_at_the_last_line(way: Way) -> Iterator[Any]:
    def function(x: Any) -> Any:
        y = np.sin(x) * 2
        z = y.sum()
        print("done")
        return y + z

    captured = way(function)
    for number in range(CALLS):
        yield printed(captured, way.array(numbers() + number))


@scenario
def writing_to_standard_error(way: Way) -> Iterator[Any]:
    def function(x: Any) -> Any:
        sys.stderr.write("error ")
        sys.stdout.write("output ")
        return x * 2

    captured = way(function)
    for number in range(CALLS):
        yield printed(captured, way.array(numbers() + number))


@scenario
def printing_to_a_stream(way: Way) -> Iterator[Any]:
    stream = io.StringIO()

    def function(x: Any) -> Any:
        print("called", file=stream)
        stream.write("!")
        return x * 2

    captured = way(function)
    for number in range(CALLS):
        yield captured(way.array(numbers() + number)), stream.getvalue()


@scenario
def printing_when_a_flag_is_set(way: Way) -> Iterator[Any]:
    owner = Owner(False)

    def function(x: Any) -> Any:
        if owner.value:
            print("verbose")
        return x * 2

    captured = way(function)
    for number in range(3 * CALLS):
        owner.value = number % 3 == 2
        yield printed(captured, way.array(numbers() + number))


@scenario
def printing_by_another_name(way: Way) -> Iterator[Any]:
    say = [print]

    def function(x: Any) -> Any:
        say[0]("called")
        builtins.print("twice")
        return x * 2

    captured = way(function)
    for number in range(CALLS):
        yield printed(captured, way.array(numbers() + number))


class Records(logging.Handler):
    """A handler that keeps the texts."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())


@scenario
def logging_texts(way: Way) -> Iterator[Any]:
    logger, records = logging.Logger("of_this_run"), Records()
    logger.addHandler(records)

    def function(x: Any) -> Any:
        logger.warning("shape %s", x.shape)
        return x * 2

    captured = way(function)
    for number in range(CALLS):
        yield captured(way.array(numbers() + number)), records.texts


@scenario
def logging_below_the_level(way: Way) -> Iterator[Any]:
    logger, records = logging.Logger("of_this_run", logging.WARNING), Records()
    logger.addHandler(records)

    def function(x: Any) -> Any:
        logger.info("called")
        return x * 2

    captured = way(function)
    for number in range(3 * CALLS):
        logger.setLevel(logging.INFO if number % 3 == 2 else logging.WARNING)
        yield captured(way.array(numbers() + number)), records.texts


@scenario
def files(way: Way) -> Iterator[Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log"

        def function(x: Any) -> Any:
            with open(path, "a", encoding="utf-8") as file:
                file.write(f"{x.shape}\n")
            return x * 2

        captured = way(function)
        for number in range(CALLS):
            yield captured(way.array(numbers() + number)), path.read_text(encoding="utf-8")


@scenario
def files_that_stay_open(way: Way) -> Iterator[Any]:
    with tempfile.TemporaryDirectory() as folder, open(Path(folder) / "log", "w+", encoding="utf-8") as file:

        def function(x: Any) -> Any:
            file.write("called\n")
            return x * file.tell()

        captured = way(function)
        for number in range(CALLS):
            yield captured(way.array(numbers() + number)), file.tell()


@scenario
def paths(way: Way) -> Iterator[Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log"

        def function(x: Any) -> Any:
            path.write_text("x" * (1 + (path.stat().st_size if path.exists() else 0)), encoding="utf-8")
            return x * 2

        captured = way(function)
        for number in range(CALLS):
            yield captured(way.array(numbers() + number)), path.read_text(encoding="utf-8")


@scenario
def descriptors(way: Way) -> Iterator[Any]:
    reading, writing = os.pipe()
    try:

        def function(x: Any) -> Any:
            os.write(writing, b"x")
            return x * 2

        captured = way(function)
        for number in range(CALLS):
            yield captured(way.array(numbers() + number)), os.read(reading, 10)
            os.write(writing, b".")
    finally:
        os.close(reading)
        os.close(writing)


@scenario
def the_next_of_an_iterator(way: Way) -> Iterator[Any]:
    factors = iter([1.0, 2.0, 3.0])
    captured = way(lambda x: x * next(factors))
    for number in range(CALLS):
        yield outcome(captured, way.array(numbers() + number))


@scenario
def the_next_with_a_default(way: Way) -> Iterator[Any]:
    factors = iter([1.0, 2.0])
    captured = way(lambda x: x * next(factors, 9.0))
    for number in range(CALLS):
        yield outcome(captured, way.array(numbers() + number))


@scenario
def an_iterator_that_is_consumed(way: Way) -> Iterator[Any]:
    numbers_left = itertools.count()
    rest = iter(range(20))

    def function(x: Any) -> Any:
        for _, item in zip(range(3), rest, strict=False):
            x = x + item
        return x * next(numbers_left)

    captured = way(function)
    for number in range(CALLS):
        yield outcome(captured, way.array(numbers() + number)), repr(numbers_left)


@scenario
def a_reader_of_batches(way: Way) -> Iterator[Any]:
    class Batches:
        def __init__(self) -> None:
            self.position = 0

        def __iter__(self) -> Any:
            return self

        def __next__(self) -> float:
            self.position += 1
            return float(self.position)

    batches = Batches()
    captured = way(lambda x: x * next(batches))
    for number in range(CALLS):
        yield outcome(captured, way.array(numbers() + number)), batches.position


@scenario
def numpys_global_numbers(way: Way) -> Iterator[Any]:
    captured = way(lambda x: x * np.random.uniform(size=6) + np.random.randn())
    for number in range(CALLS):
        np.random.seed(number // 2)
        yield captured(way.array(numbers())), captured(way.array(numbers())), np.random.uniform()


@scenario
def a_generator_of_numbers(way: Way) -> Iterator[Any]:
    generator = np.random.default_rng(0)
    captured = way(lambda x: x * generator.uniform(size=6))
    for number in range(CALLS):
        yield captured(way.array(numbers() + number)), generator.bit_generator.state


@scenario
def a_random_state(way: Way) -> Iterator[Any]:
    state = np.random.RandomState(0)
    captured = way(lambda x: x * state.normal(size=6))
    for number in range(CALLS):
        yield captured(way.array(numbers() + number)), state.uniform()


@scenario
def pythons_numbers(way: Way) -> Iterator[Any]:
    captured = way(lambda x: x * random.random() + random.choice([1, 2, 3]))
    for number in range(CALLS):
        random.seed(number // 2)
        yield captured(way.array(numbers())), captured(way.array(numbers())), random.random()


@scenario
def seeding_inside(way: Way) -> Iterator[Any]:
    def function(x: Any) -> Any:
        np.random.seed(3)
        return x * 2

    captured = way(function)
    for number in range(CALLS):
        np.random.seed(number)
        yield captured(way.array(numbers())), np.random.uniform()


@scenario
def shuffling(way: Way) -> Iterator[Any]:
    order = list(range(6))

    def function(x: Any) -> Any:
        random.shuffle(order)
        return x * order[0]

    captured = way(function)
    for number in range(CALLS):
        random.seed(number)
        yield captured(way.array(numbers())), order


def with_warnings(function: Any, *arguments: Any) -> Any:
    """Return the outcome of a call, and the warnings that it raises but for those of captures."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = outcome(function, *arguments)
    rest = [each for each in caught if not tells_of_captures(each)]
    for each in caught:
        if tells_of_captures(each):
            warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)
    return result, [(each.category.__name__, str(each.message)) for each in rest]


def zero(way: Way) -> Any:
    return way.array([-1.0, 0.0, 1.0, 2.0, 800.0, 0.5])


@scenario
def errors_of_numbers_raised_around(way: Way) -> Iterator[Any]:
    captured = way(lambda x: np.log(x) + 1 / x)
    for _ in range(CALLS):
        yield captured(way.array(numbers()))
    for number in range(2 * CALLS):
        with np.errstate(all="raise" if number % 2 else "ignore"):
            yield outcome(captured, zero(way))
            yield captured(way.array(numbers()))


@scenario
def errors_of_numbers_raised_around_from_the_beginning(way: Way) -> Iterator[Any]:
    captured = way(lambda x: np.exp(x) * 2)
    with np.errstate(all="raise"):
        for _ in range(CALLS):
            yield outcome(captured, zero(way))
            yield captured(way.array(numbers()))


@scenario
def errors_of_numbers_raised_inside(way: Way) -> Iterator[Any]:
    def function(x: Any) -> Any:
        with np.errstate(all="raise"):
            return 1 / x

    captured = way(function)
    for number in range(2 * CALLS):
        yield outcome(captured, zero(way) if number % 2 else way.array(numbers()))
        yield np.geterr()


@scenario
def errors_of_numbers_caught_inside(way: Way) -> Iterator[Any]:
    def function(x: Any) -> Any:
        try:
            with np.errstate(divide="raise"):
                return 1 / x
        except FloatingPointError:
            return x * 0

    captured = way(function)
    for number in range(2 * CALLS):
        yield outcome(captured, zero(way) if number % 2 else way.array(numbers()))


@scenario
def errors_of_numbers_ignored_inside(way: Way) -> Iterator[Any]:
    def function(x: Any) -> Any:
        with np.errstate(all="ignore"):
            y = 1 / x
        return y + np.log(x)

    captured = way(function)
    for _ in range(2 * CALLS):
        yield with_warnings(captured, zero(way))


@scenario
def errors_of_numbers_said_by_seterr(way: Way) -> Iterator[Any]:
    before = np.geterr()
    captured = way(lambda x: 1 / x)
    try:
        for number in range(2 * CALLS):
            np.seterr(divide=["warn", "raise", "ignore"][number % 3])  # type: ignore[call-overload]
            yield outcome(captured, zero(way))
    finally:
        np.seterr(**before)


@scenario
def errors_of_numbers_changed_inside(way: Way) -> Iterator[Any]:
    before = np.geterr()

    def function(x: Any) -> Any:
        np.seterr(under="ignore" if x.ndim == 1 else "warn", over="ignore")
        return x * 2

    captured = way(function)
    try:
        for _ in range(CALLS):
            np.seterr(over="warn")
            yield captured(way.array(numbers())), np.geterr()["over"]
    finally:
        np.seterr(**before)


@scenario
def errors_of_numbers_that_are_called(way: Way) -> Iterator[Any]:
    calls: list[Any] = []
    captured = way(lambda x: 1 / x)
    for _ in range(CALLS):
        yield captured(way.array(numbers()))
    with np.errstate(divide="call", call=lambda kind, flag: calls.append((kind, flag))):
        for _ in range(CALLS):
            yield captured(zero(way)), calls


@scenario
def warnings_of_numpy(way: Way) -> Iterator[Any]:
    captured = way(lambda x: np.log(x) / 2)
    for _ in range(2 * CALLS):
        yield with_warnings(captured, zero(way))
        yield with_warnings(captured, way.array(numbers()))


@scenario
def warnings_of_numpy_in_products(way: Way) -> Iterator[Any]:
    captured = way(lambda x: (x * 1e308 * 10, np.sqrt(x), x / (x - x), np.exp(x)))
    for _ in range(CALLS):
        yield with_warnings(captured, zero(way))


@scenario
def warnings_of_numpy_in_means(way: Way) -> Iterator[Any]:
    captured = way(lambda x: np.mean(x[x.shape[0] :]))
    for _ in range(CALLS):
        yield with_warnings(captured, way.array(numbers()))


@scenario
def warnings_as_errors(way: Way) -> Iterator[Any]:
    captured = way(lambda x: np.log(x) / 2)

    def strict(x: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            return captured(x)

    for number in range(2 * CALLS):
        yield outcome(strict, zero(way) if number % 2 else way.array(numbers()))


@scenario
def warnings_as_errors_around_everything(way: Way) -> Iterator[Any]:
    captured = way(lambda x: np.log(x) / 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        for number in range(2 * CALLS):
            yield outcome(captured, zero(way) if number % 2 else way.array(numbers()))
            if number == CALLS:
                warnings.simplefilter("ignore", RuntimeWarning)


@scenario
def warnings_of_the_user(way: Way) -> Iterator[Any]:
    def function(x: Any) -> Any:
        warnings.warn("old", DeprecationWarning, stacklevel=2)
        return x * 2

    captured = way(function)
    for number in range(CALLS):
        yield with_warnings(captured, way.array(numbers() + number))


@scenario
def an_error_when_a_flag_is_set(way: Way) -> Iterator[Any]:
    owner = Owner(False)

    def function(x: Any) -> Any:
        if owner.value:
            raise ValueError("the flag is set", owner.value)
        return x * 2

    captured = way(function)
    for number in range(4 * CALLS):
        owner.value = number % 3 == 2
        yield outcome(captured, way.array(numbers() + number))


@scenario
def an_error_at_the_first_call(way: Way) -> Iterator[Any]:
    owner = Owner(True)

    def function(x: Any) -> Any:
        if owner.value:
            raise ValueError("the flag is set")
        return x * 2

    captured = way(function)
    for number in range(2 * CALLS):
        owner.value = number < 2 or number == CALLS
        yield outcome(captured, way.array(numbers() + number))


@scenario
def an_error_that_depends_on_values(way: Way) -> Iterator[Any]:
    def function(x: Any) -> Any:
        if x.sum() > 10:
            raise ValueError("large", float(x.sum()))
        return x * 2

    captured = way(function)
    for number in range(2 * CALLS):
        yield outcome(captured, way.array(numbers() + number % 3))


@scenario
def an_assertion_on_values(way: Way) -> Iterator[Any]:
    def function(x: Any) -> Any:
        assert np.all(x < 2), "too large"
        return x * 2

    captured = way(function)
    for number in range(2 * CALLS):
        yield outcome(captured, way.array(numbers() + number % 2))


@scenario
def an_assertion_on_shapes(way: Way) -> Iterator[Any]:
    def function(x: Any) -> Any:
        assert x.shape[0] % 2 == 0, f"odd: {x.shape}"
        return x * 2

    captured = way(function)
    for number in range(2 * CALLS):
        yield outcome(captured, way.array(numbers(6 + number % 3)))


@scenario
def an_error_of_numpys(way: Way) -> Iterator[Any]:
    captured = way(lambda x: x.reshape(2, 3) * 2)
    for number in range(2 * CALLS):
        result = outcome(captured, way.array(numbers(6 + number % 2)))
        yield result[0] if isinstance(result, tuple) else result


@scenario
def an_error_that_is_caught_inside(way: Way) -> Iterator[Any]:
    def function(x: Any) -> Any:
        try:
            return x.reshape(2, 3) * 2
        except Exception:
            return x + 1

    captured = way(function)
    for number in range(2 * CALLS):
        yield outcome(captured, way.array(numbers(6 + number % 2)))


@scenario
def an_index_that_is_out_of_bounds(way: Way) -> Iterator[Any]:
    owner = Owner(0)
    captured = way(lambda x: x[owner.value] * 2)
    for number in range(3 * CALLS):
        owner.value = number % 8
        result = outcome(captured, way.array(numbers()))
        yield result[0] if isinstance(result, tuple) else result


@scenario
def a_division_of_numbers_by_zero(way: Way) -> Iterator[Any]:
    owner = Owner(1.0)
    captured = way(lambda x: x * (1.0 / owner.value))
    for number in range(3 * CALLS):
        owner.value = float(number % 4)
        yield outcome(captured, way.array(numbers()))


@scenario
def the_end_of_the_process(way: Way) -> Iterator[Any]:
    owner = Owner(False)

    def function(x: Any) -> Any:
        if owner.value:
            sys.exit(3)
        return x * 2

    captured = way(function)
    for number in range(2 * CALLS):
        owner.value = number % 3 == 2
        try:
            yield captured(way.array(numbers()))
        except SystemExit as error:
            yield "exit", error.code


@scenario
def an_interrupt(way: Way) -> Iterator[Any]:
    calls = [0]

    def function(x: Any) -> Any:
        calls[0] += 1
        if calls[0] % 2:
            raise KeyboardInterrupt
        return x * 2

    captured = way(function)
    for _ in range(2 * CALLS):
        try:
            yield captured(way.array(numbers())), calls
        except KeyboardInterrupt:
            yield "interrupted", calls


@scenario
def the_time(way: Way) -> Iterator[Any]:
    times: list[float] = []

    def function(x: Any) -> Any:
        times.append(time.perf_counter())
        return x * 2

    captured = way(function)
    for number in range(CALLS):
        yield captured(way.array(numbers() + number)), len(times), len(set(times))


@scenario
def the_time_in_a_result(way: Way) -> Iterator[Any]:
    captured = way(lambda x: x * 0 + time.perf_counter())
    seen: set[float] = set()
    for _ in range(CALLS):
        seen.add(float(np.asarray(captured(way.array(numbers()))[0])))
        yield len(seen)


@scenario
def a_pause(way: Way) -> Iterator[Any]:
    def function(x: Any) -> Any:
        time.sleep(0.002)
        return x * 2

    captured = way(function)
    for number in range(CALLS):
        began = time.perf_counter()
        yield captured(way.array(numbers() + number)), time.perf_counter() - began > 0.002


@scenario
def questions(way: Way) -> Iterator[Any]:
    answers: list[str] = []

    def asked(text: str = "") -> str:
        answers.append(text)
        return str(len(answers))

    captured = way(lambda x: x * float(input("factor? ")))
    for number in range(CALLS):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(builtins, "input", asked)
            yield captured(way.array(numbers() + number)), answers


@scenario
def a_counter(way: Way) -> Iterator[Any]:
    class Model:
        def __init__(self) -> None:
            self.calls = 0

        def run(self, x: Any) -> Any:
            self.calls += 1
            return x * 2

    model = Model()
    captured = way(model.run)
    for number in range(2 * CALLS):
        yield captured(way.array(numbers() + number)), model


@scenario
def a_counter_that_is_used(way: Way) -> Iterator[Any]:
    class Model:
        def __init__(self) -> None:
            self.calls = 0

        def run(self, x: Any) -> Any:
            self.calls += 1
            return x * self.calls

    model = Model()
    captured = way(model.run)
    for number in range(2 * CALLS):
        yield captured(way.array(numbers() + number)), model


@scenario
def a_variable_of_the_environment(way: Way) -> Iterator[Any]:
    def function(x: Any) -> Any:
        os.environ["CAPTURE_EFFECTS"] = os.environ.get("CAPTURE_EFFECTS", "") + "x"
        return x * len(os.environ["CAPTURE_EFFECTS"])

    captured = way(function)
    for number in range(CALLS):
        os.environ["CAPTURE_EFFECTS"] = "y" * number
        yield captured(way.array(numbers())), os.environ.pop("CAPTURE_EFFECTS")


@scenario
def what_is_imported_inside(way: Way) -> Iterator[Any]:
    def function(x: Any) -> Any:
        import this_is_no_module_of_any_kind  # noqa: F401

        return x * 2

    captured = way(function)
    for _ in range(CALLS):
        yield outcome(captured, way.array(numbers()))


@scenario
def a_class_that_is_made_inside(way: Way) -> Iterator[Any]:
    made: list[str] = []

    class Base:
        def __init_subclass__(cls) -> None:
            made.append(cls.__name__)

    def function(x: Any) -> Any:
        class Derived(Base):
            factor = 2.0

        return x * Derived.factor

    captured = way(function)
    for number in range(CALLS):
        yield captured(way.array(numbers() + number)), made


@scenario
def an_object_that_acts_when_it_goes(way: Way) -> Iterator[Any]:
    gone: list[int] = []

    class Acting:
        def __del__(self) -> None:
            gone.append(len(gone))

    def function(x: Any) -> Any:
        acting = Acting()
        y = x * 2
        del acting
        return y

    captured = way(function)
    for number in range(CALLS):
        yield captured(way.array(numbers() + number)), gone


@scenario
def a_context_manager_that_acts(way: Way) -> Iterator[Any]:
    steps: list[str] = []

    @contextlib.contextmanager
    def noted() -> Any:
        steps.append("enter")
        yield 2.0
        steps.append("leave")

    def function(x: Any) -> Any:
        with noted() as factor:
            return x * factor

    captured = way(function)
    for number in range(CALLS):
        yield captured(way.array(numbers() + number)), steps


@scenario
def operators_that_act(way: Way) -> Iterator[Any]:
    steps: list[str] = []

    class Acting:
        def __mul__(self, value: Any) -> Any:
            steps.append("mul")
            return value * 2

        def __eq__(self, value: object) -> bool:
            steps.append("eq")
            return True

        def __bool__(self) -> bool:
            steps.append("bool")
            return True

        __hash__ = None  # type: ignore[assignment]

    acting = Acting()
    captured = way(lambda x: (acting * x) + (1 if acting == 1 else 2) + (1 if acting else 2))
    for number in range(CALLS):
        yield captured(way.array(numbers() + number)), steps


@scenario
def the_second_half_acts(way: Way) -> Iterator[Any]:
    steps: list[Any] = []

    def function(x: Any) -> Any:
        y = np.tanh(x) * 3
        steps.append("first")
        y += 1
        steps.append(y.shape)
        return y.sum()

    captured = way(function)
    for number in range(CALLS):
        yield captured(way.array(numbers() + number)), steps


@scenario
def an_argument_is_changed_before_it_acts(way: Way) -> Iterator[Any]:
    steps: list[str] = []

    def function(x: Any) -> Any:
        x += 1
        steps.append("changed")
        x *= 2
        return x.sum()

    captured = way(function)
    for number in range(CALLS):
        x = way.array(numbers() + number)
        yield outcome(captured, x), x, steps


RUN_IN = "compiled compiled_arrays hybridized alone"
# By ways: what happens more or less often than as written, or otherwise.
# Native code does not warn of divisions by zero and overflow, as the guide to compiling says: to look would cost more
# than it computes. Where such a warning is an error, functions run as written: these scenarios are as written.
UNSOUND = {
    "compiled": """
        warnings_of_numpy warnings_of_numpy_in_means warnings_of_numpy_in_products
    """,
    "compiled_arrays": """
        warnings_of_numpy warnings_of_numpy_in_products
    """,
    "hybridized": """
        warnings_of_numpy warnings_of_numpy_in_products
    """,
    "alone": """
        warnings_of_numpy
    """,
}


@pytest.mark.parametrize(("way", "name"), cells(SCENARIOS, UNSOUND, RUN_IN))
def test_as_written(way: str, name: str) -> None:
    require_as_written(SCENARIOS[name], way)


def test_scenarios_run_as_written() -> None:
    require_written_runs(SCENARIOS, RUN_IN)
