"""`NDArrayProxy`, in an `NDArray`'s place while a function of kind 'mxnet' is captured: operators on it become nodes.

It has the methods of `NDArray` that are operators; these call the operators on it, and `dispatch` leads here.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy

from minpy.capture import own_functions
from minpy.capture.fronts import as_front
from minpy.capture.operator_calls import call_operator
from minpy.capture.proxy import ArrayProxy
from minpy.capture.proxy_attributes import watched
from minpy.capture.recorder import Recorder
from minpy.capture.scalars import ScalarProxy, pinned
from minpy.capture.storage import setitem, store
from minpy.capture.values import BaseArrayProxy
from minpy.core import dispatch
from minpy.core.array import FRONT_ENDS, Array
from minpy.core.numpy_semantics import is_np_shape
from minpy.differentiation.trees import map_tree
from minpy.ops.inference.reshaping import resolve_shape
from minpy.ops.linalg import dot as linear
from minpy.ops.registry import FUNCTIONS, OPERATORS
from minpy.ops.tensor import arithmetic, comparison

__all__ = ["NDArrayProxy", "unwrapped", "wrapped"]

# Members of `NDArray` that look at nothing but operators, beside those that are named like one.
_NAMES = (
    "T astype broadcast_like broadcast_to context copy ctx device expand_dims flatten reshape_like squeeze stype "
    "tostype transpose wait_to_read wait_to_write"
)
_MEMBERS = set(_NAMES.split())
# Those that ask for values, or change what a tape knows of an array.
ASKING = {"asnumpy", "asscalar", "attach_grad", "backward", "item", "tolist", "zero_grad"}


class NDArrayProxy:
    """A proxy with MXNet's semantics around one with NumPy's."""

    __slots__ = ("inner",)
    __hash__ = None  # type: ignore[assignment]

    def __new__(cls, inner: ArrayProxy) -> Any:
        return object.__new__(_WatchedNDArrayProxy if inner.recorder.watched and cls is NDArrayProxy else cls)

    def __init__(self, inner: ArrayProxy) -> None:
        object.__setattr__(self, "inner", inner)

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""
        return self.inner.shape

    @property
    def dtype(self) -> Any:
        """The NumPy scalar type of the elements."""
        return self.inner.dtype.type

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.inner.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.inner.size

    def __len__(self) -> int:
        return len(self.inner)

    def __iter__(self) -> Iterator[Any]:
        return (self[position] for position in range(len(self)))

    @property
    def recorder(self) -> Recorder:
        """What notes its steps."""
        return self.inner.recorder

    def __setattr__(self, name: str, value: Any) -> None:
        raise self.recorder.refuse(f"it sets the attribute {name!r} of an array")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name == "asnumpy" and hasattr(type(self.inner), name):  # where memory is lent
            return self.inner.asnumpy
        if name in ("asnumpy", "asscalar") and self.recorder.freezes:
            return getattr(self.inner, name)
        if name in ASKING:
            raise self.recorder.refuse(f"it asks for the values of an NDArray: {name}()")
        if name in OPERATORS or name in _MEMBERS:
            member = getattr(FRONT_ENDS["mxnet"], name, None)
            if isinstance(member, property) and member.fget is not None:
                return member.fget(self)
            if isinstance(member, types.FunctionType):
                return types.MethodType(member, self)
            if name in OPERATORS:
                return functools.partial(OPERATORS[name], self)
        if name == "grad":
            return getattr(self.inner, name)
        member = own_functions.member_of_array(self, name)
        if member is not None:
            return member
        raise self.recorder.refuse(f"an NDArray's attribute {name!r} cannot be captured")

    def _refuse_values(self, *_: Any) -> NoReturn:
        raise self.recorder.refuse("it asks for the values of an NDArray")

    __bool__ = __int__ = __float__ = __index__ = __array__ = __contains__ = __str__ = __format__ = _refuse_values

    def __repr__(self) -> str:
        recorder = self.recorder
        if recorder.shadowed and not recorder.ended and not recorder.freezes:
            raise recorder.refuse("it makes text of an array")
        return f"<NDArray proxy of {self.inner.dtype.name} {self.shape}>"

    # Functions of NumPy compute with the elements as NumPy does.

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return _wrapped_answer(getattr(ufunc, method)(*_unwrapped_nest(inputs), **_unwrapped_nest(options)))

    def __array_function__(self, function: Any, types: Any, arguments: Any, keywords: Any) -> Any:
        return _wrapped_answer(function(*_unwrapped_nest(arguments), **_unwrapped_nest(keywords)))

    def __neg__(self) -> Any:
        return OPERATORS["negative"](self)

    def __abs__(self) -> Any:
        return OPERATORS["abs"](self)

    def __pos__(self) -> NDArrayProxy:
        return self

    def __divmod__(self, divisor: Any) -> Any:
        return self // divisor, self % divisor

    def __rdivmod__(self, dividend: Any) -> Any:
        return dividend // self, dividend % self

    def reshape(self, *lengths: Any, shape: Any = None, reverse: bool = False) -> NDArrayProxy:
        """Return the array in another shape, with MXNet's codes."""
        if shape is None:
            shape = lengths[0] if len(lengths) == 1 and not isinstance(lengths[0], int) else lengths
        return NDArrayProxy(self.inner.reshape(resolve_shape(self.shape, tuple(shape), reverse)))

    def as_nd_ndarray(self) -> NDArrayProxy:
        """Return the array itself."""
        return self

    def as_np_ndarray(self) -> Any:
        """Return the same array with NumPy's semantics."""
        return as_front(self.recorder, self.inner, FRONT_ENDS["numpy"])

    def detach(self) -> NDArrayProxy:
        """Return the same array, through which no gradient flows."""
        return NDArrayProxy(self.inner.read_only(unwrapped(OPERATORS["BlockGrad"](self))))

    def as_in_context(self, context: Any) -> NDArrayProxy:
        """Return the array itself, on the device where it is."""
        return self.inner.on(context, self)

    as_in_ctx = to_device = as_in_context

    def copyto(self, target: Any) -> Any:
        """Store the elements into another array, and return that."""
        if not isinstance(target, NDArrayProxy) or target.shape != self.shape:
            raise self.recorder.refuse("it copies an NDArray to what is none of its shape")
        target[...] = self
        return target

    def __getitem__(self, index: Any) -> NDArrayProxy:
        index = self._key(index)
        parts = index if isinstance(index, tuple) else (index,)
        if Ellipsis not in [part if part is Ellipsis else None for part in parts] and all(map(_is_basic, parts)):
            index = (*parts, Ellipsis)
        item = self.inner[index]
        return NDArrayProxy(item if item.ndim or is_np_shape() else item.reshape((1,)))

    def __setitem__(self, index: Any, value: Any) -> None:
        index, value = self._key(index), unwrapped(value)
        setitem(
            self.inner, index, value.reshape(()) if isinstance(value, BaseArrayProxy) and value.size == 1 else value
        )

    def _key(self, index: Any) -> Any:
        """Return an index with proxies of NumPy's semantics; float arrays index by their integer values."""
        if isinstance(index, (tuple, list)):
            return type(index)(map(self._key, index))
        if isinstance(index, NDArrayProxy):
            return index.inner if index.inner.dtype.kind in "iub" else index.inner.astype(numpy.int64)
        return pinned(index)


def _is_basic(part: Any) -> bool:
    return part is None or part is Ellipsis or isinstance(part, (int, numpy.integer, slice))


def _unwrapped_nest(value: Any) -> Any:
    return map_tree(lambda leaf, _: leaf.inner if isinstance(leaf, NDArrayProxy) else leaf, value)


def _wrapped_answer(value: Any) -> Any:
    return map_tree(lambda leaf, _: NDArrayProxy(leaf) if isinstance(leaf, ArrayProxy) else leaf, value)


def wrapped(value: Any) -> Any:
    """Return a proxy, or a tuple of them, as functions of kind 'mxnet' take it."""
    if type(value) is tuple:
        return tuple(map(wrapped, value))
    return NDArrayProxy(value) if isinstance(value, ArrayProxy) else value


def unwrapped(value: Any) -> Any:
    """Return what such a function returned with proxies of NumPy's semantics."""
    if type(value) in (list, tuple):
        return tuple(map(unwrapped, value))
    return value.inner if isinstance(value, NDArrayProxy) else value


def _call_on_arrays(operator: Any, inputs: list[Any], attributes: dict[str, Any], name: str | None) -> Any:
    """Handle a call of an operator with such proxies among its inputs."""
    proxy = next(value for value in inputs if isinstance(value, NDArrayProxy))
    handler = own_functions.with_states(proxy.recorder, operator)
    if handler is not None:
        return handler(*inputs, **attributes)
    values = []
    for value in map(unwrapped, inputs):
        if isinstance(value, Array):
            value = value._data
        elif isinstance(value, numpy.generic):
            value = value.item()
        values.append(value)
    result = call_operator(operator, values, attributes, name, as_ndarrays=True)
    return [NDArrayProxy(output) for output in result] if isinstance(result, tuple) else NDArrayProxy(result)


def _arithmetic(operator: Any, x: Any, y: Any) -> Any:
    """Handle `x @ y` of which one is such a proxy: numbers keep the array's dtype."""
    array, operand = (x, y) if isinstance(x, NDArrayProxy) else (y, x)
    recorder, dtype = array.recorder, array.inner.dtype
    if isinstance(operand, ScalarProxy):
        operand = operand.met(dtype) if dtype.kind == "f" else operand.pin()
    elif isinstance(operand, (str, bytes, type(None), dict)):
        return NotImplemented
    if isinstance(operand, BaseArrayProxy) and operand.front is not None:  # NumPy's semantics win
        pair = [value.inner if value is array else value for value in (x, y)]
        return as_front(recorder, operator(*pair), operand.front)
    if isinstance(operand, (list, tuple)):
        raise recorder.refuse(f"an NDArray and a {type(operand).__name__} are operands")
    if isinstance(operand, (bool, int, float, numpy.generic)):
        if type(operand) is not bool and dtype.kind != "f" and operator.with_number is not None:
            number = operand.item() if isinstance(operand, numpy.generic) else operand
            return operator.with_number[0 if array is x else 1](array, scalar=number)
        if dtype.kind == "b" and type(operand) is not bool:
            dtype = numpy.dtype(numpy.int64 if type(operand) is int else numpy.float32)
        operand = numpy.asarray(operand).astype(dtype)
    elif not isinstance(operand, (BaseArrayProxy, NDArrayProxy)):
        raise recorder.refuse(f"an NDArray and a {type(operand).__name__} are operands")
    return operator(array, operand) if array is x else operator(operand, array)


def _binary(operator: Callable[[], Any], reflected: bool = False) -> Callable[[Any, Any], Any]:
    def method(self: NDArrayProxy, operand: Any) -> Any:
        pair = (operand, self) if reflected else (self, operand)
        result = _arithmetic(operator(), *pair)
        is_number = isinstance(result, NDArrayProxy) and not result.ndim and self.ndim
        return result.reshape((1,)) if is_number else result  # of `@`

    return method


def _in_place(operator: Callable[[], Any]) -> Callable[[Any, Any], Any]:
    def method(self: NDArrayProxy, operand: Any) -> Any:
        output = _arithmetic(operator(), self, operand)
        if output is NotImplemented:
            return output
        inner = self.inner
        result = output.inner
        if inner.dtype.kind == "b" != result.dtype.kind or result.shape != inner.shape:
            raise self.recorder.refuse("it stores what an array of booleans, or of another shape, cannot hold")
        store(inner, result if result.dtype == inner.dtype else result.astype(inner.dtype))
        return self

    return method


_ARITHMETIC: dict[str, Callable[[], Any]] = {
    "add": lambda: arithmetic.add,
    "sub": lambda: arithmetic.subtract,
    "mul": lambda: arithmetic.multiply,
    "truediv": lambda: arithmetic.divide,
    "pow": lambda: arithmetic.power,
    "mod": lambda: arithmetic.mod,
    "matmul": lambda: linear.matmul,
    "floordiv": lambda: FUNCTIONS[numpy.floor_divide],
}
_COMPARISONS: dict[str, Callable[[], Any]] = {
    "eq": lambda: comparison.equal,
    "ne": lambda: comparison.not_equal,
    "gt": lambda: comparison.greater,
    "ge": lambda: comparison.greater_equal,
    "lt": lambda: comparison.lesser,
    "le": lambda: comparison.lesser_equal,
}
for _name, _operator in _ARITHMETIC.items():
    setattr(NDArrayProxy, f"__{_name}__", _binary(_operator))
    setattr(NDArrayProxy, f"__r{_name}__", _binary(_operator, True))
    setattr(NDArrayProxy, f"__i{_name}__", _in_place(_operator))
for _name, _operator in _COMPARISONS.items():
    setattr(NDArrayProxy, f"__{_name}__", _binary(_operator))


def _as_nd_ndarray(self: ArrayProxy) -> NDArrayProxy:
    """Return the same array with MXNet's semantics: of `minpy.np`'s arrays."""
    if self.front is None:
        raise AttributeError("'numpy.ndarray' object has no attribute 'as_nd_ndarray'")
    return NDArrayProxy(self if self.ndim else self.reshape((1,)))


_WatchedNDArrayProxy = watched(
    NDArrayProxy, lambda get: (get("inner").recorder, FRONT_ENDS["mxnet"]), FRONT_ENDS["mxnet"]
)
ArrayProxy.as_nd_ndarray = _as_nd_ndarray  # type: ignore[attr-defined]
dispatch.register_tracer(NDArrayProxy, _call_on_arrays, "a proxy of a capture")
