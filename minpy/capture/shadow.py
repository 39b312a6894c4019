"""Users' functions with everything that they look up outside replaced: by stand-ins, by what is free of effects.

A function keeps its code; its globals, its closure and its defaults become those of a shadow. What is not known to be
free of effects has no shadow: such a function is not run at all.
"""

from __future__ import annotations

import builtins
import functools
import inspect
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy

from minpy.capture import library
from minpy.capture.creation import CREATION
from minpy.capture.foreign import DictProxy, ListProxy, ModuleProxy, ObjectProxy
from minpy.capture.noting import FUNCTION_HANDLERS
from minpy.capture.places import CaptureRefused, SourceLocation
from minpy.capture.reading import codes_of, forbidden, names_read
from minpy.capture.reads import PLAIN, Reads, attribute, item, keys, length, missing
from minpy.capture.recorder import Recorder
from minpy.capture.scalars import MATH, ScalarProxy, Scalars, call_math, is_dynamic, pinned
from minpy.capture.values import Traced
from minpy.core.array import FRONT_ENDS, Array, raw_of
from minpy.core.operator import Operator
from minpy.core.switches import SwitchScope
from minpy.differentiation.trees import leaves_of
from minpy.late import LateNamespace

__all__ = ["ShadowFunctions"]

_MODULES = {"cmath", "math", "minpy", "minpy.ndarray", "numpy", "numpy.fft", "numpy.linalg", "scipy", "scipy.special"}
_BUILTIN_NAMES = (
    "abs all any bool complex dict divmod enumerate filter float frozenset int isinstance len list map max min pow "
    "range reversed round set slice sorted str sum tuple zip"
)
_SAFE_BUILTINS = {getattr(builtins, name) for name in _BUILTIN_NAMES.split()}
_NUMPY_NAMES = "broadcast_shapes can_cast dtype finfo iinfo issubdtype ndarray ndindex promote_types"
_SAFE_NUMPY = {getattr(numpy, name) for name in _NUMPY_NAMES.split()}
# How many values a list or dict may have that is compared at each call.
_LARGE = 64
_LIBRARIES = ("numpy", "scipy", "math", "minpy", "mxnet", "autograd")


class ShadowFunctions:
    """Makes the shadows of one traced call.

    Parameters
    ----------
    recorder : Recorder
    captures : Reads
        Notes what is read.
    part : str
        The part of the program that runs it: a captured array is read once in each.
    array : callable, optional
        Makes of a stand-in what stands for a captured NDArray; without, such a function is not traced.
    """

    def __init__(self, recorder: Recorder, captures: Reads, part: str, array: Any = None) -> None:
        self.recorder = recorder
        recorder.of_user = True
        self.captures = captures
        self.part = part
        self.array = array
        self.surroundings: Any = None  # what values with a `__capture__` share
        self.outermost: Any = None  # what is captured, if that is no function: it has been called already
        self.like: Any = None  # an array of ours among the arguments
        self.scalars = Scalars(recorder)
        self.dynamic: frozenset[Any] = frozenset()
        self._functions: dict[int, tuple[Any, Any]] = {}
        self._place: SourceLocation | None = None

    def close(self) -> None:
        """Forget the functions, whose namespaces refer to this: nothing has to wait for the garbage collector."""
        for _, shadow in self._functions.values():
            if isinstance(shadow, types.FunctionType):
                shadow.__globals__.clear()
        self._functions.clear()

    # -- functions -------------------------------------------------------------------------------------------------

    def function(self, function: Any) -> Any:
        """Return the shadow of a function.

        Raises
        ------
        CaptureRefused
            If its code is not free of effects, as far as that is known.
        """
        known = self._functions.get(id(function))
        if known is not None:
            return known[1]
        if type(function) is types.MethodType:
            return self._method(function)
        if type(function) is not types.FunctionType:
            return self.value(function, None, None, None, getattr(function, "__name__", "the function"))
        if "_switches" in vars(function):
            return self._in_switches(function)
        code = function.__code__
        found = forbidden(code)
        if found is not None:
            raise self.recorder.refuse(*found)
        self._note(attribute, function, "__code__", code, function.__name__)
        self._note(attribute, function, "__defaults__", function.__defaults__, function.__name__)
        namespace: dict[str, Any] = {"__builtins__": {"__import__": self._import}, "__name__": function.__module__}
        cells = tuple(types.CellType() for _ in function.__closure__ or ())
        shadow = types.FunctionType(code, namespace, function.__name__, None, cells)
        self._functions[id(function)] = (function, shadow)
        self.recorder.codes.update(codes_of(code))
        defaults = function.__defaults__ or ()
        shadow.__defaults__ = tuple(
            self.value(one, item, defaults, index, "a default") for index, one in enumerate(defaults)
        )
        given = function.__kwdefaults__ or {}
        shadow.__kwdefaults__ = {key: self.value(one, item, given, key, key) for key, one in given.items()}
        self._names(function, code, namespace, dict(zip(code.co_freevars, cells, strict=True)))
        return shadow

    def _names(
        self, function: Any, code: types.CodeType, namespace: dict[str, Any], cells: dict[str, types.CellType]
    ) -> None:
        """Fill in the names that a function reads."""
        closure = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
        scope = function.__globals__
        before = self._place
        for name, is_cell, attributes, place in names_read(code):
            self._place = place
            if is_cell:
                try:
                    contents = closure[name].cell_contents
                except ValueError:
                    raise self._refuse(f"{name} is not defined yet") from None
                value = cells[name].cell_contents = self.value(
                    contents, attribute, closure[name], "cell_contents", name
                )
            elif name in scope:
                value = namespace[name] = self.value(scope[name], item, scope, name, name)
            elif hasattr(builtins, name):
                value = namespace[name] = self._builtin(getattr(builtins, name), name)
                self._note(missing, scope, name, True)
            else:
                raise self._refuse(f"{name} is not defined")
            if attributes and isinstance(value, type) and value in (list, dict, set):
                raise self._refuse(f"{name}.{attributes[0]} is not known to be free of effects")
            for one in attributes:  # read now, before anything runs
                if not isinstance(value, ModuleProxy):
                    break
                value = getattr(value, one)
        for name, new in cells.items():  # those that only pass through
            if name in closure and not _is_filled(new):
                new.cell_contents = self.value(
                    closure[name].cell_contents, attribute, closure[name], "cell_contents", name
                )
        self._place = before

    def _in_switches(self, function: Any) -> Any:
        """Return the shadow of a function that runs with NumPy's semantics: see `use_np`."""
        inner = self.function(function.__wrapped__)
        self._note(attribute, function, "__wrapped__", function.__wrapped__, function.__name__)

        def run(*arguments: Any, **keywords: Any) -> Any:
            with SwitchScope(**vars(function)["_switches"]):
                return inner(*arguments, **keywords)

        return run

    def _method(self, method: Any) -> Any:
        return functools.partial(self.function(method.__func__), self.object(method.__self__))

    def _note(self, fetch: Any, container: Any, key: Any, value: Any, path: str = "") -> None:
        place = self.recorder.place() or self._place
        self.captures.note(self.part, fetch, container, key, value, path, place)

    def _refuse(self, reason: str) -> CaptureRefused:
        return self.recorder.refuse(reason, None if self.recorder.place() else self._place)

    # -- values ----------------------------------------------------------------------------------------------------

    def value(self, value: Any, fetch: Any, container: Any, key: Any, name: str) -> Any:
        """Return what stands for a value that a function reads from some place.

        Raises
        ------
        CaptureRefused
            If it is not known to be free of effects.
        """
        if isinstance(value, (Traced, ObjectProxy, ModuleProxy, ScalarProxy)):
            return value
        if self.dynamic and (fetch, id(container), key) in self.dynamic and is_dynamic(value):
            return self.scalars.read(fetch, container, key, value, name, self.recorder.place() or self._place)
        if fetch is not None and (type(value) in (numpy.ndarray, FRONT_ENDS["mxnet"]) or self._is_ours(value)):
            return self._array(value, fetch, container, key, name)
        shadow = self._shadow_of(value, name)
        if fetch is not None:
            self._note(fetch, container, key, value, name)
        return shadow

    def _is_ours(self, value: Any) -> bool:
        """Tell whether a value is an array of NumPy's semantics, in a capture in which arrays have these."""
        return self.recorder.front is not None and isinstance(value, FRONT_ENDS["numpy"])

    def argument(self, value: Any, stand_in: Callable[[Any, str], Any], name: str) -> Any:
        """Return what stands for an argument that is no array; `stand_in` gives that of values in it."""
        kind = type(value)
        if kind in (list, tuple):
            parts = [stand_in(one, f"{name}[{index}]") for index, one in enumerate(value)]
            return tuple(parts) if kind is tuple else ListProxy(self, parts)
        if kind is dict:
            return DictProxy(self, {key: stand_in(one, f"{name}[{key!r}]") for key, one in value.items()})
        return self.value(value, None, None, None, name)

    def called(self, function: Callable[..., Any], arguments: Any, keywords: Any) -> Any:
        """Return what a shadow returns; see that nothing is returned that is not the function's own.

        Raises
        ------
        CaptureRefused
        """
        return function(*arguments, **keywords)

    def _array(self, value: Any, fetch: Any, container: Any, key: Any, name: str) -> Any:
        raw = raw_of(value)
        if raw.dtype.kind not in "biufc" or (raw is not value and self.array is None):
            raise self._refuse(f"{name} is an array of type {type(value).__name__} and dtype {raw.dtype}")
        place = self.recorder.place() or self._place
        found = self.captures.array(fetch, container, key, value, self.part, name, place)
        array = self.recorder.stand_in.given(self.recorder, found, raw.shape, raw.dtype)
        return array if raw is value or isinstance(value, FRONT_ENDS["numpy"]) else self.array(array)

    def _shadow_of(self, value: Any, name: str) -> Any:
        kind = type(value)
        capture = getattr(kind, "__capture__", None)
        if capture is not None:
            return capture(value, self, name)
        if kind in library.CONSTANT_CLASSES:
            return value
        if isinstance(value, PLAIN) or (kind is frozenset and all(isinstance(one, PLAIN) for one in value)):
            return value
        if kind in (types.ModuleType, LateNamespace):
            return ModuleProxy(self, value, name)
        if isinstance(value, type):
            return self._class(value, name)
        if kind is types.BuiltinFunctionType and value in MATH:
            return functools.partial(call_math, value)
        if isinstance(value, numpy.ufunc) or getattr(value, "__module__", None) in ("math", "cmath"):
            return value
        if isinstance(value, Operator):
            return self._operator(value, name)
        if kind in (list, dict, tuple, slice):
            return self._container(value, name)
        if isinstance(value, (types.FunctionType, types.MethodType, types.BuiltinFunctionType)) or _is_numpy(value):
            return self._callable(value, name)
        if kind is functools.partial:
            function = self._shadow_of(value.func, name)
            arguments = [self.value(one, item, value.args, index, name) for index, one in enumerate(value.args)]
            named = {key: self.value(one, item, value.keywords, key, key) for key, one in value.keywords.items()}
            return functools.partial(function, *arguments, **named)
        return self.object(value, name)

    def _class(self, value: type, name: str) -> Any:
        if issubclass(value, (numpy.generic, Exception, Array)) or value in _SAFE_NUMPY:
            return value
        return self._builtin(value, name)

    def _builtin(self, value: Any, name: str) -> Any:
        if value is isinstance:
            return _is_instance
        if value in _SAFE_BUILTINS or (isinstance(value, type) and issubclass(value, Exception)):
            return value
        raise self._refuse(f"{name} is not known to be free of effects")

    def known_function(self, value: Any, name: str) -> Any:
        """Return what stands for a function of NumPy's.

        Raises
        ------
        CaptureRefused
            If it is not known to be free of effects.
        """
        return value if isinstance(value, numpy.ufunc) else self._callable(value, name)

    def _callable(self, value: Any, name: str) -> Any:
        found = library.stand_in(self, value, name) if type(value) is types.FunctionType else None
        if found is not None:
            return found
        try:
            handler = CREATION.get(value)
            if handler is not None:
                return functools.partial(_create, handler, self.recorder, value)
            if value in FUNCTION_HANDLERS or value in _SAFE_NUMPY:
                return value
        except TypeError:  # it has no hash
            raise self._refuse(f"{name} is not known to be free of effects") from None
        if not isinstance(value, (types.FunctionType, types.MethodType)):
            return self._builtin(value, name)
        module = str(getattr(value, "__module__", None))
        if module.split(".")[0] in _LIBRARIES:
            raise self._refuse(f"{name} is not known to be free of effects ({module}.{value.__name__})")
        return self.function(value)

    def _operator(self, operator: Operator, name: str) -> Any:
        if operator.builtin and not (operator.random or operator.auxiliary or operator.uses_training):
            return operator
        if operator.builtin:
            found = library.stand_in(self, Operator, name)
            if found is not None:
                return functools.partial(found, operator)
            raise self._refuse(f"{name} draws numbers, has states, or acts as in training")
        if operator.kind != "numpy" or operator.is_method or operator.visible_outputs is not None:
            raise self._refuse(f"{name} is an operator of a user that is not followed")
        inner = self.function(operator.forward)
        return functools.partial(_call_inner, operator, inner)

    def _container(self, value: Any, name: str) -> Any:
        if isinstance(value, slice):
            parts = (value.start, value.stop, value.step)
            return slice(*(self.value(one, None, None, None, name) for one in parts))
        if type(value) is tuple and all(isinstance(one, PLAIN) for one in leaves_of(value)):
            return value
        if len(value) > _LARGE:
            raise self._refuse(f"{name} is a {type(value).__name__} of {len(value)} values, too many to compare")
        if isinstance(value, dict):
            self._note(keys, value, None, tuple(value), name)
            made = {key: self.value(one, item, value, key, f"{name}[{key!r}]") for key, one in value.items()}
            return DictProxy(self, made)
        self._note(length, value, None, len(value), name)
        parts = tuple(self.value(one, item, value, index, f"{name}[{index}]") for index, one in enumerate(value))
        return ListProxy(self, parts) if isinstance(value, list) else parts

    def object(self, value: Any, name: str = "self") -> Any:
        """Return the shadow of an instance, of which attributes may be read."""
        cls = type(value)
        if isinstance(value, (Array, numpy.ndarray)):
            raise self._refuse(f"{name} is a {cls.__name__}")
        heap = cls.__flags__ & (1 << 9) or cls is types.SimpleNamespace
        if not heap or cls.__getattribute__ not in (object.__getattribute__, types.SimpleNamespace.__getattribute__):
            raise self._refuse(f"{name} is a {cls.__name__}, which is not known to be free of effects")
        if hasattr(cls, "__getattr__"):
            raise self._refuse(f"{name} is a {cls.__name__}, which computes its attributes")
        return ObjectProxy(self, value, name)

    def attribute_of(self, owner: Any, shadow: ObjectProxy, name: str, path: str) -> Any:
        """Return what stands for an attribute of an instance."""
        found = inspect.getattr_static(owner, name, None)
        if name not in getattr(owner, "__dict__", {}):
            if isinstance(found, types.FunctionType):
                self._note(attribute, type(owner), name, found)
                return functools.partial(self.function(found), shadow)
            if isinstance(found, staticmethod):
                self._note(attribute, type(owner), name, found.__func__)
                return self._callable(found.__func__, path)
            if isinstance(found, property) and found.fget is not None:
                self._note(attribute, type(owner), name, found)
                return self.function(found.fget)(shadow)
            if hasattr(type(found), "__get__") and not isinstance(found, types.MemberDescriptorType):
                raise self._refuse(f"{path} is a {type(found).__name__}")
        try:
            value = getattr(owner, name)
        except AttributeError:
            raise self._refuse(f"{path} is not there") from None
        return self.value(value, attribute, owner, name, path)

    def member_of(self, module: types.ModuleType, name: str, path: str) -> Any:
        """Return what stands for a member of a module."""
        if not _is_known(module):
            raise self._refuse(f"{path} is not known to be free of effects")
        try:
            value = getattr(module, name)
        except AttributeError:
            raise self._refuse(f"{path} is not there") from None
        if type(value) in (types.ModuleType, LateNamespace) and not _is_known(value):
            raise self._refuse(f"{path} is not known to be free of effects")
        return self.value(value, attribute, module, name, path)

    def _import(self, name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
        """Answer `import` inside a function: modules that are known, and there already."""
        if level or name not in _MODULES:
            raise self._refuse(f"it imports {name}")
        module = builtins.__import__(name, fromlist=["__name__"] if fromlist else [])
        return ModuleProxy(self, module, module.__name__)


def _create(handler: Any, recorder: Recorder, function: Any, *arguments: Any, **keywords: Any) -> Any:
    """Call a function of NumPy that makes arrays: of numbers that change, of what they are."""
    return handler(recorder, function, *pinned(arguments), **pinned(keywords))


def _is_known(module: types.ModuleType) -> bool:
    """Tell whether a module is of those that are known, or one of a user's: whose functions are read, too."""
    top = module.__name__.split(".")[0]
    return (
        module.__name__ in _MODULES
        or module.__name__ in library.MODULES
        or (top not in sys.stdlib_module_names and top not in _LIBRARIES)
    )


def _is_filled(one: types.CellType) -> bool:
    try:
        one.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def _is_numpy(value: Any) -> bool:
    return callable(value) and str(getattr(value, "__module__", "")).split(".")[0] in ("numpy", "scipy")


def _is_instance(value: Any, kinds: Any) -> bool:
    if isinstance(value, ObjectProxy):
        return isinstance(object.__getattribute__(value, "_owner"), kinds)
    if isinstance(value, ScalarProxy):
        return isinstance(value.value, kinds)
    if isinstance(value, Traced):
        front = value.front or value.recorder.front
        return issubclass(front or (value.dtype.type if value.scalar else numpy.ndarray), kinds)
    if hasattr(type(value), "inner"):  # in an NDArray's place
        return issubclass(FRONT_ENDS["mxnet"], kinds)
    return isinstance(value, kinds)


def _call_inner(operator: Operator, inner: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
    """Call a user's operator inside another one: its forward function, on arrays that it may not write to."""

    def given(value: Any) -> Any:
        if not isinstance(value, Traced):
            return value
        return value.recorder.stand_in.given(value.recorder, value.value, value.shape, value.dtype)

    answer = inner(*map(given, arguments), **{key: given(one) for key, one in keywords.items()})
    return tuple(answer) if isinstance(answer, list) else answer
