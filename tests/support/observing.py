"""What can be seen of objects from outside, as a picture that later changes do not reach; and whether two are alike."""

from __future__ import annotations

import math
import types
from collections import deque
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from minpy.core.array import Array

__all__ = ["Picture", "picture", "require_alike"]

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
_PLAIN = (int, float, complex, str, bytes, range, np.dtype)


class Picture(NamedTuple):
    """What is seen of one object.

    Attributes
    ----------
    kind : str
        Its class, by name: classes of two runs of one program are one.
    number : int
        Which object it is, in the order of a walk; -1 where that is nobody's business.
    content : object
        A number, an array, or None.
    parts : dict of str to Picture, or None
        What it holds, by what is written behind its name for that; None where the walk has been before.
    """

    kind: str
    number: int
    content: Any
    parts: dict[str, Picture] | None


def picture(value: Any) -> Picture:
    """Return what can be seen of an object, and of all that it holds.

    Numbers in arrays are copied.
    """
    return _Walk().picture(value)


class _Walk:
    """Numbers the objects that it meets."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        self._alive: list[Any] = []

    def picture(self, value: Any) -> Picture:
        kind = f"{type(value).__module__}.{type(value).__qualname__}"
        if isinstance(value, np.generic):
            return Picture(kind, -1, np.array(value), {})
        if value is None or isinstance(value, _PLAIN):
            return Picture(kind, -1, value, {})
        if type(value) is tuple:
            return Picture(kind, -1, None, {f"[{index}]": self.picture(part) for index, part in enumerate(value)})
        if id(value) in self._numbers:
            return Picture(kind, self._numbers[id(value)], None, None)
        number = self._numbers[id(value)] = len(self._numbers)
        self._alive.append(value)
        return Picture(kind, number, *self._contents(value))

    def _contents(self, value: Any) -> tuple[Any, dict[str, Picture]]:
        content: Any = None
        parts: dict[str, Any] = {}
        if isinstance(value, (np.ndarray, Array)):
            if value.dtype == object:
                parts = {f".flat[{index}]": part for index, part in enumerate(value.flat)}
            else:
                content = np.array(value.asnumpy() if isinstance(value, Array) else value)
        elif isinstance(value, Mapping):
            parts = {f"[{key!r}]": part for key, part in value.items()}
        elif isinstance(value, (list, tuple, deque)):
            parts = {f"[{index}]": part for index, part in enumerate(value)}
        elif isinstance(value, (set, frozenset)):
            content = sorted(map(repr, value))
        if not isinstance(value, (*_BY_TYPE, np.ndarray, Array)) and hasattr(value, "__dict__"):
            parts.update({f".{name}": part for name, part in vars(value).items()})
        return content, {name: self.picture(part) for name, part in parts.items()}


def require_alike(actual: Picture, expected: Picture, place: str) -> None:
    """Require that two objects are of one class, hold what is alike, and share in the same places.

    Numbers of floating point may differ by rounding; all else is equal.

    Parameters
    ----------
    actual, expected : Picture
    place : str
        What they are, for the message.

    Raises
    ------
    AssertionError
        If they differ; the message says where.
    """
    is_class = actual.kind == expected.kind
    assert is_class, f"{place}: {actual.kind} {_short(actual)} instead of {expected.kind} {_short(expected)}"
    is_place = actual.number == expected.number and (actual.parts is None) == (expected.parts is None)
    assert is_place, f"{place}: another object than where it stood before"
    _require_same_content(actual.content, expected.content, place)
    if actual.parts is None or expected.parts is None:
        return
    names = list(actual.parts), list(expected.parts)
    assert names[0] == names[1], f"{place}: {', '.join(names[0])} instead of {', '.join(names[1])}"
    for name, part in expected.parts.items():
        require_alike(actual.parts[name], part, f"{place}{name}")


def _short(value: Picture) -> str:
    text = repr(value.content) if value.content is not None else ", ".join(value.parts or ())
    return text if len(text) < 80 else text[:77] + "..."


def _require_same_content(actual: Any, expected: Any, place: str) -> None:
    if isinstance(expected, np.ndarray):
        facts = (actual.shape, actual.dtype), (expected.shape, expected.dtype)
        assert facts[0] == facts[1], f"{place}: {facts[0]} instead of {facts[1]}"
        if expected.dtype.kind in "fc":
            size = expected.dtype.itemsize // (2 if expected.dtype.kind == "c" else 1)
            tolerance = _TOLERANCE.get(size, 1e-9)
            np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance, err_msg=place)
        else:
            np.testing.assert_array_equal(actual, expected, err_msg=place)
    elif isinstance(expected, float):
        is_same = actual == expected and math.copysign(1, actual) == math.copysign(1, expected)
        is_close = math.isclose(actual, expected, rel_tol=1e-9, abs_tol=1e-12) and expected != 0
        is_nan = math.isnan(actual) and math.isnan(expected)
        assert is_same or is_close or is_nan, f"{place}: {actual!r} instead of {expected!r}"
    else:
        assert actual == expected, f"{place}: {actual!r} instead of {expected!r}"
