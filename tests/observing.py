"""Whether two nests of objects are alike: what a function as written leaves behind, and what a captured one does."""

from __future__ import annotations

import math
import types
from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np

from minpy.core.array import Array

__all__ = ["require_alike"]

# By the bytes of a real number: native code rounds otherwise.
_TOLERANCE = {1: 0.0, 2: 2e-2, 4: 2e-5, 8: 1e-9}
_BY_TYPE = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    types.ModuleType,
    types.GeneratorType,
    type,
)


def require_alike(actual: Any, expected: Any, place: str) -> None:
    """Require that two objects are of one class, hold what is alike, and share in the same places.

    Numbers in arrays may differ by rounding; all else is equal. Classes are one if their names are, since the two come
    from two runs of one program.

    Parameters
    ----------
    actual, expected : object
    place : str
        What they are, for the message.

    Raises
    ------
    AssertionError
        If they differ; the message says where.
    """
    _Walk().compare(actual, expected, place)


class _Walk:
    """Compares, and remembers which object of the one nest stands for which of the other."""

    def __init__(self) -> None:
        self._pairs: dict[int, int] = {}
        self._back: dict[int, int] = {}
        self._alive: list[Any] = []

    def _is_known(self, actual: Any, expected: Any, place: str) -> bool:
        pair = self._pairs.get(id(actual)), self._back.get(id(expected))
        if pair == (None, None):
            self._pairs[id(actual)], self._back[id(expected)] = id(expected), id(actual)
            self._alive += [actual, expected]
            return False
        assert pair == (id(expected), id(actual)), f"{place}: another object than where it stood before"
        return True

    def compare(self, actual: Any, expected: Any, place: str) -> None:
        """Compare two objects at one place."""
        names = _name(type(actual)), _name(type(expected))
        assert names[0] == names[1], f"{place}: {names[0]} {_short(actual)} instead of {names[1]} {_short(expected)}"
        if isinstance(expected, np.generic):
            assert actual.dtype == expected.dtype, f"{place}: {actual.dtype} instead of {expected.dtype}"
            _require_close(np.asarray(actual), np.asarray(expected), place)
        elif isinstance(expected, float):
            same = actual == expected and math.copysign(1, actual) == math.copysign(1, expected)
            close = math.isclose(actual, expected, rel_tol=1e-9, abs_tol=1e-12) and expected != 0
            both_nan = math.isnan(actual) and math.isnan(expected)
            assert same or close or both_nan, f"{place}: {actual!r} instead of {expected!r}"
        elif expected is None or isinstance(expected, (int, str, bytes, complex, frozenset, range, np.dtype)):
            assert actual == expected, f"{place}: {_short(actual)} instead of {_short(expected)}"
        elif type(expected) is tuple or not self._is_known(actual, expected, place):
            self._compare_contents(actual, expected, place)

    def _compare_contents(self, actual: Any, expected: Any, place: str) -> None:
        if isinstance(expected, (np.ndarray, Array)):
            facts = (actual.shape, actual.dtype), (expected.shape, expected.dtype)
            assert facts[0] == facts[1], f"{place}: {facts[0]} instead of {facts[1]}"
            if expected.dtype == object:
                self.compare(list(actual.flat), list(expected.flat), place)
            else:
                _require_close(_numbers(actual), _numbers(expected), place)
        elif isinstance(expected, Mapping):
            assert list(map(repr, actual)) == list(map(repr, expected)), f"{place}: keys {list(actual)}"
            for (key, left), right in zip(actual.items(), expected.values(), strict=True):
                self.compare(left, right, f"{place}[{key!r}]")
        elif isinstance(expected, (list, tuple, deque)):
            assert len(actual) == len(expected), f"{place}: {len(actual)} items instead of {len(expected)}"
            for number, (left, right) in enumerate(zip(actual, expected, strict=True)):
                self.compare(left, right, f"{place}[{number}]")
        elif isinstance(expected, set):
            assert sorted(map(repr, actual)) == sorted(map(repr, expected)), f"{place}: {actual} instead of {expected}"
        if not isinstance(expected, (*_BY_TYPE, np.ndarray, Array)) and hasattr(expected, "__dict__"):
            self.compare(vars(actual), vars(expected), f"vars({place})")


def _name(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 80 else text[:77] + "..."


def _numbers(value: Any) -> np.ndarray:
    return value.asnumpy() if isinstance(value, Array) else np.asarray(value)


def _require_close(actual: np.ndarray, expected: np.ndarray, place: str) -> None:
    if expected.dtype.kind in "fc":
        size = expected.dtype.itemsize // (2 if expected.dtype.kind == "c" else 1)
        tolerance = _TOLERANCE.get(size, 1e-9)
        np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance, err_msg=place)
    else:
        np.testing.assert_array_equal(actual, expected, err_msg=place)
