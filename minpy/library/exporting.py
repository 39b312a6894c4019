"""Where operators of libraries are found: `nd.<name>`, `sym.<name>`, or below, by what their names begin with."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

from minpy.core.configured import FAMILIES, OperatorFamily
from minpy.importing import import_module
from minpy.namespaces import add_names
from minpy.ops.registry import PREFIXES, known_operator
from minpy.symbol.composition import compose_family
from minpy.symbol.symbol import Symbol

__all__ = ["export", "is_taken", "withdraw"]


def is_taken(name: str) -> bool:
    """Tell whether a name in `nd` or `sym` is that of something that is no operator of a library."""
    if name in FAMILIES:
        return False
    if known_operator(name) is not None:
        return True
    places, inside = _places(name)
    if inside.startswith("__") and inside.endswith("__"):  # modules have such names for Python's sake
        return True
    return any(inside in vars(place) or inside in dir(place) for place in places)


def export(family: OperatorFamily) -> None:
    """Make a family of operators known to graphs, and callable in `nd` and `sym`."""
    FAMILIES[family.__name__] = family
    if family.is_function:
        places, inside = _places(family.__name__)
        function = _function_of(family, inside, places[-1].__name__)
        for place in places:
            add_names(place, {inside: family if place.__name__.startswith("minpy.ndarray") else function})


def withdraw(names: Iterable[str]) -> None:
    """Take families of operators back: calls that are part of graphs keep theirs."""
    for name in names:
        family = FAMILIES.pop(name, None)
        if family is not None and family.is_function:
            places, inside = _places(name)
            for place in places:
                add_names(place, {inside: None})


def _places(name: str) -> tuple[list[ModuleType], str]:
    """Return the modules that a name is found in, and its name there."""
    for prefix in PREFIXES:
        if name.startswith(prefix) and len(name) > len(prefix):
            below = f".{prefix.strip('_')}"
            return [import_module(f"minpy.{kind}{below}") for kind in ("ndarray", "symbol")], name.removeprefix(prefix)
    belows = ("._internal",) if name.startswith("_") else (".op", "")
    return [import_module(f"minpy.{kind}{below}") for kind in ("ndarray", "symbol") for below in belows], name


def _function_of(family: OperatorFamily, name: str, module: str) -> Callable[..., Symbol]:
    hint = name.lower()

    def function(*data: Any, **attributes: Any) -> Symbol:
        return compose_family(family, data, attributes, hint)

    function.__name__ = function.__qualname__ = name
    function.__module__ = module
    function.__doc__ = family.__doc__
    return function
