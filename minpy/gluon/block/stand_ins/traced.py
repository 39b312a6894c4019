"""`Traced`: what stands for an array while a block's `forward` is traced: a symbol that knows its shape and dtype.

It has the protocols and methods of NumPy's arrays and of MXNet's, each of which becomes what the function of symbols
makes; what depends on values is an error that names the line of the program.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NoReturn

import numpy

from minpy import symbol
from minpy.core import dispatch
from minpy.core.array import Array
from minpy.core.errors import ArgumentError, NotTraceableError
from minpy.differentiation.trees import leaves_of
from minpy.gluon.block.stand_ins.changing import Changing
from minpy.gluon.block.stand_ins.numbers import differs_for_complex, need_numpy
from minpy.gluon.block.stand_ins.numpy_functions import (
    ROUNDING,
    in_its_class,
    may_give_view,
    with_out_named,
)
from minpy.ops.inference.reshaping import resolve_shape
from minpy.ops.registry import OPERATORS
from minpy.symbol import Symbol

__all__ = ["Traced"]

# MXNet's operators of these names have gradients of zero.
_AS_NUMPY = frozenset(["percentile", "quantile"])
_OF_ARRAYS = frozenset(
    "asnumpy asscalar attach_grad backward copyto drop_grad grad item tolist tostype wait_to_read".split()  # noqa: SIM905
)


class Traced(Changing):
    """A value in the place of an array: a symbol that knows its shape and dtype."""

    __slots__ = (
        "__weakref__",
        "_in_numpy",
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
        self._relatives: list[Any] = []

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
        if method != "__call__" or options.get("out") is not None:
            raise self._untraced(f"numpy.{ufunc.__name__}.{method}" if method != "__call__" else "out=")
        return self._of_numpy(ufunc.__name__, inputs, options)

    def __array_function__(self, function: Any, types: Any, arguments: Any, keywords: Any) -> Any:
        if function in (numpy.shape, numpy.ndim, numpy.size) and isinstance(arguments[0], Traced):
            return getattr(arguments[0], function.__name__)
        module = function.__module__.removeprefix("numpy").removeprefix(".")
        name = f"{module}.{function.__name__}" if module in ("linalg", "fft") else function.__name__
        return self._of_numpy(name, arguments, keywords)

    def _of_numpy(self, name: str, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
        arguments, keywords = with_out_named(name, arguments, keywords)
        found: Any = symbol.np
        for part in name.split("."):
            found = vars(found).get(part)
            if found is None:
                raise self._untraced(f"np.{name}")
        if name in _AS_NUMPY or differs_for_complex(name, arguments, keywords) or need_numpy(name, arguments, keywords):
            return self._trace.call_of_numpy(name, arguments, keywords)
        answer = self._trace.call(found, arguments, keywords, True)
        return self._sharing(in_its_class(name, answer), name, arguments, keywords)

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
        if name in ROUNDING:
            return answer
        answers = answer if isinstance(answer, (list, tuple)) else [answer]
        self._relate(one for one in (*answers, *given) if isinstance(one, Traced))
        return answer

    # -- methods ---------------------------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        if name == "_data":
            self._asked("writes it into an array")
        if not name.startswith("__"):
            if name in _OF_ARRAYS:
                if name in ("asnumpy", "asscalar", "item", "tolist", "wait_to_read"):
                    self._asked(f"calls {name}()")
                raise self._untraced(f".{name}")
            method = getattr(type(self.symbol), name, None)
            if not self._in_numpy and name in OPERATORS:
                operator = OPERATORS[name]
                return lambda *arguments, **keywords: operator(self, *arguments, **keywords)
            if callable(method):
                trace, np = self._trace, self._in_numpy

                def call(*arguments: Any, **keywords: Any) -> Any:
                    if np and differs_for_complex(name, (self,), {}):
                        return self._of_numpy(name, (self, *arguments), keywords)
                    answer = trace.call(method, (self, *arguments), keywords, np)
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
