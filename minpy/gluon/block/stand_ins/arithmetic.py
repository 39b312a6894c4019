"""The arithmetic of what stands for arrays in a trace: with arrays, with numbers, and in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy

from minpy.core.array import Array
from minpy.gluon.block.stand_ins.numbers import METHODS, differs_for_complex, need_numpy
from minpy.ops.registry import OPERATORS

__all__ = ["Arithmetic"]


class Arithmetic:
    """The operators of Python on a stand-in, each of which is a node of the graph."""

    __slots__ = ()

    if TYPE_CHECKING:
        _trace: Any
        _in_numpy: bool

        symbol: Any
        dtype: Any

        def _replaced(self, answer: Any) -> Any: ...
        def _of_numpy(self, name: str, arguments: Any, keywords: Any) -> Any: ...


_BROADCAST = {
    "add": "broadcast_add",
    "sub": "broadcast_sub",
    "mul": "broadcast_mul",
    "truediv": "broadcast_div",
    "mod": "broadcast_mod",
    "pow": "broadcast_power",
    "eq": "broadcast_equal",
    "ne": "broadcast_not_equal",
    "gt": "broadcast_greater",
    "ge": "broadcast_greater_equal",
    "lt": "broadcast_lesser",
    "le": "broadcast_lesser_equal",
}


def _binary(name: str, reflected: bool = False) -> Callable[[Arithmetic, Any], Any]:
    method = f"__{'r' if reflected else ''}{name}__"

    def compute(self: Arithmetic, other: Any) -> Any:
        if other is None or isinstance(other, str):
            return NotImplemented
        trace = self._trace
        if isinstance(other, numpy.ndarray) and not other.ndim and self._in_numpy:
            other = trace.capture(other)
        if isinstance(other, (Arithmetic, Array, numpy.ndarray)) and not (
            isinstance(other, numpy.ndarray) and not other.ndim
        ):
            in_numpy = self._in_numpy or bool(getattr(other, "_in_numpy", not getattr(other, "_keeps_dtype", False)))
            pair = (other, self) if reflected else (self, other)
            if not in_numpy and name in _BROADCAST:
                return OPERATORS[_BROADCAST[name]](*pair)
            if not in_numpy:  # `@` and `//`
                answer = trace.call_of_numpy(METHODS[name], pair, {})
                return (answer if answer.shape else answer.reshape((1,))).as_nd_ndarray()
            plain = f"__{name}__"
            return trace.call(
                lambda left, right: getattr(left.as_np_ndarray(), plain)(right.as_np_ndarray()), pair, {}, True
            )
        pair = (other, self) if reflected else (self, other)
        if self._in_numpy and name in METHODS and _needs_numpy(METHODS[name], pair):
            return trace.call_of_numpy(METHODS[name], pair, {})
        if isinstance(other, (numpy.generic, numpy.ndarray)):
            other = other.item()
        return trace.call(lambda one: getattr(one, method)(other), (self,), {}, self._in_numpy)

    return compute


def _needs_numpy(name: str, pair: Any) -> bool:
    return differs_for_complex(name, pair, {}) or need_numpy(name, pair, {})


def _in_place(name: str) -> Callable[[Arithmetic, Any], Arithmetic]:
    compute = _binary(name)

    def change(self: Arithmetic, other: Any) -> Any:
        return self._replaced(compute(self, other))

    return change


def _unary(name: str) -> Callable[[Arithmetic], Any]:
    return lambda self: self._trace.call(lambda one: getattr(one, name)(), (self,), {}, self._in_numpy)


def _by_ufunc(name: str, reflected: bool = False) -> Callable[[Arithmetic, Any], Any]:
    """Return an operator that only NumPy's arrays have."""

    def compute(self: Arithmetic, other: Any) -> Any:
        if not self._in_numpy or other is None or isinstance(other, str):
            return NotImplemented
        return self._of_numpy(name, (other, self) if reflected else (self, other), {})

    return compute


def _by_ufunc_in_place(name: str) -> Callable[[Arithmetic, Any], Any]:
    compute = _by_ufunc(name)

    def change(self: Arithmetic, other: Any) -> Any:
        return self._replaced(compute(self, other))

    return change


def _negated(self: Arithmetic) -> Any:
    if self._in_numpy:  # of integers, it is integers
        return self._of_numpy("negative", (self,), {})
    return self._trace.call(lambda one: -one, (self,), {}, False)


def _unchanged(self: Arithmetic) -> Any:
    return self._trace.wrapped(self.symbol, self._in_numpy)  # a new array, which can be changed by itself


def _inverted(self: Arithmetic) -> Any:
    if not self._in_numpy:
        raise TypeError("bad operand type for unary ~: NDArrays have none. Write mx.nd.logical_not(x).")
    return self._of_numpy("invert", (self,), {})


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"):
    setattr(Arithmetic, f"__{_name}__", _binary(_name))
    setattr(Arithmetic, f"__r{_name}__", _binary(_name, True))
    setattr(Arithmetic, f"__i{_name}__", _in_place(_name))
for _name in ("eq", "ne", "gt", "ge", "lt", "le", "and", "or", "xor"):
    setattr(Arithmetic, f"__{_name}__", _binary(_name))
for _name, _function in (("and", "bitwise_and"), ("or", "bitwise_or"), ("xor", "bitwise_xor")):
    setattr(Arithmetic, f"__r{_name}__", _by_ufunc(_function, True))
    setattr(Arithmetic, f"__i{_name}__", _in_place(_name))
for _name, _function in (("lshift", "left_shift"), ("rshift", "right_shift")):
    setattr(Arithmetic, f"__{_name}__", _by_ufunc(_function))
    setattr(Arithmetic, f"__r{_name}__", _by_ufunc(_function, True))
    setattr(Arithmetic, f"__i{_name}__", _by_ufunc_in_place(_function))
for _name, _method in (("abs", _unary("__abs__")), ("neg", _negated), ("invert", _inverted)):
    setattr(Arithmetic, f"__{_name}__", _method)
Arithmetic.__pos__ = _unchanged  # type: ignore[attr-defined, operator, unused-ignore]
Arithmetic.__divmod__ = lambda self, other: (self // other, self % other)  # type: ignore[attr-defined, operator, unused-ignore]
Arithmetic.__rdivmod__ = lambda self, other: (other // self, other % self)  # type: ignore[attr-defined, operator, unused-ignore]
