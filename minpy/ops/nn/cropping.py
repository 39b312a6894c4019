"""`Crop`: a window of an image, given by its corner and size, or by another image of that size."""

from __future__ import annotations

from typing import Any

import numpy as np

from minpy.core.base_operator import Shapes
from minpy.core.errors import ArgumentError, ShapeError
from minpy.ops.inference.partial_shapes import merge_shapes
from minpy.ops.inference.rule_parts import with_axes
from minpy.ops.registry import operator
from minpy.ops.tensor.indexing import unindex

__all__ = ["crop"]

Ints = tuple[int, ...]


def _key(shapes: list[Ints], offset: Any, h_w: Any, center_crop: bool) -> tuple[slice, ...]:
    """Return the index of the window."""
    if len(shapes) not in (1, 2):
        raise ArgumentError(f"Crop takes an image, or two of which the second gives the size; got {len(shapes)}.")
    if any(len(shape) != 4 for shape in shapes):
        received = " and ".join(map(str, shapes))
        raise ShapeError(f"Crop: got {received}; expected images of shape (batch, channels, height, width).")
    size = tuple(shapes[1][2:] if len(shapes) == 2 else h_w)
    lengths = shapes[0][2:]
    corner = tuple((x - n) // 2 for x, n in zip(lengths, size, strict=True)) if center_crop else tuple(offset)
    if any(n < 1 or c < 0 or c + n > x for c, n, x in zip(corner, size, lengths, strict=True)):
        raise ShapeError(
            f"Crop: a window of size {size} at {corner} is no part of data {shapes[0]}; "
            f"{'the second image' if len(shapes) == 2 else 'h_w'} gives the size"
            f"{'' if center_crop else ', offset the corner'}."
        )
    return (slice(None), slice(None), *(slice(c, c + n) for c, n in zip(corner, size, strict=True)))


@operator(name="Crop", category="shape")
def crop(
    *data: np.ndarray,
    num_args: int | None = None,
    offset: tuple[int, ...] = (0, 0),
    h_w: tuple[int, ...] = (0, 0),
    center_crop: bool = False,
) -> np.ndarray:
    """Return a window of an image.

    Parameters
    ----------
    *data : NDArray
        The image, of shape (batch, channels, height, width); and another one that has the window's height and width.
        The gradient of the other one is zero.
    num_args : int
        Accepted and not used.
    offset : tuple of int
        The first row and column of the window.
    h_w : tuple of int
        Its height and width, if there is one image.
    center_crop : bool
        Whether the window is in the middle; `offset` is then not used.

    {returns_array}

    {raises_shape_error}
        If the window is no part of the image.
    ArgumentError
        For more than two images.

    {examples}
    >>> x = nd.arange(9).reshape((1, 1, 3, 3))
    >>> nd.Crop(x, offset=(1, 1), h_w=(2, 2)).asnumpy()
    array([[[[4., 5.],
             [7., 8.]]]], dtype=float32)
    """
    return data[0][_key([array.shape for array in data], offset, h_w, center_crop)]


@crop.def_multiple_grad()
def _crop_gradients(ans: Any, *data: Any, offset: Any, h_w: Any, center_crop: bool) -> Any:
    shapes = [np.shape(part) for part in data]
    key = _key(shapes, offset, h_w, center_crop)

    def gradients(g: Any) -> tuple[Any, ...]:
        return unindex(g, key=key, shape=shapes[0]), *(np.zeros(shape, g.dtype) for shape in shapes[1:])

    return gradients


@crop.def_infer_shape
def _crop_shapes(inputs: Shapes, outputs: Shapes, *, h_w: Any) -> tuple[Shapes, Shapes]:
    first, result = (with_axes(shape, 4) for shape in (inputs[0], outputs[0]))
    size = tuple(h_w) if len(inputs) == 1 else (inputs[1] or result)[2:]
    lead = merge_shapes(first[:2], result[:2]) or ()
    return [(*lead, *first[2:]), *inputs[1:]], [(*lead, *size)]
