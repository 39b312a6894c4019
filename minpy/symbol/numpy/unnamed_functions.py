"""Functions of symbols for all of NumPy's that MXNet's files have no name for."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from minpy.numpy_table.table import row_of
from minpy.ops.numpy.unnamed_functions import FUNCTIONS_BY_NAME
from minpy.symbol.numpy.symbol_class import generic, named

__all__ = ["remaining"]


def _count(function: Any, arguments: Any, keywords: Mapping[str, Any]) -> int:
    """Return how many arrays a call gives."""
    row = row_of(function)
    if row is None:
        return 1
    outputs = row.outputs
    if isinstance(outputs, int):
        return outputs
    if row.parameters:  # a built-in function, whose signature NumPy 1 does not tell
        return outputs({**dict(zip(row.parameters.split(), arguments, strict=False)), **keywords})
    return outputs(inspect.signature(function).bind(*arguments, **keywords).arguments)


def _function(name: str, function: Any) -> Callable[..., Any]:
    def call(*arguments: Any, **keywords: Any) -> Any:
        options = {key: value for key, value in keywords.items() if key != "name"}
        return generic(name, arguments, keywords, _count(function, arguments, options))

    module, dot, plain = name.rpartition(".")
    doc = f"Return the symbol of `numpy.{name}`; a list, if it returns several arrays."
    return named(plain, call, doc, f"minpy.symbol.numpy{dot}{module}")


def remaining(module: str, present: Iterable[str]) -> dict[str, Callable[..., Any]]:
    """Return functions of symbols for those of one of NumPy's modules that are not there yet."""
    names = {*present}
    functions = {}
    for name, function in FUNCTIONS_BY_NAME.items():
        inside, _, plain = name.rpartition(".")
        if inside == module and plain not in names and plain != "getitem":
            functions[plain] = _function(name, function)
    return functions
