"""`Traced`: what stands for an array while a block's `forward` is traced: a symbol that knows its shape and dtype.

It has the protocols and methods of NumPy's arrays and of MXNet's, each of which becomes what the function of symbols
makes; what depends on values is an error that names the line of the program.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NoReturn

import numpy

from minpy import symbol
from minpy.core import dispatch
from minpy.core.array import FRONT_ENDS, Array
from minpy.core.errors import ArgumentError, NotTraceableError
from minpy.differentiation.trees import leaves_of
from minpy.gluon.block.stand_ins.changing import Changing, Part, without_out
from minpy.gluon.block.stand_ins.numbers import differs, differs_for_complex, need_numpy
from minpy.gluon.block.stand_ins.numpy_functions import (
    ROUNDING,
    gives_scalars,
    in_its_class,
    may_give_view,
    with_out_named,
)
from minpy.ops.inference.reshaping import resolve_shape
from minpy.ops.registry import OPERATORS
from minpy.symbol import Symbol

__all__ = ["Traced"]

# Methods that MXNet's arrays have, too, and that answer otherwise there for integers.
_METHODS = frozenset(["clip", "cumsum", "trace"])
# Those who are to see that it is a stand-in.
_KNOWING = frozenset(["minpy", "numpy", "autograd"])
# MXNet's operators of these names have gradients of zero.
_AS_NUMPY = frozenset(["percentile", "quantile"])
# Methods of NumPy's arrays that change them, and what to write instead.
_CHANGING = {
    "fill": "Make a new array: np.full_like(x, value)",
    "itemset": "Make a new array (np.where)",
    "partition": "Make a new array: np.partition(x, k)",
    "put": "Make a new array (np.where)",
    "resize": "Make a new array: np.resize(x, shape)",
    "setfield": "Make a new array (np.where)",
    "setflags": "Leave it out: what a graph computes is new",
    "sort": "Make a new array: x = np.sort(x)",
}
_OF_ARRAYS = frozenset(
    "asnumpy asscalar attach_grad backward copyto drop_grad grad item tolist tostype wait_to_read".split()  # noqa: SIM905
)


class Traced(Changing):
    """A value in the place of an array: a symbol that knows its shape and dtype."""

    __slots__ = (
        "__weakref__",
        "_given_as",
        "_in_numpy",
        "_is_scalar",
        "_part_of",
        "_relatives",
        "_role",
        "_trace",
        "symbol",
    )
    __hash__ = None  # type: ignore[assignment]
    __array_priority__ = 1e6

    def __init__(self, trace: Any, one: Symbol, in_numpy: bool, role: str = "") -> None:
        self._trace = trace
        self.symbol = one
        self._in_numpy = in_numpy
        self._role = role
        self._given_as: type | None = None  # the class of an argument
        self._is_scalar = False  # if it has no axes: whether NumPy's function gives a scalar there, never an array
        self._part_of: tuple[Changing, Part] | None = None
        self._relatives: list[Any] = []

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """The class of what it stands for, where a function that is compiled asks: `isinstance(x, np.ndarray)`."""
        asking = str(sys._getframe(1).f_globals.get("__name__", "")).partition(".")[0]
        if not self._trace.of_function or asking in _KNOWING:
            return Traced
        self._trace.asked_for_classes = True
        if self._given_as is not None:
            return self._given_as
        if not self._trace.is_of_numpy:
            return FRONT_ENDS["numpy" if self._in_numpy else "mxnet"]
        if self._role or self.ndim or (self._part_of is not None and not self._is_scalar):
            return numpy.ndarray
        if not self._is_scalar:
            raise self._trace.refusal("asks for the class of a value without axes.", "Ask for its dtype")
        return numpy.dtype(self.dtype).type  # what NumPy computes without axes is a scalar

    def __repr__(self) -> str:
        return f"<stand-in for {self.symbol.name} in the trace of {self._trace.name}>"

    # -- what it is ------------------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of its axes."""
        return self._trace.facts(self.symbol)[0]

    @property
    def dtype(self) -> Any:
        """The type of its elements."""
        dtype = self._trace.dtype(self.symbol)
        return dtype if self._in_numpy else dtype.type

    @property
    def ndim(self) -> int:
        """The number of its axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of its elements."""
        return int(numpy.prod(self.shape))

    @property
    def itemsize(self) -> int:
        """The bytes of an element."""
        return numpy.dtype(self.dtype).itemsize

    @property
    def nbytes(self) -> int:
        """The bytes of all elements."""
        return self.size * self.itemsize

    @property
    def context(self) -> Any:
        """The device that it will be on."""
        return self._trace.context

    ctx = device = context

    @property
    def stype(self) -> str:
        """How it is stored."""
        return "default"

    @property
    def T(self) -> Any:
        """The array with its axes in reverse order."""
        return self.transpose()

    @property
    def mT(self) -> Any:
        """The array with its last two axes exchanged."""
        return self.swapaxes(-1, -2)

    @property
    def real(self) -> Any:
        """The real part."""
        return self._part("real")

    @property
    def imag(self) -> Any:
        """The imaginary part."""
        return self._part("imag")

    def _part(self, name: str) -> Any:
        if not self._in_numpy:
            raise self._untraced(f".{name}")
        return self._sharing(self._of_numpy(name, (self,), {}), "getitem")

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an array without axes")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[position] for position in range(len(self)))

    # -- what asks for values --------------------------------------------------------------------------------------

    def _asked(self, what: str) -> NoReturn:
        raise self._trace.refusal(
            f"{what}: that depends on values, which there are none of while it is traced.",
            "Choose with np.where or npx.cond",
            "leave the block that does it unhybridized: call hybridize(False) on it, or derive it from Block",
        )

    def __bool__(self) -> bool:
        self._asked("chooses by an array (`if`, `while`, `and`, `assert`)")

    def __int__(self) -> int:
        self._asked("makes a Python number of an array")

    __float__ = __complex__ = __index__ = __int__

    def __array__(self, *_: Any, **__: Any) -> Any:
        self._asked("makes an array of NumPy's of one of ours")

    def __contains__(self, value: Any) -> bool:
        self._asked("looks for a value in an array")

    # -- NumPy's protocols -----------------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        out = options.get("out")
        if method != "__call__" or (out is not None and ("where" in options or not self._trace.of_function)):
            raise self._untraced(f"numpy.{ufunc.__name__}.{method}" if method != "__call__" else "out=")
        if out is None:
            return self._of_numpy(ufunc.__name__, inputs, options)
        answer = self._of_numpy(ufunc.__name__, inputs, without_out(options))
        outs = out if isinstance(answer, (tuple, list)) else out[0]
        return self._into(outs, answer, options.get("casting", "same_kind"))

    def __array_function__(self, function: Any, types: Any, arguments: Any, keywords: Any) -> Any:
        if function in (numpy.shape, numpy.ndim, numpy.size) and isinstance(arguments[0], Traced):
            return getattr(arguments[0], function.__name__)
        module = function.__module__.removeprefix("numpy").removeprefix(".")
        name = f"{module}.{function.__name__}" if module in ("linalg", "fft") else function.__name__
        if self._trace.of_function and function is numpy.copyto:
            return self._copied_to(*arguments, **keywords)
        return self._of_numpy(name, arguments, keywords)

    def _copied_to(self, dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
        if where is not True or not isinstance(dst, Traced):
            raise self._untraced("np.copyto with where=" if isinstance(dst, Traced) else "np.copyto")
        if isinstance(src, (bool, int, float)):
            raise self._untraced("np.copyto of a number")
        if isinstance(src, numpy.generic) and not numpy.can_cast(src.dtype, dst.dtype, casting):  # type: ignore[arg-type]
            raise TypeError(f"a value of {src.dtype} is copied to an array of {dst.dtype}")  # NumPy's own is seen
        dst._into(dst, dst._as_value(src, dst._whole()), casting)

    def _of_numpy(self, name: str, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
        arguments, keywords = with_out_named(name, arguments, keywords)
        answer = self._answer_of_numpy(name, arguments, keywords)
        if isinstance(answer, Traced) and gives_scalars(name) and keywords.get("out") is None:
            answer._is_scalar = True  # if it has no axes
        return answer

    def _answer_of_numpy(self, name: str, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
        if keywords.get("out") is not None and self._trace.of_function:
            answer = self._of_numpy(name, arguments, without_out(keywords))
            return self._into(keywords["out"], answer, "no")  # it may have computed in that dtype
        if name == "nan_to_num" and self._trace.of_function and not (*arguments[1:2], keywords.get("copy", True))[0]:
            (target, *_), rest = arguments, {key: value for key, value in keywords.items() if key != "copy"}
            if len(arguments) > 2:
                raise self._untraced("np.nan_to_num with copy=False and numbers by position")
            return self._into(target, self._of_numpy(name, (target,), rest), "no")
        found: Any = symbol.np
        for part in name.split("."):
            found = vars(found).get(part)
            if found is None:
                raise self._untraced(f"np.{name}")
        if name in _AS_NUMPY or self._need_numpy(name, arguments, keywords):
            return self._trace.call_of_numpy(name, arguments, keywords)
        answer = self._trace.call(found, arguments, keywords, True)
        return self._sharing(in_its_class(name, answer), name, arguments, keywords)

    def _need_numpy(self, name: str, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> bool:
        """Tell whether only the function of NumPy itself gives NumPy's answer."""
        if self._trace.of_function and differs(name, arguments, keywords):
            return True
        if differs_for_complex(name, arguments, keywords):
            return True
        return need_numpy(name, arguments, keywords)

    def _untraced(self, what: str) -> NotTraceableError:
        return self._trace.refusal(
            f"calls {what} of an array, for which graphs have no operator.", "Use another function"
        )

    def _sharing(self, answer: Any, name: str, arguments: Sequence[Any] = (), keywords: Any = None) -> Any:
        """Note of values that one may be a view of the other: a change of one would have to change both."""
        if not may_give_view(name, arguments, keywords or {}, self._in_numpy):
            return answer
        given = [one for one in leaves_of([arguments, keywords or {}]) if isinstance(one, Traced)]
        if name == "einsum" and len(given) > 1:
            return answer
        if name in ROUNDING and not (self._trace.of_function and self.dtype.kind in "iu"):
            return answer
        answers = answer if isinstance(answer, (list, tuple)) else [answer]
        self._relate(one for one in (*answers, *given) if isinstance(one, Traced))
        return answer

    # -- methods ---------------------------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        if name == "_data":
            self._asked("writes it into an array")
        if not name.startswith("__"):
            if self._trace.of_function and self._in_numpy and name == "fill":
                return lambda value: self.__setitem__(Ellipsis, value)
            if name in _OF_ARRAYS:
                if name in ("asnumpy", "asscalar", "item", "tolist", "wait_to_read"):
                    self._asked(f"calls {name}()")
                raise self._untraced(f".{name}")
            if self._trace.of_function and name in _CHANGING:  # our arrays' `sort` returns a new one
                self._refuse_change(f"{name}()", _CHANGING[name])
            if self._in_numpy and self._trace.of_function and name in _METHODS:
                return lambda *given, **rest: self._of_numpy(name, (self, *given), rest)
            method = getattr(type(self.symbol), name, None)
            if not self._in_numpy and name in OPERATORS:
                operator = OPERATORS[name]
                return lambda *arguments, **keywords: operator(self, *arguments, **keywords)
            if callable(method):
                trace, np = self._trace, self._in_numpy

                def call(*arguments: Any, **keywords: Any) -> Any:
                    if np and differs_for_complex(name, (self,), {}):
                        return self._of_numpy(name, (self, *arguments), keywords)
                    if np and trace.of_function:
                        (_, *arguments), keywords = with_out_named(name, (self, *arguments), keywords)  # type: ignore[assignment]
                    if keywords.get("out") is not None and trace.of_function:
                        return self._into(keywords["out"], call(*arguments, **without_out(keywords)), "no")
                    answer = trace.call(method, (self, *arguments), keywords, np)
                    if isinstance(answer, Traced):
                        answer._is_scalar = gives_scalars(name)
                    return self._sharing(answer, name, (self, *arguments), keywords)

                return call
            if self._in_numpy and name in ("conj", "conjugate"):  # of what is not complex the method gives itself
                return (
                    partial(self._of_numpy, "conjugate", (self,), {}) if self.dtype.kind == "c" else lambda: self[...]
                )
            if self._in_numpy and hasattr(numpy.ndarray, name):
                raise self._untraced(f".{name}")
        raise AttributeError(f"{self!r} has no attribute {name!r}")

    def __getitem__(self, key: Any) -> Any:
        answer = self._trace.call(lambda one, index: one.as_np_ndarray()[index], (self, key), {}, self._in_numpy)
        if not self._in_numpy and not answer.shape:
            answer = answer.reshape((1,))
        if self._trace.of_function and self._in_numpy:
            part = Part.of(key, self.shape)
            if part is not None and (part.shape or key is Ellipsis or (type(key) is tuple and Ellipsis in key)):
                answer._part_of = self, part
            elif part is not None:  # of our arrays, elements are arrays
                answer._part_of, answer._is_scalar = (self, part), True
        return self._sharing(answer, "getitem")

    def reshape(self, *lengths: Any, **keywords: Any) -> Any:
        """Return the array in another shape."""
        if self._in_numpy:
            return self._sharing(
                self._trace.call(type(self.symbol).reshape, (self, *lengths), keywords, True), "reshape"
            )
        shape = keywords.get("shape", lengths[0] if len(lengths) == 1 and not isinstance(lengths[0], int) else lengths)
        shape = resolve_shape(self.shape, tuple(shape), keywords.get("reverse", False))
        return self._sharing(OPERATORS["reshape"](self, shape=shape), "reshape")

    def view(self, *arguments: Any, **keywords: Any) -> Any:
        """Return the array itself for `view()`: bytes are not read as another dtype."""
        if arguments or keywords or not self._in_numpy:
            raise self._untraced(".view")
        return self[...]

    def astype(self, dtype: Any, copy: bool = True, **_: Any) -> Any:
        """Return the array in another dtype."""
        answer = self._trace.call(type(self.symbol).astype, (self, dtype), {}, self._in_numpy)
        return answer if copy else self._sharing(answer, "getitem")

    def copy(self) -> Any:
        """Return an array of the same values."""
        return OPERATORS["identity"](self)

    def detach(self) -> Any:
        """Return an array of the same values that lets no gradient through."""
        return self._sharing(OPERATORS["BlockGrad"](self), "getitem")

    def as_np_ndarray(self) -> Traced:
        """Return the array with NumPy's semantics."""
        if self._in_numpy:
            return self
        return self._sharing(Traced(self._trace, self.symbol.as_np_ndarray(), True, self._role), "getitem")

    def as_nd_ndarray(self) -> Traced:
        """Return the array with MXNet's semantics."""
        if not self._in_numpy:
            return self
        return self._sharing(Traced(self._trace, self.symbol.as_nd_ndarray(), False, self._role), "getitem")

    def as_in_context(self, ctx: Any) -> Traced:
        """Return the array itself: a graph is on one device."""
        if ctx != self.context:
            raise self._untraced(f"as_in_context({ctx})")
        return self

    as_in_ctx = to_device = as_in_context


def _called(operator: Any, inputs: list[Any], attributes: dict[str, Any], name: str | None) -> Any:
    """Answer a call of an operator with stand-ins among its inputs."""
    trace = next(value._trace for value in inputs if isinstance(value, Traced))
    in_numpy = any(
        value._in_numpy if isinstance(value, Traced) else isinstance(value, Array) and not value._keeps_dtype
        for value in inputs
    )
    if name is not None:
        attributes = {**attributes, "name": name}
    values = [trace.unwrapped(value) for value in inputs]
    if operator.builtin and not any(isinstance(value, Symbol) for value in values):
        raise ArgumentError(f"{operator.__name__}: an argument is no array.")
    return trace.wrapped(operator(*values, **attributes), in_numpy)


dispatch.register_tracer(Traced, _called, "a stand-in in the trace of a block")
