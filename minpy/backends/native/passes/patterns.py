"""Rewriting rules for elementwise functions: a pattern, and the equal pattern that replaces it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy

from minpy.backends.native.language import Array, Elementwise, Step, broadcast, constant, uniform_value
from minpy.backends.native.language.function_table import ELEMENTWISE

__all__ = ["Row", "applied"]

# A function and patterns of its operands; a name, which matches the same array everywhere; or a number.
Pattern = Any

COMMUTATIVE = frozenset(
    """add multiply maximum minimum fmax fmin logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor
    equal not_equal""".split()  # noqa: SIM905
)


@dataclass(frozen=True)
class Row:
    """A pattern, and the one that replaces it, which computes the same."""

    pattern: Pattern
    replacement: Pattern
    kinds: str = "biuf"  # the kinds of dtype for which they are equal
    because: str = ""  # why they are equal, where it is not obvious

    def __str__(self) -> str:
        """Return the row as text.

        >>> str(Row(("multiply", "x", 1), "x"))
        'multiply(x, 1) -> x'
        """
        return f"{_text(self.pattern)} -> {_text(self.replacement)}"


def _text(pattern: Pattern) -> str:
    if isinstance(pattern, tuple):
        return f"{pattern[0]}({', '.join(map(_text, pattern[1:]))})"
    return str(pattern)


def applied(row: Row, step: Step) -> Array | None:
    """Return the replacement of a step by a row; None, if the step does not match."""
    if not isinstance(step, Elementwise) or step.function != row.pattern[0]:
        return None
    if step.operands[-1].dtype.kind not in row.kinds:
        return None
    for names in _matches(row.pattern, step):
        result = _instantiate(row.replacement, names, step)
        if result.shape == step.output.shape:
            return result
        return broadcast(result, step.output.shape)
    return None


def _matches(pattern: Pattern, step: Elementwise) -> Iterator[dict[str, Array]]:
    orders = [pattern[1:]]
    if len(pattern) == 3 and pattern[0] in COMMUTATIVE and pattern[1] != pattern[2]:
        orders.append((pattern[2], pattern[1]))
    for order in orders:
        names: dict[str, Array] = {}
        if all(_matches_array(item, operand, names) for item, operand in zip(order, step.operands, strict=True)):
            yield names


def _matches_array(pattern: Pattern, array: Array, names: dict[str, Array]) -> bool:
    if isinstance(pattern, str):
        return names.setdefault(pattern, array) is array
    if isinstance(pattern, tuple):
        step = array.step
        if not isinstance(step, Elementwise) or step.function != pattern[0]:
            return False
        for inner_names in _matches(pattern, step):
            if all(names.get(name, item) is item for name, item in inner_names.items()):
                names.update(inner_names)
                return True
        return False
    value = uniform_value(array)
    return value is not None and value == pattern and bool(numpy.signbit(float(value)) == numpy.signbit(float(pattern)))


def _instantiate(pattern: Pattern, names: dict[str, Array], step: Elementwise) -> Array:
    if isinstance(pattern, str):
        return names[pattern]
    if isinstance(pattern, tuple):
        operands = [_instantiate(item, names, step) for item in pattern[1:]]
        assert len(operands) == ELEMENTWISE[pattern[0]].arity
        return Elementwise.of(pattern[0], *operands, origin=step.origin)
    return constant(pattern, step.operands[-1].dtype)
