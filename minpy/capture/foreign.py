"""The proxy of what a captured function reads outside: modules, instances, classes, functions and containers.

Nothing of it can be changed, and what is read of it is noted. What nothing is known of stands there, too: whatever is
done with it ends the capture, before it happens.
"""

from __future__ import annotations

import collections
import types
from typing import Any, NoReturn

__all__ = [
    "BINARY",
    "BuiltinProxy",
    "ClassProxy",
    "DictProxy",
    "ForeignProxy",
    "FunctionProxy",
    "ListProxy",
    "ModuleProxy",
    "ObjectProxy",
    "OpaqueProxy",
    "OrderedDictProxy",
    "SetProxy",
    "SuperProxy",
    "real",
]


class ForeignProxy:
    """The proxy of an object of somebody else's.

    The names of its own attributes are none that users' code may read.
    """

    __slots__ = ("__owner__", "__path__", "__shadow__")
    __owner__: Any
    __path__: str
    __shadow__: Any

    def __init__(self, shadow: Any, owner: Any, path: str) -> None:
        put = object.__setattr__
        put(self, "__shadow__", shadow)
        put(self, "__owner__", owner)
        put(self, "__path__", path)

    def __setattr__(self, name: str, value: Any) -> None:
        raise self.__shadow__.refuse(f"it sets an attribute: {self.__path__}.{name}")

    def __delattr__(self, name: str) -> None:
        raise self.__shadow__.refuse(f"it deletes an attribute: {self.__path__}.{name}")

    def _text(self, *specification: Any) -> str:
        if self.__shadow__.recorder.freezes:
            return format(self.__owner__, *specification)
        raise self.__shadow__.refuse(f"it makes text of {self.__path__}")

    __str__ = __repr__ = __format__ = _text

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise self.__shadow__.refuse(f"it copies {self.__path__}")


class ModuleProxy(ForeignProxy):
    """A module, of whose members those are there that are free of effects."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        return self.__shadow__.member_of(self.__owner__, name, f"{self.__path__}.{name}")


class FunctionProxy(ForeignProxy):
    """A user's function: called, its shadow runs."""

    __slots__ = ("__run__",)
    __run__: Any

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        return self.__run__(*arguments, **keywords)

    def __getattr__(self, name: str) -> Any:
        return self.__shadow__.attribute_of_function(self.__owner__, name, f"{self.__path__}.{name}")

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)


class BuiltinProxy(ForeignProxy):
    """A built-in function that has to know of proxies: `isinstance`, `type`."""

    __slots__ = ("__run__",)
    __run__: Any

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        return self.__run__(*arguments, **keywords)


class ClassProxy(ForeignProxy):
    """A user's class, whose attributes may be read."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        return self.__shadow__.attribute_of_class(self.__owner__, self, name, f"{self.__path__}.{name}")

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise self.__shadow__.refuse(f"it makes or asks instances of the class {self.__path__}")

    __call__ = __iter__ = __len__ = __contains__ = __getitem__ = __or__ = __ror__ = _refuse


class SuperProxy(ForeignProxy):
    """What `super()` gives: `__owner__` is (the class after which is looked, the instance or class that asks)."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        start, instance = self.__owner__
        return self.__shadow__.attribute_of_super(start, instance, name, f"{self.__path__}.{name}")


class ObjectProxy(ForeignProxy):
    """An instance (`self`, or one that a function refers to), whose attributes may be read.

    Its special methods are those that its class defines as functions, which run as shadows.
    """

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        stored = self.__shadow__.stored
        if stored and (id(self.__owner__), name) in stored:
            return stored[id(self.__owner__), name]
        return self.__shadow__.attribute_of(self.__owner__, self, name, f"{self.__path__}.{name}")

    def __setattr__(self, name: str, value: Any) -> None:
        if not self.__shadow__.recorder.freezes:
            super().__setattr__(name, value)
        self.__shadow__.stored[id(self.__owner__), name] = value  # for the capture, and for nobody else


class OpaqueProxy(ForeignProxy):
    """An object of which no changes can be noticed: what is done with it ends the capture. `__owner__` says why."""

    __slots__ = ("__reason__",)
    __reason__: str

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise self.__shadow__.refuse(self.__reason__)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__array_"):
            raise AttributeError(name)
        raise self.__shadow__.refuse(self.__reason__)

    __str__ = __repr__ = __format__ = __setattr__ = __delattr__ = _refuse


# The special methods of two operands, by the word of theirs that they have in common.
BINARY = (
    "add sub mul truediv floordiv mod divmod pow matmul and or xor lshift rshift lt le gt ge eq ne "
    "radd rsub rmul rtruediv rfloordiv rmod rdivmod rpow rmatmul rand ror rxor rlshift rrshift "
    "iadd isub imul itruediv ifloordiv imod ipow imatmul iand ior ixor ilshift irshift"
)
_OTHERS = (
    "len iter next contains getitem bool float int complex index call enter exit neg pos abs invert round reversed "
    "trunc floor ceil str repr format hash setitem delitem"
)


def _special(name: str) -> Any:
    def method(self: Any, *arguments: Any, **keywords: Any) -> Any:
        return self.__shadow__.special(self, name, arguments, keywords)

    method.__name__ = name
    return method


for _word in [*BINARY.split(), *_OTHERS.split()]:
    setattr(ObjectProxy, f"__{_word}__", _special(f"__{_word}__"))
    if _word not in ("str", "repr", "format"):
        setattr(OpaqueProxy, f"__{_word}__", OpaqueProxy._refuse)


def _refuses(base: Any, name: str) -> Any:
    change = getattr(base, name)

    def refuse(self: Any, *arguments: Any, **keywords: Any) -> Any:
        if self.__shadow__.recorder.freezes:  # only what stands in its place is changed
            return change(self, *arguments, **keywords)
        raise self.__shadow__.refuse("it changes a list or a dict that it did not make")

    refuse.__name__ = name
    refuse.__doc__ = f"Refuse `{name}`: the list or dict belongs to somebody else."
    return refuse


class ListProxy(list[Any]):
    """A list that the function refers to."""

    def __init__(self, shadow: Any, values: Any) -> None:
        super().__init__(values)
        self.__shadow__ = shadow


class DictProxy(dict[Any, Any]):
    """A dict that the function refers to."""

    default: Any = None

    def __init__(self, shadow: Any, values: Any) -> None:
        super().__init__(values)
        self.__shadow__ = shadow

    def __missing__(self, key: Any) -> Any:
        if self.default is not None:
            raise self.__shadow__.refuse("it adds a key to a dict that it did not make: one that has a default")
        raise KeyError(key)


class OrderedDictProxy(collections.OrderedDict[Any, Any]):
    """An `OrderedDict` that the function refers to: `fill` it."""

    def __init__(self, shadow: Any) -> None:
        super().__init__()
        self.__shadow__ = shadow

    def __repr__(self) -> str:
        raise self.__shadow__.refuse("it makes text of an OrderedDict that it did not make")


class SetProxy(set[Any]):
    """A set that the function refers to."""

    def __init__(self, shadow: Any, values: Any) -> None:
        super().__init__(values)
        self.__shadow__ = shadow

    def __repr__(self) -> str:
        raise self.__shadow__.refuse("it makes text of a set that it did not make")


_OF_LISTS = "__delitem__ __iadd__ __imul__ __setitem__ append clear extend insert pop remove reverse sort"
_OF_DICTS = "__delitem__ __ior__ __setitem__ clear pop popitem setdefault update"
_OF_SETS = (
    "__iand__ __ior__ __isub__ __ixor__ add clear difference_update discard intersection_update pop remove "
    "symmetric_difference_update update"
)
for _class, _names in ((ListProxy, _OF_LISTS), (DictProxy, _OF_DICTS), (SetProxy, _OF_SETS)):
    for _name in _names.split():
        setattr(_class, _name, _refuses(_class.__mro__[1], _name))
for _name in (*_OF_DICTS.split(), "move_to_end"):
    setattr(OrderedDictProxy, _name, _refuses(collections.OrderedDict, _name))


def _of_base(base: Any, name: str) -> Any:
    """Return a method that makes a new container: one of the base class, which is the function's own."""
    method = getattr(base, name)

    def call(self: Any, *arguments: Any) -> Any:
        return method(base(self), *arguments)

    call.__name__ = name
    call.__doc__ = f"Return what `{name}` gives: a new {base.__name__}, the function's own."
    return call


_NEW_SETS = "copy difference intersection symmetric_difference union __and__ __or__ __sub__ __xor__ __rand__ __ror__"
for _name in (*_NEW_SETS.split(), "__rsub__", "__rxor__"):
    setattr(SetProxy, _name, _of_base(set, _name))
for _name in ("copy", "__or__", "__ror__"):
    setattr(OrderedDictProxy, _name, _of_base(collections.OrderedDict, _name))


def real(value: Any) -> Any:
    """Return what a proxy of something foreign stands for; a tuple with such things in it; other values as they are."""
    if isinstance(value, ForeignProxy):
        return value.__owner__
    return tuple(map(real, value)) if type(value) is tuple else value
