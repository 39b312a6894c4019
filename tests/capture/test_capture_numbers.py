"""Numbers that are equal but not the same, and numbers that change: a captured call gives what is as written."""

from __future__ import annotations

import enum
import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from capture_ways import CALLS, Owner, Way, cells, outcome, require_as_written, require_written_runs, scenarios

COMPILES = True
SCENARIOS, scenario = scenarios()


class Color(enum.IntEnum):
    RED = 1
    GREEN = 2


class Whole(int):
    """A user's integer."""


VALUES: dict[str, list[Any]] = {
    "ones": [1, 1.0, True, np.float32(1), np.float64(1), np.int64(1), np.int8(1), np.bool_(True), 1 + 0j, Color.RED],
    "zeros": [0.0, -0.0, 0, False, np.float64(-0.0), np.float32(-0.0), 0j, -0j],
    "not_numbers": [math.nan, float("nan"), math.inf, -math.inf, np.float64("nan"), np.float32("inf")],
    "large_numbers": [2**31, 2**31 - 1, -(2**31), 2**62, 1e300, 1e-300, 2.0**53 + 1],
    "whole_numbers": [Whole(2), 2, Color.GREEN, np.uint8(2), 2.0],
    "decaying": [0.1 * 0.9**number for number in range(12)],
    "counting": list(range(12)),
    "arrays_without_axes": [np.array(2.0), np.float64(2), np.array(2), np.array(2.0, np.float32), 2.0],
    "arrays_with_axes": [np.array([2.0]), np.array(2.0), np.array([[2.0]]), np.array([2, 2, 2, 2, 2, 2])],
}
NUMBER_USES: dict[str, Any] = {
    "product": lambda x, value: x * value,
    "power": lambda x, value: x**value,
    "sign": lambda x, value: x * math.copysign(1.0, value),
    "numpy_sign": lambda x, value: np.copysign(x, value),
    "of_numpys": lambda x, value: x * np.sqrt(abs(value)),
    "choice": lambda x, value: x * 2 if value is True else x * 3 if isinstance(value, int) else x,
    "class": lambda x, value: x * len(type(value).__name__),
    "text": lambda x, value: x * len(repr(value)),
    "alone": lambda x, value: (x, value),
    "full": lambda x, value: np.full_like(x, value),
    "minimum": lambda x, value: np.minimum(x, value),
    "where": lambda x, value: np.where(x > 1, x, value),
    "clip": lambda x, value: np.clip(x, None, value),
    "python_arithmetic": lambda x, value: x * (value * 2 + 1),
    "array": lambda x, value: x * np.array(value),
    "asarray_dtype": lambda x, value: (x * 2, np.asarray(value).dtype.name),
}
DTYPES = {"double": np.float64, "single": np.float32, "bytes": np.uint8}


def _by_value(use: Any, values: list[Any], dtype: Any) -> Any:
    def by_value(way: Way) -> Iterator[Any]:
        function = way(use)
        x = way.array([1, 2, 3, 1, 2, 3], dtype)
        with np.errstate(all="ignore"):
            for _ in range(CALLS):
                for value in values:
                    yield outcome(function, x, value)

    return by_value


def _by_attribute(use: Any, values: list[Any], dtype: Any) -> Any:
    def by_attribute(way: Way) -> Iterator[Any]:
        owner = Owner(values[0])
        function = way(lambda x: use(x, owner.value))
        x = way.array([1, 2, 3, 1, 2, 3], dtype)
        with np.errstate(all="ignore"):
            for _ in range(CALLS):
                for value in values:
                    owner.value = value
                    yield outcome(function, x)

    return by_attribute


for _use, _values, _dtype in itertools.product(NUMBER_USES, VALUES, DTYPES):
    SCENARIOS[f"{_use}_of_{_values}_and_{_dtype}"] = _by_value(NUMBER_USES[_use], VALUES[_values], DTYPES[_dtype])
for _use, _values in itertools.product(NUMBER_USES, VALUES):
    SCENARIOS[f"{_use}_of_{_values}_that_are_read"] = _by_attribute(NUMBER_USES[_use], VALUES[_values], np.float32)


RUN_IN = "compiled"
# By ways: what gives something else than the function as written.
UNSOUND: dict[str, str] = {}


@pytest.mark.parametrize(("way", "name"), cells(SCENARIOS, UNSOUND, RUN_IN))
def test_as_written(way: str, name: str) -> None:
    require_as_written(SCENARIOS[name], way)


def test_scenarios_run_as_written() -> None:
    require_written_runs(SCENARIOS, RUN_IN)
