"""Users' functions with everything that they look up outside replaced: by proxies, by what is free of effects.

A function keeps its code; its globals, its closure and its defaults become those of a shadow. Globals are resolved when
they are read: what is read, and that it has to stay what it is, is noted then. What it stores there reaches only the
shadow's, and ends the capture when the function has run.
"""

from __future__ import annotations

import builtins
import functools
import inspect
import os
import sys
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy

from minpy.capture import containers, library, ours
from minpy.capture.allowed import (
    EXCEPTIONS,
    LIBRARIES,
    MODULE_TYPES,
    MODULES,
    OF_PYTHON,
    SAFE,
    changing_reason,
    is_numpy,
    is_safe_exception,
    known_module,
)
from minpy.capture.creation import CREATION
from minpy.capture.facts import ARRAY_KINDS
from minpy.capture.foreign import (
    BuiltinProxy,
    ClassProxy,
    DictProxy,
    ForeignProxy,
    FunctionProxy,
    ListProxy,
    ModuleProxy,
    ObjectProxy,
    OpaqueProxy,
)
from minpy.capture.noting import FUNCTION_HANDLERS
from minpy.capture.objects import ObjectReads
from minpy.capture.places import CaptureRefused, SourceLocation
from minpy.capture.reads import Reads, attribute, item, keys, missing
from minpy.capture.recorder import Recorder
from minpy.capture.scalars import MATH, ScalarProxy, Scalars, call_math, is_dynamic, pinned
from minpy.capture.shadow_builtins import SHADOWED, may_be_read
from minpy.capture.sources import ABSENT, contents, is_constant, module_member
from minpy.capture.values import Traced
from minpy.capture.watching import WATCHED
from minpy.core.array import FRONT_ENDS, Array, raw_of
from minpy.core.base import BaseOperator
from minpy.core.operator import Operator
from minpy.core.switches import SwitchScope

__all__ = ["ShadowFunctions"]

_STANDARD_LIBRARY = os.path.dirname(os.__file__) + os.sep
_COROUTINES = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
# What passes itself off as something else, or has its hash: code of a user's may run for that, and it may be gone.
_IN_PLACE_OF_OTHERS = (weakref.ReferenceType, weakref.ProxyType, weakref.CallableProxyType, types.GenericAlias)
_REMEDY = "changes of which are not noticed: pass what it needs as an argument"


class _Globals(dict[str, Any]):
    """The globals of shadows: those of the functions, each looked up and noted when it is read first."""

    __slots__ = ("__scope__", "__shadow__", "resolved")

    def __init__(self, shadow: ShadowFunctions, scope: dict[str, Any]) -> None:
        super().__init__(__builtins__={"__import__": shadow.import_module, "__build_class__": shadow.refuse_class})
        self.__scope__, self.__shadow__ = scope, shadow
        self.resolved: dict[str, Any] = {}

    def __missing__(self, name: str) -> Any:
        value = self.resolved[name] = self.__shadow__.global_value(self.__scope__, name)
        dict.__setitem__(self, name, value)
        return value

    def changed(self) -> str | None:
        """Return a name that was set or deleted; None if none was."""
        for name, value in self.items():
            if name != "__builtins__" and self.resolved.get(name, ABSENT) is not value:
                return name
        return next((name for name in self.resolved if name not in self), None)


class ShadowFunctions(ObjectReads):
    """Makes the shadows of one capture.

    Parameters
    ----------
    recorder : Recorder
    captures : Reads
        Notes what is read.
    part : str
        The part of the program that runs it: a captured array is read once in each.
    array : callable, optional
        Makes of a proxy what stands for a captured NDArray; without, such a function is not captured.
    """

    def __init__(self, recorder: Recorder, captures: Reads, part: str, array: Any = None) -> None:
        self.recorder = recorder
        recorder.of_user = recorder.shadowed = True
        self.captures = captures
        self.part = part
        self.array = array
        self.capture: Any = None
        self.must_watch = False  # whether the capture is to begin anew, with proxies that are watched
        self.scalars = Scalars(recorder)
        self.dynamic: frozenset[Any] = frozenset()
        # By the id of what they stand for: that, and what stands for it, so that one object is one proxy.
        self.proxies: dict[int, tuple[Any, Any]] = {}
        # Likewise of lists, tuples and dicts that are arguments: others may be equal to one that was read.
        self._nests: dict[int, tuple[Any, Any]] = {}
        self._globals: dict[int, _Globals] = {}
        self._cells: dict[int, tuple[types.CellType, types.CellType, str, Any]] = {}
        self._containers: list[tuple[Any, list[Any]]] = []
        # By the id of an object, and a name: what the function has set its attribute to, where it may.
        self.stored: dict[tuple[int, str], Any] = {}
        self._place: SourceLocation | None = None
        self._top: SourceLocation | None = None

    def close(self) -> None:
        """End: see that nothing outside was stored to, and forget the functions, whose namespaces refer to this.

        Raises
        ------
        CaptureRefused
        """
        try:
            error = sys.exc_info()[1]
            if not self.recorder.failed and (error is None or isinstance(error, Exception)):
                self.require_no_stores()
        finally:
            for _, proxy in self.proxies.values():
                if isinstance(proxy, (FunctionProxy, BuiltinProxy)):
                    object.__setattr__(proxy, "__run__", self._ended)
            for namespace in self._globals.values():
                namespace.clear()
                namespace.resolved.clear()
            for _, shadow, _, _ in self._cells.values():
                if contents(shadow, None) is not ABSENT:
                    del shadow.cell_contents
            self.proxies.clear()
            self._nests.clear()
            self._globals.clear()
            self._cells.clear()
            self._containers.clear()
            self.stored.clear()

    def _ended(self, *_: Any, **__: Any) -> Any:
        self.recorder.ended = True
        self.recorder.require_going_on()

    def require_no_stores(self) -> None:
        """Refuse what a function stored to names and containers that are not its own: that has not happened outside.

        Raises
        ------
        CaptureRefused
        """
        if self.recorder.freezes:  # nothing of it outlives the capture
            return
        for namespace in self._globals.values():
            name = namespace.changed()
            if name is not None:
                raise self.refuse("it sets a global name", self._line_of("GLOBAL", name))
        for _, shadow, name, value in self._cells.values():
            if contents(shadow, None) is not value:
                raise self.refuse(f"it sets {name!r} of an enclosing function", self._line_of("DEREF", name))
        for proxy, before in self._containers:
            now = containers.values_of(proxy)
            if len(now) != len(before) or any(one is not other for one, other in zip(now, before, strict=True)):
                raise self.refuse("it changes a list or a dict that it did not make")

    def _line_of(self, instruction: str, name: str) -> SourceLocation | None:
        """Return a line that stores to a name."""
        import dis  # only where a capture has failed already

        for code in sorted(self.recorder.codes, key=lambda code: code.co_firstlineno):
            starts = {start: line for start, _, line in code.co_lines()}
            line: int | None = code.co_firstlineno
            for one in dis.get_instructions(code):
                line = starts.get(one.offset, line)
                if one.opname in (f"STORE_{instruction}", f"DELETE_{instruction}") and one.argval == name:
                    return SourceLocation(code.co_filename, line or code.co_firstlineno)
        return None

    # -- what is noted ---------------------------------------------------------------------------------------------

    def note(self, fetch: Any, container: Any, key: Any, value: Any, path: str = "") -> None:
        """Note that a value was read, which must stay what it is."""
        place = self.recorder.place() or self._place
        self.captures.note(self.part, fetch, container, key, value, path, place)

    def refuse(self, reason: str, place: SourceLocation | None = None) -> CaptureRefused:
        """Return the exception to raise where something cannot be captured."""
        return self.recorder.refuse(reason, place or self.recorder.place() or self._place or self._top)

    # -- functions -------------------------------------------------------------------------------------------------

    def function(self, function: Any, name: str = "") -> Any:
        """Return the shadow of a function.

        Raises
        ------
        CaptureRefused
            If its code is not free of effects, as far as that is known.
        """
        known = self.proxies.get(id(function))
        if known is not None:
            return known[1]
        name = name or getattr(function, "__name__", "the function")
        if type(function) is not types.FunctionType:
            return self.value(function, None, None, None, name)
        if "_switches" in vars(function):
            return self._in_switches(function, name)
        code = function.__code__
        before, self._place = self._place, SourceLocation(code.co_filename, code.co_firstlineno)
        self._top = self._top or self._place
        self._require_harmless(code)
        self.note(attribute, function, "__code__", code, name)
        self.note(attribute, function, "__defaults__", function.__defaults__, name)
        cells = function.__closure__ or ()
        namespace = self._globals_of(function.__globals__)
        fresh = [self._cell(cell, variable) for cell, variable in zip(cells, code.co_freevars, strict=True)]
        shadow = types.FunctionType(code, namespace, function.__name__, None, tuple(cell for cell, _ in fresh))
        proxy = FunctionProxy(self, function, name)
        object.__setattr__(proxy, "__run__", shadow)
        self.proxies[id(function)] = function, proxy
        self.recorder.codes.update(_codes_of(code))
        for (cell, is_new), real_cell, variable in zip(fresh, cells, code.co_freevars, strict=True):
            if is_new:
                self._fill(cell, real_cell, variable)
        defaults = function.__defaults__ or ()
        shadow.__defaults__ = tuple(
            self.value(one, item, defaults, index, f"a default of {name}") for index, one in enumerate(defaults)
        )
        given = function.__kwdefaults__
        self.note(attribute, function, "__kwdefaults__", given, name)
        if given:
            self.note(keys, given, None, tuple(given), name)
            shadow.__kwdefaults__ = {key: self.value(one, item, given, key, key) for key, one in given.items()}
        self._place = before
        return proxy

    def _in_switches(self, function: Any, name: str) -> Any:
        """Return the shadow of a function that runs with NumPy's semantics: see `use_np`."""
        inner = self.function(function.__wrapped__, name)
        self.note(attribute, function, "__wrapped__", function.__wrapped__, name)

        def run(*arguments: Any, **keywords: Any) -> Any:
            with SwitchScope(**vars(function)["_switches"]):
                return inner(*arguments, **keywords)

        proxy = FunctionProxy(self, function, name)
        object.__setattr__(proxy, "__run__", run)
        self.proxies[id(function)] = function, proxy
        return proxy

    def _globals_of(self, scope: dict[str, Any]) -> _Globals:
        known = self._globals.get(id(scope))
        if known is None:
            known = self._globals[id(scope)] = _Globals(self, scope)
        return known

    def _require_harmless(self, code: types.CodeType) -> None:
        for inner in () if self.recorder.freezes else _codes_of(code):
            place = SourceLocation(inner.co_filename, inner.co_firstlineno)
            is_first = not self.proxies and inner is code
            if inner.co_flags & (_COROUTINES | (inspect.CO_GENERATOR if is_first else 0)):
                raise self.refuse("it is a generator or a coroutine", place)
            for part in inner.co_consts:
                if type(part) is str and "{" in part and "__" in part:  # `"{0.__class__}".format(x)`
                    raise self.refuse("it has a text that may read what begins with two underscores", place)
            for name in inner.co_names if inner.co_flags & inspect.CO_OPTIMIZED else ():  # or the body of a class
                if not may_be_read(name):
                    raise self.refuse(f"it reads {name}", place)
            if self.recorder.watched is False and not WATCHED.isdisjoint(inner.co_names):
                self.must_watch = True
                raise self.refuse("it names attributes that proxies have of their own", place)

    def _cell(self, cell: types.CellType, name: str) -> tuple[types.CellType, bool]:
        """Return (the shadow of the cell of a variable, whether it has to be filled)."""
        known = self._cells.get(id(cell))
        if known is not None:
            return known[1], False
        shadow = types.CellType()
        self._cells[id(cell)] = cell, shadow, name, ABSENT
        return shadow, True

    def _fill(self, shadow: types.CellType, cell: types.CellType, name: str) -> None:
        value = contents(cell, None)
        if value is ABSENT:
            self.note(contents, cell, None, ABSENT, name)
            return
        stands = shadow.cell_contents = self.value(value, contents, cell, None, name)
        self._cells[id(cell)] = cell, shadow, name, stands

    def called(self, function: Callable[..., Any], arguments: Any, keywords: Any) -> Any:
        """Return what a shadow returns; see that all of it is the function's own.

        Raises
        ------
        CaptureRefused
        """
        result = self.run(function, arguments, keywords)
        containers.require_own(self, result)
        return result

    def run(self, function: Callable[..., Any], arguments: Any, keywords: Any) -> Any:
        """Return what a shadow returns; see that it has stored nothing outside.

        Raises
        ------
        CaptureRefused
        """
        result = function(*arguments, **keywords)
        self.require_no_stores()
        return result

    # -- names -----------------------------------------------------------------------------------------------------

    def global_value(self, scope: dict[str, Any], name: str) -> Any:
        """Return what stands for a global name, or a built-in one; a KeyError if there is none."""
        if name in scope:
            return self.value(scope[name], item, scope, name, name)
        self.note(missing, scope, name, True, name)
        value = module_member(builtins, name)
        self.note(module_member, builtins, name, value, name)
        if value is ABSENT:
            raise KeyError(name)
        return self.shadow_of(value, name)

    def import_module(
        self, name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0
    ) -> Any:
        """Answer `import` inside a function: modules that are known."""
        if type(fromlist) is list and name.split(".")[0] in LIBRARIES:  # C code that is called imports so
            return builtins.__import__(name, {}, {}, fromlist)
        if self.recorder.freezes:
            return self.shadow_of(builtins.__import__(name, globals, locals, fromlist, level), name)
        if level or known_module(name) is None:
            raise self.refuse(f"it imports {name}")
        if not fromlist and name not in MODULES:
            name = name.partition(".")[0]
        elif not fromlist:
            builtins.__import__(name)
            name = name.partition(".")[0]
        return self.value(sys.modules[name], item, sys.modules, name, name)

    def refuse_class(self, *_: Any, **__: Any) -> Any:
        """Refuse a class statement."""
        raise self.refuse("it defines a class")

    # -- values ----------------------------------------------------------------------------------------------------

    def value(self, value: Any, fetch: Any, container: Any, key: Any, name: str) -> Any:
        """Return what stands for a value that a function reads from some place, which is noted.

        Raises
        ------
        CaptureRefused
            If it is an array that cannot be an input.
        """
        if isinstance(value, (Traced, ForeignProxy, ScalarProxy)):
            return value
        if self.dynamic and (fetch, id(container), key) in self.dynamic and is_dynamic(value):
            return self.scalars.read(fetch, container, key, value, name, self.recorder.place() or self._place)
        if fetch is not None and (type(value) is numpy.ndarray or isinstance(value, Array)):
            return self._array(value, fetch, container, key, name)
        if fetch is not None:
            self.note(fetch, container, key, value, name)
        return self.shadow_of(value, name)

    def argument(self, value: Any, stand_in: Callable[[Any, str], Any], name: str) -> Any:
        """Return what stands for an argument that is no array; `stand_in` gives that of values in it."""
        kind = type(value)
        is_tuple = kind is tuple or containers.is_plain_namedtuple(kind)
        if not is_tuple and kind is not list and kind is not dict:
            return self.value(value, None, None, None, name)
        known = self._nests.get(id(value))
        if known is not None:
            return known[1]
        if is_tuple:
            parts = [stand_in(one, f"{name}[{index}]") for index, one in enumerate(value)]
            proxy: Any = tuple.__new__(kind, parts)
        elif kind is list:
            proxy = ListProxy(self, [stand_in(one, f"{name}[{at}]") for at, one in enumerate(value)])
        else:
            stands = containers.keys_of(self, value, name)
            if stands is None:
                raise self.refuse(f"{name} has keys that compare in a way of their own")
            parts = [stand_in(one, f"{name}[{key!r}]") for key, one in value.items()]
            proxy = DictProxy(self, zip(stands, parts, strict=True))
        self._nests[id(value)] = value, proxy
        return proxy if is_tuple else self.watched(proxy)

    def watched(self, proxy: Any) -> Any:
        """Return the proxy of a container, of which is noted what is in it."""
        self._containers.append((proxy, containers.values_of(proxy)))
        return proxy

    def _array(self, value: Any, fetch: Any, container: Any, key: Any, name: str) -> Any:
        raw = raw_of(value)
        known = (numpy.ndarray, FRONT_ENDS["mxnet"], FRONT_ENDS["numpy"])
        cls = getattr(type(value), "_plain_class", type(value))  # that of arrays on other devices is another
        if raw.dtype.kind not in ARRAY_KINDS or cls not in known or (raw is not value and self.array is None):
            raise self.refuse(f"{name} is an array of type {type(value).__name__} and dtype {raw.dtype}")
        place = self.recorder.place() or self._place
        found = self.captures.array(fetch, container, key, value, self.part, name, place)
        before = self.proxies.get(id(value))
        if before is not None:
            return before[1]
        front = FRONT_ENDS["numpy"] if cls is FRONT_ENDS["numpy"] else None
        array = self.recorder.stand_in.given(self.recorder, found, raw.shape, raw.dtype, front)
        if raw is not value:
            self.recorder.gradients[id(array.storage)] = functools.partial(self._gradient, value, name)
        proxy = self.array(array) if cls is FRONT_ENDS["mxnet"] else array
        self.proxies[id(value)] = value, proxy
        if self.recorder.freezes:
            self.recorder.elements[id(array.storage)] = raw
        return proxy

    def _gradient(self, array: Any, name: str) -> Any:
        """Return what stands for the gradient that is attached to an array that was read."""
        return self.value(array.grad, attribute, array, "grad", f"{name}.grad")

    def shadow_of(self, value: Any, name: str) -> Any:
        """Return what stands for a value: always the same for the same object."""
        if is_constant(value):
            return value
        known = self.proxies.get(id(value))
        if known is not None:
            return known[1]
        proxy = self._made(value, name)
        self.proxies.setdefault(id(value), (value, proxy))
        return proxy

    def _made(self, value: Any, name: str) -> Any:
        kind = type(value)
        if issubclass(kind, _IN_PLACE_OF_OTHERS):
            return self._opaque(value, name)
        stands = getattr(kind, "__capture__", None)
        if stands is not None and self.capture is not None and not isinstance(value, type):
            return stands(value, self.capture)
        known = library.stand_in_of_instance(self, value, name)
        if known is not None:
            return known
        if kind in MODULE_TYPES:
            return ModuleProxy(self, value, name)
        if isinstance(value, BaseOperator):
            return self._operator(value, name)
        if containers.is_container(value):
            return containers.made(self, value, name)
        if kind in (types.FunctionType, types.MethodType):
            return self._callable(value, name)
        if kind is functools.partial:
            return self._partial(value, name)
        if isinstance(value, type):
            return self._class(value, name)
        if callable(value) and not kind.__flags__ & OF_PYTHON:  # no code of a user's tells its hash
            if value in SHADOWED:
                return self._builtin(value, name)
            if value in MATH:
                return functools.partial(call_math, value)
            if value in CREATION:
                return functools.partial(_create, CREATION[value], self.recorder, value)
            if value in SAFE or value in FUNCTION_HANDLERS or containers.is_getter(value):
                return value
        if kind is numpy.ufunc:
            known = is_numpy(value) or getattr(numpy, value.__name__, None) is value or containers.is_of_scipy(value)
            return value if known else self._opaque(value, name)
        if getattr(value, "__module__", None) == "cmath":
            return value
        if containers.is_plain_enum(value):
            return value
        if self._is_readable(value) and changing_reason(value, name) is None:
            return ObjectProxy(self, value, name)
        return self._opaque(value, name)

    def _is_readable(self, value: Any) -> bool:
        is_built_in = isinstance(
            value, (Array, numpy.ndarray, int, float, str, bytes, tuple, list, dict, set, frozenset)
        )
        return not is_built_in and self.is_plain_object(value)

    def _opaque(self, value: Any, name: str) -> Any:
        """Return what stands for what nothing is known of."""
        cls = type(value)
        module = str(getattr(value, "__module__", None) or cls.__module__)
        if self.recorder.freezes and not (module.startswith("minpy.") and "random" in module):  # they draw, see `draws`
            return value
        proxy = OpaqueProxy(self, value, name)
        reason = changing_reason(value, name)
        if reason is not None:
            pass
        elif (
            is_numpy(value) or cls in (types.BuiltinFunctionType, type) or isinstance(value, (types.FunctionType, type))
        ):
            reason = f"{name} is not known to be free of effects"
        else:
            module = "" if cls.__module__ == "builtins" else f"{cls.__module__}."
            reason = f"{name} is a {module}{cls.__qualname__}, {_REMEDY}"
        object.__setattr__(proxy, "__reason__", reason)
        return proxy

    def _builtin(self, value: Any, name: str) -> BuiltinProxy:
        proxy = BuiltinProxy(self, value, name)
        object.__setattr__(proxy, "__run__", functools.partial(SHADOWED[value], self))
        return proxy

    def _class(self, value: type, name: str) -> Any:
        if value in SHADOWED:
            return self._builtin(value, name)
        if issubclass(value, numpy.generic) or value in SAFE or value.__module__ == "itertools":
            return value
        if issubclass(value, (FRONT_ENDS["mxnet"], FRONT_ENDS["numpy"])) and value in FRONT_ENDS.values():
            return value
        if issubclass(value, EXCEPTIONS):
            return value if is_safe_exception(value) else self._opaque(value, name)
        if containers.is_plain_namedtuple(value):
            return value
        top = value.__module__.split(".")[0]
        if top in LIBRARIES or not value.__flags__ & OF_PYTHON:
            return self._opaque(value, name)
        return ClassProxy(self, value, name)

    def _callable(self, value: Any, name: str) -> Any:
        found = library.stand_in(self, value, name)
        if found is not None:
            return found
        if value in CREATION:
            return functools.partial(_create, CREATION[value], self.recorder, value)
        if value in FUNCTION_HANDLERS or value in SAFE:
            return value
        if type(value) is types.MethodType:
            if type(value.__func__) is not types.FunctionType:
                return self._opaque(value, name)
            self.note(attribute, value, "__func__", value.__func__, name)
            return types.MethodType(self.function(value.__func__, name), self.shadow_of(value.__self__, name))
        module = str(getattr(value, "__module__", None))
        if module.startswith("minpy."):
            found = ours.stands_for(self, value, module)
            if found is not None:
                return found
        if module.split(".")[0] in LIBRARIES:
            return self._opaque(value, f"{name} ({module}.{value.__name__})")
        file = value.__code__.co_filename
        if file.startswith(_STANDARD_LIBRARY) and "-packages" not in file:
            return self._opaque(value, name)
        return self.function(value, name)

    def _partial(self, value: Any, name: str) -> Any:
        self.note(keys, value.keywords, None, tuple(value.keywords), name)
        function = self.value(value.func, attribute, value, "func", name)
        arguments = [self.value(one, item, value.args, index, name) for index, one in enumerate(value.args)]
        named = {key: self.value(one, item, value.keywords, key, key) for key, one in value.keywords.items()}
        return functools.partial(function, *arguments, **named)

    def _operator(self, operator: Any, name: str) -> Any:
        found = None if self.capture is None else library.with_states(self.recorder, operator)
        if found is not None:
            return found
        is_plain = not (operator.random or operator.auxiliary or operator.uses_training)
        if operator.builtin and (is_plain or self.recorder.draws):
            return operator
        if operator.builtin:
            raise self.refuse(f"{name} draws numbers, has states, or acts as in training")
        if self.recorder.facts_of_user is not None and not operator.is_method and operator.visible_outputs is None:
            return operator  # a node: its rules are its own
        if operator.kind != "numpy" or operator.is_method or operator.visible_outputs is not None:
            raise self.refuse(f"{name} is an operator of a user that is not followed")
        inner = self.function(operator.forward, name)
        return functools.partial(_call_inner, operator, inner)

    def object(self, value: Any, name: str = "self") -> Any:
        """Return the shadow of an instance, of which attributes may be read."""
        return self.shadow_of(value, name)

    def class_of(self, value: Any) -> Any:
        """Return the class of what a value stands for."""
        if isinstance(value, ForeignProxy):
            return type(value.__owner__)
        return containers.KINDS.get(type(value), type(value))


def _create(handler: Any, recorder: Recorder, function: Any, *arguments: Any, **keywords: Any) -> Any:
    """Call a function of NumPy that makes arrays: of numbers that change, of what they are."""
    return handler(recorder, function, *pinned(arguments), **pinned(keywords))


def _codes_of(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yield a function's code and that of the functions inside it."""
    yield code
    for one in code.co_consts:
        if isinstance(one, types.CodeType):
            yield from _codes_of(one)


def _call_inner(operator: Operator, inner: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
    """Call a user's operator inside another one: its forward function, on arrays that it may not write to."""

    def given(value: Any) -> Any:
        if not isinstance(value, Traced):
            return value
        return value.recorder.stand_in.given(value.recorder, value.value, value.shape, value.dtype)

    answer = inner(*map(given, arguments), **{key: given(one) for key, one in keywords.items()})
    return tuple(answer) if isinstance(answer, list) else answer
