"""The proxy of a value that a captured function reads outside: chosen by what the value is."""

from __future__ import annotations

import functools
import os
import types
import weakref
from collections.abc import Callable
from typing import Any

import numpy

from minpy.capture import minpy_functions, own_functions, read_containers
from minpy.capture.allowed import (
    EXCEPTIONS,
    LIBRARIES,
    MODULE_TYPES,
    OF_PYTHON,
    SAFE,
    changing_reason,
    is_numpy,
    is_safe_exception,
)
from minpy.capture.creation import CREATION
from minpy.capture.foreign import BuiltinProxy, ClassProxy, ModuleProxy, ObjectProxy, OpaqueProxy
from minpy.capture.noting import FUNCTION_HANDLERS
from minpy.capture.reads import attribute, item, keys
from minpy.capture.recorder import Recorder
from minpy.capture.scalars import MATH, call_math, pinned
from minpy.capture.shadow_builtins import SHADOWED
from minpy.capture.values import BaseArrayProxy
from minpy.core.array import FRONT_ENDS, Array
from minpy.core.base_operator import BaseOperator
from minpy.core.operator import Operator

__all__ = ["proxy_of"]

_STANDARD_LIBRARY = os.path.dirname(os.__file__) + os.sep
# Types that act as another object, or take its hash: that may run a user's code, and the object may be gone.
_TRANSPARENT_TYPES = (weakref.ReferenceType, weakref.ProxyType, weakref.CallableProxyType, types.GenericAlias)
_REMEDY = "changes of which are not noticed: pass what it needs as an argument"


def proxy_of(shadow: Any, value: Any, name: str) -> Any:
    """Return the proxy of a value that is no array: the value itself, if it never changes and has no effects.

    Containers and operators of which there can be no proxy are refused. What nothing is known of is refused when
    something is done with it. `name`: what the user's code calls it.
    """
    kind = type(value)
    if issubclass(kind, _TRANSPARENT_TYPES):
        return _opaque(shadow, value, name)
    make_proxy = getattr(kind, "__capture__", None)
    if make_proxy is not None and shadow.capture is not None and not isinstance(value, type):
        return make_proxy(value, shadow.capture)
    proxy = own_functions.proxy_of_instance(shadow, value, name)
    if proxy is not None:
        return proxy
    if kind in MODULE_TYPES:
        return ModuleProxy(shadow, value, name)
    if isinstance(value, BaseOperator):
        return _operator(shadow, value, name)
    if read_containers.is_container(value):
        return read_containers.container_proxy(shadow, value, name)
    if kind in (types.FunctionType, types.MethodType):
        return _callable(shadow, value, name)
    if kind is functools.partial:
        return _partial(shadow, value, name)
    if isinstance(value, type):
        return _class(shadow, value, name)
    if callable(value) and not kind.__flags__ & OF_PYTHON:  # its hash runs no user's code
        if value in SHADOWED:
            return _builtin(shadow, value, name)
        if value in MATH:
            return functools.partial(call_math, value)
        if value in CREATION:
            return functools.partial(_create, CREATION[value], shadow.recorder, value)
        if value in SAFE or value in FUNCTION_HANDLERS or read_containers.is_getter(value):
            return value
    if kind is numpy.ufunc:
        is_known = (
            is_numpy(value) or getattr(numpy, value.__name__, None) is value or read_containers.is_of_scipy(value)
        )
        return value if is_known else _opaque(shadow, value, name)
    if getattr(value, "__module__", None) == "cmath":
        return value
    if read_containers.is_plain_enum(value):
        return value
    if _is_readable(shadow, value) and changing_reason(value, name) is None:
        return ObjectProxy(shadow, value, name)
    return _opaque(shadow, value, name)


def _is_readable(shadow: Any, value: Any) -> bool:
    is_built_in = isinstance(value, (Array, numpy.ndarray, int, float, str, bytes, tuple, list, dict, set, frozenset))
    return not is_built_in and shadow.is_plain_object(value)


def _opaque(shadow: Any, value: Any, name: str) -> Any:
    """Return the proxy of a value of which nothing is known: itself, where the capture freezes what it reads."""
    cls = type(value)
    home = str(getattr(value, "__module__", None) or cls.__module__)
    if shadow.recorder.freezes and not (home.startswith("minpy.") and "random" in home):  # they draw, see `draws`
        return value
    proxy = OpaqueProxy(shadow, value, name)
    is_code = is_numpy(value) or cls is types.BuiltinFunctionType or isinstance(value, (types.FunctionType, type))
    module = "" if cls.__module__ == "builtins" else f"{cls.__module__}."
    unknown = "not known to be free of effects" if is_code else f"a {module}{cls.__qualname__}, {_REMEDY}"
    object.__setattr__(proxy, "__reason__", changing_reason(value, name) or f"{name} is {unknown}")
    return proxy


def _builtin(shadow: Any, value: Any, name: str) -> BuiltinProxy:
    proxy = BuiltinProxy(shadow, value, name)
    object.__setattr__(proxy, "__run__", functools.partial(SHADOWED[value], shadow))
    return proxy


def _class(shadow: Any, value: type, name: str) -> Any:
    if value in SHADOWED:
        return _builtin(shadow, value, name)
    if issubclass(value, numpy.generic):
        return shadow.recorder.number_class(value)
    if value in SAFE or value.__module__ == "itertools":
        return value
    if issubclass(value, (FRONT_ENDS["mxnet"], FRONT_ENDS["numpy"])) and value in FRONT_ENDS.values():
        return value
    if issubclass(value, EXCEPTIONS):
        return value if is_safe_exception(value) else _opaque(shadow, value, name)
    if read_containers.is_plain_namedtuple(value):
        return value
    top = value.__module__.split(".")[0]
    if top in LIBRARIES or not value.__flags__ & OF_PYTHON:
        return _opaque(shadow, value, name)
    return ClassProxy(shadow, value, name)


def _callable(shadow: Any, value: Any, name: str) -> Any:
    proxy = own_functions.proxy_of(shadow, value, name)
    if proxy is not None:
        return proxy
    if value in CREATION:
        return functools.partial(_create, CREATION[value], shadow.recorder, value)
    if value in FUNCTION_HANDLERS or value in SAFE:
        return value
    if type(value) is types.MethodType:
        if type(value.__func__) is not types.FunctionType:
            return _opaque(shadow, value, name)
        shadow.note(attribute, value, "__func__", value.__func__, name)
        return types.MethodType(shadow.function(value.__func__, name), shadow.shadow_of(value.__self__, name))
    module = str(getattr(value, "__module__", None))
    if module.startswith("minpy."):
        proxy = minpy_functions.proxy_of(shadow, value, module)
        if proxy is not None:
            return proxy
    if module.split(".")[0] in LIBRARIES:
        return _opaque(shadow, value, f"{name} ({module}.{value.__name__})")
    file = value.__code__.co_filename
    if file.startswith(_STANDARD_LIBRARY) and "-packages" not in file:
        return _opaque(shadow, value, name)
    return shadow.function(value, name)


def _partial(shadow: Any, value: Any, name: str) -> Any:
    shadow.note(keys, value.keywords, None, tuple(value.keywords), name)
    function = shadow.value(value.func, attribute, value, "func", name)
    arguments = [shadow.value(part, item, value.args, index, name) for index, part in enumerate(value.args)]
    keywords = {key: shadow.value(part, item, value.keywords, key, key) for key, part in value.keywords.items()}
    return functools.partial(function, *arguments, **keywords)


def _operator(shadow: Any, operator: Any, name: str) -> Any:
    caller = None if shadow.capture is None else own_functions.with_states(shadow.recorder, operator)
    if caller is not None:
        return caller
    is_plain = not (operator.random or operator.auxiliary or operator.uses_training)
    if operator.builtin and (is_plain or shadow.recorder.draws):
        return operator
    if operator.builtin:
        raise shadow.refuse(f"{name} draws numbers, has states, or acts as in training")
    if shadow.recorder.facts_of_user is not None and not operator.is_method and operator.visible_outputs is None:
        return operator  # a node: its rules are its own
    if operator.kind != "numpy" or operator.is_method or operator.visible_outputs is not None:
        raise shadow.refuse(f"{name} is an operator of a user that is not followed")
    inner = shadow.function(operator.forward, name)
    return functools.partial(_call_inner, operator, inner)


def _create(handler: Any, recorder: Recorder, function: Any, *arguments: Any, **keywords: Any) -> Any:
    """Call a function of NumPy that makes arrays: of numbers that change, of what they are."""
    result = handler(recorder, function, *pinned(arguments), **pinned(keywords))
    return recorder.made(result, arguments, keywords)


def _call_inner(operator: Operator, inner: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
    """Call a user's operator inside another one: its forward function, on arrays that it may not write to."""

    def read_only(value: Any) -> Any:
        if not isinstance(value, BaseArrayProxy):
            return value
        return value.recorder.proxy_class.from_outside(value.recorder, value.value, value.shape, value.dtype)

    result = inner(*map(read_only, arguments), **{key: read_only(value) for key, value in keywords.items()})
    return tuple(result) if isinstance(result, list) else result
