"""What a trace of a block holds for: attributes of blocks, and the globals and closures that they refer to.

Numbers, strings and functions become part of a graph; arrays do so by reference, and what is computed of them by value.
Where one of them is another than before, or was changed, the block is traced again. Writes into arrays of NumPy are
noted nowhere: these are compared with copies. Of objects and modules, the members that functions name are compared.
"""

from __future__ import annotations

import builtins
import functools
import itertools
import sys
import types
from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Any

import numpy

from minpy.capture.reads import PLAIN
from minpy.core.array import Array, last_write, now, written_since
from minpy.gluon.changes import CHANGES

__all__ = ["Guards", "is_of_user"]

_PLAIN: tuple[Any, ...] = (*PLAIN, slice, range)
# What is always compared among the attributes of blocks.
_OF_BLOCKS: tuple[Any, ...] = (
    *_PLAIN,
    Array,
    numpy.ndarray,
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    functools.partial,
    tuple,
    list,
    dict,
    set,
    frozenset,
)
_DEEPEST, _LONGEST, _MOST_FUNCTIONS = 4, 64, 100
# Objects are looked at once, and only where they are named; arrays are few even in long lists.
_DEEPEST_MEMBER, _MOST_ARRAYS = 16, 1024
# So many functions are given as arguments before all graphs are forgotten: each may be another one.
_MOST_GIVEN = 50
_FEW_BYTES = 1 << 16
# The methods that are called without being named.
_CALLED = frozenset(["__call__", "__init__", "forward", "hybrid_forward"])
_LIBRARIES = frozenset([*sys.stdlib_module_names, "numpy", "scipy", "minpy", "mxnet"]) - {"__main__"}
# Of these nothing can be compared: what is in them, or comes next, is found by asking.
_OF_LIBRARIES = ("collections", "_collections", "array", "itertools", "contextvars", "weakref", "ctypes", "_ctypes")
_UNSEEN: tuple[Any, ...] = (
    bytearray,
    memoryview,
    types.MappingProxyType,
    type({}.keys()),
    type({}.values()),
    type({}.items()),
)
# Stands for what is not there.
_MISSING = object()


class _Content:
    """What was in a container: of each value a copy, or the value itself."""

    __slots__ = ("kind", "parts")

    def __init__(self, value: Any, depth: int) -> None:
        self.kind = type(value)
        self.parts: Any
        if isinstance(value, dict):
            self.parts = {key: _kept(one, depth + 1) for key, one in value.items()}
        elif isinstance(value, (set, frozenset)):
            self.parts = frozenset(value)
        else:
            self.parts = [_kept(one, depth + 1) for one in value]

    def is_in(self, value: Any) -> bool:
        parts = self.parts
        if type(value) is not self.kind or len(value) != len(parts):
            return False
        if isinstance(parts, frozenset):
            return bool(parts == value)
        if isinstance(parts, dict):
            return list(value) == list(parts) and all(map(_same, value.values(), parts.values()))
        return all(map(_same, value, parts))


class _Flat:
    """The numbers and strings of a long list, or of a long dict by their keys."""

    __slots__ = ("copy", "keys", "kind", "kinds")

    def __init__(self, value: Any) -> None:
        self.kind, self.copy = type(value), _values_of(value)
        self.keys = list(value) if isinstance(value, dict) else None
        self.kinds = list(map(type, self.copy))

    def is_in(self, value: Any) -> bool:
        if type(value) is not self.kind or (self.keys is not None and list(value) != self.keys):
            return False
        values = _values_of(value)
        return values == self.copy and list(map(type, values)) == self.kinds


def _values_of(container: Any) -> list[Any]:
    return list(container.values() if isinstance(container, dict) else container)


class _Long:
    """Stands for a container that is too long to be compared element by element."""

    __slots__ = ("count", "value")

    def __init__(self, value: Any) -> None:
        self.value, self.count = value, len(value)

    def is_in(self, value: Any) -> bool:
        return value is self.value and len(value) == self.count


def _kept(value: Any, depth: int = 0) -> Any:
    """Return what a value is compared with later: itself, or what is in a container."""
    if not isinstance(value, (tuple, list, dict, set, frozenset)):
        return value
    if depth > _DEEPEST:
        return value
    if len(value) > _LONGEST:
        is_flat = isinstance(value, (tuple, list, dict)) and all(isinstance(one, _PLAIN) for one in _values_of(value))
        return _Flat(value) if is_flat else _Long(value)
    return _Content(value, depth)


def _same(value: Any, kept: Any) -> bool:
    """Tell whether a value is what it was when it was kept."""
    if value is kept:
        return True
    if isinstance(kept, (_Content, _Flat, _Long)):
        return kept.is_in(value)
    if type(value) is not type(kept) or not isinstance(kept, _PLAIN):
        return False
    if isinstance(kept, (float, complex, numpy.inexact)):
        return repr(value) == repr(kept)
    return bool(value == kept)


def _arrays_in(value: Any, depth: int = 0) -> Iterator[Any]:
    if isinstance(value, Array):
        yield value
    elif isinstance(value, (tuple, list, dict)) and depth <= _DEEPEST and len(value) <= _MOST_ARRAYS:
        for one in value.values() if isinstance(value, dict) else value:
            yield from _arrays_in(one, depth + 1)


def _numpy_in(value: Any, depth: int = 0) -> Iterator[numpy.ndarray]:
    if isinstance(value, numpy.ndarray):
        yield value
    elif isinstance(value, (tuple, list, dict)) and depth <= _DEEPEST and len(value) <= _MOST_ARRAYS:
        for one in value.values() if isinstance(value, dict) else value:
            yield from _numpy_in(one, depth + 1)


class _Contents:
    """An array of NumPy, and what was in it."""

    def __init__(self, array: numpy.ndarray) -> None:
        self.array = array
        self._kept = array.copy()
        self._is_plain = array.dtype.kind in "biufcSU" and array.flags.c_contiguous
        self._bytes = array.tobytes() if self._is_plain and array.nbytes <= _FEW_BYTES else None

    def hold(self) -> bool:
        array, kept = self.array, self._kept
        if array.shape != kept.shape or array.dtype != kept.dtype:
            return False
        if self._bytes is not None:
            return array.tobytes() == self._bytes
        if self._is_plain and array.flags.c_contiguous:
            return bool((array.reshape(-1).view(numpy.uint8) == kept.reshape(-1).view(numpy.uint8)).all())
        return array.tobytes() == kept.tobytes() if array.dtype.kind in "biufcSU" else bool((array == kept).all())


class Guards:
    """What some blocks, and functions that they call, referred to before one of them was traced.

    Parameters
    ----------
    blocks : iterable of Block
        All that the trace goes through.
    internal : frozenset of str
        Attributes that are not looked at.
    """

    def __init__(self, blocks: Iterable[Any], internal: frozenset[str]) -> None:
        self._internal = internal
        self._count, self._time, self._meanings = CHANGES.count, now(), CHANGES.meanings
        # Lists and dicts, which can be changed without a block's knowing it.
        self._containers: list[tuple[Any, Any]] = []
        # Each with its buffer, which is not handed over to another array meanwhile, as it is seen here.
        self._arrays: list[tuple[Any, numpy.ndarray]] = []
        self._contents: dict[int, _Contents] = {}
        self._members: set[int] = set()
        # By name, the classes of values of which no changes are noticed.
        self.frozen: dict[str, str] = {}
        self._owners: list[Any] = []
        self._rows = [
            [block, _latest(block), {name: _kept(value) for name, value in self._attributes(block).items()}]
            for block in blocks
        ]
        self._names: list[tuple[Mapping[str, Any], str, Any]] = []
        self._cells: list[tuple[types.CellType, Any]] = []
        self._parts: list[tuple[Any, str, Any]] = []
        self._seen: set[int] = set()
        self._given: set[int] = set()
        seen = self._seen
        for block, *_ in self._rows:
            self._note_values(block)
            called = [value for value in vars(block).values() if isinstance(value, types.FunctionType)]
            functions = [*_functions_of(type(block)), *called]
            names = {name for function in functions for name in _names_in(function.__code__)}
            for function in functions:
                self._note_function(function, seen)
            for name, value in vars(block).items():
                if name not in internal and name not in block._not_compared:
                    if name in names:
                        self._note_unseen(name, value)
                    if name in names and not isinstance(value, _OF_BLOCKS):
                        self._names.append((vars(block), name, value))
                    self._follow(value, names, seen)

    @property
    def are_of_attributes(self) -> bool:
        """Whether nothing is looked at but attributes, of which changes are counted."""
        return not (self._names or self._cells or self._parts or self._containers or self._contents or self._arrays)

    @property
    def are_full(self) -> bool:
        """Whether more functions have been given than are worth being looked at."""
        return len(self._given) > _MOST_GIVEN

    def note_given(self, functions: Iterable[types.FunctionType]) -> None:
        """Note what functions refer to that are arguments of the call that is traced."""
        for function in functions:
            self._given.add(id(function))
            self._note_function(function, self._seen)  # which keeps it, so that nothing else gets its id

    def _note_values(self, block: Any) -> None:
        for name, value in vars(block).items():
            if name not in self._internal and name not in block._not_compared:
                self._note_arrays(value)
                if type(value) in (list, dict) and len(value) <= _LONGEST:
                    self._containers.append((value, _kept(value)))

    def _note_arrays(self, value: Any) -> None:
        self._arrays += [(array, array._data) for array in _arrays_in(value)]
        for array in _numpy_in(value):
            if id(array) not in self._contents:
                self._contents[id(array)] = _Contents(array)

    def _note_function(self, function: types.FunctionType, seen: set[int]) -> None:
        """Note the globals and closures of a function, and of functions that it calls by name."""
        space = function.__globals__
        if id(function) in seen or len(seen) > _MOST_FUNCTIONS:
            return
        if str(space.get("__name__", "")).partition(".")[0] in _LIBRARIES:
            return
        seen.add(id(function))
        for part in ("__code__", "__defaults__", "__kwdefaults__"):
            value = getattr(function, part)
            self._parts.append((function, part, _kept(value)))
            self._note_arrays(value)
        names = _names_in(function.__code__)
        found = [function.__defaults__, function.__kwdefaults__]
        for name in names:
            if name in space and not name.startswith("__"):
                found.append(self._note(space, name))
            elif hasattr(builtins, name):  # until it is defined here
                self._names.append((space, name, _MISSING))
        for variable, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            try:
                value = cell.cell_contents
            except ValueError:  # not set yet
                continue
            self._cells.append((cell, _kept(value)))
            self._note_arrays(value)
            self._note_unseen(variable, value)
            found.append(value)
        for one in found:
            self._follow(one, names, seen)

    def _follow(self, value: Any, names: Set[str], seen: set[int], depth: int = 0) -> None:
        """Note what a value refers to that a function may use."""
        if isinstance(value, Array):
            if "grad" in names:
                gradient = getattr(value, "grad", None)
                self._parts.append((value, "grad", gradient))
                self._note_arrays(gradient)
        elif isinstance(value, types.FunctionType):
            self._note_function(value, seen)
        elif isinstance(value, types.MethodType):
            self._follow(value.__func__, names, seen, depth)
            code = getattr(value.__func__, "__code__", None)
            self._note_members(value.__self__, names | (_names_in(code) if code else set()), seen, depth)
        elif isinstance(value, (tuple, list, dict)) and len(value) <= _LONGEST and depth <= _DEEPEST:
            for one in value.values() if isinstance(value, dict) else value:
                self._follow(one, names, seen, depth + 1)
        elif isinstance(value, functools.partial):
            self._note_arrays([value.args, value.keywords])
            self._containers += [(value.args, _kept(value.args)), (value.keywords, _kept(value.keywords))]
            for one in (value.func, value.args, value.keywords):
                self._follow(one, names, seen, depth + 1)
        elif isinstance(getattr(value, "__wrapped__", None), types.FunctionType):
            self._follow(value.__wrapped__, names, seen, depth)
        else:
            self._note_members(value, names, seen, depth)

    def _note(self, space: Mapping[str, Any], name: str) -> Any:
        """Note what a name means in some namespace, and return that."""
        value = space[name]
        self._names.append((space, name, _kept(value)))
        self._note_arrays(value)
        self._note_unseen(name, value)
        return value

    def _note_unseen(self, name: str, value: Any) -> None:
        """Note a value that is named, and of which no changes are noticed."""
        kind = type(value)
        is_unseen = isinstance(value, _UNSEEN) or (
            kind.__module__ in _OF_LIBRARIES and not isinstance(value, (dict, tuple, type))
        )
        if is_unseen or (isinstance(value, Iterator) and not isinstance(value, Array)):
            self.frozen[name] = (
                kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
            )

    def _note_members(self, owner: Any, names: Set[str], seen: set[int], depth: int = 0) -> None:
        """Note those members of an object or a module that a function may name."""
        if id(owner) in self._members or depth > _DEEPEST_MEMBER or not _has_members(owner):
            return
        self._members.add(id(owner))
        self._owners.append(owner)  # so that nothing else gets its id
        classes = owner.__mro__ if isinstance(owner, type) else type(owner).__mro__
        spaces: list[Mapping[str, Any]] = [vars(one) for one in classes if is_of_user(one.__module__)]
        if not isinstance(owner, type):
            spaces.insert(0, vars(owner) if hasattr(owner, "__dict__") else {})
        names, done = names | _CALLED, set[str]()
        # What its methods name is read of the object, too.
        while waiting := {name for name in names - done if any(name in space for space in spaces)}:
            done |= waiting
            for space, name in itertools.product(spaces, waiting):
                if name not in space:
                    self._names.append((space, name, _MISSING))
                    continue
                value = self._note(space, name)
                if isinstance(value, types.MemberDescriptorType) and not isinstance(owner, type):  # of __slots__
                    value = getattr(owner, name, _MISSING)
                    self._parts.append((owner, name, _kept(value)))
                    self._note_arrays(value)
                value = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
                if isinstance(value, types.FunctionType):
                    names = names | _names_in(value.__code__)
                self._follow(value, names, seen, depth + 1)

    def _attributes(self, block: Any) -> dict[str, Any]:
        skipped = self._internal | block._not_compared
        # Other objects are looked at where methods name them.
        found: dict[str, Any] = {
            name: value for name, value in vars(block).items() if name not in skipped and isinstance(value, _OF_BLOCKS)
        }
        found["children"] = tuple(id(child) for child in block._children.values())
        found["dtypes"] = tuple(parameter._dtype for parameter in block._reg_params.values())
        return found

    def hold(self) -> bool:
        """Tell whether everything is what it was."""
        if self._meanings != CHANGES.meanings:
            return False
        for space, name, kept in self._names:
            value = space.get(name, _MISSING)
            if value is not kept and not _same(value, kept):
                return False
        for cell, kept in self._cells:
            if not _holds(cell, kept):
                return False
        for owner, name, kept in self._parts:
            if not _same(getattr(owner, name, _MISSING), kept):
                return False
        for value, kept in self._containers:
            if not _same(value, kept):
                return False
        for contents in self._contents.values():
            if not contents.hold():
                return False
        if self._arrays:
            if any(array._data is not data for array, data in self._arrays):
                return False
            if last_write() > self._time:
                if any(written_since(data, self._time) for _, data in self._arrays):
                    return False
                self._time = last_write()
        if self._count == CHANGES.count:
            return True
        count = CHANGES.count
        for row in self._rows:
            block, seen, attributes = row
            latest = _latest(block)
            if latest == seen:
                continue
            now_there = self._attributes(block)
            if now_there.keys() != attributes.keys() or not all(
                _same(now_there[name], attributes[name]) for name in now_there
            ):
                return False
            row[1] = latest
        self._count = count
        return True


def _holds(cell: types.CellType, kept: Any) -> bool:
    try:
        return _same(cell.cell_contents, kept)
    except ValueError:  # deleted since
        return False


def is_of_user(module: Any) -> bool:
    """Tell whether a module, by its name, is a user's: neither the package's nor a library's that it knows."""
    return str(module).partition(".")[0] not in _LIBRARIES and module != "builtins"


def _has_members(value: Any) -> bool:
    """Tell whether a value is an object with attributes of its own, or a module of a user's."""
    if isinstance(value, types.ModuleType):
        return is_of_user(value.__name__)
    if isinstance(value, type):
        return is_of_user(value.__module__)
    if type(value).__module__.partition(".")[0] in ("numpy", "scipy", "minpy", "mxnet"):
        return False
    return hasattr(value, "__dict__") or is_of_user(type(value).__module__)


def _latest(block: Any) -> tuple[Any, ...]:
    """Return the latest changes of a block and of its parameters."""
    parameters = [vars(parameter).get("_changes") for parameter in block._reg_params.values()]
    return (vars(block).get("_changes"), *parameters)


def _functions_of(cls: type) -> Iterator[types.FunctionType]:
    """Return the methods that users have written."""
    for one in cls.__mro__:
        if one.__module__.partition(".")[0] not in _LIBRARIES:
            for name, value in vars(one).items():
                if isinstance(value, types.FunctionType) and not name.startswith("__"):
                    yield value


def _names_in(code: types.CodeType) -> set[str]:
    """Return the names that a function, and those inside of it, look up."""
    found = set(code.co_names)
    for value in code.co_consts:
        if isinstance(value, types.CodeType):
            found |= _names_in(value)
    return found
