"""Functions of symbols for all of NumPy's that MXNet's files have no name for."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from minpy.ops.numpy.calls import FUNCTIONS_BY_NAME
from minpy.symbol.numpy.arrays import generic

__all__ = ["remaining"]

# How many arrays functions return, where it is not one: a number, or a function of the arguments by name.
_COUNTS: dict[str, int | Callable[[Mapping[str, Any]], int]] = {
    "broadcast_arrays": lambda given: len(given["args"]),
    "diag_indices_from": lambda given: 2,
    "divmod": 2,
    "frexp": 2,
    "histogram": 2,
    "histogram2d": 3,
    "linalg.lstsq": 4,
    "linalg.qr": lambda given: 1 if given.get("mode") == "r" else 2,
    "linalg.svd": lambda given: 3 if given.get("compute_uv", True) else 1,
    "linalg.eigh": 2,
    "linalg.slogdet": 2,
    "modf": 2,
    "polydiv": 2,
    "tril_indices_from": 2,
    "triu_indices_from": 2,
    "unravel_index": lambda given: len(given["shape"]) if isinstance(given["shape"], (tuple, list)) else 1,
    "gradient": lambda given: _gradient_count(given),
}


_PARAMETERS = {"unravel_index": ("indices", "shape", "order")}


def _gradient_count(given: Mapping[str, Any]) -> int:
    axis = given.get("axis")
    return len(axis) if isinstance(axis, (tuple, list)) else 1


def _count(name: str, function: Any, arguments: Any, keywords: Mapping[str, Any]) -> int:
    found = _COUNTS.get(name, 1)
    if isinstance(found, int):
        return found
    if name in _PARAMETERS:  # a built-in function, whose signature NumPy 1 does not tell
        return found({**dict(zip(_PARAMETERS[name], arguments, strict=False)), **keywords})
    return found(inspect.signature(function).bind(*arguments, **keywords).arguments)


def _function(name: str, function: Any) -> Callable[..., Any]:
    def call(*arguments: Any, **keywords: Any) -> Any:
        count = 1
        if name in _COUNTS:
            named = {key: value for key, value in keywords.items() if key != "name"}
            count = _count(name, function, arguments, named)
        return generic(name, arguments, keywords, count)

    plain = name.rpartition(".")[2]
    call.__name__ = call.__qualname__ = plain
    module = name.rpartition(".")[0]
    call.__module__ = f"minpy.symbol.numpy{'.' if module else ''}{module}"
    call.__doc__ = f"Return the symbol of `numpy.{name}`; a list, if it returns several arrays."
    return call


def remaining(module: str, there: Iterable[str]) -> dict[str, Callable[..., Any]]:
    """Return functions of symbols for those of one of NumPy's modules that are not there yet."""
    known = {*there}
    found = {}
    for name, function in FUNCTIONS_BY_NAME.items():
        inside, _, plain = name.rpartition(".")
        if inside == module and plain not in known and plain != "getitem":
            found[plain] = _function(name, function)
    return found
