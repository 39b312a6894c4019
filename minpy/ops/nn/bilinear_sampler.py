"""Spatial transformer networks: a grid of positions, and an image sampled at them, differentiable in both.

`GridGenerator` makes grids, `BilinearSampler` samples at them, and `SpatialTransformer` does both. Jaderberg et al.,
Spatial Transformer Networks (2015).
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from minpy.core.base_operator import Shapes
from minpy.core.errors import ArgumentError, ShapeError
from minpy.ops.inference.partial_shapes import UNKNOWN, merge_shapes
from minpy.ops.inference.rule_parts import merge_lengths, with_axes
from minpy.ops.kernels.sampling import gather_rows, images, pair_rows, pixels, scatter_rows, taps
from minpy.ops.registry import operator

__all__ = ["affine_points", "bilinear_sampler", "grid_generator", "spatial_transformer"]

Ints = tuple[int, ...]

# -- sampling ----------------------------------------------------------------------------------------------------------


def _require_image(name: str, data: Any) -> None:
    if np.ndim(data) != 4:
        raise ShapeError(f"{name}: data has shape {np.shape(data)}; expected (batch, channels, height, width).")


def _corners(shape: Ints, grid: Any) -> tuple[Any, Any, tuple[Any, Any]]:
    """Return the pixels round each sample, their weights, and the slopes of the weights along x and y of the grid."""
    batch, _, height, width = shape
    positions = grid.astype(np.promote_types(grid.dtype, np.float32))
    half_height, half_width = (height - 1) / 2, (width - 1) / 2
    rows, down, down_slopes = taps((positions[:, 1] + 1) * half_height, height)
    columns, across, across_slopes = taps((positions[:, 0] + 1) * half_width, width)
    image_offsets = np.reshape(np.arange(batch) * (height * width), (batch, 1, 1, 1, 1))
    count = batch * grid.shape[2] * grid.shape[3]

    def of_corners(of_rows: Any, of_columns: Any) -> Any:
        return np.reshape(np.expand_dims(of_rows, -1) * np.expand_dims(of_columns, -2), (count, 4))

    places = np.expand_dims(rows * width, -1) + np.expand_dims(columns, -2) + image_offsets
    slopes = of_corners(down, across_slopes) * half_width, of_corners(down_slopes, across) * half_height
    return np.reshape(places, (count, 4)), of_corners(down, across), slopes


def _sampled(data: Any, grid: Any) -> Any:
    places, weights, _ = _corners(np.shape(data), grid)
    rows = gather_rows(pixels(data), weights.astype(data.dtype), places)
    return images(rows, (*np.shape(data)[:2], *np.shape(grid)[2:]))


def _sampled_data_gradient(g: Any, shape: Ints, grid: Any) -> Any:
    places, weights, _ = _corners(shape, grid)
    count = shape[0] * shape[2] * shape[3]
    return images(scatter_rows(pixels(g), weights.astype(g.dtype), places, count=count), shape)


def _sampled_grid_gradient(g: Any, data: Any, grid: Any) -> Any:
    places, _, slopes = _corners(np.shape(data), grid)
    pairs = pair_rows(pixels(data), pixels(g), places)
    batch, _, height, width = np.shape(grid)
    gradients = [np.reshape(np.sum(pairs * slope, axis=1), (batch, height, width)) for slope in slopes]
    return np.stack(gradients, axis=1).astype(grid.dtype)


@operator(name="BilinearSampler", category="pooling", saved_outputs=lambda attributes: 2)
def bilinear_sampler(data: np.ndarray, grid: np.ndarray, *, cudnn_off: bool | None = None) -> np.ndarray:
    """Return an image sampled at the positions of a grid, interpolated between its points; outside it is zero.

    {data_parameter}
        Of shape (batch, channels, height, width).
    grid : NDArray
        Of shape (batch, 2, new height, new width): x and y of each sample, from -1 (the first point along an axis) to 1
        (the last).
    cudnn_off : bool, optional
        Accepted and not used.

    {returns_array}
        Of shape (batch, channels, new height, new width).

    {raises_unless_shapes_fit}

    Notes
    -----
    The sample at (x, y), in points, is the sum over the image's points (u, v) of
    data[v, u] * max(0, 1 - \\|x - u\\|) * max(0, 1 - \\|y - v\\|): equation 5 of Jaderberg et al. (2015).

    {examples}
    >>> x = nd.array([[[[1, 2], [3, 4]]]])
    >>> grid = nd.array([[[[-1, 0, 3]], [[-1, 0, 0]]]])
    >>> nd.BilinearSampler(x, grid).asnumpy()
    array([[[[1. , 2.5, 0. ]]]], dtype=float32)
    """
    _require_image("BilinearSampler", data)
    if np.ndim(grid) != 4 or grid.shape[1] != 2 or grid.shape[0] != data.shape[0]:
        raise ShapeError(
            f"BilinearSampler: grid has shape {np.shape(grid)}; expected (batch, 2, height, width), x and y of each "
            f"sample, with the batch of data {np.shape(data)}."
        )
    return _sampled(data, grid)


@bilinear_sampler.def_grad(argnum=0)
def _sampler_data_gradient(ans: Any, data: Any, grid: Any) -> Any:
    shape = np.shape(data)
    return lambda g: _sampled_data_gradient(g, shape, grid)


bilinear_sampler.def_grad(lambda ans, data, grid: lambda g: _sampled_grid_gradient(g, data, grid), argnum=1)


@bilinear_sampler.def_infer_shape
def _sampler_shapes(inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
    data, grid, result = (with_axes(shape, 4) for shape in (*inputs, *outputs))
    batch = merge_lengths(data[0], grid[0], result[0])
    merge_lengths(grid[1], 2)
    channels = merge_lengths(data[1], result[1])
    lengths = merge_shapes(grid[2:], result[2:]) or ()
    return [(batch, channels, *data[2:]), (batch, 2, *lengths)], [(batch, channels, *lengths)]


# -- grids -------------------------------------------------------------------------------------------------------------


def _target_lengths(name: str, target_shape: Any) -> tuple[int, int]:
    lengths = (target_shape,) if isinstance(target_shape, (int, np.integer)) else tuple(target_shape)
    if len(lengths) != 2 or min(lengths) < 1:
        raise ArgumentError(f"{name}: target_shape is {target_shape}; expected (height, width), each 1 or more.")
    return int(lengths[0]), int(lengths[1])


def _even_steps(count: int) -> np.ndarray:
    """Return so many numbers from -1 to 1; a single one is -1."""
    return np.arange(count) * (2 / max(count - 1, 1)) - 1


def affine_points(height: int, width: int, dtype: Any) -> np.ndarray:
    """Return the matrix with x, y and 1 of every point of a grid, a column a point."""
    x, y = _even_steps(width), _even_steps(height)
    shape = (height, width)
    rows = (np.broadcast_to(x, shape), np.broadcast_to(y[:, None], shape), np.ones(shape))
    return np.stack([row.reshape(height * width) for row in rows]).astype(dtype)


def _affine_grid(matrices: Any, height: int, width: int) -> Any:
    compute_dtype = np.promote_types(matrices.dtype, np.float32)
    flat = np.reshape(matrices.astype(compute_dtype), (-1, 3))
    points = np.matmul(flat, affine_points(height, width, compute_dtype))
    return np.reshape(points, (np.shape(matrices)[0], 2, height, width)).astype(matrices.dtype)


def _affine_gradient(g: Any, matrices: Any) -> Any:
    batch, _, height, width = np.shape(g)
    compute_dtype = np.promote_types(g.dtype, np.float32)
    flat = np.reshape(g.astype(compute_dtype), (batch * 2, height * width))
    product = np.matmul(flat, np.transpose(affine_points(height, width, compute_dtype)))
    return np.reshape(product, np.shape(matrices)).astype(g.dtype)


def _require_matrices(name: str, argument: str, matrices: Any) -> None:
    if np.ndim(matrices) != 2 or matrices.shape[1] != 6:
        raise ShapeError(
            f"{name}: {argument} has shape {np.shape(matrices)}; expected (batch, 6), the rows of a 2 x 3 matrix each."
        )


@operator(name="GridGenerator", shape_only=(0,), category="pooling", saved_outputs=lambda attributes: 2)
def grid_generator(
    data: np.ndarray, *, transform_type: Literal["affine", "warp"], target_shape: tuple[int, ...] = (0, 0)
) -> np.ndarray:
    """Return the grid at which `BilinearSampler` samples: of an affine map, or of a displacement of each point.

    {data_parameter}
        For 'affine' of shape (batch, 6): the rows of the 2 x 3 matrix that maps (x, y, 1), both from -1 to 1 over the
        result, to x and y in the image. For 'warp' of shape (batch, 2, height, width): by how many points each point
        is moved, along x and y.
    transform_type : {'affine', 'warp'}
    target_shape : tuple of int
        Height and width of the grid, for 'affine'.

    {returns_array}
        Of shape (batch, 2, height, width).

    {raises_shape_error}
        If data does not have that shape.
    ArgumentError
        For other transform types, or without `target_shape`.

    {examples}
    >>> shift = nd.array([[1, 0, 0.5, 0, 1, 0]])
    >>> nd.GridGenerator(shift, transform_type='affine', target_shape=(1, 3)).asnumpy()
    array([[[[-0.5,  0.5,  1.5]],
    <BLANKLINE>
            [[-1. , -1. , -1. ]]]], dtype=float32)
    """
    if transform_type == "affine":
        _require_matrices("GridGenerator", "data", data)
        return _affine_grid(data, *_target_lengths("GridGenerator", target_shape))
    _require_transform(transform_type)
    if np.ndim(data) != 4 or data.shape[1] != 2:
        raise ShapeError(
            f"GridGenerator: data has shape {np.shape(data)}; expected (batch, 2, height, width) for "
            "transform_type='warp'."
        )
    working = data.astype(np.promote_types(data.dtype, np.float32))
    points, factors = _warp_points(np.shape(data), working.dtype)
    return ((working + points) * factors - 1).astype(data.dtype)


def _require_transform(transform_type: str) -> None:
    if transform_type not in ("affine", "warp"):
        raise ArgumentError(f"GridGenerator: unknown transform_type {transform_type!r}; expected 'affine' or 'warp'.")


def _warp_points(shape: Ints, dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return x and y of every point, and what they are multiplied with to run from 0 to 2."""
    height, width = shape[2:]
    points = np.stack(np.meshgrid(np.arange(width), np.arange(height))).astype(dtype)
    factors = np.array([2 / max(width - 1, 1), 2 / max(height - 1, 1)], dtype)
    return points, factors.reshape(2, 1, 1)


@grid_generator.def_grad()
def _grid_gradient(ans: Any, data: Any, *, transform_type: str) -> Any:
    if transform_type == "affine":
        return lambda g: _affine_gradient(g, data)
    shape = np.shape(data)
    return lambda g: g * _warp_points(shape, g.dtype)[1]


@grid_generator.def_infer_shape
def _grid_shapes(inputs: Shapes, outputs: Shapes, *, transform_type: str, target_shape: Any) -> tuple[Shapes, Shapes]:
    _require_transform(transform_type)
    if transform_type == "warp":
        shape = merge_shapes(merge_shapes(inputs[0], outputs[0]), (UNKNOWN, 2, UNKNOWN, UNKNOWN))
        return [shape], [shape]
    batch = merge_lengths(with_axes(inputs[0], 2)[0], with_axes(outputs[0], 4)[0])
    return [(batch, 6)], [(batch, 2, *_target_lengths("GridGenerator", target_shape))]


# -- both --------------------------------------------------------------------------------------------------------------


@operator(name="SpatialTransformer", category="pooling", saved_outputs=lambda attributes: 3)
def spatial_transformer(
    data: np.ndarray,
    loc: np.ndarray,
    *,
    target_shape: tuple[int, ...] = (0, 0),
    transform_type: Literal["affine"],
    sampler_type: Literal["bilinear"],
    cudnn_off: bool | None = None,
) -> np.ndarray:
    """Return an image transformed by an affine map: `BilinearSampler` at the grid of `GridGenerator`.

    {data_parameter}
        Of shape (batch, channels, height, width).
    loc : NDArray
        Of shape (batch, 6): the rows of the 2 x 3 matrix that maps (x, y, 1), both from -1 to 1 over the result, to x
        and y in the image.
    target_shape : tuple of int
        The new height and width.
    transform_type : {'affine'}
    sampler_type : {'bilinear'}
    cudnn_off : bool, optional
        Accepted and not used.

    {returns_array}
        Of shape (batch, channels, *target_shape).

    {raises_unless_shapes_fit}
    ArgumentError
        For other types, or without `target_shape`.

    {examples}
    >>> x, mirror = nd.array([[[[1, 2, 3]]]]), nd.array([[-1, 0, 0, 0, 1, 0]])
    >>> options = {'transform_type': 'affine', 'sampler_type': 'bilinear'}
    >>> nd.SpatialTransformer(x, mirror, target_shape=(1, 3), **options).asnumpy()
    array([[[[3., 2., 1.]]]], dtype=float32)
    """
    _require_types(transform_type, sampler_type)
    _require_image("SpatialTransformer", data)
    _require_matrices("SpatialTransformer", "loc", loc)
    if loc.shape[0] != data.shape[0]:
        raise ShapeError(
            f"SpatialTransformer: loc has shape {np.shape(loc)}; expected ({data.shape[0]}, 6), a matrix for each "
            f"image of data {np.shape(data)}."
        )
    return _sampled(data, _affine_grid(loc, *_target_lengths("SpatialTransformer", target_shape)))


def _require_types(transform_type: str, sampler_type: str) -> None:
    if transform_type != "affine" or sampler_type != "bilinear":
        raise ArgumentError(
            f"SpatialTransformer: transform_type is {transform_type!r} and sampler_type {sampler_type!r}; expected "
            "'affine' and 'bilinear'."
        )


@spatial_transformer.def_grad(argnum=0)
def _transformer_data_gradient(ans: Any, data: Any, loc: Any) -> Any:
    shape, size = np.shape(data), np.shape(ans)[2:]
    return lambda g: _sampled_data_gradient(g, shape, _affine_grid(loc, *size))


@spatial_transformer.def_grad(argnum=1)
def _transformer_loc_gradient(ans: Any, data: Any, loc: Any) -> Any:
    size = np.shape(ans)[2:]
    return lambda g: _affine_gradient(_sampled_grid_gradient(g, data, _affine_grid(loc, *size)), loc)


@spatial_transformer.def_infer_shape
def _transformer_shapes(
    inputs: Shapes, outputs: Shapes, *, target_shape: Any, transform_type: str, sampler_type: str
) -> tuple[Shapes, Shapes]:
    _require_types(transform_type, sampler_type)
    data, result = with_axes(inputs[0], 4), with_axes(outputs[0], 4)
    batch = merge_lengths(data[0], with_axes(inputs[1], 2)[0], result[0])
    channels = merge_lengths(data[1], result[1])
    size = _target_lengths("SpatialTransformer", target_shape)
    return [(batch, channels, *data[2:]), (batch, 6)], [(batch, channels, *size)]
