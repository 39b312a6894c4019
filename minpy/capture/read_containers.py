"""Lists, dicts, sets and their kin that a captured function reads: compared at each call, part by part.

What is in a container is read when it is: a list of arrays is one of proxies. It may hold so many values, at any depth.
"""

from __future__ import annotations

import collections
import enum
import operator
import sys
import types
from typing import Any

import numpy

from minpy.capture.foreign import DictProxy, ForeignProxy, ListProxy, ObjectProxy, OrderedDictProxy, SetProxy
from minpy.capture.guard_sources import is_constant
from minpy.capture.nd_proxy import NDArrayProxy
from minpy.capture.reads import item, keys, length
from minpy.capture.scalars import ScalarProxy
from minpy.capture.shadow_builtins import may_be_read
from minpy.capture.values import BaseArrayProxy

__all__ = [
    "KINDS",
    "LARGEST",
    "container_proxy",
    "is_container",
    "is_getter",
    "is_of_scipy",
    "is_plain_enum",
    "is_plain_namedtuple",
    "keys_of",
    "require_own",
    "values_of",
]

# A container with more values than this, nested ones included, is not compared at each call.
LARGEST = 1024
# What proxies of containers stand for.
KINDS: dict[type, type] = {
    ListProxy: list,
    DictProxy: dict,
    OrderedDictProxy: collections.OrderedDict,
    SetProxy: set,
}
_NAMED_TUPLE = {"_make", "_replace", "_asdict", "__new__", "__repr__", "__getnewargs__", "__replace__"}


def is_plain_namedtuple(value: Any) -> bool:
    """Tell whether a class was made by `namedtuple`, without a method of a user's."""
    if not isinstance(value, type) or not issubclass(value, tuple) or not hasattr(value, "_fields"):
        return False
    own = [base for base in value.__mro__ if base not in (tuple, object)]
    return all(
        not isinstance(part, (types.FunctionType, property, classmethod, staticmethod)) or name in _NAMED_TUPLE
        for base in own
        for name, part in vars(base).items()
    )


def is_plain_enum(value: Any) -> bool:
    """Tell whether a value is a number or a text of an enumeration without a method of a user's."""
    if not isinstance(value, enum.Enum) or not isinstance(value, (int, str)):
        return False
    users = [base for base in type(value).__mro__ if base.__module__ not in ("builtins", "enum")]
    own = [(name, part) for base in users for name, part in vars(base).items() if not name.startswith("_")]
    return not any(isinstance(part, (types.FunctionType, property, classmethod, staticmethod)) for _, part in own)


def is_getter(value: Any) -> bool:
    """Tell whether a value is an `itemgetter`, or an `attrgetter` or `methodcaller` of names that may be read."""
    if type(value) is operator.itemgetter:
        return True
    if type(value) is operator.attrgetter:
        names = value.__reduce__()[1]
        return all(may_be_read(part) for name in names for part in name.split("."))
    if type(value) is not operator.methodcaller:
        return False
    parts = value.__reduce__()
    return len(parts[1]) == 1 and isinstance(parts[1][0], str) and may_be_read(parts[1][0])


def is_of_scipy(ufunc: Any) -> bool:
    """Tell whether a ufunc is one of SciPy's."""
    special = sys.modules.get("scipy.special")
    return special is not None and getattr(special, ufunc.__name__, None) is ufunc


def is_container(value: Any) -> bool:
    """Tell whether a value is a container that is compared by what is in it."""
    kind = type(value)
    if kind in (list, dict, tuple, set, frozenset, slice, collections.OrderedDict, collections.defaultdict):
        return True
    return isinstance(value, tuple) and is_plain_namedtuple(kind)


def values_of(container: Any) -> list[Any]:
    """Return what is in a container, keys included."""
    if isinstance(container, dict):
        return [*container.keys(), *container.values()]
    return list(container)


def _is_small(value: Any) -> bool:
    """Tell whether a container has no more values than may be compared."""
    count, waiting, seen = 0, [value], set()
    while waiting:
        part = waiting.pop()
        if type(part) is slice or not is_container(part):
            continue
        if id(part) in seen:
            continue
        seen.add(id(part))
        inner = part.values() if isinstance(part, dict) else part
        count += len(inner)
        if count > LARGEST:
            return False
        waiting.extend(inner)
    return True


def keys_of(shadow: Any, value: Any, name: str) -> list[Any] | None:
    """Return what stands for keys of a dict, or members of a set; None if one has a comparison of its own."""
    proxies = []
    for key in value:
        proxy = shadow.shadow_of(key, f"a key of {name}")
        is_own = isinstance(proxy, ForeignProxy) and type(key).__hash__ in (object.__hash__, enum.Enum.__hash__)
        is_function = isinstance(proxy, ForeignProxy) and not isinstance(proxy, ObjectProxy) and callable(key)
        if not (is_constant(key) or proxy is key or is_own or is_function or _is_tuple_of_constants(key)):
            return None
        proxies.append(proxy)
    return proxies


def _is_tuple_of_constants(value: Any) -> bool:
    return type(value) is tuple and all(is_constant(part) or _is_tuple_of_constants(part) for part in value)


def container_proxy(shadow: Any, value: Any, name: str) -> Any:
    """Return the proxy of a container, all of whose parts are noted."""
    kind = type(value)
    if kind is slice:
        return slice(*(shadow.shadow_of(part, name) for part in (value.start, value.stop, value.step)))
    if _is_tuple_of_constants(value):
        return value
    if not _is_small(value):
        raise shadow.refuse(f"{name} is a {kind.__name__} of {len(value)} values, too many to compare")
    if isinstance(value, tuple):
        parts = [shadow.value(part, item, value, index, f"{name}[{index}]") for index, part in enumerate(value)]
        return tuple(parts) if kind is tuple else tuple.__new__(kind, parts)
    if kind is list:
        shadow.note(length, value, None, len(value), f"len({name})")
        proxy: Any = ListProxy(shadow, ())
        shadow.proxies[id(value)] = value, proxy  # it may hold itself
        for index, part in enumerate(value):
            list.append(proxy, shadow.value(part, item, value, index, f"{name}[{index}]"))
        return shadow.watched(proxy)
    shadow.note(keys, value, None, tuple(value), f"the keys of {name}" if isinstance(value, dict) else name)
    key_proxies = keys_of(shadow, value, name)
    if key_proxies is None:
        raise shadow.refuse(f"{name} has keys that compare in a way of their own: pass what it needs as an argument")
    if kind is frozenset:
        return frozenset(key_proxies)
    if kind is set:
        return shadow.watched(SetProxy(shadow, key_proxies))
    proxy = OrderedDictProxy(shadow) if kind is collections.OrderedDict else DictProxy(shadow, ())
    if kind is collections.defaultdict:
        proxy.default = True
    shadow.proxies[id(value)] = value, proxy
    put = collections.OrderedDict.__setitem__ if kind is collections.OrderedDict else dict.__setitem__
    for key, key_proxy in zip(list(value), key_proxies, strict=True):
        put(proxy, key_proxy, shadow.value(value[key], item, value, key, f"{name}[{key!r}]"))
    return shadow.watched(proxy)


def require_own(shadow: Any, result: Any) -> None:
    """Refuse to return what is not the function's own, or no value: lists that it was given, functions, generators."""
    if isinstance(result, (BaseArrayProxy, NDArrayProxy, ScalarProxy)) or is_constant(result):
        return
    if type(result) in KINDS:
        raise shadow.refuse("it returns a list or a dict that it did not make")
    if isinstance(result, ForeignProxy):
        raise shadow.refuse(f"it returns {result.__path__}, which is not its own")
    if isinstance(result, dict):
        for part in result.values():
            require_own(shadow, part)
    elif isinstance(result, (list, tuple)):
        for part in result:
            require_own(shadow, part)
    elif not isinstance(result, (numpy.ndarray, slice)):
        raise shadow.refuse(f"it returns a {type(result).__name__}")
