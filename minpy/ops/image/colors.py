"""Colours of images changed: brightness, contrast, saturation, hue and lighting, mostly by chance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minpy.core.array import raw_of
from minpy.core.errors import ArgumentError, ShapeError
from minpy.core.operator import Operator
from minpy.ops.image.geometry import infer_like_image, require_image, require_numbers
from minpy.ops.inference.partial_shapes import UNKNOWN
from minpy.ops.random.generator import generator
from minpy.ops.registry import operator

__all__ = ["adjust_lighting"]

# ITU-R BT.601: how bright red, green and blue are.
_LUMA = np.array([0.299, 0.587, 0.114])
# Eigenvectors (columns), times eigenvalues, of the colours of ImageNet's pixels: Krizhevsky, Sutskever and Hinton,
# "ImageNet classification with deep convolutional neural networks", 2012, section 4.1.
_LIGHTING = np.array(
    [
        [55.46 * -0.5675, 4.794 * 0.7192, 1.148 * 0.4009],
        [55.46 * -0.5808, 4.794 * -0.0045, 1.148 * -0.8140],
        [55.46 * -0.5836, 4.794 * -0.6948, 1.148 * 0.4203],
    ]
)


def _require_colors(name: str, shape: Any) -> None:
    require_image(name, shape, batches=False)
    if shape[2] not in (1, 3, UNKNOWN):
        raise ShapeError(f"{name}: data has shape {shape}; expected one channel or three.")


def _as_float(name: str, data: np.ndarray) -> np.ndarray:
    """Return an image in the floating point in which it is computed."""
    require_numbers(name, data)
    return data if data.dtype.kind == "f" and data.dtype.itemsize > 2 else data.astype(np.float32)


def _clipped_to_dtype(image: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return values in a dtype: in an integer one, those out of range at its ends, and fractions cut off."""
    if dtype.kind == "f":
        return image.astype(dtype, copy=False)
    limits = np.iinfo(dtype)
    return np.clip(image, limits.min, limits.max).astype(dtype)


# -- the four changes, and what becomes of their gradients -------------------------------------------------------------


def _gray(image: Any) -> Any:
    """Return how bright pixels are, of shape (height, width, 1)."""
    return image if image.shape[2] == 1 else image @ _LUMA.astype(image.dtype)[:, None]


def _gray_adjoint(g: Any, channels: int) -> Any:
    return g if channels == 1 else g * _LUMA.astype(g.dtype)


def _contrast(image: Any, factor: Any) -> Any:
    mean = _gray(image).mean(dtype=np.float64).astype(image.dtype) if image.size else 0
    return image * factor + (1 - factor) * mean


def _contrast_adjoint(image: Any, factor: Any, g: Any) -> Any:
    height, width, channels = np.shape(image)
    share = np.sum(g) * ((1 - factor) / max(height * width, 1))
    return g * factor + _gray_adjoint(np.broadcast_to(share, (height, width, 1)), channels)


def _saturation_adjoint(image: Any, factor: Any, g: Any) -> Any:
    channels = np.shape(image)[2]
    if channels == 1:
        return g
    return g * factor + _gray_adjoint(np.sum(g, axis=2, keepdims=True) * (1 - factor), channels)


def _hue_rotated(image: Any, turns: Any) -> tuple[Any, ...]:
    """Return an image with its hues turned, and what its derivative is made of.

    On the circle of hues, from 0 to 6, a channel lies at the smallest value of its pixel, at the largest, or on a slope
    between them. The place of a pixel is that of its largest channel, moved by the difference of the other two.
    """
    high, low = image.max(2, keepdims=True), image.min(2, keepdims=True)
    spread = high - low
    first = image.argmax(2)[..., None]
    after, before = (np.take_along_axis(image, (first + step) % 3, 2) for step in (1, 2))
    offset = np.divide(after - before, spread, out=np.zeros_like(spread), where=spread > 0)
    phase = np.mod(2 * first + offset + 6 * turns - 2 * np.arange(3), 6)
    height = np.clip(np.abs(phase - 3) - 1, 0, 1)
    slope = np.where((phase > 1) & (phase < 2), -1, np.where((phase > 4) & (phase < 5), 1, 0))
    return (low + spread * height).astype(image.dtype, copy=False), first, offset, height, slope, spread


def _hue_adjoint(image: Any, turns: Any, g: Any) -> Any:
    if np.shape(image)[2] == 1:
        return g
    _, first, offset, height, slope, spread = _hue_rotated(image, turns)
    channels = np.arange(3)
    largest = (channels == first).astype(image.dtype)
    smallest = (channels == image.argmin(2)[..., None]).astype(image.dtype)
    neighbours = (channels == (first + 1) % 3) * 1.0 - (channels == (first + 2) % 3) * 1.0
    # Where channel i goes when j changes, (height, width, i, j): the pixel's ends and its place all move.
    steep = (height - slope * offset)[..., None]
    matrix = smallest[:, :, None] + steep * (largest - smallest)[:, :, None] + slope[..., None] * neighbours[:, :, None]
    matrix = np.where(spread[..., None] > 0, matrix, np.eye(3)).astype(image.dtype)
    return np.squeeze(np.expand_dims(g, 2) @ matrix, 2)


_CHANGES: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "brightness": (lambda image, factor: image * factor, lambda image, factor, g: g * factor),
    "contrast": (_contrast, _contrast_adjoint),
    "saturation": (
        lambda image, factor: image.copy() if image.shape[2] == 1 else image * factor + (1 - factor) * _gray(image),
        _saturation_adjoint,
    ),
    "hue": (lambda image, turns: image.copy() if image.shape[2] == 1 else _hue_rotated(image, turns)[0], _hue_adjoint),
}


def _adjusted(name: str, data: np.ndarray, kind: str, factor: Any) -> np.ndarray:
    real = _as_float(name, data)
    image = _CHANGES[kind][0](real, real.dtype.type(factor))
    # A turn back and forth leaves 46.99997, which is 47.
    return _clipped_to_dtype(np.rint(image) if kind == "hue" and data.dtype.kind != "f" else image, data.dtype)


# -- one change by chance ----------------------------------------------------------------------------------------------

_DOC = """Return an image with its {kind} changed by chance.

Parameters
----------
data : NDArray
    Of shape (height, width, channels), with one channel or three, of any dtype.
min_factor, max_factor : float
    Between these, the factor is drawn. {meaning}

Returns
-------
NDArray
    Of the data's shape and dtype; of integers, fractions are {rounding}, and what is out of range becomes the
    nearest that is not.

Raises
------
ShapeError
    For another shape.
DTypeError
    For booleans.
ArgumentError
    If a factor is negative.

Examples
--------
>>> from minpy import nd
>>> image = nd.array([[[10, 20, 30]]])
>>> nd.image.random_{kind}(image, min_factor={factor}, max_factor={factor}).asnumpy().ravel()
{output}
"""
_FACTOR_DOCS = {
    "brightness": ("Values are multiplied by it.", 2, "array([20., 40., 60.], dtype=float32)"),
    "contrast": ("With 0 all is as gray as the mean, with 1 as it was.", 1, "array([10., 20., 30.], dtype=float32)"),
    "saturation": ("With 0 pixels are gray, with 1 as they were.", 1, "array([10., 20., 30.], dtype=float32)"),
    "hue": ("By so many turns of the circle of colours; with 0 and 1 as it was.", 0.5,
            "array([30., 20., 10.], dtype=float32)"),
}  # fmt: skip


def _define_change(kind: str) -> Operator:
    name = f"random_{kind}"

    def change(data: np.ndarray, *, min_factor: float, max_factor: float) -> Any:
        _require_colors(name, data.shape)
        for argument, factor in (("min_factor", min_factor), ("max_factor", max_factor)):
            if factor < 0:
                raise ArgumentError(f"{name}: {argument} is {factor}; expected 0 or more.")
        factor = generator().uniform(0, 1) * (max_factor - min_factor) + min_factor
        return _adjusted(name, data, kind, factor), np.array([factor], np.float64)

    meaning, factor, output = _FACTOR_DOCS[kind]
    rounding = "rounded" if kind == "hue" else "cut off"
    change.__doc__ = _DOC.format(kind=kind, meaning=meaning, factor=factor, output=output, rounding=rounding)
    op: Operator = operator(change, name=f"_image_{name}", random=True, visible_outputs=1)

    @op.def_grad()
    def gradient(ans: Any, data: Any) -> Any:
        image, adjoint = raw_of(data), _CHANGES[kind][1]
        factor = image.dtype.type(raw_of(ans[1])[0])
        return lambda g: adjoint(image, factor, g[0])

    return _define_inference(op, name, (1,))


def _define_inference(op: Operator, name: str, *drawn: tuple[int, ...]) -> Operator:
    infer_like_image(op, lambda shape: _require_colors(name, shape), np.float64, *drawn)
    return op


for _kind in _CHANGES:
    _define_change(_kind)


# -- all of them -------------------------------------------------------------------------------------------------------


@operator(name="_image_random_color_jitter", random=True, visible_outputs=1)
def random_color_jitter(data: np.ndarray, *, brightness: float, contrast: float, saturation: float, hue: float) -> Any:
    """Return an image with brightness, contrast, saturation and hue changed by chance, in an order that is drawn, too.

    {data_parameter}
        Of shape (height, width, channels), with one channel or three, of any dtype.
    brightness, contrast, saturation : float
        By how much each factor may be more or less than 1; with 0 nothing is changed.
    hue : float
        How many turns of the circle of colours hues may move, back or forth.

    {returns_array}
        Of the data's shape and dtype.

    {raises_shape_error}
        For another shape.
    DTypeError
        For booleans.
    ArgumentError
        If a number is negative.

    {examples}
    >>> image = nd.array([[[10, 20, 30]]])
    >>> nd.image.random_color_jitter(image, brightness=0, contrast=0, saturation=0, hue=0).asnumpy().ravel()
    array([10., 20., 30.], dtype=float32)
    """
    _require_colors("random_color_jitter", data.shape)
    limits = {"brightness": brightness, "contrast": contrast, "saturation": saturation, "hue": hue}
    for name, limit in limits.items():
        if limit < 0:
            raise ArgumentError(f"random_color_jitter: {name} is {limit}; expected 0 or more.")
    order = generator().permutation(len(limits))
    factors = generator().uniform(-1, 1, len(limits)) * list(limits.values()) + [1, 1, 1, 0]
    drawn = np.stack([order, factors[order]])
    require_numbers("random_color_jitter", data)
    image = data.copy()
    for kind, factor in _drawn_changes(drawn):
        image = _adjusted("random_color_jitter", image, kind, factor)
    return image, drawn


def _drawn_changes(drawn: np.ndarray) -> list[tuple[str, float]]:
    """Return (kind, factor) of the changes that do something."""
    kinds = list(_CHANGES)
    changes = [(kinds[int(index)], float(factor)) for index, factor in drawn.T]
    return [(kind, factor) for kind, factor in changes if factor != (0 if kind == "hue" else 1)]


@random_color_jitter.def_grad()
def _random_color_jitter_gradient(ans: Any, data: Any) -> Any:
    image = raw_of(data)
    steps = []
    for kind, factor in _drawn_changes(raw_of(ans[1])):
        steps.append((_CHANGES[kind][1], image, image.dtype.type(factor)))
        image = _adjusted("random_color_jitter", image, kind, factor)

    def gradient(g: Any) -> Any:
        part = g[0]
        for adjoint, before, factor in reversed(steps):
            part = adjoint(before, factor, part)
        return part

    return gradient


_define_inference(random_color_jitter, "random_color_jitter", (2, 4))


# -- lighting ----------------------------------------------------------------------------------------------------------


def _with_lighting(name: str, data: np.ndarray, alpha: Any) -> np.ndarray:
    real = _as_float(name, data)
    if data.shape[2] == 1:
        return data.copy()
    return _clipped_to_dtype(real + (_LIGHTING @ np.asarray(alpha, np.float64)).astype(real.dtype), data.dtype)


@operator(name="_image_adjust_lighting", grad=lambda ans, data: lambda g: g)
def adjust_lighting(data: np.ndarray, *, alpha: tuple[float, ...]) -> np.ndarray:
    """Return an image with a colour added to all pixels, along the directions in which the colours of photos vary.

    {data_parameter}
        Of shape (height, width, channels), with one channel or three, of any dtype.
    alpha : tuple of three floats
        How far along each direction, from the one along which colours vary most.

    {returns_array}
        Of the data's shape and dtype; with one channel, as it was.

    {raises_shape_error}
        For another shape.
    DTypeError
        For booleans.
    ArgumentError
        If there are not three numbers.

    Notes
    -----
    Krizhevsky, Sutskever and Hinton, "ImageNet classification with deep convolutional neural networks", 2012, section
    4.1.

    {examples}
    >>> nd.image.adjust_lighting(nd.array([[[10, 20, 30]]]), alpha=(0.1, 0, 0)).asnumpy().round(2).ravel()
    array([ 6.85, 16.78, 26.76], dtype=float32)
    """
    _require_colors("adjust_lighting", data.shape)
    if len(alpha) != 3:
        raise ArgumentError(f"adjust_lighting: alpha is {tuple(alpha)}; expected three numbers.")
    return _with_lighting("adjust_lighting", data, alpha)


_define_inference(adjust_lighting, "adjust_lighting")


@operator(name="_image_random_lighting", random=True, grad=lambda ans, data: lambda g: g)
def random_lighting(data: np.ndarray, *, alpha_std: float = 0.05) -> np.ndarray:
    """Return an image lit as by `adjust_lighting`, by chance.

    {data_parameter}
        Of shape (height, width, channels), with one channel or three, of any dtype.
    alpha_std : float
        The standard deviation of the three numbers that are drawn.

    {returns_array}
        Of the data's shape and dtype.

    {raises_shape_error}
        For another shape.
    DTypeError
        For booleans.

    {examples}
    >>> nd.image.random_lighting(nd.array([[[10, 20, 30]]]), alpha_std=0).asnumpy().ravel()
    array([10., 20., 30.], dtype=float32)
    """
    _require_colors("random_lighting", data.shape)
    return _with_lighting("random_lighting", data, generator().standard_normal(3) * alpha_std)


_define_inference(random_lighting, "random_lighting")
