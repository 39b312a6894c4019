"""The shape language of `npx.reshape`, which differs from that of `nd.reshape`: here 0 is a length."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from minpy.core.errors import ShapeError

__all__ = ["resolve_numpy_shape"]

_INFERRED, _COPIED, _DROPPED, _REST, _MERGED, _SPLIT = -1, -2, -3, -4, -5, -6


def resolve_numpy_shape(shape: Sequence[int], newshape: int | Sequence[int], reverse: bool = False) -> tuple[int, ...]:
    """Return the shape that `newshape`, with its codes, means for an array.

    Parameters
    ----------
    shape : sequence of int
        The array's.
    newshape : int or sequence of int
        Lengths; and -1 for one that is inferred, -2 to copy an axis, -3 to drop an axis of length 1, -4 to copy all
        axes that are left, -5 to merge two axes, -6 to split one into the two lengths that follow, of which one may
        be -1.
        Each length and -1 stands in the place of one axis.
    reverse : bool
        Match codes with axes from the right; the two lengths of -6 stand before it then.

    Raises
    ------
    ShapeError
        If the codes do not fit the shape, or the number of elements would change.

    Examples
    --------
    >>> resolve_numpy_shape((2, 3, 4), (-2, -1))
    (2, 12)
    >>> resolve_numpy_shape((2, 3, 4), (-5, -4)), resolve_numpy_shape((6, 4), (-6, 2, -1, -4))
    ((6, 4), (2, 3, 4))
    >>> resolve_numpy_shape((2, 3, 4), (-1, -2), reverse=True)
    (6, 4)
    """
    codes = [newshape] if isinstance(newshape, int) else [int(code) for code in newshape]
    axes = list(shape)
    if reverse:
        return tuple(reversed(_resolved(axes[::-1], codes[::-1], shape, codes)))
    return tuple(_resolved(axes, codes, shape, codes))


def _resolved(axes: list[int], codes: list[int], shape: Sequence[int], target: Sequence[int]) -> list[int]:
    position = 0

    def fail(why: str) -> ShapeError:
        return ShapeError(f"npx.reshape: cannot reshape {tuple(shape)} to {tuple(target)}: {why}.")

    def take(code: int, count: int = 1) -> list[int]:
        nonlocal position
        if position + count > len(axes):
            raise fail(f"code {code} is for {count} ax{'is' if count == 1 else 'es'}, and fewer are left")
        position += count
        return axes[position - count : position]

    result: list[int] = []
    remaining = iter(codes)
    for code in remaining:
        if code >= _INFERRED:
            result.append(code)
            position += 1
        elif code == _COPIED:
            result += take(code)
        elif code == _DROPPED:
            (length,) = take(code)
            if length != 1:
                raise fail(f"code -3 drops an axis of length 1, and this one is {length} long")
        elif code == _REST:
            result += axes[position:]
            position = len(axes)
        elif code == _MERGED:
            result.append(math.prod(take(code, 2)))
        elif code == _SPLIT:
            (length,), factors = take(code), [next(remaining, None), next(remaining, None)]
            result += _split(length, factors, fail)
        else:
            raise fail(f"{code} is no length and no code; codes are -1 to -6")
    size = math.prod(shape)
    if result.count(_INFERRED) > 1:
        raise fail("-1 stands more than once")
    if _INFERRED in result:
        product = math.prod(length for length in result if length != _INFERRED)
        if not product or size % product:
            raise fail(f"{size} elements cannot be divided by {product}")
        result[result.index(_INFERRED)] = size // product
    if math.prod(result) != size:
        raise fail(f"it has {size} elements, and {tuple(result)} has {math.prod(result)}")
    return result


def _split(length: int, factors: Sequence[int | None], fail: Callable[[str], ShapeError]) -> list[int]:
    first, second = factors
    if first is None or second is None or min(first, second) < _INFERRED or first == second == _INFERRED:
        raise fail("code -6 comes with two lengths, of which one may be -1")
    if first == _INFERRED:
        first = length // second if second else 0
    elif second == _INFERRED:
        second = length // first if first else 0
    if first * second != length:
        raise fail(f"code -6 splits {length} into {first} x {second}")
    return [first, second]
