"""`Correlation`: two feature maps compared at all displacements up to some distance. Fischer et al., FlowNet (2015).

A row of one map times a row of the other, as matrices of points and channels, has the products of all pairs of their
points; those of a few displacements are the band beside its diagonal. So there is one product of matrices for each
displacement down, for all rows of all maps at once. Differences in place of products go displacement by displacement.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from minpy.core.base_operator import Shapes
from minpy.core.errors import ArgumentError, ShapeError
from minpy.ops.inference.partial_shapes import UNKNOWN, merge_shapes
from minpy.ops.inference.rule_parts import merge_lengths, with_axes
from minpy.ops.nn.pooling import window_spread, window_sum
from minpy.ops.registry import operator

__all__ = ["correlation"]

Ints = tuple[int, ...]


class _Layout(NamedTuple):
    """Which patches are compared, in points of the padded maps."""

    kernel: int
    distance: int
    stride: int
    step: int
    pad: int
    lengths: Ints  # of the maps
    counts: Ints  # lengths of the result

    @property
    def displacements_aside(self) -> int:
        """How many displacements there are on either side of 0."""
        return self.distance // self.step

    @property
    def width(self) -> int:
        """How many displacements there are along an axis."""
        return 2 * self.displacements_aside + 1

    @property
    def reach(self) -> int:
        """The largest displacement."""
        return self.displacements_aside * self.step

    @property
    def covered_points(self) -> Ints:
        """The points that are under some kernel, along each axis."""
        return tuple((n - 1) * self.stride + self.kernel for n in self.counts)


def _layout(shape: Any, kernel_size: int, max_displacement: int, stride1: int, stride2: int, pad_size: int) -> _Layout:
    if kernel_size < 1 or kernel_size % 2 == 0 or min(stride1, stride2) < 1 or min(max_displacement, pad_size) < 0:
        raise ArgumentError(
            f"Correlation: kernel_size is {kernel_size}, stride1 {stride1}, stride2 {stride2}, max_displacement "
            f"{max_displacement} and pad_size {pad_size}; expected an odd kernel_size, strides of 1 or more, and the "
            "others 0 or more."
        )
    border = 2 * (max_displacement + kernel_size // 2)
    counts = []
    for length in shape[2:]:
        count = UNKNOWN if length == UNKNOWN else -(-(length + 2 * pad_size - border) // stride1)
        if length != UNKNOWN and count < 1:
            raise ShapeError(
                f"Correlation: data of shape {tuple(shape)} with pad_size={pad_size} is too small for max_displacement="
                f"{max_displacement} and kernel_size={kernel_size}; expected more than {border} points along each axis."
            )
        counts.append(count)
    lengths = tuple(shape[2:])
    return _Layout(kernel_size, max_displacement, stride1, stride2, pad_size, lengths, tuple(counts))


def _padded(data: Any, layout: _Layout) -> Any:
    """Return maps with zeros around them, in float32 at least, and the channels last."""
    pad = layout.pad
    wide = data.astype(np.promote_types(data.dtype, np.float32))
    return np.pad(np.transpose(wide, (0, 2, 3, 1)), ((0, 0), (pad, pad), (pad, pad), (0, 0)), "constant")


def _unpadded(data: Any, layout: _Layout, before: tuple[int, int], dtype: Any) -> Any:
    """Return the transpose of `_padded` of a part of the padded maps that begins at `before`."""
    padded_height, padded_width = (length + 2 * layout.pad for length in layout.lengths)
    rows, columns = np.shape(data)[1:3]
    margins = (
        (0, 0),
        (before[0], padded_height - rows - before[0]),
        (before[1], padded_width - columns - before[1]),
        (0, 0),
    )
    whole = np.pad(data, margins, "constant")
    height, width = layout.lengths
    part = whole[:, layout.pad : layout.pad + height, layout.pad : layout.pad + width]
    return np.transpose(part, (0, 3, 1, 2)).astype(dtype)


def _central_points(padded: Any, layout: _Layout) -> Any:
    """Return the points of the first map that are under some kernel."""
    rows, columns = layout.covered_points
    start = layout.distance
    return padded[:, start : start + rows, start : start + columns]


def _displaced_rows(padded: Any, layout: _Layout) -> Iterator[tuple[int, Any]]:
    """Yield (where it begins, the rows of the second map that are compared), for each displacement down."""
    rows, columns = layout.covered_points
    left = layout.distance - layout.reach
    for index in range(layout.width):
        top = left + index * layout.step
        yield top, padded[:, top : top + rows, left : left + columns + 2 * layout.reach]


# -- bands of matrices -------------------------------------------------------------------------------------------------


def _band(matrices: Any, layout: _Layout) -> Any:
    """Return the elements (i, i + k * step) of matrices with more columns than rows, for each displacement k."""
    *lead, rows, columns = np.shape(matrices)
    flat = np.reshape(matrices, (*lead, rows * columns))
    longer = np.pad(flat, (*((0, 0) for _ in lead), (0, rows)), "constant")
    return np.reshape(longer, (*lead, rows, columns + 1))[..., : 2 * layout.reach + 1 : layout.step]


def _with_band(band: Any, columns: int, layout: _Layout) -> Any:
    """Return the transpose of `_band`: matrices that are zero elsewhere."""
    *lead, rows, width = np.shape(band)
    sides = [(0, 0)] * len(lead)
    separated = np.pad(np.expand_dims(band, -1), (*sides, (0, 0), (0, 0), (0, layout.step - 1)), "constant")
    spread = np.reshape(separated, (*lead, rows, width * layout.step))[..., : 2 * layout.reach + 1]
    longer = np.pad(spread, (*sides, (0, 0), (0, columns + 1 - (2 * layout.reach + 1))), "constant")
    flat = np.reshape(longer, (*lead, rows * (columns + 1)))[..., : rows * columns]
    return np.reshape(flat, (*lead, rows, columns))


# -- the two comparisons -----------------------------------------------------------------------------------------------


def _products(first: Any, second: Any, layout: _Layout) -> Any:
    """Return the sums over channels of products, (batch, displacements, rows, columns)."""
    bands = []
    for _, rows in _displaced_rows(second, layout):
        band = _band(np.matmul(first, np.swapaxes(rows, 2, 3)), layout)
        bands.append(np.transpose(band, (0, 3, 1, 2)))
    return np.concatenate(bands, axis=1)


def _distances(first: Any, second: Any, layout: _Layout) -> Any:
    """Return the sums over channels of absolute differences, (batch, displacements, rows, columns)."""
    columns = layout.covered_points[1]
    sums = []
    for _, rows in _displaced_rows(second, layout):
        for index in range(layout.width):
            start = index * layout.step
            sums.append(np.sum(np.abs(first - rows[:, :, start : start + columns]), axis=3))
    return np.stack(sums, axis=1)


def _comparison_gradient(g: Any, layout: _Layout, channels: int) -> Any:
    """Return the gradient of what `_products` or `_distances` returned, from that of the result."""
    wide = g.astype(np.promote_types(g.dtype, np.float32)) / (layout.kernel**2 * channels)
    if layout.kernel == layout.stride == 1:
        return wide
    size = (layout.kernel,) * 2
    return window_spread(wide, lengths=layout.covered_points, kernel=size, stride=(layout.stride,) * 2, pad=(0, 0))


def _gradient(g: Any, paired: Any, layout: _Layout, is_multiply: bool, first: bool, own: Any, dtype: Any) -> Any:
    """Return the gradient of the first or the second map; `own` is that map, padded, and `paired` the other."""
    g = _comparison_gradient(g, layout, np.shape(paired)[3])
    columns = layout.covered_points[1]
    wide = columns + 2 * layout.reach
    start, left = layout.distance, layout.distance - layout.reach
    centers = _central_points(own if first else paired, layout)
    neighbours = paired if first else own
    total: Any = 0
    for index, (top, part) in enumerate(_displaced_rows(neighbours, layout)):
        upstream = g[:, index * layout.width : (index + 1) * layout.width]
        if is_multiply:
            matrices = _with_band(np.transpose(upstream, (0, 2, 3, 1)), wide, layout)
            if first:
                total = total + np.matmul(matrices, part)
            else:
                share = np.matmul(np.swapaxes(matrices, 2, 3), centers)
                total = total + _at_row(share, top - left, layout)
            continue
        for place in range(layout.width):
            shift = place * layout.step
            sign = np.where(centers >= part[:, :, shift : shift + columns], 1, -1).astype(g.dtype)
            share = np.expand_dims(upstream[:, place], 3) * sign
            if first:
                total = total + share
            else:
                spread = np.pad(share, ((0, 0), (0, 0), (shift, wide - columns - shift), (0, 0)), "constant")
                total = total - _at_row(spread, top - left, layout)
    before = (start, start) if first else (left, left)
    return _unpadded(total, layout, before, dtype)


def _at_row(part: Any, row: int, layout: _Layout) -> Any:
    """Return rows with zeros above and below them, as many as all displacements reach."""
    return np.pad(part, ((0, 0), (row, 2 * layout.reach - row), (0, 0), (0, 0)), "constant")


@operator(name="Correlation", category="pooling", saved_outputs=lambda attributes: 3)
def correlation(
    data1: np.ndarray,
    data2: np.ndarray,
    *,
    kernel_size: int = 1,
    max_displacement: int = 1,
    stride1: int = 1,
    stride2: int = 1,
    pad_size: int = 0,
    is_multiply: bool = True,
) -> np.ndarray:
    """Return how alike patches of two feature maps are, at each position and each displacement.

    Parameters
    ----------
    data1, data2 : NDArray
        Of shape (batch, channels, height, width), both the same.
    kernel_size : int
        Height and width of a patch, odd.
    max_displacement : int
        How far patches of `data2` lie from those of `data1` at most, along each axis.
    stride1 : int
        Steps between positions.
    stride2 : int
        Steps between displacements.
    pad_size : int
        How many zeros are added at all ends of both maps.
    is_multiply : bool
        Whether patches are compared by their products, or by the absolute values of their differences.

    {returns_array}
        Of shape (batch, displacements, positions down, positions across): means over the points and channels of
        patches. With r = max_displacement // stride2 there are (2 * r + 1) ** 2 displacements, row by row.

    {raises_shape_error}
        If the maps differ in shape, or are too small.
    ArgumentError
        For an even `kernel_size`, and numbers that are too small.

    {examples}
    >>> x = nd.array([[[[1, 2, 3]]]])
    >>> nd.Correlation(x, x, pad_size=1)[0, 3:6, 0].asnumpy()
    array([[0., 2., 6.],
           [1., 4., 9.],
           [2., 6., 0.]], dtype=float32)
    """
    if np.ndim(data1) != 4 or np.shape(data1) != np.shape(data2):
        raise ShapeError(
            f"Correlation: data1 has shape {np.shape(data1)} and data2 {np.shape(data2)}; expected the same, (batch, "
            "channels, height, width)."
        )
    layout = _layout(np.shape(data1), kernel_size, max_displacement, stride1, stride2, pad_size)
    first, second = _central_points(_padded(data1, layout), layout), _padded(data2, layout)
    sums = (_products if is_multiply else _distances)(first, second, layout)
    if not layout.kernel == layout.stride == 1:
        size = (layout.kernel,) * 2
        window = {"kernel": size, "stride": (layout.stride,) * 2, "pad": (0, 0), "counts": layout.counts}
        sums = window_sum(sums, **window)
    channels = max(np.shape(data1)[1], 1)
    return (sums / (layout.kernel**2 * channels)).astype(data1.dtype)


def _map_gradient(first: bool) -> Any:
    """Return the gradient rule of one of the two maps."""

    def rule(ans: Any, data1: Any, data2: Any, *, is_multiply: bool, **attributes: Any) -> Any:
        layout = _layout(np.shape(data1), **attributes)
        own, paired = (_padded(data, layout) for data in ((data1, data2) if first else (data2, data1)))
        dtype = (data1 if first else data2).dtype
        return lambda g: _gradient(g, paired, layout, is_multiply, first, own, dtype)

    return rule


correlation.def_grad(_map_gradient(first=True), 0)
correlation.def_grad(_map_gradient(first=False), 1)


@correlation.def_infer_shape
def _correlation_shapes(
    inputs: Shapes, outputs: Shapes, *, is_multiply: bool, **attributes: Any
) -> tuple[Shapes, Shapes]:
    data = with_axes(merge_shapes(*inputs), 4)
    layout = _layout(data, **attributes)
    batch = merge_lengths(data[0], with_axes(outputs[0], 4)[0])
    data = (batch, *data[1:])
    return [data, data], [(batch, layout.width**2, *layout.counts)]
