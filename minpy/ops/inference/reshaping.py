"""The shape language of `reshape`: 0 copies, -1 is inferred, -2 copies the rest, -3 merges two, -4 splits one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from minpy.core.errors import ArgumentError, ShapeError
from minpy.ops.inference.partial_shapes import UNKNOWN, PartialShape

__all__ = ["codes_given", "resolve_shape", "shape_of_target"]


def codes_given(
    shape: int | Sequence[int] | None, reverse: bool, target_shape: Sequence[int], keep_highest: bool
) -> tuple[tuple[int, ...], bool]:
    """Return (lengths and codes, whether they are read from the right) as the attributes of `reshape` give them.

    `target_shape` is how MXNet wrote shapes before it had codes: one 0 is inferred, and with `keep_highest` the first
    axis stays. It counts where no `shape` is given.

    Raises
    ------
    ArgumentError
        If neither is given.

    Examples
    --------
    >>> codes_given((0, -1), False, (), False)
    ((0, -1), False)
    >>> codes_given(None, False, (0, 10), False), codes_given(None, False, (7, 10), True)
    (((-1, 10), False), ((0, 10), False))
    """
    if isinstance(shape, int):
        return (shape,), reverse
    if shape or (shape is not None and not target_shape):
        return tuple(shape), reverse
    if not target_shape:
        raise ArgumentError("reshape: attribute 'shape' is missing; pass shape=... .")
    lengths = tuple(length or -1 for length in target_shape)
    return ((0, *lengths[1:]) if keep_highest else lengths), False


def resolve_shape(shape: tuple[int, ...], target: tuple[int, ...], reverse: bool = False) -> tuple[int, ...]:
    """Return the exact shape that `target`, with its codes, means for an array of `shape`.

    Parameters
    ----------
    shape : tuple of int
        The array's shape. Where lengths of it are unknown, lengths of the result may be.
    target : tuple of int
        Lengths and codes.
    reverse : bool
        Match codes with axes from the right.

    Raises
    ------
    ShapeError
        If the codes do not fit the shape, or the number of elements would change.

    Examples
    --------
    >>> resolve_shape((2, 3, 4), (-1, 0), reverse=True)
    (6, 4)
    >>> resolve_shape((2, 3, 4), (-3, -2))
    (6, 4)
    >>> resolve_shape((6, 4), (-4, 2, -1, 0))
    (2, 3, 4)
    >>> resolve_shape((UNKNOWN, 3, 4), (0, -1))
    (-1, 12)
    """
    if reverse:
        # A split reads (-4, a, b): reversed, it stands as (b, a, -4), so its group is turned around first.
        codes = _turn_splits(list(target))
        return tuple(reversed(_resolve(tuple(reversed(shape)), codes, shape, target, reversed_codes=True)))
    return tuple(_resolve(shape, list(target), shape, target))


def _turn_splits(target: list[int]) -> list[int]:
    groups: list[list[int]] = []
    position = 0
    while position < len(target):
        length = 3 if target[position] == -4 else 1
        groups.append(target[position : position + length])
        position += length
    return [code for group in reversed(groups) for code in ([group[0], *reversed(group[1:])])]


def _split(length: int, first: int, second: int, fail: Callable[[str], ShapeError]) -> tuple[int, int]:
    """Return the two lengths that an axis is split into, of which one may be given as -1."""
    if first == -1 and second == -1:
        raise fail("at most one of the two lengths after -4 is -1")
    if length == UNKNOWN:
        return first, second
    if first == -1:
        first = length // second if second else 0
    elif second == -1:
        second = length // first if first else 0
    if first * second != length:
        raise fail(f"code -4 splits {length} into {first} x {second}")
    return first, second


def _resolve(
    shape: tuple[int, ...],
    codes: list[int],
    full: tuple[int, ...],
    target: tuple[int, ...],
    reversed_codes: bool = False,
) -> list[int]:
    def fail(why: str) -> ShapeError:
        return ShapeError(f"reshape: cannot reshape {full} to {target}: {why}.")

    result: list[int] = []
    unknown = None
    copied = 0  # unknown lengths that stand in the result as they are: they do not bear on the others
    axis = 0
    position = 0
    while position < len(codes):
        code = int(codes[position])
        position += 1
        if code > 0:
            result.append(code)
            axis += 1
        elif code == 0:
            if axis >= len(shape):
                raise fail(f"code 0 at position {len(result)} copies an axis that does not exist")
            result.append(shape[axis])
            copied += shape[axis] == UNKNOWN
            axis += 1
        elif code == -1:
            if unknown is not None:
                raise fail("-1 stands more than once")
            unknown = len(result)
            result.append(1)
            axis += 1
        elif code == -2:
            result.extend(shape[axis:])
            copied += shape[axis:].count(UNKNOWN)
            axis = len(shape)
        elif code == -3:
            if axis + 1 >= len(shape):
                raise fail("code -3 merges two axes, and fewer are left")
            result.append(UNKNOWN if UNKNOWN in shape[axis : axis + 2] else shape[axis] * shape[axis + 1])
            axis += 2
        elif code == -4:
            if axis >= len(shape) or position + 1 >= len(codes):
                raise fail("code -4 is followed by two lengths, and splits an axis that exists")
            result.extend(_split(shape[axis], int(codes[position]), int(codes[position + 1]), fail))
            position += 2
            axis += 1
        else:
            raise fail(f"{code} is no length and no code; codes are 0, -1, -2, -3 and -4")
    if UNKNOWN in full:
        if unknown is not None and not copied == full.count(UNKNOWN) == result.count(UNKNOWN):
            result[unknown] = UNKNOWN
        if unknown is None or result[unknown] == UNKNOWN:
            return result
    size = math.prod(length for length in full if length != UNKNOWN)
    if unknown is not None:
        product = math.prod(length for length in result if length != UNKNOWN)
        if product == 0 or size % product:
            raise fail(f"{size} elements cannot be divided by {product}")
        result[unknown] = size // product
    if unknown is None and math.prod(result) != size:
        raise fail(f"it has {size} elements, the target {math.prod(result)}")
    return result


def shape_of_target(target: tuple[int, ...]) -> PartialShape:
    """Return what `target`, with its codes, says about the result for an array of which nothing is known.

    Examples
    --------
    >>> shape_of_target((0, -1, 3)), shape_of_target((-2, 3))
    ((-1, -1, 3), None)
    """
    if min(target, default=0) < -1:
        return None
    return tuple(code if code > 0 else UNKNOWN for code in target)
