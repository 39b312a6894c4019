"""Finds what users' functions refer to: globals and closures, functions that they call, members that they name."""

from __future__ import annotations

import builtins
import functools
import itertools
import sys
import types
from collections.abc import Iterator, Mapping, Set
from functools import partial
from typing import Any

from minpy.capture.guard_sources import ABSENT, contents
from minpy.core.array import Array
from minpy.gluon.block.references import References
from minpy.gluon.block.snapshots import DEEPEST, LONGEST, parts_of

__all__ = ["ReferenceFinder", "is_of_user", "methods_of", "names_in"]

_MOST_FUNCTIONS = 100
# Objects are looked at once, and only where they are named.
_DEEPEST_MEMBER = 16
# The methods that are called without being named.
_CALLED = frozenset(["__call__", "__init__", "forward", "hybrid_forward"])
_LIBRARIES = frozenset([*sys.stdlib_module_names, "numpy", "scipy", "minpy", "mxnet"]) - {"__main__"}


class ReferenceFinder:
    """Adds to `references` what a function may use of values that it reaches: of each function and object once.

    The references keep functions and objects alive, so that nothing else gets their ids.
    """

    def __init__(self, references: References) -> None:
        self._references = references
        self._functions: set[int] = set()
        self._owners: dict[int, Any] = {}

    def follow_function(self, function: types.FunctionType) -> None:
        """Add the globals and closures of a function, and of functions that it calls by name."""
        namespace = function.__globals__
        if id(function) in self._functions or len(self._functions) > _MOST_FUNCTIONS:
            return
        if str(namespace.get("__name__", "")).partition(".")[0] in _LIBRARIES:
            return
        self._functions.add(id(function))
        self._references.add_function(function)
        values = [function.__defaults__, function.__kwdefaults__]
        names = names_in(function.__code__)
        for name in names:
            # A built-in one is meant until it is defined here.
            if not name.startswith("__") and (name in namespace or hasattr(builtins, name)):
                values.append(self._add_named(partial(namespace.get, name, ABSENT), name, name))
        for variable, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            # Most have contents, and reading these without a function of Python's costs least.
            is_empty = contents(cell, None) is ABSENT
            read = partial(contents, cell, None) if is_empty else partial(getattr, cell, "cell_contents")
            values.append(self._add_named(read, variable, variable))
        for value in values:
            self.follow(value, names, function.__qualname__)

    def follow(self, value: Any, names: Set[str], path: str, depth: int = 0) -> None:
        """Add what a value refers to that a function which names `names` may use.

        It was reached through `depth` values; users call it, or what refers to it, `path`.
        """
        if isinstance(value, Array):
            if "grad" in names:
                self._references.add(partial(getattr, value, "grad", None), f"{path}: grad")
        elif self._references.add_generator(value):
            pass
        elif isinstance(value, types.FunctionType):
            self.follow_function(value)
        elif isinstance(value, types.MethodType):
            self.follow(value.__func__, names, path, depth)
            code = getattr(value.__func__, "__code__", None)
            self._follow_members(value.__self__, names | (names_in(code) if code else set()), depth)
        elif isinstance(value, (tuple, list, dict)) and len(value) <= LONGEST and depth <= DEEPEST:
            for part in parts_of(value):
                self.follow(part, names, path, depth + 1)
        elif isinstance(value, functools.partial):
            self._references.add_arrays([value.args, value.keywords], path)
            self._references.add_container(value.args, f"{path}: args")
            self._references.add_container(value.keywords, f"{path}: keywords")
            for part in (value.func, value.args, value.keywords):
                self.follow(part, names, path, depth + 1)
        elif isinstance(getattr(value, "__wrapped__", None), types.FunctionType):
            self.follow(value.__wrapped__, names, path, depth)
        else:
            self._follow_members(value, names, depth)

    def _add_named(self, read: partial[Any], name: str, path: str) -> Any:
        """Add what a name means somewhere, and return that."""
        value = self._references.add(read, path)
        self._references.add_unseen(name, value)
        return value

    def _follow_members(self, owner: Any, names: Set[str], depth: int) -> None:
        """Add those members of an object or a module that a function may name."""
        if id(owner) in self._owners or depth > _DEEPEST_MEMBER or not _has_members(owner):
            return
        self._owners[id(owner)] = owner
        titled = owner if isinstance(owner, (type, types.ModuleType)) else type(owner)
        namespaces = _namespaces_of(owner)
        names, done = names | _CALLED, set[str]()
        # What its methods name is read of the object, too.
        while waiting := {name for name in names - done if any(name in namespace for namespace in namespaces)}:
            done |= waiting
            for namespace, name in itertools.product(namespaces, waiting):
                path = f"{titled.__name__}.{name}"
                value = self._add_named(partial(namespace.get, name, ABSENT), name, path)
                if isinstance(value, types.MemberDescriptorType) and not isinstance(owner, type):  # of __slots__
                    value = self._references.add(partial(getattr, owner, name, ABSENT), path)
                value = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
                if isinstance(value, types.FunctionType):
                    names = names | names_in(value.__code__)
                self.follow(value, names, path, depth + 1)


def _namespaces_of(owner: Any) -> list[Mapping[str, Any]]:
    """Return the namespaces in which an object's members are: its own, and those of its classes that users wrote."""
    classes = owner.__mro__ if isinstance(owner, type) else type(owner).__mro__
    of_classes: list[Mapping[str, Any]] = [vars(cls) for cls in classes if is_of_user(cls.__module__)]
    has_own = not isinstance(owner, type) and hasattr(owner, "__dict__")
    return [vars(owner), *of_classes] if has_own else of_classes


def _has_members(value: Any) -> bool:
    """Tell whether a value is an object with attributes of its own, or a module of a user's."""
    if isinstance(value, types.ModuleType):
        return is_of_user(value.__name__)
    if isinstance(value, type):
        return is_of_user(value.__module__)
    if type(value).__module__.partition(".")[0] in ("numpy", "scipy", "minpy", "mxnet"):
        return False
    return hasattr(value, "__dict__") or is_of_user(type(value).__module__)


def is_of_user(module: Any) -> bool:
    """Tell whether a module, by its name, is a user's: neither the package's nor a library's that it knows."""
    return str(module).partition(".")[0] not in _LIBRARIES and module != "builtins"


def methods_of(cls: type) -> Iterator[types.FunctionType]:
    """Yield the methods of a class that users have written."""
    for base in cls.__mro__:
        if is_of_user(base.__module__):
            for name, value in vars(base).items():
                if isinstance(value, types.FunctionType) and not name.startswith("__"):
                    yield value


def names_in(code: types.CodeType) -> set[str]:
    """Return the names that a function, and those inside of it, look up."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= names_in(constant)
    return names
