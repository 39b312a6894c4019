"""Built-in functions that must see through proxies: to the class that they stand for, and its attributes."""

from __future__ import annotations

import builtins
import operator
import sys
from collections.abc import Callable
from typing import Any

import numpy

from minpy.capture.foreign import ClassProxy, ForeignProxy, ObjectProxy, OpaqueProxy, SuperProxy, real
from minpy.capture.guard_sources import ABSENT, class_of, is_instance, is_subclass, member
from minpy.capture.nd_proxy import NDArrayProxy
from minpy.capture.scalars import ScalarProxy
from minpy.capture.values import BaseArrayProxy
from minpy.core.array import FRONT_ENDS

__all__ = ["SHADOWED", "array_class", "may_be_read"]

# Names between double underscores that may be read of anything.
_HARMLESS = {"__call__", "__name__", "__qualname__"}
# What leads from a function, a generator or an error to the frames that run.
_FRAMES = {
    "cr_frame",
    "f_back",
    "f_builtins",
    "f_globals",
    "f_locals",
    "gi_frame",
    "gi_yieldfrom",
    "tb_frame",
    "tb_next",
}


def may_be_read(name: str) -> bool:
    """Tell whether an attribute of that name is none of Python's internals.

    >>> may_be_read("shape"), may_be_read("__class__"), may_be_read("tb_frame")
    (True, False, False)
    """
    return name in _HARMLESS or not ((name.startswith("__") and name.endswith("__")) or name in _FRAMES)


def array_class(value: Any) -> Any:
    """Return the class of what an array's proxy stands for; None for other values."""
    if isinstance(value, NDArrayProxy):
        return FRONT_ENDS["mxnet"]
    if isinstance(value, BaseArrayProxy) and id(value.storage) in value.recorder.mapped and not value.scalar:
        return numpy.memmap
    if isinstance(value, BaseArrayProxy):
        return value.front or (value.dtype.type if value.scalar else numpy.ndarray)
    return type(value.value) if isinstance(value, ScalarProxy) else None


def _isinstance(shadow: Any, value: Any, classes: Any) -> bool:
    classes = real(classes)
    cls = array_class(value)
    if cls is not None:
        return _issubclass_noted(shadow, cls, classes)
    if isinstance(value, ForeignProxy):
        owner = value.__owner__
        _require_plain(shadow, classes)
        result = isinstance(owner, classes)
        shadow.note(is_instance, owner, _hashable(shadow, classes), result, f"isinstance({value.__path__}, ...)")
        return result
    return _issubclass_noted(shadow, shadow.class_of(value), classes)


def _require_plain(shadow: Any, classes: Any) -> tuple[Any, ...]:
    """Return the given classes as a tuple; refuse those whose checks run code of a user."""
    many = classes if isinstance(classes, tuple) else (classes,)
    for cls in many:
        if isinstance(cls, tuple):
            _require_plain(shadow, cls)
        elif type(cls).__module__ not in ("abc", "builtins", "enum", "types", "typing"):
            raise shadow.refuse(f"{getattr(cls, '__name__', cls)} tells by itself what is an instance of it")
    return many


def _hashable(shadow: Any, classes: Any) -> Any:
    try:
        hash(classes)
    except TypeError:
        raise shadow.refuse("it asks for an instance of what is no class") from None
    return classes


def _issubclass_noted(shadow: Any, cls: type, classes: Any) -> bool:
    many = _require_plain(shadow, classes)
    result = issubclass(cls, classes)
    if any(type(candidate) is not type for candidate in many):  # others can be registered as their subclasses
        shadow.note(is_subclass, cls, _hashable(shadow, classes), result, f"issubclass({cls.__name__}, ...)")
    return result


def _issubclass(shadow: Any, cls: Any, classes: Any) -> bool:
    return _issubclass_noted(shadow, real(cls), real(classes))


def _type(shadow: Any, value: Any, *bases_and_namespace: Any) -> Any:
    if bases_and_namespace:
        if shadow.recorder.freezes:
            return type(value, *map(real, bases_and_namespace))
        raise shadow.refuse("it defines a class")
    cls = array_class(value)
    if cls is None:
        cls = shadow.class_of(value)
        if isinstance(value, ForeignProxy):
            shadow.note(class_of, value.__owner__, None, cls, f"type({value.__path__})")
    return shadow.shadow_of(cls, cls.__name__)


def _getattr(shadow: Any, value: Any, name: str, *default: Any) -> Any:
    if type(name) is not str or not (may_be_read(name) or shadow.recorder.freezes):
        raise shadow.refuse(f"it reads {name}")
    cls = array_class(value)
    if cls is not None and not isinstance(value, ScalarProxy) and not hasattr(cls, name):
        if default:
            return default[0]
        raise AttributeError(f"{cls.__name__!r} object has no attribute {name!r}")
    return getattr(value, name, *default)


def _hasattr(shadow: Any, value: Any, name: str) -> bool:
    return _getattr(shadow, value, name, ABSENT) is not ABSENT


def _callable(shadow: Any, value: Any) -> bool:
    if isinstance(value, OpaqueProxy):
        raise shadow.refuse(value.__reason__)
    if isinstance(value, ObjectProxy):
        cls = type(value.__owner__)
        call = member(cls, "__call__")
        shadow.note(member, cls, "__call__", call, f"{value.__path__}.__call__")
        return call is not ABSENT
    return array_class(value) is None and callable(value)


def _super(shadow: Any, *arguments: Any) -> Any:
    if arguments:
        start, instance = arguments
    else:  # what the compiler says to `super()`: the first argument of the function that runs, and its class
        frame = sys._getframe(1)
        while frame.f_code not in shadow.recorder.codes:
            if frame.f_back is None:
                raise shadow.refuse("super() is called by no function of a class")
            frame = frame.f_back
        values, code = frame.f_locals, frame.f_code
        start, instance = values.get("__class__"), values.get(code.co_varnames[0] if code.co_argcount else "")
    if not isinstance(start, ClassProxy) or not isinstance(instance, (ObjectProxy, ClassProxy)):
        raise shadow.refuse("super() of what it did not read")
    return SuperProxy(shadow, (start.__owner__, instance), "super()")


def _attrgetter(shadow: Any, *names: str) -> Any:
    for name in names:
        if type(name) is not str or not all(map(may_be_read, name.split("."))):
            raise shadow.refuse(f"it reads {name}")
    return operator.attrgetter(*names)


def _methodcaller(shadow: Any, name: str, *arguments: Any, **keywords: Any) -> Any:
    if type(name) is not str or not may_be_read(name):
        raise shadow.refuse(f"it reads {name}")
    return operator.methodcaller(name, *arguments, **keywords)


SHADOWED: dict[Any, Callable[..., Any]] = {
    isinstance: _isinstance,
    issubclass: _issubclass,
    type: _type,
    getattr: _getattr,
    hasattr: _hasattr,
    callable: _callable,
    builtins.super: _super,
    operator.attrgetter: _attrgetter,
    operator.methodcaller: _methodcaller,
}
