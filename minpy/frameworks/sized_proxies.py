"""Proxies that tell who asks for lengths: what is computed of a length stays known, what is chosen by it is noted."""

from __future__ import annotations

import functools
import operator
import sys
from collections.abc import Callable, Collection, Iterator
from typing import Any

import numpy

from minpy.capture.nd_proxy import NDArrayProxy
from minpy.capture.noting import constant
from minpy.capture.places import SourceLocation
from minpy.capture.proxy import ArrayProxy
from minpy.capture.recorder import LIMIT, Recorder
from minpy.capture.scalars import ScalarCall, ScalarProxy, Scalars
from minpy.differentiation.trees import leaves_of
from minpy.frameworks.axis_lengths import AxisLengths, is_algebraic, product_of
from minpy.graph.builder import GraphBuilder

__all__ = ["Choices", "Length", "SizedProxy", "SizedRecorder"]

# Modules that ask for shapes to note steps, not to choose by them on a user's behalf.
_OF_CAPTURES = ("minpy.capture.", "minpy.graph.", "minpy.frameworks.")
_CHOOSING = (
    "minpy.capture.minpy_functions",
    "minpy.capture.nd_proxy",
    "minpy.capture.shadow",
    "minpy.capture.own_functions",
    "minpy.capture.foreign",
)
# Ufuncs of lengths alone that are arithmetic, and what they are for Python's numbers.
_ARITHMETIC = {
    numpy.add: operator.add,
    numpy.subtract: operator.sub,
    numpy.multiply: operator.mul,
    numpy.true_divide: operator.truediv,
    numpy.negative: operator.neg,
    numpy.positive: operator.pos,
    numpy.sqrt: lambda value: value**0.5,
    numpy.square: lambda value: value**2,
    numpy.reciprocal: None,  # of integers it is 0
}


class Choices:
    """What was chosen by lengths, with the lines where; the parts of a trace have the same ones."""

    def __init__(self, recorder: Recorder, shared: Choices | None = None) -> None:
        self._recorder = recorder
        self._noted: list[tuple[Any, SourceLocation | None]] = [] if shared is None else shared._noted

    def append(self, choice: tuple[Any, Any]) -> None:
        """Note a choice: an expression, and the value that it must have."""
        self._noted.append((choice, self._recorder.place()))

    def __len__(self) -> int:
        return len(self._noted)

    @property
    def place(self) -> SourceLocation | None:
        """The line of the first choice, if that is known."""
        return self._noted[0][1] if self._noted else None


class SizedRecorder(Recorder):
    """A recorder whose proxies have `Length`s: `scalars.conditions` holds what was chosen by them."""

    def __init__(self, title: str, fixed: Collection[int] = (), least: int = 2) -> None:
        super().__init__(GraphBuilder(), title, SizedProxy, LIMIT)
        self.scalars = Scalars(self)
        self.choices = Choices(self)
        self.scalars.conditions = self.choices  # type: ignore[assignment]
        self.lengths = AxisLengths(fixed, least)
        self.bounds: set[int] = set()  # of the parts that have been noted

    def like(self, title: str) -> SizedRecorder:
        """Return the recorder of a part, which notes in the same place."""
        part = SizedRecorder(title, self.lengths.fixed, self.lengths.least)
        part.choices = Choices(part, self.choices)
        part.scalars.conditions = part.choices  # type: ignore[assignment]
        part.bounds = self.bounds
        part.lengths.used = self.lengths.used
        return part

    def made(self, result: Any, *arguments: Any) -> Any:
        """Return a result of a call: if lengths are among its arguments, what is in it is not known."""
        leaves = leaves_of(arguments)
        if any(
            isinstance(leaf, Length) or (isinstance(leaf, SizedProxy) and leaf.storage.known is None) for leaf in leaves
        ):
            for leaf in leaves_of(result):
                proxy = leaf.inner if isinstance(leaf, NDArrayProxy) else leaf
                if isinstance(proxy, SizedProxy) and proxy.known is not None:
                    self.lengths.created(proxy.value, self._sources(leaves))
                    _forget(proxy)
        return result

    def _sources(self, arguments: Any) -> dict[int, Any]:
        """Return what the lengths of an array that is made of some arguments may be, by the number."""
        pairs: list[tuple[Any, Any]] = []
        for argument in arguments:
            if isinstance(argument, Length):
                pairs.append((argument.value, argument.expression))
            elif type(argument) is int:
                pairs.append((argument, argument))
            elif isinstance(argument, SizedProxy):
                pairs += zip(argument.fact.shape, argument.expressions, strict=True)
        sources: dict[int, Any] = {}
        for number, expression in pairs:
            sources[number] = expression if sources.get(number, expression) == expression else None
        return sources

    def number_class(self, cls: type) -> type:
        """Return a class of NumPy's numbers that makes of a length a number that is not looked at."""
        return _number_class(cls)


class _NumberClass(type):
    """Of classes that make NumPy's numbers."""

    def __call__(cls, *arguments: Any, **keywords: Any) -> Any:
        (number,) = cls.__bases__
        if len(arguments) == 1 and not keywords and isinstance(arguments[0], Length):
            return arguments[0].as_number(number)
        return number(*arguments, **keywords)


@functools.cache
def _number_class(cls: type) -> type:
    return _NumberClass(cls.__name__, (cls,), {"__module__": cls.__module__})


class Length(ScalarProxy):
    """A length as users' code sees it: what is computed of it is computed; what is chosen by it is noted."""

    __slots__ = ()

    def pin(self) -> Any:
        """Return the number, for a step: what stands there in the source is compared with other traces."""
        if is_algebraic(self.expression):
            self._lengths.use(self.value, self.expression)
        else:
            self.require_same()
        return self.value

    def met(self, dtype: numpy.dtype) -> Any:
        """Return the number beside arrays."""
        return self.pin()

    def as_number(self, cls: type) -> Any:
        """Return the length as a number of NumPy's of which nothing but the class is known."""
        if cls is numpy.float16:  # it has no whole numbers from 2049 on
            self.require_same()
        return self._opaque(cls(self.pin()))

    def _opaque(self, value: Any) -> Any:
        proxy = constant(self.scalars.recorder, value)
        _forget(proxy)
        return proxy

    @property
    def _lengths(self) -> AxisLengths:
        recorder: Any = self.scalars.recorder
        lengths: AxisLengths = recorder.lengths
        return lengths

    def _chosen(self, function: Callable[..., Any], *arguments: Any) -> Any:
        self.scalars.conditions.append((ScalarCall(function, (self.expression, *arguments)), self.value))
        return function(self.value, *arguments)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> numpy.ndarray:
        return numpy.array(self._chosen(numpy.asarray), dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if any(isinstance(value, ArrayProxy) for value in inputs):
            return NotImplemented
        computed = _ARITHMETIC.get(ufunc) if method == "__call__" and not options else None
        numbers = [value.value if isinstance(value, Length) else value for value in inputs]
        result = getattr(ufunc, method)(*numbers, **options)
        if computed is not None and all(type(value) in (Length, int, float) for value in inputs):
            expression = computed(*inputs)
            if isinstance(expression, Length):
                expression.pin()
                return self._opaque(result)
        for value in inputs:
            if isinstance(value, Length):
                value.require_same()
        return result

    def __array_function__(self, function: Any, types: Any, arguments: Any, keywords: Any) -> Any:
        for value in leaves_of((arguments, keywords)):
            if isinstance(value, Length):
                value.require_same()
        return super().__array_function__(function, types, arguments, keywords)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._chosen(getattr, name)

    def __int__(self) -> int:
        return int(self._chosen(int))

    def __float__(self) -> float:
        return float(self._chosen(float))

    def __complex__(self) -> complex:
        return complex(self._chosen(complex))

    def __index__(self) -> int:
        return int(self._chosen(int))

    def __round__(self, *digits: Any) -> Any:
        return self._chosen(round, *digits)

    def __hash__(self) -> int:
        return hash(self._chosen(hash))

    def __str__(self) -> str:
        return str(self._chosen(str))

    __repr__ = __str__

    def __format__(self, specification: str) -> str:
        return str(self._chosen(format, specification))

    def __bool__(self) -> bool:
        return True if self._is_symbol else bool(self._chosen(bool))

    def __eq__(self, value: object) -> bool:
        decided = self._same(value)
        return decided if decided is not None else bool(super().__eq__(value))

    def __ne__(self, value: object) -> bool:
        decided = self._same(value)
        return not decided if decided is not None else bool(super().__ne__(value))

    @property
    def _is_symbol(self) -> bool:
        return isinstance(self.expression, str)

    def _same(self, value: object) -> bool | None:
        """Tell whether a length is another one, or a number, where that is so for all lengths that are allowed."""
        if not self._is_symbol:
            return None
        if isinstance(value, Length) and value.expression == self.expression:
            return True
        return False if type(value) is int and value < self._lengths.least else None


def _with_lengths(method: Callable[..., Any]) -> Callable[..., Any]:
    """Let what a proxy's method is given beside lengths be arrays of which nothing is known; and what it returns."""

    @functools.wraps(method)
    def call(self: Any, *arguments: Any, **keywords: Any) -> Any:
        values = (self, arguments, keywords)
        leaves = leaves_of(values)
        if any(isinstance(leaf, (Length, slice)) and _is_open(leaf) for leaf in leaves):
            for leaf in leaves:
                if isinstance(leaf, SizedProxy) and leaf.known is not None:
                    _forget(leaf)
        return self.recorder.made(method(self, *arguments, **keywords), values)

    return call


def _is_open(value: Any) -> bool:
    if isinstance(value, slice):
        return any(isinstance(end, Length) for end in (value.start, value.stop, value.step))
    return isinstance(value, Length)


def _forget(proxy: SizedProxy) -> None:
    """Let nobody know what is in an array: the steps that compute with it are noted."""
    value = proxy.value
    proxy.storage.known = None
    proxy.storage.version += 1
    proxy.hold(value, None)


class SizedProxy(ArrayProxy):
    """An array's proxy that gives `Length`s to whoever is no part of captures."""

    __slots__ = ()

    def __array_function__(self, function: Any, types: Any, arguments: Any, keywords: Any) -> Any:
        if function in (numpy.shape, numpy.size) and not _is_of_captures():
            return _asked(function, *arguments, **keywords)
        if function is numpy.einsum_path:  # it orders products by their costs
            self.recorder.choices.append((function, None))  # type: ignore[attr-defined]
        return self._called(function, types, arguments, keywords)

    _called = _with_lengths(ArrayProxy.__array_function__)
    __array_ufunc__ = _with_lengths(ArrayProxy.__array_ufunc__)
    _call = _with_lengths(ArrayProxy._call)
    __pow__ = _with_lengths(ArrayProxy.__pow__)

    @property
    def expressions(self) -> tuple[Any, ...]:
        """What the lengths of the axes are, as `AxisLengths.of` tells it."""
        recorder: Any = self.recorder
        expressions: tuple[Any, ...] = recorder.lengths.of(self._value, recorder)
        return expressions

    @property
    def shape(self) -> Any:
        """The lengths of the axes."""
        return self.fact.shape if _is_of_captures() else self._lengths()

    @property
    def size(self) -> Any:
        """The number of elements."""
        size = super().size
        return size if _is_of_captures() else self._length(size, product_of(self.expressions))

    @property
    def nbytes(self) -> Any:
        """The bytes of all elements."""
        nbytes = super().size * self.dtype.itemsize
        return nbytes if _is_of_captures() else self._length(nbytes, product_of((*self.expressions, self.itemsize)))

    @_with_lengths
    def __getitem__(self, index: Any) -> Any:
        return super().__getitem__(_without_lengths(index))

    @_with_lengths
    def __setitem__(self, index: Any, value: Any) -> None:
        super().__setitem__(_without_lengths(index), value)

    def __len__(self) -> int:
        if not self.fact.shape:
            raise TypeError("len() of unsized object")
        self._note("len")
        return self.fact.shape[0]

    def __iter__(self) -> Iterator[Any]:
        self._note("iteration")
        return (self[position] for position in range(self.fact.shape[0]))

    def _lengths(self) -> tuple[Any, ...]:
        return tuple(map(self._length, self.fact.shape, self.expressions))

    def _length(self, length: int, expression: Any) -> Any:
        """Return a length as users' code sees it; those that are the same in all traces are numbers."""
        if isinstance(expression, int):
            return length
        recorder: Any = self.recorder
        unknown = ScalarCall(int, (length,))
        return Length(recorder.scalars, unknown if expression is None else expression, length)

    def _note(self, asked: str) -> None:
        recorder: Any = self.recorder
        if not self.fact.shape or not isinstance(self.expressions[0], int):
            recorder.scalars.conditions.append((asked, self.fact.shape))


def _asked(function: Any, a: Any, axis: Any = None) -> Any:
    """Return what `numpy.shape` or `numpy.size` gives for a proxy."""
    if function is numpy.shape:
        return a._lengths()
    return a._length(a.fact.shape[axis], a.expressions[axis]) if axis is not None else _size(a)


def _size(array: SizedProxy) -> Any:
    return array._length(super(SizedProxy, array).size, product_of(array.expressions))


def _without_lengths(index: Any) -> Any:
    """Return an index with numbers in the place of the lengths in its slices: a step has no others."""
    if isinstance(index, tuple):
        return tuple(map(_without_lengths, index))
    if isinstance(index, slice):
        return slice(*(end.pin() if isinstance(end, Length) else end for end in (index.start, index.stop, index.step)))
    return index


def _is_of_captures() -> bool:
    name = str(sys._getframe(2).f_globals.get("__name__", ""))
    return name.startswith(_OF_CAPTURES) and not name.startswith(_CHOOSING)
