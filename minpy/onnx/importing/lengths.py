"""Lengths of axes that are not known while a model is imported, and the arithmetic that models do with them.

A model computes shapes from shapes: `Shape`, `Gather`, `Mul`, `Concat`. Such values are arrays of objects here, of ints
and of lengths, which are polynomials in the lengths of the inputs: NumPy's functions then compute with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

__all__ = ["Length", "Origin", "reshape_codes"]


class Origin(NamedTuple):
    """Where a length can be seen: an axis of a value of the model."""

    value: str
    axis: int


class Length:
    """A length that is not known: a sum of products of named lengths.

    Parameters
    ----------
    terms : dict
        By sorted tuples of names, their factors.
    origin : Origin, optional
        Where the length can be seen, for symbols that need it while the model runs.

    Examples
    --------
    >>> rows, columns = Length.named('rows'), Length.named('columns')
    >>> rows * columns == columns * rows, rows * 2 // 2 == rows, rows + 1 == rows
    (True, True, False)
    >>> rows * 2 + 1
    2*rows + 1
    """

    __slots__ = ("origin", "terms")

    def __init__(self, terms: dict[tuple[str, ...], int], origin: Origin | None = None) -> None:
        self.terms = {names: factor for names, factor in terms.items() if factor}
        self.origin = origin

    @classmethod
    def named(cls, name: str, origin: Origin | None = None) -> Length:
        """Return the length of this name."""
        return cls({(name,): 1}, origin)

    def __repr__(self) -> str:
        parts = []
        for names, factor in self.terms.items():
            factors = ([str(factor)] if factor != 1 or not names else []) + list(names)
            parts.append("*".join(factors))
        return " + ".join(parts) or "0"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Length) and self.terms == other.terms

    def __hash__(self) -> int:
        return hash(frozenset(self.terms.items()))

    def __add__(self, other: Any) -> Any:
        terms = dict(self.terms)
        for names, factor in _terms(other).items():
            terms[names] = terms.get(names, 0) + factor
        return _simplest(terms)

    __radd__ = __add__

    def __mul__(self, other: Any) -> Any:
        terms: dict[tuple[str, ...], int] = {}
        for names, factor in self.terms.items():
            for others, second in _terms(other).items():
                key = tuple(sorted(names + others))
                terms[key] = terms.get(key, 0) + factor * second
        return _simplest(terms)

    __rmul__ = __mul__

    def __neg__(self) -> Any:
        return self * -1

    def __sub__(self, other: Any) -> Any:
        return self + other * -1

    def __rsub__(self, other: Any) -> Any:
        return self * -1 + other

    def __floordiv__(self, other: Any) -> Any:
        divided = _divided(self.terms, _terms(other))
        if divided is None:
            return Length.named(f"({self!r})//({other!r})")
        return _simplest(divided)

    __truediv__ = __floordiv__

    def __rfloordiv__(self, other: Any) -> Any:
        return Length.named(f"({other!r})//({self!r})")

    __rtruediv__ = __rfloordiv__

    def __mod__(self, other: Any) -> Any:
        return Length.named(f"({self!r})%({other!r})")


def _terms(value: Any) -> dict[tuple[str, ...], int]:
    return value.terms if isinstance(value, Length) else {(): int(value)}


def _simplest(terms: dict[tuple[str, ...], int]) -> Any:
    """Return a length, or the int that it is."""
    terms = {names: factor for names, factor in terms.items() if factor}
    if not terms:
        return 0
    return terms[()] if set(terms) == {()} else Length(terms)


def _divided(
    terms: dict[tuple[str, ...], int], divisor: dict[tuple[str, ...], int]
) -> dict[tuple[str, ...], int] | None:
    """Return the quotient by a product that divides every term; None where that is not one."""
    if len(divisor) != 1:
        return {(): 1} if terms == divisor else None
    ((names, factor),) = divisor.items()
    result = {}
    for product, count in terms.items():
        left = list(product)
        for name in names:
            if name not in left:
                return None
            left.remove(name)
        if factor == 0 or count % factor:
            return None
        result[tuple(left)] = count // factor
    return result


def reshape_codes(source: Sequence[Any], target: Sequence[Any]) -> tuple[int, ...] | None:
    """Return a shape in `mx.sym.reshape`'s codes; None if they cannot say it.

    0 keeps a length, -1 is what is left over, -3 the product of two lengths, -4 splits one into the two that follow.

    Parameters
    ----------
    source, target : sequence of int or Length
        -1 may stand in the target once.

    Examples
    --------
    >>> batch = Length.named('batch')
    >>> reshape_codes([batch, 3, 8], [batch, -1]), reshape_codes([batch, 3, 8], [batch * 3, 8])
    ((0, -1), (-1, 8))
    >>> reshape_codes([batch, batch, 6], [batch, batch, 2, 3])
    (0, 0, 2, 3)
    """
    codes: list[int] = []
    is_free = -1 not in [length for length in target if isinstance(length, int)]
    position = 0
    for length in target:
        here = source[position] if position < len(source) else None
        after = source[position + 1] if position + 1 < len(source) else None
        if isinstance(length, int) and length != 0:
            codes.append(length)
            position += 1
        elif here is not None and length == here:
            codes.append(0)
            position += 1
        elif is_free:
            codes.append(-1)
            is_free = False
            position += 1
        elif here is not None and after is not None and length == here * after:
            codes.append(-3)
            position += 2
        else:
            return None
    return tuple(codes)
