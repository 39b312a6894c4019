"""`im2col` and `col2im`: the blocks that a convolution's kernel sees as columns, and columns added up to an image.

Each is the gradient of the other. Both go offset by offset of the kernel, not position by position.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from minpy.core.errors import ShapeError
from minpy.ops.dtype_attributes import require_floats
from minpy.ops.inference.partial_shapes import UNKNOWN
from minpy.ops.inference.rule_parts import derived, dtype_of, merge_lengths, product, with_axes
from minpy.ops.nn.convolution import LAYOUTS, per_axis
from minpy.ops.registry import operator

__all__ = ["col2im", "im2col"]

Ints = tuple[int, ...]


def _window(name: str, lengths: Any, kernel: Any, stride: Any, dilate: Any, pad: Any) -> tuple[Any, ...]:
    """Return (kernel, stride, dilate, pad, number of positions) of each axis, of these lengths."""
    count = 1 if isinstance(kernel, int) else len(kernel)
    if count not in LAYOUTS or len(lengths) != count:
        raise ShapeError(
            f"{name}: kernel is {kernel} for {len(lengths)} axes; expected 1 to 3 axes, a number for each."
        )
    kernel = per_axis(name, "kernel", kernel, count, 1, 1)
    stride = per_axis(name, "stride", stride, count, 1, 1)
    dilate = per_axis(name, "dilate", dilate, count, 1, 1)
    pad = per_axis(name, "pad", pad, count, 0, 0)
    counts = tuple(
        derived(lambda length, k=k, s=s, d=d, p=p: (length + 2 * p - d * (k - 1) - 1) // s + 1, x)
        for x, k, s, d, p in zip(lengths, kernel, stride, dilate, pad, strict=True)
    )
    if any(n < 1 and n != UNKNOWN for n in counts):
        raise ShapeError(
            f"{name}: kernel {kernel} with dilate={dilate} does not fit into an image of lengths {tuple(lengths)} with "
            f"pad={pad}."
        )
    return kernel, stride, dilate, pad, counts


def _kernel_keys(kernel: Ints, stride: Ints, dilate: Ints, counts: Ints) -> Iterator[tuple[Any, ...]]:
    """Yield, for each element of the kernel, the key of the elements of a padded image that it meets."""
    for offsets in itertools.product(*map(range, kernel)):
        yield (
            slice(None),
            slice(None),
            *(
                slice(d * o, d * o + s * (n - 1) + 1, s)
                for o, s, d, n in zip(offsets, stride, dilate, counts, strict=True)
            ),
        )


@operator(name="im2col", shape_only=(0,), dtypes=dtype_of(0), category="shape")
def im2col(
    data: np.ndarray,
    *,
    kernel: tuple[int, ...],
    stride: tuple[int, ...] = (),
    dilate: tuple[int, ...] = (),
    pad: tuple[int, ...] = (),
) -> np.ndarray:
    """Return the blocks of an image that a convolution's kernel sees, one after the other, as columns.

    {data_parameter}
        Floating point, of shape (batch, channels, ...), with one to three axes after the channels.
    kernel : tuple of int
        Lengths of a block.
    stride : tuple of int
        Steps between blocks; 1 if left out.
    dilate : tuple of int
        Steps between the elements of a block; 1 if left out.
    pad : tuple of int
        How many zeros are added at both ends of each axis; none if left out.

    {returns_array}
        Of shape (batch, channels * elements of the kernel, number of blocks).

    {raises_shape_error}
        If the kernel does not fit the data.
    {or_integers}

    {examples}
    >>> nd.im2col(nd.array([[[[1, 2, 3], [4, 5, 6]]]]), kernel=(2, 2)).asnumpy()
    array([[[1., 2.],
            [2., 3.],
            [4., 5.],
            [5., 6.]]], dtype=float32)
    """
    require_floats("im2col", data)
    kernel, stride, dilate, pad, counts = _window("im2col", data.shape[2:], kernel, stride, dilate, pad)
    padded = np.pad(data, ((0, 0), (0, 0), *((p, p) for p in pad))) if any(pad) else data
    blocks = np.stack([padded[key] for key in _kernel_keys(kernel, stride, dilate, counts)], axis=2)
    return blocks.reshape((*data.shape[:1], data.shape[1] * math.prod(kernel), math.prod(counts)))


@operator(name="col2im", shape_only=(0,), dtypes=dtype_of(0), category="shape")
def col2im(
    data: np.ndarray,
    *,
    output_size: tuple[int, ...],
    kernel: tuple[int, ...],
    stride: tuple[int, ...] = (),
    dilate: tuple[int, ...] = (),
    pad: tuple[int, ...] = (),
) -> np.ndarray:
    """Return columns added up to an image, each where `im2col` with the same arguments takes it from.

    {data_parameter}
        Floating point, of shape (batch, channels * elements of the kernel, number of blocks).
    output_size : tuple of int
        Lengths of the image: one to three.
    kernel, stride, dilate, pad : tuple of int
        As for `im2col`.

    {returns_array}
        Of shape (batch, channels, *output_size).

    {raises_shape_error}
        If the columns do not fit the image.
    {or_integers}

    {examples}
    >>> nd.col2im(nd.array([[[1, 2], [3, 4]]]), output_size=(3,), kernel=(2,)).asnumpy()
    array([[[1., 5., 4.]]], dtype=float32)
    """
    require_floats("col2im", data)
    lengths = (output_size,) if isinstance(output_size, int) else tuple(output_size)
    kernel, stride, dilate, pad, counts = _window("col2im", lengths, kernel, stride, dilate, pad)
    size = math.prod(kernel)
    if data.ndim != 3 or data.shape[1] % size or data.shape[2] != math.prod(counts):
        raise ShapeError(
            f"col2im: data has shape {data.shape}; expected (batch, channels * {size}, {math.prod(counts)}), as kernel "
            f"{kernel} has {size} elements, and {math.prod(counts)} positions in an image of lengths {lengths}."
        )
    channels = data.shape[1] // size
    blocks = data.reshape((data.shape[0], channels, size, *counts))
    image = np.zeros((data.shape[0], channels, *(x + 2 * p for x, p in zip(lengths, pad, strict=True))), data.dtype)
    for number, key in enumerate(_kernel_keys(kernel, stride, dilate, counts)):
        image[key] += blocks[:, :, number]
    return image[(slice(None), slice(None), *(slice(p, p + x) for x, p in zip(lengths, pad, strict=True)))]


@im2col.def_grad()
def _im2col_gradient(ans: Any, data: Any, *, kernel: Any, stride: Any, dilate: Any, pad: Any) -> Any:
    lengths = np.shape(data)[2:]
    return lambda g: col2im(g, output_size=lengths, kernel=kernel, stride=stride, dilate=dilate, pad=pad)


@col2im.def_grad()
def _col2im_gradient(ans: Any, data: Any, *, kernel: Any, stride: Any, dilate: Any, pad: Any) -> Any:
    return lambda g: im2col(g, kernel=kernel, stride=stride, dilate=dilate, pad=pad)


@im2col.def_infer_shape
def _im2col_shapes(inputs: Any, outputs: Any, *, kernel: Any, stride: Any, dilate: Any, pad: Any) -> Any:
    count = 1 if isinstance(kernel, int) else len(kernel)
    data, columns = with_axes(inputs[0], count + 2), with_axes(outputs[0], 3)
    kernel, _, _, _, counts = _window("im2col", data[2:], kernel, stride, dilate, pad)
    size = math.prod(kernel)
    batch = merge_lengths(data[0], columns[0])
    channels = merge_lengths(data[1], derived(lambda rows: rows // size, columns[1]))
    return [(batch, channels, *data[2:])], [(batch, derived(lambda n: n * size, channels), product(counts))]


@col2im.def_infer_shape
def _col2im_shapes(
    inputs: Any, outputs: Any, *, output_size: Any, kernel: Any, stride: Any, dilate: Any, pad: Any
) -> Any:
    lengths = (output_size,) if isinstance(output_size, int) else tuple(output_size)
    kernel, _, _, _, counts = _window("col2im", lengths, kernel, stride, dilate, pad)
    columns, image = with_axes(inputs[0], 3), with_axes(outputs[0], len(lengths) + 2)
    size = math.prod(kernel)
    batch = merge_lengths(columns[0], image[0])
    channels = merge_lengths(image[1], derived(lambda rows: rows // size, columns[1]))
    return [(batch, derived(lambda n: n * size, channels), math.prod(counts))], [(batch, channels, *lengths)]
