"""Symbols without inputs, `zeros` and its kind; and operators of two symbols of which one may be a number."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from minpy.core.errors import ArgumentError, describe
from minpy.core.operator import Operator
from minpy.core.signatures import replace_synonyms
from minpy.ops.registry import OPERATORS, find_operator
from minpy.ops.ufunc import NUMBER_FORMS
from minpy.symbol.composition import compose
from minpy.symbol.symbol import Symbol

__all__ = ["arange", "eye", "full", "histogram", "hypot", "linspace", "ones", "pow", "with_numbers", "zeros"]

Shape = int | Sequence[int]


def _without_inputs(kind: str, dtype: Any, keywords: dict[str, Any], **attributes: Any) -> Symbol:
    """Return the symbol of an operator without inputs; attributes that are None are left out, but for the dtype."""
    attributes = {name: value for name, value in attributes.items() if value is not None}
    attributes["dtype"] = "float32" if dtype is None else dtype
    return compose(find_operator(kind), kind, (), {**attributes, **keywords})


def _shape(shape: Shape) -> tuple[int, ...]:
    return (int(shape),) if isinstance(shape, (int, numpy.integer)) else tuple(shape)


def zeros(shape: Shape, dtype: Any = None, **kwargs: Any) -> Symbol:
    """Return the symbol of an array of zeros.

    Parameters
    ----------
    shape : int or sequence of int
        0 for a length that is inferred from where the symbol is used.
    dtype : dtype, optional
        By default float32.

    Examples
    --------
    >>> from minpy import sym
    >>> sym.zeros((2, 3)).infer_shape()
    ([], [(2, 3)], [])
    """
    return _without_inputs("_zeros", dtype, kwargs, shape=_shape(shape))


def ones(shape: Shape, dtype: Any = None, **kwargs: Any) -> Symbol:
    """Return the symbol of an array of ones; see `zeros`."""
    return _without_inputs("_ones", dtype, kwargs, shape=_shape(shape))


def histogram(a: Symbol, bins: Any = 10, range: Sequence[float] | None = None, **kwargs: Any) -> Symbol:
    """Return the symbol of two outputs: how many elements lie in each bin, and the bins' edges.

    Parameters
    ----------
    a : Symbol
    bins : int or Symbol
        How many bins there are, or their edges.
    range : sequence of float
        The lower and upper end of all bins, with their number.

    Raises
    ------
    ArgumentError
        If there is a number of bins and no range.

    Examples
    --------
    >>> from minpy import nd, sym
    >>> counts, edges = sym.histogram(sym.var('x'), bins=2, range=(0, 4)).eval(x=nd.array([1, 2, 2, 5]))
    >>> counts.asnumpy()
    array([1, 2])
    """
    if isinstance(bins, Symbol):
        return compose(find_operator("_histogram"), "_histogram", (a, bins), kwargs)
    if not isinstance(bins, (int, numpy.integer)) or range is None:
        raise ArgumentError(
            f"sym.histogram: bins is {describe(bins)} and range is {range}; give bins as a Symbol of edges, or as a "
            "number with range=(lower, upper): no symbol knows the least and the greatest element."
        )
    attributes = {"bin_cnt": int(bins), "range": tuple(range), **kwargs}
    return compose(find_operator("_histogram"), "_histogram", (a,), attributes)


def full(shape: Shape, val: float, dtype: Any = None, **kwargs: Any) -> Symbol:
    """Return the symbol of an array with the same value everywhere; see `zeros`."""
    return _without_inputs("_full", dtype, kwargs, shape=_shape(shape), value=float(val))


def arange(
    start: float,
    stop: float | None = None,
    step: float = 1.0,
    repeat: int = 1,
    infer_range: bool = False,
    name: str | None = None,
    dtype: Any = None,
) -> Symbol:
    """Return the symbol of evenly spaced values in [start, stop), each `repeat` times; with one bound in [0, start)."""
    attributes = {"start": start, "stop": stop, "step": step, "repeat": repeat, "infer_range": infer_range}
    return _without_inputs("_arange", dtype, {"name": name}, **attributes)


def eye(N: int, M: int = 0, k: int = 0, dtype: Any = None, **kwargs: Any) -> Symbol:
    """Return the symbol of a matrix of N rows and M columns (0: N) with ones on the diagonal `k`."""
    return _without_inputs("_eye", dtype, kwargs, N=N, M=M, k=k)


def linspace(
    start: float, stop: float, num: int, endpoint: bool = True, name: str | None = None, dtype: Any = None
) -> Symbol:
    """Return the symbol of `num` evenly spaced values from `start` to `stop`."""
    return _without_inputs("_linspace", dtype, {"name": name}, start=start, stop=stop, num=num, endpoint=endpoint)


# What MXNet answers with a number, if both are.
_NUMBER_FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "power": operator.pow,
    "maximum": max,
    "minimum": min,
    "hypot": numpy.hypot,
}


def _plain_name(array_operator: Operator) -> str | None:
    """Return the plain name of an operator of two arrays: `add` for `broadcast_add`; None for other operators."""
    if array_operator.signature.inputs != ("lhs", "rhs"):
        return None
    return array_operator.__name__.removeprefix("broadcast_").removeprefix("elemwise_").removeprefix("_")


def scalar_kind(array_operator: Operator, number_on_right: bool) -> str | None:
    """Return the operator of an array and a number that an operator of two arrays is with a number; None if none is."""
    forms = NUMBER_FORMS.get(_plain_name(array_operator) or "")
    return None if forms is None else f"_{forms[0 if number_on_right else 1]}_scalar"


def with_numbers(kind: str, function: Callable[..., Symbol]) -> Callable[..., Symbol]:
    """Return the function of an operator, so that one of its two inputs may be a number."""
    base, signature = _plain_name(OPERATORS[kind]), OPERATORS[kind].signature
    if scalar_kind(OPERATORS[kind], True) is None:
        return function

    def choose(*arguments: Any, **keywords: Any) -> Any:
        keywords = replace_synonyms(f"sym.{kind}", signature, keywords)
        operands = [*arguments, *(keywords[name] for name in ("lhs", "rhs")[len(arguments) :] if name in keywords)]
        numbers = [isinstance(operand, (int, float, numpy.number)) for operand in operands]
        if len(operands) != 2 or not any(numbers):
            return function(*arguments, **keywords)
        if all(numbers) and base in _NUMBER_FUNCTIONS and not keywords.keys() - {"lhs", "rhs"}:
            return _NUMBER_FUNCTIONS[base](*operands)
        if all(numbers):
            raise ArgumentError(f"sym.{kind}: {describe(operands)}; expected a Symbol, or a Symbol and a number.")
        symbol, number = (operands[0], operands[1]) if numbers[1] else (operands[1], operands[0])
        scalar = scalar_kind(OPERATORS[kind], numbers[1])
        assert scalar is not None
        keywords = {name: value for name, value in keywords.items() if name not in ("lhs", "rhs")}
        hint = scalar.replace("_scalar", "scalar")
        return compose(find_operator(scalar), scalar, [symbol], {**keywords, "scalar": number}, hint)

    return functools.update_wrapper(choose, function)


def pow(base: Any, exp: Any) -> Any:
    """Return base to the power of exp, of which one may be a number; of two numbers the result is one."""
    return with_numbers("_power", _composed("_power"))(base, exp)


def hypot(left: Any, right: Any) -> Any:
    """Return the square root of the sum of the squares of symbols, or of a symbol and a number, or of two numbers."""
    return with_numbers("_hypot", _composed("_hypot"))(left, right)


def _composed(kind: str) -> Callable[..., Symbol]:
    return lambda *arguments, **keywords: compose(find_operator(kind), kind, arguments, keywords)
