"""Tells whether a custom operator's method keeps or changes its arrays, by capturing a call of it on proxies.

A method that runs to its end on proxies has no side effects: anything that has, or could have, ends the capture. So
arrays may be lent to it, as long as all values that it read are unchanged.
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

# With more steps it is a loop over rows, which captures would slow down more than copies.
_MAX_STEPS = 500
_BUILTINS: Any = vars(builtins)
# Built-in functions that may reveal the class of an object.
_CLASS_QUERIES = frozenset(("isinstance", "issubclass", "super", "type"))
# The kinds of steps that give the same for any order of memory.
_ANY_LAYOUT = frozenset(("elementwise", "view"))
# The errors of looking up a name, a cell's contents or a function's code that no longer exists.
_LOOKUP_ERRORS = "(KeyError, IndexError, ValueError, AttributeError, TypeError)"


class MethodCapture:
    """The reads of a captured method: as long as they give the same values, the method does the same.

    Reads are repeated from the function and the object of each call, so that a capture is valid for every instance,
    and for all functions of the same code.
    """

    # Tells whether the reads of a method with the captured one's code give the same values. Its arguments are the
    # function, the object that it is bound to, and that object's dictionary.
    is_valid: Callable[[FunctionType, Any, dict[str, Any]], bool]

    def __init__(self, op: Any, function: FunctionType, recorder: Recorder) -> None:
        self._op, self._function, self._recorder = op, function, recorder
        self.code = function.__code__
        # Whether the method only computes element by element, so that results do not depend on memory layouts.
        self.any_layout = False
        # Sources of expressions that are true as long as reads give the same values, and the values in them.
        self._checks: dict[str, None] = {}
        self._values: dict[str, Any] = {"ABSENT": ABSENT, "member": member, "same_value": same_value}
        # Source for the functions' globals and cells, which are not held: they may refer to the functions.
        self._scopes: dict[int, str] = {}
        self._add_scopes(function, "function")
        self._check(f"type(function.__globals__) is {self._name(dict)}")
        self._check(f"function.__builtins__ is {self._name(_BUILTINS)}")
        self._check(f"{self._name(is_np_shape)}() is {is_np_shape()}")

    def close(self) -> None:
        """Compile the checks, and forget the call that was captured."""
        checks = " and ".join(self._checks)
        source = f"def is_valid(function, op, own):\n try: return {checks}\n except {_LOOKUP_ERRORS}: return False"
        exec(source, self._values)
        self.is_valid = self._values.pop("is_valid")
        self.any_layout = _ANY_LAYOUT.issuperset(self._recorder.kinds.values())
        del self._op, self._function, self._recorder

    def _add_scopes(self, function: FunctionType, source: str) -> None:
        self._scopes.setdefault(id(function.__globals__), f"{source}.__globals__")
        for index, cell in enumerate(function.__closure__ or ()):
            self._scopes.setdefault(id(cell), f"{source}.__closure__[{index}]")

    def _name(self, value: Any) -> str:
        """Return a name for a value in the source of checks."""
        name = f"value_{id(value)}"
        self._values[name] = value
        return name

    def _reference(self, value: Any) -> str:
        """Return source for a value, by weak reference where possible: it may refer to the captured function."""
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
        """Check that an expression gives the same object, or an equal constant."""
        if type(value) is tuple or (is_constant(value) and value is not None and type(value) is not bool):
            name = self._name(value)
            self._check(f"((found := {expression}) is {name} or same_value(found, {name}))")
            return
        reference = self._reference(value)
        self._check(f"{expression} is {reference}{' is not None' if reference.endswith('()') else ''}")

    # -- the interface of `Reads` --------------------------------------------------------------------------------------

    def note(
        self, _: str, source: Any, container: Any, key: Any, value: Any, path: str = "", place: Any = None
    ) -> None:
        """Note a read."""
        if isinstance(value, Operator) and OPERATORS.get(value.__name__) is not value:
            raise self._recorder.refuse(f"it calls {path}, an operator of a user", place)
        if source in (item, missing) and id(container) in self._scopes:
            scope = self._scopes[id(container)]
            if source is missing:
                self._check(f"{key!r} not in {scope}")
            else:
                self._check_value(f"{scope}[{key!r}]", value)
        elif source is contents and type(container) is CellType and id(container) in self._scopes:
            if value is ABSENT:
                raise self._recorder.refuse(f"{path} is not defined yet", place)
            self._check_value(f"{self._scopes[id(container)]}.cell_contents", value)
        elif container is builtins and source is module_member:
            self._check_value(f"{self._name(_BUILTINS)}.get({key!r}, ABSENT)", value)
            if key in _CLASS_QUERIES:
                self._check_value("type(op)", type(self._op))
        elif source is attribute and isinstance(container, ModuleType):
            self._note_member(container, key, value)
        elif source is attribute and type(container) is FunctionType:
            self._note_function(container, key, value)
        elif container is self._op and (source is class_of or key == "assign"):
            return  # lookups in the class are compared, and `assign` is that of `CustomOp`
        elif source is own_value and container is self._op:
            self._check_value(f"own.get({key!r}, ABSENT)", value)
        elif source is member and container is type(self._op):
            if key == "assign":
                return
            self._check_value(f"member(type(op), {key!r})", value)
        elif source is not item or type(container) is not tuple:  # tuples do not change
            self._check_value(f"{self._name(source)}({self._reference(container)}, {self._name(key)})", value)

    def array(self, *_: Any) -> NoReturn:
        """Refuse an array from outside, which would be lent as well."""
        raise self._recorder.refuse("it reads an array that it was not given")

    def _note_member(self, module: ModuleType, name: str, value: Any) -> None:
        members = dict_of(module)
        if type(module) not in MODULE_TYPES or name not in members:
            raise self._recorder.refuse(f"{module.__name__}.{name} is computed")
        self._check(f"type({self._name(module)}) in {self._name(MODULE_TYPES)}")  # late names may be loaded by now
        self._check_value(f"{self._name(members)}[{name!r}]", value)

    def _note_function(self, function: FunctionType, name: str, value: Any) -> None:
        builtins_of: Any = getattr(function, "__builtins__", None)
        if builtins_of is not _BUILTINS or type(function.__globals__) is not dict:
            raise self._recorder.refuse(f"{function.__name__} has globals that are not compared")
        if function is not self._function:
            reference = self._reference(function)
            self._add_scopes(function, reference)
            if name == "__closure__":  # it never changes
                return
            self._check(f"{reference}.{name} is {self._name(value)}")


# -- a call on proxies -------------------------------------------------------------------------------------------------


class LentProxy(ArrayProxy):
    """The proxy of an array whose memory may become shared, and is read-only from then on."""

    __slots__ = ()

    def share(self) -> Any:
        """Return the array in the same memory, which becomes read-only."""
        array = as_array(self.recorder, self) if self.scalar else self
        array.storage.origin = OUTSIDE
        return array[...]

    def asnumpy(self) -> Any:
        """Return the NDArray's own array."""
        return self.share()


class _UnreadProxy(LentProxy):
    """The proxy of an array of which a method may read only shape and dtype."""

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
    """Return the capture of a method, if it provably keeps and changes none of its arguments; else None.

    `function`: the method in the class of `op`. `assign`: `CustomOp.assign`. `arguments`: those after `self`: flags,
    and lists of requests, NDArrays and buffers.
    """
    recorder = Recorder(GraphBuilder(), function.__name__, LentProxy, _MAX_STEPS)
    capture = MethodCapture(op, function, recorder)
    shadows = ShadowFunctions(recorder, capture, "forward", wrapped)  # type: ignore[arg-type]
    shadows.proxies[id(make_array)] = make_array, lambda *values, **named: _array(recorder, *values, **named)
    shadows.proxies[id(assign)] = assign, _assign
    try:
        run_captured(recorder, _run_on_proxies, shadows, op, function, arguments)
    except CaptureRefused:
        return None
    finally:
        recorder.failed = True  # all that it stored has been checked
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
    """Refuse anything but an array or number: a buffer, or an object that computes its elements."""
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
