"""Operators that copy, mirror or surround an array: tile, repeat, flip, pad, and blocks between depth and space."""

from __future__ import annotations

import math
from typing import Any, Literal, cast

import numpy as np

from minpy.core.errors import ArgumentError, ShapeError
from minpy.core.sums import sum_over
from minpy.ops.axes import one_axis, several_axes
from minpy.ops.inference.partial_shapes import UNKNOWN, same_shape
from minpy.ops.inference.rule_parts import derived, forwards, merge_lengths, product, replace_length, with_axes
from minpy.ops.registry import operator

__all__ = ["depth_to_space", "flip", "margins_of", "pad", "repeat", "space_to_depth", "tile", "unpad"]


@operator(name="tile", shape_only=(0,))
def tile(data: np.ndarray, *, reps: tuple[int, ...]) -> np.ndarray:
    """Return copies of the data side by side.

    {data_parameter}
    reps : tuple of int
        How many copies along each axis, the last entry for the last axis.

    {returns_array}
        With as many axes as the longer of `data` and `reps`.

    {examples}
    >>> nd.tile(nd.array([1, 2]), reps=(2, 2)).asnumpy()
    array([[1., 2., 1., 2.],
           [1., 2., 1., 2.]], dtype=float32)
    """
    return np.tile(data, reps)


@tile.def_grad()
def _tile_gradient(ans: Any, data: Any, *, reps: Any) -> Any:
    shape = np.shape(data)
    counts = (reps,) if isinstance(reps, int) else tuple(reps)
    width = max(len(shape), len(counts))
    lengths = (1,) * (width - len(shape)) + shape
    counts = (1,) * (width - len(counts)) + counts
    split = tuple(number for pair in zip(counts, lengths, strict=True) for number in pair)
    return lambda g: np.reshape(sum_over(np.reshape(g, split), axis=tuple(range(0, 2 * width, 2))), shape)


@tile.def_infer_shape
@forwards
def _tile_shape(data: Any, *, reps: Any, **_: Any) -> Any:
    counts = (reps,) if isinstance(reps, int) else tuple(reps)
    width = max(len(data), len(counts))
    lengths = (1,) * (width - len(data)) + data
    return tuple(map(_product_of_lengths, lengths, (1,) * (width - len(counts)) + counts))


def _product_of_lengths(length: int, count: int) -> int:
    return product((length, count))


@operator(name="repeat", shape_only=(0,))
def repeat(data: np.ndarray, *, repeats: int, axis: int | None = None) -> np.ndarray:
    """Return the data with each element repeated in place.

    {data_parameter}
    repeats : int
    axis : int, optional
        Along which; if left out, the data is flattened first.

    {returns_array}

    {raises_shape_error}
        If there is no such axis.

    {examples}
    >>> nd.repeat(nd.array([[1, 2]]), repeats=2, axis=1).asnumpy()
    array([[1., 1., 2., 2.]], dtype=float32)
    """
    if repeats < 0:
        raise ArgumentError(f"repeat: repeats is {repeats}; expected 0 or more.")
    return np.repeat(data, repeats, None if axis is None else one_axis("repeat", axis, data.ndim))


@repeat.def_grad()
def _repeat_gradient(ans: Any, data: Any, *, repeats: int, axis: int | None) -> Any:
    shape = np.shape(data)
    position = math.prod(shape) if axis is None else axis % len(shape) + 1
    split = (position, repeats) if axis is None else (*shape[:position], repeats, *shape[position:])
    return lambda g: np.reshape(sum_over(np.reshape(g, split), axis=1 if axis is None else position), shape)


@repeat.def_infer_shape
@forwards
def _repeat_shape(data: Any, *, repeats: int, axis: int | None = None, **_: Any) -> Any:
    if axis is None:
        return (_product_of_lengths(product(data), repeats),)
    axis = one_axis("repeat", axis, len(data))
    return replace_length(data, axis, _product_of_lengths(data[axis], repeats))


@operator(
    name="flip", aliases=("reverse",), shapes=same_shape, grad=lambda ans, data, *, axis: lambda g: flip(g, axis=axis)
)
def flip(data: np.ndarray, *, axis: int | tuple[int, ...]) -> np.ndarray:
    """Return the data with its elements in reverse order along axes.

    {data_parameter}
    axis : int or tuple of int

    {returns_like_data}

    {raises_shape_error}
        If there is no such axis.

    {examples}
    >>> nd.flip(nd.array([[1, 2], [3, 4]]), axis=1).asnumpy()
    array([[2., 1.],
           [4., 3.]], dtype=float32)
    """
    return np.flip(data, several_axes("flip", axis, data.ndim))


# -- padding -----------------------------------------------------------------------------------------------------------


def margins_of(pad_width: Any, ndim: int) -> tuple[tuple[int, int], ...]:
    """Return the width of the margin before and after each axis.

    Raises
    ------
    ShapeError
        If there are not two widths an axis.
    """
    numbers = tuple(pad_width)
    if len(numbers) != 2 * ndim or min(numbers, default=0) < 0:
        raise ShapeError(
            f"pad: pad_width is {numbers}; expected {2 * ndim} numbers >= 0, before and after each of {ndim} axes."
        )
    return tuple(zip(numbers[::2], numbers[1::2], strict=True))


@operator(name="pad", aliases=("Pad",), shape_only=(0,), category="shape")
def pad(
    data: np.ndarray,
    *,
    mode: Literal["constant", "edge", "reflect"],
    pad_width: tuple[int, ...],
    constant_value: float = 0.0,
) -> np.ndarray:
    """Return the data with a margin around it.

    {data_parameter}
    mode : {'constant', 'edge', 'reflect'}
        Whether the margin holds a constant, the nearest element, or the data mirrored at its first and last elements.
    pad_width : tuple of int
        Widths before and after each axis: (before_0, after_0, before_1, ...).
    constant_value : float

    {returns_array}

    {raises_shape_error}
        If there are not two widths an axis.
    ArgumentError
        For another mode.

    {examples}
    >>> nd.pad(nd.array([[1, 2, 3]]), mode='edge', pad_width=(0, 0, 2, 1)).asnumpy()
    array([[1., 1., 1., 2., 3., 3.]], dtype=float32)
    """
    pairs = margins_of(pad_width, data.ndim)
    if mode == "constant":
        return np.pad(data, pairs, constant_values=constant_value)
    if mode not in ("edge", "reflect"):
        raise ArgumentError(f"pad: unknown mode {mode!r}; expected 'constant', 'edge' or 'reflect'.")
    return np.pad(data, pairs, mode=cast(Any, mode))


@operator(name="_unpad", public=False)
def unpad(data: np.ndarray, *, shape: tuple[int, ...], mode: str, pad_width: tuple[int, ...]) -> np.ndarray:
    """Return the transpose of `pad` (with constant 0): margins are added to the elements that they repeat."""
    pairs = margins_of(pad_width, len(shape))
    if mode == "constant":
        return data[tuple(slice(before, before + n) for (before, _), n in zip(pairs, shape, strict=True))]
    for axis, ((before, after), length) in enumerate(zip(pairs, shape, strict=True)):
        sources = np.pad(np.arange(length), (before, after), mode=cast(Any, mode))
        moved = np.moveaxis(data, axis, 0)
        summed = np.zeros((length, *moved.shape[1:]), data.dtype)
        np.add.at(summed, sources, moved)
        data = np.moveaxis(summed, 0, axis)
    return data


@pad.def_grad()
def _pad_gradient(ans: Any, data: Any, *, mode: str, pad_width: Any) -> Any:
    return lambda g: unpad(g, shape=np.shape(data), mode=mode, pad_width=pad_width)


unpad.def_grad(lambda ans, data, *, mode, pad_width: lambda g: pad(g, mode=mode, pad_width=pad_width))


@pad.def_infer_shape
def _pad_shapes(inputs: Any, outputs: Any, *, pad_width: Any) -> Any:
    ndim = len(pad_width) // 2
    margins = [sum(pair) for pair in margins_of(pad_width, ndim)]
    data, result = with_axes(inputs[0], ndim), with_axes(outputs[0], ndim)
    if any(UNKNOWN != m < margin for m, margin in zip(result, margins, strict=True)):
        raise ShapeError(f"the result {result} is smaller than its margins, pad_width={tuple(pad_width)}.")
    data = tuple(
        merge_lengths(n, UNKNOWN if m == UNKNOWN else m - margin)
        for n, m, margin in zip(data, result, margins, strict=True)
    )
    return [data], [tuple(UNKNOWN if n == UNKNOWN else n + margin for n, margin in zip(data, margins, strict=True))]


# -- depth and space ---------------------------------------------------------------------------------------------------


def _check_block(name: str, data: Any, block_size: int, axes: tuple[int, ...], factor: int) -> None:
    if len(data) != 4 or block_size < 1 or any(data[axis] % factor and data[axis] != UNKNOWN for axis in axes):
        raise ShapeError(
            f"{name}: data has shape {data}; expected (batch, channels, height, width) with axes {axes} "
            f"divisible by {factor} (block_size {block_size})."
        )


@operator(name="depth_to_space")
def depth_to_space(data: np.ndarray, *, block_size: int) -> np.ndarray:
    """Return images whose channels were moved into blocks of pixels.

    {data_parameter}
        Of shape (batch, channels, height, width).
    block_size : int

    {returns_array}
        Of shape (batch, channels / block², height · block, width · block).

    {raises_shape_error}
        If the channels are not divisible by the square of `block_size`.

    {examples}
    >>> nd.depth_to_space(nd.array([1, 2, 3, 4]).reshape((1, 4, 1, 1)), 2).asnumpy()
    array([[[[1., 2.],
             [3., 4.]]]], dtype=float32)
    """
    _check_block("depth_to_space", data.shape, block_size, (1,), block_size * block_size)
    n, c, h, w = data.shape
    depth = c // (block_size * block_size)
    blocks = data.reshape(n, block_size, block_size, depth, h, w).transpose(0, 3, 4, 1, 5, 2)
    return blocks.reshape(n, depth, h * block_size, w * block_size)


@operator(name="space_to_depth")
def space_to_depth(data: np.ndarray, *, block_size: int) -> np.ndarray:
    """Return images whose blocks of pixels were moved into channels.

    {data_parameter}
        Of shape (batch, channels, height, width).
    block_size : int

    {returns_array}
        Of shape (batch, channels · block², height / block, width / block).

    {raises_shape_error}
        If height or width are not divisible by `block_size`.

    {examples}
    >>> nd.space_to_depth(nd.array([[[[1, 2], [3, 4]]]]), 2).asnumpy().ravel()
    array([1., 2., 3., 4.], dtype=float32)
    """
    _check_block("space_to_depth", data.shape, block_size, (2, 3), block_size)
    n, c, h, w = data.shape
    rows, columns = h // block_size, w // block_size
    blocks = data.reshape(n, c, rows, block_size, columns, block_size).transpose(0, 3, 5, 1, 2, 4)
    return blocks.reshape(n, c * block_size * block_size, rows, columns)


depth_to_space.def_grad(lambda ans, data, *, block_size: lambda g: space_to_depth(g, block_size=block_size))
space_to_depth.def_grad(lambda ans, data, *, block_size: lambda g: depth_to_space(g, block_size=block_size))


@depth_to_space.def_infer_shape
@forwards
def _depth_to_space_shape(data: Any, *, block_size: int, **_: Any) -> Any:
    _check_block("depth_to_space", data, block_size, (1,), block_size**2)
    depth = derived(lambda n: n // block_size**2, data[1])
    return (data[0], depth, _product_of_lengths(data[2], block_size), _product_of_lengths(data[3], block_size))


@space_to_depth.def_infer_shape
@forwards
def _space_to_depth_shape(data: Any, *, block_size: int, **_: Any) -> Any:
    _check_block("space_to_depth", data, block_size, (2, 3), block_size)
    rows, columns = (derived(lambda n: n // block_size, length) for length in data[2:])
    return (data[0], _product_of_lengths(data[1], block_size**2), rows, columns)


flip.saved_name, pad.saved_name = "reverse", "Pad"
