"""Does a custom operator's method keep or change an array that it is shown? Its call is captured on proxies to tell.

A method that runs to its end on proxies has done nothing but compute: whatever acts outside, or could, ends a capture.
So arrays may be lent to it, as long as all that it read is what it was.
"""

from __future__ import annotations

import builtins
import functools
import weakref
from collections.abc import Callable, Sequence
from types import BuiltinFunctionType, CellType, FunctionType, ModuleType
from typing import Any, NoReturn

import numpy

from minpy.capture.foreign import ListProxy, ModuleProxy, ObjectProxy
from minpy.capture.nd_proxy import NDArrayProxy, wrapped
from minpy.capture.noting import as_array, operand
from minpy.capture.places import CaptureRefused
from minpy.capture.proxy import ArrayProxy
from minpy.capture.reads import item, missing
from minpy.capture.recorder import Recorder
from minpy.capture.shadow import ShadowFunctions
from minpy.capture.tracer import run_traced
from minpy.capture.values import Traced
from minpy.core.operator import Operator
from minpy.core.switches import is_np_shape
from minpy.custom.buffers import Buffer, Undeclared
from minpy.graph.builder import GraphBuilder
from minpy.graph.ir import variable
from minpy.ndarray.creation import array as make_array
from minpy.ops.registry import OPERATORS

__all__ = ["MethodCapture", "capture_method", "find_member"]

ABSENT = object()
# More steps than these are a loop over rows, which copies slow down less than captures would.
_LIMIT = 500
_BUILTINS: Any = vars(builtins)
# The kinds of steps that give the same for any order of memory.
_ANY_LAYOUT = frozenset(("elementwise", "view"))
# What looking for something raises that is not there any more: a name, the contents of a cell, a function's code.
_GONE = "(KeyError, IndexError, ValueError, AttributeError, TypeError)"
# What may be read, by its exact class: nothing can be hidden in it, and nobody can change it.
_SCALAR_TYPES = frozenset(kind for kind in numpy.sctypeDict.values() if issubclass(kind, (numpy.number, numpy.bool_)))
_CONSTANT_TYPES = frozenset((int, float, complex, bool, str, bytes, type(None), type(Ellipsis))) | _SCALAR_TYPES
_CALLABLE_TYPES = frozenset((FunctionType, BuiltinFunctionType, type(numpy.max)))


class MethodCapture:
    """What a captured method read: as long as it is the same, the method does what the capture has seen.

    What is read is found from the function and the object of each call, so that a capture is good for every instance,
    and for functions that are made anew from the same code.

    Attributes
    ----------
    is_valid : function
        Tells of a method that has the captured one's code whether it finds what that one found. Its arguments are the
        function, the dictionary of the object that it is bound to, and the classes of that in the order of look-up.
    code : code
        The method's.
    any_layout : bool
        Whether the method computes element by element only, so that it gives the same however arrays lie in memory.
    """

    is_valid: Callable[[FunctionType, dict[str, Any], Sequence[type]], bool]

    def __init__(self, op: Any, function: FunctionType, recorder: Recorder) -> None:
        self._op, self._function, self._recorder = op, function, recorder
        self.code = function.__code__
        self.any_layout = False
        # Source for the functions' globals and cells, which are not held: they may refer to the functions.
        self._places: dict[int, str] = {}
        self._place(function, "function")
        # Source of expressions that are true as long as what was read is the same, and the values in them.
        self._checks: dict[str, None] = {}
        self._values: dict[str, Any] = {"ABSENT": ABSENT, "find_member": find_member, "is_same": _is_same}
        self._check(f"type(function.__globals__) is {self._name(dict)}")
        self._check(f"function.__builtins__ is {self._name(_BUILTINS)}")
        self._check(f"{self._name(is_np_shape)}() is {is_np_shape()}")

    def close(self) -> None:
        """Compile the checks, and forget the call that was captured."""
        checks = " and ".join(self._checks)
        source = f"def is_valid(function, own, classes):\n try: return {checks}\n except {_GONE}: return False"
        exec(source, self._values)
        self.is_valid = self._values.pop("is_valid")
        self.any_layout = _ANY_LAYOUT.issuperset(self._recorder.kinds.values())
        del self._op, self._function, self._recorder

    def _place(self, function: FunctionType, source: str) -> None:
        self._places.setdefault(id(function.__globals__), f"{source}.__globals__")
        for index, cell in enumerate(function.__closure__ or ()):
            self._places.setdefault(id(cell), f"{source}.__closure__[{index}]")

    def _name(self, value: Any) -> str:
        """Return a name for a value in the source of checks."""
        name = f"value_{id(value)}"
        self._values[name] = value
        return name

    def _check(self, expression: str) -> None:
        self._checks[expression] = None

    def _check_value(self, expression: str, value: Any) -> None:
        """Check that an expression gives a value again: that object, or a constant that is equal."""
        if type(value) is FunctionType:  # held weakly: it may refer to the captured one
            self._check(f"{expression} is {self._name(weakref.ref(value))}()")
        elif type(value) in _CONSTANT_TYPES or type(value) is tuple:
            self._check(f"((found := {expression}) is {self._name(value)} or is_same(found, {self._name(value)}))")
        else:
            self._check(f"{expression} is {self._name(value)}")

    # -- what a capture notes, in the words of `Reads` -----------------------------------------------------------------

    def note(self, _: str, fetch: Any, container: Any, key: Any, value: Any) -> None:
        """Note a read; refuse one that could not be told again."""
        if container is self._op:
            self._note_attribute(key, value)
        elif container is type(self._op):
            self._note_member_of_class(key)
        elif fetch in (item, missing) and type(container) is dict and id(container) in self._places:
            scope = self._places[id(container)]
            if fetch is item:
                self._check_value(f"{scope}[{key!r}]", value)
            else:
                self._check(f"{key!r} not in {scope}")
                self._check_value(f"{self._name(_BUILTINS)}[{key!r}]", _BUILTINS[key])
                if key == "isinstance":
                    self._check(f"classes[0] is {self._name(weakref.ref(type(self._op)))}()")
        elif fetch is item and type(container) is tuple:
            return  # a default: the function is compared with all of its own
        elif isinstance(container, ModuleType):
            self._note_member(container, key, value)
        elif type(container) is CellType and id(container) in self._places:
            self._check_value(f"{self._places[id(container)]}.cell_contents", value)
        elif type(container) is FunctionType and key in ("__code__", "__defaults__"):
            self._note_function(container)
        else:
            raise self._recorder.refuse(f"it reads a {type(container).__name__}")

    def array(self, *_: Any) -> NoReturn:
        """Refuse an array that a method finds outside: whether two of them are one is not compared."""
        raise self._recorder.refuse("it reads an array that it was not given")

    def _note_attribute(self, name: str, value: Any) -> None:
        member = find_member(type(self._op).__mro__, name)
        if name in vars(self._op) and member is ABSENT:
            self._check_value(f"own[{name!r}]", value)
            self._check(f"find_member(classes, {name!r}) is ABSENT")
        elif name not in vars(self._op) and member is value:
            self._note_member_of_class(name)
        else:
            raise self._recorder.refuse(f"self.{name} is computed")

    def _note_member_of_class(self, name: str) -> None:
        self._check(f"{name!r} not in own")
        self._check_value(f"find_member(classes, {name!r})", find_member(type(self._op).__mro__, name))

    def _note_member(self, module: ModuleType, name: str, value: Any) -> None:
        kind: Any = type(module)
        if kind.__getattribute__ is not ModuleType.__getattribute__ or name not in vars(module) or hasattr(kind, name):
            raise self._recorder.refuse(f"{module.__name__}.{name} is computed")
        self._check(f"type({self._name(module)}) is {self._name(kind)}")
        self._check_value(f"{self._name(vars(module))}[{name!r}]", value)

    def _note_function(self, function: FunctionType) -> None:
        known_builtins = function.__builtins__ is _BUILTINS  # type: ignore[attr-defined]
        if type(function.__globals__) is not dict or function.__kwdefaults__ or not known_builtins:
            raise self._recorder.refuse(f"{function.__name__} has globals or defaults that are not compared")
        if function is not self._function:
            held = f"{self._name(weakref.ref(function))}()"
            self._check(f"{held}.__code__ is {self._name(function.__code__)}")
            self._check(f"{held}.__defaults__ is {self._name(function.__defaults__)}")
            self._place(function, held)


def find_member(classes: Sequence[type], name: str) -> Any:
    """Return what the first of some classes that has a name has under it, or ABSENT."""
    for cls in classes:
        if name in cls.__dict__:
            return cls.__dict__[name]
    return ABSENT


def _is_same(found: Any, expected: Any) -> bool:
    """Compare constants by value, -0.0 and nan told apart."""
    if type(found) is not type(expected):
        return False
    if type(found) is tuple:
        return len(found) == len(expected) and all(map(_is_same, found, expected))
    if found != expected and found == found:
        return False
    return type(found) in _CONSTANT_TYPES and repr(found) == repr(expected)


# -- a call on proxies -------------------------------------------------------------------------------------------------


class LentProxy(ArrayProxy):
    """Stands for an array that may come to share its memory: from then on nothing is written to that."""

    __slots__ = ()

    def share(self) -> Any:
        """Return the array once more, in the same memory, which nothing may be written to any more."""
        array = as_array(self.recorder, self) if self.scalar else self
        array.memory.own = False
        return array[...]

    def asnumpy(self) -> Any:
        """Return the array that an NDArray is made of."""
        return self.share()


class _UnreadProxy(LentProxy):
    """Stands for an array of which a method may read shape and dtype."""

    __slots__ = ()

    def require_current(self) -> None:
        raise self.recorder.refuse("it reads a buffer that is there to be written, or what is not declared")


class _BufferProxy(NDArrayProxy):
    """Stands for a buffer that a method fills."""

    __slots__ = ("is_assigned",)

    def __init__(self, inner: ArrayProxy) -> None:
        super().__init__(inner)
        self.is_assigned = False

    def __setitem__(self, index: Any, value: Any) -> None:
        refuse = self.inner.recorder.refuse
        if self.is_assigned:
            raise refuse("it writes to a buffer whose memory may be another array's, too")
        parts = index if type(index) is tuple else (index,)
        if not all(part is Ellipsis or type(part) in (int, slice) for part in parts):
            raise refuse("it writes to chosen elements of a buffer")
        _require_readable(self.inner.recorder, value)


class _SelfProxy(ObjectProxy):
    """Stands for the operator object: its attributes may be read, and `assign` called."""

    __slots__ = ()

    def __getattribute__(self, name: str) -> Any:
        shadow, owner = object.__getattribute__(self, "_shadow"), object.__getattribute__(self, "_owner")
        if name == "assign":
            return functools.partial(_assign, shadow.recorder)
        if name in vars(owner) and find_member(type(owner).__mro__, name) is not ABSENT:
            raise shadow.recorder.refuse(f"self.{name} is an attribute of the object and of its class")
        return shadow.attribute_of(owner, self, name, f"self.{name}")


class _MethodShadows(ShadowFunctions):
    """The functions of a capture: fewer values may be read than elsewhere, as each is compared at every call."""

    def value(self, value: Any, fetch: Any, container: Any, key: Any, name: str) -> Any:
        if not _is_admitted(value):
            raise self.recorder.refuse(f"{name} is a {type(value).__name__}, which is not compared")
        if value is make_array:
            self.captures.note(self.part, fetch, container, key, value)
            return functools.partial(_array, self.recorder)
        return super().value(value, fetch, container, key, name)

    def _import(self, name: str, *_: Any, **__: Any) -> NoReturn:
        raise self.recorder.refuse(f"it imports {name}")


def capture_method(op: Any, function: FunctionType, arguments: Sequence[Any]) -> MethodCapture | None:
    """Return what a method of an operator reads outside, if it provably keeps and changes nothing; else None.

    Parameters
    ----------
    op : CustomOp
        The object that it is bound to.
    function : function
        The method, as the object's class has it.
    arguments : sequence
        What it is called with, after `self`: flags, and lists of requests, NDArrays and buffers.
    """
    recorder = Recorder(GraphBuilder(), function.__name__, LentProxy, _LIMIT)
    capture = MethodCapture(op, function, recorder)
    shadows = _MethodShadows(recorder, capture, "forward", wrapped)  # type: ignore[arg-type]
    try:
        run_traced(recorder, _run_on_proxies, shadows, op, function, arguments)
    except CaptureRefused:
        return None
    finally:
        shadows.close()
        capture.close()
    return capture


def _run_on_proxies(shadows: ShadowFunctions, op: Any, function: FunctionType, arguments: Sequence[Any]) -> None:
    shadows.object(op)  # it refuses classes that compute attributes
    shadow = shadows.function(function)
    proxies = []
    for argument in arguments:
        if isinstance(argument, list):
            argument = ListProxy(shadows, [_proxy_of(shadows.recorder, value) for value in argument])
        proxies.append(argument)
    shadow(_SelfProxy(shadows, op, "self"), *proxies)


def _proxy_of(recorder: Recorder, value: Any) -> Any:
    if isinstance(value, str):
        return value
    if type(value) is Undeclared:
        return NDArrayProxy(_UnreadProxy.given(recorder, variable("undeclared"), (), numpy.float32))
    if type(value) is Buffer:
        return _BufferProxy(_UnreadProxy.given(recorder, variable("buffer"), value.shape, value._dtype))
    return NDArrayProxy(LentProxy.given(recorder, variable("array"), value._data.shape, value._data.dtype))


def _is_admitted(value: Any) -> bool:
    """Tell whether a method may read a value outside: whether that can be compared, and hides nothing."""
    kind = type(value)
    if kind in _CONSTANT_TYPES or isinstance(value, (Traced, ObjectProxy, ModuleProxy)):
        return True
    if kind is tuple:
        return all(type(part) in _CONSTANT_TYPES for part in value)
    if kind is type:
        return value in _SCALAR_TYPES or value is numpy.ndarray or _BUILTINS.get(value.__name__) is value
    if kind is numpy.ufunc:
        return not all("O" in loop for loop in value.types)  # those of `numpy.frompyfunc` run anything
    if kind in _CALLABLE_TYPES:
        return kind is not FunctionType or value.__module__ not in ("math", "cmath")
    return isinstance(value, ModuleType) or (isinstance(value, Operator) and OPERATORS.get(value.__name__) is value)


def _require_readable(recorder: Recorder, value: Any) -> None:
    """Refuse what is no array or number: a buffer, or an object that computes its elements."""
    if isinstance(value, NDArrayProxy):
        value = value.inner
    if isinstance(value, Traced):
        value.value  # noqa: B018 - a view of what has been changed is read anew, or refused
    elif type(value) not in _CONSTANT_TYPES and type(value) is not numpy.ndarray:
        raise recorder.refuse(f"it assigns a {type(value).__name__}")


def _assign(recorder: Recorder, dst: Any, req: Any, src: Any) -> None:
    """Answer `self.assign`: the memory of an NDArray may become the buffer's."""
    if type(dst) is not _BufferProxy:
        raise recorder.refuse("it assigns to what is no output")
    _require_readable(recorder, src)
    dst.is_assigned = True
    if isinstance(src, NDArrayProxy):
        src.inner.memory.own = False


def _array(recorder: Recorder, source_array: Any, ctx: None = None, dtype: Any = None) -> NDArrayProxy:
    """Answer `nd.array`, which may share the memory of an array of NumPy's."""
    if ctx is not None:
        raise recorder.refuse("it makes an array on a device")
    _require_readable(recorder, source_array)
    if isinstance(source_array, NDArrayProxy):
        source_array = source_array.inner
        dtype = source_array.dtype if dtype is None else dtype
    source = operand(recorder, numpy.asarray(source_array) if not isinstance(source_array, Traced) else source_array)
    source = as_array(recorder, source) if source.scalar else source
    return NDArrayProxy(source.astype(numpy.float32 if dtype is None else dtype, copy=False).share())
