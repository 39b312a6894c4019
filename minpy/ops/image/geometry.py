"""Images as tensors, normalized, cut out and flipped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minpy.core.array import raw_of
from minpy.core.errors import ArgumentError, DTypeError, ShapeError
from minpy.core.operator import Operator
from minpy.ops.inference.partial_shapes import UNKNOWN, same_dtype, same_shape
from minpy.ops.random.generator import generator
from minpy.ops.registry import operator
from minpy.ops.tensor.indexing import index, unindex

__all__ = ["as_tuple", "crop", "infer_like_image", "normalize", "require_image", "require_numbers", "to_tensor"]


def as_tuple(values: Any) -> tuple[Any, ...]:
    """Return one number, which stands for several, as a tuple; a sequence as one, too."""
    return (values,) if isinstance(values, (int, float, np.number)) else tuple(values)


def require_image(name: str, shape: Any, batches: bool = True, layout: str = "height, width, channels") -> None:
    """Raise, unless a shape is that of an image, or of a batch of images."""
    if len(shape) != 3 and not (batches and len(shape) == 4):
        raise ShapeError(f"{name}: data has shape {shape}; expected ({layout}){f' or (n, {layout})' * batches}.")


def require_numbers(name: str, data: np.ndarray) -> None:
    """Raise, unless an array holds integers or floating-point numbers."""
    if data.dtype.kind not in "fiu":
        raise DTypeError(f"{name}: data has dtype {data.dtype}; expected numbers. Use data.astype('uint8').")


def infer_like_image(op: Operator, check: Callable[[Any], None], dtype: Any, *drawn: tuple[int, ...]) -> None:
    """Define inference for an operator that keeps an image's shape, and also returns what it drew, of some dtype."""

    def shapes(inputs: Any, outputs: Any) -> Any:
        inputs, image = same_shape(inputs, outputs[:1])
        if inputs[0] is not None:
            check(inputs[0])
        return inputs, [*image, *drawn][: len(outputs)]

    def dtypes(inputs: Any, outputs: Any) -> Any:
        inputs, image = same_dtype(inputs, outputs[:1])
        return inputs, [*image, np.dtype(dtype)][: len(outputs)]

    op.def_infer_shape(shapes)
    op.def_infer_type(dtypes)


# -- tensors -----------------------------------------------------------------------------------------------------------


@operator(
    name="_image_to_tensor",
    grad=lambda ans, data: lambda g: (np.moveaxis(g, -3, -1) / 255).astype(data.dtype),
    shape_only=(0,),
    dtypes=lambda inputs, outputs: (inputs, [np.dtype(np.float32)]),
)
def to_tensor(data: np.ndarray) -> np.ndarray:
    """Return images with values from 0 to 255 as tensors with values from 0 to 1, channels first.

    {data_parameter}
        Of shape (height, width, channels) or (n, height, width, channels), of any dtype.

    {returns_array}
        Of dtype float32 and shape (channels, height, width) or (n, channels, height, width).

    {raises_shape_error}
        If the data have another number of axes.

    {examples}
    >>> nd.image.to_tensor(nd.array([[[0, 51, 255]]], dtype='uint8')).asnumpy().ravel()
    array([0. , 0.2, 1. ], dtype=float32)
    """
    require_image("to_tensor", data.shape)
    return _tensor(data)


def _tensor(data: Any) -> Any:
    return (np.moveaxis(data, -1, -3) / np.float32(255)).astype(np.float32)


@to_tensor.def_kernel
def _to_tensor_in_place(data: np.ndarray) -> np.ndarray:
    """Return tensors of bytes, divided where they lie in their new order."""
    require_image("to_tensor", data.shape)
    if data.dtype != np.uint8:
        return _tensor(data)
    tensor = data.transpose((2, 0, 1) if data.ndim == 3 else (0, 3, 1, 2)).astype(np.float32, order="C")
    tensor /= np.float32(255)
    return tensor


@to_tensor.def_infer_shape
def _to_tensor_shapes(inputs: Any, outputs: Any) -> Any:
    [data], [tensor] = inputs, outputs
    if data is None and tensor is not None:
        data = (*tensor[:-3], *tensor[-2:], tensor[-3])
    if data is None:
        return inputs, outputs
    require_image("to_tensor", data)
    return [data], [(*data[:-3], data[-1], *data[-3:-1])]


_NO_MEAN, _NO_STD = (0.0, 0.0, 0.0, 0.0), (1.0, 1.0, 1.0, 1.0)


@operator(name="_image_normalize", grad=lambda ans, data, *, std: lambda g: g / _by_channel("std", std, _NO_STD, data))
def normalize(data: np.ndarray, *, mean: tuple[float, ...] = _NO_MEAN, std: tuple[float, ...] = _NO_STD) -> np.ndarray:
    """Return tensors less a mean, divided by a standard deviation: one of each for every channel.

    {data_parameter}
        Of shape (channels, height, width) or (n, channels, height, width).
    mean, std : float, or tuple of float
        For all channels, or one for each. By default 0 and 1.

    {returns_array}
        Of the data's shape and dtype; of integers, fractions are cut off.

    {raises_shape_error}
        If the data have another number of axes.
    ArgumentError
        If there is another number of means or deviations than channels.

    {examples}
    >>> nd.image.normalize(nd.ones((2, 1, 1)), mean=(0, 1), std=(0.5, 2)).asnumpy().ravel()
    array([2., 0.], dtype=float32)
    """
    require_image("normalize", data.shape, layout="channels, height, width")
    return _normalized(data, mean, std)


def _normalized(data: Any, mean: Any, std: Any) -> Any:
    means = _by_channel("mean", mean, _NO_MEAN, data)
    normal = (data - means) / _by_channel("std", std, _NO_STD, data)
    return normal.astype(data.dtype) if data.dtype.kind == "f" else normal.astype(np.int64).astype(data.dtype)


@normalize.def_kernel
def _normalize_in_place(data: np.ndarray, *, mean: tuple[float, ...], std: tuple[float, ...]) -> np.ndarray:
    """Return normalized tensors; floating point is divided in the memory of the difference."""
    require_image("normalize", data.shape, layout="channels, height, width")
    if data.dtype.kind != "f":
        return _normalized(data, mean, std)
    normal = data - _by_channel("mean", mean, _NO_MEAN, data)
    normal /= _by_channel("std", std, _NO_STD, data)
    return normal


def by_channel(name: str, values: Any, data: Any) -> np.ndarray:
    """Return what `normalize` computes with: one number for each channel, of the data's dtype."""
    return _by_channel(name, values, _NO_MEAN if name == "mean" else _NO_STD, data)


def _by_channel(name: str, values: Any, default: tuple[float, ...], data: Any) -> np.ndarray:
    channels = np.shape(data)[-3]
    values = as_tuple(values)
    if len(values) == 1 or values == default:
        values = values[:1] * channels
    if len(values) != channels:
        raise ArgumentError(
            f"normalize: {name} has {len(values)} numbers; expected one, or one for each of the {channels} channels of "
            f"data {np.shape(data)}."
        )
    dtype = data.dtype if data.dtype.kind == "f" else np.dtype(np.float32)
    return np.array(values, dtype).reshape(-1, 1, 1)


normalize.keep_shape_only(0)
infer_like_image(
    normalize, lambda shape: require_image("normalize", shape, layout="channels, height, width"), np.float32
)


# -- parts -------------------------------------------------------------------------------------------------------------


@operator(name="_image_crop", shape_only=(0,), dtypes=same_dtype)
def crop(data: np.ndarray, *, x: int, y: int, width: int, height: int) -> np.ndarray:
    """Return a rectangle cut out of images.

    {data_parameter}
        Of shape (height, width, channels) or (n, height, width, channels).
    x, y : int
        Its left and upper border.
    width, height : int

    {returns_array}
        Of shape (height, width, channels) or (n, height, width, channels).

    {raises_shape_error}
        If the data have another number of axes.
    ArgumentError
        If it does not lie inside of the images, or is empty.

    {examples}
    >>> nd.image.crop(nd.array([[[1], [2]], [[3], [4]]]), x=1, y=0, width=1, height=2).asnumpy().ravel()
    array([2., 4.], dtype=float32)
    """
    return data[_rectangle(data.shape, x, y, width, height)]


def _rectangle(shape: tuple[int, ...], x: int, y: int, width: int, height: int) -> tuple[Any, ...]:
    require_image("crop", shape)
    for (low, size, start, length), limit in zip(
        (("y", "height", y, height), ("x", "width", x, width)), shape[-3:-1], strict=True
    ):
        if start < 0 or length <= 0 or (limit != UNKNOWN and start + length > limit):
            raise ArgumentError(
                f"crop: {low} is {start} and {size} {length}, of data {shape}; expected {low} >= 0, {size} > 0 and "
                f"{low} + {size} <= {limit}."
            )
    return (..., slice(y, y + height), slice(x, x + width), slice(None))


@crop.def_grad()
def _crop_gradient(ans: Any, data: Any, *, x: int, y: int, width: int, height: int) -> Any:
    shape = np.shape(data)
    return lambda g: unindex(g, key=_rectangle(shape, x, y, width, height), shape=shape)


@crop.def_infer_shape
def _crop_shapes(inputs: Any, outputs: Any, *, x: int, y: int, width: int, height: int) -> Any:
    if inputs[0] is None:
        return inputs, outputs
    _rectangle(inputs[0], x, y, width, height)
    return inputs, [(*inputs[0][:-3], height, width, inputs[0][-1])]


# -- flips -------------------------------------------------------------------------------------------------------------

_FLIP_DOC = """Return an image with {sides} exchanged{chance}.

Parameters
----------
data : NDArray
    Of shape (height, width, channels), of any dtype.

Returns
-------
NDArray
    Of the data's shape.

Raises
------
ShapeError
    If the data have another number of axes.

Examples
--------
>>> from minpy import nd
>>> image = nd.array([[[1], [2]], [[3], [4]]])
>>> {example}
"""
_EXAMPLES = {
    "flip_left_right": "nd.image.flip_left_right(image).asnumpy().ravel()\narray([2., 1., 4., 3.], dtype=float32)",
    "flip_top_bottom": "nd.image.flip_top_bottom(image).asnumpy().ravel()\narray([3., 4., 1., 2.], dtype=float32)",
    "random_flip_left_right": "nd.image.random_flip_left_right(image).asnumpy()[0, 0, 0] in (1, 2)\nTrue",
    "random_flip_top_bottom": "nd.image.random_flip_top_bottom(image).asnumpy()[0, 0, 0] in (1, 3)\nTrue",
}
_BACKWARDS = slice(None, None, -1)


def _define_flips(name: str, sides: str, key: Any) -> None:
    """Define the flip of one axis, and the random one, which also returns whether it flipped."""

    def flip(data: np.ndarray) -> np.ndarray:
        require_image(name, data.shape, batches=False)
        return data[key]

    def random_flip(data: np.ndarray) -> Any:
        require_image(f"random_{name}", data.shape, batches=False)
        flipped = generator().random() < 0.5
        return (data[key] if flipped else data.copy()), np.array([flipped], np.uint8)

    certain = _define_flip(flip, name, sides, "")
    certain.def_grad(lambda ans, data: lambda g: index(g, key=key))
    by_chance = _define_flip(random_flip, f"random_{name}", sides, ", or as it is, with equal probability")
    by_chance.def_grad(lambda ans, data: lambda g: index(g[0], key=key) if raw_of(ans[1])[0] else g[0])


def _define_flip(function: Callable[..., Any], name: str, sides: str, chance: str) -> Operator:
    function.__doc__ = _FLIP_DOC.format(sides=sides, chance=chance, example=_EXAMPLES[name])
    random = name.startswith("random")
    visible = 1 if random else None
    op: Operator = operator(function, name=f"_image_{name}", random=random, visible_outputs=visible, shape_only=(0,))
    infer_like_image(op, lambda shape: require_image(name, shape, batches=False), np.uint8, (1,))
    return op


_define_flips("flip_left_right", "left and right", (slice(None), _BACKWARDS))
_define_flips("flip_top_bottom", "top and bottom", (_BACKWARDS,))
