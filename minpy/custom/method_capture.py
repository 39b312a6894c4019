"""Tells whether a custom operator's method keeps or changes the arrays it gets, by capturing its call on proxies.

A method that runs to its end on proxies has done nothing but compute: whatever acts outside, or could, ends a capture.
So arrays may be lent to it, as long as all that it read is what it was.
"""

from __future__ import annotations

import builtins
import weakref
from collections.abc import Callable, Sequence
from types import CellType, FunctionType, ModuleType
from typing import Any, NoReturn

import numpy

from minpy.capture.allowed import MODULE_TYPES
from minpy.capture.captured_run import run_captured
from minpy.capture.foreign import ListProxy
from minpy.capture.guard_sources import ABSENT, class_of, contents, is_constant, member, module_member, own_value
from minpy.capture.nd_proxy import NDArrayProxy, wrapped
from minpy.capture.noting import as_array, operand
from minpy.capture.places import CaptureRefused
from minpy.capture.proxy import ArrayProxy
from minpy.capture.reads import attribute, item, missing, same_value
from minpy.capture.recorder import Recorder, has_handlers
from minpy.capture.shadow import ShadowFunctions
from minpy.capture.values import OUTSIDE, BaseArrayProxy
from minpy.core.numpy_semantics import is_np_shape
from minpy.core.operator import Operator
from minpy.custom.output_buffers import Buffer, Undeclared
from minpy.graph.builder import GraphBuilder
from minpy.graph.ir import variable
from minpy.late import dict_of
from minpy.ndarray.creation import array as make_array
from minpy.ops.registry import OPERATORS

__all__ = ["MethodCapture", "capture_method"]

# More steps than these are a loop over rows, which copies slow down less than captures would.
_LIMIT = 500
_BUILTINS: Any = vars(builtins)
# Built-in functions that may reveal the class of an object.
_CLASS_QUERIES = frozenset(("isinstance", "issubclass", "super", "type"))
# The kinds of steps that give the same for any order of memory.
_ANY_LAYOUT = frozenset(("elementwise", "view"))
# What is raised where a name, the contents of a cell or a function's code is gone.
_GONE = "(KeyError, IndexError, ValueError, AttributeError, TypeError)"


class MethodCapture:
    """What a captured method read: as long as it is the same, the method does what the capture has seen.

    What is read is found from the function and the object of each call, so that a capture is good for every instance,
    and for functions that are made anew from the same code.
    """

    # Tells of a method that has the captured one's code whether it finds what that one found. Its arguments are the
    # function, the object that it is bound to, and the dictionary of that.
    is_valid: Callable[[FunctionType, Any, dict[str, Any]], bool]

    def __init__(self, op: Any, function: FunctionType, recorder: Recorder) -> None:
        self._op, self._function, self._recorder = op, function, recorder
        self.code = function.__code__
        # Whether the method computes element by element only, so that it gives the same however arrays lie in memory.
        self.any_layout = False
        # Source of expressions that are true as long as what was read is the same, and the values in them.
        self._checks: dict[str, None] = {}
        self._values: dict[str, Any] = {"ABSENT": ABSENT, "member": member, "same_value": same_value}
        # Source for the functions' globals and cells, which are not held: they may refer to the functions.
        self._places: dict[int, str] = {}
        self._place(function, "function")
        self._check(f"type(function.__globals__) is {self._name(dict)}")
        self._check(f"function.__builtins__ is {self._name(_BUILTINS)}")
        self._check(f"{self._name(is_np_shape)}() is {is_np_shape()}")

    def close(self) -> None:
        """Compile the checks, and forget the call that was captured."""
        checks = " and ".join(self._checks)
        source = f"def is_valid(function, op, own):\n try: return {checks}\n except {_GONE}: return False"
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

    def _held(self, value: Any) -> str:
        """Return source for a value, which is held weakly where that can be: it may refer to the captured function."""
        if value is self._op or value is ABSENT:
            return "ABSENT" if value is ABSENT else "op"
        if isinstance(value, (ModuleType, type, numpy.ufunc)) or value is make_array:
            return self._name(value)
        try:
            return f"{self._name(weakref.ref(value))}()"
        except TypeError:
            return self._name(value)

    def _check(self, expression: str) -> None:
        self._checks[expression] = None

    def _check_value(self, expression: str, value: Any) -> None:
        """Check that an expression gives a value again: that object, or a constant that is equal."""
        if type(value) is tuple or (is_constant(value) and value is not None and type(value) is not bool):
            name = self._name(value)
            self._check(f"((found := {expression}) is {name} or same_value(found, {name}))")
            return
        held = self._held(value)
        self._check(f"{expression} is {held}{' is not None' if held.endswith('()') else ''}")

    # -- what a capture notes, in the words of `Reads` -----------------------------------------------------------------

    def note(
        self, _: str, source: Any, container: Any, key: Any, value: Any, path: str = "", place: Any = None
    ) -> None:
        """Note a read."""
        if isinstance(value, Operator) and OPERATORS.get(value.__name__) is not value:
            raise self._recorder.refuse(f"it calls {path}, an operator of a user", place)
        if source in (item, missing) and id(container) in self._places:
            scope = self._places[id(container)]
            if source is missing:
                self._check(f"{key!r} not in {scope}")
            else:
                self._check_value(f"{scope}[{key!r}]", value)
        elif source is contents and type(container) is CellType and id(container) in self._places:
            if value is ABSENT:
                raise self._recorder.refuse(f"{path} is not defined yet", place)
            self._check_value(f"{self._places[id(container)]}.cell_contents", value)
        elif container is builtins and source is module_member:
            self._check_value(f"{self._name(_BUILTINS)}.get({key!r}, ABSENT)", value)
            if key in _CLASS_QUERIES:
                self._check_value("type(op)", type(self._op))
        elif source is attribute and isinstance(container, ModuleType):
            self._note_member(container, key, value)
        elif source is attribute and type(container) is FunctionType:
            self._note_function(container, key, value)
        elif container is self._op and (source is class_of or key == "assign"):
            return  # what is looked up in the class is compared; `assign` was found where it is expected
        elif source is own_value and container is self._op:
            self._check_value(f"own.get({key!r}, ABSENT)", value)
        elif source is member and container is type(self._op):
            if key == "assign":
                return
            self._check_value(f"member(type(op), {key!r})", value)
        elif source is not item or type(container) is not tuple:  # of a tuple nothing changes
            self._check_value(f"{self._name(source)}({self._held(container)}, {self._name(key)})", value)

    def array(self, *_: Any) -> NoReturn:
        """Refuse an array that a method finds outside: it would be lent, too, for as long as its owner likes."""
        raise self._recorder.refuse("it reads an array that it was not given")

    def _note_member(self, module: ModuleType, name: str, value: Any) -> None:
        members = dict_of(module)
        if type(module) not in MODULE_TYPES or name not in members:
            raise self._recorder.refuse(f"{module.__name__}.{name} is computed")
        self._check(f"type({self._name(module)}) in {self._name(MODULE_TYPES)}")  # all that is late may have come
        self._check_value(f"{self._name(members)}[{name!r}]", value)

    def _note_function(self, function: FunctionType, name: str, value: Any) -> None:
        builtins_of: Any = getattr(function, "__builtins__", None)
        if builtins_of is not _BUILTINS or type(function.__globals__) is not dict:
            raise self._recorder.refuse(f"{function.__name__} has globals that are not compared")
        if function is not self._function:
            held = self._held(function)
            self._place(function, held)
            if name == "__closure__":  # it never changes
                return
            self._check(f"{held}.{name} is {self._name(value)}")


# -- a call on proxies -------------------------------------------------------------------------------------------------


class LentProxy(ArrayProxy):
    """The proxy of an array that may come to share its memory: from then on nothing is written to that."""

    __slots__ = ()

    def share(self) -> Any:
        """Return the array once more, in the same memory, which nothing may be written to any more."""
        array = as_array(self.recorder, self) if self.scalar else self
        array.storage.origin = OUTSIDE
        return array[...]

    def asnumpy(self) -> Any:
        """Return the array that an NDArray is made of."""
        return self.share()


class _UnreadProxy(LentProxy):
    """The proxy of an array of which a method may read shape and dtype."""

    __slots__ = ()

    def _refresh(self) -> NoReturn:
        raise self.recorder.refuse("it reads a buffer that is there to be written, or what is not declared")


class _BufferProxy(NDArrayProxy):
    """The proxy of a buffer that a method fills."""

    __slots__ = ("is_assigned",)

    def __init__(self, inner: ArrayProxy) -> None:
        super().__init__(inner)
        object.__setattr__(self, "is_assigned", False)

    def __setitem__(self, index: Any, value: Any) -> None:
        if self.is_assigned:
            raise self.recorder.refuse("it writes to a buffer whose memory may be another array's, too")
        parts = index if type(index) is tuple else (index,)
        if not all(part is Ellipsis or type(part) in (int, slice) for part in parts):
            raise self.recorder.refuse("it writes to chosen elements of a buffer")
        _require_readable(self.recorder, value)


def capture_method(op: Any, function: FunctionType, assign: Any, arguments: Sequence[Any]) -> MethodCapture | None:
    """Return what a method of an operator reads outside, if it provably keeps and changes nothing; else None.

    `function`: the method, as the class of `op` has it. `assign`: `CustomOp.assign`, which is known. `arguments`: what
    it is called with, after `self`: flags, and lists of requests, NDArrays and buffers.
    """
    recorder = Recorder(GraphBuilder(), function.__name__, LentProxy, _LIMIT)
    capture = MethodCapture(op, function, recorder)
    shadows = ShadowFunctions(recorder, capture, "forward", wrapped)  # type: ignore[arg-type]
    shadows.proxies[id(make_array)] = make_array, lambda *values, **named: _array(recorder, *values, **named)
    shadows.proxies[id(assign)] = assign, _assign
    try:
        run_captured(recorder, _run_on_proxies, shadows, op, function, arguments)
    except CaptureRefused:
        return None
    finally:
        recorder.failed = True  # whatever it stored has been looked at
        shadows.close()
        recorder.ended = True
        capture.close()
    return capture


def _run_on_proxies(shadows: ShadowFunctions, op: Any, function: FunctionType, arguments: Sequence[Any]) -> None:
    recorder = shadows.recorder
    values = [shadows.shadow_of(op, "self")]
    for argument in arguments:
        if isinstance(argument, list):
            argument = shadows.watched(ListProxy(shadows, [_proxy_of(recorder, value) for value in argument]))
        values.append(argument)
    shadows.run(shadows.function(function), values, {})
    if any(map(has_handlers, recorder.codes)):  # of errors that arrays raise and proxies do not
        raise recorder.refuse("it has a try or with statement")


def _proxy_of(recorder: Recorder, value: Any) -> Any:
    if isinstance(value, str):
        return value
    if type(value) is Undeclared:
        return NDArrayProxy(_UnreadProxy.from_outside(recorder, variable("undeclared"), (), numpy.float32))
    if type(value) is Buffer:
        return _BufferProxy(_UnreadProxy.from_outside(recorder, variable("buffer"), value.shape, value.final_dtype))
    return NDArrayProxy(LentProxy.from_outside(recorder, variable("array"), value._data.shape, value._data.dtype))


def _require_readable(recorder: Recorder, value: Any) -> None:
    """Refuse what is no array or number: a buffer, or an object that computes its elements."""
    inner = value.inner if isinstance(value, NDArrayProxy) else value
    if isinstance(inner, BaseArrayProxy):
        inner.value  # noqa: B018
    elif not is_constant(inner) and type(inner) is not numpy.ndarray:
        raise recorder.refuse(f"it assigns a {type(value).__name__}")


def _assign(op: Any, dst: Any, req: Any, src: Any) -> None:
    """Handle `self.assign`: the memory of an NDArray may become the buffer's."""
    recorder = op.__shadow__.recorder
    if type(dst) is not _BufferProxy:
        raise recorder.refuse("it assigns to what is no output")
    _require_readable(recorder, src)
    object.__setattr__(dst, "is_assigned", True)
    if isinstance(src, NDArrayProxy):
        src.inner.storage.origin = OUTSIDE


def _array(recorder: Recorder, source_array: Any, ctx: None = None, dtype: Any = None) -> NDArrayProxy:
    """Handle `nd.array`, which may share the memory of an array of NumPy's."""
    if ctx is not None:
        raise recorder.refuse("it makes an array on a device")
    _require_readable(recorder, source_array)
    if isinstance(source_array, NDArrayProxy):
        source_array = source_array.inner
        dtype = source_array.dtype if dtype is None else dtype
    source = operand(
        recorder, source_array if isinstance(source_array, BaseArrayProxy) else numpy.asarray(source_array)
    )
    source = as_array(recorder, source) if source.scalar else source
    return NDArrayProxy(source.astype(numpy.float32 if dtype is None else dtype, copy=False).share())
