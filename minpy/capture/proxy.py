"""`ArrayProxy`, in an array's place while a function is captured: knows shape and dtype, and notes what is done to it.

NumPy's protocols lead here, and from here to `noting`, `storage` and, for functions of NumPy, `functions`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator
from typing import Any

import numpy

from minpy.capture import own_functions, steps
from minpy.capture.abstract_evaluation import Fact
from minpy.capture.fronts import fronted
from minpy.capture.noting import call_function, elementwise, require_order, steps_of
from minpy.capture.proxy_attributes import WATCHED, watched
from minpy.capture.scalars import ScalarProxy, met, pinned
from minpy.capture.storage import as_dtype, getitem, replayed, require_writable, setitem, store, store_all
from minpy.capture.ufuncs import add_at, call_ufunc, is_default, masked
from minpy.capture.values import BaseArrayProxy, ViewStep, latched
from minpy.capture.view_or_copy import called_on
from minpy.core.array import FRONT_ENDS
from minpy.core.dtypes import ARRAY_KINDS
from minpy.ops.registry import OPERATORS

__all__ = ["ArrayProxy"]

_CHOICE = "it chooses by values: `if`, `while`, `and` or `assert` of an array. Choose with np.where or npx.cond"
_FAST_POWERS = {2: numpy.square, 0.5: numpy.sqrt, -1: numpy.reciprocal}


class ArrayProxy(numpy.lib.mixins.NDArrayOperatorsMixin, BaseArrayProxy):
    """A value of a graph in the place of an array, with NumPy's protocols and ndarray's methods."""

    __slots__ = ()

    def __new__(cls, recorder: Any, *_: Any, **__: Any) -> Any:
        return object.__new__(_WatchedArrayProxy if recorder.watched and cls is ArrayProxy else cls)

    __array_priority__ = 1e6
    __hash__ = None  # type: ignore[assignment]

    @property
    def T(self) -> Any:
        """The array with its axes in reverse order."""
        return self._call(numpy.transpose)

    @property
    def mT(self) -> Any:
        """The array with its last two axes swapped."""
        return self._call(numpy.swapaxes, -1, -2)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[position] for position in range(len(self)))

    def __repr__(self) -> str:
        recorder = self.recorder
        if recorder.shadowed and not recorder.ended and not recorder.freezes:
            raise recorder.refuse("it makes text of an array")
        return f"<proxy of {self.dtype.name} {self.shape}>"

    def _replayed(self) -> Any:
        return replayed(self)

    # -- what asks for values --------------------------------------------------------------------------------------

    def _elements_or_refuse(self, reason: str) -> Any:
        elements: Any = self.known
        if elements is None:
            elements = self.recorder.elements.get(id(self.storage))
            for step in self.chain if elements is not None else ():
                elements = called_on(step, elements)
        if elements is None:
            raise self.recorder.refuse(reason)
        return elements

    def __bool__(self) -> bool:
        return bool(self._elements_or_refuse(_CHOICE))

    def _number(self, convert: Any) -> Any:
        return convert(self._elements_or_refuse("it makes a Python number of an array"))

    __int__ = functools.partialmethod(_number, int)
    __float__ = functools.partialmethod(_number, float)
    __complex__ = functools.partialmethod(_number, complex)

    def __index__(self) -> int:
        return self._elements_or_refuse("a length or an index depends on values").__index__()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> numpy.ndarray:
        return numpy.array(
            self._elements_or_refuse("the values are asked for, by a function that makes an array of them"), dtype
        )

    def _text(self) -> Any:
        if self.recorder.freezes:
            return repr(self)
        if self.recorder.shadowed:  # it depends on what numpy.set_printoptions was told, too
            raise self.recorder.refuse("it makes text of an array")
        return self._elements_or_refuse("it makes text of an array")

    def __str__(self) -> str:
        return str(self._text())

    def __format__(self, specification: str) -> str:
        return format(self._text(), specification)

    def __contains__(self, value: Any) -> bool:
        return value in self._elements_or_refuse("it chooses by values: `in` an array")

    def item(self, *where: Any) -> Any:
        """Return an element as a Python number, if the values are known."""
        return self._elements_or_refuse("it makes a Python number of an array").item(*where)

    def tolist(self) -> Any:
        """Return nested lists of Python numbers, if the values are known."""
        return self._elements_or_refuse("it makes a list of an array").tolist()

    # -- NumPy's protocols -----------------------------------------------------------------------------------------

    @latched
    @fronted
    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if any(isinstance(value, ScalarProxy) for value in inputs):
            inputs = met(ufunc if method == "__call__" else None, inputs)
        out = options.pop("out", None)
        options = {key: value for key, value in options.items() if not is_default(key, value)}
        if method == "at":
            return add_at(self.recorder, ufunc, *inputs)
        where = options.pop("where", None)
        if where is not None:
            return masked(self.recorder, ufunc, method, inputs, where, out, options)
        return store_all(self.recorder, out, call_ufunc(self.recorder, ufunc, method, inputs, options))

    @latched
    @fronted
    def __array_function__(self, function: Any, types: Any, arguments: Any, keywords: Any) -> Any:
        if function is numpy.where and len(arguments) == 3 and not keywords:
            arguments = (arguments[0], *met(numpy.maximum, arguments[1:]))
        return call_function(self.recorder, function, pinned(arguments), pinned(keywords))

    @latched
    @fronted
    def _call(self, function: Any, *arguments: Any, **keywords: Any) -> Any:
        return call_function(self.recorder, function, (self, *pinned(arguments)), pinned(keywords))

    # -- indexing --------------------------------------------------------------------------------------------------

    @latched
    @fronted
    def __getitem__(self, index: Any) -> Any:
        index = pinned(index)
        if self.front is not None:  # of our arrays, an element is a view without axes
            parts = index if isinstance(index, tuple) else (index,)
            if all(part is None or isinstance(part, (int, numpy.integer, slice)) for part in parts):
                index = (*parts, Ellipsis)
        return getitem(self, index)

    @latched
    def __setitem__(self, index: Any, value: Any) -> None:
        setitem(self, pinned(index), value.met(self.dtype) if isinstance(value, ScalarProxy) else value)

    # -- methods ---------------------------------------------------------------------------------------------------

    @latched
    @fronted
    def __pow__(self, exponent: Any) -> Any:
        if type(exponent) in (int, float):
            fast = _FAST_POWERS.get(exponent) if self.dtype.kind == "f" and not self.scalar and self.shape else None
            if fast is not None:
                return elementwise(self.recorder, fast, (self,))
            function = steps.power if self.scalar or self.shape else steps.power_of_array
            return elementwise(self.recorder, function, (self, exponent))
        return super().__pow__(exponent)

    def __ipow__(self, exponent: Any) -> Any:  # type: ignore[misc]
        return store_all(self.recorder, (self,), self**exponent) if not self.scalar else self**exponent

    def reshape(self, *shape: Any, order: str = "C", **keywords: Any) -> Any:
        """Return `numpy.reshape`."""
        lengths = shape[0] if len(shape) == 1 else shape
        return self._call(numpy.reshape, lengths, order=order, **keywords)

    def transpose(self, *axes: Any) -> Any:
        """Return `numpy.transpose`."""
        return self._call(numpy.transpose, axes[0] if len(axes) == 1 else axes or None)

    @latched
    @fronted
    def flatten(self, order: str = "C") -> Any:
        """Return a copy with one axis."""
        require_order(self.recorder, "flatten", order)
        return steps_of(
            self.recorder, numpy.ndarray.flatten, (self, order), {}, "call", fact=Fact((self.size,), self.dtype, False)
        )

    def copy(self, order: str = "C") -> Any:
        """Return a copy."""
        if self.scalar:
            return self
        return self._call(numpy.copy, order=order)

    @latched
    @fronted
    def astype(
        self, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True
    ) -> Any:
        """Return the elements in another dtype; the array itself if that changes nothing and `copy` is False."""
        target = numpy.dtype(dtype)
        if not numpy.can_cast(self.dtype, target, casting):  # type: ignore[arg-type]
            raise TypeError(f"Cannot cast from {self.dtype} to {target} according to the rule {casting!r}")
        if order != "K" or target.kind not in ARRAY_KINDS:
            raise self.recorder.refuse(f"astype({dtype!r}, order={order!r})")
        if target == self.dtype and not copy:
            return self
        fact = Fact(self.shape, target, self.scalar)
        return steps_of(self.recorder, as_dtype, (self, target), {}, "elementwise", fact=fact)

    def view(self, *arguments: Any) -> Any:
        """Return the array itself for `view()`; other views are not captured."""
        if arguments and arguments[0] is not numpy.ndarray:
            raise self.recorder.refuse("it reads bytes as another dtype: view()")
        return self[...]

    def fill(self, value: Any) -> None:
        """Set all elements."""
        self[...] = value

    @latched
    def sort(self, axis: int = -1, **keywords: Any) -> None:
        """Sort in place."""
        require_writable(self)
        store(self, self._call(numpy.sort, axis=axis, **keywords))

    @latched
    def partition(self, kth: Any, axis: int = -1, **keywords: Any) -> None:
        """Put the elements on both sides of one of them, in place."""
        require_writable(self)
        store(self, self._call(numpy.partition, kth, axis=axis, **keywords))

    def put(self, indices: Any, values: Any, mode: str = "raise") -> None:
        """Store values at positions of the array as if it had one axis."""
        self._call(numpy.put, indices, values, mode=mode)

    def conj(self) -> Any:
        """Return the complex conjugate: of real numbers the array itself."""
        return numpy.conjugate(self) if self.dtype.kind == "c" else self

    conjugate = conj

    def __getattr__(self, name: str) -> Any:
        if name == "grad" and not self.chain and id(self.storage) in self.recorder.gradients:
            return self.recorder.gradients[id(self.storage)]()
        if self.front is not None and not name.startswith("_"):
            member = self._of_front(name)
            if member is not None:
                return member
        if name in METHODS:
            function = METHODS[name]
            if isinstance(function, numpy.ufunc):
                return lambda *arguments, **keywords: function(self, *arguments, **keywords)
            return lambda *arguments, **keywords: self._call(function, *arguments, **keywords)
        if name in ("real", "imag"):
            return self._call(getattr(numpy, name))
        if name.startswith("_"):
            raise AttributeError(name)
        member = None if self.front is None else own_functions.member_of_array(self, name)
        if member is not None:
            return member
        if self.recorder.freezes:
            if name in ("asnumpy", "asscalar"):
                elements = self._elements_or_refuse(f"it asks for the values of an array: {name}()")
                return elements.copy if name == "asnumpy" else elements.item
            if not hasattr(self.front or numpy.ndarray, name):
                raise AttributeError(name)
        remedy = ": x.reshape(-1) is" if name == "flat" else ""
        raise self.recorder.refuse(f"an array's attribute {name!r} cannot be captured{remedy}")

    def _of_front(self, name: str) -> Any:
        """Return a method that arrays of `minpy.np` have and NumPy's have not; None for others."""
        if name in ("context", "ctx", "device", "stype"):
            return inspect.getattr_static(self.front, name).fget(self)
        if name == "as_np_ndarray":
            return lambda: self
        if name in ("as_in_context", "as_in_ctx", "to_device"):
            return lambda context: self.on(context, self)
        if name == "detach":
            return lambda: self.read_only(OPERATORS["BlockGrad"](self))
        if name in METHODS or hasattr(numpy.ndarray, name) or name not in OPERATORS:
            return None
        return functools.partial(OPERATORS[name], self)

    def on(self, context: Any, proxy: Any) -> Any:
        """Return a proxy of this array, if the array is on a device; else refuse."""
        if context != inspect.getattr_static(FRONT_ENDS["mxnet"], "context").fget(self):
            raise self.recorder.refuse(f"it moves an array to {context}")
        return proxy

    def read_only(self, result: Any) -> Any:
        """Return a result that lies in this array's memory as one that cannot be written to."""
        step = ViewStep(None, (), {}, 0, result.fact, None)
        chain = (*self.chain, step)
        return type(self)(self.recorder, result.value, result.fact, self.storage, result.known, chain, self.front)


_METHOD_NAMES = (
    "all any argmax argmin argsort clip cumprod cumsum diagonal dot max mean min prod ptp ravel "
    "repeat round searchsorted squeeze std sum swapaxes take trace var nonzero compress"
)
# Those that mean what the function of the same name does.
METHODS: dict[str, Any] = {name: getattr(numpy, name) for name in _METHOD_NAMES.split()}


def _represented(get: Any) -> tuple[Any, type]:
    fact = get("fact")
    return get("recorder"), get("front") or (fact.dtype.type if fact.scalar else numpy.ndarray)


_WatchedArrayProxy = watched(ArrayProxy, _represented, numpy.ndarray, FRONT_ENDS["numpy"])
WATCHED.update(name for name in METHODS if not hasattr(numpy.ndarray, name) or not hasattr(FRONT_ENDS["numpy"], name))
