"""What is made when it is looked up for the first time: tables by name, and the names of public namespaces.

Importing all operators takes longer than importing NumPy, and a program uses a few of them. So a table knows its names
from the beginning, and a namespace lists them, but the module that defines a value is imported at its first look-up.
"""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterable, Iterator, KeysView, ValuesView
from sys import modules
from types import ModuleType
from typing import Any, TypeVar

__all__ = ["LateNamespace", "LateTable", "dict_of", "late_names"]

Value = TypeVar("Value")


class LateTable(dict[str, Value]):
    """A dict by name, of which some values are made when they are looked up for the first time.

    To its readers they are there from the beginning: `in`, `get`, `len` and the order of its names know of them.
    Looking up a value that is there costs what it costs in a dict.

    Parameters
    ----------
    names : iterable of str
        Of the values to be made.
    make : callable
        `make(name)` returns a value, or enters it itself. It may be called by several threads at once: the first value
        is that of all.

    Examples
    --------
    >>> squares = LateTable(["2", "3"], lambda name: int(name) ** 2)
    >>> list(squares), squares["3"], "4" in squares
    (['2', '3'], 9, False)
    """

    def __init__(self, names: Iterable[str], make: Callable[[str], Value]) -> None:
        super().__init__()
        self._names = dict.fromkeys(names)
        self._make = make

    def __missing__(self, name: str) -> Value:
        if name not in self._names:
            raise KeyError(name)
        return self.setdefault(name, self._make(name))

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or name in self._names

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value of that name, or the default if there is none."""
        return self[name] if name in self else default  # noqa: SIM401 - that would be this

    def __iter__(self) -> Iterator[str]:
        yield from self._names
        yield from [name for name in super().__iter__() if name not in self._names]

    def __len__(self) -> int:
        return len({**self._names, **dict.fromkeys(super().__iter__())})

    def keys(self) -> Any:
        """Return all names; no value is made."""
        return KeysView(self)

    def values(self) -> Any:
        """Return all values; they are made on the way."""
        return ValuesView(self)

    def items(self) -> Any:
        """Return all names with their values, which are made on the way."""
        return ItemsView(self)

    def __delitem__(self, name: str) -> None:
        self[name]
        self._names.pop(name, None)
        super().__delitem__(name)


class LateNamespace(ModuleType):
    """A public module of which some names are made when they are asked for; `vars()` of it makes them all."""

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        return _complete(self)

    def __dir__(self) -> list[str]:
        listed: list[str] = dict_of(self)["__dir__"]()  # or Python would look into the whole `__dict__` for it
        return listed


def dict_of(module: ModuleType) -> dict[str, Any]:
    """Return what a module holds, without making what is late: the `globals()` of its code."""
    own: dict[str, Any] = vars(ModuleType)["__dict__"].__get__(module)
    return own


def late_names(
    module: str, names: Iterable[str], make: Callable[[str], Any], missing: Callable[[str], Any]
) -> Callable[[str], Any]:
    """Let a public module have names that are made when they are asked for; return its `__getattr__`.

    Parameters
    ----------
    module : str
        Its full name. It has a `__dir__` of its own, see `minpy.namespaces.listing`.
    names : iterable of str
    make : callable
        `make(name)` returns what the name is to be.
    missing : callable
        What answers for all other names, see `minpy.namespaces.missing`.
    """
    namespace = modules[module]
    namespace.__class__ = LateNamespace
    own = dict_of(namespace)
    late = own["__late__"] = dict.fromkeys(name for name in names if name not in own)

    def find(name: str) -> Any:
        if name in late:
            return own.setdefault(name, make(name))
        return missing(name)

    return find


def _complete(namespace: ModuleType) -> dict[str, Any]:
    """Make all names of a namespace, which is a plain module from then on, and return what it holds."""
    own = dict_of(namespace)
    for name in own["__late__"]:
        getattr(namespace, name)
    namespace.__class__ = ModuleType  # whose names are found faster
    return own
