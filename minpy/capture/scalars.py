"""`ScalarProxy`, in the place of a Python number that changes from call to call: an input of the graph.

Arithmetic between such numbers is Python's own, at each call, with its exceptions and big integers. Only where one
meets an array does it become an input of the graph: an array without axes, of the dtype to which NumPy converts a
number of Python's there. What asks for the value itself pins it: the capture holds for that value.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy

from minpy.capture.abstract_evaluation import VALUE_BASED, Fact
from minpy.capture.proxy_attributes import watched
from minpy.capture.reads import Read
from minpy.capture.recorder import Recorder
from minpy.graph.ir import Node, Value, variable

__all__ = [
    "MATH",
    "ScalarCall",
    "ScalarInput",
    "ScalarProxy",
    "ScalarRead",
    "Scalars",
    "call_math",
    "is_dynamic",
    "met",
    "pinned",
]

# Where a number meets an array without being looked at.
_MEETING = frozenset(
    getattr(numpy, name)
    for name in "add subtract multiply true_divide minimum maximum less less_equal greater greater_equal".split()  # noqa: SIM905
)


class ScalarRead(NamedTuple):
    """The number at a place: among the leaves of a call ('argument', position), or in what was read ('read', key)."""

    kind: str
    key: Any


class ScalarCall(NamedTuple):
    """What Python's operator, or function of `math`, gives for numbers: constants and expressions."""

    function: Callable[..., Any]
    operands: tuple[Any, ...]


class ScalarInput(NamedTuple):
    """A variable of the graph, and the number that it is given at a call, in a dtype."""

    node: Node
    expression: Any
    dtype: numpy.dtype


class Scalars:
    """The numbers of one capture."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        # The numbers that were read, and not given, by their places; what is expected is their type.
        self.reads: dict[Any, Read] = {}
        self.inputs: list[ScalarInput] = []
        self.conditions: list[tuple[Any, Any]] = []  # expressions, and the values that they must have at other calls

    def proxy(self, value: Any, kind: str, key: Any) -> ScalarProxy:
        """Return the proxy of a number, by its place."""
        cls = _WatchedScalarProxy if self.recorder.watched else ScalarProxy
        return cls(self, ScalarRead(kind, key), value)

    def read(self, source: Any, container: Any, key: Any, value: Any, path: str, place: Any) -> ScalarProxy:
        """Return the proxy of a number that was read outside."""
        where = (source, id(container), key)
        self.reads.setdefault(where, Read(source, container, key, type(value), path, place))
        return self.proxy(value, "read", where)

    def input(self, expression: Any, value: Any, dtype: numpy.dtype) -> Any:
        """Return an array proxy without axes for a number in a dtype: NumPy's scalar."""
        for entry in self.inputs:
            if entry.expression is expression and entry.dtype == dtype:
                node = entry.node
                break
        else:
            node = variable(f"number{len(self.inputs)}").node
            self.inputs.append(ScalarInput(node, expression, dtype))
        numpy.array(value, dtype)  # raises what NumPy raises for an integer that the dtype does not hold
        return self.recorder.proxy_class(self.recorder, Value(node), Fact((), dtype, True))


class ScalarProxy:
    """A number of Python's, exactly a float or an int, that may be another at the next call."""

    __slots__ = ("expression", "scalars", "value")

    def __init__(self, scalars: Scalars, expression: Any, value: Any) -> None:
        self.scalars = scalars
        self.expression = expression
        self.value = value

    def require_same(self) -> None:
        """Let the capture hold as long as the number is what it is."""
        self.scalars.conditions.append((self.expression, self.value))

    def pin(self) -> Any:
        """Return the number: the capture holds as long as it is that."""
        self.require_same()
        return self.value

    def met(self, dtype: numpy.dtype) -> Any:
        """Return the number as an array proxy without axes, of a dtype."""
        return self.scalars.input(self.expression, self.value, dtype)

    def __bool__(self) -> bool:
        truth = bool(self.value)
        self.scalars.conditions.append((ScalarCall(bool, (self.expression,)), truth))
        return truth

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> numpy.ndarray:
        return numpy.array(self.pin(), dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """Handle a call on numbers alone, whose results are NumPy's scalars; arrays among them handle it themselves."""
        recorder = self.scalars.recorder
        for value in inputs:
            if isinstance(value, recorder.proxy_class):
                return NotImplemented
        strong = [
            value.met(numpy.asarray(value.value).dtype) if isinstance(value, ScalarProxy) else value for value in inputs
        ]
        return getattr(ufunc, method)(*strong, **options)

    def __array_function__(self, function: Any, types: Any, arguments: Any, keywords: Any) -> Any:
        return function(*pinned(arguments), **pinned(keywords))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.pin(), name)


_WatchedScalarProxy = watched(ScalarProxy, lambda get: (get("scalars").recorder, type(get("value"))), float, int)


def _compute(function: Callable[..., Any], operands: Sequence[Any]) -> Any:
    """Return the proxy of what a function gives for numbers, some of which are proxies; or that, if it is no number."""
    proxy = next(operand for operand in operands if isinstance(operand, ScalarProxy))
    values = [operand.value if isinstance(operand, ScalarProxy) else operand for operand in operands]
    try:
        value = function(*values)
    except Exception:  # the function may catch it: other numbers take another way
        for operand in operands:
            if isinstance(operand, ScalarProxy):
                operand.require_same()
        raise
    expressions = tuple(operand.expression if isinstance(operand, ScalarProxy) else operand for operand in operands)
    call = ScalarCall(function, expressions)
    if type(value) in (float, int):
        return type(proxy)(proxy.scalars, call, value)
    proxy.scalars.conditions.append((call, value))  # a truth value, a complex number
    return value


def _method(function: Callable[..., Any], reflected: bool) -> Callable[..., Any]:
    def method(self: ScalarProxy, value: Any) -> Any:
        if not isinstance(value, ScalarProxy) and type(value) not in (float, int, bool, complex):
            return NotImplemented
        return _compute(function, (value, self) if reflected else (self, value))

    return method


def _unary(self: ScalarProxy, function: Callable[..., Any]) -> Any:
    return _compute(function, (self,))


def _pinned(self: ScalarProxy, function: Callable[..., Any], *arguments: Any) -> Any:
    return function(self.pin(), *arguments)


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    _function = getattr(operator, _name)
    setattr(ScalarProxy, f"__{_name}__", _method(_function, False))
    setattr(ScalarProxy, f"__r{_name}__", _method(_function, True))
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(ScalarProxy, f"__{_name}__", _method(getattr(operator, _name), False))
for _name in ("neg", "pos", "abs"):
    setattr(ScalarProxy, f"__{_name}__", functools.partialmethod(_unary, getattr(operator, _name)))
for _function in (int, float, complex, operator.index, hash, str, repr, format, round):
    setattr(ScalarProxy, f"__{_function.__name__}__", functools.partialmethod(_pinned, _function))


def call_math(function: Callable[..., Any], *operands: Any) -> Any:
    """Handle a function of `math`: on numbers that change, at each call."""
    if any(isinstance(operand, ScalarProxy) for operand in operands):
        if all(isinstance(operand, ScalarProxy) or type(operand) in (float, int) for operand in operands):
            return _compute(function, operands)
        operands = pinned(operands)
    return function(*operands)


def pinned(value: Any) -> Any:
    """Return a nest of values with numbers that change as what they are: the capture holds as long as they are that."""
    if isinstance(value, ScalarProxy):
        return value.pin()
    if type(value) in (list, tuple):
        return type(value)(map(pinned, value))
    if type(value) is dict:
        return {key: pinned(part) for key, part in value.items()}
    return value


def met(function: Any, inputs: Sequence[Any]) -> tuple[Any, ...]:
    """Return the operands of a ufunc with numbers that change as NumPy converts them beside the others."""
    if function not in _MEETING or VALUE_BASED:
        return tuple(map(pinned, inputs))
    dtypes = [value.dtype for value in inputs if not isinstance(value, ScalarProxy) and hasattr(value, "dtype")]
    if len(dtypes) + sum(isinstance(value, ScalarProxy) for value in inputs) != len(inputs):
        return tuple(map(pinned, inputs))
    return tuple(
        value.met(numpy.result_type(*dtypes, value.value)) if isinstance(value, ScalarProxy) else value
        for value in inputs
    )


def is_dynamic(value: Any) -> bool:
    """Tell whether a number may become an input of a graph: exactly a float or an int, where NumPy converts by type."""
    return type(value) in (float, int) and not VALUE_BASED


MATH = frozenset(value for name, value in vars(math).items() if callable(value) and not name.startswith("_"))
