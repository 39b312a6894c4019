"""What the lengths of a traced value are: numbers, lengths of the inputs, expressions of these; or not known.

A number in a trace says nothing: the length of `x[:100]` is that of `x` as long as `x` is short. So each axis of a
result is followed to the axes that it comes from, through functions of which that is known; the lengths of all other
results are `None`, and the numbers among the arguments of such a function are the bounds that they may depend on.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy

from minpy.capture import steps as capture_steps
from minpy.capture.scalars import ScalarCall
from minpy.capture.storage import as_dtype, item_of, with_component, with_item
from minpy.graph.ir import CONSTANT, Node, Value

__all__ = ["AxisLengths", "is_algebraic", "product_of", "whole_numbers"]

# Kinds of steps of which each length is that of an operand's axis.
_KINDS = frozenset(("elementwise", "reduce", "product"))
# Functions of which each length is that of an operand's axis, a product of neighbours, or a number that it was given.
_MOVING_NAMES = """
    array ascontiguousarray asarray asfortranarray argsort broadcast_to copy cumprod cumsum expand_dims flip fliplr
    flipud moveaxis ravel reshape roll rollaxis rot90 sort squeeze stack swapaxes take take_along_axis transpose tril
    triu where
"""
_MOVING = frozenset(
    (
        as_dtype,
        with_component,
        with_item,
        numpy.ndarray.flatten,
        *(getattr(numpy, name) for name in _MOVING_NAMES.split()),
    )
)
# Arithmetic that says what a length is for all lengths. What else is computed of one chooses by it.
_ARITHMETIC = frozenset(
    (operator.add, operator.sub, operator.mul, operator.truediv, operator.neg, operator.pos, math.sqrt)
)
_MOST_FACTORS = 3  # a polynomial of this degree is another one at as many lengths as are tried


class AxisLengths:
    """What the lengths of a trace's values are.

    Parameters
    ----------
    fixed : collection of int
        Lengths of the inputs that are the same at every call; others from two on are symbols.
    least : int
        How long the others are at least.
    """

    def __init__(self, fixed: Iterable[int], least: int = 2) -> None:
        self.fixed = frozenset(fixed)
        self.least = least
        self.used: dict[float, Any] = {}  # by number, the expressions that became numbers of a step
        self._shapes: dict[Value, tuple[tuple[int, ...], tuple[Any, ...]]] = {}
        self._created: dict[Node, Mapping[int, Any]] = {}

    def of(self, value: Value, recorder: Any) -> tuple[Any, ...]:
        """Return, for each axis of a value, an int, a symbol, an expression, or None where it is not known."""
        if value not in self._shapes:
            shape = recorder.outputs.get(value, recorder.outputs.get(Value(value.node)))
            lengths = _shape_of_constant(value.node) if shape is None else shape[0]
            self._shapes[value] = tuple(lengths), self._lengths(value.node, tuple(lengths), recorder)
        return self._shapes[value][1]

    def bounds(self, recorder: Any) -> set[int]:
        """Return the numbers that lengths of a trace may be bounded by."""
        found: set[int] = set()
        for value in list(recorder.outputs):
            node = value.node
            if node.operator is None or node.operator is CONSTANT:
                continue
            if None in self.of(value, recorder) or self._is_cut(node, recorder):
                found.update(whole_numbers(_arguments(node)))
                for operand in node.inputs:
                    found.update(length for length in self.of(operand, recorder) if isinstance(length, int))
        return {number for number in found if number > self.least}

    def use(self, number: Any, expression: Any) -> None:
        """Note that an expression became a number of a step."""
        same = number not in self.used or self.used[number] == expression
        self.used[number] = expression if same else None

    def created(self, value: Value, sources: Mapping[int, Any]) -> None:
        """Note that an array was made of numbers, of which some are lengths: `sources` by the number."""
        self._created[value.node] = sources

    def _lengths(self, node: Node, shape: tuple[int, ...], recorder: Any) -> tuple[Any, ...]:
        if node.operator is None:
            return tuple(n if n < 2 or n in self.fixed else f"length {n}" for n in shape)
        if node.operator is CONSTANT:
            sources = self._created.get(node)
            return shape if sources is None else tuple(sources.get(length) for length in shape)
        operands = [self._shape(value, recorder) for value in node.inputs]
        function = _function(node, recorder)
        if function is item_of:
            expressions = self._of_item(node.operator.arguments[1], operands[0])
            return tuple(self._moved(length, operands) for length in shape) if expressions is None else expressions
        if recorder.kinds.get(node) in _KINDS or function in _MOVING:
            return tuple(self._moved(length, operands) for length in shape)
        return (None,) * len(shape)

    def _shape(self, value: Value, recorder: Any) -> tuple[tuple[int, ...], tuple[Any, ...]]:
        self.of(value, recorder)
        return self._shapes[value]

    def _moved(self, length: int, operands: Sequence[Any]) -> Any:
        """Return which axis of the operands a length is of, or which neighbours; None if that is not certain."""
        candidates = {
            expression
            for numbers, expressions in operands
            for number, expression in zip(numbers, expressions, strict=True)
            if number == length
        }
        if not candidates and length in self.used:
            candidates = {self.used[length]}
        if not candidates:
            candidates = {
                product_of(expressions[start:stop])
                for numbers, expressions in operands
                for start, stop in itertools.combinations(range(len(numbers) + 1), 2)
                if math.prod(numbers[start:stop]) == length and None not in expressions[start:stop]
            }
        if not candidates and length < 2:
            return length
        return candidates.pop() if len(candidates) == 1 else None

    def _is_cut(self, node: Node, recorder: Any) -> bool:
        """Tell whether an index is beyond some lengths: of an element, or of a part that is stored into."""
        if getattr(node.operator, "function", None) not in (item_of, with_item):
            return False
        index = node.operator.arguments[1]
        parts = index if isinstance(index, tuple) else (index,)
        if any(type(part) is int and not -self.least <= part < self.least for part in parts):
            return True
        expressions = self._of_item(index, self._shape(node.inputs[0], recorder))
        return expressions is not None and None in expressions

    def _of_item(self, index: Any, array: tuple[Sequence[int], Sequence[Any]]) -> tuple[Any, ...] | None:
        """Return the lengths of what a basic index gives; None for another index."""
        parts = index if isinstance(index, tuple) else (index,)
        if not all(part is None or part is Ellipsis or isinstance(part, (int, slice)) for part in parts):
            return None
        numbers, expressions = array
        axes = iter(zip(numbers, expressions, strict=True))
        count = len(numbers) - sum(part is not None and part is not Ellipsis for part in parts)
        lengths: list[Any] = []
        for part in parts if Ellipsis in parts else (*parts, Ellipsis):
            if part is None:
                lengths.append(1)
            elif part is Ellipsis:
                lengths += [expression for _, expression in itertools.islice(axes, count)]
            else:
                number, expression = next(axes)
                if isinstance(part, slice):
                    lengths.append(self._of_slice(part, number, expression))
        return tuple(lengths)

    def _of_slice(self, part: slice, number: int, expression: Any) -> Any:
        """Return the length of a slice, where that is the same expression for any length of its axis."""
        if part == slice(None) or part == slice(None, None, -1):
            return expression
        if isinstance(expression, int):
            bounds = [bound for bound in (part.start, part.stop) if bound in self.used]
            return None if bounds else len(range(number)[part])
        start, stop = part.start or 0, part.stop
        if part.step not in (None, 1) or not isinstance(expression, str):
            return None
        cut = start if start >= 0 else None
        if stop is not None and stop < 0 and cut is not None:
            cut -= stop
        elif stop is not None and cut is not None:
            left_off = self._left_off(stop, expression)
            cut = None if left_off is None else cut + left_off
        if cut is None or cut > self.least:
            return None
        return ScalarCall(operator.sub, (expression, cut)) if cut else expression

    def _left_off(self, stop: int, expression: str) -> int | None:
        """Return how many elements end up behind a number that was computed of an axis's length; None: not known."""
        end = self.used.get(stop)
        if end == expression:
            return 0
        if isinstance(end, ScalarCall) and end.function is operator.sub and end.operands[0] == expression:
            left_off = end.operands[1]
            return left_off if type(left_off) is int and left_off >= 0 else None
        return None


def product_of(factors: Iterable[Any]) -> Any:
    """Return the expression of a product of lengths; None if one of them is not known.

    >>> product_of([2, 3])
    6
    """
    product: Any = 1
    for factor in factors:
        if factor is None or product is None:
            return None
        if isinstance(product, int) and isinstance(factor, int):
            product *= factor
        elif product == 1:
            product = factor
        elif factor != 1:
            product = ScalarCall(operator.mul, (product, factor))
    return product


def is_algebraic(expression: Any) -> bool:
    """Tell whether an expression of lengths is arithmetic that is the same for all lengths, of a low degree.

    >>> is_algebraic(ScalarCall(operator.mul, ("length 11", 2)))
    True
    >>> is_algebraic(ScalarCall(operator.mod, ("length 11", 2)))
    False
    """
    leaves = list(_leaves(expression))
    symbols = [leaf for leaf in leaves if isinstance(leaf, str)]
    return all(leaf is not None for leaf in leaves) and all(
        symbols.count(symbol) <= _MOST_FACTORS for symbol in set(symbols)
    )


def _leaves(expression: Any) -> Iterator[Any]:
    """Yield the symbols and numbers of an expression; None for a part that is no arithmetic."""
    if not isinstance(expression, ScalarCall):
        yield expression
        return
    function, operands = expression
    is_known = function in _ARITHMETIC
    if function is operator.floordiv:  # what is tried for numbers that differ between traces
        is_known = type(operands[1]) is int and operands[1] in (2, 3, 4)
    if function is operator.pow:
        is_known = operands[1] in (-2, -1, -0.5, 0.5, 1, 2) and type(operands[1]) in (int, float)
        operands = (operands[0], operands[0]) if is_known and abs(operands[1]) == 2 else operands[:1]
    if not is_known:
        yield None
        return
    for operand in operands:
        yield from _leaves(operand)


def _function(node: Node, recorder: Any) -> Any:
    if isinstance(node.operator, capture_steps.Step):
        return node.operator.function
    return recorder.functions.get(node)


def _arguments(node: Node) -> Any:
    if isinstance(node.operator, capture_steps.Step):
        return node.operator.arguments, node.operator.keywords
    return dict(node.attributes)


def whole_numbers(value: Any) -> Iterator[int]:
    """Yield the whole numbers in a nest of arguments, without their signs."""
    if isinstance(value, (int, numpy.integer)) and not isinstance(value, bool):
        yield abs(int(value))
    elif isinstance(value, slice):
        yield from whole_numbers((value.start, value.stop, value.step))
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from whole_numbers(part)
    elif isinstance(value, dict):
        yield from whole_numbers(tuple(value.values()))


def _shape_of_constant(node: Node) -> tuple[int, ...]:
    return numpy.shape(node.attributes["value"])
