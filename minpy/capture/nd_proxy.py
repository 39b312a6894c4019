"""`NDArrayProxy`, in an `NDArray`'s place while a function of kind 'mxnet' is traced: operators on it become nodes.

It has the methods of `NDArray` that are operators; these call the operators on it, and `dispatch` leads here.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy

from minpy.capture import library
from minpy.capture.operators import call_operator
from minpy.capture.proxy import ArrayProxy
from minpy.capture.scalars import pinned
from minpy.capture.storage import setitem, store
from minpy.capture.values import Traced
from minpy.core import dispatch
from minpy.core.array import FRONT_ENDS, Array
from minpy.ops.inference.reshaping import resolve_shape
from minpy.ops.registry import OPERATORS

__all__ = ["NDArrayProxy", "unwrapped", "wrapped"]

# Members of `NDArray` that look at nothing but operators, beside those that are named like one.
_MEMBERS = {"T", "astype", "broadcast_to", "context", "copy", "ctx", "reshape_like", "stype", "transpose"}


class NDArrayProxy:
    """A stand-in with MXNet's semantics around one with NumPy's."""

    __slots__ = ("inner",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, inner: ArrayProxy) -> None:
        self.inner = inner

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

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in OPERATORS or name in _MEMBERS:
            member = inspect.getattr_static(FRONT_ENDS["mxnet"], name, None)
            if isinstance(member, property) and member.fget is not None:
                return member.fget(self)
            if isinstance(member, types.FunctionType):
                return types.MethodType(member, self)
        found = library.member_of_array(self, name)
        if found is not None:
            return found
        raise self.inner.recorder.refuse(f"an NDArray's attribute {name!r} is not traced")

    def _asked(self, *_: Any) -> NoReturn:
        raise self.inner.recorder.refuse("it asks for the values of an NDArray")

    __bool__ = __int__ = __float__ = __index__ = __array__ = __contains__ = _asked

    def reshape(self, *lengths: Any, shape: Any = None, reverse: bool = False) -> NDArrayProxy:
        """Return the array in another shape, with MXNet's codes."""
        if shape is None:
            shape = lengths[0] if len(lengths) == 1 and not isinstance(lengths[0], int) else lengths
        return NDArrayProxy(self.inner.reshape(resolve_shape(self.shape, tuple(shape), reverse)))

    def __getitem__(self, index: Any) -> NDArrayProxy:
        parts = index if isinstance(index, tuple) else (index,)
        if not all(part is None or part is Ellipsis or isinstance(part, (int, slice)) for part in parts):
            raise self.inner.recorder.refuse("an NDArray is indexed with an array")
        found = self.inner[index]
        return NDArrayProxy(found if found.ndim else found.reshape((1,)))

    def __setitem__(self, index: Any, value: Any) -> None:
        parts = index if isinstance(index, tuple) else (index,)
        if not all(part is Ellipsis or isinstance(part, (int, slice)) for part in parts):
            raise self.inner.recorder.refuse("it stores into an NDArray by an array")
        value = unwrapped(value)
        setitem(self.inner, index, value.reshape(()) if isinstance(value, Traced) and value.size == 1 else value)


def wrapped(value: Any) -> Any:
    """Return a stand-in, or a tuple of them, as functions of kind 'mxnet' take it."""
    if type(value) is tuple:
        return tuple(map(wrapped, value))
    return NDArrayProxy(value) if isinstance(value, ArrayProxy) else value


def unwrapped(value: Any) -> Any:
    """Return what such a function returned with stand-ins of NumPy's semantics."""
    if type(value) in (list, tuple):
        return tuple(map(unwrapped, value))
    return value.inner if isinstance(value, NDArrayProxy) else value


def _call_on_arrays(operator: Any, inputs: list[Any], attributes: dict[str, Any], name: str | None) -> Any:
    """Answer a call of an operator with such stand-ins among its inputs."""
    if operator.random or operator.auxiliary or operator.uses_training:
        proxy = next(value for value in inputs if isinstance(value, NDArrayProxy))
        found = library.with_states(proxy.inner.recorder, operator)
        if found is not None:
            return found(*inputs, **attributes)
    values = []
    for value in map(unwrapped, inputs):
        if isinstance(value, Array):
            value = value._data
        elif isinstance(value, numpy.generic):
            value = value.item()
        values.append(value)
    answer = call_operator(operator, values, attributes, name, as_ndarrays=True)
    return [NDArrayProxy(one) for one in answer] if isinstance(answer, tuple) else NDArrayProxy(answer)


def _binary(name: str) -> Callable[[Any, Any], Any]:
    def method(self: NDArrayProxy, other: Any) -> Any:
        other = pinned(other)
        if isinstance(other, ArrayProxy) and other.recorder.front is not None:  # NumPy's semantics win
            return getattr(self.inner, name)(other)
        if self.inner.dtype.kind != "f" or isinstance(other, (bool, numpy.ndarray, Traced)):
            raise self.inner.recorder.refuse("arithmetic of NDArrays that are not floating point, or with other arrays")
        if isinstance(other, (int, float, numpy.generic)):  # numbers take the dtype of the array
            other = numpy.asarray(other).astype(self.inner.dtype)
        return getattr(FRONT_ENDS["mxnet"], name)(self, other)

    return method


def _unary(name: str) -> Callable[[Any], Any]:
    return lambda self: getattr(FRONT_ENDS["mxnet"], name)(self)


def _in_place(name: str) -> Callable[[Any, Any], Any]:
    def method(self: NDArrayProxy, other: Any) -> Any:
        answer = unwrapped(_binary(name)(self, other))
        store(self.inner, answer if answer.dtype == self.inner.dtype else answer.astype(self.inner.dtype))
        return self

    return method


for _name in ("add", "sub", "mul", "truediv", "pow", "mod", "matmul", "floordiv"):
    setattr(NDArrayProxy, f"__{_name}__", _binary(f"__{_name}__"))
    setattr(NDArrayProxy, f"__r{_name}__", _binary(f"__r{_name}__"))
    setattr(NDArrayProxy, f"__i{_name}__", _in_place(f"__{_name}__"))
for _name in ("eq", "ne", "gt", "ge", "lt", "le"):
    setattr(NDArrayProxy, f"__{_name}__", _binary(f"__{_name}__"))
for _name in ("neg", "pos", "abs"):
    setattr(NDArrayProxy, f"__{_name}__", _unary(f"__{_name}__"))

dispatch.register_tracer(NDArrayProxy, _call_on_arrays, "a stand-in of the tracer")
