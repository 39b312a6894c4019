"""Images of another size: `AdaptiveAvgPooling2D` and `BilinearResize2D`.

Either is a product with one matrix from the left and one from the right, and so are its derivatives of any order.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from minpy.core.base_operator import Shapes
from minpy.core.errors import ArgumentError, DTypeError, ShapeError
from minpy.ops.inference.partial_shapes import UNKNOWN, merge_shapes
from minpy.ops.inference.rule_parts import dtype_of, with_axes
from minpy.ops.kernels.separable_resampling import resample
from minpy.ops.registry import operator

__all__ = ["adaptive_avg_pooling", "bilinear_resize"]


def _require_image(name: str, data: Any) -> None:
    shape, dtype = np.shape(data), np.dtype(data.dtype)
    if len(shape) != 4:
        raise ShapeError(f"{name}: data has shape {shape}; expected (batch, channels, height, width).")
    if 0 in shape[2:]:
        raise ShapeError(f"{name}: data has shape {shape}; an image without points cannot be resized.")
    if dtype.kind != "f":
        raise DTypeError(f"{name}: data has dtype {dtype}; expected floating point. Use data.astype('float32').")


def _multiplied(data: Any, rows: np.ndarray, columns: np.ndarray) -> Any:
    return np.matmul(np.matmul(rows, data), np.transpose(columns))


def _in_compute_dtype(
    data: Any,
    matrices: Callable[[str], tuple[np.ndarray, np.ndarray]],
    product: Callable[..., Any],
    is_transposed: bool,
) -> Any:
    """Return the product, computed in float32 for float16 data; with the matrices transposed if `is_transposed`."""
    dtype = np.dtype(data.dtype)
    compute_dtype = np.promote_types(dtype, np.float32)
    rows, columns = matrices(compute_dtype.name)
    if is_transposed:
        rows, columns = rows.T, columns.T
    if dtype == compute_dtype:
        return product(data, rows, columns)
    return product(data.astype(compute_dtype), rows, columns).astype(dtype)


# -- AdaptiveAvgPooling2D ----------------------------------------------------------------------------------------------


@functools.lru_cache(64)
def _averaging_matrix(length: int, count: int, dtype: str) -> np.ndarray:
    """Return the matrix of means over `count` windows of an axis, which may overlap by a point."""
    starts = np.arange(count) * length // count
    ends = -(-(np.arange(count) + 1) * length // count)
    points = np.arange(length)
    inside = (points >= starts[:, None]) & (points < ends[:, None])
    matrix: np.ndarray = (inside / (ends - starts)[:, None]).astype(dtype)
    matrix.setflags(write=False)
    return matrix


def _pooled_lengths(output_size: Any) -> tuple[int, int]:
    lengths = (output_size,) if isinstance(output_size, (int, np.integer)) else tuple(output_size or (1,))
    if len(lengths) not in (1, 2) or min(lengths) < 1:
        raise ArgumentError(
            f"AdaptiveAvgPooling2D: output_size is {output_size}; expected a whole number >= 1, or (height, width)."
        )
    return int(lengths[0]), int(lengths[-1])


@operator(name="_contrib_AdaptiveAvgPooling2D", shape_only=(0,), category="pooling")
def adaptive_avg_pooling(data: np.ndarray, *, output_size: tuple[int, ...] = ()) -> np.ndarray:
    """Return the means of windows of an image, of which there are `output_size` along each axis.

    Window i of n along an axis of length x has the points from floor(i * x / n) to ceil((i + 1) * x / n) - 1.

    {data_parameter}
        Of shape (batch, channels, height, width).
    output_size : int or tuple of int
        The number of windows along both axes, or (height, width); 1 if left out, which is a global mean.

    {returns_array}
        Of shape (batch, channels, *output_size).

    {raises_shape_error}
        If data is no image.
    ArgumentError
        If `output_size` is neither one nor two numbers, or below 1.
    DTypeError
        For integers.

    {examples}
    >>> x = nd.arange(6).reshape((1, 1, 2, 3))
    >>> nd.contrib.AdaptiveAvgPooling2D(x, output_size=(1, 2)).asnumpy()
    array([[[[2., 3.]]]], dtype=float32)
    """
    return _pooled(data, output_size=output_size, product=_multiplied)


@adaptive_avg_pooling.def_kernel
def _pooled(data: Any, *, output_size: Any, product: Callable[..., Any] = resample) -> Any:
    _require_image("AdaptiveAvgPooling2D", data)
    return _in_compute_dtype(data, _averages(np.shape(data), output_size), product, False)


def _averages(shape: tuple[int, ...], output_size: Any) -> Callable[[str], tuple[np.ndarray, np.ndarray]]:
    new_height, new_width = _pooled_lengths(output_size)
    return lambda dtype: (_averaging_matrix(shape[2], new_height, dtype), _averaging_matrix(shape[3], new_width, dtype))


def _pooled_gradient(product: Callable[..., Any]) -> Callable[..., Any]:
    def rule(ans: Any, data: Any, *, output_size: Any) -> Any:
        matrices = _averages(np.shape(data), output_size)
        return lambda g: _in_compute_dtype(g, matrices, product, True)

    return rule


adaptive_avg_pooling.def_grad(_pooled_gradient(_multiplied))
adaptive_avg_pooling.def_grad_kernel(_pooled_gradient(resample))


@adaptive_avg_pooling.def_infer_shape
def _pooled_shapes(inputs: Shapes, outputs: Shapes, *, output_size: Any) -> tuple[Shapes, Shapes]:
    if inputs[0] is None and outputs[0] is None:
        return inputs, outputs
    lead = merge_shapes(with_axes(inputs[0], 4)[:2], with_axes(outputs[0], 4)[:2]) or ()
    return [(*lead, *with_axes(inputs[0], 4)[2:])], [(*lead, *_pooled_lengths(output_size))]


# -- BilinearResize2D --------------------------------------------------------------------------------------------------

MODES = ("size", "odd_scale", "like", "to_even_down", "to_even_up", "to_odd_down", "to_odd_up")


@functools.lru_cache(64)
def _interpolation_matrix(length: int, count: int, align_corners: bool, dtype: str) -> np.ndarray:
    """Return the matrix that interpolates linearly between the points of an axis, at `count` positions."""
    steps = np.arange(count)
    positions: np.ndarray
    if count == 1:
        positions = np.zeros(1)
    elif align_corners:
        positions = steps * ((length - 1) / (count - 1))
    else:
        positions = np.maximum((steps + 0.5) * (length / count) - 0.5, 0)
    distances = np.abs(np.minimum(positions, length - 1)[:, None] - np.arange(length))
    matrix: np.ndarray = np.maximum(1 - distances, 0).astype(dtype)
    matrix.setflags(write=False)
    return matrix


def _resized_length(length: int, like: int, fixed: int, scale: float | None, mode: str, axis: str, scaled: bool) -> int:
    """Return the new length of an axis."""
    if mode == "like":
        return like
    if length == UNKNOWN and (mode != "size" or scaled):
        return UNKNOWN
    odd = length % 2
    if mode == "size" and not scaled:
        result = fixed
    elif mode in ("size", "odd_scale"):
        if scale is None or scale <= 0:
            raise ArgumentError(
                f"BilinearResize2D: scale_{axis} is {scale}; mode={mode!r} with a scale needs scale_height and "
                "scale_width, each above 0."
            )
        result = int((length - 1) * scale) + 1 if odd and mode == "odd_scale" else int(length * scale)
    else:
        changes = odd if mode.startswith("to_even") else 1 - odd
        result = length + (changes if mode.endswith("up") else -changes)
    if result < 1:
        raise ArgumentError(
            f"BilinearResize2D: the new {axis} is {result}, of data with {axis} {length} and mode={mode!r}; expected 1 "
            f"or more."
        )
    return result


def _resized_lengths(
    lengths: Any, like: Any, height: int, width: int, scale_height: Any, scale_width: Any, mode: str
) -> tuple[int, int]:
    """Return the new height and width, from those of the image and of the one that it shall be like."""
    if mode not in MODES:
        raise ArgumentError(f"BilinearResize2D: unknown mode {mode!r}; expected one of {', '.join(map(repr, MODES))}.")
    scaled = scale_height is not None or scale_width is not None
    return (
        _resized_length(lengths[0], like[0], height, scale_height, mode, "height", scaled),
        _resized_length(lengths[1], like[1], width, scale_width, mode, "width", scaled),
    )


@operator(
    name="_contrib_BilinearResize2D",
    optional_inputs={"like": lambda attributes: attributes.get("mode") == "like"},
    zero=(1,),
    shape_only=(0, 1),
    dtypes=dtype_of(0),
    category="pooling",
)
def bilinear_resize(
    data: np.ndarray,
    like: np.ndarray | None = None,
    *,
    height: int = 1,
    width: int = 1,
    scale_height: float | None = None,
    scale_width: float | None = None,
    mode: Literal["size", "like", "odd_scale", "to_even_down", "to_even_up", "to_odd_down", "to_odd_up"] = "size",
    align_corners: bool = True,
) -> np.ndarray:
    """Return an image with another height and width, interpolated linearly along both axes.

    {data_parameter}
        Of shape (batch, channels, height, width).
    like : NDArray, optional
        An image that has the new height and width, for the mode 'like'. Its gradient is zero.
    height, width : int
        The new lengths, for the mode 'size' without scales.
    scale_height, scale_width : float, optional
        By what the lengths are multiplied, for the modes 'size' and 'odd_scale'; the result is rounded down.
    mode : {'size', 'odd_scale', 'like', 'to_even_down', 'to_even_up', 'to_odd_down', 'to_odd_up'}
        Where the new lengths come from. With 'odd_scale' an odd length x becomes (x - 1) * scale + 1. The last four
        make lengths even (odd) that are not, by one point less (more).
    align_corners : bool
        Whether the first and the last points of both images coincide, or the edges of these points.

    {returns_array}

    {raises_shape_error}
        If data (or `like`) is no image.
    ArgumentError
        For unknown modes, missing scales or inputs, and lengths below 1.
    DTypeError
        For integers.

    {examples}
    >>> nd.contrib.BilinearResize2D(nd.array([[[[1, 3]]]]), height=1, width=5).asnumpy()
    array([[[[1. , 1.5, 2. , 2.5, 3. ]]]], dtype=float32)
    >>> nd.contrib.BilinearResize2D(nd.array([[[[1, 3]]]]), height=1, width=4, align_corners=False).asnumpy()
    array([[[[1. , 1.5, 2.5, 3. ]]]], dtype=float32)
    """
    attributes: dict[str, Any] = {"height": height, "width": width, "scale_height": scale_height}
    attributes |= {"scale_width": scale_width, "mode": mode, "align_corners": align_corners}
    return _resized(data, like, **attributes, product=_multiplied)


@bilinear_resize.def_kernel
def _resized(data: Any, like: Any, *, product: Callable[..., Any] = resample, **attributes: Any) -> Any:
    _require_image("BilinearResize2D", data)
    if (like is None) == (attributes["mode"] == "like"):
        raise ArgumentError(
            f"BilinearResize2D: mode={attributes['mode']!r} takes {1 + (like is None)} input(s), got "
            f"{2 - (like is None)}; an image to be like is for mode='like'."
        )
    if like is not None and np.ndim(like) != 4:
        raise ShapeError(
            f"BilinearResize2D: like has shape {np.shape(like)}; expected (batch, channels, height, width)."
        )
    return _in_compute_dtype(data, _interpolations(data, like, **attributes), product, False)


def _interpolations(
    data: Any, like: Any, *, align_corners: bool, **attributes: Any
) -> Callable[[str], tuple[np.ndarray, np.ndarray]]:
    height, width = np.shape(data)[2:]
    like_lengths = (UNKNOWN, UNKNOWN) if like is None else np.shape(like)[2:]
    new_height, new_width = _resized_lengths((height, width), like_lengths, **attributes)
    return lambda dtype: (
        _interpolation_matrix(height, new_height, align_corners, dtype),
        _interpolation_matrix(width, new_width, align_corners, dtype),
    )


def _resized_gradient(product: Callable[..., Any]) -> Callable[..., Any]:
    def rule(ans: Any, data: Any, like: Any, **attributes: Any) -> Any:
        matrices = _interpolations(data, like, **attributes)
        return lambda g: _in_compute_dtype(g, matrices, product, True)

    return rule


bilinear_resize.def_grad(_resized_gradient(_multiplied))
bilinear_resize.def_grad_kernel(_resized_gradient(resample))


@bilinear_resize.def_infer_shape
def _resized_shapes(
    inputs: Shapes, outputs: Shapes, *, align_corners: bool, **attributes: Any
) -> tuple[Shapes, Shapes]:
    if inputs[0] is None:
        return inputs, outputs
    data = with_axes(inputs[0], 4)
    like = with_axes(inputs[1], 4)[2:] if len(inputs) > 1 else (UNKNOWN, UNKNOWN)
    lengths = _resized_lengths(data[2:], like, **attributes)
    lead = merge_shapes(data[:2], with_axes(outputs[0], 4)[:2]) or ()
    return [(*lead, *data[2:]), *inputs[1:]], [(*lead, *lengths)]
