"""What the functions of classes refer to: global names, and the cells of closures."""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator
from typing import Any

__all__ = ["References"]


class References:
    """What the functions of some classes refer to, and the functions that these refer to; not those of libraries.

    Parameters
    ----------
    classes : iterable of type

    Attributes
    ----------
    globals : list of (dict, str)
        Namespaces, and names in them.
    cells : list of cell
        Those of closures.
    """

    def __init__(self, classes: Iterable[type]) -> None:
        self.globals: list[tuple[dict[str, Any], str]] = []
        self.cells: list[types.CellType] = []
        self._seen: set[int] = set()
        self._seen_names: set[tuple[int, str]] = set()
        for kind in classes:
            for one in kind.__mro__:
                for value in [*vars(one).values()] if not _is_library(one.__module__) else ():
                    self._walk(value)

    def _walk(self, value: Any) -> None:
        for function in _functions_of(value):
            if id(function) in self._seen or _is_library(function.__module__):
                continue
            self._seen.add(id(function))
            space = function.__globals__
            for name in sorted(set(_names(function.__code__))):
                if name in space and not name.startswith("__"):
                    if (id(space), name) not in self._seen_names:
                        self._seen_names.add((id(space), name))
                        self.globals.append((space, name))
                    self._walk(space[name])
            for cell in function.__closure__ or ():
                if id(cell) not in self._seen and _is_filled(cell):
                    self._seen.add(id(cell))
                    self.cells.append(cell)
                    self._walk(cell.cell_contents)


def _is_library(module: str | None) -> bool:
    return (module or "").partition(".")[0] in ("minpy", "numpy", "builtins")


def _functions_of(value: Any) -> Iterator[types.FunctionType]:
    if isinstance(value, types.FunctionType):
        yield value
    elif isinstance(value, (staticmethod, classmethod)):
        yield from _functions_of(value.__func__)
    elif isinstance(value, property):
        yield from _functions_of(value.fget)


def _names(code: types.CodeType) -> Iterator[str]:
    """Return the names that a function refers to, and those inside it do."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def _is_filled(cell: types.CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018 - raises if it is empty
    except ValueError:
        return False
    return True
