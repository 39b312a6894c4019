"""Steps: calls of NumPy functions, with all that is no array filled in, as operators of graph nodes.

Five kinds are enough below operators: 'elementwise', 'reduce', 'view', 'product' and 'call'.
"""

from __future__ import annotations

import functools
import operator as python_operators
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from minpy.core.operator import Operator
from minpy.core.signatures import Signature
from minpy.differentiation.recorded_run import vjp
from minpy.ops.registry import FUNCTIONS

__all__ = [
    "KINDS",
    "Slot",
    "Step",
    "fill",
    "frozen",
    "make_step",
    "power",
    "power_of_array",
    "ufunc_operator",
]

KINDS = ("elementwise", "reduce", "view", "product", "call")
_VARIADIC = Signature((), {}, {}, variadic="arrays")
# Functions that take NumPy's arrays only, and the methods that do the same for arrays on the tape.
_METHODS = (
    (numpy.array, python_operators.methodcaller("copy")),
    (numpy.ndarray.flatten, lambda array, *arguments: array.flatten(*arguments)),
)


@dataclass(frozen=True, slots=True)
class Slot:
    """The place of an array among the arguments of a step."""

    index: int


class Step(Operator):
    """One call of a function: what is no array among its arguments is part of the operator.

    `arguments`, `keywords`: with a `Slot` in the place of each array. `outputs`: how many arrays are in the tuple or
    list that the function returns; 0 if it returns an array. Where there is one, the step returns that array.
    """

    def __init__(
        self, function: Callable[..., Any], arguments: Any, keywords: dict[str, Any], outputs: int = 0
    ) -> None:
        forward = _caller(function, arguments, keywords)
        if outputs:
            many = forward
            forward = (lambda *arrays: many(*arrays)[0]) if outputs == 1 else lambda *arrays: tuple(many(*arrays))
        super().__init__(forward, name=_name(function), builtin=True, signature=_VARIADIC)
        self.function, self.arguments, self.keywords = function, arguments, keywords
        self.__doc__ = None
        self.into, self.elementwise = None, False  # even if it is a ufunc: of scalars it gives scalars
        self.direct = False
        if outputs:
            self.outputs = [f"output{index}" for index in range(outputs)]

    # Its gradient, where graphs have no rule for the function: that of the call under the tape.

    def has_rule(self, index: int) -> bool:
        """Tell whether there is a gradient: that is known once it is computed."""
        return True

    def values_read(self, indices: Sequence[int]) -> tuple[frozenset[int] | None, bool]:
        """Return what gradients read: all arrays, not the result."""
        return None, False

    def vjp(
        self,
        result: Any,
        arguments: Sequence[Any],
        attributes: dict[str, Any],
        gradient: Any,
        requires_grad: Sequence[int],
        targets: Any = None,
    ) -> list[Any]:
        """Return the gradients of the arrays at the positions `requires_grad`, in order, in new arrays."""
        forward = self.forward
        for function, method in _METHODS:
            if self.function is function:
                forward = _caller(method, self.arguments, self.keywords)
        _, pull = vjp(forward, arguments, requires_grad)
        return pull(gradient)


def _name(function: Any) -> str:
    name = str(getattr(function, "__name__", type(function).__name__))
    owner = getattr(function, "__self__", None)
    return f"{owner.__name__}.{name}" if isinstance(owner, numpy.ufunc) else name


def _caller(function: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Callable[..., Any]:
    """Return the function of the arrays alone."""
    count = len(arguments)
    if not any(map(_holds_slot, keywords.values())):
        if all(type(value) is Slot and value.index == position for position, value in enumerate(arguments)):
            return functools.partial(function, **keywords) if keywords else function
        first = next((position for position, value in enumerate(arguments) if not _is_slot(value, position)), count)
        constants = arguments[first:]
        if not any(map(_holds_slot, constants)):
            return lambda *arrays: function(*arrays, *constants, **keywords)
        if count and _is_row(arguments[0]) and not any(map(_holds_slot, arguments[1:])):  # concatenate
            constants = arguments[1:]
            if type(arguments[0]) is list and function is numpy.block:  # to which a tuple is something else
                return lambda *arrays: function(list(arrays), *constants, **keywords)
            return lambda *arrays: function(arrays, *constants, **keywords)
    return lambda *arrays: function(*fill(arguments, arrays), **fill(keywords, arrays))


def _is_slot(value: Any, position: int) -> bool:
    return type(value) is Slot and value.index == position


def _is_row(value: Any) -> bool:
    """Tell whether it is a list of all slots in order."""
    return isinstance(value, (list, tuple)) and all(_is_slot(slot, position) for position, slot in enumerate(value))


def _holds_slot(value: Any) -> bool:
    if type(value) in (list, tuple):
        return any(map(_holds_slot, value))
    if type(value) is dict:
        return any(map(_holds_slot, value.values()))
    return type(value) is Slot


def fill(value: Any, arrays: Sequence[Any]) -> Any:
    """Return a nest with arrays in place of its slots."""
    if type(value) is Slot:
        return arrays[value.index]
    if type(value) in (list, tuple):
        return type(value)(fill(part, arrays) for part in value)
    if type(value) is dict:
        return {key: fill(part, arrays) for key, part in value.items()}
    return value


def frozen(value: Any) -> Any:
    """Return what tells values apart that mean different things, hashable; a TypeError for arrays and their like."""
    if isinstance(value, (list, tuple)):
        return (type(value), *map(frozen, value))
    if isinstance(value, dict):
        return (dict, *((frozen(key), frozen(part)) for key, part in value.items()))
    if isinstance(value, slice):
        return (slice, value.start, value.stop, value.step)
    if isinstance(value, (float, complex, numpy.inexact)):  # 0.0 and -0.0 are equal, and not the same
        return (type(value), repr(value))
    hash(value)
    return (type(value), value)


_made: dict[Any, Step] = {}


def make_step(
    function: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any], outputs: int = 0
) -> Step:
    """Return the operator of a call; the same one for the same call, so that graphs merge them."""
    try:
        key = (function, outputs, frozen(arguments), frozen(keywords))
        step = _made.get(key)
    except TypeError:
        return Step(function, arguments, keywords, outputs)
    if step is None:
        if len(_made) > 4096:  # shapes and constants of programs that are long gone
            _made.clear()
        step = _made[key] = Step(function, arguments, keywords, outputs)
    return step


@functools.lru_cache(None)
def ufunc_operator(ufunc: Any, keeps_dtype_is_harmless: bool) -> Operator:
    """Return the operator that is a ufunc: the one that users know, if it means the same for these dtypes."""
    operator = FUNCTIONS.get(ufunc)
    if (
        isinstance(operator, Operator)
        and operator.forward is ufunc
        and (keeps_dtype_is_harmless or not operator.keeps_dtype)
    ):
        return operator
    return Operator(ufunc, name=ufunc.__name__, builtin=True)


def power(base: Any, exponent: Any) -> Any:
    """Return `base ** exponent`: not always `numpy.power`, which has no short ways for single exponents."""
    return python_operators.pow(base, exponent)


def power_of_array(base: Any, exponent: Any) -> Any:
    """Return the power of an array without axes, which may come as a scalar."""
    if isinstance(base, (numpy.generic, int, float, complex)):  # not what is recorded: that stays what it is
        base = numpy.asarray(base)
    return base**exponent
