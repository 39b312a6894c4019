"""Users' functions with everything that they look up outside replaced: by proxies, by what is free of effects.

A function keeps its code; its globals, its closure and its defaults become those of a shadow. Globals are resolved when
they are read: what is read, and that it has to stay what it is, is noted then. What it stores there reaches only the
shadow's, and ends the capture when the function has run.
"""

from __future__ import annotations

import builtins
import functools
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy

from minpy.capture import read_containers
from minpy.capture.allowed import LIBRARIES, MODULES, known_module
from minpy.capture.foreign import BuiltinProxy, DictProxy, ForeignProxy, FunctionProxy, ListProxy
from minpy.capture.guard_sources import ABSENT, contents, is_constant, module_member
from minpy.capture.places import CaptureRefused, SourceLocation
from minpy.capture.read_objects import ObjectReads
from minpy.capture.reads import Reads, attribute, item, keys, missing
from minpy.capture.recorder import Recorder
from minpy.capture.scalars import ScalarProxy, Scalars, is_dynamic
from minpy.capture.shadow_code import require_harmless, store_location
from minpy.capture.shadow_globals import ShadowGlobals
from minpy.capture.shadow_values import proxy_of
from minpy.capture.values import BaseArrayProxy
from minpy.core.array import FRONT_ENDS, Array, raw_of
from minpy.core.dtypes import ARRAY_KINDS
from minpy.core.gradient_rules import codes_of
from minpy.core.numpy_semantics import SwitchScope

__all__ = ["ShadowFunctions"]


class ShadowFunctions(ObjectReads):
    """Makes the shadows of one capture.

    `reads` notes what is read. `part` of a program, 'forward' or 'backward', runs it: each reads a captured array once.
    `array` makes of a proxy that of an NDArray; without, functions that read NDArrays are not captured.
    """

    def __init__(self, recorder: Recorder, reads: Reads, part: str, array: Any = None) -> None:
        self.recorder = recorder
        recorder.of_user = recorder.shadowed = True
        self.reads = reads
        self.part = part
        self.array = array
        self.capture: Any = None
        self.must_watch = False  # whether the capture is to begin anew, with proxies that are watched
        self.scalars = Scalars(recorder)
        self.dynamic: frozenset[Any] = frozenset()
        # By the id of what they stand for: that, and its proxy, so that one object is one proxy.
        self.proxies: dict[int, tuple[Any, Any]] = {}
        # Likewise of lists, tuples and dicts that are arguments: others may be equal to one that was read.
        self._nests: dict[int, tuple[Any, Any]] = {}
        self._globals: dict[int, ShadowGlobals] = {}
        self._cells: dict[int, tuple[types.CellType, types.CellType, str, Any]] = {}
        self._containers: list[tuple[Any, list[Any]]] = []
        # By the id of an object, and a name: what the function has set its attribute to, where it may.
        self.stored: dict[tuple[int, str], Any] = {}
        self._place: SourceLocation | None = None
        self._top: SourceLocation | None = None

    def close(self) -> None:
        """End: see that nothing outside was stored to, and forget the functions, whose namespaces refer to this."""
        try:
            error = sys.exc_info()[1]
            if not self.recorder.failed and (error is None or isinstance(error, Exception)):
                self.require_no_stores()
        finally:
            for _, proxy in self.proxies.values():
                if isinstance(proxy, (FunctionProxy, BuiltinProxy)):
                    object.__setattr__(proxy, "__run__", self._ended)
            for namespace in self._globals.values():
                namespace.forget()
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
        """Refuse what a function stored to names and containers that are not its own: that has not happened outside."""
        if self.recorder.freezes:  # nothing of it outlives the capture
            return
        codes = self.recorder.codes
        for namespace in self._globals.values():
            name = namespace.changed()
            if name is not None:
                raise self.refuse("it sets a global name", store_location(codes, "GLOBAL", name))
        for _, shadow, name, value in self._cells.values():
            if contents(shadow, None) is not value:
                raise self.refuse(f"it sets {name!r} of an enclosing function", store_location(codes, "DEREF", name))
        for proxy, before in self._containers:
            now = read_containers.values_of(proxy)
            if len(now) != len(before) or any(value is not was for value, was in zip(now, before, strict=True)):
                raise self.refuse("it changes a list or a dict that it did not make")

    # -- what is noted ---------------------------------------------------------------------------------------------

    def note(self, source: Any, container: Any, key: Any, value: Any, path: str = "") -> None:
        """Note that a value was read, which must stay what it is."""
        place = self.recorder.place() or self._place
        self.reads.note(self.part, source, container, key, value, path, place)

    def refuse(self, reason: str, place: SourceLocation | None = None) -> CaptureRefused:
        """Return the exception to raise where something cannot be captured."""
        return self.recorder.refuse(reason, place or self.recorder.place() or self._place or self._top)

    # -- functions -------------------------------------------------------------------------------------------------

    def function(self, function: Any, name: str = "") -> Any:
        """Return the shadow of a function; refuse code that is not known to be free of effects."""
        entry = self.proxies.get(id(function))
        if entry is not None:
            return entry[1]
        name = name or getattr(function, "__name__", "the function")
        if type(function) is not types.FunctionType:
            return self.value(function, None, None, None, name)
        if "_switches" in vars(function):
            return self._in_switches(function, name)
        code = function.__code__
        before, self._place = self._place, SourceLocation(code.co_filename, code.co_firstlineno)
        self._top = self._top or self._place
        require_harmless(self, code, not self.proxies)
        self.note(attribute, function, "__code__", code, name)
        self.note(attribute, function, "__defaults__", function.__defaults__, name)
        cells = function.__closure__ or ()
        scope = function.__globals__
        namespace = self._globals.get(id(scope)) or self._globals.setdefault(id(scope), ShadowGlobals(self, scope))
        fresh = [self._cell(cell, variable) for cell, variable in zip(cells, code.co_freevars, strict=True)]
        shadow = types.FunctionType(code, namespace, function.__name__, None, tuple(cell for cell, _ in fresh))
        proxy = FunctionProxy(self, function, name)
        object.__setattr__(proxy, "__run__", shadow)
        self.proxies[id(function)] = function, proxy
        self.recorder.codes.update(codes_of(code))
        for (cell, is_new), real_cell, variable in zip(fresh, cells, code.co_freevars, strict=True):
            if is_new:
                self._fill(cell, real_cell, variable)
        defaults = function.__defaults__ or ()
        shadow.__defaults__ = tuple(
            self.value(value, item, defaults, index, f"a default of {name}") for index, value in enumerate(defaults)
        )
        named = function.__kwdefaults__
        self.note(attribute, function, "__kwdefaults__", named, name)
        if named:
            self.note(keys, named, None, tuple(named), name)
            shadow.__kwdefaults__ = {key: self.value(value, item, named, key, key) for key, value in named.items()}
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

    def _cell(self, cell: types.CellType, name: str) -> tuple[types.CellType, bool]:
        """Return (the shadow of the cell of a variable, whether it has to be filled)."""
        if id(cell) in self._cells:
            return self._cells[id(cell)][1], False
        shadow = types.CellType()
        self._cells[id(cell)] = cell, shadow, name, ABSENT
        return shadow, True

    def _fill(self, shadow: types.CellType, cell: types.CellType, name: str) -> None:
        value = contents(cell, None)
        if value is ABSENT:
            self.note(contents, cell, None, ABSENT, name)
            return
        proxy = shadow.cell_contents = self.value(value, contents, cell, None, name)
        self._cells[id(cell)] = cell, shadow, name, proxy

    def run(self, function: Callable[..., Any], arguments: Any, keywords: Any) -> Any:
        """Return what a shadow returns; see that it has stored nothing outside."""
        result = function(*arguments, **keywords)
        self.require_no_stores()
        return result

    # -- names -----------------------------------------------------------------------------------------------------

    def global_value(self, scope: dict[str, Any], name: str) -> Any:
        """Return the proxy of a global value, or a built-in one, by its name; raise a KeyError if there is none."""
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
        """Handle `import` inside a function: modules that are known."""
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

    def value(self, value: Any, source: Any, container: Any, key: Any, name: str) -> Any:
        """Return the proxy of a value that a function reads, and note where; refuse arrays that cannot be inputs."""
        if isinstance(value, (BaseArrayProxy, ForeignProxy, ScalarProxy)):
            return value
        if self.dynamic and (source, id(container), key) in self.dynamic and is_dynamic(value):
            return self.scalars.read(source, container, key, value, name, self.recorder.place() or self._place)
        if source is not None and (type(value) is numpy.ndarray or isinstance(value, Array)):
            return self._array(value, source, container, key, name)
        if source is not None:
            self.note(source, container, key, value, name)
        return self.shadow_of(value, name)

    def argument(self, value: Any, part_proxy: Callable[[Any, str], Any], name: str) -> Any:
        """Return the proxy of an argument that is no array; `part_proxy` gives those of values in it."""
        kind = type(value)
        is_tuple = kind is tuple or read_containers.is_plain_namedtuple(kind)
        if not is_tuple and kind is not list and kind is not dict:
            return self.value(value, None, None, None, name)
        if id(value) in self._nests:
            return self._nests[id(value)][1]
        if is_tuple:
            parts = [part_proxy(part, f"{name}[{index}]") for index, part in enumerate(value)]
            proxy: Any = tuple.__new__(kind, parts)
        elif kind is list:
            proxy = ListProxy(self, [part_proxy(part, f"{name}[{at}]") for at, part in enumerate(value)])
        else:
            key_proxies = read_containers.keys_of(self, value, name)
            if key_proxies is None:
                raise self.refuse(f"{name} has keys that compare in a way of their own")
            parts = [part_proxy(part, f"{name}[{key!r}]") for key, part in value.items()]
            proxy = DictProxy(self, zip(key_proxies, parts, strict=True))
        self._nests[id(value)] = value, proxy
        return proxy if is_tuple else self.watched(proxy)

    def watched(self, proxy: Any) -> Any:
        """Return the proxy of a container, of which is noted what is in it."""
        self._containers.append((proxy, read_containers.values_of(proxy)))
        return proxy

    def array_class(self, value: Any, name: str, *classes: type) -> type:
        """Return the class of an array, on whatever device it is; refuse other classes and dtypes than are known."""
        dtype = raw_of(value).dtype
        cls: type = getattr(type(value), "_plain_class", type(value))
        is_known = cls in (numpy.ndarray, FRONT_ENDS["mxnet"], FRONT_ENDS["numpy"], *classes)
        if not is_known or dtype.kind not in ARRAY_KINDS or (isinstance(value, Array) and self.array is None):
            raise self.refuse(f"{name} is an array of type {type(value).__name__} and dtype {dtype}")
        return cls

    def _array(self, value: Any, source: Any, container: Any, key: Any, name: str) -> Any:
        buffer, cls = raw_of(value), self.array_class(value, name)
        place = self.recorder.place() or self._place
        variable = self.reads.array(source, container, key, value, self.part, name, place)
        if id(value) in self.proxies:
            return self.proxies[id(value)][1]
        front = cls if cls is FRONT_ENDS["numpy"] else None
        array = self.recorder.proxy_class.from_outside(self.recorder, variable, buffer.shape, buffer.dtype, front)
        if buffer is not value:
            self.recorder.gradients[id(array.storage)] = functools.partial(self._gradient, value, name)
        proxy = self.array(array) if cls is FRONT_ENDS["mxnet"] else array
        self.proxies[id(value)] = value, proxy
        if self.recorder.freezes:
            self.recorder.elements[id(array.storage)] = buffer
        return proxy

    def _gradient(self, array: Any, name: str) -> Any:
        """Return the proxy of the gradient that is attached to an array that was read."""
        return self.value(array.grad, attribute, array, "grad", f"{name}.grad")

    def shadow_of(self, value: Any, name: str) -> Any:
        """Return the proxy of a value: always the same for the same object."""
        if is_constant(value):
            return value
        if id(value) in self.proxies:
            return self.proxies[id(value)][1]
        proxy = proxy_of(self, value, name)
        self.proxies.setdefault(id(value), (value, proxy))
        return proxy

    def class_of(self, value: Any) -> Any:
        """Return the class of what a value is the proxy of."""
        if isinstance(value, ForeignProxy):
            return type(value.__owner__)
        return read_containers.KINDS.get(type(value), type(value))
