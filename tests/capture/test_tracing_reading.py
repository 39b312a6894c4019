"""What is read before anything runs, and what ends tracing on the way: each with the words that say so."""

from __future__ import annotations

import functools
import random
from typing import Any

import numpy as np
import pytest
from traces import traced_forward
from tracing_operators import Case

import minpy as mx
from minpy import customop, nd, sym
from minpy.capture.places import CaptureRefused
from minpy.core import Operator

TOTAL = 0
SEEN: list[Any] = []
CACHE: dict[str, Any] = {}
OFFSETS = nd.array([1.0, 2.0, 3.0])


class State:
    calls = 0
    values: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        return 1.0


class Plain:
    calls = 0
    values: list[Any] = []


STATE, PLAIN = State(), Plain()


def sets_a_global(x):
    global TOTAL
    TOTAL += 1
    return x * 2


def closure() -> Any:
    total = 0

    def sets_a_cell(x):
        nonlocal total
        total += 1
        return x * total

    return sets_a_cell


def sets_an_attribute(x):
    PLAIN.calls += 1
    return x * 2


def calls_what_sets_an_attribute(x):
    return x * 2 + (sets_an_attribute(x) * 0)


def appends(x):
    SEEN.append(x)
    return x * 2


def appends_to_an_attribute(x):
    values = PLAIN.values
    values.append(1)
    return x * 2


def appends_by_the_class(x):
    list.append(SEEN, 1)
    return x * 2


def fills_a_cache(x):
    CACHE["x"] = 1
    return x * 2


def computed_attributes(x):
    return x * STATE.anything


def generates(x):
    yield x


def with_class(x):
    class Inner:
        pass

    return x * 2


def reads_dunder(x):
    return x * len(x.__class__.__name__)


def draws(x):
    return x * random.random()


def draws_by_import(x):
    from random import random as draw

    return x * draw()


def draws_with_nd(x):
    return x + nd.random.normal(0, 1, (3,))


def drops_out(x):
    return nd.Dropout(x)


def opens(x):
    with open("/dev/null") as file:
        return x * len(file.read())


def catches(x):
    try:
        return np.linalg.inv(x)
    except np.linalg.LinAlgError:
        return x


def asks_python(x):
    return x * eval("2")


@functools.lru_cache
def remembered(x):
    return 2


def calls_what_remembers(x):
    return x * remembered(1)


def undefined(x):
    return x * not_there  # noqa: F821


def makes_a_number(x):
    return x * float(x[0])


def makes_a_list(x):
    return np.array([value * 2 for value in x.tolist()])


def length_by_values(x):
    return np.zeros(int(x.sum())) + 1


def repeats_by_values(x):
    return np.repeat(x, x.astype(int))


def finds(x):
    return np.nonzero(x)[0] * 1.0


def unique(x):
    return np.unique(x)


def looks_up(x):
    return x.flags


def makes_text(x):
    return x * len(f"{x}")


def is_in(x):
    return x * (2 if 1.0 in x else 3)


def through_python(x):
    return np.apply_along_axis(lambda row: row * 2, 0, x)


def with_objects(x):
    return x * np.array([object()] * 3)


def stores_in_shape(x):
    y = x.copy()
    y[np.newaxis] = 1
    y.shape = (3, 1)
    return y


VOCABULARY = {str(number): number for number in range(2000)}


def looks_into_a_large_table(x):
    return x * VOCABULARY["7"]


def uses_where_without_out(x):
    return np.add(x, 1, where=x > 0)


REFUSED: dict[Any, str] = {
    sets_a_global: "it sets a global name",
    closure(): "it sets 'total' of an enclosing function",
    sets_an_attribute: "it sets an attribute",
    calls_what_sets_an_attribute: "it sets an attribute",
    appends: "it changes a list or a dict that it did not make",
    appends_to_an_attribute: "it changes a list or a dict that it did not make",
    appends_by_the_class: "it changes a list or a dict that it did not make",
    fills_a_cache: "it changes a list or a dict that it did not make",
    generates: "it is a generator or a coroutine",
    with_class: "it defines a class",
    reads_dunder: "it reads __class__",
    draws: "random.random draws random numbers: draw with minpy.np.random, or take the numbers as an argument",
    draws_by_import: "it imports random",
    draws_with_nd: "nd.random is not known to be free of effects",
    drops_out: "nd.Dropout draws numbers, has states, or acts as in training",
    opens: "open is not known to be free of effects",
    catches: "LinAlgError: 1-dimensional array given",
    asks_python: "eval is not known to be free of effects",
    calls_what_remembers: "remembered is a functools._lru_cache_wrapper, changes of which are not noticed",
    undefined: "NameError: name 'not_there' is not defined",
    makes_a_number: "it makes a Python number of an array",
    makes_a_list: "it makes a list of an array",
    length_by_values: "it makes a Python number of an array",
    repeats_by_values: "repeat with an array as repeats= cannot be captured",
    finds: "the shape of numpy.nonzero's answer depends on values",
    unique: "the shape of numpy.unique's answer depends on values",
    looks_up: "an array's attribute 'flags' cannot be captured",
    makes_text: "it makes text of an array",
    is_in: "it chooses by values: `in` an array",
    through_python: "np.apply_along_axis is not known to be free of effects",
    with_objects: "an array of dtype object",
    stores_in_shape: "it sets the attribute 'shape' of an array",
    uses_where_without_out: "add with where=",
    looks_into_a_large_table: "VOCABULARY is a dict of 2000 values, too many to compare",
}


@pytest.mark.parametrize("function", REFUSED, ids=lambda function: function.__name__)
def test_what_is_not_traced(function: Any) -> None:
    kind = "mxnet" if "nd" in function.__code__.co_names else "numpy"
    operator = customop(kind)(function)
    before = (TOTAL, list(SEEN), dict(CACHE), PLAIN.calls, list(PLAIN.values))
    with pytest.raises(CaptureRefused) as caught:
        traced_forward(operator, [np.ones(3, "float32")])
    assert caught.value.reason.startswith(REFUSED[function]), caught.value.reason
    place = caught.value.place
    assert place is not None
    assert place.file == __file__
    assert before == (TOTAL, SEEN, CACHE, PLAIN.calls, PLAIN.values)


def long_sums(x):
    return x.sum(axis=0) + np.sum(x, 0) + x.mean(0) + np.mean(x, axis=0)


def test_sums_of_users_are_numpys() -> None:
    """Built-in sums lose fewer digits, and a user's function means what it says."""
    operator: Operator = customop("numpy")(long_sums)
    (array,) = Case(operator, [(5000, 3)]).draw()
    trace, (part,) = traced_forward(operator, [array])
    np.testing.assert_array_equal(trace.compute(part), long_sums(array))
    assert not np.array_equal(np.sum(array, 0), nd.sum(nd.array(array), axis=0).asnumpy())


def test_captured_ndarrays_are_read_at_each_call() -> None:
    @customop("mxnet")
    def shifted(x):
        return x * 2 + OFFSETS

    executor = shifted(sym.var("x")).bind(mx.cpu(), {"x": nd.ones(3)})
    for change in range(4):
        if change == 1:
            OFFSETS[:] = 5
        elif change == 2:
            globals().update(OFFSETS=OFFSETS * 3)
        elif change == 3:
            globals().update(OFFSETS=OFFSETS.reshape((1, 3))[0])
        expected = shifted(nd.ones(3)).asnumpy()
        np.testing.assert_array_equal(executor.forward()[0].asnumpy(), expected)
        assert all(node.operator.builtin for node in executor._programs[False].steps.forward)


def test_tracers_of_numpy_1_refuse_what_depends_on_a_value() -> None:
    """Whether float32 beside a float64 of no axes is float32 depended on its value."""

    @customop("numpy")
    def mixed(x, y):
        return x * y.sum(dtype="float64")

    arrays = [np.ones(3, "float32"), np.ones(3, "float64")]
    if np.lib.NumpyVersion(np.__version__) < "2.0.0":
        with pytest.raises(CaptureRefused, match="the dtype of the answer depends on a value"):
            traced_forward(mixed, arrays)
    else:
        trace, (part,) = traced_forward(mixed, arrays)
        assert trace.compute(part).dtype == mixed(*arrays).dtype == part.dtype == np.float64
