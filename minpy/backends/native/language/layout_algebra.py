"""Compositions of layouts: views of arrays that lie in another array's memory."""

from __future__ import annotations

from collections.abc import Sequence

from minpy.backends.native.language import Array, Layout, Origin, View, contiguous

__all__ = ["composed", "expanded", "order_of", "permuted", "restored", "reviewed", "stripped"]


def composed(shape: Sequence[int], layout: Layout, over: Sequence[int], inside: Layout) -> Layout | None:
    """Return the layout of a view of an array that lies in another's memory.

    An array of `shape` is seen through `layout`, as if the array were C-contiguous whose shape is `over`, and whose
    elements lie where `inside` says. None, if no strides give that view.

    >>> composed((2, 3), Layout(0, (1, 2)), (3, 2), Layout(0, (1, 3)))  # transposed, and back
    Layout(offset=0, strides=(3, 1))
    >>> composed((6,), Layout(0, (1,)), (3, 2), Layout(0, (1, 3))) is None  # no reshape of what is transposed
    True
    """
    if 0 in shape:
        return Layout(0, contiguous(shape))
    axes = _collapsed(over, inside.strides)
    remainder, offset = layout.offset, inside.offset
    lowest, highest = [], []
    for length, step, stride in axes:
        index, remainder = divmod(remainder, step)
        offset += index * stride
        lowest.append(index)
        highest.append(index)
        if index >= length:
            return None
    strides = []
    for count, stride in zip(shape, layout.strides, strict=True):
        if count == 1 or stride == 0:
            strides.append(0)
            continue
        for number, (_, step, inner) in enumerate(axes):
            if stride % step == 0:
                moved = stride // step
                lowest[number] += min(0, moved * (count - 1))
                highest[number] += max(0, moved * (count - 1))
                strides.append(moved * inner)
                break
        else:
            return None
    within = all(low >= 0 and high < length for low, high, (length, _, _) in zip(lowest, highest, axes, strict=True))
    return Layout(offset, tuple(strides)) if within else None


def _collapsed(shape: Sequence[int], strides: Sequence[int]) -> list[tuple[int, int, int]]:
    """Return length, step in C's order, and stride of the axes, with adjacent axes merged where they can be."""
    loops: list[tuple[int, int, int]] = []
    step = 1
    for length, stride in zip(reversed(shape), reversed(strides), strict=True):
        if length == 1:
            continue
        if loops and loops[-1][2] * loops[-1][0] == stride:
            last, before, inner = loops[-1]
            loops[-1] = (last * length, before, inner)
        else:
            loops.append((length, step, stride))
        step *= length
    return loops[::-1]


def reviewed(view: View, root: Array) -> Array | None:
    """Return a view again, of an array with the same elements that replaces its root, maybe a view itself.

    None, if no strides give that view.
    """
    if root.is_contiguous:
        layout: Layout | None = Layout(view.layout.offset + root.layout.offset, view.layout.strides)
    else:
        layout = composed(view.shape, view.layout, root.shape, root.layout)
    return None if layout is None else View.of(root.root, view.shape, layout, origin=view.origin)


def stripped(shape: Sequence[int]) -> tuple[int, ...]:
    """Return a shape without the axes of length 1 in front.

    >>> stripped((1, 1, 3, 1))
    (3, 1)
    """
    lead = next((axis for axis, length in enumerate(shape) if length != 1), len(shape))
    return tuple(shape[lead:])


def expanded(array: Array, shape: Sequence[int]) -> tuple[int, ...]:
    """Return the strides of an array when it is broadcast to a shape.

    >>> import numpy
    >>> expanded(Array((3, 1), numpy.dtype("float32")), (2, 3, 4))
    (0, 1, 0)
    """
    lead = len(shape) - len(array.shape)
    axes = zip(array.shape, array.layout.strides, strict=True)
    return (*[0] * lead, *(0 if length == 1 else stride for length, stride in axes))


def permuted(array: Array, shape: Sequence[int], order: Sequence[int], origin: Origin) -> Array:
    """Return an array broadcast to a shape, its axes in another order; axes along which it is broadcast have length 1.

    >>> import numpy
    >>> permuted(Array((3, 1), numpy.dtype("float32")), (2, 3, 4), (1, 2, 0), Origin()).shape
    (3, 1, 1)
    """
    strides = expanded(array, shape)
    lengths = [length if strides[axis] else 1 for axis, length in enumerate(shape)]
    layout = Layout(array.layout.offset, tuple(strides[axis] for axis in order))
    return _viewed(array.root, tuple(lengths[axis] for axis in order), layout, origin)


def restored(array: Array, shape: Sequence[int], order: Sequence[int]) -> Array:
    """Return a view with the original order of axes of an array in another order: the inverse of `permuted`.

    >>> import numpy
    >>> restored(Array((3, 2), numpy.dtype("float32")), (2, 3), (1, 0)).layout
    Layout(offset=0, strides=(1, 2))
    """
    lengths = [1] * len(order)
    strides = [0] * len(order)
    for axis, length, stride in zip(order, array.shape, contiguous(array.shape), strict=True):
        lengths[axis], strides[axis] = length, stride
    assert tuple(lengths) == tuple(shape)
    return View.of(array, shape, Layout(0, tuple(strides)))


def _viewed(root: Array, shape: tuple[int, ...], layout: Layout, origin: Origin) -> Array:
    natural = contiguous(shape)
    strides = tuple(
        expected if length == 1 else stride
        for length, stride, expected in zip(shape, layout.strides, natural, strict=True)
    )
    return View.of(root, shape, Layout(layout.offset, strides), origin=origin)


def order_of(array: Array, shape: Sequence[int]) -> tuple[int, ...] | None:
    """Return the order of the axes in memory; None if an array shows elements of its root's memory more than once.

    >>> import numpy
    >>> x = Array((2, 6), numpy.dtype("float32"))
    >>> order_of(View.of(x, (6, 2), Layout(0, (1, 6))), (6, 2)), order_of(View.of(x, (3, 2), Layout(1, (2, 6))), (3, 2))
    ((1, 0), (1, 0))
    """
    if array.shape != tuple(shape) or 0 in shape:
        return None
    strides = array.layout.strides
    order = sorted((axis for axis, length in enumerate(shape) if length != 1), key=lambda axis: -strides[axis])
    reached = 1
    for axis in reversed(order):
        if strides[axis] < reached:
            return None
        reached = strides[axis] * shape[axis]
    long_axes = iter(order)
    return tuple(axis if length == 1 else next(long_axes) for axis, length in enumerate(shape))
